package examples

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// elastic returns the program that only applies the operator, once.
func elastic(t *testing.T) *ir.Program {
	return load(t, "sw4", strings.NewReplacer("dt = 0.18", "dt = 0"))
}

// apply returns the operator applied to displacements.
func apply(t *testing.T, prog *ir.Program, set string, u [3]field, more map[string]field) execution {
	inputs := map[string]field{"u0": u[0], "u1": u[1], "u2": u[2], "strx": constant(1), "stry": constant(1),
		"strz": constant(1)}
	for name, f := range more {
		inputs[name] = f
	}
	return run(t, prog, set+" steps=1", inputs)
}

// monomial is x^a y^b z^c about the middle of a small grid, where x runs along
// i, y along j and z along k.
type monomial struct{ a, b, c int }

func (m monomial) at(x, y, z float64) float64 {
	return math.Pow(x, float64(m.a)) * math.Pow(y, float64(m.b)) * math.Pow(z, float64(m.c))
}

// derive returns the derivative along an axis: a factor and a monomial.
func (m monomial) derive(axis int) (float64, monomial) {
	p := [3]*int{&m.a, &m.b, &m.c}[axis]
	factor := float64(*p)
	*p = max(0, *p-1)
	return factor, m
}

func (m monomial) times(o monomial) monomial { return monomial{m.a + o.a, m.b + o.b, m.c + o.c} }

func (m monomial) field() field {
	return func(at ...int) float64 {
		return m.at(float64(at[2])-4, float64(at[1])-4, float64(at[0])-4)
	}
}

// The operator is exact where fourth order says it must be: for stiffnesses
// and displacements that are monomials of low degree along each axis.
func TestElasticPolynomials(t *testing.T) {
	prog := elastic(t)
	stiff := []monomial{{}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {0, 2, 0}}
	displacements := []monomial{{}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {0, 2, 0}, {0, 3, 0}, {0, 0, 3}, {1, 1, 0},
		{1, 0, 1}, {0, 1, 1}, {2, 1, 0}, {1, 2, 1}, {2, 2, 2}}
	for _, s := range stiff {
		for _, d := range displacements {
			for n := range 3 {
				for _, lame := range []string{"mu", "la"} {
					zero := constant(0)
					u := [3]field{zero, zero, zero}
					u[n] = d.field()
					more := map[string]field{"mu": zero, "la": zero}
					more[lame] = func(at ...int) float64 { return 10 * s.field()(at...) }
					m := apply(t, prog, "L=9 M=9 N=9", u, more)
					for out := range 3 {
						want := func(x, y, z float64) float64 {
							return 10 * stress(s, d, n, out, lame == "mu").at3(x, y, z)
						}
						for _, at := range [][3]int{{4, 4, 4}, {3, 5, 2}, {6, 2, 5}} {
							got := m.at(fmt.Sprintf("f%d", out), at[0], at[1], at[2])
							w := want(float64(at[2])-4, float64(at[1])-4, float64(at[0])-4)
							if math.Abs(got-w) > 1e-9 {
								t.Fatalf("%s = 10 %v, u%d = %v: f%d is %.12g, want %.12g", lame, s, n, d, out, got, w)
							}
						}
					}
				}
			}
		}
	}
}

// polynomial is a sum of monomials with factors.
type polynomial []struct {
	factor float64
	m      monomial
}

func (p polynomial) at3(x, y, z float64) float64 {
	sum := 0.0
	for _, term := range p {
		sum += term.factor * term.m.at(x, y, z)
	}
	return sum
}

// stress returns component out of the divergence of the stress: of
// mu (grad u + grad u^T), or of la div(u) I, where u has the component n alone.
func stress(s, d monomial, n, out int, shear bool) polynomial {
	var p polynomial
	term := func(inner, outer int) { // d/d outer (s d/d inner d)
		f, m := d.derive(inner)
		g, m := s.times(m).derive(outer)
		p = append(p, struct {
			factor float64
			m      monomial
		}{f * g, m})
	}
	if !shear { // d/d out (la du_n/dx_n)
		term(n, out)
		return p
	}
	// sum over x: d/dx (mu (du_out/dx + du_x/d out))
	if n == out {
		for x := range 3 {
			term(x, x)
		}
	}
	term(out, n)
	return p
}

