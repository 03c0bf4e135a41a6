package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// fluxText is two calls: fluxes on three axes, of which two are temporary, and an update in place that reads them. The
// second fluxes are made of the first ones.
const fluxText = `
parameter L, M, N;
iterator k, j, i;
%[1]s u[L,M,N], v[L,M,N], x[L,M,N], y[L,M,N], z[L,M,N], w[M,N];
%[2]s
copyin u, v, w;
copyout v, z;
stencil fluxes (x, y, z, u) {
  x[k][j][i] = 0.7*u[k][j][i-1] - 0.2*u[k][j][i+1];
  y[k][j][i] = 0.3*u[k][j-2][i] + 0.1*u[k-1][j][i] + x[k][j][i];
  z[k][j][i] = 0.9*u[k-1][j][i] - 0.4*u[k+1][j][i];
}
stencil update (v, x, y, z, w) {
  v[k][j][i] = v[k][j][i] + w[j][i]*(x[k][j][i+1] - x[k][j][i]);
  v[k][j][i] += 0.3*(y[k][j+1][i] - y[k][j][i]) - 0.6*(z[k+1][j][i] - z[k][j][i]);
}
%[3]s
`

// Statements of two calls, carried out plane by plane, leave what single ones leave, at awkward sizes: with and without
// rims, by blocks larger and smaller than the domain, whatever is copied, held early or loaded in order.
func TestPlanes(t *testing.T) {
	const inside = "[1:L-2, 2:M-2, 1:N-2] : fluxes (x, y, z, u);\n[1:L-3, 2:M-3, 1:N-3] : update (v, x, y, z, w);"
	const all = "fluxes (x, y, z, u);\nupdate (v, x, y, z, w);"
	const rims = "[1:L-3, 3:M-2, 2:N-4] : fluxes (x, y, z, u);\n[1:L-2, 1:M-2, 1:N-2] : update (v, x, y, z, w);"
	sizes := []string{"L=9 M=11 N=37", "L=7 M=13 N=17", "L=5 M=6 N=131", "L=17 M=19 N=33"}
	for n, c := range []struct{ kind, boundary, steps, config string }{
		{"double", "", inside, "block=4x16,chunk=7"},
		{"double", "", inside, "block=8x32,rows=2,chunk=0,prefetch=1"},
		{"double", "", inside, "block=4x16,rows=3,chunk=7,prefetch=1,stages=1,loads=terms"},
		{"float", "", inside, "block=8x32,chunk=16,stages=2,loads=statements,sizes=literals"},
		{"float", "", inside, "block=2x64,chunk=7,unroll=2,registers=128"},
		{"double", "", inside, "block=4x16,chunk=7,stages=1,copy=tensor,columns=all,refetch=no,store=streaming"},
		{"double", "", inside, "block=4x16,rows=2,chunk=7,prefetch=1,columns=all,loads=statements"},
		{"float", "", inside, "block=4x16,chunk=7,stages=1,columns=none,refetch=no"},
		{"double", "", inside, "block=8x32,rows=2,chunk=0,prefetch=1,stages=2,copy=tensor,loads=terms"},
		{"double", "", inside, "block=4x16,rows=3,chunk=7,prefetch=1,columns=halos"},
		{"double", "", inside, "block=4x16,vec=2,chunk=7,prefetch=1,sizes=literals"},
		{"double", "", inside, "block=4x16,rows=3,vec=2,chunk=7,stages=1,copy=tensor,columns=all,loads=terms"},
		{"float", "", inside, "block=4x16,rows=2,vec=4,chunk=0,stages=2,copy=tensor,columns=halos"},
		{"float", "", rims, "block=4x16,rows=2,vec=2,chunk=7,stages=1,columns=all"},
		{"double", "", rims, "block=16x8,vec=4,chunk=7,stages=1,copy=tensor,columns=halos,refetch=no"},
		{"double", "boundary u : mirror; boundary x, y : constant(0.25); boundary z : clamp;", all,
			"block=4x16,rows=2,vec=2,chunk=7,stages=1,copy=tensor,columns=all"},
		{"float", "boundary u, x, y, z : clamp;", all, "block=4x16,vec=4,chunk=7,prefetch=1"},
		{"float", "boundary u : mirror;", rims, "block=4x16,rows=4,chunk=7,stages=1,columns=halos,refetch=no"},
		{"double", "boundary u, x, y, z : clamp;", all, "block=4x16,rows=4,chunk=7,stages=1,copy=tensor,columns=halos"},
		{"double", "", inside, "block=4x16,chunk=7,stages=1,loads=terms,layout=padded"},
		{"double", "", inside, "block=4x16,rows=2,vec=2,chunk=7,stages=1,columns=halos,layout=shifted"},
		{"float", "", rims, "block=4x16,vec=4,chunk=7,stages=1,layout=shifted,sizes=literals"},
		{"float", "boundary u : mirror;", rims, "block=8x16,rows=2,chunk=0,prefetch=1,layout=shifted"},
		{"double", "", rims, "block=4x16,chunk=7,columns=all"},
		{"float", "", rims, "block=8x32,rows=2,chunk=0,stages=1,copy=tensor,loads=statements"},
		{"double", "boundary u : mirror;", rims, "block=2x64,chunk=7,stages=2,refetch=no,prefetch=1"},
		{"float", "", inside, "block=4x16,rows=3,chunk=7,stages=1,copy=tensor,sizes=literals"},
		{"double", "boundary u, x, y, z : clamp;", all,
			"block=4x16,chunk=7,stages=1,copy=tensor,columns=all,refetch=no,store=streaming"},
		{"float", "boundary u : mirror; boundary x, y : constant(0.25); boundary z : clamp;", all,
			"block=2x64,chunk=7,prefetch=1,stages=2,copy=tensor"},
		{"double", "boundary u, x, y, z : clamp;", all, "block=4x16,chunk=7,prefetch=1"},
		{"double", "boundary u : mirror; boundary x, y : constant(0.25); boundary z : clamp;", all,
			"block=4x16,rows=2,chunk=0,stages=1,loads=terms,columns=none"},
		{"float", "boundary u : reflect on j;", "fluxes (x, y, z, u);\n[1:L-3, 2:M-3, 1:N-3] : update (v, x, y, z, w);",
			"block=8x32,chunk=7,prefetch=1,stages=1"},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			p := load(t, "fluxes", fmt.Sprintf(fluxText, c.kind, c.boundary, c.steps))
			text := "sequence[0:2]@1{family=planes," + c.config + "}"
			right := 0
			for k, size := range sizes {
				err := checkSpan(t, lower.GPU, bind(t, p, size).In(arith.Contract), text, uint64(10*n+k))
				switch {
				case err == nil:
					right++
				case strings.Contains(err.Error(), "for its boundaries"):
				default:
					t.Errorf("%s: %v", size, err)
				}
			}
			if right < 3 {
				t.Errorf("%d sizes were computed", right)
			}
		})
	}
}

