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

// reference compares the plain kernels of every call with the reference executor, and derives the margins
// within which other kernels may differ from them. All are compiled at the same time.
func (t *tuning) reference(ctx context.Context) error {
	plain := t.plainPlan()
	small := t.small(t.opts.Set)
	if small == nil {
		return errors.New(
			"the program cannot be made small enough for the reference executor, which kernels are checked against: " +
				"give smaller sizes")
	}
	begin := func(call *tunedCall, bound *ir.Binding, size string) *compileTask {
		return t.queue.add(plainKernels, plainKernels+" of "+call.ir.Name+size,
			func() (*variant, error) { return call.plainly(bound, plain) })
	}
	var full, less []*compileTask
	for _, call := range t.calls {
		full = append(full, begin(call, call.bound, ""))
		less = append(less, begin(call, call.alone(small), ", small"))
	}
	for i, call := range t.calls {
		for _, j := range []*compileTask{full[i], less[i]} {
			if err := t.await(ctx, j); err != nil {
				return fmt.Errorf("the plain kernels: %w", err)
			}
		}
		call.plain = &full[i].code
		m, text, err := t.compareSmall(ctx, call, small, &less[i].code)
		if err != nil {
			return err
		}
		call.margins = m
		if call.naiveMargins, err = t.marginsOfPlain(ctx, call, small, m); err != nil {
			return err
		}
		t.result.Checks = append(t.result.Checks, text)
		t.event(Event{Kind: EventCheck, Text: text})
	}
	return nil
}

// plainKernels names the kernels that all others are compared with.
const plainKernels = "the plain kernels"

// await waits for a compile task, and says so if that takes long. Its error is that of the
// task, or the cause of the end of ctx.
func (t *tuning) await(ctx context.Context, task *compileTask) error {
	p := t.startWait()
	tick := time.NewTicker(firstWaitEvent)
	defer tick.Stop()
	for {
		select {
		case <-task.done:
			return task.err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			p.tell(func() string { return t.queue.describe(task.kernel) })
		}
	}
}

// alone returns a binding of the program as one of the call alone.
func (call *tunedCall) alone(b *ir.Binding) *ir.Binding {
	lone := *b
	lone.Program = call.only
	return &lone
}

// compareSmall compares the plain kernels of a call with the reference at a
// size that it can do.
func (t *tuning) compareSmall(ctx context.Context, call *tunedCall, small *ir.Binding,
	code *measure.Code) (measure.Margins, string, error) {
	var m measure.Margins
	o, err := newOracle(ctx, call, small, !t.about.Unfused)
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
	return o.margins(t.subject.bound), fmt.Sprintf(
		"%s: %s of the plain kernels agree with the reference executor at %s", call.ir.Name,
		quantity.Count(cells, "cell"), sizesText(small)), nil
}

// marginsOfPlain are the margins of kernels that are compiled for any processor of
// the kind, as a user would who knows nothing: those may have no fused
// multiply-add where the device's own have.
func (t *tuning) marginsOfPlain(ctx context.Context, call *tunedCall, small *ir.Binding,
	m measure.Margins) (measure.Margins, error) {
	if t.about.Target.Kind() != lower.CPU || t.about.Unfused || call.only.Arithmetic != arith.Contract {
		return m, nil
	}
	o, err := newOracle(ctx, call, small, false)
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

// expect has the plain kernels compute what a call's variants are compared
// with, unless they did.
func (t *tuning) expect(ctx context.Context, call *tunedCall) error {
	if t.expected == call {
		return nil
	}
	t.expected = nil
	if _, err := t.lab.Expect(ctx, *call.plain, false); err != nil {
		return fmt.Errorf("the plain kernels: %w", err)
	}
	t.expected = call
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
		s, err := t.defaultTime(ctx, k)
		if err != nil {
			return err
		}
		k.defaultSeconds = s
		seconds[k] = k.call.runs * s
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
		k.addResult(of(k))
	}
	return nil
}

// compileDefaults adds the default of each kernel to the compile queue, and the first configurations of
// kernels that are searched later.
func (t *tuning) compileDefaults() {
	for _, k := range t.kernels {
		name := k.taskName(k.kernel.Config)
		if k.several { // the other kernels of the call get other configurations before it is searched
			name = "usual " + name
		}
		k.defaultTask = t.queue.add(k.name, name,
			func() (*variant, error) { return k.call.lowered(k.call.bound, t.defaultPlan) })
	}
	if t.about.Shared {
		return // compilers and kernels share processors
	}
	for _, k := range t.kernels[min(1, len(t.kernels)):] {
		if k.several {
			continue
		}
		for _, c := range k.firstConfigs() {
			t.queue.addPlan(k.name, k.taskName(c), k.call, k.with(c))
		}
	}
}

