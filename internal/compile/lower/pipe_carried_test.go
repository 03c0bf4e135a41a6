package lower_test

import (
	"fmt"
	"strings"
	"testing"
)

const carriedText = `
parameter L, M, N;
iterator k, j, i;
%s u[L,M,N], v[L,M,N];
%s
copyin u, v;
stencil s (out, in) {
  %s
}
iterate 5 { s (v, u); swap (v, u); }
copyout u, v;
`

// Orders of terms in which threads keep cells of their own for several later planes.
var carriedSums = map[string]string{
	// two sums that end with planes far apart, and the cell itself twice
	"last": `double near = in[k][j][i+1] + 0.9*in[k][j-1][i] + in[k+1][j][i] + 1.1*in[k-1][j][i];
  double far = in[k][j][i-2] + 1.2*in[k][j+2][i] + in[k+2][j][i] - 0.8*in[k-2][j][i];
  out[k][j][i] = in[k][j][i] + 0.3*(0.4*near + 0.11*far + 0.01 - in[k][j][i]);`,
	"ascending": `double near = in[k-1][j][i] + 0.9*in[k][j-1][i] + in[k][j][i+1] + 1.1*in[k+1][j][i];
  out[k][j][i] = in[k][j][i] + 0.3*(0.04*(16*near - in[k-2][j][i] - in[k][j-2][i] - 1.2*in[k][j+1][i]
    - in[k][j][i+2] - in[k+2][j][i]) - in[k][j][i]);`,
	// planes behind alone
	"behind": `out[k][j][i] = 0.3*in[k][j][i-1] + 0.2*in[k-2][j][i] + 0.15*in[k-1][j][i] + 0.1*in[k][j+1][i]
    + 0.2*in[k-3][j][i];`,
	"product": `out[k][j][i] = 0.5*in[k][j][i]*in[k-2][j][i] + in[k+1][j][i]*in[k-2][j][i] - 0.2*in[k][j+1][i-1]*in[k+2][j][i];`,
}

// Parts of sums wait for planes to come: for longer than planes are in shared memory, and several with the same cells.
func TestPipeCarried(t *testing.T) {
	sizes := []string{"L=14 M=37 N=70", "L=9 M=16 N=64", "L=7 M=43 N=131", "L=8 M=8 N=8"}
	for n, c := range []struct {
		kind, boundary, sum, config string
	}{
		{"double", "", "last", "@2{block=8x32,cells=2x2,stages=1}"},
		{"float", "", "last", "@2{block=8x32,cells=3x2,stages=2,barrier=whole,rims=step,sizes=literals}"},
		{"double", "", "last", "@2{block=4x32,cells=4x1,stages=0}"},
		{"double", "boundary u, v : clamp;", "last", "@2{block=8x32,cells=2x1,stages=1}"},
		{"float", "boundary u, v : periodic;", "last", "@2{block=8x32,cells=2x2,stages=1,chunk=7}"},
		{"double", "", "last", "@2{block=4x32,cells=2x2,stages=1,cluster=2}"},
		{"double", "", "last", "@2{block=8x32,cells=3x2,stages=1,chunk=0,persistent=1,rimtiles=all,sizes=literals}"},
		{"double", "", "ascending", "@2{block=8x32,cells=2x2,stages=1}"},
		{"float", "", "ascending", "@3{block=12x32,cells=3x2,stages=1,chunk=0,persistent=1,sizes=literals}"},
		{"float", "", "behind", "@2{block=8x32,cells=2x2,stages=1}"},
		{"double", "boundary u, v : mirror;", "behind", "@2{block=8x32,cells=2x1,stages=2}"},
		{"double", "", "product", "@2{block=8x32,cells=2x2,stages=1}"},
		{"float", "", "product", "@2{block=4x32,cells=4x2,stages=0,barrier=whole}"},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			source := fmt.Sprintf(carriedText, c.kind, c.boundary, carriedSums[c.sum])
			text := "body[0:2]" + strings.Replace(c.config, "{", "{family=pipe,", 1)
			checkSizes(t, source, text, sizes, uint64(10*n))
		})
	}
}
