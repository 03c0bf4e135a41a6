package learning

import (
	"math"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// What is judged of registers and spills is what one counts by hand; what has no cases is not a number.
func TestResourceMetrics(t *testing.T) {
	some := &takes{
		registers: []float64{40, 100, 64, 255}, told: []float64{48, 64, 64, 200},
		spills: []bool{false, true, true, true}, did: []bool{false, false, true, false},
	}
	none := &takes{registers: []float64{10}, told: []float64{10}, spills: []bool{false}, did: []bool{false}}
	for _, c := range []struct {
		metric     string
		some, none float64
	}{
		{"registers: mean error", (8. + 36 + 0 + 55) / 4, 0}, {"registers: within 8", 0.5, 1},
		{"spills: right", 0.5, 1}, {"spills: found", 1, math.NaN()}, {"spills: of those said", 1. / 3, math.NaN()},
	} {
		for _, m := range resourceMetrics {
			got, without := m.of(some), m.of(none)
			if m.name == c.metric && (math.Abs(got-c.some) > 1e-12 || math.IsNaN(without) != math.IsNaN(c.none) ||
				without == without && without != c.none) {
				t.Errorf("%s: %v and %v", m.name, got, without)
			}
		}
	}
}

// Models that know registers of other programs are nearer to them than the estimate, which is off on purpose here, and
// a compiler that tells nothing has no rows.
func TestResources(t *testing.T) {
	h := onGPU(t, "star-zyx-r1", "dense-y-r1", "diamond-zy-r2", "star-zy-r2")
	rows, err := Resources(t.Context(), h, "c")
	if err != nil || len(rows) != 0 {
		t.Fatalf("without a compiler: %v, %v", rows, err)
	}
	for _, e := range h.All {
		roles := e.Space.Roles()
		for i := range e.Trials {
			x := &e.Trials[i]
			vec := roles.Of(x.Config).Int(schedule.Vector, 1)
			x.Resources = session.Resources{Registers: int(min(200+10*vec, 255))}
			if x.Resources.Registers > 210 {
				x.Resources.Spills = 16
			}
		}
	}
	h = heldOutOf(h.All) // as what was learned before knows nothing of registers
	rows, err = Resources(t.Context(), h, "c")
	if err != nil || len(rows) == 0 {
		t.Fatal(rows, err)
	}
	of := func(model, metric string) Row {
		for _, r := range rows {
			if r.Experiment == PartResources && r.Split == "stencil" && r.Model == model && r.Metric == metric {
				return r
			}
		}
		t.Fatalf("there is no row of %s, %s", model, metric)
		return Row{}
	}
	for _, m := range resourceMetrics[:3] {
		own, estimate := of(Own, m.name), of("estimate", m.name)
		if own.Groups != len(h.All) || (own.Value < estimate.Value) != m.fewer {
			t.Errorf("%s: the models have %+v, and the estimate %+v", m.name, own, estimate)
		}
	}
	e := h.All[0]
	registers, _ := byEstimate(nil, e, compiled(e))
	for i, n := range compiled(e) {
		if most := predict.Available(e.Space.Roles().Of(e.Trials[n].Config), e.Target.Machine); registers[i] > most {
			t.Errorf("%s is said to have %v of %v registers", e.Trials[n].Config, registers[i], most)
		}
	}
}
