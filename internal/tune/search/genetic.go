package search

import (
	"slices"
)

// genetic keeps a population of fast points and crosses and mutates them. There
// are no generations: every trial may enter the population as soon as it is
// told, so that nothing waits for the slowest of a generation.
type genetic struct {
	queue
	*moves
	kind       *neighbourhood
	population []Trial // the fastest first
	size       int
}

const (
	populationMost    = 20
	populationLeast   = 4
	geneticBudget     = 300
	tournament        = 2
	mutationsMost     = 3
	geneticAttempts   = 25
	populationPerTest = 12 // so many trials are to be made for each member
)

func newGenetic(p Problem, _ string) (Strategy, error) {
	m := newMemory(p)
	g := &genetic{queue: queue{memory: m}, moves: newMoves(p.Space), kind: &neighbourhoods[0]}
	budget := p.Budget
	if budget <= 0 {
		budget = geneticBudget
	}
	g.size = min(max(budget/populationPerTest, populationLeast), populationMost)
	for _, p := range m.openings(g.size) {
		g.add(p)
	}
	return &agent{m, g}, nil
}

func (g *genetic) next() (Point, bool) {
	if p, ok := g.take(); ok {
		return p, true
	}
	for range geneticAttempts {
		if len(g.population) == 0 {
			break
		}
		if p := g.child(); g.fresh(p) && g.sensible(p) {
			return p, true
		}
	}
	return g.pick()
}

// child crosses two members and mutates what comes of it.
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

func (g *genetic) told(t Trial) {
	if t.Verdict != Good {
		return
	}
	i, _ := slices.BinarySearchFunc(g.population, t, bySeconds)
	g.population = slices.Insert(g.population, i, t)
	g.population = g.population[:min(len(g.population), g.size)]
}

func (g *genetic) ahead(n int) []Point { return g.peek(n) }
