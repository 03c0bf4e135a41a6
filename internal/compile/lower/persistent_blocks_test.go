package lower

import (
	"fmt"
	"testing"
)

// The shares of tiles at the edge, as they are on an H200 with its 132 multiprocessors: how many planes of such a tile
// its block computes, and when the last block ends if that is so, in planes of other tiles.
func TestEvenShare(t *testing.T) {
	for _, c := range []struct {
		name                               string
		tiles, planes, edges, blocks, lead int64
		each                               bool
		share                              int64
	}{
		{"star7 double: a tile each and 3 more", 135, 512, 44, 132, 8, false, 495},
		{"poisson19 float, two pieces a tile, 6 blocks without", 126, 256, 56, 132, 8, true, 239},
		{"no tile at the edge", 135, 512, 0, 132, 8, false, 512},
		{"all tiles at the edge", 132, 512, 132, 132, 8, false, 512},
		{"no block without a tile", 132, 256, 40, 132, 8, true, 256},
		{"fewer tiles than blocks", 90, 512, 0, 132, 8, false, 512},
	} {
		got := evenShare(c.tiles, c.planes, c.edges, c.blocks, c.lead, c.each)
		if got != c.share {
			t.Errorf("%s: a block computes %d planes of a tile at the edge, and %d are right", c.name, got, c.share)
		}
	}
}

// The share is the one with which the last block ends soonest: no other is better by a model written apart.
func TestEvenShareIsBest(t *testing.T) {
	for _, c := range [][5]int64{{135, 512, 44, 132, 8}, {140, 400, 30, 132, 4}, {264, 512, 60, 132, 16}} {
		tiles, planes, edges, blocks, lead := c[0], c[1], c[2], c[3], c[4]
		ends := func(cut int64) float64 {
			free, rest := float64(blocks-edges), float64(planes-cut)
			whole, left := float64(tiles/blocks), float64(tiles%blocks)
			row := float64(edges)*rest + left*float64(planes)
			others := whole*float64(planes+lead) + (1.12*float64(edges)*rest+left*float64(planes))/free
			if row > 0 && rest > 0 {
				others += 1.12 * float64(lead) * (1 + row/free/rest)
			} else if row > 0 {
				others += 1.12 * float64(lead)
			}
			return max(others, (whole-1)*float64(planes+lead)+1.12*float64(cut+lead))
		}
		got := evenShare(tiles, planes, edges, blocks, lead, false)
		for cut := planes; cut > planes/2; cut-- {
			if ends(cut) < ends(got)-12 {
				t.Errorf("%s: %d planes end after %.0f, %d after %.0f", fmt.Sprint(c), got, ends(got), cut, ends(cut))
			}
		}
	}
}
