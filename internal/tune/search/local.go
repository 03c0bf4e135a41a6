package search

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

// local climbs from good points to better neighbours until there are none, and then restarts near the best and
// elsewhere (iterated local search: Lourenço, Martin, Stützle 2003).
type local struct {
	queue
	*moves
	neighbourhood *neighbourhood
	at            Trial           // the present point, if placed
	placed        bool            // whether there is a present point
	open          []Point         // neighbours of it that were not tried
	starts        map[string]bool // starting points that were not told; the search goes on from the best
	from          []Trial         // starting points that ran
	rounds        int
}

const (
	localOpenings = 8
	localStarts   = 4
	kickSteps     = 3
)

func newLocal(p Problem, arg string) (Strategy, error) {
	kind, err := neighbourhoodOf(arg)
	if err != nil {
		return nil, err
	}
	m := newHistory(p)
	l := &local{queue: queue{history: m}, moves: newMoves(p.Space), neighbourhood: kind, starts: map[string]bool{}}
	return &methodStrategy{m, l}, nil
}

// neighbourhoodOf finds a neighbourhood by name.
func neighbourhoodOf(name string) (*neighbourhood, error) {
	names := ""
	for i := range neighbourhoods {
		if n := &neighbourhoods[i]; n.name == name || i == 0 && name == "" {
			return n, nil
		}
		names += " " + neighbourhoods[i].name
	}
	return nil, fmt.Errorf("there is no neighbourhood %q; there are%s", name, names)
}

func (l *local) next() (Point, bool) {
	for {
		if p, ok := l.take(); ok {
			return p, true
		}
		if len(l.starts) > 0 {
			return l.pick() // a random point while starting points are in flight
		}
		for len(l.open) > 0 {
			p := l.open[0]
			l.open = l.open[1:]
			if l.fresh(p) && l.worthTrying(p) {
				return p, true
			}
		}
		if !l.restart() {
			return nil, false
		}
	}
}

// restart chooses points to climb from; false if none are left.
func (l *local) restart() bool {
	l.rounds++
	l.from = nil
	start := func(p Point) {
		if l.add(p) {
			l.starts[p.Key()] = true
		}
	}
	if l.rounds == 1 {
		for _, p := range l.openings(localOpenings) {
			start(p)
		}
	}
	if l.best >= 0 {
		for range localStarts / 2 {
			start(l.kick(l.trials[l.best].Point, kickSteps, l.neighbourhood, l.rng))
		}
	}
	for len(l.starts) < localStarts {
		p, ok := l.pick()
		if !ok {
			break
		}
		start(p)
	}
	return len(l.starts) > 0
}

func (l *local) told(t Trial) {
	start := l.starts[t.Point.Key()]
	delete(l.starts, t.Point.Key())
	switch {
	case t.Verdict == verdict.OK && l.placed && t.Seconds < l.at.Seconds:
		l.climbFrom(t)
		return
	case start && t.Verdict == verdict.OK:
		l.from = append(l.from, t)
	}
	if start && len(l.starts) == 0 && len(l.from) > 0 {
		l.climbFrom(slices.MinFunc(l.from, bySeconds))
	}
}

// climbFrom makes t the present point.
func (l *local) climbFrom(t Trial) {
	l.at, l.placed = t, true
	l.open = l.neighbours(t.Point, l.neighbourhood, l.rng)
	clear(l.starts)
}

func (l *local) likely(n int) []Point {
	list := l.peek(n)
	for _, p := range l.open {
		if len(list) < n && l.fresh(p) && l.worthTrying(p) {
			list = append(list, p)
		}
	}
	return list
}
