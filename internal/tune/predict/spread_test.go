package predict

import (
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
)

// What is lowered of a ranking is its first half, and then some of each form; all others keep their order.
func TestToLower(t *testing.T) {
	m, list := trained(t)
	k := list[0].Kernel
	formOf := k.FormOf()
	for _, n := range []int{0, 1, 7, 40, 200} {
		ranked := m.Rank(k)
		all := map[string]bool{}
		place := map[string]int{}
		for i, x := range ranked {
			place[x.Config.String()] = i
			if i >= n/2 {
				all[formOf(x.Config)] = true
			}
		}
		lowered := toLower(k, ranked, n)
		if len(lowered) != len(ranked) {
			t.Fatalf("%d of %d", len(lowered), len(ranked))
		}
		forms := map[string]int{}
		for i, x := range lowered {
			at, ok := place[x.Config.String()]
			delete(place, x.Config.String())
			switch {
			case !ok:
				t.Fatalf("%d: %s stands there twice", n, x.Config)
			case i < n/2 && at != i:
				t.Errorf("%d: number %d comes to place %d", n, at, i)
			case i >= n/2 && i < n:
				forms[formOf(x.Config)]++
			}
		}
		if len(forms) != min(len(all), n-n/2) {
			t.Errorf("%d: %d of %d forms", n, len(forms), len(all))
		}
		for _, part := range [][]Ranked{lowered[n/2 : n], lowered[n:]} {
			if !slices.IsSortedFunc(part, func(a, b Ranked) int { return int(1e9 * (b.Fraction - a.Fraction)) }) {
				t.Errorf("%d: another order", n)
			}
		}
	}
	ranked := m.Rank(k)[:5]
	if got := toLower(k, ranked, 5); &got[0] != &ranked[0] {
		t.Error("all are lowered, and the order is another")
	}
}

// The first of a ranking are of several forms. One of another form comes before those that are predicted little more.
func TestSpread(t *testing.T) {
	_, list := trained(t)
	k := list[0].Kernel
	formOf := k.FormOf()
	of := map[string][]schedule.Config{}
	for _, c := range Candidates(k.Space, 2000) {
		of[formOf(c)] = append(of[formOf(c)], c)
	}
	var forms []string
	for form, configs := range of {
		if len(configs) >= 120 {
			forms = append(forms, form)
		}
	}
	slices.Sort(forms)
	if len(forms) < 2 {
		t.Fatalf("forms of many candidates: %q", forms)
	}
	a, b := of[forms[0]], of[forms[1]]
	ranking := func(alone func(i int) float64, configs ...schedule.Config) (ranked []Ranked) {
		for i, c := range configs {
			ranked = append(ranked, Ranked{Config: c, Alone: alone(i), Fraction: alone(i)})
		}
		return ranked
	}
	falls := func(i int) float64 { return 0.9 - 0.01*float64(i) }
	with := func(last float64) func(int) float64 {
		return func(i int) float64 { return []float64{0.9, 0.89, 0.88, last}[i] }
	}
	for _, c := range []struct {
		name string
		list []Ranked
		want []int // its places; nil where the order is the same
	}{
		{"none", nil, nil},
		{"of one form", ranking(falls, a[:20]...), nil},
		// 0.90, 0.89 - 0.03, 0.865
		{"near", ranking(with(0.865), a[0], a[1], a[2], b[0]), []int{0, 3, 1, 2}},
		// 0.90, 0.89 - 0.03, 0.88 - 0.06, 0.80
		{"far", ranking(with(0.8), a[0], a[1], a[2], b[0]), nil},
		{"behind all that are looked at", ranking(func(int) float64 { return 0.5 },
			slices.Concat(a[:100], b[:20])...), nil},
	} {
		got := spread(k, slices.Clone(c.list))
		if len(got) != len(c.list) {
			t.Fatalf("%s: %d of %d", c.name, len(got), len(c.list))
		}
		var order []int
		most := 1.0
		for _, x := range got {
			order = append(order, slices.IndexFunc(c.list, func(y Ranked) bool { return y.Config.Equal(x.Config) }))
			if x.Fraction > most || x.Fraction > x.Alone {
				t.Errorf("%s: %v after %v", c.name, x.Fraction, most)
			}
			most = x.Fraction
		}
		if c.want == nil && !slices.IsSorted(order) || c.want != nil && !slices.Equal(order, c.want) {
			t.Errorf("%s: %v, not %v", c.name, order, c.want)
		}
	}
	cpu := *k
	cpu.Target = target.OnPaper(emit.C, h200(t), arith.Contract)
	if got := spread(&cpu, ranking(falls, a[0], a[1], a[2], a[3], b[0])); !got[1].Config.Equal(a[1]) {
		t.Error("the ranking of a processor's kernel is another")
	}
}
