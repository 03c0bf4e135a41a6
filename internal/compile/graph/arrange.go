package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Arrangement is how iterations of a loop are carried out in parts: sets of its calls that share kernels, and its other
// calls and rotations by themselves. The parts are in their order of execution.
type Arrangement struct {
	Loop
	Depth int64
	Parts []Part
}

// Part is calls and rotations of a loop, by number and ascending, in their order in an iteration.
type Part struct {
	Members []int
	Shared  bool // they share a kernel, which carries out all iterations of the arrangement
}

// Of returns a part as a loop.
func (a *Arrangement) Of(p Part) Loop { return Loop{a.Name, a.Iterate, p.Members} }

// Arrange puts sets of a loop's calls and rotations, and what is in none of them, into an order in which each finds
// what it reads as the loop makes it. Of all such orders it is the one in which the parts come as early as their first
// members. The error is a Refusal where a set has a number twice or one that another has, or where there is no order.
func Arrange(l Loop, depth int64, sets [][]int) (*Arrangement, error) {
	a := &Arrangement{Loop: l, Depth: depth}
	a.Set = nil
	of := map[int]bool{}
	for _, set := range sets {
		for _, n := range set {
			switch {
			case n < 0 || n >= l.Leaves():
				return nil, a.refuse(l.Iterate.Range, "%s is not of the loop, which has 0 to %d", a.say(n),
					l.Leaves()-1)
			case of[n]:
				r := a.refuse(l.at(n), "%s is in two kernels", a.say(n))
				r.Hint = "name each call in one kernel"
				return nil, r
			}
			of[n] = true
		}
		a.Parts = append(a.Parts, Part{set, true})
	}
	for n := range l.Iterate.Body {
		switch {
		case of[n]:
		case depth > 1:
			r := a.refuse(l.at(n), "%s is in no kernel of so many iterations", a.say(n))
			r.Hint = fmt.Sprintf("name it, too, or all of %s[0:%d]", l.Name, l.Leaves())
			return nil, r
		default:
			a.Parts = append(a.Parts, Part{[]int{n}, false})
		}
	}
	return a, a.order()
}

// order sorts the parts.
func (a *Arrangement) order() error {
	slices.SortFunc(a.Parts, func(x, y Part) int { return cmp.Compare(x.Members[0], y.Members[0]) })
	links := a.links()
	var out []Part
	done := make([]bool, len(a.Parts))
	waits := func(y int) bool {
		return slices.ContainsFunc(links, func(k link) bool { return k.y == y && !done[k.x] })
	}
	for len(out) < len(a.Parts) {
		next := 0
		for next < len(done) && (done[next] || waits(next)) {
			next++
		}
		if next == len(done) {
			return a.refuseCycle(links, done)
		}
		done[next] = true
		out = append(out, a.Parts[next])
	}
	a.Parts = out
	return nil
}

// link says that one part has to be executed before another.
type link struct {
	x, y     int // the parts
	from, to int // members of them because of which that is so
	over     resource
}

// links returns what orders the parts. A part of several iterations must have nothing to do with what another writes in
// any of them: then links lead both ways.
func (a *Arrangement) links() []link {
	var e []*effects
	for _, o := range a.Iterate.Body {
		e = append(e, effectsOf(o))
	}
	var list []link
	for x, p := range a.Parts {
		for y, q := range a.Parts {
			for _, i := range p.Members {
				for _, j := range q.Members {
					if x == y || i > j && a.Depth == 1 {
						continue
					}
					if r, ok := e[i].conflict(e[j]); ok {
						list = append(list, link{x: x, y: y, from: i, to: j, over: r})
					}
				}
			}
		}
	}
	return list
}

