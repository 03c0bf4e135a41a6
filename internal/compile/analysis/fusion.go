package analysis

import (
	"maps"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Fusion says which statements of a call can run in one loop over cells.
type Fusion struct {
	Groups []*Group
	Temps  []*TempUse // parallel to Call.Temps
}

// Group is a run of consecutive statements that one loop can execute: at every
// cell, the group's statements in order, each only at the cells of its own
// domain and colour, cells in any order or in parallel. Reductions are stored
// when the loop is over. A temp is evaluated at its place in the order, not
// where it is read, and at its TempUse's Cells alone.
type Group struct {
	Stmts []*ir.Stmt
	Axes  []int // the axes that the loop runs over, ascending; none for a single cell
	// Recompute holds temp statements of earlier groups that this one evaluates
	// again, before its own statements.
	Recompute []*ir.Stmt
	// Snapshot holds arrays that the group's one array statement both writes and
	// reads at other cells that it writes: those reads mean the values before
	// the loop, so that the loop needs a copy of the array.
	Snapshot []*ir.Array
	// InPlace says that the group's one array statement is coloured and reads
	// other cells of the array that it writes.
	InPlace bool
}

// Body returns the statements to execute at a cell: Recompute, then Stmts.
func (g *Group) Body() []*ir.Stmt { return append(slices.Clip(g.Recompute), g.Stmts...) }

// TempPlace says where the value of a temp lives.
type TempPlace uint8

const (
	InGroup      TempPlace = iota // read in its own group alone: a scalar of the loop body
	Recomputed                    // later groups read it and evaluate it again
	Materialised                  // later groups read it and need an array that its own group writes
)

var placeNames = [...]string{"in its group", "recomputed", "materialised"}

// String returns the place in words.
func (p TempPlace) String() string { return placeNames[p] }

// TempUse is what is known of a temp in a call.
type TempUse struct {
	Temp  *ir.Temp
	Stmt  *ir.Stmt // the one that assigns it
	Group int      // index of that statement's group
	Place TempPlace
	Axes  []int // the axes on which the value varies, ascending
	// Needed holds the assignments and reductions that read the temp, also
	// through other temps; a temp that nothing needs is not evaluated.
	Needed []*ir.Stmt
}

// Cells returns where a loop over these axes has to evaluate the temp: at the
// cells of every statement that needs it. Elsewhere its reads may leave their
// arrays or race with the loop's writes.
func (u *TempUse) Cells(axes []int) []Cells {
	var out []Cells
	for _, s := range u.Needed {
		c := Cells{s.Domain, s.Color}.on(axes)
		if !slices.ContainsFunc(out, c.equal) {
			out = append(out, c)
		}
	}
	return out
}

// FusableGroups partitions a call into as few groups as the dependences
// allow. Two statements share a group if they run over the same axes, neither
// reads at another cell (or through a boundary that may lead to another cell)
// what the other writes, and neither reads a scalar that the earlier one
// reduces. A coloured statement that reads other cells of its own target, and
// one whose reads of its own target need a snapshot, share with temps alone.
// A materialised temp varies on every axis of its group.
func FusableGroups(call *ir.Call) *Fusion {
	return partition(&fuser{call: call, deps: newReads(call), square: map[*ir.Stmt]bool{}})
}

// SeparateGroups partitions a call as FusableGroups does, but so that every
// assignment to an array ends its group: no group writes two arrays, and one
// can be left out where the array's contents are known already.
func SeparateGroups(call *ir.Call) *Fusion {
	return partition(&fuser{call: call, deps: newReads(call), square: map[*ir.Stmt]bool{}, separate: true})
}

func partition(f *fuser) *Fusion {
	for {
		out := f.result(f.cut())
		again := false
		for _, t := range out.Temps {
			if t.Place == Materialised && !slices.Equal(t.Axes, out.Groups[t.Group].Axes) {
				f.square[t.Stmt] = true
				again = true
			}
		}
		if !again {
			return out
		}
	}
}

type fuser struct {
	call *ir.Call
	deps *reads
	// square holds the temps that vary on every axis of their group, so that
	// one cell alone writes each of their values.
	square   map[*ir.Stmt]bool
	separate bool // assignments to arrays end their groups
}

// cut returns the ends of the groups. A part of a run of statements that can
// form a group can form one too, so taking as many as fit gives the fewest
// groups.
func (f *fuser) cut() []int {
	var cuts []int
	for lo := 0; lo < len(f.call.Body); {
		hi, _ := f.end(lo)
		if hi < len(f.call.Body) {
			hi = f.withoutTrailing(lo, hi)
		}
		cuts = append(cuts, hi)
		lo = hi
	}
	return cuts
}

// end returns the end of the longest group that starts at lo, and its members.
func (f *fuser) end(lo int) (int, *members) {
	m := f.members()
	hi := lo
	for hi == lo || hi < len(f.call.Body) && m.takes(f.call.Body[hi]) {
		m.add(f.call.Body[hi])
		hi++
	}
	return hi, m
}

// withoutTrailing moves temps at the end of the group lo..hi-1 to the group
// that follows, which may read them, as far as that makes it no shorter.
func (f *fuser) withoutTrailing(lo, hi int) int {
	_, m := f.end(hi)
	cut := hi
	for c := hi - 1; c > lo && f.call.Body[c].Temp != nil && m.takesBefore(f.call.Body[c]); c-- {
		m.add(f.call.Body[c])
		cut = c
	}
	return cut
}

// sameLoop reports whether the axes of a and b let one loop run both: equal for
// assignments and reductions; a temp varies on some of them.
func (f *fuser) sameLoop(a, b *ir.Stmt) bool {
	switch {
	case f.square[a] || f.square[b]:
		return slices.Equal(f.axesOf(a), f.axesOf(b))
	case a.Temp != nil && b.Temp != nil:
		return true
	case a.Temp != nil:
		return subset(f.axesOf(a), b.Axes)
	case b.Temp != nil:
		return subset(f.axesOf(b), a.Axes)
	}
	return slices.Equal(a.Axes, b.Axes)
}

// axesOf returns the axes that s runs over, or for a temp varies on.
func (f *fuser) axesOf(s *ir.Stmt) []int {
	if s.Temp != nil {
		return f.deps.of[s].axes
	}
	return s.Axes
}

func subset(small, large []int) bool {
	for _, a := range small {
		if !slices.Contains(large, a) {
			return false
		}
	}
	return true
}

// equalLoops reports whether sameLoop cannot tell a and b apart.
func (f *fuser) equalLoops(a, b *ir.Stmt) bool {
	return (a.Temp == nil) == (b.Temp == nil) && f.square[a] == f.square[b] && slices.Equal(f.axesOf(a), f.axesOf(b))
}

// conflict reports whether s reads, at some cell where it is evaluated, what
// it writes at another.
func (f *fuser) conflict(s *ir.Stmt) bool {
	if s.Array == nil {
		return false
	}
	for _, acc := range f.deps.of[s].distinct {
		if acc.Array == s.Array && f.deps.moves(acc, f.deps.cellsOf(s), s) {
			return true
		}
	}
	return false
}

// loner reports whether s shares a group with temps alone.
func (f *fuser) loner(s *ir.Stmt) bool { return f.conflict(s) || f.inPlace(s) }

// inPlace reports whether s is coloured and reads other cells of its target,
// itself or through temps.
func (f *fuser) inPlace(s *ir.Stmt) bool {
	if s.Color == nil || s.Array == nil {
		return false
	}
	for _, acc := range f.deps.through[s] {
		if acc.Array == s.Array && !apart(acc, s.Domain, s.Domain) && !stays(acc, s.Domain) {
			return true
		}
	}
	return false
}

func (f *fuser) result(cuts []int) *Fusion {
	out := &Fusion{}
	groupOf := map[*ir.Stmt]int{}
	lo := 0
	for _, hi := range cuts {
		g := &Group{Stmts: f.call.Body[lo:hi:hi]}
		for _, s := range g.Stmts {
			groupOf[s] = len(out.Groups)
			if s.Array == nil {
				continue
			}
			if f.conflict(s) {
				g.Snapshot = append(g.Snapshot, s.Array)
			}
			g.InPlace = g.InPlace || f.inPlace(s)
		}
		g.Axes = f.axes(g.Stmts)
		out.Groups = append(out.Groups, g)
		lo = hi
	}
	for _, t := range f.call.Temps {
		s := f.deps.assigned[t]
		out.Temps = append(out.Temps, &TempUse{Temp: t, Stmt: s, Group: groupOf[s], Axes: f.axesOf(s),
			Needed: f.deps.needed[s]})
	}
	f.place(out, groupOf)
	return out
}

// axes returns the axes of a group: those of its assignments and reductions,
// or where there are none those on which its temps vary.
func (f *fuser) axes(group []*ir.Stmt) []int {
	var axes []int
	for _, s := range group {
		if s.Temp == nil {
			return s.Axes
		}
		axes = append(axes, f.axesOf(s)...)
	}
	slices.Sort(axes)
	return slices.Compact(axes)
}

// place decides for every temp that a later group reads, directly or through a
// temp that is evaluated again there, whether that group evaluates it again or
// reads an array. Later temps come first, since they ask for earlier ones.
func (f *fuser) place(out *Fusion, groupOf map[*ir.Stmt]int) {
	// asks[t] are the later groups that read the value of a temp.
	asks := map[*ir.Temp]map[int]bool{}
	ask := func(g int, t *ir.Temp) {
		if groupOf[f.deps.assigned[t]] < g {
			if asks[t] == nil {
				asks[t] = map[int]bool{}
			}
			asks[t][g] = true
		}
	}
	for _, s := range f.call.Body {
		for _, t := range f.deps.of[s].temps {
			ask(groupOf[s], t)
		}
	}
	again := f.again(out.Groups)
	order := slices.Clone(out.Temps)
	slices.SortFunc(order, func(a, b *TempUse) int { return again.at[b.Stmt] - again.at[a.Stmt] })
	for _, use := range order {
		groups := slices.Sorted(maps.Keys(asks[use.Temp]))
		if len(groups) == 0 {
			continue
		}
		use.Place = Recomputed
		for _, g := range groups {
			if !again.holds(use.Stmt, g) {
				use.Place = Materialised
				break
			}
		}
		if use.Place == Materialised {
			continue
		}
		for _, g := range groups {
			out.Groups[g].Recompute = append(out.Groups[g].Recompute, use.Stmt)
			for _, t := range f.deps.of[use.Stmt].temps {
				ask(g, t)
			}
		}
	}
	for _, g := range out.Groups {
		slices.Reverse(g.Recompute) // in the order of the call
	}
}
