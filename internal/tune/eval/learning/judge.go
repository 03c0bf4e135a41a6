package learning

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/predict"
)

// nearBest is the part of the best candidate's speed that runs are counted to, and mostRuns where counting ends.
const (
	nearBest = 0.9
	mostRuns = 50
)

// Metric is what is judged, of one kernel.
type Metric struct {
	Name string
	Doc  string
	// Geometric says that means over kernels are geometric.
	Geometric bool
	Fewer     bool // is better
	of        func(j *judged) float64
}

// Metrics are all of them.
var Metrics = []Metric{
	{"first pick", "share of the best that was recorded; of the next pick where one is refused", true, false,
		(*judged).first},
	{"first pick of candidates", "share of the best candidate", true, false,
		func(j *judged) float64 { return j.first() / j.best }},
	{"first pick can run", "part of all that are not refused", false, false, (*judged).firstRuns},
	{"best of 5", "share of the best candidate", true, false,
		func(j *judged) float64 { return slices.Max(j.fraction[:min(5, len(j.fraction))]) / j.best }},
	{"runs to 90 %", "candidates run until one has 0.9 of the best of them, 50 at most", false, true, (*judged).runs},
	{"correlation", "of predicted and measured fractions", false, false, (*judged).correlation},
}

// judged are the candidates of a kernel in the order of a model.
type judged struct {
	trials    []int     // their indices
	fraction  []float64 // of the best that was recorded
	predicted []float64
	best      float64 // the largest fraction
}

// judge orders a kernel's candidates by their scores; it is nil if the kernel has none that ran. The usual
// configuration is one of them, as of each ranking: it is recorded of every kernel, whether it is fast or not.
func judge(e *predict.Examples, score scorer) (*judged, error) {
	var trials []int
	for i := range e.Trials {
		if e.IsCandidate(i) {
			trials = append(trials, i)
		}
	}
	scores, err := score(e, trials)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(trials))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b].order, scores[a].order) })
	j := &judged{}
	for _, i := range order {
		f := e.Fraction(&e.Trials[trials[i]])
		j.trials = append(j.trials, trials[i])
		j.fraction, j.predicted = append(j.fraction, f), append(j.predicted, scores[i].predicted)
		j.best = max(j.best, f)
	}
	if j.best == 0 {
		return nil, nil
	}
	return j, nil
}

// first is what a run with the first pick has: that of the next where one is refused.
func (j *judged) first() float64 { return predict.FirstToRun(j.fraction) }

// firstRuns is 1 if the first pick is not refused, and 0 otherwise.
func (j *judged) firstRuns() float64 {
	if j.fraction[0] > 0 {
		return 1
	}
	return 0
}

// runs counts the candidates until one is near the best.
func (j *judged) runs() float64 {
	return float64(min(j.near(), mostRuns))
}

// near is the place of the first candidate that is near the best, from 1.
func (j *judged) near() int {
	return 1 + slices.IndexFunc(j.fraction, func(f float64) bool { return f >= nearBest*j.best })
}

// correlation is Pearson's, of what was predicted and fractions; 0 if either is constant.
func (j *judged) correlation() float64 {
	return pearson(j.predicted, j.fraction)
}

// pearson is the correlation of two lists; 0 if either is constant.
func pearson(a, b []float64) float64 {
	n := float64(len(a))
	var meanA, meanB float64
	for i := range a {
		meanA, meanB = meanA+a[i]/n, meanB+b[i]/n
	}
	var ab, aa, bb float64
	for i := range a {
		ab += (a[i] - meanA) * (b[i] - meanB)
		aa += (a[i] - meanA) * (a[i] - meanA)
		bb += (b[i] - meanB) * (b[i] - meanB)
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}

// atRandom is what random orders of a kernel's candidates come to: the mean of some.
func atRandom(j *judged, of func(*judged) float64, geometric bool, seed uint64) float64 {
	const orders = 200
	r := rand.New(rand.NewPCG(seed, 1))
	x := &judged{fraction: slices.Clone(j.fraction), predicted: make([]float64, len(j.predicted)), best: j.best}
	total := 0.0
	for range orders {
		r.Shuffle(len(x.fraction), func(a, b int) { x.fraction[a], x.fraction[b] = x.fraction[b], x.fraction[a] })
		for i := range x.predicted {
			x.predicted[i] = float64(len(x.predicted) - i)
		}
		total += scale(of(x), geometric) / orders
	}
	return unscale(total, geometric)
}

// least is the smallest share that a geometric mean takes: a pick that cannot run has it.
const least = 1e-3

// scale is what means are taken of.
func scale(x float64, geometric bool) float64 {
	if geometric {
		return math.Log(max(least, x))
	}
	return x
}

func unscale(x float64, geometric bool) float64 {
	if geometric {
		return math.Exp(x)
	}
	return x
}
