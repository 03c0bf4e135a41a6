package bench

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// term is a product of a weighted sum.
type term struct {
	weight float64
	offset [3]int // outermost axis first; two dimensions have 0 there
}

var termText = regexp.MustCompile(`(\d\.\d+)\*in((?:\[[kji][-+\d]*\])+)`)

// termsOf reads the weighted sum of a source.
func termsOf(t *testing.T, name string) []term {
	t.Helper()
	text, err := temporalFiles.ReadFile("temporal/" + name + ".loom")
	if err != nil {
		t.Fatal(err)
	}
	var list []term
	for _, m := range termText.FindAllStringSubmatch(string(text), -1) {
		w, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		x := term{weight: w}
		indices := strings.Split(strings.Trim(m[2], "[]"), "][")
		for i, index := range indices {
			if index = index[1:]; index != "" {
				if x.offset[3-len(indices)+i], err = strconv.Atoi(index); err != nil {
					t.Fatal(err)
				}
			}
		}
		list = append(list, x)
	}
	return list
}

// orderOf is how far the neighbours are that a case reads.
func orderOf(name string) int {
	if slices.Contains([]string{"star9", "box25", "star13"}, strings.TrimSuffix(name, "-axes")) {
		return 2
	}
	return 1
}

// Each source has the points that its name says, each with a weight of its own, in the order of
// planes or axis by axis; all weights together are 1.
func TestTemporalSources(t *testing.T) {
	for _, name := range TemporalNames() {
		if name == "wave" || name == "grayscott" {
			continue
		}
		list := termsOf(t, name)
		shape, axes := strings.CutSuffix(name, "-axes")
		weights, sum := map[float64]bool{}, 0.0
		places := map[[3]int]float64{}
		for _, x := range list {
			weights[x.weight], places[x.offset] = true, x.weight
			sum += x.weight
		}
		points, err := strconv.Atoi(strings.TrimLeft(shape, "starboxpin"))
		if err != nil || len(list) != points || len(weights) != points || len(places) != points ||
			math.Abs(sum-1) > 1e-4 {
			t.Errorf("%s: %d terms, %d weights, %d places, %v together", name, len(list), len(weights), len(places),
				sum)
		}
		order := orderOf(name)
		for at := range places {
			far, away := 0, 0
			for _, o := range at {
				far = max(far, o, -o)
				away += min(1, o*o)
			}
			if far > order || strings.HasPrefix(shape, "star") && away > 1 || shape == "poisson19" && away > 2 {
				t.Errorf("%s reads %v", name, at)
			}
		}
		if !axes {
			if !slices.IsSortedFunc(list, func(a, b term) int { return slices.Compare(a.offset[:], b.offset[:]) }) {
				t.Errorf("%s is not in the order of planes", name)
			}
			continue
		}
		same := map[[3]int]float64{}
		for _, x := range termsOf(t, shape) {
			same[x.offset] = x.weight
		}
		axis := func(x term) int { // 0 for the row, which has the cell itself
			return max(0, 2-slices.IndexFunc(append(x.offset[:], 1), func(o int) bool { return o != 0 }))
		}
		if !maps.Equal(places, same) || !slices.IsSortedFunc(list, func(a, b term) int { return axis(a) - axis(b) }) {
			t.Errorf("%s: %v", name, list)
		}
	}
}

// plain carries out a case by plain loops.
type plain struct {
	shape    [3]int // of all grids; two dimensions have 1 first
	reach    [3]int // how far a cell's neighbours are
	boundary string
}

// value reads a grid at a place, which may be beyond its ends.
func (p plain) value(g []float64, at [3]int) float64 {
	n := 0
	for d, x := range at {
		size := p.shape[d]
		switch p.boundary {
		case "clamp":
			x = min(max(x, 0), size-1)
		case "periodic":
			x = (x + size) % size
		case "mirror":
			if x < 0 {
				x = -1 - x
			} else if x >= size {
				x = 2*size - 1 - x
			}
		case "reflect":
			if x < 0 {
				x = -x
			} else if x >= size {
				x = 2*size - 2 - x
			}
		case "constant":
			if x < 0 || x >= size {
				return 0.25
			}
		}
		n = n*size + x
	}
	return g[n]
}

