package learning

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/learn/features"
	"github.com/gridloom/gridloom/internal/tune/predict"
)

// The chance of random orders is what counting all orders gives; models have a step at the run that is near the best.
func TestRunsCurves(t *testing.T) {
	list := []*judged{
		{fraction: []float64{0.5, 0.91, 1, 0.2}, best: 1},
		{fraction: []float64{0.8, 0.1}, best: 0.8},
	}
	names := []string{"x", "y"}
	model := runsCurve("a", names, list, (*judged).within)
	random := runsCurve("b", names, list, (*judged).withinAtRandom)
	for i, want := range []struct{ model, random float64 }{
		{0.5, 0.5}, {1, (1 - 2.0/12 + 1) / 2}, {1, 1}, {1, 1},
	} {
		if math.Abs(model.Parts[i].Value-want.model) > 1e-12 || math.Abs(random.Parts[i].Value-want.random) > 1e-4 {
			t.Errorf("after %d runs %v and %v, not %v", i+1, model.Parts[i].Value, random.Parts[i].Value, want)
		}
	}
	if len(model.Parts) != mostRuns || len(random.Parts) != mostRuns {
		t.Error("the curves have other lengths")
	}
}

// followed are kernels of several stencils whose fractions follow the first feature, with what held-out models need.
func followed() *HeldOut { return heldOutOf(study(true)) }

// The feature that decides is the most important one by far: shuffled, it costs about twice the variance. The others
// count nothing.
func TestImportance(t *testing.T) {
	rows, err := importance(t.Context(), followed())
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(features.OfProgram)+len(features.OfConfiguration) {
		t.Errorf("%d features", len(rows))
	}
	if r := rows[0]; r.Metric != features.OfProgram[0].Name || r.Value < 1 || r.Value > 2.5 || r.Low <= 0.5 {
		t.Errorf("%+v", r)
	}
	for _, r := range rows[1:] {
		if math.Abs(r.Value) > 0.05 {
			t.Errorf("%s counts %v, and decides nothing", r.Metric, r.Value)
		}
	}
}

// Smaller parts of a learning curve are within larger ones, and the last is all.
func TestFirstStencils(t *testing.T) {
	list := followed().All
	order := map[string]int{}
	for i, e := range list {
		order[e.Stencil] = (7 * i) % len(list)
	}
	last := 0
	for i, want := range []int{1, 3, 7, 15} {
		got := firstStencils(list, order, curveParts[i])
		if len(got) != want || last > want {
			t.Errorf("%v of 15 stencils are %d", curveParts[i], len(got))
		}
		for _, e := range got {
			if order[e.Stencil] >= want {
				t.Errorf("%s is among the first %d", e.Stencil, want)
			}
		}
	}
	twins := append(slices.Clone(list), list[3])
	if got := firstStencils(twins, order, 1); len(got) != 16 {
		t.Errorf("%d kernels of 16", len(got))
	}
}

// Plots show that models find what decides, the more kernels the better; the confusion of forms has all kernels.
func TestPlots(t *testing.T) {
	h := formed(t)
	h.All = h.All[:12]
	var log strings.Builder
	p, err := NewPlots(t.Context(), h, "now", &log)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Candidates) != 12*2*tuned || len(p.Runs) != 4 || p.Runs[3].Model != Random {
		t.Errorf("%d candidates, %d curves", len(p.Candidates), len(p.Runs))
	}
	if fmt.Sprint(p.Confusion) != "{[planes tile] [[4 0] [0 8]]}" {
		t.Errorf("%v", p.Confusion)
	}
	var small, large Row
	for _, r := range p.Curve {
		if r.Model == Own && r.Metric == "correlation" {
			if small.Learned == 0 {
				small = r
			}
			large = r
		}
	}
	if small.Learned >= large.Learned || small.Value >= large.Value || large.Kernels != 12 || large.Value < 0.9 {
		t.Errorf("%+v, then %+v", small, large)
	}
	experiments := map[string]int{}
	for _, r := range p.Rows() {
		experiments[r.Experiment]++
		if r.Commit != "now" || r.Low > r.Value || r.High < r.Value {
			t.Errorf("%+v", r)
		}
	}
	if experiments["runs"] != 4*mostRuns || experiments["confusion"] != 2 ||
		experiments["learning-curve"] != 4*2*len(Metrics) || experiments["predicted-measured"] < 2 ||
		experiments["importance"] != len(h.All[0].Rows[0]) {
		t.Errorf("%v", experiments)
	}
	if _, err := NewPlots(t.Context(), &HeldOut{}, "", io.Discard); err == nil {
		t.Error("plots of nothing")
	}
	one := &HeldOut{All: []*predict.Examples{h.All[0]}, stencils: h.stencils}
	if _, err := NewPlots(t.Context(), one, "", io.Discard); err == nil ||
		!strings.Contains(err.Error(), "nothing is left to learn from") {
		t.Error(err)
	}
}
