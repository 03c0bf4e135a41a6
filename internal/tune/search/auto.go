package search

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// auto is the strategy to use when nothing is known of a space. It begins with
// a few points that are promising or far apart, and then lets two models take turns
// in asking for the point from which they expect most: a Gaussian process, which
// a few trials tell much of a smooth space, and the forests of modelled, which see
// cliffs and products. Each learns from what both ask for, so that where one is
// misled, the other is likely not to be.
type auto struct {
	*gaussian
	forests *modelled
	turn    int
	strays  int // openings that are still to come, at random
	early   int // turns while there are any
}

func newAuto(p Problem, _ string) (Strategy, error) {
	m := newMemory(p)
	params := p.Space.Params()
	g := &gaussian{
		queue: queue{memory: m}, moves: newMoves(p.Space), surrogate: newSurrogate(params),
		kinds: len(params) > 0 && params[0].Name == familyParam && len(params[0].Values) > 1, champions: map[int]int{},
	}
	a := &auto{gaussian: g, forests: newForests(m), strays: autoOpenings - autoFirst}
	first := autoFirst
	if g.kinds { // each family has to be seen before one of them takes it all
		first, a.strays = autoOpenings, 0
	}
	if p.Budget > 0 {
		first = min(first, max(p.Budget/4, autoFirst))
	}
	for _, p := range g.openings(first) {
		g.add(p)
	}
	return &agent{m, a}, nil
}

func (a *auto) next() (Point, bool) {
	if len(a.waiting) == 0 {
		if a.strays > 0 {
			if a.early++; a.early%autoStray == 0 {
				a.strays--
				return a.pick()
			}
		}
		if a.turn++; a.turn%2 == 0 {
			return a.forests.next()
		}
	}
	return a.gaussian.next()
}

func (a *auto) told(t Trial) {
	a.gaussian.told(t)
	a.forests.told(t)
}

// ahead returns what the two are likely to ask for in turn.
func (a *auto) ahead(n int) []Point {
	list := a.gaussian.ahead((n + 1) / 2)
	for _, p := range a.forests.ahead(n) {
		if len(list) < n && !slices.ContainsFunc(list, func(q Point) bool { return slices.Equal(p, q) }) {
			list = append(list, p)
		}
	}
	return list
}

// gaussian asks for the point from which a Gaussian process, learnt from all
// trials so far, expects most (Jones, Schonlau, Welch 1998). It chooses from a pool
// of points drawn from the whole space and of all neighbours of the best, so
// that the search is wide and climbs at once, in spaces of any size and at a
// cost that does not depend on it.
type gaussian struct {
	queue
	*moves
	*surrogate
	model  *process       // of levels
	row    map[string]int // of what the model has seen, by point
	runs   *process       // of 1 for points that ran and 0 for others, less the share of the first; nil while all do
	renew  int            // number of trials at which the model is made anew
	pool   []prospect     // in the order of the model's
	pooled map[string]bool
	walked map[string]bool // points whose neighbours are in the pool

	kinds     bool        // the first parameter tells families, of which there are several
	champions map[int]int // by family: the number of its best trial
	turns     int

	whole     []prospect // all of a space that is listed, once it is
	exploited int        // turns that exploit had

	usualCost float64 // the mean of the logs of what trials cost
}

// What a model learns of a point: its level, and the log of what trying it costs,
// over that of others. Improvements that cost little are worth more (Snoek,
// Larochelle, Adams 2012): where compilers are slower than the device, a search that
// asks for what is soon compiled tries more in its time.
const (
	level = iota
	cost
	targets
)

// meanCost returns the mean of the logs of what those trials cost that ran.
func meanCost(trials []Trial) float64 {
	sum, n := 0.0, 0.0
	for _, t := range trials {
		if t.Verdict == Good && t.Cost > 0 {
			sum += math.Log(t.Cost)
			n++
		}
	}
	return sum / max(n, 1)
}

