package tuner

import (
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

const cube = `
parameter L = 256, M = 256, N = 256;
iterator k, j, i;
double u[L,M,N], next[L,M,N];
stencil seven (out, in) {
  out[k][j][i] = 0.4*in[k][j][i] + 0.1*(in[k][j][i-1] + in[k][j][i+1] + in[k][j-1][i] + in[k][j+1][i] + in[k-1][j][i] + in[k+1][j][i]);
}
iterate 10 { seven (next, u); swap (next, u); }
`

// gpuLab is a scripted Lab that is taken for a GPU.
type gpuLab struct {
	*scripted
	about measure.About
}

func (g *gpuLab) About() measure.About { return g.about }

func gpu(t testing.TB, s *scripted) *gpuLab {
	t.Helper()
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	a := s.About()
	a.Target, a.Machine, a.Dialect = lower.GPU, m, emit.CUDA
	return &gpuLab{s, a}
}

// kernelOnGPU returns a program of one kernel as it is tuned on a GPU, and what
// its kernel may be.
func kernelOnGPU(t testing.TB, source string) (*subject, lower.Choice) {
	t.Helper()
	b := program(t, source)
	s, err := newSubject(b, gpu(t, newScripted(t, b, smooth)), false)
	if err != nil {
		t.Fatal(err)
	}
	choices, err := s.choices(schedule.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	return s, choices[0]
}

// The estimate orders and refuses nothing: what it puts off for its registers is
// lowered as all else is, and only threads and shared memory, which the text tells
// exactly, are a refusal.
func TestEstimateRefusesNothing(t *testing.T) {
	s, choice := kernelOnGPU(t, cube)
	with := func(c schedule.Config) schedule.Plan {
		k := choice.Kernel
		k.Config = c
		return schedule.Plan{Kernels: []schedule.Kernel{k}}
	}
	e := newEstimator(s.stages[0])
	e.fit(s.stages[0], with, choice.Space)
	registers, err := choice.Space.Fix("shared", schedule.Int(0))
	if err != nil {
		t.Fatal(err)
	}
	var spilling, later, refused int
	usual, _ := e.estimate(choice.Config)
	rng := rand.New(rand.NewPCG(5, 5))
	for _, c := range append(choice.Space.Sample(rng, 20), registers.Sample(rng, 20)...) {
		time, soon := e.estimate(c)
		if !(time > 0) {
			t.Errorf("%s is estimated to take %g", c, time)
		}
		v, err := s.stages[0].lowered(s.stages[0].bound, with(c))
		switch x, ok := excess(err); {
		case ok && x.What != "threads a block" && x.What != "bytes of shared memory a block":
			t.Errorf("%s: %v", c, err)
		case ok:
			refused++
		case err != nil:
			t.Errorf("%s: %v", c, err)
		case v.registers > lower.Spilling*255:
			spilling++
			if !soon || time > usual {
				later++
			}
		}
	}
	if spilling < 3 || later < spilling || refused == 0 {
		t.Errorf("%d are refused; %d are sure to spill, %d of them are for later", refused, spilling, later)
	}
}

// The estimate knows the simplest facts about GPUs.
func TestEstimateOrders(t *testing.T) {
	b := program(t, cube)
	s, err := newSubject(b, gpu(t, newScripted(t, b, smooth)), false)
	if err != nil {
		t.Fatal(err)
	}
	e := newEstimator(s.stages[0])
	for _, test := range []struct{ fast, slow, why string }{
		{"family=tile,block=1x4x64,vec=2,rows=1x1,repeat=1x1x1", "family=tile,block=1x4x64,vec=1,rows=1x1,repeat=1x1x1", "16-byte accesses are faster than 8-byte ones"},
		{"family=tile,block=1x4x64,vec=2,rows=1x1,repeat=1x1x1", "family=tile,block=1x64x4,vec=2,rows=1x1,repeat=1x1x1", "rows of threads should fill lines"},
		{"family=stream,stream=k,chunk=32,planes=1,block=4x64,vec=2,rows=2,repeat=1x1", "family=stream,stream=k,chunk=32,planes=4,block=4x64,vec=2,rows=8,repeat=1x2", "what spills is slow"},
		{"family=stream,stream=k,chunk=32,planes=1,block=4x64,vec=2,rows=1,repeat=1x1", "family=stream,stream=k,chunk=0,planes=1,block=16x64,vec=2,rows=2,repeat=1x1", "a few blocks leave multiprocessors idle"},
	} {
		var times [2]float64
		for i, text := range []string{test.fast, test.slow} {
			c, err := schedule.ParseConfig(text)
			if err != nil {
				t.Fatal(err)
			}
			var soon bool
			if times[i], soon = e.estimate(c); !soon && i == 0 {
				t.Errorf("%s is put off", text)
			}
		}
		if times[0] >= times[1] {
			t.Errorf("%s: %.3g and %.3g", test.why, times[0], times[1])
		}
	}
	if newEstimator(&stage{subject: &subject{about: (&scripted{}).About()}}) != nil {
		t.Error("nothing is known of processors")
	}
}

func BenchmarkEstimate(b *testing.B) {
	e := &estimator{gpu: &machine.GPU{ThreadsPerBlock: 1024, SharedPerBlock: 1 << 17, RegistersPerThread: 255, Registers: 65536, BlocksPerUnit: 32, ThreadsPerUnit: 2048, SharedPerUnit: 1 << 17},
		units: 132, axes: []string{"k", "j", "i"}, extent: []int64{512, 512, 512}, low: []int64{2, 2, 2}, size: 8, around: 1, arrays: 2, bytes: 16, pressure: 1}
	c, err := schedule.ParseConfig("family=stream,stream=k,chunk=32,planes=1,block=4x64,vec=2,rows=1,repeat=1x1")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		e.estimate(c)
	}
}
