package learning

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// Evaluate judges all pickers by all splits and metrics. log is told what is under way.
func Evaluate(ctx context.Context, h *HeldOut, commit string, log io.Writer) ([]Row, error) {
	if len(h.All) == 0 {
		return nil, errors.New("no kernel was recorded with the candidates that all kernels share")
	}
	all, stencils := h.All, h.stencils
	var rows []Row
	for _, split := range Splits {
		results, err := validate(ctx, all, split, stencils, log)
		if err != nil {
			return nil, err
		}
		for m := range Metrics {
			for i, p := range Pickers {
				rows = append(rows, row(results, all, i, m, Row{
					Experiment: "candidates", Model: p.Name, Split: split.Name, Metric: Metrics[m].Name,
					Device: all[0].Device, Commit: commit,
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
	names := make([]string, len(all))
	for k, e := range all {
		names[k] = e.Stencil
	}
	g := newGroups(names)
	mean := func(values []float64, times []int) float64 { return unscale(g.mean(values, times), m.Geometric) }
	table := slices.IndexFunc(Pickers, func(p Picker) bool { return p.Name == Table })
	zeror := slices.IndexFunc(Pickers, func(p Picker) bool { return p.Name == ZeroR })
	fewer := m.Name == "runs to 90 %"
	better := 1.0
	if fewer {
		better = -1
	}
	own := sumUp(values[picker], names, m.Geometric, fewer)
	r.Value, r.Low, r.High, r.Median, r.Worst = own.Value, own.Low, own.High, own.Median, own.Worst
	r.Groups, r.Kernels = own.Groups, own.Kernels
	r.Table, r.ZeroR = rounded(mean(values[table], nil)), rounded(mean(values[zeror], nil))
	r.Random = rounded(mean(random, nil))
	var gains []float64
	g.drawn(func(times []int) {
		gains = append(gains, better*(mean(values[picker], times)-mean(values[table], times)))
	})
	r.Gain = rounded(better * (mean(values[picker], nil) - mean(values[table], nil)))
	low, high := ends(gains)
	r.GainLow, r.GainHigh = rounded(low), rounded(high)
	return r
}
