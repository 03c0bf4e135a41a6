package tuner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// tuning is a search under way.
type tuning struct {
	*subject
	opts        Options
	clock       func() time.Time
	started     time.Time
	end         time.Time // of the budget; the zero time is never
	queue       *compileQueue
	kernels     []*kernelSearch
	loops       []*loopSearch         // whose iterations may share a kernel
	iterations  map[string]*tunedCall // by kernel: what several iterations are compared with
	searchBegan time.Time
	expected    *tunedCall // the call whose results are expected; nil if none
	bound       float64    // GStencil/s of the copy bound
	counts      counts
	tries       int           // trials and their time, to predict the time of others
	tried       time.Duration // of checking and timing
	batches     int           // batches of finalists, likewise
	batched     time.Duration
	busy        time.Duration // of the device, while kernels were searched
	rechecked   time.Duration // of that, re-timing and re-checking known variants
	searched    time.Duration // of kernels whose search is over
	begun       time.Time     // when the search of the present kernel began; zero between kernels
	result      *Result
	given       schedule.Plan // by the user
	hinting     bool          // the search follows what a profile has said
	defaultPlan schedule.Plan // the default plan of the fusion variant that is searched
}

// Run tunes a program. When ctx ends, the best plan so far is the result, marked as interrupted.
func Run(ctx context.Context, o Options) (*Result, error) {
	t := &tuning{opts: o, clock: o.Clock, iterations: map[string]*tunedCall{}}
	if t.clock == nil {
		t.clock = time.Now
	}
	if t.started = o.Started; t.started.IsZero() {
		t.started = t.clock()
	}
	t.end = end(t.started, o)
	if _, ok := o.Lab.(*retryingLab); !ok {
		o.Lab = newRetryingLab(o.Lab)
	}
	var err error
	if t.subject, err = newSubject(o.Bound, o.Lab, o.Free); err != nil {
		return nil, err
	}
	t.given = o.Plan
	t.options.AnyIntegers = o.AnyIntegers
	t.begin()
	working, stop := context.WithCancel(ctx)
	defer stop()
	t.queue = newCompileQueue(working, o.Lab, t.clock)
	t.queue.firstLimit = firstLimitOf(o.Budget)
	if err := t.setUp(ctx); err != nil {
		return nil, err
	}
	t.searchBegan = t.clock()
	for i, k := range t.kernels {
		if ctx.Err() != nil || t.goesOn() {
			break
		}
		if err := t.searchKernel(ctx, i, k); err != nil {
			return t.result, err
		}
	}
	if err := t.searchLoops(ctx); err != nil {
		return t.result, err
	}
	if err := t.followAdvice(ctx); err != nil {
		return t.result, err
	}
	stop() // compilations under way are not needed any more
	if err := t.final(ctx); err != nil {
		return t.result, err
	}
	t.finish(ctx.Err() != nil)
	if t.result.Best == "" {
		return t.result, t.noResult()
	}
	return t.result, nil
}

// noResult is the error that no configuration works, with the most frequent reason.
func (t *tuning) noResult() error {
	list := t.counts.refusals()
	if len(list) == 0 {
		return errors.New("no configuration was tried: give more time, or more trials")
	}
	return fmt.Errorf("none of %d configurations works; %d were refused for this reason (%s), such as %s: %s",
		t.counts.trials, list[0].Count, list[0].Reason, list[0].Config, list[0].Text)
}

// begin starts the result.
func (t *tuning) begin() {
	t.result = &Result{
		Program: t.subject.bound.Program.Name, Device: t.about, Strategy: t.opts.Strategy, Seed: t.opts.Seed,
		Started: t.started.UTC().Format(time.RFC3339), Checks: []string{}, Kernels: []KernelResult{},
		Contenders: []Contender{}, Refusals: []Refusal{},
	}
	p := t.subject.bound.Program
	for i, q := range p.Params {
		t.result.Sizes = append(t.result.Sizes, Size{q.Name, t.subject.bound.Params[i]})
	}
	t.event(Event{Kind: EventStart, Text: fmt.Sprintf("%s on %s (%s)", p.Name, t.about.ID, t.about.Name)})
}

func (t *tuning) elapsed() time.Duration { return t.clock().Sub(t.started) }

func (t *tuning) event(e Event) {
	e.At = t.elapsed().Seconds()
	if t.opts.Events != nil {
		t.opts.Events(e)
	}
}

// note adds a note for the user to the result, once.
func (t *tuning) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if slices.Contains(t.result.Notes, text) {
		return
	}
	t.result.Notes = append(t.result.Notes, text)
	t.event(Event{Kind: EventNote, Text: text})
}

