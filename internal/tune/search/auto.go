package search

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

// auto is the strategy to use when nothing is known of a space. It begins with a few points that are
// promising or far apart. Then two models take turns in asking for the point of the greatest expected gain: a
// Gaussian process, which learns a smooth space from a few trials, and the forests of modelled, which learn
// cliffs and products. Each learns from the trials of both.
type auto struct {
	*gaussian
	forests        *modelled
	turn           int
	randomOpenings int // random openings that are still to be asked for
	earlyTurns     int // turns while there are random openings
}

func newAuto(p Problem, _ string) (Strategy, error) {
	m := newHistory(p)
	params := p.Space.Params()
	g := &gaussian{
		queue: queue{history: m}, moves: newMoves(p.Space), surrogate: newSurrogate(params),
		hasFamilies: len(params) > 0 && params[0].Name == familyParam && len(params[0].Values) > 1,
		familyBest:  map[int]int{},
	}
	a := &auto{gaussian: g, forests: newForests(m), randomOpenings: autoOpenings - autoFirst}
	first := autoFirst
	if g.hasFamilies { // each family has to be seen before one of them leads
		first, a.randomOpenings = autoOpenings, 0
	}
	if p.Budget > 0 {
		first = min(first, max(p.Budget/4, autoFirst))
	}
	if p.before() >= autoOpenings { // these open the space, and families they leave out are no loss
		first, a.randomOpenings = 0, 0
	}
	for _, p := range g.openings(first) {
		g.add(p)
	}
	return &methodStrategy{m, a}, nil
}

