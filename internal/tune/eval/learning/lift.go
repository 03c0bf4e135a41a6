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
	"github.com/gridloom/gridloom/internal/tune/measure"
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

// LiftModel sums up a model over all programs.
type LiftModel struct {
	Model       string  `json:"model"`
	Correlation float64 `json:"correlation"`   // mean
	Runs        float64 `json:"runs"`          // mean
	Median      float64 `json:"median_runs"`   // and the most
	Most        float64 `json:"most_runs"`     //
	Random      float64 `json:"random_runs"`   // mean
	Fewer       float64 `json:"fewer_runs_by"` // than in random orders: the geometric mean of the factors
	First       float64 `json:"first_pick"`    // geometric mean
}

// LiftProgram is what came of one program, by models of the others.
type LiftProgram struct {
	Program     string  `json:"program"`
	Model       string  `json:"model"`
	Variants    int     `json:"variants"`    // that were ranked
	Correlation float64 `json:"correlation"` // of predicted and measured speed
	Runs        float64 `json:"runs"`        // until a variant has 0.9 of the best
	Random      float64 `json:"random_runs"` // likewise, in random orders
	First       float64 `json:"first_pick"`  // of the best
}

// Redundancy is how much a feature tells of the speed.
type Redundancy struct {
	Feature string  `json:"feature"`
	Value   float64 `json:"value"` // mutual information by the sum of both entropies: between 0 and 0.5
}

// Lift leaves out each program in turn, with all that are the same stencil. Models rank all variants that were
// recorded and can be lowered, those that a search chose left out.
func Lift(ctx context.Context, list []*predict.Recorded, commit string, log io.Writer) (*LiftResult, error) {
	var own, low []*predict.Examples
	for _, r := range list {
		fmt.Fprintf(log, "%s: counting %d variants\n", r.Name, len(r.Trials))
		e := predict.Describe(r)
		l, err := lowered(ctx, e)
		if err != nil {
			return nil, err
		}
		own, low = append(own, e), append(low, l)
	}
	out := &LiftResult{Redundancy: redundancies(low)}
	models := []struct {
		name  string
		of    []*predict.Examples
		learn func(*learn.Numbers) (learn.Regressor, error)
	}{
		{"Lift's: components, 5 neighbours", low, func(n *learn.Numbers) (learn.Regressor, error) {
			return learn.NewNearest(n, componentShare, neighbours)
		}},
		{"boosted, lowered", low, trees},
		{"boosted, program and configuration", own, trees},
	}
	for _, m := range models {
		for k, e := range m.of {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			others := slices.DeleteFunc(slices.Clone(m.of), func(o *predict.Examples) bool {
				return o.Stencil == e.Stencil
			})
			if len(others) == 0 {
				return nil, errors.New("all programs are one stencil: nothing is left to learn from without it")
			}
			score, err := regressed(m.learn)(others)
			if err != nil {
				return nil, err
			}
			j, err := judge(e, each(score))
			if err != nil {
				return nil, err
			}
			if j == nil {
				return nil, fmt.Errorf("%s: none of the variants ran", e.Name)
			}
			out.Programs = append(out.Programs, LiftProgram{
				Program: e.Name, Model: m.name, Variants: len(j.fraction), First: rounded(j.fraction[0] / j.best),
				Correlation: rounded(j.correlation()), Runs: j.runs(),
				Random: rounded(atRandom(j, (*judged).runs, false, uint64(k))),
			})
		}
	}
	for _, m := range models {
		out.Models = append(out.Models, out.sum(m.name))
	}
	out.Device, out.Commit = list[0].Device, commit
	return out, nil
}

// sum sums up a model.
func (r *LiftResult) sum(model string) LiftModel {
	m := LiftModel{Model: model}
	var runs []float64
	for _, p := range r.Programs {
		if p.Model == model {
			runs = append(runs, p.Runs)
		}
	}
	n := float64(len(runs))
	for _, p := range r.Programs {
		if p.Model != model {
			continue
		}
		m.Correlation, m.Runs, m.Random = m.Correlation+p.Correlation/n, m.Runs+p.Runs/n, m.Random+p.Random/n
		m.Fewer += math.Log(p.Random/p.Runs) / n
		m.First += math.Log(max(least, p.First)) / n
	}
	m.Median, m.Most = measure.Median(runs), slices.Max(runs)
	for _, v := range []*float64{&m.Fewer, &m.First} {
		*v = math.Exp(*v)
	}
	for _, v := range []*float64{&m.Correlation, &m.Runs, &m.Random, &m.Fewer, &m.First} {
		*v = rounded(*v)
	}
	return m
}

// trees are those of Gridloom's models.
func trees(n *learn.Numbers) (learn.Regressor, error) { return predict.Grow(n) }

// regressed is a regressor of the speed, for rows of any features.
func regressed(learner func(*learn.Numbers) (learn.Regressor, error)) func([]*predict.Examples) (
	func(*predict.Examples, int) float64, error) {
	return func(all []*predict.Examples) (func(*predict.Examples, int) float64, error) {
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
		return func(e *predict.Examples, i int) float64 { return m.Predict(e.Rows[i]) }, err
	}
}

// lowered describes the variants of a kernel by what is counted on them. Those that cannot be lowered are no
// candidates.
func lowered(ctx context.Context, e *predict.Examples) (*predict.Examples, error) {
	out := *e
	out.Rows, out.Drawn = make([][]float64, len(e.Rows)), slices.Clone(e.Drawn)
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				out.Rows[i] = make([]float64, len(features.OfLowered))
				if !e.Drawn[i] {
					continue
				}
				row, err := e.Lowered(e.Trials[i].Config)
				if err != nil {
					out.Drawn[i] = false
					continue
				}
				out.Rows[i] = row
			}
		})
	}
	for i := range e.Rows {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	return &out, context.Cause(ctx)
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
