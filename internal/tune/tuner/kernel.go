package tuner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/refusal"
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
	abandon  context.CancelFunc // ends what the strategy thinks of
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
	mind      *thinker
	fast      []*attempt
	reference *measure.Code // that tells drift; nil if there is none
	drifted   time.Time
	still     *pause  // since something was tried
	usual     *job    // with its default
	seconds   float64 // that it takes with that; 0 if it is the only kernel
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

// Windows, in trials.
const (
	sharedWindow = 6
	smallWindow  = 32
	largeWindow  = 128
	windowGrowth = 8 // trials told for one more in the window
)

// window is how many configurations are under way: enough to keep compilers
// busy although one takes long, and few enough for a strategy to learn from the
// last. It grows while what there is to learn from one trial becomes less. It is
// the same on every machine, so that a search can go on anywhere.
func (k *kernelSearch) window(told int) int {
	if k.about.Shared {
		return sharedWindow
	}
	return min(smallWindow+told/windowGrowth, largeWindow)
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
	k.begun, k.still = k.clock(), k.pause()
	k.mind = &thinker{
		strategy: k.strategy, window: k.window, trials: k.trials, past: maps.Clone(k.past), before: k.before, spare: k.spare,
		text: k.space.Text,
	}
	k.mind.start()
	defer func() {
		k.mind.stop()
		k.abandon()
		k.rest()
		k.searched += k.clock().Sub(k.begun)
		k.begun = time.Time{}
		if n := len(k.past); n > 0 && ctx.Err() == nil {
			k.note("%d trials of %s were not asked for again: another version of the strategy has made them", n, k.name)
		}
	}()
	k.mind.tell(news{ask: !k.over(ctx)})
	for {
		k.listen()
		k.tell(ctx)
		if k.failed != nil {
			return k.failed
		}
		over := k.over(ctx)
		if len(k.waiting) == 0 && k.mind.owed == 0 {
			return nil
		}
		if ctx.Err() != nil || over && !k.finish() {
			return nil
		}
		if k.reference != nil && k.clock().Sub(k.drifted) > driftAlways {
			k.drift(ctx)
		}
		a, ok := k.next(ctx)
		if !ok {
			return nil // the user or the clock has had enough
		}
		if a == nil {
			continue // there is a thought, or there was leisure
		}
		if err := k.try(ctx, a); err != nil {
			return err
		}
	}
}

// listen takes in what the strategy has come to meanwhile.
func (k *kernelSearch) listen() {
	for {
		o, ok := k.mind.poll()
		if !ok {
			return
		}
		k.heed(o)
	}
}

// heed takes in the points of a thought, and has likely ones compiled if
// compilers have nothing else to do.
func (k *kernelSearch) heed(o thought) {
	for _, p := range o.points {
		k.admit(p)
	}
	for _, p := range o.likely {
		if c, err := k.space.Config(p); err == nil && k.works.spare() > 0 {
			k.works.start(k.name, k.jobName(c), k.stage, k.with(c))
		}
	}
}

// spare is how many likely points are worth knowing: none where nothing is
// compiled ahead.
func (k *kernelSearch) spare() int {
	if k.about.Shared {
		return 0
	}
	return k.works.spare()
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
	return ctx.Err() != nil || k.late() ||
		k.trials > 0 && k.asked >= k.trials ||
		k.best != nil && k.opts.Target.reached(k.gstencils(k.best.Seconds), k.bound) && k.whole()
}

// replays reports whether the search is where it was before it was interrupted.
// All that it had measured then is asked for within a window.
func (k *kernelSearch) replays() bool {
	return len(k.past) > 0 && k.asked < k.before+k.window(k.told)
}

// finish reports whether what is under way is to be waited for when nothing
// more is asked for: trials that were counted are, and late ones are not.
func (k *kernelSearch) finish() bool { return !k.late() }

// last returns when the search of this kernel has to stop: what trials turn out to
// take may bring that forward; the zero time is never.
func (k *kernelSearch) last() time.Time {
	if until := k.tuning.until(); !until.IsZero() && until.Before(k.until) {
		return until
	}
	return k.until
}

// late reports whether it has to stop.
func (k *kernelSearch) late() bool {
	last := k.last()
	return !last.IsZero() && !k.clock().Before(last)
}

// whole reports whether the kernel is all of the program, so that a target for
// the program is one for it.
func (k *kernelSearch) whole() bool { return len(k.kernels) == 1 }

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
			o.Known, o.Cost, o.Checks = true, 0, 0
			if o.Verdict != Good {
				o.forgetTimes()
			}
			k.settle(a, o)
			return a
		}
	}
	a.job = k.works.start(k.name, k.jobName(c), k.stage, k.with(c))
	return a
}

