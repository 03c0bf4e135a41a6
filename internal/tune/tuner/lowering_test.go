package tuner

import (
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

const box = `
parameter L = 256, M = 256, N = 256;
iterator k, j, i;
float u[L,M,N], next[L,M,N];
stencil box (out, in) {
  out[k][j][i] = sum (c in -1..1) sum (b in -1..1) sum (a in -1..1) (0.03 + 0.01*a + 0.002*b + 0.001*c)*in[k+c][j+b][i+a];
}
box (next, u);
`

// BenchmarkLowering takes the time from a configuration of a large stencil to
// its text: compilers wait for it.
func BenchmarkLowering(b *testing.B) {
	s, choice := kernelOnGPU(b, box)
	configs := choice.Space.Sample(rand.New(rand.NewPCG(1, 2)), 100)
	i := 0
	for b.Loop() {
		k := choice.Kernel
		k.Config = configs[i%len(configs)]
		i++
		s.calls[0].lowered(s.calls[0].bound, schedule.Plan{Kernels: []schedule.Kernel{k}})
	}
}