// firstConfigs are configurations that a strategy is likely to ask for first.
func (k *kernelSearch) firstConfigs() []schedule.Config {
	const most = 4
	var list []schedule.Config
	for _, p := range k.good() {
		if c, err := k.space.Config(p); err == nil && len(list) < most {
			list = append(list, c)
		}
	}
	return list
}

// defaultTime measures the time of a kernel with the default plan; if that does not run, the time of the
// plain kernels of its call.
func (t *tuning) defaultTime(ctx context.Context, k *kernelSearch) (float64, error) {
	if err := t.await(ctx, k.defaultTask); err == nil {
		code := k.defaultTask.code
		k.timeKernelAlone(&code)
		if s, err := t.batch(ctx, code, t.about.Least); err == nil || ctx.Err() != nil {
			return s, err
		}
	} else if ctx.Err() != nil {
		return 0, err
	}
	code := *k.call.plain
	k.timeKernelAlone(&code)
	s, err := t.batch(ctx, code, t.about.Least)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("neither the usual nor the plain kernels of %s run: %w", k.call.ir.Name, err)
	}
	return s, err
}

// batch times a batch, while no compiler disturbs it.
func (t *tuning) batch(ctx context.Context, c measure.Code, least time.Duration) (s float64, err error) {
	t.queue.withoutCompilers(func() {
		begin := t.clock()
		s, err = t.lab.Batch(ctx, c, least)
		t.batched += t.clock().Sub(begin)
		t.batches++
	})
	return s, err
}

// logged orders kernels as the session that is resumed searched them; kernels that it did not search are
// last.
func (t *tuning) logged(k *kernelSearch) int {
	i := slices.IndexFunc(t.opts.Resume, func(o Outcome) bool { return o.Kernel == k.name })
	if i < 0 {
		return len(t.opts.Resume)
	}
	return i
}

// longer is the least time of a batch of the finalists.
func (t *tuning) longer() time.Duration { return max(t.about.Least, 20*time.Millisecond) }

// final times the plans that the search found side by side with the default, an expert's and others.
func (t *tuning) final(ctx context.Context) error {
	if ctx.Err() != nil { // some seconds more to time what was found
		t.end = t.clock().Add(interruptGrace)
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), interruptGrace+time.Second)
		defer stop()
	}
	finalists := t.finalists()
	names := ""
	for i, r := range finalists {
		if i > 0 {
			names += ", "
		}
		names += r.name
	}
	t.event(Event{Kind: EventFinal, Text: names})
	if err := t.compareFinalists(ctx, finalists, mostRounds); err != nil {
		return err
	}
	if err := t.condemnFinalists(finalists); err != nil {
		return err
	}
	t.setContenders(finalists)
	t.noteLeftOut(finalists)
	if sized := t.forAllSizes(ctx, finalists); sized != nil {
		t.setContenders(append(finalists, sized))
	}
	if len(t.result.Contenders) == 0 && (ctx.Err() == nil || !t.resultFromTrials()) {
		return errors.New("no plan gave kernels that work")
	}
	return nil
}

