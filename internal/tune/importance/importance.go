// Package importance tells which parameters of a space matter, from
// configurations that were timed.
//
// It is functional analysis of variance (Hutter, Hoos, Leyton-Brown, "An
// Efficient Approach for Assessing Hyperparameter Importance", ICML 2014): a
// forest of trees is fitted to the logarithms of the times, and the variance of
// what the forest says, over all combinations of values, is taken apart by
// parameter.
package importance

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Run is a configuration that ran, with the values of its parameters as texts.
type Run struct {
	Values  map[string]string
	Seconds float64
}

// Parameter is how much a parameter matters.
type Parameter struct {
	Name string `json:"name"`
	// Share is the total effect (Homma, Saltelli 1996): the part of the variance
	// that is left when all other parameters are known. What parameters do
	// together counts for each of them, so that shares may add up to more than 1.
	Share float64 `json:"share"`
	// Range is how many times as slow the best run with the worst value is as the
	// best of all runs.
	Range  float64 `json:"range"`
	Values []Value `json:"values"` // the one with the fastest run first
}

// Value is what was seen of a parameter's value.
type Value struct {
	Value string  `json:"value"` // empty where a configuration does not have the parameter
	Runs  int     `json:"runs"`
	Best  float64 `json:"best"` // seconds of the fastest run
}

// fewest runs tell anything.
const fewest = 3

// Of returns the parameters that had more than one value, the most important
// first; nil for too few runs. Names says in which order parameters are looked at.
func Of(names []string, runs []Run) []Parameter {
	if len(runs) < fewest {
		return nil
	}
	best := slices.MinFunc(runs, func(a, b Run) int { return cmp.Compare(a.Seconds, b.Seconds) }).Seconds
	var list []Parameter
	s := sample{}
	for _, name := range names {
		p := Parameter{Name: name}
		column := make([]int, len(runs))
		for i, r := range runs {
			v := r.Values[name]
			n := slices.IndexFunc(p.Values, func(x Value) bool { return x.Value == v })
			if n < 0 {
				n = len(p.Values)
				p.Values = append(p.Values, Value{Value: v, Best: r.Seconds})
			}
			x := &p.Values[n]
			x.Runs++
			x.Best = min(x.Best, r.Seconds)
			column[i] = n
		}
		if len(p.Values) < 2 {
			continue
		}
		s.columns = append(s.columns, column)
		s.values = append(s.values, len(p.Values))
		slices.SortStableFunc(p.Values, func(a, b Value) int { return cmp.Compare(a.Best, b.Best) })
		p.Range = p.Values[len(p.Values)-1].Best / best
		list = append(list, p)
	}
	for _, r := range runs {
		s.logs = append(s.logs, math.Log(r.Seconds))
	}
	for i, share := range s.shares() {
		list[i].Share = share
	}
	slices.SortStableFunc(list, func(a, b Parameter) int { return cmp.Compare(b.Share, a.Share) })
	return list
}

// sample is runs by numbers: of the values of each parameter, in the order of
// the runs.
type sample struct {
	columns [][]int
	values  []int // how many each parameter has
	logs    []float64
}

const (
	trees = 64
	draws = 2000 // combinations of values at which the forest is asked
)

// shares returns the total effect of each parameter by drawing pairs of
// combinations that differ in that parameter alone (Jansen 1999). Each value of a
// parameter is as likely as each other.
func (s *sample) shares() []float64 {
	shares := make([]float64, len(s.columns))
	if len(shares) == 0 {
		return shares
	}
	rng := rand.New(rand.NewPCG(1, 2)) // the same runs give the same shares
	var forest []*node
	all := make([]int, len(s.logs))
	for i := range all {
		all[i] = i
	}
	for range trees {
		forest = append(forest, s.grow(rng, slices.Clone(all)))
	}
	ask := func(x []int) float64 {
		sum := 0.0
		for _, t := range forest {
			sum += t.at(x)
		}
		return sum / trees
	}
	sum, squares := 0.0, 0.0
	x := make([]int, len(s.columns))
	for range draws {
		for i := range x {
			x[i] = rng.IntN(s.values[i])
		}
		y := ask(x)
		sum += y
		squares += y * y
		for i, old := range x {
			x[i] = rng.IntN(s.values[i])
			d := y - ask(x)
			shares[i] += d * d / 2
			x[i] = old
		}
	}
	variance := squares - sum*sum/draws
	for i := range shares {
		if variance <= 0 {
			shares[i] = 0
			continue
		}
		shares[i] = min(shares[i]/variance, 1)
	}
	return shares
}

// node is a node of a tree: those with a value of the parameter that is in left
// go there.
type node struct {
	parameter   int
	in          []bool // by value
	left, right *node  // nil at a leaf
	mean        float64
}

// at returns what the tree says of a combination of values.
func (n *node) at(x []int) float64 {
	for n.left != nil {
		if n.in[x[n.parameter]] {
			n = n.left
		} else {
			n = n.right
		}
	}
	return n.mean
}

// grow grows a tree over some runs until the runs of a leaf are alike: an
// extremely randomized tree (Geurts, Ernst, Wehenkel 2006). Of one random split of
// the values of each parameter it takes the one that leaves the least variance;
// that finds effects of several parameters together, too, of which no single one
// shows anything.
func (s *sample) grow(rng *rand.Rand, runs []int) *node {
	n := &node{}
	for _, i := range runs {
		n.mean += s.logs[i] / float64(len(runs))
	}
	most := math.Inf(-1)
	for p := range s.columns {
		in := s.part(rng, p, runs)
		if in == nil {
			continue
		}
		sum, count := 0.0, 0.0
		for _, i := range runs {
			if in[s.columns[p][i]] {
				sum += s.logs[i] - n.mean
				count++
			}
		}
		// The sums on both sides are the same but for their sign.
		if gain := sum * sum * (1/count + 1/(float64(len(runs))-count)); gain > most {
			most, n.parameter, n.in = gain, p, in
		}
	}
	if n.in == nil {
		return n
	}
	left := 0
	for k, i := range runs {
		if n.in[s.columns[n.parameter][i]] {
			runs[left], runs[k] = runs[k], runs[left]
			left++
		}
	}
	n.left, n.right = s.grow(rng, runs[:left]), s.grow(rng, runs[left:])
	return n
}

// part draws a part of a parameter's values that some of the runs have and others
// have not; nil if all runs have the same value. Values that none has are on
// either side.
func (s *sample) part(rng *rand.Rand, p int, runs []int) []bool {
	there := make([]bool, s.values[p])
	var values []int
	for _, i := range runs {
		if v := s.columns[p][i]; !there[v] {
			there[v] = true
			values = append(values, v)
		}
	}
	if len(values) < 2 {
		return nil
	}
	in := make([]bool, s.values[p])
	for v := range in {
		in[v] = rng.IntN(2) == 0
	}
	k := rng.IntN(len(values))
	in[values[k]] = true // neither side is empty
	in[values[(k+1+rng.IntN(len(values)-1))%len(values)]] = false
	return in
}