// prospect is a point that may be asked for.
type prospect struct {
	point Point
	features
	estimate float64 // the log of the estimated time; 0 if there is none
}

const (
	autoOpenings = 10
	autoFirst    = 4 // so many of them come before the models
	autoStray    = 3 // and then one in so many turns: a search may end after ten trials
	autoPool     = 2048
	autoWhole    = 16000 // points of a space that is screened as a whole
	autoScreened = 2     // one of so many new points of the pool comes from screening
	autoExploit  = 3     // each so many turns go to the least expected time,
	autoKnown    = 60    // once there are so many trials,
	autoIdle     = 25    // and half as often after so many without progress
	autoGrowth   = 1.4   // of the number of trials, from one model to the next
	autoSeen     = 320   // trials that a model has at most when it is made
	autoPart     = 4     // and so much of all trials, by division, comes before it is made anew
	autoTop      = 5     // so many of the best have their neighbours in the pool
	autoRival    = 4     // each so many turns are another family's
	autoThrift   = 0.5   // the power of a point's cost by which what is expected of it is divided
	autoHope     = 0.02  // the least probability that a point is given of running
	autoLikely   = 0.3   // and that of a point whose time is exploited
)

func (a *gaussian) next() (Point, bool) {
	if p, ok := a.take(); ok {
		return p, true
	}
	if a.best < 0 {
		return a.pick() // nothing to learn from yet
	}
	if len(a.trials) >= a.renew {
		a.rebuild()
	}
	i := a.exploit()
	if i < 0 {
		rival := a.rival()
		if i = a.favourite(rival); i < 0 && rival >= 0 {
			i = a.favourite(-1)
		}
	}
	if i < 0 {
		a.renew = 0 // all of the pool is used up
		return a.pick()
	}
	p := a.pool[i].point
	a.see(p, a.pool[i].features)
	return p, true
}

// rival returns the trial that is the best of another family than the best of
// all, each time its turn has come, and else -1. What is best in a family takes a
// search of its own to find: a family that begins well would else keep all others
// from being looked into.
func (a *gaussian) rival() int {
	a.turns++
	if a.turns%autoRival != 0 {
		return -1
	}
	best := -1
	for f, i := range a.champions {
		if f == a.trials[a.best].Point[0] {
			continue
		}
		if best < 0 || a.trials[i].Seconds < a.trials[best].Seconds || a.trials[i].Seconds == a.trials[best].Seconds && i < best {
			best = i
		}
	}
	return best
}

// exploit returns the place in the pool of the point whose time is expected to
// be the least, each time its turn has come, and else -1. Expected improvement goes
// on looking where it knows little when the best lies next to what it has.
func (a *gaussian) exploit() int {
	if len(a.trials) < autoKnown {
		return -1
	}
	a.exploited++
	turn := autoExploit
	if len(a.trials)-1-a.best > autoIdle {
		turn *= 2
	}
	if a.exploited%turn != 0 {
		return -1
	}
	best, least := -1, math.Inf(1)
	for i := range a.pool {
		p := &a.pool[i]
		if !a.fresh(p.point) || a.runs != nil && a.ran+a.runs.mean[0][i] < autoLikely {
			continue
		}
		if x := a.expectation(p) + a.model.mean[level][i]; x < least {
			best, least = i, x
		}
	}
	return best
}

// favourite returns the place in the pool of the point from which most is
// expected, -1 if there is none left; with a rival, of those of its family and
// over the rival.
func (a *gaussian) favourite(rival int) int {
	best := -1
	gains := a.gains(rival)
	for i, g := range gains {
		if g >= 0 && (best < 0 || g > gains[best]) {
			best = i
		}
	}
	return best
}

