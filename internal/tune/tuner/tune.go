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
	opts     Options
	clock    func() time.Time
	started  time.Time
	end      time.Time // of the budget; the zero time is never
	works    *works
	kernels  []*kernelSearch
	margins  []measure.Margins // by stage
	simple   []measure.Margins // of simple kernels, by stage
	plain    []*measure.Code   // by stage
	expects  int               // the stage whose results are expected; -1 if none
	bound    float64           // GStencil/s of the copy bound
	counts   counts
	tries    int           // trials, and how long they took, to tell how long others will
	tried    time.Duration // to check and to time
	batches  int           // of finalists, likewise
	batched  time.Duration
	busy     time.Duration // of the device, while kernels were searched
	again    time.Duration // of that, with what it knew
	searched time.Duration // of kernels whose search is over
	begun    time.Time     // when the search of the present kernel began; zero between kernels
	result   *Result
	given    schedule.Plan // by the user
	usual    schedule.Plan // of the form that is searched, with defaults
}

// Run tunes a program. When ctx ends, the best so far is the result, marked as
// interrupted.
func Run(ctx context.Context, o Options) (*Result, error) {
	t := &tuning{opts: o, clock: o.Clock, expects: -1}
	if t.clock == nil {
		t.clock = time.Now
	}
	if t.started = o.Started; t.started.IsZero() {
		t.started = t.clock()
	}
	t.end = end(t.started, o)
	if _, ok := o.Lab.(*persistent); !ok {
		o.Lab = newPersistent(o.Lab)
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
	t.works = newWorks(working, o.Lab, t.clock)
	if err := t.setUp(ctx); err != nil {
		return nil, err
	}
	for i, k := range t.kernels {
		if ctx.Err() != nil {
			break
		}
		if err := t.one(ctx, i, k); err != nil {
			return t.result, err
		}
	}
	stop() // what is not compiled by now is not needed
	if err := t.final(ctx); err != nil {
		return t.result, err
	}
	t.finish(ctx.Err() != nil)
	if t.result.Best == "" {
		return t.result, t.nothing()
	}
	return t.result, nil
}

// nothing says that no configuration works, and why the first did not.
func (t *tuning) nothing() error {
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

// note tells what the user should know.
func (t *tuning) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if slices.Contains(t.result.Notes, text) {
		return
	}
	t.result.Notes = append(t.result.Notes, text)
	t.event(Event{Kind: EventNote, Text: text})
}

// setUp makes the kernels' searches, checks the plain kernels, and measures
// what memory allows.
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
	t.usual = usual
	places := map[string]int{}
	for _, c := range choices {
		places[c.Stage]++
		var k *kernelSearch
		var err error
		if cut := t.during(ctx, "lowering a sample of "+c.Name(), func() { k, err = t.search(ctx, c, usual) }); cut != nil {
			return cut
		}
		if err != nil {
			return err
		}
		if k != nil {
			k.place = places[c.Stage]
			t.kernels = append(t.kernels, k)
		}
	}
	for _, k := range t.kernels {
		if places[k.kernel.Stage] == 1 {
			k.place = 0
		}
	}
	if len(t.kernels) == 0 {
		return errors.New("there is nothing to tune: no kernel has a choice")
	}
	t.beginUsual()
	return t.rank(ctx)
}

