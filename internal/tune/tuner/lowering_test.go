package tuner

import (
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/toolchain"
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
	p := program(b, box)
	s, err := newSubject(p, gpu(b, newScripted(b, p, smooth)), toolchain.Contract, false)
	if err != nil {
		b.Fatal(err)
	}
	choices, err := s.choices(schedule.Plan{})
	if err != nil {
		b.Fatal(err)
	}
	configs := choices[0].Space.Sample(rand.New(rand.NewPCG(1, 2)), 100)
	i := 0
	for b.Loop() {
		k := choices[0].Kernel
		k.Config = configs[i%len(configs)]
		i++
		s.stages[0].lowered(s.stages[0].bound, schedule.Plan{Kernels: []schedule.Kernel{k}})
	}
}
