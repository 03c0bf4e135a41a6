package tuner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/deep"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// Deep tuning (Rawat et al. 2019, section VI): once the kernels of single iterations are searched, each
// innermost loop is searched for the number of iterations that share a kernel. A first pass goes from depth to
// depth, with a small search each, which begins with what was best one depth before. It ends at the tipping
// point. The depth that is fastest per iteration gets the rest of the time.

const (
	// deepPart is the part of a search that loops get, if there is one whose iterations may share a kernel. It
	// is more than half: kernels of several iterations take compilers long, and win wherever memory is the
	// bottleneck.
	deepPart = 0.6
	// depthPart is the part of a loop's share that each depth gets in the first pass.
	depthPart = 0.1
	// fewestAtDepth is how many trials each depth gets at least. Where many processes compile side by side, it is half
	// of them, up to mostForecast: what is under way is ready at about the same time.
	fewestAtDepth = 2
	// tipping is how many depths in a row that gain nothing end the first pass: registers and tiles make the
	// times of single depths uneven.
	tipping = 2
	// mostStarts is how many of the best configurations of a depth the next one begins with.
	mostStarts = 4
)

// Depths in the order of the first pass. In one and two dimensions a row of cells is long beside its halo, so
// that depths of 8 to 16 are best, and a step of one changes little. In three dimensions registers and halos
// grow fast, and the best depth is 2 to 4.
var (
	flatDepths  = []int64{2, 4, 6, 8, 10, 12, 16, 20, 24, 32}
	solidDepths = []int64{2, 3, 4, 5, 6, 8}
)

// spanSeeds are configurations to begin with, by the number of axes: each was the fastest of some stencil on
// an H200 (bench/results/temporal-h200.json).
var spanSeeds = map[int][]string{
	2: {
		"family=pipe,block=1x32,cells=4,chunk=256,stages=4,sizes=literals",
		"family=pipe,block=4x32,cells=4,chunk=128,sizes=literals",
	},
	3: {
		"family=pipe,block=8x32,cells=5x2,chunk=0,persistent=1,sizes=literals,rimvec=1",
		"family=pipe,block=8x32,cells=10x2,chunk=256,sizes=literals,rims=step,rimtiles=all",
		"family=pipe,block=16x32,cells=5x2,chunk=0,persistent=1,sizes=literals,rimvec=1",
		"family=pipe,block=16x32,cells=5x2,chunk=256,sizes=literals,rimvec=1,rimtiles=all",
		"family=pipe,block=8x32,cells=4x2,chunk=0,persistent=1,sizes=literals,rims=step,rimless=own",
		"family=pipe,block=12x32,cells=4x2,chunk=0,persistent=1,sizes=literals,rims=step",
		"family=pipe,block=8x32,cells=5x2,chunk=0,persistent=1,sizes=literals,rims=step",
		"family=pipe,block=8x32,cells=3x2,chunk=0,persistent=1,sizes=literals,rimvec=1,rimless=own",
		"family=pipe,block=12x32,cells=5x2,chunk=0,persistent=1,sizes=literals,rims=step,rimless=own",
		"family=planes,block=8x64,rows=2,chunk=80,stages=1,copy=tensor,refetch=no,unroll=3,columns=all,sizes=literals",
		"family=planes,block=4x32,rows=3,chunk=40,stages=1,copy=tensor,unroll=3,columns=all,store=streaming",
		"family=planes,block=4x32,rows=4,chunk=40,stages=1,copy=tensor,refetch=no,columns=none,sizes=literals",
		"family=planes,block=16x64,chunk=80,stages=1,copy=tensor,unroll=3,loads=statements,columns=all,registers=128",
		"family=planes,block=16x16,chunk=80,stages=1,copy=tensor,unroll=2,loads=statements,columns=all,store=streaming",
	},
}

