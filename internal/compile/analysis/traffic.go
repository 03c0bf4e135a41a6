package analysis

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Traffic is the bytes that a point of the main domain moves.
type Traffic struct {
	// Compulsory has every grid of the call that is read from outside loaded
	// once and every grid that is written stored once, however often the call
	// touches them; local grids stay on chip. A grid that is updated counts
	// twice, and once among the I/O arrays of Rawat, Table I.
	Compulsory float64 `json:"compulsory"`
	// ByGroup does the same for every group of Fusion by itself, local grids and
	// materialised temps included: what loops run one after the other move if
	// no data stay on chip between them.
	ByGroup float64 `json:"by_group"`
	// AsWritten has every load and store of the text go to memory.
	AsWritten float64 `json:"as_written"`
}

func (t Traffic) plus(u Traffic) Traffic {
	return Traffic{t.Compulsory + u.Compulsory, t.ByGroup + u.ByGroup, t.AsWritten + u.AsWritten}
}

func (t Traffic) times(w float64) Traffic {
	return Traffic{w * t.Compulsory, w * t.ByGroup, w * t.AsWritten}
}

// Intensity is flops per byte: arithmetic intensity with the bytes of Traffic.
// Rawat's theoretical intensity (Table III) counts each I/O array once.
type Intensity struct {
	Compulsory float64 `json:"compulsory"`
	ByGroup    float64 `json:"by_group"`
	AsWritten  float64 `json:"as_written"`
}

func intensity(o Ops, t Traffic) Intensity {
	per := func(bytes float64) float64 {
		if bytes == 0 {
			return 0
		}
		return o.Flops() / bytes
	}
	return Intensity{per(t.Compulsory), per(t.ByGroup), per(t.AsWritten)}
}

// loads returns the loads per point when every group loads each value once and
// a value that the group has just stored at the cell not at all.
func (g *gatherer) loads() float64 {
	total := 0.0
	for _, group := range g.fusion.Groups {
		weight := map[*ir.Access]float64{}
		var accs []*ir.Access
		stored := map[*ir.Array]bool{}
		for _, s := range group.Body() {
			for _, acc := range g.deps.of[s].accesses {
				if stored[acc.Array] && stays(acc, s.Domain) {
					continue
				}
				weight[acc] = g.weight[s]
				accs = append(accs, acc)
			}
			if s.Array != nil && s.Color == nil {
				stored[s.Array] = true
			}
		}
		// Of equal accesses, the one that is done most often counts.
		slices.SortStableFunc(accs, func(a, b *ir.Access) int {
			switch {
			case weight[a] > weight[b]:
				return -1
			case weight[a] < weight[b]:
				return 1
			}
			return 0
		})
		for _, acc := range distinct(accs) {
			total += weight[acc]
		}
	}
	return total
}

func (g *gatherer) traffic() Traffic {
	var out Traffic
	for _, t := range g.touched(g.ir.Body) {
		if !t.array.Local {
			out.Compulsory += g.share(t)
		}
	}
	for _, group := range g.fusion.Groups {
		for _, t := range g.touched(group.Body()) {
			out.ByGroup += g.share(t)
		}
		out.ByGroup += g.tempTraffic(group)
	}
	for _, s := range g.ir.Body {
		for _, acc := range g.deps.of[s].accesses {
			out.AsWritten += g.weight[s] * float64(acc.Array.Type.Size())
		}
		if s.Array != nil {
			out.AsWritten += g.weight[s] * float64(s.Array.Type.Size())
		}
	}
	return out
}

// tempTraffic is what the materialised temps that a group stores or loads add.
func (g *gatherer) tempTraffic(group *Group) float64 {
	stored, loaded := map[*ir.Stmt]bool{}, map[*ir.Temp]bool{}
	for _, s := range group.Stmts {
		stored[s] = true
	}
	for _, s := range group.Body() {
		for _, t := range g.deps.of[s].temps {
			loaded[t] = true
		}
	}
	bytes := 0.0
	for _, u := range g.fusion.Temps {
		if u.Place == Materialised && (stored[u.Stmt] || loaded[u.Temp]) {
			bytes += g.weight[u.Stmt] * float64(u.Temp.Type.Size())
		}
	}
	return bytes
}

// touch is the part of an array that statements load and store: the box
// around it, for each of its dimensions.
type touch struct {
	array          *ir.Array
	loads, stores  bool
	loaded, stored []ir.Extent // with sizes
}

// touched returns what statements load from outside and store, by array. An
// array that is stored before it is loaded is not loaded; the cells that the
// store leaves out are taken to be few.
func (g *gatherer) touched(stmts []*ir.Stmt) []*touch {
	var out []*touch
	known := map[*ir.Array]*touch{}
	find := func(a *ir.Array) *touch {
		if known[a] == nil {
			known[a] = &touch{array: a}
			out = append(out, known[a])
		}
		return known[a]
	}
	for _, s := range stmts {
		for _, c := range g.deps.evaluated(s) {
			for _, acc := range g.deps.of[s].distinct {
				if t := find(acc.Array); !t.stores || t.loads {
					t.loads = true
					t.loaded = g.hull(t.loaded, func(d int) ir.Range { return footprint(acc, d, c.Box) }, acc.Array)
				}
			}
		}
		if s.Array != nil {
			t := find(s.Array)
			t.stores = true
			t.stored = g.hull(t.stored, func(d int) ir.Range { return s.Domain[s.Array.Dims[d].Axis] }, s.Array)
			// Cells of other colours keep what they hold and share its cache
			// lines.
			if s.Color != nil && !t.loads {
				t.loads, t.loaded = true, slices.Clone(t.stored)
			}
		}
	}
	return out
}

// hull widens known by the ranges of an array's dimensions.
func (g *gatherer) hull(known []ir.Extent, at func(d int) ir.Range, a *ir.Array) []ir.Extent {
	if g.b == nil {
		return nil
	}
	fresh := known == nil
	if fresh {
		known = make([]ir.Extent, len(a.Dims))
	}
	for d := range a.Dims {
		e := at(d).Eval(g.b.Params, g.b.Extent(a.Dims[d]))
		switch {
		case fresh || known[d].Len() == 0:
			known[d] = e
		case e.Len() > 0:
			known[d].Lo, known[d].Hi = min(known[d].Lo, e.Lo), max(known[d].Hi, e.Hi)
		}
	}
	return known
}

// share returns the bytes of a touch for each point of the main domain.
func (g *gatherer) share(t *touch) float64 {
	size := float64(t.array.Type.Size())
	if g.b == nil {
		n := 0
		for _, d := range t.array.Dims {
			if !fixed(ir.Range{Lo: []ir.Affine{d.Lo}, Hi: []ir.Affine{d.Hi}}) {
				n++
			}
		}
		if n < g.degree {
			return 0
		}
		return size * (count(t.loads) + count(t.stores))
	}
	bytes := 0.0
	for _, part := range []struct {
		used bool
		box  []ir.Extent
	}{{t.loads, t.loaded}, {t.stores, t.stored}} {
		if part.used {
			cells := size
			for _, e := range part.box {
				cells *= float64(e.Len())
			}
			bytes += cells
		}
	}
	return bytes / float64(max(1, g.points))
}

func count(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
