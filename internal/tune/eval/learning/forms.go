package learning

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/learn"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
	"github.com/gridloom/gridloom/internal/tune/predict"
)

// tuned is how many configurations of a form have to run for its time to count: the best of them.
const tuned = 20

// kernelForms are the forms of a kernel that were tuned.
type kernelForms struct {
	of    *predict.Examples
	share map[string]float64 // what the best configuration of a form has of the best of all these forms
	best  string             // form
	forms []string           // by name
}

// formsOf finds the forms of a kernel, of some family alone unless it is "".
func formsOf(e *predict.Examples, family string) *kernelForms {
	k := &kernelForms{of: e, share: map[string]float64{}}
	ran, formOf := map[string]int{}, e.FormOf()
	for i := range e.Trials {
		t := &e.Trials[i]
		form := formOf(t.Config)
		if family != "" && t.Config.Family != family {
			continue
		}
		if f := e.Fraction(t); f > 0 {
			ran[form]++
			k.share[form] = max(k.share[form], f)
		}
	}
	maps.DeleteFunc(k.share, func(form string, _ float64) bool { return ran[form] < tuned })
	k.forms = slices.Sorted(maps.Keys(k.share))
	for _, form := range k.forms {
		if k.best == "" || k.share[form] > k.share[k.best] {
			k.best = form
		}
	}
	for _, form := range k.forms {
		k.share[form] /= k.share[k.best]
	}
	if k.best != "" {
		k.share[k.best] = 1
	}
	return k
}

// most returns the kernel's form of the largest number; the first by name if there are several.
func (k *kernelForms) most(number func(form string) float64) string {
	form := k.forms[0]
	for _, f := range k.forms[1:] {
		if number(f) > number(form) {
			form = f
		}
	}
	return form
}

// formPicker chooses forms of kernels that it has not learned from.
type formPicker struct {
	name  string
	learn func(ctx context.Context, h *HeldOut, k *kernelForms, s Split, others []*kernelForms) (string, error)
}

// garveys are the forests of Garvey and Abdelrahman 2018, section 6.1: ten trees on four features of a stencil.
const garveys = "forest of four features"

// formPickers are the baselines, what the paper has, and the model that Gridloom has.
var formPickers = []formPicker{
	{ZeroR, func(_ context.Context, _ *HeldOut, k *kernelForms, _ Split, others []*kernelForms) (string, error) {
		wins := map[string]float64{}
		for _, o := range others {
			wins[o.best]++
		}
		return k.most(func(f string) float64 { return wins[f] }), nil
	}},
	{Table, func(_ context.Context, _ *HeldOut, k *kernelForms, _ Split, others []*kernelForms) (string, error) {
		total, n := map[string]float64{}, map[string]float64{}
		for _, o := range others {
			for f, share := range o.share {
				total[f], n[f] = total[f]+share, n[f]+1
			}
		}
		return k.most(func(f string) float64 { return total[f] / max(1, n[f]) }), nil
	}},
	{garveys, pickByForest},
	{Own, func(ctx context.Context, h *HeldOut, k *kernelForms, s Split, _ []*kernelForms) (string, error) {
		m, err := h.Without(ctx, k.of, s)
		if err != nil {
			return "", err
		}
		predicted := k.predicted(h.rank(m, k.of))
		return k.most(func(f string) float64 { return predicted[f] }), nil
	}},
	{Both, func(ctx context.Context, h *HeldOut, k *kernelForms, s Split, _ []*kernelForms) (string, error) {
		ranked, err := h.rankBoth(ctx, k.of, s)
		if err != nil {
			return "", err
		}
		return k.first(ranked), nil
	}},
}

// first is the form of the first of a ranking that was tuned: that of the kernel that is taken. It is the first form by
// name if none is ranked.
func (k *kernelForms) first(ranked []predict.Ranked) string {
	formOf := k.of.FormOf()
	for _, x := range ranked {
		if form := formOf(x.Config); slices.Contains(k.forms, form) {
			return form
		}
	}
	return k.forms[0]
}

// ofForm are the candidates of a form that tell what it is worth: the prediction of its best alone is often too good.
const ofForm = 5

// predicted returns what the first candidates of each form are predicted to have, in the mean.
func (k *kernelForms) predicted(ranked []predict.Ranked) map[string]float64 {
	formOf := k.of.FormOf()
	sum, n := map[string]float64{}, map[string]float64{}
	for _, x := range ranked {
		form := formOf(x.Config)
		if n[form] < ofForm {
			sum[form], n[form] = sum[form]+x.Fraction, n[form]+1
		}
	}
	for form := range sum {
		sum[form] /= n[form]
	}
	return sum
}

