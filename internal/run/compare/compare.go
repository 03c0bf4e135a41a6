// Package compare compares the contents of grids that two devices have
// computed, at every cell.
package compare

import (
	"fmt"
	"math"
	"strings"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// Result is what a comparison has found. All NaNs are one value; the two
// zeros are one value too, so that a difference is a difference of numbers.
type Result struct {
	Cells   int64   // that were compared
	Differ  int64   // that hold another number
	Wrong   int64   // that differ by more than their bound allows
	Open    int64   // whose bound is infinite: nothing can be said of them
	MaxAbs  float64 // largest absolute difference
	MaxULP  float64 // largest difference in units in the last place of the cell's type
	OfBound float64 // largest difference as a fraction of its bound
	First   []Cell  // the first few wrong cells
}

// Cell is one wrong cell.
type Cell struct {
	Index     []int
	Got, Want float64
	Bound     float64 // 0 where the values must be equal
}

// String prints the cell with its coordinates.
func (c Cell) String() string {
	var at []string
	for _, i := range c.Index {
		at = append(at, fmt.Sprint(i))
	}
	text := fmt.Sprintf("[%s] is %.17g, the reference %.17g", strings.Join(at, ","), c.Got, c.Want)
	if c.Bound > 0 {
		text += fmt.Sprintf(" (at most %.3g apart)", c.Bound)
	}
	return text
}

// listed is how many wrong cells a result names.
const listed = 5

// Cells compares two arrays of one type and shape, in C order. bounds says for
// every cell how far got may be from want; nil means not at all.
func Cells(t types.Type, shape []int, got, want []byte, bounds []float64) Result {
	var r Result
	switch t {
	case types.F64:
		compare(&r, shape, view[float64](got), view[float64](want), bounds, ulps64)
	case types.F32:
		compare(&r, shape, view[float32](got), view[float32](want), bounds, ulps32)
	case types.I32:
		compare(&r, shape, view[int32](got), view[int32](want), bounds, whole)
	case types.U8, types.Bool:
		compare(&r, shape, got, want, bounds, whole)
	default:
		panic("compare: no grid has cells of type " + t.String())
	}
	return r
}

func view[T any](b []byte) []T {
	var zero T
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(zero)))
}

func compare[T uint8 | int32 | float32 | float64](r *Result, shape []int, got, want []T, bounds []float64, ulps func(x, y float64) float64) {
	r.Cells = int64(len(want))
	for i, w := range want {
		g := got[i]
		bound := 0.0
		if bounds != nil {
			bound = bounds[i]
		}
		if math.IsInf(bound, 1) || bound != bound {
			r.Open++
			continue
		}
		if g == w || g != g && w != w {
			continue
		}
		x, y := float64(g), float64(w)
		r.Differ++
		d := math.Abs(x - y)
		if d != d { // a number against NaN, or two infinities
			d = math.Inf(1)
		}
		r.MaxAbs = max(r.MaxAbs, d)
		r.MaxULP = max(r.MaxULP, ulps(x, y))
		if bound > 0 {
			r.OfBound = max(r.OfBound, d/bound)
		}
		if d > bound {
			r.Wrong++
			if len(r.First) < listed {
				r.First = append(r.First, Cell{coordinates(i, shape), x, y, bound})
			}
		}
	}
}

func coordinates(n int, shape []int) []int {
	at := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		at[d] = n % shape[d]
		n /= shape[d]
	}
	return at
}

func whole(x, y float64) float64 { return math.Abs(x - y) }

// ulps64 counts the doubles between x and y.
func ulps64(x, y float64) float64 {
	if x != x || y != y {
		return math.Inf(1)
	}
	a, b := ordered64(x), ordered64(y)
	return float64(uint64(max(a, b)) - uint64(min(a, b)))
}

// ordered64 numbers the doubles in ascending order; both zeros are 0.
func ordered64(x float64) int64 {
	b := int64(math.Float64bits(x))
	if b < 0 {
		return math.MinInt64 - b
	}
	return b
}

func ulps32(x, y float64) float64 {
	if x != x || y != y {
		return math.Inf(1)
	}
	return math.Abs(float64(ordered32(x)) - float64(ordered32(y)))
}

func ordered32(x float64) int64 {
	b := int32(math.Float32bits(float32(x)))
	if b < 0 {
		return int64(math.MinInt32) - int64(b)
	}
	return int64(b)
}

// Merge adds another grid's result to r; the cells are not named.
func (r *Result) Merge(s Result) {
	r.Cells += s.Cells
	r.Differ += s.Differ
	r.Wrong += s.Wrong
	r.Open += s.Open
	r.MaxAbs = max(r.MaxAbs, s.MaxAbs)
	r.MaxULP = max(r.MaxULP, s.MaxULP)
	r.OfBound = max(r.OfBound, s.OfBound)
}
