package lower

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// How many pieces each tile is cut into for the 132 multiprocessors of an H200, and whether each block has one then.
func TestPieces(t *testing.T) {
	for _, c := range []struct {
		name          string
		tiles, planes int64
		lead          int64
		pieces        int64
		each          bool
	}{
		{"star7 in float over 512^3: two for each tile", 63, 512, 8, 2, true},
		{"star7 in float over 509x511x521: a piece each, and 8 are shared", 70, 511, 8, 2, false},
		{"star7 in float, periodic: one piece each, and 28 are shared", 80, 512, 8, 2, false},
		{"poisson19 in double, tiles of 56 rows: two pieces each, and 6 are shared", 90, 512, 4, 3, false},
		{"star7 in double: a tile each, and 12 are shared", 144, 512, 8, 1, false},
		{"planes too few to cut", 90, 48, 8, 1, true},
		{"a tile for nearly each block", 126, 512, 8, 1, true},
		{"a short stream: the same as over 509x511x521", 70, 100, 2, 2, false},
	} {
		b := &persistentBlocks{
			env: &env{baked: true}, blocks: 132, tiles: kernel.I(c.tiles), planes: kernel.I(c.planes), lead: c.lead,
			shortest: 4*c.lead + 1,
		}
		if pieces, each := b.pieces(); pieces != c.pieces || each != c.each {
			t.Errorf("%s: %d pieces, each block has one: %v; %d, %v are right", c.name, pieces, each, c.pieces, c.each)
		}
	}
}
