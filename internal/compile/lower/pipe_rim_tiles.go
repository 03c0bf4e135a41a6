package lower

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Rims at the ends of all tiles. Tiles at the edges of the domain begin and end with it, as for boundaries
// (pipe_faces.go). So the loop without guards may put rims in place at the ends of every tile: a select for the
// cells of a row that the first and the last lane have, and the rows of the first and the last warp. Inside of the
// domain they are cells of the halo, which nothing depends on. Then all blocks do the same in each plane, and stay
// together: blocks that take longer fall behind, and what their neighbours read is no longer in the cache.

// rimsAtTiles reports whether the loop without guards puts rims in place so.
func (p *pipe) rimsAtTiles() bool {
	last := len(p.axes) - 1
	if p.set.Word(schedule.RimTiles) != schedule.AllTiles || !p.late || p.clustered() || !p.baked || p.shortRows() ||
		!p.tilesEndRows() || p.rimLines() != p.width[1].Low+p.width[1].High {
		return false
	}
	for k, cells := range map[int]int64{1: p.rows, last: p.run} {
		if max(p.width[k].Low, p.width[k].High) > cells {
			return false
		}
	}
	var domain *pipeline.Stage
	for _, st := range p.stream.Stages {
		if !st.Fills() {
			return false
		}
		if domain == nil {
			domain = st
		}
		for k := 1; k <= last; k++ {
			// The cells of the halo that later stages do not read are the ones beyond this stage's own halo.
			low, high := p.halo[k].Low-st.Halo[k].Low, p.halo[k].High-st.Halo[k].High
			if !st.Stmt.Domain[p.axes[k]].Equal(domain.Stmt.Domain[p.axes[k]]) || p.width[k].Low > low ||
				p.width[k].High > high {
				return false
			}
		}
	}
	return true
}

// settleAtTiles puts in place what stages leave as it was in some rows, at the ends of the tile.
func (s *pipeStep) settleAtTiles(rows []int64) {
	if s.hasRims(len(s.axes) - 1) {
		s.body.emit(&kernel.Barrier{Scope: kernel.WarpScope}) // other lanes have copied them
		for _, st := range s.stream.Stages {
			s.columnsAtTiles(st, rows)
		}
	}
	w := s.width[1]
	for _, side := range []struct{ warp, from, to, line int64 }{
		{0, 0, w.Low, 0}, {s.warps - 1, s.rows - w.High, s.rows, w.Low},
	} {
		list := newScope(s.body)
		for _, st := range s.stream.Stages {
			for _, r := range rows {
				if r >= side.from && r < side.to {
					s.lineAtTiles(list, st, r, side.line+r-side.from)
				}
			}
		}
		if len(list.stmts) > 0 {
			s.body.emit(&kernel.If{Cond: kernel.Bin(op.Eq, s.warp, kernel.I(side.warp)), Then: list.stmts})
		}
	}
}

// columnsAtTiles puts the columns at the ends of rows in place, of a stage. Lanes of the lower half load what belongs
// to the first cells of a row, the others what belongs to its last.
func (s *pipeStep) columnsAtTiles(st *pipeline.Stage, rows []int64) {
	w, column := s.width[len(s.axes)-1], s.warps*s.columnRows()
	is := func(name string, lane int64) kernel.Expr {
		return s.body.let(s.env, name, name, kernel.Bin(op.Eq, s.lane, kernel.I(lane)))
	}
	low := kernel.Mul(s.warp, kernel.I(s.columnRows()))
	beyond := kernel.Sel(kernel.Lt(s.lane, kernel.I(16)), kernel.I(0), kernel.I(w.Low*column))
	upper := s.body.let(s.env, "rim_end", "rim_end", kernel.Add(low, beyond))
	for n := range max(w.Low, w.High) {
		at := upper
		if n >= w.High {
			at = low
		}
		at = kernel.Add(kernel.Add(s.rimSlot(s.body, s.stream.Lag(st)), at), kernel.I(n*column))
		for _, part := range vectorParts(rows, s.columnVector()) {
			var kept []*kernel.Var
			for range part {
				v := s.body.declare(s.env, st.Stmt.Array.Name+"_kept", st.Stmt.Array.Type)
				s.body.emit(&kernel.Declare{Var: v, Init: zero(v.Type)})
				kept = append(kept, v)
			}
			s.load(s.body, s.planes[s.stream.Home(st.Value)], kernel.Add(at, kernel.I(part[0])), kept)
			for i, r := range part {
				put := func(x int64, cond kernel.Expr) {
					made := s.made[st][r][x]
					value := kernel.Sel(cond, kernel.V(kept[i]), kernel.V(made))
					s.body.emit(&kernel.Assign{Var: made, Value: value})
				}
				if n < w.Low {
					put(n, is("first_lane", 0))
				}
				if n < w.High {
					put(s.run-w.High+n, is("last_lane", 31))
				}
			}
		}
	}
}

// lineAtTiles puts a row that a stage does not assign in place.
func (s *pipeStep) lineAtTiles(list *scope, st *pipeline.Stage, r, line int64) {
	at := kernel.Add(s.rimSlot(list, s.stream.Lag(st)), kernel.I(s.rimColumns()+line*32*s.run))
	at = kernel.Add(at, kernel.Mul(s.lane, kernel.I(s.run)))
	for x := int64(0); x < s.run; x += s.vec {
		s.load(list, s.planes[s.stream.Home(st.Value)], kernel.Add(at, kernel.I(x)), s.made[st][r][x:x+s.vec])
	}
}
