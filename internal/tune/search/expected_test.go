package search

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

// pair are expected points of two kinds: errors of one kind are alike, and tell little of the other.
func pair(most int, fractions ...float64) *Expected {
	e := &Expected{Fractions: fractions, Most: most}
	for i := range fractions {
		e.Points = append(e.Points, Point{i})
	}
	e.Alike = func(i, j int) float64 {
		switch {
		case i == j:
			return 1
		case i%2 == j%2:
			return 0.9
		}
		return 0.1
	}
	return e
}

// took returns trials with some times of one run; 0 could not run.
func took(e *Expected, seconds ...float64) func(int) Trial {
	return func(i int) Trial {
		if seconds[i] == 0 {
			return Trial{Point: e.Points[i], Verdict: verdict.Crash}
		}
		return Trial{Point: e.Points[i], Verdict: verdict.OK, Seconds: seconds[i]}
	}
}

// What is slower than was expected, or cannot run, has points of the other kind follow; what is as fast as was expected
// has the next in order follow.
func TestCorrection(t *testing.T) {
	for _, c := range []struct {
		name    string
		seconds []float64
		want    []int
	}{
		{"as expected", []float64{1 / .9, 1 / .7, 1 / .88, 1 / .69, 1 / .86, 1 / .68}, []int{0, 1, 2}},
		{"the first kind is slow", []float64{2.6, 1 / .7, 2.6, 1 / .69, 2.6, 1 / .68}, []int{0, 1, 3}},
		{"the first kind cannot run", []float64{0, 1 / .7, 0, 1 / .69, 0, 1 / .68}, []int{0, 1, 3}},
		{"the other kind is slow", []float64{1 / .9, 3, 1 / .88, 3, 1 / .86, 3}, []int{0, 1, 2}},
	} {
		e := pair(1, .9, .7, .88, .69, .86, .68)
		if got := e.Follow([]int{0, 1}, took(e, c.seconds...)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v are tried, not %v", c.name, got, c.want)
		}
	}
	// A point that stands there twice is tried once, and a search that tries no more learns no more.
	e := pair(4, .5, .4, .3)
	e.Points[1] = e.Points[0]
	c := newCorrection(&Problem{Expected: e}, nil)
	var tried []Point
	for p, ok := c.next(); ok; p, ok = c.next() {
		tried = append(tried, p)
		c.told(Trial{Point: p, Verdict: verdict.OK, Seconds: 2})
	}
	if want := []Point{{0}, {2}}; !slices.EqualFunc(tried, want, slices.Equal) {
		t.Errorf("%v are tried, not %v", tried, want)
	}
	e = pair(1, .5, .4, .3)
	c = newCorrection(&Problem{Expected: e}, nil)
	c.next()
	c.told(took(e, 1, 1, 1)(0))
	if list := c.likely(2); len(c.tried) > 0 || len(list) > 0 {
		t.Errorf("after the last one %v are likely, and %d were learned from", list, len(c.tried))
	}
	// Until one runs they keep their order, whatever is expected of them.
	for _, c := range []struct {
		seconds []float64
		want    []int
	}{
		{[]float64{0, 0, 0, 0, 0}, []int{0, 1, 2, 3}},
		{[]float64{0, 0, 1 / .3, 0, 1 / .6}, []int{0, 1, 2, 4}},
		{[]float64{1 / .2, 0, 1 / .3, 0, 1 / .6}, []int{0, 4, 1, 2}},
	} {
		e = pair(4, .2, .5, .3, .4, .6)
		if got := e.Follow(nil, took(e, c.seconds...)); !slices.Equal(got, c.want) {
			t.Errorf("of points with times %v %v are tried, not %v", c.seconds, got, c.want)
		}
	}
}

// The means and variances are those of the textbook: conditional on what was measured, by the inverse of the matrix of
// covariances (Rasmussen and Williams 2006, equations 2.25 and 2.26).
func TestCorrectionIsAGaussianProcess(t *testing.T) {
	e := pair(1, .9, .7, .88, .69, .86, .68)
	seconds := []float64{1.3, 1.9, 1.2, 0, 0, 0}
	tried, left := []int{0, 1, 2}, []int{3, 4, 5}
	c := newCorrection(&Problem{Expected: e}, nil)
	for _, i := range tried {
		c.told(took(e, seconds...)(i))
	}
	own := mat.NewDense(3, 3, nil)
	errors := mat.NewVecDense(3, nil)
	mean := 0.0
	for _, i := range tried {
		mean += (math.Log(seconds[i]) + math.Log(e.Fractions[i])) / 3
	}
	covariance := func(i, j int) float64 { return ownErrors*ownErrors*e.Alike(i, j) + sharedErrors*sharedErrors }
	for a, i := range tried {
		errors.SetVec(a, math.Log(seconds[i])+math.Log(e.Fractions[i])-mean)
		for b, j := range tried {
			own.Set(a, b, covariance(i, j))
		}
		own.Set(a, a, own.At(a, a)+timeErrors*timeErrors)
	}
	var inverse mat.Dense
	if err := inverse.Inverse(own); err != nil {
		t.Fatal(err)
	}
	gains := c.gains()
	for _, j := range left {
		k := mat.NewVecDense(3, []float64{covariance(0, j), covariance(1, j), covariance(2, j)})
		var weights, solved mat.VecDense
		weights.MulVec(&inverse, errors)
		solved.MulVec(&inverse, k)
		time := -math.Log(e.Fractions[j]) + mean + mat.Dot(k, &weights)
		deviation := math.Sqrt(covariance(j, j) - mat.Dot(k, &solved))
		want := improvement(math.Log(1.2)-leastGain, time, deviation)
		if math.Abs(gains[j]-want) > 1e-9*want {
			t.Errorf("point %d gains %g, not %g", j, gains[j], want)
		}
	}
	for _, i := range tried {
		if !math.IsInf(gains[i], -1) {
			t.Errorf("point %d was tried, and gains %g", i, gains[i])
		}
	}
}