// each calls f for all cells that are assigned, with their numbers.
func (p plain) each(f func(at [3]int, n int)) {
	for k := range p.shape[0] {
		for j := range p.shape[1] {
			for i := range p.shape[2] {
				at, inside := [3]int{k, j, i}, true
				for d, x := range at {
					inside = inside && (p.boundary != "none" || x >= p.reach[d] && x < p.shape[d]-p.reach[d])
				}
				if inside {
					f(at, (k*p.shape[1]+j)*p.shape[2]+i)
				}
			}
		}
	}
}

// laplacian is the sum of the neighbours, less six times the cell.
func (p plain) laplacian(g []float64, at [3]int) float64 {
	sum := -6 * p.value(g, at)
	for d := range at {
		for _, o := range []int{-1, 1} {
			to := at
			to[d] += o
			sum += p.value(g, to)
		}
	}
	return sum
}

// step carries out an iteration of a case on its grids.
func (p plain) step(t *testing.T, name string, grids map[string][]float64) {
	switch name {
	case "wave":
		u, prev, next := grids["u"], grids["prev"], grids["next"]
		p.each(func(at [3]int, n int) { next[n] = 2*u[n] - prev[n] + 0.15*p.laplacian(u, at) })
		grids["prev"], grids["u"], grids["next"] = u, next, prev
	case "grayscott":
		u, v, un, vn := grids["u"], grids["v"], grids["unext"], grids["vnext"]
		p.each(func(at [3]int, n int) {
			un[n] = u[n] + 0.12*p.laplacian(u, at) - u[n]*v[n]*v[n] + 0.037*(1-u[n])
			vn[n] = v[n] + 0.06*p.laplacian(v, at) + u[n]*v[n]*v[n] - (0.037+0.06)*v[n]
		})
		grids["u"], grids["unext"], grids["v"], grids["vnext"] = un, u, vn, v
	default:
		terms := termsOf(t, name)
		u, next := grids["u"], grids["next"]
		p.each(func(at [3]int, n int) {
			next[n] = 0
			for _, x := range terms {
				to := at
				for d := range to {
					to[d] += x.offset[d]
				}
				next[n] += x.weight * p.value(u, to)
			}
		})
		grids["u"], grids["next"] = next, u
	}
}

// doubles are the cells of a grid in double.
func doubles(data []byte) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(&data[0])), len(data)/8)
}

