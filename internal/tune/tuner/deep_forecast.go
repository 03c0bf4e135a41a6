package tuner

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
	"github.com/gridloom/gridloom/internal/tune/deep"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// Before anything of several iterations is compiled, the cost model predicts the seeds of one depth after the other,
// and all tiles where registers bind. It goes by one while memory binds the best of them. From where it does not,
// depths gain little: the model goes on as long as they gain at all. The search begins with the depths that are
// predicted to be the fastest, and goes around the one that is.

// Depths that the model predicts: steps of one where kernels may still be bound by memory.
var (
	flatForecast  = []int64{2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32}
	solidForecast = []int64{2, 3, 4, 5, 6, 7, 8}
)

// smallSeeds are further configurations for the model to choose from, for domains that are small: tiles, of which
// others are too few for all multiprocessors, and blocks that stay on the device.
var smallSeeds = map[int][]string{
	2: {
		"family=pipe,block=1x32,cells=2,chunk=64,stages=4,sizes=literals",
		"family=pipe,block=1x32,cells=2,chunk=16,sizes=literals",
		"family=resident,block=16x32,cells=6x5,barrier=whole,sizes=literals",
		"family=resident,block=12x32,cells=6x5,sizes=literals",
		"family=resident,block=8x32,cells=4x4,sizes=literals",
	},
	3: {
		"family=pipe,block=8x32,cells=2x2,chunk=32,sizes=literals",
		"family=pipe,block=8x32,cells=2x1,chunk=16,sizes=literals",
	},
}

// mostForecast is how many configurations a search starts with that the model has put in order.
const mostForecast = 8

// forecastPart is the part of a loop's time that the model may take for tiles: where processors are few it tells
// about fewer of them.
const forecastPart = 0.1

// forecast is what the model predicts for a depth: the class of its best configuration, and its seconds.
type forecast struct {
	deep.Version
	class costmodel.Class
}

// planRoute predicts depths and sets the route. Where the model knows nothing of the device, there is none.
func (l *loopSearch) planRoute(ctx context.Context) {
	if l.named != nil || l.route != nil || l.loop.once() || l.byClass() {
		return
	}
	tiles, stop := ctx, func() {}
	if !l.until.IsZero() && l.opts.Clock == nil { // contexts do not follow a test's clock
		most := time.Duration(forecastPart * float64(l.until.Sub(l.clock())))
		tiles, stop = context.WithTimeout(ctx, most)
	}
	defer stop()
	list, possible := l.forecastDepths(ctx, tiles)
	if len(list) == 0 {
		return
	}
	var versions []deep.Version
	for _, f := range list {
		versions = append(versions, f.Version)
	}
	l.route = deep.Along(possible, versions)
}

// forecastDepths predicts one depth after the other, until others gain nothing. possible are all depths that fit into
// the loop. Where the model tells nothing of the first there are no predictions.
func (l *loopSearch) forecastDepths(ctx, tiles context.Context) (list []forecast, possible []int64) {
	depths := flatForecast
	if l.axes > 2 {
		depths = solidForecast
	}
	for _, d := range l.loop.depths(depths, l.opts.MaxDepth) {
		if _, err := l.loop.after(d); err != nil {
			break
		}
		possible = append(possible, d)
		if len(list) > 0 && pastTipping(list) {
			continue
		}
		switch f, ok := l.forecast(ctx, tiles, d); {
		case ok:
			list = append(list, f)
		case len(list) == 0:
			return nil, nil
		}
	}
	return list, possible
}

// pastTipping reports whether depths beyond those that were predicted gain nothing: memory does not bind the last
// ones any more, and the best is not among them.
func pastTipping(list []forecast) bool {
	var versions []deep.Version
	for _, f := range list {
		versions = append(versions, f.Version)
	}
	return list[len(list)-1].class != costmodel.Memory && deep.Tipped(versions, tipping)
}

