package learning

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
	"github.com/gridloom/gridloom/internal/tune/predict"
)

// ofTrials ranks what was tried of a kernel that has no space.
func ofTrials(m *predict.Model, e *predict.Examples) []predict.Ranked {
	var list []predict.Ranked
	for i, row := range e.Rows {
		list = append(list, predict.Ranked{Config: e.Trials[i].Config, Fraction: m.Speed.Predict(row)})
	}
	slices.SortStableFunc(list, func(a, b predict.Ranked) int { return cmp.Compare(b.Fraction, a.Fraction) })
	return list
}

// formed makes stencils of which small ones are fast by tiles, and others by planes: the other form has half.
func formed(t *testing.T) *HeldOut {
	h := &HeldOut{stencils: map[string]int{}, models: map[string]*heldOut{}, ranking: ofTrials}
	for s := range 30 {
		small := s%3 > 0
		e := made(fmt.Sprint("stencil ", s), nil, nil, 1)
		e.Program = make([]float64, len(features.OfProgram))
		e.Program[1] = 50
		if small {
			e.Program[1] = 5
		}
		for i := range 2 * tuned {
			c, family, f := schedule.Config{Family: "tile"}, 0, 0.5
			if i%2 > 0 {
				c, family = schedule.Config{Family: "planes"}, 1
			}
			if small == (family == 0) {
				f = 1
			}
			f *= 1 - 0.3*float64(i/2)/tuned
			row := append(append([]float64{}, e.Program...), make([]float64, len(features.OfConfiguration))...)
			row[len(e.Program)+family] = 1
			x := made(e.Name, []float64{f}, []float64{row[0]}, 1)
			x.Trials[0].Config = c.With("block", schedule.Int(int64(i)))
			e.Trials, e.Rows = append(e.Trials, x.Trials[0]), append(e.Rows, row)
			e.Targets, e.Drawn = append(e.Targets, f), append(e.Drawn, true)
		}
		h.All, h.stencils[e.Stencil] = append(h.All, e), s
	}
	return h
}

// A form has the share of its best configuration, if enough of it were tried.
func TestFormsOf(t *testing.T) {
	e := formed(t).All[1]
	k := formsOf(e, "")
	if k.best != "tile" || k.share["tile"] != 1 || math.Abs(k.share["planes"]-0.5) > 1e-12 || len(k.forms) != 2 {
		t.Errorf("%+v", k)
	}
	e.Trials = e.Trials[:2*tuned-1]
	if k := formsOf(e, ""); len(k.forms) != 1 || k.best != "tile" {
		t.Errorf("%d forms, the best is %s", len(k.forms), k.best)
	}
	// What could not run tells nothing of a form.
	e = formed(t).All[1]
	e.Trials[1].Seconds = 0
	if k := formsOf(e, ""); len(k.forms) != 1 || k.best != "tile" {
		t.Errorf("%d forms, the best is %s", len(k.forms), k.best)
	}
}

