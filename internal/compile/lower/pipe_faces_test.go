package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

const faceText = `
parameter L, M, N;
iterator k, j, i;
%s u[L,M,N], v[L,M,N];
boundary u, v : %s;
copyin u, v;
stencil s (out, in) {
  %s out[k][j][i] = %s;
}
iterate 5 { s (v, u); swap (v, u); }
copyout u, v;
`

var faceSums = map[string]string{
	"star": "0.3*in[k][j][i] + 0.2*in[k-1][j][i] + 0.1*in[k+1][j][i] + 0.15*in[k][j-1][i] - 0.05*in[k][j+1][i]" +
		" + 0.25*in[k][j][i-1] - 0.1*in[k][j][i+1]",
	"wide": "0.3*in[k][j][i] + 0.2*in[k-2][j][i] + 0.1*in[k+1][j][i] + 0.15*in[k][j-2][i] - 0.05*in[k][j+2][i]" +
		" + 0.25*in[k][j][i-2] - 0.1*in[k][j][i+2] + 0.07*in[k][j-1][i] + 0.09*in[k][j][i+1]",
	"box": "0.3*in[k][j][i] + 0.2*in[k-1][j-1][i-1] + 0.1*in[k+1][j+1][i-1] + 0.15*in[k][j-1][i+1]" +
		" - 0.05*in[k][j+1][i-1] + 0.25*in[k+1][j][i+1] - 0.1*in[k][j+1][i+1] + 0.03*in[k-1][j-1][i]",
}

// The loop without guards reads through boundaries at the ends of tiles, where these are those of the domain. The
// domains have tiles at the edges and inside of them, and are smaller than a tile.
func TestPipeFaces(t *testing.T) {
	sizes := []string{"L=14 M=33 N=130", "L=9 M=16 N=64", "L=11 M=47 N=97", "L=13 M=15 N=40"}
	for n, c := range []struct {
		kind, boundary, sum, config string
		domain                      string // of the statement; all cells if it is not given
		faces                       string // the axes that are read through so, for each size
	}{
		{"double", "clamp", "star", "@2{block=8x32,cells=2x2,stages=1,sizes=literals}", "", "ji ji j ji"},
		{"float", "clamp", "star", "@3{block=8x32,cells=3x1,stages=2,barrier=whole}", "", "ji ji ji ji"},
		{"float", "clamp", "wide",
			"@2{block=8x32,cells=3x2,stages=1,chunk=0,persistent=1,sizes=literals}", "", "ji ji j ji"},
		{"double", "clamp", "box", "@2{block=8x32,cells=2x2,stages=1,sizes=literals}", "", "ji ji j ji"},
		{"double", "mirror", "star", "@3{block=4x32,cells=4x1,stages=1}", "", "ji ji ji ji"},
		{"float", "reflect", "wide", "@2{block=8x32,cells=4x2,stages=1,sizes=literals}", "", "ji ji j ji"},
		{"double", "antimirror", "box", "@2{block=8x32,cells=2x1,stages=0}", "", "ji ji ji ji"},
		{"float", "constant(0.7)", "box", "@2{block=8x32,cells=2x2,stages=2,sizes=literals}", "", "ji ji j ji"},
		{"float", "constant(0.7)", "star", "@2{block=1x32,cells=8x2,stages=1}", "", "   "}, // without a condition
		{"double", "constant(0.7) on k, clamp on j.low, antireflect on j.high, periodic on i", "star",
			"@2{block=8x32,cells=2x1,stages=1}", "", "j j j j"},
		{"double", "clamp", "star", "@2{block=8x32,cells=2x2,stages=1,sizes=literals}",
			"[0:L-1, 1:M-2, 0:N-1] :", "i i  i"},
		{"double", "clamp", "star", "@2{block=8x32,cells=2x2,stages=1}", "", "j j j j"},
		{"float", "periodic", "star", "@2{block=8x32,cells=2x1,stages=1}", "", "   "},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			source := fmt.Sprintf(faceText, c.kind, c.boundary, c.domain, faceSums[c.sum])
			text := "body[0:2]" + strings.Replace(c.config, "{", "{family=pipe,", 1)
			for k, size := range sizes {
				b := bind(t, load(t, "faces", source), size)
				m, err := lower.Program(b.Program, lower.Options{
					Target: lower.GPU, Plan: plan(t, text), Bound: b, Sized: true,
				})
				if err != nil {
					t.Fatal(err)
				}
				s, want, got := kernel.Text(m.Kernels[len(m.Kernels)-1]), strings.Split(c.faces, " ")[k], ""
				for _, x := range []struct{ axis, name string }{{"j", "row_face"}, {"i", "x_face"}} {
					if strings.Contains(s, x.name) {
						got += x.axis
					}
				}
				if got != want {
					t.Errorf("%s, %s: boundaries of %q are read through so, not of %q", text, size, got, want)
				}
				if err := checkSpan(t, lower.GPU, b.In(arith.Contract), text, uint64(10*n+k)); err != nil {
					t.Errorf("%s, %s, %s, %s: %v", c.kind, c.boundary, size, text, err)
				}
			}
		})
	}
}
