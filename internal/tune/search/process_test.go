package search

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// drawFeatures returns n random features of d parameters: numbers, words, and some
// that do not exist.
func drawFeatures(n, d int, rng *rand.Rand) []features {
	list := make([]features, n)
	for i := range list {
		for j := range d {
			switch {
			case j == 0:
				list[i] = append(list[i], wordFeature+float32(rng.IntN(3)))
			case j == 1 && rng.IntN(3) == 0:
				list[i] = append(list[i], absentFeature)
			default:
				list[i] = append(list[i], float32(rng.IntN(9))/8)
			}
		}
	}
	return list
}

// solve returns the x with a x = b, by elimination.
func solve(a [][]float64, b []float64) []float64 {
	n := len(b)
	m := make([][]float64, n)
	for i := range m {
		m[i] = append(append([]float64{}, a[i]...), b[i])
	}
	for i := range m {
		p := i
		for j := i + 1; j < n; j++ {
			if math.Abs(m[j][i]) > math.Abs(m[p][i]) {
				p = j
			}
		}
		m[i], m[p] = m[p], m[i]
		for j := range m {
			if j != i {
				f := m[j][i] / m[i][i]
				for k := i; k <= n; k++ {
					m[j][k] -= f * m[i][k]
				}
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = m[i][n] / m[i][i]
	}
	return x
}

// TestProcessAgainstEquations compares predictions that were kept up to date
// step by step with those that the equations give: k'(K + noise)^-1 y and
// 1 - k'(K + noise)^-1 k. Candidates come before, between and after what is seen,
// and values are learnt in any order.
func TestProcessAgainstEquations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		const d = 4
		g := newProcess([]float64{0.7, 1.3, 2, 0.4}, 0.05, 2)
		seen := drawFeatures(12, d, rng)
		pool := drawFeatures(30, d, rng)
		for i, f := range seen {
			for range 2 {
				g.candidate(pool[len(g.pool)])
			}
			if g.see(f) != i {
				t.Fatal("rows are not in order")
			}
		}
		for len(g.pool) < len(pool) {
			g.candidate(pool[len(g.pool)])
		}
		values := [2][]float64{make([]float64, len(seen)), make([]float64, len(seen))}
		for _, i := range rng.Perm(len(seen)) {
			for target := range 2 {
				values[target][i] = rng.NormFloat64()
				g.learn(i, target, values[target][i])
			}
		}
		k := make([][]float64, len(seen))
		for i := range k {
			for j := range seen {
				c := g.covariance(seen[i], seen[j])
				if i == j {
					c += 0.05
				}
				k[i] = append(k[i], c)
			}
		}
		for p, f := range pool {
			cross := make([]float64, len(seen))
			for i := range seen {
				cross[i] = g.covariance(f, seen[i])
			}
			weights := solve(k, cross)
			variance := 1.0
			for i, w := range weights {
				variance -= w * cross[i]
			}
			if math.Abs(variance-g.variance[p]) > 1e-9 {
				t.Fatalf("variance %v, want %v", g.variance[p], variance)
			}
			for target := range 2 {
				mean := 0.0
				for i, w := range weights {
					mean += w * values[target][i]
				}
				if math.Abs(mean-g.mean[target][p]) > 1e-9 {
					t.Fatalf("mean %v, want %v", g.mean[target][p], mean)
				}
			}
		}
	}
}

// TestProcessWithoutValues: a point of which nothing is known yet makes its
// neighbourhood certain and moves no mean.
func TestProcessWithoutValues(t *testing.T) {
	g := newProcess([]float64{3}, 0.01, 1)
	g.candidate(features{0.5})
	g.candidate(features{0.52})
	g.learn(g.see(features{0.3}), 0, -1)
	mean, variance := g.mean[0][1], g.variance[1]
	i := g.see(features{0.5})
	if g.mean[0][1] != mean || g.variance[1] > variance/2 {
		t.Errorf("mean %v became %v, variance %v became %v", mean, g.mean[0][1], variance, g.variance[1])
	}
	g.learn(i, 0, -3)
	if g.mean[0][0] > -2.5 {
		t.Errorf("the mean at -3 is %v", g.mean[0][0])
	}
}

func TestDistance(t *testing.T) {
	params := []Param{
		{Values: numbers(1, 2, 4, 8, 16)},
		{Values: numbers(7)},
		{Values: schedule.Words("a", "b", "c")},
		{Values: numbers(1, 2)},
	}
	a := featuresOf(params, Point{1, 0, 0, Absent})
	b := featuresOf(params, Point{4, 0, 2, 1})
	c := featuresOf(params, Point{1, 0, 2, Absent})
	for i, want := range []float64{0.75, 0, 1, 1} {
		if got := math.Sqrt(square(a[i], b[i])); got != want {
			t.Errorf("parameter %d: %v, want %v", i, got, want)
		}
	}
	for i, want := range []float64{0, 0, 1, 0} {
		if got := math.Sqrt(square(a[i], c[i])); got != want {
			t.Errorf("parameter %d: %v, want %v", i, got, want)
		}
	}
}

