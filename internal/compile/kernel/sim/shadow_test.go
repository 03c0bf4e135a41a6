package sim

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// past is a set of accesses by number.
type past map[int]bool

func (p past) join(o past) past {
	all := past{}
	for _, q := range []past{p, o} {
		for i := range q {
			all[i] = true
		}
	}
	return all
}

// world is two groups of three warps, each lane with the accesses that it
// knows to have happened: what clocks and shadows are to find out.
type world struct {
	t      *rapid.T
	warps  []*warp
	knows  [][lanes]past
	signal []clock // of mbarriers, one a group
	told   []past
}

const (
	worldWarps = 3 // of a group
	worldLanes = 4 // that are used, and exist
)

func newWorld(t *rapid.T) *world {
	v := &world{t: t}
	for i := range 2 * worldWarps {
		group, agent := i/worldWarps, i%worldWarps
		w := &warp{all: 1<<worldLanes - 1, agent: agent, clock: make(clock, worldWarps)}
		w.stamp = stamp{team: 1, member: uint32(group), time: 1, sync: 1, lane: uint32(agent * lanes)}
		v.warps = append(v.warps, w)
		v.knows = append(v.knows, [lanes]past{})
	}
	for range 2 {
		v.signal, v.told = append(v.signal, make(clock, worldWarps)), append(v.told, past{})
	}
	return v
}

// meet makes all lanes of some warps know what any of them knows.
func (v *world) meet(warps ...int) {
	all := past{}
	for _, w := range warps {
		for l := range worldLanes {
			all = all.join(v.knows[w][l])
		}
	}
	for _, w := range warps {
		for l := range worldLanes {
			v.knows[w][l] = all
		}
	}
}

// groupOf returns the warps of a warp's group.
func groupOf(i int) []int {
	first := i / worldWarps * worldWarps
	return []int{first, first + 1, first + 2}
}

// sync does one of the things that part accesses.
func (v *world) sync(pairs bool) {
	i := rapid.IntRange(0, len(v.warps)-1).Draw(v.t, "warp")
	group := i / worldWarps
	all := groupOf(i)
	kinds := 3
	if pairs {
		kinds = 7
	}
	mask := uint32(1<<worldLanes - 1)
	if rapid.Bool().Draw(v.t, "some") {
		mask = uint32(rapid.IntRange(1, 1<<worldLanes-1).Draw(v.t, "mask"))
	}
	switch rapid.IntRange(0, kinds-1).Draw(v.t, "sync") {
	case 0:
		v.warps[i].converge()
		v.meet(i)
	case 1: // a block's barrier
		meet(v.warps[all[0] : all[2]+1])
		v.meet(all...)
	case 2: // a grid's
		for g := range 2 {
			meet(v.warps[g*worldWarps : (g+1)*worldWarps])
		}
		for _, w := range v.warps {
			w.stamp.team++
		}
		v.meet(0, 1, 2, 3, 4, 5)
	case 3: // a numbered barrier
		meet(v.warps[all[0]:all[2]])
		v.meet(all[0], all[1])
	case 4, 5: // some lanes arrive
		v.signal[group].join(v.warps[i].release(mask))
		for l := range worldLanes {
			if mask>>l&1 != 0 {
				v.told[group] = v.told[group].join(v.knows[i][l])
			}
		}
	case 6: // some lanes wait
		v.warps[i].acquire(mask, v.signal[group])
		for l := range worldLanes {
			if mask>>l&1 != 0 {
				v.knows[i][l] = v.knows[i][l].join(v.told[group])
			}
		}
	}
}