// gains returns what the model expects of each point of the pool; less than 0 of
// those that may not be asked for any more, or are not of the rival's family.
func (a *gaussian) gains(rival int) []float64 {
	over := a.best
	if rival >= 0 {
		over = rival
	}
	target := a.level(a.trials[over].Seconds)
	list := make([]float64, len(a.pool))
	for i := range a.pool {
		p := &a.pool[i]
		if !a.fresh(p.point) || rival >= 0 && p.point[0] != a.trials[rival].Point[0] {
			list[i] = -1
			continue
		}
		deviation := a.height * math.Sqrt(max(a.model.variance[i], 1e-9))
		list[i] = improvement(target, a.expectation(p)+a.model.mean[level][i], deviation)
		if a.runs != nil {
			list[i] *= min(1, max(autoHope, a.ran+a.runs.mean[0][i]))
		}
		list[i] *= math.Exp(-autoThrift * a.model.mean[cost][i])
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

func (a *gaussian) told(t Trial) {
	champion := a.champion(t)
	if a.model == nil {
		return
	}
	a.learn(t)
	if t.Verdict != Good && a.runs == nil {
		a.renew = 0 // there is something new to learn
	}
	if a.best == len(a.trials)-1 || champion {
		a.walk(t.Point)
	}
}

// champion notes a trial that is the best of its family so far.
func (a *gaussian) champion(t Trial) bool {
	if !a.kinds || t.Verdict != Good {
		return false
	}
	i, ok := a.champions[t.Point[0]]
	if ok && a.trials[i].Seconds <= t.Seconds {
		return false
	}
	a.champions[t.Point[0]] = len(a.trials) - 1
	return true
}

// see makes a point one that the model has seen, and returns its row.
func (a *gaussian) see(p Point, f features) int {
	i, ok := a.row[p.Key()]
	if !ok {
		i = a.model.see(f)
		a.row[p.Key()] = i
	}
	return i
}

func (a *gaussian) learn(t Trial) {
	p := a.prospect(t.Point)
	if t.Verdict == Good {
		i := a.see(t.Point, p.features)
		a.model.learn(i, level, a.level(t.Seconds)-a.expectation(&p))
		if t.Cost > 0 {
			a.model.learn(i, cost, math.Log(t.Cost)-a.usualCost)
		}
	}
	if a.runs == nil {
		return
	}
	ran := 0.0
	if t.Verdict == Good {
		ran = 1
	}
	a.runs.learn(a.runs.see(p.features), 0, ran-a.ran)
}

// rebuild fits the model to the trials so far and draws most of the pool anew.
func (a *gaussian) rebuild() {
	a.renew = max(len(a.trials)+1, int(autoGrowth*float64(len(a.trials))))
	trials := a.trials
	if len(trials) > autoSeen {
		// The best and the latest tell most of what is near the optimum.
		trials = slices.Clone(trials[len(trials)-autoSeen/2:])
		for _, t := range a.top(autoSeen / 2) {
			if a.at[t.Point.Key()] < len(a.trials)-autoSeen/2 {
				trials = append(trials, t)
			}
		}
		a.renew = len(a.trials) + max(autoSeen/4, len(a.trials)/autoPart)
	}
	a.keep()
	a.surrogate.fit(a.prospects(trials), trials)
	a.usualCost = meanCost(trials)
	a.model, a.runs = newProcess(a.scale, a.noise, targets), nil
	if a.ran < 1 {
		a.runs = newProcess(a.scale, usualNoise, 1)
	}
	a.row = map[string]int{}
	// The pool comes first: it is cheaper to predict for all of it at once.
	for i := range a.pool {
		a.present(a.pool[i].features)
	}
	a.fill(trials)
	for _, t := range a.top(autoTop) {
		a.walk(t.Point)
	}
	for _, f := range slices.Sorted(maps.Keys(a.champions)) {
		a.walk(a.trials[a.champions[f]].Point)
	}
	for _, t := range trials {
		if a.over() {
			return
		}
		a.learn(t)
	}
	for _, p := range a.under {
		a.see(p, a.features(p))
	}
}

// keep leaves the more promising half of the pool in it.
func (a *gaussian) keep() {
	old, gains := a.pool, []float64(nil)
	if a.model != nil {
		gains = a.gains(-1)
	}
	a.pool, a.pooled, a.walked = nil, map[string]bool{}, map[string]bool{}
	for _, i := range descending(gains)[:min(len(gains), autoPool/2)] {
		if gains[i] >= 0 {
			a.pool = append(a.pool, old[i])
			a.pooled[old[i].point.Key()] = true
		}
	}
}

// descending returns the places of values, the greatest first and the earlier of
// equals.
func descending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[j], values[i]) })
	return order
}

