package deep

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func text(list []Part) string {
	s := ""
	for _, p := range list {
		s += fmt.Sprintf("%dx%d%s ", p.Times, p.Depth, map[bool]string{true: "f"}[p.Fused])
	}
	return s
}

// Two iterations together take as long as 1.5, four as long as 2, and one has to follow four.
var usual = []Version{{1, 0, 1, false}, {2, 0, 1.5, false}, {4, 1, 2, false}}

func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		total           int64
		versions        []Version
		greedy, optimal string
		takes, least    float64
	}{
		{0, usual, "", "", 0, 0},
		{1, usual, "1x1 ", "1x1 ", 1, 1},
		{4, usual, "2x2 ", "2x2 ", 3, 3},
		{5, usual, "1x4 1x1 ", "1x4 1x1 ", 3, 3},
		{8, usual, "1x4 2x2 ", "1x4 2x2 ", 5, 5},
		{1000, usual, "249x4 2x2 ", "249x4 2x2 ", 501, 501},
		{6, []Version{{1, 0, 1, false}, {3, 0, 2, false}, {5, 0, 3.2, false}}, "1x5 1x1 ", "2x3 ", 4.2, 4},
		{7, []Version{{1, 0, 1, false}, {3, 0, 5, false}}, "2x3 1x1 ", "7x1 ", 11, 7},
		{9, []Version{{1, 0, 1, false}, {1, 1, 0.5, true}, {4, 0, 1.6, false}}, "2x4 1x1 ", "2x4 1x1f ", 4.2, 3.7},
		{8, []Version{{1, 0, 1, false}, {1, 1, 0.5, true}}, "7x1f 1x1 ", "7x1f 1x1 ", 4.5, 4.5},
	} {
		if got, s := Greedy(c.total, c.versions); text(got) != c.greedy || math.Abs(s-c.takes) > 1e-9 {
			t.Errorf("greedy: %d iterations: %sin %g s; want %sin %g s", c.total, text(got), s, c.greedy, c.takes)
		}
		if got, s := Optimal(c.total, c.versions); text(got) != c.optimal || math.Abs(s-c.least) > 1e-9 {
			t.Errorf("optimal: %d iterations: %sin %g s; want %sin %g s", c.total, text(got), s, c.optimal, c.least)
		}
	}
}

// Optimal is the recurrence's value for any number of iterations, and its parts are that many iterations and
// take that long.
func TestOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		versions := []Version{{1, 0, 1, false}}
		for depth := int64(1); depth <= 7; depth++ {
			if rapid.Bool().Draw(t, "has") {
				part := rapid.IntRange(1, 40).Draw(t, "part")
				versions = append(versions, Version{depth, rapid.Int64Range(0, 3).Draw(t, "after"),
					float64(depth) * float64(part) / 32, depth == 1})
			}
		}
		total := rapid.Int64Range(0, 400).Draw(t, "total")
		opt := make([]float64, total+1)
		for n := int64(1); n <= total; n++ {
			opt[n] = math.Inf(1)
			for _, v := range versions {
				if v.Depth+v.After <= n {
					opt[n] = min(opt[n], v.Seconds+opt[n-v.Depth])
				}
			}
		}
		parts, seconds := Optimal(total, versions)
		iterations, sum := int64(0), 0.0
		for _, p := range parts {
			for _, v := range versions {
				if v.Depth == p.Depth && v.Fused == p.Fused {
					iterations += p.Depth * p.Times
					sum += float64(p.Times) * v.Seconds
				}
			}
		}
		if iterations != total || math.Abs(sum-seconds) > 1e-9 || math.Abs(seconds-opt[total]) > 1e-9 {
			t.Fatalf("%d iterations of %v: %s are %d and take %g s; %g said, and %g is the least", total, versions,
				text(parts), iterations, sum, seconds, opt[total])
		}
		if _, greedy := Greedy(total, versions); greedy < seconds-1e-9 {
			t.Fatalf("greedy takes %g s, less than the least %g s", greedy, seconds)
		}
	})
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name     string
		total    int64
		versions []Version
		want     []int64
	}{
		{"nothing gains", 100, []Version{{1, 0, 1, false}, {2, 0, 2.1, false}}, []int64{1}},
		{"the remainder pays", 19,
			[]Version{{1, 0, 1, false}, {2, 0, 1.2, false}, {3, 0, 1.5, false}, {8, 0, 3, false}}, []int64{8, 3, 1}},
		{"it does not", 100003,
			[]Version{{1, 0, 1, false}, {2, 0, 1.2, false}, {3, 0, 1.5, false}, {8, 0, 3, false}}, []int64{8, 1}},
		{"the deepest is not the best", 100,
			[]Version{{1, 0, 1, false}, {4, 0, 2, false}, {8, 0, 6, false}}, []int64{4, 1}},
		{"the deepest does not fit", 7, []Version{{1, 0, 1, false}, {4, 0, 2, false}, {8, 0, 3, false}}, []int64{4, 1}},
		{"greedy would spoil it", 6, []Version{{1, 0, 1, false}, {3, 0, 2, false}, {5, 0, 3.2, false}}, []int64{3, 1}},
		{"no iteration", 0, []Version{{1, 0, 1, false}, {4, 0, 2, false}}, []int64{1}},
	} {
		var got []int64
		for _, v := range Choose(c.total, c.versions) {
			got = append(got, v.Depth)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: depths %v, want %v", c.name, got, c.want)
		}
	}
}

func TestTipped(t *testing.T) {
	for _, c := range []struct {
		per  []float64 // seconds of an iteration, by depth from 1 on
		want bool
	}{
		{[]float64{1}, false},
		{[]float64{1, 2}, false},
		{[]float64{1, 2, 2}, true},
		{[]float64{1, 0.6, 0.5, 0.55}, false},
		{[]float64{1, 0.6, 0.5, 0.55, 0.499}, true}, // which is no gain
		{[]float64{1, 0.6, 0.5, 0.55, 0.49}, false},
		{[]float64{1, 1.1, 0.9, 0.95, 0.8}, false},
	} {
		var list []Version
		for i, s := range c.per {
			depth := int64(i + 1)
			list = append(list, Version{Depth: depth, Seconds: s * float64(depth)})
		}
		if got := Tipped(list, 2); got != c.want {
			t.Errorf("%v: %t", c.per, got)
		}
	}
	slow := []Version{{Depth: 1, Seconds: 1}, {Depth: 1, Seconds: 2, Fused: true}, {Depth: 2, Seconds: 3}}
	if Tipped(slow, 2) {
		t.Error("a fused iteration that is slower counts as a depth")
	}
	if !Tipped(append(slow, Version{Depth: 4, Seconds: 6}), 2) {
		t.Error("two depths that are slower do not end it")
	}
}
