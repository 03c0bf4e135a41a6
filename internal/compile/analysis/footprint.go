package analysis

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Shape is the set of points that one output point is computed from, all
// arrays laid over each other.
type Shape struct {
	// Points is the number of distinct points, so that the stencil is an
	// N-point stencil (Zhang and Mueller, section 2). Indices that name a fixed
	// plane are not in it.
	Points int `json:"points"`
	// Order is the largest halo on any axis and side (Zhang and Mueller,
	// section 2).
	Order int64 `json:"order"`
	// Halo has one entry for every axis of the program.
	Halo []Halo `json:"halo"`
	// Density is Points divided by the cells of the smallest box around them
	// (Garvey, section 2).
	Density float64 `json:"density"`
	// Unique is the axis whose halo differs from that of all others, which are
	// alike; of two, the one that is reached further along; "" if there is none
	// (Garvey, section 6.1).
	Unique string `json:"unique_axis,omitempty"`
	// Corners are the axes with corner accesses: marching along such an axis,
	// points of one output plane share input points on another plane, because
	// they read more than one point of it (Zhang and Mueller, section 2.1).
	Corners []string `json:"corner_axes"`
}

// Halo is how far reads reach on an axis, below and above the output point.
type Halo struct {
	Axis string `json:"axis"`
	Low  int64  `json:"low"`
	High int64  `json:"high"`
}

// ArrayFacts is how a call uses an array.
type ArrayFacts struct {
	IR *ir.Array `json:"-"`

	Name  string   `json:"name"`
	Grid  string   `json:"grid,omitempty"` // empty for a local grid
	Type  string   `json:"type"`
	Axes  []string `json:"axes"` // that index it
	Role  string   `json:"role"` // input, output, in-out, intermediate (a local grid)
	Shape Shape    `json:"shape"`
	// Loads as written count every occurrence in the text; Points in Shape
	// counts each value once.
	LoadsAsWritten int `json:"loads_as_written"`
	Stores         int `json:"stores"`
	// Reuse has for every axis of Axes the number of points that were read
	// before as the stencil moves along that axis by one: those with another
	// point of the array ahead of them on it.
	Reuse []Reuse `json:"reuse"`
}

// Reuse is how many loads of an array are reloads along an axis.
type Reuse struct {
	Axis    string `json:"axis"`
	Reloads int    `json:"reloads"`
}

// effective returns the distinct array accesses of statements, looking through
// temps: for each, its own and those of every temp that it reads. Temps that
// stand in the list by themselves add nothing.
func (g *gatherer) effective(stmts []*ir.Stmt) []*ir.Access {
	if len(stmts) == 1 {
		return g.deps.through[stmts[0]]
	}
	var out []*ir.Access
	seen := map[*ir.Access]bool{}
	for _, s := range stmts {
		if s.Temp != nil {
			continue
		}
		for _, a := range g.deps.through[s] {
			if !seen[a] {
				seen[a] = true
				out = append(out, a)
			}
		}
	}
	return out
}

// distinct returns the accesses without repetitions.
func distinct(accs []*ir.Access) []*ir.Access {
	seen := map[ir.Cell]bool{}
	var out []*ir.Access
	for _, a := range accs {
		if k := a.Cell(); !seen[k] {
			seen[k] = true
			out = append(out, a)
		}
	}
	return out
}

