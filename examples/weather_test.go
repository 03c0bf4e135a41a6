package examples

import (
	"math"
	"testing"
)

// A wave of low steepness is never limited: a step scales it.
func TestDiffusionScalesModes(t *testing.T) {
	const n, rate = 12, 0.02
	for axis := range 2 {
		mode := func(at ...int) float64 { return math.Sin(2 * math.Pi * (float64(at[1+axis]) + 0.25) / n) }
		k := math.Pow(2*math.Sin(math.Pi/n), 2)
		m := run(t, load(t, "diffusion", nil), "L=2 M=12 N=12 steps=3",
			map[string]field{"u": mode, "rate": constant(rate)})
		if d := m.worst("u", func(at ...int) float64 { return math.Pow(1-rate*k*k, 3) * mode(at...) }); d > 1e-14 {
			t.Errorf("a mode along axis %d is off by %g", axis, d)
		}
	}
}

func TestDiffusionConservesAndSmooths(t *testing.T) {
	prog := load(t, "diffusion", nil)
	before := run(t, prog, "L=3 M=20 N=24 steps=0", nil)
	after := run(t, prog, "L=3 M=20 N=24 steps=10", nil)
	level := func(m execution, k int) []float64 { return m.values("u")[k*480 : (k+1)*480] }
	for k := range 3 {
		near(t, "the sum of a level", total(level(after, k)), total(level(before, k)), 1e-12)
		if a, b := sumOfSquares(level(before, k)), sumOfSquares(level(after, k)); !(b < a) {
			t.Errorf("level %d grows from %g to %g", k, a, b)
		}
	}
}

// The limiter: beside a step the plain flux would be uphill, and is left out.
func TestDiffusionLimits(t *testing.T) {
	row := []float64{0, 0, 0.1, 1, 1.1, 1.1, 1.1, 1.1, 1.1, 0.6, 0.3, 0.1}
	n := len(row)
	u := func(at ...int) float64 { return row[at[2]] }
	in := func(i int) float64 { return row[(i+n)%n] }
	lap := func(i int) float64 { return in(i-1) - 2*in(i) + in(i+1) }
	limited := 0
	flux := func(i int) float64 {
		f := lap(i+1) - lap(i)
		if f*(in(i+1)-in(i)) > 0 {
			limited++
			return 0
		}
		return f
	}
	want := func(at ...int) float64 { return in(at[2]) - 0.02*(flux(at[2])-flux(at[2]-1)) }
	m := run(t, load(t, "diffusion", nil), "L=1 M=4 N=12 steps=1", map[string]field{"u": u, "rate": constant(0.02)})
	if d := m.worst("u", want); d > 1e-15 {
		t.Errorf("a cell is off by %g", d)
	}
	if limited == 0 {
		t.Error("the test limits nothing")
	}
}

// Under uniform power each cell settles at the ambient temperature and what
// its path to there drops.
func TestHotspotSettles(t *testing.T) {
	const watts = 0.01
	m := run(t, load(t, "hotspot", inDouble), "M=32 N=32 steps=4000", map[string]field{"t": constant(80),
		"power": constant(watts)})
	side := 0.016 / 32
	want := 80 + watts*0.0005/(100*side*side)
	if d := m.worst("t", constant(want)); d > 1e-3*(want-80) {
		t.Errorf("it settles %g away from %g", d, want)
	}
}

// What does not go to the ambient stays in the chip.
func TestHotspotConserves(t *testing.T) {
	start := func(at ...int) float64 { return 80 + 10*noise(1)(at...) }
	power := func(at ...int) float64 { return 0.02 + 0.02*noise(2)(at...) }
	prog := load(t, "hotspot", inDouble)
	const steps, dt = 20, 4e-6
	m := run(t, prog, "M=16 N=24 steps=20 rz=1e30", map[string]field{"t": start, "power": power})
	capacity := 0.5 * 1.75e6 * 0.0005 * (0.016 / 24) * (0.016 / 16)
	in, heat := 0.0, 0.0
	for j := range 16 {
		for i := range 24 {
			in += power(j, i) * dt * steps / capacity
			heat += m.at("t", j, i) - start(j, i)
		}
	}
	near(t, "the heat", heat, in, 1e-9)
	// Along either axis it flows at its own rate: cells are not square.
	bump := func(at ...int) float64 { return 80 + pattern(8, 12, "#")(at...)/255 }
	m = run(t, prog, "M=16 N=24 steps=1 rz=1e30", map[string]field{"t": bump, "power": constant(0)})
	wide, high := 0.016/24, 0.016/16
	near(t, "beside", m.at("t", 8, 13)-80, dt/capacity*(2*100*0.0005*high/wide), 1e-12)
	near(t, "above", m.at("t", 7, 12)-80, dt/capacity*(2*100*0.0005*wide/high), 1e-12)
	// Nothing leaves through the sides.
	m = run(t, prog, "M=16 N=24 steps=1 rz=1e30",
		map[string]field{"t": func(at ...int) float64 { return 80 + pattern(0, 0, "#")(at...)/255 },
			"power": constant(0)})
	near(t, "across the chip", m.at("t", 15, 0), 80, 0)
	near(t, "along the chip", m.at("t", 0, 23), 80, 0)
}
