package lang

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// keepTemps turns the scalar locals that outlive what they were computed from
// into local grids. A temp is evaluated wherever it is needed, so between its
// statement and its use nothing may change what it reads:
//
//	double r = u[i+1];  u[i] = r;    becomes    r[i] = u[i+1];  u[i] = r[i];
func (s *callBuilder) keepTemps() {
	s.dropUnneeded()
	users := make(map[*ir.Temp][]int) // statements that read a temp
	for q, st := range s.call.Body {
		walkTemps(st.Value, func(t *ir.Temp) {
			if list := users[t]; len(list) == 0 || list[len(list)-1] != q {
				users[t] = append(list, q)
			}
		})
	}
	for i, st := range s.call.Body {
		if t := st.Temp; t != nil && s.outlives(t, i, users[t]) {
			s.keep(t, i, users)
		}
	}
}

// walkTemps calls f for every read of a temp in e.
func walkTemps(e ir.Expr, f func(*ir.Temp)) {
	ir.Walk(e, func(e ir.Expr) {
		if r, ok := e.(ir.TempRef); ok {
			f(r.Temp)
		}
	})
}

// dropUnneeded removes the temps from which no grid and no reduction is
// computed: nothing says at which cells their values would be needed.
func (s *callBuilder) dropUnneeded() {
	needed := make(map[*ir.Temp]bool)
	for _, st := range slices.Backward(s.call.Body) {
		if st.Temp == nil || needed[st.Temp] {
			walkTemps(st.Value, func(t *ir.Temp) { needed[t] = true })
		}
	}
	s.call.Body = slices.DeleteFunc(s.call.Body, func(st *ir.Stmt) bool { return st.Temp != nil && !needed[st.Temp] })
	s.call.Temps = slices.DeleteFunc(s.call.Temps, func(t *ir.Temp) bool { return !needed[t] })
}

// tempReads is what a temp is computed from, through other temps too: each
// access once.
type tempReads struct {
	accesses map[*ir.Array][]*ir.Access
	scalars  map[*ir.Scalar]bool
}

func (r *tempReads) add(a *ir.Access) {
	same := func(b *ir.Access) bool { return slices.Equal(a.Index, b.Index) }
	if !slices.ContainsFunc(r.accesses[a.Array], same) {
		r.accesses[a.Array] = append(r.accesses[a.Array], a)
	}
}

// readsOf looks into a temp once, however many others read it. It is asked for
// temps in their order, so that those which t reads are what they stay.
func (s *callBuilder) readsOf(t *ir.Temp) *tempReads {
	if r := s.tempReads[t]; r != nil {
		return r
	}
	r := &tempReads{accesses: make(map[*ir.Array][]*ir.Access), scalars: make(map[*ir.Scalar]bool)}
	seen := make(map[*ir.Temp]bool)
	ir.Walk(s.values[t], func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Access:
			r.add(e)
		case ir.ScalarRef:
			r.scalars[e.Scalar] = true
		case ir.TempRef:
			if seen[e.Temp] {
				return
			}
			seen[e.Temp] = true
			inner := s.readsOf(e.Temp)
			for _, list := range inner.accesses {
				for _, a := range list {
					r.add(a)
				}
			}
			for scalar := range inner.scalars {
				r.scalars[scalar] = true
			}
		}
	})
	if s.tempReads == nil {
		s.tempReads = make(map[*ir.Temp]*tempReads)
	}
	s.tempReads[t] = r
	return r
}

// outlives reports whether something that t, defined at i, is computed from
// changes before its last use is over.
func (s *callBuilder) outlives(t *ir.Temp, i int, users []int) bool {
	reads := s.readsOf(t)
	last := users[len(users)-1]
	for q := i + 1; q < last; q++ {
		st := s.call.Body[q]
		if st.Reduce != nil && reads.scalars[st.Reduce.Scalar] || st.Array != nil && reads.accesses[st.Array] != nil {
			return true
		}
	}
	for _, q := range users {
		st := s.call.Body[q]
		if st.Array != nil && slices.ContainsFunc(reads.accesses[st.Array],
			func(a *ir.Access) bool { return !sameCell(st, a) }) {
			return true
		}
	}
	return false
}

