// Package graph is a time loop as a graph: the statements of several iterations, with the
// values that pass between them. What may share a kernel, and what a kernel must leave in
// memory, is decided here, for all families.
package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Loop is an iterate that nothing but calls and rotations is in. A sequence is one, too. It may be a part of one.
type Loop struct {
	Name    string // in plans: body, body.2, in the order of the source; sequence, sequence.2
	Iterate *ir.Iterate
	Set     []int // the calls and rotations of an iteration that are meant, ascending; nil for all
}

// Body returns the calls and rotations of an iteration that are meant.
func (l Loop) Body() []ir.Op {
	if l.Set == nil {
		return l.Iterate.Body
	}
	var body []ir.Op
	for _, n := range l.Set {
		body = append(body, l.Iterate.Body[n])
	}
	return body
}

// Members returns the numbers of these calls and rotations.
func (l Loop) Members() []int {
	if l.Set != nil {
		return l.Set
	}
	var all []int
	for n := range l.Iterate.Body {
		all = append(all, n)
	}
	return all
}

// text returns the name, with the numbers of the calls that are meant if they are not all.
func (l Loop) text() string {
	if l.Set == nil {
		return l.Name
	}
	return fmt.Sprintf("%s[%s]", l.Name, schedule.SetText(l.Set))
}

// once reports whether no iteration that follows tells what is needed of a span: it is of a sequence, or other calls of
// the iteration may read what it computes.
func (l Loop) once() bool { return l.Iterate.Sequence || l.Set != nil }

// Temporary returns the temporary grids of the loop that no call has to do with but those that are meant.
func (l Loop) Temporary() []*ir.Grid {
	var list []*ir.Grid
	for _, g := range l.Iterate.Temporary {
		outside := func(n int) bool { return !slices.Contains(l.Members(), n) && effectsOf(l.Iterate.Body[n]).has(g) }
		if !slices.ContainsFunc((Loop{Iterate: l.Iterate}).Members(), outside) {
			list = append(list, g)
		}
	}
	return list
}

// Leaves returns the number of calls and rotations of an iteration, others included.
func (l Loop) Leaves() int { return len(l.Iterate.Body) }

// The names of a program's first loop and first sequence.
const (
	firstLoop     = "body"
	firstSequence = "sequence"
)

// IsLoopName reports whether a kernel of a plan that has no call of the name is of a loop.
func IsLoopName(name string) bool {
	kind, _, _ := strings.Cut(name, ".")
	return kind == firstLoop || kind == firstSequence
}

func isSequence(name string) bool { return strings.HasPrefix(name, firstSequence) }

// Loops returns the innermost iterates of a program, sequences included. Sequences of one statement come after others
// in their numbers.
func Loops(p *ir.Program) []Loop {
	var loops []Loop
	var walk func(body []ir.Op)
	walk = func(body []ir.Op) {
		for _, o := range body {
			it, ok := o.(*ir.Iterate)
			if !ok {
				continue
			}
			if !innermost(it) {
				walk(it.Body)
				continue
			}
			loops = append(loops, Loop{Iterate: it})
		}
	}
	walk(p.Body)
	found := map[string]int{}
	number := func(single bool) {
		for i := range loops {
			l := &loops[i]
			if l.Single() != single {
				continue
			}
			l.Name = firstLoop
			if l.Iterate.Sequence {
				l.Name = firstSequence
			}
			if found[l.Name]++; found[l.Name] > 1 {
				l.Name = fmt.Sprintf("%s.%d", l.Name, found[l.Name])
			}
		}
	}
	number(false)
	number(true)
	return loops
}

// innermost reports whether an iterate does something and has no iterate in it.
func innermost(it *ir.Iterate) bool {
	for _, o := range it.Body {
		if _, nested := o.(*ir.Iterate); nested {
			return false
		}
	}
	return len(it.Body) > 0
}

// Single reports whether the loop is a sequence of one statement.
func (l Loop) Single() bool { return l.Iterate.Sequence && l.Assignments() == 1 }

// Assignments returns how many statements of an iteration assign grids.
func (l Loop) Assignments() int64 {
	n := int64(0)
	for _, o := range l.Body() {
		if run, ok := o.(*ir.Run); ok {
			for _, st := range run.Call.Body {
				if st.Array != nil {
					n++
				}
			}
		}
	}
	return n
}

// LoopNamed returns the loop that a kernel of a plan means by a name. A call of that name comes first: its kernels are
// of single statements.
func LoopNamed(p *ir.Program, name string) (Loop, bool) {
	if p.CallNamed(name) != nil {
		return Loop{}, false
	}
	for _, l := range Loops(p) {
		if l.Name == name {
			return l, true
		}
	}
	return Loop{}, false
}

// Refusal is why iterations cannot be carried out together.
type Refusal struct {
	Loop   string // with the set of its calls, if not all are meant
	Depth  int64
	Reason string
	Rule   string      // the reason without names
	At     diag.Range  // the statement, call or loop that the reason names
	Notes  []diag.Note // other places that it has to do with
	Hint   string      // what to do about it, or ""
}

// NewRefusal returns a refusal by a rule, in which names are to be put.
func NewRefusal(l Loop, depth int64, at diag.Range, rule string, names ...any) *Refusal {
	return &Refusal{
		Loop: l.text(), Depth: depth, Reason: fmt.Sprintf(rule, names...), At: at,
		Rule: strings.NewReplacer("%s", "...", "%d", "...").Replace(rule),
	}
}

// note adds another place.
func (r *Refusal) note(at diag.Range, format string, args ...any) {
	r.Notes = append(r.Notes, diag.Note{Range: at, Message: fmt.Sprintf(format, args...)})
}

// Error implements error.
func (r *Refusal) Error() string {
	switch {
	case isSequence(r.Loop):
		return fmt.Sprintf("the statements of %s cannot share a kernel: %s", r.Loop, r.Reason)
	case r.Depth == 1:
		return fmt.Sprintf("the statements of an iteration of %s cannot share a kernel: %s", r.Loop, r.Reason)
	}
	return fmt.Sprintf("%d iterations of %s cannot share a kernel: %s", r.Depth, r.Loop, r.Reason)
}
