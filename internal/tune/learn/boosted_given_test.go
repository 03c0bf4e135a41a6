package learn

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Trees of which some features are known predict the same bits.
func TestGiven(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	n := &Numbers{Features: []string{"a", "b", "c", "d", "e"}}
	draw := func() []float64 {
		row := make([]float64, 5)
		for j := range row {
			row[j] = float64(r.IntN(9)) // so that rows meet splits
		}
		return row
	}
	for range 400 {
		row := draw()
		n.Rows = append(n.Rows, row)
		n.Targets = append(n.Targets, row[0]*row[3]-row[1]+row[4]+r.Float64())
	}
	b, err := NewBoosted(n, BoostedOptions{Trees: 60, Depth: 5, Rate: 0.1, Part: 0.7, Leaf: 3, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	for known := range 6 {
		for range 40 {
			first := draw()[:known]
			g := b.Given(first)
			for range 10 {
				row := slices.Concat(first, draw()[known:])
				if got, want := g.Predict(row[known:]), b.Predict(row); got != want {
					t.Fatalf("%v with %d known: %v, not %v", row, known, got, want)
				}
			}
		}
	}
}
