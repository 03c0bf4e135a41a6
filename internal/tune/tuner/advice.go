package tuner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/profile"
	"github.com/gridloom/gridloom/internal/tune/promising"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// A search profiles what it has found before it is over, and goes on by what the profile says: profile, decide, tune,
// profile (Rawat et al. 2019, sections IV, V and VII). Of the best plan the kernel that takes most of the time is
// profiled. Those of its hints that are plans are tried as all configurations are. Then the kernel is searched on, in
// what is promising for its class, with all trials known. If the best has changed by then, it is profiled once more.

const (
	// advisedPart is the part of a search, in time and in trials, that is left for the hints and what follows from
	// them. Before that a strategy finds more by itself: a profile speaks for one configuration, and the first good
	// ones are far from the best.
	advisedPart = 0.3
	// profilePart is the most that profiles may take of the budget.
	profilePart = 0.1
	// leastAdvised is the shortest budget in which a kernel is profiled: that takes 2 to 3 s where nothing else runs.
	leastAdvised = 40 * time.Second
	// fewestAdvised are the fewest trials, where these are limited: fewer say little of what is best.
	fewestAdvised = 40
	// mostAdvice is how often a kernel is profiled.
	mostAdvice = 2
	// leastProfile is the least time that a profile is begun in.
	leastProfile = 2 * time.Second
	// fewFollowed are so few trials of a number of iterations that the first pass has hardly searched it: a hint that
	// expects something of it has it searched on, for a part of what is left.
	fewFollowed, followedPart = 16, 4
	// timingPart is the part of a profile's time in which the kernel and its variants are timed; compilers, and
	// measuring the device, take the rest.
	timingPart = 3
	// longestProfile is what a profile may take where time is not limited.
	longestProfile = 30 * time.Second
)

// Adviser profiles a kernel of a plan, and says what to change about it by the rules of package profile.
type Adviser func(ctx context.Context, q Question) (*profile.Kernel, error)

// Question is what an Adviser is asked. It may have the Lab for itself.
type Question struct {
	Lab    measure.Lab
	Plan   schedule.Plan // in full
	Kernel string        // of the plan: "heat[0:1]", "body[0:2]@4"
	Budget time.Duration // for timing the kernel and its variants
}

// Advice is what a profile within the search has said of a kernel, and what came of it.
type Advice struct {
	Kernel     string  `json:"kernel"`
	Config     string  `json:"config"`          // that was profiled
	At         float64 `json:"at"`              // seconds since the start
	Took       float64 `json:"profile_seconds"` // that the profile took
	Failed     string  `json:"failed,omitempty"`
	Trials     int     `json:"trials"`                // that were made after it
	Gain       float64 `json:"gain,omitempty"`        // how many times as fast the program was afterwards, by its kernels' trials
	SearchedOn string  `json:"searched_on,omitempty"` // which configurations, if not all
	// Profile has the class, its evidence and the hints. A hint that was followed has a measured gain, or why there is
	// none.
	Profile *profile.Kernel `json:"profile,omitempty"`

	plan schedule.Plan // that was profiled
}

// advises reports whether the search leaves time and trials for hints.
func (t *tuning) advises() bool {
	o := &t.opts
	return o.Adviser != nil && (o.Budget > 0 || o.Trials > 0) && (o.Budget == 0 || o.Budget >= leastAdvised) &&
		(o.Trials == 0 || o.Trials >= fewestAdvised)
}

// searchUntil returns when the search makes way for hints; the zero time is never. A session that is resumed and had
// come to its hints goes on with these.
func (t *tuning) searchUntil() time.Time {
	until := t.until()
	if until.IsZero() || !t.advises() || t.hinting {
		return until
	}
	if len(t.opts.Advice) > 0 && len(t.loops) == 0 {
		return t.searchBegan
	}
	return until.Add(-time.Duration(advisedPart * float64(until.Sub(t.searchBegan))))
}

// searchTrials is how many trials may be made before hints, if trials are limited.
func (t *tuning) searchTrials() int {
	if !t.advises() || t.hinting {
		return t.opts.Trials
	}
	return t.opts.Trials - int(advisedPart*float64(t.opts.Trials))
}

