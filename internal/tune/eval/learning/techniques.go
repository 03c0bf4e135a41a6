package learning

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/gridloom/gridloom/internal/tune/learn/features"
	"github.com/gridloom/gridloom/internal/tune/predict"
)

// eachStencil leaves out one stencil after the other, with all its types and sizes. Garvey and Abdelrahman 2018 leave
// out one kernel, and have each in one type and size.
var eachStencil = Split{Name: "kernel", part: func(e *predict.Examples, _ map[string]int) string { return e.Stencil }}

// Techniques judges the forests of Garvey and Abdelrahman 2018 (section 6.1) at what they were made for: they choose
// the technique by which a kernel loads, among forms of the family tile. There are no rows if no kernel has two that
// were tuned.
func Techniques(ctx context.Context, h *HeldOut, commit string) ([]Row, error) {
	all := techniquesOf(h)
	if len(all) == 0 {
		return nil, nil
	}
	var pickers []formPicker
	for _, p := range formPickers {
		if p.name != Own && p.name != Both { // a model for each stencil takes too long
			pickers = append(pickers, p)
		}
	}
	return judgeForms(ctx, h, all, pickers, []Split{eachStencil}, Row{Experiment: "technique", Commit: commit})
}

// techniquesOf are the kernels with several forms of the family tile that were tuned.
func techniquesOf(h *HeldOut) []*kernelForms {
	var all []*kernelForms
	for _, e := range h.All {
		if k := formsOf(e, "tile"); len(k.forms) > 1 {
			all = append(all, k)
		}
	}
	return all
}

// garveysTechniques are the paper's names of forms. Others are no technique of its, as vectors in shared memory.
var garveysTechniques = map[string]string{
	"tile": "global", "tile, vectors": "global with vectors", "tile, staged": "local", "tile, images": "image",
}

// TechniqueLabel is a kernel with the paper's technique that is the best for it, to learn from.
type TechniqueLabel struct {
	Stencil   string
	Features  []float64 // features.OfGarvey
	Technique string
}

// TechniqueLabels are the kernels of which several of the paper's techniques were tuned.
func TechniqueLabels(h *HeldOut) []TechniqueLabel {
	var list []TechniqueLabel
	for _, k := range techniquesOf(h) {
		best, known := "", 0
		for _, form := range k.forms {
			if garveysTechniques[form] == "" {
				continue
			}
			if known++; best == "" || k.share[form] > k.share[best] {
				best = form
			}
		}
		if known > 1 {
			list = append(list, TechniqueLabel{k.of.Stencil, k.of.Program[:len(features.OfGarvey)],
				garveysTechniques[best]})
		}
	}
	return list
}

// garveysFigures are the paper's, of its heuristics Dim, Opt and Hybrid on an NVIDIA GPU.
var garveysFigures = map[string]string{
	"accuracy": "0.87, 0.91, 0.88", "penalty-weighted accuracy": "0.98, 0.99, 0.99",
}

// WriteTechniques prints the rows, the paper's figures beside.
func WriteTechniques(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "technique of loading, without the kernel\tmodel\tmean\t95 %\tGarvey 2018 (Dim, Opt, Hybrid)")
	for _, r := range rows {
		paper := ""
		if r.Model == garveys {
			paper = garveysFigures[r.Metric]
		}
		fmt.Fprintf(t, "%s\t%s\t%.3f\t%.3f to %.3f\t%s\n", r.Metric, r.Model, r.Value, r.Low, r.High, paper)
	}
	if err := t.Flush(); err != nil || len(rows) == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d kernels of %d stencils. A technique counts by the best of at least %d "+
		"configurations that ran; the paper's are what its heuristics found.\n",
		rows[0].Kernels, rows[0].Groups, tuned)
	return err
}
