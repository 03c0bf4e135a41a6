package sim

import (
	"math/bits"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// barrier makes the warp wait, and reports whether it does. A warp's own
// barrier only moves its time on.
func (w *warp) barrier(in *instr) bool {
	if !w.together(in) {
		return true
	}
	switch kernel.Scope(in.sub) {
	case kernel.WarpScope:
		w.converge()
		w.m.counts.Barriers[kernel.WarpScope]++
		return false
	case kernel.GridScope:
		w.state = atGrid
	case kernel.ClusterScope:
		w.state = atCluster
	default:
		w.state = atBlock
	}
	return true
}

// together stops the run unless all of the warp's threads come to a barrier.
func (w *warp) together(in *instr) bool {
	missing := w.all &^ w.mask
	if missing == 0 {
		return true
	}
	w.fault(Divergence, in, bits.TrailingZeros32(w.mask), "%s does not come to this barrier",
		w.name(bits.TrailingZeros32(missing)))
	w.m.stopped = true
	return false
}

// releaseBlock lets a block's warps go on if all of them are at one barrier.
func (m *execution) releaseBlock(b *block) bool {
	return m.release(b.warps, atBlock, kernel.BlockScope)
}

// releaseCluster lets a cluster's warps go on likewise.
func (m *execution) releaseCluster(g *group) bool {
	return m.release(g.warps, atCluster, kernel.ClusterScope)
}

func (m *execution) release(warps []*warp, s state, scope kernel.Scope) bool {
	if !gathered(warps, s, warps[0].pc) {
		return false
	}
	meet(warps)
	for _, w := range warps {
		w.state = ready
	}
	m.counts.Barriers[scope]++
	return true
}

// gathered reports whether all warps are in a state at one place.
func gathered(warps []*warp, s state, pc int32) bool {
	for _, w := range warps {
		if w.state != s || w.pc != pc {
			return false
		}
	}
	return true
}

// releaseGrid lets all warps go on if all of them are at one grid barrier.
func (m *execution) releaseGrid(groups []*group) bool {
	pc := groups[0].warps[0].pc
	for _, g := range groups {
		if !gathered(g.warps, atGrid, pc) {
			return false
		}
	}
	for _, g := range groups {
		meet(g.warps)
		for _, w := range g.warps {
			w.state = ready
		}
	}
	m.epoch++
	m.counts.Barriers[kernel.GridScope]++
	return true
}

// gate is a numbered barrier of a block.
type gate struct {
	threads int32 // that it waits for; 0 while nobody waits
	warps   []*warp
}

// gate makes the warp wait at a numbered barrier, and reports whether it has
// to wait, or the run is over. The last of the warps lets the others go on.
func (w *warp) gate(in *instr) bool {
	if !w.together(in) {
		return true
	}
	g := &w.block.gates[in.sub]
	if g.threads != 0 && g.threads != in.a {
		w.fault(Mismatch, in, 0, "barrier %d is for %d threads here and for %d where %s waits",
			in.sub, in.a, g.threads, g.warps[0].name(0))
		w.m.stopped = true
		return true
	}
	g.threads = in.a
	g.warps = append(g.warps, w)
	if int32(len(g.warps)*lanes) < in.a {
		w.state = atGate
		return true
	}
	meet(g.warps)
	for _, other := range g.warps {
		other.state = ready
	}
	*g = gate{}
	w.m.counts.Barriers[kernel.BlockScope]++
	return false
}

// end ends the warp. What it did, those know that know that its block is gone.
func (w *warp) end(in *instr) {
	w.state = done
	b := w.block
	if b.running--; w.m.p.pairs {
		b.known.join(w.release(w.all))
		if b.running == 0 {
			w.left(in)
		}
	}
}
