package learning

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/predict"
)

// Row is a figure of a model.
type Row struct {
	Experiment string  `json:"experiment"` // "candidates": picks among those that all kernels were recorded with
	Model      string  `json:"model"`
	Split      string  `json:"split"` // what is left out
	Metric     string  `json:"metric"`
	Value      float64 `json:"value"` // the mean over stencils of the means of their kernels
	Low        float64 `json:"low"`   // its 95 % interval, stencils drawn anew
	High       float64 `json:"high"`
	Median     float64 `json:"median"` // of kernels, and the worst
	Worst      float64 `json:"worst"`
	ZeroR      float64 `json:"baseline_zeror"`
	Table      float64 `json:"baseline_table"`
	Random     float64 `json:"baseline_random"`
	// Gain is how much better the figure is than the table's, with its paired 95 % interval. Fewer runs are better.
	Gain     float64 `json:"gain"`
	GainLow  float64 `json:"gain_low"`
	GainHigh float64 `json:"gain_high"`
	Groups   int     `json:"groups"`
	Kernels  int     `json:"kernels"`
	Device   string  `json:"device"`
	Commit   string  `json:"commit"`
}

// Split divides kernels into parts, each of which is left out once.
type Split struct {
	Name string
	part func(e *predict.Examples, stencils map[string]int) string
}

// Splits leave out a tenth of the stencils, or a pattern.
var Splits = []Split{
	{"stencil", func(e *predict.Examples, stencils map[string]int) string {
		return fmt.Sprint(stencils[e.Stencil] % 10)
	}},
	{"pattern", func(e *predict.Examples, _ map[string]int) string { return e.Pattern() }},
}

// Evaluate judges all pickers by all splits. log is told what is under way.
func Evaluate(ctx context.Context, list []*predict.Recorded, commit string, log io.Writer) ([]Row, error) {
	var all []*predict.Examples
	stencils := map[string]int{}
	for _, r := range list {
		e := predict.Describe(r)
		if !slices.Contains(e.Drawn, true) {
			continue // nothing of what all kernels have was recorded of it
		}
		all = append(all, e)
		if _, ok := stencils[e.Stencil]; !ok {
			stencils[e.Stencil] = len(stencils)
		}
	}
	var rows []Row
	for _, split := range Splits {
		results, err := validate(ctx, all, split, stencils, log)
		if err != nil {
			return nil, err
		}
		for i, p := range Pickers {
			for m := range Metrics {
				rows = append(rows, row(results, all, i, m, Row{
					Experiment: "candidates", Model: p.Name, Split: split.Name, Metric: Metrics[m].Name,
					Device: list[0].Device, Commit: commit,
				}))
			}
		}
	}
	return rows, nil
}

// validate returns, for each picker, the orders of all kernels by models that have not learned from their part.
func validate(ctx context.Context, all []*predict.Examples, split Split, stencils map[string]int, log io.Writer) (
	[][]*judged, error) {
	var parts []string
	for _, e := range all {
		if p := split.part(e, stencils); !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	if len(parts) < 2 {
		return nil, fmt.Errorf("all kernels are of one %s: nothing is left to learn from without it", split.Name)
	}
	results := make([][]*judged, len(Pickers))
	for i := range results {
		results[i] = make([]*judged, len(all))
	}
	for n, part := range parts {
		fmt.Fprintf(log, "without part %d of %d by %s\n", n+1, len(parts), split.Name)
		others := slices.DeleteFunc(slices.Clone(all), func(e *predict.Examples) bool {
			return split.part(e, stencils) == part
		})
		for i, p := range Pickers {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			score, err := p.Learn(others)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name, err)
			}
			for k, e := range all {
				if split.part(e, stencils) != part {
					continue
				}
				j, ok := judge(e, score)
				if !ok {
					return nil, fmt.Errorf("%s: none of the candidates ran", e.Name)
				}
				results[i][k] = j
			}
		}
	}
	return results, nil
}

// row sums up a metric of a picker.
func row(results [][]*judged, all []*predict.Examples, picker, metric int, r Row) Row {
	m := Metrics[metric]
	values := make([][]float64, len(Pickers)) // scaled, by picker and kernel
	for i := range values {
		values[i] = make([]float64, len(all))
		for k, j := range results[i] {
			values[i][k] = scale(m.of(j), m.Geometric)
		}
	}
	random := make([]float64, len(all))
	for k, j := range results[0] {
		random[k] = scale(atRandom(j, m.of, m.Geometric, uint64(k)), m.Geometric)
	}
	var stencils []string
	of := map[string][]int{}
	for k, e := range all {
		if of[e.Stencil] == nil {
			stencils = append(stencils, e.Stencil)
		}
		of[e.Stencil] = append(of[e.Stencil], k)
	}
	mean := func(values []float64, times []int) float64 { // stencils weigh alike
		total, n := 0.0, 0.0
		for s, name := range stencils {
			own := 0.0
			for _, k := range of[name] {
				own += values[k] / float64(len(of[name]))
			}
			total, n = total+float64(times[s])*own, n+float64(times[s])
		}
		return unscale(total/n, m.Geometric)
	}
	once := slices.Repeat([]int{1}, len(stencils))
	table := slices.IndexFunc(Pickers, func(p Picker) bool { return p.Name == Table })
	zeror := slices.IndexFunc(Pickers, func(p Picker) bool { return p.Name == ZeroR })
	r.Value, r.Table, r.ZeroR = mean(values[picker], once), mean(values[table], once), mean(values[zeror], once)
	r.Random, r.Groups, r.Kernels = mean(random, once), len(stencils), len(all)
	better := 1.0
	if m.Name == "runs to 90 %" {
		better = -1
	}
	own := make([]float64, len(all))
	for k := range own {
		own[k] = unscale(values[picker][k], m.Geometric)
	}
	slices.Sort(own)
	r.Median, r.Worst = own[len(own)/2], own[0]
	if better < 0 {
		r.Worst = own[len(own)-1]
	}
	var means, gains []float64
	draw := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		times := make([]int, len(stencils))
		for range stencils {
			times[draw.IntN(len(stencils))]++
		}
		x := mean(values[picker], times)
		means, gains = append(means, x), append(gains, better*(x-mean(values[table], times)))
	}
	r.Gain = better * (r.Value - r.Table)
	r.Low, r.High = ends(means)
	r.GainLow, r.GainHigh = ends(gains)
	for _, v := range []*float64{&r.Value, &r.Low, &r.High, &r.Median, &r.Worst, &r.ZeroR, &r.Table, &r.Random, &r.Gain,
		&r.GainLow, &r.GainHigh} {
		*v = rounded(*v)
	}
	return r
}

// ends returns the interval that 95 % of values lie in.
func ends(values []float64) (low, high float64) {
	slices.Sort(values)
	n := float64(len(values) - 1)
	return values[int(math.Round(0.025*n))], values[int(math.Round(0.975*n))]
}