// fill draws the pool, or takes all of a space that is no larger. Of a space that
// can be listed, some of the pool is what the trials say is fast.
func (a *gaussian) fill(trials []Trial) {
	if a.count.IsInt64() && a.count.Int64() <= autoPool {
		for p := range a.Space.All() {
			a.offer(slices.Clone(p))
		}
		return
	}
	if a.count.IsInt64() && a.count.Int64() <= autoWhole {
		a.screen(trials, (autoPool-len(a.pool))/autoScreened)
	}
	for range autoPool - len(a.pool) {
		if a.over() {
			return
		}
		a.offer(a.Space.Draw(a.rng))
	}
}

// screen adds those n points of the whole space to the pool whose times are
// expected to be the least. It needs means alone, which cost a small part of what
// keeping uncertainties for all points would.
func (a *gaussian) screen(trials []Trial, n int) {
	if a.whole == nil {
		for p := range a.Space.All() {
			if a.over() {
				return
			}
			a.whole = append(a.whole, a.prospect(slices.Clone(p)))
		}
	}
	g := newProcess(a.scale, a.noise, 1)
	for _, t := range trials {
		if t.Verdict == Good && !a.over() {
			p := a.prospect(t.Point)
			g.learn(g.see(p.features), 0, a.level(t.Seconds)-a.expectation(&p))
		}
	}
	mean := g.predictor(0)
	gains := make([]float64, len(a.whole))
	for i := range a.whole {
		p := &a.whole[i]
		gains[i] = math.Inf(-1)
		if a.over() {
			return
		}
		if !a.pooled[p.point.Key()] && a.fresh(p.point) {
			gains[i] = -a.expectation(p) - mean(p.features)
		}
	}
	for _, i := range descending(gains)[:min(n, len(gains))] {
		a.offer(a.whole[i].point)
	}
}

// walk adds the neighbours of a point to the pool.
func (a *gaussian) walk(p Point) {
	if k := p.Key(); !a.walked[k] {
		a.walked[k] = true
		for _, q := range a.neighbours(p, &neighbourhoods[0], a.rng) {
			a.offer(q)
		}
	}
}

// offer adds a point to the pool if it may be asked for.
func (a *gaussian) offer(p Point) {
	k := p.Key()
	if a.pooled[k] || !a.fresh(p) || !a.sensible(p) {
		return
	}
	a.pooled[k] = true
	q := a.prospect(p)
	a.pool = append(a.pool, q)
	a.present(q.features)
}

// present adds a point to the pools of the models.
func (a *gaussian) present(f features) {
	a.model.candidate(f)
	if a.runs != nil {
		a.runs.candidate(f)
	}
}

func (a *gaussian) prospect(p Point) prospect {
	q := prospect{point: p, features: a.features(p)}
	if a.Estimate != nil {
		if t, ok := a.Estimate(p); ok && t > 0 {
			q.estimate = math.Log(t)
		}
	}
	return q
}

func (a *gaussian) prospects(trials []Trial) []prospect {
	list := make([]prospect, len(trials))
	for i, t := range trials {
		list[i] = a.prospect(t.Point)
	}
	return list
}

// ahead returns the points of which the model expects most.
func (a *gaussian) ahead(n int) []Point {
	list := a.peek(n)
	if len(list) == n || a.model == nil {
		return list
	}
	gains := a.gains(-1)
	for _, i := range greatest(gains, n-len(list)) {
		if gains[i] >= 0 {
			list = append(list, a.pool[i].point)
		}
	}
	return list
}
