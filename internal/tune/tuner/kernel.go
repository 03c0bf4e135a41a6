package tuner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// kernelSearch is the search for the configuration of one kernel. All others
// have the ones of a plan.
type kernelSearch struct {
	*tuning
	kernel   schedule.Kernel
	name     string
	place    int // among the kernels of its stage, from 1; 0 if it is alone
	stage    *stage
	plan     schedule.Plan // of the stage's other kernels
	space    *search.KernelSpace
	strategy search.Strategy
	margins  measure.Margins

	asked     int
	told      int
	waiting   map[int]*attempt    // by number: asked for, and not told yet
	same      map[string]*Outcome // by code
	past      map[string]*Outcome // by configuration, of the search that goes on, and not asked for yet
	before    int                 // how many these were
	best      *Outcome
	list      []*Outcome
	until     time.Time
	trials    int // the most; 0 for any
	failed    error
	fast      []*attempt
	reference *measure.Code // that tells drift; nil if there is none
	drifted   time.Time
}

// attempt is a configuration that was asked for.
type attempt struct {
	number    int
	point     search.Point
	config    schedule.Config
	started   time.Time
	job       *job
	outcome   *Outcome // once it is known
	doubtless bool     // it cannot be timed again
}

// window is how many configurations are under way: enough to keep compilers
// busy, and few enough for a strategy to learn from the last. It is the same on
// every machine: the strategy is asked anew after each trial that it is told,
// so that what it asks for is a function of the trials alone, however long they
// take, and a search that was interrupted goes on as it would have.
func (k *kernelSearch) window() int {
	if k.about.Shared {
		return 6
	}
	return 32
}

// run searches until the time is over, or the trials are, or the space is.
func (k *kernelSearch) run(ctx context.Context) error {
	k.prepareReference(ctx)
	for i := range k.opts.Resume {
		if o := &k.opts.Resume[i]; o.Kernel == k.name {
			k.past[o.Config] = o
			k.before++
		}
	}
	k.begun = k.clock()
	defer func() {
		k.rest()
		k.searched += k.clock().Sub(k.begun)
		k.begun = time.Time{}
		if n := len(k.past); n > 0 && ctx.Err() == nil {
			k.note("%d trials of %s were not asked for again: another version of the strategy has made them", n, k.name)
		}
	}()
	for {
		over, asked := k.over(ctx), k.asked
		asks := !over && (!k.about.Shared || len(k.waiting) == 0)
		if asks {
			k.ask()
		}
		if !k.ready() { // the strategy is told while the device has something to do, or else now
			if err := k.tell(ctx); err != nil {
				return err
			}
		}
		if len(k.waiting) == 0 {
			if over || asks && k.asked == asked {
				return nil
			}
			continue
		}
		if ctx.Err() != nil || over && !k.finish() {
			return nil
		}
		if k.reference != nil && k.clock().Sub(k.drifted) > driftAlways {
			k.drift(ctx)
		}
		a := k.next(ctx)
		if a == nil {
			return nil // the user or the clock has had enough
		}
		if err := k.try(ctx, a); err != nil {
			return err
		}
	}
}

// ready reports whether there is something that the device can do at once.
func (k *kernelSearch) ready() bool {
	return slices.ContainsFunc(k.open(), func(a *attempt) bool {
		select {
		case <-a.job.done:
			return true
		default:
			return false
		}
	})
}

// open lists what is asked for and not settled, in order.
func (k *kernelSearch) open() []*attempt {
	var list []*attempt
	for n := k.told; n < k.asked; n++ {
		if a := k.waiting[n]; a != nil && a.outcome == nil {
			list = append(list, a)
		}
	}
	return list
}

// over reports whether nothing more is to be asked for.
func (k *kernelSearch) over(ctx context.Context) bool {
	if k.replays() {
		return ctx.Err() != nil // what is known counts, whatever the limits are now
	}
	return ctx.Err() != nil || !k.until.IsZero() && !k.clock().Before(k.until) ||
		k.trials > 0 && k.asked >= k.trials ||
		k.best != nil && k.opts.Target.reached(k.gstencils(k.best.Seconds), k.bound) && k.whole()
}

// replays reports whether the search is where it was before it was interrupted.
// All that it had measured then is asked for within a window.
func (k *kernelSearch) replays() bool {
	return len(k.past) > 0 && k.asked < k.before+k.window()
}

