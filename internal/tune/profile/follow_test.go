package profile

import (
	"math"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

const box = `iterator k, j, i;
parameter L = 14, M = 34, N = 70, T = 4;
double u[L,M,N], v[L,M,N];
stencil s (x, y) {
  x[k][j][i] = 0.1 * (y[k-1][j][i] + y[k+1][j][i]) + 0.2 * (y[k][j-1][i-1] + y[k][j+1][i+1] + y[k][j-1][i+1]) + 0.3 * (y[k][j+1][i-1] + y[k][j][i]);
}
iterate T { s (v, u); swap (v, u); }
copyin u, v;
copyout u;
`

// simulated is what kernels do in all iterations of box with a plan, counted by the simulator, and by TallyOf.
type simulated struct {
	loaded, stored, shared, sectors, wavefronts, flops, said float64
	tally                                                    Tally
}

func bound(t *testing.T) *ir.Binding {
	t.Helper()
	p, list := lang.Load(diag.NewSource("box.loom", box))
	if list.HasErrors() {
		t.Fatal(list)
	}
	b, list := p.In(arith.Contract).Bind(nil)
	if list.HasErrors() {
		t.Fatal(list)
	}
	return b
}

// simulate carries out box with a plan. An iteration, or a span, is as the others, so that what the last launch of each
// kernel did stands for all.
func simulate(t *testing.T, text string) simulated {
	t.Helper()
	b := bound(t)
	plan, err := schedule.ParsePlan(text)
	if err != nil {
		t.Fatal(err)
	}
	m, err := lower.Program(b.Program, lower.Options{Target: lower.GPU, Bound: b, Sized: true, Plan: plan})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	data := map[*ir.Grid][]byte{}
	for i, g := range b.Program.Grids {
		n := 1
		for _, k := range b.Shape(g.Dims) {
			n *= k
		}
		data[g] = gen.Input(g.Type, n, uint64(i))
	}
	s, err := sim.NewState(m, b, data, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	launches, depth := m.Calls[b.Program.Calls[0]], int64(1)
	if len(m.Spans) > 0 {
		launches, depth = m.Spans[0].Launches, m.Spans[0].Depth
	}
	sum := simulated{tally: Tally{}}
	times := 4 / float64(depth)
	for _, l := range launches {
		r := s.Report(l.Kernel)
		g, sh := r.Space(kernel.Global), r.Space(kernel.Shared)
		sum.loaded += times * float64(g.LoadedBytes)
		sum.stored += times * float64(g.StoredBytes)
		sum.sectors += times * float64(g.LoadedSectors)
		sum.shared += times * float64(sh.LoadedBytes+sh.StoredBytes)
		sum.wavefronts += times * float64(sh.Wavefronts)
		sum.flops += times * float64(r.Flops())
		x, err := TallyOf(l.Kernel, l.Sizes(b.Params, 0, 1))
		if err != nil {
			t.Fatal(err)
		}
		_, flops := x.Type()
		sum.said += times * flops
		sum.tally.Loaded += times * x.Loaded
		sum.tally.Stored += times * x.Stored
		sum.tally.Shared += times * x.Shared
		sum.tally.Once += times * x.Once
	}
	return sum
}

// What is counted on kernels is about what they do.
func TestTally(t *testing.T) {
	for _, plan := range []string{
		"family=cells", "family=tile,block=1x4x32,vec=2",
		"family=planes,stream=k,block=4x32,vec=2,stages=2",
		"family=planes,stream=k,block=4x32,vec=1", "body[0:2]@2{family=pipe,block=4x32,cells=2x2,chunk=0,stages=3}",
	} {
		s := simulate(t, plan)
		for _, c := range []struct {
			what      string
			did, said float64
		}{
			{"flops", s.flops, s.said}, {"bytes loaded", s.loaded, s.tally.Loaded},
			{"bytes stored", s.stored, s.tally.Stored}, {"bytes in shared memory", s.shared, s.tally.Shared},
		} {
			if c.did != c.said && math.Abs(c.said-c.did) > 0.3*max(c.did, c.said) {
				t.Errorf("%s: %v %s, and %v are counted", plan, c.did, c.what, c.said)
			}
		}
	}
}

// Who follows a hint gets less of what the hint is about.
func TestFollowedHints(t *testing.T) {
	for _, c := range []struct {
		plan  string
		class Class
		code  string
		of    func(s simulated) float64
	}{
		{"family=tile,block=1x4x32", BoundByDRAM, "H01", func(s simulated) float64 { return s.tally.Once }},
		{"family=planes,stream=k,block=4x32,vec=1", BoundByL1, "H02", func(s simulated) float64 { return s.sectors }},
		{"family=planes,stream=k,block=4x32,vec=1,stages=2", BoundByDRAM, "H03",
			func(s simulated) float64 { return s.shared }},
		{"family=planes,stream=k,block=4x32,vec=1,stages=2", BoundByShared, "H06",
			func(s simulated) float64 { return s.wavefronts }},
		{"family=planes,stream=k,block=4x32,vec=1,stages=2,unroll=2", ComputeBound, "H07",
			func(s simulated) float64 { return s.wavefronts }},
	} {
		b := bound(t)
		plan, err := schedule.ParsePlan(c.plan)
		if err != nil {
			t.Fatal(err)
		}
		o := lower.Options{Target: lower.GPU, Bound: b, Sized: true, Plan: plan, Free: true}
		choices, err := lower.Choices(b.Program, o)
		if err != nil {
			t.Fatal(err)
		}
		k := &Kernel{Part: choices[0].ID(), Depth: 1, Class: c.class, Loop: c.code == "H01"}
		f := &Facts{Kernel: k, Plan: schedule.Plan{Kernels: []schedule.Kernel{choices[0].Kernel}},
			Config: choices[0].Config,
			Space:  choices[0].Space, GPU: true, LoopIn: "body[0:2]"}
		list := Advise(f, func(text string) (bool, string) {
			p, err := schedule.ParsePlan(text)
			if err != nil {
				t.Fatal(err)
			}
			next := o
			next.Plan = p
			_, err = lower.Program(b.Program, next)
			return err == nil, ""
		})
		i := slices.IndexFunc(list, func(h Hint) bool { return h.Code == c.code })
		if i < 0 {
			t.Errorf("%s, %s: no %s among %+v", c.plan, c.class, c.code, list)
			continue
		}
		before, after := c.of(simulate(t, c.plan)), c.of(simulate(t, list[i].Change.Plan))
		if after >= before {
			t.Errorf("%s: %v before and %v after %s", c.code, before, after, list[i].Change.Plan)
		}
	}
}
