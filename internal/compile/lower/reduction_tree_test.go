package lower

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// trees returns what the kernels make that combine N partial results on a
// GPU: those of two launches, or that of the last one alone.
func trees(kind ir.ReduceKind, t types.Type) (two, last []*kernel.Kernel) {
	for _, once := range []bool{false, true} {
		scalar := &ir.Scalar{Name: "total", Type: t, Reduced: true}
		p := &ir.Program{Axes: []string{"i"}, Params: []*ir.Param{{Name: "N"}}, Scalars: []*ir.Scalar{scalar}}
		st := &ir.Stmt{Reduce: &ir.Reduce{Kind: kind, Scalar: scalar}}
		m := &module{
			Module: &kernel.Module{Program: p, Calls: map[*ir.Call][]*kernel.Launch{}},
			opts:   Options{Target: GPU},
			texts:  map[string]*kernel.Kernel{},
			names:  map[string]int{},
			stores: map[any]*store{},
		}
		n := &nest{module: m, call: &ir.Call{Name: "norm"}, group: &analysis.Group{}, env: newEnv(p, nil)}
		parts := n.newPartials(&statement{src: st}, n.size(0))
		if once {
			n.lastChunks(parts)
			last = m.Kernels
		} else {
			n.chunks(parts)
			two = m.Kernels
		}
	}
	return two, last
}

// launch runs kernels that combine partial results.
func launch(kernels []*kernel.Kernel, parts []op.Value) (op.Value, error) {
	t := parts[0].T
	from, chunks := sim.Values(t, parts...), sim.New(t, (len(parts)-1)/treeChunk+1)
	cell := sim.Values(t, op.Convert(t, op.Int(types.I32, 77)))
	for i, k := range kernels {
		memory := []*sim.Memory{from, cell}
		n := len(parts)
		switch {
		case len(kernels) == 2 && i == 0:
			memory = []*sim.Memory{from, chunks}
		case len(kernels) == 2:
			memory = []*sim.Memory{chunks, cell}
		}
		r, err := sim.Run(k, sim.Args{Buffers: memory, Scalars: []op.Value{op.Int(types.I64, int64(n))}}, sim.Options{})
		if err == nil {
			err = r.Err()
		}
		if err != nil {
			return op.Value{}, fmt.Errorf("%w\n%s", err, kernel.Text(k))
		}
	}
	return cell.At(0), nil
}

// over combines values over the tree of ir.Reduce, from its words.
func over(o op.Op, values []op.Value) op.Value {
	if len(values) == 1 {
		return values[0]
	}
	half := 1
	for 2*half < len(values) {
		half *= 2
	}
	return op.Binary(o, over(o, values[:half]), over(o, values[half:]))
}

// partsOf makes values of which the order in a sum matters, with zeros of both
// signs and, if there is room, a NaN.
func partsOf(t types.Type, n int, kind ir.ReduceKind, rng *rand.Rand) []op.Value {
	values := make([]op.Value, n)
	for i := range values {
		switch {
		case !t.IsFloat():
			values[i] = op.Int(t, int64(rng.Uint64()))
		case kind == ir.Sum:
			values[i] = op.Float(t, math.Ldexp(rng.Float64()-0.5, rng.IntN(20)))
		default:
			values[i] = op.Float(t, math.Copysign(0, rng.Float64()-0.5))
		}
	}
	return values
}

// The kernels that combine partial results on a GPU follow the tree bit for
// bit, for any number of them.
func TestTreeOnGPU(t *testing.T) {
	for _, c := range []struct {
		kind ir.ReduceKind
		t    types.Type
	}{
		{ir.Sum, types.F64}, {ir.Sum, types.F32}, {ir.Sum, types.I32},
		{ir.Max, types.F64}, {ir.Min, types.F32}, {ir.Max, types.I32},
	} {
		two, last := trees(c.kind, c.t)
		rng := rand.New(rand.NewPCG(1, 2))
		for _, n := range []int{1, 2, 3, 16, 17, 255, 1024, 1025, 4095, 4096, 4097, 4098, 8192, 12_289, 40_003} {
			values := partsOf(c.t, n, c.kind, rng)
			want := over(reduceOp(c.kind), values)
			for i, kernels := range [][]*kernel.Kernel{two, last} {
				got, err := launch(kernels, values)
				if err != nil {
					t.Fatal(err)
				}
				if !got.Same(want) {
					t.Errorf("the %s of %d %s in %d launches is %v, want %v", c.kind, n, c.t, 2-i, got, want)
				}
			}
		}
	}
}

