package synth

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Drawn programs differ in what the suites of publications have in common: in how many grids they read and write, in
// types, in shapes that are not symmetric, in boundaries, in grids whose edges are no powers of two, and in arithmetic
// that is more than a weighted sum. Models that have learned from sums over one grid know little of others. Cosenza et
// al. 2017 (IPDPS, "Autotuning Stencil Computations with Structural Ordinal Regression Learning") train on synthetic
// programs of such kinds, too: lines, planes, cubes and Laplacians over several buffers.

// Each number of a suite is a program. Recordings are made of them: the draws never change.
const (
	drawn2D = 32
	drawn3D = 48
)

// drawnSuite is a suite of programs that are drawn by their numbers.
func drawnSuite(name, doc string, axes []string, programs int, draw func(n int, name string) Program) Suite {
	return Suite{
		Name: name, Doc: doc, Axes: axes, Seeded: true,
		list: func() []Program {
			var list []Program
			for n := range programs {
				list = append(list, draw(n, fmt.Sprintf("%s-%02d", name, n+1)))
			}
			return list
		},
	}
}

// drawnPrograms are those in two dimensions and in three.
func drawnPrograms() []Suite {
	suite := func(name string, axes, letters []string, programs int) Suite {
		doc := fmt.Sprintf("%d drawn programs in %d dimensions: several grids and types, uneven shapes and edges",
			programs, len(axes))
		return drawnSuite(name, doc, axes, programs, func(n int, name string) Program {
			return draw(n, letters).program(name)
		})
	}
	return []Suite{
		suite("drawn2d", []string{"M", "N"}, []string{"j", "i"}, drawn2D),
		suite("drawn3d", []string{"L", "M", "N"}, []string{"k", "j", "i"}, drawn3D),
	}
}

// drawing is a drawn program.
type drawing struct {
	letters  []string // of the axes, outermost first
	edges    []int
	kind     *drawnKind
	boundary string // of all inputs; "" for none
	inputs   []drawnInput
	outputs  []string // expressions of sums: s0 is that of the first input
	order    uint64   // of the weights, with the seed
}

// drawnInput is a grid that is read.
type drawnInput struct {
	shape string
	typ   string
	cells [][]int // distances on the axes
}

// drawnKind is a choice of types.
type drawnKind struct {
	name           string
	types          []string // of the inputs, again and again
	local, out     string
	share          int  // of a hundred programs
	scale          int  // of the first values
	whole, bounded bool // arithmetic of whole numbers; results that fit a byte
}

var drawnKinds = []drawnKind{
	{name: "float", types: []string{"float"}, local: "float", out: "float", share: 42, scale: 1},
	{name: "double", types: []string{"double"}, local: "double", out: "double", share: 30, scale: 1},
	{name: "double and float", types: []string{"double", "float"}, local: "double", out: "double", share: 8, scale: 1},
	{name: "float to double", types: []string{"float"}, local: "double", out: "double", share: 6, scale: 1},
	{name: "int", types: []string{"int"}, local: "int", out: "int", share: 7, scale: 1000, whole: true},
	{name: "byte to float", types: []string{"byte"}, local: "float", out: "float", share: 4, scale: 255},
	{name: "byte", types: []string{"byte"}, local: "int", out: "byte", share: 3, scale: 255, whole: true,
		bounded: true},
}

// mostDrawnPoints are the cells that a program reads at most: larger ones take minutes of compilers.
const mostDrawnPoints = 48

// draw draws a program by its number.
func draw(n int, letters []string) *drawing {
	r := rand.New(rand.NewPCG(uint64(n), uint64(2017+len(letters))))
	d := &drawing{letters: letters, order: uint64(n)}
	share := r.IntN(100)
	for i := range drawnKinds {
		d.kind = &drawnKinds[i]
		if share -= d.kind.share; share < 0 {
			break
		}
	}
	for range letters {
		d.edges = append(d.edges, drawnEdge(r, len(letters)))
	}
	d.boundary = []string{
		"", "", "", "", "", "", "clamp", "clamp", "periodic", "mirror", "constant(0)",
	}[r.IntN(11)]
	if d.kind.whole && d.boundary == "constant(0)" { // pictures go on at their rim
		d.boundary = "clamp"
	}
	left := mostDrawnPoints
	for i := range 1 + min(r.IntN(5), r.IntN(5)) {
		x := drawShape(r, len(letters), i > 0)
		if len(x.cells) > left {
			x = drawnInput{shape: "point", cells: [][]int{make([]int, len(letters))}}
		}
		left -= len(x.cells)
		x.typ = d.kind.types[i%len(d.kind.types)]
		d.inputs = append(d.inputs, x)
		if left < 1 {
			break
		}
	}
	for range 1 + min(r.IntN(3), r.IntN(3)) {
		d.outputs = append(d.outputs, d.result(r))
	}
	return d
}

