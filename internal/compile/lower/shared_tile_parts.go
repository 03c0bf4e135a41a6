package lower

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// box is a part of a tile, by axis, from the block's corner.
type box map[int]extent

// extent is a run of cells.
type extent struct{ from, len int64 }

// end returns the cell after the extent's last.
func (e extent) end() int64 { return e.from + e.len }

// hull returns the smallest extent that holds two.
func (e extent) hull(f extent) extent {
	from := min(e.from, f.from)
	return extent{from, max(e.end(), f.end()) - from}
}

// rounded returns the extent made of whole runs of n cells.
func (e extent) rounded(n int64) extent {
	from := e.from - mod(e.from, n)
	end := e.end() + mod(-e.end(), n)
	return extent{from, end - from}
}

// cells returns the number of cells of a box.
func (b box) cells() int64 {
	n := int64(1)
	for _, e := range b {
		n *= e.len
	}
	return n
}

// whole returns all cells of a tile.
func (t *sharedTile) whole(axes []int) box {
	b := box{}
	for _, axis := range axes {
		b[axis] = extent{t.from[axis], t.len[axis]}
	}
	return b
}

// within returns the place of a cell in the tile.
func (t *sharedTile) within(cell map[int]kernel.Expr, axes []int) kernel.Expr {
	sum := kernel.I(0)
	for _, axis := range axes {
		sum = kernel.Add(kernel.Mul(sum, kernel.I(t.len[axis])), kernel.Sub(cell[axis], kernel.I(t.from[axis])))
	}
	return sum
}

// runFrom returns the first cell of a run by axis, from the block's corner: of
// the run of that number among those of all parts, which is one of as many as
// there are threads, from first on.
func (w *tiledKernel) runFrom(t *sharedTile, parts []box, first int64, number kernel.Expr) map[int]kernel.Expr {
	axes := axesOf(t.array)
	var from map[int]kernel.Expr
	before := int64(0)
	for _, p := range parts {
		end := before + p.cells()/t.n
		if end > first && before < first+w.threads() {
			cell := map[int]kernel.Expr{}
			rest := kernel.Sub(number, kernel.I(before))
			for i := len(axes) - 1; i >= 0; i-- { // the last varies fastest
				axis, run := axes[i], int64(1)
				if axis == w.inner() {
					run = t.n
				}
				at := rest
				if i > 0 {
					at = kernel.Bin(op.Rem, rest, kernel.I(p[axis].len/run))
					rest = kernel.Bin(op.Div, rest, kernel.I(p[axis].len/run))
				}
				cell[axis] = kernel.Add(kernel.Mul(at, kernel.I(run)), kernel.I(p[axis].from))
			}
			if from == nil {
				from = cell
			} else {
				for _, axis := range axes {
					from[axis] = kernel.Sel(kernel.Lt(number, kernel.I(before)), from[axis], cell[axis])
				}
			}
		}
		before = end
	}
	return from
}

// around cuts what is read outside of a block's own cells into boxes: those
// below and above it on the first axis, and the same on the next of what lies
// between. Runs on the last axis are of n cells.
func around(own box, read []box, axes []int, n int64) []box {
	if len(axes) == 0 {
		return nil
	}
	axis, rest := axes[0], axes[1:]
	inside := own[axis]
	run := int64(1)
	if len(rest) == 0 {
		run = n
	}
	// cut adds the hull of what is read on one side of the own cells.
	var parts []box
	cut := func(outside func(e extent) (extent, bool)) {
		part := box{}
		for _, b := range read {
			e, some := outside(b[axis])
			if !some {
				continue
			}
			if len(part) == 0 {
				part[axis] = e
				for _, other := range rest {
					part[other] = b[other]
				}
				continue
			}
			part[axis] = part[axis].hull(e)
			for _, other := range rest {
				part[other] = part[other].hull(b[other])
			}
		}
		if len(part) == 0 {
			return
		}
		last := axes[len(axes)-1]
		part[last] = part[last].rounded(n)
		parts = append(parts, part)
	}
	cut(func(e extent) (extent, bool) {
		e = e.rounded(run)
		return extent{e.from, inside.from - e.from}, e.from < inside.from
	})
	cut(func(e extent) (extent, bool) {
		e = e.rounded(run)
		return extent{inside.end(), e.end() - inside.end()}, e.end() > inside.end()
	})
	var between []box
	for _, b := range read {
		if b[axis].end() > inside.from && b[axis].from < inside.end() {
			between = append(between, b)
		}
	}
	for _, part := range around(own, between, rest, n) {
		part[axis] = inside
		parts = append(parts, part)
	}
	return parts
}
