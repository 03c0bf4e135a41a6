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
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/estimate"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// kernelSearch is the search for the configuration of one kernel. The other kernels keep those of a plan.
type kernelSearch struct {
	*tuning
	kernel         schedule.Kernel
	name           string
	number         int    // of its result
	runs           uint64 // that are over
	several        bool   // its call has several kernels
	call           *tunedCall
	plan           schedule.Plan // of the call's other kernels
	space          *search.KernelSpace
	strategy       search.Strategy
	starts         []schedule.Config  // configurations that the search starts with
	known          []search.Trial     // that the strategy is told of before it begins
	model          *estimate.Model    // of its configurations' times; nil if nothing is known
	prior          Prior              // what was known of its whole space
	likely         int                // trials that its strategy plans for
	idle           []schedule.Role    // of parameters that change nothing, and have their defaults
	cancelStrategy context.CancelFunc // ends the strategy's computations

	asked          int
	told           int
	untold         map[int]*attempt    // by number: asked for by the strategy, and not told to it yet
	byCode         map[string]*Outcome // the first outcome of each code, by the code's digest
	resumed        map[string]*Outcome // by configuration: outcomes of the session that is resumed, not asked for yet
	resumedCount   int                 // how many these were at first
	best           *Outcome
	list           []*Outcome
	until          time.Time
	fewest         int       // trials that are made though until is over, before latest
	latest         time.Time // the zero time is never
	trials         int       // limit; 0 is none
	failed         error
	driver         *strategyDriver
	leaders        []*attempt
	reference      *measure.Code // that drift is measured with; nil if there is none
	drifted        time.Time
	wait           *waitTimer   // since the last trial
	defaultTask    *compileTask // compiles the kernel with its default
	defaultSeconds float64      // with the default; 0 if it is the only kernel
	explained      explained    // of several iterations
}

// attempt is a configuration that the strategy asked for.
type attempt struct {
	number       int
	point        search.Point
	config       schedule.Config
	started      time.Time
	task         *compileTask
	outcome      *Outcome // once it is known
	counted      bool     // by an earlier run of the search
	notRetimable bool     // the device failed while it was checked again
}

// Configurations in flight.
const (
	inFlightShared  = 6
	inFlightSpans   = 2 // of several iterations, where compilers take the time of the device
	inFlightAtFirst = 32
	inFlightAtMost  = 128
	trialsPerSlot   = 8 // trials that were told for one more in flight
	// A strategy that goes on from a prior has one of so many that are likely in flight, but leastInFlight.
	likelyPerSlot = 8
	leastInFlight = 4
)

// inFlight is how many configurations may be asked for and not told: enough to keep compilers busy while one takes
// long, and few enough for a strategy to learn from the last. It grows with the number of trials, since each teaches
// less. A short search with a prior has few, so that most of it learns from what was measured: the first picks of a
// model are what it knows beforehand. The number is the same on every machine, so that a search can be resumed
// anywhere.
func (k *kernelSearch) inFlight(told int) int {
	switch {
	case k.about.Shared && k.call.iterations != nil:
		return inFlightSpans
	case k.about.Shared:
		return inFlightShared
	}
	n := min(inFlightAtFirst+told/trialsPerSlot, inFlightAtMost)
	if k.prior.Predict != nil && k.likely > 0 {
		n = min(n, max(leastInFlight, k.likely/likelyPerSlot))
	}
	return n
}

