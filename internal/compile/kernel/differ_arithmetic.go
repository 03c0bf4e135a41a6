package kernel

import (
	"maps"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// withoutArithmetic has each floating-point expression add up what it reads, each value that has a name once in all:
// where it is needed first. So every value that is loaded is needed by what is stored, and takes one addition on its
// way, which is the least that keeps compilers from leaving its load out. Indices, conditions, and what a condition
// guards stay.
func withoutArithmetic(k *Kernel, _ Surroundings) (*Kernel, error) {
	a := &adder{used: map[*Var]bool{}, changes: assigned(k.Body)}
	body := a.list(k.Body)
	if a.saved <= 0 {
		return nil, absent("it hardly does more than to add values up")
	}
	return rebuilt(k, body), nil
}

type adder struct {
	used    map[*Var]bool // values that were added somewhere
	loads   []*Load       // likewise, of buffers that do not change
	changes map[*Var]bool // variables
	saved   int           // operations
}

func (a *adder) list(list []Stmt) []Stmt {
	outer, loads := a.used, a.loads
	a.used = maps.Clone(outer)
	defer func() { a.used, a.loads = outer, loads }()
	var out []Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *Loop:
			l := *s
			l.Body = a.list(s.Body)
			out = append(out, &l)
		case *If:
			out = append(out, &If{s.Cond, a.list(s.Then), a.list(s.Else)})
		case *Let:
			out = append(out, &Let{s.Var, a.value(s.Value)})
		case *Declare:
			out = append(out, &Declare{s.Var, a.value(s.Init)})
		case *Assign:
			out = append(out, &Assign{s.Var, a.value(s.Value)})
		case *Store:
			out = append(out, &Store{s.Buffer, s.Index, a.value(s.Value), s.Via, s.Rank})
		case *StoreVector:
			out = append(out, &StoreVector{s.Buffer, s.Index, mapAll(s.Values, a.value), s.Via, s.Rank})
		default:
			out = append(out, s)
		}
	}
	return out
}

// value returns what takes the place of a floating-point value.
func (a *adder) value(e Expr) Expr {
	t := e.Type()
	if !t.IsFloat() {
		return e
	}
	if s, ok := e.(*Select); ok {
		return &Select{s.Cond, a.value(s.X), a.value(s.Y)}
	}
	var terms []Expr
	var again Expr // a value that was added before, for where there is nothing else
	operations := 0
	seen := map[*Var]bool{}
	var visit func(Expr)
	visit = func(e Expr) {
		switch e := e.(type) {
		case *Lit:
			return
		case *Load, *Random:
			if a.known(e) {
				again = Conv(t, e)
				return
			}
			if e.Type() == t {
				terms = append(terms, e)
			} else if e.Type().IsFloat() {
				terms = append(terms, Conv(t, e))
			}
			return
		case *Select:
			if e.Type() == t {
				terms = append(terms, a.value(e))
			}
			operations++
			return
		case *Ref:
			switch {
			case e.Var.Type != t:
				return
			case a.used[e.Var] && !a.changes[e.Var] || seen[e.Var]:
				again = e
				return
			}
			terms = append(terms, e)
			seen[e.Var] = true
			a.used[e.Var] = true
			return
		case *Cast:
			if from := e.X.Type(); !from.IsFloat() {
				again = e
				return
			} else if from != t {
				terms = append(terms, Conv(t, a.value(e.X)))
				return
			}
		}
		operations++
		for _, c := range Children(e) {
			visit(c)
		}
	}
	visit(e)
	if len(terms) == 0 {
		if again == nil {
			again = L(one(t))
		}
		terms = []Expr{again}
	}
	a.saved += operations - (len(terms) - 1)
	sum := terms[0]
	for _, x := range terms[1:] {
		sum = Bin(op.Add, sum, x)
	}
	return sum
}

func one(t types.Type) op.Value { return op.Float(t, 1) }

// known reports whether a load was added before, and notes it.
func (a *adder) known(e Expr) bool {
	l, ok := e.(*Load)
	if !ok || !constantLoad(l, a.changes) {
		return false
	}
	for _, x := range a.loads {
		if Same(x, l) {
			return true
		}
	}
	a.loads = append(a.loads[:len(a.loads):len(a.loads)], l)
	return false
}
