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
	complete bool              // the kernel stores all grids that iterations change
	domain   []kernel.Side     // which sizes the kernel serves; nil for all
	replaced []kernel.Exchange // grids, as they are called when the iterations are over, and what takes their places
	prepares []*kernel.Launch  // what they need before the first launch
	launch   *kernel.Launch    // of the kernel, once it is built
	work     *kernel.Work      // of the kernel, if it is asked for
	of       *arranged         // what the span is a part of; nil for whole iterations
}

// replace returns the spare that takes the place of a grid.
func (s *spanKernel) replace(g *ir.Grid) *store {
	st, spare := s.spareStore(g)
	s.replaced = append(s.replaced, kernel.Exchange{Grid: g, Spare: spare})
	return st
}

// repeats reports whether the kernel carries out the iterations as often as an argument says.
func (s *spanKernel) repeats() bool { return familyNamed(s.config.Family).repeats }

// homes returns the grid whose memory each grid has after the iterations of a span.
func homes(p *pipeline.Pipeline) map[*ir.Grid]*ir.Grid {
	held := map[*ir.Grid]*ir.Grid{}
	for _, g := range p.Span.Program.Grids {
		held[g] = g
	}
	for range p.Span.Depth {
		for _, o := range p.Span.Body() {
			if r, ok := o.(*ir.Rotate); ok {
				first := held[r.Grids[0]]
				for i, g := range r.Grids[1:] {
					held[r.Grids[i]] = held[g]
				}
				held[r.Grids[len(r.Grids)-1]] = first
			}
		}
	}
	return held
}

