package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// rimlessSource updates a box of cells that no access leads out of.
const rimlessSource = `
parameter L, M, N;
iterator k, j, i;
%s u[L,M,N], v[L,M,N];
%s
copyin u, v; copyout v;
stencil s (out, in) {
  [1:L-2, 2:M-3, 1:N-4] : out[k][j][i] = 0.4*in[k-1][j][i] + 0.3*in[k][j-1][i] + 0.2*in[k][j+2][i] + 0.2*in[k][j][i+1]
    - 0.05*in[k][j][i] + 0.15*in[k][j][i-1] + 0.1*in[k+1][j][i];
}
s (v, u);`

// Blocks inside the domain give the same bits by a loop of their own, and blocks at its edges by the common one.
func TestRimlessBlocks(t *testing.T) {
	plans := []string{
		"chunk=4,block=4x16,vec=2", "chunk=4,unroll=2,prefetch=1,block=4x16,vec=2,rows=2,layout=padded",
		"chunk=7,unroll=3,stages=1,block=4x16,vec=1", "chunk=4,stages=2,copy=tensor,block=4x16,vec=2,stores=rows",
		"chunk=0,unroll=4,stages=1,issue=before,columns=none,block=8x16", "chunk=4,retime=yes,block=4x16,vec=2",
		"chunk=4,stages=1,loads=first,columns=all,block=4x16,rows=2,layout=shifted",
		"chunk=7,loads=terms,block=2x64,cse=yes",
	}
	for n, text := range plans {
		bound := []string{"", "boundary u : clamp;", "boundary u : antimirror on j, clamp on i;"}[n%3]
		if strings.Contains(text, "retime") {
			bound = "" // parts are of statements that no boundary has to do with
		}
		dtype := []string{"double", "float"}[n/2%2]
		p := load(t, "rimless", fmt.Sprintf(rimlessSource, dtype, bound))
		for i, sizes := range []string{"L=13 M=13 N=99", "L=8 M=6 N=64", "L=18 M=21 N=70"} {
			w := way{
				target: lower.GPU, strict: (n+i)%2 == 0,
				plan: plan(t, "family=planes,rimless=own,"+text+[]string{"", ",sizes=literals"}[i%2]),
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
			Target: lower.GPU, Plan: plan(t, "family=planes,chunk=4,block=4x16,vec=2,"+text),
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

// Kernels whose accesses cross a boundary where they update cells have edges, and no such choice; nor have those of
// several stages.
func TestRimlessOffered(t *testing.T) {
	for name, want := range map[string]bool{"star7": true, "box27": true, "wave": true, "grayscott": false} {
		dtype := map[string]string{"wave": "float"}[name]
		if dtype == "" {
			dtype = "double"
		}
		list, err := lower.Choices(spatialProgram(t, name, dtype), lower.Options{Target: lower.GPU})
		if err != nil {
			t.Fatal(err)
		}
		f := list[0].Space.Family("planes")
		if f == nil {
			t.Errorf("%s has no planes", name)
			continue
		}
		if got := f.Param("rimless") != nil; got != want {
			t.Errorf("%s: rimless is offered: %v", name, got)
		}
	}
}
