package synth

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Drawn systems are like the right-hand sides of systems of partial differential equations: many grids are read, most
// of them around the cell, and each result is made of many finite differences. They have up to some hundreds of
// operations, which drawn programs of single sums have not: registers bound their kernels, and who reads what from
// where decides.

// drawnExtent says how large the systems of a suite are.
type drawnExtent struct {
	suite    string
	doc      string
	programs int    // recordings are made of them: the draws never change
	seed     uint64 // of the draws, with a program's number
	grids    [2]int // the least, and how many numbers from there on are drawn from; those that are not read are dropped
	terms    int    // the least
}

// drawnExtents are those of the suites of systems.
var drawnExtents = []drawnExtent{
	{"drawnsystems", "%d drawn systems in 3 dimensions: many grids, finite differences, hundreds of operations",
		32, 2027, [2]int{3, 9}, 5},
	{"drawnwide", "%d drawn systems in 3 dimensions, that read 12 to 21 grids",
		16, 2028, [2]int{12, 16}, 14},
}

// mostSystemPoints are the cells that the terms of a system read at most: compilers take long for more.
const mostSystemPoints = 220

func drawnSystems() (list []Suite) {
	for _, x := range drawnExtents {
		list = append(list, drawnSuite(x.suite, fmt.Sprintf(x.doc, x.programs), []string{"L", "M", "N"}, x.programs,
			func(n int, name string) Program { return x.draw(n).program(name) }))
	}
	return list
}

// drawnSystem is a system that was drawn.
type drawnSystem struct {
	drawing // its axes, types and inputs; results take the place of outputs
	names   []string
	terms   []drawnTerm // a statement each
	results []drawnResult
}

// drawnTerm is a finite difference.
type drawnTerm struct {
	kind       *drawnTermKind
	grids      [3]string // of the inputs
	axis, side int       // of the difference, and another axis
	reach      int       // cells on each side
}

// drawnResult is a sum of terms, scaled by a grid at the cell or not.
type drawnResult struct {
	terms []int
	scale drawnScale
	by    string // the grid
}

type drawnScale int

const (
	notScaled drawnScale = iota
	multiplied
	divided
)

// drawnTermKind is a kind of difference, with how far it may reach.
type drawnTermKind struct {
	name        string
	least, most int
	text        func(t *termText) string
}

// termText writes a term.
type termText struct {
	*drawnTerm
	weight func() string
	read   func(grid string, o []int) string
}

// at is a cell of a grid at a distance on the term's axis, and beside it at one on the other axis.
func (t *termText) at(grid, distance, beside int) string {
	o := make([]int, 3)
	o[t.axis], o[t.side] = distance, beside
	return t.read(t.grids[grid], o)
}

// sum joins the parts for all distances of a term's reach.
func (t *termText) sum(part func(m int) string) string {
	var parts []string
	for m := 1; m <= t.reach; m++ {
		parts = append(parts, t.weight()+"*("+part(m)+")")
	}
	return strings.Join(parts, "\n    + ")
}

var drawnTermKinds = []drawnTermKind{
	{"first derivative, scaled", 1, 4, func(t *termText) string {
		return t.at(1, 0, 0) + "*(" + t.sum(func(m int) string { return t.at(0, m, 0) + " - " + t.at(0, -m, 0) }) + ")"
	}},
	{"first derivative of a product", 1, 4, func(t *termText) string {
		return t.sum(func(m int) string {
			return t.at(0, m, 0) + "*" + t.at(1, m, 0) + " - " + t.at(0, -m, 0) + "*" + t.at(1, -m, 0)
		})
	}},
	{"second derivative", 1, 4, func(t *termText) string {
		return t.sum(func(m int) string { return t.at(0, m, 0) + " + " + t.at(0, -m, 0) }) +
			" - " + t.weight() + "*" + t.at(0, 0, 0)
	}},
	{"difference of fluxes", 1, 1, func(t *termText) string {
		return fmt.Sprintf("%s*((%s + %s)*(%s - %s) - (%s + %s)*(%s - %s))", t.weight(), t.at(1, 1, 0), t.at(1, 0, 0),
			t.at(0, 1, 0), t.at(0, 0, 0), t.at(1, 0, 0), t.at(1, -1, 0), t.at(0, 0, 0), t.at(0, -1, 0))
	}},
	{"mixed derivative", 1, 2, func(t *termText) string {
		return t.sum(func(m int) string {
			along := func(m int) string {
				return t.at(1, m, 0) + "*(" +
					t.sum(func(l int) string { return t.at(0, m, l) + " - " + t.at(0, m, -l) }) + ")"
			}
			return along(m) + " - " + along(-m)
		})
	}},
	{"fourth difference", 2, 2, func(t *termText) string {
		second := func(m int) string {
			return fmt.Sprintf("%s*(%s - 2*%s + %s)", t.at(1, m, 0), t.at(0, m+1, 0), t.at(0, m, 0), t.at(0, m-1, 0))
		}
		return t.weight() + "*(" + second(1) + " - 2*" + second(0) + " + " + second(-1) + ")"
	}},
	{"laplacian", 1, 3, func(t *termText) string {
		return t.sum(func(m int) string {
			var parts []string
			for axis := range 3 {
				for _, n := range []int{m, -m} {
					o := make([]int, 3)
					o[axis] = n
					parts = append(parts, t.read(t.grids[0], o))
				}
			}
			return strings.Join(parts, " + ")
		}) + " - " + t.weight() + "*" + t.at(0, 0, 0)
	}},
	{"product at the cell", 0, 0, func(t *termText) string {
		return t.weight() + "*" + t.at(0, 0, 0) + "*" + t.at(1, 0, 0) + " + " + t.weight() + "*" + t.at(2, 0, 0)
	}},
}