// run searches until the time, the trials or the space are used up. A second run begins anew, with another
// strategy, and what the first has found counts.
func (k *kernelSearch) run(ctx context.Context) error {
	if k.defaultTask != nil && k.reference == nil {
		k.prepareReference(ctx)
	}
	if k.resumed == nil {
		k.findResumed()
	}
	k.asked, k.told, k.untold = 0, 0, map[int]*attempt{}
	k.begun, k.wait = k.clock(), k.startWait()
	k.driver = &strategyDriver{
		strategy: k.strategy, inFlight: k.inFlight, trials: k.trials, idleWorkers: k.idleWorkers,
		text: k.space.Text,
	}
	if !k.keepsLimits() {
		k.driver.resumed, k.driver.resumedCount = maps.Clone(k.resumed), k.resumedCount
	}
	k.driver.start()
	defer func() {
		k.driver.stop()
		k.cancelStrategy()
		k.countUntold()
		k.runs++
		k.queue.dropPending(k.name)
		k.searched += k.clock().Sub(k.begun)
		k.begun = time.Time{}
		if n := len(k.resumed); n > 0 && ctx.Err() == nil && !k.keepsLimits() {
			k.note("%d trials of %s were not asked for again: another version of the strategy has made them", n, k.name)
		}
	}()
	k.driver.send(driverRequest{ask: !k.over(ctx)})
	for {
		k.acceptReplies()
		k.tell(ctx)
		if k.failed != nil {
			return k.failed
		}
		over := k.over(ctx)
		if len(k.untold) == 0 && k.driver.outstanding == 0 {
			return nil
		}
		if ctx.Err() != nil || over && !k.finish() {
			return nil
		}
		if k.reference != nil && k.clock().Sub(k.drifted) > driftAlways {
			k.drift(ctx)
		}
		a, ok := k.nextReady(ctx)
		if !ok {
			return nil // interrupted, or out of time
		}
		if a == nil {
			continue // a reply came, or idle time was used
		}
		if err := k.try(ctx, a); err != nil {
			return err
		}
	}
}

// findResumed finds the outcomes of the session that is resumed.
func (k *kernelSearch) findResumed() {
	k.resumed, k.resumedCount = map[string]*Outcome{}, 0
	for i := range k.opts.Resume {
		if o := &k.opts.Resume[i]; o.Kernel == k.name && (o.Hinted && k.advises()) == k.hinting {
			k.resumed[o.Config] = o
			k.resumedCount++
		}
	}
}

// countResumed counts the outcomes of the session that is resumed which were not asked for again.
func (k *kernelSearch) countResumed() error {
	for _, o := range k.opts.Resume {
		if k.resumed[o.Config] == nil || o.Kernel != k.name {
			continue
		}
		delete(k.resumed, o.Config)
		c, err := schedule.ParseConfig(o.Config)
		if err != nil {
			return fmt.Errorf("the session cannot be read: %w", err)
		}
		k.count(&attempt{config: c, outcome: &o})
	}
	return nil
}

// keepsLimits reports whether the limits hold for the outcomes of the session that is resumed, too: how far the
// search of one depth goes decides which one is next, and how far that after a profile goes decides what is profiled.
func (k *kernelSearch) keepsLimits() bool { return k.call.iterations != nil || k.hinting }

// acceptReplies accepts the replies that the strategy has sent meanwhile.
func (k *kernelSearch) acceptReplies() {
	for {
		o, ok := k.driver.poll()
		if !ok {
			return
		}
		k.accept(o)
	}
}

// accept admits the points of a reply, and has likely ones compiled while compilers are idle.
func (k *kernelSearch) accept(o driverReply) {
	for _, p := range o.points {
		k.admit(p)
	}
	for _, p := range o.likely {
		if c, err := k.space.Config(p); err == nil && k.queue.idleWorkers() > 0 {
			k.queue.addPlan(k.name, k.taskName(c), k.call, k.with(c))
		}
	}
}

// idleWorkers is how many likely points can be compiled: none where nothing is compiled ahead.
func (k *kernelSearch) idleWorkers() int {
	if k.about.Shared {
		return 0
	}
	return k.queue.idleWorkers()
}

// open lists the attempts without an outcome, in order.
func (k *kernelSearch) open() []*attempt {
	var list []*attempt
	for n := k.told; n < k.asked; n++ {
		if a := k.untold[n]; a != nil && a.outcome == nil {
			list = append(list, a)
		}
	}
	return list
}

// over reports whether the strategy is not asked for more.
func (k *kernelSearch) over(ctx context.Context) bool {
	if k.replaying() {
		return ctx.Err() != nil // known outcomes count, whatever the limits are now
	}
	return ctx.Err() != nil || k.pastDeadline() ||
		k.trials > 0 && k.asked >= k.trials ||
		k.best != nil && k.opts.Target.reached(k.gstencils(k.best.Seconds), k.bound) && k.isWholeProgram()
}

// replaying reports whether outcomes of the session that is resumed may still be asked for. All of them
// are asked for while at most inFlight more are.
func (k *kernelSearch) replaying() bool {
	return !k.keepsLimits() && len(k.resumed) > 0 && k.asked < k.resumedCount+k.inFlight(k.told)
}

