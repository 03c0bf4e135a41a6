package costmodel

import (
	"errors"
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Analyst tells what binds the kernels of a plan. The model does so by counting; a profiler would measure.
type Analyst interface {
	Bottleneck(plan schedule.Plan) (Class, Evidence, error)
}

// Evidence is what a bottleneck was told by.
type Evidence struct {
	Terms
	// Useful is the share of updates that are not redundant; 0 where it was not counted.
	Useful float64 `json:"useful,omitempty"`
	// Predicted is the seconds of the iterations together.
	Predicted float64 `json:"predicted"`
}

// Model predicts the plans of a program at one size.
type Model struct {
	bound    *ir.Binding
	options  lower.Options
	hardware *machine.Machine
}

// New returns the model of a program that is lowered with some options. The error says what is not known of the
// device.
func New(b *ir.Binding, o lower.Options, m *machine.Machine) (*Model, error) {
	switch {
	case o.Target != lower.GPU:
		return nil, errors.New("the cost model is of GPUs")
	case m == nil || m.GPU == nil || m.Peak.F32 == 0 || m.Memory.Bandwidth == 0 || m.GPU.SharedBandwidth == 0:
		name := "the device"
		if m != nil && m.Name != "" {
			name = m.Name
		}
		return nil, fmt.Errorf("how fast memory and arithmetic of %s are is not known: no description has it", name)
	}
	o.Bound = b
	return &Model{bound: b, options: o, hardware: m}, nil
}

// Bottleneck predicts the plan's kernel of several iterations, the deepest one, or of one iteration if it has none.
func (m *Model) Bottleneck(plan schedule.Plan) (Class, Evidence, error) {
	return m.With(plan, Known{})
}

// With is Bottleneck with what a compiler has told of the kernel.
func (m *Model) With(plan schedule.Plan, known Known) (Class, Evidence, error) {
	return m.analyse(plan, known, true)
}

// Roughly is Bottleneck without counting the useful share, which takes longer than all else: usualShare stands for
// it. That is enough to order plans.
func (m *Model) Roughly(plan schedule.Plan) (Class, Evidence, error) {
	return m.analyse(plan, Known{}, false)
}

// usualShare is the share of stores that are not behind predicates which hold them back.
const usualShare = 0.75

func (m *Model) analyse(plan schedule.Plan, known Known, count bool) (Class, Evidence, error) {
	o := m.options
	o.Plan, o.Count = plan, count
	module, err := lower.Program(m.bound.Program, o)
	if err != nil {
		return "", Evidence{}, err
	}
	if len(module.Spans) == 0 {
		return "", Evidence{}, errors.New("the plan has no kernel of several iterations")
	}
	return m.span(module.Spans[0], known)
}

func (m *Model) span(s *kernel.Span, known Known) (Class, Evidence, error) {
	e, useful := Evidence{}, usualShare
	if s.Work != nil {
		e.Useful = s.Work.Useful()
		useful = e.Useful
	}
	for _, x := range s.Launches {
		w, err := WorkOf(x, m.bound)
		if err != nil {
			return "", Evidence{}, err
		}
		t := NewTerms(w, useful, m.hardware, known)
		if s.Repeats {
			t = t.part(CountedRounds)
		}
		e.add(t)
	}
	class, _ := e.Largest()
	return class, e, nil
}

// ByTraffic tells from measured times alone whether memory binds a kernel, for devices that no description tells
// more of: a kernel that moves what it cannot do without at most of the speed of a copy. It returns the share.
func ByTraffic(bytes, seconds, copyGBs float64) (Class, float64) {
	share := bytes / seconds / 1e9 / copyGBs
	if share >= bindingShare {
		return Memory, share
	}
	return Execution, share
}

// bindingShare is the share of the speed of a copy from which on memory binds: tiles move some cells twice.
const bindingShare = 0.7

// add adds the terms of a launch that follows.
func (e *Evidence) add(t Terms) {
	e.Predicted += t.Seconds()
	e.Memory += t.Memory
	e.Issue += t.Issue
	e.Arithmetic += t.Arithmetic
	e.Shared += t.Shared
	e.Waiting += t.Waiting
	e.Launching += t.Launching
	e.Waves = max(e.Waves, t.Waves)
	e.Pressure = max(e.Pressure, t.Pressure)
}
