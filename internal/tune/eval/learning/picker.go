package learning

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/learn"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/search"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// Picker is a model that is judged.
type Picker struct {
	Name string
	// Learn returns what scores trials. Models of h are not made twice.
	Learn func(ctx context.Context, h *HeldOut, all []*predict.Examples) (scorer, error)
}

// scorer scores some trials of a kernel, by their indices.
type scorer func(e *predict.Examples, trials []int) ([]score, error)

// score is what a trial is ordered by, the higher the faster, and what is predicted of it.
type score struct{ order, predicted float64 }

// each scores each trial for itself: what is predicted orders them.
func each(predicted func(e *predict.Examples, trial int) float64) scorer {
	return func(e *predict.Examples, trials []int) ([]score, error) {
		var list []score
		for _, i := range trials {
			x := predicted(e, i)
			list = append(list, score{x, x})
		}
		return list, nil
	}
}

// The baselines, and the model that Gridloom has.
const (
	ZeroR = "zeror" // all candidates are alike: the first is as good as any
	Table = "table" // the mean fraction of the same configuration, without features
	Own   = "boosted"

	// Both is the model with both of its levels, as plans are taken from it.
	Both = "boosted, both levels"

	// Corrected is Both, and what is measured of its first picks corrects which follow, as in searches.
	Corrected = "boosted, corrected"

	// Neighbours are plain ones: of the paper on Lift, whatever the features.
	Neighbours = "5-nn"

	// Shuffled is our model of fractions that were shuffled within each kernel: there is nothing to learn, and if it is
	// better than random orders, then something leaks.
	Shuffled = "boosted, shuffled"
)

// Pickers are the models, the baselines first.
var Pickers = []Picker{
	{ZeroR, func(context.Context, *HeldOut, []*predict.Examples) (scorer, error) {
		return each(func(*predict.Examples, int) float64 { return 0 }), nil
	}},
	{Table, byTable},
	{Neighbours, regressor(func(n *learn.Numbers) (learn.Regressor, error) {
		return learn.NewNearest(n, componentShare, neighbours)
	})},
	{"forest", regressor(func(n *learn.Numbers) (learn.Regressor, error) {
		return learn.NewForest(n, learn.ForestOptions{Trees: 50, Leaf: 4, Seed: 1})
	})},
	{Own, byTrees},
	{Both, byBoth},
	{Corrected, byCorrected},
	{Shuffled, func(ctx context.Context, h *HeldOut, all []*predict.Examples) (scorer, error) {
		return byTrees(ctx, h, shuffled(all))
	}},
}

// byTrees scores by the first level of the model that Gridloom has.
func byTrees(_ context.Context, h *HeldOut, all []*predict.Examples) (scorer, error) {
	m, err := h.Learn(all)
	return each(func(e *predict.Examples, i int) float64 { return m.Speed.Predict(e.Rows[i]) }), err
}

// byBoth scores by both levels, as a ranking does: the first trials are lowered, and those that cannot be are the last
// of all. The usual configuration is among the first.
func byBoth(ctx context.Context, h *HeldOut, all []*predict.Examples) (scorer, error) {
	m, err := h.LearnBoth(ctx, all)
	if err != nil {
		return nil, err
	}
	if m.Second == nil { // no kernel can be lowered
		return byTrees(ctx, h, all)
	}
	return byRanking(ctx, m, func(_ *predict.Examples, ranked []predict.Ranked) []predict.Ranked { return ranked }), nil
}

// byCorrected scores by the order in which a search tries what both levels rank, or the only one of processors.
func byCorrected(ctx context.Context, h *HeldOut, all []*predict.Examples) (scorer, error) {
	m, err := h.LearnBoth(ctx, all)
	if err != nil {
		return nil, err
	}
	if m.Second == nil && m.API != session.CPU { // no kernel can be lowered
		return byTrees(ctx, h, all)
	}
	return byRanking(ctx, m, func(e *predict.Examples, ranked []predict.Ranked) []predict.Ranked {
		return corrected(ctx, m, e, ranked)
	}), nil
}

