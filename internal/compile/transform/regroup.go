package transform

import (
	"cmp"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// regroup puts sums into an order in which they have more in common at shifted cells: rows and planes of symmetric
// stencils. Terms of one coefficient are added first (Fold). Then, of all pairs of terms, the one that sums have at
// most cells becomes a term, as long as there is one at two cells (Deitz et al. 2001).
//
//	u[j-1][i-1] + u[j-1][i+1] + u[j+1][i-1] + u[j+1][i+1]
//	=>
//	(u[j-1][i-1] + u[j-1][i+1]) + (u[j+1][i-1] + u[j+1][i+1])
//
// Only fast arithmetic allows it.
func (s *sharer) regroup() {
	r := &regrouper{forms: s.forms, whole: 1<<len(s.program.Axes) - 1, of: map[ir.Expr]*sumOf{}}
	values := map[*item]ir.Expr{}
	for _, it := range s.items {
		if it.reads {
			values[it], _ = Fold(s.program, it.stmt.Value)
			r.find(it, values[it], false)
		}
	}
	for r.join() {
	}
	for _, it := range s.items {
		if it.reads {
			st := *it.stmt
			st.Value = ir.Rewrite(r.rebuilt(values[it]), evaluated)
			it.stmt = &st
		}
	}
}

// evaluated returns the value of an operation on constants, such as a coefficient that Fold has made.
func evaluated(e ir.Expr) ir.Expr {
	switch e := e.(type) {
	case *ir.Unary:
		if x, ok := e.X.(ir.Const); ok {
			return ir.Const{Value: op.Unary(e.Op, x.Value)}
		}
	case *ir.Binary:
		x, okX := e.X.(ir.Const)
		if y, okY := e.Y.(ir.Const); okX && okY {
			return ir.Const{Value: op.Binary(e.Op, x.Value, y.Value)}
		}
	}
	return e
}

// mostTerms is how many terms a sum has at most whose order is changed.
const mostTerms = 128

// regrouper joins terms of sums.
type regrouper struct {
	forms *forms
	whole uint // all axes
	sums  []*sumOf
	of    map[ir.Expr]*sumOf
}

// sumOf is a sum of an expression.
type sumOf struct {
	it    *item
	terms []term
}

// find lists the sums of floating-point numbers in an expression, each with all its terms.
func (r *regrouper) find(it *item, e ir.Expr, within bool) {
	if isSum(e) && e.Type().IsFloat() {
		if s := (&sumOf{it, flatten(e, 1, nil)}); !within && len(s.terms) <= mostTerms {
			r.sums = append(r.sums, s)
			r.of[e] = s
		}
		within = true
	} else if u, ok := e.(*ir.Unary); !ok || u.Op != op.Neg {
		within = false
	}
	for _, c := range ir.Children(e) {
		r.find(it, c, within)
	}
}

// pair is two terms that sums have.
type pair struct {
	x, y  int // forms
	apart vector
	same  bool // they have one sign
}

// join makes one term of the pair that sums have at most cells, and reports whether there was one.
func (r *regrouper) join() bool {
	cells := map[pair][]vector{}
	for _, s := range r.sums {
		of := map[pair][]int{}
		for i := range s.terms {
			for j := range s.terms {
				if p, at, ok := r.pair(s, i, j); ok && !slices.Contains(of[p], i) && !slices.Contains(of[p], j) {
					of[p] = append(of[p], i, j) // a term is part of one pair
					if !slices.Contains(cells[p], at) {
						cells[p] = append(cells[p], at)
					}
				}
			}
		}
	}
	var list []pair
	for p, at := range cells {
		if len(at) > 1 {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return false
	}
	best := slices.MinFunc(list, func(p, q pair) int {
		return cmp.Or(cmp.Compare(len(cells[q]), len(cells[p])), farther(p.apart, q.apart), cmp.Compare(p.x, q.x),
			cmp.Compare(p.y, q.y), boolCompare(q.same, p.same))
	})
	turned, first := false, true // a difference begins with what is positive where it stands first
	for _, s := range r.sums {
		r.joinIn(s, best, func(x term) bool {
			if first {
				turned, first = !best.same && x.sign < 0, false
			}
			return turned
		})
	}
	return true
}

// farther orders pairs: rows come before columns, and these before what is in several planes.
func farther(p, q vector) int {
	for a := range p {
		if c := cmp.Compare(max(p[a], -p[a]), max(q[a], -q[a])); c != 0 {
			return c
		}
	}
	return slices.Compare(p[:], q[:])
}

func boolCompare(p, q bool) int {
	switch {
	case p == q:
		return 0
	case q:
		return -1
	}
	return 1
}

// pair returns two terms of a sum as a pair, and the cell where it is; false if they are none. Of two orders of equal
// forms, one is.
func (r *regrouper) pair(s *sumOf, i, j int) (pair, vector, bool) {
	if i == j {
		return pair{}, vector{}, false
	}
	x, y := r.forms.place(s.terms[i].rest, s.it.versions), r.forms.place(s.terms[j].rest, s.it.versions)
	f, g := &r.forms.list[x.form], &r.forms.list[y.form]
	if !f.moves || !g.moves || f.axes != r.whole || g.axes != r.whole || x.form > y.form {
		return pair{}, vector{}, false
	}
	p := pair{x: x.form, y: y.form, same: s.terms[i].sign == s.terms[j].sign}
	for a := range p.apart {
		p.apart[a] = y.at[a] - x.at[a]
	}
	if x.form == y.form && slices.Compare(p.apart[:], make([]int32, maxAxes)) <= 0 {
		return pair{}, vector{}, false
	}
	return p, x.at, true
}

// joinIn makes one term of each pair in a sum. Of a difference, turned says whether its second term comes first.
func (r *regrouper) joinIn(s *sumOf, p pair, turned func(term) bool) {
	for i := 0; i < len(s.terms); i++ {
		for j := 0; j < len(s.terms); j++ {
			if q, _, ok := r.pair(s, i, j); !ok || q != p {
				continue
			}
			x, y := s.terms[i], s.terms[j]
			if turned(x) {
				x, y = y, x
			}
			o := op.Add
			if !p.same {
				o = op.Sub
			}
			s.terms[min(i, j)] = term{sign: x.sign, rest: &ir.Binary{Op: o, X: x.rest, Y: y.rest}}
			s.terms = slices.Delete(s.terms, max(i, j), max(i, j)+1)
			if j < i {
				i--
			}
			break
		}
	}
}

// rebuilt returns an expression with its sums as they are now.
func (r *regrouper) rebuilt(e ir.Expr) ir.Expr {
	s := r.of[e]
	if s == nil {
		return ir.MapChildren(e, r.rebuilt)
	}
	var sum ir.Expr
	for _, t := range s.terms {
		sum = signed(sum, t.sign, ir.MapChildren(t.rest, r.rebuilt))
	}
	return sum
}
