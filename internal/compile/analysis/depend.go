package analysis

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Edge is a dependence: To must see, or not see, what From does.
type Edge struct {
	From int    `json:"from"` // index of the statement, or of the run in a loop's body
	To   int    `json:"to"`
	Kind string `json:"kind"` // flow, anti or output
	On   string `json:"on"`   // the array, temp, grid or scalar
	// Offsets are those at which the reading side reads, by axis of the program;
	// none for scalars, output dependences and reads of a fixed plane.
	Offsets [][]int64 `json:"offsets,omitempty"`
	// Carried says that To belongs to the next iteration of the loop.
	Carried bool `json:"carried,omitempty"`
}

// The kinds of a dependence.
const (
	flow   = "flow"   // From writes what To reads
	anti   = "anti"   // From reads what To writes
	output = "output" // both write
)

// edges returns the dependences among a call's statements, by To, then From.
// One that follows from two others because a statement between overwrites
// everything is left out.
func (g *gatherer) edges() []Edge {
	out := []Edge{}
	h := newHistory(g)
	for j, to := range g.ir.Body {
		for _, i := range h.before(j) {
			out = append(out, g.between(h, i, j)...)
		}
		// A statement that reads its own target elsewhere depends on itself.
		if to.Array != nil {
			var moved []*ir.Access
			for _, acc := range of(to.Array, g.deps.of[to].distinct) {
				if g.deps.moves(acc, g.deps.cellsOf(to), to) {
					moved = append(moved, acc)
				}
			}
			if len(moved) > 0 {
				out = append(out, Edge{From: j, To: j, Kind: anti, On: to.Array.Name,
					Offsets: offsets(len(g.p.Axes), moved)})
			}
		}
		h.add(j)
	}
	return out
}

func (g *gatherer) between(h *history, i, j int) []Edge {
	from, to := g.ir.Body[i], g.ir.Body[j]
	var out []Edge
	add := func(kind, on string, accs []*ir.Access) {
		out = append(out, Edge{From: i, To: j, Kind: kind, On: on, Offsets: offsets(len(g.p.Axes), accs)})
	}
	if a := from.Array; a != nil && !h.overwritten(i, j, a, from.Domain) {
		if accs := g.meeting(to, from); len(accs) > 0 {
			add(flow, a.Name, accs)
		}
	}
	if from.Temp != nil && slices.Contains(g.deps.of[to].temps, from.Temp) {
		out = append(out, Edge{From: i, To: j, Kind: flow, On: from.Temp.Name,
			Offsets: [][]int64{make([]int64, len(g.p.Axes))}})
	}
	if from.Reduce != nil && g.deps.of[to].scalars[from.Reduce.Scalar] && !h.reducedBetween(i, j, from.Reduce.Scalar) {
		add(flow, from.Reduce.Scalar.Name, nil)
	}
	if a := to.Array; a != nil && !h.overwritten(i, j, a, to.Domain) {
		if accs := g.meeting(from, to); len(accs) > 0 {
			add(anti, a.Name, accs)
		}
		if from.Array == a && !anyDisjoint(from.Domain, to.Domain) {
			add(output, a.Name, nil)
		}
	}
	if to.Reduce != nil && !h.reducedBetween(i, j, to.Reduce.Scalar) {
		if g.deps.of[from].scalars[to.Reduce.Scalar] {
			add(anti, to.Reduce.Scalar.Name, nil)
		}
		if from.Reduce != nil && from.Reduce.Scalar == to.Reduce.Scalar {
			add(output, to.Reduce.Scalar.Name, nil)
		}
	}
	return out
}

// meeting returns the accesses of the reader that may read a cell which the
// writer writes.
func (g *gatherer) meeting(reader, writer *ir.Stmt) []*ir.Access {
	var out []*ir.Access
	for _, acc := range of(writer.Array, g.deps.of[reader].distinct) {
		for _, c := range g.deps.evaluated(reader) {
			if !apart(acc, c.Box, writer.Domain) {
				out = append(out, acc)
				break
			}
		}
	}
	return out
}

// covers reports whether outer holds every cell of inner, for all sizes.
func covers(outer, inner ir.Box) bool {
	for axis := range outer {
		if !aboveAll(inner[axis], outer[axis].Lo) || !belowAll(inner[axis], outer[axis].Hi) {
			return false
		}
	}
	return true
}

func anyDisjoint(a, b ir.Box) bool {
	for axis := range a {
		if disjoint(a[axis], b[axis]) {
			return true
		}
	}
	return false
}
