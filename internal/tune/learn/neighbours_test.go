package learn

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// The closest are those that come first when all are sorted, with those at the distance of the last.
func TestClosest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for _, c := range []struct{ examples, k, values int }{
		{1, 1, 1}, {1, 5, 3}, {4, 5, 9}, {50, 1, 7}, {50, 5, 4}, {50, 5, 1}, {1000, 5, 1 << 30}, {1000, 7, 300},
	} {
		distances := make([]float64, c.examples)
		for i := range distances {
			distances[i] = float64(r.IntN(c.values)) / 3
		}
		order := make([]int, c.examples)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(distances[a], distances[b]) })
		n := min(c.k, len(order))
		for n < len(order) && distances[order[n]] == distances[order[n-1]] {
			n++
		}
		if got := closest(distances, c.k); !slices.Equal(got, order[:n]) {
			t.Errorf("%+v: %v, not %v", c, got, order[:n])
		}
	}
}