// With coordinates stretched by positive factors the operator is symmetric in
// the inner product that divides by them, and takes energy from none: it is
// the discrete divergence of a stress.
func TestElasticIsSymmetric(t *testing.T) {
	prog := elastic(t)
	const size = 11
	str := func(seed int) field { return func(at ...int) float64 { return 1 + 0.4*noise(seed)(at...) } }
	more := map[string]field{
		"mu":   func(at ...int) float64 { return 2 + noise(1)(at...) },
		"la":   func(at ...int) float64 { return 2 + noise(2)(at...) },
		"strx": str(3), "stry": str(4), "strz": str(5),
	}
	inside := func(f field) field { // zero near the rim, where the operator is not applied
		return func(at ...int) float64 {
			for _, a := range at {
				if a < 4 || a >= size-4 {
					return 0
				}
			}
			return f(at...)
		}
	}
	u := [3]field{inside(noise(11)), inside(noise(12)), inside(noise(13))}
	v := [3]field{inside(noise(21)), inside(noise(22)), inside(noise(23))}
	lu := apply(t, prog, "L=11 M=11 N=11", u, more)
	lv := apply(t, prog, "L=11 M=11 N=11", v, more)
	product := func(w [3]field, m execution) float64 {
		sum := 0.0
		for c := range 3 {
			f := m.values(fmt.Sprintf("f%d", c))
			for n, x := range f {
				at := position([]int{size, size, size}, n)
				sum += w[c](at...) * x / (str(3)(at[2]) * str(4)(at[1]) * str(5)(at[0]))
			}
		}
		return sum
	}
	scale := math.Abs(product(u, lu))
	near(t, "(v, L u) - (u, L v)", product(v, lu)-product(u, lv), 0, 1e-12*scale)
	for _, w := range []float64{product(u, lu), product(v, lv)} {
		if w >= 0 {
			t.Errorf("(u, L u) = %g is not negative", w)
		}
	}
}

// The error falls as the fourth power of the spacing, for stiffnesses and
// displacements that vary along all axes.
func TestElasticIsOfOrderFour(t *testing.T) {
	prog := elastic(t)
	// u0 = sin(x+2y-z), mu = 2+sin(x-y), la = 2+cos(y+z), all else zero.
	var errors []float64
	for _, n := range []int{12, 24, 48} {
		h := 1.6 / float64(n)
		coords := func(at []int) (x, y, z float64) {
			c := func(a int) float64 { return float64(a-n/2) * h }
			return c(at[2]), c(at[1]), c(at[0])
		}
		u0 := func(at ...int) float64 { x, y, z := coords(at); return math.Sin(x + 2*y - z) }
		mu := func(at ...int) float64 { x, y, _ := coords(at); return 2 + math.Sin(x-y) }
		la := func(at ...int) float64 { _, y, z := coords(at); return 2 + math.Cos(y+z) }
		size := n + 1
		m := apply(t, prog, fmt.Sprintf("L=%d M=%d N=%d", size, size, size), [3]field{u0, constant(0), constant(0)},
			map[string]field{"mu": mu, "la": la, "strx": constant(1 / h), "stry": constant(1 / h),
				"strz": constant(1 / h)})
		// div of mu (grad u + grad u^T) + la div(u) I, differentiated by hand.
		worst := 0.0
		for _, at := range [][]int{{n / 2, n / 2, n / 2}, {n / 4, n / 2, 3 * n / 4}, {n / 2, n / 4, n / 4}} {
			x, y, z := coords(at)
			s, c := math.Sin(x+2*y-z), math.Cos(x+2*y-z)
			ms, mc := 2+math.Sin(x-y), math.Cos(x-y)
			l, ly, lz := 2+math.Cos(y+z), -math.Sin(y+z), -math.Sin(y+z)
			ux, uy := c, 2*c
			want := []float64{
				2*mc*ux - 2*ms*s - l*s - mc*uy - 4*ms*s - ms*s,
				ly*ux - 2*l*s + mc*uy - 2*ms*s,
				lz*ux + l*s + mc*(-c) + ms*s,
			}
			for k, w := range want {
				worst = math.Max(worst, math.Abs(m.at(fmt.Sprintf("f%d", k), at...)-w))
			}
		}
		errors = append(errors, worst)
	}
	order(t, "elastic operator", 4, errors...)
}

// The operator of rhs4center is the same to rounding.
func TestElasticOperatorsAgree(t *testing.T) {
	var u [3]field
	more := map[string]field{}
	for n, name := range []string{"mu", "la", "strx", "stry", "strz"} {
		values := noise(n)
		more[name] = func(at ...int) float64 { return 1.5 + values(at...) }
	}
	inputs := map[string]field{}
	for n := range u {
		u[n] = noise(10 + n)
		inputs[fmt.Sprintf("u%d", n)] = u[n]
		inputs[fmt.Sprintf("uacc%d", n)] = constant(0)
	}
	maps.Copy(inputs, more)
	const set = "L=7 M=8 N=9"
	m := apply(t, elastic(t), set, u, more)
	other := run(t, load(t, "rhs4center", nil), set, inputs)
	for n := range u {
		name := fmt.Sprintf("f%d", n)
		want := m.values(name)
		if err := finite(want); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		worst := other.worst(fmt.Sprintf("uacc%d", n), func(at ...int) float64 { return m.at(name, at...) })
		near(t, "the difference of "+name, worst, 0, 1e-13*math.Sqrt(sumOfSquares(want)))
	}
}

// Nothing is reached before the faster wave can come.
func TestElasticWaves(t *testing.T) {
	m := run(t, load(t, "sw4", nil), "L=24 M=24 N=24 steps=20", nil)
	for _, name := range []string{"u0", "u1", "u2"} {
		if err := finite(m.values(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	peak := 0.0
	for _, v := range m.values("u0") {
		peak = math.Max(peak, math.Abs(v))
	}
	if peak > 1 || peak < 0.05 {
		t.Errorf("after 20 steps the largest displacement is %g", peak)
	}
}
