package lower_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

const rimText = `
parameter L, M, N;
iterator k, j, i;
%[1]s u[L,M,N], v[L,M,N];
copyin u, v;
stencil s (out, in) {
  [1:L-2, %[2]d:M-%[3]d, %[4]d:N-%[5]d] : out[k][j][i] = 0.3*in[k][j][i] + 0.2*in[k-1][j][i] + 0.1*in[k+1][j][i]
    + 0.15*in[k][j-1][i] - 0.05*in[k][j+1][i] + 0.25*in[k][j][i-1] - 0.1*in[k][j][i+1];
}
iterate 5 { s (v, u); swap (v, u); }
copyout u, v;
`

// Rims of any width are put in place by vectors of any length, once a step or row by row. The widths are those below
// a vector, at its length, beyond it, and unlike at both ends; rows of a thread are multiples of a vector, and not.
func TestPipeRims(t *testing.T) {
	widths := [][4]int{ // of the first and last rows, and of the first and last cells of a row
		{1, 1, 1, 1}, {1, 2, 3, 1}, {2, 1, 1, 4}, {3, 4, 5, 2}, {4, 1, 8, 3}, {1, 4, 2, 7}, {2, 2, 1, 8},
	}
	cells := []string{"4x1", "2x2", "3x1", "5x2", "6x2", "1x4"}
	sizes := []string{"L=3 M=22 N=40", "L=4 M=17 N=37", "L=5 M=41 N=19"}
	rng := rand.New(rand.NewPCG(4, 2))
	met := map[string]bool{}
	for n, w := range widths {
		for _, rims := range []string{"rows", "step"} {
			for v, vec := range []string{"4", "2", "1"} {
				rimless := []string{"common", "own"}[(n+v)%2]
				kind := []string{"double", "float"}[rng.IntN(2)]
				per := cells[rng.IntN(len(cells))]
				literals := []string{"arguments", "literals"}[rng.IntN(2)]
				size := sizes[rng.IntN(len(sizes))]
				source := fmt.Sprintf(rimText, kind, w[0], w[1]+1, w[2], w[3]+1)
				text := fmt.Sprintf("body[0:2]@2{family=pipe,block=8x32,cells=%s,chunk=0,stages=1,sizes=%s,rims=%s,"+
					"rimvec=%s,rimless=%s}", per, literals, rims, vec, rimless)
				if per == "1x4" {
					text = strings.Replace(text, "8x32", "16x32", 1)
				}
				met[rims+vec+kind], met[per], met[literals] = true, true, true
				t.Run(fmt.Sprintf("%d/%s/%s", n, rims, vec), func(t *testing.T) {
					t.Parallel()
					b := bind(t, load(t, "rims", source), size)
					o := lower.Options{Target: lower.GPU, Plan: plan(t, text), Bound: b, Sized: true}
					m, err := lower.Program(b.Program, o)
					if err != nil {
						t.Fatal(err)
					}
					if s := kernel.Text(m.Kernels[len(m.Kernels)-1]); !strings.Contains(s, "rim_column") {
						t.Errorf("%s has no rims in shared memory", text)
					} else if strings.Contains(s, "rimless") != (rimless == "own") {
						t.Errorf("%s: blocks without rims have another loop", text)
					}
					if err := checkSpan(t, lower.GPU, b.In(arith.Contract), text, uint64(n)); err != nil {
						t.Errorf("%s, %s, %s, rims of %v: %v", kind, size, text, w, err)
					}
				})
			}
		}
	}
	for _, per := range slices.Concat(cells, []string{"arguments", "literals"}) {
		if !met[per] {
			t.Errorf("no kernel has %s", per)
		}
	}
	for _, what := range []string{"rows4float", "rows4double", "step4float", "step4double", "step2double"} {
		if !met[what] {
			t.Errorf("none has %s", what)
		}
	}
}
