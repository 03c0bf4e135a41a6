package omnitune

import (
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/learn"
)

// always says one class.
type always struct{ class, of int }

var _ learn.Classifier = always{}

func (a always) Classify([]float64) []float64 {
	p := make([]float64, a.of)
	p[a.class] = 1
	return p
}

// The predicted size is taken where it was run, and what a fallback says where it was not.
func TestFallbacks(t *testing.T) {
	small, wide, high, odd := Size{4, 4, 1}, Size{64, 4, 1}, Size{4, 64, 1}, Size{60, 8, 1}
	from := []*Scenario{
		{Name: "a", Sizes: []Size{small, wide, high}, Speeds: []float64{0.8, 1, 0.9}},
		{Name: "b", Sizes: []Size{small, high}, Speeds: []float64{0.7, 1}},
	}
	ranker := func(fallback string) *classRanker {
		table, sizes := fastestOf(&Suite{}, from)
		if len(table.Classes) != 2 || table.Labels[0] == table.Labels[1] {
			t.Fatalf("%+v", table)
		}
		for _, f := range fallbacks {
			if f.name == fallback {
				class := slices.Index(sizes, wide)
				return &classRanker{classifier: always{class, len(sizes)}, sizes: sizes, fallback: f.make(from)}
			}
		}
		t.Fatal("no fallback ", fallback)
		return nil
	}
	picked := func(r *classRanker, sizes ...Size) Size {
		c := r.pick(&Scenario{Name: "asked", Sizes: sizes})
		if c.fallback == slices.Contains(sizes, wide) {
			t.Errorf("of %v: %+v", sizes, c)
		}
		return sizes[c.size]
	}
	for _, f := range fallbacks {
		if got := picked(ranker(f.name), small, high, wide, odd); got != wide {
			t.Errorf("%s: %v, though %v was run", f.name, got, wide)
		}
	}
	// Both examples ran high, at a geometric mean of 0.95, and small at 0.75; nobody ran odd.
	if got := picked(ranker("baseline"), small, odd, high); got != high {
		t.Errorf("baseline: %v", got)
	}
	if got := picked(ranker("nearest"), small, odd, high); got != odd {
		t.Errorf("nearest: %v", got)
	}
	first := picked(ranker("random"), small, odd, high)
	taken := map[Size]bool{first: true}
	for _, name := range []string{"c", "d", "e", "f", "g", "h", "i", "j"} {
		x := &Scenario{Name: name, Sizes: []Size{small, odd, high}}
		a, b := pick(ranker("random"), x), pick(ranker("random"), x)
		if a != b {
			t.Errorf("random: %d and %d of the same scenario", a, b)
		}
		taken[x.Sizes[a]] = true
	}
	if len(taken) < 2 {
		t.Errorf("random: always %v", first)
	}
}

// Examples of one fastest size, and a single example, teach every model: classifiers say that size.
func TestOneFastestSize(t *testing.T) {
	s := &Suite{Features: []string{"x", "same"}}
	for _, n := range []int{1, 2, 12} {
		var from []*Scenario
		for i := range n {
			x := timed(8, 4, 2)
			x.Name, x.Features = string(rune('a'+i)), []float64{float64(i), 3}
			from = append(from, x)
		}
		asked := timed(8, 1, 2)
		asked.Name, asked.Features = "asked", []float64{-40, 9}
		for _, f := range Families {
			rankers, err := f.learn(t.Context(), s, from, byBenchmark)
			if err != nil {
				t.Fatal(f.Models[0].Name, err)
			}
			for k, r := range rankers {
				got := choose(r, asked)
				c, ok := r.(*classRanker)
				if !ok {
					continue
				}
				if p := c.classifier.Classify(asked.Features); got.size != 2 || p[0] < 1-1e-9 {
					t.Errorf("%s, of %d examples: %+v with %v", f.Models[k].Name, n, got, p)
				}
			}
		}
	}
}

// Where an example tells the size, every classifier finds it.
func TestClassifiers(t *testing.T) {
	s := &Suite{Features: []string{"x"}}
	sizes := []Size{{4, 4, 1}, {64, 4, 1}}
	for i := range 20 {
		x := Scenario{
			Name: string(rune('a' + i)), Features: []float64{float64(i)}, Sizes: sizes, Speeds: []float64{1, 0.5},
		}
		if i >= 10 {
			x.Speeds = []float64{0.5, 1}
		}
		s.Scenarios = append(s.Scenarios, x)
	}
	var from []*Scenario
	for i := range s.Scenarios {
		from = append(from, &s.Scenarios[i])
	}
	for _, f := range classifying()[1:] { // all but ZeroR
		rankers, err := f.learn(t.Context(), s, from, nil)
		if err != nil {
			t.Fatal(f.Models[0].Name, err)
		}
		for k, r := range rankers {
			for i, want := range map[int]int{1: 0, 18: 1} {
				if got := choose(r, from[i]); got.size != want || got.fallback {
					t.Errorf("%s: %+v of scenario %d", f.Models[k].Name, got, i)
				}
			}
		}
	}
}
