package predict

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
)

// Some of a ranking are ranked again: the same ones, but for those that cannot be lowered, and the rest follows.
func TestRankLowered(t *testing.T) {
	m, list := trained(t)
	k := list[0].Kernel
	ranked := m.Rank(k)
	// A block has less shared memory than this takes, which a ranking does not know.
	program, of := k.describe()
	at := slices.IndexFunc(features.OfConfiguration, func(f features.Feature) bool { return f.Name == "shared" })
	large := 0
	for i, x := range ranked {
		if of.Of(x.Config)[at] > of.Of(ranked[large].Config)[at] {
			large = i
		}
	}
	var limit *lower.ResourceLimit
	if _, err := k.launch(ranked[large].Config); !errors.As(err, &limit) {
		t.Fatalf("what takes the most shared memory can be lowered: %v", err)
	}
	const n = 20
	first := slices.Concat(ranked[large:large+1], ranked[:large], ranked[large+1:])
	again, err := m.RankLowered(t.Context(), k, first, n)
	if err != nil {
		t.Fatal(err)
	}
	is := func(list []Ranked) map[string]bool {
		texts := map[string]bool{}
		for _, x := range list {
			texts[x.Config.String()] = true
		}
		return texts
	}
	head, had := is(again[:len(again)-len(first)+n]), is(toLower(k, first, n)[:n])
	if len(again) >= len(first) || head[first[0].Config.String()] {
		t.Error("what cannot be lowered is not dropped")
	}
	for text := range head {
		if !had[text] {
			t.Errorf("%s was not to be lowered", text)
		}
	}
	if !slices.IsSortedFunc(again, func(a, b Ranked) int { return cmp.Compare(b.Fraction, a.Fraction) }) {
		t.Error("not in order")
	}
	moved := false
	for i := range again[:n/2] {
		moved = moved || !again[i].Config.Equal(first[i+1].Config)
	}
	if !moved {
		t.Error("the second level changes nothing")
	}
	more := rankLowered(t, m, k, first, 2*n)
	behind := func(x Ranked) bool { return !had[x.Config.String()] }
	if at := slices.IndexFunc(more, behind); at < 0 || at >= n {
		t.Errorf("of the second %d the first has place %d", n, at+1)
	}
	once := rankLowered(t, m, k, first, n)
	for i := range once[:n] {
		if !once[i].Config.Equal(again[i].Config) || once[i].Fraction != again[i].Fraction {
			t.Fatalf("another time the %d. is %s", i+1, once[i].Config)
		}
	}
	v, err := k.Variant(again[0].Config) // the second level alone counts
	if err != nil {
		t.Fatal(err)
	}
	row := of.Append(slices.Clone(program), again[0].Config)
	if want := m.Second.Speed.Predict(slices.Concat(row, v)); math.Abs(again[0].Fraction-min(1, want)) > 1e-9 {
		t.Errorf("the first has %v, not %v", again[0].Fraction, want)
	}
	bare := *m
	bare.Second = nil
	kept := rankLowered(t, &bare, k, first, n)
	place := map[string]int{}
	for i, x := range first {
		place[x.Config.String()] = i
	}
	before := func(a, b Ranked) int { return place[a.Config.String()] - place[b.Config.String()] }
	if !slices.IsSortedFunc(kept, before) {
		t.Error("without a second level the order of the first is not kept")
	}
}

// rankLowered is RankLowered in a test.
func rankLowered(t *testing.T, m *Model, k *Kernel, ranked []Ranked, n int) []Ranked {
	t.Helper()
	list, err := m.RankLowered(t.Context(), k, ranked, n)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// What was lowered is known afterwards, of the same program at the same sizes alone; a ranking that is given up ends.
func TestVariantsAreKept(t *testing.T) {
	k := recordings(t, 1, "star-zyx-r1")[0].Kernel
	configs := []schedule.Config{Candidates(k.Space, 1)[0]}
	before, err := k.variants(t.Context(), configs)
	if err != nil || before[0] == nil {
		t.Fatalf("%v, %v", before, err)
	}
	again, err := k.variants(t.Context(), configs)
	if err != nil || &again[0][0] != &before[0][0] {
		t.Error("it was lowered again")
	}
	other := recordings(t, 1, "star-zyx-r2")[0].Kernel
	if string(other.hashed()) == string(k.hashed()) {
		t.Error("another program has the same hash")
	}
	if same := recordings(t, 1, "star-zyx-r1")[0].Kernel; string(same.hashed()) != string(k.hashed()) {
		t.Error("the same program has another hash")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("over")
	cancel(over)
	if _, err := k.variants(ctx, configs); !errors.Is(err, over) {
		t.Errorf("a ranking that was given up: %v", err)
	}
}
