package search

import (
	"math"
	"slices"
)

// modelled asks for the point from which a model, learnt from all trials so far,
// expects the greatest improvement (Jones, Schonlau, Welch 1998; with a random
// forest as the model: Hutter, Hoos, Leyton-Brown 2011). A second forest learns
// which points cannot run.
type modelled struct {
	queue
	*moves
	*encoder
	kind  *neighbourhood
	time  *forest // of the logarithm of seconds
	runs  *forest // of 1 for points that run, 0 for others
	rows  [][]uint8
	pool  []candidate
	held  map[string]bool // points that were in the pool ever
	new   int             // trials told since the forests grew
	bad   int             // trials that were not Good
	asks  int
	known map[string]bool // points whose neighbours are in the pool
}

// candidate is a point that may be asked for.
type candidate struct {
	p          Point
	row        []uint8
	time, runs []leaf
	score      float64
}

const (
	modelOpenings = 12
	timeTrees     = 30
	runsTrees     = 15
	allAnew       = 100 // trials up to which all trees are grown anew
	treesAnew     = 6   // and after them so many
	poolMost      = 1500
	poolStep      = 60 // random points that the pool may gain at once
	around        = 3  // so many of the best have their neighbours in the pool
	randomEvery   = 40 // every so many asks is one at random
)

func newModelled(p Problem, _ string) (Strategy, error) {
	m := newMemory(p)
	o := newForests(m)
	first := modelOpenings
	if p.Budget > 0 {
		first = min(first, max(p.Budget/4, 4))
	}
	for _, p := range m.openings(first) {
		o.add(p)
	}
	return &agent{m, o}, nil
}

// newForests returns the method without points to begin with.
func newForests(m *memory) *modelled {
	o := &modelled{
		queue: queue{memory: m}, moves: newMoves(m.Space), encoder: newEncoder(m.Problem), kind: &neighbourhoods[0],
		held: map[string]bool{}, known: map[string]bool{},
	}
	o.time = newForest(timeTrees, 2, o.width, m.rng)
	o.runs = newForest(runsTrees, 1, o.width, m.rng)
	return o
}

func (o *modelled) next() (Point, bool) {
	if p, ok := o.take(); ok {
		return p, true
	}
	o.asks++
	if o.best < 0 || o.asks%randomEvery == 0 {
		return o.pick()
	}
	o.learn()
	if i := o.favourite(); i >= 0 {
		c := o.pool[i]
		o.pool = slices.Delete(o.pool, i, i+1)
		return c.p, true
	}
	return o.pick()
}

func (o *modelled) told(t Trial) {
	row, _ := o.row(t.Point)
	o.rows = append(o.rows, row)
	o.new++
	if t.Verdict != Good {
		o.bad++
	}
}

// learn brings the pool and the forests up to date, and scores the pool.
func (o *modelled) learn() {
	o.fill()
	if o.new == 0 {
		return
	}
	n := treesAnew
	switch {
	case len(o.trials) <= allAnew || o.new > treesAnew:
		n = timeTrees
	case len(o.trials) > treeSample: // one trial more changes less and less
		n = max(2, treesAnew*treeSample/len(o.trials))
	}
	o.new = 0
	var rows [][]uint8
	var values, runs []float64
	for i, t := range o.trials {
		if t.Verdict == Good {
			rows = append(rows, o.rows[i])
			values = append(values, math.Log(t.Seconds))
			runs = append(runs, 1)
		} else {
			runs = append(runs, 0)
		}
	}
	o.time.grow(n, rows, clipped(values))
	if o.bad > 0 {
		o.runs.grow(n/2, o.rows, runs)
	}
	for i := range o.pool {
		o.score(&o.pool[i], n)
	}
}

// score brings a candidate's score up to date, n trees being new.
func (o *modelled) score(c *candidate, n int) {
	o.time.ask(c.row, c.time, n)
	if o.bad > 0 {
		o.runs.ask(c.row, c.runs, n/2)
	}
	c.score = o.expect(c)
}

// clipped brings what is far slower than most nearer, so that the trees spend
// their splits on what is fast.
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

// expect returns the expected improvement on the best, in the logarithm of time,
// times the chance that the point runs.
func (o *modelled) expect(c *candidate) float64 {
	mean, deviation := o.time.sum(c.time)
	deviation = max(deviation, 1e-3)
	gain := math.Log(o.trials[o.best].Seconds) - mean
	z := gain / deviation
	e := gain*math.Erfc(-z/math.Sqrt2)/2 + deviation*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
	if o.bad > 0 {
		p, _ := o.runs.sum(c.runs)
		e *= p*p + 0.01 // squared: a refusal teaches less than a time
	}
	return e
}

// fill adds random points and the neighbours of the best to the pool, and
// leaves out those that promise least.
func (o *modelled) fill() {
	o.pool = slices.DeleteFunc(o.pool, func(c candidate) bool { return !o.fresh(c.p) })
	for _, t := range o.top(around) {
		if key := t.Point.Key(); !o.known[key] {
			o.known[key] = true
			for _, p := range o.neighbours(t.Point, o.kind, o.rng) {
				o.offer(p)
			}
		}
	}
	for range min(poolStep, poolMost-len(o.pool)) {
		o.offer(o.Space.Draw(o.rng))
	}
}

// offer puts a point into the pool if it is new there and can run.
func (o *modelled) offer(p Point) {
	key := p.Key()
	if o.held[key] || !o.fresh(p) {
		return
	}
	o.held[key] = true
	row, ok := o.row(p)
	if !ok {
		return
	}
	c := candidate{p: p, row: row, time: make([]leaf, timeTrees), runs: make([]leaf, runsTrees)}
	if o.time.grown > 0 {
		o.score(&c, timeTrees)
	}
	o.pool = append(o.pool, c)
}

// favourite returns the number of the candidate that promises most and is not
// too near to what is under way; -1 if the pool is empty.
func (o *modelled) favourite() int {
	best, most := -1, math.Inf(-1)
	for i := range o.pool {
		c := &o.pool[i]
		if c.score <= most {
			continue // being near to others makes it less
		}
		score := c.score
		for _, p := range o.under {
			score *= 1 - math.Exp(-o.distance(c.p, p))
		}
		if score > most {
			best, most = i, score
		}
	}
	return best
}

// distance counts the values that differ; numbers next to each other count less.
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

func (o *modelled) ahead(n int) []Point {
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

// greatest returns the places of the n greatest values, the greatest first and
// the earlier of equals.
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
