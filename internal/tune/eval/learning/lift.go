package learning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/gridloom/gridloom/internal/tune/learn"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
	"github.com/gridloom/gridloom/internal/tune/predict"
)

// LiftResult is what Remmelg et al. 2020 report, of programs that were recorded: their model's ranking of variants
// before anything is compiled (figures 5 to 7), and which features tell of the speed (figure 4).
type LiftResult struct {
	Programs   []LiftProgram `json:"programs"`
	Redundancy []Redundancy  `json:"redundancy"` // of the features of lowered variants, the largest first
	Models     []LiftModel   `json:"models"`
	Device     string        `json:"device"`
	Commit     string        `json:"commit"`
}

// LiftModel sums up a model over all programs: means over programs of the means over their types and sizes.
type LiftModel struct {
	Model       string        `json:"model"`
	Correlation float64       `json:"correlation"`
	First       float64       `json:"first_pick"` // geometric
	Reached     []ReachedMean `json:"reached"`
	Best        []LookMean    `json:"best_after"`
}

// LiftProgram is what came of one program, by models of the others.
type LiftProgram struct {
	Program     string    `json:"program"`
	Sizes       string    `json:"sizes"`
	Types       string    `json:"types"` // of the elements of its grids
	Model       string    `json:"model"`
	Variants    int       `json:"variants"`    // that were ranked
	Correlation float64   `json:"correlation"` // of predicted and measured speed
	First       float64   `json:"first_pick"`  // of the best
	Reached     []Reached `json:"reached"`
	Best        []Look    `json:"best_after"`

	stencil string
}

// Redundancy is how much a feature tells of the speed.
type Redundancy struct {
	Feature string  `json:"feature"`
	Value   float64 `json:"value"` // mutual information by the sum of both entropies: between 0 and 0.5
}

// lifts is Lift's model.
const lifts = "Lift's: components, 5 neighbours"

// liftModel is a model of variants that are described by rows.
type liftModel struct {
	name  string
	rows  []*predict.Examples
	learn func(context.Context, *HeldOut, []*predict.Examples) (scorer, error)
}

// liftModels are Lift's and ours, the baselines first. All rank the variants that can be lowered; where nothing is
// lowered that is not known, and the others are ranked, too.
func liftModels(own, low []*predict.Examples) []liftModel {
	var list []liftModel
	for _, p := range plotted(ZeroR, Table) {
		list = append(list, liftModel{p.Name, low, p.Learn})
	}
	nearest := func(share float64) func(*learn.Numbers) (learn.Regressor, error) {
		return func(n *learn.Numbers) (learn.Regressor, error) { return learn.NewNearest(n, share, neighbours) }
	}
	return append(list,
		liftModel{"plain 5 neighbours", low, regressed(nearest(1))}, // all components: the distance of all features
		liftModel{lifts, low, regressed(nearest(componentShare))},
		liftModel{"boosted, lowered", low, regressed(trees)},
		liftModel{"boosted, program and configuration", own, regressed(trees)},
	)
}

// Lift leaves out each program in turn, with all that are the same stencil. Models rank all variants that were
// recorded, those that a search chose left out.
func Lift(ctx context.Context, list []*predict.Recorded, commit string, log io.Writer) (*LiftResult, error) {
	var own, low []*predict.Examples
	for _, r := range list {
		fmt.Fprintf(log, "%s %s %s: counting %d variants\n", r.Name, r.Types(), r.Sizes(), len(r.Trials))
		e := predict.Describe(r)
		l, err := lowered(ctx, e)
		if err != nil {
			return nil, err
		}
		own, low = append(own, e), append(low, l)
	}
	out := &LiftResult{Redundancy: redundancies(low), Device: list[0].Device, Commit: commit}
	for _, m := range liftModels(own, low) {
		fmt.Fprintf(log, "%s\n", m.name)
		without := map[string]scorer{} // by the stencil that was left out
		for _, e := range m.rows {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if without[e.Stencil] == nil {
				others := slices.DeleteFunc(slices.Clone(m.rows), func(o *predict.Examples) bool {
					return o.Stencil == e.Stencil
				})
				if len(others) == 0 {
					return nil, errors.New("all programs are one stencil: nothing is left to learn from without it")
				}
				var err error
				if without[e.Stencil], err = m.learn(ctx, nil, others); err != nil {
					return nil, err
				}
			}
			j, err := judge(e, without[e.Stencil])
			if err != nil {
				return nil, err
			}
			if j == nil {
				return nil, fmt.Errorf("%s %s %s: none of the variants ran", e.Name, e.Types(), e.Sizes())
			}
			out.Programs = append(out.Programs, explored(e, m.name, j))
		}
		out.Models = append(out.Models, out.sum(m.name))
	}
	return out, nil
}

// explored says what comes of a program's variants in the order of a model.
func explored(e *predict.Examples, model string, j *judged) LiftProgram {
	p := LiftProgram{
		Program: e.Name, Sizes: e.Sizes(), Types: e.Types(), Model: model, Variants: len(j.fraction),
		Correlation: rounded(j.correlation()), First: rounded(j.fraction[0] / j.best), stencil: e.Stencil,
	}
	var c costs
	for _, i := range j.trials {
		c.compile, c.run = append(c.compile, e.Trials[i].Compile), append(c.run, e.Trials[i].Seconds)
	}
	for _, part := range partsOfBest {
		p.Reached = append(p.Reached, j.reached(c, part))
	}
	for _, runs := range looks {
		p.Best = append(p.Best, j.look(runs))
	}
	return p
}

