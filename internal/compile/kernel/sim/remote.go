package sim

import "math/bits"

// remote makes lanes access the memory of the blocks that they name, those of
// one block together.
func (w *warp) remote(in *instr, verb string, access func(*warp, *instr, *Memory, uint32)) {
	var blocks [lanes]*block
	absent := w.mask
	for mask := w.mask; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask)
		if blocks[l] = w.visit(in, verb+" "+w.m.p.slots[in.a].buffer.Name+" of", in.to, l); blocks[l] != nil {
			absent &^= 1 << l
		}
	}
	if absent != 0 && in.op == opLoadRemote {
		w.blank(w.mem[in.a].elem, in.d, absent)
	}
	for mask := w.mask &^ absent; mask != 0; {
		b := blocks[bits.TrailingZeros32(mask)]
		same := uint32(0)
		for l, other := range blocks {
			if other == b {
				same |= 1 << l
			}
		}
		access(w, in, b.shared[in.a], same&mask)
		mask &^= same
	}
}

// visit returns the block of the rank that a lane names, or nil after a fault.
// A block's shared memory is there from when somebody can know that the block
// runs until the block has ended, which it may not before the access.
func (w *warp) visit(in *instr, verb string, rank int32, lane int) *block {
	return w.visitRank(in, verb, w.i[rank][lane], lane)
}

// visitRank is visit for a rank that is known.
func (w *warp) visitRank(in *instr, verb string, r int64, lane int) *block {
	blocks := w.block.group.blocks
	if uint64(r) >= uint64(len(blocks)) {
		w.fault(OutOfBounds, in, lane, "%s block %d in a cluster of %d", verb, r, len(blocks))
		return nil
	}
	b := blocks[r]
	if b == w.block {
		return b
	}
	switch {
	case b.running == 0:
		w.fault(Exited, in, lane, "%s block %d, which has ended", verb, r)
		return nil
	case !b.begun(w.sees(lane)):
		w.fault(Exited, in, lane, "%s block %d, which may not have begun", verb, r)
	}
	b.guests[w.agent] = w.at(in, lane)
	return b
}

// begun reports whether who has a clock has heard from a block.
func (b *block) begun(c clock) bool {
	for _, w := range b.warps {
		if m := c[w.agent]; m.time > 0 || m.lanes != nil {
			return true
		}
	}
	return false
}

// left checks, when a block has ended with its last warp, that it could not
// have ended before others, and bulk copies, had finished with its memory.
func (w *warp) left(in *instr) {
	b := w.block
	for i := range b.guests {
		if s := &b.guests[i]; s.team != 0 && !before(s, &w.stamp, b.known) {
			w.fault(Exited, in, 0, "the block may have ended before %s comes to it at %s",
				w.m.author(s), w.m.p.places[s.stmt].path)
		}
	}
	for slot, list := range b.mbarriers {
		for i := range list {
			last := stamp{lane: uint32(w.m.filler(b, int32(slot), i) * lanes), time: list[i].serial}
			if last.time != 0 && !b.known.knows(&last) {
				w.fault(Exited, in, 0, "the block may have ended before the bulk copies for %s[%d] have",
					w.m.p.slots[slot].buffer.Name, i)
			}
		}
	}
}
