package search

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// neighbourhood says which points lie next to another.
type neighbourhood struct {
	name, doc string
	steps     func(m *moves, p Point) [][]change // the changes to try
}

// neighbourhoods lists them; the first is what strategies use unless told otherwise.
var neighbourhoods = []neighbourhood{
	{"all", "any one value, and exchanges", func(m *moves, p Point) [][]change {
		return append(m.single(p), m.exchanges(p)...)
	}},
	{"adjacent", "one number a step up or down, or one word", (*moves).adjacent},
	{"any", "any one value", (*moves).single},
	{"exchange", "steps, and one number up while another of its parameter or axis goes down",
		func(m *moves, p Point) [][]change {
			return append(m.adjacent(p), m.exchanges(p)...)
		}},
}

// number reports whether the values of a parameter are numbers.
func (p *Param) number() bool { return p.Values[0].IsNumber() }

// single lists the changes of one value.
func (m *moves) single(p Point) [][]change {
	var list [][]change
	for i := range p {
		for v := range m.params[i].Values {
			if p[i] >= 0 && v != p[i] {
				list = append(list, []change{{i, v}})
			}
		}
	}
	return list
}

// adjacent lists the changes of a number to the next one, and of words.
func (m *moves) adjacent(p Point) [][]change {
	return slices.DeleteFunc(m.single(p), func(set []change) bool {
		c := set[0]
		return m.params[c.at].number() && c.to != p[c.at]-1 && c.to != p[c.at]+1
	})
}

// exchanges lists a step up of one number with a step down of another, where both belong to one parameter or act
// on one axis. These are shapes of equal size.
func (m *moves) exchanges(p Point) [][]change {
	var list [][]change
	for i := range p {
		for j := range p {
			a, b := &m.params[i], &m.params[j]
			related := a.Of == b.Of || a.Axis != "" && a.Axis == b.Axis
			if i != j && related && a.number() && b.number() && p[i] >= 0 && p[i] < len(a.Values)-1 && p[j] > 0 {
				list = append(list, []change{{i, p[i] + 1}, {j, p[j] - 1}})
			}
		}
	}
	return list
}

// neighbours returns the legal points next to p, in an order drawn from rng.
func (m *moves) neighbours(p Point, n *neighbourhood, rng *rand.Rand) []Point {
	list := m.neighboursInOrder(p, n)
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// neighboursInOrder returns the legal points next to p, in the order of the changes.
func (m *moves) neighboursInOrder(p Point, n *neighbourhood) []Point {
	var list []Point
	seen := map[string]bool{p.Key(): true}
	for _, set := range n.steps(m, p) {
		if q, ok := m.fit(p, set); ok && !seen[q.Key()] {
			seen[q.Key()] = true
			list = append(list, q)
		}
	}
	return list
}

// kick returns a legal point a few random steps away from p; p itself if it has
// no neighbours.
func (m *moves) kick(p Point, steps int, n *neighbourhood, rng *rand.Rand) Point {
	for range steps {
		p = m.neighbour(p, n, rng)
	}
	return p
}

// neighbour returns one legal point next to p, or p if there is none.
func (m *moves) neighbour(p Point, n *neighbourhood, rng *rand.Rand) Point {
	list := n.steps(m, p)
	for len(list) > 0 {
		i, last := rng.IntN(len(list)), len(list)-1
		set := list[i]
		list[i] = list[last]
		list = list[:last]
		if q, ok := m.fit(p, set); ok {
			return q
		}
	}
	return p
}

// towards copies values of another point to p: parameters in random order, each with probability 1/2, where that
// is legal.
func (m *moves) towards(p, other Point, rng *rand.Rand) Point {
	groups := map[string][]change{}
	for i := range p {
		if p[i] != other[i] && other[i] >= 0 {
			of := m.params[i].Of
			groups[of] = append(groups[of], change{i, other[i]})
		}
	}
	names := slices.SortedFunc(maps.Keys(groups), byFirstName)
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, of := range names {
		if rng.IntN(2) == 0 {
			continue
		}
		if q, ok := m.fit(p, groups[of]); ok {
			p = q
		}
	}
	return p
}
