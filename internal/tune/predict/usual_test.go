package predict

import (
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

// The usual configuration is the second of a ranking, also where the program is unlike all that was learned from. It is
// there once, and nothing else moves but what makes room for it.
func TestWithUsual(t *testing.T) {
	m, err := Builtin(&session.Device{API: "cuda", Name: "NVIDIA H200"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := synth.FindKernel("star-zy-r2")
	if err != nil {
		t.Fatal(err)
	}
	k := kernelsOf(t, "star-zy-r2", s.Source([3]int{256, 256, 256}, 1))[0]
	if k.Usual.Family == "" || k.Space.Check(k.Usual) != nil {
		t.Fatalf("the usual configuration is %q", k.Usual)
	}
	ranked := m.RankOf(k, k.Ranked()[:200])
	usual := func(x Ranked) bool { return x.Config.Equal(k.Usual) }
	ranked = slices.DeleteFunc(ranked, usual)
	far := *m
	far.Programs = []Example{{Name: "other", Features: slices.Clone(features.Program(k.Bound, k.Call))}}
	far.Programs[0].Features[0] += 100 * m.Scale.Units[0]
	const place = 1
	for _, model := range []*Model{m, &far} {
		for at := -1; at < 4; at++ { // where it stands by what is predicted
			before := slices.Clone(ranked)
			if at >= 0 {
				before = slices.Insert(before, at, Ranked{Config: k.Usual, Fraction: ranked[at].Fraction, Alone: 0.125})
			}
			list := model.WithUsual(k, before)
			want := place
			if at >= 0 {
				want = min(at, place)
			}
			x := list[want]
			if !usual(x) || x.Usual != (at < 0 || at >= place) || x.Fraction != before[want].Fraction ||
				at >= 0 && x.Alone != 0.125 || at < 0 && (x.Needs == nil || !(x.Alone > 0)) {
				t.Errorf("at place %d of what is predicted: number %d is %+v", at, want, x)
			}
			rest := slices.DeleteFunc(slices.Clone(list), usual)
			if len(list) != len(ranked)+1 || len(rest) != len(ranked) || !slices.EqualFunc(rest, ranked,
				func(a, b Ranked) bool { return a.Config.Equal(b.Config) }) {
				t.Errorf("at place %d of what is predicted: others have moved", at)
			}
		}
	}
	if list := m.WithUsual(k, ranked[:1]); len(list) != 2 || !usual(list[1]) {
		t.Errorf("beside a single candidate: %v", list)
	}
	if list := m.WithUsual(k, nil); len(list) > 0 {
		t.Errorf("beside no candidate: %v", list)
	}
	narrow := *k
	if narrow.Space, err = k.Space.Limit("family=planes"); err != nil {
		t.Fatal(err)
	}
	if list := m.WithUsual(&narrow, ranked); len(list) != len(ranked) {
		t.Error("what the space does not have is ranked")
	}
	unknown := *k
	unknown.Usual = schedule.Config{}
	if list := m.WithUsual(&unknown, ranked); len(list) != len(ranked) {
		t.Error("no usual configuration is ranked")
	}
}
