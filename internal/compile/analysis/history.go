package analysis

import (
	"maps"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// history is which of the statements so far touched what, ascending, so that a
// statement's dependences are sought among those that touch the same alone.
type history struct {
	g                 *gatherer
	readers, writers  map[*ir.Array][]int
	scalars, reducers map[*ir.Scalar][]int
	assigned          map[*ir.Temp]int
	// whole says of an assignment that it writes every cell that any statement of
	// the call writes of its array: none before it is seen after it.
	whole map[int]bool
}

func newHistory(g *gatherer) *history {
	h := &history{
		g: g, readers: map[*ir.Array][]int{}, writers: map[*ir.Array][]int{},
		scalars: map[*ir.Scalar][]int{}, reducers: map[*ir.Scalar][]int{},
		assigned: map[*ir.Temp]int{}, whole: map[int]bool{},
	}
	written := map[*ir.Array][]*Cells{} // distinct
	for _, s := range g.ir.Body {
		if c := g.deps.where[s]; s.Array != nil && !slices.Contains(written[s.Array], c[0]) {
			written[s.Array] = append(written[s.Array], c[0])
		}
	}
	type cover struct {
		array *ir.Array
		cells *Cells
	}
	known := map[cover]bool{}
	for i, s := range g.ir.Body {
		if s.Array == nil || s.Color != nil {
			continue
		}
		key := cover{s.Array, g.deps.where[s][0]}
		all, ok := known[key]
		if !ok {
			all = !slices.ContainsFunc(written[s.Array], func(c *Cells) bool { return !covers(s.Domain, c.Box) })
			known[key] = all
		}
		h.whole[i] = all
	}
	return h
}

// add notes what statement i touches.
func (h *history) add(i int) {
	s := h.g.ir.Body[i]
	r := h.g.deps.of[s]
	for _, acc := range r.distinct {
		if list := h.readers[acc.Array]; len(list) == 0 || list[len(list)-1] != i {
			h.readers[acc.Array] = append(list, i)
		}
	}
	for scalar := range r.scalars {
		h.scalars[scalar] = append(h.scalars[scalar], i)
	}
	switch {
	case s.Array != nil:
		h.writers[s.Array] = append(h.writers[s.Array], i)
	case s.Temp != nil:
		h.assigned[s.Temp] = i
	case s.Reduce != nil:
		h.reducers[s.Reduce.Scalar] = append(h.reducers[s.Reduce.Scalar], i)
	}
}

// before returns the statements on which statement j may depend, ascending. It
// leaves out those that a whole assignment hides.
func (h *history) before(j int) []int {
	s := h.g.ir.Body[j]
	r := h.g.deps.of[s]
	found := map[int]bool{}
	hidden := func(a *ir.Array) int { // what comes before this is overwritten
		list := h.writers[a]
		for n := len(list) - 1; n >= 0; n-- {
			if h.whole[list[n]] {
				return list[n]
			}
		}
		return 0
	}
	from := func(list []int, first int) {
		for n := len(list) - 1; n >= 0 && list[n] >= first; n-- {
			found[list[n]] = true
		}
	}
	arrays := map[*ir.Array]bool{}
	for _, acc := range r.distinct {
		arrays[acc.Array] = true
	}
	if s.Array != nil {
		arrays[s.Array] = true
	}
	for a := range arrays {
		from(h.writers[a], hidden(a))
	}
	if s.Array != nil {
		from(h.readers[s.Array], hidden(s.Array))
	}
	for _, t := range r.temps {
		found[h.assigned[t]] = true
	}
	for scalar := range r.scalars {
		from(h.reducers[scalar], last(h.reducers[scalar]))
	}
	if s.Reduce != nil {
		first := last(h.reducers[s.Reduce.Scalar])
		from(h.reducers[s.Reduce.Scalar], first)
		from(h.scalars[s.Reduce.Scalar], first)
	}
	return slices.Sorted(maps.Keys(found))
}

// last returns the last of a list, 0 of none.
func last(list []int) int {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1]
}

// overwritten reports whether a statement between i and j writes all of the box
// of an array.
func (h *history) overwritten(i, j int, a *ir.Array, box ir.Box) bool {
	for _, k := range between(h.writers[a], i+1, j) {
		if s := h.g.ir.Body[k]; s.Color == nil && covers(s.Domain, box) {
			return true
		}
	}
	return false
}

func (h *history) reducedBetween(i, j int, s *ir.Scalar) bool {
	return len(between(h.reducers[s], i+1, j)) > 0
}