// planeSeeds are configurations to begin with where the statements of one iteration, or of a sequence, share a kernel.
var planeSeeds = map[int][]string{
	2: {"family=planes,block=128,chunk=64,sizes=literals"},
	3: {
		"family=planes,block=8x32,chunk=160,stages=1,copy=tensor,unroll=3,sizes=literals,registers=200",
		"family=planes,block=8x32,rows=4,chunk=40,stages=1,copy=tensor,columns=all,sizes=literals,cse=yes",
		"family=planes,block=8x16,rows=2,chunk=40,stages=1,copy=tensor,unroll=2,loads=terms,columns=halos,sizes=literals",
		"family=planes,block=4x64,chunk=32,stages=1,loads=terms,columns=halos,layout=shifted,sizes=literals",
		"family=planes,block=4x64,rows=3,chunk=16,stages=1,loads=terms,columns=none,store=streaming,layout=shifted",
		"family=planes,block=8x32,rows=2,vec=2,chunk=128,stages=0,sizes=literals",
		"family=planes,block=4x32,rows=4,vec=2,chunk=128,stages=1,sizes=literals",
		"family=planes,block=4x32,chunk=160,prefetch=1,stages=1,copy=tensor,unroll=3,sizes=literals,cse=yes",
		"family=planes,block=4x32,chunk=32,prefetch=1,stages=1,copy=tensor,loads=terms,sizes=literals",
		"family=planes,block=4x32,rows=2,chunk=128,prefetch=1,stages=1,copy=tensor,sizes=literals",
		"family=planes,block=8x32,chunk=0,stages=1,copy=tensor,refetch=no,unroll=3,columns=all,sizes=literals,cse=yes",
		"family=planes,block=16x16,rows=2,chunk=40,prefetch=1,stages=1,copy=tensor,unroll=3,columns=all,sizes=literals",
		"family=planes,block=16x16,rows=2,chunk=40,stages=1,copy=tensor,refetch=no,unroll=4,loads=terms,columns=all",
		"family=planes,block=4x64,chunk=32,stages=1,loads=terms,sizes=literals",
		"family=planes,block=16x32,chunk=16,prefetch=1,stages=1,copy=tensor,unroll=2,loads=statements,sizes=literals",
		"family=planes,block=8x32,chunk=160,stages=1,copy=tensor,refetch=no,unroll=3,sizes=literals",
		"family=planes,block=4x64,chunk=107,prefetch=1,stages=1,copy=tensor,unroll=3,sizes=literals",
		"family=planes,block=4x32,chunk=64,prefetch=1,stages=1,sizes=literals",
		"family=planes,block=4x32,chunk=32,prefetch=1,unroll=3,loads=terms,sizes=literals",
		"family=planes,block=8x32,chunk=32,prefetch=1,unroll=2,loads=statements,sizes=literals",
		"family=planes,block=4x32,chunk=32,stages=1,loads=terms,sizes=literals",
		"family=planes,block=4x32,chunk=64,prefetch=1,sizes=literals",
		"family=planes,block=8x32,chunk=64,prefetch=1,stages=1,unroll=2,sizes=literals",
		"family=planes,block=4x128,chunk=32,unroll=2,loads=statements,sizes=literals,registers=128",
		"family=planes,block=8x32,rows=2,chunk=160,unroll=2,loads=terms,sizes=literals,registers=64",
		"family=overlap,block=256,tile=4x8x32,sizes=literals",
		"family=planes,block=4x32,rows=2,vec=2,chunk=4,stores=rows,sizes=literals,cse=yes,registers=128",
	},
}

// loopSearch is the search for the depth of a loop.
type loopSearch struct {
	*tuning
	loop   *tunedLoop
	axes   int               // of its kernels
	depths []int64           // to try, in order
	named  []schedule.Kernel // those that the user's plan names, if it does
	single float64           // seconds of an iteration by kernels of its own
	spans  []*kernelSearch   // by depth
	at     int               // its place among the result's loops
	until  time.Time
	route  *deep.Route // by predictions; nil where depths are tried in their order
	// forecasts are predicted configurations by depth, the fastest first.
	forecasts map[int64][]prediction
	// trials is its limit, which is reached when lastTrial are made of the whole search; 0 is none.
	trials, lastTrial int
}

// begin finds the depths to try. The error says why there is none.
func (l *loopSearch) begin() error {
	least := flatDepths[0]
	if l.loop.once() {
		least = 1
	}
	span, err := graph.NewSpan(l.subject.bound.Program, l.loop.Loop, least)
	if err != nil {
		return err
	}
	l.axes = len(span.Axes)
	if l.named == nil {
		if l.opts.MaxDepth == 1 {
			return errors.New("no more than one iteration in a kernel is wanted")
		}
		depths := flatDepths
		if l.axes > 2 {
			depths = solidDepths
		}
		l.depths = l.loop.depths(depths, l.opts.MaxDepth)
	}
	if _, err := l.choice(l.depths[0]); err != nil {
		return err
	}
	_, err = l.loop.after(l.depths[0])
	return err
}

