package lang

import (
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// function is a function of the language.
type function struct {
	math   op.Func
	fold   op.Op // of min and max
	least  int   // arguments
	most   int   // -1 for any number
	ints   bool  // works on integers as they are
	random bool
	cast   types.Type
}

var functions = makeFunctions()

func makeFunctions() map[string]function {
	m := map[string]function{
		"abs":    {math: op.Abs, least: 1, most: 1, ints: true},
		"fabs":   {math: op.Abs, least: 1, most: 1},
		"min":    {fold: op.Min, least: 2, most: -1, ints: true},
		"max":    {fold: op.Max, least: 2, most: -1, ints: true},
		"fmin":   {fold: op.Min, least: 2, most: 2},
		"fmax":   {fold: op.Max, least: 2, most: 2},
		"random": {least: 1, most: 1, random: true},
	}
	for f := op.Sqrt; f <= op.Hypot; f++ {
		if f != op.Abs {
			m[f.String()] = function{math: f, least: f.Arity(), most: f.Arity()}
		}
	}
	// C's names for float versions mean the same: the arguments' type rules.
	for _, name := range sortedNames(m) {
		if name != "abs" && name != "min" && name != "max" && name != "random" {
			m[name+"f"] = m[name]
		}
	}
	for _, t := range []types.Type{types.I32, types.F32, types.F64, types.U8, types.Bool} {
		m[t.Word()] = function{cast: t, least: 1, most: 1}
	}
	return m
}

func (e *env) callType(x *CallExpr) types.Type {
	t := types.Invalid
	invalid := false
	for i, a := range x.Args {
		u := e.typeOf(a)
		invalid = invalid || u == types.Invalid
		if i == 0 {
			t = promote(u)
		} else {
			t = combine(t, u)
		}
	}
	f, ok := e.c.function(x, e.lookup(x.Func.Name))
	switch {
	case !ok || invalid:
		return types.Invalid
	case f.cast != types.Invalid:
		return f.cast
	case f.random:
		return e.randomType(x, t)
	case f.ints:
		return t
	}
	return real(t)
}

// function returns the function that x calls, unless it has reported that
// there is none or that it takes other arguments. declared is what the
// function's name stands for as the name of a value.
func (c *checker) function(x *CallExpr, declared symbol) (function, bool) {
	name := x.Func.Name
	f, ok := functions[name]
	if ok {
		n := len(x.Args)
		if n >= f.least && (f.most < 0 || n <= f.most) {
			return f, true
		}
		want := strconv.Itoa(f.least) + " argument" + plural(f.least)
		if f.most < 0 {
			want = "at least " + want
		}
		c.diags.Errorf(x.Span(), "%s takes %s, not %d", name, want, n)
		return f, false
	}
	if declared != nil {
		d := c.diags.Errorf(x.Func.Span(), "%q is %s, not a function", name, declared.kind())
		switch declared.(type) {
		case *gridSym, *arraySym, *tableSym:
			d.Hintf("an index stands in square brackets")
		}
		return f, false
	}
	if _, ok := c.stencils[name]; ok {
		c.diags.Errorf(x.Func.Span(), "%q is a stencil and gives no value", name).
			Hintf("function is another word for stencil; a value that is used again is a scalar local: double x = ...;")
		return f, false
	}
	d := c.diags.Errorf(x.Func.Span(), "there is no function %q", name)
	if near := diag.Nearest(name, sortedNames(functions)); near != "" {
		d.Hintf("did you mean %q?", near)
	}
	return f, false
}

func (e *env) randomType(x *CallExpr, t types.Type) types.Type {
	switch {
	case e.level < atInitial:
		e.c.diags.Errorf(x.Span(), "random stands in an initial block alone")
	case isFloating(t):
		e.c.diags.Errorf(x.Args[0].Span(), "the seed of random is a whole number")
	default:
		return untyped
	}
	return types.Invalid
}