// restrict leaves of the kernels' spaces what the plan keeps and the user wants
// searched. It comes before what is sensible.
func (t *tuning) restrict(choices []lower.Choice) error {
	var names []string
	var spaces []schedule.Space
	for _, c := range choices {
		names, spaces = append(names, c.Name()), append(spaces, c.Space)
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

// search makes the search for one kernel; nil if there is nothing to choose.
func (t *tuning) search(ctx context.Context, c lower.Choice, usual schedule.Plan) (*kernelSearch, error) {
	k := &kernelSearch{
		tuning: t, kernel: c.Kernel, name: c.Name(), plan: usual,
		waiting: map[int]*attempt{}, same: map[string]*Outcome{}, past: map[string]*Outcome{},
	}
	i := slices.IndexFunc(t.stages, func(s *stage) bool { return s.stage.Name == c.Stage })
	if i < 0 {
		return nil, nil // it never runs
	}
	k.stage, k.margins = t.stages[i], t.margins[i]
	k.space = search.Of(t.sensible(k.stage, c.Space))
	switch n := k.space.Count(); {
	case n.Sign() == 0:
		return nil, fmt.Errorf("the space of %s is empty", k.name)
	case n.IsInt64() && n.Int64() == 1:
		return nil, nil
	}
	var within context.Context
	within, k.abandon = context.WithCancel(ctx)
	var err error
	k.strategy, err = search.New(t.strategyName(), search.Problem{
		Context: within, Space: k.space, Seed: t.opts.Seed, Budget: t.likelyTrials(), Sizes: t.sizes(), Estimate: k.estimates(), Good: k.good(),
	})
	return k, err
}

// mostGood is how many configurations from elsewhere a strategy is told of.
const mostGood = 8

// good returns the points of this kernel's space that are nearest to the
// configurations that were good elsewhere, and those of the portfolio, each once.
func (k *kernelSearch) good() []search.Point {
	var list []search.Point
	seen := map[string]bool{}
	add := func(configs []schedule.Config, most int) {
		for _, c := range configs {
			c, err := k.space.Schedule().Complete(c)
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
	add(k.opts.Good, mostGood)
	add(k.portfolio(), mostGood)
	return list
}

// Trials a second that are usual: on devices that compilers do not share, and
// on others.
const usualRate, sharedRate = 25, 1.5

// likelyTrials is how many trials are likely to be made, as a hint.
func (t *tuning) likelyTrials() int {
	if t.opts.Likely > 0 {
		return t.opts.Likely
	}
	return Likely(t.about, t.opts.Budget, t.opts.Trials)
}

// Likely returns how many trials are likely to be made within limits.
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

// strategyName is the strategy to use: auto, or what stands in for it.
func (t *tuning) strategyName() string {
	name := t.opts.Strategy
	if name != "" && name != "auto" {
		return name
	}
	for _, i := range search.Names() {
		if i.Name == "auto" {
			return "auto"
		}
	}
	return "random"
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

// one searches one kernel within its share of what is left.
func (t *tuning) one(ctx context.Context, i int, k *kernelSearch) error {
	si := slices.Index(t.stages, k.stage)
	if err := t.expect(ctx, si); err != nil {
		return err
	}
	left, mine := 0.0, t.result.Kernels[i].Share
	for j := i; j < len(t.kernels); j++ {
		left += t.result.Kernels[j].Share
	}
	part := mine / max(left, 1e-9)
	if until := t.until(); !until.IsZero() {
		now := t.clock()
		k.until = now.Add(time.Duration(part * float64(until.Sub(now))))
	}
	if t.opts.Trials > 0 {
		if k.trials = t.trialsOf(i, part); k.trials == 0 {
			return nil // those before it have made them all
		}
	}
	t.event(Event{Kind: EventKernel, Kernel: k.name, Space: k.space.Count().String(), Share: mine})
	for _, before := range t.kernels[:i] { // they have their best
		if len(before.fast) > 0 {
			k.plan = before.in(k.plan, before.fast[0].config)
		}
	}
	err := k.run(ctx)
	t.take(i)
	return err
}

// trialsOf is how many trials a kernel may make: its part of those that are left, at
// least one, and one is left for each of the others while there are enough. Those
// of the search that goes on count for the kernels that they were made of.
func (t *tuning) trialsOf(i int, part float64) int {
	left := t.opts.Trials - t.counts.trials
	others := len(t.kernels) - i - 1
	n := max(1, min(int(part*float64(left)+0.5), left-others))
	if made := slices.ContainsFunc(t.opts.Resume, func(o Outcome) bool { return o.Kernel == t.kernels[i].name }); made {
		return n
	}
	return max(0, min(n, left))
}

// take takes what a kernel's search knows into the result.
func (t *tuning) take(i int) {
	k, r := t.kernels[i], &t.result.Kernels[i]
	r.Trials, r.Best = []Outcome{}, ""
	for _, o := range k.list {
		r.Trials = append(r.Trials, *o)
	}
	if k.best != nil {
		r.Best = k.best.Config
	}
}

// gstencils returns the speed of the whole program if this kernel takes so
// long and is all of it.
func (k *kernelSearch) gstencils(seconds float64) float64 {
	return float64(k.stage.points) / seconds / 1e9
}

// status says how far the search is.
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

// idlePart is the part of the search in which the device had nothing to do.
func (t *tuning) idlePart() float64 {
	searched := t.searching()
	if searched <= 0 {
		return 0
	}
	return min(1, max(0, 1-t.busy.Seconds()/searched.Seconds()))
}

// recheckedPart is the part of the search in which the device timed or checked
// again what it knew, because nothing else was ready. Drift that is timed though
// something is ready is not in it.
func (t *tuning) recheckedPart() float64 {
	searched := t.searching()
	if searched <= 0 {
		return 0
	}
	return min(1, t.again.Seconds()/searched.Seconds())
}

// searching is how long kernels have been searched so far.
func (t *tuning) searching() time.Duration {
	searched := t.searched
	if !t.begun.IsZero() {
		searched += t.clock().Sub(t.begun)
	}
	return searched
}
