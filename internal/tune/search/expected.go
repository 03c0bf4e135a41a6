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
	Points    []Point   // in the order in which they are tried until one runs
	Fractions []float64 // of the fastest speed, that each is expected to have
	// Alike is how much of an error about one point is an error about another, by their places, which begin at 0: 1 of
	// all, and 0 of nothing. All of its values together are a covariance. A place is alike to itself by 1.
	Alike func(i, j int) float64
	Most  int // so many of them are asked for, after Problem.First
	// Nearby returns those of some neighbours of the fastest point that are to be chosen from, too, with their
	// fractions and the place of the first; the others follow it. Nil if there are none.
	Nearby func(neighbours []Point) (place int, points []Point, fractions []float64)
}

// Follow returns the places of some points, which are tried, and of those that are tried after them.
func (e *Expected) Follow(first []int, try func(place int) Trial) []int {
	var points []Point
	for _, i := range first {
		points = append(points, e.Points[i])
	}
	c := newCorrection(&Problem{Expected: e}, points)
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
// is the next (Jones, Schonlau, Welch 1998). Until one has run, nothing can be improved, and they keep their order.
type correction struct {
	Expected
	*moves
	left    int
	given   int            // points at the beginning; neighbours follow them
	places  []int          // of the points, for Alike
	at      map[string]int // place of a point, by its key
	taken   []bool
	tried   []int            // places of those that were measured
	errors  []float64        // of these: of the logarithms of their times; not a number if one could not run
	columns [][]float64      // of these: covariances of the own errors, with all points
	least   float64          // logarithm of the least time
	fastest Point            // that took it; nil while nothing ran
	trials  map[string]Trial // by the keys of their points
	around  map[string]bool  // points whose neighbours are chosen from, by their keys
}

// docs/performance-log.md, "Measurements correct a ranking" and "Neighbours of the fastest", says how these were
// chosen.
const (
	ownErrors    = 0.2  // deviation of a point's own error
	sharedErrors = 1.0  // of the error that all share
	timeErrors   = 0.05 // of measurements
	refusedError = 0.5  // that a point counts with which could not run, over the mean of the others
	leastGain    = 0.05 // improvements begin there: smaller ones are not what the first points are for
	leastShare   = 0.02 // less is not expected of any
	nearFirst    = 4    // after so many, every other one is no neighbour
)

// newCorrection chooses from the expected points of a problem, but for those that come first. Trials that are known are
// of a search that goes on: it would have come to the same neighbours.
func newCorrection(p *Problem, first []Point) *correction {
	c := &correction{Expected: *p.Expected, left: p.Expected.Most, at: map[string]int{}, least: math.Inf(1),
		trials: map[string]Trial{}, around: map[string]bool{}}
	c.Points, c.Fractions = nil, nil
	c.add(0, p.Expected.Points, p.Expected.Fractions)
	c.given = len(c.Points)
	if p.Space != nil {
		c.moves = newMoves(p.Space)
	}
	leading := map[string]bool{}
	for _, x := range first {
		leading[x.Key()] = true
		if i, ok := c.at[x.Key()]; ok {
			c.taken[i] = true
		}
	}
	following := 0
	for _, t := range p.Known {
		if !leading[t.Point.Key()] && following < c.Most { // next chose this one
			c.grow()
			following++
		}
		if i, ok := c.at[t.Point.Key()]; ok && !c.taken[i] {
			c.left--
		}
		c.told(t)
	}
	return c
}

// add adds points to those that are chosen from, which have places from one on.
func (c *correction) add(place int, points []Point, fractions []float64) {
	for n, p := range points {
		i, key := len(c.Points), p.Key()
		_, twice := c.at[key]
		c.Points, c.Fractions = append(c.Points, p), append(c.Fractions, fractions[n])
		c.places, c.taken = append(c.places, place+n), append(c.taken, twice)
		for k, tried := range c.tried {
			c.columns[k] = append(c.columns[k], c.covariance(tried, i))
		}
		if twice { // a point that stands there twice is tried once
			continue
		}
		c.at[key] = i
		if t, ok := c.trials[key]; ok {
			c.learn(i, t)
		}
	}
}

// covariance is that of the own errors of two points.
func (c *correction) covariance(i, j int) float64 {
	return ownErrors * ownErrors * c.Alike(c.places[i], c.places[j])
}

// grow adds the neighbours of the fastest point that was measured, and that point itself: its error is like theirs.
func (c *correction) grow() {
	if c.Nearby == nil || c.left < 1 || c.fastest == nil || c.around[c.fastest.Key()] {
		return
	}
	c.around[c.fastest.Key()] = true
	for _, list := range [][]Point{{c.fastest}, c.neighboursInOrder(c.fastest, &neighbourhoods[0])} {
		list = slices.DeleteFunc(list, func(p Point) bool {
			_, known := c.at[p.Key()]
			return known
		})
		if len(list) > 0 {
			c.add(c.Nearby(list))
		}
	}
}

// expected is the logarithm of a point's time, but for errors.
func (c *correction) expected(i int) float64 { return -math.Log(max(leastShare, c.Fractions[i])) }

// told takes a trial, of whatever point. Nothing is learned once no more is chosen.
func (c *correction) told(t Trial) {
	if c.left < 1 {
		return
	}
	key := t.Point.Key()
	c.trials[key] = t
	if t.Verdict == verdict.OK && math.Log(t.Seconds) < c.least {
		c.least, c.fastest = math.Log(t.Seconds), slices.Clone(t.Point)
	}
	if i, ok := c.at[key]; ok && !slices.Contains(c.tried, i) {
		c.learn(i, t)
	}
}

// learn takes the trial of a point that is chosen from.
func (c *correction) learn(i int, t Trial) {
	c.taken[i] = true
	err := math.NaN()
	if t.Verdict == verdict.OK {
		err = math.Log(t.Seconds) - c.expected(i)
	}
	column := make([]float64, len(c.Points))
	for j := range column {
		column[j] = c.covariance(i, j)
	}
	c.tried, c.errors, c.columns = append(c.tried, i), append(c.errors, err), append(c.columns, column)
}

// next takes the point that is to be tried; false if there are no more.
func (c *correction) next() (Point, bool) {
	c.grow()
	list := c.likely(1)
	if len(list) == 0 {
		return nil, false
	}
	c.left--
	c.taken[c.at[list[0].Key()]] = true
	return list[0], true
}

// likely returns the n points of the greatest expected improvement, the greatest first, and fewer where fewer are left.
// Where the neighbours of what is fastest so far are all slow, they would be chosen for long, each a little faster than
// the one before. So every other of the later ones is of those that were expected at the beginning.
func (c *correction) likely(n int) []Point {
	var list []Point
	n = min(n, c.left, len(c.Points))
	if n < 1 {
		return nil
	}
	order := descending(c.gains())
	if chosen := c.Most - c.left; chosen >= nearFirst && chosen%2 == 1 {
		if k := slices.IndexFunc(order, func(i int) bool { return i < c.given && !c.taken[i] }); k > 0 {
			given := order[k]
			order = slices.Insert(slices.Delete(order, k, k+1), 0, given)
		}
	}
	for _, i := range order[:n] {
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
		if c.fastest == nil {
			gains[j] = -float64(j)
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
		gains[j] = improvement(c.least-leastGain, time, math.Sqrt(max(variance, 1e-9)))
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
