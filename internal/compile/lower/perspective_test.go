package lower_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Blocks with threads for the halo compute the same bits as others.
func TestPerspectives(t *testing.T) {
	g := planeSums{rand.New(rand.NewPCG(25, 26))}
	ran := map[string]int{}
	for round := range 7 {
		text := g.program()
		p := load(t, "sums", text)
		b := bind(t, p, fmt.Sprintf("L=%d M=%d N=%d", 3+g.IntN(10), 1+g.IntN(12), 3+g.IntN(80)))
		for n, limit := range []string{"perspective=input", "perspective=outer", "perspective=inner"} {
			ran[limit] += limited(t, b, lower.GPU, modes[(round+n)%2], limit, g.Rand, uint64(round))
		}
		if t.Failed() {
			t.Fatal(text)
		}
	}
	if ran["perspective=input"] < 5 || ran["perspective=outer"] < 5 || ran["perspective=inner"] < 5 {
		t.Errorf("only %v kernels", ran)
	}
}

// Where threads load the halo, fewer compute, and the planes in shared memory
// have the cells of all.
func TestPerspectiveGeometry(t *testing.T) {
	p := load(t, "star", `
parameter L = 6, M = 22, N = 60;
iterator k, j, i;
double u[L,M,N], v[L,M,N];
copyin u; copyout v;
stencil s (out, in) { out[k][j][i] = in[k][j-2][i] + in[k][j+1][i] + in[k][j][i-1] + in[k][j][i+3] + in[k-1][j][i] + in[k+1][j][i]; }
s (v, u);`)
	for _, c := range []struct {
		perspective             string
		cells, jBlocks, iBlocks int64
	}{
		{"output", 11 * 38, 3, 2},
		{"outer", 8 * 38, 5, 2},
		{"mixed", 8 * 38, 5, 2}, // as it was called
		{"inner", 11 * 32, 3, 3},
		{"input", 8 * 32, 5, 3},
	} {
		text := fmt.Sprintf("family=tile,stages=1,perspective=%s,block=1x4x16,vec=2,rows=1x2,sizes=literals",
			c.perspective)
		b := bind(t, p, "")
		w := way{target: lower.GPU, strict: true, plan: plan(t, text)}
		m, err := lowered(p, lower.Options{Target: lower.GPU, Bound: b, Sized: true, Plan: w.plan})
		if err == nil {
			err = check(b, w, 5)
		}
		if err != nil {
			t.Error(err)
			continue
		}
		e := lower.Resources(m.Kernels[0])
		blocks := map[kernel.Tag]int64{}
		kernel.WalkStmts(m.Kernels[0].Body, func(s kernel.Stmt) {
			if l, ok := s.(*kernel.Loop); ok && l.Tag.IsBlock() {
				blocks[l.Tag], _ = kernel.Trips(l)
			}
		}, nil)
		if e.Threads != 64 || e.Shared != 3*c.cells*8 || blocks[kernel.BlockX] != c.iBlocks ||
			blocks[kernel.BlockX+1] != c.jBlocks {
			t.Errorf("%s: %d threads, %d bytes, blocks %v", c.perspective, e.Threads, e.Shared, blocks)
		}
	}
}

// What has no thread left to compute is no configuration.
func TestPerspectiveConstraints(t *testing.T) {
	p := load(t, "wide", `
parameter L = 6, M = 22, N = 60;
iterator k, j, i;
double u[L,M,N], v[L,M,N];
copyin u; copyout v;
stencil s (out, in) { out[k][j][i] = in[k][j-2][i] + in[k][j+2][i] + in[k][j][i-16] + in[k-1][j][i]; }
s (v, u);`)
	for _, c := range []struct{ plan, want string }{
		{"family=tile,stages=1,perspective=input,block=1x8x32,vec=1", "threads inside the halo"},
		{"family=tile,stages=1,perspective=input,block=1x8x32,vec=2", ""},
		{"family=tile,stages=1,perspective=outer,block=1x4x32,vec=2,rows=1x1", "rows inside the halo"},
		{"family=tile,stages=1,perspective=outer,block=1x4x32,vec=2,rows=1x2", ""},
		{"family=tile,stages=1,perspective=outer,block=1x1x32,vec=2", ""},
		{"family=tile,stages=1,perspective=outer,block=1x8x32,vec=2,repeat=1x2x1", "one tile a thread"},
		{"family=tile,stages=1,perspective=outer,block=1x8x32,vec=2,repeat=1x1x2", ""},
		{"family=tile,stages=1,perspective=input,block=1x8x32,vec=2,repeat=1x1x2", "one tile a thread"},
		{"family=tile,stages=1,perspective=input,block=1x8x32,vec=2,shuffle=yes", "lanes of the halo"},
		{"family=tile,stages=1,perspective=outer,block=1x8x32,vec=2,shuffle=yes", ""},
		{"family=tile,stages=1,perspective=inner,block=1x8x32,vec=1", "threads inside the halo"},
		{"family=tile,stages=1,perspective=inner,block=1x4x32,vec=2,rows=1x1", ""},
		{"family=tile,stages=1,perspective=inner,block=1x8x32,vec=2,repeat=1x2x1", ""},
		{"family=tile,stages=1,perspective=inner,block=1x8x32,vec=2,repeat=1x1x2", "one tile a thread"},
		{"family=tile,stages=1,perspective=inner,block=1x8x32,vec=2,shuffle=yes", "lanes of the halo"},
		{"family=tile,stages=1,perspective=input,block=4x4x32,vec=2,rows=1x1", "rows inside the halo"},
		{"family=tile,stages=1,perspective=input,block=4x8x32,vec=2", ""},
	} {
		_, err := lower.Program(p, lower.Options{Target: lower.GPU, Plan: plan(t, c.plan)})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.plan, got, c.want)
		}
	}
}
