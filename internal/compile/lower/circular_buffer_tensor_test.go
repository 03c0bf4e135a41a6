package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// wide are stencils by what they read of in: with unlike reach on all sides, and of one plane's rows or another's.
var wide = map[string]string{
	"order 8": `0.3*in[k][j][i] + 0.1*in[k+4][j][i] - 0.2*in[k-4][j][i] + 0.15*in[k][j+4][i] - 0.1*in[k][j-4][i] +
		0.2*in[k][j][i+4] - 0.05*in[k][j][i-4] + 0.07*in[k-1][j][i] - 0.03*in[k][j+1][i] + 0.02*in[k][j][i-2]`,
	"box": `0.5*in[k+1][j+1][i+1] + 0.1*in[k-1][j][i] - 0.2*in[k][j-1][i+1] + 0.3*in[k-1][j+1][i] -
		0.1*in[k+1][j-1][i-1] + 0.2*in[k][j][i]`,
	"to one side": `0.5*in[k][j+3][i+2] - 0.4*in[k+1][j+1][i] + 0.1*in[k][j][i+1]`,
	"one row":     `0.5*in[k+1][j][i] - 0.25*in[k-2][j][i+1] + 0.125*in[k][j][i-1]`,
}

func wideProgram(dtype, bounds, reads string) string {
	return fmt.Sprintf(`
parameter L, M, N;
iterator k, j, i;
%s u[L,M,N], v[L,M,N];
%s
copyin u; copyout v;
stencil s (out, in) { out[k][j][i] = %s; }
s (v, u);`, dtype, bounds, reads)
}

// Planes that are brought by tensor maps are right wherever tiles lie, told by a warp that computes or by one of its
// own, in clusters of any size.
func TestTensorPlanes(t *testing.T) {
	plans := []string{
		"stream=k,chunk=4,unroll=2,stages=2,prefetch=2,block=4x32,vec=2,rows=2",
		"stream=k,chunk=8,stages=1,planes=2,block=2x32,vec=4,rows=4,shuffle=yes",
		"stream=k,chunk=0,stages=3,block=4x16,vec=4,rows=2",
		"stream=k,chunk=12,stages=1,unroll=yes,block=2x32,vec=4,rows=2,repeat=2x1",
		"stream=j,chunk=4,stages=2,block=4x16,vec=4,rows=2",
	}
	n := 0
	for _, name := range []string{"order 8", "box", "to one side", "one row"} {
		for _, dtype := range []string{"double", "float"} {
			p := load(t, "wide", wideProgram(dtype, "", wide[name]))
			for i, text := range plans {
				if dtype == "float" {
					text = strings.Replace(text, "vec=2", "vec=4", 1)
				}
				for _, cluster := range []string{"", ",cluster=2", ",cluster=4"} {
					n++
					size := []string{"L=11 M=21 N=37", "L=9 M=10 N=66", "L=10 M=50 N=12"}[n%3]
					text := "family=stream,staging=all,copy=" + []string{"tensor", "tensorwarp"}[n%2] + "," + text + cluster +
						",sizes=" + []string{"literals", "arguments"}[n/2%2]
					w := way{target: lower.GPU, strict: i%2 == 0, plan: plan(t, text)}
					if err := check(bind(t, p, size), w, uint64(n)); err != nil {
						t.Errorf("%s of %s, %s: %v", name, dtype, size, err)
					}
				}
			}
		}
	}
}

// counted returns how many statements of the kernels of a program's plan some function counts.
func countTensor(t *testing.T, source, sizes, text string) (boxes, sent, rows int) {
	t.Helper()
	p := load(t, "wide", source)
	m, err := lowered(p, lower.Options{Target: lower.GPU, Plan: plan(t, text), Bound: bind(t, p, sizes), Sized: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range m.Kernels {
		kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
			switch s := s.(type) {
			case *kernel.TensorCopy:
				boxes++
				if s.Blocks != nil {
					sent++
				}
			case *kernel.BulkCopy:
				rows++
			}
		}, nil)
	}
	return boxes, sent, rows
}
