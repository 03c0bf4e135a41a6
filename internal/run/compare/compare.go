// Package compare holds the contents of grids against each other, cell by
// cell, and says how far apart they are.
package compare

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
)

// Grid is what there is to know about a grid that is compared.
type Grid struct {
	Name  string
	Type  types.Type
	Shape []int
	Lo    []int64 // index of the first cell on each axis; nil for zeros
	// Bounds holds how far each cell may be from what it should be; nil if it
	// should be the same.
	Bounds []float64
	// Computed bounds the cells that the program may have computed, as positions
	// of which the first cell's is 0; nil for none.
	Computed []ir.Extent
}

// Result is the outcome of a comparison.
type Result struct {
	Grid     string
	Cells    int64   // that were compared
	NaNs     int64   // that were not: no number on both sides says nothing about either
	Computed int64   // of the cells that were compared, those that the program may have computed
	Differ   int64   // cells that are not the same bits
	Beyond   int64   // cells further apart than their bound, which is 0 without bounds
	MaxAbs   float64 // largest difference; +Inf where only one is a number, or is finite
	MaxULP   uint64  // largest distance in units in the last place, or of integers
	MaxRatio float64 // largest ratio of a difference to its bound; 0 without bounds
	Bounded  bool    // there are bounds
	First    []Cell  // the first few cells beyond their bounds
}

// OK reports whether no cell is beyond its bound.
func (r Result) OK() bool { return r.Beyond == 0 }

// Cell is a cell with what it should be and what it is.
type Cell struct {
	Index     []int64
	Want, Got op.Value
	Bound     float64
}

// most is how many cells Result.First lists.
const most = 5

// chunk is the number of cells that are looked at in one go.
const chunk = 1 << 16

// Cells compares all cells of a grid.
func Cells(g Grid, want, got []byte) (Result, error) {
	cells := 1
	for _, n := range g.Shape {
		cells *= n
	}
	if bytes := cells * g.Type.Size(); len(want) != bytes || len(got) != bytes {
		return Result{}, fmt.Errorf("%s: %d and %d bytes cannot be compared as a grid of %d", g.Name, len(want),
			len(got), bytes)
	}
	if g.Bounds != nil && len(g.Bounds) != cells {
		return Result{}, fmt.Errorf("%s: %d bounds for %d cells", g.Name, len(g.Bounds), cells)
	}
	computed := int64(0)
	if g.Computed != nil {
		computed = 1
	}
	for _, e := range g.Computed {
		computed *= e.Len()
	}
	chunks := (cells + chunk - 1) / chunk
	parts := make([]Result, chunks)
	var wg sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), chunks)
	for w := range workers {
		wg.Go(func() {
			for i := w; i < chunks; i += workers {
				parts[i] = g.compare(i*chunk, min((i+1)*chunk, cells), want, got)
			}
		})
	}
	wg.Wait()
	r := Result{Grid: g.Name, Computed: computed, Bounded: g.Bounds != nil}
	for _, p := range parts {
		r.add(p)
	}
	return r, nil
}

// add adds the result for the cells that follow.
func (r *Result) add(p Result) {
	r.Cells += p.Cells
	r.NaNs += p.NaNs
	r.Computed += p.Computed
	r.Differ += p.Differ
	r.Beyond += p.Beyond
	r.MaxAbs = max(r.MaxAbs, p.MaxAbs)
	r.MaxULP = max(r.MaxULP, p.MaxULP)
	r.MaxRatio = max(r.MaxRatio, p.MaxRatio)
	r.First = append(r.First, p.First[:min(len(p.First), most-len(r.First))]...)
}

// compare compares the cells from..to-1.
func (g *Grid) compare(from, to int, want, got []byte) Result {
	r := Result{Cells: int64(to - from)}
	size := g.Type.Size()
	if bytes.Equal(want[from*size:to*size], got[from*size:to*size]) &&
		Numbers(g.Type, want[from*size:to*size]) == r.Cells {
		return r
	}
	for i := from; i < to; i++ {
		x := device.Decode(g.Type, want[i*size:])
		y := device.Decode(g.Type, got[i*size:])
		if x.Same(y) {
			if x.F != x.F {
				r.Cells--
				r.NaNs++
				if g.computed(i) {
					r.Computed--
				}
			}
			continue
		}
		r.Differ++
		abs := distance(x, y)
		r.MaxAbs = max(r.MaxAbs, abs)
		r.MaxULP = max(r.MaxULP, ulps(x, y))
		bound := 0.0
		if g.Bounds != nil {
			bound = g.Bounds[i]
			r.MaxRatio = max(r.MaxRatio, ratio(abs, bound))
		}
		// Without bounds zeros of different sign are different, too.
		if abs <= bound && g.Bounds != nil {
			continue
		}
		r.Beyond++
		if len(r.First) < most {
			r.First = append(r.First, Cell{g.index(i), x, y, bound})
		}
	}
	return r
}

