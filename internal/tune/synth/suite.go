// Package synth writes stencil programs to tune and to learn from. They come in
// suites, most of them that of a publication: the synthetic kernels of Garvey 2018, the
// generator of Cummins 2018 (OmniTune), and the two-dimensional programs of
// Rimmelg 2020 (Lift). Others are drawn: programs that differ in what those have in common.
// Every program is a text that can be read, run and tuned like any other.
package synth

import (
	"fmt"
	"slices"
	"strings"
)

// Suite is a list of programs that were used together.
type Suite struct {
	Name string
	Doc  string // a line for readers
	// Axes are the parameters that sizes are given to, outermost first.
	Axes []string
	// Sizes are the edges of the square or cubic grids that the publication has.
	Sizes []int
	Edge  int // the edge that programs have unless another size is asked for; 0 where each has its own
	// Types are those that programs can be written in, the usual one first; none
	// if the types are part of a program.
	Types  []string
	Seeded bool // a seed decides the weights

	list  func() []Program
	other func(name string) (Program, error) // a program that is not in the list; may be nil
}

// Program is one of a suite.
type Program struct {
	Name string
	// Group is common to programs that are one stencil with other types, weights
	// or amounts of work, in all suites. A model that is judged on one of them must
	// not have learned from another.
	Group string
	// Pattern is a class of shapes, to leave out all of them at a time: those of
	// Garvey 2018, or for omnitune "point", "even" and "uneven" borders.
	Pattern string
	// Points is the number of cells, of all grids, that one cell is computed from.
	Points int
	Type   string // of the grids, unless another one is asked for: "float", "int to float"
	Edges  []int  // cells on each axis unless another size is asked for; nil for the suite's

	suite *Suite
	least []int // cells on each axis
	write func(size []int, typ string, seed uint64) string
}

// Options is what can be chosen of a program's text. The zero value is the usual
// text.
type Options struct {
	Size []int  // cells on each axis, outermost first, or on all of them; the suite's edge if there is none
	Type string // float or double; "" for the usual one
	Seed uint64 // of random weights; 0 is 1
}

// Suites returns all suites.
func Suites() []Suite {
	return append([]Suite{garvey(), garvey416(), omnitune(), lift()}, append(drawnPrograms(), drawnSystems()...)...)
}

// FindSuite returns the suite of a name.
func FindSuite(name string) (Suite, error) {
	var names []string
	for _, s := range Suites() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Suite{}, fmt.Errorf("there is no suite %q; there are %s", name, strings.Join(names, ", "))
}

// Programs returns the programs of the suite, always in the same order.
func (s Suite) Programs() []Program {
	list := s.list()
	for i := range list {
		list[i].suite = &s
	}
	return list
}

// Find returns the program of a name.
func (s Suite) Find(name string) (Program, error) {
	list := s.Programs()
	if i := slices.IndexFunc(list, func(p Program) bool { return p.Name == name }); i >= 0 {
		return list[i], nil
	}
	if s.other == nil {
		return Program{}, fmt.Errorf("suite %s has no program %q", s.Name, name)
	}
	p, err := s.other(name)
	p.suite = &s
	return p, err
}

// Source returns the text of the program. An error begins with the option that it
// is about: "size 4x4: ...".
func (p Program) Source(o Options) (string, error) {
	size, err := p.size(o.Size)
	if err != nil {
		return "", err
	}
	typ := o.Type
	switch types := p.suite.Types; {
	case typ == "" && len(types) > 0:
		typ = types[0]
	case typ != "" && len(types) == 0:
		return "", fmt.Errorf("type %s: %s has types of its own", typ, p.Name)
	case typ != "" && !slices.Contains(types, typ):
		return "", fmt.Errorf("type %s: programs of suite %s are %s", typ, p.suite.Name, strings.Join(types, " or "))
	}
	if o.Seed != 0 && !p.suite.Seeded {
		return "", fmt.Errorf("seed %d: programs of suite %s have no random weights", o.Seed, p.suite.Name)
	}
	return p.write(size, typ, max(1, o.Seed)), nil
}

// mostCells is how many cells an axis may have.
const mostCells = 1 << 30

// size returns the cells on each axis.
func (p Program) size(asked []int) ([]int, error) {
	axes := p.suite.Axes
	size := asked
	switch len(asked) {
	case 0:
		if size = p.Edges; size == nil {
			size = slices.Repeat([]int{p.suite.Edge}, len(axes))
		}
	case 1:
		size = slices.Repeat(asked, len(axes))
	case len(axes):
	default:
		return nil, fmt.Errorf("size %s: grids of suite %s have %d axes: %s", crossed(asked), p.suite.Name, len(axes),
			strings.Join(axes, ", "))
	}
	for i, n := range size {
		least := 1
		if p.least != nil {
			least = p.least[i]
		}
		if n < least || n > mostCells {
			return nil, fmt.Errorf("size %s: %s of %s is %d to %d", crossed(asked), axes[i], p.Name, least, mostCells)
		}
	}
	return size, nil
}

// leastFor returns the cells that each axis has at least if one cell can be computed from cells at these distances.
func leastFor(axes int, cells [][]int) []int {
	low, high, least := make([]int, axes), make([]int, axes), make([]int, axes)
	for _, o := range cells {
		for i, d := range o {
			low[i], high[i] = min(low[i], d), max(high[i], d)
		}
	}
	for i := range least {
		least[i] = high[i] - low[i] + 1
	}
	return least
}

// crossed returns a text like "64x32".
func crossed(size []int) string {
	var parts []string
	for _, n := range size {
		parts = append(parts, fmt.Sprint(n))
	}
	return strings.Join(parts, "x")
}
