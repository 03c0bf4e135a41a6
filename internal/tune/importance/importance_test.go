package importance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// grid runs all combinations of a, b and c, each with so many values.
func grid(values int, seconds func(a, b, c int) float64) []Run {
	var runs []Run
	for a := range values {
		for b := range values {
			for c := range values {
				runs = append(runs, Run{map[string]string{"a": fmt.Sprint(a), "b": fmt.Sprint(b), "c": fmt.Sprint(c)},
					seconds(a, b, c)})
			}
		}
	}
	return runs
}

func shares(runs []Run) map[string]float64 {
	m := map[string]float64{}
	for _, p := range Of([]string{"a", "b", "c"}, runs) {
		m[p.Name] = p.Share
	}
	return m
}

// Spaces of which the shares are known.
func TestShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	noise := func(s float64) float64 { return math.Exp(s * rng.NormFloat64()) }
	for name, c := range map[string]struct {
		runs []Run
		want [3]float64
		near float64
	}{
		"one alone": {grid(4, func(a, _, _ int) float64 { return math.Pow(20, float64(a)/3) }), [3]float64{1, 0, 0},
			0.02},
		// The logarithms are sums: variances of 1, 1/4 and 0.
		"two, one half as strong": {grid(4, func(a, b, _ int) float64 { return math.Exp(float64(a) + float64(b)/2) }),
			[3]float64{0.8, 0.2, 0}, 0.05},
		// Neither a nor b shows anything by itself: only together do they.
		"only together": {grid(2, func(a, b, _ int) float64 { return 1 + 19*float64(a^b) }), [3]float64{1, 1, 0},
			0.05},
		"one, and noise": {grid(5, func(a, _, _ int) float64 { return math.Exp(float64(a)) * noise(0.05) }),
			[3]float64{1, 0, 0}, 0.03},
	} {
		got := shares(c.runs)
		for i, p := range []string{"a", "b", "c"} {
			if math.Abs(got[p]-c.want[i]) > c.near {
				t.Errorf("%s: the share of %s is %.3f, not %.3f", name, p, got[p], c.want[i])
			}
		}
	}
}

// Where the best runs with two values each range 20 times, the two matter, also if
// few of many combinations were run, and those near the best most often.
func TestRangesMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{20, 40, 100} {
		var runs []Run
		for range n {
			a, b, c := rng.IntN(12), rng.IntN(6), rng.IntN(3)
			if rng.IntN(2) == 0 {
				a = 5 // a search comes back to what was good
			}
			d := math.Abs(float64(a-5)) + math.Abs(float64(b-2))
			runs = append(runs, Run{map[string]string{"a": fmt.Sprint(a), "b": fmt.Sprint(b), "c": fmt.Sprint(c)},
				math.Pow(20, d/7) * math.Exp(0.02*rng.NormFloat64())})
		}
		got := shares(runs)
		if got["a"] < 0.2 || got["b"] < 0.05 || got["c"] > min(got["a"], got["b"]) {
			t.Errorf("%d runs: %v", n, got)
		}
	}
}

func TestValues(t *testing.T) {
	runs := grid(2, func(a, b, _ int) float64 { return float64(1+3*a) + float64(b)/2 })
	runs = append(runs, Run{map[string]string{"a": "1"}, 2})
	list := Of([]string{"c", "b", "a", "none"}, runs)
	i := slices.IndexFunc(list, func(p Parameter) bool { return p.Name == "b" })
	if len(list) != 3 || list[0].Name != "a" || i < 0 {
		t.Fatalf("%+v", list)
	}
	if want := (Parameter{"a", list[0].Share, 2, []Value{{"0", 4, 1}, {"1", 5, 2}}}); !reflect.DeepEqual(list[0],
		want) {
		t.Errorf("%+v", list[0])
	}
	if want := []Value{{"0", 4, 1}, {"1", 4, 1.5}, {"", 1, 2}}; !slices.Equal(list[i].Values, want) {
		t.Errorf("%+v", list[i])
	}
	if !reflect.DeepEqual(list, Of([]string{"c", "b", "a", "none"}, runs)) {
		t.Error("the same runs give other shares")
	}
}

func TestTooLittle(t *testing.T) {
	one := Run{map[string]string{"a": "1"}, 1}
	for name, runs := range map[string][]Run{"none": nil, "two": {one, one}, "one value": {one, one, one}} {
		if list := Of([]string{"a"}, runs); len(list) != 0 {
			t.Errorf("%s: %v", name, list)
		}
	}
	alike := []Run{{map[string]string{"a": "1"}, 1}, {map[string]string{"a": "2"}, 1}, {map[string]string{"a": "3"}, 1}}
	if list := Of([]string{"a"}, alike); len(list) != 1 || list[0].Share != 0 || list[0].Range != 1 {
		t.Errorf("all as fast: %+v", list)
	}
}
