package learning

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
	"github.com/gridloom/gridloom/internal/tune/predict"
)

// made makes a kernel of a stencil with trials of given fractions; a trial's features are drawn, but for the first,
// which is given.
func made(name string, fractions, first []float64, seed uint64) *predict.Examples {
	r := rand.New(rand.NewPCG(seed, 7))
	k := &predict.Kernel{Name: name, Target: target.OnPaper(emit.C, nil, 0)}
	e := &predict.Examples{
		Recorded: &predict.Recorded{Kernel: k, Best: 1}, Stencil: name,
		Program: make([]float64, len(features.OfProgram)),
	}
	for i, f := range fractions {
		t := predict.Trial{Config: schedule.Config{Family: "tile"}.With("block", schedule.Int(int64(i)))}
		if f > 0 {
			t.Seconds = 1 / f
		}
		e.Trials = append(e.Trials, t)
		row := make([]float64, len(features.OfProgram)+len(features.OfConfiguration))
		for j := range row {
			row[j] = r.Float64()
		}
		row[0] = first[i]
		e.Rows = append(e.Rows, row)
		e.Targets = append(e.Targets, f)
		e.Drawn = append(e.Drawn, true)
	}
	return e
}

// heldOutOf makes models of made kernels.
func heldOutOf(all []*predict.Examples) *HeldOut {
	h := &HeldOut{All: all, stencils: map[string]int{}}
	for i, e := range all {
		h.stencils[e.Stencil] = i
	}
	return h
}

// What is judged of an order is what one counts by hand. Trials that a search chose are no candidates.
func TestJudge(t *testing.T) {
	fractions := []float64{0.2, 0.5, 0, 0.8, 0.75, 0.4, 1}
	e := made("a", fractions, fractions, 1)
	e.Drawn[6] = false
	scores := []float64{1, 6, 5, 2, 3, 4, 9}
	j := judgedBy(t, e, func(_ *predict.Examples, i int) float64 { return scores[i] })
	if j == nil || !slices.Equal(j.fraction, []float64{0.5, 0, 0.4, 0.75, 0.8, 0.2}) || j.best != 0.8 {
		t.Fatalf("%+v", j)
	}
	want := map[string]float64{
		"first pick": 0.5, "first pick of candidates": 0.625, "first pick can run": 1, "best of 5": 1,
		"runs to 90 %": 4,
	}
	check := func() {
		for _, m := range Metrics {
			if w, ok := want[m.Name]; ok && math.Abs(m.of(j)-w) > 1e-12 {
				t.Errorf("%s is %v, not %v", m.Name, m.of(j), w)
			}
		}
	}
	check()
	scores[2] = 8 // a run takes the next where the first is refused, and counts both
	j = judgedBy(t, e, func(_ *predict.Examples, i int) float64 { return scores[i] })
	want["first pick can run"], want["runs to 90 %"] = 0, 4
	check()
	e.Usual = e.Trials[6].Config // which is a candidate, though it was not drawn
	if with := judgedBy(t, e, func(e *predict.Examples, i int) float64 { return e.Targets[i] }); with.best != 1 ||
		len(with.fraction) != 7 {
		t.Errorf("%+v", with)
	}
	e.Usual = schedule.Config{}
	perfect := judgedBy(t, e, func(e *predict.Examples, i int) float64 { return e.Targets[i] })
	if c := perfect.correlation(); math.Abs(c-1) > 1e-12 {
		t.Errorf("a model that is right has a correlation of %v", c)
	}
	constant := judgedBy(t, e, func(*predict.Examples, int) float64 { return 3 })
	if c := constant.correlation(); c != 0 {
		t.Errorf("a model that says the same of all has a correlation of %v", c)
	}
	none := made("b", []float64{0, 0}, []float64{0, 0}, 2)
	if judgedBy(t, none, func(*predict.Examples, int) float64 { return 0 }) != nil {
		t.Error("a kernel of which nothing ran is judged")
	}
	late := made("c", append(slices.Repeat([]float64{0.1}, 80), 1), make([]float64, 81), 3)
	j = judgedBy(t, late, func(*predict.Examples, int) float64 { return 0 })
	if got := j.runs(); got != mostRuns {
		t.Errorf("%v runs are counted", got)
	}
}

