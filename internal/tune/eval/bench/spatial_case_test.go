package bench

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// mix and number are the random values of the suite's kernel "fill".
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func number(t types.Type, cell, seed int) float64 {
	z := mix(uint64(cell) + mix(uint64(seed)))
	if t == types.F64 {
		return float64(z>>11) / (1 << 53)
	}
	return float64(float32(z>>40) / (1 << 24))
}

// caseSizes are small, and unlike on the axes.
var caseSizes = map[int][]int64{2: {19, 21}, 3: {9, 11, 13}}

// filled returns a case on the reference executor, with random values.
func filled(t *testing.T, c spatialCase) (*ir.Binding, *interp.State) {
	t.Helper()
	p, err := c.program()
	if err != nil {
		t.Fatal(err)
	}
	bound, err := sized(p, caseSizes[len(c.sizes)])
	if err != nil {
		t.Fatal(err)
	}
	state, err := interp.New(bound, interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range p.Grids {
		a := state.Grid(g.Name)
		for n := range a.Len() {
			a.Set(n, number(g.Type, n, i+1))
		}
	}
	return bound, state
}

// read is a grid's value beside a cell: the grid by number, the offset from
// the outermost axis on.
type read func(grid int, at ...int) float64

// star and box add up taps in Go.
func star(centre float64, arms [][]float64) func(read) float64 {
	rank := len(arms) / 2
	return func(g read) float64 {
		sum := centre * g(0, make([]int, rank)...)
		for n, arm := range arms {
			for r, w := range arm {
				at := make([]int, rank)
				at[rank-1-n/2] = (2*(n%2) - 1) * (r + 1)
				sum += w * g(0, at...)
			}
		}
		return sum
	}
}

func box(rank, radius int, w []float64) func(read) float64 {
	return func(g read) float64 {
		sum := 0.0
		for n, weight := range w {
			at := make([]int, rank)
			for d := rank - 1; d >= 0; d-- {
				at[d] = n%(2*radius+1) - radius
				n /= 2*radius + 1
			}
			sum += weight * g(0, at...)
		}
		return sum
	}
}

// formulas are the cases' in Go, for the first grid that each writes, with the
// cells that it leaves alone at both ends of every axis.
var formulas = map[string]struct {
	rim  []int
	cell func(read) float64
}{
	"star7": {[]int{1, 1, 1}, star(0.4, [][]float64{{0.08}, {0.07}, {0.13}, {0.12}, {0.11}, {0.09}})},
	"star13": {[]int{2, 2, 2}, star(0.28, [][]float64{{0.035, 0.065}, {0.09, 0.05}, {0.08, 0.04}, {0.07, 0.03},
		{0.055, 0.085}, {0.045, 0.075}})},
	"star25": {[]int{4, 4, 4}, star(0.28, [][]float64{
		{0.0168, 0.0228, 0.0288, 0.036}, {0.042, 0.018, 0.024, 0.0312}, {0.0372, 0.0432, 0.0192, 0.0252},
		{0.0324, 0.0384, 0.0444, 0.0204}, {0.0264, 0.0336, 0.0396, 0.0156}, {0.0216, 0.0276, 0.0348, 0.0408},
	})},
	"box27": {[]int{1, 1, 1}, box(3, 1, []float64{
		0.006, 0.016, 0.026, 0.038, 0.048, 0.004, 0.014, 0.024, 0.036, 0.046, 0.056, 0.012, 0.022, 0.22,
		0.034, 0.044, 0.054, 0.01, 0.02, 0.032, 0.042, 0.052, 0.008, 0.018, 0.028, 0.04, 0.05,
	})},
	"star5": {[]int{1, 1}, star(0.4, [][]float64{{0.13}, {0.17}, {0.19}, {0.11}})},
	"box9":  {[]int{1, 1}, box(2, 1, []float64{0.035, 0.125, 0.065, 0.02, 0.36, 0.11, 0.05, 0.14, 0.095})},
	"box25": {[]int{2, 2}, box(2, 2, []float64{
		0.008, 0.018, 0.028, 0.04, 0.05, 0.01, 0.02, 0.032, 0.042, 0.052, 0.012, 0.022, 0.28, 0.034, 0.044,
		0.054, 0.014, 0.024, 0.036, 0.046, 0.006, 0.016, 0.026, 0.038, 0.048,
	})},
	"wave": {[]int{4, 4, 4}, func(g read) float64 {
		lap := 0.0
		for r, w := range []float64{-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560} {
			for _, s := range []int{-r, r} {
				lap += w * (g(0, s, 0, 0) + g(0, 0, s, 0) + g(0, 0, 0, s))
			}
			if r == 0 {
				lap /= 2
			}
		}
		return 2*g(0, 0, 0, 0) - g(1, 0, 0, 0) + g(2, 0, 0, 0)*lap
	}},
	"himeno": {[]int{1, 1, 1}, func(g read) float64 { return g(0, 0, 0, 0) + 0.8*himenoResidual(g) }},
	"grayscott": {[]int{1, 1, 1}, func(g read) float64 {
		u, v := g(0, 0, 0, 0), g(1, 0, 0, 0)
		lap := g(0, 0, 0, 1) + g(0, 0, 0, -1) + g(0, 0, 1, 0) + g(0, 0, -1, 0) + g(0, 1, 0, 0) + g(0, -1, 0, 0) - 6*u
		return u + 0.12*lap - u*v*v + 0.037*(1-u)
	}},
	"hotspot": {[]int{1, 1}, func(g read) float64 {
		t := g(0, 0, 0)
		return t + 0.34*(g(1, 0, 0)+0.31*(g(0, 1, 0)+g(0, -1, 0)-2*t)+0.23*(g(0, 0, 1)+g(0, 0, -1)-2*t)+0.05*(0.8-t))
	}},
	"hdiff": {[]int{0, 2, 2}, func(g read) float64 {
		u := func(j, i int) float64 { return g(0, 0, j, i) }
		lap := func(j, i int) float64 { return u(j, i-1) + u(j, i+1) + u(j-1, i) + u(j+1, i) - 4*u(j, i) }
		flux := func(j1, i1, j0, i0 int) float64 {
			f := lap(j1, i1) - lap(j0, i0)
			if f*(u(j1, i1)-u(j0, i0)) > 0 {
				return 0
			}
			return f
		}
		return u(0, 0) - g(1, 0, 0, 0)*(flux(0, 1, 0, 0)-flux(0, 0, 0, -1)+flux(1, 0, 0, 0)-flux(0, 0, -1, 0))
	}},
}

// himenoResidual has the grids p, q, wrk1, bnd, a0 to a3, b0 to b2, c0 to c2.
func himenoResidual(g read) float64 {
	here := func(n int) float64 { return g(n, 0, 0, 0) }
	p := func(k, j, i int) float64 { return g(0, k, j, i) }
	s := here(2) + here(4)*p(1, 0, 0) + here(5)*p(0, 1, 0) + here(6)*p(0, 0, 1) + here(11)*p(-1, 0, 0) +
		here(12)*p(0, -1, 0) + here(13)*p(0, 0, -1)
	for _, x := range []int{-1, 1} {
		for _, y := range []int{-1, 1} {
			s += float64(x*y) * (here(8)*p(x, y, 0) + here(9)*p(0, x, y) + here(10)*p(x, 0, y))
		}
	}
	return (s*here(7) - here(0)) * here(3)
}

// Every case computes what its formula says, in the interior and nowhere else.
func TestSpatialCases(t *testing.T) {
	for _, c := range spatialCases {
		f, ok := formulas[c.name]
		if !ok {
			t.Errorf("%s has no formula here", c.name)
			continue
		}
		bound, state := filled(t, c)
		p := bound.Program
		before := make([]*interp.Array, len(p.Grids))
		for i, g := range p.Grids {
			a := *state.Grid(g.Name)
			a.Data = slices.Clone(a.Data)
			before[i] = &a
		}
		if err := state.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		out := output(p)
		index := slices.Index(p.Grids, out)
		got := state.Grid(out.Name)
		allowed := 1e-14
		if c.dtype == "float" {
			allowed = 4e-6
		}
		inside, sum := 0, 0.0
		for n := range got.Len() {
			at, rest := make([]int, len(got.Shape)), n
			interior := true
			for d := len(at) - 1; d >= 0; d-- {
				at[d], rest = rest%got.Shape[d], rest/got.Shape[d]
				interior = interior && at[d] >= f.rim[d] && at[d] < got.Shape[d]-f.rim[d]
			}
			want := before[index].At(n)
			if interior {
				neighbour := func(grid int, offset ...int) float64 {
					cell := 0
					for d := range at {
						cell = cell*got.Shape[d] + at[d] + offset[d]
					}
					return before[grid].At(cell)
				}
				want = f.cell(neighbour)
				inside++
				if c.name == "himeno" {
					sum += math.Pow(himenoResidual(neighbour), 2)
				}
			}
			if math.Abs(got.At(n)-want) > allowed {
				t.Fatalf("%s %s: %s at %v is %v, want %v", c.name, c.dtype, out.Name, at, got.At(n), want)
			}
		}
		if points(bound) != float64(inside) {
			t.Errorf("%s: %v points, want %d", c.name, points(bound), inside)
		}
		if c.name == "himeno" {
			if v, _ := state.Scalar(p.Scalars[slices.IndexFunc(p.Scalars,
				func(s *ir.Scalar) bool { return s.Reduced })]); math.Abs(v.AsFloat()/sum-1) > 1e-5 {
				t.Errorf("the residual is %v, want %v", v, sum)
			}
		}
	}
}

// The bytes that a step cannot do without are those of every grid that it
// touches, once, and a little more a point for the rims, which are read and
// not written.
func TestUsefulBytes(t *testing.T) {
	want := map[string]float64{
		"star7 double": 16, "star7 float": 8, "star13 double": 16, "star13 float": 8, "star25 double": 16,
		"star25 float": 8,
		"box27 double": 16, "box27 float": 8, "star5 double": 16, "star5 float": 8, "box9 double": 16, "box9 float": 8,
		"box25 double": 16, "box25 float": 8, "wave float": 16, "himeno float": 56, "grayscott double": 32,
		"hotspot float": 12,
		"hdiff double":  24,
	}
	if len(want) != len(spatialCases) {
		t.Errorf("%d cases, want %d", len(spatialCases), len(want))
	}
	for _, c := range spatialCases {
		p, err := c.program()
		if err != nil {
			t.Fatal(err)
		}
		bound, err := c.bind(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, dense := c.usefulBytes(bound), want[c.name+" "+c.dtype]
		if got < dense || got > 1.03*dense {
			t.Errorf("%s %s: %v bytes a point, want %v and the rims", c.name, c.dtype, got, dense)
		}
		touched := 0
		for _, a := range p.Calls[0].Arrays {
			if a.Local {
				continue
			}
			if a.Read {
				touched++
			}
			if a.Written {
				touched++
			}
		}
		if touched != c.arrays {
			t.Errorf("%s: %d arrays, the program touches %d", c.name, c.arrays, touched)
		}
		if n := float64(c.arrays * output(p).Type.Size()); n != dense {
			t.Errorf("%s %s: %d arrays take %v bytes a point, want %v", c.name, c.dtype, c.arrays, n, dense)
		}
		if c.must >= c.aim || c.aim > 1 {
			t.Errorf("%s: must %v, aim %v", c.name, c.must, c.aim)
		}
	}
}

// No case calls a function that is inexact: kernels are compared bit for bit.
func TestCasesAreExact(t *testing.T) {
	for _, c := range spatialCases {
		p, err := c.program()
		if err != nil {
			t.Fatal(err)
		}
		if p.Arithmetic != arith.Contract || interp.ModeOf(p, true) != interp.NoBounds {
			t.Errorf("%s %s is in %v arithmetic, and bounded", c.name, c.dtype, p.Arithmetic)
		}
	}
}
