package contest

import (
	"fmt"
	"io"
	"math"
	"slices"
)

// TechniqueRow is what a grouped search finds with a technique of loading alone (Garvey 2018, Table 4), averaged over
// the kernels: speed-ups geometrically, 0 if nothing is found for one.
type TechniqueRow struct {
	Technique      string  `json:"technique"`
	Strategy       string  `json:"strategy"`
	OverRandom     float64 `json:"speedup_over_random"`         // of 1,000 configurations of all techniques
	OverAsMany     float64 `json:"speedup_over_random_as_many"` // of as many as the search compiled, of all techniques
	Configurations float64 `json:"configurations"`              // compiled
	Best           int     `json:"best_count"`                  // kernels for which nobody found a faster one
}

// techniques averages over the kernels by technique.
func (t *table) techniques() []TechniqueRow {
	random := slices.IndexFunc(t.rowsOf, func(r GarveyRow) bool { return r.Strategy == randomRow })
	var list []TechniqueRow
	for i, x := range techniques {
		for s, o := range grouped {
			if !o.breakdown {
				continue
			}
			row := TechniqueRow{Technique: x.name, Strategy: o.name}
			n := float64(len(t.kernels))
			var cells []searchCost
			for k := range t.kernels {
				e := t.by[s][k][i]
				cells = append(cells, e)
				row.Configurations += e.Configurations / n
				row.OverAsMany += math.Log(timesRatio(t.random[s][k][i], e.Best)) / n
				if e.Best == t.best[k] {
					row.Best++
				}
			}
			row.OverRandom, row.OverAsMany = t.speedup(cells, random), math.Exp(row.OverAsMany)
			list = append(list, row)
		}
	}
	return list
}

// timesRatio is a time over another, the speed of the second; 0 if one of them is of nothing that works.
func timesRatio(a, b float64) float64 {
	if math.IsInf(a, 1) || math.IsInf(b, 1) {
		return 0
	}
	return a / b
}

// What forests learn from.
const (
	fromWhole  = "whole recordings"
	fromLabels = "tuned forms"
)

// predict adds rows of grouped searches with the technique that a forest chooses. For each search there is a forest, as
// in the paper (6.3): it learns the technique with which that search found the best of other kernels. One more has
// learned from labels, which are the same for all searches. Neither knows the stencil that it chooses for.
func (t *table) predict(labels []Label, log io.Writer) error {
	var own []labelled // by kernel; their techniques are not known yet
	var stencils []string
	for _, name := range t.kernels {
		group, values, err := garveyFeatures(name, false)
		if err != nil {
			return err
		}
		stencil, err := stencilOf(name)
		if err != nil {
			return err
		}
		own, stencils = append(own, labelled{group: group, features: values}), append(stencils, stencil)
	}
	given, err := labelledBy(labels)
	if err != nil {
		return err
	}
	whole := make([][]labelled, len(grouped)) // by search: its best techniques
	for s := range grouped {
		for k, l := range own {
			whole[s] = append(whole[s], labelled{stencils[k], l.features, leastTime(t.by[s][k])})
		}
	}
	for _, from := range []struct {
		name string
		of   [][]labelled
	}{{fromWhole, whole}, {fromLabels, slices.Repeat([][]labelled{given}, len(grouped))}} {
		if from.name == fromLabels && len(given) == 0 {
			continue
		}
		if !canLearn(stencils, from.of[0]) {
			fmt.Fprintf(log, "note: nothing is predicted from %s: they are all of one stencil\n", from.name)
			continue
		}
		for s := range grouped {
			if err := t.predictBy(s, from.name, own, stencils, from.of[s]); err != nil {
				return err
			}
		}
	}
	return nil
}

// canLearn reports whether there is another stencil to learn from for each.
func canLearn(stencils []string, learned []labelled) bool {
	for _, s := range stencils {
		if !slices.ContainsFunc(learned, func(l labelled) bool { return l.group != s }) {
			return false
		}
	}
	return true
}

// labelledBy finds the techniques of labels.
func labelledBy(labels []Label) ([]labelled, error) {
	var list []labelled
	for _, l := range labels {
		i := slices.IndexFunc(techniques, func(t technique) bool { return t.name == l.Technique })
		if i < 0 {
			return nil, fmt.Errorf("%q is no technique of loading", l.Technique)
		}
		list = append(list, labelled{l.Stencil, l.Features, i})
	}
	return list, nil
}

// leastTime is the technique with which a search found the best.
func leastTime(list []searchCost) int {
	best := 0
	for i, e := range list {
		if e.Best < list[best].Best {
			best = i
		}
	}
	return best
}

// predictBy adds the row of a search whose technique is chosen by forests that have learned from others.
func (t *table) predictBy(s int, from string, own []labelled, stencils []string, learned []labelled) error {
	var chosen, usual []int
	for k := range own {
		others := slices.DeleteFunc(slices.Clone(learned), func(l labelled) bool { return l.group == stencils[k] })
		c, u, err := choose(own[k].features, others, false)
		if err != nil {
			return err
		}
		chosen, usual = append(chosen, c), append(usual, u)
	}
	p := &Prediction{Learned: from, Kernels: len(learned)}
	classes := map[int]bool{}
	for _, l := range learned {
		classes[l.technique] = true
	}
	p.Classes = len(classes)
	row := t.row(GarveyRow{Strategy: grouped[s].name, Kind: predictedRow, Prediction: p})
	n, right := float64(len(own)), 0
	for k := range own {
		list := t.by[s][k]
		oracle := list[leastTime(list)].Best
		t.put(row, []searchCost{list[chosen[k]]}, t.best[k])
		if list[chosen[k]].Best == oracle {
			right++
		}
		p.Weighted += timesRatio(oracle, list[chosen[k]].Best) / n
		p.Usual += timesRatio(oracle, list[usual[k]].Best) / n
	}
	p.Accuracy = float64(right) / n
	return nil
}

// writePredictions prints how well techniques are predicted, the paper's figures of a GTX Titan beside.
func writePredictions(w io.Writer, rows []GarveyRow) {
	paper := map[string]string{"Dimensions": "0.87, 0.98", "Optimizations": "0.91, 0.99", "Hybrid": "0.88, 0.99"}
	first := true
	for _, r := range rows {
		if r.Prediction == nil {
			continue
		}
		if first {
			fmt.Fprintln(w, "\nprediction (Table 6)\tlearned from\tbest techniques there\taccuracy\tpenalty-weighted\t"+
				"zeror's\tGarvey 2018")
			first = false
		}
		fmt.Fprintf(w, "%s\t%d %s\t%d\t%.3f\t%.3f\t%.3f\t%s\n", r.Strategy, r.Kernels, r.Learned, r.Classes,
			r.Accuracy, r.Weighted, r.Usual, paper[r.Strategy])
	}
}
