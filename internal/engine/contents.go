package engine

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// UnsetCells are the cells that a program reads though nothing has given them values: they
// are zero.
type UnsetCells struct {
	// Read holds the grids whose zeros the program reads, or takes along when they
	// change places with others.
	Read map[*ir.Grid]bool
	// FromStart lists those of them that are read, in the program's order.
	FromStart []*ir.Grid
	// Rims lists grids with cells that no statement writes, each with a grid with values that
	// it changes places with.
	Rims [][2]*ir.Grid
}

// Unset follows the contents of grids through a program. Given are the grids whose first
// values come from outside.
func Unset(b *ir.Binding, given []*ir.Grid) UnsetCells {
	z := newZeros(b, given)
	z.walk(b.Program.Body)
	u := UnsetCells{Read: z.read, Rims: z.rims}
	for _, g := range b.Program.Grids {
		if z.read[g] {
			u.FromStart = append(u.FromStart, g)
		}
	}
	for _, pair := range z.rims {
		u.Read[pair[0]] = true
	}
	return u
}

// zeros follows the contents of grids through a program.
type zeros struct {
	bound *ir.Binding
	holds map[*ir.Grid]*contents
	read  map[*ir.Grid]bool // they started as zeros, and were read so
	rims  [][2]*ir.Grid     // a grid with zeros left, and one with values that it changes places with
}

// contents is what a grid holds. It moves on when grids change places.
type contents struct {
	from    *ir.Grid      // that it was in at the start
	zero    [][]ir.Extent // boxes of cells without values
	first   bool          // it was given values, or has a formula
	written bool          // some cells have been given values since
	told    bool          // of its zeros
}

// whole reports whether every cell has a value.
func (c *contents) whole() bool { return len(c.zero) == 0 }

// begin notes first values. A formula may leave cells out: that is its affair.
func (c *contents) begin() { c.first, c.zero = true, nil }

func newZeros(b *ir.Binding, given []*ir.Grid) *zeros {
	z := &zeros{bound: b, holds: map[*ir.Grid]*contents{}, read: map[*ir.Grid]bool{}}
	for _, g := range b.Program.Grids {
		var all []ir.Extent
		for _, d := range g.Dims {
			all = append(all, b.Extent(d))
		}
		z.holds[g] = &contents{from: g, zero: [][]ir.Extent{all}}
	}
	for _, g := range given {
		z.holds[g].begin()
	}
	if b.Program.Initial != nil {
		for _, st := range b.Program.Initial.Body {
			if st.Array != nil && st.Array.Grid != nil {
				z.holds[st.Array.Grid].begin()
			}
		}
	}
	return z
}

func (z *zeros) walk(body []ir.Op) {
	for _, o := range body {
		switch o := o.(type) {
		case *ir.Run:
			for _, st := range o.Call.Body {
				z.statement(st)
			}
		case *ir.Rotate:
			z.rotate(o.Grids)
		case *ir.Iterate:
			// The second time sees what the first has left behind.
			z.walk(o.Body)
			z.walk(o.Body)
		}
	}
}

func (z *zeros) statement(st *ir.Stmt) {
	ir.Walk(st.Value, func(e ir.Expr) {
		a, ok := e.(*ir.Access)
		if !ok || a.Array.Grid == nil {
			return
		}
		if c := z.holds[a.Array.Grid]; !c.written && !c.whole() {
			z.read[c.from] = true
		}
	})
	if st.Array == nil || st.Array.Grid == nil {
		return
	}
	c := z.holds[st.Array.Grid]
	c.written = true
	if st.Color != nil {
		return
	}
	var box []ir.Extent
	for _, dim := range st.Array.Dims {
		box = append(box, z.bound.Range(st.Domain[dim.Axis]))
	}
	var rest [][]ir.Extent
	for _, old := range c.zero {
		rest = append(rest, without(old, box)...)
	}
	c.zero = rest
}

// without returns boxes that make up the cells of a box that another lacks.
func without(box, other []ir.Extent) [][]ir.Extent {
	var parts [][]ir.Extent
	for d, e := range box {
		o := other[d]
		if o.Hi < e.Lo || o.Lo > e.Hi {
			return append(parts, box)
		}
		for _, side := range []ir.Extent{{Lo: e.Lo, Hi: o.Lo - 1}, {Lo: o.Hi + 1, Hi: e.Hi}} {
			if side.Len() > 0 {
				part := slices.Clone(box)
				part[d] = side
				parts = append(parts, part)
			}
		}
		box = slices.Clone(box)
		box[d] = ir.Extent{Lo: max(e.Lo, o.Lo), Hi: min(e.Hi, o.Hi)}
	}
	return parts
}

// rotate gives every grid the contents of the one after it, and the last those
// of the first.
func (z *zeros) rotate(grids []*ir.Grid) {
	for _, g := range grids {
		c := z.holds[g]
		if !c.written || c.whole() || c.told {
			continue
		}
		for _, other := range grids {
			if z.holds[other].first {
				c.told = true
				z.rims = append(z.rims, [2]*ir.Grid{c.from, z.holds[other].from})
				break
			}
		}
	}
	first := z.holds[grids[0]]
	for k, g := range grids {
		if k+1 < len(grids) {
			z.holds[g] = z.holds[grids[k+1]]
		} else {
			z.holds[g] = first
		}
	}
}
