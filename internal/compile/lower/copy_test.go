package lower

import (
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// A GPU copies cells of every type and any number of them, most with the
// widest accesses that there are.
func TestCopyBlocks(t *testing.T) {
	for _, of := range []types.Type{types.Bool, types.U8, types.I32, types.F32, types.F64} {
		width := min(8, 16/of.Size())
		p := &ir.Program{Params: []*ir.Param{{Name: "N"}}}
		e := newEnv(p, nil)
		n := e.size(0)
		src := &kernel.Buffer{Name: "u", Elem: of, Cells: n}
		dst := &kernel.Buffer{Name: "u_old", Elem: of, Cells: n, Mode: kernel.Out}
		k := &kernel.Kernel{Name: "copy", Buffers: []*kernel.Buffer{src, dst}, Body: copyBlocks(e, src, dst, n)}
		e.finish(k)
		rng := rand.New(rand.NewPCG(1, uint64(of)))
		for _, count := range []int{1, 2, 7, 8, 9, 255, 256, 257, 2047, 2048, 2049, 5003} {
			var values []op.Value
			for range count {
				values = append(values, op.Convert(of, op.Int(types.I32, int64(rng.Uint32()))))
			}
			to := sim.New(of, count)
			r, err := sim.Run(k, sim.Args{
				Buffers: []*sim.Memory{sim.Values(of, values...), to},
				Scalars: []op.Value{op.Int(types.I64, int64(count))},
			}, sim.Options{})
			if err == nil {
				err = r.Err()
			}
			if err != nil {
				t.Fatalf("%d of %s: %v\n%s", count, of, err, kernel.Text(k))
			}
			for i, want := range values {
				if !to.At(i).Same(want) {
					t.Fatalf("%d of %s: cell %d is %v, want %v", count, of, i, to.At(i), want)
				}
			}
		}
		wide := 0
		kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
			if l, ok := s.(*kernel.LoadVector); ok {
				wide = len(l.Vars)
			}
		}, nil)
		if wide != width {
			t.Errorf("%s is copied %d cells at once, want %d", of, wide, width)
		}
	}
}