func (a *auto) next() (Point, bool) {
	if len(a.waiting) == 0 {
		if a.randomOpenings > 0 {
			if a.earlyTurns++; a.earlyTurns%autoRandomEvery == 0 {
				a.randomOpenings--
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

// likely returns points of both models.
func (a *auto) likely(n int) []Point {
	list := a.gaussian.likely((n + 1) / 2)
	for _, p := range a.forests.likely(n) {
		if len(list) < n && !slices.ContainsFunc(list, func(q Point) bool { return slices.Equal(p, q) }) {
			list = append(list, p)
		}
	}
	return list
}

// gaussian asks for the point of the greatest expected improvement by a Gaussian process that learns from all
// trials (Jones, Schonlau, Welch 1998). It chooses from a pool: points drawn from the whole space, and all
// neighbours of the best. So the search is wide and climbs at once, and its cost does not depend on the size
// of the space.
type gaussian struct {
	queue
	*moves
	*surrogate
	model     *process       // of levels
	modelRow  map[string]int // row of a point that the model has seen, by the point's key
	runModel  *process       // of 1 for points that ran and 0 for others, minus the share that ran; nil while all run
	rebuildAt int            // number of trials at which the model is built anew
	pool      []gpCandidate  // in the order of the model's pool
	pooled    map[string]bool
	expanded  map[string]bool // points whose neighbours are in the pool

	hasFamilies bool        // the first parameter is the family, and there are several
	familyBest  map[int]int // by family: the number of its best trial
	turns       int

	allPoints []gpCandidate // all points of a space that is screened, once they are listed
	exploited int           // calls of exploit

	meanLogCost float64 // mean of the logarithms of the trials' costs
}

// What a model learns of a point: its level, and the logarithm of the trial's cost over the mean. An
// improvement that costs little is worth more (Snoek, Larochelle, Adams 2012): where compilers are slower than
// the device, a search that prefers quick compilations makes more trials.
const (
	level = iota
	cost
	targets
)

// meanCost returns the mean of the logarithms of the costs of trials that ran.
func meanCost(trials []Trial) float64 {
	sum, n := 0.0, 0.0
	for _, t := range trials {
		if t.Verdict == verdict.OK && t.Cost > 0 {
			sum += math.Log(t.Cost)
			n++
		}
	}
	return sum / max(n, 1)
}

// gpCandidate is a point of the Gaussian process's pool.
type gpCandidate struct {
	point Point
	features
	estimate float64 // logarithm of the estimated time; not a number if there is none
}

const (
	autoOpenings    = 10
	autoFirst       = 4 // openings before the models
	autoRandomEvery = 3 // one in so many turns is a random opening: a search may end after ten trials
	autoPool        = 2048
	autoWhole       = 16000 // most points of a space that is screened as a whole
	autoScreened    = 2     // one in so many new points of the pool comes from screening
	autoExploit     = 3     // one in so many turns goes to the least expected time,
	autoExploitFrom = 60    // from so many trials on,
	autoStalled     = 25    // and half as many after so many trials without progress
	autoGrowth      = 1.4   // factor between the numbers of trials of one model and the next
	autoModelTrials = 320   // most trials of a model when it is built
	autoRebuildPart = 4     // divisor of the trials that come before it is built anew
	autoTop         = 5     // trials whose neighbours are in the pool
	autoFamilyEvery = 4     // one in so many turns is for another family
	autoCostPower   = 0.5   // power of the cost by which the expected gain is divided
	autoLeastChance = 0.02  // least probability that a point is assumed to run
	autoSafeChance  = 0.3   // least probability to run of a point that is exploited
)

func (a *gaussian) next() (Point, bool) {
	if p, ok := a.take(); ok {
		return p, true
	}
	if a.best < 0 {
		return a.pick() // nothing is learnt yet
	}
	if len(a.trials) >= a.rebuildAt {
		a.rebuild()
	}
	i := a.exploit()
	if i < 0 {
		challenger := a.otherFamily()
		if i = a.mostPromising(challenger); i < 0 && challenger >= 0 {
			i = a.mostPromising(-1)
		}
	}
	if i < 0 {
		a.rebuildAt = 0 // all of the pool is used up
		return a.pick()
	}
	p := a.pool[i].point
	a.see(p, a.pool[i].features)
	return p, true
}

// otherFamily returns the best trial of the families that do not lead, each time its turn has come, and -1
// otherwise. Finding the best of a family takes a search of its own: without this, a family that begins well
// would keep all others from being searched.
func (a *gaussian) otherFamily() int {
	a.turns++
	if a.turns%autoFamilyEvery != 0 {
		return -1
	}
	best := -1
	for f, i := range a.familyBest {
		if f == a.trials[a.best].Point[0] {
			continue
		}
		if best < 0 || a.trials[i].Seconds < a.trials[best].Seconds || a.trials[i].Seconds == a.trials[best].Seconds &&
			i < best {
			best = i
		}
	}
	return best
}

// exploit returns the index in the pool of the point with the least expected time, each time its turn has
// come, and -1 otherwise. Expected improvement goes on exploring when the optimum lies next to the best.
func (a *gaussian) exploit() int {
	if len(a.trials) < autoExploitFrom {
		return -1
	}
	a.exploited++
	turn := autoExploit
	if len(a.trials)-1-a.best > autoStalled {
		turn *= 2
	}
	if a.exploited%turn != 0 {
		return -1
	}
	best, least := -1, math.Inf(1)
	for i := range a.pool {
		p := &a.pool[i]
		if !a.fresh(p.point) || a.runModel != nil && a.ran+a.runModel.mean[0][i] < autoSafeChance {
			continue
		}
		if x := a.expectation(p) + a.model.mean[level][i]; x < least {
			best, least = i, x
		}
	}
	return best
}

// mostPromising returns the index in the pool of the point with the greatest expected gain; -1 if none is left.
// With a challenger, points of its family are compared with it.
func (a *gaussian) mostPromising(challenger int) int {
	best := -1
	gains := a.gains(challenger)
	for i, g := range gains {
		if g >= 0 && (best < 0 || g > gains[best]) {
			best = i
		}
	}
	return best
}

// gains returns the expected gain of each point of the pool: negative for points that may not be asked for, or
// are not of the challenger's family.
func (a *gaussian) gains(challenger int) []float64 {
	over := a.best
	if challenger >= 0 {
		over = challenger
	}
	target := a.level(a.trials[over].Seconds)
	list := make([]float64, len(a.pool))
	for i := range a.pool {
		p := &a.pool[i]
		if !a.fresh(p.point) || challenger >= 0 && p.point[0] != a.trials[challenger].Point[0] {
			list[i] = -1
			continue
		}
		deviation := a.deviation * math.Sqrt(max(a.model.variance[i], 1e-9))
		list[i] = improvement(target, a.expectation(p)+a.model.mean[level][i], deviation)
		if a.runModel != nil {
			list[i] *= min(1, max(autoLeastChance, a.ran+a.runModel.mean[0][i]))
		}
		list[i] *= math.Exp(-autoCostPower * a.model.mean[cost][i])
	}
	return list
}

// improvement returns the expected improvement of a normal variable below a target.
func improvement(target, mean, deviation float64) float64 {
	u := (target - mean) / deviation
	if u < -6 {
		return 1e-12 * math.Exp(u) // points far off still have an order
	}
	return deviation * (u*math.Erfc(-u/math.Sqrt2)/2 + math.Exp(-u*u/2)/math.Sqrt(2*math.Pi))
}

func (a *gaussian) told(t Trial) {
	leads := a.updateFamilyBest(t)
	if a.model == nil {
		return
	}
	a.learn(t)
	if t.Verdict != verdict.OK && a.runModel == nil {
		a.rebuildAt = 0 // there is something new to learn
	}
	if a.best == len(a.trials)-1 || leads {
		a.addNeighbours(t.Point)
	}
}

// updateFamilyBest reports whether a trial is the best of its family so far, and notes it.
func (a *gaussian) updateFamilyBest(t Trial) bool {
	if !a.hasFamilies || t.Verdict != verdict.OK {
		return false
	}
	i, ok := a.familyBest[t.Point[0]]
	if ok && a.trials[i].Seconds <= t.Seconds {
		return false
	}
	a.familyBest[t.Point[0]] = len(a.trials) - 1
	return true
}

// see adds a point to the model, unless it is there, and returns its row.
func (a *gaussian) see(p Point, f features) int {
	i, ok := a.modelRow[p.Key()]
	if !ok {
		i = a.model.see(f)
		a.modelRow[p.Key()] = i
	}
	return i
}

func (a *gaussian) learn(t Trial) {
	p := a.candidate(t.Point)
	if t.Verdict == verdict.OK {
		i := a.see(t.Point, p.features)
		a.model.learn(i, level, a.level(t.Seconds)-a.expectation(&p))
		if t.Cost > 0 {
			a.model.learn(i, cost, math.Log(t.Cost)-a.meanLogCost)
		}
	}
	if a.runModel == nil {
		return
	}
	ran := 0.0
	if t.Verdict == verdict.OK {
		ran = 1
	}
	a.runModel.learn(a.runModel.see(p.features), 0, ran-a.ran)
}

// rebuild fits the model to the trials so far and redraws most of the pool.
func (a *gaussian) rebuild() {
	a.rebuildAt = max(len(a.trials)+1, int(autoGrowth*float64(len(a.trials))))
	trials := a.trials
	if len(trials) > autoModelTrials {
		// The best and the latest tell most of what is near the optimum.
		trials = slices.Clone(trials[len(trials)-autoModelTrials/2:])
		for _, t := range a.top(autoModelTrials / 2) {
			if a.index[t.Point.Key()] < len(a.trials)-autoModelTrials/2 {
				trials = append(trials, t)
			}
		}
		a.rebuildAt = len(a.trials) + max(autoModelTrials/4, len(a.trials)/autoRebuildPart)
	}
	a.keepPromising()
	a.surrogate.fit(a.candidates(trials), trials)
	a.meanLogCost = meanCost(trials)
	a.model, a.runModel = newProcess(a.scale, a.noise, targets), nil
	if a.ran < 1 {
		a.runModel = newProcess(a.scale, defaultNoise, 1)
	}
	a.modelRow = map[string]int{}
	// The pool comes first: it is cheaper to predict for all of it at once.
	for i := range a.pool {
		a.addToModels(a.pool[i].features)
	}
	for _, p := range a.Candidates {
		a.offer(p)
	}
	a.fill(trials)
	for _, t := range a.top(autoTop) {
		a.addNeighbours(t.Point)
	}
	for _, f := range slices.Sorted(maps.Keys(a.familyBest)) {
		a.addNeighbours(a.trials[a.familyBest[f]].Point)
	}
	for _, t := range trials {
		if a.ended() {
			return
		}
		a.learn(t)
	}
	for _, p := range a.inFlight {
		a.see(p, a.features(p))
	}
}

// keepPromising keeps the more promising half of the pool.
func (a *gaussian) keepPromising() {
	old, gains := a.pool, []float64(nil)
	if a.model != nil {
		gains = a.gains(-1)
	}
	a.pool, a.pooled, a.expanded = nil, map[string]bool{}, map[string]bool{}
	for _, i := range descending(gains)[:min(len(gains), autoPool/2)] {
		if gains[i] >= 0 {
			a.pool = append(a.pool, old[i])
			a.pooled[old[i].point.Key()] = true
		}
	}
}

// descending returns the indices of values, the greatest value first, the earlier of equals first.
func descending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[j], values[i]) })
	return order
}