// offsets returns the distinct offset vectors, by axis of the program, of
// accesses whose every index moves with the point, sorted. Axes that do not
// index the array have offset 0.
func offsets(rank int, accs []*ir.Access) [][]int64 {
	out := [][]int64{}
	for _, a := range accs {
		v := make([]int64, rank)
		moves := true
		for _, ix := range a.Index {
			if ix.Axis < 0 {
				moves = false
				break
			}
			v[ix.Axis] = ix.Offset
		}
		if moves {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, slices.Compare)
	return slices.CompactFunc(out, slices.Equal)
}

func (g *gatherer) shape(accs []*ir.Access) Shape {
	rank := len(g.p.Axes)
	points := offsets(rank, accs)
	out := Shape{Points: len(points), Halo: halos(g.p, points), Corners: []string{}}
	box := int64(1)
	for _, h := range out.Halo {
		out.Order = max(out.Order, h.Low, h.High)
	}
	for axis := range rank {
		lo, hi := extremes(points, axis)
		box *= hi - lo + 1
		if slices.Contains(g.axes, axis) && g.corners(accs, axis) {
			out.Corners = append(out.Corners, g.p.Axes[axis])
		}
	}
	if len(points) > 0 {
		out.Density = float64(len(points)) / float64(box)
	}
	out.Unique = unique(out.Halo, g.axes)
	return out
}

func halos(p *ir.Program, points [][]int64) []Halo {
	out := make([]Halo, len(p.Axes))
	for axis, name := range p.Axes {
		lo, hi := extremes(points, axis)
		out[axis] = Halo{name, max(0, -lo), max(0, hi)}
	}
	return out
}

// extremes returns the smallest and largest offset on an axis, 0 and 0 of none.
func extremes(points [][]int64, axis int) (lo, hi int64) {
	for i, v := range points {
		if i == 0 {
			lo, hi = v[axis], v[axis]
		}
		lo, hi = min(lo, v[axis]), max(hi, v[axis])
	}
	return lo, hi
}

// corners reports whether some array is read at more than one point of a plane
// across the axis that is not the output's own.
func (g *gatherer) corners(accs []*ir.Access, axis int) bool {
	byArray := map[*ir.Array][]*ir.Access{}
	for _, a := range accs {
		byArray[a.Array] = append(byArray[a.Array], a)
	}
	for _, accs := range byArray {
		seen := map[int64]bool{}
		for _, v := range offsets(len(g.p.Axes), accs) {
			if v[axis] != 0 && seen[v[axis]] {
				return true
			}
			seen[v[axis]] = true
		}
	}
	return false
}

// of returns the accesses to an array.
func of(a *ir.Array, accs []*ir.Access) []*ir.Access {
	var out []*ir.Access
	for _, acc := range accs {
		if acc.Array == a {
			out = append(out, acc)
		}
	}
	return out
}

func unique(halos []Halo, axes []int) string {
	var names []string
	for _, a := range axes {
		differs := true
		for i, b := range axes {
			for _, c := range axes[i+1:] {
				if b != a && c != a && !sameReach(halos[b], halos[c]) {
					differs = false
				}
			}
			if b != a && sameReach(halos[a], halos[b]) {
				differs = false
			}
		}
		if differs && len(axes) > 1 {
			names = append(names, halos[a].Axis)
		}
	}
	switch len(names) {
	case 1:
		return names[0]
	case 2: // two axes, either of which differs from the other
		a, b := halos[axes[0]], halos[axes[1]]
		switch {
		case a.Low+a.High > b.Low+b.High:
			return a.Axis
		case a.Low+a.High < b.Low+b.High:
			return b.Axis
		}
	}
	return ""
}

func sameReach(a, b Halo) bool { return a.Low == b.Low && a.High == b.High }

func (g *gatherer) arrays() []*ArrayFacts {
	out := []*ArrayFacts{}
	for _, a := range g.ir.Arrays {
		f := &ArrayFacts{IR: a, Name: a.Name, Type: a.Type.Word(), Axes: []string{}}
		if a.Grid != nil {
			f.Grid = a.Grid.Name
		}
		var accs []*ir.Access
		written := false
		readFirst := false
		for _, s := range g.ir.Body {
			own := of(a, g.deps.of[s].accesses)
			accs = append(accs, own...)
			readFirst = readFirst || len(own) > 0 && !written
			if s.Array == a {
				f.Stores++
				written = true
			}
		}
		f.LoadsAsWritten = len(accs)
		f.Shape = g.shape(accs)
		switch {
		case a.Local:
			f.Role = "intermediate"
		case written && readFirst:
			f.Role = "in-out"
		case written:
			f.Role = "output"
		default:
			f.Role = "input"
		}
		points := offsets(len(g.p.Axes), accs)
		for _, d := range a.Dims {
			if d.Axis >= 0 {
				f.Axes = append(f.Axes, g.p.Axes[d.Axis])
				f.Reuse = append(f.Reuse, Reuse{g.p.Axes[d.Axis], reloads(points, d.Axis)})
			}
		}
		out = append(out, f)
	}
	return out
}

// reloads returns the number of points that are not the foremost of their line
// along an axis.
func reloads(points [][]int64, axis int) int {
	lines := map[string]bool{}
	for _, v := range points {
		w := slices.Clone(v)
		w[axis] = 0
		lines[fmt.Sprint(w)] = true
	}
	return len(points) - len(lines)
}

// reach follows the reads back through the call: what is needed of an array
// around one point, before the call starts, to compute the call's grids at
// that point. It returns the hull over all arrays.
func (g *gatherer) reach() []Halo {
	rank := len(g.p.Axes)
	need := map[*ir.Array][][]int64{} // hull corners: lowest, highest
	grow := func(a *ir.Array, lo, hi []int64) {
		if n, ok := need[a]; ok {
			for i := range rank {
				n[0][i], n[1][i] = min(n[0][i], lo[i]), max(n[1][i], hi[i])
			}
			return
		}
		need[a] = [][]int64{slices.Clone(lo), slices.Clone(hi)}
	}
	zero := make([]int64, rank)
	for _, s := range g.ir.Body {
		if s.Array != nil && !s.Array.Local {
			grow(s.Array, zero, zero)
		}
	}
	var own []*ir.Array // read before anything writes them
	for i := len(g.ir.Body) - 1; i >= 0; i-- {
		s := g.ir.Body[i]
		if s.Temp != nil {
			continue
		}
		at := [][]int64{zero, zero}
		if s.Array != nil {
			n, ok := need[s.Array]
			if !ok {
				continue // nothing reads this local grid
			}
			at = [][]int64{slices.Clone(n[0]), slices.Clone(n[1])}
		}
		for _, v := range g.effective([]*ir.Stmt{s}) {
			lo, hi := slices.Clone(at[0]), slices.Clone(at[1])
			for _, ix := range v.Index {
				if ix.Axis >= 0 {
					lo[ix.Axis] += ix.Offset
					hi[ix.Axis] += ix.Offset
				}
			}
			grow(v.Array, lo, hi)
			own = append(own, v.Array)
		}
	}
	var hull [][]int64
	for _, a := range own {
		if !a.Local {
			hull = append(hull, need[a]...)
		}
	}
	return halos(g.p, hull)
}

// Text prints the halo of an axis: "1" on both sides, "2,1" below and
// above.
func (h Halo) Text() string {
	if h.Low == h.High {
		return fmt.Sprint(h.Low)
	}
	return fmt.Sprintf("%d,%d", h.Low, h.High)
}
