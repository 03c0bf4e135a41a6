package sim

import "math/bits"

// flight is the asynchronous copies of a warp's threads that have not been
// waited for.
type flight struct {
	copies []*copying
	groups [lanes]int32 // that each thread has closed
}

// copying is one instruction's copies: those of the lanes in mask.
type copying struct {
	id       uint32
	to, from *Memory
	cells    int // of each lane
	at, src  [lanes]int
	mask     uint32
	open     uint32 // lanes whose group is not closed
	group    [lanes]int32
}

// async starts copies.
func (w *warp) async(in *instr) {
	to, from := w.mem[in.a], w.mem[in.c]
	w.m.copies++
	c := &copying{id: w.m.copies, to: to, from: from, cells: int(in.sub)}
	bytes := to.size * int64(in.sub)
	dst := *in
	src := *in
	src.a, src.b = in.c, in.d
	ok := w.wide(&src, w.mask, "copies", &c.src) & w.wide(&dst, w.mask, "copies to", &c.at)
	w.loaded(in.c, from, bytes, w.mask, ok, &c.src)
	w.stored(in.a, to, bytes, w.mask, ok, &c.at)
	c.mask, c.open = ok, ok
	for mask := ok; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask)
		for e := range c.cells {
			w.starts(in, l, to, c.at[l]+e, from, c.src[l]+e, inFlight, c.id)
		}
	}
	if ok != 0 {
		w.flight.copies = append(w.flight.copies, c)
	}
}

// starts notes that a lane starts to copy a cell, which is what that lane of
// the group does at that time.
func (w *warp) starts(in *instr, l int, to *Memory, at int, from *Memory, src int, lane, time uint32) {
	if from.written != nil && !from.written[src] {
		w.fault(Unwritten, in, l, "copies %s[%d], which nothing has written", w.m.p.slots[in.c].buffer.Name, src)
	}
	if from.history != nil {
		s := w.at(in, l)
		as := s
		as.lane, as.time, as.sync = lane, time, 0
		if race := from.history.loaded(src, &s, w.sees(l), &as); race != nil {
			w.race(in, in.c, l, src, "copies", "stores", race)
		}
	}
	w.lands(in, l, to, at, lane, time)
}

// lands notes that a cell is what a copy that a lane starts will store to, likewise.
func (w *warp) lands(in *instr, l int, to *Memory, at int, lane, time uint32) {
	s := w.at(in, l)
	as := s
	as.lane, as.time, as.sync = lane, time, 0
	if race, store := to.history.stored(at, &s, w.sees(l), &as); race != nil {
		w.race(in, in.a, l, at, "copies to", other(store), race)
	}
	v := poison(to.elem)
	to.put(at, v.F, v.I)
	to.written[at] = false
}

// commit closes the groups of some lanes.
func (f *flight) commit(mask uint32) {
	for _, c := range f.copies {
		for now := c.open & mask; now != 0; now &= now - 1 {
			l := bits.TrailingZeros32(now)
			c.group[l] = f.groups[l]
		}
		c.open &^= mask
	}
	for ; mask != 0; mask &= mask - 1 {
		f.groups[bits.TrailingZeros32(mask)]++
	}
}

// wait ends the copies of all groups of the active lanes but the latest.
func (w *warp) wait(in *instr) {
	f := &w.flight
	kept := f.copies[:0]
	for _, c := range f.copies {
		for mask := c.mask & w.mask &^ c.open; mask != 0; mask &= mask - 1 {
			l := bits.TrailingZeros32(mask)
			if c.group[l] >= f.groups[l]-in.a {
				continue
			}
			now := w.at(in, l)
			for e := range c.cells {
				c.to.take(c.at[l]+e, c.from, c.src[l]+e)
				c.to.history.landed(c.at[l]+e, c.id, &now)
				if c.to.accesses != nil {
					c.to.accesses.note(c.at[l]+e, &now)
				}
				if c.from.history != nil {
					c.from.history.landed(c.src[l]+e, c.id, &now)
				}
			}
			c.mask &^= 1 << l
		}
		if c.mask != 0 {
			kept = append(kept, c)
		}
	}
	f.copies = kept
}

// take copies a cell from other memory of the same type.
func (m *Memory) take(at int, from *Memory, src int) {
	v := from.At(src)
	m.put(at, v.F, v.I)
	m.written[at] = true
}