// judgedBy is judge by scores of single trials.
func judgedBy(t *testing.T, e *predict.Examples, score func(*predict.Examples, int) float64) *judged {
	t.Helper()
	j, err := judge(e, each(score))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// The table knows the mean of a configuration over other kernels, and of all where it has none.
func TestTable(t *testing.T) {
	a := made("a", []float64{0.2, 1}, []float64{0, 0}, 1)
	b := made("b", []float64{0.4, 0.5}, []float64{0, 0}, 2)
	score, err := byTable(t.Context(), nil, []*predict.Examples{a, b})
	if err != nil {
		t.Fatal(err)
	}
	c := made("c", []float64{1, 1, 1}, []float64{0, 0, 0}, 3)
	got, err := score(c, []int{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.3, 0.75, 0.525} {
		if math.Abs(got[i].predicted-want) > 1e-12 || got[i].order != got[i].predicted {
			t.Errorf("configuration %d has %v, not %v", i, got[i], want)
		}
	}
}

// study makes stencils whose fractions follow the first feature, or follow nothing.
func study(follows bool) []*predict.Examples {
	var all []*predict.Examples
	r := rand.New(rand.NewPCG(5, 5))
	for s := range 15 {
		var fractions, first []float64
		for range 30 {
			x := r.Float64()
			f := 0.1 + 0.9*x
			if !follows {
				f = 0.1 + 0.9*r.Float64()
			}
			fractions, first = append(fractions, f), append(first, x)
		}
		all = append(all, made(fmt.Sprint("stencil ", s), fractions, first, uint64(s)))
	}
	return all
}

// metric returns the number of a metric.
func metric(name string) int {
	return slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == name })
}

