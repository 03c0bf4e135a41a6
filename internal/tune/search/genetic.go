package search

import (
	"slices"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

// genetic crosses and mutates a population of fast points. There are no generations: each trial may enter the
// population when it is told, so that nothing waits for the slowest of a generation.
type genetic struct {
	queue
	*moves
	kind       *neighbourhood
	population []Trial // the fastest first
	size       int
}

const (
	populationMost    = 16
	populationLeast   = 4
	geneticBudget     = 300
	tournament        = 2
	mutationsMost     = 2
	geneticAttempts   = 25
	populationPerTest = 12 // trials for each member
)

func newGenetic(p Problem, _ string) (Strategy, error) {
	m := newHistory(p)
	g := &genetic{queue: queue{history: m}, moves: newMoves(p.Space), kind: &neighbourhoods[0]}
	budget := p.Budget
	if budget <= 0 {
		budget = geneticBudget
	}
	g.size = min(max(budget/populationPerTest, populationLeast), populationMost)
	for _, p := range m.openings(g.size) {
		g.add(p)
	}
	return &methodStrategy{m, g}, nil
}

func (g *genetic) next() (Point, bool) {
	if p, ok := g.take(); ok {
		return p, true
	}
	for range geneticAttempts {
		if len(g.population) == 0 {
			break
		}
		if p := g.child(); g.fresh(p) && g.worthTrying(p) {
			return p, true
		}
	}
	return g.pick()
}

// child crosses two members and mutates the result.
func (g *genetic) child() Point {
	p := g.towards(g.parent(), g.parent(), g.rng)
	return g.kick(p, g.rng.IntN(mutationsMost+1), g.kind, g.rng)
}

// parent returns the best of a few members.
func (g *genetic) parent() Point {
	best := len(g.population)
	for range tournament {
		best = min(best, g.rng.IntN(len(g.population)))
	}
	return g.population[best].Point
}

// told adds a point to the population. If that is full, the point replaces the member most similar to it, if it
// is faster (crowding: De Jong 1975). So the members stay different.
func (g *genetic) told(t Trial) {
	if t.Verdict != verdict.OK {
		return
	}
	if len(g.population) == g.size {
		like, least := 0, len(t.Point)+1
		for i := len(g.population) - 1; i >= 0; i-- {
			if d := differences(g.population[i].Point, t.Point); d < least {
				like, least = i, d
			}
		}
		if t.Seconds >= g.population[like].Seconds {
			return
		}
		g.population = slices.Delete(g.population, like, like+1)
	}
	i, _ := slices.BinarySearchFunc(g.population, t, bySeconds)
	g.population = slices.Insert(g.population, i, t)
}

// differences counts the values that differ.
func differences(p, q Point) int {
	n := 0
	for i := range p {
		if p[i] != q[i] {
			n++
		}
	}
	return n
}

func (g *genetic) likely(n int) []Point { return g.peek(n) }
