package kernel

import (
	"math"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// passReciprocals divides by a literal, and by what has many dividends, by means of the divisor's reciprocal: a
// product estimates the quotient, and two fused multiply-adds make it the correctly rounded one. GPUs have no
// instruction that divides, and theirs is a sequence three times as long.
//
//	(let y f64 (div x (f64 3)))
//	=>
//	(let estimate f64 (mul x (f64 0.3333333333333333)))
//	(let refined f64 (fma (fma (f64 -3) estimate x) (f64 0.3333333333333333) estimate))
//	(let y f64 (select (ge (call abs refined) (f64 1.9e-211)) refined
//	  (select (eq x (f64 0)) estimate (call quotient x (f64 3)))))
//
// That is right if the reciprocal is the correctly rounded one and nothing underflows or overflows on the way
// (Markstein, IBM Journal of Research and Development 34(1), 1990; Brisebarre, Muller and Raina, IEEE Transactions on
// Computers 53(8), 2004); docs/rationale/arithmetic.md has the proof for the limits below. What is refined to less
// than the limit of quotients, or to no number, is divided as it was, unless it is 0. A reciprocal of a divisor that
// is beyond the limits is NaN, and so is all that is refined by it; that of 0 is infinite, which comes to the same.
// Divisions by powers of two are products.
//
// Operands of a select that may not be chosen stay as they are, and so does what is the same in the whole launch:
// compilers move that out of loops.
func passReciprocals(k *Kernel) *Kernel {
	d := &divider{
		changes: assigned(k.Body), order: map[*Var]int{}, innermost: map[*Var]*Var{}, launch: map[*Var]Expr{},
		after: map[*Var][]*divisor{},
	}
	for v := range reduced(k.Body) {
		d.changes[v] = true
	}
	for _, v := range k.Scalars {
		d.launch[v] = V(v)
	}
	for c, n := range d.count(k.Body) {
		if n >= worthwhile[c.value.Type()] {
			c.chosen = true
			d.after[c.home] = append(d.after[c.home], c)
		}
	}
	for home, list := range d.after {
		d.after[home] = inOrder(list)
	}
	return TidyNames(k.with(append(d.reciprocals(nil), d.list(k.Body)...)))
}

// dividing are limits of divisors, and of quotients from below, between which nothing underflows or overflows.
type dividing struct{ least, most, quotient float64 }

var (
	divides = map[types.Type]dividing{
		types.F32: {0x1p-30, 0x1p100, 0x1p-70},
		types.F64: {0x1p-256, 0x1p1000, 0x1p-700},
	}
	// worthwhile is how many divisions of a thread are worth a reciprocal, which is a division and two comparisons.
	worthwhile = map[types.Type]float64{types.F32: 6, types.F64: 3}
)

// unknownTrips stands for the trips of a loop that may be any number.
const unknownTrips = 8

// mostNodes is how large an expression is that is computed once more where the launch begins.
const mostNodes = 16

// divider divides by reciprocals in one kernel.
type divider struct {
	changes   map[*Var]bool // variables that do
	order     map[*Var]int  // in which variables are declared; those of the signature are not in it
	innermost map[*Var]*Var // of collapsed loops, which have no statements in between, by the others' variables
	launch    map[*Var]Expr // what is the same in the whole launch, by the kernel's arguments
	divisors  []*divisor
	after     map[*Var][]*divisor // the chosen ones that are known once a variable is; nil: from the start
	before    []Stmt              // names for what the statement that is rewritten needs
}

// divisor is what dividends have in common.
type divisor struct {
	index      int
	value      Expr
	home       *Var // the last variable that it reads; nil where it reads arguments alone
	chosen     bool
	name       Expr // of the value and the reciprocal, once they have names
	reciprocal Expr
}

// inOrder sorts divisors by where they are met first.
func inOrder(list []*divisor) []*divisor {
	byIndex := map[int]*divisor{}
	last := 0
	for _, c := range list {
		byIndex[c.index] = c
		last = max(last, c.index)
	}
	var out []*divisor
	for i := range last + 1 {
		if c := byIndex[i]; c != nil {
			out = append(out, c)
		}
	}
	return out
}

// counts says how often a thread divides by each divisor.
type counts map[*divisor]float64

func (d *divider) declare(v *Var) { d.order[v] = len(d.order) + 1 }

// count counts the divisions of a list. Of the sides of a condition, one is carried out.
func (d *divider) count(list []Stmt) counts {
	all := counts{}
	for _, s := range list {
		switch s := s.(type) {
		case *Loop:
			d.declare(s.Var)
			nest := Collapsed(s)
			for _, outer := range nest[:len(nest)-1] {
				d.innermost[outer.Var] = nest[len(nest)-1].Var
			}
			trips := 1.0
			if n, known := Trips(s); !s.Tag.isLaunch() && known {
				trips = float64(n)
			} else if !s.Tag.isLaunch() {
				trips = unknownTrips
			}
			for c, n := range d.count(s.Body) {
				if d.order[c.home] < d.order[s.Var] {
					n *= trips
				}
				all[c] += n
			}
			continue
		case *If:
			then, other := d.count(s.Then), d.count(s.Else)
			for c, n := range other {
				then[c] = max(then[c], n)
			}
			for c, n := range then {
				all[c] += n
			}
		}
		for _, e := range ownExprs(s) {
			d.sites(e, func(e *Binary) {
				if c := d.divisor(e); c != nil {
					all[c]++
				}
			})
		}
		for _, v := range Named(s) {
			d.declare(v)
		}
		switch s := s.(type) {
		case *Let:
			d.note(s.Var, s.Value)
		case *Declare:
			d.note(s.Var, s.Init)
		}
	}
	return all
}

// sites calls f for the divisions of an expression that are carried out in any case.
func (d *divider) sites(e Expr, f func(*Binary)) {
	switch e := e.(type) {
	case *Select:
		d.sites(e.Cond, f)
		return
	case *Binary:
		if e.Op == op.Div && e.X.Type().IsFloat() {
			f(e)
		}
	}
	for _, c := range Children(e) {
		d.sites(c, f)
	}
}

// note stores what a variable is by the kernel's arguments, if it is the same in the whole launch.
func (d *divider) note(v *Var, value Expr) {
	if d.changes[v] {
		return
	}
	if e := d.ofLaunch(value); e != nil {
		d.launch[v] = e
	}
}

// ofLaunch returns an expression by the kernel's arguments, nil where it is more than a few operations on those.
func (d *divider) ofLaunch(e Expr) Expr {
	ok, nodes := true, 0
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Ref:
			if known := d.launch[e.Var]; known == nil {
				ok = false
			} else {
				Walk(known, func(Expr) { nodes++ })
			}
		case *Load, *Random, *Phase:
			ok = false
		default:
			nodes++
		}
	})
	if !ok || nodes > mostNodes {
		return nil
	}
	return Rewrite(e, func(e Expr) Expr {
		if r, ok := e.(*Ref); ok {
			return d.launch[r.Var]
		}
		return e
	})
}

