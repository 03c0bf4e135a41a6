package analysis

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// again answers whether temps have their values still where a later group
// evaluates them once more.
type again struct {
	f        *fuser
	at       map[*ir.Stmt]int     // index in the call
	writers  map[*ir.Array][]int  // by array, the assignments
	reducers map[*ir.Scalar][]int // by scalar, the reductions
	starts   []int                // of the groups
	groups   []*members           // nil until asked for
	stmts    [][]*ir.Stmt         // of the groups
	known    map[tempIn]bool
}

// tempIn is a temp's statement, evaluated before the statements of a group.
type tempIn struct {
	temp  *ir.Stmt
	group int
}

func (f *fuser) again(groups []*Group) *again {
	a := &again{
		f: f, at: map[*ir.Stmt]int{}, writers: map[*ir.Array][]int{}, reducers: map[*ir.Scalar][]int{},
		groups: make([]*members, len(groups)), known: map[tempIn]bool{},
	}
	for i, s := range f.call.Body {
		a.at[s] = i
		switch {
		case s.Array != nil:
			a.writers[s.Array] = append(a.writers[s.Array], i)
		case s.Reduce != nil:
			a.reducers[s.Reduce.Scalar] = append(a.reducers[s.Reduce.Scalar], i)
		}
	}
	for _, g := range groups {
		a.starts = append(a.starts, a.at[g.Stmts[0]])
		a.stmts = append(a.stmts, g.Stmts)
	}
	return a
}

// holds reports whether evaluating the temp statement t in a group, before the
// group's own statements, gives the value that it had at its place: nothing in
// between writes what it reads, the group does not write it at other cells, and
// the same holds of the temps that it reads.
func (a *again) holds(t *ir.Stmt, group int) bool {
	key := tempIn{t, group}
	known, ok := a.known[key]
	if !ok {
		known = a.unchanged(t, group) && a.members(group).takesBefore(t)
		a.known[key] = known
	}
	return known
}

func (a *again) unchanged(t *ir.Stmt, group int) bool {
	r := a.f.deps.of[t]
	from, to := a.at[t], a.starts[group]
	for scalar := range r.scalars {
		if len(between(a.reducers[scalar], from, to)) > 0 {
			return false
		}
	}
	for _, acc := range r.distinct {
		for _, w := range between(a.writers[acc.Array], from, to) {
			for _, c := range a.f.deps.evaluated(t) {
				if !apart(acc, c.Box, a.f.call.Body[w].Domain) {
					return false
				}
			}
		}
	}
	for _, u := range r.temps {
		if s := a.f.deps.assigned[u]; a.at[s] < to && !a.holds(s, group) {
			return false
		}
	}
	return true
}

func (a *again) members(group int) *members {
	if a.groups[group] == nil {
		m := a.f.members()
		for _, s := range a.stmts[group] {
			m.add(s)
		}
		a.groups[group] = m
	}
	return a.groups[group]
}

// between returns the part of an ascending list from lo up to, without, hi.
func between(list []int, lo, hi int) []int {
	i, _ := slices.BinarySearch(list, lo)
	j, _ := slices.BinarySearch(list, hi)
	return list[i:max(i, j)]
}
