package examples

import (
	"fmt"
	"math"
	"testing"
)

// heatMode vanishes one cell beyond the floor and the ceiling, is even about
// the walls across j and periodic along i, so that a step only scales it.
func heatMode(l, m, n int) field {
	return func(at ...int) float64 {
		return math.Sin(math.Pi*float64(at[0]+1)/float64(l+1)) *
			math.Cos(math.Pi*(float64(at[1])+0.5)/float64(m)) *
			math.Cos(2*math.Pi*float64(at[2])/float64(n))
	}
}

func TestHeatScalesModes(t *testing.T) {
	const l, m, n, steps = 9, 8, 10, 5
	half := func(x float64) float64 { return math.Pow(math.Sin(x/2), 2) }
	factor := 1 - 4*0.125*(half(math.Pi/(l+1))+half(math.Pi/m)+half(2*math.Pi/n))
	mode := heatMode(l, m, n)
	heat := run(t, load(t, "heat3d", nil), fmt.Sprintf("L=%d M=%d N=%d steps=%d", l, m, n, steps),
		map[string]field{"u": mode})
	if d := heat.worst("u", func(at ...int) float64 { return math.Pow(factor, steps) * mode(at...) }); d > 1e-14 {
		t.Errorf("a mode is off by %g", d)
	}
}

// The solution comes near that of the equation as the square of the spacing.
func TestHeatConverges(t *testing.T) {
	prog := load(t, "heat3d", nil)
	var errors []float64
	for _, n := range []int{6, 12, 24} {
		h, steps := 1/float64(n), n*n/4 // up to the time a h^2 steps
		rate := math.Pi * math.Pi * (1 + 1 + 4)
		mode := heatMode(n-1, n, n)
		heat := run(t, prog, fmt.Sprintf("L=%d M=%d N=%d steps=%d", n-1, n, n, steps), map[string]field{"u": mode})
		decay := math.Exp(-rate * 0.125 * h * h * float64(steps))
		errors = append(errors, heat.worst("u", func(at ...int) float64 { return decay * mode(at...) }))
	}
	order(t, "heat", 2, errors[1:]...)
}

// What the walls let through is nothing: with neither floor nor ceiling near,
// heat is conserved.
func TestHeatIsConserved(t *testing.T) {
	drop := func(at ...int) float64 {
		if at[0] == 8 {
			return 1 + noise(1)(at[1:]...)
		}
		return 0
	}
	prog := load(t, "heat3d", nil)
	before := run(t, prog, "L=17 M=6 N=7 steps=0", map[string]field{"u": drop})
	after := run(t, prog, "L=17 M=6 N=7 steps=8", map[string]field{"u": drop})
	near(t, "heat", total(after.values("u")), total(before.values("u")), 1e-12)
}
