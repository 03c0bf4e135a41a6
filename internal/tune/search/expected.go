package search

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

// Expected are points that a model expects to be fast. What is measured of some corrects what is expected of the
// others: errors of a model are alike for points that are alike to it.
type Expected struct {
	Points    []Point
	Fractions []float64 // of the fastest speed, that each is expected to have
	// Alike is how much of an error about one point is an error about another, by their places: 1 of all, and 0 of
	// nothing. All of its values together are a covariance. A place is alike to itself by 1.
	Alike func(i, j int) float64
	Most  int // so many of them are asked for, after Problem.First
}

// Follow returns the places of some points, which are tried, and of those that are tried after them.
func (e *Expected) Follow(first []int, try func(place int) Trial) []int {
	var points []Point
	for _, i := range first {
		points = append(points, e.Points[i])
	}
	c := newCorrection(e, points, nil)
	order := slices.Clone(first)
	for _, i := range first {
		c.told(try(i))
	}
	for p, ok := c.next(); ok; p, ok = c.next() {
		i := c.at[p.Key()]
		order = append(order, i)
		c.told(try(i))
	}
	return order
}

// correction chooses from expected points. The logarithm of a time is what is expected of it, and an error that is a
// Gaussian process (Rasmussen and Williams 2006): one that all points share, for what the fastest speed is nobody
// knows, and one of each, as much like those of others as Alike tells. The point of the greatest expected improvement
// is the next (Jones, Schonlau, Welch 1998).
type correction struct {
	*Expected
	left    int
	at      map[string]int // place of a point, by its key
	taken   []bool
	tried   []int       // places of those that were measured
	errors  []float64   // of these: of the logarithms of their times; not a number if one could not run
	columns [][]float64 // of these: covariances of the own errors, with all points
	least   float64     // logarithm of the least time
}

// docs/performance-log.md, "Measurements correct a ranking", says how these were chosen.
const (
	ownErrors    = 0.3  // deviation of a point's own error
	sharedErrors = 1.0  // of the error that all share
	timeErrors   = 0.05 // of measurements
	refusedError = 0.5  // that a point counts with which could not run, over the mean of the others
	leastGain    = 0.1  // improvements begin there: smaller ones are not what the first points are for
	leastShare   = 0.02 // less is not expected of any
)

// newCorrection chooses from expected points, but for those that come first. Trials that are known are of a search that
// goes on.
func newCorrection(e *Expected, first []Point, known []Trial) *correction {
	c := &correction{Expected: e, left: e.Most, at: map[string]int{}, taken: make([]bool, len(e.Points)),
		least: math.Inf(1)}
	for i, p := range e.Points {
		key := p.Key()
		if _, c.taken[i] = c.at[key]; !c.taken[i] { // a point that stands there twice is tried once
			c.at[key] = i
		}
	}
	for _, p := range first {
		if i, ok := c.at[p.Key()]; ok {
			c.taken[i] = true
		}
	}
	for _, t := range known {
		if i, ok := c.at[t.Point.Key()]; ok && !c.taken[i] {
			c.left--
		}
		c.told(t)
	}
	return c
}

// expected is the logarithm of a point's time, but for errors.
func (c *correction) expected(i int) float64 { return -math.Log(max(leastShare, c.Fractions[i])) }

// told takes a trial, of whatever point. Nothing is learned once no more is chosen.
func (c *correction) told(t Trial) {
	if c.left < 1 {
		return
	}
	if t.Verdict == verdict.OK {
		c.least = min(c.least, math.Log(t.Seconds))
	}
	i, ok := c.at[t.Point.Key()]
	if !ok || slices.Contains(c.tried, i) {
		return
	}
	c.taken[i] = true
	err := math.NaN()
	if t.Verdict == verdict.OK {
		err = math.Log(t.Seconds) - c.expected(i)
	}
	column := make([]float64, len(c.Points))
	for j := range column {
		column[j] = ownErrors * ownErrors * c.Alike(i, j)
	}
	c.tried, c.errors, c.columns = append(c.tried, i), append(c.errors, err), append(c.columns, column)
}

// next takes the point that is to be tried; false if there are no more.
func (c *correction) next() (Point, bool) {
	list := c.likely(1)
	if len(list) == 0 {
		return nil, false
	}
	c.left--
	c.taken[c.at[list[0].Key()]] = true
	return list[0], true
}

// likely returns the n points of the greatest expected improvement, the greatest first, and fewer where fewer are left.
func (c *correction) likely(n int) []Point {
	var list []Point
	n = min(n, c.left, len(c.Points))
	if n < 1 {
		return nil
	}
	for _, i := range descending(c.gains())[:n] {
		if !c.taken[i] {
			list = append(list, slices.Clone(c.Points[i]))
		}
	}
	return list
}

// gains are what the points are expected to gain; those that are taken gain less than all others.
func (c *correction) gains() []float64 {
	gains := make([]float64, len(c.Points))
	errors, weights, factor := c.solve()
	column, solved := mat.NewVecDense(max(1, len(c.tried)), nil), &mat.VecDense{}
	for j := range gains {
		if c.taken[j] {
			gains[j] = math.Inf(-1)
			continue
		}
		time, variance := c.expected(j)+errors, ownErrors*ownErrors+sharedErrors*sharedErrors
		if factor != nil {
			for a := range c.tried {
				column.SetVec(a, c.columns[a][j]+sharedErrors*sharedErrors)
			}
			time += mat.Dot(column, weights)
			if factor.SolveVecTo(solved, column) == nil {
				variance -= mat.Dot(column, solved)
			}
		}
		gains[j] = -time
		if !math.IsInf(c.least, 1) { // something ran
			gains[j] = improvement(c.least-leastGain, time, math.Sqrt(max(variance, 1e-9)))
		}
	}
	return gains
}

// solve returns the mean of the errors of what was tried, the factor of these errors' covariances, and by that the
// weights of each error for those of other points. The factor is nil while nothing was tried.
func (c *correction) solve() (mean float64, weights *mat.VecDense, factor *mat.Cholesky) {
	n := len(c.tried)
	if n == 0 {
		return 0, nil, nil
	}
	ran := slices.DeleteFunc(slices.Clone(c.errors), math.IsNaN)
	for _, e := range ran {
		mean += e / float64(len(ran))
	}
	errors, covariance := mat.NewVecDense(n, nil), mat.NewSymDense(n, nil)
	for a := range c.tried {
		errors.SetVec(a, c.errors[a]-mean)
		if math.IsNaN(c.errors[a]) {
			errors.SetVec(a, refusedError)
		}
		for b := range a + 1 {
			covariance.SetSym(a, b, c.columns[a][c.tried[b]]+sharedErrors*sharedErrors)
		}
		covariance.SetSym(a, a, covariance.At(a, a)+timeErrors*timeErrors)
	}
	factor, weights = &mat.Cholesky{}, &mat.VecDense{}
	if !factor.Factorize(covariance) || factor.SolveVecTo(weights, errors) != nil {
		return mean, nil, nil
	}
	return mean, weights, factor
}
