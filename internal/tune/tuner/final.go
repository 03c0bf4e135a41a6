package tuner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// reference compares the plain kernels of every stage with the reference
// executor, and derives how far other kernels may be from them.
func (t *tuning) reference(ctx context.Context) error {
	plain := t.plainPlan()
	t.plain = make([]*measure.Code, len(t.stages))
	small := t.small(t.opts.Set)
	for i, st := range t.stages {
		v, err := st.plainly(st.bound, plain)
		if err != nil {
			return fmt.Errorf("the plain kernels: %w", err)
		}
		made, err := t.lab.Compile(ctx, v.text())
		if err != nil {
			return fmt.Errorf("the plain kernels: %w", err)
		}
		v.code.Image = made.Image
		t.plain[i] = &v.code
		m, text, err := t.compareSmall(ctx, st, small, plain)
		if err != nil {
			return err
		}
		t.margins = append(t.margins, m)
		t.result.Checks = append(t.result.Checks, text)
		t.event(Event{Kind: EventCheck, Text: text})
	}
	return nil
}

// compareSmall compares the plain kernels of a stage with the reference at a
// size that it can do.
func (t *tuning) compareSmall(ctx context.Context, st *stage, small *ir.Binding, plain schedule.Plan) (measure.Margins, string, error) {
	var m measure.Margins
	if small == nil {
		return m, "", errors.New("the program cannot be made small enough for the reference executor, which kernels are checked against: give smaller sizes")
	}
	o, err := newOracle(ctx, st, small, t.opts.Arithmetic)
	if err != nil {
		return m, "", err
	}
	v, err := st.plainly(o.bound, plain)
	if err != nil {
		return m, "", fmt.Errorf("the plain kernels: %w", err)
	}
	made, err := t.lab.Compile(ctx, v.text())
	if err != nil {
		return m, "", fmt.Errorf("the plain kernels: %w", err)
	}
	v.code.Image = made.Image
	name := fmt.Sprint(small.Params)
	if err := t.lab.Arrange(ctx, measure.NewSetting("small "+name, o.bound)); err != nil {
		return m, "", err
	}
	values, err := t.lab.Expect(ctx, v.code, true)
	if err != nil {
		return m, "", fmt.Errorf("the plain kernels: %w", err)
	}
	cells, err := o.check(values)
	if err != nil {
		return m, "", err
	}
	return o.margins(t.subject.bound), fmt.Sprintf("%s: %s of the plain kernels agree with the reference executor at %s", st.stage.Name, quantity.Count(cells, "cell"), sizesText(small)), nil
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
func (t *tuning) rank(ctx context.Context, usual schedule.Plan) error {
	seconds := map[*kernelSearch]float64{}
	total := 0.0
	for _, k := range t.kernels {
		if len(t.kernels) == 1 {
			seconds[k], total = 1, 1
			break
		}
		s, err := t.usualTime(ctx, k, usual)
		if err != nil {
			return err
		}
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

// usualTime measures what a kernel takes with the usual plan; if that does not
// run, what the plain kernels of its stage take.
func (t *tuning) usualTime(ctx context.Context, k *kernelSearch, usual schedule.Plan) (float64, error) {
	for _, plan := range []schedule.Plan{usual, t.plainPlan()} {
		v, err := k.stage.lowered(k.stage.bound, plan)
		if err != nil {
			continue
		}
		made, err := t.lab.Compile(ctx, v.text())
		if err != nil {
			continue
		}
		v.code.Image = made.Image
		k.narrow(&v.code)
		s, err := t.lab.Batch(ctx, v.code, t.about.Least)
		if err == nil || ctx.Err() != nil {
			return s, err
		}
	}
	return 0, fmt.Errorf("neither the usual nor the plain kernels of %s run", k.stage.stage.Name)
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
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx) // what was found is worth some seconds more
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
	if sized := t.forAllSizes(ctx, rivals); sized != nil {
		t.judge(append(rivals, sized))
	}
	if len(t.result.Contenders) == 0 {
		return errors.New("no plan gave kernels that work")
	}
	return nil
}

// rivals are the default, what an expert would write, plain code as a user
// compiles it, and the best that was found.
func (t *tuning) rivals() []*rival {
	o := t.options
	o.Plan = t.given
	var list []*rival
	first, err := lower.Plan(t.subject.bound.Program, o)
	list = append(list, &rival{name: defaultName, plan: first, err: err})
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
			list = append(list, &rival{name: fmt.Sprintf("found %d", n+1), plan: plan})
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
