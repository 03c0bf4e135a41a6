package examples

import (
	"math"
	"testing"
)

// himenoGrids returns inputs of zero but for those in change.
func himenoGrids(change map[string]field) map[string]field {
	all := make(map[string]field)
	for _, name := range []string{"p", "next", "a0", "a1", "a2", "a3", "b0", "b1", "b2", "c0", "c1", "c2", "bnd",
		"source"} {
		all[name] = constant(0)
	}
	for name, f := range change {
		all[name] = f
	}
	return all
}

// Each term of the 19-point stencil, on a product of positions that it alone
// measures.
func TestHimenoTerms(t *testing.T) {
	prog := load(t, "himeno", inDouble)
	product := func(a, b int) field { return func(at ...int) float64 { return float64(at[a] * at[b]) } }
	along := func(axis int) field { return func(at ...int) float64 { return float64(at[axis] * (at[axis] + 1)) } }
	for name, test := range map[string]struct{ p, want field }{
		"a0": {along(0), func(at ...int) float64 { return float64((at[0] + 1) * (at[0] + 2)) }},
		"a1": {along(1), func(at ...int) float64 { return float64((at[1] + 1) * (at[1] + 2)) }},
		"a2": {along(2), func(at ...int) float64 { return float64((at[2] + 1) * (at[2] + 2)) }},
		"b0": {product(0, 1), constant(4)},
		"b1": {product(1, 2), constant(4)},
		"b2": {product(0, 2), constant(4)},
		"c0": {along(0), func(at ...int) float64 { return float64((at[0] - 1) * at[0]) }},
		"c1": {along(1), func(at ...int) float64 { return float64((at[1] - 1) * at[1]) }},
		"c2": {along(2), func(at ...int) float64 { return float64((at[2] - 1) * at[2]) }},
	} {
		// With a3 = 1, omega = 1 and bnd = 1 the new value is the sum itself.
		m := run(t, prog, "L=5 M=6 N=7 steps=1 omega=1", himenoGrids(map[string]field{
			"p": test.p, name: constant(1), "a3": constant(1), "bnd": constant(1), "source": constant(10)}))
		for _, at := range [][]int{{1, 1, 1}, {3, 4, 5}, {2, 1, 3}} {
			near(t, name, m.at("p", at...), test.want(at...)+10, 1e-12)
		}
		near(t, name+" at the rim", m.at("p", 0, 1, 1), 0, 0)
	}
}

func TestHimeno(t *testing.T) {
	prog := load(t, "himeno", inDouble)
	// A linear pressure is balanced.
	linear := func(at ...int) float64 { return float64(2*at[0] - at[1] + 3*at[2]) }
	m := run(t, prog, "L=6 M=5 N=7 steps=3", map[string]field{"p": linear, "next": linear})
	near(t, "gosa of a linear pressure", m.scalar("gosa"), 0, 1e-25)
	// The program's own pressure (k/(L-1))^2 changes by a third of its second
	// difference in the first step, everywhere.
	m = run(t, prog, "L=6 M=5 N=7 steps=1", nil)
	near(t, "gosa at first", m.scalar("gosa"), 4*3*5*math.Pow(1.0/25/3, 2), 1e-15)
	// Relaxation goes that part of the way.
	p := func(at ...int) float64 { return float64(at[0] * at[0]) }
	m = run(t, prog, "L=6 M=5 N=7 steps=1 omega=0.25", map[string]field{"p": p, "next": p})
	near(t, "a pressure", m.at("p", 2, 2, 2), 4+0.25*1.0/3, 1e-7)
	// It falls.
	if a, b := run(t, prog, "steps=5", nil).scalar("gosa"), run(t, prog, "steps=20", nil).scalar("gosa"); !(b < a &&
		b > 0) {
		t.Errorf("gosa goes from %g to %g", a, b)
	}
}

// poisson is the operator of the multigrid smoothers on a box of cells, as
// matrix rows: -div(b grad x) with x = 0 on the walls.
type poisson struct {
	l, m, n    int
	bk, bj, bi field
	rows       []map[int]float64
}