// finish reports whether attempts under way are waited for when no more are asked for: those within a
// limit of trials are, those past the deadline are not.
func (k *kernelSearch) finish() bool { return !k.pastDeadline() }

// deadline returns when the search of this kernel has to stop; the zero time is never. It moves forward if
// trials take longer than expected.
func (k *kernelSearch) deadline() time.Time {
	last := k.until
	if k.told < k.fewest {
		last = k.latest
	}
	if until := k.tuning.until(); !until.IsZero() && until.Before(last) {
		return until
	}
	return last
}

// pastDeadline reports whether the search of this kernel has to stop.
func (k *kernelSearch) pastDeadline() bool {
	last := k.deadline()
	return !last.IsZero() && !k.clock().Before(last)
}

// isWholeProgram reports whether the kernel is all of the program, so that the program's target is its own.
func (k *kernelSearch) isWholeProgram() bool { return len(k.kernels) == 1 }

func (k *kernelSearch) taskName(c schedule.Config) string { return k.name + " " + c.String() }

// admit makes the attempt of a point that the strategy asked for, and starts compiling it unless its
// outcome is known.
func (k *kernelSearch) admit(p search.Point) *attempt {
	a := &attempt{number: k.asked, point: p, started: k.clock()}
	k.asked++
	k.untold[a.number] = a
	c, err := k.space.Config(p)
	if err != nil {
		o := outcomeOf(measure.Trial{}, err)
		o.Verdict = verdict.Constraint
		k.record(a, o)
		return a
	}
	a.config = c
	if i := slices.IndexFunc(k.list, func(o *Outcome) bool { return o.Config == c.String() }); i >= 0 {
		a.outcome, a.counted = k.list[i], true
		return a
	}
	if o, ok := k.resumed[c.String()]; ok {
		again := *o
		again.Number = a.number
		a.outcome = &again
		delete(k.resumed, o.Config)
		return a
	}
	if k.opts.Log != nil {
		if o, ok := k.opts.Log.Known(k.name, c.String()); ok {
			o.Known, o.Cost, o.Checks = true, 0, 0
			if o.Verdict != verdict.OK {
				o.forgetTimes()
			}
			k.record(a, o)
			return a
		}
	}
	a.task = k.queue.addPlan(k.name, k.taskName(c), k.call, k.with(c))
	return a
}

// with returns the plan with a configuration of this kernel.
func (k *kernelSearch) with(c schedule.Config) schedule.Plan { return k.in(k.plan, c) }

// in returns a plan with a configuration of this kernel.
func (k *kernelSearch) in(p schedule.Plan, c schedule.Config) schedule.Plan {
	p.Kernels = slices.Clone(p.Kernels)
	for i := range p.Kernels {
		if p.Kernels[i].ID() == k.name {
			p.Kernels[i].Config = c
		}
	}
	return p
}

// roundToMicroseconds rounds seconds as a log keeps costs, so that a strategy that is resumed is told what
// it was told before.
func roundToMicroseconds(seconds float64) float64 {
	return time.Duration(math.Round(seconds*1e6) * 1e3).Seconds()
}

// record sets the outcome of an attempt, and stores it before anything else is measured.
func (k *kernelSearch) record(a *attempt, o Outcome) {
	o.Kernel, o.Config, o.Number, o.At = k.name, a.config.String(), a.number, k.elapsed().Seconds()
	o.Compile, o.Cost = roundToMicroseconds(o.Compile), roundToMicroseconds(o.Cost)
	a.outcome = &o
	if k.opts.Log != nil && k.failed == nil {
		if err := k.opts.Log.Keep(o); err != nil {
			k.failed = fmt.Errorf("the trial cannot be kept: %w", err)
		}
	}
}