// Where all neighbours are on one side, a tile begins with cells that nobody reads. What the grid has not there is not
// copied.
func TestPlanesBeside(t *testing.T) {
	const text = `
parameter M, N;
iterator j, i;
double u[M,N], v[M,-1:N];
boundary u : reflect;
copyin u, v;
stencil s (v, u) { v[j][i] = 0.5*v[j][i] + u[j][i+1] - u[j-1][i+1]; }
iterate 4 { s (v, u); }
copyout v;
`
	for n, config := range []string{
		"block=32,chunk=7,stages=2", "block=64,chunk=0,stages=1,refetch=no,columns=all",
		"block=32,chunk=16,stages=1,copy=tensor",
	} {
		for k, size := range []string{"M=21 N=70", "M=9 N=145"} {
			b := bind(t, load(t, "beside", text), size).In(arith.Contract)
			if err := checkSpan(t, lower.GPU, b, "body[0:1]@2{family=planes,"+config+"}", uint64(10*n+k)); err != nil {
				t.Errorf("%s, %s: %v", config, size, err)
			}
		}
	}
}

// What no kernel needs afterwards is not stored, and what is updated in place has no spare. Without rims there is one
// loop, and else one for blocks at the edges, too.
func TestPlanesStoreResultsAlone(t *testing.T) {
	const steps = "[1:L-2, 2:M-2, 1:N-2] : fluxes (x, y, z, u);\n[1:L-3, 2:M-3, 1:N-3] : update (v, x, y, z, w);"
	const all = "fluxes (x, y, z, u);\nupdate (v, x, y, z, w);"
	const rims = "[1:L-3, 3:M-2, 2:N-4] : fluxes (x, y, z, u);\n[1:L-2, 1:M-2, 1:N-2] : update (v, x, y, z, w);"
	for _, c := range []struct {
		boundary, steps string
		loops           int
	}{{"", steps, 1}, {"boundary z : clamp;", steps, 1}, {"", rims, 1},
		{"boundary u, x, y, z : clamp;", all, 2}} {
		p := load(t, "fluxes", fmt.Sprintf(fluxText, "double", c.boundary, c.steps))
		b := bind(t, p, "L=20 M=30 N=40").In(arith.Contract)
		o := lower.Options{Target: lower.GPU, Bound: b, Sized: true, Plan: plan(t, "sequence[0:2]@1{family=planes}")}
		m, err := lower.Program(b.Program, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Spans) != 1 || len(m.Spans[0].Exchanges) > 0 {
			t.Fatalf("%d spans, %v", len(m.Spans), m.Spans[0].Exchanges)
		}
		var dropped []string
		for _, g := range m.Dropped() {
			dropped = append(dropped, g.Name)
		}
		if got := strings.Join(dropped, " "); got != "x y" {
			t.Errorf("%q are dropped, and not x and y", got)
		}
		text := kernel.Text(m.Spans[0].Launches[0].Kernel)
		if got := strings.Count(text, "(for step "); got != c.loops {
			t.Errorf("%q: %d loops along the stream, and not %d", c.boundary, got, c.loops)
		}
		for _, name := range []string{"v", "z"} {
			if !strings.Contains(text, "(store "+name+" ") {
				t.Errorf("%s is not stored", name)
			}
		}
		for _, name := range []string{"x", "y"} {
			if strings.Contains(text, "(store "+name+" ") {
				t.Errorf("%s is stored", name)
			}
		}
	}
}

