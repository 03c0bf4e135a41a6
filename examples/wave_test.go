package examples

import (
	"fmt"
	"math"
	"testing"
)

// drum is a mode of a square drum with n cells a side: 3 and 2 half waves.
func drum(n int, scale float64) field {
	return func(at ...int) float64 {
		return scale * math.Sin(3*math.Pi*float64(at[0])/float64(n)) * math.Sin(2*math.Pi*float64(at[1])/float64(n))
	}
}

// strike lets a drum vibrate with unit speed, without a source or a rim.
func strike(t *testing.T, n, steps int, dt float64, p, prev field) execution {
	set := fmt.Sprintf("M=%d N=%d steps=%d dt=%g h=%.17g rim=0 strength=0", n+1, n+1, steps, dt, 1/float64(n))
	return run(t, load(t, "wave", inDouble), set, map[string]field{"p": p, "prev": prev, "v": constant(1)})
}

// laplacian returns the factor by which the program's Laplacian scales drum(n).
func laplacian(t *testing.T, n int) float64 {
	h := 1 / float64(n)
	w := strike(t, n, 1, h, drum(n, 1), drum(n, 1))
	at := []int{1, 1}
	mode := drum(n, 1)(at...)
	factor := (w.at("p", at...) - mode) / mode
	if d := w.worst("p", drum(n, 1+factor)); d > 1e-14 {
		t.Fatalf("a mode is off by %g", d)
	}
	return factor / (h * h)
}

func TestWaveIsOfOrderEightInSpace(t *testing.T) {
	exact := -math.Pi * math.Pi * (9 + 4)
	var errors []float64
	for _, n := range []int{12, 24, 48} {
		errors = append(errors, math.Abs(laplacian(t, n)-exact))
	}
	order(t, "Laplacian", 8, errors...)
}

func TestWaveIsOfOrderTwoInTime(t *testing.T) {
	const n, end = 16, 0.5
	omega := math.Sqrt(-laplacian(t, n))
	var errors []float64
	for _, steps := range []int{20, 40, 80, 160} {
		dt := end / float64(steps)
		w := strike(t, n, steps, dt, drum(n, 1), drum(n, math.Cos(omega*dt)))
		errors = append(errors, w.worst("p", drum(n, math.Cos(omega*end))))
	}
	order(t, "wave", 2, errors...)
}

// The rim takes out nearly all of a ripple that meets it.
func TestWaveIsAbsorbed(t *testing.T) {
	ripple := func(at ...int) float64 {
		r2 := (math.Pow(float64(at[0])-60, 2) + math.Pow(float64(at[1])-60, 2)) / 20
		return (1 - r2) * math.Exp(-r2)
	}
	energy := func(rim int) float64 {
		set := fmt.Sprintf("M=121 N=121 steps=400 dt=0.4 h=1 strength=0 rim=%d", rim)
		w := run(t, load(t, "wave", nil), set, map[string]field{"p": ripple, "prev": ripple, "v": constant(1)})
		return sumOfSquares(w.values("p"))
	}
	if kept, left := energy(0), energy(40); left > 0.02*kept {
		t.Errorf("with a rim %g of %g is left", left, kept)
	}
}

// The source is Ricker's wavelet at one cell. Before anything comes back, its
// waves are the same to the left and the right and no faster than sound.
func TestWaveSource(t *testing.T) {
	first := run(t, load(t, "wave", inDouble), "M=20 N=30 steps=1 peak=5 rim=0", map[string]field{"v": constant(1)})
	arg := math.Pow(3.14159265*1.2, 2) // it peaks 1.2 periods after the start
	if d := first.worst("p",
		func(at ...int) float64 { return pattern(8, 10, "#")(at...) / 255 * (1 - 2*arg) * math.Exp(-arg) }); d > 1e-15 {
		t.Errorf("the source is off by %g", d)
	}

	set := "M=101 N=90 steps=60 dt=0.4 h=1 peak=0.1 rim=0"
	w := run(t, load(t, "wave", nil), set, map[string]field{"v": constant(1)})
	for _, d := range []int{3, 5, 8} {
		left, right := w.at("p", 8, 30-d), w.at("p", 8, 30+d)
		near(t, "right of the source", right, left, 1e-4*math.Abs(left))
	}
	if loud := w.at("p", 8, 30); math.Abs(loud) < 1e-3 {
		t.Errorf("the source is silent: %g", loud)
	}
	if far := w.at("p", 90, 30); math.Abs(far) > 1e-6 {
		t.Errorf("sound is faster than its speed: %g", far)
	}
}
