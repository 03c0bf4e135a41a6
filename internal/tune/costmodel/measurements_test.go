package costmodel_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
)

// measured is a kernel that was timed on an H200.
type measured struct {
	name, dtype, grid, plan string
	bare                    bool
	rate                    float64 // GStencil/s
	known                   costmodel.Known
	predicted               float64
}

// benchRow is a row of bench temporal.
type benchRow struct {
	Case, DType, Grid, Plan, Commit string
	Rate                            float64 `json:"gstencils"`
	Bare                            float64 `json:"bare_gstencils"`
	BarePlan                        string  `json:"bare_plan"`
	Registers, Spills               int
}

// comparable are the commits whose kernels are those of today, or nearly. Those of before had other code at
// edges, which took up to twice as long.
var comparable = []string{
	"112ef209e3fd", "42ab6f66dd8f", "38464ffc6f76", "d289fe0b358d", "cf98a6ad5cfa", "7f7867810df0",
	"e77f3112b1bf", "193dce860c81", "9ad1150a27cf", "30c539ac6c9e", "278ba9a4955a", "257a96dac15d",
	"a87ce97c9ca2",
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile("../../../bench/results/" + name)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// measurements returns the kernels of the committed results, each once.
func measurements(t *testing.T) []*measured {
	t.Helper()
	var list []*measured
	add := func(m measured) {
		if !slices.ContainsFunc(list, func(x *measured) bool {
			return x.name == m.name && x.dtype == m.dtype && x.plan == m.plan && x.bare == m.bare
		}) {
			list = append(list, &m)
		}
	}
	for _, file := range []string{"temporal-h200.json", "temporal-rims-h200.json"} {
		var rows []benchRow
		read(t, file, &rows)
		for _, r := range rows {
			if !slices.Contains(comparable, r.Commit) {
				continue
			}
			known := costmodel.Known{Registers: r.Registers, Spills: r.Spills}
			add(measured{name: r.Case, dtype: r.DType, grid: r.Grid, plan: r.Plan, rate: r.Rate, known: known})
			if r.BarePlan != "" && !strings.Contains(r.BarePlan, "resident") { // another grid barrier's interval
				add(measured{name: r.Case, dtype: r.DType, grid: r.Grid, plan: r.BarePlan, rate: r.Bare, bare: true})
			}
		}
	}
	var stories []struct {
		Loops []struct {
			Depths []struct {
				Kernel, Best string
				Rate         float64 `json:"gstencils"`
			}
		}
	}
	read(t, "tune-deep-h200.json", &stories)
	for _, d := range stories[0].Loops[0].Depths[1:] {
		add(measured{
			name: "star5", dtype: "double", grid: "16384x16384", plan: d.Kernel + "{" + d.Best + "}", rate: d.Rate,
		})
	}
	return list
}

// load binds a case of bench temporal to a grid.
func load(t *testing.T, name, dtype, grid string) *ir.Binding {
	t.Helper()
	text, err := os.ReadFile("../eval/bench/temporal/" + name + ".loom")
	if err != nil {
		t.Fatal(err)
	}
	p, list := lang.Load(diag.NewSource(name+".loom", strings.ReplaceAll(string(text), "double", dtype)))
	if list.HasErrors() {
		t.Fatal(list)
	}
	sizes := strings.Split(grid, "x")
	set := map[string]string{"T": "10000"}
	for i, axis := range []string{"L", "M", "N"}[3-len(sizes):] {
		set[axis] = sizes[i]
	}
	b, list := p.In(arith.Contract).Bind(set)
	if list.HasErrors() {
		t.Fatal(list)
	}
	return b
}

func h200(t *testing.T) *machine.Machine {
	t.Helper()
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func model(t *testing.T, b *ir.Binding, bare bool) *costmodel.Model {
	t.Helper()
	m := h200(t)
	model, err := costmodel.New(b, lower.Options{
		Target: lower.GPU, Sized: true, AnyIntegers: true, Machine: m, Bare: bare,
	}, m)
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// rate predicts the GStencil/s of a plan.
func (m *measured) predict(t *testing.T, b *ir.Binding) (costmodel.Class, costmodel.Evidence) {
	plan, err := schedule.ParsePlan(m.plan)
	if err != nil {
		t.Fatal(err)
	}
	class, e, err := model(t, b, m.bare).With(plan, m.known)
	if err != nil {
		t.Fatalf("%s: %v", m.plan, err)
	}
	updates := float64(plan.Kernels[0].Depth)
	for _, x := range b.Program.Calls[0].Body[0].Domain {
		updates *= float64(b.Range(x).Len())
	}
	m.predicted = updates / e.Predicted / 1e9
	return class, e
}

// The model orders kernels as their times do: all of them, and those of one program by themselves, whose depth and
// tile are chosen by it.
func TestAgainstMeasurements(t *testing.T) {
	list := measurements(t)
	if len(list) < 35 {
		t.Fatalf("%d kernels are not enough", len(list))
	}
	var group sync.WaitGroup
	for _, m := range list {
		b := load(t, m.name, m.dtype, m.grid)
		group.Go(func() { m.predict(t, b) })
	}
	group.Wait()
	var rates, predicted, off []float64
	best := map[string]*measured{} // by case and type
	for _, m := range list {
		rates, predicted = append(rates, m.rate), append(predicted, m.predicted)
		off = append(off, math.Abs(math.Log(m.predicted/m.rate)))
		if key := fmt.Sprint(m.name, m.dtype, m.bare); best[key] == nil || best[key].rate < m.rate {
			best[key] = m
		}
		t.Logf("%-9s %-6s bare %-5v %6.0f predicted %6.0f %5.2f %s", m.name, m.dtype, m.bare, m.rate, m.predicted,
			m.predicted/m.rate, m.plan)
	}
	var ofBest, predictedBest []float64
	for _, m := range best {
		ofBest, predictedBest = append(ofBest, m.rate), append(predictedBest, m.predicted)
	}
	slices.Sort(off)
	all, cases := rankCorrelation(rates, predicted), rankCorrelation(ofBest, predictedBest)
	t.Logf("rank correlation %.3f of %d kernels, %.3f of the best of %d cases; half are off by %.0f %% at most, "+
		"nine of ten by %.0f %%", all, len(list), cases, len(best), 100*off[len(off)/2], 100*off[len(off)*9/10])
	if all < 0.94 || cases < 0.94 || off[len(off)/2] > 0.1 || off[len(off)*9/10] > 0.3 {
		t.Error("predictions are far from what was measured")
	}
}

// rankCorrelation is Spearman's, of figures that are all different.
func rankCorrelation(a, b []float64) float64 {
	ranks := func(x []float64) []float64 {
		order := make([]int, len(x))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
		r := make([]float64, len(x))
		for rank, i := range order {
			r[i] = float64(rank)
		}
		return r
	}
	ra, rb, sum := ranks(a), ranks(b), 0.0
	for i := range ra {
		sum += (ra[i] - rb[i]) * (ra[i] - rb[i])
	}
	n := float64(len(a))
	return 1 - 6*sum/(n*(n*n-1))
}