// setUp checks the plain kernels, measures the copy bound, and makes the searches of the kernels.
func (t *tuning) setUp(ctx context.Context) error {
	if err := t.reference(ctx); err != nil {
		return err
	}
	if err := t.lab.Arrange(ctx, measure.NewSetting("full", t.subject.bound)); err != nil {
		return err
	}
	if err := t.copyBound(ctx); err != nil {
		return err
	}
	if err := t.settleLocals(ctx); err != nil {
		return err
	}
	choices, err := t.choices(t.opts.Plan)
	if err != nil {
		return constraint(err)
	}
	if err := t.restrict(choices); err != nil {
		return err
	}
	var usual schedule.Plan
	for _, c := range choices {
		usual.Kernels = append(usual.Kernels, c.Kernel)
	}
	t.defaultPlan = usual
	kernels := map[string]int{} // by call
	for _, c := range choices {
		kernels[c.Call]++
		var k *kernelSearch
		var err error
		if cut := t.runReporting(ctx, "lowering a sample of "+c.Name(),
			func() { k, err = t.search(ctx, c, usual) }); cut != nil {
			return cut
		}
		if err != nil {
			return err
		}
		if k != nil {
			t.kernels = append(t.kernels, k)
		}
	}
	for _, k := range t.kernels {
		k.several = kernels[k.kernel.Call] > 1
	}
	t.findLoops()
	if len(t.kernels) == 0 && len(t.loops) == 0 {
		return errors.New("there is nothing to tune: no kernel has a choice")
	}
	t.compileDefaults()
	return t.rank(ctx)
}

// restrict applies the restrictions of the plan and of the user to the kernels' spaces.
func (t *tuning) restrict(choices []lower.Choice) error {
	var names []string
	var spaces []schedule.Space
	for _, c := range choices {
		names, spaces = append(names, c.ID()), append(spaces, c.Space)
	}
	restrictions := []func([]string, []schedule.Space) ([]schedule.Space, []string, error){
		lower.OfKernels(t.opts.Plan).Restrictions("plan").Apply,
	}
	if t.opts.Restrict != nil {
		restrictions = append(restrictions, t.opts.Restrict)
	}
	for _, apply := range restrictions {
		less, notes, err := apply(names, spaces)
		if err != nil {
			return err
		}
		spaces = less
		for _, text := range notes {
			t.note("%s", text)
		}
	}
	for i := range choices {
		choices[i].Space = spaces[i]
	}
	return nil
}

// search makes the search for one kernel; nil if the kernel has a single configuration.
func (t *tuning) search(ctx context.Context, c lower.Choice, usual schedule.Plan) (*kernelSearch, error) {
	k := &kernelSearch{
		tuning: t, kernel: c.Kernel, name: c.Name(), plan: usual,
		byCode: map[string]*Outcome{},
	}
	i := slices.IndexFunc(t.calls, func(s *tunedCall) bool { return s.ir.Name == c.Call })
	if i < 0 || c.Depth > 1 {
		return nil, nil // the call never runs, or it is a loop
	}
	k.call = t.calls[i]
	space := t.leaveToSequence(k.call, t.pruneForCPU(k.call, c.Space))
	k.space = search.Of(t.keepPromising(k.call, k.name, space))
	switch n := k.space.Count(); {
	case n.Sign() == 0:
		return nil, fmt.Errorf("the space of %s is empty", k.name)
	case n.IsInt64() && n.Int64() == 1:
		return nil, nil
	}
	if t.opts.PriorOf != nil {
		var err error
		k.prior, err = t.opts.PriorOf(ctx, k.call.ir, k.space.Schedule())
		if err != nil && ctx.Err() == nil { // a search that is interrupted has no prior, and ends without a trial
			return nil, err
		}
	}
	return k, k.setStrategy(ctx, k.estimates(), t.likelyTrials())
}

// setStrategy makes the strategy, which expects so many trials.
func (k *kernelSearch) setStrategy(ctx context.Context, estimate func(search.Point) (float64, bool),
	likely int) error {
	var within context.Context
	within, k.cancelStrategy = context.WithCancel(ctx)
	problem := search.Problem{
		Context: within, Space: k.space, Seed: k.opts.Seed + k.runs, Budget: likely, Sizes: k.sizes(),
		Estimate: estimate, Good: k.good(), Known: k.known,
		First: k.points(k.prior.First), Expected: k.expected(), Candidates: k.points(k.prior.Candidates),
	}
	k.likely = likely
	var err error
	k.strategy, err = search.New(k.strategyName(), problem)
	if err != nil && k.call.iterations != nil { // it may name parameters that only other kernels have
		k.strategy, err = search.New(usualStrategy, problem)
	}
	return err
}

// points returns the configurations that the kernel's space has, as points.
func (k *kernelSearch) points(configs []schedule.Config) []search.Point {
	var list []search.Point
	for _, c := range configs {
		if p, ok := k.point(c); ok {
			list = append(list, p)
		}
	}
	return list
}