// nextReady waits for an attempt that is compiled and has no outcome. It returns nil if a reply came first,
// and false if there is no time left.
func (k *kernelSearch) nextReady(ctx context.Context) (*attempt, bool) {
	open := k.open()
	var late <-chan time.Time
	if last := k.deadline(); !last.IsZero() && k.opts.Clock == nil { // a test's clock stands still while somebody waits
		late = time.After(last.Sub(k.clock()))
	}
	// Where compilers and kernels share processors, they take turns: the strategy answers, then everything
	// in flight is compiled, then it is timed. One turn must not take all the time that there is.
	if k.about.Shared {
		if k.driver.outstanding > 0 {
			o, ok := k.awaitReply(ctx, late)
			if ok {
				k.accept(o)
			}
			return nil, ok
		}
		var short <-chan time.Time
		if last := k.deadline(); late != nil {
			short = time.After(last.Sub(k.clock()) / batchPart)
		}
		a := k.awaitAll(ctx, open, late, short)
		return a, a != nil
	}
	return k.awaitFirst(ctx, open, late)
}

// awaitReply waits for a reply of the strategy; false if there is no time left.
func (k *kernelSearch) awaitReply(ctx context.Context, late <-chan time.Time) (driverReply, bool) {
	p := k.startWait()
	defer func() { k.result.Waits.Strategy += p.took() }()
	tick := time.NewTicker(firstWaitEvent)
	defer tick.Stop()
	for {
		select {
		case o := <-k.driver.replies:
			k.driver.outstanding--
			return o, true
		case <-ctx.Done():
			return driverReply{}, false
		case <-late:
			return driverReply{}, false
		case <-tick.C:
			p.tell(k.describeStrategyWait)
		}
	}
}

// batchPart is the divisor of a kernel's time for which all attempts in flight are waited for.
const batchPart = 4

