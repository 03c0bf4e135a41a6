package examples

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// basin runs the shallow water from a height and currents, given at both of
// the first time levels.
func basin(t *testing.T, set string, h, u, v field) execution {
	return run(t, load(t, "shallow", nil), set, map[string]field{"h0": h, "h1": h, "u0": u, "u1": u, "v0": v, "v1": v})
}

func TestShallowWaterAtRest(t *testing.T) {
	m := basin(t, "M=9 N=11 steps=10", constant(500), constant(0), constant(0))
	if d := max(m.worst("h1", constant(500)), m.worst("u1", constant(0)), m.worst("v1", constant(0))); d != 0 {
		t.Errorf("a basin at rest moves by %g", d)
	}
}

func TestShallowWaterConserves(t *testing.T) {
	prog := load(t, "shallow", nil)
	const set = "M=48 N=60 steps=%d dt=%d"
	// Kinetic and potential energy of the present level, the currents taken to
	// their faces' mean heights.
	energy := func(m execution) float64 {
		sum := 0.0
		for j := range 48 {
			for i := range 60 {
				h := m.at("h1", j, i)
				sum += 0.5 * 9.81 * h * h
				if i > 0 {
					sum += 0.25 * (h + m.at("h1", j, i-1)) * math.Pow(m.at("u1", j, i), 2)
				}
				if j > 0 {
					sum += 0.25 * (h + m.at("h1", j-1, i)) * math.Pow(m.at("v1", j, i), 2)
				}
			}
		}
		return sum
	}
	start := run(t, prog, fmt.Sprintf(set, 0, 60), nil)
	rest := 0.5 * 9.81 * math.Pow(total(start.values("h1"))/(48*60), 2) * 48 * 60
	for _, steps := range []int{1, 100} {
		m := run(t, prog, fmt.Sprintf(set, steps, 60), nil)
		mass := total(start.values("h1"))
		near(t, "the mass", total(m.values("h1")), mass, 1e-12*mass)
	}
	// Only the part above the water at rest can go anywhere; the filter takes
	// a little of it.
	m := run(t, prog, fmt.Sprintf(set+" filter=0", 100, 15), nil)
	near(t, "the energy that moves", (energy(m)-rest)/(energy(start)-rest), 1, 0.01)
	for j := range 48 {
		if m.at("u1", j, 0) != 0 || m.at("u1", j, 60) != 0 {
			t.Fatal("water goes through a wall")
		}
	}
}

// A low standing wave keeps its shape and swings as leapfrog says it must.
func TestShallowWaterStandingWave(t *testing.T) {
	const n, depth, d, dt, steps, height = 16, 1000, 20000.0, 60, 40, 1e-6
	shape := func(at ...int) float64 { return math.Cos(math.Pi * (float64(at[1]) + 0.5) / n) }
	c := math.Sqrt(9.81 * depth)
	omega := math.Asin(dt*c*2*math.Sin(math.Pi/(2*n))/d) / dt
	level := func(step float64) (h, u field) {
		h = func(at ...int) float64 { return depth + height*math.Cos(omega*step*dt)*shape(at...) }
		u = func(at ...int) float64 {
			return height * math.Sin(omega*step*dt) * c / depth * math.Sin(math.Pi*float64(at[1])/n)
		}
		return h, u
	}
	h1, u1 := level(0)
	hm, um := level(-1)
	// Both levels are given, so that the first step is like the others.
	prog := load(t, "shallow", strings.NewReplacer("step == 0 ? dt : 2*dt", "2*dt"))
	for axis, set := range []string{"M=3 N=16", "M=16 N=3"} {
		turned := func(f field) field {
			if axis == 0 {
				return f
			}
			return func(at ...int) float64 { return f(at[1], at[0]) }
		}
		inputs := map[string]field{"h0": turned(hm), "h1": turned(h1), "u0": constant(0), "u1": constant(0),
			"v0": constant(0), "v1": constant(0)}
		along := []string{"u", "v"}[axis]
		inputs[along+"0"], inputs[along+"1"] = turned(um), turned(u1)
		m := run(t, prog, fmt.Sprintf("%s steps=%d turn=0 filter=0", set, steps), inputs)
		h, u := level(steps)
		if worst := m.worst("h1", turned(h)); worst > 1e-4*height {
			t.Errorf("the height is off by %.3g of the wave's", worst/height)
		}
		if worst := m.worst(along+"1", turned(u)); worst > 1e-4*height*c/depth {
			t.Errorf("the current is off by %.3g of the wave's", worst/(height*c/depth))
		}
	}
}

