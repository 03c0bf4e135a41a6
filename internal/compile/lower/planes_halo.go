package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// warpSize is the threads of a warp.
const warpSize = 32

// The cells around a tile are shared out among the threads: stages with the same halo are computed at a cell one after
// the other, and each such group begins with other threads than the one before.

// haloCells computes stages at the cells around the tile.
func (s *planeStep) haloCells() {
	var left []int
	for i, n := range s.plan.Shared {
		if n > 0 {
			left = append(left, i)
		}
	}
	busy := int64(0)
	for len(left) > 0 {
		first := s.pipeline.Stages[left[0]]
		same := func(i int) bool {
			st := s.pipeline.Stages[i]
			return slices.Equal(st.Halo[1:], first.Halo[1:]) && st.Corners == first.Corners
		}
		group := slices.DeleteFunc(slices.Clone(left), func(i int) bool { return !same(i) })
		s.around(group, first, &busy)
		left = slices.DeleteFunc(left, same)
	}
}

// around computes stages with the halo of one: the rows above and below the tile, and the cells at both ends of its
// rows. So many threads are busy with those before.
func (s *planeStep) around(group []int, of *pipeline.Stage, busy *int64) {
	halo, last := of.Halo[1:], len(s.threads)-1
	sides := halo[last].Low + halo[last].High
	if last == 0 {
		s.halo(group, sides, busy, func(body *scope, n kernel.Expr) []kernel.Expr {
			return []kernel.Expr{s.beyond(body, halo, 0, n)}
		})
		return
	}
	rows, width, from := halo[0].Low+halo[0].High, s.tile[last+1], int64(0)
	if of.Corners {
		width, from = width+sides, halo[last].Low
	}
	s.halo(group, rows*width, busy, func(body *scope, n kernel.Expr) []kernel.Expr {
		x := kernel.Sub(kernel.Bin(op.Rem, n, kernel.I(width)), kernel.I(from))
		row := body.let(s.env, "row", "row", kernel.Bin(op.Div, n, kernel.I(width)))
		return []kernel.Expr{s.beyond(body, halo, 0, row), body.let(s.env, "x_halo", "x_halo", x)}
	})
	s.halo(group, sides*s.tile[1], busy, func(body *scope, n kernel.Expr) []kernel.Expr {
		column := body.let(s.env, "column", "column", kernel.Bin(op.Rem, n, kernel.I(sides)))
		row := body.let(s.env, "row", "row", kernel.Bin(op.Div, n, kernel.I(sides)))
		return []kernel.Expr{row, s.beyond(body, halo, last, column)}
	})
}

// beyond returns the place on an axis of the n-th cell that is not of the tile.
func (s *planeStep) beyond(body *scope, halo []pipeline.Halo, d int, n kernel.Expr) kernel.Expr {
	low := halo[d].Low
	name := s.Program.Axes[s.axes[d+1]] + "_halo"
	skip := kernel.Sel(kernel.Lt(n, kernel.I(low)), kernel.I(-low), kernel.I(s.tile[d+1]-low))
	return body.let(s.env, name, name, kernel.Add(n, skip))
}

// halo computes stages at so many cells, each at a place.
func (s *planeStep) halo(group []int, cells int64, busy *int64,
	place func(body *scope, n kernel.Expr) []kernel.Expr) {
	if cells == 0 {
		return
	}
	threads := product(s.threads)
	first := s.thread
	if begin := *busy % threads; begin > 0 {
		shifted := kernel.Bin(op.Rem, kernel.Add(s.thread, kernel.I(threads-begin)), kernel.I(threads))
		first = s.body.let(s.env, "halo_first", "halo_first", shifted)
	}
	*busy += (cells + warpSize - 1) / warpSize * warpSize
	n := s.body.declare(s.env, "halo_cell", types.I64)
	body := newScope(s.body)
	at := place(body, kernel.V(n))
	for _, i := range group {
		st, one := s.pipeline.Stages[i], newScope(body)
		work := newScope(one)
		c := s.cell(one, work, i, -1, s.plane(i), at)
		var value kernel.Expr
		if s.keeps[st] {
			values, _ := s.keptValues([]*cell{c}, work, [][]kernel.Expr{at})
			value = values[0]
		} else {
			value, _ = s.value(c, work)
		}
		element := s.element(st, s.slot(work, i, i, nil), at, nil)
		work.emit(&kernel.Store{Buffer: s.planes[st], Index: element, Value: value})
		s.within(one, st, c, work)
		s.inPlanes(body, i, one.stmts)
	}
	s.body.emit(&kernel.Loop{Var: n, Lo: first, Hi: kernel.I(cells), Step: kernel.I(threads), Body: body.stmts})
}
