package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Verify checks what every span promises to those who carry it out. An error is a mistake
// of the compiler.
func (s *Span) Verify() error {
	switch {
	case s.Depth < 1:
		return fmt.Errorf("a span of %d iterations", s.Depth)
	case s.After < 0:
		return fmt.Errorf("after %d more iterations", s.After)
	case len(s.Axes) == 0 || !slices.IsSorted(s.Axes):
		return errors.New("the axes are not ascending")
	case len(s.Outputs) == 0:
		return errors.New("nothing is stored")
	}
	for n, i := range s.Instances {
		if i.Number != n {
			return fmt.Errorf("instance %d has the number %d", n, i.Number)
		}
		if err := s.verifyInstance(i); err != nil {
			return fmt.Errorf("v%d: %w", n, err)
		}
	}
	return s.verifyOutputs()
}

func (s *Span) verifyInstance(i *Instance) error {
	if i.Number > 0 && i.Step < s.Instances[i.Number-1].Step || i.Step < 0 || i.Step >= s.Depth {
		return fmt.Errorf("iteration %d is out of order", i.Step)
	}
	v := i.Value
	switch {
	case !slices.Contains(i.Call.Body, i.Stmt) || i.Stmt.Array == nil:
		return errors.New("the call has no such statement")
	case !slices.Equal(i.Stmt.Axes, s.Axes):
		return errors.New("the statement runs over other axes")
	case v.Def != i || v.Number != i.Number:
		return errors.New("the value is made elsewhere")
	case (v.Memory == nil) == (v.Local == nil):
		return errors.New("the value is at home in a grid or in a local grid")
	case v.Local != i.Stmt.Array && i.Stmt.Array.Grid == nil || v.Memory == nil && i.Stmt.Array.Grid != nil:
		return errors.New("the value is at home in another kind of array")
	case v.Before == nil && v.Memory != nil && i.partial():
		return errors.New("cells that the statement does not assign come from nowhere")
	}
	if b := v.Before; b != nil {
		if b.Memory != v.Memory || b.Local != v.Local {
			return errors.New("the cells before are at home elsewhere")
		}
		if err := s.made(b, i); err != nil {
			return err
		}
	}
	return s.verifyInputs(i)
}

// verifyInputs checks that there is a value for everything that an instance reads.
func (s *Span) verifyInputs(i *Instance) error {
	var failed error
	look := func(t *ir.Temp, e ir.Expr) {
		ir.Walk(e, func(e ir.Expr) {
			switch e := e.(type) {
			case *ir.Access:
				v := i.Inputs[t][e.Array]
				if v == nil {
					failed = errors.Join(failed, fmt.Errorf("there is no value of %s", e.Array.Name))
					return
				}
				failed = errors.Join(failed, s.made(v, i))
			case ir.TempRef:
				if _, ok := i.Inputs[e.Temp]; !ok {
					failed = errors.Join(failed, fmt.Errorf("there is no value for %s", e.Temp.Name))
				}
			}
		})
	}
	look(nil, i.Stmt.Value)
	for _, st := range i.Call.Body {
		if _, ok := i.Inputs[st.Temp]; ok && st.Temp != nil {
			look(st.Temp, st.Value)
		}
	}
	return failed
}

// made checks that a value exists when an instance begins.
func (s *Span) made(v *Value, i *Instance) error {
	switch {
	case v.Def == nil && (v.Memory == nil || v.Before != nil):
		return errors.New("what memory holds has no memory, or something before it")
	case v.Def == nil:
		return nil
	case v.Number >= len(s.Instances) || s.Instances[v.Number] != v.Def:
		return fmt.Errorf("%s is not of the span", v.name())
	case v.Number >= i.Number:
		return fmt.Errorf("%s is made later", v.name())
	}
	return nil
}

func (s *Span) verifyOutputs() error {
	read, stored := s.readMemory(), map[*ir.Grid]bool{}
	for _, o := range s.Outputs {
		v := o.Value
		switch {
		case v.Def == nil || v.Number >= len(s.Instances) || s.Instances[v.Number] != v.Def:
			return errors.New("an output is not of the span")
		case v.Memory == nil:
			return fmt.Errorf("v%d is a local grid, and stored", v.Number)
		case stored[v.Memory]:
			return fmt.Errorf("%s is stored to twice", v.Memory.Name)
		case !o.Spare && (read[v.Memory] || !v.Uniform()):
			return fmt.Errorf("v%d is stored to %s, which other blocks read", v.Number, v.Memory.Name)
		}
		for _, i := range s.Instances[v.Number+1:] {
			if i.Value.Memory == v.Memory {
				return fmt.Errorf("v%d is stored, and v%d is the last of %s", v.Number, i.Number, v.Memory.Name)
			}
		}
		stored[v.Memory] = true
	}
	return nil
}
