package search

import (
	"fmt"
	"strings"
)

// Info describes a strategy.
type Info struct {
	Name string
	Doc  string // one line
	// Arg tells what may follow the name and a colon; empty if nothing may.
	Arg string
}

// entry is a strategy that can be made by name.
type entry struct {
	Info
	make func(p Problem, arg string) (Strategy, error)
}

const neighbourhoodArg = "a neighbourhood: all, adjacent, any or exchange"

// entries lists the strategies in the order in which users see them.
func entries() []entry {
	list := []entry{
		{Info{"auto", "learns a Gaussian process of the times and tries where it expects most, among points from everywhere and the neighbours of the best", ""}, newAuto},
		{Info{"random", "points at random, without replacement", ""}, newRandom},
		{Info{"exhaustive", "every point, in the space's order", ""}, newExhaustive},
		{Info{"local", "climbs from good points to better neighbours, again and again", neighbourhoodArg}, newLocal},
		{Info{"annealing", "walks from neighbour to neighbour, to slower ones less and less (simulated annealing)", neighbourhoodArg}, newAnnealing},
		{Info{"genetic", "crosses and mutates the fastest points", ""}, newGenetic},
		{Info{"model", "learns a random forest of the times and tries where it expects most", ""}, newModelled},
	}
	list = append(list, entry{Info{"hierarchical", "tunes what has high impact first and the rest around the few fastest (Rawat 2019, V)", hierarchyArg}, newHierarchical})
	for _, b := range builtins {
		list = append(list, b.entry())
	}
	return list
}

// Names lists the strategies that New makes.
func Names() []Info {
	var list []Info
	for _, e := range entries() {
		list = append(list, e.Info)
	}
	return list
}

// New makes a strategy by its name, which an argument may follow after a colon:
// "local:exchange".
func New(name string, p Problem) (Strategy, error) {
	name, arg, given := strings.Cut(name, ":")
	for _, e := range entries() {
		if e.Name != name {
			continue
		}
		if given && e.Arg == "" {
			return nil, fmt.Errorf("the strategy %s takes no argument", name)
		}
		s, err := e.make(p, arg)
		if err != nil {
			return nil, fmt.Errorf("the strategy %s: %w", name, err)
		}
		return s, nil
	}
	var known []string
	for _, e := range entries() {
		known = append(known, e.Name)
	}
	return nil, fmt.Errorf("there is no strategy %q; there are %s", name, strings.Join(known, ", "))
}
