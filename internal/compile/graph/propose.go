package graph

import (
	"cmp"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Propose returns sets of a loop's calls that may share a kernel each, so that as few grids as possible pass through
// memory. It begins with single calls, and joins the two sets that have most grids in common as long as the joined set
// has no more statements than a limit, is a span, and has a place among the others. Sets of a single statement are left
// out. It returns nil where all calls come into one set, which needs no set.
func Propose(p *ir.Program, l Loop, most int64) [][]int {
	var sets [][]int
	var of []*effects
	for n, o := range l.Iterate.Body {
		of = append(of, effectsOf(o))
		if _, isCall := o.(*ir.Run); isCall {
			sets = append(sets, []int{n})
		}
	}
	calls := len(sets)
	for joinSets(p, l, most, of, &sets) {
	}
	if len(sets) == 1 && len(sets[0]) == calls {
		return nil
	}
	alone := func(set []int) bool {
		own := Loop{l.Name, l.Iterate, set}
		_, err := NewSpan(p, own, 1)
		return own.Assignments() < 2 || err != nil
	}
	return slices.DeleteFunc(sets, alone)
}

// joinSets joins two sets, and reports whether there were any.
func joinSets(p *ir.Program, l Loop, most int64, of []*effects, sets *[][]int) bool {
	type pair struct{ x, y, common int }
	var pairs []pair
	for y := range *sets {
		for x := range y {
			if n := common(of, (*sets)[x], (*sets)[y]); n > 0 {
				pairs = append(pairs, pair{x, y, n})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.common, a.common) })
	for _, k := range pairs {
		joined := Loop{l.Name, l.Iterate, slices.Sorted(slices.Values(slices.Concat((*sets)[k.x], (*sets)[k.y])))}
		if joined.Assignments() > most {
			continue
		}
		if _, err := NewSpan(p, joined, 1); err != nil {
			continue
		}
		next := slices.Clone(*sets)
		next[k.x] = joined.Set
		next = slices.Delete(next, k.y, k.y+1)
		if _, err := Arrange(l, 1, next); err != nil {
			continue
		}
		*sets = next
		return true
	}
	return false
}

// common counts how often two sets of calls would move a grid that they have in common: once where both read it, twice
// where one writes what the other reads.
func common(of []*effects, x, y []int) int {
	collect := func(set []int) *effects {
		all := &effects{}
		for _, n := range set {
			for _, r := range of[n].reads {
				all.read(r)
			}
			for _, r := range of[n].writes {
				all.write(r)
			}
		}
		return all
	}
	a, b := collect(x), collect(y)
	n := 0
	for _, r := range a.reads {
		if slices.Contains(b.reads, r) {
			n++
		}
		if slices.Contains(b.writes, r) {
			n += 2
		}
	}
	for _, r := range a.writes {
		if slices.Contains(b.reads, r) || slices.Contains(b.writes, r) {
			n += 2
		}
	}
	return n
}
