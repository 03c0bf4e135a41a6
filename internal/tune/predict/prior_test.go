package predict

import (
	"math"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"
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
	ranked := m.RankOf(k, k.ranked()[:2*regarded])
	p := m.Prior(k, ranked, 3)
	if len(p.First) != 3 || len(p.Candidates) != min(regarded, len(ranked)) {
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
	ranked := m.RankOf(k, k.ranked()[:2*regarded])
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
		e := m.Prior(k, c.ranked, Leading+c.most).Expected
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
	for _, n := range []int{1, Leading} {
		if p := m.Prior(k, again, n); p.Expected != nil || len(p.First) != n {
			t.Errorf("of %d, %d are the first, and others follow: %v", n, len(p.First), p.Expected != nil)
		}
	}
}