// refuseCycle says which parts would have to come before each other.
func (a *Arrangement) refuseCycle(links []link, done []bool) error {
	// From any part that is left, links lead back to others that are left: after so many steps they go round.
	before := func(y int) link {
		i := slices.IndexFunc(links, func(k link) bool { return k.y == y && !done[k.x] })
		return links[i]
	}
	at := slices.Index(done, false)
	for range a.Parts {
		at = before(at).x
	}
	var round []link
	for first := at; len(round) == 0 || at != first; {
		k := before(at)
		round = append(round, k)
		at = k.x
	}
	slices.Reverse(round)
	begin := 0 // with the first set of them
	for i, k := range round {
		if a.Parts[k.x].Shared && (k.x < round[begin].x || !a.Parts[round[begin].x].Shared) {
			begin = i
		}
	}
	round = slices.Concat(round[begin:], round[:begin])
	first := round[0]
	var names []string
	var whole []int
	for _, k := range round {
		names = append(names, fmt.Sprintf("%s before %s (%s)", a.say(k.from), a.say(k.to), k.over.name()))
		whole = append(whole, a.Parts[k.x].Members...)
	}
	r := a.refuse(a.at(first.from), "of %s each part would have to come before the other: %s",
		a.partsText(round), strings.Join(names, ", and "))
	for _, k := range round {
		r.note(a.at(k.to), "%s comes after %s", a.say(k.to), a.say(k.from))
	}
	slices.Sort(whole)
	switch {
	case a.Depth > 1:
		r.Hint = fmt.Sprintf("a kernel of %d iterations needs all that its calls have to do with: name %s[%s]@%[1]d, "+
			"or sets at a depth of 1", a.Depth, a.Name, schedule.SetText(whole))
	default:
		r.Hint = fmt.Sprintf("name what comes in between, too: %s[%s]", a.Name, schedule.SetText(whole))
	}
	return r
}

func (a *Arrangement) partsText(round []link) string {
	var list []string
	for _, k := range round {
		list = append(list, a.partText(a.Parts[k.x]))
	}
	return strings.Join(list, " and ")
}

func (a *Arrangement) refuse(at diag.Range, format string, args ...any) *Refusal {
	return NewRefusal(a.Loop, a.Depth, at, format, args...)
}

// say names a call or a rotation of the loop by its number.
func (a *Arrangement) say(n int) string {
	if n >= 0 && n < len(a.Iterate.Body) {
		if run, ok := a.Iterate.Body[n].(*ir.Run); ok {
			return fmt.Sprintf("%d (%s)", n, run.Call.Name)
		}
		return fmt.Sprintf("%d (a rotation)", n)
	}
	return fmt.Sprint(n)
}

func (a *Arrangement) partText(p Part) string {
	if !p.Shared {
		return a.say(p.Members[0])
	}
	return a.Of(p).text()
}

// at returns the place of a call in the source; of a rotation that of the loop.
func (l Loop) at(n int) diag.Range {
	if run, ok := l.Iterate.Body[n].(*ir.Run); ok {
		return run.Call.Range
	}
	return l.Iterate.Range
}

// String returns the parts in their order.
//
// Example text:
//
//	sequence, 1 iteration: [0,2], 1 (flux), [3:5]
func (a *Arrangement) String() string {
	var parts []string
	for _, p := range a.Parts {
		text := a.say(p.Members[0])
		if p.Shared {
			text = "[" + schedule.SetText(p.Members) + "]"
		}
		parts = append(parts, text)
	}
	unit := "iterations"
	if a.Depth == 1 {
		unit = "iteration"
	}
	return fmt.Sprintf("%s, %d %s: %s\n", a.Name, a.Depth, unit, strings.Join(parts, ", "))
}

// Verify checks that each call and each rotation is in one part, and that none comes before what it needs. An error is
// a mistake of the compiler.
func (a *Arrangement) Verify() error {
	at := map[int]int{} // the part of each number
	for i, p := range a.Parts {
		if len(p.Members) == 0 || !slices.IsSorted(p.Members) || !p.Shared && len(p.Members) > 1 {
			return fmt.Errorf("part %d has the members %v", i, p.Members)
		}
		if !p.Shared && a.Depth > 1 {
			return fmt.Errorf("%s is by itself for %d iterations", a.say(p.Members[0]), a.Depth)
		}
		for _, n := range p.Members {
			if _, twice := at[n]; twice || n < 0 || n >= a.Leaves() {
				return fmt.Errorf("%s is in two parts, or is not of the loop", a.say(n))
			}
			at[n] = i
		}
	}
	if len(at) != a.Leaves() {
		return fmt.Errorf("%d of %d calls and rotations are in parts", len(at), a.Leaves())
	}
	for i, o := range a.Iterate.Body {
		for j, later := range a.Iterate.Body[i+1:] {
			j += i + 1
			r, conflict := effectsOf(o).conflict(effectsOf(later))
			if conflict && at[i] != at[j] && (a.Depth > 1 || at[i] > at[j]) {
				return fmt.Errorf("%s does not come after %s, which has to do with %s", a.say(j), a.say(i), r.name())
			}
		}
	}
	return nil
}