// keep replaces temp t, defined at i, by a local grid that holds its value
// wherever it is needed.
func (s *callBuilder) keep(t *ir.Temp, i int, users map[*ir.Temp][]int) {
	def := s.call.Body[i]
	axes, box := s.vary[t], s.needed(t, users)
	uniform := len(axes) == 0
	if uniform {
		// One cell keeps what is the same at all of them.
		axes = []int{s.c.rank() - 1}
		box[axes[0]] = ir.Range{Lo: []ir.Affine{{}}, Hi: []ir.Affine{{}}}
		s.everywhere(s.call.Body[:i+1])
	}
	grid := &ir.Array{Name: t.Name, Type: t.Type, Local: true, Read: true, Written: true, Box: ir.Unbounded(s.c.rank())}
	for _, axis := range axes {
		grid.Dims = append(grid.Dims, ir.Dim{Axis: axis, Lo: box[axis].Lo[0], Hi: box[axis].Hi[0]})
		grid.Box[axis].Clip(t.Box[axis])
		grid.Box[axis].Clip(box[axis])
	}
	value := sameCellOf(grid)
	if uniform {
		value.Index[0] = ir.Index{Axis: -1}
	}
	// Whoever reads t depends on the grid from now on, not on what t read.
	s.values[t] = value
	delete(s.tempReads, t)
	s.call.Body[i] = &ir.Stmt{Array: grid, Value: def.Value, Domain: grid.Box, Axes: axes, Range: def.Range}
	for _, q := range users[t] {
		st := s.call.Body[q]
		st.Value = ir.Rewrite(st.Value, func(e ir.Expr) ir.Expr {
			if r, ok := e.(ir.TempRef); ok && r.Temp == t {
				return &ir.Access{Array: grid, Index: value.Index}
			}
			return e
		})
	}
	s.bound(t, grid.Box, users)
	s.call.Temps = slices.DeleteFunc(s.call.Temps, func(u *ir.Temp) bool { return u == t })
	s.locals = append(s.locals, grid)
}

// everywhere defines the temps without axes at all cells. Their boxes have
// limited the statements that read them by now.
func (s *callBuilder) everywhere(body []*ir.Stmt) {
	for _, st := range body {
		if st.Temp != nil && len(s.vary[st.Temp]) == 0 {
			st.Temp.Box = ir.Unbounded(s.c.rank())
			st.Domain = st.Temp.Box
		}
	}
}

// through calls f for every statement that needs the value of t: those that
// read it, and those that read what temps among them are computed to.
func (s *callBuilder) through(t *ir.Temp, users map[*ir.Temp][]int, f func(*ir.Stmt)) {
	seen := make(map[int]bool)
	var visit func(t *ir.Temp)
	visit = func(t *ir.Temp) {
		for _, q := range users[t] {
			if seen[q] {
				continue
			}
			seen[q] = true
			st := s.call.Body[q]
			f(st)
			if st.Temp != nil {
				visit(st.Temp)
			}
		}
	}
	visit(t)
}

// needed returns a box with one bound at each end of every axis on which t
// varies, within which every statement lies that is computed from t.
func (s *callBuilder) needed(t *ir.Temp, users map[*ir.Temp][]int) ir.Box {
	var domains []ir.Box
	s.through(t, users, func(st *ir.Stmt) {
		if st.Temp == nil {
			domains = append(domains, st.Domain)
		}
	})
	box := ir.Unbounded(s.c.rank())
	for _, axis := range s.vary[t] {
		lo := outermost(t.Box[axis].Lo, domains, func(b ir.Box) []ir.Affine { return b[axis].Lo }, ir.Below)
		hi := outermost(t.Box[axis].Hi, domains, func(b ir.Box) []ir.Affine { return b[axis].Hi }, ir.Above)
		box[axis] = ir.Range{Lo: []ir.Affine{lo}, Hi: []ir.Affine{hi}}
	}
	return box
}

// outermost picks a bound of a temp's own, if it has one: the temp is not
// defined beyond any of them. Otherwise it returns one that no domain exceeds.
// beyond makes one of two, for domains of which no size says which is wider.
func outermost(own []ir.Affine, domains []ir.Box, bounds func(ir.Box) []ir.Affine,
	beyond func(a, b ir.Affine) ir.Affine) ir.Affine {
	if len(own) > 0 {
		return own[0]
	}
	holds := func(b ir.Affine) bool {
		return !slices.ContainsFunc(domains, func(d ir.Box) bool {
			return !slices.ContainsFunc(bounds(d), func(a ir.Affine) bool { return beyond(a, b).Equal(b) })
		})
	}
	all := bounds(domains[0])[0]
	for _, d := range domains {
		for _, b := range bounds(d) {
			if holds(b) {
				return b
			}
		}
		all = beyond(all, bounds(d)[0])
	}
	return all
}

// bound limits the temps that are computed from t, which is kept in a local
// grid of that box now, to where the grid has cells.
func (s *callBuilder) bound(t *ir.Temp, box ir.Box, users map[*ir.Temp][]int) {
	s.through(t, users, func(st *ir.Stmt) {
		if st.Temp == nil {
			return
		}
		for _, axis := range s.vary[t] {
			st.Temp.Box[axis].Clip(box[axis])
		}
		st.Domain = st.Temp.Box
	})
}
