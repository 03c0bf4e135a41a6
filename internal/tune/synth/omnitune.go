package synth

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Border is a stencil of the generator of Cummins 2018 (section 5.2). It reads
// cells of a border that may differ on the four sides, of a grid of one type, and
// writes another grid, which may have another type.
//
// The paper has no texts. Its counts of instructions (Table 6.3) do not grow with
// the border, so that a body reads a fixed number of cells: here a simple one reads
// the cell itself and the ends of the border on the axes, and adds them up weighted.
// A complex one also reads the corners of the border and the cells half-way to its
// ends, and does some 100 operations. Beyond the edge of the grid cells are the
// nearest ones, which is one of the two choices of SkelCL.
type Border struct {
	Complex                  bool
	North, South, East, West int    // cells on each side; north is where j is less
	In, Out                  string // int, float or double
}

// mostBorder is how wide a border may be.
const mostBorder = 999

var borderTypes = []string{"int", "float", "double"}

// Name returns a text like "simple-n1-s10-e30-w30-float", with the type of the
// output after that of the input if it is another one.
func (b Border) Name() string {
	name := b.shape() + "-" + b.In
	if b.Out != b.In {
		name += "-" + b.Out
	}
	return name
}

// shape returns the name without the types.
func (b Border) shape() string {
	return fmt.Sprintf("%s-n%d-s%d-e%d-w%d", b.body(), b.North, b.South, b.East, b.West)
}

func (b Border) body() string {
	if b.Complex {
		return "complex"
	}
	return "simple"
}

// ParseBorder returns the stencil of a name.
func ParseBorder(name string) (Border, error) {
	var b Border
	const form = "simple-n1-s10-e30-w30-int-float"
	bad := func(what string) (Border, error) {
		return Border{}, fmt.Errorf("%q: %s; a name is like %s", name, what, form)
	}
	parts := strings.Split(name, "-")
	if len(parts) != 6 && len(parts) != 7 {
		return bad("it does not have a body, four sides and one or two types")
	}
	switch parts[0] {
	case "simple":
	case "complex":
		b.Complex = true
	default:
		return bad("a body is simple or complex")
	}
	for i, side := range []*int{&b.North, &b.South, &b.East, &b.West} {
		letter, text := "nsew"[i:i+1], parts[1+i]
		digits, ok := strings.CutPrefix(text, letter)
		n, err := strconv.ParseUint(digits, 10, 16)
		if !ok || err != nil || n > mostBorder || digits != fmt.Sprint(n) {
			return bad(fmt.Sprintf("part %d is %s with 0 to %d cells, as in %s1", 2+i, letter, mostBorder, letter))
		}
		*side = int(n)
	}
	b.In, b.Out = parts[5], parts[len(parts)-1]
	if !slices.Contains(borderTypes, b.In) || !slices.Contains(borderTypes, b.Out) {
		return bad("types are " + strings.Join(borderTypes, ", "))
	}
	if b.Name() != name {
		return bad("a type that is both that of the input and of the output is named once")
	}
	return b, nil
}

// Borders returns the 29 synthetic stencils of Cummins 2018, Table 6.3. Most
// shapes stand there twice, with other counts of instructions. The grids of Table 6.4
// are of float and of int, so that these are taken to be the two.
func Borders() []Border {
	var list []Border
	for _, complex := range []bool{true, false} {
		for _, s := range [][4]int{
			{1, 1, 1, 1}, {5, 5, 5, 5}, {10, 10, 10, 10}, {20, 20, 20, 20}, {30, 30, 30, 30}, {20, 10, 20, 10},
			{1, 10, 30, 30},
		} {
			for _, typ := range []string{"float", "int"} {
				list = append(list, Border{complex, s[0], s[1], s[2], s[3], typ, typ})
			}
		}
	}
	return append(list, Border{In: "float", Out: "float"})
}

// omnitune leaves out the paper's stencils of real programs: the examples life,
// diffusion, blur and canny have them.
func omnitune() Suite {
	return Suite{
		Name: "omnitune",
		Doc:  "29 stencils of the generator of Cummins 2018: borders of their own on four sides; any others by name",
		Axes: []string{"M", "N"}, Sizes: []int{512, 1024, 2048, 4096}, Edge: 4096, Seeded: true,
		list: func() []Program {
			var list []Program
			for _, b := range Borders() {
				list = append(list, b.program())
			}
			return list
		},
		other: func(name string) (Program, error) {
			b, err := ParseBorder(name)
			if err != nil {
				return Program{}, err
			}
			return b.program(), nil
		},
	}
}

func (b Border) program() Program {
	p := Program{
		Name: b.Name(), Group: b.shape(), Pattern: "uneven", Points: len(b.cells()), Type: b.In,
		write: func(size []int, _ string, seed uint64) string { return b.Source([2]int(size), seed) },
	}
	if b.Out != b.In {
		p.Type += " to " + b.Out
	}
	if b.North == b.South && b.South == b.East && b.East == b.West {
		p.Pattern = "even"
	}
	if b.North+b.South+b.East+b.West == 0 {
		p.Pattern = "point"
	}
	return p
}