// with returns the plan with a configuration of this kernel.
func (k *kernelSearch) with(c schedule.Config) schedule.Plan { return k.in(k.plan, c) }

// in returns a plan with a configuration of this kernel.
func (k *kernelSearch) in(p schedule.Plan, c schedule.Config) schedule.Plan {
	p.Kernels = slices.Clone(p.Kernels)
	for i := range p.Kernels {
		if p.Kernels[i].Name() == k.name {
			p.Kernels[i].Config = c
		}
	}
	return p
}

// whole rounds seconds to microseconds, which is what a log keeps of costs: a
// strategy that goes on from it is told what it was told before.
func whole(seconds float64) float64 {
	return time.Duration(math.Round(seconds*1e6) * 1e3).Seconds()
}

// settle notes what has become of an attempt, and keeps it before anything
// else is measured.
func (k *kernelSearch) settle(a *attempt, o Outcome) {
	o.Kernel, o.Config, o.Number, o.At = k.name, a.config.String(), a.number, k.elapsed().Seconds()
	o.Compile, o.Cost = whole(o.Compile), whole(o.Cost)
	a.outcome = &o
	if k.opts.Log != nil && k.failed == nil {
		if err := k.opts.Log.Keep(o); err != nil {
			k.failed = fmt.Errorf("the trial cannot be kept: %w", err)
		}
	}
}

// next waits for an attempt that was compiled and is not settled; none if there
// is a thought first, and false if there is no time left.
func (k *kernelSearch) next(ctx context.Context) (*attempt, bool) {
	open := k.open()
	var late <-chan time.Time
	if last := k.last(); !last.IsZero() && k.opts.Clock == nil { // another clock does not go on while somebody waits
		late = time.After(last.Sub(k.clock()))
	}
	// Where compilers and kernels share processors they take turns: everything
	// under way is compiled before anything is timed, and thought of. But that must
	// not take all the time that there is.
	if k.about.Shared {
		if k.mind.owed > 0 {
			o, ok := k.thought(ctx, late)
			if ok {
				k.heed(o)
			}
			return nil, ok
		}
		var short <-chan time.Time
		if last := k.last(); late != nil {
			short = time.After(last.Sub(k.clock()) / turnPart)
		}
		a := k.turn(ctx, open, late, short)
		return a, a != nil
	}
	return k.first(ctx, open, late)
}

// thought waits for one; false if there is no time left.
func (k *kernelSearch) thought(ctx context.Context, late <-chan time.Time) (thought, bool) {
	p := k.pause()
	defer func() { k.result.Waits.Strategy += p.took() }()
	tick := time.NewTicker(longPause)
	defer tick.Stop()
	for {
		select {
		case o := <-k.mind.thoughts:
			k.mind.owed--
			return o, true
		case <-ctx.Done():
			return thought{}, false
		case <-late:
			return thought{}, false
		case <-tick.C:
			p.tell(k.thinking)
		}
	}
}

// turnPart is the part of a kernel's time that is waited for all of a window.
const turnPart = 4

// turn waits until all attempts are compiled, or one is and the time is short, and
// returns the first that is; nil if there is no time left.
func (k *kernelSearch) turn(ctx context.Context, open []*attempt, late, short <-chan time.Time) *attempt {
	p := k.pause()
	defer func() { k.result.Waits.Compilers += p.took() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	hurry := false
	for {
		var first *attempt
		ready := 0
		for _, a := range open {
			select {
			case <-a.job.done:
				if ready++; first == nil {
					first = a
				}
			default:
			}
		}
		if ready == len(open) || hurry && ready > 0 {
			return first
		}
		select {
		case <-ctx.Done():
			return nil
		case <-late:
			return nil
		case <-short:
			hurry = true
		case <-tick.C:
			p.tell(func() string { return k.works.waiting(k.name) })
		}
	}
}

func (k *kernelSearch) thinking() string {
	return fmt.Sprintf("the strategy thinks of what to try next of %s", k.name)
}

// first waits for the first attempt that is compiled, a thought, or the end of
// what is done at leisure.
func (k *kernelSearch) first(ctx context.Context, open []*attempt, late <-chan time.Time) (*attempt, bool) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	waited, why := &k.result.Waits.Strategy, k.thinking
	if len(open) > 0 {
		waited, why = &k.result.Waits.Compilers, func() string { return k.works.waiting(k.name) }
	}
	for {
		for _, a := range open {
			select {
			case <-a.job.done:
				return a, true
			default:
			}
		}
		if o, ok := k.mind.poll(); ok {
			k.heed(o)
			return nil, true
		}
		select { // leisure never ends by itself
		case <-ctx.Done():
			return nil, false
		case <-late:
			return nil, false
		default:
		}
		k.still.tell(why)
		if k.leisure(ctx) {
			return nil, true // there may have been a thought meanwhile
		}
		begin := k.clock()
		select {
		case <-ctx.Done():
			return nil, false
		case <-late:
			return nil, false
		case <-tick.C:
		}
		*waited += k.clock().Sub(begin).Seconds()
	}
}