// A form is predicted to have what its first candidates are, in the mean: none without any.
func TestPredictedOfForms(t *testing.T) {
	k := formsOf(formed(t).All[1], "")
	var list []predict.Ranked
	for i := range ofForm + 3 { // 0.9, 0.85 and so on; then what is not looked at
		list = append(list, predict.Ranked{Config: schedule.Config{Family: "tile"}, Fraction: 0.9 - 0.05*float64(i)})
	}
	list = append(list, predict.Ranked{Config: schedule.Config{Family: "planes"}, Fraction: 0.3})
	got := k.predicted(list)
	if math.Abs(got["tile"]-0.8) > 1e-12 || got["planes"] != 0.3 || len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// The form that is taken is that of the first candidate that has one of the tuned forms.
func TestFirstForm(t *testing.T) {
	k := formsOf(formed(t).All[1], "")
	ranked := []predict.Ranked{{Config: schedule.Config{Family: "cells"}}, {Config: schedule.Config{Family: "tile"}},
		{Config: schedule.Config{Family: "planes"}}}
	if form := k.first(ranked); form != "tile" {
		t.Error(form)
	}
	if form := k.first(ranked[:1]); form != "planes" {
		t.Errorf("%s, of none that was ranked", form)
	}
}

// Where a feature of stencils decides on the form, forests and trees find it, and what always says the same loses a
// third of the kernels.
func TestForms(t *testing.T) {
	old := Splits
	defer func() { Splits = old }()
	Splits = Splits[:1]
	rows, err := Forms(t.Context(), formed(t), "now")
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]Row{}
	for _, r := range rows {
		of[r.Model+" "+r.Metric] = r
	}
	for name, want := range map[string]float64{
		"zeror accuracy": 2.0 / 3, "zeror penalty-weighted accuracy": 2.0/3 + 0.5/3, "zeror of zeror's loss removed": 0,
		garveys + " accuracy": 1, garveys + " of zeror's loss removed": 1,
		"boosted accuracy": 1, "boosted penalty-weighted accuracy": 1, "boosted of zeror's loss removed": 1,
		Both + " accuracy": 1, Both + " of zeror's loss removed": 1,
	} {
		r, ok := of[name]
		if !ok || math.Abs(r.Value-want) > 1e-3 || r.Groups != 30 || r.Commit != "now" || r.Low > r.Value ||
			r.High < r.Value {
			t.Errorf("%s: %+v, not %v", name, r, want)
		}
	}
	if r := of["boosted accuracy"]; math.Abs(r.ZeroR-2.0/3) > 1e-3 || r.Random != 0.5 || r.GainLow <= 0 {
		t.Errorf("%+v", r)
	}
	h := formed(t)
	for _, e := range h.All {
		e.Trials = e.Trials[:tuned]
	}
	if rows, err := Forms(t.Context(), h, ""); err != nil || rows != nil {
		t.Errorf("kernels without two forms are judged: %v, %v", rows, err)
	}
}

// Where a feature of stencils decides on the technique, the paper's forests find it without the stencil; forms of other
// families do not count.
func TestTechniques(t *testing.T) {
	h := formed(t)
	vectors := schedule.Space{Families: []schedule.Family{{Name: "tile", Params: []schedule.Param{{
		Name: "vec", Role: schedule.Vector, Values: []schedule.Value{schedule.Int(1), schedule.Int(4)},
		Default: schedule.Int(1),
	}}}}}
	for _, e := range h.All {
		for i := range e.Trials {
			if c := e.Trials[i].Config; i%2 > 0 {
				c.Family = "tile"
				e.Trials[i].Config = c.With("vec", schedule.Int(4))
			}
		}
		e.Space = vectors
	}
	labels := TechniqueLabels(h)
	if len(labels) != 30 {
		t.Fatalf("%d kernels", len(labels))
	}
	for i, l := range labels {
		want := "global" // of small stencils
		if l.Features[1] == 50 {
			want = "global with vectors"
		}
		if l.Technique != want || l.Stencil != h.All[i].Stencil || len(l.Features) != 4 {
			t.Errorf("%+v, not %s", l, want)
		}
	}
	if labels := TechniqueLabels(formed(t)); len(labels) > 0 {
		t.Errorf("planes are no technique: %+v", labels)
	}
	rows, err := Techniques(t.Context(), h, "now")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"zeror accuracy": 2.0 / 3, garveys + " accuracy": 1,
		garveys + " penalty-weighted accuracy": 1}
	for _, r := range rows {
		if w, ok := want[r.Model+" "+r.Metric]; ok {
			delete(want, r.Model+" "+r.Metric)
			if math.Abs(r.Value-w) > 1e-3 || r.Split != "kernel" || r.Groups != 30 || r.Commit != "now" {
				t.Errorf("%+v, not %v", r, w)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("no rows of %v", want)
	}
	var b strings.Builder
	if err := WriteTechniques(&b, rows); err != nil || !strings.Contains(b.String(), "0.87, 0.91, 0.88") ||
		!strings.Contains(b.String(), "30 kernels of 30 stencils") {
		t.Errorf("%v: %s", err, b.String())
	}
	if rows, err := Techniques(t.Context(), formed(t), ""); err != nil || rows != nil {
		t.Errorf("kernels with one technique are judged: %v, %v", rows, err)
	}
}
