package lower

import (
	"slices"
	"testing"
)

// The shares of tiles at the edge, as they are on an H200 with its 132 multiprocessors: how many planes of such a tile
// its block computes.
func TestEvenShares(t *testing.T) {
	for _, c := range []struct {
		name  string
		even  evenShares
		want  []int64
		isCut bool
	}{
		{"star7 in double, 4 iterations: a tile each and 12 more",
			evenShares{144, 512, 132, 8, false, []edgeCount{{32, 116}, {14, 108}}}, []int64{512, 512}, false},
		{"poisson19 in double, 2 iterations: a tile each and 3 more",
			evenShares{135, 512, 132, 4, false, []edgeCount{{30, 108}, {14, 108}}}, []int64{512, 512}, false},
		{"poisson19 in float: two pieces a tile, 6 blocks without",
			evenShares{126, 256, 132, 4, true, []edgeCount{{28, 108}, {28, 108}}}, []int64{244, 244}, true},
		{"star7 in float, 4 iterations: the same",
			evenShares{126, 256, 132, 8, true, []edgeCount{{28, 116}, {28, 108}}}, []int64{231, 256}, true},
		{"poisson19 in double, 3 iterations",
			evenShares{171, 512, 132, 6, false, []edgeCount{{38, 112}, {14, 108}}}, []int64{512, 512}, false},
		{"no tile at the edge", evenShares{135, 512, 132, 8, false, []edgeCount{{0, 112}}}, nil, false},
		{"all tiles at the edge", evenShares{132, 512, 132, 8, false, []edgeCount{{132, 112}}}, nil, false},
		{"no block without a tile", evenShares{132, 256, 132, 8, true, []edgeCount{{40, 112}}}, nil, false},
		{"fewer tiles than blocks", evenShares{90, 512, 132, 8, false, []edgeCount{{20, 112}}}, nil, false},
		{"tiles at the edge that take no longer",
			evenShares{135, 512, 132, 8, false, []edgeCount{{30, 100}}}, []int64{512}, false},
	} {
		got, cut := c.even.shares()
		if cut != c.isCut || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v planes of a tile at the edge, cut: %v; %v are right", c.name, got, cut, c.want)
		}
	}
}

// With the shares the last block ends sooner than without, and no later than with a plane more or less.
func TestEvenSharesAreBest(t *testing.T) {
	for _, x := range []evenShares{
		{135, 512, 132, 8, false, []edgeCount{{30, 130}, {14, 108}}},
		{140, 400, 132, 4, false, []edgeCount{{30, 130}}},
		{264, 512, 132, 16, false, []edgeCount{{60, 150}}},
		{126, 256, 132, 4, true, []edgeCount{{28, 112}, {28, 108}}},
	} {
		ends := func(shares []int64) int64 {
			last := x.part(shares)
			for n, e := range x.edges {
				last = max(last, (shares[n]+x.lead)*e.cost/100)
			}
			return last
		}
		got, cut := x.shares()
		if !cut {
			t.Fatalf("%v: no tile is cut", x)
		}
		uncut := make([]int64, len(got))
		for n := range uncut {
			uncut[n] = x.planes
		}
		if ends(got) >= ends(uncut) {
			t.Errorf("%v: with %v planes the last block ends after %d, with all after %d", x, got, ends(got),
				ends(uncut))
		}
		for n := range got {
			for _, by := range []int64{-8, 8} {
				other := slices.Clone(got)
				if other[n] += by; other[n] <= x.planes && ends(other) < ends(got) {
					t.Errorf("%v: with %v planes the last block ends after %d, with %v after %d", x, got, ends(got),
						other, ends(other))
				}
			}
		}
	}
}
