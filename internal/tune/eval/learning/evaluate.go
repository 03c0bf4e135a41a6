package learning

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gridloom/gridloom/internal/tune/predict"
)

// Row is a figure of a model.
type Row struct {
	// Experiment is "candidates" for picks among those that all kernels were recorded with, "live" for picks among all
	// candidates that were measured, "form" for the choice of a kernel's form, "resources" for what is predicted of
	// registers, and "search" for searches; those of a device that models have not learned from begin with "transfer".
	Experiment string  `json:"experiment"`
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
	Neighbours float64 `json:"baseline_neighbours"` // five of them, along principal components
	// Gain is how much better the figure is than the table's, with its paired 95 % interval. Fewer runs are better.
	Gain     float64 `json:"gain"`
	GainLow  float64 `json:"gain_low"`
	GainHigh float64 `json:"gain_high"`
	// Over is how much better it is than the neighbours', likewise.
	Over     float64 `json:"over_neighbours"`
	OverLow  float64 `json:"over_neighbours_low"`
	OverHigh float64 `json:"over_neighbours_high"`
	Groups   int     `json:"groups"`
	Kernels  int     `json:"kernels"`
	// Learned is how many kernels the models have learned from, in the mean over what is left out. 0 is all others.
	Learned float64 `json:"learned,omitempty"`
	Device  string  `json:"device"`
	Commit  string  `json:"commit"`
}

// The parts that figures are made in.
const (
	PartCandidates = "candidates"
	PartForm       = "form"
	PartResources  = "resources" // registers and spills
	PartLive       = "live"      // picks and searches
	PartChoices    = "choices"
)

// Parts are all parts, in the order that they are made in.
var Parts = []string{PartCandidates, PartForm, PartResources, PartChoices, PartLive}

// Part returns the part that a row belongs to.
func (r *Row) Part() string {
	switch r.Experiment {
	case PartCandidates, PartForm, PartResources:
		return r.Experiment
	case choice:
		return PartChoices
	}
	return PartLive
}

// Split divides kernels into parts, each of which is left out once. Kernels of the part "" are never left out.
type Split struct {
	Name string
	part func(e *predict.Examples, stencils map[string]int) string
	// alike reports whether a kernel is left out as well, with the part that another is of; nil leaves no others out.
	alike func(e, of *predict.Examples) bool
}

// Splits leave out a tenth of the stencils, a pattern, a suite of programs that are used (Lift's, or the examples), or
// all drawn programs at once: they are unlike all others. The synthetic kernels of Garvey are never left out as a
// suite: most that models know is of them. Of several devices each is left out, together with a tenth of the stencils
// that others have measured: models know neither the device nor the program then.
var Splits = []Split{
	{Name: "stencil", part: tenth},
	{Name: "pattern", part: func(e *predict.Examples, _ map[string]int) string { return e.Pattern() }},
	{Name: "suite", part: func(e *predict.Examples, _ map[string]int) string { return suiteOf(e.Name) }},
	{Name: drawn, part: func(e *predict.Examples, _ map[string]int) string { return drawnOf(e.Name) }},
	{
		Name:  "device",
		part:  func(e *predict.Examples, stencils map[string]int) string { return tenth(e, stencils) + " " + e.Device },
		alike: func(e, of *predict.Examples) bool { return e.Device == of.Device },
	},
}

// tenth is the tenth of the stencils that a kernel's is of.
func tenth(e *predict.Examples, stencils map[string]int) string {
	return fmt.Sprint(stencils[e.Stencil] % outerParts)
}

// noun is what a split leaves out, for sentences.
func noun(split string) string {
	if split == drawn {
		return "drawn program"
	}
	return split
}

// Evaluate judges all pickers by all splits and metrics. log is told what is under way.
func Evaluate(ctx context.Context, h *HeldOut, commit string, log io.Writer) ([]Row, error) {
	if len(h.All) == 0 {
		return nil, errors.New("no kernel was recorded with the candidates that all kernels share")
	}
	splits := h.splits()
	if len(splits) == 0 {
		return nil, fmt.Errorf("without %s nothing is judged, or nothing is left to learn from",
			strings.Join(h.Wanted, ", "))
	}
	for _, s := range Splits {
		if h.wants(s) && !slices.ContainsFunc(splits, func(x Split) bool { return x.Name == s.Name }) {
			fmt.Fprintf(log, "note: no %s is left out: there is none, or nothing else to learn from\n", noun(s.Name))
		}
	}
	var rows []Row
	for _, split := range splits {
		all, results, err := validate(ctx, h, Pickers, split, log)
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
		both := slices.IndexFunc(Pickers, func(p Picker) bool { return p.Name == Both })
		var picks []predict.Pick
		var names []string
		for k, j := range results[both] {
			picks = append(picks, predict.Pick{Fraction: j.first(), Distance: h.distance(all[k], split)})
			names = append(names, all[k].Stencil)
		}
		rows = append(rows, coverage(picks, names, Row{
			Experiment: "candidates", Model: Both, Split: split.Name, Metric: inInterval,
			Device: all[0].Device, Commit: commit,
		}))
	}
	return rows, nil
}

