// Package transform rewrites stencil programs: every pass is a function from a
// call to another call, or from a statement to another form of it, that means
// the same. A pass says what it needs to know of its source and refuses, with a
// reason, what it cannot do. Which passes run is a choice of the schedule.
package transform

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Refusal says why a pass leaves something as it is.
type Refusal struct {
	What string // the grid or the statement
	Why  string
}

// Error says what cannot be done and why.
func (r *Refusal) Error() string { return fmt.Sprintf("%s %s", r.What, r.Why) }

// Program returns a copy of p with f applied to every call that its body runs.
func Program(p *ir.Program, f func(*ir.Call) (*ir.Call, error)) (*ir.Program, error) {
	out := *p
	out.Calls = nil
	became := map[*ir.Call]*ir.Call{}
	for _, s := range p.Calls {
		t, err := f(s)
		if err != nil {
			return nil, err
		}
		became[s] = t
		out.Calls = append(out.Calls, t)
	}
	out.Body = body(p.Body, became)
	return &out, nil
}

func body(ops []ir.Op, became map[*ir.Call]*ir.Call) []ir.Op {
	var out []ir.Op
	for _, o := range ops {
		switch o := o.(type) {
		case *ir.Run:
			out = append(out, &ir.Run{Call: became[o.Call]})
		case *ir.Iterate:
			it := *o
			it.Body = body(o.Body, became)
			out = append(out, &it)
		default:
			out = append(out, o)
		}
	}
	return out
}