// TestImprovement compares the formula with the mean over many draws.
func TestImprovement(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, c := range []struct{ target, mean, deviation float64 }{{0, 0, 1}, {-1, 0.5, 0.7}, {1, -2, 0.3}, {0, 1, 2}} {
		const n = 200000
		sum := 0.0
		for range n {
			sum += max(0, c.target-(c.mean+c.deviation*rng.NormFloat64()))
		}
		if got := improvement(c.target, c.mean, c.deviation); math.Abs(got-sum/n) > 0.01 {
			t.Errorf("%+v: %v, drawn %v", c, got, sum/n)
		}
	}
	// Points far off still have an order.
	if a, b := improvement(0, 9, 1), improvement(0, 10, 1); !(a > b && b > 0) {
		t.Errorf("%v, %v", a, b)
	}
}

// grid is a space of two parameters.
func grid(a, b int64) Space {
	f := schedule.Family{Name: "f"}
	for name, n := range map[string]int64{"a": a, "b": b} {
		p := schedule.Param{Name: name, Default: schedule.Int(1)}
		for v := range n {
			p.Values = append(p.Values, schedule.Int(v+1))
		}
		f.Params = append(f.Params, p)
	}
	slices.SortFunc(f.Params, func(p, q schedule.Param) int { return strings.Compare(p.Name, q.Name) })
	return Of(schedule.Space{Families: []schedule.Family{f}})
}

// TestLengths: of a function that one parameter decides and another does not,
// the first gets the shorter length.
func TestLengths(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	s := newSurrogate(grid(8, 8).Params())
	var trials []Trial
	var points []gpCandidate
	for range 60 {
		p := Point{0, rng.IntN(8), rng.IntN(8)}
		trials = append(trials, Trial{Point: p, Seconds: math.Exp(math.Sin(float64(p[1])))})
		points = append(points, gpCandidate{point: p, features: s.features(p)})
	}
	s.fit(points, trials)
	if s.scale[1] < 2*s.scale[2] {
		t.Errorf("lengths %v and %v", 1/s.scale[1], 1/s.scale[2])
	}
	if s.noise >= defaultNoise {
		t.Errorf("noise %v where there is none", s.noise)
	}
}

// TestLevels: half of the levels lie below 0, and order is kept up to the bound.
func TestLevels(t *testing.T) {
	s := newSurrogate(grid(2, 1).Params())
	s.setUnits([]float64{math.Log(1), math.Log(2), math.Log(4), math.Log(900), math.Log(9000)})
	if l := s.level(4); l != 0 {
		t.Errorf("the median's level is %v", l)
	}
	if !(s.level(1) < s.level(2) && s.level(2) < 0 && s.level(900) == levelMost && s.level(9000) == levelMost) {
		t.Errorf("levels %v %v %v %v", s.level(1), s.level(2), s.level(900), s.level(9000))
	}
}

// The slope of levels over estimates is that of times until trials tell it; estimates that mislead come to nothing, and
// an estimate of 1 is one.
func TestSlope(t *testing.T) {
	s := newSurrogate(nil)
	s.spread = 0.5
	slope := func(levels, estimates []float64) float64 {
		points := make([]gpCandidate, len(levels))
		for i := range points {
			points[i].estimate = math.Log(estimates[i])
		}
		s.regress(points, levels)
		return s.slope
	}
	if x := slope([]float64{0.3}, []float64{1}); x != 2 {
		t.Errorf("after one trial the slope is %g", x)
	}
	if x := slope([]float64{0, 1, 2}, []float64{2, 2, 2}); x != 2 {
		t.Errorf("after trials of one estimate it is %g", x)
	}
	steep := slope([]float64{0, 4 * math.Ln2, 8 * math.Ln2}, []float64{1, 2, 4})
	if steep < 3.5 || steep > 4 {
		t.Errorf("levels that rise four times as much as estimates have the slope %g", steep)
	}
	if x := slope([]float64{2, 1, 0}, []float64{1, 4, 16}); x != 0 {
		t.Errorf("estimates that mislead have the slope %g", x)
	}
	if x := slope([]float64{2, 1, 0}, []float64{math.NaN(), math.NaN(), math.NaN()}); x != 0 {
		t.Errorf("no estimates have the slope %g", x)
	}
}
