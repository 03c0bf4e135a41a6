package lang

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// level says what an expression may speak of, each level adding to the one
// before it.
type level uint8

const (
	atSizes   level = iota // parameters
	atStart                // scalars and tables
	atSteps                // step
	atCells                // positions, grids and scalar locals
	atInitial              // random
)

// env is the scope in which expressions are read.
type env struct {
	c       *checker
	level   level
	names   map[string]symbol // what hides the globals
	types   map[Expr]types.Type
	builder *callBuilder // of the body that is being read; nil outside one

	inIndex bool // the index of a grid is being read
}

func (c *checker) newEnv(l level) *env {
	return &env{c: c, level: l, names: make(map[string]symbol), types: make(map[Expr]types.Type)}
}

func (e *env) lookup(name string) symbol {
	if s, ok := e.names[name]; ok {
		return s
	}
	return e.c.globals[name]
}

// candidates lists the names that a misspelt one may have meant.
func (e *env) candidates() []string {
	names := sortedNames(e.names)
	names = append(names, e.c.globalNames(anySymbol)...)
	return append(names, "step", "true", "false")
}

// with runs f while name stands for s.
func (e *env) with(name string, s symbol, f func()) {
	old, had := e.names[name]
	e.names[name] = s
	f()
	if had {
		e.names[name] = old
	} else {
		delete(e.names, name)
	}
}

// place says in a message where an expression stands.
func (e *env) place() string {
	switch e.level {
	case atSizes:
		return "the value of a parameter"
	case atStart:
		return "a value that is fixed before the first step"
	case atSteps:
		return "a value that is the same at all cells"
	}
	return "a statement"
}

// valueOf reads x as a value of type t that does not vary over cells.
func (e *env) valueOf(x Expr, t types.Type) (ir.Expr, bool) {
	if e.typeOf(x) == types.Invalid {
		return nil, false
	}
	e.c.reset()
	return e.lowerTo(x, t, floatOr(t, types.F64))
}

// integer reads x as an int.
func (e *env) integer(x Expr) (ir.Expr, bool) {
	switch e.typeOf(x) {
	case types.Invalid:
		return nil, false
	case types.I32, types.U8:
		e.c.reset()
		return e.lowerTo(x, types.I32, types.F64)
	}
	e.c.diags.Errorf(x.Span(), "this must be a whole number").Hintf("int(...) makes one of a value with a fraction")
	return nil, false
}

// constant reads x as an integer that is known here and now.
func (e *env) constant(x Expr, what string) (int64, bool) {
	v, ok := e.integer(x)
	if !ok {
		return 0, false
	}
	if k, isConst := v.(ir.Const); isConst {
		return k.Value.I, true
	}
	e.c.diags.Errorf(x.Span(), "%s must be a constant number", what)
	return 0, false
}

func floatOr(t, other types.Type) types.Type {
	if t.IsFloat() {
		return t
	}
	return other
}
