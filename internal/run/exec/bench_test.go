package exec

import (
	"os"
	"testing"
)

const heat3D = `
parameter N = 256;
iterator k, j, i;
double u[N,N,N], next[N,N,N];
boundary u, next : none;
initial { u[k][j][i] = 1.0*(i % 7); next[k][j][i] = u[k][j][i]; }
stencil heat (out, in) {
  out[k][j][i] = in[k][j][i] + 0.1*(in[k][j][i+1] + in[k][j][i-1] + in[k][j+1][i] + in[k][j-1][i]
                                  + in[k+1][j][i] + in[k-1][j][i] - 6*in[k][j][i]);
}
iterate 1000000 { heat (next, u); swap (next, u); }
`

// steps reports the time a step.
func steps(b *testing.B, text string, o Options, n int64, set ...string) {
	os.Unsetenv("OMP_WAIT_POLICY")
	r := openCPU(b, program(b, text, set...), o)
	if err := r.Initialise(nil); err != nil {
		b.Fatal(err)
	}
	advanced(b, r, Limit{Iterations: n})
	before := r.done
	for b.Loop() {
		advanced(b, r, Limit{Iterations: n})
	}
	b.ReportMetric(float64((r.done.Busy-before.Busy).Microseconds())/float64(r.done.Iterations-before.Iterations),
		"us/step")
	b.ReportMetric(float64(r.done.Points-before.Points)/float64((r.done.Busy-before.Busy).Nanoseconds()), "Gpoints/s")
}

func BenchmarkLarge(b *testing.B)        { steps(b, heat3D, Options{}, 20) }
func BenchmarkLargePrivate(b *testing.B) { steps(b, heat3D, Options{Private: true}, 20) }
func BenchmarkSmall(b *testing.B)        { steps(b, heat, Options{}, 1000, "T=100000000") }
func BenchmarkSmallSerial(b *testing.B)  { steps(b, heat, Options{Threads: 1}, 1000, "T=100000000") }