// draw draws a system by its number.
func (x *drawnExtent) draw(n int) *drawnSystem {
	r := rand.New(rand.NewPCG(uint64(n), x.seed))
	d := &drawnSystem{drawing: drawing{letters: []string{"k", "j", "i"}, order: uint64(n)}}
	d.kind = &drawnKinds[[]int{0, 1, 1}[r.IntN(3)]]
	for range d.letters {
		step := []int{1, 4, 8, 16, 32}[r.IntN(5)]
		d.edges = append(d.edges, (176+r.IntN(120))/step*step)
	}
	for i := range x.grids[0] + r.IntN(x.grids[1]) {
		d.names = append(d.names, fmt.Sprintf("u%d", i))
	}
	reach := 1 + r.IntN(4) // most terms of a discretisation are of one order
	kinds := r.Perm(len(drawnTermKinds))[:2+r.IntN(3)]
	for most := x.terms + r.IntN(6)*r.IntN(7); len(d.terms) < most; {
		t := drawnTerm{kind: &drawnTermKinds[kinds[r.IntN(len(kinds))]], axis: r.IntN(3)}
		t.side = (t.axis + 1 + r.IntN(2)) % 3
		t.reach = min(max(reach, t.kind.least), t.kind.most)
		for i, g := range r.Perm(len(d.names))[:3] {
			t.grids[i] = d.names[g]
		}
		d.terms = append(d.terms, t)
		if len(d.points()) > mostSystemPoints {
			d.terms = d.terms[:len(d.terms)-1]
			break
		}
	}
	d.drawResults(r)
	read := d.cells()
	d.names = slices.DeleteFunc(d.names, func(name string) bool { return len(read[name]) == 0 })
	for range d.names {
		d.inputs = append(d.inputs, drawnInput{typ: d.kind.local})
	}
	return d
}

// drawResults draws what the terms are joined to.
func (d *drawnSystem) drawResults(r *rand.Rand) {
	for range min(1+r.IntN(5), len(d.terms)) {
		x := drawnResult{by: d.names[r.IntN(len(d.names))]}
		x.scale = []drawnScale{notScaled, notScaled, multiplied, divided}[r.IntN(4)]
		d.results = append(d.results, x)
	}
	for i := range d.terms { // each counts in one result, and some in another one, too
		to := i % len(d.results)
		d.results[to].terms = append(d.results[to].terms, i)
		if other := r.IntN(4 * len(d.results)); other < len(d.results) && other != to {
			d.results[other].terms = append(d.results[other].terms, i)
		}
	}
}

// cells are those that are read of each grid, each once.
func (d *drawnSystem) cells() map[string][][]int {
	list := map[string][][]int{}
	read := func(grid string, o []int) string {
		if !slices.ContainsFunc(list[grid], func(x []int) bool { return slices.Equal(x, o) }) {
			list[grid] = append(list[grid], o)
		}
		return ""
	}
	for i := range d.terms {
		d.terms[i].kind.text(&termText{&d.terms[i], func() string { return "" }, read})
	}
	for _, x := range d.results {
		if x.scale != notScaled {
			read(x.by, make([]int, len(d.letters)))
		}
	}
	return list
}

// points are the cells of all grids.
func (d *drawnSystem) points() (all [][]int) {
	for _, list := range d.cells() {
		all = append(all, list...)
	}
	return all
}

func (d *drawnSystem) program(name string) Program {
	p := Program{
		Name: name, Group: name, Pattern: "system", Type: d.kind.name, Edges: d.edges,
		write: func(size []int, _ string, seed uint64) string { return d.source(size, seed) },
	}
	cells := d.points()
	p.Points, p.least = len(cells), leastFor(len(d.letters), cells)
	return p
}

// source returns the program over grids of a size; the seed decides the weights.
func (d *drawnSystem) source(size []int, seed uint64) string {
	var t strings.Builder
	outputs := letters('p', len(d.results))
	fmt.Fprintf(&t, "// A drawn system: %s; %d differences of %d grids.\n", d.kind.name, len(d.terms), len(d.names))
	d.declare(&t, size, d.names, outputs)
	r := rand.New(rand.NewPCG(seed, d.order))
	arguments := strings.Join(slices.Concat(outputs, d.names), ", ")
	fmt.Fprintf(&t, "stencil compute (%s) {\n", arguments)
	for i := range d.terms {
		x := &termText{&d.terms[i], func() string { return fmt.Sprintf("%.3g", float64(1+r.IntN(999))/2000) },
			func(grid string, o []int) string { return grid + d.cell(o) }}
		fmt.Fprintf(&t, "  %s t%d = %s; // %s\n", d.kind.local, i, x.kind.text(x), x.kind.name)
	}
	for i, x := range d.results {
		sum := ""
		for n, term := range x.terms {
			if n > 0 {
				sum += []string{" + ", " - "}[n%2]
			}
			sum += fmt.Sprintf("t%d", term)
		}
		switch by := x.by + d.here(); x.scale {
		case multiplied:
			sum = fmt.Sprintf("%s*(%s)", by, sum)
		case divided:
			sum = fmt.Sprintf("(%s)/(1.5 + %s)", sum, by)
		}
		fmt.Fprintf(&t, "  %s%s = %s;\n", outputs[i], d.here(), sum)
	}
	fmt.Fprintf(&t, "}\n\ncompute (%s);\n", arguments)
	return t.String()
}