// chooseSpans finds the spans that the plan names, and their configurations.
func (m *module) chooseSpans() error {
	loops := m.chooser.loops
	spanned := map[string]bool{}
	for i, k := range m.chooser.plan.Kernels {
		l, ok := graph.LoopNamed(m.Program, k.Call)
		if !ok {
			continue
		}
		m.chooser.used[i], spanned[k.Call] = true, true
		var of *arranged
		var err error
		if k.From != 0 || k.To != l.Leaves() || len(k.Gaps) > 0 {
			of, err = m.arranged(k, l)
			l.Set = k.Members()
		}
		if err == nil {
			err = m.chooseSpan(k, l, of)
		}
		if err != nil {
			return fmt.Errorf("plan for %s@%d: %w", k.Name(), k.Depth, err)
		}
	}
	for _, l := range loops {
		for _, p := range []Pass{arrangePass, spanPass, pipelinePass} {
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
	space, err := (&module{Module: &kernel.Module{Program: p}, opts: o}).spanSpace(pl, "")
	if err != nil {
		return Choice{}, err
	}
	k := KernelOf(l, depth, space.Default(space.Families[0].Name))
	c := Choice{Kernel: k, Space: space}
	if !LateRims(pl) {
		c.Idle = rimRoles
	}
	return c, nil
}

// Repeats reports whether the kernel may be of a family that carries out its iterations as often as an argument says.
func (c *Choice) Repeats() bool {
	return slices.ContainsFunc(c.Space.Families, func(f schedule.Family) bool { return Repeats(f.Name) })
}

// KernelOf returns the kernel of a plan that has a number of iterations of a loop, or of calls of it.
func KernelOf(l graph.Loop, depth int, c schedule.Config) schedule.Kernel {
	return schedule.Kernel{Call: l.Name, Depth: depth, Config: c}.Having(l.Members())
}

// OfLoop reports whether a kernel of a plan has iterations of a loop of the program, or of some of its calls.
func OfLoop(p *ir.Program, k schedule.Kernel) bool {
	_, ok := graph.LoopNamed(p, k.Call)
	return ok
}

func (m *module) chooseSpan(k schedule.Kernel, l graph.Loop, of *arranged) error {
	span, err := graph.NewSpan(m.Program, l, int64(k.Depth))
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
	if err := familyNamed(k.Config.Family).carriesOut(p, m.opts); err != nil {
		return err
	}
	if of != nil && Repeats(k.Config.Family) {
		return fmt.Errorf("family=%s carries out whole iterations: write %s[0:%d], or another family", k.Config.Family,
			l.Name, l.Leaves())
	}
	if err := m.after(pipelinePass, k.Name(), true, p.String, p.Verify); err != nil {
		return err
	}
	if m.opts.Spoil != nil {
		m.opts.Spoil(p)
	}
	space, err := m.spanSpace(p, k.Config.Family)
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
		Call: k.Call, From: k.From, To: k.To, Gaps: k.Gaps, Depth: k.Depth, Config: full,
	})
	m.chooser.spaces = append(m.chooser.spaces, space)
	m.spans = append(m.spans, &spanKernel{nest: n, pipeline: p, updates: map[kernel.Stmt]bool{}, of: of})
	return nil
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

// CarriesPipelines reports whether a family carries out pipelines: of a span, or of a group of statements.
func CarriesPipelines(name string) bool {
	f := familyNamed(name)
	return f != nil && f.span != nil
}

// Repeats reports whether the kernels of a family carry out their iterations as often as an argument says.
func Repeats(name string) bool {
	f := familyNamed(name)
	return f != nil && f.repeats
}

// spanSpace returns the configurations of a span's kernel. A family that a plan names is among them even if the domain
// is too large for it: so its kernel tells what it takes.
func (m *module) spanSpace(p *pipeline.Pipeline, named string) (schedule.Space, error) {
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
		if !f.rank(len(axes)) {
			continue
		}
		if f.spans != nil {
			if err := f.spans(p); err != nil {
				refused = err
				continue
			}
		}
		if f.fits != nil && f.name != named && m.opts.Sized {
			if err := f.fits(m, p); err != nil {
				refused = err
				continue
			}
		}
		space := f.space(axes, m.opts.Lacks)
		if f.offersSpan != nil {
			f.offersSpan(m.Program, p, &space)
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
	span := s.pipeline.Span // the family may have its own
	body, err := familyNamed(s.config.Family).span(s)
	if err != nil {
		return s.advised(err)
	}
	k := &kernel.Kernel{
		Name: s.name, Doc: s.doc(), Body: body,
		MaxRegisters: int(s.set.Int(schedule.RegisterLimit, 0)),
	}
	args := s.finish(k)
	if s.opts.Count {
		if s.work, err = s.counted(k, args); err != nil {
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
		lowerOccupancy(k, s.opts.gpu())
	}
	s.launch = s.launchOf(k, args)
	if !s.repeats() {
		names := homes(s.pipeline)
		for _, o := range s.pipeline.Span.Outputs {
			if !o.Spare {
				continue
			}
			_, spare := s.spareStore(o.Value.Memory)
			for _, g := range s.Program.Grids {
				if names[g] == o.Value.Memory {
					s.replaced = append(s.replaced, kernel.Exchange{Grid: g, Spare: spare})
				}
			}
		}
	}
	if s.of != nil { // which adds the span once it has all parts
		return s.broken
	}
	out := &kernel.Span{
		Iterate: span.Iterate, Depth: span.Depth, Repeats: s.repeats(), After: span.After, Dropped: span.Dropped,
		Work: s.work, Exchanges: s.replaced, Domain: s.domain,
		Launches: []*kernel.Launch{s.launch}, Prepare: s.prepares,
	}
	if s.complete {
		out.After = 0
	}
	s.addSpan(out)
	return s.broken
}

// addSpan adds a span, those of a loop in the order of falling depth.
func (m *module) addSpan(s *kernel.Span) {
	m.Spans = append(m.Spans, s)
	slices.SortStableFunc(m.Spans, func(a, b *kernel.Span) int {
		if a.Iterate != b.Iterate {
			return 0
		}
		return cmp.Compare(b.Depth, a.Depth)
	})
}

// counted counts what a launch of the kernel does. Passes may merge statements: it is counted before.
func (s *spanKernel) counted(k *kernel.Kernel, args []kernel.Arg) (*kernel.Work, error) {
	if s.opts.Bound == nil {
		return nil, fmt.Errorf("%s: what a kernel does is counted for a size, and there is none", s.key)
	}
	values := map[*kernel.Var]op.Value{}
	for i, v := range k.Scalars {
		switch a := args[len(k.Buffers)+i].(type) {
		case kernel.SizeArg:
			values[v] = op.Int(v.Type, s.opts.Bound.Params[a.Param])
		case kernel.RoundsArg:
			values[v] = op.Int(v.Type, 1)
		}
	}
	done, err := kernel.Executions(k, values, s.updates)
	if errors.Is(err, kernel.ErrLong) {
		done, err = sampledWork(k, values, s.updates)
	}
	if err != nil {
		return nil, err
	}
	w := &kernel.Work{Done: done}
	for _, st := range s.pipeline.Stages {
		cells := int64(1)
		for _, axis := range s.axes {
			cells *= max(0, s.opts.Bound.Range(st.Stmt.Domain[axis]).Len())
		}
		w.Needed += cells
	}
	return w, nil
}

// sampledWork counts for some blocks, threads and steps, which stand for all.
func sampledWork(k *kernel.Kernel, args map[*kernel.Var]op.Value, updates map[kernel.Stmt]bool) (int64, error) {
	few := kernel.Sample{Blocks: 4, ThreadsX: 16, Threads: 4, Iterations: 8}
	each, err := kernel.SampledExecutions(k, args, updates, few)
	total := int64(0)
	for _, n := range each {
		total += n
	}
	return total, err
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
	return &AtLoop{s.pipeline.Span.Iterate.Range, fmt.Errorf("plan for %s@%d: %w", s.key, s.pipeline.Span.Depth, err)}
}

// doc says what the kernel computes.
func (s *spanKernel) doc() []string {
	lines := []string{fmt.Sprintf("%d iterations of", s.pipeline.Span.Depth)}
	if s.repeats() {
		lines[0] = "rounds of " + lines[0]
	}
	for _, o := range s.pipeline.Span.Body() {
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
	run, size := s.set.Int(schedule.Vector, cells[len(cells)-1]), 1
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
