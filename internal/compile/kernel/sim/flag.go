package sim

import "math/bits"

// flag is a number by which blocks tell each other how far they have come, with all that those
// knew who set it.
type flag struct {
	value int64
	set   stamp // the first time
	last  stamp // the latest time
	known clock // nil before it is set
}

// flag returns the flag that a lane names, or nil after a fault.
func (w *warp) flag(in *instr, verb string, lane int) *flag {
	list, index := w.m.flags[in.a], w.i[in.b][lane]
	if uint64(index) >= uint64(len(list)) {
		w.fault(OutOfBounds, in, lane, "%s %s[%d], which has %d cells", verb, w.m.p.slots[in.a].buffer.Name, index,
			len(list))
		return nil
	}
	return &list[index]
}

// setFlags sets flags, lane after lane.
func (w *warp) setFlags(in *instr) {
	for mask := w.mask; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask)
		f := w.flag(in, "sets", l)
		if f == nil {
			continue
		}
		at := w.at(in, l)
		if f.known == nil {
			f.set, f.known = at, make(clock, w.m.agents)
		} else if !before(&f.last, &at, w.sees(l)) {
			w.fault(Race, in, l, "sets %s[%d] while %s sets it at %s", w.m.p.slots[in.a].buffer.Name, w.i[in.b][l],
				w.m.author(&f.last), w.m.p.places[f.last.stmt].path)
		}
		f.value, f.last = w.i[in.c][l], at
		f.known.join(w.release(1 << l))
	}
}

// flagged reports whether the flags have the values that the warp's lanes wait for; if so, the
// lanes go on.
func (w *warp) flagged() bool {
	in := w.waits
	for mask := w.mask; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask)
		f := w.flag(in, "waits for", l)
		at := w.at(in, l)
		name, index := w.m.p.slots[in.a].buffer.Name, w.i[in.b][l]
		switch {
		case f == nil:
			w.m.stopped = true
			return true
		case f.known == nil:
			w.fault(Unwritten, in, l, "waits for %s[%d], which nothing has set", name, index)
			w.m.stopped = true
			return true
		case !before(&f.set, &at, w.sees(l)):
			w.fault(Race, in, l, "waits for %s[%d] while %s sets it for the first time at %s", name, index,
				w.m.author(&f.set), w.m.p.places[f.set.stmt].path)
		}
		if f.value < w.i[in.c][l] {
			return false
		}
	}
	for mask := w.mask; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask)
		w.acquire(1<<l, w.flag(in, "waits for", l).known)
	}
	return true
}

// unflagged returns the first lane whose flag has not its value.
func (w *warp) unflagged() int {
	in := w.waits
	for l := range lanes {
		if w.mask>>l&1 != 0 && w.m.flags[in.a][w.i[in.b][l]].value < w.i[in.c][l] {
			return l
		}
	}
	return 0
}
