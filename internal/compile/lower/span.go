package lower

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// spanKernel is several iterations of a loop on their way to a kernel.
type spanKernel struct {
	*nest
	pipeline *pipeline.Pipeline
}

// chooseSpans finds the spans that the plan names, and their configurations.
func (m *module) chooseSpans() error {
	loops := graph.Loops(m.Program)
	for i, k := range m.chooser.plan.Kernels {
		at := slices.IndexFunc(loops, func(l graph.Loop) bool { return l.Name == k.Call })
		if at < 0 || m.Program.CallNamed(k.Call) != nil {
			continue
		}
		m.chooser.used[i] = true
		if err := m.chooseSpan(k, loops[at]); err != nil {
			return fmt.Errorf("plan for %s@%d: %w", k.Name(), k.Depth, err)
		}
	}
	return nil
}

// SpanChoice returns the kernel of a number of iterations of a loop, with the configurations
// that it may have. The error is a graph.Refusal where they cannot share a kernel.
func SpanChoice(p *ir.Program, o Options, l graph.Loop, depth int) (Choice, error) {
	span, err := graph.NewSpan(p, l, int64(depth))
	if err != nil {
		return Choice{}, err
	}
	pl, err := pipeline.New(span)
	if err != nil {
		return Choice{}, err
	}
	space, err := (&module{Module: &kernel.Module{Program: p}, opts: o}).spanSpace(pl)
	if err != nil {
		return Choice{}, err
	}
	k := schedule.Kernel{Call: l.Name, To: l.Leaves(), Depth: depth, Config: space.Default(space.Families[0].Name)}
	return Choice{k, space}, nil
}

func (m *module) chooseSpan(k schedule.Kernel, l graph.Loop) error {
	switch {
	case k.From != 0 || k.To != l.Leaves():
		return fmt.Errorf("a kernel of a loop holds whole iterations: write %s[0:%d]", l.Name, l.Leaves())
	case k.Depth < 2:
		return errors.New("a kernel of a loop holds 2 iterations at least")
	}
	span, err := graph.NewSpan(m.Program, l, int64(k.Depth))
	if err != nil {
		return err
	}
	p, err := pipeline.New(span)
	if err != nil {
		return err
	}
	if m.opts.Spoil != nil {
		m.opts.Spoil(p)
	}
	space, err := m.spanSpace(p)
	if err != nil {
		return err
	}
	full, err := space.Complete(k.Config)
	if err != nil {
		return err
	}
	n := &nest{
		module: m, axes: p.Axes, call: p.Stages[0].Call, key: k.Name(), config: full, given: k.Config,
		choices: space, name: fmt.Sprintf("%s_%d", l.Name, k.Depth),
	}
	n.set = space.ByRole(full)
	m.chooser.known = append(m.chooser.known, schedule.Kernel{
		Call: k.Call, From: k.From, To: k.To, Depth: k.Depth, Config: full,
	})
	m.chooser.spaces = append(m.chooser.spaces, space)
	m.spans = append(m.spans, &spanKernel{n, p})
	return nil
}

// spanSpace returns the configurations of a span's kernel.
func (m *module) spanSpace(p *pipeline.Pipeline) (schedule.Space, error) {
	var axes []string
	for _, a := range p.Axes {
		axes = append(axes, m.Program.Axes[a])
	}
	var s schedule.Space
	for _, f := range families {
		if f.span != nil && f.target == m.opts.Target && f.rank(len(axes)) {
			s.Families = append(s.Families, f.space(axes, m.opts.Lacks))
		}
	}
	if len(s.Families) == 0 {
		return s, fmt.Errorf("no family of this device carries out several iterations over %d axes", len(p.Axes))
	}
	return s, nil
}

// build makes the span's kernel and its launch.
func (s *spanKernel) build() error {
	s.env = newEnv(s.Program, s.opts.Bound)
	if s.set.Word(schedule.Sizes) == schedule.SizeLiterals {
		if !s.opts.Sized {
			return fmt.Errorf("plan for %s: sizes=%s makes a kernel for one size, and this one is for all", s.key,
				schedule.SizeLiterals)
		}
		s.baked = true
	}
	body, err := familyNamed(s.config.Family).span(s)
	if err != nil {
		return fmt.Errorf("plan for %s: %w", s.key, err)
	}
	k := &kernel.Kernel{
		Name: s.name, Doc: s.doc(), Body: body,
		MaxRegisters: int(s.set.Int(schedule.RegisterLimit, 0)),
	}
	args := s.finish(k)
	if k, err = s.passed(k, s.wanted()); err != nil {
		return err
	}
	if s.opts.Target == GPU {
		if err := fits(k, s.opts.gpu()); err != nil {
			return err
		}
	}
	span := s.pipeline.Span
	out := &kernel.Span{Iterate: span.Iterate, Depth: span.Depth, After: span.After}
	for _, o := range span.Outputs {
		if o.Spare {
			_, spare := s.spareStore(o.Value.Memory)
			out.Exchanges = append(out.Exchanges, kernel.Exchange{Grid: o.Value.Memory, Spare: spare})
		}
	}
	out.Launches = []*kernel.Launch{s.launchOf(k, args)}
	s.Spans = append(s.Spans, out)
	slices.SortStableFunc(s.Spans, func(a, b *kernel.Span) int {
		if a.Iterate != b.Iterate {
			return 0
		}
		return cmp.Compare(b.Depth, a.Depth)
	})
	return s.broken
}

// doc says what the kernel computes.
func (s *spanKernel) doc() []string {
	lines := []string{fmt.Sprintf("%d iterations of", s.pipeline.Span.Depth)}
	for _, o := range s.pipeline.Span.Iterate.Body {
		if run, ok := o.(*ir.Run); ok {
			for _, st := range run.Call.Body {
				lines = append(lines, s.Program.Infix(st))
			}
		}
	}
	return lines
}