// Each case with each boundary computes what plain loops do, and its kernels of several
// iterations, in the simulator, the bits of the reference.
func TestTemporalCases(t *testing.T) {
	for n, name := range TemporalNames() {
		for i, boundary := range TemporalBoundaries() {
			if i > 0 && i != 1+n%5 && name != "star5" && name != "star7" { // boundaries in turn
				continue
			}
			t.Run(name+" "+boundary, func(t *testing.T) {
				t.Parallel()
				c := temporalCase{name, "double", boundary}
				shape, leaves := [3]int{1, 23, 101}, 2
				plan := "family=pipe,block=1x32,cells=4,chunk=16"
				set := map[string]string{"M": "23", "N": "101"}
				if source, _ := c.source(); strings.Contains(source.Text, "iterator k") {
					set = map[string]string{"L": "11", "M": "21", "N": "40"}
					shape, plan = [3]int{11, 21, 40}, "family=pipe,block=12x32,cells=2x1,chunk=0,persistent=1"
				}
				if name == "grayscott" {
					leaves = 3
				}
				b, err := c.bind(set)
				if err != nil {
					t.Fatal(err)
				}
				const times = 7
				b = stopped(t, b, times)
				want, err := interp.New(b, interp.Options{Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				data, grids := map[*ir.Grid][]byte{}, map[string][]float64{}
				for i, g := range b.Program.Grids {
					data[g] = randomCells(g.Type, gridCells(b, g), uint64(i+1))
					copy(want.Grid(g.Name).Data, data[g])
					grids[g.Name] = slices.Clone(doubles(data[g]))
				}
				if err := want.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				p := plain{shape: shape, boundary: boundary}
				for d := range p.reach {
					if shape[d] > 1 {
						p.reach[d] = orderOf(name)
					}
				}
				for range times {
					p.step(t, name, grids)
				}
				for _, g := range b.Program.Grids {
					for n, x := range doubles(want.Grid(g.Name).Data) {
						if y := grids[g.Name][n]; math.Abs(x-y) > 1e-12*max(1, math.Abs(y)) || x != x {
							t.Fatalf("cell %d of %s is %v, not %v", n, g.Name, x, y)
						}
					}
				}
				text := fmt.Sprintf("body[0:%d]@2{%s}", leaves, plan)
				simulated(t, b, text, data, want)
			})
		}
	}
}

// stopped returns a case whose loop has so many iterations.
func stopped(t *testing.T, b *ir.Binding, times int64) *ir.Binding {
	t.Helper()
	for i, q := range b.Program.Params {
		if q.Name == steps {
			b.Params[i] = times
			return b
		}
	}
	t.Fatal("the case has no number of iterations")
	return nil
}

// simulated compares what a plan makes of the grids with the reference.
func simulated(t *testing.T, b *ir.Binding, text string, data map[*ir.Grid][]byte, want *interp.State) {
	t.Helper()
	plan, err := schedule.ParsePlan(text)
	if err != nil {
		t.Fatal(err)
	}
	m, err := lower.Program(b.Program, lower.Options{
		Target: lower.GPU, Plan: plan, Bound: b, NoInitial: true, Sized: true, AnyIntegers: true, Guard: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := sim.NewState(m, b, data, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := got.Run(); err != nil {
		t.Fatal(err)
	}
	if got.Spans() == 0 {
		t.Fatal("no span was carried out")
	}
	for _, g := range b.Program.Grids {
		have, a := got.Grid(g), want.Grid(g.Name)
		for n := range a.Len() {
			if x, y := have.At(n).AsFloat(), a.At(n); math.Float64bits(x) != math.Float64bits(y) {
				t.Fatalf("%s: cell %d of %s is %v, not %v", text, n, g.Name, x, y)
			}
		}
	}
}

// N alone is the size of every axis, and sizes that a case has not are refused.
func TestTemporalSizes(t *testing.T) {
	for _, c := range []struct {
		set  map[string]string
		grid string // empty for an error
	}{
		{map[string]string{"N": "19"}, "19x19x19"},
		{map[string]string{"N": "19", "L": "7"}, "7x19x19"},
		{map[string]string{"L": "5", "M": "6", "N": "7"}, "5x6x7"},
		{map[string]string{}, "512x512x512"},
		{map[string]string{"T": "3"}, ""},
		{map[string]string{"K": "3"}, ""},
	} {
		b, err := temporalCase{"star7", "float", "none"}.bind(c.set)
		if (err == nil) != (c.grid != "") || err == nil && gridText(b, b.Program.Grids[0]) != c.grid {
			t.Errorf("%v: %v", c.set, err)
		}
	}
	for _, grid := range []string{"5", "5x", "5x6x7x8", "axb"} {
		if _, err := gridSizes(grid); err == nil {
			t.Errorf("%q is taken for a grid", grid)
		}
	}
	set, err := gridSizes("509x511x521")
	if err != nil || !maps.Equal(set, map[string]string{"L": "509", "M": "511", "N": "521"}) {
		t.Errorf("%v, %v", set, err)
	}
}

// Types and boundaries change the source where they should alone.
func TestTemporalSourceTexts(t *testing.T) {
	src, err := temporalCase{"wave", "float", "clamp"}.source()
	if err != nil {
		t.Fatal(err)
	}
	const line = "\nboundary prev, u, next : clamp;\ncopyin prev,"
	if strings.Contains(src.Text, "double") || !strings.Contains(src.Text, line) {
		t.Errorf("%s", src.Text)
	}
	if _, err := (temporalCase{"wave", "float", "torus"}).source(); err == nil {
		t.Error("a boundary that does not exist is taken")
	}
	src, err = temporalCase{"star5", "double", "none"}.source()
	if err != nil || strings.Contains(src.Text, "boundary") {
		t.Errorf("none is a boundary, %v", err)
	}
}
