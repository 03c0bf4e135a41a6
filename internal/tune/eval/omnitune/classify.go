package omnitune

import (
	"context"
	"hash/fnv"
	"io"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/learn"
)

// Algorithm 1 of Cummins et al.: a classifier says which size is the fastest. Where that was never run for the
// scenario, a fallback takes another one. On devices a size may be illegal. Of recordings it is known which are; of the
// scenarios that were measured for Cummins et al. it is only known which were run.

// classifiers say which size is the fastest.
var classifiers = []struct {
	name, doc string
	learn     func(*learn.Table) (learn.Classifier, error)
}{
	{"zeror", "the most frequent size", func(t *learn.Table) (learn.Classifier, error) { return learn.NewZeroR(t) }},
	{"naive bayes", "naive Bayes", func(t *learn.Table) (learn.Classifier, error) { return learn.NewBayes(t) }},
	{"j48", "a pruned tree by C4.5", func(t *learn.Table) (learn.Classifier, error) {
		return learn.NewC45(t, learn.C45Options{Leaf: 2, Confidence: 0.25})
	}},
	{"logistic", "multinomial logistic regression", func(t *learn.Table) (learn.Classifier, error) {
		return learn.NewLogistic(t, 0.1) // a ridge of 1e-8, as Weka's, takes thousands of steps here
	}},
	{"smo", "linear support vector machines", func(t *learn.Table) (learn.Classifier, error) {
		return learn.NewSVM(t, 1)
	}},
	{"class forest", "a random forest for classes", func(t *learn.Table) (learn.Classifier, error) {
		return learn.NewClassForest(t, learn.ForestOptions{Trees: 100, Leaf: 1, Seed: 1})
	}},
}

// fallbacks make the scores of sizes where the one that was predicted was not run.
var fallbacks = []struct {
	name, doc string
	make      func(from []*Scenario) func(x *Scenario, predicted, size Size) float64
}{
	{"baseline", "the best by geometric mean of the sizes that all examples ran or none refused", baselineFallback},
	{"random", "one at random", func([]*Scenario) func(*Scenario, Size, Size) float64 { return randomScore }},
	{"nearest", "the nearest by columns, rows and planes", func([]*Scenario) func(*Scenario, Size, Size) float64 {
		return func(_ *Scenario, predicted, size Size) float64 {
			return -math.Hypot(float64(predicted.Planes-size.Planes),
				math.Hypot(float64(predicted.Columns-size.Columns), float64(predicted.Rows-size.Rows)))
		}
	}},
}

// classifying are a family for each classifier, with all fallbacks.
func classifying() []Family {
	var list []Family
	for _, c := range classifiers {
		family := Family{learn: func(_ context.Context, s *Suite, from []*Scenario, _ Group) ([]Ranker, error) {
			table, sizes := fastestOf(s, from)
			learned, err := c.learn(table)
			if err != nil {
				return nil, err
			}
			var rankers []Ranker
			for _, f := range fallbacks {
				rankers = append(rankers, &classRanker{classifier: learned, sizes: sizes, fallback: f.make(from)})
			}
			return rankers, nil
		}}
		for _, f := range fallbacks {
			family.Models = append(family.Models, Model{
				c.name + ", " + f.name, c.doc + "; " + f.doc + " where its size was not run",
			})
		}
		list = append(list, family)
	}
	return list
}

// classRanker takes the size that a classifier predicts. One goroutine uses it.
type classRanker struct {
	classifier learn.Classifier
	sizes      []Size // the classes
	fallback   func(x *Scenario, predicted, size Size) float64
	of         *Scenario // that the last prediction was for
	predicted  Size
}

// fastestOf is a table of scenarios and the fastest size of each, and the sizes that its classes are.
func fastestOf(s *Suite, from []*Scenario) (t *learn.Table, sizes []Size) {
	t = &learn.Table{}
	for _, name := range s.Features {
		t.Features = append(t.Features, learn.Feature{Name: name})
	}
	for _, x := range from {
		if size := x.fastest(); !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
	}
	slices.SortFunc(sizes, compareSizes)
	for _, size := range sizes {
		t.Classes = append(t.Classes, size.String())
	}
	for _, x := range from {
		t.Rows, t.Labels = append(t.Rows, x.Features), append(t.Labels, slices.Index(sizes, x.fastest()))
	}
	return t, sizes
}

func (r *classRanker) pick(x *Scenario) choice {
	c := choice{size: pick(r, x), open: true}
	c.fallback = x.Sizes[c.size] != r.predicted
	c.unknown = !slices.Contains(x.known(), r.predicted)
	c.refused = len(refusedBefore(r, x, x.Sizes[c.size]))
	return c
}

// Score is more for the predicted size than for any other.
func (r *classRanker) Score(x *Scenario, size Size) float64 {
	if r.of != x {
		r.of, r.predicted = x, r.sizes[learn.Best(r.classifier.Classify(x.Features))]
	}
	if size == r.predicted {
		return math.Inf(1)
	}
	return r.fallback(x, r.predicted, size)
}

// baselineFallback scores sizes by the geometric mean of their speeds. Those that all examples ran come before others:
// they are the most likely to run anywhere. Where it is known what is refused, those come first that none refused.
func baselineFallback(from []*Scenario) func(*Scenario, Size, Size) float64 {
	logs, times, safe := bySize{}, map[Size]int{}, safeIn(from)
	for _, x := range from {
		for i, size := range x.Sizes {
			logs[size] += math.Log(max(x.Speeds[i], 1e-9))
			times[size]++
		}
	}
	return func(_ *Scenario, _, size Size) float64 {
		n := times[size]
		if n == 0 {
			return -2
		}
		score := math.Exp(logs[size] / float64(n)) // from 0 to 1
		if !safe(size, n) {
			score--
		}
		return score
	}
}

// safeIn tells whether a size that so many examples ran is taken to be legal everywhere.
func safeIn(from []*Scenario) func(size Size, ran int) bool {
	refused := map[Size]bool{}
	for _, x := range from {
		for _, size := range x.Illegal {
			refused[size] = true
		}
	}
	judged := !slices.ContainsFunc(from, func(x *Scenario) bool { return !x.Judged })
	return func(size Size, ran int) bool { return ran == len(from) || judged && !refused[size] }
}

// randomScore is a number of its own for each scenario and size, the same in every run.
func randomScore(x *Scenario, _, size Size) float64 {
	h := fnv.New64a()
	io.WriteString(h, x.Name+" "+size.String())
	return float64(h.Sum64()>>11) / (1 << 53)
}
