// Package graph is a time loop as a graph: the statements of several iterations, with the
// values that pass between them. What may share a kernel, and what a kernel must leave in
// memory, is decided here, for all families.
package graph

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Loop is an iterate that nothing but calls and rotations is in.
type Loop struct {
	Name    string // in plans: body, body.2, in the order of the source
	Iterate *ir.Iterate
}

// Leaves returns the number of calls and rotations of an iteration.
func (l Loop) Leaves() int { return len(l.Iterate.Body) }

// Loops returns the innermost iterates of a program.
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
			name := "body"
			if len(loops) > 0 {
				name = fmt.Sprintf("body.%d", len(loops)+1)
			}
			loops = append(loops, Loop{name, it})
		}
	}
	walk(p.Body)
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

// LoopNamed returns the loop of that name.
func LoopNamed(p *ir.Program, name string) (Loop, bool) {
	for _, l := range Loops(p) {
		if l.Name == name {
			return l, true
		}
	}
	return Loop{}, false
}

// Refusal is why iterations cannot be carried out together.
type Refusal struct {
	Loop   string
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
		Loop: l.Name, Depth: depth, Reason: fmt.Sprintf(rule, names...), At: at,
		Rule: strings.NewReplacer("%s", "...", "%d", "...").Replace(rule),
	}
}

// note adds another place.
func (r *Refusal) note(at diag.Range, format string, args ...any) {
	r.Notes = append(r.Notes, diag.Note{Range: at, Message: fmt.Sprintf(format, args...)})
}

// Error implements error.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%d iterations of %s cannot share a kernel: %s", r.Depth, r.Loop, r.Reason)
}
