package sim

import "math/bits"

// stamp says who made an access, when and where in the kernel.
//
// A team is what shares out work between members: a launch of groups of blocks
// between two grid barriers, or one execution of a parallel loop; the time
// before, between and after such loops is a team of one member. What members
// of one team do is in no order.
//
// Within a member, a lane is a thread, or an iteration of a vector loop. Lanes
// of a warp run at once between two syncs: barriers of whatever scope, or the
// start and end of a vector loop. Of other warps a lane knows what its clock
// says.
type stamp struct {
	team   uint32
	member uint32
	time   uint32 // of the agent: how often it has told others of its past
	sync   uint32
	lane   uint32
	stmt   int32 // statement that made the access
}

func (s stamp) copy() *stamp { return &s }

// inFlight is the lane of asynchronous copies that nobody has waited for. Their
// time tells them apart.
const inFlight = ^uint32(0)

// before reports whether an access a that was executed earlier than b also
// happens before b on every machine, where seen is the clock of b's lane; nil
// on a CPU. The zero stamp happens before all.
func before(a, b *stamp, seen clock) bool {
	switch {
	case a.team != b.team:
		return a.lane != inFlight
	case a.member != b.member:
		return false
	case a.lane == b.lane:
		return true
	case a.sync != b.sync && (seen == nil || a.lane/lanes == b.lane/lanes):
		return true
	}
	return seen.knows(a)
}

// distance is the scale on which two accesses are not ordered: 2 for members
// of a team, 1 for warps of a block, 0 for lanes of a warp.
func distance(a, b *stamp) int {
	switch {
	case a.member != b.member:
		return 2
	case a.lane/lanes != b.lane/lanes:
		return 1
	}
	return 0
}

// shadow is what is remembered of the accesses to a cell: the last store, and
// loads since. Where all that parts threads are barriers of all of a block or
// a warp, two of the loads that are not ordered before the last of them do, as
// far apart as possible: a later access that any of them races with races with
// one of these. Where agents meet in pairs, more may be needed; they are in the
// crowd of that number, counted from 1.
type shadow struct {
	store, load, other stamp
	crowd              int32
}

// loads are those that lanes of one warp made at one time: the stamp's lane is
// the warp's first.
type loads struct {
	stamp
	mask uint32
}

// history is the shadows of the cells of a buffer.
type history struct {
	cells  []shadow
	crowds [][]loads
	pairs  bool // agents meet in pairs
}

func newHistory(n int, pairs bool) *history { return &history{cells: make([]shadow, n), pairs: pairs} }

func (h *history) forget() {
	clear(h.cells)
	h.crowds = nil
}

// loaded notes a load by a lane with that stamp and clock, and returns the
// store that it races with, if any. What is remembered is the stamp as.
func (h *history) loaded(cell int, s *stamp, seen clock, as *stamp) *stamp {
	c := &h.cells[cell]
	var race *stamp
	if !before(&c.store, s, seen) {
		race = c.store.copy()
	}
	switch {
	case before(&c.load, s, seen):
		c.load = *as
		if before(&c.other, s, seen) {
			c.other = stamp{}
		}
	case before(&c.other, s, seen):
		c.other = *as
	case h.pairs:
		h.join(c, s, seen, as)
	case distance(&c.load, s) > distance(&c.load, &c.other):
		c.other = *s
	}
	return race
}

// join adds a load to a cell's crowd.
func (h *history) join(c *shadow, s *stamp, seen clock, as *stamp) {
	if c.crowd == 0 {
		h.crowds = append(h.crowds, nil)
		c.crowd = int32(len(h.crowds))
	}
	kept := h.crowds[c.crowd-1][:0]
	joined := false
	for _, old := range h.crowds[c.crowd-1] {
		if old.with(as) {
			old.mask |= 1 << (as.lane % lanes)
			joined = true
		} else if old.race(s, seen) == nil {
			continue
		}
		kept = append(kept, old)
	}
	if !joined {
		one := loads{stamp: *as, mask: 1 << (as.lane % lanes)}
		one.lane -= as.lane % lanes
		kept = append(kept, one)
	}
	h.crowds[c.crowd-1] = kept
}

// with reports whether an access is one of the same warp at the same time.
func (o *loads) with(s *stamp) bool {
	return o.lane/lanes == s.lane/lanes && o.time == s.time && o.sync == s.sync &&
		o.member == s.member && o.team == s.team
}

// race returns one of the loads that is not before a lane's access, or nil.
func (o *loads) race(s *stamp, seen clock) *stamp {
	for mask := o.mask; mask != 0; mask &= mask - 1 {
		one := o.stamp
		one.lane += uint32(bits.TrailingZeros32(mask))
		if !before(&one, s, seen) {
			return one.copy()
		}
	}
	return nil
}

// stored notes a store likewise and returns the access that it races with, if
// any, and whether that was a store.
func (h *history) stored(cell int, s *stamp, seen clock, as *stamp) (race *stamp, wasStore bool) {
	c := &h.cells[cell]
	old := *c
	*c = shadow{store: *as, crowd: old.crowd}
	switch {
	case !before(&old.store, s, seen):
		return old.store.copy(), true
	case !before(&old.load, s, seen):
		return old.load.copy(), false
	case !before(&old.other, s, seen):
		return old.other.copy(), false
	}
	if old.crowd != 0 {
		crowd := h.crowds[old.crowd-1]
		h.crowds[old.crowd-1] = nil
		for i := range crowd {
			if race := crowd[i].race(s, seen); race != nil {
				return race, false
			}
		}
	}
	return nil, false
}

// landed replaces the stamp of an access in flight by what it is now that the
// copy has been waited for.
func (h *history) landed(cell int, id uint32, now *stamp) {
	c := &h.cells[cell]
	if c.store.lane == inFlight && c.store.time == id {
		c.store = *now
	}
	for _, s := range []*stamp{&c.load, &c.other} {
		if s.lane == inFlight && s.time == id {
			*s = *now
		}
	}
	if c.crowd != 0 {
		for i := range h.crowds[c.crowd-1] {
			if s := &h.crowds[c.crowd-1][i]; s.lane == inFlight&^(lanes-1) && s.time == id {
				*s = loads{stamp: *now, mask: 1 << (now.lane % lanes)}
				s.lane -= now.lane % lanes
			}
		}
	}
}
