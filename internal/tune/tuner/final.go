package tuner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// reference compares the plain kernels of every stage with the reference
// executor, and derives how far other kernels may be from them. All are compiled
// at the same time.
func (t *tuning) reference(ctx context.Context) error {
	plain := t.plainPlan()
	small := t.small(t.opts.Set)
	if small == nil {
		return errors.New("the program cannot be made small enough for the reference executor, which kernels are checked against: give smaller sizes")
	}
	begin := func(st *stage, bound *ir.Binding, size string) *job {
		return t.works.begin(plainKernels, plainKernels+" of "+st.stage.Name+size, func() (*variant, error) { return st.plainly(bound, plain) })
	}
	var full, less []*job
	for _, st := range t.stages {
		full = append(full, begin(st, st.bound, ""))
		less = append(less, begin(st, st.alone(small), ", small"))
	}
	t.plain = make([]*measure.Code, len(t.stages))
	for i, st := range t.stages {
		for _, j := range []*job{full[i], less[i]} {
			if err := t.await(ctx, j); err != nil {
				return fmt.Errorf("the plain kernels: %w", err)
			}
		}
		t.plain[i] = &full[i].code
		m, text, err := t.compareSmall(ctx, st, small, &less[i].code)
		if err != nil {
			return err
		}
		simple, err := t.simpleMargins(ctx, st, small, m)
		if err != nil {
			return err
		}
		t.margins, t.simple = append(t.margins, m), append(t.simple, simple)
		t.result.Checks = append(t.result.Checks, text)
		t.event(Event{Kind: EventCheck, Text: text})
	}
	return nil
}

// plainKernels is what those are called that all others are compared with.
const plainKernels = "the plain kernels"

// await waits for a job, and says so if that takes long. Its error is that of the
// job, or the cause of the end of ctx.
func (t *tuning) await(ctx context.Context, j *job) error {
	p := t.pause()
	tick := time.NewTicker(longPause)
	defer tick.Stop()
	for {
		select {
		case <-j.done:
			return j.err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			p.tell(func() string { return t.works.waiting(j.kernel) })
		}
	}
}

// alone returns a binding of the program as one of the stage alone.
func (st *stage) alone(b *ir.Binding) *ir.Binding {
	lone := *b
	lone.Program = st.only
	return &lone
}

// compareSmall compares the plain kernels of a stage with the reference at a
// size that it can do.
func (t *tuning) compareSmall(ctx context.Context, st *stage, small *ir.Binding, code *measure.Code) (measure.Margins, string, error) {
	var m measure.Margins
	o, err := newOracle(ctx, st, small, !t.about.Unfused)
	if err != nil {
		return m, "", err
	}
	name := fmt.Sprint(small.Params)
	if err := t.lab.Arrange(ctx, measure.NewSetting("small "+name, o.bound)); err != nil {
		return m, "", err
	}
	values, err := t.lab.Expect(ctx, *code, true)
	if err != nil {
		return m, "", fmt.Errorf("the plain kernels: %w", err)
	}
	cells, err := o.check(values)
	if err != nil {
		return m, "", err
	}
	return o.margins(t.subject.bound), fmt.Sprintf("%s: %s of the plain kernels agree with the reference executor at %s", st.stage.Name, quantity.Count(cells, "cell"), sizesText(small)), nil
}

// simpleMargins are the margins of kernels that are compiled for any processor of
// the kind, as a user would who knows nothing: those may have no fused
// multiply-add where the device's own have.
func (t *tuning) simpleMargins(ctx context.Context, st *stage, small *ir.Binding, m measure.Margins) (measure.Margins, error) {
	if t.about.Target != lower.CPU || t.about.Unfused || st.only.Arithmetic != arith.Contract {
		return m, nil
	}
	o, err := newOracle(ctx, st, small, false)
	if err != nil {
		return m, err
	}
	return o.margins(t.subject.bound), nil
}

func sizesText(b *ir.Binding) string {
	text := ""
	for i, q := range b.Program.Params {
		if i > 0 {
			text += " "
		}
		text += fmt.Sprintf("%s=%d", q.Name, b.Params[i])
	}
	return text
}

// expect has the plain kernels compute what a stage's variants are compared
// with, unless they did.
func (t *tuning) expect(ctx context.Context, stage int) error {
	if t.expects == stage {
		return nil
	}
	t.expects = -1
	if _, err := t.lab.Expect(ctx, *t.plain[stage], false); err != nil {
		return fmt.Errorf("the plain kernels: %w", err)
	}
	t.expects = stage
	return nil
}

