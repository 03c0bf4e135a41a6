package search

import (
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

// modelled asks for the point of the greatest expected improvement (Jones, Schonlau, Welch 1998) by a random
// forest that learns from all trials (Hutter, Hoos, Leyton-Brown 2011). A second forest learns which points
// cannot run.
type modelled struct {
	queue
	*moves
	*encoder
	kind       *neighbourhood
	time       *forest // of the logarithm of seconds
	runs       *forest // of 1 for points that ran, 0 for others
	rows       [][]uint8
	pool       []forestCandidate
	everPooled map[string]bool // points that were ever in the pool
	untrained  int             // trials since the forests last grew
	failures   int             // trials that were not Good
	asked      int
	expanded   map[string]bool // points whose neighbours are in the pool
}

// forestCandidate is a point of the forests' pool.
type forestCandidate struct {
	p          Point
	row        []uint8
	time, runs []leaf
	score      float64
}

const (
	modelOpenings = 12
	timeTrees     = 30
	runsTrees     = 15
	regrowAllUpTo = 100 // trials up to which all trees are regrown
	regrownTrees  = 6   // trees that are regrown after that
	maxPool       = 1500
	poolStep      = 60 // random points that are added at once
	expandedBest  = 3  // trials whose neighbours are in the pool
	randomEvery   = 40 // one in so many points is random
)

func newModelled(p Problem, _ string) (Strategy, error) {
	m := newHistory(p)
	o := newForests(m)
	first := modelOpenings
	if p.Budget > 0 {
		first = min(first, max(p.Budget/4, 4))
	}
	for _, p := range m.openings(first) {
		o.add(p)
	}
	return &methodStrategy{m, o}, nil
}

// newForests returns the method without opening points.
func newForests(m *history) *modelled {
	o := &modelled{
		queue: queue{history: m}, moves: newMoves(m.Space), encoder: newEncoder(m.Problem), kind: &neighbourhoods[0],
		everPooled: map[string]bool{}, expanded: map[string]bool{},
	}
	o.time = newForest(timeTrees, 2, o.width, m.rng)
	o.runs = newForest(runsTrees, 1, o.width, m.rng)
	return o
}

func (o *modelled) next() (Point, bool) {
	if p, ok := o.take(); ok {
		return p, true
	}
	o.asked++
	if o.best < 0 || o.asked%randomEvery == 0 {
		return o.pick()
	}
	o.learn()
	if i := o.mostPromising(); i >= 0 {
		c := o.pool[i]
		o.pool = slices.Delete(o.pool, i, i+1)
		return c.p, true
	}
	return o.pick()
}

func (o *modelled) told(t Trial) {
	row, _ := o.row(t.Point)
	o.rows = append(o.rows, row)
	o.untrained++
	if t.Verdict != verdict.OK {
		o.failures++
	}
}

// learn updates the pool and the forests, and scores the pool.
func (o *modelled) learn() {
	o.fill()
	if o.untrained == 0 {
		return
	}
	n := regrownTrees
	switch {
	case len(o.trials) <= regrowAllUpTo || o.untrained > regrownTrees:
		n = timeTrees
	case len(o.trials) > treeSample: // each trial changes less than the one before
		n = max(2, regrownTrees*treeSample/len(o.trials))
	}
	o.untrained = 0
	var rows [][]uint8
	var values, runs []float64
	for i, t := range o.trials {
		if t.Verdict == verdict.OK {
			rows = append(rows, o.rows[i])
			values = append(values, math.Log(t.Seconds))
			runs = append(runs, 1)
		} else {
			runs = append(runs, 0)
		}
	}
	o.time.grow(n, rows, clipped(values))
	if o.failures > 0 {
		o.runs.grow(n/2, o.rows, runs)
	}
	for i := range o.pool {
		o.score(&o.pool[i], n)
	}
}

// score updates a candidate's score after n trees have grown anew.
func (o *modelled) score(c *forestCandidate, n int) {
	o.time.refresh(c.row, c.time, n)
	if o.failures > 0 {
		o.runs.refresh(c.row, c.runs, n/2)
	}
	c.score = o.expect(c)
}

// clipped compresses times far slower than the median, so that the trees spend their splits on fast points.
func clipped(values []float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	best, median := sorted[0], sorted[len(sorted)/2]
	most := median + (median - best)
	out := slices.Clone(values)
	for i, v := range out {
		if v > most {
			out[i] = most + (v-most)/8
		}
	}
	return out
}

// expect returns the expected improvement of the logarithm of time over the best, times the probability that
// the point runs.
func (o *modelled) expect(c *forestCandidate) float64 {
	mean, deviation := o.time.combine(c.time)
	deviation = max(deviation, 1e-3)
	gain := math.Log(o.trials[o.best].Seconds) - mean
	z := gain / deviation
	e := gain*math.Erfc(-z/math.Sqrt2)/2 + deviation*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
	if o.failures > 0 {
		p, _ := o.runs.combine(c.runs)
		e *= p*p + 0.01 // squared: a refusal teaches less than a time
	}
	return e
}

// fill adds random points and the neighbours of the best to the pool.
func (o *modelled) fill() {
	o.pool = slices.DeleteFunc(o.pool, func(c forestCandidate) bool { return !o.fresh(c.p) })
	for _, t := range o.top(expandedBest) {
		if key := t.Point.Key(); !o.expanded[key] {
			o.expanded[key] = true
			for _, p := range o.neighbours(t.Point, o.kind, o.rng) {
				o.offer(p)
			}
		}
	}
	if len(o.everPooled) == 0 {
		for _, p := range o.Candidates {
			o.offer(p)
		}
	}
	for range min(poolStep, maxPool-len(o.pool)) {
		o.offer(o.Space.Draw(o.rng))
	}
}

// offer adds a point to the pool if it is new there and its estimate does not defer it.
func (o *modelled) offer(p Point) {
	key := p.Key()
	if o.everPooled[key] || !o.fresh(p) {
		return
	}
	o.everPooled[key] = true
	row, ok := o.row(p)
	if !ok {
		return
	}
	c := forestCandidate{p: p, row: row, time: make([]leaf, timeTrees), runs: make([]leaf, runsTrees)}
	if o.time.grown > 0 {
		o.score(&c, timeTrees)
	}
	o.pool = append(o.pool, c)
}

// mostPromising returns the index of the candidate with the best score that is not too near to points in
// flight; -1 if the pool is empty.
func (o *modelled) mostPromising() int {
	best, most := -1, math.Inf(-1)
	for i := range o.pool {
		c := &o.pool[i]
		if c.score <= most {
			continue // points in flight can only lower it
		}
		score := c.score
		for _, p := range o.inFlight {
			score *= 1 - math.Exp(-o.distance(c.p, p))
		}
		if score > most {
			best, most = i, score
		}
	}
	return best
}

// distance counts the values that differ. Numbers next to each other count less.
func (o *modelled) distance(p, q Point) float64 {
	d := 0.0
	for i := range p {
		switch {
		case p[i] == q[i]:
		case p[i] < 0 || q[i] < 0 || !o.encoder.params[i].number():
			d++
		default:
			d += min(1, 0.5*math.Abs(float64(p[i]-q[i])))
		}
	}
	return d
}

func (o *modelled) likely(n int) []Point {
	list := o.peek(n)
	if len(list) == n {
		return list
	}
	scores := make([]float64, len(o.pool))
	for i := range o.pool {
		scores[i] = math.Inf(-1)
		if o.fresh(o.pool[i].p) {
			scores[i] = o.pool[i].score
		}
	}
	for _, i := range greatest(scores, n-len(list)) {
		if scores[i] > math.Inf(-1) {
			list = append(list, o.pool[i].p)
		}
	}
	return list
}

// greatest returns the indices of the n greatest values, the greatest first, the earlier of equals first.
func greatest(values []float64, n int) []int {
	var list []int
	for i, v := range values {
		if n < 1 || len(list) == n && !(v > values[list[n-1]]) {
			continue
		}
		at := len(list)
		for at > 0 && v > values[list[at-1]] {
			at--
		}
		list = slices.Insert(list, at, i)
		list = list[:min(n, len(list))]
	}
	return list
}