// A current is turned to its right, at the rate of the earth's turning.
func TestShallowWaterTurns(t *testing.T) {
	const flow, dt, f = 1.0, 60, 1e-4
	m := basin(t, "M=12 N=12 steps=1", constant(100), func(at ...int) float64 {
		if at[1] == 0 || at[1] == 12 {
			return 0
		}
		return flow
	}, constant(0))
	near(t, "v of a current along u", m.at("v1", 6, 6), -dt*f*flow, 1e-12)
	m = basin(t, "M=12 N=12 steps=1", constant(100), constant(0), func(at ...int) float64 {
		if at[0] == 0 || at[0] == 12 {
			return 0
		}
		return flow
	})
	near(t, "u of a current along v", m.at("u1", 6, 6), dt*f*flow, 1e-12)
}

// One step from rough water, against the same equations written out for one
// face or cell at a time.
func TestShallowWaterStep(t *testing.T) {
	const rows, cols, d, dt, f, g = 7, 9, 20000.0, 60, 1e-4, 9.81
	h := func(j, i int) float64 { // walls mirror the height
		return 100 + 10*noise(1)(min(max(j, 0), rows-1), min(max(i, 0), cols-1))
	}
	u := func(j, i int) float64 { // through the face between i-1 and i
		if i <= 0 || i >= cols {
			return 0
		}
		return noise(2)(min(max(j, 0), rows-1), i)
	}
	v := func(j, i int) float64 {
		if j <= 0 || j >= rows {
			return 0
		}
		return noise(3)(j, min(max(i, 0), cols-1))
	}
	flowU := func(j, i int) float64 { return u(j, i) * (h(j, i-1) + h(j, i)) / 2 }
	flowV := func(j, i int) float64 { return v(j, i) * (h(j-1, i) + h(j, i)) / 2 }
	vorticity := func(j, i int) float64 { // potential, at the corner before j and i
		curl := (v(j, i)-v(j, i-1))/d - (u(j, i)-u(j-1, i))/d
		return (curl + f) * 4 / (h(j-1, i-1) + h(j-1, i) + h(j, i-1) + h(j, i))
	}
	head := func(j, i int) float64 {
		square := (u(j, i)*u(j, i)+u(j, i+1)*u(j, i+1))/2 + (v(j, i)*v(j, i)+v(j+1, i)*v(j+1, i))/2
		return g*h(j, i) + square/2
	}
	as := func(f func(j, i int) float64) field { return func(at ...int) float64 { return f(at[0], at[1]) } }
	m := basin(t, "M=7 N=9 steps=1 filter=0", as(h), as(u), as(v))
	newH := as(func(j, i int) float64 {
		return h(j, i) - dt/d*(flowU(j, i+1)-flowU(j, i)+flowV(j+1, i)-flowV(j, i))
	})
	newU := as(func(j, i int) float64 {
		if i == 0 || i == cols {
			return 0
		}
		across := (flowV(j, i-1) + flowV(j, i) + flowV(j+1, i-1) + flowV(j+1, i)) / 4
		return u(j, i) + dt*((vorticity(j, i)+vorticity(j+1, i))/2*across-(head(j, i)-head(j, i-1))/d)
	})
	newV := as(func(j, i int) float64 {
		if j == 0 || j == rows {
			return 0
		}
		across := (flowU(j-1, i) + flowU(j, i) + flowU(j-1, i+1) + flowU(j, i+1)) / 4
		return v(j, i) + dt*(-(vorticity(j, i)+vorticity(j, i+1))/2*across-(head(j, i)-head(j-1, i))/d)
	})
	for name, want := range map[string]field{"h1": newH, "u1": newU, "v1": newV} {
		if d := m.worst(name, want); d > 1e-12 {
			t.Errorf("%s is off by %g", name, d)
		}
	}
}