// point returns a configuration as a point, if the kernel's space has it.
func (k *kernelSearch) point(c schedule.Config) (search.Point, bool) {
	if k.space.Schedule().Check(c) != nil {
		return nil, false
	}
	p, err := k.space.Point(c)
	return p, err == nil
}

// expected returns what a prior expects of configurations that the kernel's space has, as points.
func (k *kernelSearch) expected() *search.Expected {
	e := k.prior.Expected
	if e == nil {
		return nil
	}
	x := &search.Expected{Most: e.Most}
	var places []int // in e, of the points
	chosen := func(place int, configs []schedule.Config, fractions []float64) (list []search.Point, of []float64) {
		for i, c := range configs {
			if p, ok := k.point(c); ok {
				list, of, places = append(list, p), append(of, fractions[i]), append(places, place+i)
			}
		}
		return list, of
	}
	x.Points, x.Fractions = chosen(0, e.Configs, e.Fractions)
	x.Alike = func(i, j int) float64 { return e.Alike(places[i], places[j]) }
	if e.Nearby != nil {
		x.Nearby = func(neighbours []search.Point) (int, []search.Point, []float64) {
			var list []schedule.Config
			for _, p := range neighbours {
				if c, err := k.space.Config(p); err == nil {
					list = append(list, c)
				}
			}
			first := len(places)
			points, fractions := chosen(e.Nearby(list))
			return first, points, fractions
		}
	}
	return x
}

// usualStrategy is the one to use if the user names none.
const usualStrategy = "auto"

// mostGood is how many starting configurations of each source a strategy gets.
const mostGood = 8

// good returns the starting points of a search: the points of this kernel's space that are nearest to what it
// is to start with, to configurations that were good elsewhere, and to the seed configurations, each once.
func (k *kernelSearch) good() []search.Point {
	var list []search.Point
	seen := map[string]bool{}
	add := func(configs []schedule.Config, most int) {
		for _, c := range configs {
			c, err := k.space.Schedule().Complete(k.ownSettings(c))
			if err != nil {
				continue
			}
			p, err := k.space.Point(c)
			if err != nil || seen[p.Key()] || most == 0 {
				continue
			}
			seen[p.Key()] = true
			list = append(list, p)
			most--
		}
	}
	add(k.starts, len(k.starts))
	add(k.opts.Good, mostGood)
	seeds := k.space.Schedule().SeedConfigs()
	if k.prior.Predict == nil || k.strategyName() != usualStrategy || k.prior.trials() < len(seeds) {
		add(seeds, len(seeds)) // otherwise what a model chose takes their place, which has ranked them, too
	}
	return list
}

// ownSettings returns a configuration without the settings that this kernel has not, as what was good elsewhere may,
// and without those that change nothing in it.
func (k *kernelSearch) ownSettings(c schedule.Config) schedule.Config {
	if f := k.space.Schedule().Family(c.Family); f != nil {
		c.Values = slices.DeleteFunc(slices.Clone(c.Values),
			func(s schedule.Setting) bool { return f.Param(s.Name) == nil })
	}
	return k.withoutIdle(c)
}

// withoutIdle returns a configuration without the settings that change nothing in this kernel: what was good elsewhere
// may have others there.
func (k *kernelSearch) withoutIdle(c schedule.Config) schedule.Config {
	f := k.space.Schedule().Family(c.Family)
	if f == nil || len(k.idle) == 0 {
		return c
	}
	c.Values = slices.DeleteFunc(slices.Clone(c.Values), func(s schedule.Setting) bool {
		p := f.Param(s.Name)
		return p != nil && slices.Contains(k.idle, p.Role)
	})
	return c
}

// Typical trials a second: on devices that do not share processors with compilers, and on those that do.
const usualRate, sharedRate = 25, 1.5

// likelyTrials predicts the number of trials, as a hint to the strategy.
func (t *tuning) likelyTrials() int {
	if t.opts.Likely > 0 {
		return t.opts.Likely
	}
	return Likely(t.about, t.opts.Budget, t.opts.Trials)
}

// Likely predicts the number of trials within limits.
func Likely(a measure.About, budget time.Duration, trials int) int {
	if trials > 0 {
		return trials
	}
	rate := float64(usualRate)
	if a.Shared {
		rate = sharedRate
	}
	return int(rate * budget.Seconds())
}

// strategyName is the strategy to use.
func (t *tuning) strategyName() string {
	if t.opts.Strategy != "" {
		return t.opts.Strategy
	}
	return usualStrategy
}

// sizes returns the extents of the largest grid by axis name, x the inner one.
func (t *tuning) sizes() map[string]int64 {
	sizes := map[string]int64{}
	names := []string{"x", "y", "z", "w"}
	b := t.subject.bound
	for _, g := range b.Program.Grids {
		shape := b.Shape(g.Dims)
		for d := range shape {
			if d < len(names) {
				sizes[names[d]] = max(sizes[names[d]], int64(shape[len(shape)-1-d]))
			}
		}
	}
	return sizes
}

