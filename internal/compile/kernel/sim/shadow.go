package sim

// stamp says who made an access, when and where in the kernel.
//
// Time has four scales. A team is what shares out work between members: a
// launch of blocks between two grid barriers, or one execution of a parallel
// loop; the time before, between and after such loops is a team of one member.
// A member's time falls into phases: at block barriers, and where vector loops
// start and end. In a phase the lanes (threads, or iterations of the vector
// loop) run at once. A warp barrier parts the phase for the 32 lanes of a warp.
type stamp struct {
	team   uint32
	member uint32
	phase  uint32
	warp   uint32 // warp barriers that the lane's warp has passed
	lane   uint32
	stmt   int32 // statement that made the access
}

// before reports whether an access a that was executed earlier than b also
// happens before b on every machine. The zero stamp happens before all.
func before(a, b *stamp) bool {
	if a.team != b.team {
		return true
	}
	if a.member != b.member {
		return false
	}
	return a.phase != b.phase || a.lane == b.lane || a.lane/lanes == b.lane/lanes && a.warp != b.warp
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
// two of the loads since. Of the loads that are not ordered before the last of
// them, two that are as far apart as possible will do: a later access that any
// of them races with races with one of these.
type shadow struct {
	store, load, other stamp
}

// loaded notes a load and returns the store that it races with, if any.
func (c *shadow) loaded(s *stamp) *stamp {
	var race *stamp
	if !before(&c.store, s) {
		race = &c.store
	}
	switch {
	case before(&c.load, s):
		c.load = *s
		if before(&c.other, s) {
			c.other = stamp{}
		}
	case before(&c.other, s) || distance(&c.load, s) > distance(&c.load, &c.other):
		c.other = *s
	}
	return race
}

// stored notes a store and returns the access that it races with, if any.
func (c *shadow) stored(s *stamp) (race *stamp, wasStore bool) {
	old := *c
	*c = shadow{store: *s}
	switch {
	case !before(&old.store, s):
		return &old.store, true
	case !before(&old.load, s):
		return &old.load, false
	case !before(&old.other, s):
		return &old.other, false
	}
	return nil, false
}
