package lower_test

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Threads beyond a row's end hold cells of its last vector, and nobody may take
// those for what the boundary makes of the cells there: neither from lanes nor
// from queues that were filled before the planes in shared memory.
func TestStreamsAtRowEnds(t *testing.T) {
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
			"family=stream,stream=j,chunk=8,shared=3,ahead=2,block=1x128,vec=2,x=shuffle,sizes=baked",
			"family=stream,stream=j,chunk=4,shared=1,ahead=1,rotate=yes,block=2x32,vec=4,x=shuffle,sizes=baked",
			"family=stream,stream=k,chunk=4,shared=2,ahead=1,block=4x32,vec=2,rows=2,x=shuffle,sizes=baked",
			"family=stream,stream=k,ahead=2,planes=2,block=4x32,vec=2,repeat=1x2,x=shuffle,sizes=baked",
			"family=tile,block=1x4x32,vec=8,rows=1x2,x=shuffle,sizes=baked",
		} {
			for _, strict := range []bool{true, false} {
				if err := check(bind(t, p, sizes), way{target: lower.GPU, strict: strict, plan: plan(t, text)}, 3); err != nil {
					t.Errorf("%s: %v", sizes, err)
				}
			}
		}
	}
}
