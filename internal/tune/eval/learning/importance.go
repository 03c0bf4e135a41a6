package learning

import (
	"cmp"
	"context"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gridloom/gridloom/internal/tune/predict"
)

// mostShuffled is about how many candidates of a kernel tell the importance of features: every so many-th of all.
const mostShuffled = 50

// importance is that of each feature for our model: experiment "importance". Its value is replaced by that
// of any candidate of any kernel (Breiman, Machine Learning 45, 2001, section 10, for kernels that were left out): by
// how much the mean squared error of predictions rises, as a part of the variance of what was measured. Features that
// tell the same stand in for each other, so that each looks less important than it is.
func importance(ctx context.Context, h *HeldOut) ([]Row, error) {
	split := Splits[0]
	parts := map[string][]*predict.Examples{}
	var names []string
	for _, e := range h.All {
		part := h.part(e, split)
		if parts[part] == nil {
			names = append(names, part)
		}
		parts[part] = append(parts[part], e)
	}
	list := predict.Features(h.All[0].API)
	rises := make([][]float64, len(list)) // by feature and kernel
	var kernels []string
	variance := 0.0
	pool := sample(h.All)
	for _, name := range names {
		m, err := h.Without(ctx, parts[name][0], split)
		if err != nil {
			return nil, err
		}
		x := newShuffle(parts[name], m, pool.rows)
		for _, e := range parts[name] {
			kernels = append(kernels, e.Stencil)
		}
		variance += x.variance * float64(len(parts[name])) / float64(len(h.All))
		var work errgroup.Group
		work.SetLimit(runtime.GOMAXPROCS(0))
		for f := range list {
			work.Go(func() error {
				rises[f] = append(rises[f], x.rise(f)...)
				return context.Cause(ctx)
			})
		}
		if err := work.Wait(); err != nil {
			return nil, err
		}
	}
	var rows []Row
	for f := range list {
		for k := range rises[f] {
			rises[f][k] /= max(variance, 1e-12)
		}
		r := sumUp(rises[f], kernels, false, false)
		r.Experiment, r.Model, r.Split, r.Metric = "importance", Own, split.Name, list[f].Name
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.Value, a.Value) })
	return rows, nil
}

// sampled are candidates of kernels.
type sampled struct {
	of       []int     // the kernel of each row
	counts   []float64 // of the rows of each kernel
	rows     [][]float64
	targets  []float64
	variance float64 // of what was measured, within kernels: the mean over kernels
}

// shuffle are candidates of kernels that a model has not learned from.
type shuffle struct {
	*sampled
	model  *predict.Model
	errors []float64   // squared, of each row
	pool   [][]float64 // rows that have other values
}

func newShuffle(list []*predict.Examples, m *predict.Model, pool [][]float64) *shuffle {
	x := &shuffle{sampled: sample(list), model: m, pool: pool}
	for i, row := range x.rows {
		miss := m.Speed.Predict(row) - x.targets[i]
		x.errors = append(x.errors, miss*miss)
	}
	return x
}

// sample takes candidates of each kernel.
func sample(list []*predict.Examples) *sampled {
	x := &sampled{counts: make([]float64, len(list))}
	for k, e := range list {
		drawn := 0
		for _, d := range e.Drawn {
			if d {
				drawn++
			}
		}
		step, at := max(1, drawn/mostShuffled), 0
		var total, squares float64
		for i, row := range e.Rows {
			if !e.Drawn[i] {
				continue
			}
			if at++; (at-1)%step > 0 {
				continue
			}
			y := e.Fraction(&e.Trials[i])
			x.of, x.rows, x.targets = append(x.of, k), append(x.rows, row), append(x.targets, y)
			x.counts[k]++
			total, squares = total+y, squares+y*y
		}
		mean := total / x.counts[k]
		x.variance += (squares/x.counts[k] - mean*mean) / float64(len(list))
	}
	return x
}

// rise returns, of each kernel, by how much the mean squared error rises when a feature has other candidates' values.
func (x *shuffle) rise(feature int) []float64 {
	out := make([]float64, len(x.counts))
	row := make([]float64, len(x.rows[0]))
	r := rand.New(rand.NewPCG(1, uint64(feature)))
	for i := range x.rows {
		other := x.pool[r.IntN(len(x.pool))][feature]
		if other == x.rows[i][feature] {
			continue // nothing changes
		}
		copy(row, x.rows[i])
		row[feature] = other
		miss := x.model.Speed.Predict(row) - x.targets[i]
		out[x.of[i]] += (miss*miss - x.errors[i]) / x.counts[x.of[i]]
	}
	return out
}
