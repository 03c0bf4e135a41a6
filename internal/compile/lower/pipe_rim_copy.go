package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// How rims come to shared memory.

// fetchRims begins to bring the rims of a plane that the next steps read.
func (s *pipeStep) fetchRims(plane kernel.Expr, later int64) {
	for _, grid := range s.rimGrids() {
		s.fetchEnds(grid, plane, later)
		s.fetchLines(grid, plane, later)
	}
}

// fetchEnds brings the ends of rows: each lane copies some cells of the warp's columns.
func (s *pipeStep) fetchEnds(grid *ir.Grid, plane kernel.Expr, later int64) {
	home := s.endsStore(grid)
	b := s.bufferOf(home)
	b.reads = true
	list := newScope(s.body)
	for _, c := range s.endCopies[grid] {
		at := s.clamped(fmt.Sprintf("plane_in_%d", later), 0, plane)
		copied := hasBit(s.copied[c.bit/maskBits], c.bit)
		list.emit(&kernel.If{Cond: copied, Then: []kernel.Stmt{&kernel.AsyncCopy{
			To: s.planes[grid], At: kernel.Add(s.rimSlot(list, -later), c.place), From: b.buffer,
			Index: kernel.Add(s.planeStart(home, at), c.inPlane), Cells: 1,
		}}})
	}
	if len(list.stmts) > 0 {
		s.body.emit(&kernel.If{Cond: s.sides[0].here, Then: list.stmts})
	}
}

// endCopy is a cell at an end of rows that a lane copies, the same one of every plane.
type endCopy struct {
	bit     int64       // of rims.copied, which says that the lane copies it
	place   kernel.Expr // of the cell in shared memory, after the plane's first
	inPlane kernel.Expr // where it is in memory, after the plane's first cell
}

// findEndCopies declares which cells at the ends of rows each lane copies. That is done once a tile,
// since a step has no registers to spare for it.
func (p *pipe) findEndCopies(body *scope) {
	last := len(p.axes) - 1
	w, rows := p.width[last], kernel.I(p.rows)
	p.endCopies = map[*ir.Grid][]endCopy{}
	none := kernel.L(op.Int(types.I32, 0))
	var words mask
	bit := int64(0)
	for _, grid := range p.rimGrids() {
		home := p.endsStore(grid)
		for first := int64(0); first < p.columnCount()*p.rows; first += 32 {
			item := kernel.Add(p.lane, kernel.I(first))
			column, r := kernel.Bin(op.Div, item, rows), kernel.Bin(op.Rem, item, rows)
			low := kernel.Lt(column, kernel.I(w.Low))
			x := kernel.Add(kernel.Add(p.lo[last], column), kernel.Sel(low, kernel.I(0), p.betweenColumns()))
			row := kernel.Add(p.row0, r)
			cond := kernel.And(kernel.Lt(item, kernel.I(p.columnCount()*p.rows)),
				kernel.Sel(low, p.sides[0].low, p.sides[0].high))
			cond = kernel.And(cond, between(row, p.lo[1], p.hi[1]))
			if p.assignsInPlace(grid) { // other blocks may store next to the rim: it is copied exactly
				cond = kernel.And(cond, kernel.Un(op.Not, p.assignedTo(grid, last, x)))
			}
			if p.shortRows() {
				cond = kernel.And(cond, between(x, p.lo[last], p.hi[last]))
			}
			if bit%maskBits == 0 {
				words = append(words, none)
			}
			word := &words[bit/maskBits]
			*word = kernel.Bin(op.Or, *word, kernel.Sel(cond, bitOf(bit), none))
			place := kernel.Add(kernel.Mul(column, kernel.I(p.warps*p.columnRows())),
				kernel.Add(kernel.Mul(p.warp, kernel.I(p.columnRows())), r))
			at := []index{{at: home.dims[0].lo(p.size)}, {at: row}, {at: x}}
			if p.keepsEnds(grid) {
				at = []index{{at: home.dims[0].lo(p.size)}, {at: column}, {at: row}}
			}
			from := fmt.Sprintf("rim_from_%s_%d", home.shapeKey(), first)
			p.endCopies[grid] = append(p.endCopies[grid], endCopy{
				bit:     bit,
				place:   body.let(p.env, fmt.Sprintf("rim_place_%d", first), "rim_place", place),
				inPlane: body.let(p.env, from, "rim_in_plane", p.flat(home, at)),
			})
			bit++
		}
	}
	p.copied = words.each(func(n int) kernel.Expr {
		return body.let(p.env, fmt.Sprintf("rim_copied_%d", n), "rim_copied", words[n])
	})
}

// planeStart is how far a plane's first cell is from a grid's first.
func (p *pipe) planeStart(st *store, plane kernel.Expr) kernel.Expr {
	start := kernel.Sub(plane, st.dims[0].lo(p.size))
	for d := 1; d < len(st.dims); d++ {
		start = kernel.Mul(start, st.pitch(d, p.size))
	}
	return start
}

// fetchLines brings whole rows that are not assigned.
func (s *pipeStep) fetchLines(grid *ir.Grid, plane kernel.Expr, later int64) {
	list := newScope(s.body)
	in := *s
	in.body = list
	rows := make([]*scope, s.rows)
	in.elements(grid, plane, fmt.Sprintf("in_%d", later), func(b *kernel.Buffer, from kernel.Expr, r, c int64) {
		if !s.sides[1].may[r] {
			return
		}
		if rows[r] == nil {
			rows[r] = newScope(list)
		}
		copied := func(x, cells int64) kernel.Stmt {
			return &kernel.AsyncCopy{
				To: s.planes[grid], At: s.linePlace(list, -later, r, c+x),
				From: b, Index: kernel.Add(from, kernel.I(x)), Cells: int(cells),
			}
		}
		if !s.assignsInPlace(grid) || s.wholeVectors() {
			rows[r].emit(copied(0, s.vec))
			return
		}
		// Beyond the ends are cells of other rows, which other blocks may store.
		last, at := len(s.axes)-1, kernel.Add(s.x0, kernel.I(c))
		var each []kernel.Stmt
		for x := range s.vec {
			within := between(kernel.Add(at, kernel.I(x)), s.lo[last], s.hi[last])
			each = append(each, &kernel.If{Cond: within, Then: []kernel.Stmt{copied(x, 1)}})
		}
		whole := kernel.And(kernel.Ge(at, s.lo[last]), kernel.Le(kernel.Add(at, kernel.I(s.vec-1)), s.hi[last]))
		rows[r].emit(&kernel.If{Cond: whole, Then: []kernel.Stmt{copied(0, s.vec)}, Else: each})
	})
	any := false
	for r, of := range rows {
		if of != nil {
			list.emit(&kernel.If{Cond: hasBit(s.lineBits[grid], int64(r)), Then: of.stmts})
			any = true
		}
	}
	if any {
		s.body.emit(&kernel.If{Cond: s.sides[1].here, Then: list.stmts})
	}
}
