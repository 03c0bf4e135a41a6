package predict

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Programs that are further from what was learned from are told less, and the interval is of those that are as far.
func TestExpectAt(t *testing.T) {
	var picks []Pick
	for i := range 90 {
		far, n := float64(i/30), float64(i%10)
		picks = append(picks, Pick{Fraction: 0.9 - 0.2*far + 0.01*n, Distance: far + 0.01*n})
	}
	for far, want := range []Expectation{{0.945, 0.909, 1}, {0.745, 0.709, 1}, {0.545, 0.509, 1}} {
		for _, distance := range []float64{float64(far), float64(far) + 0.045} {
			got := ExpectAt(picks, distance)
			if math.Abs(got.Mean-want.Mean) > 1e-9 || math.Abs(got.Low-want.Low) > 1e-9 || got.High != 1 {
				t.Errorf("at %g: %+v, not %+v", distance, got, want)
			}
		}
	}
	if a, b := ExpectAt(picks, 100), ExpectAt(picks, 2); a != b {
		t.Errorf("beyond all: %+v, and not %+v", a, b)
	}
	all := Expect(picks)
	if math.Abs(all.Mean-0.745) > 1e-9 || math.Abs(all.Low-0.529) > 1e-9 {
		t.Errorf("of all: %+v", all)
	}
	if !all.IsWide() || ExpectAt(picks, 0).IsWide() {
		t.Error("which intervals are wide")
	}
	if one := ExpectAt([]Pick{{0.6, 1}}, 7); one.Mean != 0.6 || one.Low != 0.6 {
		t.Errorf("of one: %+v", one)
	}
	few, same := ExpectAt(picks[:29], 0), Expect(picks[:29])
	if math.Abs(few.Mean-same.Mean) > 1e-9 || few.Low != same.Low {
		t.Errorf("of few: %+v", few)
	}
}

// A run has what the first candidate has that is not refused, as long as one stands by.
func TestFirstToRun(t *testing.T) {
	for _, c := range []struct {
		fractions []float64
		want      float64
	}{
		{[]float64{0.5, 1}, 0.5}, {[]float64{0, 0.7, 1}, 0.7}, {[]float64{0, 0, 0, 0.9}, 0.9},
		{[]float64{0, 0, 0, 0, 1}, 0}, {nil, 0},
	} {
		if got := FirstToRun(c.fractions); got != c.want {
			t.Errorf("%v: %g, not %g", c.fractions, got, c.want)
		}
	}
}

// The usual configuration is picked where it was recorded, though it is none of the candidates that kernels share: here
// where the first is refused.
func TestFirstPickOfUsual(t *testing.T) {
	m, list := trained(t)
	r := *list[0]
	r.Trials = slices.DeleteFunc(slices.Clone(r.Trials), func(x Trial) bool { return x.Config.Equal(r.Usual) })
	ranked, err := m.RankLowered(t.Context(), r.Kernel, m.RankOf(r.Kernel, configsOf(&r)), LoweredCandidates)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Trials {
		if r.Trials[i].Config.Equal(ranked[0].Config) {
			r.Trials[i].Seconds = 0
		}
	}
	without, err := m.firstPick(t.Context(), Describe(&r))
	if err != nil || without == 0 {
		t.Fatalf("%g, %v", without, err)
	}
	r.Trials = append(r.Trials, Trial{Config: r.Usual, Seconds: 2 * r.Best / without})
	e := Describe(&r)
	last := len(e.Trials) - 1
	e.Drawn[last] = false
	if !e.IsCandidate(last) || !e.IsCandidate(0) {
		t.Fatal("the usual configuration is no candidate, or one of those that kernels share is none")
	}
	if got, err := m.firstPick(t.Context(), e); err != nil || math.Abs(got-without/2) > 1e-9 {
		t.Errorf("the first pick has %g, and the usual configuration %g: %v", got, without/2, err)
	}
	if e.Drawn[0] = false; e.IsCandidate(0) {
		t.Error("a configuration that was chosen for being fast is a candidate")
	}
}

// configsOf are the configurations of a kernel's trials.
func configsOf(r *Recorded) []schedule.Config {
	var list []schedule.Config
	for _, t := range r.Trials {
		list = append(list, t.Config)
	}
	return list
}

// A model keeps a pick of each kernel, made by trees without it, and how far its program is from all others.
func TestPicks(t *testing.T) {
	m, list := trained(t)
	var all []*Examples
	for _, r := range list {
		all = append(all, Describe(r))
	}
	var want []float64
	for i, e := range all { // ten parts at most: each of the five stencils is one
		want = append(want, rounded(m.DistanceTo(e, slices.Delete(slices.Clone(all), i, i+1)), 4))
	}
	slices.Sort(want)
	if len(m.Picks) != len(want) {
		t.Fatalf("%d picks of %d kernels", len(m.Picks), len(want))
	}
	for i, p := range m.Picks {
		if p.Distance != want[i] || p.Distance <= 0 || p.Fraction <= 0 || p.Fraction > 1 {
			t.Errorf("%+v, not at %g", p, want[i])
		}
	}
	for _, r := range list {
		if got, want := m.ExpectedOf(r.Kernel), ExpectAt(m.Picks, 0); got != want {
			t.Errorf("%s is learned from, and %+v is told, not %+v", r.Name, got, want)
		}
	}
}

// Trees that are kept alone are of a version of their own.
func TestReadTrees(t *testing.T) {
	m, _ := trained(t)
	var good bytes.Buffer
	if err := m.WriteTrees(&good); err != nil {
		t.Fatal(err)
	}
	text := good.Bytes()
	if got, err := ReadTrees(bytes.NewReader(text)); err != nil || !reflect.DeepEqual(got.Speed, m.Speed) {
		t.Errorf("other trees, %v", err)
	}
	_, err := ReadModel(bytes.NewReader(text))
	if err == nil || !strings.Contains(err.Error(), "no model of Gridloom's") {
		t.Errorf("trees are read as a model: %v", err)
	}
	var other bytes.Buffer
	if err := write(&other, treesFile{Gridloom: treesKind, Version: treesVersion + 1}); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("of version %d, and this Gridloom knows %d", treesVersion+1, treesVersion)
	if _, err := ReadTrees(&other); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("of another version: %v", err)
	}
}
