package search

import (
	"math"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

// annealing is simulated annealing (Kirkpatrick, Gelatt, Vecchi 1983): it walks from neighbour to neighbour, to
// slower ones too while the temperature is high. Temperature is in units of the logarithm of time, so that one
// schedule fits kernels of microseconds and of seconds.
type annealing struct {
	queue
	*moves
	kind   *neighbourhood
	at     Trial
	placed bool
	budget int
	idle   int // steps since the last point that was asked for
}

const (
	annealingOpenings = 6
	annealingBudget   = 300 // trials, if their number is not known
	hottest, coldest  = 0.1, 0.005
	annealingIdle     = 60 // steps over known points before a random jump
)

func newAnnealing(p Problem, arg string) (Strategy, error) {
	kind, err := neighbourhoodOf(arg)
	if err != nil {
		return nil, err
	}
	m := newHistory(p)
	a := &annealing{queue: queue{history: m}, moves: newMoves(p.Space), kind: kind, budget: p.Budget}
	if a.budget <= 0 {
		a.budget = annealingBudget
	}
	for _, p := range m.openings(annealingOpenings) {
		a.add(p)
	}
	return &methodStrategy{m, a}, nil
}

// temperature falls geometrically over the budget, and stays at its lowest after it.
func (a *annealing) temperature() float64 {
	done := min(float64(len(a.trials))/float64(a.budget), 1)
	return hottest * math.Pow(coldest/hottest, done)
}

func (a *annealing) next() (Point, bool) {
	if p, ok := a.take(); ok {
		return p, true
	}
	for a.placed && a.idle < annealingIdle {
		a.idle++
		p := a.neighbour(a.at.Point, a.kind, a.rng)
		if t, known := a.result(p); known {
			a.consider(t)
			continue
		}
		if a.fresh(p) && a.worthTrying(p) {
			a.idle = 0
			return p, true
		}
	}
	a.idle = 0
	return a.pick()
}

func (a *annealing) told(t Trial) { a.consider(t) }

// consider accepts or rejects t as the next point.
func (a *annealing) consider(t Trial) {
	if t.Verdict != verdict.OK {
		return
	}
	worse := math.Inf(-1)
	if a.placed {
		worse = math.Log(t.Seconds / a.at.Seconds)
	}
	if worse <= 0 || a.rng.Float64() < math.Exp(-worse/a.temperature()) {
		a.at, a.placed = t, true
	}
}

func (a *annealing) likely(n int) []Point { return a.peek(n) }