// rank measures the share of each kernel in the program's time, with the usual
// plan, and puts the most expensive first.
func (t *tuning) rank(ctx context.Context) error {
	seconds := map[*kernelSearch]float64{}
	total := 0.0
	for _, k := range t.kernels {
		if len(t.kernels) == 1 {
			seconds[k], total = 1, 1
			break
		}
		s, err := t.usualTime(ctx, k)
		if err != nil {
			return err
		}
		k.seconds = s
		seconds[k] = k.stage.runs * s
		total += seconds[k]
	}
	of := func(k *kernelSearch) float64 { return seconds[k] / max(total, 1e-12) }
	slices.SortStableFunc(t.kernels, func(a, b *kernelSearch) int {
		if x, y := t.logged(a), t.logged(b); x != y {
			return x - y
		}
		return compare(of(b), of(a))
	})
	for _, k := range t.kernels {
		r := KernelResult{Kernel: k.name, Configurations: k.space.Count().String(), Share: of(k), Default: k.kernel.Config.String(), Trials: []Outcome{}}
		r.Points, r.Bytes = k.stage.points, k.stage.bytes
		for _, p := range k.space.Params() {
			r.Params = append(r.Params, p.Name)
		}
		t.result.Kernels = append(t.result.Kernels, r)
	}
	return nil
}

// beginUsual has what kernels are with the usual plan compiled, all at the same
// time, and for those that are searched later what they begin with.
func (t *tuning) beginUsual() {
	for _, k := range t.kernels {
		name := k.jobName(k.kernel.Config)
		if k.place > 0 { // the plan of the others changes until it is searched
			name = "usual " + name
		}
		k.usual = t.works.begin(k.name, name, func() (*variant, error) { return k.stage.lowered(k.stage.bound, t.usual) })
	}
	if t.about.Shared {
		return // compilers would take the processors from what is measured
	}
	for _, k := range t.kernels[1:] {
		if k.place > 0 {
			continue
		}
		for _, c := range k.openers() {
			t.works.start(k.name, k.jobName(c), k.stage, k.with(c))
		}
	}
}

// openers are the first configurations that a strategy is likely to ask for.
func (k *kernelSearch) openers() []schedule.Config {
	const most = 4
	var list []schedule.Config
	for _, p := range k.good() {
		if c, err := k.space.Config(p); err == nil && len(list) < most {
			list = append(list, c)
		}
	}
	return list
}

// usualTime measures what a kernel takes with the usual plan; if that does not
// run, what the plain kernels of its stage take.
func (t *tuning) usualTime(ctx context.Context, k *kernelSearch) (float64, error) {
	if err := t.await(ctx, k.usual); err == nil {
		code := k.usual.code
		k.narrow(&code)
		if s, err := t.batch(ctx, code, t.about.Least); err == nil || ctx.Err() != nil {
			return s, err
		}
	} else if ctx.Err() != nil {
		return 0, err
	}
	code := *t.plain[slices.Index(t.stages, k.stage)]
	k.narrow(&code)
	s, err := t.batch(ctx, code, t.about.Least)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("neither the usual nor the plain kernels of %s run: %w", k.stage.stage.Name, err)
	}
	return s, err
}

// batch times a batch while nothing is compiled that would disturb it.
func (t *tuning) batch(ctx context.Context, c measure.Code, least time.Duration) (s float64, err error) {
	t.works.quietly(func() {
		begin := t.clock()
		s, err = t.lab.Batch(ctx, c, least)
		t.batched += t.clock().Sub(begin)
		t.batches++
	})
	return s, err
}

// logged returns when the search that goes on came to a kernel; those that it
// did not come to are last.
func (t *tuning) logged(k *kernelSearch) int {
	i := slices.IndexFunc(t.opts.Resume, func(o Outcome) bool { return o.Kernel == k.name })
	if i < 0 {
		return len(t.opts.Resume)
	}
	return i
}

// longer is the least time of a batch of the finalists.
func (t *tuning) longer() time.Duration { return max(t.about.Least, 20*time.Millisecond) }

// final times the plans that the search has come to side by side with those
// that nobody has to search for.
func (t *tuning) final(ctx context.Context) error {
	if ctx.Err() != nil { // what was found is worth some seconds more
		t.end = t.clock().Add(graceful)
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), graceful+time.Second)
		defer stop()
	}
	rivals := t.rivals()
	names := ""
	for i, r := range rivals {
		if i > 0 {
			names += ", "
		}
		names += r.name
	}
	t.event(Event{Kind: EventFinal, Text: names})
	if err := t.duel(ctx, rivals, mostRounds); err != nil {
		return err
	}
	if err := t.blame(rivals); err != nil {
		return err
	}
	t.judge(rivals)
	t.leftOut(rivals)
	if sized := t.forAllSizes(ctx, rivals); sized != nil {
		t.judge(append(rivals, sized))
	}
	if len(t.result.Contenders) == 0 && (ctx.Err() == nil || !t.byTrials()) {
		return errors.New("no plan gave kernels that work")
	}
	return nil
}

