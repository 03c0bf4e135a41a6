package sim

import "slices"

// An agent is what does things in an order of its own: a warp, or what fills
// shared memory for one mbarrier. The agents of a cluster's blocks, or of a
// block where there are no clusters, tell each other how far they have come;
// those of other blocks meet at grid barriers alone.

// A moment is how much of an agent's past somebody knows to have happened:
// what all lanes did up to a time and, if lanes is not nil, what each of them
// did up to a time of its own. Lanes are shared and never changed.
type moment struct {
	time  uint32
	lanes *[lanes]uint32
}

// join returns what two moments of one agent say together.
func (m moment) join(o moment) moment {
	m.time = max(m.time, o.time)
	switch {
	case m.lanes == nil:
		m.lanes = o.lanes
	case o.lanes != nil && o.lanes != m.lanes:
		both := *m.lanes
		for l, t := range o.lanes {
			both[l] = max(both[l], t)
		}
		m.lanes = &both
	}
	if m.lanes != nil && slices.Max(m.lanes[:]) <= m.time {
		m.lanes = nil
	}
	return m
}

// clock holds a moment for every agent of a group.
type clock []moment

// join adds what another clock knows.
func (c clock) join(o clock) {
	for i, m := range o {
		c.learn(i, m)
	}
}

// learn adds what a moment says of an agent.
func (c clock) learn(agent int, m moment) {
	own := &c[agent]
	if m.lanes == nil && own.lanes == nil {
		own.time = max(own.time, m.time)
		return
	}
	*own = own.join(m)
}

// knows reports whether an access is known to have happened.
func (c clock) knows(s *stamp) bool {
	agent := s.lane / lanes
	if int(agent) >= len(c) {
		return false // in flight
	}
	m := &c[agent]
	return s.time <= m.time || m.lanes != nil && s.time <= m.lanes[s.lane%lanes]
}

// sees returns the clock of a lane.
func (w *warp) sees(lane int) clock {
	if w.apart != nil && w.apart[lane] != nil {
		return w.apart[lane]
	}
	return w.clock
}

// release returns what somebody knows who hears from some lanes of the warp,
// and starts a time of which he knows nothing.
func (w *warp) release(mask uint32) clock {
	c := append(clock(nil), w.clock...)
	if w.apart != nil {
		for l, own := range w.apart {
			if own != nil && mask>>l&1 != 0 {
				c.join(own)
			}
		}
	}
	m := moment{time: w.stamp.time}
	if mask != w.all {
		m = moment{time: w.synced, lanes: new([lanes]uint32)}
		for l := range m.lanes {
			if mask>>l&1 != 0 {
				m.lanes[l] = w.stamp.time
			}
		}
	}
	c.learn(w.agent, m)
	w.stamp.time++
	return c
}

// acquire makes some lanes know what a clock says.
func (w *warp) acquire(mask uint32, c clock) {
	if mask == w.all {
		w.clock.join(c)
		for _, own := range w.apart {
			if own != nil {
				own.join(c)
			}
		}
		return
	}
	if w.apart == nil {
		w.apart = make([]clock, lanes)
	}
	for l := range w.apart {
		if mask>>l&1 != 0 {
			own := append(clock(nil), w.sees(l)...)
			own.join(c)
			w.apart[l] = own
		}
	}
}

// converge makes the warp's lanes know what each of them knows and did.
func (w *warp) converge() {
	for _, own := range w.apart {
		w.clock.join(own)
	}
	w.apart = nil
	w.synced = w.stamp.time
	w.stamp.time++
	w.stamp.sync++
}

// meet makes warps know all that each of them knows and did.
func meet(warps []*warp) {
	all := make(clock, len(warps[0].clock))
	for _, w := range warps {
		w.converge()
		all.join(w.clock)
		all.learn(w.agent, moment{time: w.synced})
	}
	for _, w := range warps {
		copy(w.clock, all)
	}
}
