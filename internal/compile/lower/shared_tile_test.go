package lower_test

import (
	"fmt"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Cells in shared memory are right at all boundaries, whether all are copied
// or some stored from registers: for stars, boxes, stencils that read
// no cell of the thread's own rows or other planes of them than neighbours do,
// and for arrays that some threads share cells of.
func TestSharedTiles(t *testing.T) {
	const frame = `
parameter L, M, N;
iterator k, j, i;
%s u[L,M,N], v[L,M,N], w[L,N], x[M,N];
boundary u : %s;
boundary w, x : clamp;
copyin u, w, x; copyout v;
stencil s (out, in, w, x) { out[k][j][i] = %s + 0.125*w[k][i+1] - 0.25*w[k-1][i] + 0.5*x[j+1][i]; }
s (v, u, w, x);`
	fusionVariants := []string{
		"0.5*in[k][j][i] + 0.1*in[k+2][j][i] - 0.2*in[k-2][j][i] + 0.3*in[k][j+2][i] - 0.1*in[k][j-2][i] + " +
			"0.2*in[k][j][i+3] + 0.15*in[k][j][i-2]",
		"0.5*in[k+1][j+1][i+1] + 0.1*in[k-1][j][i] - 0.2*in[k][j-1][i+1] + 0.3*in[k-1][j+1][i] - " +
			"0.1*in[k+1][j-1][i-1] + 0.2*in[k][j][i]",
		"0.5*in[k][j+1][i] - 0.4*in[k-1][j-1][i] + 0.1*in[k+1][j][i]",
		"0.5*in[k-1][j][i+1] + 0.3*in[k-2][j-3][i]",
	}
	bounds := []string{"clamp", "periodic", "mirror", "antireflect",
		"constant(0.25) on k, none on j, constant(0.5) on i", "none on k, clamp on j, none on i"}
	plans := []string{
		"family=tile,stages=1,block=2x4x16,vec=2,rows=2x1",
		"family=tile,stages=1,block=1x2x32,vec=4,rows=1x4,shuffle=yes",
		"family=tile,stages=1,block=1x2x16,vec=1,rows=2x2,repeat=1x2x2",
		"family=tile,stages=1,block=2x2x16,vec=2,rows=1x2,repeat=1x1x2,cse=yes",
	}
	for f, fusionVariant := range fusionVariants {
		for b, bound := range bounds {
			dtype := []string{"double", "float"}[(f+b)%2]
			p := load(t, "tiles", fmt.Sprintf(frame, dtype, bound, fusionVariant))
			for i, text := range plans {
				if (f+b+i)%2 != 0 {
					continue // every plan meets every form and every boundary all the same
				}
				for _, staged := range []string{"all", "halos"} {
					sizes := []string{"L=7 M=9 N=37", "L=5 M=6 N=66", "L=10 M=5 N=6"}[(f+b+i/2)%3]
					way := way{
						target: lower.GPU, strict: b%2 == 0, plan: plan(t, text+",staging="+staged+",sizes=literals"),
					}
					if err := check(bind(t, p, sizes), way, uint64(i)); err != nil {
						t.Errorf("%s at %s of %s, %s: %v", fusionVariant, bound, dtype, sizes, err)
					}
				}
			}
		}
	}
}

// Tiles in shared memory are right in spaces of other ranks, too.
func TestTilesInSharedMemory(t *testing.T) {
	for _, c := range []struct{ source, sizes string }{
		{`parameter N; iterator i; float u[N], v[N]; boundary u : mirror; copyin u; copyout v;
stencil s (out, in) { out[i] = 0.5*in[i+3] - 0.25*in[i-1]; }
s (v, u);`, "N=131"},
		{`parameter M, N; iterator j, i; double u[M,N], v[M,N]; boundary u : periodic; copyin u; copyout v;
stencil s (out, in) { out[j][i] = 0.5*in[j+1][i+1] - 0.25*in[j-2][i-1] + 0.125*in[j][i]; }
s (v, u);`, "M=11 N=70"},
		{`parameter K, L, M, N; iterator l, k, j, i; float u[K,L,M,N], v[K,L,M,N]; boundary u : clamp; copyin u; copyout v;
stencil s (out, in) { out[l][k][j][i] = 0.5*in[l+1][k][j][i] - 0.25*in[l][k-1][j+1][i] + 0.125*in[l][k][j][i+2] + 0.75*in[l-1][k][j][i-1]; }
s (v, u);`, "K=3 L=4 M=5 N=34"},
	} {
		p := load(t, "tiles", c.source)
		for _, vec := range []int{1, 2, 4} {
			for _, staged := range []string{"all", "halos"} {
				text := fmt.Sprintf("family=tile,stages=1,staging=%s,vec=%d", staged, vec)
				m, err := lowered(p, lower.Options{
					Target: lower.GPU, Plan: plan(t, text), Bound: bind(t, p, c.sizes), Sized: true,
				})
				if err != nil {
					t.Fatal(err)
				}
				if got := shared(m); got != "in_shared" {
					t.Errorf("%s: %q is in shared memory", text, got)
				}
				if err := check(bind(t, p, c.sizes), way{target: lower.GPU, plan: plan(t, text)}, 5); err != nil {
					t.Errorf("%s: %v", c.sizes, err)
				}
			}
		}
	}
}
