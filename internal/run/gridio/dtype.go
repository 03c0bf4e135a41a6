package gridio

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// dtype is the type of the cells in a file, named as NumPy names it.
type dtype struct {
	kind byte // 'b' truth value, 'i' signed, 'u' unsigned, 'f' floating point
	size int
	big  bool // most significant byte first
}

// dtypeOf returns the type under which cells of type t are written.
func dtypeOf(t types.Type) dtype {
	switch t {
	case types.Bool:
		return dtype{kind: 'b', size: 1}
	case types.U8:
		return dtype{kind: 'u', size: 1}
	case types.I32:
		return dtype{kind: 'i', size: 4}
	case types.F32:
		return dtype{kind: 'f', size: 4}
	case types.F64:
		return dtype{kind: 'f', size: 8}
	}
	panic("gridio: no grid has cells of type " + t.String())
}

// parseDtype reads the form that .npy headers use: "<f8", "|u1", ">i2".
func parseDtype(s string) (dtype, error) {
	d := dtype{}
	rest := s
	if rest != "" {
		switch rest[0] {
		case '>':
			d.big = true
			rest = rest[1:]
		case '<', '|', '=':
			rest = rest[1:]
		}
	}
	if rest == "" {
		return d, refuse("its header states no type of cells")
	}
	switch rest[0] {
	case 'O':
		return d, refuse("it holds Python objects, which are never loaded")
	case 'c':
		return d, refuse("it holds complex numbers, and a cell is one real number").
			hint("save the real and the imaginary part as two arrays")
	case 'S', 'U', 'a':
		return d, refuse("it holds text")
	case 'V':
		return d, refuse("it holds records, and a cell is one number").hint("save each field as an array of its own")
	case 'M', 'm':
		return d, refuse("it holds dates or times")
	}
	switch rest {
	case "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8":
		d.kind, d.size = rest[0], int(rest[1]-'0')
		d.big = d.big && d.size > 1
		return d, nil
	}
	return d, refuse("its cells have the type %q, which no grid has", s)
}

// descr returns the form that .npy headers use.
func (d dtype) descr() string {
	order := '<'
	switch {
	case d.size == 1:
		order = '|'
	case d.big:
		order = '>'
	}
	return fmt.Sprintf("%c%c%d", order, d.kind, d.size)
}

// String returns NumPy's word for the type: "uint16".
func (d dtype) String() string {
	switch d.kind {
	case 'b':
		return "bool"
	case 'i':
		return "int" + strconv.Itoa(8*d.size)
	case 'u':
		return "uint" + strconv.Itoa(8*d.size)
	}
	return "float" + strconv.Itoa(8*d.size)
}

// grid returns the type of grid that takes such cells when the caller has
// none in mind.
func (d dtype) grid() types.Type {
	switch {
	case d.kind == 'b':
		return types.Bool
	case d.kind == 'u' && d.size == 1:
		return types.U8
	case d.kind != 'f':
		return types.I32
	case d.size == 8:
		return types.F64
	}
	return types.F32
}

// sameBits reports whether cells of type t differ at most in byte order.
func (d dtype) sameBits(t types.Type) bool {
	d.big = false
	return d == dtypeOf(t)
}

// word returns the bits of the first cell in b.
func (d dtype) word(b []byte) uint64 {
	var order binary.ByteOrder = binary.LittleEndian
	if d.big {
		order = binary.BigEndian
	}
	switch d.size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(order.Uint16(b))
	case 4:
		return uint64(order.Uint32(b))
	}
	return order.Uint64(b)
}

// decode returns the first cell in b and whether a float64 holds it exactly.
// All cells that fit a grid pass: every grid's values are float64 values.
func (d dtype) decode(b []byte) (v float64, exact bool) {
	w := d.word(b)
	switch {
	case d.kind == 'i':
		shift := 64 - 8*d.size
		n := int64(w<<shift) >> shift
		v = float64(n)
		// 2^63 is a float64 but not an int64.
		return v, v != math.MaxInt64+1 && int64(v) == n
	case d.kind == 'f' && d.size == 2:
		return halfToFloat(uint16(w)), true
	case d.kind == 'f' && d.size == 4:
		return float64(math.Float32frombits(uint32(w))), true
	case d.kind == 'f':
		return math.Float64frombits(w), true
	}
	v = float64(w)
	return v, v != math.MaxUint64+1 && uint64(v) == w
}

// text prints the first cell in b for a message.
func (d dtype) text(b []byte) string {
	w := d.word(b)
	switch d.kind {
	case 'i':
		shift := 64 - 8*d.size
		return strconv.FormatInt(int64(w<<shift)>>shift, 10)
	case 'f':
		v, _ := d.decode(b)
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatUint(w, 10)
}

// halfToFloat decodes an IEEE 754 binary16.
func halfToFloat(h uint16) float64 {
	exponent, fraction := int(h>>10&31), float64(h&0x3ff)
	var v float64
	switch exponent {
	case 0:
		v = math.Ldexp(fraction, -24)
	case 31:
		v = math.Inf(1)
		if fraction != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(fraction+1024, exponent-25)
	}
	if h>>15 != 0 {
		return -v
	}
	return v
}

// put writes v to the start of dst as a cell of type t, and reports whether
// the cell equals v.
func put(t types.Type, dst []byte, v float64) bool {
	switch t {
	case types.Bool:
		dst[0] = byte(int(v) & 1)
		return v == 0 || v == 1
	case types.U8:
		if !(v >= 0 && v <= math.MaxUint8) {
			return false
		}
		dst[0] = byte(v)
		return v == math.Trunc(v)
	case types.I32:
		if !(v >= math.MinInt32 && v <= math.MaxInt32) {
			return false
		}
		binary.LittleEndian.PutUint32(dst, uint32(int32(v)))
		return v == math.Trunc(v)
	case types.F32:
		x := float32(v)
		binary.LittleEndian.PutUint32(dst, math.Float32bits(x))
		return float64(x) == v || v != v
	case types.F64:
		binary.LittleEndian.PutUint64(dst, math.Float64bits(v))
		return true
	}
	panic("gridio: no grid has cells of type " + t.String())
}

// convert turns the cells in src into cells of type t in dst, and returns the
// number of the first that t does not hold exactly, or -1.
func (d dtype) convert(t types.Type, dst, src []byte) int {
	size := t.Size()
	if d.sameBits(t) && t != types.Bool {
		// Through the bits, so that not even a NaN changes.
		for i := 0; i < len(src); i += size {
			w := d.word(src[i:])
			for k := range size {
				dst[i+k] = byte(w >> (8 * k))
			}
		}
		return -1
	}
	for i := range len(src) / d.size {
		v, exact := d.decode(src[i*d.size:])
		if !exact || !put(t, dst[i*size:], v) {
			return i
		}
	}
	return -1
}
