package predict

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// What a search of a kernel is told begins with the ranking, and its predictions are those of the first level. Searches
// that end and go on may ask for them at the same time.
func TestPrior(t *testing.T) {
	list := recordings(t, 30, "star-zy-r1", "star-zyx-r1")
	m, err := Learn([]*Examples{Describe(list[0]), Describe(list[1])})
	if err != nil {
		t.Fatal(err)
	}
	k := list[0].Kernel
	ranked := m.RankOf(k, k.Ranked()[:2*regarded])
	p := m.Prior(t.Context(), k, ranked, 3)
	if len(p.First) != Leading || len(p.Candidates) != min(regarded, len(ranked)) {
		t.Fatalf("%d are the first, and %d candidates", len(p.First), len(p.Candidates))
	}
	for i, c := range p.First {
		if !c.Equal(ranked[i].Config) || !c.Equal(p.Candidates[i]) {
			t.Errorf("%s is number %d", c, i)
		}
	}
	want := m.Predict(k, p.Candidates)
	var work sync.WaitGroup
	for range 3 {
		work.Go(func() {
			for i, c := range p.Candidates {
				if got := p.Predict(c); got != want[i] {
					t.Errorf("%s is predicted to have %g, not %g", c, got, want[i])
				}
			}
		})
	}
	work.Wait()
}

// Searches choose from what was lowered, by the second level, and from the first of the ranking where there is none.
// How much errors are alike is a covariance, of which a candidate has all of itself.
func TestPriorExpects(t *testing.T) {
	list := recordings(t, 30, "star-zy-r1", "star-zyx-r1")
	examples := []*Examples{Describe(list[0]), Describe(list[1])}
	m, err := Learn(examples)
	if err != nil {
		t.Fatal(err)
	}
	k := list[0].Kernel
	ranked := m.RankOf(k, k.Ranked()[:2*regarded])
	if m.Second, err = LearnSecond(t.Context(), examples, func() {}); err != nil {
		t.Fatal(err)
	}
	const lowered = 20
	again, err := m.RankLowered(t.Context(), k, ranked, lowered)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ranked     []Ranked
		want, most int
	}{{ranked, regarded, 4}, {again, lowered, 7}, {ranked[:5], 5, 1}} {
		e := m.Prior(t.Context(), k, c.ranked, Leading+c.most).Expected
		if len(e.Configs) != c.want || len(e.Fractions) != c.want || e.Most != c.most {
			t.Fatalf("%d of %d expected candidates are tried, and not %d of %d", e.Most, len(e.Configs), c.most, c.want)
		}
		for i, x := range e.Configs {
			if !x.Equal(c.ranked[i].Config) || e.Fractions[i] != c.ranked[i].Alone {
				t.Errorf("%s is expected to have %g", x, e.Fractions[i])
			}
		}
		n := min(c.want, lowered)
		alike := mat.NewSymDense(n, nil)
		least := 1.0
		for i := range n {
			for j := range i + 1 {
				alike.SetSym(i, j, e.Alike(i, j))
				least = min(least, e.Alike(i, j))
				if e.Alike(i, j) != e.Alike(j, i) {
					t.Fatalf("%d and %d are alike one way", i, j)
				}
			}
		}
		var values mat.EigenSym
		if !values.Factorize(alike, false) {
			t.Fatal("no eigenvalues")
		}
		v := slices.Min(values.Values(nil))
		if v < -1e-9 || math.Abs(mat.Trace(alike)-float64(n)) > 1e-9 || least > 0.95 {
			t.Errorf("of %d candidates the least eigenvalue is %g, and the least alike are %g", n, v, least)
		}
	}
	// What has its place for another reason is chosen from, too, by the second level; what cannot be lowered is not.
	placed := slices.Clone(again)
	placed = slices.Insert(placed, 1, Ranked{Config: again[lowered+5].Config, Usual: true})
	placed = slices.Insert(placed, 4, Ranked{Config: again[lowered+9].Config, FastestOf: "another"})
	large := slices.IndexFunc(k.Ranked(), func(c schedule.Config) bool {
		_, err := k.Variant(c)
		return err != nil
	})
	placed = slices.Insert(placed, 5, Ranked{Config: k.Ranked()[large]})
	e := m.Prior(t.Context(), k, placed, 2).Expected
	if len(e.Configs) != lowered+2 {
		t.Fatalf("%d of %d candidates are chosen from", len(e.Configs), lowered+2)
	}
	for _, i := range []int{1, 4} {
		of, err := m.RankLowered(t.Context(), k, placed[i:i+1], 1)
		if err != nil {
			t.Fatal(err)
		}
		if !e.Configs[i].Equal(placed[i].Config) || e.Fractions[i] != of[0].Alone || e.Alike(i, i) != 1 {
			t.Errorf("number %d is %s, of which %g is expected, not %g", i, e.Configs[i], e.Fractions[i], of[0].Alone)
		}
	}
	// What is near the fastest is ranked by the same level, and of many candidates the first.
	near := k.Ranked()[2*regarded : 2*regarded+nearby+10]
	for _, c := range []struct {
		ranked []Ranked
		second bool
	}{{ranked, false}, {again, true}} {
		ctx, cancel := context.WithCancel(t.Context())
		e := m.Prior(ctx, k, c.ranked, Leading+1).Expected
		known := len(e.Configs)
		want := m.RankOf(k, near)[:nearby]
		if c.second {
			if want, err = m.RankLowered(ctx, k, want, nearby); err != nil {
				t.Fatal(err)
			}
		}
		place, configs, fractions := e.Nearby(near)
		if place != known || len(configs) != len(want) || len(fractions) != len(want) {
			t.Fatalf("%d of %d candidates are near, not %d", len(configs), len(near), len(want))
		}
		for i, x := range want {
			if !configs[i].Equal(x.Config) || fractions[i] != x.Alone {
				t.Errorf("%s is near, and expected to have %g", configs[i], fractions[i])
			}
			if e.Alike(known+i, known+i) != 1 || e.Alike(known+i, 0) != e.Alike(0, known+i) {
				t.Errorf("%s is alike to itself by %g", x.Config, e.Alike(known+i, known+i))
			}
		}
		// What was near before has places of its own.
		if next, again, _ := e.Nearby(near); next != known+len(want) || len(again) != len(want) ||
			e.Alike(next+1, known+1) != 1 || e.Alike(next+1, known) != e.Alike(known+1, known) {
			t.Errorf("%d are near from place %d on", len(again), next)
		}
		cancel()
		if _, configs, _ := e.Nearby(near); c.second && len(configs) > 0 {
			t.Error("a search that has ended lowers more")
		}
	}
	if p := m.Prior(t.Context(), k, again, Leading); p.Expected != nil || len(p.First) != Leading {
		t.Errorf("%d are the first, and others follow: %v", len(p.First), p.Expected != nil)
	}
}
