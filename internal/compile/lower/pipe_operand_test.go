package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// A wave with a level before the last, and a coefficient that varies and is read in the first and the last part of
// the sum, and in a plane of its own. The other coefficient has cells of another size; the third ends elsewhere.
const operandText = `
parameter L, M, N;
iterator k, j, i;
%[1]s prev[L,M,N], u[L,M,N], next[L,M,N], c[L,M,N];
%[2]s d[L,M,N];
%[1]s e[L,M,N+1];
boundary prev, u, next : %[3]s;
copyin prev, u, next, c, d, e;
stencil wave (out, u, prev) {
  out[k][j][i] = c[k][j][i]*u[k-1][j][i] + 0.15*u[k][j-1][i] + 0.25*u[k][j][i-1] + 1.1*u[k][j][i] - prev[k][j][i]
    + d[k][j][i]*u[k][j][i+1] + 0.35*u[k][j+1][i] + e[k][j][i] + c[k][j][i]*u[k+1][j][i] + 0.01*c[1][j][i];
}
iterate 7 { wave (next, u, prev); rotate (prev, u, next); }
copyout prev, u, next;
`

// Cells that a stage reads at its own position alone are copied ahead, and only those that can be.
func TestPipeOperands(t *testing.T) {
	sizes := []string{"L=3 M=22 N=40", "L=7 M=17 N=37", "L=12 M=41 N=130", "L=3 M=3 N=3"}
	for n, c := range []struct {
		kind, other, boundary, config string
		prefetched                    string // the grids, by name
	}{
		{"double", "float", "none", "@2{block=8x32,cells=3x2,stages=1}", "c d prev"},
		{"double", "float", "none", "@2{block=8x32,cells=3x2,stages=1,pointwise=direct}", ""},
		{"double", "float", "none", "@2{block=8x32,cells=3x2,stages=0}", ""},
		{"float", "double", "none", "@2{block=8x32,cells=3x2,stages=2,barrier=whole,rims=step}", "c d prev"},
		{"float", "double", "clamp", "@3{block=12x32,cells=2x2,stages=1,sizes=literals}", "c d prev"},
		{"float", "byte", "none", "@2{block=8x32,cells=4x1,stages=3}", "c prev"},
		{"double", "byte", "periodic", "@2{block=8x32,cells=2x1,stages=1,chunk=7}", "c prev"},
		{"double", "double", "mirror", "@2{block=8x32,cells=2x2,stages=1,chunk=0,persistent=1}", "c d prev"},
		{"float", "float", "none", "@4{block=8x32,cells=3x2,stages=1,chunk=7}", "c d prev"},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			source := fmt.Sprintf(operandText, c.kind, c.other, c.boundary)
			if c.boundary == "none" {
				source = strings.Replace(source, "boundary prev, u, next : none;\n", "", 1)
			}
			text := "body[0:2]" + strings.Replace(c.config, "{", "{family=pipe,", 1)
			checkSizes(t, source, text, sizes, uint64(10*n))
			b := bind(t, load(t, "operands", source), sizes[2])
			o := lower.Options{Target: lower.GPU, Plan: plan(t, text), Bound: b, Sized: true}
			m, err := lower.Program(b.Program, o)
			if err != nil {
				t.Fatal(err)
			}
			s := ""
			for _, k := range m.Kernels {
				s += kernel.Text(k)
			}
			var got []string
			for _, name := range []string{"c", "d", "e", "prev"} {
				if strings.Contains(s, "(async "+name+"_prefetched ") {
					got = append(got, name)
				}
			}
			if strings.Join(got, " ") != c.prefetched {
				t.Errorf("cells of %v are copied ahead, not of %s", got, c.prefetched)
			}
		})
	}
}

// checkSizes checks a program's plan for a loop at sizes, of which some may be too small for the plan: not all.
func checkSizes(t *testing.T, source, text string, sizes []string, seed uint64) {
	t.Helper()
	right := 0
	for k, size := range sizes {
		err := checkSpan(t, lower.GPU, bind(t, load(t, "sizes", source), size).In(arith.Contract), text, seed+uint64(k))
		switch {
		case err == nil:
			right++
		case strings.Contains(err.Error(), "boundaries, and the"), strings.Contains(err.Error(), "too small"):
		default:
			t.Errorf("%s: %v", size, err)
		}
	}
	if right < 2 {
		t.Errorf("%d sizes were computed", right)
	}
}
