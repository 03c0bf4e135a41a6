package omnitune

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// told has a number for each size, whatever the scenario is.
func told(numbers ...float64) bySize {
	t := bySize{}
	for i, v := range numbers {
		t[made[i]] = v
	}
	return t
}

var made = []Size{baseline, human, {64, 4, 1}, {8, 8, 1}}

// timed is a scenario with these times at the first of the sizes above.
func timed(times ...float64) *Scenario {
	x := &Scenario{Sizes: made[:len(times)], Best: slices.Min(times)}
	for _, t := range times {
		x.Speeds = append(x.Speeds, x.Best/t)
	}
	return x
}

// Algorithm 4 stays with what it predicted. Else it runs the baseline, and sizes by speed-up until one is predicted
// well.
func TestHybrid(t *testing.T) {
	x := timed(8, 4, 2, 1)
	second := []submission{{human, 4, 0}, {baseline, 8, 0}, {made[3], 1, 8}, {human, 4, 2}}
	for name, c := range map[string]struct {
		of              *Scenario
		times, speedUps bySize
		keep            bool
		size            Size
		submitted       []submission
		runs            int
	}{
		"the time is right": {of: x, times: told(9, 4.1, 5, 6), speedUps: told(1, 9, 9, 9),
			size: human, submitted: []submission{{human, 4, 0}}, runs: 1},
		"the first speed-up is right": {of: x, times: told(9, 2, 5, 6), speedUps: told(1, 2, 4.2, 3),
			size: made[2], submitted: []submission{{human, 4, 0}, {baseline, 8, 0}, {made[2], 2, 4}}, runs: 3},
		"the second speed-up is right, though slower": {of: x, times: told(9, 2, 5, 6), speedUps: told(1, 2, 1, 3),
			size: human, submitted: second, runs: 3},
		"the fastest is kept": {of: x, times: told(9, 2, 5, 6), speedUps: told(1, 2, 1, 3), keep: true,
			size: made[3], submitted: second, runs: 3},
		"none is right": {of: x, times: told(9, 2, 5, 6), speedUps: told(50, 40, 30, 20), size: made[3],
			submitted: []submission{
				{human, 4, 0}, {baseline, 8, 0}, {baseline, 8, 1}, {human, 4, 2}, {made[2], 2, 4}, {made[3], 1, 8},
			}, runs: 4},
		"no baseline": {of: &Scenario{Sizes: made[1:], Speeds: []float64{0.25, 0.5, 1}, Best: 1},
			times: told(9, 2, 5, 6), speedUps: told(1, 1, 1, 1), size: human,
			submitted: []submission{{human, 4, 0}}, runs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var submitted []submission
			h := &hybrid{Ranker: c.speedUps, times: c.times, speedUps: c.speedUps, keep: c.keep,
				submit: func(s submission) { submitted = append(submitted, s) }}
			got := h.pick(c.of)
			if c.of.Sizes[got.size] != c.size || got.runs != c.runs || !slices.Equal(submitted, c.submitted) {
				t.Errorf("%v after %d runs, %v submitted", c.of.Sizes[got.size], got.runs, submitted)
			}
		})
	}
}

// Whatever is predicted, algorithm 4 ends, runs no size twice, and picks one that it ran.
func TestHybridEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Float64Range(0.1, 10)
		draw := func() []float64 { return rapid.SliceOfN(number, len(made), len(made)).Draw(t, "numbers") }
		x := timed(draw()...)
		ran := map[Size]bool{}
		submit := func(s submission) { ran[s.size] = true }
		h := &hybrid{times: told(draw()...), speedUps: told(draw()...), submit: submit}
		c := h.pick(x)
		if c.runs != len(ran) || !ran[x.Sizes[c.size]] {
			t.Fatalf("%+v, of %v", c, ran)
		}
	})
}

// Where no example ran the baseline, speed-ups are over the size that most ran.
func TestNoBaseline(t *testing.T) {
	s := &Suite{Features: []string{"x"}}
	var from []*Scenario
	for i := range 20 {
		x := &Scenario{Sizes: made[1:], Speeds: []float64{0.5, 1, 0.25}, Best: 1, Features: []float64{float64(i)}}
		from = append(from, x)
	}
	rankers, err := regressing.learn(t.Context(), s, from, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, m := range regressing.Models {
		if got := choose(rankers[k], from[3]); got.size != 1 {
			t.Errorf("%s: %+v", m.Name, got)
		}
	}
}

// Algorithm 2 takes the least time and algorithm 3 the largest speed-up, where examples tell them.
func TestRegressions(t *testing.T) {
	s := &Suite{Features: []string{"x"}}
	var from []*Scenario
	for i := range 40 {
		x := timed(8, 4, 2)
		if i >= 20 {
			x = timed(8, 2, 4)
		}
		x.Features = []float64{float64(i)}
		from = append(from, x)
	}
	rankers, err := regressing.learn(t.Context(), s, from, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, m := range regressing.Models[:2] {
		for i, want := range map[int]int{3: 2, 36: 1} {
			if got := choose(rankers[k], from[i]); got.size != want {
				t.Errorf("%s: %+v of scenario %d", m.Name, got, i)
			}
		}
	}
	x := &Scenario{Features: from[3].Features, Sizes: []Size{baseline, human}, Speeds: []float64{0.5, 1}}
	for k, m := range regressing.Models[:2] {
		if got := choose(rankers[k], x); got.size != 1 {
			t.Errorf("%s: %+v where the best size was not run", m.Name, got)
		}
	}
}
