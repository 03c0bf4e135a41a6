package sim

import (
	"testing"

	"pgregory.net/rapid"
)

// Whatever the accesses to a cell are, the shadow finds a race when and only
// when a history of all of them does.
func TestShadowSeesEveryFirstRace(t *testing.T) {
	type access struct {
		stamp
		store bool
	}
	rapid.Check(t, func(t *rapid.T) {
		// Time as it may pass: members one after the other in a team, or, with
		// grid barriers, in turns; phases and warp barriers only go on.
		const members, threads = 2, 3 * lanes
		phase := [members]uint32{1, 1}
		warp := [members][threads / lanes]uint32{}
		team := uint32(1)
		var cell shadow
		var history []access
		for range rapid.IntRange(1, 40).Draw(t, "length") {
			m := rapid.IntRange(0, members-1).Draw(t, "member")
			lane := rapid.SampledFrom([]uint32{0, 1, 2, lanes, lanes + 1, 2 * lanes}).Draw(t, "lane")
			switch rapid.IntRange(0, 9).Draw(t, "event") {
			case 0:
				phase[m]++
				continue
			case 1:
				warp[m][lane/lanes]++
				continue
			case 2:
				team++
				continue
			}
			a := access{stamp{team: team, member: uint32(m), phase: phase[m], warp: warp[m][lane/lanes], lane: lane}, rapid.Bool().Draw(t, "store")}
			want := false
			for _, b := range history {
				want = want || (a.store || b.store) && !before(&b.stamp, &a.stamp)
			}
			var got *stamp
			if a.store {
				got, _ = cell.stored(&a.stamp)
			} else {
				got = cell.loaded(&a.stamp)
			}
			if (got != nil) != want {
				t.Fatalf("%+v after %+v: %v, want %v", a, history, got != nil, want)
			}
			if want {
				return // what follows a race need not be seen
			}
			history = append(history, a)
		}
	})
}

func TestBefore(t *testing.T) {
	at := stamp{team: 2, member: 1, phase: 3, warp: 4, lane: 33}
	with := func(change func(*stamp)) stamp {
		s := at
		change(&s)
		return s
	}
	tests := []struct {
		name string
		next stamp
		want bool
	}{
		{"the same thread", at, true},
		{"another thread of the warp", with(func(s *stamp) { s.lane = 34 }), false},
		{"another thread after a warp barrier", with(func(s *stamp) { s.lane, s.warp = 34, 5 }), true},
		{"another warp, whatever its barriers", with(func(s *stamp) { s.lane, s.warp = 1, 5 }), false},
		{"another warp after a block barrier", with(func(s *stamp) { s.lane, s.phase = 1, 4 }), true},
		{"another block, whatever its barriers", with(func(s *stamp) { s.member, s.phase, s.lane = 0, 4, 33 }), false},
		{"another block after a grid barrier", with(func(s *stamp) { s.member, s.team = 0, 3 }), true},
	}
	for _, test := range tests {
		if got := before(&at, &test.next); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
	if !before(&stamp{}, &at) {
		t.Error("nothing is not before everything")
	}
}
