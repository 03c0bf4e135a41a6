package lower

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// spanKernel is several iterations of a loop on their way to a kernel.
type spanKernel struct {
	*nest
	pipeline *pipeline.Pipeline
	// updates are the statements that are carried out once for each cell of a stage that is
	// computed; of loops it is an iteration.
	updates  map[kernel.Stmt]bool
	rounds   int64             // how often the kernel carries it out; 1 but for families that repeat it
	complete bool              // the kernel stores all grids that iterations change
	domain   []kernel.Side     // which sizes the kernel serves; nil for all
	replaced []kernel.Exchange // grids, as they are called when the kernel begins, and what takes their places
}

// replace returns the spare that takes the place of a grid.
func (s *spanKernel) replace(g *ir.Grid) *store {
	st, spare := s.spareStore(g)
	s.replaced = append(s.replaced, kernel.Exchange{Grid: g, Spare: spare})
	return st
}

// iterations is how many the kernel carries out.
func (s *spanKernel) iterations() int64 { return s.rounds * s.pipeline.Span.Depth }

// chooseSpans finds the spans that the plan names, and their configurations.
func (m *module) chooseSpans() error {
	loops := m.chooser.loops
	spanned := map[string]bool{}
	for i, k := range m.chooser.plan.Kernels {
		at := slices.IndexFunc(loops, func(l graph.Loop) bool { return l.Name == k.Call })
		if at < 0 || m.Program.CallNamed(k.Call) != nil {
			continue
		}
		m.chooser.used[i], spanned[k.Call] = true, true
		if err := m.chooseSpan(k, loops[at]); err != nil {
			return fmt.Errorf("plan for %s@%d: %w", k.Name(), k.Depth, err)
		}
	}
	for _, l := range loops {
		for _, p := range []Pass{spanPass, pipelinePass} {
			if spanned[l.Name] {
				continue
			}
			if err := m.after(p, l.Name, false, func() string { return "" }, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// SpanChoice returns the kernel of a number of iterations of a loop, with the configurations
// that it may have, of families that write all iterations out. The error is a graph.Refusal where they cannot share
// a kernel.
func SpanChoice(p *ir.Program, o Options, l graph.Loop, depth int) (Choice, error) {
	return spanChoice(p, o, l, depth, depth, false)
}

// RepeatChoice is SpanChoice for families whose kernels repeat rounds of a few iterations, so that there may be any
// number of them.
func RepeatChoice(p *ir.Program, o Options, l graph.Loop, depth int) (Choice, error) {
	for _, f := range families {
		if rounds := f.repeats(); rounds != nil && f.target == o.Target {
			return spanChoice(p, o, l, depth, int(roundsOf(rounds, depth)[0].Ints()[0]), true)
		}
	}
	return Choice{}, errors.New("no family of this device repeats iterations")
}

func spanChoice(p *ir.Program, o Options, l graph.Loop, depth, steps int, repeats bool) (Choice, error) {
	span, err := graph.NewSpan(p, l, int64(steps))
	if err != nil {
		return Choice{}, err
	}
	pl, err := pipeline.New(span)
	if err != nil {
		return Choice{}, err
	}
	space, err := (&module{Module: &kernel.Module{Program: p}, opts: o}).spanSpace(pl, depth, repeats)
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
	steps, err := roundOf(k.Depth, k.Config)
	if err != nil {
		return err
	}
	span, err := graph.NewSpan(m.Program, l, int64(steps))
	if err != nil {
		return err
	}
	if err := m.after(spanPass, k.Name(), true, span.String, span.Verify); err != nil {
		return err
	}
	p, err := pipeline.New(span)
	if err != nil {
		return err
	}
	family := familyNamed(k.Config.Family)
	if err := family.carriesOut(p, m.opts); err != nil {
		return err
	}
	if err := m.after(pipelinePass, k.Name(), true, p.String, p.Verify); err != nil {
		return err
	}
	if m.opts.Spoil != nil {
		m.opts.Spoil(p)
	}
	space, err := m.spanSpace(p, k.Depth, family != nil && family.repeats() != nil)
	if err != nil {
		return err
	}
	full, err := space.Complete(k.Config)
	if err != nil {
		return err
	}
	n := &nest{
		module: m, axes: p.Axes, call: p.Stages[0].Call, key: k.Name(),
		config: full, given: k.Config,
		choices: space, name: fmt.Sprintf("%s_%d", strings.ReplaceAll(l.Name, ".", "_"), k.Depth),
	}
	n.set = space.ByRole(full)
	m.chooser.known = append(m.chooser.known, schedule.Kernel{
		Call: k.Call, From: k.From, To: k.To, Depth: k.Depth, Config: full,
	})
	m.chooser.spaces = append(m.chooser.spaces, space)
	m.spans = append(m.spans, &spanKernel{
		nest: n, pipeline: p, updates: map[kernel.Stmt]bool{}, rounds: int64(k.Depth / steps),
	})
	return nil
}

// repeats returns the parameter of a family that says how many iterations are a round, which the kernel
// repeats; nil for families without rounds.
func (f *family) repeats() *schedule.Param {
	if f.span == nil {
		return nil
	}
	p, _ := f.declare(someAxes[:2])
	if i := slices.IndexFunc(p, func(p schedule.Param) bool { return p.Role == schedule.ExchangeInterval }); i >= 0 {
		return &p[i]
	}
	return nil
}

// Repeats reports whether the kernels of a family repeat rounds of a few iterations.
func Repeats(name string) bool {
	f := familyNamed(name)
	return f != nil && f.repeats() != nil
}

// roundOf returns how many iterations of a kernel are a round: all of them, but for families that repeat rounds.
func roundOf(depth int, c schedule.Config) (int, error) {
	f := familyNamed(c.Family)
	if f == nil || f.repeats() == nil {
		return depth, nil
	}
	p := f.repeats()
	given, ok := c.Get(p.Name)
	if !ok {
		given = roundsOf(p, depth)[0]
	}
	n := given.Ints()
	if len(n) != 1 || n[0] < 1 || int64(depth)%n[0] != 0 {
		return 0, fmt.Errorf("%s=%s: %d iterations are no multiple of it", p.Name, given, depth)
	}
	return int(n[0]), nil
}

// roundsOf returns the values of a parameter for rounds that a number of iterations is a multiple of.
func roundsOf(p *schedule.Param, depth int) []schedule.Value {
	return slices.DeleteFunc(slices.Clone(p.Values), func(v schedule.Value) bool {
		return int64(depth)%v.Ints()[0] != 0
	})
}

// carriesOut says why a family that a plan names cannot carry out a pipeline; nil if it can, or if there is no such
// family of the target.
func (f *family) carriesOut(p *pipeline.Pipeline, o Options) error {
	if f == nil || f.target != o.Target || f.span == nil {
		return nil
	}
	for _, c := range f.needs {
		if slices.Contains(o.Lacks, c) {
			return fmt.Errorf("family=%s needs %s, which this device does not have", f.name, c)
		}
	}
	if !f.rank(len(p.Axes)) {
		return fmt.Errorf("family=%s does not carry out statements over %d axes", f.name, len(p.Axes))
	}
	if f.spans == nil {
		return nil
	}
	return f.spans(p)
}

// spanSpace returns the configurations of a span's kernel for a number of iterations: those of families that repeat
// rounds, or of the others.
func (m *module) spanSpace(p *pipeline.Pipeline, depth int, repeats bool) (schedule.Space, error) {
	var axes []string
	for _, a := range p.Axes {
		axes = append(axes, m.Program.Axes[a])
	}
	var s schedule.Space
	var refused error
	for _, f := range families {
		lacking := func(c machine.Capability) bool { return slices.Contains(m.opts.Lacks, c) }
		if f.span == nil || f.target != m.opts.Target || slices.ContainsFunc(f.needs, lacking) {
			continue
		}
		rounds := f.repeats()
		if !f.rank(len(axes)) || (rounds != nil) != repeats {
			continue
		}
		if f.spans != nil {
			if err := f.spans(p); err != nil {
				refused = err
				continue
			}
		}
		space := f.space(axes, m.opts.Lacks)
		if rounds != nil {
			q := space.For(schedule.ExchangeInterval)
			q.Values = roundsOf(q, depth)
			q.Default = q.Values[0]
		}
		if m.opts.AnyIntegers {
			anyIntegers(&space)
		}
		s.Families = append(s.Families, space)
	}
	if len(s.Families) == 0 {
		if refused != nil {
			return s, refused
		}
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
		return s.advised(err)
	}
	k := &kernel.Kernel{
		Name: s.name, Doc: s.doc(), Body: body,
		MaxRegisters: int(s.set.Int(schedule.RegisterLimit, 0)),
	}
	args := s.finish(k)
	var work *kernel.Work
	if s.opts.Count {
		if work, err = s.work(k, args); err != nil {
			return err
		}
	}
	if k, err = s.passed(k, s.wanted()); err != nil {
		return err
	}
	if s.opts.Target == GPU {
		if err := fits(k, s.opts.gpu()); err != nil {
			return s.advised(err)
		}
	}
	span := s.pipeline.Span
	out := &kernel.Span{Iterate: span.Iterate, Depth: s.iterations(), After: span.After, Work: work}
	if familyNamed(s.config.Family).repeats() == nil {
		for _, o := range span.Outputs {
			if o.Spare {
				s.replace(o.Value.Memory)
			}
		}
	}
	out.Exchanges = s.replaced
	out.Domain = s.domain
	if s.complete {
		out.After = 0
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

// work counts what a launch of the kernel does. Passes may merge statements: it is counted before.
func (s *spanKernel) work(k *kernel.Kernel, args []kernel.Arg) (*kernel.Work, error) {
	if s.opts.Bound == nil {
		return nil, fmt.Errorf("%s: what a kernel does is counted for a size, and there is none", s.key)
	}
	values := map[*kernel.Var]op.Value{}
	for i, v := range k.Scalars {
		if size, ok := args[len(k.Buffers)+i].(kernel.SizeArg); ok {
			values[v] = op.Int(v.Type, s.opts.Bound.Params[size.Param])
		}
	}
	done, err := kernel.Executions(k, values, s.updates)
	if err != nil {
		return nil, err
	}
	w := &kernel.Work{Done: done}
	for _, st := range s.pipeline.Stages {
		cells := int64(1)
		for _, axis := range s.axes {
			cells *= max(0, s.opts.Bound.Range(st.Stmt.Domain[axis]).Len())
		}
		w.Needed += s.rounds * cells
	}
	return w, nil
}

// smallerSpan names what fits in shared memory where a kernel does not: another tile of
// its family, or a depth that is less.
func (s *spanKernel) smallerSpan() string {
	p := s.choices.Family(s.config.Family).For(schedule.Tile)
	if p == nil || s.config.Family != overlapFamily {
		return ""
	}
	gpu := s.opts.gpu()
	most := product(s.set.Ints(schedule.Tile))
	best, found := schedule.Value{}, false
	for _, v := range p.Values {
		cells := product(v.Ints())
		fits := cells < most && s.sharedBytes(s.pipeline, v.Ints()) <= gpu.SharedPerBlock
		if fits && (!found || cells > product(best.Ints())) {
			best, found = v, true
		}
	}
	if found {
		return fmt.Sprintf("%s=%s fits", p.Name, best)
	}
	depth := s.pipeline.Span.Depth
	tooMuch := sort.Search(int(depth-2), func(n int) bool { // of the depths from 2 on
		span, err := graph.NewSpan(s.Program, s.pipeline.Span.Loop, int64(n)+2)
		if err != nil {
			return true
		}
		less, err := pipeline.New(span)
		return err != nil || s.sharedBytes(less, s.set.Ints(schedule.Tile)) > gpu.SharedPerBlock
	})
	if tooMuch == 0 {
		return ""
	}
	return fmt.Sprintf("%s@%d fits", s.key, tooMuch+1)
}

// AtLoop is why a kernel of several iterations cannot be had, with the loop in the source.
type AtLoop struct {
	At  diag.Range
	Err error
}

// Error implements error.
func (e *AtLoop) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *AtLoop) Unwrap() error { return e.Err }

// advised adds what fits to the error of a kernel that does not.
func (s *spanKernel) advised(err error) error {
	if limit, ok := errors.AsType[*ResourceLimit](err); ok {
		text := s.smallerSpan()
		if limit.Of == theDomain {
			text = s.anyDomain()
		}
		if text != "" {
			err = fmt.Errorf("%w; %s", err, text)
		}
	}
	return &AtLoop{s.pipeline.Span.Iterate.Range, fmt.Errorf("plan for %s@%d: %w", s.key, s.iterations(), err)}
}

// doc says what the kernel computes.
func (s *spanKernel) doc() []string {
	lines := []string{fmt.Sprintf("%d iterations of", s.iterations())}
	for _, o := range s.pipeline.Span.Iterate.Body {
		if run, ok := o.(*ir.Run); ok {
			for _, st := range run.Call.Body {
				lines = append(lines, s.Program.Infix(st))
			}
		}
	}
	return lines
}

// grids returns the grids that the span reads or writes, each once.
func (s *spanKernel) grids() []*ir.Grid {
	var list []*ir.Grid
	add := func(v *graph.Value) {
		if v != nil && v.Memory != nil && !slices.Contains(list, v.Memory) {
			list = append(list, v.Memory)
		}
	}
	for _, st := range s.pipeline.Stages {
		add(st.Value)
		_ = st.Accesses(func(_ *ir.Access, v *graph.Value) error { add(v); return nil })
	}
	return list
}

// vector returns how many cells an access of the span's kernel moves, if threads have runs
// of neighbouring cells: as many as 16 bytes hold of the widest grid, in whole runs, and 8 at most.
func (s *spanKernel) vector() int64 {
	cells := s.set.Ints(schedule.BlockedUnroll)
	if len(cells) == 0 {
		return 1
	}
	run, size := cells[len(cells)-1], 1
	for _, g := range s.grids() {
		size = max(size, g.Type.Size())
		if last := g.Dims[len(g.Dims)-1]; len(last.Lo.Terms) > 0 {
			return 1
		}
	}
	n := int64(1)
	for n < 8 && n*2*int64(size) <= 16 && run%(n*2) == 0 {
		n *= 2
	}
	return n
}