// forecast predicts the best of the seeds and tiles at a depth; false if none can be predicted. The tiles have a
// context of their own.
func (l *loopSearch) forecast(ctx, tiles context.Context, depth int64) (forecast, bool) {
	choice, err := l.choice(depth)
	if err != nil {
		return forecast{}, false
	}
	k := l.kernelOf(choice, l.loop.span(l.subject, depth, 0))
	seeds := l.seeds(k, true)
	list := l.predictAll(ctx, k, seeds)
	for _, p := range l.predictAll(tiles, k, without(l.tiles(k), seeds)) {
		if !math.IsInf(p.seconds, 1) {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return forecast{}, false
	}
	sortPredictions(list)
	l.forecasts[depth] = list
	best := forecast{Version: k.call.iterations.version(list[0].seconds), class: list[0].class}
	return best, !math.IsInf(best.Seconds, 1)
}

// seeds returns the configurations of a kernel's space that are next to the seeds.
func (l *loopSearch) seeds(k *kernelSearch, small bool) []schedule.Config {
	texts := spanSeeds[l.axes]
	if k.call.iterations.depth == 1 {
		texts = slices.Concat(planeSeeds[l.axes], texts)
	}
	if small {
		texts = slices.Concat(texts, smallSeeds[l.axes])
	}
	var list []schedule.Config
	for _, text := range texts {
		if c, ok := k.space.Schedule().NearSeed(text); ok {
			list = append(list, c)
		}
	}
	return list
}

// prediction is of a configuration; infinite seconds are those of what cannot be predicted.
type prediction struct {
	config  schedule.Config
	seconds float64
	class   costmodel.Class
}

// predictAll predicts configurations of a kernel, on all processors.
func (l *loopSearch) predictAll(ctx context.Context, k *kernelSearch, list []schedule.Config) []prediction {
	out := make([]prediction, len(list))
	model, err := k.call.modelOf()
	if err != nil {
		return nil
	}
	var group sync.WaitGroup
	free := make(chan struct{}, max(1, l.about.Workers))
	for i, c := range list {
		out[i] = prediction{config: c, seconds: math.Inf(1)}
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			if ctx.Err() != nil {
				return
			}
			if class, e, err := predictSafely(model, k.call.part(k.with(c))); err == nil {
				out[i].seconds, out[i].class = e.Predicted, class
			}
		})
	}
	group.Wait()
	return out
}

// predictSafely is the model's prediction; a plan that makes lowering panic has none.
func predictSafely(m *costmodel.Model, plan schedule.Plan) (class costmodel.Class, e costmodel.Evidence, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errNoModel
		}
	}()
	return m.Roughly(plan)
}

func sortPredictions(list []prediction) {
	slices.SortStableFunc(list, func(a, b prediction) int { return cmp.Compare(a.seconds, b.seconds) })
}

// without returns the configurations of a list that others are not, each once.
func without(list, others []schedule.Config) []schedule.Config {
	known := map[string]bool{}
	for _, c := range others {
		known[c.String()] = true
	}
	var out []schedule.Config
	for _, c := range list {
		if text := c.String(); !known[text] {
			known[text] = true
			out = append(out, c)
		}
	}
	return out
}

// byForecast puts the configurations in order that a search starts with: those that are predicted to be the fastest,
// of these and of those that were predicted before. In three dimensions they are of different tiles; then come those
// that were the fastest at other depths, and the best tiles in all forms.
func (l *loopSearch) byForecast(ctx context.Context, k *kernelSearch) {
	if l.route == nil {
		return
	}
	list := slices.Clone(l.forecasts[k.call.iterations.depth])
	var before, given []schedule.Config
	for _, p := range list {
		before = append(before, p.config)
	}
	for _, c := range k.starts {
		if full, err := k.space.Schedule().Complete(c); err == nil {
			given = append(given, full)
		}
	}
	list = append(list, l.predictAll(ctx, k, without(given, before))...)
	sortPredictions(list)
	var sorted []schedule.Config
	for _, p := range list {
		if len(sorted) == 0 || !math.IsInf(p.seconds, 1) { // what cannot be predicted cannot be lowered
			sorted = append(sorted, p.config)
		}
	}
	if l.axes == 3 {
		first := differentTiles(sorted, mostForecast)
		k.starts = slices.Concat(first, given[:min(len(given), mostStarts)], k.inAllForms(first))
		return
	}
	k.starts = sorted[:min(len(sorted), mostForecast)]
}

// kernelOf makes the search of a kernel of several iterations, without a result.
func (l *loopSearch) kernelOf(c lower.Choice, call *tunedCall) *kernelSearch {
	plan := l.singles()
	plan.Kernels = append(plan.Kernels, c.Kernel)
	return &kernelSearch{
		tuning: l.tuning, kernel: c.Kernel, name: c.ID(), call: call, plan: plan,
		byCode: map[string]*Outcome{}, space: search.Of(c.Space), idle: c.Idle,
	}
}
