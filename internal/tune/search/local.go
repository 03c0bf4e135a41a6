package search

import (
	"fmt"
	"slices"
)

// local climbs from good points to better neighbours until there is none, and
// then starts anew near the best, and elsewhere (iterated local search:
// Lourenço, Martin, Stützle 2003).
type local struct {
	queue
	*moves
	kind   *neighbourhood
	at     Trial           // where it stands, if placed
	placed bool            // at a point that ran
	open   []Point         // its neighbours not yet looked at
	starts map[string]bool // starts not yet told of; the best will be the next at
	from   []Trial         // those told of that ran
	rounds int
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
	m := newMemory(p)
	l := &local{queue: queue{memory: m}, moves: newMoves(p.Space), kind: kind, starts: map[string]bool{}}
	return &agent{m, l}, nil
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
			return l.pick() // rather than nothing while starts are under way
		}
		for len(l.open) > 0 {
			p := l.open[0]
			l.open = l.open[1:]
			if l.fresh(p) && l.sensible(p) {
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
			start(l.kick(l.trials[l.best].Point, kickSteps, l.kind, l.rng))
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
	case t.Verdict == Good && l.placed && t.Seconds < l.at.Seconds:
		l.settle(t)
		return
	case start && t.Verdict == Good:
		l.from = append(l.from, t)
	}
	if start && len(l.starts) == 0 && len(l.from) > 0 {
		l.settle(slices.MinFunc(l.from, bySeconds))
	}
}

// settle makes t the point to climb from.
func (l *local) settle(t Trial) {
	l.at, l.placed = t, true
	l.open = l.neighbours(t.Point, l.kind, l.rng)
	clear(l.starts)
}

func (l *local) ahead(n int) []Point {
	list := l.peek(n)
	for _, p := range l.open {
		if len(list) < n && l.fresh(p) && l.sensible(p) {
			list = append(list, p)
		}
	}
	return list
}
