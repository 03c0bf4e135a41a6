package estimate

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

const body = `
  out[k][j][i] = 0.4*in[k][j][i] + 0.1*(in[k][j][i-1] + in[k][j][i+1] + in[k][j-1][i] + in[k][j+1][i] + in[k-1][j][i] + in[k+1][j][i]);`

const cube = `
parameter L = 256, M = 256, N = 256;
iterator k, j, i;
double u[L,M,N], next[L,M,N];
stencil seven (out, in) {` + body + `
}
iterate 10 { seven (next, u); swap (next, u); }
`

// model returns the model of a program's first kernel on an H200.
func model(t testing.TB, source string) *Model {
	t.Helper()
	o := options(t, source)
	p := o.Bound.Program
	return New(analysis.Analyze(p, o.Bound).Call(p.Calls[0]), o.Bound, p.Calls[0], o.Machine, choice(t, o).Space)
}

// options lower a program for an H200.
func options(t testing.TB, source string) lower.Options {
	t.Helper()
	p, list := lang.Load(diag.NewSource("test.loom", source))
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	b, list := p.Bind(nil)
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	return lower.Options{Target: lower.GPU, Bound: b, Sized: true, Machine: m}
}

// choice is the first kernel of a program.
func choice(t testing.TB, o lower.Options) lower.Choice {
	t.Helper()
	choices, err := lower.Choices(o.Bound.Program, o)
	if err != nil {
		t.Fatal(err)
	}
	return choices[0]
}

// The estimate knows the simplest facts about GPUs.
func TestEstimateOrders(t *testing.T) {
	e := model(t, cube)
	for _, test := range []struct{ fast, slow, why string }{
		{"family=tile,block=1x4x64,vec=2,rows=1x1,repeat=1x1x1", "family=tile,block=1x4x64,vec=1,rows=1x1,repeat=1x1x1",
			"16-byte accesses are faster than 8-byte ones"},
		{"family=tile,block=1x4x64,vec=2,rows=1x1,repeat=1x1x1", "family=tile,block=1x64x4,vec=2,rows=1x1,repeat=1x1x1",
			"rows of threads should fill lines"},
		{"family=planes,stream=k,block=4x64,rows=2,vec=2,chunk=32",
			"family=planes,stream=k,block=4x64,rows=8,vec=4,chunk=32", "what spills is slow"},
		{"family=planes,stream=k,block=4x64,rows=1,vec=2,chunk=32",
			"family=planes,stream=k,block=16x64,rows=2,vec=2,chunk=0",
			"a few blocks leave multiprocessors idle"},
	} {
		var times [2]float64
		for i, text := range []string{test.fast, test.slow} {
			c, err := schedule.ParseConfig(text)
			if err != nil {
				t.Fatal(err)
			}
			var soon bool
			if times[i], soon = e.Estimate(c); !soon && i == 0 {
				t.Errorf("%s is put off", text)
			}
		}
		if times[0] >= times[1] {
			t.Errorf("%s: %.3g and %.3g", test.why, times[0], times[1])
		}
	}
}

func BenchmarkEstimate(b *testing.B) {
	e := model(b, cube)
	c, err := schedule.ParseConfig("family=planes,stream=k,block=4x64,rows=1,vec=2,chunk=32")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		e.Estimate(c)
	}
}

// Fewer configurations of large bodies are lowered than of small ones.
func TestSampleOfLargeBodies(t *testing.T) {
	small, large := model(t, cube), model(t, strings.Replace(cube, body, strings.Repeat(body, 80), 1))
	if small.sampled != mostSampled || large.sampled != leastSampled {
		t.Errorf("%d and %d configurations are lowered", small.sampled, large.sampled)
	}
}