// try measures an attempt.
func (k *kernelSearch) try(ctx context.Context, a *attempt) error {
	defer func() { k.still = k.pause() }()
	c := &a.job.compiled
	if c.err != nil {
		if ctx.Err() != nil {
			return nil
		}
		if unusable(c.err) {
			return c.err
		}
		o := outcomeOf(measure.Trial{}, c.err)
		o.Compile, o.Cost = c.made.Took.Seconds(), k.clock().Sub(a.started).Seconds()
		k.settle(a, o)
		return nil
	}
	if first, ok := k.same[c.key]; ok {
		o := *first
		o.Same, o.Compile, o.Cost = first.Config, 0, 0
		o.Times = slices.Clip(o.Times) // each goes on with its own
		if o.Verdict != Good {
			o.forgetTimes()
		}
		k.settle(a, o)
		return nil
	}
	t, took, err := k.measure(ctx, c)
	if ctx.Err() != nil || errors.Is(err, errNoTime) {
		return nil // it was not the variant's fault
	}
	if err != nil && unusable(err) {
		return err
	}
	o := outcomeOf(t, err)
	if t.Suspect {
		k.suspect(a)
	}
	o.Compile = c.made.Took.Seconds()
	o.Cost = took.Seconds() + o.Compile
	if o.Resources == (measure.Resources{}) {
		o.Resources = c.made.Resources
	}
	k.settle(a, o)
	k.works.measured(k.name)
	k.same[c.key] = a.outcome
	return nil
}

// suspect tells of a variant that was right only on fresh inputs.
func (k *kernelSearch) suspect(a *attempt) {
	k.note("%s was right only after its inputs had been filled anew: a variant before it writes where it should not", a.config)
}

// measure has the device check and time a new variant.
func (k *kernelSearch) measure(ctx context.Context, c *compiled) (measure.Trial, time.Duration, error) {
	rule := measure.Rule{Least: k.about.Least, Batches: mostBatches}
	if k.best != nil {
		rule.Best = measure.Interval{k.best.Low, k.best.High}
	}
	return k.check(ctx, c, rule)
}

// check has the device check a variant and time it by a rule. What the strategy
// comes to meanwhile is compiled at once.
func (k *kernelSearch) check(ctx context.Context, c *compiled, rule measure.Rule) (t measure.Trial, took time.Duration, err error) {
	best := 0.0
	if k.best != nil {
		best = k.best.Seconds
	}
	k.narrow(&c.code)
	done := make(chan struct{})
	begin := k.clock()
	ctx, stop := k.inTime(ctx)
	defer stop()
	go func() {
		defer close(done)
		k.works.quietly(func() { t, err = k.lab.Try(ctx, c.code, k.margins, rule, patience(best)) })
		took = k.clock().Sub(begin)
	}()
	for {
		select {
		case o := <-k.mind.thoughts:
			k.mind.owed--
			k.heed(o)
			continue
		case <-done:
		}
		k.busy += took
		k.tried += took
		k.tries++
		k.result.Waits.Loading += t.Loading
		return t, took, err
	}
}

// inTime ends what would take time that the finalists need.
func (k *kernelSearch) inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	until := k.tuning.until()
	if until.IsZero() || k.opts.Clock != nil { // another clock is not one of contexts
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, until.Add(k.end.Sub(until)/4), errNoTime)
}

// mostBatches are timed of a contender; finalists are timed again later.
const mostBatches = 7

// unusable reports whether an error is the device's or the machine's, and not
// the variant's.
func unusable(err error) bool {
	_, gone := errors.AsType[*measure.Gone](err)
	return gone || refusal.Of(err) == refusal.Transient
}

// tell tells the strategy what is known, in the order in which it was asked
// for. Where compilers and kernels take turns, it is to ask for more when all is
// told, and else after each.
func (k *kernelSearch) tell(ctx context.Context) {
	for k.failed == nil {
		a := k.waiting[k.told]
		if a == nil || a.outcome == nil {
			return
		}
		delete(k.waiting, k.told)
		k.told++
		o := a.outcome
		k.count(a)
		k.event(Event{Kind: EventTrial, Trial: o, Status: k.status()})
		k.mind.tell(news{
			trial: &search.Trial{
				Point: a.point, Verdict: verdicts[o.toldAs()], Seconds: o.Seconds, Cost: o.Cost,
				Registers: o.Registers, Spills: o.Spills,
			},
			ask: !k.over(ctx) && (!k.about.Shared || len(k.waiting) == 0),
		})
	}
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