// choice returns the kernel of so many iterations, with the configurations that the user leaves of its space.
func (l *loopSearch) choice(depth int64) (lower.Choice, error) {
	c, err := lower.SpanChoice(l.subject.bound.Program, l.options, l.loop.Loop, int(depth))
	if err != nil {
		return c, err
	}
	own := schedule.Plan{Kernels: slices.DeleteFunc(slices.Clone(l.named),
		func(k schedule.Kernel) bool { return k.ID() != c.ID() })}
	spaces, _, err := own.Restrictions("plan").Apply([]string{c.ID()}, []schedule.Space{c.Space})
	if err != nil {
		return c, err
	}
	if l.opts.Restrict != nil {
		less, _, err := l.opts.Restrict([]string{c.ID()}, spaces)
		switch {
		case err == nil:
			spaces = less
		case l.named == nil: // what the plan names is wanted, whatever holds for other kernels
			return c, err
		}
	}
	c.Space = l.pruneForCPU(l.loop.calls[0], withDefaults(spaces[0], c.Idle))
	c.Config = c.Space.Default("")
	return c, nil
}

// withDefaults returns a space in which the parameters of some roles have their defaults alone, where that leaves
// any configurations.
func withDefaults(s schedule.Space, roles []schedule.Role) schedule.Space {
	for _, r := range roles {
		var defaults []schedule.Value
		for _, f := range s.Families {
			if p := f.ForArray(r, ""); p != nil {
				defaults = append(defaults, p.Default)
			}
		}
		if less, err := s.On(r).Keep(defaults...); err == nil && len(defaults) > 0 {
			s = less
		}
	}
	return s
}

// singles returns the best plan of kernels of single iterations that was found.
func (t *tuning) singles() schedule.Plan {
	return t.withoutLoops(t.base())
}

// withoutLoops returns what a plan says of kernels of single iterations.
func (t *tuning) withoutLoops(plan schedule.Plan) schedule.Plan {
	plan.Kernels = slices.DeleteFunc(slices.Clone(plan.Kernels), t.subject.ofLoop)
	return plan
}

// goesOn reports whether the search goes on from kernels of all loops, which were the best plan of the program of which
// this one is a version. Kernels of single calls are not searched then.
func (t *tuning) goesOn() bool {
	if len(t.opts.from) == 0 {
		return false
	}
	within := map[string]bool{} // the calls of such loops
	for _, l := range t.loops {
		for _, depth := range l.depths {
			if len(l.goodBefore(depth)) == 0 {
				continue
			}
			for _, call := range l.loop.calls {
				within[call.name] = true
			}
		}
	}
	return len(t.loops) > 0 && !slices.ContainsFunc(t.calls, func(c *tunedCall) bool { return !within[c.name] })
}

// goodBefore returns the best configurations of so many iterations of the loop in the program of which this one is a
// version: of the same kernel, or of the only one that its best plan has, where calls were joined or split.
func (l *loopSearch) goodBefore(depth int64) []schedule.Config {
	from := l.opts.from
	if same := from[l.loop.kernel(depth, schedule.Config{}).ID()]; same != nil || l.loop.Set != nil || len(from) != 1 {
		return same
	}
	for name, configs := range from {
		if strings.HasSuffix(name, fmt.Sprintf("@%d", depth)) {
			return configs
		}
	}
	return nil
}

// kernelsUntil returns when the search of single iterations has to stop: loops get the rest of the time.
func (t *tuning) kernelsUntil() time.Time {
	until := t.searchUntil()
	if until.IsZero() || len(t.loops) == 0 {
		return until
	}
	if t.opts.yield > 0 { // loops need their part before that
		until = slices.MinFunc([]time.Time{until, t.yieldsAt()}, time.Time.Compare)
	}
	return until.Add(-time.Duration(deepPart * float64(until.Sub(t.searchBegan))))
}