// byRanking scores by a ranking of what was tried, in another order.
func byRanking(ctx context.Context, m *predict.Model,
	order func(e *predict.Examples, ranked []predict.Ranked) []predict.Ranked) scorer {
	return func(e *predict.Examples, trials []int) ([]score, error) {
		var configs []schedule.Config
		at := map[string]int{}
		for i, trial := range trials {
			configs = append(configs, e.Trials[trial].Config)
			at[configs[i].String()] = i
		}
		ranked, err := m.RankTried(ctx, e.Kernel, configs)
		if err != nil {
			return nil, err
		}
		scores := make([]score, len(trials))
		for place, x := range order(e, ranked) {
			scores[at[x.Config.String()]] = score{float64(len(trials) - place), x.Alone}
		}
		return scores, nil
	}
}

// corrected puts those of a ranking first that auto tries first. All others keep their order.
func corrected(ctx context.Context, m *predict.Model, e *predict.Examples,
	ranked []predict.Ranked) []predict.Ranked {
	trials := map[string]*predict.Trial{}
	for i := range e.Trials {
		trials[e.Trials[i].Config.String()] = &e.Trials[i]
	}
	prior := m.Prior(ctx, e.Kernel, ranked, predict.AutoPrior)
	x := &search.Expected{
		Fractions: prior.Expected.Fractions, Alike: prior.Expected.Alike, Most: prior.Expected.Most,
	}
	place := map[string]int{}
	for i, c := range prior.Expected.Configs {
		x.Points = append(x.Points, search.Point{i})
		place[c.String()] = i
	}
	var leading []int
	var first []string // configurations that are tried
	for _, c := range prior.First {
		if i, ok := place[c.String()]; ok {
			leading = append(leading, i)
		} else {
			first = append(first, c.String())
		}
	}
	for _, i := range x.Follow(leading, func(i int) search.Trial {
		t := search.Trial{Point: x.Points[i], Verdict: verdict.Crash}
		if s := trials[prior.Expected.Configs[i].String()].Seconds; s > 0 {
			t.Verdict, t.Seconds = verdict.OK, s
		}
		return t
	}) {
		first = append(first, prior.Expected.Configs[i].String())
	}
	list := slices.Clone(ranked)
	before := func(r predict.Ranked) int {
		if i := slices.Index(first, r.Config.String()); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortStableFunc(list, func(a, b predict.Ranked) int { return cmp.Compare(before(a), before(b)) })
	return list
}

// shuffled returns kernels whose trials have each other's fractions.
func shuffled(all []*predict.Examples) []*predict.Examples {
	r := rand.New(rand.NewPCG(1, 3))
	var out []*predict.Examples
	for _, e := range all {
		x := *e
		x.Targets = slices.Clone(e.Targets)
		r.Shuffle(len(x.Targets), func(i, j int) { x.Targets[i], x.Targets[j] = x.Targets[j], x.Targets[i] })
		out = append(out, &x)
	}
	return out
}

// Lift's model: components with 95 % of the variance, five neighbours (Remmelg et al. 2020, section 5).
const (
	componentShare = 0.95
	neighbours     = 5
)

// regressor makes a picker of a learner of numbers.
func regressor(learner func(*learn.Numbers) (learn.Regressor, error)) func(context.Context, *HeldOut,
	[]*predict.Examples) (scorer, error) {
	return func(_ context.Context, _ *HeldOut, all []*predict.Examples) (scorer, error) {
		m, err := learner(predict.Numbers(all))
		return each(func(e *predict.Examples, i int) float64 { return m.Predict(e.Rows[i]) }), err
	}
}

// byTable scores a configuration by its mean fraction over other kernels. One that no other has is as fast as all are
// in the mean.
func byTable(_ context.Context, _ *HeldOut, all []*predict.Examples) (scorer, error) {
	type sum struct{ total, n float64 }
	of := map[string]*sum{}
	every := sum{}
	for _, e := range all {
		for i := range e.Trials {
			text := e.Trials[i].Config.String()
			if of[text] == nil {
				of[text] = &sum{}
			}
			x := e.Fraction(&e.Trials[i])
			of[text].total, of[text].n = of[text].total+x, of[text].n+1
			every.total, every.n = every.total+x, every.n+1
		}
	}
	return each(func(e *predict.Examples, i int) float64 {
		if s := of[e.Trials[i].Config.String()]; s != nil {
			return s.total / s.n
		}
		return every.total / math.Max(1, every.n)
	}), nil
}
