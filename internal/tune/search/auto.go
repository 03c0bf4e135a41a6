package search

import (
	"math"
	"math/rand/v2"
	"slices"
)

// auto is the strategy to use when nothing is known of the space: it begins
// with a few points that are promising or far apart, and then tries the point
// from which a model, learnt from all trials so far, expects the most. The model
// is a Gaussian process; what it may choose from is a pool of points drawn from
// the whole space and of all neighbours of the best, so that the search is wide
// and climbs at once, in spaces of any size.
type auto struct {
	queue
	*moves
	rand  *rand.Rand
	model *process
	row   map[string]int // of what the model has seen, by point

	points []Point // of the pool
	pooled map[string]bool
	spread map[string]bool // points whose neighbours are in the pool

	refit          int     // number of trials at which the model is made anew
	shift, spreadY float64 // of the log of seconds, to make it fit the model
	scale          []float64
	noise          float64
}

var (
	AutoOpen   = 10
	AutoPool   = 2048
	AutoMost   = 300
	AutoFit    = 150
	AutoGrow   = 1.3
	AutoClip   = 1.0
	AutoXi     = 0.0
	AutoTop    = 5
	AutoLength = 0.5
)

// What the model learns of each point.
const (
	targetTime = iota
	targetRuns // 1 if it ran, 0 if it was refused or wrong
	targets
)

func newAuto(p Problem, _ string) (Strategy, error) {
	m := newMemory(p)
	a := &auto{
		queue: queue{memory: m}, moves: newMoves(p.Space), rand: rand.New(rand.NewPCG(p.Seed, 0xa070)),
		noise: 1e-2, refit: AutoOpen,
	}
	d := 0.0
	for i := range a.moves.params {
		if len(a.moves.params[i].Values) > 1 {
			d++
		}
	}
	for range a.moves.params {
		a.scale = append(a.scale, 1/(AutoLength*math.Sqrt(max(d, 1))))
	}
	for _, p := range a.openings(AutoOpen) {
		a.add(p)
	}
	return &agent{m, a}, nil
}

func (a *auto) next() (Point, bool) {
	if p, ok := a.take(); ok {
		return p, true
	}
	if a.best < 0 {
		return a.pick()
	}
	if a.model == nil || len(a.trials) >= a.refit {
		a.rebuild()
	}
	for {
		i := a.choose()
		if i < 0 {
			return a.pick()
		}
		p := a.points[i]
		a.model.variance[i] = 0
		if a.fresh(p) {
			a.row[p.Key()] = a.model.see(featuresOf(a.moves.params, p))
			return p, true
		}
	}
}

// choose returns the candidate that the model expects the greatest gain of.
func (a *auto) choose() int {
	best, most := -1, 0.0
	target := (math.Log(a.trials[a.memory.best].Seconds)-a.shift)/a.spreadY - AutoXi
	for i, v := range a.model.variance {
		if v <= 1e-9 {
			continue
		}
		g := gain(target, a.model.mean[targetTime][i], math.Sqrt(v))
		g *= min(1, max(0.02, a.model.mean[targetRuns][i]+1))
		if g > most {
			best, most = i, g
		}
	}
	return best
}

// gain returns by how much a normal variable is expected to fall below a target.
func gain(target, mean, deviation float64) float64 {
	u := (target - mean) / deviation
	if u < -6 {
		return 1e-12 * math.Exp(u)
	}
	return deviation * (u*math.Erfc(-u/math.Sqrt2)/2 + math.Exp(-u*u/2)/math.Sqrt(2*math.Pi))
}

func (a *auto) told(t Trial) {
	if a.model == nil {
		return
	}
	i, ok := a.row[t.Point.Key()]
	if !ok {
		i = a.model.see(featuresOf(a.moves.params, t.Point))
		a.row[t.Point.Key()] = i
	}
	a.learn(i, t)
	if a.memory.best == len(a.trials)-1 {
		a.around(t.Point)
	}
}

func (a *auto) learn(i int, t Trial) {
	if t.Verdict == Good {
		a.model.learn(i, targetTime, a.level(t))
		a.model.learn(i, targetRuns, 0)
		return
	}
	a.model.learn(i, targetRuns, -1)
}

// level is what the model learns of a time.
func (a *auto) level(t Trial) float64 {
	return min((math.Log(t.Seconds)-a.shift)/a.spreadY, AutoClip)
}

