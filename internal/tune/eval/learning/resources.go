package learning

import (
	"context"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
	"github.com/gridloom/gridloom/internal/tune/predict"
)

// takes are what trials of a kernel are said to take of registers, by some method, beside what the compiler told.
type takes struct {
	registers, told []float64
	spills, did     []bool
}

// resourceMethods are the estimate, and the models that Gridloom has. Neither lowers anything.
var resourceMethods = []struct {
	name string
	of   func(m *predict.Model, e *predict.Examples, trials []int) (registers []float64, spills []bool)
}{
	{"estimate", byEstimate},
	{Own, func(m *predict.Model, e *predict.Examples, trials []int) (registers []float64, spills []bool) {
		var configs []schedule.Config
		for _, i := range trials {
			configs = append(configs, e.Trials[i].Config)
		}
		for _, n := range m.NeedsOf(e.Kernel, configs) {
			registers, spills = append(registers, n.Registers), append(spills, n.MaySpill())
		}
		return registers, spills
	}},
}

// byEstimate says what a thread would like to have, bounded by what its limit and its block leave; it spills where it
// would like more.
func byEstimate(_ *predict.Model, e *predict.Examples, trials []int) (registers []float64, spills []bool) {
	wanted := slices.IndexFunc(predict.Features(e.API), func(f features.Feature) bool { return f.Name == "registers" })
	roles := e.Space.Roles()
	for _, i := range trials {
		most := predict.Available(roles.Of(e.Trials[i].Config), e.Target.Machine)
		registers = append(registers, min(most, e.Rows[i][wanted]))
		spills = append(spills, e.Rows[i][wanted] > most)
	}
	return registers, spills
}

// closeBy is how near a number of registers is that counts as right: compilers hand them out in eights.
const closeBy = 8

// resourceMetrics are what is judged of a kernel. What has no cases is not a number.
var resourceMetrics = []struct {
	name  string
	fewer bool // is better
	of    func(t *takes) float64
}{
	{"registers: mean error", true, func(t *takes) float64 {
		return t.mean(func(i int) (float64, bool) { return math.Abs(t.registers[i] - t.told[i]), true })
	}},
	{"registers: within 8", false, func(t *takes) float64 {
		return t.share(func(i int) (bool, bool) { return math.Abs(t.registers[i]-t.told[i]) <= closeBy, true })
	}},
	{"spills: right", false, func(t *takes) float64 {
		return t.share(func(i int) (bool, bool) { return t.spills[i] == t.did[i], true })
	}},
	{"spills: found", false, func(t *takes) float64 {
		return t.share(func(i int) (bool, bool) { return t.spills[i], t.did[i] })
	}},
	{"spills: of those said", false, func(t *takes) float64 {
		return t.share(func(i int) (bool, bool) { return t.did[i], t.spills[i] })
	}},
}

// mean is that of the trials that count.
func (t *takes) mean(of func(i int) (value float64, counts bool)) float64 {
	total, n := 0.0, 0.0
	for i := range t.told {
		if v, counts := of(i); counts {
			total, n = total+v, n+1
		}
	}
	return total / n
}

// share is how many are so, of the trials that count.
func (t *takes) share(is func(i int) (yes, counts bool)) float64 {
	return t.mean(func(i int) (float64, bool) {
		yes, counts := is(i)
		if yes {
			return 1, counts
		}
		return 0, counts
	})
}

// Resources judges what models predict of registers and spills for kernels of a part that they have not learned from,
// beside the estimate, by what the compiler told of their trials. There are no rows of devices whose compilers tell
// nothing.
func Resources(ctx context.Context, h *HeldOut, commit string) ([]Row, error) {
	var rows []Row
	for _, split := range h.splits() {
		values := make([][][]float64, len(resourceMethods)) // by method and metric, of kernels
		for i := range values {
			values[i] = make([][]float64, len(resourceMetrics))
		}
		var names []string
		for _, e := range h.judged(split) {
			trials := compiled(e)
			if len(trials) == 0 {
				continue
			}
			m, err := h.BothWithout(ctx, e, split)
			if err != nil {
				return nil, err
			}
			if m.Resources == nil { // what is left to learn from has too few
				continue
			}
			names = append(names, e.Stencil)
			for i, method := range resourceMethods {
				t := &takes{}
				t.registers, t.spills = method.of(m, e, trials)
				for _, n := range trials {
					r := &e.Trials[n].Resources
					t.told, t.did = append(t.told, float64(r.Registers)), append(t.did, r.Spills > 0)
				}
				for j, metric := range resourceMetrics {
					values[i][j] = append(values[i][j], metric.of(t))
				}
			}
		}
		for j, metric := range resourceMetrics {
			for i, method := range resourceMethods {
				var own []float64
				var of []string
				for k, v := range values[i][j] {
					if !math.IsNaN(v) {
						own, of = append(own, v), append(of, names[k])
					}
				}
				if len(own) == 0 {
					continue
				}
				r := sumUp(own, of, false, metric.fewer)
				r.Experiment, r.Model, r.Split, r.Metric = PartResources, method.name, split.Name, metric.name
				r.Device, r.Commit = h.All[0].Device, commit
				rows = append(rows, r)
			}
		}
	}
	return rows, nil
}

// compiled returns the trials that a compiler told the registers of.
func compiled(e *predict.Examples) []int {
	var list []int
	for i := range e.Trials {
		if e.Trials[i].Resources.Registers > 0 {
			list = append(list, i)
		}
	}
	return list
}