// After the first points a search asks for expected ones, one at a time and each once, as many as it may; an
// interrupted search goes on with the same ones. Then the strategy takes over, and knows them all.
func TestExpected(t *testing.T) {
	s := terrain()
	var points []Point
	for p := range s.All() {
		if points = append(points, slices.Clone(p)); len(points) == 30 {
			break
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, len(points)).Draw(t, "points")
		kinds := rapid.IntRange(1, 4).Draw(t, "kinds")
		most := rapid.IntRange(1, 8).Draw(t, "most")
		first := rapid.IntRange(0, min(4, n)).Draw(t, "first")
		e := &Expected{Points: points[:n], Most: most, Alike: func(i, j int) float64 {
			if i == j {
				return 1
			}
			return float64(1-min(1, (i-j+n)%kinds)) * .8
		}}
		var trials []Trial
		for i := range n {
			e.Fractions = append(e.Fractions, rapid.Float64Range(0, 1).Draw(t, "fraction"))
			x := Trial{Point: points[i], Verdict: verdict.OK, Cost: 1}
			x.Seconds = rapid.Float64Range(1, 5).Draw(t, "time")
			if rapid.IntRange(0, 5).Draw(t, "refused") == 0 {
				x.Verdict, x.Seconds = verdict.Crash, 0
			}
			trials = append(trials, x)
		}
		of := func(p Point) Trial {
			for _, x := range trials {
				if slices.Equal(x.Point, p) {
					return x
				}
			}
			return Trial{Point: p, Verdict: verdict.OK, Seconds: 2, Cost: 1}
		}
		problem := Problem{Space: s, Seed: 3, First: points[:first], Expected: e}
		a, err := New("random", problem)
		if err != nil {
			t.Fatal(err)
		}
		var order []Point
		for _, p := range a.Ask(first) {
			order = append(order, p)
			a.Tell(of(p))
		}
		want := first + min(most, n-first)
		for len(order) < want {
			likely := a.Likely(3)
			p := a.Ask(5)
			if len(p) != 1 || len(a.Ask(1)) != 0 {
				t.Fatalf("%v are asked for at a time", p)
			}
			if len(likely) == 0 || !slices.Equal(likely[0], p[0]) {
				t.Fatalf("%v is asked for, and was likely to be %v", p[0], likely)
			}
			if slices.ContainsFunc(order, func(q Point) bool { return slices.Equal(p[0], q) }) {
				t.Fatalf("%v is asked for twice", p[0])
			}
			if !slices.ContainsFunc(points[:n], func(q Point) bool { return slices.Equal(p[0], q) }) {
				t.Fatalf("%v was not expected", p[0])
			}
			if len(order) < want-1 { // an interrupted search
				problem.Known = nil
				for _, q := range order {
					problem.Known = append(problem.Known, of(q))
				}
				again, err := New("random", problem)
				if err != nil {
					t.Fatal(err)
				}
				for i := len(order); i < want; i++ {
					q := again.Ask(1)
					if len(q) != 1 || i == len(order) && !slices.Equal(q[0], p[0]) || len(again.Ask(1)) > 0 {
						t.Fatalf("a search that goes on asks for %v, not for %v", q, p[0])
					}
					again.Tell(of(q[0]))
				}
				if again.Ask(2); len(again.Ask(1)) == 0 {
					t.Fatal("a search that goes on does not come to its strategy")
				}
			}
			order = append(order, p[0])
			a.Tell(of(p[0]))
		}
		for range 5 {
			p := a.Ask(1)
			if len(p) != 1 || slices.ContainsFunc(order, func(q Point) bool { return slices.Equal(p[0], q) }) {
				t.Fatalf("the strategy asks for %v", p)
			}
			order = append(order, p[0])
			a.Tell(of(p[0]))
		}
	})
}