// divisor finds the divisor of a division, nil where that is no matter of reciprocals that have names.
func (d *divider) divisor(e *Binary) *divisor {
	value := e.Y
	if uniform := d.ofLaunch(value); uniform != nil {
		if d.ofLaunch(e.X) != nil {
			return nil
		}
		value = uniform
	}
	if _, literal := value.(*Lit); literal {
		return nil
	}
	for _, c := range d.divisors {
		if Same(c.value, value) {
			return c
		}
	}
	c := &divisor{index: len(d.divisors), value: value}
	ok := true
	Walk(value, func(e Expr) {
		switch e := e.(type) {
		case *Ref:
			ok = ok && !d.changes[e.Var]
			if d.order[e.Var] > d.order[c.home] {
				c.home = e.Var
			}
		case *Load, *Random:
			ok = false
		}
	})
	if !ok {
		return nil
	}
	if inner := d.innermost[c.home]; inner != nil {
		c.home = inner
	}
	d.divisors = append(d.divisors, c)
	return c
}

// reciprocals gives names to what is known once a variable is.
func (d *divider) reciprocals(home *Var) []Stmt {
	var out []Stmt
	for _, c := range d.after[home] {
		t := c.value.Type()
		limits := divides[t]
		c.name = c.value
		if _, named := c.value.(*Ref); !named {
			v := NewVar("divisor", t)
			out = append(out, &Let{v, c.value})
			c.name = V(v)
		}
		r := Bin(op.Div, number(t, 1), c.name)
		if cast, ok := c.value.(*Cast); !ok || cast.X.Type().IsFloat() { // an integer is within the limits, or 0
			size := &FuncCall{op.Abs, []Expr{c.name}}
			within := And(Ge(size, number(t, limits.least)), Le(size, number(t, limits.most)))
			r = Sel(within, r, number(t, math.NaN()))
		}
		v := NewVar("reciprocal", t)
		out = append(out, &Let{v, r})
		c.reciprocal = V(v)
	}
	return out
}