// resultFromTrials makes the result from the times of the trials, where there was no time to time plans side
// by side; false if no trial is good.
func (t *tuning) resultFromTrials() bool {
	plan, some := t.defaultPlan, false
	c := Contender{Name: "found 1"}
	for _, k := range t.kernels {
		seconds, low, high := k.defaultSeconds, k.defaultSeconds, k.defaultSeconds
		if k.best != nil {
			plan, some = k.in(plan, k.leaders[0].config), true
			seconds, low, high = k.best.Seconds, k.best.Low, k.best.High
			c.Checks = max(c.Checks, k.best.Checks)
		}
		c.Seconds += k.call.runs * seconds
		c.Interval[0] += k.call.runs * low
		c.Interval[1] += k.call.runs * high
	}
	if !some {
		return false
	}
	for _, spans := range t.spanPlans()[:min(1, len(t.spanPlans()))] {
		plan = spans
		for _, l := range t.loops {
			saved := l.loop.savedBy(l.in(plan))
			c.Seconds, c.Interval[0], c.Interval[1] = c.Seconds-saved, c.Interval[0]-saved, c.Interval[1]-saved
		}
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

// noteLeftOut tells of the plans that are not timed, and notes those that there was no time for.
func (t *tuning) noteLeftOut(finalists []*finalist) {
	var names []string
	for _, r := range finalists {
		if r.err != nil {
			t.result.LeftOut = append(t.result.LeftOut, LeftOut{r.name, r.plan.String(), r.err.Error()})
		}
		if errors.Is(r.err, errNoTime) {
			names = append(names, r.name)
		}
	}
	if len(names) > 0 {
		t.note("the budget had no time left to time these side by side with the best: %s", strings.Join(names, ", "))
	}
}

// finalists returns the default, an expert's plan, plain code on processors, the best plans that were found,
// and those of other sizes.
func (t *tuning) finalists() []*finalist {
	o := t.options
	o.Plan = t.given
	var list []*finalist
	first, err := lower.Plan(t.subject.bound.Program, o)
	list = append(list, &finalist{name: defaultName, plan: first, err: err, needed: true, found: true})
	usual := t.defaultPlan
	if !t.goesOn() { // the program that this one is a version of was compared with an expert's plan
		list = append(list, t.experts()...)
	}
	if t.about.Target.Kind() == lower.CPU {
		list = append(list, &finalist{name: plainName, plan: t.plainPlan(), naive: true})
	}
	for n := range maxFinalists {
		plan, changed := usual, false
		for _, k := range t.kernels {
			if len(k.leaders) == 0 {
				continue
			}
			if n > 0 && (n >= len(k.leaders) || len(t.kernels) > 1) {
				continue
			}
			plan, changed = k.in(plan, k.leaders[n].config), true
		}
		plan, _ = t.withNamed(plan, 0)
		if changed && !slices.ContainsFunc(list,
			func(r *finalist) bool { return !r.naive && r.plan.String() == plan.String() }) {
			list = append(list, &finalist{name: fmt.Sprintf("found %d", n+1), plan: plan, needed: n == 0, found: true})
		}
	}
	for n, plan := range t.spanPlans() {
		if !slices.ContainsFunc(list, func(r *finalist) bool { return r.plan.String() == plan.String() }) {
			list = append(list, &finalist{name: fmt.Sprintf("spans %d", n+1), plan: plan, needed: n == 0, found: true})
		}
	}
	for i, p := range t.opts.Others {
		if !slices.ContainsFunc(list, func(r *finalist) bool { return !r.naive && r.plan.String() == p.String() }) {
			list = append(list, &finalist{name: fmt.Sprintf("other %d", i+1), plan: p, needed: t.opts.OthersNeeded})
		}
	}
	return list
}

// allowed reports whether a plan's configurations belong to the spaces that were searched, which the user
// may have restricted.
func (t *tuning) allowed(plan string) bool {
	p, err := schedule.ParsePlan(plan)
	if err != nil {
		return false
	}
	list := t.searches()
	for _, k := range p.Kernels {
		i := slices.IndexFunc(list, func(s *kernelSearch) bool { return s.name == k.ID() })
		if i >= 0 && list[i].space.Schedule().Check(k.Config) != nil {
			return false
		}
	}
	return true
}

// finish completes the result.
func (t *tuning) finish(interrupted bool) {
	r := t.result
	r.Seconds, r.Interrupted = t.elapsed().Seconds(), interrupted
	r.Trials, r.Rate, r.Idle, r.Rechecked = t.counts.trials, t.rate(), t.idlePart(), t.recheckedPart()
	r.Compilers = t.queue.summary()
	t.finishLoops()
	if best, err := schedule.ParsePlan(r.Best); err == nil {
		r.Spills, r.unfit, r.atBound = t.spilled(best), t.unfit(), t.atBound(best, r.seconds())
	}
	r.Refusals = t.counts.refusals()
	for i := range r.Kernels {
		r.Kernels[i].computeImportance()
	}
	r.Totals = map[string]int{"good": t.counts.good, "wrong": t.counts.wrong, "trials": t.counts.trials}
	t.event(Event{Kind: EventResult, Result: r})
}

// experts returns the plan that an expert of the device would write without measuring.
func (t *tuning) experts() []*finalist {
	for _, text := range lower.Experts(t.about.Target.Kind()) {
		every, err := schedule.ParseConfig(text)
		if err != nil {
			panic(err)
		}
		o := t.options
		o.Plan = schedule.Plan{Every: every}
		if p, err := lower.Plan(t.subject.bound.Program, o); err == nil {
			return []*finalist{{name: "expert", plan: p}}
		}
	}
	return nil
}
