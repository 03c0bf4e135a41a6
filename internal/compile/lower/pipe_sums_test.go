package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Under fast arithmetic sums may be put in the order of their planes: results are within the bounds of that mode, and
// threads keep fewer values. Exact arithmetic does not offer it.
func TestPipeSums(t *testing.T) {
	for n, c := range []struct{ kind, boundary, sum, config string }{
		{"double", "", "last", "block=8x32,cells=2x2,stages=1"},
		{"double", "boundary u, v : clamp on i;", "last", "block=8x32,cells=2x1,stages=1"},
		{"double", "boundary u, v : periodic;", "last", "block=8x32,cells=3x2,stages=0"},
		{"float", "", "behind", "block=4x32,cells=4x2,stages=2,barrier=whole"},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			source := fmt.Sprintf(carriedText, c.kind, c.boundary, carriedSums[c.sum])
			sums := "body[0:2]@2{family=pipe," + c.config + ",retime=sums}"
			for k, size := range []string{"L=14 M=37 N=70", "L=9 M=16 N=64", "L=7 M=43 N=131"} {
				b := bind(t, load(t, "sums", source), size)
				w := way{target: lower.GPU, plan: plan(t, sums)}
				if err := checkIn(b, w, arith.Fast, uint64(10*n+k)); err != nil {
					t.Errorf("%s: %v", size, err)
				}
			}
			b := bind(t, load(t, "sums", source), "L=14 M=37 N=70").In(arith.Fast)
			registers := func(text string) int64 {
				o := lower.Options{Target: lower.GPU, Plan: plan(t, text), Bound: b, Sized: true}
				m, err := lower.Program(b.Program, o)
				if err != nil {
					t.Fatal(err)
				}
				return lower.Resources(m.Kernels[len(m.Kernels)-1]).Registers
			}
			text := strings.Replace(sums, "retime=sums", "retime=yes", 1)
			if some, all := registers(sums), registers(text); some >= all {
				t.Errorf("%d registers in the order of planes, %d in that of the text", some, all)
			}
			exact := b.In(arith.Contract)
			o := lower.Options{Target: lower.GPU, Plan: plan(t, sums), Bound: exact, Sized: true}
			if _, err := lower.Program(exact.Program, o); err == nil || !strings.Contains(err.Error(), "retime") {
				t.Errorf("exact arithmetic: %v", err)
			}
		})
	}
}

// The source is told the order that takes the fewest registers, where it has another.
func TestInPlaneOrder(t *testing.T) {
	for _, c := range []struct{ sum, want string }{
		{"out[k][j][i] = 0.5*in[k+1][j][i] + in[k-1][j][i] + 0.25*in[k][j][i-1];",
			"[out[k][j][i] = in[k-1][j][i] + 0.25 * in[k][j][i-1] + 0.5 * in[k+1][j][i]]"},
		{"out[k][j][i] = in[k-1][j][i] + 0.25*in[k][j][i-1] + 0.5*in[k+1][j][i];", "[]"},
		{"double x = in[k+1][j][i] - in[k-1][j][i]; out[k][j][i] = 0.5*x;",
			"[out[k][j][i] = 0.5 * -in[k-1][j][i] + 0.5 * in[k+1][j][i]]"},
	} {
		p := load(t, "order", fmt.Sprintf(carriedText, "double", "", c.sum))
		if got := fmt.Sprint(lower.InPlaneOrder(p, graph.Loops(p)[0], 2)); got != c.want {
			t.Errorf("%s: %s", c.sum, got)
		}
	}
}
