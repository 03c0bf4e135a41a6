package learning

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/predict"
)

// curveParts are the parts of all other stencils that models of a learning curve learn from.
var curveParts = []float64{0.125, 0.25, 0.5, 1}

// learningCurve judges models that have learned from a part of the stencils that are not left out: experiment
// "learning-curve". The stencils are in one random order, so that smaller parts are within larger ones.
func learningCurve(ctx context.Context, h *HeldOut, log io.Writer) ([]Row, error) {
	split := Splits[0]
	var names []string
	order := map[string]int{}
	places := rand.New(rand.NewPCG(1, 4)).Perm(len(h.stencils))
	for _, e := range h.All {
		names = append(names, e.Stencil)
		order[e.Stencil] = places[h.stencils[e.Stencil]]
	}
	var rows []Row
	for _, part := range curveParts {
		var learned []float64 // of each kernel that is judged, how many its model learned from
		for _, e := range h.All {
			others := slices.DeleteFunc(slices.Clone(h.All), func(o *predict.Examples) bool {
				return h.part(o, split) == h.part(e, split)
			})
			learned = append(learned, float64(len(firstStencils(others, order, part))))
		}
		kernels := rounded(mean(learned, names))
		if len(rows) > 0 && kernels == rows[len(rows)-1].Learned {
			continue // there are so few stencils that this part is the last one
		}
		fmt.Fprintf(log, "learning curve: %g of the stencils\n", part)
		pickers := plotted(Table, Own)
		for i := range pickers {
			learn := pickers[i].Learn
			pickers[i].Learn = func(ctx context.Context, h *HeldOut, list []*predict.Examples) (scorer, error) {
				return learn(ctx, h, firstStencils(list, order, part))
			}
		}
		_, results, err := validate(ctx, h, pickers, split, io.Discard)
		if err != nil {
			return nil, err
		}
		for i, p := range pickers {
			for _, m := range Metrics {
				values := make([]float64, len(h.All))
				for k, j := range results[i] {
					values[k] = scale(m.of(j), m.Geometric)
				}
				r := sumUp(values, names, m.Geometric, m.Fewer)
				r.Experiment, r.Model, r.Split, r.Metric = "learning-curve", p.Name, split.Name, m.Name
				r.Learned = kernels
				rows = append(rows, r)
			}
		}
	}
	return rows, nil
}

// firstStencils returns the kernels of a part of their stencils, at least one: those that come first in an order.
func firstStencils(list []*predict.Examples, order map[string]int, part float64) []*predict.Examples {
	var places []int
	for _, e := range list {
		places = append(places, order[e.Stencil])
	}
	slices.Sort(places)
	places = slices.Compact(places)
	last := places[max(1, int(part*float64(len(places))))-1]
	return slices.DeleteFunc(slices.Clone(list), func(e *predict.Examples) bool { return order[e.Stencil] > last })
}
