package learning

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/measure"
)

// Plots are what pictures of models show that have not learned from a kernel's stencil. Candidates are those that all
// kernels share. Fractions are of the best speed that was recorded of a kernel.
type Plots struct {
	Device     string
	Commit     string
	Kernels    int
	Stencils   int
	Candidates []Candidate
	Runs       []RunsCurve
	Importance []Row // of features, the largest first: see importance
	Confusion  Confusion
	Curve      []Row // the learning curve: see learningCurve
}

// Candidate is a candidate of a kernel, with what our model predicted.
type Candidate struct{ Predicted, Measured float64 }

// RunsCurve are the parts of all kernels of which a model has a candidate with 0.9 of the best candidate after a run,
// after two, and so on: experiment "runs".
type RunsCurve struct {
	Model string
	Parts []Row // 50
}

// Random is the model whose orders are random.
const Random = "random"

// plotted are the models that plots compare.
func plotted(names ...string) []Picker {
	return slices.DeleteFunc(slices.Clone(Pickers), func(p Picker) bool { return !slices.Contains(names, p.Name) })
}

// NewPlots judges models for pictures. log is told what is under way.
func NewPlots(ctx context.Context, h *HeldOut, commit string, log io.Writer) (*Plots, error) {
	if len(h.All) == 0 {
		return nil, errors.New("no kernel was recorded with the candidates that all kernels share")
	}
	pickers := plotted(Table, Neighbours, Own)
	_, results, err := validate(ctx, h, pickers, Splits[0], log)
	if err != nil {
		return nil, err
	}
	p := &Plots{Device: h.All[0].Device, Commit: commit, Kernels: len(h.All), Stencils: len(h.stencils)}
	var names []string
	for _, e := range h.All {
		names = append(names, e.Stencil)
	}
	for i, picker := range pickers {
		p.Runs = append(p.Runs, runsCurve(picker.Name, names, results[i], (*judged).within))
		if picker.Name == Own {
			for _, j := range results[i] {
				for k := range j.fraction {
					p.Candidates = append(p.Candidates, Candidate{j.predicted[k], j.fraction[k]})
				}
			}
		}
	}
	p.Runs = append(p.Runs, runsCurve(Random, names, results[0], (*judged).withinAtRandom))
	fmt.Fprintln(log, "features")
	if p.Importance, err = importance(ctx, h); err != nil {
		return nil, err
	}
	fmt.Fprintln(log, "forms")
	if p.Confusion, err = confusion(ctx, h); err != nil {
		return nil, err
	}
	p.Curve, err = learningCurve(ctx, h, log)
	return p, err
}

// runsCurve sums up how likely kernels have something near the best after so many runs.
func runsCurve(model string, stencils []string, list []*judged, within func(j *judged) []float64) RunsCurve {
	parts := make([][]float64, mostRuns) // by kernel
	for _, j := range list {
		for run, p := range within(j) {
			parts[run] = append(parts[run], p)
		}
	}
	c := RunsCurve{Model: model}
	for run, values := range parts {
		r := sumUp(values, stencils, false, false)
		r.Experiment, r.Model, r.Split = "runs", model, Splits[0].Name
		r.Metric = fmt.Sprintf("kernels with 90 %% within %d", run+1)
		c.Parts = append(c.Parts, r)
	}
	return c
}

// within is 1 from the run on that is near the best, and 0 before.
func (j *judged) within() []float64 {
	parts := make([]float64, mostRuns)
	for run := j.near(); run <= mostRuns; run++ {
		parts[run-1] = 1
	}
	return parts
}

// withinAtRandom is the same for random orders, of which the chance is known: it is that of not drawing any of those
// near the best in so many runs.
func (j *judged) withinAtRandom() []float64 {
	near := 0
	for _, f := range j.fraction {
		if f >= nearBest*j.best {
			near++
		}
	}
	parts := make([]float64, mostRuns)
	none, n := 1.0, len(j.fraction)
	for run := range parts {
		none *= max(0, float64(n-near-run)) / max(1, float64(n-run))
		parts[run] = 1 - none
	}
	return parts
}

// Confusion says which forms our model chose for kernels of which another form was the best, or the same.
type Confusion struct {
	Forms   []string
	Kernels [][]int // by the best form and the chosen one
}

// confusion counts the forms of kernels of which several were tuned; it is empty if there are none.
func confusion(ctx context.Context, h *HeldOut) (Confusion, error) {
	own := formPickers[slices.IndexFunc(formPickers, func(p formPicker) bool { return p.name == Own })]
	chosen := map[[2]string]int{}
	var c Confusion
	for _, e := range h.All {
		k := formsOf(e, "")
		if len(k.forms) < 2 {
			continue
		}
		form, err := own.learn(ctx, h, k, Splits[0], nil)
		if err != nil {
			return c, err
		}
		chosen[[2]string{k.best, form}]++
		c.Forms = append(c.Forms, k.best, form)
	}
	slices.Sort(c.Forms)
	c.Forms = slices.Compact(c.Forms)
	for _, best := range c.Forms {
		var row []int
		for _, form := range c.Forms {
			row = append(row, chosen[[2]string{best, form}])
		}
		c.Kernels = append(c.Kernels, row)
	}
	return c, nil
}

// Rows are the figures of the plots. Candidates are summed up by what was predicted of them, in tenths: experiment
// "predicted-measured", with the mean of what was measured, and the interval that nine of ten lie in. Counts of forms,
// experiment "confusion", have no interval.
func (p *Plots) Rows() []Row {
	made := func(experiment, model, metric string, value float64) Row {
		return Row{Experiment: experiment, Model: model, Split: Splits[0].Name, Metric: metric, Value: rounded(value),
			Low: rounded(value), High: rounded(value), Groups: p.Stencils, Kernels: p.Kernels}
	}
	tenths := make([][]float64, 10)
	for _, c := range p.Candidates {
		at := max(0, min(9, int(10*c.Predicted)))
		tenths[at] = append(tenths[at], c.Measured)
	}
	var rows []Row
	for at, list := range tenths {
		if len(list) == 0 {
			continue
		}
		slices.Sort(list)
		total := 0.0
		for _, f := range list {
			total += f / float64(len(list))
		}
		r := made("predicted-measured", Own, fmt.Sprintf("measured where 0.%d is predicted", at), total)
		r.Low, r.High = rounded(list[len(list)/20]), rounded(list[len(list)-1-len(list)/20])
		r.Median, r.Worst = rounded(measure.Median(list)), rounded(list[0])
		rows = append(rows, r)
	}
	for _, c := range p.Runs {
		rows = append(rows, c.Parts...)
	}
	rows = append(rows, p.Importance...)
	for i, best := range p.Confusion.Forms {
		for k, form := range p.Confusion.Forms {
			if n := p.Confusion.Kernels[i][k]; n > 0 {
				metric := fmt.Sprintf("%s is best, %s chosen", best, form)
				rows = append(rows, made("confusion", Own, metric, float64(n)))
			}
		}
	}
	rows = append(rows, p.Curve...)
	for i := range rows {
		rows[i].Device, rows[i].Commit = p.Device, p.Commit
	}
	return rows
}
