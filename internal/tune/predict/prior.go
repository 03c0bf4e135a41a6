package predict

import (
	"slices"

	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// Leading is how many of a ranking a search tries as they stand. What is measured of these corrects what is expected of
// the others, and so which follow.
const Leading = 3

// AutoPrior is how many configurations of each kernel auto begins with that a model expects to be fast. With so many,
// as they were ranked, it came to 95 % of the best in a sixth of the trials (bench/results/learning-h200.json).
const AutoPrior = 10

// Prior is what a search of a kernel is to know. It begins with n configurations: the first of a ranking, and what
// their measurements point to. What it estimates by afterwards is the first level alone: nothing is lowered for each
// point that a search looks at.
func (m *Model) Prior(k *Kernel, ranked []Ranked, n int) tuner.Prior {
	return tuner.Prior{
		First: Configs(ranked, min(n, Leading)), Expected: m.expectedOf(k, ranked, n-Leading),
		Candidates: Configs(ranked, regarded), Predict: m.predictor(k),
	}
}

// expectedOf is what a model expects of the candidates that searches choose from, of which most are tried: of those
// that the second level ranked, or by the first level of the first of the ranking if there are none. It is nil for less
// than one. Errors are alike as far as trees do not tell candidates apart.
func (m *Model) expectedOf(k *Kernel, ranked []Ranked, most int) *tuner.Expected {
	if most < 1 {
		return nil
	}
	e := &tuner.Expected{Most: most}
	var leaves [][]int32
	for _, x := range ranked {
		if x.leaves != nil {
			e.Configs, e.Fractions = append(e.Configs, x.Config), append(e.Fractions, x.Alone)
			leaves = append(leaves, x.leaves)
		}
	}
	if len(leaves) == 0 {
		program, of := k.describe()
		for _, x := range ranked[:min(regarded, len(ranked))] {
			e.Configs, e.Fractions = append(e.Configs, x.Config), append(e.Fractions, x.Alone)
			leaves = append(leaves, m.Speed.Leaves(of.Append(slices.Clone(program), x.Config)))
		}
	}
	e.Alike = func(i, j int) float64 { return shared(leaves[i], leaves[j]) }
	return e
}

// shared is the part of the trees in which two candidates come to the same leaf.
func shared(a, b []int32) float64 {
	n := 0
	for i := range a {
		if a[i] == b[i] {
			n++
		}
	}
	return float64(n) / float64(max(1, len(a)))
}
