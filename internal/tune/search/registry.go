package search

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/search/spec"
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
		{Info{"auto",
			"two models of the times, a Gaussian process and a random forest, take turns in trying " +
				"what they expect most of", ""}, newAuto},
		{Info{"random", "points at random, without replacement", ""}, newRandom},
		{Info{"exhaustive", "every point, in the space's order", ""}, newExhaustive},
		{Info{"local", "climbs from good points to better neighbours, again and again", neighbourhoodArg}, newLocal},
		{Info{"annealing", "walks from neighbour to neighbour, to slower ones less and less (simulated annealing)",
			neighbourhoodArg}, newAnnealing},
		{Info{"genetic", "crosses and mutates the fastest points", ""}, newGenetic},
		{Info{"model", "learns a random forest of the times and tries where it expects most", ""}, newModelled},
	}
	list = append(list, entry{Info{"hierarchical",
		"tunes what has high impact first and the rest around the few fastest (Rawat 2019, V)", hierarchyArg},
		newHierarchical})
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
// "local:exchange". A name that ends in .spec is that of a heuristic
// specification file, whose argument sets options: "mine.spec:n=1".
func New(name string, p Problem) (Strategy, error) {
	e, arg, err := find(name)
	if err != nil {
		return nil, err
	}
	first := p.First
	p.First = p.first()
	s, err := e.make(p, arg)
	if err != nil {
		var bad *SpecError
		if errors.As(err, &bad) {
			return nil, err // it names the file
		}
		return nil, fmt.Errorf("the strategy %s: %w", e.Name, err)
	}
	for _, t := range p.Known {
		s.Tell(t)
	}
	return newPreceded(s, p, first), nil
}

// Check reports what is wrong with a strategy's name, or with the syntax of its
// file, as far as that can be told before there is a space.
func Check(name string) error {
	_, _, err := find(name)
	return err
}

// maxSpecification is how long a specification file may be.
const maxSpecification = 1 << 20

// find returns the strategy that a name means, and its argument.
func find(name string) (e entry, arg string, err error) {
	name, arg, given := strings.Cut(name, ":")
	if strings.HasSuffix(name, ".spec") {
		text, err := gridio.ReadSmall(name, maxSpecification)
		if err != nil {
			return e, "", err
		}
		f, list := spec.Parse(diag.NewSource(name, string(text)))
		if list.HasErrors() {
			return e, "", &SpecError{f.Source, list}
		}
		if _, err := heuristicOptions(f, arg); err != nil {
			return e, "", err
		}
		return entry{Info{Name: name}, func(p Problem, arg string) (Strategy, error) {
			return NewHeuristic(name, string(text), arg, p)
		}}, arg, nil
	}
	var known []string
	for _, e := range entries() {
		if e.Name != name {
			known = append(known, e.Name)
			continue
		}
		if given && e.Arg == "" {
			return e, "", fmt.Errorf("the strategy %s takes no argument", name)
		}
		return e, arg, nil
	}
	return e, "", fmt.Errorf("there is no strategy %q; there are %s, and files that end in .spec", name,
		strings.Join(known, ", "))
}
