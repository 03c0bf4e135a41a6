package graph

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// String returns the span, an instance a line. A value has the number of the instance that
// makes it.
//
// Example text:
//
//	body: 2 iterations over k, j, i
//	v0 = heat[0] of iteration 0: out in next, other cells from next; reads in from u
//	v1 = heat[0] of iteration 1: out in u, other cells from u; reads in from v0; stored to a spare of u
//	after 1 more
func (s *Span) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d iterations over %s\n", s.text(), s.Depth, s.axesText())
	for _, i := range s.Instances {
		fmt.Fprintf(&b, "v%d = %s of iteration %d: %s", i.Number, i.Name(), i.Step, i.Stmt.Array.Name)
		switch {
		case i.Value.Memory == nil:
			b.WriteString(", local")
		default:
			fmt.Fprintf(&b, " in %s", i.Value.Memory.Name)
		}
		if i.Value.Before != nil {
			fmt.Fprintf(&b, ", other cells from %s", i.Value.Before.name())
		}
		b.WriteString(i.readsText())
		if o := s.output(i.Value); o != nil {
			b.WriteString("; stored to " + o.Place())
		}
		b.WriteString("\n")
	}
	if s.After > 0 {
		fmt.Fprintf(&b, "after %d more\n", s.After)
	}
	return b.String()
}

// Name is the place of the statement: the call, and the number in its body.
func (i *Instance) Name() string {
	for n, st := range i.Call.Body {
		if st == i.Stmt {
			return fmt.Sprintf("%s[%d]", i.Call.Name, n)
		}
	}
	return i.Call.Name
}

// Place names the memory that an output is stored to.
func (o *Output) Place() string {
	if o.Spare {
		return "a spare of " + o.Value.Memory.Name
	}
	return o.Value.Memory.Name
}

func (s *Span) output(v *Value) *Output {
	for _, o := range s.Outputs {
		if o.Value == v {
			return o
		}
	}
	return nil
}

func (v *Value) name() string {
	if v.Def == nil {
		return v.Memory.Name
	}
	return fmt.Sprintf("v%d", v.Number)
}

// readsText lists what an instance reads, itself first, then its local scalars in order.
func (i *Instance) readsText() string {
	var parts []string
	list := func(t *ir.Temp) {
		for _, a := range i.Call.Arrays {
			v := i.Inputs[t][a]
			if v == nil {
				continue
			}
			part := a.Name + " from " + v.name()
			if t != nil {
				part += " in " + t.Name
			}
			parts = append(parts, part)
		}
	}
	list(nil)
	for _, t := range i.Call.Temps {
		list(t)
	}
	if len(parts) == 0 {
		return ""
	}
	return "; reads " + strings.Join(parts, ", ")
}