// finish reports whether what is under way is to be waited for when nothing
// more is asked for: trials that were counted are, and late ones are not.
func (k *kernelSearch) finish() bool {
	return k.until.IsZero() || k.clock().Before(k.until)
}

// whole reports whether the kernel is all of the program, so that a target for
// the program is one for it.
func (k *kernelSearch) whole() bool { return len(k.kernels) == 1 }

// ask asks the strategy for what fits the window, and for what is likely to
// come so that compilers have something to do.
func (k *kernelSearch) ask() {
	for len(k.waiting) < k.window() && (k.trials == 0 || k.asked < k.trials || k.replays()) {
		points := k.strategy.Ask(1)
		if len(points) == 0 {
			break
		}
		k.admit(points[0])
	}
	if k.about.Shared {
		return
	}
	for _, p := range k.strategy.Likely(k.works.spare()) {
		if c, err := k.space.Config(p); err == nil && k.works.spare() > 0 {
			k.works.start(k.jobName(c), k.stage, k.with(c))
		}
	}
}

func (k *kernelSearch) jobName(c schedule.Config) string { return k.name + " " + c.String() }

// admit takes in a point that the strategy has asked for.
func (k *kernelSearch) admit(p search.Point) *attempt {
	a := &attempt{number: k.asked, point: p, started: k.clock()}
	k.asked++
	k.waiting[a.number] = a
	c, err := k.space.Config(p)
	if err != nil {
		o := outcomeOf(measure.Trial{}, err)
		o.Reason = "constraint"
		k.settle(a, o)
		return a
	}
	a.config = c
	if o, ok := k.past[c.String()]; ok {
		again := *o
		again.Number = a.number
		a.outcome = &again
		delete(k.past, o.Config)
		return a
	}
	if k.opts.Log != nil {
		if o, ok := k.opts.Log.Known(k.name, c.String()); ok {
			o.Known, o.Cost = true, 0
			k.settle(a, o)
			return a
		}
	}
	a.job = k.works.start(k.jobName(c), k.stage, k.with(c))
	return a
}

// with returns the plan with a configuration of this kernel.
func (k *kernelSearch) with(c schedule.Config) schedule.Plan {
	p := k.plan
	p.Kernels = slices.Clone(p.Kernels)
	for i := range p.Kernels {
		if kernelName(p.Kernels[i]) == k.name {
			p.Kernels[i].Config = c
		}
	}
	return p
}

// settle notes what has become of an attempt, and keeps it before anything
// else is measured.
func (k *kernelSearch) settle(a *attempt, o Outcome) {
	o.Kernel, o.Config, o.Number, o.At = k.name, a.config.String(), a.number, k.elapsed().Seconds()
	a.outcome = &o
	if k.opts.Log != nil && k.failed == nil {
		if err := k.opts.Log.Keep(o); err != nil {
			k.failed = fmt.Errorf("the trial cannot be kept: %w", err)
		}
	}
}

// next waits for an attempt that was compiled and is not settled; nil if there
// is no time left.
func (k *kernelSearch) next(ctx context.Context) *attempt {
	open := k.open()
	var late <-chan time.Time
	if !k.until.IsZero() {
		late = time.After(k.until.Sub(k.clock()))
	}
	// Where compilers and kernels share processors they take turns: everything
	// under way is compiled before anything is timed.
	if k.about.Shared {
		for _, a := range open {
			if !a.wait(ctx, late) {
				return nil
			}
		}
		return open[0]
	}
	return k.first(ctx, open, late)
}

// wait waits until an attempt is compiled; false if there is no time left.
func (a *attempt) wait(ctx context.Context, late <-chan time.Time) bool {
	select {
	case <-a.job.done:
		return true
	case <-ctx.Done():
	case <-late:
	}
	return false
}

// first waits for the first attempt that is compiled.
func (k *kernelSearch) first(ctx context.Context, open []*attempt, late <-chan time.Time) *attempt {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		for _, a := range open {
			select {
			case <-a.job.done:
				return a
			default:
			}
		}
		if k.leisure(ctx) {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-late:
			return nil
		case <-tick.C:
		}
	}
}