func number(t types.Type, x float64) Expr { return L(op.Float(t, x)) }

// list rewrites the divisions of a list.
func (d *divider) list(list []Stmt) []Stmt {
	var out []Stmt
	for _, s := range list {
		switch c := s.(type) {
		case *Loop:
			l := *c
			l.Body = append(d.reciprocals(l.Var), d.list(l.Body)...)
			out = append(out, &l)
			continue
		case *If:
			cond := d.root(c.Cond)
			out = append(out, d.before...)
			d.before = nil
			s = &If{cond, d.list(c.Then), d.list(c.Else)}
		case *Alloc:
		default:
			s = mapStmt(s, d.root)
		}
		out = append(append(out, d.before...), s)
		d.before = nil
		for _, v := range Named(s) {
			out = append(out, d.reciprocals(v)...)
		}
	}
	return out
}

// root rewrites a whole expression of a statement. One without divisions stays the same.
func (d *divider) root(e Expr) Expr {
	any := false
	d.sites(e, func(*Binary) { any = true })
	if !any {
		return e
	}
	if b, ok := e.(*Binary); ok && b.Op == op.Div {
		return d.quotient(b)
	}
	return mapChildren(e, d.expr)
}

// expr rewrites a part of an expression, in which a quotient gets a name.
func (d *divider) expr(e Expr) Expr {
	switch x := e.(type) {
	case *Select:
		return &Select{d.expr(x.Cond), x.X, x.Y}
	case *Binary:
		if x.Op == op.Div && x.X.Type().IsFloat() {
			q := d.quotient(x)
			if _, chosen := q.(*Select); chosen {
				return d.let("quotient", q)
			}
			return q
		}
	}
	return mapChildren(e, d.expr)
}

// let gives a value a name before the statement.
func (d *divider) let(name string, e Expr) Expr {
	v := NewVar(name, e.Type())
	d.before = append(d.before, &Let{v, e})
	return V(v)
}

// quotient returns what takes the place of a division.
func (d *divider) quotient(e *Binary) Expr {
	t := e.X.Type()
	c := d.divisor(e)
	x := d.expr(e.X)
	if lit, ok := d.literal(e.Y); ok {
		r := op.Binary(op.Div, op.Float(t, 1), lit)
		size := math.Abs(lit.F)
		switch {
		case isPowerOfTwo(lit.F) && op.Binary(op.Mul, r, lit).F == 1:
			return Bin(op.Mul, x, L(r))
		case size >= divides[t].least && size <= divides[t].most && d.ofLaunch(e.X) == nil:
			c = &divisor{chosen: true, name: L(lit), reciprocal: L(r)}
		}
	}
	if c == nil || !c.chosen {
		return Bin(op.Div, x, d.expr(e.Y))
	}
	if _, named := x.(*Ref); !named {
		x = d.let("dividend", x)
	}
	estimate := d.let("estimate", Bin(op.Mul, x, c.reciprocal))
	refined := d.let("refined", Fused(Fused(Un(op.Neg, c.name), estimate, x), c.reciprocal, estimate))
	zero := Bin(op.Eq, x, number(t, 0))
	if _, literal := c.name.(*Lit); !literal { // whose reciprocal is a number
		zero = And(zero, Bin(op.Eq, estimate, number(t, 0)))
	}
	return Sel(Ge(&FuncCall{op.Abs, []Expr{refined}}, number(t, divides[t].quotient)), refined,
		Sel(zero, estimate, &FuncCall{op.Quotient, []Expr{x, c.name}}))
}

// literal returns the value of a literal, or of a name for one.
func (d *divider) literal(e Expr) (op.Value, bool) {
	if known := d.ofLaunch(e); known != nil {
		e = known
	}
	l, ok := e.(*Lit)
	if !ok {
		return op.Value{}, false
	}
	return l.Value, true
}

func isPowerOfTwo(x float64) bool {
	fraction, _ := math.Frexp(math.Abs(x))
	return fraction == 0.5
}
