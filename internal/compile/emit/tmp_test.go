package emit

import (
	"os"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

func heat(bc bool) *ir.Program {
	p := &ir.Program{Name: "heat", Axes: []string{"k", "j", "i"}}
	for _, n := range []string{"L", "M", "N"} {
		p.Params = append(p.Params, &ir.Param{Name: n})
	}
	alpha := &ir.Scalar{Name: "alpha", Type: types.F64, Argument: true, Used: true}
	res := &ir.Scalar{Name: "res", Type: types.F64, Reduced: true}
	p.Scalars = []*ir.Scalar{alpha, res}
	dims := func() []ir.Dim {
		var d []ir.Dim
		for a := range 3 {
			x := ir.Dim{Axis: a, Lo: ir.Num(0), Hi: ir.ParamAffine(a).Add(-1)}
			if bc {
				k := []ir.BoundaryKind{ir.Constant, ir.Clamp, ir.Periodic}[a]
				b := ir.Boundary{Kind: k}
				if k == ir.Constant {
					b.Value = ir.Const{Value: op.Float(types.F64, 0)}
				}
				x.Faces = ir.Faces{Low: b, High: b}
			}
			d = append(d, x)
		}
		return d
	}
	u := &ir.Grid{Name: "u", Type: types.F64, Dims: dims(), CopyIn: true, CopyOut: true}
	next := &ir.Grid{Name: "next", Type: types.F64, Dims: dims()}
	p.Grids = []*ir.Grid{u, next}
	out := &ir.Array{Name: "out", Type: types.F64, Dims: next.Dims, Grid: next, Written: true}
	in := &ir.Array{Name: "in", Type: types.F64, Dims: u.Dims, Grid: u, Read: true}
	at := func(k, j, i int64) ir.Expr {
		return &ir.Access{Array: in, Index: []ir.Index{{Axis: 0, Offset: k}, {Axis: 1, Offset: j}, {Axis: 2, Offset: i}}}
	}
	bin := func(o op.Op, x, y ir.Expr) ir.Expr { return &ir.Binary{Op: o, X: x, Y: y} }
	sum := bin(op.Add, at(0, 0, 1), at(0, 0, -1))
	for _, o := range [][3]int64{{0, 1, 0}, {0, -1, 0}, {1, 0, 0}, {-1, 0, 0}} {
		sum = bin(op.Add, sum, at(o[0], o[1], o[2]))
	}
	sum = bin(op.Sub, sum, bin(op.Mul, ir.Const{Value: op.Float(types.F64, 6)}, at(0, 0, 0)))
	val := bin(op.Add, at(0, 0, 0), bin(op.Mul, ir.ScalarRef{Scalar: alpha}, sum))
	st := &ir.Stmt{Array: out, Value: val, Axes: []int{0, 1, 2}, Domain: ir.InferDomain(3, out, false, val, nil)}
	diff := bin(op.Sub, &ir.Access{Array: out, Index: []ir.Index{{Axis: 0}, {Axis: 1}, {Axis: 2}}}, at(0, 0, 0))
	red := &ir.Stmt{Reduce: &ir.Reduce{Kind: ir.Sum, Scalar: res}, Value: bin(op.Mul, diff, diff), Axes: []int{0, 1, 2}, Domain: ir.InferDomain(3, nil, true, diff, nil)}
	s := &ir.Stage{Name: "heat", Stencil: "heat", Arrays: []*ir.Array{out, in}, Body: []*ir.Stmt{st, red}, Hints: ir.Hints{Stream: -1}}
	p.Stages = []*ir.Stage{s}
	p.Body = []ir.Op{&ir.Run{Stage: s}}
	return p
}

func TestTmp(t *testing.T) {
	for _, bc := range []bool{false, true} {
		for _, tg := range []lower.Target{lower.CPU, lower.GPU} {
			m, err := lower.Program(heat(bc), lower.Options{Target: tg})
			if err != nil {
				t.Fatal(err)
			}
			d := C
			if tg == lower.GPU {
				d = CUDA
			}
			src := Source(d, m)
			for _, k := range m.Kernels {
				if err := kernel.Verify(k); err != nil {
					t.Error(err)
				}
			}
			name := map[bool]string{false: "plain", true: "bc"}[bc] + "." + d.Name
			os.WriteFile("/tmp/gl/try/"+name, []byte(src), 0o644)
		}
	}
}
