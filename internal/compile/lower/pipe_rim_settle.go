package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// How rims are put in place, and planes that are not assigned.

// hasBit is the condition that a word has a bit.
func hasBit(word kernel.Expr, n int64) kernel.Expr {
	return kernel.Bin(op.Ne, kernel.Bin(op.And, word, bitOf(n)), kernel.L(op.Int(types.I32, 0)))
}

// settle puts in place what stages leave as it was in some rows. There may be planes beyond the
// arrays, too: nothing depends on them.
func (s *pipeStep) settle(rows []int64) {
	if !s.guarded && s.rimsAtTiles() {
		s.settleAtTiles(rows)
		return
	}
	for part, side := range s.sides {
		list := newScope(s.body)
		if part == 0 { // other lanes have copied them
			list.emit(&kernel.Barrier{Scope: kernel.WarpScope})
		}
		before := len(list.stmts)
		for _, st := range s.stream.Stages {
			switch {
			case !st.Fills():
			case part == 0:
				s.settleColumns(list, st, rows)
			default:
				s.settleLines(list, st, rows)
			}
		}
		if len(list.stmts) > before {
			s.body.emit(&kernel.If{Cond: side.here, Then: list.stmts})
		}
	}
}

// settleColumns puts the columns at the ends of rows in place, of a stage.
func (s *pipeStep) settleColumns(list *scope, st *pipeline.Stage, rows []int64) {
	for x := range s.run {
		if !s.sides[0].may[x] {
			continue
		}
		for _, part := range vectorParts(rows, s.columnVector()) {
			var into []*kernel.Var
			for _, r := range part {
				into = append(into, s.made[st][r][x])
			}
			bit := hasBit(s.ends[st], x)
			s.settled(list, bit, st, s.columnPlace(list, s.stream.Lag(st), part[0], x), into)
		}
	}
}

// settleLines puts rows that a stage does not assign in place.
func (s *pipeStep) settleLines(list *scope, st *pipeline.Stage, rows []int64) {
	for _, r := range rows {
		for x := int64(0); x < s.run && s.sides[1].may[r]; x += s.vec {
			at := s.linePlace(list, s.stream.Lag(st), r, x)
			s.settled(list, hasBit(s.lines[st], r), st, at, s.made[st][r][x:x+s.vec])
		}
	}
}

// settled puts a few cells in place, if a bit says so. Each is a condition by itself, so that compilers
// make no branch of it.
func (s *pipeStep) settled(list *scope, bit kernel.Expr, st *pipeline.Stage, at kernel.Expr, cells []*kernel.Var) {
	into := newScope(list)
	s.load(into, s.planes[s.stream.Home(st.Value)], at, cells)
	list.emit(&kernel.If{Cond: bit, Then: into.stmts})
}

// vectorParts cuts numbers into runs of 1, 2, 4 and so on neighbours that begin at a multiple of
// their length, none longer than most.
func vectorParts(numbers []int64, most int64) (parts [][]int64) {
	sorted := slices.Sorted(slices.Values(numbers))
	for len(sorted) > 0 {
		n := most
		for n > int64(len(sorted)) || sorted[0]%n != 0 || sorted[n-1]-sorted[0] != n-1 {
			n /= 2
		}
		parts, sorted = append(parts, sorted[:n]), sorted[n:]
	}
	return parts
}

// keepPlane gives a row of a plane that a stage leaves as it was what memory has.
func (s *pipeStep) keepPlane(st *pipeline.Stage, r int64, row []*kernel.Var) {
	plane := s.planeOf(st, 0)
	there := s.planeIn("plane_there", plane, s.lo[0], s.hi[0])
	left := kernel.Bin(op.And, there, kernel.Un(op.Not, s.assigns(st, plane)))
	kept := s.chosen("plane_kept", st, left, s.inside, nil)
	grid := s.stream.Home(st.Value)
	home := s.gridStore(grid)
	b := s.bufferOf(home)
	b.reads = true
	loaded := func(x, cells int64) []kernel.Stmt {
		into := newScope(s.body)
		s.load(into, b.buffer, s.flat(home, s.indices(s.place(plane, r, x))), row[x:x+cells])
		return into.stmts
	}
	// Beyond the ends of a row are cells of other rows, which other blocks may store.
	exact := s.assignsInPlace(grid) && !s.wholeVectors()
	for x := int64(0); x < s.run; x += s.vec {
		var each []kernel.Stmt
		for c := x; c < x+s.vec && exact; c++ {
			each = append(each, &kernel.If{Cond: s.has(kept, r, c, 1, false), Then: loaded(c, 1)})
		}
		s.body.emit(&kernel.If{ // no branch, as in settle
			Cond: s.has(kept, r, x, s.vec, exact), Then: loaded(x, s.vec), Else: each,
		})
	}
}

// prefetchPlanes has planes brought near that later steps leave as they were.
func (s *pipeStep) prefetchPlanes() {
	const later = 2 // steps, for which the others' loads have to wait for memory
	last := len(s.axes) - 1
	for _, st := range s.stream.Stages {
		if !st.Fills() {
			continue
		}
		plane := s.planeOf(st, later)
		there := s.planeIn("plane_there", plane, s.lo[0], s.hi[0])
		soon := kernel.Bin(op.And, there, kernel.Un(op.Not, s.assigns(st, plane)))
		home := s.gridStore(s.stream.Home(st.Value))
		b := s.bufferOf(home)
		b.reads = true
		var list []kernel.Stmt
		for r := range s.rows {
			at := s.place(plane, r, 0)
			at[s.axes[1]] = kernel.Min(kernel.Max(at[s.axes[1]], s.lo[1]), s.hi[1])
			at[s.axes[last]] = kernel.Min(kernel.Max(at[s.axes[last]], s.lo[last]), s.hi[last])
			list = append(list, &kernel.Prefetch{Buffer: b.buffer, Index: s.flat(home, s.indices(at))})
		}
		s.body.emit(&kernel.If{Cond: soon, Then: list})
	}
}