// drawnEdge draws an edge of grids that no cache keeps: odd ones, and multiples of small powers of two.
func drawnEdge(r *rand.Rand, axes int) int {
	low, high := 220, 440
	if axes == 2 {
		low, high = 3000, 7000
	}
	step := []int{1, 4, 8, 16, 32}[r.IntN(5)]
	return (low + r.IntN(high-low)) / step * step
}

// drawShape draws which cells of a grid are read. All but the first grid may be read at the cell itself alone.
func drawShape(r *rand.Rand, axes int, point bool) drawnInput {
	shapes := []string{"star", "star", "box", "diamond", "line", "upwind", "sparse"}
	if point {
		shapes = append(shapes, "point", "point", "point", "point", "point")
	}
	x := drawnInput{shape: shapes[r.IntN(len(shapes))]}
	switch x.shape {
	case "star":
		most := 1 + min(r.IntN(4), r.IntN(4))
		x.cells = near(axes, most, func(o []int) bool { return beside(o) <= 1 })
	case "box":
		radius := 1
		if axes == 2 {
			radius += r.IntN(2)
		}
		x.cells = near(axes, radius, func([]int) bool { return true })
	case "diamond":
		x.cells = near(axes, 2, func(o []int) bool { return apart(o) <= 2 })
	case "line":
		axis, most := r.IntN(axes), 1+r.IntN(6)
		x.cells = near(axes, most, func(o []int) bool { return apart(o) == max(o[axis], -o[axis]) })
	case "upwind": // one side of each axis, some further than others
		reach := make([]int, axes)
		for i := range reach {
			reach[i] = r.IntN(4)
		}
		reach[r.IntN(axes)]++
		x.cells = near(axes, 4, func(o []int) bool {
			for i, d := range o {
				if d > 0 || -d > reach[i] {
					return false
				}
			}
			return beside(o) <= 1
		})
	case "sparse":
		radius, part := 1+r.IntN(3), 3+r.IntN(9)
		all := near(axes, radius, func([]int) bool { return true })
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		x.cells = all[:min(len(all), part)]
		slices.SortFunc(x.cells, slices.Compare[[]int])
	default:
		x.cells = near(axes, 0, func([]int) bool { return true })
	}
	return x
}

// near returns the cells within a distance on each axis that a shape has, those of the outer axes first.
func near(axes, most int, has func(o []int) bool) [][]int {
	list := [][]int{{}}
	for range axes {
		var longer [][]int
		for _, o := range list {
			for d := -most; d <= most; d++ {
				longer = append(longer, append(slices.Clone(o), d))
			}
		}
		list = longer
	}
	return slices.DeleteFunc(list, func(o []int) bool { return !has(o) })
}

// beside counts the axes on which a cell is elsewhere, and apart adds up how far.
func beside(o []int) (n int) {
	for _, d := range o {
		if d != 0 {
			n++
		}
	}
	return n
}

func apart(o []int) (sum int) {
	for _, d := range o {
		sum += max(d, -d)
	}
	return sum
}

// result draws what a result is made of: all sums of the inputs, joined in different ways.
func (d *drawing) result(r *rand.Rand) string {
	text := "s0"
	for i := range d.inputs[1:] {
		s := fmt.Sprintf("s%d", i+1)
		switch r.IntN(4) {
		case 0:
			if i > 0 {
				text = "(" + text + ")"
			}
			text += "*" + s
		case 1:
			text = fmt.Sprintf("%s - %s", text, s)
		default:
			text = fmt.Sprintf("%s + %s", text, s)
		}
	}
	if d.kind.whole {
		usual := len(d.inputs[0].cells) * d.kind.scale // of s0, whose weights are 3.5 in the mean
		switch r.IntN(3) {
		case 0:
			if len(d.inputs) == 1 {
				return fmt.Sprintf("min(max(s0, %d), %d)", usual/2, 3*usual)
			}
			return fmt.Sprintf("min(max(%s, s0 - 9), s0 + %d)", text, usual)
		case 1:
			return fmt.Sprintf("s0 > %d ? %s : s0 - 3", 2*usual, text)
		}
		return text
	}
	switch r.IntN(8) {
	case 0:
		return fmt.Sprintf("(%s)/(1.5 + s0*s0)", text)
	case 1:
		return fmt.Sprintf("sqrt(0.25 + s0*s0)*(%s)", text)
	case 2:
		if len(d.inputs) == 1 {
			return "min(max(s0, 0.1), 0.5)"
		}
		return fmt.Sprintf("min(max(%s, s0 - 0.2), s0 + 0.2)", text)
	case 3:
		return fmt.Sprintf("s0 > 0.3 ? %s : 0.5*s0", text)
	case 4: // a polynomial: more operations for each cell
		return fmt.Sprintf("(((0.125*s0 + 0.25)*s0 - 0.5)*s0 + 0.75)*s0 + %s", text)
	}
	return text
}

