package search

import (
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

// What comes first, each of its points once; then the other strategy goes on, asks for none of them again and knows
// their results.
func TestFirst(t *testing.T) {
	s := terrain()
	var list []Point
	for p := range s.All() {
		if list = append(list, slices.Clone(p)); len(list) == 5 {
			break
		}
	}
	for _, name := range []string{"auto", "local", "random", "exhaustive"} {
		a, err := New(name, Problem{Space: s, Seed: 3, Budget: 40, First: append(slices.Clone(list), list[0])})
		if err != nil {
			t.Fatal(err)
		}
		seconds := func(p Point) float64 { return 1 + float64(p[0]) }
		var asked []Point
		first := a.Ask(3)
		if !slices.EqualFunc(first, list[:3], slices.Equal) {
			t.Fatalf("%s: the first points are %v", name, first)
		}
		if likely := a.Likely(1); !slices.Equal(likely[0], list[3]) {
			t.Errorf("%s: the next point is likely to be %v", name, likely)
		}
		rest := a.Ask(100)
		if !slices.EqualFunc(rest, list[3:], slices.Equal) {
			t.Fatalf("%s: the rest of the list is %v", name, rest)
		}
		if more := a.Ask(1); len(more) > 0 {
			t.Fatalf("%s: %v is asked for before the list is known", name, more)
		}
		for _, p := range list {
			a.Tell(Trial{Point: p, Verdict: verdict.OK, Seconds: seconds(p), Cost: 1})
		}
		for range 20 {
			points := a.Ask(1)
			if len(points) == 0 {
				break
			}
			asked = append(asked, points[0])
			a.Tell(Trial{Point: points[0], Verdict: verdict.OK, Seconds: seconds(points[0]), Cost: 1})
		}
		if len(asked) < 20 {
			t.Errorf("%s: the strategy asked for %d points after the list", name, len(asked))
		}
		for i, p := range asked {
			if slices.ContainsFunc(append(slices.Clone(list), asked[:i]...), func(q Point) bool {
				return slices.Equal(p, q)
			}) {
				t.Errorf("%s: %v is asked for twice", name, p)
			}
		}
	}
}

// What is known is not asked for again, and a search that begins with enough points has no others to open the space.
func TestFirstOpensTheSpace(t *testing.T) {
	s := terrain()
	var list []Point
	for p := range s.All() {
		if list = append(list, slices.Clone(p)); len(list) == autoOpenings+2 {
			break
		}
	}
	trial := func(p Point) Trial { return Trial{Point: p, Seconds: 1 + float64(p[0]), Cost: 1} }
	a, err := New("auto", Problem{Space: s, Known: []Trial{trial(list[1])}, First: list})
	if err != nil {
		t.Fatal(err)
	}
	asked := a.Ask(100)
	if want := slices.Delete(slices.Clone(list), 1, 2); !slices.EqualFunc(asked, want, slices.Equal) {
		t.Fatalf("%v is asked for, not %v", asked, want)
	}
	for _, p := range asked {
		a.Tell(trial(p))
	}
	x := a.(*preceded).Strategy.(*methodStrategy).method.(*auto)
	if x.randomOpenings > 0 || len(x.waiting) > 0 {
		t.Errorf("%d points and %d at random open a space that is open", len(x.waiting), x.randomOpenings)
	}
}