// A model finds what decides, and beats the table; where nothing decides it is like random orders: nothing leaks from
// the part that is left out.
func TestEvaluate(t *testing.T) {
	thirds := Split{Name: "third", part: func(e *predict.Examples, _ map[string]int) string {
		return fmt.Sprint(len(e.Name)%2, strings.HasSuffix(e.Name, "1"))
	}}
	for _, follows := range []bool{true, false} {
		all := study(follows)
		kernels, results, err := validate(t.Context(), heldOutOf(all), Pickers, thirds, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range Pickers {
			r := row(results, kernels, i, metric("first pick"), Row{Model: p.Name})
			related := row(results, kernels, i, metric("correlation"), Row{Model: p.Name})
			switch {
			case p.Name == Shuffled:
				if math.Abs(related.Value) > 0.15 || r.Value > r.Random+0.2 {
					t.Errorf("a model of shuffled fractions picks %.3f (random %.3f), correlation %.3f", r.Value,
						r.Random, related.Value)
				}
			case p.Name != Own && p.Name != Both && p.Name != "forest":
			case follows && (r.Value < 0.88 || r.GainLow <= 0 || related.Value < 0.93):
				t.Errorf("%s picks %.3f (gain %.3f to %.3f), correlation %.3f, where a feature decides", p.Name,
					r.Value, r.GainLow, r.GainHigh, related.Value)
			case !follows && (math.Abs(related.Value) > 0.15 || r.Random < r.Low-0.05 || r.Random > r.High+0.05):
				t.Errorf("%s picks %.3f (%.3f to %.3f), random %.3f, correlation %.3f, where nothing decides",
					p.Name, r.Value, r.Low, r.High, r.Random, related.Value)
			}
			if r.Groups != 15 || r.Kernels != 15 || !(r.Low <= r.Value && r.Value <= r.High) {
				t.Errorf("%+v", r)
			}
		}
	}
	one := Split{Name: "all", part: func(*predict.Examples, map[string]int) string { return "all" }}
	if _, _, err := validate(t.Context(), &HeldOut{All: study(true)}, Pickers, one, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "nothing is left to learn from") {
		t.Error(err)
	}
}

// Lift's programs and the examples are left out as suites, and with them all that has a stencil of theirs; synthetic
// kernels are not.
func TestSuites(t *testing.T) {
	var all []*predict.Examples
	for i, name := range []string{
		"star-zyx-r1", "star-zyx-r2", "star-yx-r1", "jacobi5", "gaussian", "star7", "wave w[0:1]",
	} {
		e := made(name, []float64{1}, []float64{0}, uint64(i))
		e.Stencil = name
		all = append(all, e)
	}
	all[3].Stencil = all[2].Stencil // the same weighted sum
	h, suite := heldOutOf(all), Splits[2]
	if got := h.parts(suite); !slices.Equal(got, []string{"lift", "examples"}) {
		t.Fatal(got)
	}
	for part, want := range map[string]string{
		"lift":     "star-zyx-r1 star-zyx-r2 star7 wave w[0:1]",
		"examples": "star-zyx-r1 star-zyx-r2 star-yx-r1 jacobi5 gaussian",
	} {
		others, err := h.others(suite, part)
		var names []string
		for _, e := range others {
			names = append(names, e.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("without %s, models learn from %s (%v)", part, got, err)
		}
	}
	for _, name := range []string{"star-zyx-r1-a2m1", "star-zyx-r1", "drawn2d-01"} {
		if got := suiteOf(name); got != "" {
			t.Errorf("%s is left out with %s", name, got)
		}
	}
	for _, name := range []string{"simple-n30-s30-e30-w30-int", "complex-n2-s12-e28-w24-float s"} { // one is not listed
		if got := suiteOf(name); got != "omnitune" {
			t.Errorf("%s is left out with %q", name, got)
		}
	}
	for name, want := range map[string]string{"drawn2d-01": "drawn", "drawn3d-48 s": "drawn", "star-zyx-r1": "",
		"wave w[0:1]": "", "drawn3d-49": "", "drawnsystems-32": "drawn", "drawnsystems-33": ""} {
		if got := drawnOf(name); got != want {
			t.Errorf("%s is left out with %q as a drawn one", name, got)
		}
	}
	if got := len(h.judged(suite)); got != 4 {
		t.Errorf("%d kernels are left out", got)
	}
	one := made("drawn2d-01", []float64{1}, []float64{0}, 9)
	if _, err := heldOutOf([]*predict.Examples{one}).others(Splits[3], drawn); err == nil ||
		!strings.Contains(err.Error(), "of one drawn program:") {
		t.Errorf("drawn programs alone are left out: %v", err)
	}
	if _, err := heldOutOf(all[5:]).others(suite, "examples"); err == nil {
		t.Error("examples alone are left out, and nothing is left")
	}
}

// A device is left out with a tenth of the stencils: models have not seen it, nor its programs elsewhere. Where all is
// of one device, none is left out.
func TestLeavesOutDevices(t *testing.T) {
	var all []*predict.Examples
	for i, of := range []struct{ name, device string }{
		{"jacobi5", "two cores"}, {"gaussian", "two cores"}, {"gaussian", "many"}, {"star-zyx-r1", "many"},
	} {
		e := made(of.name, []float64{1}, []float64{0}, uint64(i))
		e.Stencil, e.Device = of.name, of.device
		all = append(all, e)
	}
	h, split := heldOutOf(all), Splits[len(Splits)-1]
	if got := h.parts(split); !slices.Equal(got, []string{"0 two cores", "2 two cores", "2 many", "3 many"}) {
		t.Fatalf("%q", got)
	}
	for part, want := range map[string][]*predict.Examples{
		"0 two cores": all[2:], "2 two cores": all[3:], "2 many": all[:1], "3 many": all[:2],
	} {
		if others, err := h.others(split, part); err != nil || !slices.Equal(others, want) {
			t.Errorf("without %s, models learn from %d kernels (%v)", part, len(others), err)
		}
	}
	one := heldOutOf(all[:2])
	h.Wanted, one.Wanted = []string{split.Name}, []string{split.Name}
	if len(h.splits()) != 1 || len(one.splits()) != 0 {
		t.Error("devices are left out where there is one, and not where there are two")
	}
}

// The median of an even number of kernels is the mean of the two in the middle, of shares as they are and not of their
// logarithms.
func TestMiddle(t *testing.T) {
	var logarithms []float64
	for _, x := range []float64{0.9, 0.1, 0.5, 0.4} {
		logarithms = append(logarithms, scale(x, true))
	}
	if median, worst := middle(logarithms, true, false); median != 0.45 || worst != 0.1 {
		t.Errorf("median %v, worst %v", median, worst)
	}
	if median, worst := middle([]float64{4, 1, 2}, false, true); median != 2 || worst != 4 {
		t.Errorf("median %v, worst %v", median, worst)
	}
}

// About nine of ten first picks lie in the interval that the others make; what others of the same stencil
// have does not count.
func TestCoverage(t *testing.T) {
	var picks []predict.Pick
	var names []string
	for i := range 40 {
		f := 0.9 + 0.002*float64(i)
		if i%20 == 0 {
			f = 0.1
		}
		picks, names = append(picks, predict.Pick{Fraction: f}), append(names, fmt.Sprint(i))
	}
	r := coverage(picks, names, Row{Split: "x"})
	if math.Abs(r.Value-0.9) > 0.05 || r.Split != "x" || r.Kernels != 40 {
		t.Errorf("%+v", r)
	}
	if r = coverage(picks[1:4], []string{"a", "a", "b"}, Row{}); r.Value != 0.5 {
		t.Errorf("%+v", r)
	}
	// The further away, the less: that is told, too.
	picks, names = nil, nil
	for i := range 120 {
		picks = append(picks, predict.Pick{Fraction: 0.9 - 0.005*float64(i), Distance: float64(i)})
		names = append(names, fmt.Sprint(i))
	}
	if r = coverage(picks, names, Row{}); r.Value < 0.93 {
		t.Errorf("%+v", r)
	}
}

// The lockbox is judged by what learned from other stencils, also where those were recorded, too.
func TestLockbox(t *testing.T) {
	all := study(true)
	from, locked := heldOutOf(all[:12]), heldOutOf(all[10:])
	rows, err := Lockbox(t.Context(), from, locked, "now")
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(Pickers)*len(Metrics) {
		t.Errorf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.Split != "lockbox" || r.Groups != 5 || r.Commit != "now" {
			t.Errorf("%+v", r)
		}
		if r.Model == Own && r.Metric == "correlation" && r.Value < 0.9 {
			t.Errorf("where a feature decides: %+v", r)
		}
	}
	_, err = Lockbox(t.Context(), locked, locked, "")
	if err == nil || !strings.Contains(err.Error(), "in the lockbox") {
		t.Error(err)
	}
	if _, err := Lockbox(t.Context(), from, &HeldOut{}, ""); err == nil {
		t.Error("an empty lockbox is judged")
	}
}