// pickByForest classifies by what a stencil is like.
func pickByForest(_ context.Context, _ *HeldOut, k *kernelForms, _ Split, others []*kernelForms) (string, error) {
	t := &learn.Table{}
	for _, name := range features.OfGarvey {
		t.Features = append(t.Features, learn.Feature{Name: name})
	}
	for _, o := range others {
		class := slices.Index(t.Classes, o.best)
		if class < 0 {
			class, t.Classes = len(t.Classes), append(t.Classes, o.best)
		}
		t.Rows, t.Labels = append(t.Rows, o.of.Program[:len(t.Features)]), append(t.Labels, class)
	}
	f, err := learn.NewClassForest(t, learn.GarveyForest)
	if err != nil {
		return "", err
	}
	p := f.Classify(k.of.Program[:len(t.Features)])
	return k.most(func(form string) float64 {
		if class := slices.Index(t.Classes, form); class >= 0 {
			return p[class]
		}
		return -1
	}), nil
}

// Forms judges models that choose the form of a kernel, by what its best configuration has. There are no rows if no
// kernel has two forms that were tuned.
func Forms(ctx context.Context, h *HeldOut, commit string) ([]Row, error) {
	var all []*kernelForms
	for _, e := range h.All {
		if k := formsOf(e, ""); len(k.forms) > 1 { // else there is nothing to choose
			all = append(all, k)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	if err := h.Prepare(ctx, h.All, h.Without, io.Discard); err != nil {
		return nil, err
	}
	return judgeForms(ctx, h, all, formPickers, h.splits(), Row{Experiment: "form", Commit: commit})
}

// judgeForms judges models that choose the forms of some kernels, of which all have several.
func judgeForms(ctx context.Context, h *HeldOut, every []*kernelForms, pickers []formPicker, splits []Split, as Row) (
	[]Row, error) {
	var rows []Row
	for _, split := range splits {
		all := slices.DeleteFunc(slices.Clone(every), func(k *kernelForms) bool { return h.part(k.of, split) == "" })
		if len(all) == 0 {
			continue
		}
		var stencils []string
		for _, k := range all {
			stencils = append(stencils, k.of.Stencil)
		}
		var accuracy, weighted, removed []Row // of the pickers
		right, share := make([][]float64, len(pickers)), make([][]float64, len(pickers))
		random := make([]float64, len(all))
		for i, k := range all {
			left, err := h.others(split, h.part(k.of, split))
			if err != nil {
				return nil, err
			}
			others := slices.DeleteFunc(slices.Clone(every), func(o *kernelForms) bool {
				return !slices.Contains(left, o.of)
			})
			if len(others) == 0 {
				return nil, fmt.Errorf("all kernels are of one %s", split.Name)
			}
			for p, picker := range pickers {
				form, err := picker.learn(ctx, h, k, split, others)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", picker.name, err)
				}
				is := 0.0
				if form == k.best {
					is = 1
				}
				right[p], share[p] = append(right[p], is), append(share[p], k.share[form])
			}
			for _, form := range k.forms {
				random[i] += k.share[form] / float64(len(k.forms))
			}
		}
		for p, picker := range pickers {
			figure := func(metric string, values [][]float64, random float64) Row {
				r := sumUp(values[p], stencils, false, false)
				r.Experiment, r.Model, r.Split, r.Metric = as.Experiment, picker.name, split.Name, metric
				r.ZeroR, r.Table = rounded(mean(values[0], stencils)), rounded(mean(values[1], stencils))
				r.Random = rounded(random)
				r.Device, r.Commit = all[0].of.Device, as.Commit
				r.Gain, r.GainLow, r.GainHigh = newGroups(stencils).gain(values[p], values[1], false)
				return r
			}
			chance := 0.0
			for _, k := range all {
				chance += 1 / float64(len(k.forms)) / float64(len(all))
			}
			accuracy = append(accuracy, figure("accuracy", right, chance))
			weighted = append(weighted, figure("penalty-weighted accuracy", share, mean(random, stencils)))
			removed = append(removed, lossRemoved(share[p], share[0], stencils, weighted[p]))
		}
		rows = slices.Concat(rows, accuracy, weighted, removed)
	}
	return rows, nil
}

// mean is that of groups, of the means of their kernels.
func mean(values []float64, names []string) float64 { return newGroups(names).mean(values, nil) }

// lossRemoved says how much of what ZeroR loses is lost no more.
func lossRemoved(share, zeror []float64, names []string, r Row) Row {
	g := newGroups(names)
	removed := func(times []int) float64 {
		loss := 1 - g.mean(zeror, times)
		if loss == 0 {
			return 0
		}
		return 1 - (1-g.mean(share, times))/loss
	}
	var list []float64
	g.drawn(func(times []int) { list = append(list, removed(times)) })
	low, high := ends(list)
	return Row{
		Experiment: r.Experiment, Model: r.Model, Split: r.Split, Metric: "of zeror's loss removed",
		Value: rounded(removed(nil)), Low: rounded(low), High: rounded(high), Groups: r.Groups, Kernels: r.Kernels,
		Device: r.Device, Commit: r.Commit,
	}
}
