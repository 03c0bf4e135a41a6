package engine

import (
	"math/rand/v2"

	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// randomise fills a grid with values of an input's usual size. Numbers lie
// between 0 and 1, neither included, so that they can be divided by and have
// roots and logarithms.
func randomise(t types.Type, cells []byte, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	a := gridio.Array{Type: t, Shape: []int{len(cells) / t.Size()}, Data: cells}
	switch t {
	case types.F64:
		for i, v := 0, gridio.View[float64](&a); i < len(v); i++ {
			v[i] = (float64(rng.Uint64N(1<<52)) + 0.5) / (1 << 52)
		}
	case types.F32:
		for i, v := 0, gridio.View[float32](&a); i < len(v); i++ {
			v[i] = (float32(rng.Uint32N(1<<23)) + 0.5) / (1 << 23)
		}
	case types.I32:
		for i, v := 0, gridio.View[int32](&a); i < len(v); i++ {
			v[i] = rng.Int32N(256)
		}
	case types.U8:
		for i := range cells {
			cells[i] = byte(rng.Uint32())
		}
	case types.Bool:
		for i := range cells {
			cells[i] = byte(rng.Uint32() & 1)
		}
	}
}
