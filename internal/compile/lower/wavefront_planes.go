package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

// circularPlanes is memory for the planes of a stage that later stages read. Each block has
// its own part of a scratch buffer: so many planes as are read at a time, which hold the
// block and the stage's halo.
type circularPlanes struct {
	buffer *kernel.Buffer
	planes int64         // 1 where blocks are not computed plane by plane
	first  int           // the axis after that of the planes
	side   []kernel.Expr // cells by axis, in memory
	lead   []int64       // cells in memory before the block's first
	base   kernel.Expr   // the block's first element
}

// rowBytes is what rows of a plane are aligned to.
const rowBytes = 64

// allocate makes scratch for the stages that others read.
func (w *wavefront) allocate(body *scope) {
	var number kernel.Expr
	for n, st := range w.pipeline.Stages {
		if !st.Kept {
			continue
		}
		p := &circularPlanes{planes: 1}
		if w.streams() {
			p.planes, p.first = w.front.Planes[n], 1
		}
		array := st.Stmt.Array
		last := len(w.axes) - 1
		align := int64(rowBytes / array.Type.Size())
		sides := func(size func(int) kernel.Expr) []kernel.Expr {
			var list []kernel.Expr
			for k := range w.axes {
				h := st.Halo[k]
				cells := kernel.I(w.block[k])
				if w.block[k] == 0 {
					lo, hi := w.extentFor(k, size)
					cells = kernel.Add(kernel.Sub(hi, lo), kernel.I(1))
				}
				low := h.Low
				if k == last {
					low = (low + align - 1) / align * align
				}
				side := kernel.Add(cells, kernel.I(low+h.High))
				if k == last {
					side = roundUp(side, align)
				}
				list = append(list, side)
			}
			return list
		}
		blockCells := func(size func(int) kernel.Expr) kernel.Expr {
			cells := kernel.I(p.planes)
			for _, side := range sides(size)[p.first:] {
				cells = kernel.Mul(cells, side)
			}
			return cells
		}
		all := func(size func(int) kernel.Expr) kernel.Expr {
			cells := blockCells(size)
			for k, block := range w.block {
				if block > 0 {
					lo, hi := w.extentFor(k, size)
					cells = kernel.Mul(cells, tilesOn(kernel.Add(hi, kernel.I(1)), lo, block))
				}
			}
			return cells
		}
		name := fmt.Sprintf("%s_%d", array.Name, st.Step+1)
		scratch := w.newScratch(w.name+"_"+name, array.Type, all)
		b := w.buffer(kernel.ScratchArg{Scratch: scratch}, orderScratch+n, name, array.Type,
			func() kernel.Expr { return all(w.size) })
		b.reads, b.writes = true, true
		p.buffer = b.buffer
		for k := range w.axes {
			lead := st.Halo[k].Low
			if k == last {
				lead = (lead + align - 1) / align * align
			}
			p.lead = append(p.lead, lead)
		}
		for k, side := range sides(w.size) {
			axis := w.Program.Axes[w.axes[k]]
			p.side = append(p.side, body.let(w.env, fmt.Sprint("side", k), axis+"_cells", side))
		}
		if number == nil {
			number = body.let(w.env, "tile", "tile", w.tileNumber())
		}
		p.base = body.let(w.env, "base", name+"_base", kernel.Mul(number, blockCells(w.size)))
		w.planes[st] = p
	}
}

// extentFor is extent as a function of the sizes.
func (s *spanKernel) extentFor(k int, size func(int) kernel.Expr) (lo, hi kernel.Expr) {
	for _, st := range s.pipeline.Stages {
		if st.Output == nil {
			continue
		}
		dim := st.Dim(s.axes[k])
		l, h := affine(dim.Lo, size), affine(dim.Hi, size)
		if lo == nil {
			lo, hi = l, h
			continue
		}
		lo, hi = kernel.Min(lo, l), kernel.Max(hi, h)
	}
	return lo, hi
}

// element is where the value of a stage at a place is, moved on some axes. Which plane and
// row that is does not vary along the row, and has a name there.
func (w *wavefront) element(r *waveRow, c *cell, of *pipeline.Stage, moved map[int]kernel.Expr) kernel.Expr {
	p := w.planes[of]
	last := len(w.axes) - 1
	place := func(k int) kernel.Expr {
		if by := moved[w.axes[k]]; by != nil {
			return kernel.Add(r.place[k], by)
		}
		return r.place[k]
	}
	off := kernel.I(0)
	scope, name := c.row, p.buffer.Name+"_row"
	if p.first > 0 {
		in := c.row
		if by := moved[w.axes[0]]; by == nil || isLit(by) {
			in = r.plane
		}
		slot := place(0)
		if p.planes > 1 {
			slot = floorMod(slot, kernel.I(p.planes))
		} else {
			slot = kernel.I(0)
		}
		off = in.let(w.env, fmt.Sprint("slot", p.planes), p.buffer.Name+"_plane", slot)
	}
	for k := p.first; k < last; k++ {
		at := kernel.Add(kernel.Sub(place(k), w.from[k]), kernel.I(p.lead[k]))
		off = kernel.Add(kernel.Mul(off, p.side[k]), at)
	}
	if last >= p.first {
		off = kernel.Mul(off, p.side[last])
	}
	off = kernel.Add(kernel.Sub(kernel.Add(p.base, off), w.from[last]), kernel.I(p.lead[last]))
	return kernel.Add(scope.let(w.env, "planes:"+p.buffer.Name, name, off), place(last))
}

func isLit(e kernel.Expr) bool {
	_, ok := e.(*kernel.Lit)
	return ok
}