// Values that no arithmetic may lose: the sign of a sum of negative zeros, and
// a NaN among extremes.
func TestTreeKeepsSigns(t *testing.T) {
	minus, nan := op.Float(types.F64, math.Copysign(0, -1)), op.Float(types.F64, math.NaN())
	for _, c := range []struct {
		kind ir.ReduceKind
		fill op.Value
		at   op.Value
		want op.Value
	}{
		{ir.Sum, minus, minus, minus},
		{ir.Max, op.Float(types.F64, math.Inf(-1)), op.Float(types.F64, math.Inf(-1)),
			op.Float(types.F64, math.Inf(-1))},
		{ir.Max, minus, nan, nan},
		{ir.Min, op.Float(types.F64, 3), nan, nan},
	} {
		two, _ := trees(c.kind, types.F64)
		values := make([]op.Value, 4099)
		for i := range values {
			values[i] = c.fill
		}
		values[2050] = c.at
		if got, err := launch(two, values); err != nil || !got.Same(c.want) {
			t.Errorf("%s of %v with %v: %v, %v, want %v", c.kind, c.fill, c.at, got, err, c.want)
		}
	}
}

// A block combines the values of its threads, of any number of threads and of
// several reductions at once.
func TestCombine(t *testing.T) {
	for _, n := range []int64{1, 2, 15, 16, 17, 31, 32, 96, 100, 256, 257, 1000, 1024} {
		e := newEnv(&ir.Program{}, nil)
		top := newScope(nil)
		sum := &ir.Reduce{Kind: ir.Sum, Scalar: &ir.Scalar{Name: "sum", Type: types.F64}}
		most := &ir.Reduce{Kind: ir.Max, Scalar: &ir.Scalar{Name: "most", Type: types.I32}}
		runs := []*sharedTree{newSharedTree(top, e, "sum", sum, n), newSharedTree(top, e, "most", most, n)}
		u := &kernel.Buffer{Name: "u", Elem: types.F64, Mode: kernel.In, Cells: kernel.I(n)}
		v := &kernel.Buffer{Name: "v", Elem: types.I32, Mode: kernel.In, Cells: kernel.I(n)}
		x := &kernel.Buffer{Name: "x", Elem: types.F64, Mode: kernel.Out, Cells: kernel.I(1)}
		y := &kernel.Buffer{Name: "y", Elem: types.I32, Mode: kernel.Out, Cells: kernel.I(1)}
		thread := kernel.NewVar("thread", types.I64)
		at := kernel.V(thread)
		body := newScope(top)
		body.emit(runs[0].put(at, &kernel.Load{Buffer: u, Index: at}))
		body.emit(runs[1].put(at, &kernel.Load{Buffer: v, Index: at}))
		values := combine(body, runs, n, at)
		body.emit(&kernel.If{Cond: kernel.Bin(op.Eq, at, kernel.I(0)), Then: []kernel.Stmt{
			&kernel.Store{Buffer: x, Index: kernel.I(0), Value: values[0]},
			&kernel.Store{Buffer: y, Index: kernel.I(0), Value: values[1]},
		}})
		k := &kernel.Kernel{Name: "k", Buffers: []*kernel.Buffer{u, v, x, y}, Body: []kernel.Stmt{
			&kernel.Alloc{Buffer: runs[0].buf}, &kernel.Alloc{Buffer: runs[1].buf},
			&kernel.Loop{
				Var: thread, Lo: kernel.I(0), Hi: kernel.I(n), Step: kernel.I(1), Tag: kernel.ThreadX, Body: body.stmts,
			},
		}}
		rng := rand.New(rand.NewPCG(uint64(n), 3))
		us, vs := partsOf(types.F64, int(n), ir.Sum, rng), partsOf(types.I32, int(n), ir.Max, rng)
		gotX, gotY := sim.New(types.F64, 1), sim.New(types.I32, 1)
		r, err := sim.Run(k, sim.Args{Buffers: []*sim.Memory{
			sim.Values(types.F64, us...), sim.Values(types.I32, vs...), gotX, gotY,
		}}, sim.Options{})
		if err == nil {
			err = r.Err()
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, kernel.Text(k))
		}
		if want := over(op.Add, us); !gotX.At(0).Same(want) {
			t.Errorf("%d threads: the sum is %v, want %v", n, gotX.At(0), want)
		}
		if want := over(op.Max, vs); !gotY.At(0).Same(want) {
			t.Errorf("%d threads: the maximum is %v, want %v", n, gotY.At(0), want)
		}
	}
}