func newPoisson(l, m, n int) *poisson {
	positive := func(seed int) field { return func(at ...int) float64 { return 1.5 + noise(seed)(at...) } }
	p := &poisson{l: l, m: m, n: n, bk: positive(1), bj: positive(2), bi: positive(3)}
	number := func(k, j, i int) (int, bool) {
		return (k*m+j)*n + i, k >= 0 && k < l && j >= 0 && j < m && i >= 0 && i < n
	}
	for c := range l * m * n {
		at := position([]int{l, m, n}, c)
		k, j, i := at[0], at[1], at[2]
		row := make(map[int]float64)
		for _, face := range []struct {
			b          float64
			dk, dj, di int
		}{
			{p.bk(k, j, i), -1, 0, 0}, {p.bk(k+1, j, i), 1, 0, 0},
			{p.bj(k, j, i), 0, -1, 0}, {p.bj(k, j+1, i), 0, 1, 0},
			{p.bi(k, j, i), 0, 0, -1}, {p.bi(k, j, i+1), 0, 0, 1},
		} {
			if other, inside := number(k+face.dk, j+face.dj, i+face.di); inside {
				row[c] += face.b
				row[other] -= face.b
			} else { // the wall is half a cell away
				row[c] += 2 * face.b
			}
		}
		p.rows = append(p.rows, row)
	}
	return p
}

func (p *poisson) inputs(x, f field) map[string]field {
	return map[string]field{"x": x, "f": f, "bk": p.bk, "bj": p.bj, "bi": p.bi}
}

func (p *poisson) cells(f field) []float64 {
	var out []float64
	for c := range p.rows {
		out = append(out, f(position([]int{p.l, p.m, p.n}, c)...))
	}
	return out
}

func (p *poisson) apply(x []float64) []float64 {
	out := make([]float64, len(x))
	for c, row := range p.rows {
		for other := range x {
			out[c] += row[other] * x[other]
		}
	}
	return out
}

// residual returns f - A x.
func (p *poisson) residual(x []float64, f field) []float64 {
	out := p.cells(f)
	for c, v := range p.apply(x) {
		out[c] -= v
	}
	return out
}

// Four Chebyshev steps multiply the error by T4((mid - D^-1 A)/half)/T4(mid/half).
func TestChebyshevPolynomial(t *testing.T) {
	p := newPoisson(4, 3, 5)
	const middle, half = (2 + 0.25) / 2, (2 - 0.25) / 2
	solution := noise(7)
	f := make([]float64, len(p.rows))
	copy(f, p.apply(p.cells(solution)))
	rhs := func(at ...int) float64 { return f[(at[0]*3+at[1])*5+at[2]] }

	// The error is the solution itself when starting from zero.
	scaled := func(e []float64) []float64 { // (middle - D^-1 A)/half e
		out := make([]float64, len(e))
		for c, v := range p.apply(e) {
			out[c] = (middle*e[c] - v/p.rows[c][c]) / half
		}
		return out
	}
	older, newer := p.cells(solution), scaled(p.cells(solution))
	scaleOld, scaleNew := 1.0, middle/half
	for range 3 {
		next := scaled(newer)
		for c := range next {
			next[c] = 2*next[c] - older[c]
		}
		older, newer = newer, next
		scaleOld, scaleNew = scaleNew, 2*middle/half*scaleNew-scaleOld
	}
	m := run(t, load(t, "chebyshev", nil), "L=4 M=3 N=5 sweeps=1", p.inputs(constant(0), rhs))
	for c, x := range m.values("x") {
		want := p.cells(solution)[c] - newer[c]/scaleNew
		near(t, "x", x, want, 1e-13)
	}
	// And it converges.
	m = run(t, load(t, "chebyshev", nil), "L=4 M=3 N=5 sweeps=60", p.inputs(constant(0), rhs))
	near(t, "the error", m.worst("x", solution), 0, 1e-9)
}

func TestRedBlack(t *testing.T) {
	p := newPoisson(3, 4, 5)
	prog := load(t, "redblack", nil)
	f := noise(8)
	start := noise(9)
	one := run(t, prog, "L=3 M=4 N=5 sweeps=1", p.inputs(start, f))

	// Gauss and Seidel, cell by cell: one colour, then the other.
	want := p.cells(start)
	for colour := range 2 {
		for c, row := range p.rows {
			at := position([]int{3, 4, 5}, c)
			if (at[0]+at[1]+at[2])%2 != colour {
				continue
			}
			sum := f(at...)
			for other := range want {
				if other != c {
					sum -= row[other] * want[other]
				}
			}
			want[c] = sum / row[c]
		}
	}
	largest := 0.0
	for c, r := range p.residual(one.values("x"), f) {
		near(t, "x", one.Grid("x").At(c), want[c], 1e-13)
		at := position([]int{3, 4, 5}, c)
		if (at[0]+at[1]+at[2])%2 == 1 {
			near(t, "the residual of the colour that came last", r, 0, 1e-13)
		}
		largest = math.Max(largest, math.Abs(r))
	}
	near(t, "residual", one.scalar("residual"), largest, 1e-13)
	if done := run(t, prog, "L=3 M=4 N=5 sweeps=80", p.inputs(start, f)).scalar("residual"); done > 1e-12 {
		t.Errorf("the residual is %g after 80 sweeps", done)
	}
}
