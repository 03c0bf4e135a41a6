package cli

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/run/quantity"
)

// gridResult describes a grid's contents. Cells that are not numbers are
// counted and otherwise left out.
type gridResult struct {
	Name  string          `json:"name"`
	Shape []int           `json:"shape"`
	Min   quantity.Number `json:"min"`
	Mean  quantity.Number `json:"mean"`
	Max   quantity.Number `json:"max"`
	NaNs  int64           `json:"nans,omitempty"`
}

// piece is the number of cells that are summed in one go. The sum of all
// depends on it, and on nothing else.
const piece = 1 << 16

func statistics(g *ir.Grid, shape []int, cells []byte) gridResult {
	a := &gridio.Array{Type: g.Type, Shape: shape, Data: cells}
	parts := make([]tally, (a.Len()+piece-1)/piece)
	var wg sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), len(parts))
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(parts); i += workers {
				parts[i] = tallyOf(a, i*piece, min((i+1)*piece, a.Len()))
			}
		})
	}
	wg.Wait()
	all := tally{min: math.Inf(1), max: math.Inf(-1)}
	for _, p := range parts {
		all.n += p.n
		all.sum += p.sum
		all.min, all.max = min(all.min, p.min), max(all.max, p.max)
	}
	out := gridResult{Name: g.Name, Shape: shape, NaNs: int64(a.Len()) - all.n}
	if all.n == 0 {
		all.min, all.max = math.NaN(), math.NaN()
	}
	mean := all.sum / float64(all.n)
	out.Min, out.Mean, out.Max = quantity.Number(all.min), quantity.Number(mean), quantity.Number(all.max)
	return out
}

// tally is what a run of cells adds up to.
type tally struct {
	n             int64 // numbers among them
	sum, min, max float64
}

func tallyOf(a *gridio.Array, from, to int) tally {
	switch a.Type {
	case types.F64:
		return tallyIn(gridio.View[float64](a)[from:to])
	case types.F32:
		return tallyIn(gridio.View[float32](a)[from:to])
	case types.I32:
		return tallyIn(gridio.View[int32](a)[from:to])
	}
	return tallyIn(a.Data[from:to])
}

func tallyIn[T gridio.Cell](cells []T) tally {
	t := tally{min: math.Inf(1), max: math.Inf(-1)}
	for _, c := range cells {
		v := float64(c)
		if v != v {
			continue
		}
		t.n++
		t.sum += v
		t.min, t.max = min(t.min, v), max(t.max, v)
	}
	return t
}

func (g gridResult) print(w io.Writer) {
	fmt.Fprintf(w, "  %-8s min %.7g, mean %.7g, max %.7g", g.Name, g.Min, g.Mean, g.Max)
	if g.NaNs > 0 {
		fmt.Fprintf(w, "; not a number: %s", count(g.NaNs, "cell"))
	}
	fmt.Fprintln(w)
}
