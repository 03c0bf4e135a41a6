package omnitune

import (
	"context"
	"testing"
)

// The reference is the size that most ran, and the fastest of those.
func TestUsual(t *testing.T) {
	from := []*Scenario{timed(8, 4, 2), timed(8, 4), timed(8, 2)}
	if got := usual(from); got != human {
		t.Error(got)
	}
}

// Where neighbours tell the size and the table does not, neighbours guide; where they tell no more, the table does.
func TestGuides(t *testing.T) {
	s := &Suite{Features: []string{"x"}}
	chosen := func(group Group, from []*Scenario) Ranker {
		r, err := learnGuided(context.Background(), s, from, group)
		if err != nil {
			t.Fatal(err)
		}
		return r.(*guided).parts[1]
	}
	// Most are much faster at the widest size; a few like the others are, by a tenth, at another.
	var from []*Scenario
	for i := range 64 {
		x := timed(20, 10, 1)
		if i%32 >= 24 {
			x = timed(20, 0.9, 1)
		}
		x.Features, x.Device = []float64{float64(i % 32)}, []string{"a", "b"}[i/32]
		from = append(from, x)
	}
	if _, ok := chosen(byDevice, from).(*nearest); !ok {
		t.Error("the table guides where neighbours tell the size")
	}
	// A feature that says the opposite on the other device.
	for i, x := range from {
		*x = *timed(20, 2, 1)
		x.Features, x.Device = []float64{float64(i % 2)}, []string{"a", "b"}[i/32]
		if i%2 == i/32 && i%8 < 2 {
			x.Speeds = []float64{0.05, 1, 0.5}
		}
	}
	if _, ok := chosen(byDevice, from).(bySize); !ok {
		t.Error("neighbours guide where they tell no more than the table")
	}
	// One group alone leaves nothing to choose by: the first guide is taken.
	if _, ok := chosen(func(*Scenario) string { return "all" }, from).(bySize); !ok {
		t.Error("neighbours guide where nothing tells which")
	}
}

// Scores are means of parts of the most that each says.
func TestGuidedScore(t *testing.T) {
	m := &guided{parts: []Ranker{told(1, 2, 4), told(10, 5, 0)}}
	x := timed(8, 4, 2)
	for i, want := range []float64{0.625, 0.5, 0.5} {
		if got := m.Score(x, x.Sizes[i]); got != want {
			t.Errorf("%v: %v, not %v", x.Sizes[i], got, want)
		}
	}
}
