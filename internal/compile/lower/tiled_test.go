package lower_test

import (
	"fmt"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Threads beyond a row's end hold cells of its last vector, and nobody may take
// those for what the boundary makes of the cells there: neither from lanes nor
// from shared memory.
func TestTilesAtRowEnds(t *testing.T) {
	p := load(t, "ends", `
parameter L, M, N;
iterator k, j, i;
double u[L,M,N], v[L,M,N];
boundary u : antimirror;
copyin u; copyout v;
stencil s (out, in) {
  out[k][j][i] = 0.3*in[k][j-1][i-1] + 0.2*in[k][j+1][i+2] + 0.4*in[k-1][j][i+1] + 0.1*in[k+1][j][i-1] + 0.2*in[k][j][i+1];
}
s (v, u);`)
	for _, sizes := range []string{"L=3 M=5 N=130", "L=9 M=3 N=67", "L=2 M=12 N=1"} {
		for _, text := range []string{
			"family=tile,block=1x1x128,vec=2,shuffle=yes,stages=1,sizes=literals",
			"family=tile,block=1x2x32,vec=4,shuffle=yes,stages=1,staging=halos,sizes=literals",
			"family=tile,block=1x4x32,vec=2,rows=1x2,repeat=1x1x2,shuffle=yes",
			"family=tile,block=1x4x32,vec=8,rows=1x2,shuffle=yes,sizes=literals",
		} {
			for _, strict := range []bool{true, false} {
				if err := check(bind(t, p, sizes),
					way{target: lower.GPU, strict: strict, plan: plan(t, text)}, 3); err != nil {
					t.Errorf("%s: %v", sizes, err)
				}
			}
		}
	}
}

// Grids that have the same cells may differ in all else: in which of their ends
// have a boundary, and in how many cells of them are loaded at a time. What is
// worked out at the ends of one's rows is not for the other's.
func TestGridsOfOneRange(t *testing.T) {
	const frame = `
parameter M, N;
iterator j, i;
%s a[M][N];
%s b[M][N];
%s
float o[M][N], wide[M][-2:N+1];
copyin a, b; copyout o, wide;
stencil s (o, wide, a, b) {
  wide[j][i] = 1;
  o[j][i] = %s;
}
s (o, wide, a, b);`
	const both = "0.5*a[j][i-1] + 0.25*b[j][i+1] + 0.5*b[j][i-2] + 0.125*b[j][i]"
	cases := []struct{ a, b, boundaries, fusionVariant string }{
		{"float", "float", "boundary a : antimirror on i.low; boundary b : antimirror;", both},
		{"float", "float", "boundary a : constant(0.5) on i.low; boundary b : clamp on i;", both},
		{"double", "double", "boundary a : reflect on i.low; boundary b : periodic on i;", both},
		{"float", "float", "boundary a : mirror on i.high; boundary b : antireflect;",
			"0.5*a[j][i+1] + 0.25*b[j][i+1] + 0.5*b[j][i-2]"},
		{"float", "float", "boundary a : clamp on i.high; boundary b : constant(2) on i.low;",
			"0.5*a[j][i+2] + 0.25*b[j][i-1] + 0.5*b[j][i-2]"},
		{"double", "float", "boundary a, b : clamp;",
			"0.5*a[j][i+1] + 0.25*a[j][i+2] + 0.5*b[j][i+1] + 2*b[j][i+2] + 4*b[j][i+3]"},
		{"double", "float", "boundary a : constant(1); boundary b : antimirror;", "0.5*a[j][i-1] + 0.25*a[j][i-2] + " +
			"0.5*b[j][i-1] + 2*b[j][i-2] + 4*b[j][i-4] + 0.5*b[j][i+1] + 0.25*b[j][i+4]"},
	}
	plans := []string{
		"family=tile,block=1x32,vec=4,shuffle=no",
		"family=tile,block=1x32,vec=2,repeat=1x2,shuffle=yes,sizes=literals",
		"family=tile,stages=1,staging=halos,block=1x32,vec=2,shuffle=yes,load=image",
		"family=tile,stages=1,staging=all,block=2x16,vec=4",
		"family=tile,stages=1,staging=halos,block=1x32,vec=2,repeat=1x4,load=plain,sizes=literals,cse=yes",
		"family=tile,stages=1,staging=halos,block=1x32,vec=4,shuffle=yes",
		"family=tile,block=1x32,vec=8,load=image,sizes=literals",
	}
	for n, c := range cases {
		p := load(t, "range", fmt.Sprintf(frame, c.a, c.b, c.boundaries, c.fusionVariant))
		for i, text := range plans {
			for _, sizes := range []string{"M=3 N=7", "M=2 N=1", "M=4 N=6", "M=1 N=66"} {
				if err := check(bind(t, p, sizes), way{target: lower.GPU, strict: n%2 == 0, plan: plan(t, text)},
					uint64(i)); err != nil {
					t.Errorf("%s %s at %s, %s: %v", c.boundaries, c.fusionVariant, text, sizes, err)
				}
			}
		}
	}
}