// kernelTrials is how many trials the kernels of single iterations may make, if trials are limited.
func (t *tuning) kernelTrials() int {
	if len(t.loops) == 0 {
		return t.searchTrials()
	}
	return t.searchTrials() - int(deepPart*float64(t.searchTrials()))
}

// searchLoops searches the loops one after the other, each within an equal part of the time.
func (t *tuning) searchLoops(ctx context.Context) error {
	for i := 0; i < len(t.loops); i++ { // sets of calls may be added
		l := t.loops[i]
		if ctx.Err() != nil {
			return nil
		}
		if !l.limit(len(t.loops)-i, 1) {
			continue
		}
		other := l.alternatives()
		if other != nil {
			l.limit(len(t.loops)-i, wholePart)
		}
		if err := l.search(ctx); err != nil {
			return err
		}
		if other != nil {
			if err := l.goOn(ctx, i, other); err != nil {
				return err
			}
		}
		for _, k := range l.spans {
			if len(k.resumed) == 0 {
				continue
			}
			if err := k.countResumed(); err != nil {
				return err
			}
			k.collect()
			l.report(l.depthResult(k))
		}
	}
	return nil
}

// limit sets the time and the trials of a loop: a part of its share, where so many loops are left. It returns false if
// there are no trials left.
func (l *loopSearch) limit(left int, part float64) bool {
	if until := l.searchUntil(); !until.IsZero() {
		l.until = l.clock().Add(time.Duration(part * float64(until.Sub(l.clock())) / float64(left)))
	}
	if l.opts.Trials > 0 {
		if l.trials = int(part * float64(l.searchTrials()-l.counts.trials) / float64(left)); l.trials <= 0 {
			l.result.Loops[l.at].Stopped = "the trials are used up"
			return false
		}
		l.lastTrial = l.counts.trials + l.trials
	}
	return true
}

// search tries the depths, and then gives the best one the rest of the time.
func (l *loopSearch) search(ctx context.Context) error {
	r := &l.result.Loops[l.at]
	if r.Stopped = l.over(ctx); r.Stopped != "" {
		return nil
	}
	if why, err := l.measureSingle(ctx); why != nil || err != nil {
		if why != nil {
			r.stopped(why)
		}
		return err
	}
	l.planRoute(ctx)
	began, part := l.clock(), depthPart
	switch {
	case l.loop.once():
		part = 1
	case l.named != nil:
		part = 1 / float64(len(l.named))
	}
	for {
		depth, last := l.next()
		if depth > 0 {
			last = l.over(ctx)
		}
		if last != "" {
			r.Stopped = last
			break
		}
		until := l.until
		if !until.IsZero() {
			most := l.clock().Add(time.Duration(part * float64(until.Sub(began))))
			until = slices.MinFunc([]time.Time{until, most}, time.Time.Compare)
		}
		why, err := l.searchDepth(ctx, depth, until, part)
		if err != nil {
			return err
		}
		if why != nil && (l.route == nil || !l.triedAt(depth)) {
			r.stopped(why)
			break
		}
	}
	return l.refine(ctx)
}

// next returns the depth to try next; 0 if there is none, and why.
func (l *loopSearch) next() (depth int64, why string) {
	if l.route != nil {
		return l.route.Next(l.tried())
	}
	if why := l.notDeeper(); why != "" {
		return 0, why
	}
	switch n := len(l.spans); {
	case deep.Tipped(l.tried(), tipping):
		return 0, fmt.Sprintf("the last %d depths were not faster", tipping)
	case n < len(l.depths):
		return l.depths[n], ""
	case l.named != nil:
		return 0, "the plan names no other"
	}
	return 0, "it is the deepest that is tried"
}

// triedAt reports whether the search of a depth has come to anything.
func (l *loopSearch) triedAt(depth int64) bool {
	return slices.ContainsFunc(l.tried(), func(v deep.Version) bool { return v.Depth == depth && !v.Plain() })
}

// tried returns the times of the depths in the order of the search, the plain one first. A depth of which nothing works
// is not faster than others.
func (l *loopSearch) tried() []deep.Version {
	list := l.versions()[:1]
	for _, k := range l.spans {
		v := k.call.iterations.version(math.Inf(1))
		if k.best != nil {
			v.Seconds = k.best.Seconds
		}
		if len(k.list) > 0 || l.route != nil {
			list = append(list, v)
		}
	}
	return list
}

