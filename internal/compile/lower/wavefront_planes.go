package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

// circularPlanes is memory for the planes of a stage that later stages read: so many as are
// read at a time. Each block has its own part of a scratch buffer. Without planes it holds
// all of the block.
type circularPlanes struct {
	buffer *kernel.Buffer
	planes int64
	first  int           // the axis after that of the planes
	lead   []int64       // cells before the block's first, by axis
	side   []kernel.Expr // cells in all
	base   kernel.Expr   // the block's first element
}

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
		for k := range w.axes {
			p.lead = append(p.lead, w.lead(st, k))
		}
		array, cells := st.Stmt.Array, func(size func(int) kernel.Expr) kernel.Expr {
			return kernel.Mul(w.blockCells(st, p, size), w.tileCount(size))
		}
		name := fmt.Sprintf("%s_%d", array.Name, st.Step+1)
		scratch := kernel.ScratchArg{Scratch: w.newScratch(w.name+"_"+name, array.Type, cells)}
		b := w.buffer(scratch, orderScratch+n, name, array.Type, func() kernel.Expr { return cells(w.size) })
		b.reads, b.writes = true, true
		p.buffer = b.buffer
		for k, axis := range w.axes {
			name := w.Program.Axes[axis] + "_cells"
			p.side = append(p.side, body.let(w.env, name, name, w.side(st, p, k, w.size)))
		}
		if number == nil {
			number = body.let(w.env, "tile", "tile", w.tileNumber())
		}
		p.base = body.let(w.env, "base", name+"_base", kernel.Mul(number, w.blockCells(st, p, w.size)))
		w.planes[st] = p
	}
}

// lead returns how many cells of a stage are in memory before the block's first: the halo, and
// on the last axis as many more as align the first interior cell, or those so many lines behind it.
func (w *wavefront) lead(st *pipeline.Stage, k int) int64 {
	low := st.Halo[k].Low
	if k < len(w.axes)-1 {
		return low
	}
	inset := int64(0)
	first := w.low(st.Inside[k].Lo, nil)
	if d, ok := kernel.Difference(first, w.lo[k]); ok {
		inset = d
	}
	return low + mod(-low-inset, alignedCells(st))
}

// alignedCells is how many cells of a stage lineBytes are.
func alignedCells(st *pipeline.Stage) int64 { return int64(lineBytes / st.Stmt.Array.Type.Size()) }

// side returns how many cells of an axis are in memory.
func (w *wavefront) side(st *pipeline.Stage, p *circularPlanes, k int, size func(int) kernel.Expr) kernel.Expr {
	cells := kernel.I(w.block[k])
	if w.block[k] == 0 {
		lo, hi := w.extentOf(k, size)
		cells = kernel.Add(kernel.Sub(hi, lo), kernel.I(1))
	}
	cells = kernel.Add(cells, kernel.I(p.lead[k]+st.Halo[k].High))
	if k == len(w.axes)-1 {
		return roundUp(cells, alignedCells(st))
	}
	return cells
}

// blockCells returns how many cells a block has in memory.
func (w *wavefront) blockCells(st *pipeline.Stage, p *circularPlanes, size func(int) kernel.Expr) kernel.Expr {
	cells := kernel.I(p.planes)
	for k := p.first; k < len(w.axes); k++ {
		cells = kernel.Mul(cells, w.side(st, p, k, size))
	}
	return cells
}

// tileCount returns the number of blocks.
func (w *wavefront) tileCount(size func(int) kernel.Expr) kernel.Expr {
	count := kernel.I(1)
	for k, block := range w.block {
		if block > 0 {
			lo, hi := w.extentOf(k, size)
			count = kernel.Mul(count, tilesOn(lo, kernel.Add(hi, kernel.I(1)), block))
		}
	}
	return count
}

// element is where the value of a stage is at the row's place, moved on some axes. Where that
// does not vary along the row it has a name, and the plane's number in the outer loop.
func (r *waveRow) element(c *cell, of *pipeline.Stage, moved map[int]kernel.Expr) kernel.Expr {
	p, last := r.planes[of], len(r.axes)-1
	place := func(k int) kernel.Expr {
		if by := moved[r.wavefront.axes[k]]; by != nil {
			return kernel.Add(r.place[k], by)
		}
		return r.place[k]
	}
	off := kernel.I(0)
	if p.planes > 1 {
		in := c.row
		if by := moved[r.wavefront.axes[0]]; by == nil || isLiteral(by) {
			in = r.plane
		}
		slot := floorMod(place(0), kernel.I(p.planes))
		off = in.let(r.env, "slot", r.Program.Axes[r.wavefront.axes[0]]+"_slot", slot)
	}
	for k := p.first; k < last; k++ {
		at := kernel.Add(kernel.Sub(place(k), r.from[k]), kernel.I(p.lead[k]))
		off = kernel.Add(kernel.Mul(off, p.side[k]), at)
	}
	if p.first <= last {
		off = kernel.Mul(off, p.side[last])
	}
	off = kernel.Add(kernel.Sub(kernel.Add(p.base, off), r.from[last]), kernel.I(p.lead[last]))
	return kernel.Add(c.row.let(r.env, "planes", p.buffer.Name+"_row", off), place(last))
}

func isLiteral(e kernel.Expr) bool {
	_, ok := e.(*kernel.Lit)
	return ok
}
