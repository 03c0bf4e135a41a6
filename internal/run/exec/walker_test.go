package exec

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// bodies draws one body twice: for a cursor and for a walker. Counts and
// conditions are numbered, and what they are is up to the test.
func bodies(t *rapid.T, depth int, number *int) (body []ir.Op, script []Op) {
	for range rapid.IntRange(0, 3).Draw(t, "ops") {
		if depth == 0 || rapid.Bool().Draw(t, "leaf") {
			body, script = append(body, &ir.Run{}), append(script, Op{Kind: RunOp, Call: *number})
			*number++
			continue
		}
		inner, scriptInner := bodies(t, depth-1, number)
		it := &ir.Iterate{Body: inner}
		o := Op{Kind: IterateOp, Body: scriptInner, Leafless: leafless(scriptInner)}
		expr, f := ir.ParamRef{Param: *number}, Formula{{Index: *number}}
		*number++
		if rapid.Bool().Draw(t, "count") {
			it.Count, o.Count = expr, f
		} else {
			it.Until, o.Until = expr, f
			it.Check, it.Max = rapid.Int64Range(1, 3).Draw(t, "check"), rapid.Int64Range(0, 6).Draw(t, "max")
			o.Check, o.Max = it.Check, it.Max
		}
		body, script = append(body, it), append(script, o)
	}
	return body, script
}

// A walker goes where a cursor goes.
func TestWalkerFollowsCursor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := 0
		body, script := bodies(t, 3, &number)
		salt := rapid.Int64Range(0, 1000).Draw(t, "salt")
		leaves := int64(0)
		// What an expression is depends on all that has happened.
		value := func(number int, step int64) int64 {
			return (salt + 7*int64(number) + 3*leaves + step) % 5 % 4
		}
		evalCursor := func(e ir.Expr, step int64) op.Value {
			return op.Int(types.I32, value(e.(ir.ParamRef).Param, step))
		}
		evalWalker := func(f Formula, step int64) int64 { return value(f[0].Index, step) }
		var c ir.Cursor
		w := newWalker(script, c, evalWalker)
		for range 2000 {
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				// From where either of them stands.
				from := c
				if rapid.Bool().Draw(t, "walker's") {
					from = w.cursor()
				}
				if err := from.Check(body); err != nil {
					t.Fatal(err)
				}
				w = newWalker(script, from, evalWalker)
			}
			leaf, more := c.Next(body, evalCursor)
			if w.settle() != more {
				t.Fatalf("the cursor has more: %v, the walker thinks otherwise", more)
			}
			if !more {
				if got := w.cursor(); !reflect.DeepEqual(got, c) {
					t.Fatalf("they end at different places: %v, %v", got, c)
				}
				return
			}
			step := w.step()
			w.take()
			if got := w.cursor(); step != leaf.Step || !reflect.DeepEqual(got, c) {
				t.Fatalf("step %d at %v, want %d at %v", step, got, leaf.Step, c)
			}
			leaves++
		}
	})
}

func TestWalkerAllocatesNothing(t *testing.T) {
	body := []Op{{Kind: IterateOp, Count: Formula{{}},
		Body: []Op{{}, {Kind: IterateOp, Count: Formula{{}}, Body: []Op{{}}}}}}
	w := newWalker(body, ir.Cursor{}, func(Formula, int64) int64 { return 1000 })
	w.settle()
	w.take()
	w.settle()
	w.take()
	if n := testing.AllocsPerRun(1000, func() { w.settle(); w.take() }); n != 0 {
		t.Errorf("a leaf allocates %v times", n)
	}
}

