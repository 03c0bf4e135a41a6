package tuner

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// judged is what a result says of contenders with these times, of which the
// first is the default.
func judged(bound float64, times ...[]float64) *Result {
	r := &Result{Bound: Bound{GStencils: bound, Bytes: 1 << 20}}
	for i, x := range times {
		name := fmt.Sprintf("found %d", i)
		if i == 0 {
			name = "default"
		}
		r.Contenders = append(r.Contenders, Contender{Name: name, Plan: name, Times: x})
	}
	r.compare(1e6)
	r.decide(func(string) bool { return true })
	return r
}

// All figures of a table agree with each other, whatever the times: the time of
// the default over that of a plan is how many times as fast the plan is, the
// fastest is first, and everything lies in its interval, which is above zero.
func TestFiguresAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	near := func(a, b float64) bool { return math.Abs(a/b-1) < 1e-9 }
	for range 500 {
		rounds := 1 + rng.IntN(12)
		slow := make([]float64, rounds) // rounds that are slow for all
		for i := range slow {
			slow[i] = 1 + rng.ExpFloat64()
		}
		var times [][]float64
		for range 1 + rng.IntN(6) {
			own := 1e-3 * (1 + rng.Float64())
			x := make([]float64, rounds)
			for i := range x {
				x[i] = own * slow[i] * math.Exp(0.1*rng.NormFloat64())
				if rng.IntN(10) == 0 {
					x[i] *= 5 // something else ran
				}
			}
			times = append(times, x)
		}
		r := judged(0, times...)
		base, before := r.Base(), math.Inf(1)
		for _, c := range r.Contenders {
			g := c.Gain
			switch {
			case !near(base.Seconds/c.Seconds, g.Ratio), !near(c.GStencils/base.GStencils, g.Ratio):
				t.Fatalf("%+v beside %+v", c, base)
			case !(0 < g.Interval[0] && g.Interval[0] <= g.Ratio && g.Ratio <= g.Interval[1]):
				t.Fatalf("%+v", g)
			case !(0 < c.Interval[0] && c.Interval[0] <= c.Seconds*(1+1e-12) && c.Seconds <= c.Interval[1]*(1+1e-12)):
				t.Fatalf("%g is not in %v", c.Seconds, c.Interval)
			case g.Ratio > before:
				t.Fatalf("%s is %g times as fast, and the one above it %g times", c.Name, g.Ratio, before)
			case g.Apart && (rounds < 2 || g.Interval[0] <= 1 && 1 <= g.Interval[1]):
				t.Fatalf("%+v", g)
			}
			before = g.Ratio
		}
		if r.Verdict.Gain != r.Contenders[0].Gain || r.Verdict.Name != r.Contenders[0].Name {
			t.Fatalf("%+v of %+v", r.Verdict, r.Contenders[0])
		}
		if _, err := json.Marshal(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVerdict(t *testing.T) {
	scatter := []float64{1, 1.02, 0.97, 1.01, 0.99, 1.03, 0.98}
	times := func(factor, noise float64) []float64 {
		var x []float64
		for i := range scatter {
			x = append(x, factor*(1+noise*(scatter[(i+3)%7]-1)))
		}
		return x
	}
	for name, c := range map[string]struct {
		times [][]float64
		apart bool
		want  string
	}{
		"faster": {[][]float64{times(1, 1), times(0.5, 1)}, true, "The best plan, found 1, is 2."},
		"hardly faster": {[][]float64{times(1, 1), times(0.995, 3)}, false,
			"The best plan, found 1, is not told apart from the default: it is 1.0"},
		"default": {[][]float64{times(1, 1), times(1.2, 1)}, false,
			"The default plan is the best: nothing that was found is faster."},
		"one round": {[][]float64{{1}, {0.5}}, false, "The best plan, found 1, is not told apart from the default"},
	} {
		r := judged(0, c.times...)
		if v := r.Verdict; v.Apart != c.apart || !strings.HasPrefix(v.Text, c.want) {
			t.Errorf("%s: %+v", name, v)
		}
	}
	// What is restricted may be slower, and the default may not run.
	r := &Result{Contenders: []Contender{{Name: "default", Plan: "a", Times: times(1, 1)},
		{Name: "found 1", Plan: "b", Times: times(2, 1)}}}
	r.compare(1)
	r.decide(func(plan string) bool { return plan == "b" })
	if !strings.HasPrefix(r.Verdict.Text,
		"The best plan that is allowed, found 1, is slower than the default: it is 0.5") || r.Best != "b" {
		t.Errorf("%+v", r.Verdict)
	}
	if a, b := r.Label(&r.Contenders[0]), r.Label(&r.Contenders[1]); a != "default" || b != "found 1 (best)" {
		t.Errorf("%s, %s", a, b)
	}
	r = &Result{Contenders: []Contender{{Name: "expert", Plan: "a", Times: []float64{1}}}}
	r.compare(1)
	r.decide(func(string) bool { return true })
	if r.Verdict.Text != "The best plan is expert; the default plan does not run." {
		t.Errorf("%+v", r.Verdict)
	}
}

// No plan is said to be at more than what bounds it.
func TestBoundThatIsPassed(t *testing.T) {
	// 1e6 points in 1 ms are 1 GStencil/s.
	r := judged(2, []float64{1e-3}, []float64{0.5e-3})
	if r.Bound.None != "" || math.Abs(r.Contenders[0].Fraction-1) > 1e-9 ||
		math.Abs(r.Contenders[1].Fraction-0.5) > 1e-9 {
		t.Errorf("%+v", r)
	}
	r = judged(1.5, []float64{1e-3}, []float64{0.5e-3})
	if r.Bound.GStencils != 0 || r.Contenders[0].Fraction != 0 ||
		r.Bound.None != "2 GStencil/s, more than the 1.5 that a copy of 1.0 MiB allows: grids stay in a cache in part" {
		t.Errorf("%+v", r.Bound)
	}
}

// Grids that fit in a cache have no copy bound, and a part of it is no target.
func TestNoBoundInCache(t *testing.T) {
	for _, c := range []struct {
		cache int64
		none  bool
	}{{2 * 8 << 18, true}, {2*8<<18 - 1, false}, {0, false}} {
		b := program(t, plane)
		lab := newScripted(t, b, smooth)
		lab.cache = c.cache
		r := tune(t, Options{Bound: b, Lab: lab, Strategy: "random", Trials: 3, Clock: lab.clock,
			Target: Target{Fraction: 100}})
		if (r.Bound.None != "") != c.none || (r.Bound.GStencils == 0) != c.none ||
			(r.Contenders[0].Fraction == 0) != c.none {
			t.Errorf("%d bytes of cache: %+v", c.cache, r.Bound)
		}
		if told := strings.Contains(strings.Join(r.Notes, "\n"), "--target in % counts for nothing"); told != c.none {
			t.Errorf("%d bytes of cache: %v", c.cache, r.Notes)
		}
	}
}

// Kernels of several iterations may pass the copy bound, which stays; those of single ones may not.
func TestSpansPassTheBound(t *testing.T) {
	for _, c := range []struct {
		plan  string
		bound bool
	}{{"heat[0:1]@1{};body[0:2]@4{}", true}, {"heat[0:1]@1{}", false}} {
		loops := []LoopResult{{Loop: "body[0:2]"}}
		r := &Result{Bound: Bound{GStencils: 1, Bytes: 1 << 20}, Loops: loops, Contenders: []Contender{
			{Name: "default", Plan: "heat[0:1]@1{block=8}", Times: []float64{1.25e-3, 1.25e-3}},
			{Name: "other", Plan: c.plan, Times: []float64{0.25e-3, 0.25e-3}},
		}}
		r.compare(1e6)
		if f := r.Contender("other").Fraction; (r.Bound.None == "") != c.bound || c.bound && math.Abs(f-4) > 1e-9 {
			t.Errorf("%s: %g of the bound, %q", c.plan, f, r.Bound.None)
		}
	}
}
