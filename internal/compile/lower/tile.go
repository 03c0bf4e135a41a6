package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// The family "tile": every GPU thread computes a small tile of cells.

func init() {
	register(&family{
		name: "tile", doc: "every GPU thread computes a small tile of cells", place: 20,
		target: GPU, rank: func(rank int) bool { return rank > 0 }, can: (*nest).tileable,
		declare: func(axes []string) ([]schedule.Param, []schedule.Constraint) {
			rank := len(axes)
			return append(tiledParams(rank), sharedParams()...), tiledConstraints(rank)
		},
		offers:    []func(*nest, *schedule.Family){(*nest).offerPerspectives, (*nest).offerLoading, (*nest).offerRows},
		optional:  []schedule.Param{perspectiveParam, rowsParam},
		preferred: (*nest).tileByDefault,
		seeds: map[int][]string{
			1: {"vec=W,block=256,sizes=literals,load=plain"},
			2: {
				"vec=W,block=4x64,rows=2,sizes=literals,load=plain",
				"vec=W,block=1x128,rows=8,sizes=literals,cse=yes",
			},
			3: {
				"vec=W,block=1x8x32,rows=4x2,sizes=literals,load=plain", // little is reused
				"vec=W,block=1x2x64,rows=1x1,sizes=literals,load=plain", // many grids
				"vec=1,block=1x1x64,rows=1x1,sizes=literals,load=plain", // cells that fill the registers
			},
		},
		expert: []string{"family=tile,block=4x64"},
		build:  (*nest).tiledKernel,
	})
}

// tileByDefault makes small tiles of 16-byte vectors the default for kernels of known
// sizes: what comes within a tenth of the best on most programs (figures in
// bench/results/spatial-h200.json). Kernels for all sizes keep to a cell a
// thread by default, which puts no condition on the grids' rows.
func (n *nest) tileByDefault(f *schedule.Family) bool {
	widest := types.Invalid
	for _, a := range n.call.Arrays {
		if n.touches(a) && n.vectors(a) {
			if widest == types.Invalid || a.Type.Size() > widest.Size() {
				widest = a.Type
			}
		}
	}
	reads := n.distinctReads()
	if widest == types.Invalid || reads > manyReads {
		return false // a cell a thread: more would not fit its registers
	}
	rows := int64(2)
	if reads > manyReads/2 {
		rows = 1
	}
	f.Params = slices.Clone(f.Params)
	f.For(schedule.Vector).Default = schedule.Int(Chunk(8, widest))
	f.For(schedule.Sizes).Default = schedule.Word(schedule.SizeLiterals)
	if p := f.For(schedule.BlockedUnroll); p != nil {
		p.Default = schedule.Int(rows)
		if len(n.axes) > 2 {
			p.Default = schedule.Int(rows, rows)
		}
	}
	return true
}

// manyReads are so many values that a cell needs that the tile of a thread has
// to stay small.
const manyReads = 64

// distinctReads counts the values of arrays that the group's statements read at
// a cell.
func (n *nest) distinctReads() int {
	seen := map[ir.Cell]bool{}
	for _, s := range n.stmts {
		for _, a := range accesses(s.src.Value) {
			seen[a.Cell()] = true
		}
	}
	return len(seen)
}