// fill draws the pool, or takes all points of a space that is not larger. Of a space that can be listed, a
// part of the pool comes from screening.
func (a *gaussian) fill(trials []Trial) {
	if a.count.IsInt64() && a.count.Int64() <= autoPool {
		for p := range a.Space.All() {
			a.offer(slices.Clone(p))
		}
		return
	}
	if a.count.IsInt64() && a.count.Int64() <= autoWhole {
		a.screen(trials, max(0, autoPool-len(a.pool))/autoScreened)
	}
	for range autoPool - len(a.pool) {
		if a.ended() {
			return
		}
		a.offer(a.Space.Draw(a.rng))
	}
}

// screen adds the n points of the whole space with the least expected times to the pool. It computes means
// alone, which cost much less than uncertainties.
func (a *gaussian) screen(trials []Trial, n int) {
	if a.allPoints == nil {
		for p := range a.Space.All() {
			if a.ended() {
				return
			}
			a.allPoints = append(a.allPoints, a.candidate(slices.Clone(p)))
		}
	}
	g := newProcess(a.scale, a.noise, 1)
	for _, t := range trials {
		if t.Verdict == verdict.OK && !a.ended() {
			p := a.candidate(t.Point)
			g.learn(g.see(p.features), 0, a.level(t.Seconds)-a.expectation(&p))
		}
	}
	mean := g.predictor(0)
	gains := make([]float64, len(a.allPoints))
	for i := range a.allPoints {
		p := &a.allPoints[i]
		gains[i] = math.Inf(-1)
		if a.ended() {
			return
		}
		if !a.pooled[p.point.Key()] && a.fresh(p.point) {
			gains[i] = -a.expectation(p) - mean(p.features)
		}
	}
	for _, i := range descending(gains)[:min(n, len(gains))] {
		a.offer(a.allPoints[i].point)
	}
}