// awaitAll waits until all attempts are compiled, or until one is and the time is short. It returns the
// first that is compiled; nil if there is no time left.
func (k *kernelSearch) awaitAll(ctx context.Context, open []*attempt, late, short <-chan time.Time) *attempt {
	p := k.startWait()
	defer func() { k.result.Waits.Compilers += p.took() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	hurry := false
	for {
		var first *attempt
		ready := 0
		for _, a := range open {
			select {
			case <-a.task.done:
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
			p.tell(func() string { return k.queue.describe(k.name) })
		}
	}
}

func (k *kernelSearch) describeStrategyWait() string {
	return fmt.Sprintf("the strategy chooses what to try next of %s", k.name)
}

// awaitFirst waits for an attempt that is compiled, or a reply, and uses idle time meanwhile. It returns nil
// if a reply came or idle time was used, and false if there is no time left.
func (k *kernelSearch) awaitFirst(ctx context.Context, open []*attempt, late <-chan time.Time) (*attempt, bool) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	waited, why := &k.result.Waits.Strategy, k.describeStrategyWait
	if len(open) > 0 {
		waited, why = &k.result.Waits.Compilers, func() string { return k.queue.describe(k.name) }
	}
	for {
		for _, a := range open {
			select {
			case <-a.task.done:
				return a, true
			default:
			}
		}
		if o, ok := k.driver.poll(); ok {
			k.accept(o)
			return nil, true
		}
		select { // idle time never ends by itself
		case <-ctx.Done():
			return nil, false
		case <-late:
			return nil, false
		default:
		}
		k.wait.tell(why)
		if k.useIdleTime(ctx) {
			return nil, true // a reply may have come meanwhile
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

// try checks and times an attempt.
func (k *kernelSearch) try(ctx context.Context, a *attempt) error {
	defer func() { k.wait = k.startWait() }()
	c := &a.task.compiled
	if c.err != nil {
		if ctx.Err() != nil {
			return nil
		}
		if unusable(c.err) {
			return c.err
		}
		o := outcomeOf(measure.Trial{}, c.err)
		o.Code = c.hash()
		o.Compile, o.Cost = c.made.Took.Seconds(), k.clock().Sub(a.started).Seconds()
		k.record(a, o)
		return nil
	}
	if first, ok := k.byCode[c.key]; ok {
		o := *first
		o.Same, o.Compile, o.Cost = first.Config, 0, 0
		o.Times = slices.Clip(o.Times) // each grows by itself
		if o.Verdict != verdict.OK {
			o.forgetTimes()
		}
		k.record(a, o)
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
		k.noteSuspect(a)
	}
	o.Code = c.hash()
	o.Compile = c.made.Took.Seconds()
	o.Cost = took.Seconds() + o.Compile
	if o.Resources == (measure.Resources{}) {
		o.Resources = c.made.Resources
	}
	k.record(a, o)
	k.queue.markMeasured(k.name)
	k.byCode[c.key] = a.outcome
	return nil
}

// noteSuspect notes that a variant was right only on fresh inputs.
func (k *kernelSearch) noteSuspect(a *attempt) {
	k.note("%s was right only after its inputs had been filled anew: a variant before it writes where it should not",
		a.config)
}

// measure checks and times a new variant.
func (k *kernelSearch) measure(ctx context.Context, c *compiled) (measure.Trial, time.Duration, error) {
	rule := measure.Rule{Least: k.about.Least, Batches: mostBatches}
	if k.best != nil {
		rule.Best = measure.Interval{k.best.Low, k.best.High}
	}
	return k.check(ctx, c, rule)
}

// check checks a variant and times it by a rule. Replies of the strategy are accepted meanwhile, so that
// their points are compiled at once.
func (k *kernelSearch) check(ctx context.Context, c *compiled,
	rule measure.Rule) (t measure.Trial, took time.Duration, err error) {
	best := 0.0
	if k.best != nil {
		best = k.best.Seconds
	}
	k.timeKernelAlone(&c.code)
	done := make(chan struct{})
	begin := k.clock()
	ctx, stop := k.withSearchDeadline(ctx)
	defer stop()
	go func() {
		defer close(done)
		k.queue.withoutCompilers(func() { t, err = k.lab.Try(ctx, c.code, k.call.margins, rule, trialLimit(best)) })
		took = k.clock().Sub(begin)
	}()
	for {
		select {
		case o := <-k.driver.replies:
			k.driver.outstanding--
			k.accept(o)
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

// withSearchDeadline ends a trial that would take time that the finalists need.
func (k *kernelSearch) withSearchDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	until := k.tuning.until()
	if until.IsZero() || k.opts.Clock != nil { // contexts do not follow a test's clock
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, until.Add(k.end.Sub(until)/4), errNoTime)
}

// mostBatches is the number of batches of a contender. Finalists are timed again later.
const mostBatches = 7

// unusable reports whether an error is that of the device or the machine, not of the variant.
func unusable(err error) bool {
	_, gone := errors.AsType[*measure.Gone](err)
	return gone || verdict.Of(err) == verdict.Transient
}

// tell tells the strategy the outcomes that are known, in the order of its requests. The strategy is asked
// for more after each; where compilers and kernels take turns, after all.
func (k *kernelSearch) tell(ctx context.Context) {
	for k.failed == nil {
		a := k.untold[k.told]
		if a == nil || a.outcome == nil {
			return
		}
		delete(k.untold, k.told)
		k.told++
		o := a.outcome
		k.count(a)
		k.driver.send(driverRequest{
			trial: new(o.trial(a.point)), ask: !k.over(ctx) && (!k.about.Shared || len(k.untold) == 0),
		})
	}
}

// trial returns an outcome as strategies are told of it.
func (o *Outcome) trial(p search.Point) search.Trial {
	return search.Trial{Point: p, Verdict: o.toldVerdict(), Seconds: o.Seconds, Cost: o.Cost, Registers: o.Registers,
		Spills: o.Spills}
}

// countUntold counts outcomes that were not told, because an earlier request had none when the search ended.
func (k *kernelSearch) countUntold() {
	for n := k.told; n < k.asked; n++ {
		if a := k.untold[n]; a != nil && a.outcome != nil {
			k.count(a)
		}
	}
}

// count adds an outcome to the results, and its attempt to the leaders if it is one, and tells it.
func (k *kernelSearch) count(a *attempt) {
	if a.counted {
		return
	}
	o := a.outcome
	defer func() { k.event(Event{Kind: EventTrial, Trial: o, Status: k.status()}) }()
	k.list = append(k.list, o)
	k.counts.add(o)
	if o.Verdict == verdict.OK {
		k.leaders = append(k.leaders, a)
		k.sortLeaders()
		for _, loser := range k.leaders[min(maxFinalists, len(k.leaders)):] {
			k.queue.forget(k.taskName(loser.config))
		}
		k.leaders = k.leaders[:min(maxFinalists, len(k.leaders))]
	} else {
		k.queue.forget(k.taskName(a.config))
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