// A thread with several rows finds what it holds of one of them in registers, for its other rows, too: of 8 accesses to
// the rows beside its 4, 2 lead to another thread's.
func TestPlanesHeldByRows(t *testing.T) {
	const text = `
parameter L, M, N;
iterator k, j, i;
double u[L,M,N], g[L,M,N], v[L,M,N];
copyin u, v;
copyout v;
stencil first (g, u) { g[k][j][i] = u[k-1][j][i] + 0.5*u[k+1][j][i] - u[k][j+1][i] + 0.25*u[k][j-1][i]; }
stencil second (v, g) { v[k][j][i] = g[k-1][j][i] - 0.5*g[k+1][j][i] + 0.3*g[k][j-1][i] - g[k][j+1][i]; }
[1:L-2, 1:M-2, 0:N-1] : first (g, u);
[2:L-3, 2:M-3, 0:N-1] : second (v, g);
`
	p := load(t, "rows", text)
	b := bind(t, p, "L=20 M=30 N=40").In(arith.Contract)
	for _, c := range []struct {
		config string
		u, g   int // loads from shared memory; of u those of each row's newest cell, too
	}{{"columns=halos", 4 + 2, 2}, {"columns=all", 16, 2}, {"columns=grids", 16, 16}} {
		config := "sequence[0:2]@1{family=planes,block=4x32,rows=4,chunk=7,stages=1," + c.config + "}"
		o := lower.Options{Target: lower.GPU, Bound: b, Sized: true, Plan: plan(t, config)}
		m, err := lower.Program(b.Program, o)
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(kernel.Text(m.Spans[0].Launches[0].Kernel), "halo_cell")
		if u, g := strings.Count(text, "(load u_tile"), strings.Count(text, "(load g_planes"); u != c.u || g != c.g {
			t.Errorf("%s: %d loads of u and %d of g, and not %d and %d\n%s", c.config, u, g, c.u, c.g, text)
		}
	}
}

