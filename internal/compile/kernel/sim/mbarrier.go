package sim

import (
	"math/bits"
)

// mbarrier is an mbarrier of a block. It has told those who have waited for it
// all that those knew who arrived.
type mbarrier struct {
	count   int64 // arrivals of a phase; 0 before it is made
	missing int64 // arrivals in this phase
	bytes   int64 // that have been announced and have not come; less than 0 if they come first
	phase   uint32
	made    stamp
	now     clock   // of those who have arrived in this phase
	done    clock   // of those who arrived in the phases before
	passed  []loads // waits that have seen the phase before end, and are through
	copies  []*bulk
	serial  uint32 // copies that have been started for it
}

// mbarrier returns the mbarrier that a lane names, or nil after a fault.
func (w *warp) mbarrier(in *instr, verb string, b *block, slot int32, index int64, lane int) *mbarrier {
	buf := w.m.p.slots[slot].buffer
	list := b.mbarriers[slot]
	if uint64(index) >= uint64(len(list)) {
		w.fault(OutOfBounds, in, lane, "%s %s[%d], which has %d cells", verb, buf.Name, index, len(list))
		return nil
	}
	bar := &list[index]
	at := w.at(in, lane)
	switch {
	case bar.count == 0:
		w.fault(Unwritten, in, lane, "%s %s[%d], which nothing has made", verb, buf.Name, index)
		return nil
	case !before(&bar.made, &at, w.sees(lane)):
		w.fault(Race, in, lane, "%s %s[%d] while %s makes it at %s", verb, buf.Name, index, w.m.author(&bar.made),
			w.m.p.places[bar.made.stmt].path)
	}
	return bar
}

// at returns the stamp of what a lane does now.
func (w *warp) at(in *instr, lane int) stamp {
	s := w.stamp
	s.lane += uint32(lane)
	s.stmt = in.at
	return s
}

func (w *warp) initMbarrier(in *instr) {
	for mask := w.mask; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask)
		index, count := w.i[in.b][l], w.i[in.c][l]
		list := w.block.mbarriers[in.a]
		name := w.m.p.slots[in.a].buffer.Name
		switch {
		case uint64(index) >= uint64(len(list)):
			w.fault(OutOfBounds, in, l, "makes %s[%d], which has %d cells", name, index, len(list))
		case count < 1:
			w.fault(Mismatch, in, l, "makes %s[%d] for %d arrivals", name, index, count)
		case list[index].count != 0:
			w.fault(Race, in, l, "makes %s[%d], which %s has made at %s",
				name, index, w.m.author(&list[index].made), w.m.p.places[list[index].made.stmt].path)
		default:
			list[index] = mbarrier{
				count: count, missing: count, made: w.at(in, l), now: make(clock, w.m.agents),
				done: make(clock, w.m.agents),
			}
		}
	}
}

// arrive makes lanes arrive, the lanes of one mbarrier together.
func (w *warp) arrive(in *instr) {
	type target struct {
		block *block
		index int64
	}
	var targets []target
	var who []uint32
	for mask := w.mask; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask)
		to := target{w.block, w.i[in.b][l]}
		if in.d >= 0 {
			if to.block = w.visit(in, "arrives at", in.d, l); to.block == nil {
				continue
			}
		}
		bar := w.mbarrier(in, "arrives at", to.block, in.a, to.index, l)
		if bar == nil {
			continue
		}
		if in.c >= 0 {
			bar.bytes += w.i[in.c][l]
		}
		if bar.missing--; bar.missing < 0 {
			w.fault(Mismatch, in, l, "arrives at %s[%d], which waits for %d arrivals and has them",
				w.m.p.slots[in.a].buffer.Name, to.index, bar.count)
			bar.missing = 0
		}
		i := 0
		for i < len(targets) && targets[i] != to {
			i++
		}
		if i == len(targets) {
			targets, who = append(targets, to), append(who, 0)
		}
		who[i] |= 1 << l
		if bar.missing == 0 && bar.bytes == 0 { // before further lanes begin the next phase
			w.tell(bar, who[i])
			who[i] = 0
			w.complete(in, in.a, to.index, bar)
		}
	}
	for i, to := range targets {
		if who[i] != 0 {
			w.tell(&to.block.mbarriers[in.a][to.index], who[i])
		}
	}
}

// tell makes an mbarrier know what some lanes know.
func (w *warp) tell(bar *mbarrier, mask uint32) { bar.now.join(w.release(mask)) }

// complete ends a phase. If somebody who waited for the one before might still
// be about to look, on a machine where it is slow, it would see the phase after
// this one and wait on.
func (w *warp) complete(in *instr, slot int32, index int64, bar *mbarrier) {
	for i := range bar.passed {
		if late := bar.passed[i].unknown(bar.now); late != nil {
			w.fault(Overtaken, in, bits.TrailingZeros32(w.mask),
				"ends phase %d of %s[%d] while %s may still wait for the one before at %s",
				bar.phase, w.m.p.slots[slot].buffer.Name, index, w.m.author(late), w.m.p.places[late.stmt].path)
		}
	}
	bar.passed = bar.passed[:0]
	for _, c := range bar.copies {
		c.land()
	}
	bar.copies = nil
	bar.done.join(bar.now)
	clear(bar.now)
	bar.phase++
	bar.missing = bar.count
}

// unknown returns what one of the lanes did that a clock does not know of.
func (o *loads) unknown(c clock) *stamp {
	for mask := o.mask; mask != 0; mask &= mask - 1 {
		one := o.stamp
		one.lane += uint32(bits.TrailingZeros32(mask))
		if !c.knows(&one) {
			return one.copy()
		}
	}
	return nil
}

// passes reports whether the phases have ended that the warp's lanes wait for;
// if so, the lanes go on.
func (w *warp) passes() bool {
	in := w.waits
	var bars [lanes]*mbarrier
	for mask := w.mask; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask)
		bar := w.mbarrier(in, "waits for", w.block, in.a, w.i[in.b][l], l)
		if bar == nil {
			w.m.stopped = true
			return true
		}
		if int64(bar.phase&1) == w.i[in.c][l]&1 {
			return false
		}
		bars[l] = bar
	}
	for mask := w.mask; mask != 0; {
		bar := bars[bits.TrailingZeros32(mask)]
		same := uint32(0)
		for l, other := range bars {
			if other == bar {
				same |= 1 << l
			}
		}
		w.acquire(same&mask, bar.done)
		bar.passed = append(bar.passed, loads{stamp: w.at(in, 0), mask: same & mask})
		mask &^= same
	}
	return true
}