// borderCell is a cell that a body reads.
type borderCell struct {
	name string // of the local that holds it
	j, i int    // where it is
	part int    // 0 the cell itself, 1 an end, 2 half-way to one, 3 a corner
}

// cells returns the cells that differ, those of the body that it has.
func (b Border) cells() []borderCell {
	n, s, e, w := -b.North, b.South, b.East, -b.West
	all := []borderCell{{"c", 0, 0, 0}, {"n", n, 0, 1}, {"s", s, 0, 1}, {"e", 0, e, 1}, {"w", 0, w, 1}}
	if b.Complex {
		all = append(all,
			borderCell{"hn", n / 2, 0, 2}, borderCell{"hs", s / 2, 0, 2},
			borderCell{"he", 0, e / 2, 2}, borderCell{"hw", 0, w / 2, 2},
			borderCell{"nw", n, w, 3}, borderCell{"ne", n, e, 3}, borderCell{"sw", s, w, 3}, borderCell{"se", s, e, 3})
	}
	var list []borderCell
	for _, c := range all {
		same := func(x borderCell) bool { return x.j == c.j && x.i == c.i }
		if !slices.ContainsFunc(list, same) {
			list = append(list, c)
		}
	}
	return list
}

// wider returns the type that the body computes in: the wider of the two.
func (b Border) wider() string {
	return borderTypes[max(slices.Index(borderTypes, b.In), slices.Index(borderTypes, b.Out))]
}

// Source returns the stencil as a program over grids of a size; the seed decides
// the weights.
func (b Border) Source(size [2]int, seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, uint64(b.North<<30+b.South<<20+b.East<<10+b.West)))
	weight := func() string {
		n := 1 + rng.IntN(999)
		if b.wider() == "int" {
			return fmt.Sprint(2 + n%8)
		}
		return fmt.Sprintf("%g", float64(n)/1000)
	}
	scale := "" // of the first values
	if b.In == "int" {
		scale = "1000*"
	}
	var t strings.Builder
	fmt.Fprintf(&t, "// A synthetic stencil: %s, with borders of these widths: north %d, south %d, east %d, west %d\n"+
		"// (Cummins 2018, section 5.2).\n", b.body(), b.North, b.South, b.East, b.West)
	fmt.Fprintf(&t, "parameter M = %d, N = %d;\niterator j, i;\n%s u[M,N];\n%s next[M,N];\n", size[0], size[1], b.In,
		b.Out)
	fmt.Fprintf(&t, "boundary u : clamp;\ncopyin u;\ncopyout next;\n\ninitial { u[j][i] = %srandom(1); }\n\n", scale)
	t.WriteString("stencil compute (out, in) {\n")
	cells := b.cells()
	for _, c := range cells {
		fmt.Fprintf(&t, "  %s %s = in[%s][%s];\n", b.wider(), c.name, at("j", c.j), at("i", c.i))
	}
	if b.Complex {
		b.mix(&t, weight)
	} else {
		fmt.Fprintf(&t, "  out[j][i] = %s;\n", weighted(cells, weight))
	}
	t.WriteString("}\n\ncompute (next, u);\n")
	return t.String()
}

// mix writes the complex body: weighted sums of the parts of the border, which
// are multiplied with each other and kept within bounds several times.
func (b Border) mix(t *strings.Builder, weight func() string) {
	typ, bound := b.wider(), "4"
	if typ == "int" {
		bound = "4000"
	}
	var near []string
	parts := map[int][]borderCell{}
	for _, c := range b.cells() {
		parts[c.part] = append(parts[c.part], c)
		if c.part < 2 {
			near = append(near, c.name)
		}
	}
	for i, name := range []string{"ends", "halves", "corners"} {
		cells := parts[i+1]
		if len(cells) == 0 {
			cells = parts[0]
		}
		fmt.Fprintf(t, "  %s %s = %s;\n", typ, name, weighted(cells, weight))
	}
	near = append(near, "ends")
	fmt.Fprintf(t, "  %s low = min(%s), high = max(%s);\n", typ, strings.Join(near, ", "), strings.Join(near, ", "))
	fmt.Fprintf(t, "  %s x = ends - c, y = halves - c;\n", typ)
	for range 6 {
		fmt.Fprintf(t, "  x = min(max(%s*x*y + corners, -%s), %s);\n", weight(), bound, bound)
		fmt.Fprintf(t, "  y = min(max(%s*y*x - c, -%s), %s);\n", weight(), bound, bound)
	}
	t.WriteString("  out[j][i] = high - low > x ? x + halves : y - corners;\n")
}

// weighted returns a sum of cells with weights.
func weighted(cells []borderCell, weight func() string) string {
	var terms []string
	for _, c := range cells {
		terms = append(terms, weight()+"*"+c.name)
	}
	return strings.Join(terms, " + ")
}
