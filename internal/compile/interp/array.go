package interp

import (
	"math"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// Array is the memory of one grid: its cells in C order, without gaps.
type Array struct {
	Type  types.Type
	Shape []int
	Data  []byte // in the machine's byte order
	// Bound holds, for every cell, how far a device may be from Data; nil
	// without Options.Bounds.
	Bound []float64
}

// Len returns the number of cells.
func (a *Array) Len() int { return len(a.Data) / a.Type.Size() }

// element is a cell as it lies in memory. Bool and U8 share uint8.
type element interface {
	uint8 | int32 | float32 | float64
}

// cells returns an array's memory as elements.
func cells[E element](a *Array) []E {
	if len(a.Data) == 0 {
		return nil
	}
	return unsafe.Slice((*E)(unsafe.Pointer(&a.Data[0])), a.Len())
}

// allocate returns n zero bytes that start where any element may.
func allocate(n int64) []byte {
	if n == 0 {
		return nil
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
}

// At returns the value of the cell with that number, as a float64, which holds
// every value of every grid type exactly.
func (a *Array) At(n int) float64 {
	switch a.Type {
	case types.F64:
		return cells[float64](a)[n]
	case types.F32:
		return float64(cells[float32](a)[n])
	case types.I32:
		return float64(cells[int32](a)[n])
	case types.U8, types.Bool:
		return float64(a.Data[n])
	}
	panic("interp: no grid has cells of type " + a.Type.String())
}

// Set stores a value that the array's type holds exactly.
func (a *Array) Set(n int, v float64) {
	switch a.Type {
	case types.F64:
		cells[float64](a)[n] = v
	case types.F32:
		cells[float32](a)[n] = float32(v)
	case types.I32:
		cells[int32](a)[n] = int32(v)
	case types.U8, types.Bool:
		a.Data[n] = uint8(v)
	default:
		panic("interp: no grid has cells of type " + a.Type.String())
	}
}

// store is an array in place: where it lies in grid coordinates. The Array of
// a grid is shared with the State, so that a rotation reaches every store.
type store struct {
	*Array
	lo, hi []int64 // positions it holds, by dimension
	stride []int64 // in cells, by dimension
	axes   []int   // by dimension, for temps alone

	// chain says that with fast bounds cells hold open chains (see bounded):
	// Bound, sum and mag are their b, s and m, and ops the most operations of
	// any. Temps and local grids do; what passes through a grid is rounded.
	chain    bool
	sum, mag []float64
	ops      int
}

func newStore(t types.Type, lo, hi []int64) *store {
	s := &store{Array: &Array{Type: t}, lo: lo, hi: hi, stride: make([]int64, len(lo))}
	n := int64(1)
	for d := len(lo) - 1; d >= 0; d-- {
		s.stride[d] = n
		n *= hi[d] - lo[d] + 1
	}
	for d := range lo {
		s.Shape = append(s.Shape, int(hi[d]-lo[d]+1))
	}
	return s
}

func (s *store) size() int64 {
	n := int64(1)
	for d := range s.lo {
		n *= s.hi[d] - s.lo[d] + 1
	}
	return n
}

// poison fills memory with values that no correct program reads: cells of
// local grids and temps that nothing has assigned are loud.
func (s *store) poison() {
	switch s.Type {
	case types.F64:
		fill(cells[float64](s.Array), math.NaN())
	case types.F32:
		fill(cells[float32](s.Array), float32(math.NaN()))
	case types.I32:
		fill(cells[int32](s.Array), math.MinInt32+0x5EED)
	case types.U8, types.Bool:
		fill(s.Data, 0xA5)
	}
}

func fill[T any](dst []T, v T) {
	for i := range dst {
		dst[i] = v
	}
}
