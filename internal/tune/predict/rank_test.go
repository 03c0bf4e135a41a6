package predict

import (
	"cmp"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

// What some trees choose for all trees to order has what all trees would choose of all candidates, at the top.
func TestRankByFirstTrees(t *testing.T) {
	m, err := Builtin(&session.Device{API: "cuda", Name: "NVIDIA H200"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"star-zyx-r2", "dense-yx-r1", "thumbtack-xzy-r3"} {
		s, err := synth.FindKernel(name)
		if err != nil {
			t.Fatal(err)
		}
		k := kernelsOf(t, name, s.Source([3]int{256, 256, 256}, 1))[0]
		ranked := m.Rank(k)
		if !slices.IsSortedFunc(ranked, func(a, b Ranked) int { return cmp.Compare(b.Fraction, a.Fraction) }) ||
			ranked[0].Fraction > 1 || ranked[len(ranked)-1].Fraction < 0 {
			t.Errorf("%s: not in order", name)
		}
		program, of := k.describe()
		whole := slices.Clone(ranked)
		for i := range whole {
			whole[i].Fraction = m.Speed.Predict(of.Append(slices.Clone(program), whole[i].Config))
		}
		slices.SortStableFunc(whole, func(a, b Ranked) int { return cmp.Compare(b.Fraction, a.Fraction) })
		top := func(list []Ranked) (configs []schedule.Config) {
			for _, x := range list[:50] {
				configs = append(configs, x.Config)
			}
			return configs
		}
		same := 0
		for _, c := range top(whole) {
			if slices.ContainsFunc(top(ranked), c.Equal) {
				same++
			}
		}
		if !whole[0].Config.Equal(ranked[0].Config) || same < 48 {
			t.Errorf("%s: %d of the first 50 are those of all trees", name, same)
		}
	}
}

// Likely configurations are at even distances of the best of the ranking, its first among them, each once.
func TestLikely(t *testing.T) {
	m, err := Builtin(&session.Device{API: "cuda", Name: "NVIDIA H200"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := synth.FindKernel("star-zy-r2")
	if err != nil {
		t.Fatal(err)
	}
	k := kernelsOf(t, "star-zy-r2", s.Source([3]int{64, 64, 64}, 1))[0]
	ranked := m.Rank(k)
	for _, n := range []int{1, 7, 50, 2 * len(ranked)} {
		list := m.Likely(k, n)
		last := -1
		for _, c := range list {
			i := slices.IndexFunc(ranked, func(x Ranked) bool { return x.Config.Equal(c) })
			if i <= last || i >= finalists || last >= 0 && n < finalists && i-last > finalists/n+1 {
				t.Fatalf("%d likely configurations: one of rank %d after %d", n, i, last)
			}
			last = i
		}
		if len(list) != min(n, finalists, len(ranked)) || !list[0].Equal(ranked[0].Config) {
			t.Errorf("%d likely configurations of %d, the first not the best", len(list), n)
		}
	}
}

// A list that is no longer than what the last screens keep has the order of all trees, and each candidate what these
// predict of it.
func TestOrderOfFew(t *testing.T) {
	m, err := Builtin(&session.Device{API: "cuda", Name: "NVIDIA H200"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := synth.FindKernel("star-zy-r2")
	if err != nil {
		t.Fatal(err)
	}
	k := kernelsOf(t, "star-zy-r2", s.Source([3]int{64, 64, 64}, 1))[0]
	program, of := k.describe()
	for _, n := range []int{1, 2, 40, finalists, finalists + 1, 2500, 2501} {
		list := Candidates(k.Space, n)
		order, rows := m.order(list, program, of)
		width := len(m.Features) - len(program)
		for i, x := range order[:min(n, finalists)] {
			row := of.Of(list[x.index])
			if want := m.Speed.Predict(slices.Concat(program, row)); x.fraction != want {
				t.Fatalf("%d candidates: the %d. has %v, not %v", n, i+1, x.fraction, want)
			}
			if !slices.Equal(rows[x.row*width:(x.row+1)*width], row) {
				t.Fatalf("%d candidates: the %d. has the features of another", n, i+1)
			}
			if i > 0 && x.fraction > order[i-1].fraction {
				t.Fatalf("%d candidates: not in order", n)
			}
		}
	}
}