// followAdvice profiles the kernel of the best plan that takes most of the time, follows the hints, and goes on with
// the search of what is the best then.
func (t *tuning) followAdvice(ctx context.Context) error {
	if !t.advises() || t.opts.yield > 0 && t.givesWay() {
		return nil // other versions of the source gain more
	}
	last := t.until()
	if !last.IsZero() && t.opts.Trials == 0 { // no longer than the part that was left: loops may have needed less
		most := t.clock().Add(time.Duration(advisedPart / (1 - advisedPart) * float64(t.clock().Sub(t.searchBegan))))
		last = slices.MinFunc([]time.Time{last, most}, time.Time.Compare)
	}
	t.hinting = true
	for _, k := range t.searches() { // what the session that is resumed has tried after its profile
		k.findResumed()
	}
	before, trials := 0.0, 0 // of the last advice
	for round := range mostAdvice {
		k := t.dearest()
		if k == nil || ctx.Err() != nil || t.targetReached() {
			return nil
		}
		a, err := t.advise(ctx, k, round, last)
		if err != nil {
			return err
		}
		if a != nil {
			before, trials = t.seconds(t.likely()), t.counts.trials
			t.result.Advice = append(t.result.Advice, *a)
			a = &t.result.Advice[len(t.result.Advice)-1]
			if err := t.follow(ctx, k, a, last); err != nil {
				return err
			}
		}
		// The second half is for what a second profile says.
		again := a != nil && a.Profile != nil && round+1 < mostAdvice
		parts := 1
		if again {
			parts = 2
		}
		if err := t.goOn(ctx, last, parts); err != nil {
			return err
		}
		if n := len(t.result.Advice); n > 0 {
			a := &t.result.Advice[n-1]
			a.Trials = t.counts.trials - trials
			if after := t.seconds(t.likely()); after > 0 {
				a.Gain = before / after
			}
		}
		if !again {
			break
		}
	}
	return t.countLeft()
}

// countLeft counts the outcomes of the session that is resumed that were not asked for again.
func (t *tuning) countLeft() error {
	for _, k := range t.searches() {
		if len(k.resumed) == 0 {
			continue
		}
		if err := k.countResumed(); err != nil {
			return err
		}
		k.collect()
	}
	return nil
}

// dearest returns the search of the kernel that takes most of the time of the likely best plan; nil if nothing works.
func (t *tuning) dearest() *kernelSearch {
	p := t.likely()
	var most *kernelSearch
	longest := 0.0
	take := func(k *kernelSearch, seconds float64) {
		if seconds > longest {
			most, longest = k, seconds
		}
	}
	replaced := map[*tunedCall]bool{}
	for _, l := range t.loops {
		spans := slices.DeleteFunc(slices.Clone(l.spans),
			func(k *kernelSearch) bool { return k.best == nil || !hasKernel(p, k.name) })
		if len(spans) == 0 {
			continue
		}
		k := slices.MaxFunc(spans, func(a, b *kernelSearch) int {
			return cmp.Compare(a.call.iterations.depth, b.call.iterations.depth)
		})
		take(k, l.loop.executions*float64(l.loop.count)*k.perIteration())
		for _, call := range l.loop.calls {
			replaced[call] = true
		}
	}
	for _, k := range t.kernels {
		if k.best != nil && !replaced[k.call] {
			take(k, k.call.runs*k.best.Seconds)
		}
	}
	return most
}

// seconds returns what a plan takes for one run of the call that runs most often, by the trials of its kernels.
func (t *tuning) seconds(p schedule.Plan) float64 {
	sum := 0.0
	for _, k := range t.kernels {
		s := k.defaultSeconds
		if k.best != nil {
			s = k.best.Seconds
		}
		sum += k.call.runs * s
	}
	for _, l := range t.loops {
		if l.single > 0 {
			sum -= l.loop.savedBy(l.in(p))
		}
	}
	return sum
}

// advise profiles a kernel's best configuration; nil if there is no time for that, or if it was profiled before.
func (t *tuning) advise(ctx context.Context, k *kernelSearch, round int, last time.Time) (*Advice, error) {
	a := &Advice{Kernel: k.name, Config: k.leaders[0].config.String(), At: t.elapsed().Seconds(),
		plan: k.in(t.likely(), k.leaders[0].config)}
	spent, longest := 0.0, 0.0
	for _, b := range t.result.Advice {
		if b.Kernel == a.Kernel && b.Config == a.Config || b.Failed != "" {
			return nil, nil
		}
		spent, longest = spent+b.Took, max(longest, b.Took)
	}
	if b := t.recalled(k, round); b != nil {
		return b, nil
	}
	left := longestProfile
	if t.opts.Budget > 0 {
		left = time.Duration(profilePart*float64(t.opts.Budget)) - time.Duration(spent*float64(time.Second))
	}
	if !last.IsZero() {
		left = min(left, last.Sub(t.clock())/2)
	}
	if left < max(leastProfile, time.Duration(longest*float64(time.Second))) {
		return nil, nil
	}
	begun := t.clock()
	t.event(Event{Kind: EventWait, Text: "profiling " + k.name})
	within, stop := ctx, func() {}
	if t.opts.Clock == nil { // contexts do not follow a test's clock
		within, stop = context.WithTimeoutCause(ctx, left, errNoTime)
	}
	var err error
	t.queue.withoutCompilers(func() {
		a.Profile, err = t.opts.Adviser(within, Question{Lab: t.lab, Plan: a.plan, Kernel: k.name,
			Budget: left / timingPart})
	})
	stop()
	a.Took = t.clock().Sub(begun).Seconds()
	t.busy += t.clock().Sub(begun)
	// The memory was that of the profile. What was found is timed once more though the user has interrupted.
	t.expected = nil
	if err := t.lab.Arrange(context.WithoutCancel(ctx), measure.NewSetting("full", t.subject.bound)); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, nil
	}
	if err != nil {
		if unusable(err) {
			return nil, err
		}
		a.Profile, a.Failed = nil, err.Error()
		t.note("%s could not be profiled, so there are no hints: %v", k.name, err)
	}
	t.event(Event{Kind: EventAdvice, Advice: a})
	return a, nil
}

