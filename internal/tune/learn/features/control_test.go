package features

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Control flow of small kernels is as counted by hand, a thread. Each is run by 40 threads.
func TestControl(t *testing.T) {
	for _, c := range []struct {
		what, body            string
		barriers, ifs, bodies float64
	}{
		{"nothing", "", 0, 0, 0},
		{"a condition for half of the threads, with another inside",
			"(if (lt t (i64 20)) (then (if (lt n t) (then (store w t (f64 0))))))", 0, 1.5, 0},
		{"a loop", "(for i i64 serial (i64 0) (i64 6) (i64 2) (store w t (f64 0)))", 0, 0, 3},
		{"a loop of one iteration", "(for i i64 serial t (add t (i64 1)) (i64 1) (store w t (f64 0)))", 0, 0, 0},
		{"a loop of one iteration for some threads",
			"(for i i64 serial t (i64 10) (i64 40) (store w t (f64 0)))", 0, 1, 0},
		{"a loop of one iteration, two for some",
			"(for i i64 serial t (i64 50) (i64 40) (store w t (f64 0)))", 0, 0, 1.25},
		{"an unrolled loop", "(for i i64 unroll (i64 0) (i64 4) (i64 1) (store w t (f64 0)))", 0, 0, 0},
		{"barriers", "(for i i64 serial (i64 0) (i64 3) (i64 1) (barrier block)) (barrier warp)", 3, 0, 3},
	} {
		k, err := kernel.ParseText(`(kernel k (buffer w f64 global out (i64 100000)) (scalar n i64)
			(for t i64 thread.x (i64 0) (i64 40) (i64 1) ` + c.body + `))`)
		if err != nil {
			t.Fatal(err)
		}
		f, err := OfKernel(k, map[*kernel.Var]op.Value{k.Scalars[0]: op.Int(types.I64, 7)})
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]float64(f[12:]); got != [3]float64{c.barriers, c.ifs, c.bodies} {
			t.Errorf("%s: %v barriers, conditions and iterations, not %v, %v and %v", c.what, got, c.barriers, c.ifs,
				c.bodies)
		}
	}
	if len(OfLowered) != 15 {
		t.Errorf("there are %d features, not 15", len(OfLowered))
	}
}