// byTrials takes for the result what the trials have come to, where there was no
// time to time it once more; false if they have come to nothing.
func (t *tuning) byTrials() bool {
	plan, some := t.usual, false
	c := Contender{Name: "found 1"}
	for _, k := range t.kernels {
		seconds, low, high := k.seconds, k.seconds, k.seconds
		if k.best != nil {
			plan, some = k.in(plan, k.fast[0].config), true
			seconds, low, high = k.best.Seconds, k.best.Low, k.best.High
			c.Checks = max(c.Checks, k.best.Checks)
		}
		c.Seconds += k.stage.runs * seconds
		c.Interval[0] += k.stage.runs * low
		c.Interval[1] += k.stage.runs * high
	}
	if !some {
		return false
	}
	c.Plan, c.Times = plan.String(), []float64{c.Seconds}
	c.GStencils = t.updates() / c.Seconds / 1e9
	if t.bound > 0 {
		c.Fraction = c.GStencils / t.bound
	}
	t.result.Contenders, t.result.Best = []Contender{c}, c.Plan
	t.note("there was no time to time plans side by side: the time of the best is that of its kernels' trials")
	return true
}

// leftOut tells which plans there was no time for.
func (t *tuning) leftOut(rivals []*rival) {
	var names []string
	for _, r := range rivals {
		if errors.Is(r.err, errNoTime) {
			names = append(names, r.name)
		}
	}
	if len(names) > 0 {
		t.note("the budget had no time left to time these side by side with the best: %s", strings.Join(names, ", "))
	}
}

// rivals are the default, what an expert would write, plain code as a user
// compiles it, and the best that was found.
func (t *tuning) rivals() []*rival {
	o := t.options
	o.Plan = t.given
	var list []*rival
	first, err := lower.Plan(t.subject.bound.Program, o)
	list = append(list, &rival{name: defaultName, plan: first, err: err, needed: true, found: true})
	usual := t.usual
	list = append(list, t.experts()...)
	if t.about.Target == lower.CPU {
		list = append(list, &rival{name: plainName, plan: t.plainPlan(), plain: true})
	}
	for n := range finalists {
		plan, changed := usual, false
		for _, k := range t.kernels {
			if len(k.fast) == 0 {
				continue
			}
			if n > 0 && (n >= len(k.fast) || len(t.kernels) > 1) {
				continue
			}
			plan, changed = k.in(plan, k.fast[n].config), true
		}
		if changed && !slices.ContainsFunc(list, func(r *rival) bool { return !r.plain && r.plan.String() == plan.String() }) {
			list = append(list, &rival{name: fmt.Sprintf("found %d", n+1), plan: plan, needed: n == 0, found: true})
		}
	}
	for i, p := range t.opts.Others {
		if !slices.ContainsFunc(list, func(r *rival) bool { return !r.plain && r.plan.String() == p.String() }) {
			list = append(list, &rival{name: fmt.Sprintf("other %d", i+1), plan: p})
		}
	}
	return list
}

// allowed reports whether a plan has configurations of the spaces that were
// searched, which the user may have restricted.
func (t *tuning) allowed(plan string) bool {
	p, err := schedule.ParsePlan(plan)
	if err != nil {
		return false
	}
	for _, k := range p.Kernels {
		i := slices.IndexFunc(t.kernels, func(s *kernelSearch) bool { return s.name == k.Name() })
		if i >= 0 && t.kernels[i].space.Schedule().Check(k.Config) != nil {
			return false
		}
	}
	return true
}

// finish adds what is known at the end.
func (t *tuning) finish(interrupted bool) {
	r := t.result
	r.Seconds, r.Interrupted = t.elapsed().Seconds(), interrupted
	r.Trials, r.Rate, r.Idle, r.Rechecked = t.counts.trials, t.rate(), t.idlePart(), t.recheckedPart()
	r.Compilers = t.works.sum()
	r.Refusals = t.counts.refusals()
	for i := range r.Kernels {
		r.Kernels[i].weigh()
	}
	r.Totals = map[string]int{"good": t.counts.good, "wrong": t.counts.wrong, "trials": t.counts.trials}
	t.event(Event{Kind: EventResult, Result: r})
}

// experts are plans that somebody who knows the device would write without
// measuring.
func (t *tuning) experts() []*rival {
	texts := []string{"family=loops,block=16x16x0", "family=loops,block=64x0"}
	if t.about.Target == lower.GPU {
		texts = []string{"family=stream,block=4x64", "family=tile,block=4x64", "family=cells"}
	}
	for _, text := range texts {
		every, err := schedule.ParseConfig(text)
		if err != nil {
			panic(err)
		}
		o := t.options
		o.Plan = schedule.Plan{Every: every}
		if p, err := lower.Plan(t.subject.bound.Program, o); err == nil {
			return []*rival{{name: "expert", plan: p}}
		}
	}
	return nil
}
