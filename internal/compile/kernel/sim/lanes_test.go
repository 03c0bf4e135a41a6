package sim

import (
	"math"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// samples are values at which operations are easily got wrong.
func samples(t types.Type) []op.Value {
	var out []op.Value
	if t.IsFloat() {
		for _, f := range []float64{
			0, negativeZero, 1, -1.5, 0.1, 1e30, -1e30, 1e300, 5e-324, 1e-40, math.MaxFloat32, inf, -inf, nan,
			2147483647, -2147483649, 16777217, 9.3e18,
		} {
			out = append(out, op.Float(t, f))
		}
		return out
	}
	for _, i := range []int64{
		0, 1, -1, 2, 7, -7, 255, 256, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64, 1 << 40, 16777217,
	} {
		out = append(out, op.Int(t, i))
	}
	return out
}

// eval compiles and runs a kernel that stores an expression over the scalars
// x and y.
func eval(t *testing.T, x, y op.Value, e func(x, y kernel.Expr) kernel.Expr) op.Value {
	t.Helper()
	vx, vy := kernel.NewVar("x", x.T), kernel.NewVar("y", y.T)
	value := e(kernel.V(vx), kernel.V(vy))
	out := &kernel.Buffer{Name: "out", Elem: value.Type(), Mode: kernel.Out, Cells: kernel.I(1)}
	k := &kernel.Kernel{Name: "k", Buffers: []*kernel.Buffer{out}, Scalars: []*kernel.Var{vx, vy}, Body: []kernel.Stmt{
		&kernel.Store{Buffer: out, Index: kernel.I(0), Value: value},
	}}
	mem := New(value.Type(), 1)
	r, err := Run(k, Args{[]*Memory{mem}, []op.Value{x, y}}, Options{})
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	return mem.At(0)
}

var allTypes = []types.Type{types.Bool, types.U8, types.I32, types.I64, types.F32, types.F64}

func TestArithmeticIsThatOfOp(t *testing.T) {
	for _, typ := range allTypes {
		for _, x := range samples(typ) {
			for _, y := range samples(typ) {
				for o := op.Add; o <= op.Ge; o++ {
					if o.Arity() != 2 || !defined(o, typ) {
						continue
					}
					want := op.Binary(o, x, y)
					got := eval(t, x, y, func(x, y kernel.Expr) kernel.Expr {
						return &kernel.Binary{Op: o, X: x, Y: y}
					})
					if !got.Same(want) {
						t.Errorf("%v %v %v of %v: %v, want %v", x, o, y, typ, got, want)
					}
				}
			}
			for _, to := range allTypes {
				want := op.Convert(to, x)
				got := eval(t, x, x, func(x, _ kernel.Expr) kernel.Expr { return &kernel.Cast{To: to, X: x} })
				if !got.Same(want) {
					t.Errorf("%v of %v as %v: %v, want %v", x, typ, to, got, want)
				}
			}
			for _, o := range []op.Op{op.Neg, op.Not} {
				if !defined(o, typ) {
					continue
				}
				want := op.Unary(o, x)
				got := eval(t, x, x, func(x, _ kernel.Expr) kernel.Expr { return &kernel.Unary{Op: o, X: x} })
				if !got.Same(want) {
					t.Errorf("%v %v of %v: %v, want %v", o, x, typ, got, want)
				}
			}
		}
	}
}

func TestFunctionsAreThoseOfOp(t *testing.T) {
	for _, typ := range []types.Type{types.I32, types.F32, types.F64} {
		for _, x := range samples(typ) {
			for _, y := range samples(typ)[:8] {
				for f := op.Sqrt; f <= op.InvSqrt; f++ {
					if typ == types.I32 && f != op.Abs {
						continue
					}
					args := []op.Value{x, y}[:f.Arity()]
					want := op.Call(f, args...)
					got := eval(t, x, y, func(x, y kernel.Expr) kernel.Expr {
						return &kernel.FuncCall{Func: f, Args: []kernel.Expr{x, y}[:f.Arity()]}
					})
					if !got.Same(want) {
						t.Errorf("%v of %v: %v, want %v", f, args, got, want)
					}
				}
			}
		}
	}
	want := op.Random(types.F32, 3, 5)
	got := eval(t, op.Int(types.I64, 3), op.Int(types.I64, 5), func(x, y kernel.Expr) kernel.Expr {
		return &kernel.Random{T: types.F32, Seed: x, Number: y}
	})
	if !got.Same(want) {
		t.Errorf("random: %v, want %v", got, want)
	}
}

// defined reports whether an operator works on a type, as kernel.Verify has it.
func defined(o op.Op, t types.Type) bool {
	x := kernel.L(op.Value{T: t})
	var e kernel.Expr = &kernel.Unary{Op: o, X: x}
	if o.Arity() == 2 {
		e = &kernel.Binary{Op: o, X: x, Y: x}
	}
	return kernel.Verify(&kernel.Kernel{
		Name: "k", Body: []kernel.Stmt{&kernel.Let{Var: kernel.NewVar("v", e.Type()), Value: e}},
	}) == nil
}

func TestIdentity(t *testing.T) {
	for _, typ := range []types.Type{types.I32, types.I64, types.F32, types.F64} {
		for _, o := range []op.Op{op.Add, op.Min, op.Max} {
			for _, x := range samples(typ) {
				if got := op.Binary(o, x, identity(o, typ)); !got.Same(x) {
					t.Errorf("%v %v %v = %v", x, o, identity(o, typ), got)
				}
			}
		}
	}
}
