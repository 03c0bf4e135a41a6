package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

// Boundaries along the rows and the row, in three dimensions. The tiles at the edges of the domain begin and end with
// it. So the loop without guards reads through boundaries at the ends of all tiles, as if each ended with the domain:
// which cells a tile begins and ends with is known from lane and warp, few of a thread's cells may be among them, and
// a select is all that it takes. Within the domain the cells near the ends of a tile are of its halo, and nothing
// depends on what is read for them.

// facesAtTiles reports whether the loop without guards reads through the boundaries of an axis so. They have to be at
// the ends of tiles, all cells along the axis have to be assigned, and planes in shared memory have to hold what is
// read.
func (p *pipe) facesAtTiles(k int) bool {
	if !p.middle() || k == 0 || p.opts.Bare || p.clustered() || p.wraps(k) ||
		k == len(p.axes)-1 && !p.tilesEndRows() {
		return false
	}
	faces, held := false, true
	for _, st := range p.stream.Stages {
		held = held && p.assignsAll(st, k)
		_ = st.Accesses(func(a *ir.Access, v *graph.Value) error {
			from := p.stream.From(a, v)
			for d, ix := range a.Index {
				if ix.Axis != p.axes[k] || ix.Offset == 0 {
					continue
				}
				held = held && from != nil
				faces = faces || len(pipeline.Mapped(a, d)) > 1
			}
			return nil
		})
	}
	return faces && held
}

// assignsAll reports whether a stage is known to assign all cells along an axis.
func (p *pipe) assignsAll(st *pipeline.Stage, k int) bool {
	r := st.Stmt.Domain[p.axes[k]]
	ends := func(list []ir.Affine, end ir.Affine) bool {
		return !slices.ContainsFunc(list, func(x ir.Affine) bool { return !x.Equal(end) })
	}
	return ends(r.Lo, p.extents[k].Lo) && ends(r.Hi, p.extents[k].Hi)
}

// atTileFace is the condition under which a cell of the thread is so far from the first or the last of the tile on an
// axis; nil if none is.
func (s *pipeStep) atTileFace(k int, r, x int64, face pipeline.Face) kernel.Expr {
	n, each, count, who, name := r, s.rows, s.warps, s.warp, "row_face"
	if k == len(s.axes)-1 {
		n, each, count, who, name = x, s.run, 32, s.lane, "x_face"
	}
	at := face.Distance
	if face.High {
		at = each*count - 1 - at
	}
	if at%each != n {
		return nil
	}
	return s.body.let(s.env, fmt.Sprintf("%s-%d", name, at/each), name, kernel.Bin(op.Eq, who, kernel.I(at/each)))
}
