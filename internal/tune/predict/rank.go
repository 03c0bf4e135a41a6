package predict

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/learn"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
)

// Ranked is a configuration with what it is predicted to have of the fastest speed.
type Ranked struct {
	Config   schedule.Config `json:"-"`
	Fraction float64         `json:"predicted"` // no more than of those before it
	Alone    float64         `json:"-"`         // that is predicted of it, whatever stands before it
	// Needs are what it is predicted to take; nil if the model does not tell, or for those far from the first.
	Needs *Needs `json:"needs,omitempty"`
	// FastestOf is the program whose fastest configuration it is, where it stands at its place for that.
	FastestOf string `json:"fastest_of,omitempty"`
	// Usual says that it is the kernel's usual configuration, at its place for that.
	Usual bool `json:"usual,omitempty"`
	// leaves are where it comes to in the trees of the second level; nil if these do not rank it.
	leaves []int32
}

// Ranked configurations are chosen from so many candidates.
const usualCandidates = 10000

// Candidates are predicted by some trees, the best of them by more, and the best of those by all.
var screens = []struct{ trees, most int }{{20, math.MaxInt}, {60, 2500}, {math.MaxInt, finalists}}

const (
	finalists = 1000 // candidates that all trees are asked about
	regarded  = 300  // those that are looked at: of them is predicted what they take, and searches choose from them
)

// Ranked are the candidates that are ranked: the seeds of the kernel's families are among them. That all processors
// share a loop is said by leaving their number open, so that it holds on a machine with more.
func (k *Kernel) Ranked() []schedule.Config {
	return k.open(withOthers(k.Space, usualCandidates, k.Space.SeedConfigs()))
}

// open returns those of a list that do not say that all processors share a loop, for kernels of processors.
func (k *Kernel) open(list []schedule.Config) []schedule.Config {
	if k.Target.Kind() != lower.CPU {
		return list
	}
	all, roles := int64(processorsOf(k.Target)), k.Space.Roles()
	open := slices.DeleteFunc(slices.Clone(list), func(c schedule.Config) bool {
		return roles.Of(c).Int(schedule.Workers, 0) == all
	})
	if len(open) == 0 { // a plan says how many
		return list
	}
	return open
}

// Rank returns the candidates of a kernel, the fastest by prediction first.
func (m *Model) Rank(k *Kernel) []Ranked { return m.RankOf(k, k.Ranked()) }

// RankOf ranks some configurations of a kernel.
func (m *Model) RankOf(k *Kernel, candidates []schedule.Config) []Ranked {
	program, of := k.describe()
	order, rows := m.order(candidates, program, of)
	ranked := make([]Ranked, len(order))
	for i, x := range order {
		ranked[i] = Ranked{Config: candidates[x.index], Fraction: x.fraction, Alone: x.fraction}
	}
	first := ranked[:min(regarded, len(ranked))]
	if m.Resources != nil {
		width := len(m.Features) - len(program)
		var own []float64
		for _, x := range order[:len(first)] {
			own = append(own, rows[x.row*width:(x.row+1)*width]...)
		}
		for i, n := range m.Resources.given(k, program).needs(Configs(first, len(first)), own) {
			first[i].Needs = &n
		}
	}
	spillingLast(first)
	falling(ranked)
	return ranked
}

// Predict returns what configurations of a kernel are predicted to have of the fastest speed, by the first level.
func (m *Model) Predict(k *Kernel, list []schedule.Config) []float64 {
	predict := m.predictor(k)
	out := make([]float64, len(list))
	for i, c := range list {
		out[i] = predict(c)
	}
	return out
}

// predictor returns a function that predicts what a configuration of a kernel has of the fastest speed.
func (m *Model) predictor(k *Kernel) func(schedule.Config) float64 {
	program, of := k.describe()
	speed := m.Speed.Given(program)
	return func(c schedule.Config) float64 { return min(1, max(0, speed.Predict(of.Of(c)))) }
}

