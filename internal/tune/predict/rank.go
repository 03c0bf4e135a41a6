package predict

import (
	"cmp"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
)

// Ranked is a configuration with what it is predicted to have of the fastest speed.
type Ranked struct {
	Config   schedule.Config `json:"-"`
	Fraction float64         `json:"predicted"`
	// Needs are what it is predicted to take; nil if the model does not tell, or for those far from the first.
	Needs *Needs `json:"needs,omitempty"`
}

// Ranked configurations are chosen from so many candidates.
const usualCandidates = 10000

// All candidates are predicted by some trees, and so many of them, the best by those, by all trees.
const (
	firstTrees = 60
	finalists  = 1000
)

// Rank returns the candidates of a kernel, the fastest by prediction first. The seeds of the kernel's families are
// candidates, too.
func (m *Model) Rank(k *Kernel) []Ranked {
	program, of := k.describe()
	candidates := Candidates(k.Space, usualCandidates)
	for _, c := range k.Space.SeedConfigs() {
		if !slices.ContainsFunc(candidates, c.Equal) {
			candidates = append(candidates, c)
		}
	}
	list := make([]Ranked, len(candidates))
	speed := m.Speed.Given(program)
	row := make([]float64, 0, len(m.Features))
	for i, c := range candidates {
		row = of.Append(row[:0], c)
		list[i] = Ranked{Config: c, Fraction: speed.PredictFirst(row, firstTrees)}
	}
	sortRanked(list)
	first := list[:min(finalists, len(list))]
	var resources *givenResources
	if m.Resources != nil {
		resources = m.Resources.given(k, program)
	}
	for i, x := range first {
		row = of.Append(row[:0], x.Config)
		first[i].Fraction = speed.Predict(row)
		if resources != nil {
			n := resources.needs(x.Config, row)
			first[i].Needs = &n
		}
	}
	sortRanked(first)
	spillingLast(first)
	falling(list)
	return list
}

// spillingLast moves those that are likely to spill behind all others, in their order. Speed knows that spilling is
// slow, but not that a compiler's code is refused where it spills and reads images or copies in bulk.
func spillingLast(list []Ranked) {
	slices.SortStableFunc(list, func(a, b Ranked) int { return cmp.Compare(a.spills(), b.spills()) })
}

func (r *Ranked) spills() int {
	if r.Needs != nil && r.Needs.MaySpill() {
		return 1
	}
	return 0
}

func sortRanked(list []Ranked) {
	slices.SortStableFunc(list, func(a, b Ranked) int { return cmp.Compare(b.Fraction, a.Fraction) })
}

// Neighbour is a program that a model has learned from, and how far another is from it.
type Neighbour struct {
	Name     string  `json:"name"`
	Distance float64 `json:"distance"`
}

// Nearest returns the n programs that are most like a kernel's, and whether the kernel is unlike all that was learned
// from: even those are far, or it is larger or smaller in something than any.
func (m *Model) Nearest(k *Kernel, n int) (list []Neighbour, far bool) {
	own := features.Program(k.Bound, k.Call)
	for _, e := range m.Programs {
		list = append(list, Neighbour{e.Name, m.distance(own, e.Features)})
	}
	slices.SortStableFunc(list, func(a, b Neighbour) int { return cmp.Compare(a.Distance, b.Distance) })
	list = list[:min(n, len(list))]
	return list, len(list) == 0 || list[0].Distance > m.Scale.Far || m.outside(own)
}

// outside reports whether a feature of a program is further from all that were seen than these are spread.
func (m *Model) outside(program []float64) bool {
	for j, unit := range m.Scale.Units {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, e := range m.Programs {
			lo, hi = min(lo, e.Features[j]), max(hi, e.Features[j])
		}
		if program[j] < lo-unit || program[j] > hi+unit {
			return true
		}
	}
	return false
}

// Reason is how much a feature moves a prediction.
type Reason struct {
	Feature string  `json:"feature"`
	Value   float64 `json:"value"`
	Effect  float64 `json:"effect"`
}

// Reasons returns the features that move a configuration's prediction most, from the mean of all that was learned:
// each question of each tree moves it from one mean to the next (Saabas, treeinterpreter, 2014).
func (m *Model) Reasons(k *Kernel, c schedule.Config, n int) []Reason {
	program, of := k.describe()
	row := of.Append(program, c)
	effect := make([]float64, len(row))
	for _, t := range m.Speed.Trees {
		for at := 0; t[at].Low > 0; {
			next := t[at].High
			if row[t[at].Feature] <= t[at].Split {
				next = t[at].Low
			}
			effect[t[at].Feature] += m.Speed.Rate * (t[next].Value - t[at].Value)
			at = next
		}
	}
	var list []Reason
	for j, e := range effect {
		if e != 0 {
			list = append(list, Reason{m.Features[j], row[j], e})
		}
	}
	slices.SortStableFunc(list, func(a, b Reason) int {
		return cmp.Compare(math.Abs(b.Effect), math.Abs(a.Effect))
	})
	return list[:min(n, len(list))]
}
