package learning

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gridloom/gridloom/internal/tune/learn"
	"github.com/gridloom/gridloom/internal/tune/predict"
)

// How trees are grown was chosen by what models pick for stencils that they have not learned from. Such figures flatter
// what was chosen by them. So the choice is made anew here without each tenth of the stencils, by five parts of the
// others, and judged on that tenth: ten outer folds, five inner.

// way is a way to grow trees.
type way struct {
	name  string
	alike bool // errors of all trials count alike
	set   func(o *learn.BoostedOptions)
}

// ways are those among which the shipped one, the first, was chosen.
var ways = []way{
	{"as shipped", false, func(*learn.BoostedOptions) {}},
	{"errors alike", true, func(*learn.BoostedOptions) {}},
	{"leaves of 4", false, func(o *learn.BoostedOptions) { o.Leaf = 4 }},
	{"30 features a node", false, func(o *learn.BoostedOptions) { o.Features = 30 }},
	{"depth 9", false, func(o *learn.BoostedOptions) { o.Depth = 9 }},
	{"half the rate", false, func(o *learn.BoostedOptions) { o.Rate /= 2 }},
}

// choice is the experiment, and chosen the model of a way that inner parts chose.
const (
	choice = "choice"
	chosen = "chosen by inner parts"
)

const (
	outerParts = 10 // of stencils, as Splits leave them out
	innerParts = 5
)

// grow grows trees in a way, once and not in several runs: all ways alike, and in a third of the time.
func (w *way) grow(all []*predict.Examples) (scorer, error) {
	n, o := predict.Numbers(all), predict.TreeOptions()
	o.Runs = 1
	w.set(&o)
	if w.alike {
		n.Weights = nil
	}
	b, err := learn.NewBoosted(n, o)
	return each(func(e *predict.Examples, i int) float64 { return b.Predict(e.Rows[i]) }), err
}

// fold is a part of the kernels that is left out. Where it is an inner one, the outer part is left out, too.
type fold struct {
	outer, inner int // inner is -1 for the outer part itself
	in, out      []*predict.Examples
	orders       [][]*judged // of the kernels that are left out, by way
}

// foldsOf divides kernels by their stencils.
func foldsOf(h *HeldOut) []*fold {
	var list []*fold
	for outer := range outerParts {
		for inner := -1; inner < innerParts; inner++ {
			f := &fold{outer: outer, inner: inner, orders: make([][]*judged, len(ways))}
			for _, e := range h.All {
				n := h.stencils[e.Stencil]
				switch left := n%outerParts == outer; {
				case inner < 0 && left, inner >= 0 && !left && n/outerParts%innerParts == inner:
					f.out = append(f.out, e)
				case !left:
					f.in = append(f.in, e)
				}
			}
			if len(f.in) > 0 && len(f.out) > 0 {
				list = append(list, f)
			}
		}
	}
	return list
}

// Choices judges the ways to grow trees, and what choosing one of them by inner parts comes to. log is told what is
// under way.
func Choices(ctx context.Context, h *HeldOut, commit string, log io.Writer) ([]Row, error) {
	folds := foldsOf(h)
	if len(folds) == 0 {
		return nil, fmt.Errorf("all kernels are of one %s: nothing is left to learn from without it", Splits[0].Name)
	}
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	var mutex sync.Mutex
	done := 0
	for _, f := range folds {
		for i := range ways {
			work.Go(func() error {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				score, err := ways[i].grow(f.in)
				if err != nil {
					return err
				}
				for _, e := range f.out {
					j, err := judge(e, score)
					if err != nil {
						return err
					}
					if j == nil {
						return fmt.Errorf("%s: none of the candidates ran", e.Name)
					}
					f.orders[i] = append(f.orders[i], j)
				}
				mutex.Lock()
				defer mutex.Unlock()
				done++
				fmt.Fprintf(log, "%d of %d models\n", done, len(folds)*len(ways))
				return nil
			})
		}
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	return choiceRows(folds, Row{
		Experiment: choice, Split: Splits[0].Name, Device: h.All[0].Device, Commit: commit,
	}), nil
}

// choiceRows sums up the outer folds: of each way, and of the one that the inner folds of each choose.
func choiceRows(folds []*fold, r Row) []Row {
	var stencils []string
	orders := make([][]*judged, len(ways)+1) // of all kernels, by way; the last are those of what is chosen
	times := make([]float64, len(ways))
	outer := 0.0
	for _, f := range folds {
		if f.inner >= 0 {
			continue
		}
		best := bestWay(folds, f.outer)
		times[best]++
		outer++
		for i := range ways {
			orders[i] = append(orders[i], f.orders[i]...)
		}
		orders[len(ways)] = append(orders[len(ways)], f.orders[best]...)
		for _, e := range f.out {
			stencils = append(stencils, e.Stencil)
		}
	}
	var rows []Row
	add := func(model, metric string, s Row) {
		s.Experiment, s.Split, s.Device, s.Commit = r.Experiment, r.Split, r.Device, r.Commit
		s.Model, s.Metric = model, metric
		rows = append(rows, s)
	}
	for _, m := range Metrics {
		for i, list := range orders {
			name := chosen
			if i < len(ways) {
				name = ways[i].name
			}
			var values []float64
			for _, j := range list {
				values = append(values, scale(m.of(j), m.Geometric))
			}
			add(name, m.Name, sumUp(values, stencils, m.Geometric, m.Fewer))
		}
	}
	for i, w := range ways {
		share := rounded(times[i] / outer)
		add(w.name, "chosen", Row{Value: share, Low: share, High: share, Median: share, Worst: share})
	}
	return rows
}

// bestWay is the way whose first picks have most of the best in the inner folds of an outer one: the geometric mean
// over stencils. Where there are no inner folds it is the shipped one.
func bestWay(folds []*fold, outer int) int {
	best, most := 0, 0.0
	for i := range ways {
		var values []float64
		var names []string
		for _, f := range folds {
			if f.outer != outer || f.inner < 0 {
				continue
			}
			for k, j := range f.orders[i] {
				values, names = append(values, scale(j.fraction[0], true)), append(names, f.out[k].Stencil)
			}
		}
		if len(values) == 0 {
			return best
		}
		if mean := unscale(newGroups(names).mean(values, nil), true); mean > most {
			best, most = i, mean
		}
	}
	return best
}