// expr draws a uniform expression of a type.
func expr(t *rapid.T, b *ir.Binding, want types.Type, depth int) ir.Expr {
	kind := 0
	if depth > 0 {
		kind = rapid.IntRange(0, 5).Draw(t, "kind")
	}
	sub := func(of types.Type) ir.Expr { return expr(t, b, of, depth-1) }
	numbers := []types.Type{types.I32, types.F32, types.F64}
	switch {
	case kind == 0:
		return leaf(t, b, want)
	case kind == 1:
		return &ir.Select{Cond: sub(types.Bool), X: sub(want), Y: sub(want)}
	case kind == 2:
		return &ir.Cast{To: want, X: sub(rapid.SampledFrom(append(numbers, types.Bool, types.U8)).Draw(t, "from"))}
	case want == types.Bool && kind == 3:
		of := rapid.SampledFrom(numbers).Draw(t, "compared")
		return &ir.Binary{Op: rapid.SampledFrom([]op.Op{op.Eq, op.Ne, op.Lt, op.Le, op.Gt, op.Ge}).Draw(t, "op"),
			X: sub(of), Y: sub(of)}
	case want == types.Bool && kind == 4:
		return &ir.Unary{Op: op.Not, X: sub(want)}
	case want == types.Bool:
		return &ir.Binary{Op: rapid.SampledFrom([]op.Op{op.LAnd, op.LOr}).Draw(t, "op"), X: sub(want), Y: sub(want)}
	case want == types.U8:
		return leaf(t, b, want)
	case kind == 3:
		return &ir.Binary{Op: rapid.SampledFrom([]op.Op{op.Add, op.Sub, op.Mul, op.Div, op.Min, op.Max}).Draw(t, "op"),
			X: sub(want), Y: sub(want)}
	case kind == 4 && want.IsFloat():
		f := rapid.SampledFrom([]op.Func{op.Sqrt, op.Floor, op.Fmod, op.Pow, op.Exp}).Draw(t, "func")
		call := &ir.FuncCall{Func: f}
		for range f.Arity() {
			call.Args = append(call.Args, sub(want))
		}
		return call
	case kind == 4:
		return &ir.Unary{Op: op.Neg, X: sub(want)}
	}
	return &ir.PowInt{X: sub(want), N: rapid.IntRange(-3, 4).Draw(t, "power")}
}

func leaf(t *rapid.T, b *ir.Binding, want types.Type) ir.Expr {
	var leaves []ir.Expr
	for _, s := range b.Program.Scalars {
		if s.Type == want {
			leaves = append(leaves, ir.ScalarRef{Scalar: s})
		}
	}
	if want == types.I32 {
		leaves = append(leaves, ir.ParamRef{Param: 0}, ir.StepRef{})
	}
	v := op.Int(want, rapid.Int64Range(-3, 300).Draw(t, "integer"))
	if want.IsFloat() {
		v = op.Float(want, rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1.5, -0.1, math.NaN(),
			math.Inf(-1)}).Draw(t, "number"))
	}
	return rapid.SampledFrom(append(leaves, ir.Const{Value: v})).Draw(t, "leaf")
}

// A formula has the value of the expression that it is made of, whatever has
// been reduced since.
func TestFormulas(t *testing.T) {
	p := &ir.Program{
		Params: []*ir.Param{{Name: "N"}},
		Scalars: []*ir.Scalar{
			{Name: "fixed", Type: types.F64}, {Name: "single", Type: types.F32, Reduced: true},
			{Name: "count", Type: types.I32, Reduced: true}, {Name: "on", Type: types.Bool, Reduced: true},
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		b := &ir.Binding{Program: p, Params: []int64{9}, Scalars: []op.Value{
			op.Float(types.F64, 2.5), op.Float(types.F32, 0), op.Int(types.I32, 0), op.BoolOf(false),
		}}
		want := rapid.SampledFrom([]types.Type{types.I32, types.F64, types.Bool}).Draw(t, "type")
		e := expr(t, b, want, 4)
		f := formula(b, e, func(s *ir.Scalar) (int, bool) { return slices.Index(p.Scalars, s) - 1, s.Reduced })
		b.Scalars[1] = op.Float(types.F32, rapid.Float64().Draw(t, "single"))
		b.Scalars[2] = op.Int(types.I32, rapid.Int64().Draw(t, "count"))
		b.Scalars[3] = op.BoolOf(rapid.Bool().Draw(t, "on"))
		ev := evaluator{cell: func(i int) op.Value { return b.Scalars[i+1] }}
		step := rapid.Int64Range(0, 9).Draw(t, "step")
		for range 2 { // the stack is used again
			if got, want := ev.eval(f, step), b.Eval(e, step); !got.Same(want) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	})
}
