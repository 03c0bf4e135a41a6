package kernel

import (
	"errors"
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/op"
)

// CheckInterior reports what tests indices below loops that are marked
// Interior: any If, any select whose condition depends on a comparison with a
// loop's variable, and any index that is itself chosen by min, max or select
// from one. A variable that has been cast is a position in the source's
// mathematics, not an index, so what is compared with it is data. A cell's
// colour, a remainder that equals a literal, may decide what is done with it;
// so may which thread it is, of those whose loops are around the Interior ones.
func CheckInterior(k *Kernel) error {
	c := &interior{
		kernel: k.Name, counts: map[*Var]bool{}, tests: map[*Var]bool{}, remainders: map[*Var]bool{},
		threads: map[*Var]bool{},
	}
	c.list(k.Body)
	return errors.Join(c.errs...)
}

type interior struct {
	kernel string
	path   trail
	inside int           // Interior loops around the statement
	counts map[*Var]bool // variables that hold a position within such a loop
	tests  map[*Var]bool // variables that hold a comparison of a position
	// remainders are names of values that colours are told by.
	remainders map[*Var]bool
	threads    map[*Var]bool // variables that tell which thread it is
	errs       []error
}

func (c *interior) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s: %s", c.path.under(c.kernel), fmt.Sprintf(format, args...)))
}

func (c *interior) list(list []Stmt) {
	for i, s := range list {
		c.path = append(c.path, step{list: list, i: i})
		c.stmt(s)
		c.path = c.path[:len(c.path)-1]
	}
}

func (c *interior) stmt(s Stmt) {
	switch s := s.(type) {
	case *Let:
		c.expr(s.Value)
		c.note(s.Var, s.Value)
		c.remainders[s.Var] = c.isRemainder(s.Value)
		c.threads[s.Var] = c.isThread(s.Value)
	case *Declare:
		c.expr(s.Init)
		c.note(s.Var, s.Init)
	case *Assign:
		c.expr(s.Value)
		c.note(s.Var, s.Value)
	case *Loop:
		if s.Path == Interior {
			c.inside++
		}
		if c.inside > 0 {
			c.counts[s.Var] = true
		} else if s.Tag.IsThread() {
			c.threads[s.Var] = true
		}
		c.list(s.Body)
		if s.Path == Interior {
			c.inside--
		}
	case *If:
		if c.inside > 0 && !c.isColor(s.Cond) && !c.isThread(s.Cond) {
			c.fail("a condition in an interior loop")
		}
		c.list(s.Then)
		c.list(s.Else)
	default:
		eachExpr(s, func(e Expr, index bool) {
			if index {
				c.index(e)
			}
			c.expr(e)
		})
	}
}

// note remembers what a variable's value is made of.
func (c *interior) note(x *Var, value Expr) {
	if c.position(value) {
		c.counts[x] = true
	}
	if c.test(value) {
		c.tests[x] = true
	}
}

// position reports whether e is a position within an interior loop, or
// computed from one without a cast.
func (c *interior) position(e Expr) bool {
	switch e := e.(type) {
	case *Ref:
		return c.counts[e.Var]
	case *Cast, *Load, *Random, *Phase, *FuncCall:
		return false
	case *Binary:
		return !e.Op.IsComparison() && (c.position(e.X) || c.position(e.Y))
	}
	for _, x := range Children(e) {
		if c.position(x) {
			return true
		}
	}
	return false
}

// test reports whether e is, or is made of, a comparison of a position.
func (c *interior) test(e Expr) bool {
	switch e := e.(type) {
	case *Ref:
		return c.tests[e.Var]
	case *Load:
		return false
	case *Binary:
		if e.Op.IsComparison() && !c.isColor(e) && (c.position(e.X) || c.position(e.Y)) {
			return true
		}
	}
	for _, x := range Children(e) {
		if c.test(x) {
			return true
		}
	}
	return false
}

// isColor reports whether a condition asks for the colour of a cell, or for
// several.
func (c *interior) isColor(e Expr) bool {
	b, ok := e.(*Binary)
	if !ok {
		return false
	}
	if b.Op == op.LAnd || b.Op == op.LOr {
		return c.isColor(b.X) && c.isColor(b.Y)
	}
	_, literal := IntLit(b.Y)
	return b.Op == op.Eq && literal && c.isRemainder(b.X)
}

// isThread reports whether e is made of what tells which thread it is.
func (c *interior) isThread(e Expr) bool {
	found, only := false, true
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Load:
			only = false
		case *Ref:
			found = true
			only = only && c.threads[e.Var]
		}
	})
	return found && only
}

// isRemainder reports whether e is a remainder by a literal.
func (c *interior) isRemainder(e Expr) bool {
	switch e := e.(type) {
	case *Ref:
		return c.remainders[e.Var]
	case *Binary:
		_, literal := IntLit(e.Y)
		return e.Op == op.Rem && literal
	}
	return false
}

func (c *interior) expr(e Expr) {
	if c.inside == 0 {
		return
	}
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Select:
			if c.test(e.Cond) {
				c.fail("a select on a position in an interior loop")
			}
		case *Load:
			c.index(e.Index)
		}
	})
}

// index checks that an index is not chosen.
func (c *interior) index(e Expr) {
	if c.inside == 0 {
		return
	}
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Select:
			c.fail("an index is chosen by a select in an interior loop")
		case *Binary:
			if (e.Op == op.Min || e.Op == op.Max) && c.position(e) {
				c.fail("an index is limited by %s in an interior loop", e.Op)
			}
		}
	})
}