func (d *drawing) program(name string) Program {
	p := Program{
		Name: name, Group: name, Pattern: d.inputs[0].shape, Type: d.kind.name, Edges: d.edges,
		write: func(size []int, _ string, seed uint64) string { return d.source(size, seed) },
	}
	var cells [][]int
	for _, x := range d.inputs {
		p.Points += len(x.cells)
		cells = append(cells, x.cells...)
	}
	p.least = leastFor(len(d.letters), cells)
	return p
}

// weight draws that of one of so many cells, so that sums are of the size of a first value, or of whole numbers.
func (d *drawing) weight(r *rand.Rand, cells int) string {
	if d.kind.whole {
		return fmt.Sprint(1 + r.IntN(6))
	}
	return fmt.Sprintf("%.3g", float64(1+r.IntN(999))/500/float64(cells*d.kind.scale))
}

// source returns the program over grids of a size; the seed decides the weights.
func (d *drawing) source(size []int, seed uint64) string {
	var t strings.Builder
	inputs, outputs := letters('a', len(d.inputs)), letters('p', len(d.outputs))
	var shapes []string
	for _, x := range d.inputs {
		shapes = append(shapes, fmt.Sprintf("%s of %d", x.shape, len(x.cells)))
	}
	fmt.Fprintf(&t, "// A drawn program: %s; cells that are read: %s.\n", d.kind.name, strings.Join(shapes, ", "))
	d.declare(&t, size, inputs, outputs)
	r := rand.New(rand.NewPCG(seed, d.order))
	arguments := strings.Join(slices.Concat(outputs, inputs), ", ")
	fmt.Fprintf(&t, "stencil compute (%s) {\n", arguments)
	for i, x := range d.inputs {
		fmt.Fprintf(&t, "  %s s%d =", d.kind.local, i)
		for j, o := range x.cells {
			if j > 0 {
				t.WriteString("\n    " + []string{"+", "+", "+", "-"}[j%4])
			}
			fmt.Fprintf(&t, " %s*%s%s", d.weight(r, len(x.cells)), inputs[i], d.cell(o))
		}
		t.WriteString(";\n")
	}
	for i, text := range d.outputs {
		if d.kind.bounded {
			text = fmt.Sprintf("(%s)/16", text)
		}
		fmt.Fprintf(&t, "  %s%s = %s;\n", outputs[i], d.here(), text)
	}
	fmt.Fprintf(&t, "}\n\ncompute (%s);\n", arguments)
	return t.String()
}

// declare writes what comes before the stencil: sizes, grids, and their first values.
func (d *drawing) declare(t *strings.Builder, size []int, inputs, outputs []string) {
	var sizes, extents []string
	for i, n := range size {
		name := []string{"L", "M", "N"}[i+3-len(size)]
		sizes, extents = append(sizes, fmt.Sprintf("%s = %d", name, n)), append(extents, name)
	}
	shape := "[" + strings.Join(extents, ",") + "]"
	fmt.Fprintf(t, "parameter %s;\niterator %s;\n", strings.Join(sizes, ", "), strings.Join(d.letters, ", "))
	for i, name := range inputs {
		fmt.Fprintf(t, "%s %s%s;\n", d.inputs[i].typ, name, shape)
	}
	for _, name := range outputs {
		fmt.Fprintf(t, "%s %s%s;\n", d.kind.out, name, shape)
	}
	if d.boundary != "" {
		fmt.Fprintf(t, "boundary %s : %s;\n", strings.Join(inputs, ", "), d.boundary)
	}
	fmt.Fprintf(t, "copyin %s;\ncopyout %s;\n\ninitial {\n", strings.Join(inputs, ", "), strings.Join(outputs, ", "))
	scale := ""
	if d.kind.scale > 1 {
		scale = fmt.Sprintf("%d*", d.kind.scale)
	}
	for i, name := range inputs {
		fmt.Fprintf(t, "  %s%s = %srandom(%d);\n", name, d.here(), scale, i+1)
	}
	t.WriteString("}\n\n")
}

// cell is the index of a cell at some distances, and here that of the cell itself.
func (d *drawing) cell(o []int) string {
	text := ""
	for i, letter := range d.letters {
		text += "[" + at(letter, o[i]) + "]"
	}
	return text
}

func (d *drawing) here() string { return d.cell(make([]int, len(d.letters))) }

// letters returns so many names: letters from the first on.
func letters(first rune, n int) (list []string) {
	for i := range n {
		list = append(list, string(first+rune(i)))
	}
	return list
}