// over says why no more is tried; "" if more is.
func (l *loopSearch) over(ctx context.Context) string {
	switch {
	case ctx.Err() != nil:
		return "the search was interrupted"
	case !l.until.IsZero() && !l.clock().Before(l.until):
		return "the time is over"
	case l.targetReached():
		return "the target is reached"
	case l.trials > 0 && l.counts.trials >= l.lastTrial:
		return "the trials are used up"
	}
	return ""
}

// targetReached reports whether a kernel that is the whole program is fast enough.
func (t *tuning) targetReached() bool {
	if len(t.kernels) != 1 {
		return false
	}
	return slices.ContainsFunc(t.searches(), func(k *kernelSearch) bool {
		return k.best != nil && t.opts.Target.reached(k.gstencils(k.best.Seconds), t.bound)
	})
}

// measureSingle checks and times an iteration by the best kernels of its own; by the usual ones if those do not work
// together, as kernels may that see other rows than alone. It returns why spans cannot be compared with it.
func (l *loopSearch) measureSingle(ctx context.Context) (why, err error) {
	call := l.loop.alone(l.subject)
	best, usual := l.singles(), l.withoutLoops(l.defaultPlan)
	seconds, wrong := l.timeSingle(ctx, call, best)
	if wrong != nil && ctx.Err() == nil && !errors.Is(wrong, errNoTime) && !unusable(wrong) &&
		best.String() != usual.String() {
		first := wrong
		if seconds, wrong = l.timeSingle(ctx, call, usual); wrong == nil {
			l.note("%s: the best kernels of single calls do not work together, so the usual ones are compared with: %v",
				l.loop.place(), first)
		}
	}
	if wrong != nil {
		return l.blame(ctx, wrong)
	}
	l.single = seconds
	l.report(DepthResult{Depth: 1, Seconds: l.single})
	return nil, nil
}

// timeSingle returns the seconds of an iteration by kernels of its own.
func (l *loopSearch) timeSingle(ctx context.Context, call *tunedCall, plan schedule.Plan) (float64, error) {
	v, err := l.ready(ctx, call, plan)
	if err != nil {
		return 0, err
	}
	t, err := l.tryOnce(ctx, call, v)
	if err != nil {
		return 0, err
	}
	return measure.Median(t.Times), nil
}

// blame tells apart what ends the search of a loop and what ends all.
func (l *loopSearch) blame(ctx context.Context, err error) (why, failed error) {
	switch {
	case ctx.Err() != nil:
		return errors.New("the search was interrupted"), nil
	case errors.Is(err, errNoTime):
		return errors.New("the time is over"), nil
	case unusable(err):
		return nil, err
	}
	return fmt.Errorf("an iteration by kernels of its own cannot be measured: %w", err), nil
}

// ready compiles a variant and what it is compared with.
func (l *loopSearch) ready(ctx context.Context, call *tunedCall, plan schedule.Plan) (*compiled, error) {
	task := l.queue.addPlan(call.name, call.name+" by "+plan.String(), call, plan)
	if err := l.prepareIterations(ctx, call); err != nil {
		return nil, err
	}
	if err := l.expect(ctx, call); err != nil {
		return nil, err
	}
	if err := l.await(ctx, task); err != nil {
		return nil, err
	}
	return &task.compiled, nil
}

// tryOnce checks and times what is compiled.
func (t *tuning) tryOnce(ctx context.Context, call *tunedCall, c *compiled) (trial measure.Trial, err error) {
	rule := measure.Rule{Least: t.about.Least, Batches: mostBatches}
	t.queue.withoutCompilers(func() { trial, err = t.lab.Try(ctx, c.code, call.margins, rule, firstTrialLimit) })
	return trial, err
}