// Whatever the accesses to a cell are and whatever parts them, the shadow finds
// a race when and only when a history of all of them does.
func TestShadowSeesEveryFirstRace(t *testing.T) {
	for _, pairs := range []bool{false, true} {
		t.Run(fmt.Sprintf("pairs=%t", pairs), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				v := newWorld(t)
				cell := newHistory(1, pairs)
				var stores []bool
				for range rapid.IntRange(1, 40).Draw(t, "length") {
					if rapid.Bool().Draw(t, "sync") {
						v.sync(pairs)
						continue
					}
					i, l := rapid.IntRange(0, len(v.warps)-1).Draw(t, "by"),
						rapid.IntRange(0, worldLanes-1).Draw(t, "lane")
					store := rapid.IntRange(0, 3).Draw(t, "store") == 0
					s := v.warps[i].at(&instr{}, l)
					want := false
					for n, was := range stores {
						want = want || (store || was) && !v.knows[i][l][n]
					}
					var got *stamp
					if store {
						got, _ = cell.stored(0, &s, v.warps[i].sees(l), &s)
					} else {
						got = cell.loaded(0, &s, v.warps[i].sees(l), &s)
					}
					if (got != nil) != want {
						t.Fatalf("%+v: %v, want %v; %+v", s, got, want, cell)
					}
					if want {
						return // what follows a race need not be seen
					}
					v.knows[i][l] = v.knows[i][l].join(past{len(stores): true})
					stores = append(stores, store)
				}
			})
		})
	}
}

func TestBefore(t *testing.T) {
	at := stamp{team: 2, member: 1, time: 3, sync: 4, lane: 33}
	with := func(change func(*stamp)) stamp {
		s := at
		change(&s)
		return s
	}
	stranger := clock{{}, {}, {}}
	informed := clock{{}, {time: 3}, {}}
	partly := clock{{}, {time: 2, lanes: &[lanes]uint32{1: 3}}, {}}
	elsewhere := clock{{}, {time: 2, lanes: &[lanes]uint32{2: 3}}, {}}
	tests := []struct {
		name string
		next stamp
		seen clock
		want bool
	}{
		{"the same thread", at, stranger, true},
		{"another thread of the warp", with(func(s *stamp) { s.lane = 34 }), stranger, false},
		{"another thread of the warp that has heard of it", with(func(s *stamp) { s.lane = 34 }), informed, true},
		{"another thread after a warp barrier", with(func(s *stamp) { s.lane, s.sync = 34, 5 }), stranger, true},
		{"another warp, whatever its barriers", with(func(s *stamp) { s.lane, s.sync = 1, 5 }), stranger, false},
		{"another warp that has heard of it", with(func(s *stamp) { s.lane = 1 }), informed, true},
		{"another warp that has heard of that thread", with(func(s *stamp) { s.lane = 1 }), partly, true},
		{"another warp that has heard of another thread", with(func(s *stamp) { s.lane = 1 }), elsewhere, false},
		{"another block, whatever it has heard", with(func(s *stamp) { s.member = 0 }), informed, false},
		{"another block after a grid barrier", with(func(s *stamp) { s.member, s.team = 0, 3 }), stranger, true},
		{"another iteration on a CPU", with(func(s *stamp) { s.lane = 100 }), nil, false},
		{"another loop on a CPU", with(func(s *stamp) { s.lane, s.sync = 100, 5 }), nil, true},
	}
	for _, test := range tests {
		if got := before(&at, &test.next, test.seen); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
	if !before(&stamp{}, &at, stranger) {
		t.Error("nothing is not before everything")
	}
	flying := with(func(s *stamp) { s.lane = inFlight })
	later := with(func(s *stamp) { s.team = 9 })
	if before(&flying, &at, informed) || before(&flying, &later, informed) {
		t.Error("a copy in flight is before something")
	}
}

// A copy that has been waited for is an access of the thread that has waited.
func TestLanded(t *testing.T) {
	const readers = 5
	for nth := range readers {
		h := newHistory(1, true)
		now := stamp{team: 1, time: 1, sync: 1, lane: 7}
		for id := range uint32(readers) {
			fly := stamp{team: 1, time: id, lane: inFlight}
			h.loaded(0, &now, clock{{}, {}}, &fly)
		}
		for id := range uint32(readers) {
			if int(id) != nth {
				h.landed(0, id, &now)
			}
		}
		if race, _ := h.stored(0, &now, clock{{}, {}}, &now); race == nil || race.lane != inFlight ||
			race.time != uint32(nth) {
			t.Errorf("copy %d is in flight, and the race is with %+v", nth, race)
		}
	}
}
