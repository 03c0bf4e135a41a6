package deep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
)

// The search goes around what is predicted, towards what is measured.
func TestRoute(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name  string
		start int64
		times map[int64]float64 // of an iteration; 1 for others
		want  string
	}{
		{"the prediction is right", 4, map[int64]float64{4: 0.5}, "[4 3 5 6] the depths around 4 were not faster"},
		{"deeper ones are faster", 3, map[int64]float64{3: 0.9, 4: 0.8, 5: 0.7, 6: 0.6, 8: 0.5, 10: 0.6, 12: 0.6},
			"[3 2 4 5 6 8 10 12] the depths around 8 were not faster"},
		{"one is uneven", 4, map[int64]float64{4: 0.5, 6: 0.4}, "[4 3 5 6 8 10] the depths around 6 were not faster"},
		{"less deep ones are faster", 8, map[int64]float64{8: 0.9, 6: 0.8, 5: 0.7, 4: 0.6, 3: 0.7},
			"[8 6 5 4 3] the depths around 4 were not faster"},
		{
			"it spills", 6, map[int64]float64{6: inf, 5: inf, 4: inf, 3: 0.5},
			"[6 5 4 3 2] the depths around 3 were not faster",
		},
		{"nothing works", 4, map[int64]float64{4: inf, 3: inf, 2: inf}, "[4 3 2] nothing works from depth 2 on"},
		{"the shallowest", 2, map[int64]float64{2: 0.5}, "[2 3 4] the depths around 2 were not faster"},
		{"the deepest", 12, map[int64]float64{12: 0.5}, "[12 10] the depths around 12 were not faster"},
	} {
		r := Along([]int64{2, 3, 4, 5, 6, 8, 10, 12}, []Version{{Depth: c.start, Seconds: 1}})
		tried := []Version{{Depth: 1, Seconds: 1}}
		var order []int64
		for {
			depth, why := r.Next(tried)
			if depth == 0 {
				if got := fmt.Sprint(order, " ", why); got != c.want {
					t.Errorf("%s: %s, not %s", c.name, got, c.want)
				}
				break
			}
			if len(order) > 9 {
				t.Fatalf("%s: %v", c.name, order)
			}
			time, ok := c.times[depth]
			if !ok {
				time = 1
			}
			order = append(order, depth)
			tried = append(tried, Version{Depth: depth, Seconds: time * float64(depth)})
		}
	}
}

// Depths that are predicted to be nearly as fast as the best come first, and those that are predicted to be slow are
// not tried: where halos are whole vectors, odd depths have longer ones.
func TestForecastRoute(t *testing.T) {
	var predicted []Version
	for d, s := range map[int64]float64{2: 1.15, 3: 1.5, 4: 1, 5: 1.4, 6: 1.1, 8: 1.19} {
		predicted = append(predicted, Version{Depth: d, Seconds: s * float64(d)})
	}
	slices.SortFunc(predicted, func(a, b Version) int { return cmp.Compare(a.Depth, b.Depth) })
	for _, c := range []struct {
		measured map[int64]float64 // of an iteration
		want     string
	}{
		{map[int64]float64{4: 1, 6: 1.1, 2: 1.2}, "[4 6 2] the depths around 4 were not faster"},
		{map[int64]float64{4: 1, 6: 0.8, 2: 1.2, 8: 0.9}, "[4 6 2 7 8] the depths around 6 were not faster"},
		{map[int64]float64{4: math.Inf(1), 6: math.Inf(1), 2: 1}, "[4 6 2] the depths around 2 were not faster"},
	} {
		r := Along([]int64{2, 3, 4, 5, 6, 7, 8}, predicted)
		tried := []Version{{Depth: 1, Seconds: 2}}
		var order []int64
		for {
			depth, why := r.Next(tried)
			if depth == 0 || len(order) > 9 {
				if got := fmt.Sprint(order, " ", why); got != c.want {
					t.Errorf("%s, not %s", got, c.want)
				}
				break
			}
			s, ok := c.measured[depth]
			if !ok {
				s = 3
			}
			order = append(order, depth)
			tried = append(tried, Version{Depth: depth, Seconds: s * float64(depth)})
		}
	}
}

// What is deeper has to be predicted to be faster.
func TestPeak(t *testing.T) {
	for _, c := range []struct {
		times []float64 // of an iteration, from depth 2 on
		want  int64
	}{
		{[]float64{1}, 2}, {[]float64{1, 0.9, 0.8, 0.9}, 4},
		{[]float64{1, 0.9, 0.899, 0.898}, 3}, {[]float64{1, 1, 0.5, 2}, 4},
	} {
		var list []Version
		for i, s := range c.times {
			list = append(list, Version{Depth: int64(i + 2), Seconds: s * float64(i+2)})
		}
		if v := Peak(list); v.Depth != c.want {
			t.Errorf("%v: %d, not %d", c.times, v.Depth, c.want)
		}
	}
}
