package learn

import (
	"math"
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
	thrice, err := NewBoosted(n, BoostedOptions{Trees: 60, Depth: 5, Rate: 0.1, Part: 0.7, Leaf: 3, Seed: 2, Runs: 3})
	if err != nil {
		t.Fatal(err)
	}
	if len(thrice.Trees) != 180 || !slices.EqualFunc(thrice.Trees[:60], b.Trees, slices.Equal) ||
		slices.EqualFunc(thrice.Trees[60:120], b.Trees, slices.Equal) {
		t.Errorf("%d trees of three runs", len(thrice.Trees))
	}
	row := draw()
	mean := 0.0
	for run := range 3 {
		one := Boosted{Start: b.Start, Rate: 0.1, Trees: thrice.Trees[60*run : 60*run+60]}
		mean += one.Predict(row) / 3
	}
	if got := thrice.Predict(row); math.Abs(got-mean) > 1e-9 {
		t.Errorf("three runs predict %v, and their mean is %v", got, mean)
	}
	some := Boosted{Start: b.Start, Rate: 0.1, Trees: b.Trees[:20]}
	g := thrice.Given(row[:2])
	sums := []float64{g.Start()}
	g.Add(sums, row[2:], 3, 0, 20)
	if got, want := g.Scaled(sums[0], 20), some.Predict(row); math.Abs(got-want) > 1e-9 {
		t.Errorf("the first 20 trees predict %v, not %v", got, want)
	}
	g.Add(sums, row[2:], 3, 20, g.Trees())
	if got, want := g.Scaled(sums[0], g.Trees()), thrice.Predict(row); got != want {
		t.Errorf("all trees predict %v, not %v", got, want)
	}
	for _, rows := range []int{1, side - 1, side, side + 1, block, 2*block + side + 1} {
		sums, flat := make([]float64, rows), []float64{}
		var want []float64
		for i := range rows {
			sums[i] = g.Start()
			one := slices.Concat(row[:2], draw()[2:])
			flat, want = append(flat, one[2:]...), append(want, thrice.Predict(one))
		}
		g.Add(sums, flat, 3, 0, 7)
		if g.Add(sums, flat, 3, 7, g.Trees()); !slices.Equal(sums, want) {
			t.Errorf("%d rows: %v, not %v", rows, sums, want)
		}
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

// The leaves that a row comes to are where trees have what they predict: their values sum up to that.
func TestLeaves(t *testing.T) {
	n := curve(5, 200, 0.1)
	b, err := NewBoosted(n, BoostedOptions{Trees: 40, Depth: 4, Rate: 0.1, Part: 0.7, Leaf: 3, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	several := map[int32]bool{}
	for _, row := range n.Rows {
		leaves := b.Leaves(row)
		sum := b.Start
		for i, at := range leaves {
			if b.Trees[i][at].Low > 0 {
				t.Fatalf("node %d of tree %d is a question", at, i)
			}
			sum += b.Rate * b.Trees[i][at].Value
		}
		if sum != b.Predict(row) || len(leaves) != len(b.Trees) {
			t.Fatalf("%d leaves have %g, and the trees predict %g", len(leaves), sum, b.Predict(row))
		}
		several[leaves[0]] = true
	}
	if len(several) < 3 {
		t.Errorf("all rows come to %d leaves of a tree", len(several))
	}
}
