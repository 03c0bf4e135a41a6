package sim

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

var (
	nan          = math.NaN()
	inf          = math.Inf(1)
	negativeZero = math.Copysign(0, -1)
)

// Memory is a run of elements and, for each, whether anything has been written
// to it. It lives on between runs, so that one kernel's output can be the
// next one's input.
type Memory struct {
	elem types.Type
	size int64 // of an element in bytes
	n    int
	f64  []float64
	f32  []float32
	i64  []int64
	i32  []int32
	u8   []uint8 // also Bool
	// written says which cells hold values; nil where all do.
	written []bool
	// history tells who used each cell last; nil where no race is possible.
	history *history
	// accesses are those that bulk copies have to be ordered after; nil where
	// there are no such copies.
	accesses accesses
}

// New returns memory that nothing has been written to.
func New(t types.Type, n int) *Memory {
	m := View(t, allocate(n*t.Size()))
	m.written = make([]bool, n)
	m.fill(poison(t))
	return m
}

// View returns memory that lies in data, in the machine's byte order, and
// holds values throughout. Runs read and write data itself, which starts where
// an element may.
func View(t types.Type, data []byte) *Memory {
	n := len(data) / t.Size()
	m := &Memory{elem: t, size: int64(t.Size()), n: n}
	if n == 0 {
		return m
	}
	p := unsafe.Pointer(&data[0])
	switch t {
	case types.F64:
		m.f64 = unsafe.Slice((*float64)(p), n)
	case types.F32:
		m.f32 = unsafe.Slice((*float32)(p), n)
	case types.I64:
		m.i64 = unsafe.Slice((*int64)(p), n)
	case types.I32:
		m.i32 = unsafe.Slice((*int32)(p), n)
	case types.U8, types.Bool:
		m.u8 = data[:n]
	default:
		panic(fmt.Sprintf("sim: no memory of %s", t))
	}
	return m
}

// allocate returns bytes that start where any element may.
func allocate(n int) []byte {
	if n == 0 {
		return nil
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
}

// Values returns memory that holds the given values, all of one type.
func Values(t types.Type, values ...op.Value) *Memory {
	m := New(t, len(values))
	for i, v := range values {
		m.Set(i, v)
	}
	return m
}

// Elem returns the elements' type.
func (m *Memory) Elem() types.Type { return m.elem }

// Len returns the number of elements.
func (m *Memory) Len() int { return m.n }

// Written reports whether anything has been written to a cell.
func (m *Memory) Written(i int) bool { return m.written == nil || m.written[i] }

// At returns a cell's value.
func (m *Memory) At(i int) op.Value {
	switch m.elem {
	case types.F64:
		return op.Value{T: m.elem, F: m.f64[i]}
	case types.F32:
		return op.Value{T: m.elem, F: float64(m.f32[i])}
	case types.I64:
		return op.Value{T: m.elem, I: m.i64[i]}
	case types.I32:
		return op.Value{T: m.elem, I: int64(m.i32[i])}
	}
	return op.Value{T: m.elem, I: int64(m.u8[i])}
}

// Set writes a value of the elements' type to a cell.
func (m *Memory) Set(i int, v op.Value) {
	if v.T != m.elem {
		panic(fmt.Sprintf("sim: %s to memory of %s", v.T, m.elem))
	}
	m.put(i, v.F, v.I)
	if m.written != nil {
		m.written[i] = true
	}
}

// put writes one of two values, as the elements' type says.
func (m *Memory) put(i int, f float64, n int64) {
	switch m.elem {
	case types.F64:
		m.f64[i] = f
	case types.F32:
		m.f32[i] = float32(f)
	case types.I64:
		m.i64[i] = n
	case types.I32:
		m.i32[i] = int32(n)
	default:
		m.u8[i] = uint8(n)
	}
}

func (m *Memory) fill(v op.Value) {
	for i := range m.n {
		m.put(i, v.F, v.I)
	}
}

// forget makes the memory one that nothing has been written to.
func (m *Memory) forget() {
	clear(m.written)
	if m.history != nil {
		m.history.forget()
	}
	clear(m.accesses)
	m.fill(poison(m.elem))
}
