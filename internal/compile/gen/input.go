package gen

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// Input returns that many cells of a type, in the machine's byte order, for a
// grid that is read from the user: real numbers between -1 and 1, small
// integers and a few large ones.
func Input(t types.Type, cells int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 0x1A9D))
	out := make([]byte, 0, cells*t.Size())
	for range cells {
		switch t {
		case types.F64:
			out = binary.NativeEndian.AppendUint64(out, math.Float64bits(2*r.Float64()-1))
		case types.F32:
			out = binary.NativeEndian.AppendUint32(out, math.Float32bits(2*r.Float32()-1))
		case types.I32:
			v := int32(r.IntN(100) - 50)
			if r.IntN(20) == 0 {
				v = int32(r.Uint32())
			}
			out = binary.NativeEndian.AppendUint32(out, uint32(v))
		case types.U8:
			out = append(out, byte(r.Uint32()))
		case types.Bool:
			out = append(out, byte(r.IntN(2)))
		default:
			panic("gen: no grid has cells of type " + t.String())
		}
	}
	return out
}
