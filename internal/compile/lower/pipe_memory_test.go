package lower_test

import (
	"fmt"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

const narrowText = `
parameter M, N;
iterator j, i;
%s u[M,1..N+1], v[M,1..N+1];
copyin u, v;
stencil s (out, in) { out[j][i] = in[j][i] - in[j][i+1]; }
iterate 9 { s (v, u); swap (v, u); }
copyout u, v;
`

// Rows in shared memory begin with a vector, where halos are shorter than a vector of narrow cells (seed 91675 of the
// random proof).
func TestPipeNarrowCells(t *testing.T) {
	for n, kind := range []string{"bool", "byte", "int", "float"} {
		for _, config := range []string{
			"@4{family=pipe,block=1x32,cells=16,stages=3}", "@2{family=pipe,cells=8,stages=1}",
		} {
			t.Run(fmt.Sprint(kind, config), func(t *testing.T) {
				t.Parallel()
				source := fmt.Sprintf(narrowText, kind)
				for _, size := range []string{"M=5 N=1", "M=30 N=700"} {
					b := bind(t, load(t, "narrow", source), size).In(arith.Contract)
					if err := checkSpan(t, lower.GPU, b, "body[0:2]"+config, uint64(n)); err != nil {
						t.Errorf("%s: %v", size, err)
					}
				}
			})
		}
	}
}
