package search

import (
	"math"
	"slices"
)

// auto is the strategy to use when nothing is known of a space. It begins with
// a few points that are promising or far apart, and then asks for the point
// from which a model, learnt from all trials so far, expects most (Jones,
// Schonlau, Welch 1998). The model is a Gaussian process; it chooses from a pool
// of points drawn from the whole space and of all neighbours of the best, so
// that the search is wide and climbs at once, in spaces of any size and at a
// cost that does not depend on it.
type auto struct {
	queue
	*moves
	*surrogate
	model  *process
	row    map[string]int // of what the model has seen, by point
	renew  int            // number of trials at which the model is made anew
	pool   []prospect     // in the order of the model's
	pooled map[string]bool
	walked map[string]bool // points whose neighbours are in the pool
}

// prospect is a point that may be asked for.
type prospect struct {
	point Point
	features
	estimate float64 // the log of the estimated time; 0 if there is none
}

const (
	autoOpenings = 10
	autoPool     = 2048
	autoGrowth   = 1.4  // of the number of trials, from one model to the next
	autoSeen     = 320  // trials that a model has at most
	autoTop      = 5    // so many of the best have their neighbours in the pool
	autoHope     = 0.02 // the least probability that a point is given of running
)

// What the model learns of each point.
const (
	targetTime = iota // its level
	targetRuns        // 0 if it ran, -1 if it was refused or wrong
	targets
)

func newAuto(p Problem, _ string) (Strategy, error) {
	m := newMemory(p)
	a := &auto{queue: queue{memory: m}, moves: newMoves(p.Space), surrogate: newSurrogate(p.Space.Params())}
	first := autoOpenings
	if p.Budget > 0 {
		first = min(first, max(p.Budget/4, 4))
	}
	for _, p := range a.openings(first) {
		a.add(p)
	}
	return &agent{m, a}, nil
}

func (a *auto) next() (Point, bool) {
	if p, ok := a.take(); ok {
		return p, true
	}
	if a.best < 0 {
		return a.pick() // nothing to learn from yet
	}
	if len(a.trials) >= a.renew {
		a.rebuild()
	}
	gains := a.gains()
	i := 0
	for j, g := range gains {
		if g > gains[i] {
			i = j
		}
	}
	if len(gains) == 0 || gains[i] < 0 {
		a.renew = 0 // all of the pool is used up
		return a.pick()
	}
	p := a.pool[i].point
	a.see(p, a.pool[i].features)
	return p, true
}

// gains returns what the model expects of each point of the pool; less than 0 of
// those that may not be asked for any more.
func (a *auto) gains() []float64 {
	target := a.level(a.trials[a.best].Seconds)
	list := make([]float64, len(a.pool))
	for i := range a.pool {
		p := &a.pool[i]
		if !a.fresh(p.point) {
			list[i] = -1
			continue
		}
		deviation := math.Sqrt(max(a.model.variance[i], 1e-9))
		list[i] = improvement(target, a.expectation(p)+a.model.mean[targetTime][i], deviation)
		list[i] *= min(1, max(autoHope, 1+a.model.mean[targetRuns][i]))
	}
	return list
}

// improvement returns by how much a normal variable is expected to fall below a
// target.
func improvement(target, mean, deviation float64) float64 {
	u := (target - mean) / deviation
	if u < -6 {
		return 1e-12 * math.Exp(u) // what is far off still has an order
	}
	return deviation * (u*math.Erfc(-u/math.Sqrt2)/2 + math.Exp(-u*u/2)/math.Sqrt(2*math.Pi))
}

func (a *auto) told(t Trial) {
	if a.model == nil {
		return
	}
	if _, ok := a.row[t.Point.Key()]; !ok {
		a.see(t.Point, a.features(t.Point)) // it was not asked for here
	}
	a.learn(t)
	if a.best == len(a.trials)-1 {
		a.walk(t.Point)
	}
}

func (a *auto) see(p Point, f features) { a.row[p.Key()] = a.model.see(f) }

