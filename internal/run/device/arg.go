package device

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Arg is what a kernel's parameter is bound to. What it holds may change from
// one launch to the next, without being prepared anew.
type Arg interface{ arg() }

// Slot is the argument for a buffer parameter. Rotating grids exchanges the
// buffers of their slots.
type Slot struct{ Buffer Buffer }

// Value is the argument for a scalar parameter: the value as it lies in the
// device's memory, from the first byte on.
type Value struct{ Bytes [8]byte }

func (*Slot) arg()  {}
func (*Value) arg() {}

// Set gives the argument a value.
func (a *Value) Set(v op.Value) { Encode(a.Bytes[:], v) }

// Encode writes a value as it lies in memory.
func Encode(to []byte, v op.Value) {
	switch v.T {
	case types.Bool, types.U8:
		to[0] = byte(v.I)
	case types.I32:
		binary.NativeEndian.PutUint32(to, uint32(v.I))
	case types.I64:
		binary.NativeEndian.PutUint64(to, uint64(v.I))
	case types.F32:
		binary.NativeEndian.PutUint32(to, math.Float32bits(float32(v.F)))
	case types.F64:
		binary.NativeEndian.PutUint64(to, math.Float64bits(v.F))
	default:
		panic(fmt.Sprintf("device: no value has type %v", v.T))
	}
}

// Encoded returns a value as it lies in memory.
func Encoded(v op.Value) []byte {
	cell := make([]byte, v.T.Size())
	Encode(cell, v)
	return cell
}

// Decode reads a value of a type as it lies in memory.
func Decode(t types.Type, from []byte) op.Value {
	switch t {
	case types.Bool, types.U8:
		return op.Int(t, int64(from[0]))
	case types.I32:
		return op.Int(t, int64(int32(binary.NativeEndian.Uint32(from))))
	case types.I64:
		return op.Int(t, int64(binary.NativeEndian.Uint64(from)))
	case types.F32:
		return op.Float(t, float64(math.Float32frombits(binary.NativeEndian.Uint32(from))))
	case types.F64:
		return op.Float(t, math.Float64frombits(binary.NativeEndian.Uint64(from)))
	}
	panic(fmt.Sprintf("device: no value has type %v", t))
}