// recalled returns what the session that is resumed was told of a kernel; nil if nothing. Its best may be another one
// by now, since idle time goes into timing the best again.
func (t *tuning) recalled(k *kernelSearch, round int) *Advice {
	if round >= len(t.opts.Advice) {
		return nil
	}
	a := t.opts.Advice[round]
	c, err := schedule.ParseConfig(a.Config)
	if a.Kernel != k.name || a.Profile == nil || err != nil {
		return nil
	}
	a.plan = k.in(t.likely(), c)
	return &a
}

// outcome returns what came of a configuration; nil if it was not tried.
func (k *kernelSearch) outcome(config string) *Outcome {
	if i := slices.IndexFunc(k.list, func(o *Outcome) bool { return o.Config == config }); i >= 0 {
		return k.list[i]
	}
	return nil
}

// goOn searches the kernel that takes most of the time on, for a part of what is left.
func (t *tuning) goOn(ctx context.Context, last time.Time, parts int) error {
	if k := t.dearest(); k != nil {
		return t.searchOn(ctx, k, last, parts)
	}
	return nil
}

// searchOn searches a kernel on, with all its trials known, for a part of what is left.
func (t *tuning) searchOn(ctx context.Context, k *kernelSearch, last time.Time, parts int) error {
	left := t.opts.Trials - t.counts.trials
	if ctx.Err() != nil || t.opts.Trials > 0 && left <= 0 {
		return nil
	}
	k.until, k.latest, k.fewest, k.trials = last, last, 0, 0
	if !last.IsZero() {
		k.until = t.clock().Add(last.Sub(t.clock()) / time.Duration(parts))
	}
	if t.opts.Trials > 0 {
		k.trials = max(1, left/parts)
	}
	if err := t.expect(ctx, k.call); err != nil {
		return err
	}
	whole, starts := k.space, k.starts // those that there was no time for come after the leaders
	defer func() { k.space, k.starts, k.known = whole, starts, nil }()
	for i := range t.result.Advice {
		if a := &t.result.Advice[i]; a.Profile != nil && a.Kernel == k.name {
			k.space = whole
			a.SearchedOn = k.keepMeasured(a.Profile.Class)
		}
	}
	k.starts = nil
	for _, x := range k.leaders {
		k.starts = append(k.starts, x.config)
	}
	k.starts = append(k.starts, starts...)
	k.known = k.trialsIn(k.space)
	likely := max(2*mostGood, int(advisedPart*float64(t.likelyTrials())))
	var estimate func(search.Point) (float64, bool)
	if k.call.iterations == nil {
		estimate = k.estimates()
	}
	if err := k.setStrategy(ctx, estimate, likely); err != nil {
		return err
	}
	return t.runOn(ctx, k)
}

// runOn runs a search once more.
func (t *tuning) runOn(ctx context.Context, k *kernelSearch) error {
	t.event(Event{Kind: EventKernel, Kernel: k.name, Space: k.space.Count().String(), Share: advisedPart})
	err := k.run(ctx)
	k.collect()
	for _, l := range t.loops {
		if slices.Contains(l.spans, k) {
			l.report(l.depthResult(k))
		}
	}
	return err
}

// keepMeasured restricts a kernel's space to what is promising for its class, and says how; "" if to nothing. What was
// measured counts for more: a best configuration that is not promising keeps the whole space.
func (k *kernelSearch) keepMeasured(class profile.Class) string {
	if k.about.Target.Kind() != lower.GPU || k.call.iterations != nil && k.call.iterations.once() {
		return ""
	}
	depth := int64(1)
	if k.call.iterations != nil {
		depth = k.call.iterations.depth
	}
	all := k.space.Schedule()
	less := promising.For(class).KeepMeasured(all, k.subject.bound.Program.Axes, depth)
	n, of := less.Count(), all.Count()
	if n.Cmp(of) >= 0 {
		return ""
	}
	if less.Check(k.leaders[0].config) != nil {
		return fmt.Sprintf("all %v configurations: the best is none of the %v that are promising for %s kernels", of, n,
			class)
	}
	k.space = search.Of(less)
	return fmt.Sprintf("%v of %v configurations are promising for %s kernels", n, of, class)
}

// trialsIn returns the trials so far whose configurations are in a space.
func (k *kernelSearch) trialsIn(s *search.KernelSpace) []search.Trial {
	var list []search.Trial
	for _, o := range k.list {
		c, err := schedule.ParseConfig(o.Config)
		if err != nil || s.Schedule().Check(c) != nil {
			continue
		}
		if p, err := s.Point(c); err == nil {
			list = append(list, o.trial(p))
		}
	}
	return list
}
