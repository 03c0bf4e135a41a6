package emit_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

var allTypes = []types.Type{types.Bool, types.U8, types.I32, types.I64, types.F32, types.F64}

// forest writes random expressions over a few variables of each type.
type forest struct {
	*rand.Rand
	vars []*kernel.Var
	// indices keeps I64 to what indices are: no overflow. It is for devices.
	indices bool
}

func newForest(seed uint64) *forest {
	f := &forest{Rand: rand.New(rand.NewPCG(seed, 3))}
	for _, t := range allTypes {
		for i := range 3 {
			f.vars = append(f.vars, kernel.NewVar(fmt.Sprintf("%s_%d", t, i), t))
		}
	}
	return f
}

func choose[T any](f *forest, from ...T) T { return from[f.IntN(len(from))] }

// special are values at which an arithmetic is likely to go wrong.
var special = map[types.Type][]float64{
	types.Bool: {0, 1},
	types.U8:   {0, 1, 127, 128, 255},
	types.I32:  {0, 1, -1, 2, 7, -13, math.MaxInt32, math.MinInt32, math.MinInt32 + 1},
	types.I64:  {0, 1, -1, 5, -77, math.MaxInt32, math.MinInt32, 1 << 53, -(1 << 53), 1 << 62, math.MinInt64},
	types.F32: {0, math.Copysign(0, -1), 1, -1, 0.1, 1.5, -2.5, 1e-45, 3e38, 2147483648, -2147483648, 1e10,
		math.Inf(1), math.Inf(-1), math.NaN()},
	types.F64: {0, math.Copysign(0, -1), 1, -1, 0.1, 1.5, -2.5, 5e-324, 1e308, 2147483647, -2147483648.5, 9.3e18,
		-9.3e18, math.Inf(1), math.Inf(-1), math.NaN()},
}

func (f *forest) value(t types.Type) op.Value {
	if t == types.I64 && f.indices {
		return op.Int(t, f.Int64N(1<<31)-1<<30)
	}
	if f.IntN(3) == 0 {
		if t.IsFloat() {
			return op.Float(t, f.NormFloat64()*math.Exp2(float64(f.IntN(40)-20)))
		}
		return op.Int(t, int64(f.Uint64())>>f.IntN(64))
	}
	v := choose(f, special[t]...)
	if t.IsFloat() {
		return op.Float(t, v)
	}
	return op.Int(t, int64(v))
}

// expr grows an expression of a type. Plain nodes, not the constructors, which
// would fold what is to be printed.
func (f *forest) expr(t types.Type, depth int) kernel.Expr {
	if t == types.I64 && f.indices {
		depth = min(depth, 1)
	}
	if depth == 0 || f.IntN(12) == 0 {
		if f.IntN(3) == 0 {
			v := f.value(t)
			for f.indices && v.F != v.F { // PoCL's floor of a literal NaN is anything
				v = f.value(t)
			}
			return kernel.L(v)
		}
		for {
			if v := choose(f, f.vars...); v.Type == t {
				return kernel.V(v)
			}
		}
	}
	sub := func(t types.Type) kernel.Expr { return f.expr(t, depth-1) }
	switch n := f.IntN(10); {
	case n == 0:
		return &kernel.Select{Cond: sub(types.Bool), X: sub(t), Y: sub(t)}
	case n == 1 || t == types.U8:
		from := choose(f, allTypes...)
		if from == t {
			return sub(t)
		}
		return &kernel.Cast{To: t, X: sub(from)}
	case n == 2 && t == types.Bool:
		return &kernel.Unary{Op: op.Not, X: sub(t)}
	case n == 2:
		return &kernel.Unary{Op: op.Neg, X: sub(t)}
	case n == 3 && t.IsFloat():
		fn := choose(f, op.Sqrt, op.Abs, op.Floor, op.Ceil, op.Trunc, op.Round, op.Fmod, op.Quotient, op.InvSqrt)
		args := []kernel.Expr{sub(t)}
		if fn.Arity() == 2 {
			args = append(args, sub(t))
		}
		return &kernel.FuncCall{Func: fn, Args: args}
	case n == 3 && t == types.I32:
		return &kernel.FuncCall{Func: op.Abs, Args: []kernel.Expr{sub(t)}}
	case n == 4 && t.IsFloat() && f.IntN(4) == 0:
		return &kernel.Random{T: t, Seed: sub(types.I64), Number: sub(types.I64)}
	case t == types.Bool && f.IntN(2) == 0:
		of := choose(f, allTypes...)
		return &kernel.Binary{Op: choose(f, op.Eq, op.Ne, op.Lt, op.Le, op.Gt, op.Ge), X: sub(of), Y: sub(of)}
	case t == types.Bool:
		return &kernel.Binary{Op: choose(f, op.LAnd, op.LOr, op.And, op.Or), X: sub(t), Y: sub(t)}
	case t.IsFloat():
		return &kernel.Binary{Op: choose(f, op.Add, op.Sub, op.Mul, op.Div, op.Min, op.Max), X: sub(t), Y: sub(t)}
	}
	o := choose(f, op.Add, op.Sub, op.Mul, op.Div, op.Rem, op.Min, op.Max, op.And, op.Or)
	if t == types.I64 && (o == op.Div || o == op.Rem) {
		// Indices are never divided by zero, so nothing is done about that.
		return &kernel.Binary{Op: o, X: sub(t), Y: kernel.I(1 + f.Int64N(1000))}
	}
	return &kernel.Binary{Op: o, X: sub(t), Y: sub(t)}
}

