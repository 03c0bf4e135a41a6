package gridio

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// Array is a dense array of cells in C order: the last index varies fastest.
type Array struct {
	Type  types.Type
	Shape []int
	Data  []byte // the cells' bytes, little-endian
}

// New returns an array of zeros.
func New(t types.Type, shape ...int) (*Array, error) {
	n, err := Bytes(t, shape)
	if err != nil {
		return nil, err
	}
	return &Array{Type: t, Shape: slices.Clone(shape), Data: alloc(n)}, nil
}

// alloc returns n zero bytes that start where any cell may start, which a
// plain make([]byte, n) does not promise.
func alloc(n int64) []byte {
	if n == 0 {
		return nil
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
}

// Bytes returns the memory that an array takes. It refuses types that no grid
// has, negative sizes, and shapes whose size does not fit the address space.
func Bytes(t types.Type, shape []int) (int64, error) {
	switch t {
	case types.Bool, types.U8, types.I32, types.F32, types.F64:
	default:
		return 0, refuse("no grid has cells of type %s", t.Word())
	}
	// Sizes beside a zero are multiplied too: strides are made of them.
	product, empty := t.Size(), false
	for _, n := range shape {
		switch {
		case n < 0:
			return 0, refuse("the shape %s has a negative size", FormatShape(shape))
		case n == 0:
			empty = true
		case product > math.MaxInt/n:
			return 0, refuse("an array of %s is larger than any memory", FormatShape(shape))
		default:
			product *= n
		}
	}
	if empty {
		return 0, nil
	}
	return int64(product), nil
}

// Len returns the number of cells.
func (a *Array) Len() int { return len(a.Data) / a.Type.Size() }

// check refuses arrays that no file holds, among them those whose Data is not
// as long as Type and Shape say.
func (a *Array) check() error {
	n, err := Bytes(a.Type, a.Shape)
	if err != nil {
		return err
	}
	if len(a.Shape) > maxRank {
		return refuse("it has %d dimensions, and files hold at most %d", len(a.Shape), maxRank)
	}
	if n != int64(len(a.Data)) {
		return refuse("an array of %s %s takes %d bytes, not %d",
			FormatShape(a.Shape), a.Type.Word(), n, len(a.Data))
	}
	return nil
}

// Cell is a Go type that holds one cell.
type Cell interface {
	uint8 | int32 | float32 | float64
}

// View returns the cells of a as a slice that shares their memory: uint8 for
// Bool and U8, int32 for I32, float32 for F32, float64 for F64. It panics if T
// is not the type of a's cells or if Data starts at an address that T may not
// have; both are mistakes in the calling code.
func View[T Cell](a *Array) []T {
	var zero T
	ok := false
	switch any(zero).(type) {
	case uint8:
		ok = a.Type == types.U8 || a.Type == types.Bool
	case int32:
		ok = a.Type == types.I32
	case float32:
		ok = a.Type == types.F32
	case float64:
		ok = a.Type == types.F64
	}
	if !ok {
		panic(fmt.Sprintf("gridio: a view of %T on cells of type %s", zero, a.Type))
	}
	if len(a.Data) == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(a.Data))
	if uintptr(p)%unsafe.Alignof(zero) != 0 {
		panic(fmt.Sprintf("gridio: a view of %T at the address %p", zero, p))
	}
	return unsafe.Slice((*T)(p), a.Len())
}

// At returns cell n, counted in C order; every cell type fits a float64.
func (a *Array) At(n int) float64 {
	switch a.Type {
	case types.Bool, types.U8:
		return float64(a.Data[n])
	case types.I32:
		return float64(View[int32](a)[n])
	case types.F32:
		return float64(View[float32](a)[n])
	case types.F64:
		return View[float64](a)[n]
	}
	panic("gridio: no grid has cells of type " + a.Type.String())
}

// strides returns how many cells apart neighbours along each axis are.
func strides(shape []int) []int {
	s := make([]int, len(shape))
	step := 1
	for d := len(shape) - 1; d >= 0; d-- {
		s[d] = step
		step *= shape[d]
	}
	return s
}

// FormatShape prints a shape for people: "64 x 64".
func FormatShape(shape []int) string {
	if len(shape) == 0 {
		return "a single number"
	}
	words := make([]string, len(shape))
	for d, n := range shape {
		words[d] = strconv.Itoa(n)
	}
	return strings.Join(words, " x ")
}