// searchDepth searches the kernels of a number of iterations. It returns why deeper ones are not to be tried.
func (l *loopSearch) searchDepth(ctx context.Context, depth int64, until time.Time, part float64) (why, err error) {
	after, err := l.loop.after(depth)
	if err != nil {
		return err, nil
	}
	choice, err := l.choice(depth)
	if err != nil {
		return err, nil
	}
	call := l.loop.span(l.subject, depth, after)
	if choice.Repeats() {
		call.iterations.repeat()
	}
	k := l.spanSearch(ctx, choice, call)
	if err := l.prepareIterations(ctx, k.call); err != nil {
		return l.blame(ctx, err)
	}
	if err := l.expect(ctx, k.call); err != nil {
		return l.blame(ctx, err)
	}
	l.spans, l.iterations[k.name] = append(l.spans, k), k.call
	k.until, k.latest, k.fewest = until, l.until, fewestAtDepth
	if !l.about.Shared {
		k.fewest = max(fewestAtDepth, min(l.about.Workers/2, mostForecast))
	}
	if err := l.run(ctx, k, part); err != nil {
		return nil, err
	}
	if k.best == nil && ctx.Err() == nil && !k.pastDeadline() {
		return fmt.Errorf("no kernel of %d iterations works: %s", depth, k.mostRefused()), nil
	}
	return nil, nil
}

// run searches a kernel of several iterations within a part of the loop's trials.
func (l *loopSearch) run(ctx context.Context, k *kernelSearch, part float64) error {
	if l.trials > 0 {
		k.trials = max(fewestAtDepth, int(part*float64(l.trials)))
		k.trials = max(1, min(k.trials, l.lastTrial-l.counts.trials))
	}
	l.event(Event{Kind: EventKernel, Kernel: k.name, Space: k.space.Count().String(),
		Share: part * deepPart / float64(len(l.loops))})
	err := k.setStrategy(ctx, nil, max(2*mostGood, int(part*deepPart*float64(l.likelyTrials()))))
	if err == nil {
		err = k.run(ctx)
	}
	k.collect()
	l.report(l.depthResult(k))
	return err
}

// mostRefused words why the last configuration that did not work was refused.
func (k *kernelSearch) mostRefused() string {
	for _, o := range slices.Backward(k.list) {
		if o.Message != "" {
			return o.Message
		}
	}
	return "none was tried"
}

// spanSearch makes the search of a kernel of several iterations. It starts with what was best for the program of which
// this one is a version, with what was best at the depths next to it, the one below first, and with the seeds.
func (l *loopSearch) spanSearch(ctx context.Context, c lower.Choice, call *tunedCall) *kernelSearch {
	k := l.kernelOf(c, call)
	k.starts = slices.Clone(l.goodBefore(call.iterations.depth))
	near := slices.Clone(l.spans)
	slices.Reverse(near)
	if l.route != nil {
		away := func(s *kernelSearch) int64 { // in halves, so that those below come first
			n := 2 * (call.iterations.depth - s.call.iterations.depth)
			return max(n, 1-n)
		}
		slices.SortStableFunc(near, func(a, b *kernelSearch) int { return cmp.Compare(away(a), away(b)) })
	}
	for _, before := range near {
		for _, a := range before.leaders[:min(len(before.leaders), mostStarts)] {
			k.starts = append(k.starts, a.config)
		}
	}
	k.starts = append(k.starts, l.seeds(k, l.route != nil)...)
	l.byForecast(ctx, k)
	k.addResult(0)
	return k
}

// refine goes on with the depth that is fastest per iteration, for the rest of the time.
func (l *loopSearch) refine(ctx context.Context) error {
	var best *kernelSearch
	for _, k := range l.spans {
		if k.best != nil && (best == nil || k.perIteration() < best.perIteration()) {
			best = k
		}
	}
	if best == nil || best.perIteration() >= l.single || l.over(ctx) != "" {
		return nil
	}
	if err := l.expect(ctx, best.call); err != nil {
		return err
	}
	best.until = l.until
	starts := best.starts // those that the first pass had no time for come after the leaders
	best.starts = nil
	for _, a := range best.leaders {
		best.starts = append(best.starts, a.config)
	}
	best.starts = append(best.starts, starts...)
	return l.run(ctx, best, 1-depthPart*float64(len(l.spans)))
}

func (k *kernelSearch) perIteration() float64 {
	return k.best.Seconds / float64(k.call.iterations.depth)
}

// versions returns the times of the depths that were measured, the plain one first.
func (l *loopSearch) versions() []deep.Version {
	list := []deep.Version{{Depth: 1, Seconds: l.single}}
	for _, k := range l.spans {
		if k.best != nil {
			list = append(list, k.call.iterations.version(k.best.Seconds))
		}
	}
	return list
}
