package search

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

// valley is a space whose times rise with the distance from one of its points; some points cannot run. What is expected
// of points is what they have of its fastest speed, but for an error.
type valley struct {
	space *KernelSpace
	floor Point
	seed  uint64
}

func (v *valley) random(p Point) *rand.Rand {
	h := v.seed
	for _, x := range p {
		h = h*31 + uint64(x+1)
	}
	return rand.New(rand.NewPCG(h, 9))
}

func (v *valley) seconds(p Point) float64 {
	d := 0
	for i := range p {
		d += max(p[i]-v.floor[i], v.floor[i]-p[i])
	}
	return 1 + 0.1*float64(d)
}

func (v *valley) try(p Point) Trial {
	if v.random(p).IntN(6) == 0 {
		return Trial{Point: p, Verdict: verdict.Crash, Cost: 1}
	}
	return Trial{Point: p, Verdict: verdict.OK, Seconds: v.seconds(p), Cost: 1}
}

func (v *valley) fraction(p Point) float64 {
	return min(1, (0.8+v.random(p).Float64()*0.4)/v.seconds(p))
}

// expected expects something of some points, and of the neighbours that Nearby is asked about, with the points that it
// was asked about beside them.
func (v *valley) expected(points []Point, most int, asked *[]Point) *Expected {
	e := &Expected{Points: points, Most: most}
	all := slices.Clone(points)
	for _, p := range points {
		e.Fractions = append(e.Fractions, v.fraction(p))
	}
	e.Alike = func(i, j int) float64 {
		same := 0.0
		for k := range all[i] {
			if all[i][k] == all[j][k] {
				same++
			}
		}
		return same / float64(len(all[i]))
	}
	e.Nearby = func(neighbours []Point) (place int, near []Point, fractions []float64) {
		place = len(all)
		*asked = append(*asked, neighbours...)
		for k, p := range neighbours {
			if len(neighbours) == 1 || k%3 != 0 { // not all of them are chosen from
				near, fractions = append(near, p), append(fractions, v.fraction(p))
			}
		}
		all = append(all, near...)
		return place, near, fractions
	}
	return e
}

// After the first points a search chooses from the neighbours of the fastest, too. It asks for each point once, and
// where it was interrupted, it goes on with the same points.
func TestNearby(t *testing.T) {
	s := terrain()
	moves := newMoves(s)
	near := 0
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 4))
		v := &valley{space: s, floor: s.Draw(rng), seed: rng.Uint64()}
		var points []Point
		for range rapid.IntRange(1, 12).Draw(t, "points") {
			p := s.Draw(rng)
			if !slices.ContainsFunc(points, func(q Point) bool { return slices.Equal(p, q) }) {
				points = append(points, p)
			}
		}
		most, first := rapid.IntRange(1, 8).Draw(t, "most"), rapid.IntRange(1, 3).Draw(t, "first")
		var leading []Point // the last of them is expected by nobody
		for i := range first {
			leading = append(leading, s.Draw(rng))
			if i < first-1 && i < len(points) {
				leading[i] = points[i]
			}
		}
		begin := func(known []Trial) (Strategy, *[]Point) {
			var asked []Point
			a, err := New("random", Problem{Space: s, Seed: 3, First: leading, Known: known,
				Expected: v.expected(points, most, &asked)})
			if err != nil {
				t.Fatal(err)
			}
			return a, &asked
		}
		a, asked := begin(nil)
		order := a.Ask(first)
		var trials []Trial
		for _, p := range order {
			trials = append(trials, v.try(p))
			a.Tell(trials[len(trials)-1])
		}
		for range most {
			p := a.Ask(1)
			if len(p) != 1 {
				t.Fatalf("%v are asked for", p)
			}
			is := func(q Point) bool { return slices.Equal(p[0], q) }
			left := slices.ContainsFunc(points, func(q Point) bool {
				return !slices.ContainsFunc(order, func(o Point) bool { return slices.Equal(o, q) })
			})
			switch {
			case slices.ContainsFunc(order, is):
				t.Fatalf("%v is asked for twice", p[0])
			case slices.ContainsFunc(points, is):
			case slices.ContainsFunc(*asked, is):
				near++
			case left:
				t.Fatalf("%v is neither expected, nor near the fastest", p[0])
			}
			again, _ := begin(trials)
			if q := again.Ask(1); len(q) != 1 || !is(q[0]) {
				t.Fatalf("a search that goes on after %d trials asks for %v, not for %v", len(trials), q, p[0])
			}
			order = append(order, p[0])
			trials = append(trials, v.try(p[0]))
			a.Tell(trials[len(trials)-1])
		}
		for _, p := range *asked {
			if !slices.ContainsFunc(trials, func(x Trial) bool {
				around := append(moves.neighboursInOrder(x.Point, &neighbourhoods[0]), x.Point)
				return slices.ContainsFunc(around, func(q Point) bool { return slices.Equal(p, q) })
			}) {
				t.Fatalf("%v is next to nothing that was tried", p)
			}
		}
	})
	if near == 0 {
		t.Error("no neighbour was asked for")
	}
}