// planted is an expression with the place that its kernel stores it to.
type planted struct {
	kernel *kernel.Kernel
	expr   kernel.Expr
	cell   int
}

// plant makes kernels that store random expressions, each to a cell of the
// buffer of its type.
func (f *forest) plant(kernels, each int) (*kernel.Module, []planted) {
	m := &kernel.Module{}
	var all []planted
	for range kernels {
		k := &kernel.Kernel{Name: fmt.Sprintf("k%d", len(m.Kernels)), Scalars: f.vars}
		out := map[types.Type]*kernel.Buffer{}
		for _, t := range allTypes {
			out[t] = &kernel.Buffer{Name: "out_" + t.String(), Elem: t, Mode: kernel.Out, Cells: kernel.I(int64(each))}
			k.Buffers = append(k.Buffers, out[t])
		}
		for i := range each {
			e := f.expr(choose(f, allTypes...), 1+f.IntN(6))
			k.Body = append(k.Body, &kernel.Store{Buffer: out[e.Type()], Index: kernel.I(int64(i)), Value: e})
			all = append(all, planted{k, e, i})
		}
		m.Kernels = append(m.Kernels, k)
	}
	return m, all
}

// What is printed as C computes what the operators mean, down to the sign of a
// zero, and is not in need of parentheses.
func TestExpressions(t *testing.T) {
	const kernels, each, inputs = 30, 100, 8
	f := newForest(1)
	m, all := f.plant(kernels, each)
	for _, k := range m.Kernels {
		if err := kernel.Verify(k); err != nil {
			t.Fatal(err)
		}
	}
	source := emit.Source(emit.C, m)
	image := quickly(t, source)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dev := cpu.Open()
	defer dev.Close()
	library, err := dev.Load(image)
	if err != nil {
		t.Fatal(err)
	}
	var args []device.Arg
	cells := map[types.Type][]byte{}
	for _, typ := range allTypes {
		region, err := memory.Anonymous(int64(each * typ.Size()))
		if err != nil {
			t.Fatal(err)
		}
		defer region.Close()
		buffer, err := dev.Share(region.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		cells[typ] = region.Bytes()
		args = append(args, &device.Slot{Buffer: buffer})
	}
	env := map[*kernel.Var]op.Value{}
	values := map[*kernel.Var]*device.Value{}
	for _, v := range f.vars {
		values[v] = &device.Value{}
		args = append(args, values[v])
	}
	wrong := 0
	for range inputs {
		for _, v := range f.vars {
			env[v] = f.value(v.Type)
			values[v].Set(env[v])
		}
		for i, p := range all {
			if i%each == 0 {
				launch, err := library.Prepare(p.kernel.Name, args)
				if err != nil {
					t.Fatal(err)
				}
				if err := launch.Launch(); err != nil {
					t.Fatal(err)
				}
			}
			typ := p.expr.Type()
			want, got := kernel.Eval(p.expr, env), device.Decode(typ, cells[typ][p.cell*typ.Size():])
			if !got.Same(want) && wrong < 10 {
				wrong++
				t.Errorf("%s is %v, not %v", kernel.ExprText(p.expr), got, want)
			}
		}
	}
	// Readers, and compilers for them, wonder about operators that stand side
	// by side.
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	file := filepath.Join(t.TempDir(), "kernels.c")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command("gcc", "-std=c11", "-fsyntax-only", "-Werror=parentheses", file).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%.4000s", err, said)
	}
}

// quickly compiles C in strict arithmetic without spending time on speed.
func quickly(t testing.TB, source string) string {
	t.Helper()
	b, err := compiler()
	if err != nil {
		t.Skip(err)
	}
	o, err := b.Compiler.Build(context.Background(), b.Cache,
		toolchain.Source{Text: []byte(source), Extra: []string{"-O1"}}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return o.Path
}
