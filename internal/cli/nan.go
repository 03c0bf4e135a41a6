package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/run/compare"
	"github.com/gridloom/gridloom/internal/run/exec"
)

const (
	// looked is how many cells of a grid are looked at for one that is NaN, unless
	// the run is to stop there.
	looked = 4096
	// worth is how many times as long as bringing cells from a device takes a run
	// has been before that is done.
	worth = 100
	// bringing is at how many bytes a second they come at least.
	bringing = 1e9
)

// vigil looks for cells that are NaN after 1, 2, 4, 8 ... iterations, wherever the
// run stops for something else, and at its end.
type vigil struct {
	*job
	grids []*ir.Grid // that are computed, of floating-point numbers
	cost  float64    // seconds that bringing the cells takes; 0 where they are here
	seen  bool       // a cell that is NaN
	first int64      // iterations after which one was seen first
	clean int64      // iterations after which none was seen last; -1 for never
}

// newVigil watches all grids but those that kernels leave without the program's values.
func (j *job) newVigil(dropped []*ir.Grid) *vigil {
	v := &vigil{job: j, clean: -1}
	boxes := compare.Computed(j.Bound)
	bytes := 0.0
	for _, g := range j.program.Grids {
		if boxes[g] != nil && g.Type.IsFloat() && !slices.Contains(dropped, g) {
			v.grids = append(v.grids, g)
			bytes += float64(g.Type.Size() * cells(j.Bound, g))
		}
	}
	if j.Device.Memory > 0 || j.Device.Kind() == lower.GPU {
		v.cost = bytes / bringing
	}
	return v
}

func cells(b *ir.Binding, g *ir.Grid) int {
	n := 1
	for _, extent := range b.Shape(g.Dims) {
		n *= extent
	}
	return n
}

// next returns the iterations until the next power of two; 0 if nothing is left
// to look for.
func (v *vigil) next(at int64) int64 {
	if v.seen || len(v.grids) == 0 {
		return 0
	}
	power := int64(1)
	for power <= at {
		power *= 2
	}
	return power - at
}

// look looks at the cells after so many iterations, which have taken some time.
// Bringing them from a device must not be felt, unless the run is to stop at a
// cell that is NaN: then every cell is looked at.
func (v *vigil) look(r exec.Runner, at int64, busy time.Duration) error {
	if v.seen || !v.StopOnNaN && busy.Seconds() < worth*v.cost {
		return nil
	}
	for _, g := range v.grids {
		data, err := r.Grid(g.Name)
		if err != nil {
			return err
		}
		n, step := len(data)/g.Type.Size(), 1
		if !v.StopOnNaN {
			step = max(1, n/looked)
		}
		if i := firstNaN(g, data, step); i >= 0 {
			v.seen, v.first = true, at
			return v.stop(g, data, i, at)
		}
	}
	v.clean = at
	return nil
}

// firstNaN returns the first of every so many cells that is NaN; -1 if none is.
func firstNaN(g *ir.Grid, data []byte, step int) int {
	size := g.Type.Size()
	if step == 1 && compare.Numbers(g.Type, data) == int64(len(data)/size) {
		return -1
	}
	for i := 0; i < len(data)/size; i += step {
		if compare.Numbers(g.Type, data[i*size:(i+1)*size]) == 0 {
			return i
		}
	}
	return -1
}

// stop ends the run at a cell that is NaN, if that is wanted.
func (v *vigil) stop(g *ir.Grid, data []byte, cell int, at int64) error {
	if !v.StopOnNaN {
		return nil
	}
	place := ""
	dims, shape := g.Dims, v.Bound.Shape(g.Dims)
	for d := len(dims) - 1; d >= 0; d-- {
		place = fmt.Sprintf("[%d]", int64(cell%shape[d])+v.Bound.Extent(dims[d]).Lo) + place
		cell /= shape[d]
	}
	nans, are := int64(len(data)/g.Type.Size())-compare.Numbers(g.Type, data), "are"
	if nans == 1 {
		are = "is"
	}
	bad := failf(exitCheck, "after %s %s of %s %s NaN, the first one %s%s",
		count(at, "iteration"), count(nans, "cell"), g.Name, are, g.Name, place)
	switch {
	case at == 0:
		return bad.hintf("these are its first values")
	case v.clean >= 0:
		return bad.hintf("after %s there was none; the run has stopped, as --stop-on-nan says",
			count(v.clean, "iteration"))
	}
	return bad
}

// warn says at the end which results are not numbers, and since when.
func (v *vigil) warn(grids []gridResult) {
	var names []string
	bad, all := int64(0), int64(0)
	for _, g := range grids {
		if g.NaNs > 0 {
			n := int64(1)
			for _, extent := range g.Shape {
				n *= int64(extent)
			}
			names = append(names, g.Name)
			bad += g.NaNs
			all += n
		}
	}
	// First values that are NaN are known to who gave them.
	if len(names) == 0 || v.seen && v.first == 0 {
		return
	}
	slices.Sort(names)
	text := fmt.Sprintf("%d of %s of %s are NaN at the end", bad, count(all, "cell"), strings.Join(names, ", "))
	if v.seen {
		text += ", and some were after " + count(v.first, "iteration")
	}
	if v.clean >= 0 {
		text += fmt.Sprintf("; none of those looked at was after %s", count(v.clean, "iteration"))
	}
	fmt.Fprintf(v.stderr, "warning: %s\n      hint: --stop-on-nan stops there\n", text)
}