// A kernel whose threads do not wait for neighbours, or that reads a plane too early, is found.
func TestWrongPlanesAreFound(t *testing.T) {
	const steps = "[1:L-2, 2:M-2, 1:N-2] : fluxes (x, y, z, u);\n[1:L-3, 2:M-3, 1:N-3] : update (v, x, y, z, w);"
	p := load(t, "fluxes", fmt.Sprintf(fluxText, "double", "", steps))
	b := bind(t, p, "L=9 M=21 N=43").In(arith.Contract)
	want, err := expect(b, interp.NoBounds, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		spoil func(s kernel.Stmt) bool // whether a statement is left out
	}{
		{"no barrier", func(s kernel.Stmt) bool {
			x, ok := s.(*kernel.Barrier)
			return ok && x.Scope == kernel.BlockScope
		}},
		{"no wait for copies", func(s kernel.Stmt) bool { _, ok := s.(*kernel.AsyncWait); return ok }},
	} {
		text := "sequence[0:2]@1{family=planes,block=4x16,chunk=7,stages=1}"
		o := lower.Options{Target: lower.GPU, Bound: b, Sized: true, Plan: plan(t, text)}
		m, err := lower.Program(b.Program, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range m.Spans[0].Launches {
			l.Kernel.Body = dropped(l.Kernel.Body, c.spoil)
		}
		got, err := want.simulate(m, b)
		if err == nil {
			err = want.compare(b.Program, got, m.Dropped()...)
		}
		if err == nil {
			t.Errorf("%s: nothing is found", c.name)
		}
	}
}

// Kernels of sequences have one depth, and hold them all.
func TestSequencePlanErrors(t *testing.T) {
	const steps = "[1:L-2, 2:M-2, 1:N-2] : fluxes (x, y, z, u);\n[1:L-3, 2:M-3, 1:N-3] : update (v, x, y, z, w);"
	p := load(t, "fluxes", fmt.Sprintf(fluxText, "double", "", steps))
	for _, c := range []struct{ plan, want string }{
		{"sequence[0:2]@2{family=planes}",
			"plan for sequence[0:2]@2: the statements of sequence cannot share a kernel: sequence is no loop"},
		{"sequence[0:1]@1{family=planes}", "plan for sequence[0:1]@1: the plan leaves out 1, the call update: " +
			"add it to a set of sequence, or its own kernels, such as update[0:2]@1{}"},
		{"sequence[0:1]@1{family=planes};sequence[0:2]@1{family=planes}", "plan for sequence[0:1]@1: the statements " +
			"of sequence cannot share a kernel: 0 (fluxes) is in two kernels"},
		{"sequence[0,2]@1{family=planes}", "plan for sequence[0,2]@1: the statements of sequence cannot share a " +
			"kernel: 2 is not of the loop, which has 0 to 1"},
	} {
		_, err := lower.Program(p, lower.Options{Target: lower.GPU, Plan: plan(t, c.plan)})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n%v", c.plan, err)
		}
	}
	if loops := graph.Loops(p); len(loops) != 1 || loops[0].Name != "sequence" {
		t.Errorf("%v", loops)
	}
}

// dropped returns a list without some statements, here and in the lists inside.
func dropped(list []kernel.Stmt, drop func(kernel.Stmt) bool) []kernel.Stmt {
	var out []kernel.Stmt
	for _, s := range list {
		if drop(s) {
			continue
		}
		switch s := s.(type) {
		case *kernel.Loop:
			s.Body = dropped(s.Body, drop)
		case *kernel.If:
			s.Then, s.Else = dropped(s.Then, drop), dropped(s.Else, drop)
		}
		out = append(out, s)
	}
	return out
}
