package lower_test

import (
	"fmt"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// rimlessSource has statements of two domains, one of which every cell of a grid has.
const rimlessSource = `
parameter L, M, N;
iterator k, j, i;
%s u[L,M,N], v[L,M,N], w[L,M,N];
%s
copyin u, w; copyout v, w;
stencil s (out, in, c) {
  out[k][j][i] = 0.3*in[k][j-1][i] + 0.2*in[k][j+1][i] + 0.4*in[k-1][j][i] + 0.1*in[k+1][j][i] + 0.2*in[k][j][i+1];
  [1:L-2, 2:M-2, 1:N-4] : c[k][j][i] = 0.5*in[k][j][i];
}
s (v, u, w);`

// Blocks inside the domain give the same bits by a loop of their own, and blocks at its edges by the common one.
func TestRimlessBlocks(t *testing.T) {
	plans := []string{
		"chunk=4,block=2x16,vec=2", "chunk=4,unroll=yes,prefetch=1,block=2x16,vec=2,rows=2,layout=padded",
		"chunk=8,unroll=2,stages=1,block=2x16,vec=1", "chunk=4,planes=2,stages=2,staging=all,block=2x16,vec=2",
		"chunk=8,stages=2,staging=all,copy=bulk,block=2x16,vec=4", "chunk=0,unroll=4,shuffle=yes,block=1x32,vec=1",
		"chunk=4,stages=1,staging=all,copy=warp,block=2x16,vec=4", "chunk=4,retime=yes,block=2x16,vec=2",
		"chunk=8,stages=2,staging=all,barrier=split,block=2x16,vec=2", "stream=j,chunk=4,stages=1,block=2x16,vec=2",
		"chunk=8,stages=1,staging=all,perspective=input,block=4x16,vec=1",
		"chunk=4,stages=1,staging=all,copy=tensor,cluster=2,block=2x16,vec=2",
	}
	for n, text := range plans {
		bound := []string{"", "boundary u : periodic;", "boundary u : antimirror on j, clamp on i;"}[n%3]
		dtype := []string{"double", "float"}[n/2%2]
		p := load(t, "rimless", fmt.Sprintf(rimlessSource, dtype, bound))
		for i, sizes := range []string{"L=13 M=13 N=99", "L=8 M=6 N=64", "L=18 M=8 N=70"} {
			w := way{
				target: lower.GPU, strict: (n+i)%2 == 0,
				plan: plan(t, "family=stream,rimless=own,"+text+[]string{"", ",sizes=literals"}[i%2]),
			}
			if err := check(bind(t, p, sizes), w, uint64(n)); err != nil {
				t.Errorf("%s of %s, %s: %v", bound, dtype, sizes, err)
			}
		}
	}
}

// The loop of blocks inside has no test at all around stores, the common one has.
func TestRimlessLoop(t *testing.T) {
	p := load(t, "rimless", fmt.Sprintf(rimlessSource, "double", ""))
	tests := func(text string) (loops []int) {
		t.Helper()
		m, err := lower.Program(p, lower.Options{
			Target: lower.GPU, Plan: plan(t, "family=stream,chunk=4,unroll=2,block=2x16,vec=2,"+text),
			Bound: bind(t, p, "L=13 M=13 N=99"),
		})
		if err != nil {
			t.Fatal(err)
		}
		kernel.WalkStmts(m.Kernels[0].Body, func(s kernel.Stmt) {
			l, ok := s.(*kernel.Loop)
			if !ok || l.Tag != kernel.Serial {
				return
			}
			n := 0
			kernel.WalkStmts(l.Body, func(s kernel.Stmt) {
				if _, ok := s.(*kernel.If); ok {
					n++
				}
			}, nil)
			loops = append(loops, n)
		}, nil)
		return loops
	}
	if own := tests("rimless=own"); len(own) != 2 || own[0] != 0 || own[1] == 0 {
		t.Errorf("loops with %v tests: want two, of which the first has none", own)
	}
	if common := tests("rimless=common"); len(common) != 1 || common[0] == 0 {
		t.Errorf("loops with %v tests: want one with some", common)
	}
}

// Streams keep the middle plane alone in shared memory where no access goes to a corner, and all planes elsewhere.
func TestMiddlePlane(t *testing.T) {
	for name, want := range map[string]string{"star7": "halos", "star25": "halos", "box27": "all", "himeno": "all"} {
		dtype := map[string]string{"himeno": "float"}[name]
		if dtype == "" {
			dtype = "double"
		}
		p := spatialProgram(t, name, dtype)
		list, err := lower.Choices(p, lower.Options{Target: lower.GPU, Plan: plan(t, "family=stream,stages=1")})
		if err != nil {
			t.Fatal(err)
		}
		if got := list[0].Config.Word("staging"); got != want {
			t.Errorf("%s stages %s, not %s", name, got, want)
		}
	}
}