func (a *auto) learn(t Trial) {
	i := a.row[t.Point.Key()]
	if t.Verdict != Good {
		a.model.learn(i, targetRuns, -1)
		return
	}
	p := a.prospect(t.Point)
	a.model.learn(i, targetTime, a.level(t.Seconds)-a.expectation(&p))
	a.model.learn(i, targetRuns, 0)
}

// rebuild fits the model to the trials so far and draws most of the pool anew.
func (a *auto) rebuild() {
	a.renew = max(len(a.trials)+1, int(autoGrowth*float64(len(a.trials))))
	trials := a.trials
	if len(trials) > autoSeen {
		// The best and the latest tell most of what is near the optimum.
		trials = append(a.top(autoSeen/2), trials[len(trials)-autoSeen/2:]...)
		a.renew = len(a.trials) + autoSeen/4
	}
	a.keep()
	a.surrogate.fit(a.prospects(trials), trials)
	a.model = newProcess(a.scale, a.noise, targets)
	a.row = map[string]int{}
	// The pool comes first: it is cheaper to predict for all of it at once.
	for i := range a.pool {
		a.model.candidate(a.pool[i].features)
	}
	a.fill()
	for _, t := range a.top(autoTop) {
		a.walk(t.Point)
	}
	for _, t := range trials {
		if _, twice := a.row[t.Point.Key()]; !twice {
			a.see(t.Point, a.features(t.Point))
			a.learn(t)
		}
	}
	for _, p := range a.under {
		if _, twice := a.row[p.Key()]; !twice {
			a.see(p, a.features(p))
		}
	}
}

// keep leaves the more promising half of the pool in it.
func (a *auto) keep() {
	old, gains := a.pool, []float64(nil)
	if a.model != nil {
		gains = a.gains()
	}
	a.pool, a.pooled, a.walked = nil, map[string]bool{}, map[string]bool{}
	order := make([]int, len(old))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case gains[i] > gains[j]:
			return -1
		case gains[i] < gains[j]:
			return 1
		}
		return 0
	})
	for _, i := range order[:min(len(order), autoPool/2)] {
		if gains[i] >= 0 {
			a.pool = append(a.pool, old[i])
			a.pooled[old[i].point.Key()] = true
		}
	}
}

// fill draws the pool, or takes all of a space that is no larger.
func (a *auto) fill() {
	if a.count.IsInt64() && a.count.Int64() <= autoPool {
		for p := range a.Space.All() {
			a.offer(slices.Clone(p))
		}
		return
	}
	for range autoPool - len(a.pool) {
		a.offer(a.Space.Draw(a.rng))
	}
}

// walk adds the neighbours of a point to the pool.
func (a *auto) walk(p Point) {
	if k := p.Key(); !a.walked[k] {
		a.walked[k] = true
		for _, q := range a.neighbours(p, &neighbourhoods[0], a.rng) {
			a.offer(q)
		}
	}
}

// offer adds a point to the pool if it may be asked for.
func (a *auto) offer(p Point) {
	k := p.Key()
	if a.pooled[k] || !a.fresh(p) || !a.sensible(p) {
		return
	}
	a.pooled[k] = true
	q := a.prospect(p)
	a.pool = append(a.pool, q)
	a.model.candidate(q.features)
}

func (a *auto) prospect(p Point) prospect {
	q := prospect{point: p, features: a.features(p)}
	if a.Estimate != nil {
		if t, ok := a.Estimate(p); ok && t > 0 {
			q.estimate = math.Log(t)
		}
	}
	return q
}

func (a *auto) prospects(trials []Trial) []prospect {
	list := make([]prospect, len(trials))
	for i, t := range trials {
		list[i] = a.prospect(t.Point)
	}
	return list
}

// ahead returns the points of which the model expects most.
func (a *auto) ahead(n int) []Point {
	list := a.peek(n)
	if len(list) == n || a.model == nil {
		return list
	}
	gains := a.gains()
	for len(list) < n {
		i := 0
		for j, g := range gains {
			if g > gains[i] {
				i = j
			}
		}
		if len(gains) == 0 || gains[i] < 0 {
			break
		}
		gains[i] = -1
		list = append(list, a.pool[i].point)
	}
	return list
}