// try measures an attempt.
func (k *kernelSearch) try(ctx context.Context, a *attempt) error {
	c := &a.job.compiled
	if c.err != nil {
		if ctx.Err() != nil {
			return nil
		}
		o := outcomeOf(measure.Trial{}, c.err)
		o.Compile, o.Cost = c.made.Took.Seconds(), k.clock().Sub(a.started).Seconds()
		k.settle(a, o)
		return nil
	}
	if first, ok := k.same[c.key]; ok {
		o := *first
		o.Same, o.Compile, o.Cost = first.Config, 0, 0
		k.settle(a, o)
		return nil
	}
	t, took, err := k.measure(ctx, c)
	if ctx.Err() != nil {
		return nil // it was not the variant's fault
	}
	if err != nil && unusable(err) {
		return err
	}
	o := outcomeOf(t, err)
	if t.Suspect {
		k.note("%s was right only after its inputs had been filled anew: a variant before it writes where it should not", a.config)
	}
	o.Compile = c.made.Took.Seconds()
	o.Cost = took.Seconds() + o.Compile
	if o.Resources == (measure.Resources{}) {
		o.Resources = c.made.Resources
	}
	k.settle(a, o)
	k.same[c.key] = a.outcome
	return nil
}

// measure has the device check and time a variant. Meanwhile the strategy is
// told of those before it and thinks of those after it.
func (k *kernelSearch) measure(ctx context.Context, c *compiled) (t measure.Trial, took time.Duration, err error) {
	rule := measure.Rule{Least: k.about.Least, Batches: mostBatches}
	best := 0.0
	if k.best != nil {
		rule.Best, best = measure.Interval{k.best.Low, k.best.High}, k.best.Seconds
	}
	k.narrow(&c.code)
	done := make(chan struct{})
	begin := k.clock()
	go func() {
		defer close(done)
		k.works.quietly(func() { t, err = k.lab.Try(ctx, c.code, k.margins, rule, patience(best)) })
		took = k.clock().Sub(begin)
	}()
	failed := k.tell(ctx)
	<-done
	k.busy += took
	return t, took, errors.Join(err, failed)
}

// mostBatches are timed of a contender; finalists are timed again later.
const mostBatches = 7

// unusable reports whether an error is the device's and not the variant's.
func unusable(err error) bool {
	_, gone := errors.AsType[*measure.Gone](err)
	return gone
}

// tell tells the strategy what is known, in the order in which it was asked
// for, and asks for more after each.
func (k *kernelSearch) tell(ctx context.Context) error {
	for {
		a := k.waiting[k.told]
		if a == nil || a.outcome == nil || k.failed != nil {
			return k.failed
		}
		delete(k.waiting, k.told)
		k.told++
		k.take(a)
		if !k.about.Shared && !k.over(ctx) {
			k.ask()
		}
	}
}

// take takes in what has become of an attempt.
func (k *kernelSearch) take(a *attempt) {
	o := a.outcome
	k.strategy.Tell(search.Trial{
		Point: a.point, Verdict: verdicts[o.Verdict], Seconds: o.Seconds, Cost: o.Cost,
		Registers: o.Registers, Spills: o.Spills,
	})
	k.count(a)
	k.event(Event{Kind: EventTrial, Trial: o, Status: k.status()})
}

// rest counts what was measured and not told, because something before it was
// not ready when the search ended.
func (k *kernelSearch) rest() {
	for n := k.told; n < k.asked; n++ {
		if a := k.waiting[n]; a != nil && a.outcome != nil {
			k.count(a)
			k.event(Event{Kind: EventTrial, Trial: a.outcome, Status: k.status()})
		}
	}
}

// count takes an outcome into the results.
func (k *kernelSearch) count(a *attempt) {
	o := a.outcome
	k.list = append(k.list, o)
	k.counts.add(o)
	if o.Verdict == Good {
		k.fast = append(k.fast, a)
		k.order()
		for _, loser := range k.fast[min(finalists, len(k.fast)):] {
			k.works.forget(k.jobName(loser.config))
		}
		k.fast = k.fast[:min(finalists, len(k.fast))]
	} else {
		k.works.forget(k.jobName(a.config))
	}
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

var verdicts = map[string]search.Verdict{Good: search.Good, Refused: search.Refused, Wrong: search.Wrong}