// inInterval is the metric of how many first picks lie in the interval that others make.
const inInterval = "in the 90 % interval"

// coverage returns how many first picks lie in the interval that is made of the first picks for other stencils that are
// as far from what was learned from.
func coverage(picks []predict.Pick, stencils []string, r Row) Row {
	var intervals []predict.Expectation
	for k, own := range picks {
		var others []predict.Pick
		for i, x := range picks {
			if stencils[i] != stencils[k] {
				others = append(others, x)
			}
		}
		e := predict.Expectation{Low: 1} // nothing lies in it
		if len(others) > 0 {
			e = predict.ExpectAt(others, own.Distance)
		}
		intervals = append(intervals, e)
	}
	return covered(picks, intervals, stencils, r)
}

// covered returns how many first picks lie in their intervals.
func covered(picks []predict.Pick, intervals []predict.Expectation, stencils []string, r Row) Row {
	inside := make([]float64, len(picks))
	for k, own := range picks {
		if e := intervals[k]; e.Low <= own.Fraction && own.Fraction <= e.High {
			inside[k] = 1
		}
	}
	s := sumUp(inside, stencils, false, false)
	s.Experiment, s.Model, s.Split, s.Metric = r.Experiment, r.Model, r.Split, r.Metric
	s.Device, s.Commit = r.Device, r.Commit
	return s
}

// validate returns the kernels that a split leaves out, and for each picker their orders by models that have not
// learned from their part.
func validate(ctx context.Context, h *HeldOut, pickers []Picker, split Split, log io.Writer) (
	[]*predict.Examples, [][]*judged, error) {
	parts, kernels := h.parts(split), h.judged(split)
	results := make([][]*judged, len(pickers))
	for i := range results {
		results[i] = make([]*judged, len(kernels))
	}
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	var mutex sync.Mutex
	done := 0
	for _, part := range parts {
		others, err := h.others(split, part)
		if err != nil {
			return nil, nil, err
		}
		for i, p := range pickers {
			work.Go(func() error {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				orders, err := p.judge(ctx, h, others, h.of(split, part))
				if err != nil {
					return err
				}
				for k, e := range kernels {
					if h.part(e, split) == part {
						results[i][k], orders = orders[0], orders[1:]
					}
				}
				mutex.Lock()
				defer mutex.Unlock()
				done++
				fmt.Fprintf(log, "%d of %d models without a %s\n", done, len(parts)*len(pickers),
					noun(split.Name))
				return nil
			})
		}
	}
	if err := work.Wait(); err != nil {
		return nil, nil, err
	}
	return kernels, results, nil
}

// judge returns the orders of kernels by a model that learns from others.
func (p *Picker) judge(ctx context.Context, h *HeldOut, others, kernels []*predict.Examples) ([]*judged, error) {
	score, err := p.Learn(ctx, h, others)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	orders := make([]*judged, len(kernels))
	for k, e := range kernels {
		if orders[k], err = judge(e, score); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name, err)
		}
		if orders[k] == nil {
			return nil, fmt.Errorf("%s: none of the candidates ran", e.Name)
		}
	}
	return orders, nil
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
	own := sumUp(values[picker], names, m.Geometric, m.Fewer)
	r.Value, r.Low, r.High, r.Median, r.Worst = own.Value, own.Low, own.High, own.Median, own.Worst
	r.Groups, r.Kernels = own.Groups, own.Kernels
	r.Table, r.ZeroR = rounded(mean(values[table], nil)), rounded(mean(values[zeror], nil))
	r.Random = rounded(mean(random, nil))
	gain := func(over int) (value, low, high float64) {
		if m.Fewer {
			return g.gain(values[over], values[picker], m.Geometric)
		}
		return g.gain(values[picker], values[over], m.Geometric)
	}
	r.Gain, r.GainLow, r.GainHigh = gain(table)
	if near := slices.IndexFunc(Pickers, func(p Picker) bool { return p.Name == Neighbours }); near >= 0 {
		r.Neighbours = rounded(mean(values[near], nil))
		r.Over, r.OverLow, r.OverHigh = gain(near)
	}
	return r
}
