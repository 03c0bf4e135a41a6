package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Where the rims of a tile are in shared memory.

// rimSlots is how many planes of a rim a block has: those under way, and those of all stages.
func (p *pipe) rimSlots() int64 {
	lag := int64(0)
	for _, st := range p.stream.Stages {
		lag = max(lag, p.stream.Lag(st))
	}
	return Circular(p.prefetch + lag + 1)
}

// columnRows is how many rows a warp has a place for in a column of cells at an end of rows:
// as many as begin another vector.
func (p *pipe) columnRows() int64 {
	vec := p.columnVector()
	return (p.rows + vec - 1) / vec * vec
}

// columnVector is how many rows of a column a thread loads together, at the most.
func (p *pipe) columnVector() int64 {
	vec := p.set.Int(schedule.RimVector, 4)
	for _, st := range p.stream.Stages {
		if st.Fills() {
			vec = min(vec, int64(16/st.Value.Type().Size()))
		}
	}
	return vec
}

// rimColumns is how many cells of a plane at the ends of rows a block has a place for. They are kept
// as columns, since a thread has one or two cells of each of its rows there.
func (p *pipe) rimColumns() int64 {
	const line = 4 // whole rows behind them begin at vectors, too
	return (p.columnCount()*p.warps*p.columnRows() + line - 1) / line * line
}

// columnCount is how many columns there are at both ends of rows. Where a thread may have cells of both,
// there are as many as it then has: all of the row.
func (p *pipe) columnCount() int64 {
	last := len(p.axes) - 1
	w := p.width[last]
	if p.hasRims(last) && p.shortRows() {
		return w.Low + w.High + p.run - 1
	}
	return w.Low + w.High
}

// shortRows reports whether rows may be so short that a thread has cells of both ends.
func (p *pipe) shortRows() bool {
	last := len(p.axes) - 1
	w := p.width[last]
	return !p.baked || p.opts.Bound.Extent(p.extents[last]).Len() < w.Low+w.High+p.run
}

// betweenColumns is how many cells of a row are between the columns of its ends.
func (p *pipe) betweenColumns() kernel.Expr {
	last := len(p.axes) - 1
	ends := p.width[last].Low + p.width[last].High
	between := kernel.Sub(kernel.Sub(p.hi[last], p.lo[last]), kernel.I(ends-1))
	if p.shortRows() {
		return kernel.Sel(kernel.Ge(between, kernel.I(p.run)), between, kernel.I(0))
	}
	return between
}

// rimLines is how many whole rows of a plane a block has a place for: those of both ends, and
// where a thread may have some of both, all of its rows.
func (p *pipe) rimLines() int64 {
	both := p.width[1].Low + p.width[1].High
	if !p.hasRims(1) || p.baked && p.opts.Bound.Extent(p.extents[1]).Len() >= p.rows+both {
		return both
	}
	return both + p.rows
}

// rimCells is how many cells of a plane a block has a place for.
func (p *pipe) rimCells() int64 { return p.rimColumns() + p.rimLines()*32*p.run }

// rimSlot is where the rims begin that came some steps ago, or come later.
func (s *pipeStep) rimSlot(list *scope, age int64) kernel.Expr {
	slots := s.rimSlots()
	slot := s.slotOf(age, slots)
	return list.let(s.env, fmt.Sprintf("rim-%d", mod(-age, slots)), "rim_at", kernel.Mul(slot, kernel.I(s.rimCells())))
}

// linePlace is where a cell of the thread stands among these, in a row that is not assigned.
func (s *pipeStep) linePlace(list *scope, age, r, x int64) kernel.Expr {
	first := kernel.Add(s.rimSlot(list, age), s.line)
	first = list.let(s.env, fmt.Sprintf("rim-line-%d", mod(-age, s.rimSlots())), "rim_from", first)
	return kernel.Add(first, kernel.I(r*32*s.run+x))
}

// columnPlace is where a cell of the thread stands among these, in a column at an end of rows.
func (s *pipeStep) columnPlace(list *scope, age, r, x int64) kernel.Expr {
	first := kernel.Add(s.rimSlot(list, age), s.column)
	first = list.let(s.env, fmt.Sprintf("rim-column-%d", mod(-age, s.rimSlots())), "rim_from", first)
	return kernel.Add(first, kernel.I(x*s.warps*s.columnRows()+r))
}
