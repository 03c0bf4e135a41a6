package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

// TestForest learns a function with a jump and a product from 300 noisy samples,
// and is less sure where it has seen nothing.
func TestForest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	f := func(row []uint8) float64 {
		y := float64(row[0]) / 10
		if row[1] > 5 && row[2] == 1 {
			y += 3
		}
		return y
	}
	draw := func(most int) []uint8 {
		return []uint8{uint8(rng.IntN(most)), uint8(rng.IntN(10)), uint8(rng.IntN(2)), uint8(rng.IntN(10)),
			uint8(rng.IntN(4))}
	}
	var rows [][]uint8
	var values []float64
	for range 300 {
		row := draw(20)
		rows = append(rows, row)
		values = append(values, f(row)+0.05*rng.NormFloat64())
	}
	forest := newForest(30, 2, 5, rng)
	forest.grow(30, rows, values)
	errors, all, sure := 0.0, 0.0, 0.0
	mean := 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for range 500 {
		row := draw(20)
		y, deviation := forest.predict(row)
		errors += (y - f(row)) * (y - f(row))
		all += (mean - f(row)) * (mean - f(row))
		sure += deviation / 500
	}
	if r2 := 1 - errors/all; r2 < 0.95 {
		t.Errorf("the forest explains %.3f of the variance", r2)
	}
	// At the jump the trees differ.
	if _, deviation := forest.predict([]uint8{10, 5, 1, 0, 0}); deviation < sure/2 {
		t.Errorf("at the edge of the jump the deviation is %.3f, elsewhere %.3f", deviation, sure)
	}
}

// TestForestGrowsByParts grows some of the trees anew and leaves the others.
func TestForestGrowsByParts(t *testing.T) {
	rows := [][]uint8{{0}, {1}, {2}, {3}}
	f := newForest(4, 1, 1, rand.New(rand.NewPCG(1, 1)))
	f.grow(4, rows, []float64{1, 1, 1, 1})
	f.grow(1, rows, []float64{9, 9, 9, 9})
	if y, _ := f.predict([]uint8{2}); y != 3 {
		t.Errorf("three trees say 1, one says 9, and together %v", y)
	}
}

func TestFeatures(t *testing.T) {
	k := Of(twoFamilies())
	e := newEncoder(Problem{Space: k, Estimate: func(p Point) (float64,
		bool) {
		return math.Pow(1.1, float64(p[0])), p[4] != 2
	}})
	rows := map[string]Point{}
	for p := range k.All() {
		row, ok := e.row(p)
		if len(row) != e.width || ok != (p[4] != 2) {
			t.Fatalf("%s: %d features of %d, ok %v", k.Text(p), len(row), e.width, ok)
		}
		if slices.Max(row) >= bins {
			t.Errorf("%s: feature beyond the bins: %v", k.Text(p), row)
		}
		if q, taken := rows[fmt.Sprint(row)]; taken {
			t.Errorf("%s and %s have the same features", k.Text(p), k.Text(q))
		}
		rows[fmt.Sprint(row)] = slices.Clone(p)
	}
	// block.z x block.y x block.x, and with vec on the x axis, are features: log2, twice, and 1.
	p := k.Starts()[0] // tile, block=2x4x32, vec=2
	row, _ := e.row(p)
	if !slices.Equal(e.products[0], []int{1, 2, 3}) || row[e.width-len(e.products)-1] != 1+2*8 {
		t.Errorf("products %v, features %v", e.products, row)
	}
}

// TestModelLearnsRefusals has four fifths of a space refused by a simple rule,
// next to which the optimum lies: soon most of what is asked for runs.
func TestModelLearnsRefusals(t *testing.T) {
	space := terrain()
	s, err := New("model", Problem{Space: space, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i, trial := range run(s, 150, func(p Point) Trial {
		v := reader(space, p)
		if v("block.x") < 64 || v("load") == 0 {
			return Trial{Point: p, Verdict: verdict.Launch}
		}
		return Trial{Point: p, Seconds: landscapes[0].seconds(v)}
	}) {
		if i >= 50 && trial.Verdict == verdict.Launch {
			refused++
		}
	}
	if refused > 40 {
		t.Errorf("%d of the last 100 were refused", refused)
	}
}

// TestPointsUnderWayDiffer asks the model for several at once: they are not all
// the nearest neighbours of one another.
func TestPointsUnderWayDiffer(t *testing.T) {
	space := terrain()
	s, _ := New("model", Problem{Space: space, Seed: 1})
	try := func(p Point) Trial { return Trial{Point: p, Seconds: landscapes[2].seconds(reader(space, p))} }
	run(s, 60, try)
	points := s.Ask(8)
	near := 0
	for i, p := range points {
		for _, q := range points[:i] {
			if differences(p, q) == 1 {
				near++
			}
		}
	}
	if len(points) != 8 || near > 10 {
		t.Errorf("%d points, %d of 28 pairs differ in one value", len(points), near)
	}
}

func BenchmarkModelAsk(b *testing.B) { benchmarkAsk(b, "model") }
func BenchmarkLocalAsk(b *testing.B) { benchmarkAsk(b, "local") }

// benchmarkAsk takes the time of one point after 500 trials in a space of 10^9.
func benchmarkAsk(b *testing.B, name string) {
	space := hugeSpace()
	s, err := New(name, Problem{Space: space, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	try := func(p Point) Trial {
		sum := 1.0
		for i, v := range p {
			sum += math.Abs(float64(v - i%7))
		}
		return Trial{Point: p, Seconds: sum}
	}
	run(s, 500, try)
	for b.Loop() {
		run(s, 1, try)
	}
}