// Numbers counts the cells that are numbers: those that a comparison can say
// something of.
func Numbers(t types.Type, cells []byte) int64 {
	n := int64(len(cells) / t.Size())
	switch t {
	case types.F64:
		for ; len(cells) > 0; cells = cells[8:] {
			if binary.NativeEndian.Uint64(cells)&^(1<<63) > 0x7FF0_0000_0000_0000 {
				n--
			}
		}
	case types.F32:
		for ; len(cells) > 0; cells = cells[4:] {
			if binary.NativeEndian.Uint32(cells)&^(1<<31) > 0x7F80_0000 {
				n--
			}
		}
	}
	return n
}

// computed reports whether the program may have computed a cell.
func (g *Grid) computed(cell int) bool {
	for d := len(g.Computed) - 1; d >= 0; d-- {
		at := int64(cell % g.Shape[d])
		if at < g.Computed[d].Lo || at > g.Computed[d].Hi {
			return false
		}
		cell /= g.Shape[d]
	}
	return g.Computed != nil
}

// distance returns |x - y|, +Inf where only one is finite.
func distance(x, y op.Value) float64 {
	d := math.Abs(x.AsFloat() - y.AsFloat())
	if d != d {
		return math.Inf(1)
	}
	return d
}

func ratio(abs, bound float64) float64 {
	switch {
	case abs == 0, math.IsInf(bound, 1):
		return 0
	case bound == 0:
		return math.Inf(1)
	}
	return abs / bound
}

// ulps returns how many numbers of their type lie between x and y, y included;
// the zeros are two numbers. Where only one is a NaN it is the largest there is.
func ulps(x, y op.Value) uint64 {
	if !x.T.IsFloat() {
		return uint64(max(x.I, y.I) - min(x.I, y.I))
	}
	if x.F != x.F || y.F != y.F {
		return math.MaxUint64
	}
	a, b := rank(x), rank(y)
	return uint64(max(a, b)) - uint64(min(a, b))
}

// rank numbers the floating-point numbers of a type in their order.
func rank(v op.Value) int64 {
	if v.T == types.F32 {
		b := int64(int32(math.Float32bits(float32(v.F))))
		if b < 0 {
			return -1 - b&math.MaxInt32
		}
		return b
	}
	b := int64(math.Float64bits(v.F))
	if b < 0 {
		return -1 - b&math.MaxInt64
	}
	return b
}

// index returns the position of a cell in grid coordinates.
func (g *Grid) index(cell int) []int64 {
	at := make([]int64, len(g.Shape))
	for d := len(g.Shape) - 1; d >= 0; d-- {
		at[d] = int64(cell % g.Shape[d])
		cell /= g.Shape[d]
		if g.Lo != nil {
			at[d] += g.Lo[d]
		}
	}
	return at
}

// String puts the result into words, on one line or, if cells are beyond their
// bounds, several.
func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", r.Grid)
	switch {
	case r.Cells == 0 && r.NaNs > 0:
		fmt.Fprintf(&b, "nothing was compared: all %s NaN on both sides", count(r.NaNs))
		return b.String()
	case r.Differ == 0:
		fmt.Fprintf(&b, "all %s the same, bit for bit%s", count(r.Cells), r.others())
		return b.String()
	case r.OK():
		fmt.Fprintf(&b, "all %s within their bounds, %d not the same", count(r.Cells), r.Differ)
	case r.Bounded:
		fmt.Fprintf(&b, "%d of %s beyond their bounds, %d not the same", r.Beyond, count(r.Cells), r.Differ)
	default:
		fmt.Fprintf(&b, "%d of %s differ", r.Differ, count(r.Cells))
	}
	fmt.Fprintf(&b, "; largest difference %.3g", r.MaxAbs)
	if r.MaxULP != math.MaxUint64 {
		fmt.Fprintf(&b, " (%d ulp)", r.MaxULP)
	}
	if r.Bounded {
		fmt.Fprintf(&b, ", at most %.3g of the bound", r.MaxRatio)
	}
	b.WriteString(r.others())
	for _, c := range r.First {
		fmt.Fprintf(&b, "\n  %s%s is %v, should be %v", r.Grid, position(c.Index), c.Got, c.Want)
		if r.Bounded {
			fmt.Fprintf(&b, " within %.3g", c.Bound)
		}
	}
	if rest := r.Beyond - int64(len(r.First)); len(r.First) > 0 && rest > 0 {
		fmt.Fprintf(&b, "\n  and %d more", rest)
	}
	return b.String()
}

// others mentions the cells that were not compared.
func (r Result) others() string {
	if r.NaNs == 0 {
		return ""
	}
	return fmt.Sprintf("; %s more NaN on both sides, not compared", count(r.NaNs))
}

func count(cells int64) string {
	if cells == 1 {
		return "1 cell"
	}
	return fmt.Sprintf("%d cells", cells)
}

// position prints an index as the language writes it: "[3][0]".
func position(index []int64) string {
	var b strings.Builder
	for _, x := range index {
		b.WriteString("[" + strconv.FormatInt(x, 10) + "]")
	}
	return b.String()
}
