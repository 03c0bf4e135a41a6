package lower

import (
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Blocks of any number of threads leave what their threads have accumulated,
// through shared memory alone or with shuffles before it.
func TestBlockReduction(t *testing.T) {
	const blocks = 3
	for _, c := range []struct {
		threads            int64
		shuffles           bool
		shuffled, barriers int64 // shuffles and barriers of a block
		shared             int64 // bytes
	}{
		{64, false, 0, 2, 1420}, {64, true, 15, 1, 40}, {256, false, 0, 2, 5740}, {256, true, 15, 1, 160},
		{512, false, 0, 3 + 1 + 3, 6936}, {1024, false, 0, 3 + 1 + 3, 13896}, {1024, true, 15, 2, 700},
		{48, true, 0, 2, 1060}, {7, true, 0, 1, 140},
	} {
		sum := &ir.Scalar{Name: "sum", Type: types.I32, Reduced: true}
		least := &ir.Scalar{Name: "least", Type: types.F64, Reduced: true}
		most := &ir.Scalar{Name: "most", Type: types.F64, Reduced: true}
		p := &ir.Program{Arithmetic: arith.Fast, Axes: []string{"i"}, Scalars: []*ir.Scalar{sum, least, most}}
		n := &nest{
			module: &module{Module: &kernel.Module{Program: p}, names: map[string]int{}, stores: map[any]*store{}},
			call:   &ir.Call{Name: "norm"}, group: &analysis.Group{}, env: newEnv(p, nil),
		}
		for _, r := range []*ir.Reduce{
			{Kind: ir.Sum, Scalar: sum}, {Kind: ir.Min, Scalar: least}, {Kind: ir.Max, Scalar: most},
		} {
			n.stmts = append(n.stmts, &statement{src: &ir.Stmt{Reduce: r}})
		}
		u := &kernel.Buffer{Name: "u", Elem: types.I32, Cells: kernel.I(blocks * c.threads)}
		top := newScope(nil)
		block, thread := kernel.NewVar("block", types.I64), kernel.NewVar("t", types.I64)
		at := kernel.Add(kernel.Mul(kernel.V(block), kernel.I(c.threads)), kernel.V(thread))

		blockReduction := n.newBlockReduction(kernel.I(blocks), c.threads, c.threads, nil)
		blockReduction.shuffles = c.shuffles
		list := blockReduction.allocs(top)
		body := newScope(top)
		blockReduction.begin(body)
		x := kernel.Expr(&kernel.Load{Buffer: u, Index: at})
		for _, s := range n.stmts {
			// Half of the threads have no cell.
			body.emit(&kernel.If{Cond: kernel.Lt(kernel.I(c.threads/2), kernel.V(thread)), Then: []kernel.Stmt{
				blockReduction.sink(nil)(s, kernel.Conv(s.src.Reduce.Scalar.Type, x)),
			}})
		}
		blockReduction.end(body, kernel.V(thread), kernel.V(block))
		list = append(list, &kernel.Loop{
			Var: thread, Lo: kernel.I(0), Hi: kernel.I(c.threads), Step: kernel.I(1),
			Tag: kernel.ThreadX, Body: body.stmts,
		})
		k := &kernel.Kernel{Name: "k", Buffers: []*kernel.Buffer{u}, Body: append(top.stmts, &kernel.Loop{
			Var: block, Lo: kernel.I(0), Hi: kernel.I(blocks), Step: kernel.I(1), Tag: kernel.BlockX, Body: list,
		})}
		n.finish(k)

		rng := rand.New(rand.NewPCG(uint64(c.threads), 3))
		values := partsOf(types.I32, int(blocks*c.threads), ir.Sum, rng)
		memory := []*sim.Memory{sim.Values(types.I32, values...)}
		for _, b := range k.Buffers[1:] {
			memory = append(memory, sim.New(b.Elem, blocks))
		}
		r, err := sim.Run(k, sim.Args{Buffers: memory}, sim.Options{})
		if err == nil {
			err = r.Err()
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, kernel.Text(k))
		}
		if got := r.Barriers[kernel.BlockScope]; got != blocks*c.barriers {
			t.Errorf("%d threads: %d barriers, want %d", c.threads, got, blocks*c.barriers)
		}
		shuffles, shared := int64(0), int64(0)
		kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
			switch s := s.(type) {
			case *kernel.Shuffle:
				shuffles++
			case *kernel.Alloc:
				cells, _ := kernel.IntLit(s.Buffer.Cells)
				shared += cells * int64(s.Buffer.Elem.Size())
			}
		}, nil)
		if shared != c.shared {
			t.Errorf("%d threads, shuffles %t: %d bytes of shared memory, want %d",
				c.threads, c.shuffles, shared, c.shared)
		}
		if shuffles != c.shuffled {
			t.Errorf("%d threads: %d shuffles, want %d", c.threads, shuffles, c.shuffled)
		}
		for i, b := range k.Buffers[1:] {
			for j := range blocks {
				mine := values[int64(j)*c.threads+c.threads/2+1 : int64(j+1)*c.threads]
				want := over(op.Add, mine)
				switch b.Name {
				case "least_parts":
					want = op.Convert(types.F64, over(op.Min, mine))
				case "most_parts":
					want = op.Convert(types.F64, over(op.Max, mine))
				}
				if got := memory[i+1].At(j); !got.Same(want) {
					t.Errorf("%d threads, shuffles %t: block %d leaves %v in %s, want %v",
						c.threads, c.shuffles, j, got, b.Name, want)
				}
			}
		}
	}
}

// The order of floats is fixed but under fast arithmetic; integers have no order.
func TestBlockReductionInOrder(t *testing.T) {
	for _, c := range []struct {
		mode arith.Mode
		t    types.Type
		want bool
	}{
		{arith.Strict, types.F64, true}, {arith.Contract, types.F32, true}, {arith.Strict, types.I32, false},
		{arith.Fast, types.F64, false},
	} {
		n := &nest{module: &module{Module: &kernel.Module{Program: &ir.Program{Arithmetic: c.mode}}}}
		s := &statement{src: &ir.Stmt{Reduce: &ir.Reduce{Scalar: &ir.Scalar{Type: c.t}}}}
		if got := n.inOrder(s); got != c.want {
			t.Errorf("%v, %s: %t", c.mode, c.t, got)
		}
	}
}

// Tiles of a processor hold whole segments of a row, so that strips need no others.
func TestTilesAreWholeSegments(t *testing.T) {
	if FlatTile%ir.Segment != 0 || stripCells%ir.Segment != 0 {
		t.Errorf("a tile of %d cells, a strip of %d", int64(FlatTile), int64(stripCells))
	}
	for rank := 1; rank <= 4; rank++ {
		s := Space(CPU, []string{"l", "k", "j", "i"}[4-rank:])
		anyIntegers(&s.Families[0])
		values := s.Families[0].Param("block").Values
		if len(values) < 10 {
			t.Errorf("%d blocks of rank %d", len(values), rank)
		}
		for _, v := range values {
			if b := v.Ints(); b[rank-1]%ir.Segment != 0 {
				t.Fatalf("block=%s cuts a segment", v)
			}
		}
	}
}
