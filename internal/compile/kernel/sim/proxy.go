package sim

import (
	"math/bits"
	"slices"
)

// Threads and the copy engine go different ways to shared memory; PTX calls
// them the generic and the async proxy. A barrier orders what goes one way, and
// no more than that: a load may still be under way when a barrier behind it has
// let a thread start a bulk copy, whose bytes then come first. So whoever has
// used a cell makes a fence, before the barrier after which a bulk copy
// overwrites the cell. The other direction needs none: the end of a phase of an
// mbarrier is a fence for the copies that it waited for.

// accesses are the loads and stores of cells by threads since the copy engine
// wrote to them last. Of a lane only the latest access to a cell is kept: a
// fence after that is one after all.
type accesses [][]loads

// note adds an access of one lane.
func (a accesses) note(cell int, s *stamp) {
	bit := uint32(1) << (s.lane % lanes)
	joined := false
	kept := a[cell][:0]
	for _, old := range a[cell] {
		switch {
		case old.with(s) && old.stmt == s.stmt:
			old.mask |= bit
			joined = true
		case old.lane/lanes == s.lane/lanes:
			old.mask &^= bit
		}
		if old.mask != 0 {
			kept = append(kept, old)
		}
	}
	if !joined {
		one := loads{stamp: *s, mask: bit}
		one.lane -= s.lane % lanes
		kept = append(kept, one)
	}
	a[cell] = kept
}

// fence orders what the active lanes have done so far before bulk copies that
// are started by whoever knows of the fence.
func (w *warp) fence(in *instr) {
	w.fences = append(w.fences, loads{stamp: w.at(in, 0), mask: w.mask})
	w.stamp.time++ // what follows is not fenced
}

// fenced reports whether a lane that does something now knows of a fence that a
// thread has made after an access.
func (w *warp) fenced(access, now *stamp, lane int) bool {
	author := w.block.group.warps[access.lane/lanes]
	first, _ := slices.BinarySearchFunc(author.fences, access.time, func(f loads, time uint32) int {
		return int(int64(f.time) - int64(time))
	})
	for _, f := range author.fences[first:] {
		if f.mask>>(access.lane%lanes)&1 != 0 {
			f.lane = access.lane
			return before(&f.stamp, now, w.sees(lane))
		}
	}
	return false
}

// unfenced reports a bulk copy to a cell that threads have used without a fence
// since. Uses that no barrier orders before the copy are races, which are
// reported as such.
func (w *warp) unfenced(in *instr, lane int, to *Memory, cell int) {
	now := w.at(in, lane)
	for _, used := range to.accesses[cell] {
		for mask := used.mask; mask != 0; mask &= mask - 1 {
			one := used.stamp
			one.lane += uint32(bits.TrailingZeros32(mask))
			if !before(&one, &now, w.sees(lane)) || w.fenced(&one, &now, lane) {
				continue
			}
			w.fault(Race, in, lane, "copies to %s[%d], which %s has used at %s and not made a fence since",
				w.m.p.slots[in.a].buffer.Name, w.element(in.a, cell), w.m.author(&one), w.m.p.places[one.stmt].path)
		}
	}
	to.accesses[cell] = to.accesses[cell][:0]
}
