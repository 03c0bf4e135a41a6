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
func (s *stager) keepTemps() {
	users := make(map[*ir.Temp][]int) // statements that read a temp
	for q, st := range s.stage.Body {
		ir.Walk(st.Value, func(e ir.Expr) {
			if r, ok := e.(ir.TempRef); ok {
				if list := users[r.Temp]; len(list) == 0 || list[len(list)-1] != q {
					users[r.Temp] = append(list, q)
				}
			}
		})
	}
	for i, st := range s.stage.Body {
		t := st.Temp
		if t != nil && s.outlives(t, i, users[t]) && !s.keep(t, i, users[t]) {
			return
		}
	}
}

// tempReads is what a temp is computed from, through other temps too.
type tempReads struct {
	accesses []*ir.Access
	scalars  map[*ir.Scalar]bool
}

func (s *stager) readsOf(t *ir.Temp) tempReads {
	r := tempReads{scalars: make(map[*ir.Scalar]bool)}
	seen := make(map[*ir.Temp]bool)
	var visit func(t *ir.Temp)
	visit = func(t *ir.Temp) {
		if seen[t] {
			return
		}
		seen[t] = true
		ir.Walk(s.values[t], func(e ir.Expr) {
			switch e := e.(type) {
			case *ir.Access:
				r.accesses = append(r.accesses, e)
			case ir.ScalarRef:
				r.scalars[e.Scalar] = true
			case ir.TempRef:
				visit(e.Temp)
			}
		})
	}
	visit(t)
	return r
}

// outlives reports whether something that t, defined at i, is computed from
// changes before its last use is over.
func (s *stager) outlives(t *ir.Temp, i int, users []int) bool {
	if len(users) == 0 {
		return false
	}
	reads := s.readsOf(t)
	last := users[len(users)-1]
	for q := i + 1; q < last; q++ {
		st := s.stage.Body[q]
		if st.Reduce != nil && reads.scalars[st.Reduce.Scalar] {
			return true
		}
		if st.Array != nil && slices.ContainsFunc(reads.accesses, func(a *ir.Access) bool { return a.Array == st.Array }) {
			return true
		}
	}
	for _, q := range users {
		st := s.stage.Body[q]
		for _, a := range reads.accesses {
			if st.Array == a.Array && !sameCell(st, a) {
				return true
			}
		}
	}
	return false
}

// keep replaces temp t, defined at i, by a local grid; false after a report.
func (s *stager) keep(t *ir.Temp, i int, users []int) bool {
	def := s.stage.Body[i]
	axes := s.vary[t]
	grid := &ir.Array{Name: t.Name, Type: t.Type, Local: true, Read: true, Written: true, Box: ir.Unbounded(s.c.rank())}
	for _, axis := range axes {
		lo, okLo := s.lowest(t, axis, users)
		hi, okHi := s.highest(t, axis, users)
		if !okLo || !okHi {
			s.c.diags.Errorf(def.Range, "%q is read after what it was computed from has changed", t.Name).
				Hintf("declare it as a local grid")
			return false
		}
		grid.Dims = append(grid.Dims, ir.Dim{Axis: axis, Lo: lo, Hi: hi})
		grid.Box[axis].Clip(t.Box[axis])
		grid.Box[axis].Clip(ir.Range{Lo: []ir.Affine{lo}, Hi: []ir.Affine{hi}})
	}
	if len(axes) == 0 {
		s.c.diags.Errorf(def.Range, "%q is read after a reduction has changed what it was computed from", t.Name)
		return false
	}
	// Whoever reads t depends on the grid from now on, not on what t read.
	s.values[t] = sameCellOf(grid)
	s.stage.Body[i] = &ir.Stmt{Array: grid, Value: def.Value, Domain: grid.Box, Axes: axes, Range: def.Range}
	for _, q := range users {
		st := s.stage.Body[q]
		st.Value = ir.Rewrite(st.Value, func(e ir.Expr) ir.Expr {
			if r, ok := e.(ir.TempRef); ok && r.Temp == t {
				return sameCellOf(grid)
			}
			return e
		})
	}
	s.stage.Temps = slices.DeleteFunc(s.stage.Temps, func(u *ir.Temp) bool { return u == t })
	s.locals = append(s.locals, grid)
	return true
}

// lowest returns a bound on an axis at or below every cell at which t is
// needed.
func (s *stager) lowest(t *ir.Temp, axis int, users []int) (ir.Affine, bool) {
	return s.outermost(t, users, func(b ir.Box) []ir.Affine { return b[axis].Lo }, func(d int64) bool { return d >= 0 })
}

// highest returns a bound on an axis at or above every cell at which t is
// needed.
func (s *stager) highest(t *ir.Temp, axis int, users []int) (ir.Affine, bool) {
	return s.outermost(t, users, func(b ir.Box) []ir.Affine { return b[axis].Hi }, func(d int64) bool { return d <= 0 })
}

// outermost picks a bound of t's own box, if it has one: t is not defined
// beyond any of them. Otherwise it picks one that no user's domain exceeds.
func (s *stager) outermost(t *ir.Temp, users []int, bounds func(ir.Box) []ir.Affine, within func(int64) bool) (ir.Affine, bool) {
	if own := bounds(t.Box); len(own) > 0 {
		return own[0], true
	}
	var candidates []ir.Affine
	for _, q := range users {
		candidates = append(candidates, bounds(s.stage.Body[q].Domain)...)
	}
	for _, c := range candidates {
		fits := true
		for _, q := range users {
			fits = fits && slices.ContainsFunc(bounds(s.stage.Body[q].Domain), func(b ir.Affine) bool {
				d, ok := b.Diff(c)
				return ok && within(d)
			})
		}
		if fits {
			return c, true
		}
	}
	return ir.Affine{}, false
}