// sum sums up a model.
func (r *LiftResult) sum(model string) LiftModel {
	var names []string
	var correlation, first []float64
	reached, best := make([][]Reached, len(partsOfBest)), make([][]Look, len(looks))
	for _, p := range r.Programs {
		if p.Model != model {
			continue
		}
		names = append(names, p.stencil)
		correlation, first = append(correlation, p.Correlation), append(first, scale(p.First, true))
		for i, x := range p.Reached {
			reached[i] = append(reached[i], x)
		}
		for i, x := range p.Best {
			best[i] = append(best[i], x)
		}
	}
	g := newGroups(names)
	m := LiftModel{
		Model: model, Correlation: rounded(g.mean(correlation, nil)), First: rounded(unscale(g.mean(first, nil), true)),
	}
	for _, list := range reached {
		m.Reached = append(m.Reached, sumReached(list, names))
	}
	for _, list := range best {
		m.Best = append(m.Best, sumLooks(list, names))
	}
	return m
}

// trees are those of Gridloom's models.
func trees(n *learn.Numbers) (learn.Regressor, error) { return predict.Grow(n) }

// regressed scores by a regressor of the speed, for rows of any features.
func regressed(learner func(*learn.Numbers) (learn.Regressor, error)) func(context.Context, *HeldOut,
	[]*predict.Examples) (scorer, error) {
	return func(_ context.Context, _ *HeldOut, all []*predict.Examples) (scorer, error) {
		n := &learn.Numbers{}
		for i := range all[0].Rows[0] {
			n.Features = append(n.Features, fmt.Sprint(i))
		}
		for _, e := range all {
			for i, row := range e.Rows {
				if e.Drawn[i] {
					n.Rows, n.Targets = append(n.Rows, row), append(n.Targets, e.Fraction(&e.Trials[i]))
				}
			}
		}
		m, err := learner(n)
		return each(func(e *predict.Examples, i int) float64 { return m.Predict(e.Rows[i]) }), err
	}
}

// lowered describes the candidates of a kernel by what is counted on their variants. Those that cannot be lowered are
// left out, and so are trials that are no candidates.
func lowered(ctx context.Context, e *predict.Examples) (*predict.Examples, error) {
	rows := make([][]float64, len(e.Rows))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				if row, err := e.Lowered(e.Trials[i].Config); err == nil {
					rows[i] = row
				}
			}
		})
	}
	for i := range e.Rows {
		if ctx.Err() != nil {
			break
		}
		if e.IsCandidate(i) {
			next <- i
		}
	}
	close(next)
	wg.Wait()
	of := *e.Recorded
	of.Trials = nil
	out := &predict.Examples{Recorded: &of, Stencil: e.Stencil, Program: e.Program}
	for i, row := range rows {
		if row != nil {
			of.Trials, out.Rows = append(of.Trials, e.Trials[i]), append(out.Rows, row)
			out.Targets, out.Drawn = append(out.Targets, e.Targets[i]), append(out.Drawn, e.Drawn[i])
		}
	}
	return out, context.Cause(ctx)
}

// redundancies are those of all features, of all variants.
func redundancies(all []*predict.Examples) []Redundancy {
	var list []Redundancy
	for j, f := range features.OfLowered {
		var x, y []float64
		for _, e := range all {
			for i, row := range e.Rows {
				if e.Drawn[i] {
					x, y = append(x, row[j]), append(y, e.Fraction(&e.Trials[i]))
				}
			}
		}
		list = append(list, Redundancy{f.Name, rounded(redundancy(x, y))})
	}
	slices.SortStableFunc(list, func(a, b Redundancy) int { return cmp.Compare(b.Value, a.Value) })
	return list
}

// bins is how many ranges of as many values a number is divided into for entropies.
const bins = 10

// redundancy is the mutual information of two numbers by the sum of their entropies (Remmelg et al. 2020, section 7.1).
func redundancy(x, y []float64) float64 {
	a, b := binned(x), binned(y)
	var of, with [bins]float64
	var both [bins][bins]float64
	n := float64(len(x))
	for i := range x {
		of[a[i]] += 1 / n
		with[b[i]] += 1 / n
		both[a[i]][b[i]] += 1 / n
	}
	entropy := func(p float64) float64 {
		if p == 0 {
			return 0
		}
		return -p * math.Log(p)
	}
	var hx, hy, hxy float64
	for i := range bins {
		hx, hy = hx+entropy(of[i]), hy+entropy(with[i])
		for k := range bins {
			hxy += entropy(both[i][k])
		}
	}
	if hx+hy == 0 {
		return 0
	}
	return max(0, hx+hy-hxy) / (hx + hy)
}

// binned returns the range of each number. Equal numbers are in one range.
func binned(x []float64) []int {
	sorted := slices.Sorted(slices.Values(x))
	out := make([]int, len(x))
	for i, v := range x {
		at, _ := slices.BinarySearch(sorted, v)
		out[i] = min(bins-1, at*bins/len(x))
	}
	return out
}

func rounded(x float64) float64 { return math.Round(x*1e4) / 1e4 }