// addNeighbours adds the neighbours of a point to the pool.
func (a *gaussian) addNeighbours(p Point) {
	if k := p.Key(); !a.expanded[k] {
		a.expanded[k] = true
		for _, q := range a.neighbours(p, &neighbourhoods[0], a.rng) {
			a.offer(q)
		}
	}
}

// offer adds a point to the pool if it may be asked for.
func (a *gaussian) offer(p Point) {
	k := p.Key()
	if a.pooled[k] || !a.fresh(p) || !a.worthTrying(p) {
		return
	}
	a.pooled[k] = true
	q := a.candidate(p)
	a.pool = append(a.pool, q)
	a.addToModels(q.features)
}

// addToModels adds a point to the pools of the models.
func (a *gaussian) addToModels(f features) {
	a.model.candidate(f)
	if a.runModel != nil {
		a.runModel.candidate(f)
	}
}

func (a *gaussian) candidate(p Point) gpCandidate {
	q := gpCandidate{point: p, features: a.features(p), estimate: math.NaN()}
	if a.Estimate != nil {
		if t, ok := a.Estimate(p); ok && t > 0 {
			q.estimate = math.Log(t)
		}
	}
	return q
}

func (a *gaussian) candidates(trials []Trial) []gpCandidate {
	list := make([]gpCandidate, len(trials))
	for i, t := range trials {
		list[i] = a.candidate(t.Point)
	}
	return list
}

// likely returns the points with the greatest expected gains.
func (a *gaussian) likely(n int) []Point {
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