// A point that nobody expected to be fast, and that is, has its neighbours follow: their errors are like its own.
func TestNearbyTheUnexpected(t *testing.T) {
	s := terrain()
	rng := rand.New(rand.NewPCG(1, 2))
	fast, slow, other := s.Draw(rng), s.Draw(rng), s.Draw(rng)
	e := &Expected{Points: []Point{slow, other}, Fractions: []float64{.5, .45}, Most: 1}
	e.Alike = func(i, j int) float64 {
		switch {
		case i == j:
			return 1
		case (i < 2) == (j < 2):
			return .9
		}
		return 0
	}
	e.Nearby = func(list []Point) (int, []Point, []float64) {
		fractions := make([]float64, len(list))
		for i := range fractions {
			fractions[i] = .3
		}
		return len(e.Points), list, fractions
	}
	for _, c := range []struct {
		name    string
		seconds float64 // of the point that is near nothing
		near    bool
	}{{"it is fast", 1, true}, {"it is slow", 4, false}} {
		a, err := New("random", Problem{Space: s, Seed: 3, First: []Point{fast, slow}, Expected: e})
		if err != nil {
			t.Fatal(err)
		}
		a.Ask(2)
		a.Tell(Trial{Point: fast, Verdict: verdict.OK, Seconds: c.seconds})
		a.Tell(Trial{Point: slow, Verdict: verdict.OK, Seconds: 2})
		p := a.Ask(1)
		is := func(q Point) bool { return slices.Equal(p[0], q) }
		if near := slices.ContainsFunc(newMoves(s).neighboursInOrder(fast, &neighbourhoods[0]), is); near != c.near {
			t.Errorf("%s: %v is asked for, and next to it: %v", c.name, p, near)
		}
	}
}

// Neighbours that are all expected to be fast are chosen one after the other at first; then every other point is of
// those that were expected at the beginning, the best of them first, and a search that goes on keeps to that.
func TestNearbyTakesTurns(t *testing.T) {
	s := terrain()
	rng := rand.New(rand.NewPCG(5, 2))
	var points []Point
	for len(points) < 8 {
		if p := s.Draw(rng); !slices.ContainsFunc(points, func(q Point) bool { return slices.Equal(p, q) }) {
			points = append(points, p)
		}
	}
	given := func(p Point) int { return slices.IndexFunc(points, func(q Point) bool { return slices.Equal(p, q) }) }
	begin := func(known []Trial) Strategy {
		e := &Expected{Points: points, Fractions: []float64{.5, .43, .44, .49, .45, .46, .47, .48}, Most: 11}
		e.Alike = func(i, j int) float64 {
			if i == j {
				return 1
			}
			return .5
		}
		asked := len(points)
		e.Nearby = func(list []Point) (int, []Point, []float64) {
			place, fractions := asked, make([]float64, len(list))
			for i := range fractions {
				fractions[i] = .9
			}
			asked += len(list)
			return place, list, fractions
		}
		a, err := New("random", Problem{Space: s, Seed: 3, First: points[:1], Known: known, Expected: e})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := begin(nil)
	var trials []Trial
	want := []int{0, -1, -1, -1, -1, -1, 3, -1, 7, -1, 6, -1}
	for n, i := range want {
		p := a.Ask(1)
		if len(p) != 1 || given(p[0]) != i {
			t.Fatalf("%v is number %d, which is number %d of those that were expected, not %d", p, n, given(p[0]), i)
		}
		if q := begin(trials).Ask(1); n > 0 && (len(q) != 1 || !slices.Equal(q[0], p[0])) {
			t.Fatalf("a search that goes on asks for %v, not for %v", q, p[0])
		}
		x := Trial{Point: p[0], Verdict: verdict.OK, Seconds: 1 / .9, Cost: 1}
		if i >= 0 {
			x.Seconds = 1 / .5
		}
		trials = append(trials, x)
		a.Tell(x)
	}
}
