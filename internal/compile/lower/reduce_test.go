package lower_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
)

// measured has reductions whose domains start and end at places of their own.
const measured = `
parameter L = 5, M = 9, N = 37;
iterator k, j, i;
double u[L,M,N], v[L,M,N], total, most, part;
float w[L,M,N], least, some;
int n[L,M,N], count;
boundary u, v : clamp;
copyin u, w, n;
stencil measure (v, u, total, most) {
  v[k][j][i] = u[k][j][i+1] - u[k-1][j][i] + u[k+1][j-1][i];
  reduce sum total = v[k][j][i]*u[k][j][i];
  [1:L-2, 1:M-2, 1:N-2] : reduce max most = v[k][j][i];
  [0:L-2, 2:M-1, N/2:N-1] : reduce sum part = v[k][j][i];
  reduce min least = w[k][j][i];
  color (k+j+i) % 3 == 1 : reduce sum some = w[k][j][i];
  color (k+j+i) % 2 == 1 : reduce sum count = n[k][j][i];
}
iterate 2 { measure (v, u, total, most); swap (u, v); }
copyout u, total, most, part, least, some, count;
`

// Reductions are the reference's bit for bit under any plan of the GPU's families, in
// strict and contract arithmetic, with shuffles and without.
func TestReductionsUnderPlans(t *testing.T) {
	t.Parallel()
	p := load(t, "measure", strings.ReplaceAll(measured, "N/2", "30"))
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 48 {
		b := bind(t, p, []string{"", "L=3 M=3 N=33", "L=3 M=4 N=70", "L=7 M=3 N=130"}[round%4])
		w := way{target: lower.GPU, strict: round%3 == 0}
		b = b.In(w.mode())
		var lacks []machine.Capability
		if round%4 > 1 {
			lacks = []machine.Capability{machine.Shuffle}
		}
		var err error
		w.plan, err = randomPlan(b, w.target, rng, lacks...)
		if err == nil {
			err = check(b, w, uint64(round), lacks...)
		}
		if err != nil {
			t.Errorf("round %d, sizes %v: %v", round, b.Params, err)
		}
	}
}

// The plans that lanes and strips have most to do with: rows of threads that are whole
// segments and that are not, vectors of every width, tiles that cut segments.
func TestReductionsInOrder(t *testing.T) {
	t.Parallel()
	p := load(t, "measure", strings.ReplaceAll(measured, "N/2", "19"))
	for _, c := range []struct {
		target lower.Target
		plan   string
		cells  bool // no lanes hold whole segments: cells store their values
	}{
		{lower.GPU, "family=cells,block=8x32", false}, {lower.GPU, "family=cells,block=16x16", true},
		{lower.GPU, "family=cells,block=2x128", false},
		{lower.GPU, "family=tile,block=1x4x16,vec=1", true}, {lower.GPU, "family=tile,block=1x4x16,vec=2", false},
		{lower.GPU, "family=tile,block=1x2x16,vec=8", false},
		{lower.GPU, "family=tile,block=1x2x32,vec=4,rows=1x2,repeat=1x1x2", false},
		{lower.GPU, "family=tile,block=1x1x64,vec=1,stages=1", false},
		{lower.GPU, "family=tile,block=1x4x32,vec=2,stages=1,perspective=outer", false},
		{lower.GPU, "family=tile,block=1x4x32,vec=2,stages=1,perspective=inner", true},
		{lower.GPU, "family=tile,block=1x2x32,vec=2", false},
		{lower.CPU, "", false}, {lower.CPU, "block=0x4x64", false}, {lower.CPU, "block=2x2x64", false},
		{lower.CPU, "block=0x0x128", false}, {lower.CPU, "block=0x0x2048", false},
	} {
		sizes := []string{"L=3 M=3 N=21", "L=3 M=4 N=70", "L=4 M=3 N=193"}
		if c.target == lower.CPU {
			sizes = append(sizes, "L=3 M=3 N=1100", "L=3 M=3 N=2080")
		}
		for _, sizes := range sizes {
			b := bind(t, p, sizes)
			for _, lacks := range [][]machine.Capability{nil, {machine.Shuffle}} {
				if lacks != nil && c.target == lower.CPU {
					continue
				}
				w := way{target: c.target, plan: plan(t, c.plan)}
				o := lower.Options{Target: c.target, Plan: w.plan, Bound: b, Sized: true, Lacks: lacks}
				m, err := lowered(p, o)
				if err != nil {
					t.Fatal(err)
				}
				want := ways{!c.cells && lacks == nil, !c.cells && lacks != nil, c.cells}
				if got := waysOf(m); c.target == lower.GPU && got != want {
					t.Errorf("%q without %v combines by %+v, want %+v", c.plan, lacks, got, want)
				}
				if err := check(b, w, uint64(len(sizes)+len(c.plan)), lacks...); err != nil {
					t.Errorf("%s without %v: %v", sizes, lacks, err)
				}
			}
		}
	}
}

// ways are how a module combines the values of segments: by shuffles, in shared memory, or
// in a kernel of its own.
type ways struct{ shuffles, exchanges, cells bool }

func waysOf(m *kernel.Module) (w ways) {
	for _, k := range m.Kernels {
		w.cells = w.cells || strings.HasSuffix(k.Name, "_segments")
		kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
			switch s := s.(type) {
			case *kernel.Shuffle:
				w.shuffles = true
			case *kernel.Alloc:
				w.exchanges = w.exchanges || strings.HasPrefix(s.Buffer.Name, "exchange")
			}
		}, nil)
	}
	return w
}