// searchKernel searches one kernel within its share of the time and the trials that are left.
func (t *tuning) searchKernel(ctx context.Context, i int, k *kernelSearch) error {
	if err := t.expect(ctx, k.call); err != nil {
		return err
	}
	left, mine := 0.0, t.result.Kernels[i].Share
	for j := i; j < len(t.kernels); j++ {
		left += t.result.Kernels[j].Share
	}
	part := mine / max(left, 1e-9)
	if until := t.kernelsUntil(); !until.IsZero() {
		now := t.clock()
		k.until = now.Add(time.Duration(part * float64(until.Sub(now))))
	}
	if t.opts.Trials > 0 {
		if k.trials = t.trialsOf(i, part); k.trials == 0 {
			return nil // earlier kernels have used them all
		}
	}
	share := mine
	if len(t.loops) > 0 {
		share *= 1 - deepPart
	}
	t.event(Event{Kind: EventKernel, Kernel: k.name, Space: k.space.Count().String(), Share: share})
	for _, before := range t.kernels[:i] { // they have their best
		if len(before.leaders) > 0 {
			k.plan = before.in(k.plan, before.leaders[0].config)
		}
	}
	err := k.run(ctx)
	k.collect()
	return err
}

// trialsOf is how many trials a kernel may make: its part of those that are left, at least one, with one
// left for each of the other kernels while there are enough. Trials of the session that is resumed count
// for their own kernels.
func (t *tuning) trialsOf(i int, part float64) int {
	left := t.kernelTrials() - t.counts.trials
	others := len(t.kernels) - i - 1
	n := max(1, min(int(part*float64(left)+0.5), left-others))
	if made := slices.ContainsFunc(t.opts.Resume, func(o Outcome) bool { return o.Kernel == t.kernels[i].name }); made {
		return n
	}
	return max(0, min(n, left))
}

// addResult adds the result of a kernel's search, with the kernel's share of the program's time.
func (k *kernelSearch) addResult(share float64) {
	r := KernelResult{
		Kernel: k.name, Configurations: k.space.Count().String(), Share: share, Points: k.call.points,
		Bytes: k.call.bytes, Default: k.kernel.Config.String(), Trials: []Outcome{},
	}
	for _, p := range k.space.Params() {
		r.Params = append(r.Params, p.Name)
	}
	k.number = len(k.result.Kernels)
	k.result.Kernels = append(k.result.Kernels, r)
}

// collect copies the outcomes of a kernel's search to the result.
func (k *kernelSearch) collect() {
	r := &k.result.Kernels[k.number]
	r.Trials, r.Best = []Outcome{}, ""
	for _, o := range k.list {
		r.Trials = append(r.Trials, *o)
	}
	if k.best != nil {
		r.Best = k.best.Config
	}
}

// gstencils returns the speed of the program in GStencil/s if this kernel is all of it and takes so long.
func (k *kernelSearch) gstencils(seconds float64) float64 {
	return float64(k.call.points) / seconds / 1e9
}

// status returns the progress of the search.
func (k *kernelSearch) status() *Status {
	s := &Status{
		Kernel: k.name, Trials: k.counts.trials, Good: k.counts.good, Wrong: k.counts.wrong,
		Refused: k.counts.refused, Rate: k.rate(), Idle: k.idlePart(), Rechecked: k.recheckedPart(),
	}
	if k.best != nil {
		s.Best, s.Config, s.GStencils = k.best.Seconds, k.best.Config, k.gstencils(k.best.Seconds)
	}
	if !k.end.IsZero() {
		s.Left = max(0, k.tuning.until().Sub(k.clock()).Seconds())
	}
	return s
}

func (t *tuning) rate() float64 {
	return float64(t.counts.trials) / max(t.elapsed().Seconds(), 1e-9)
}

// idlePart is the part of the search in which the device was idle.
func (t *tuning) idlePart() float64 {
	searched := t.searching()
	if searched <= 0 {
		return 0
	}
	return min(1, max(0, 1-t.busy.Seconds()/searched.Seconds()))
}

// recheckedPart is the part of the search in which the device re-timed or re-checked known variants,
// because no other was ready. Drift measurements while a variant is ready do not count.
func (t *tuning) recheckedPart() float64 {
	searched := t.searching()
	if searched <= 0 {
		return 0
	}
	return min(1, t.rechecked.Seconds()/searched.Seconds())
}

// searching is the time that kernels have been searched so far.
func (t *tuning) searching() time.Duration {
	searched := t.searched
	if !t.begun.IsZero() {
		searched += t.clock().Sub(t.begun)
	}
	return searched
}