// rebuild fits the model to all trials, and draws the pool.
func (a *auto) rebuild() {
	a.refit = max(len(a.trials)+1, int(float64(len(a.trials))*AutoGrow))
	train := a.trials
	if len(train) > AutoMost {
		train = append(a.top(AutoMost/2), a.trials[len(a.trials)-AutoMost/2:]...)
		a.refit = len(a.trials) + AutoMost/4
	}
	var logs []float64
	var points []features
	for _, t := range train {
		if t.Verdict == Good {
			logs = append(logs, math.Log(t.Seconds))
			points = append(points, featuresOf(a.moves.params, t.Point))
		}
	}
	a.standard(logs)
	a.fit(points, logs)
	a.model = newProcess(a.scale, a.noise, targets)
	a.row = map[string]int{}
	// The pool comes first: it is cheaper to predict for all of it at once.
	a.points, a.pooled, a.spread = nil, map[string]bool{}, map[string]bool{}
	a.fill()
	for _, t := range a.top(AutoTop) {
		a.around(t.Point)
	}
	for _, t := range train {
		k := t.Point.Key()
		if _, twice := a.row[k]; twice {
			continue
		}
		a.row[k] = a.model.see(featuresOf(a.moves.params, t.Point))
		a.learn(a.row[k], t)
	}
	for _, p := range a.under {
		a.row[p.Key()] = a.model.see(featuresOf(a.moves.params, p))
	}
}

// standard sets shift and spread so that the faster half lies below 0.
func (a *auto) standard(logs []float64) {
	s := slices.Sorted(slices.Values(logs))
	a.shift = s[len(s)/2]
	sum := 0.0
	for _, x := range s[:len(s)/2+1] {
		sum += (x - a.shift) * (x - a.shift)
	}
	a.spreadY = max(math.Sqrt(sum/float64(len(s)/2+1)), 1e-3)
}

func (a *auto) fit(points []features, logs []float64) {
	if len(points) > AutoFit {
		points, logs = points[len(points)-AutoFit:], logs[len(logs)-AutoFit:]
	}
	n := len(points)
	values := make([]float64, n)
	for i, x := range logs {
		values[i] = min((x-a.shift)/a.spreadY, AutoClip)
	}
	var active []int
	for p := range a.moves.params {
		if len(a.moves.params[p].Values) > 1 {
			active = append(active, p)
		}
	}
	squares := make([][]float32, len(active))
	for p, at := range active {
		for i := range n {
			for j := range i {
				d := distance(points[i][at], points[j][at])
				squares[p] = append(squares[p], float32(d*d))
			}
		}
	}
	work := make([]float64, n*n)
	scale := make([]float64, len(active))
	for p, at := range active {
		scale[p] = a.scale[at]
	}
	base := 1 / (AutoLength * math.Sqrt(float64(len(active))))
	judge := func() float64 {
		l := likelihood(values, squares, scale, a.noise, work)
		for _, s := range scale {
			d := math.Log(s / base)
			l -= d * d / 2
		}
		d := math.Log(a.noise / 1e-2)
		return l - d*d/8
	}
	best := judge()
	try := func(x *float64, to float64) {
		from := *x
		*x = to
		if l := judge(); l > best {
			best = l
		} else {
			*x = from
		}
	}
	for range 2 {
		for p := range scale {
			s := scale[p]
			try(&scale[p], s*1.7)
			if scale[p] == s {
				try(&scale[p], s/1.7)
			}
		}
		s := a.noise
		try(&a.noise, s*3)
		if a.noise == s && s > 1e-4 {
			try(&a.noise, s/3)
		}
	}
	for p, at := range active {
		a.scale[at] = scale[p]
	}
}

// fill draws the pool.
func (a *auto) fill() {
	if a.count.IsInt64() && a.count.Int64() <= int64(AutoPool) {
		for p := range a.Space.All() {
			a.candidate(slices.Clone(p))
		}
		return
	}
	for range AutoPool {
		a.candidate(a.Space.Draw(a.rand))
	}
}

// candidate adds a point to the pool if it may be asked for.
func (a *auto) candidate(p Point) {
	k := p.Key()
	if a.pooled[k] || !a.fresh(p) || !a.sensible(p) {
		return
	}
	a.pooled[k] = true
	a.points = append(a.points, p)
	a.model.candidate(featuresOf(a.moves.params, p))
}

// around adds the neighbours of a point to the pool.
func (a *auto) around(p Point) {
	if k := p.Key(); !a.spread[k] {
		a.spread[k] = true
		for _, q := range a.neighbours(p, &neighbourhoods[0], a.rand) {
			a.candidate(q)
		}
	}
}

func (a *auto) ahead(n int) []Point { return a.peek(n) }

func NewAutoDev(p Problem) (Strategy, error) { return newAuto(p, "") }