// order orders configurations, and returns the features of those that are left at the end: all but the program's.
func (m *Model) order(list []schedule.Config, program []float64, of features.Configurations) ([]scored, []float64) {
	width := len(m.Features) - len(program)
	speed := m.Speed.Given(program)
	rows := make([]float64, 0, len(list)*width)
	order := make([]scored, len(list))
	for i, c := range list {
		rows = of.Append(rows, c)
		order[i] = scored{index: i, row: i, sum: speed.Start()}
	}
	sums := make([]float64, len(list))
	asked := 0
	for _, s := range screens {
		first, trees := order[:min(s.most, len(order))], min(s.trees, speed.Trees())
		if asked > 0 { // what is left lies side by side, in its order
			left := make([]float64, 0, len(first)*width)
			for i := range first {
				left = append(left, rows[first[i].row*width:(first[i].row+1)*width]...)
				first[i].row = i
			}
			rows = left
		}
		for i, x := range first {
			sums[i] = x.sum
		}
		speed.Add(sums[:len(first)], rows, width, asked, trees)
		for i := range first {
			first[i].sum, first[i].fraction = sums[i], speed.Scaled(sums[i], trees)
		}
		slices.SortFunc(first, func(a, b scored) int {
			return cmp.Or(cmp.Compare(b.fraction, a.fraction), cmp.Compare(a.index, b.index))
		})
		asked = trees
	}
	return order, rows
}

// scored is a candidate under way.
type scored struct {
	index    int     // in the list
	row      int     // of its features, among those that are left
	sum      float64 // of the trees that were asked
	fraction float64 // that these predict
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

// Configs returns the configurations of the first n.
func Configs(list []Ranked, n int) []schedule.Config {
	var out []schedule.Config
	for _, x := range list[:min(n, len(list))] {
		out = append(out, x.Config)
	}
	return out
}

func sortRanked(list []Ranked) {
	slices.SortStableFunc(list, func(a, b Ranked) int { return cmp.Compare(b.Fraction, a.Fraction) })
}

// Likely returns n configurations at even distances from the best thousand of the ranking. What
// models err about are the configurations that they take for fast: those they are to learn from.
func (m *Model) Likely(k *Kernel, n int) []schedule.Config {
	ranked := m.Rank(k)
	ranked = ranked[:min(finalists, len(ranked))]
	n = min(n, len(ranked))
	list := make([]schedule.Config, n)
	for i := range n {
		list[i] = ranked[i*len(ranked)/n].Config
	}
	return list
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
	order, distance := m.byDistance(own)
	for _, i := range order {
		if len(list) == n {
			break
		}
		name := m.Programs[i].Name
		if !slices.ContainsFunc(list, func(o Neighbour) bool { return o.Name == name }) { // in other types or sizes
			list = append(list, Neighbour{name, distance[i]})
		}
	}
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

// Reasons returns for each ranked configuration the features that move its prediction most, from the mean of all that
// was learned, by the level that ranks it: each question of each tree moves it from one mean to the next (Saabas,
// treeinterpreter, 2014).
func (m *Model) Reasons(ctx context.Context, k *Kernel, list []Ranked, n int) ([][]Reason, error) {
	program, of := k.describe()
	all := make([][]Reason, len(list))
	for i, x := range list {
		row := of.Append(slices.Clone(program), x.Config)
		if m.Second == nil || x.leaves == nil {
			all[i] = reasons(m.Speed, m.Features, row, n)
			continue
		}
		variants, err := k.variants(ctx, []schedule.Config{x.Config}) // which were kept
		if err != nil {
			return nil, err
		}
		all[i] = reasons(m.Second.Speed, m.Second.Features, slices.Concat(row, variants[0]), n)
	}
	return all, nil
}

// reasons returns the features that move what trees predict of a row most.
func reasons(b *learn.Boosted, names []string, row []float64, n int) []Reason {
	effect := make([]float64, len(row))
	for _, t := range b.Trees {
		for at := 0; t[at].Low > 0; {
			next := t[at].High
			if row[t[at].Feature] <= t[at].Split {
				next = t[at].Low
			}
			effect[t[at].Feature] += b.Rate * (t[next].Value - t[at].Value)
			at = next
		}
	}
	var list []Reason
	for j, e := range effect {
		if e != 0 {
			list = append(list, Reason{names[j], row[j], e})
		}
	}
	slices.SortStableFunc(list, func(a, b Reason) int {
		return cmp.Compare(math.Abs(b.Effect), math.Abs(a.Effect))
	})
	return list[:min(n, len(list))]
}
