package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/kerneltest"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
	"pgregory.net/rapid"
)

// harmless are the faults that a kernel without one of its costs may have: several blocks do the same work, and what
// is not copied is read all the same. No other fault may come about, such as an access outside of a buffer.
var harmless = map[string][]sim.Kind{
	kernel.WithoutDRAM:       {sim.Race, sim.Unwritten},
	kernel.WithoutL2:         {sim.Race, sim.Unwritten},
	kernel.WithoutL1:         {sim.Unwritten},
	kernel.WithoutShared:     {},
	kernel.WithoutArithmetic: {},
}

// tiny makes caches so small that even the grids of tests do not fit.
func tiny(l *kernel.Launch, b *ir.Binding) kernel.Surroundings {
	return kernel.Surroundings{Arguments: l.Sizes(b.Params, 0, 1), LastBytes: 256, NearBytes: 128, Team: 2}
}

// launchesOf returns the launches of a module.
func launchesOf(m *kernel.Module) []*kernel.Launch {
	var list []*kernel.Launch
	for _, c := range m.Program.Calls {
		list = append(list, m.Calls[c]...)
	}
	for _, s := range m.Spans {
		list = append(list, s.Launches...)
	}
	return list
}

// differ runs a module with one of its launches without one of its costs, and returns the report of that launch.
func differ(t *testing.T, what string, m *kernel.Module, b *ir.Binding, l *kernel.Launch, d *kernel.Differing,
	given map[*ir.Grid]bool, data map[*ir.Grid][]byte) (was, now *sim.Report) {
	t.Helper()
	k, err := d.Make(l.Kernel, tiny(l, b))
	if kernel.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := kernel.Verify(k); err != nil {
		t.Fatalf("%s: %v\n%s\nof\n%s", what, err, kernel.Text(k), kernel.Text(l.Kernel))
	}
	run := func(k *kernel.Kernel) *sim.Report {
		old := l.Kernel
		defer func() { l.Kernel = old }()
		l.Kernel = k
		mod := *m
		mod.Kernels = append(slices.Clone(m.Kernels), k)
		s, err := sim.NewState(&mod, b, data, sim.Options{Faults: 500, Steps: 1e8})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if s.Initialise(given) == nil {
			_ = s.Run() // its faults are looked at below
		}
		return s.Report(k)
	}
	now = run(k)
	if now == nil {
		return nil, nil // the launch is never carried out
	}
	for _, f := range now.Faults {
		if !slices.Contains(harmless[d.Name], f.Kind) {
			t.Fatalf("%s: %s: %v\n%s\nof\n%s", what, f.Kind, f, kernel.Text(k), kernel.Text(l.Kernel))
		}
	}
	return run(l.Kernel), now
}

// Random programs, lowered in random ways, access nothing outside of their buffers and wait for nobody in vain when one
// of their costs is left out.
func TestDifferingsOfRandomPrograms(t *testing.T) {
	made := map[string]int{}
	for seed := *firstSeed; seed < *firstSeed+max(1, *seeds/4); seed++ {
		c, err := gen.Make(seed, gen.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, errs := c.Program.Bind(c.Sets[0])
		if errs != nil {
			t.Fatal(errs[0].Message)
		}
		start, err := interp.New(b, interp.Options{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		given, data := give(start, seed)
		rng := rand.New(rand.NewPCG(seed, 13))
		for _, v := range []variant{{"cpu", lower.CPU, true}, {"gpu", lower.GPU, true}} {
			m := lowered(t, c, b, v, rng)
			for i, l := range launchesOf(m) {
				for j := range kernel.Differences {
					d := &kernel.Differences[j]
					what := fmt.Sprintf("seed %d, %s, launch %d without %s", seed, v.name, i, d.Name)
					if _, now := differ(t, what, m, b, l, d, given, data); now != nil {
						made[d.Name]++
					}
				}
			}
		}
	}
	for _, d := range kernel.Differences {
		t.Logf("%s: %d kernels", d.Name, made[d.Name])
	}
}

const plane = `iterator j, i;
parameter M = 37, N = 150, T = 5;
double u[M,N], v[M,N], a[M,N];
stencil s (x, y, a) { x[j][i] = a[j][i] * (y[j][i-1] + y[j][i+1]) + 0.2 * sqrt(abs(y[j-1][i] + y[j+1][i])) + y[j][i] * a[j][i]; }
iterate T { s (v, u, a); swap (v, u); }
copyin u, v, a;
copyout u;
`

const box = `iterator k, j, i;
parameter L = 21, M = 18, N = 66, T = 3;
float u[L,M,N], v[L,M,N], a[L,M,N];
stencil s (x, y, a) { x[k][j][i] = a[k][j][i] * (y[k-1][j][i-1] + y[k+1][j][i+1]) + 0.2 * (y[k][j-1][i] - y[k][j+1][i]) * y[k][j][i] * (1 + y[k][j][i] * a[k][j][i] * (2 - y[k][j][i])); }
iterate T { s (v, u, a); swap (v, u); }
copyin u, v, a;
copyout u;
`

const fluxes = `iterator k, j, i;
parameter L = 21, M = 18, N = 66;
double u[L,M,N], x[L,M,N], v[L,M,N];
stencil flux (x, u) { x[k][j][i] = u[k][j][i] * (u[k][j][i-1] - u[k-1][j][i]) * (u[k][j][i+1] + 0.5 * u[k][j][i]); }
stencil update (v, x, u) { v[k][j][i] = u[k][j][i] + 0.1 * (x[k][j+1][i] - x[k][j][i]) * (x[k+1][j][i] - x[k][j][i]); }
[1:L-2, 1:M-2, 1:N-2] : flux (x, u);
[1:L-3, 1:M-3, 1:N-3] : update (v, x, u);
copyin u, v;
copyout v;
`

// families are plans with every way that kernels have to load, to keep and to wait. In costs are those that some kernel
// of the plan has.
var families = []struct {
	source, plan string
	target       lower.Target
	costs        []string
}{
	{plane, "family=cells", lower.GPU, []string{"dram", "l2", "l1", "arithmetic"}},
	{box, "family=tile,block=1x4x32,vec=2", lower.GPU, []string{"dram", "l2", "l1", "arithmetic"}},
	{box, "family=tile,block=1x4x32,vec=2,stages=1,staging=all", lower.GPU, []string{"dram", "l2", "l1", "shared"}},
	{box, "family=tile,block=1x4x32,vec=1,load=image", lower.GPU, []string{"dram", "l2", "l1"}},
	{box, "family=planes,stream=k,block=4x32,vec=2", lower.GPU, []string{"dram", "l2", "l1", "arithmetic"}},
	{box, "family=planes,stream=k,block=4x32,vec=1,stages=2,copy=async", lower.GPU, []string{"dram", "l2", "shared"}},
	{box, "family=planes,stream=k,block=4x32,vec=4,prefetch=1,stages=2,copy=async,issue=before,refetch=no,loads=first",
		lower.GPU, []string{"dram", "l2", "shared"}},
	{box, "family=planes,stream=k,block=4x32,vec=4,stages=2,copy=tensor", lower.GPU, []string{"dram", "l2",
		"shared"}},
	{fluxes, "sequence[0:2]@1{family=planes,block=4x16,chunk=7,stages=1}", lower.GPU, []string{"dram", "shared"}},
	{plane, "body[0:2]@2{family=overlap,block=32,tile=8x32}", lower.GPU, []string{"dram", "shared", "arithmetic"}},
	{plane, "body[0:2]@2{family=pipe,block=4x32,cells=2,chunk=7}", lower.GPU, []string{"dram", "l2", "shared"}},
	{box, "body[0:2]@2{family=pipe,block=4x32,cells=2x2,chunk=0,persistent=2,stages=3,sizes=literals}", lower.GPU,
		[]string{"dram", "l2", "shared"}},
	{plane, "body[0:2]@4{family=resident,block=4x32,cells=4x1}", lower.GPU, []string{"dram", "arithmetic"}},
	{plane, "family=loops,block=0x0,threads=2", lower.CPU, []string{"dram", "l2", "arithmetic"}},
	{box, "family=loops,block=0x4x0,threads=0", lower.CPU, []string{"dram", "l2", "arithmetic"}},
	{plane, "body[0:2]@2{family=wavefront,block=0x256}", lower.CPU, []string{"arithmetic"}},
}

// Every family has the costs that it should have, without code of its own, and less of them when they are left out.
func TestDifferingsOfFamilies(t *testing.T) {
	for _, c := range families {
		t.Run(c.plan, func(t *testing.T) {
			p, list := lang.Load(diag.NewSource("differ.loom", c.source))
			if list.HasErrors() {
				t.Fatal(list)
			}
			b, list := p.In(arith.Contract).Bind(nil)
			if list.HasErrors() {
				t.Fatal(list)
			}
			plan, err := schedule.ParsePlan(c.plan)
			if err != nil {
				t.Fatal(err)
			}
			m, err := lower.Program(b.Program, lower.Options{Target: c.target, Bound: b, Sized: true, Plan: plan})
			if err != nil {
				t.Fatal(err)
			}
			start, err := interp.New(b, interp.Options{Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			given, data := give(start, 1)
			var made []string
			for _, l := range launchesOf(m) {
				for j := range kernel.Differences {
					d := &kernel.Differences[j]
					if was, now := differ(t, d.Name, m, b, l, d, given, data); now != nil {
						made = append(made, d.Name)
						less(t, d.Name, c.target, was, now)
					}
				}
			}
			for _, name := range c.costs {
				if !slices.Contains(made, name) {
					t.Errorf("there is no kernel without %s: only without %v", name, made)
				}
			}
		})
	}
}

// less checks that a cost has become less, and that others have not.
func less(t *testing.T, without string, target lower.Target, was, now *sim.Report) {
	t.Helper()
	same := func(what string, a, b int64) {
		if a != b {
			t.Errorf("without %s: %d %s, not %d", without, b, what, a)
		}
	}
	fewer := func(what string, a, b int64) {
		if b >= a && a > 0 {
			t.Errorf("without %s: %d %s, which are no fewer than %d", without, b, what, a)
		}
	}
	for scope := range was.Barriers {
		if without == kernel.WithoutDRAM {
			break // the last block of an axis may have fewer planes
		}
		same("barriers", was.Barriers[scope], now.Barriers[scope])
	}
	global := func(r *sim.Report) sim.Traffic { return r.Space(kernel.Global) }
	shared := func(r *sim.Report) sim.Traffic { return r.Space(kernel.Shared) }
	switch without {
	case kernel.WithoutL1:
		same("flops", was.Flops(), now.Flops())
		if was.Space(kernel.Shared).Stores == 0 { // otherwise copies to shared memory are left out as well
			fewer("loaded bytes", global(was).LoadedBytes+was.Space(kernel.Image).LoadedBytes,
				global(now).LoadedBytes+now.Space(kernel.Image).LoadedBytes)
		}
		same("stored bytes", global(was).StoredBytes, global(now).StoredBytes)
	case kernel.WithoutShared:
		same("flops", was.Flops(), now.Flops())
		fewer("bytes loaded from shared memory", shared(was).LoadedBytes, shared(now).LoadedBytes)
		same("stored bytes", global(was).StoredBytes, global(now).StoredBytes)
	case kernel.WithoutArithmetic:
		fewer("flops", was.Flops(), now.Flops())
		// What a statement loads again, compilers do not either.
		if a, b := global(was).LoadedBytes, global(now).LoadedBytes; b > a || 2*b < a {
			t.Errorf("without %s: %d loaded bytes, and %d with it", without, b, a)
		}
		same("stored bytes", global(was).StoredBytes, global(now).StoredBytes)
		same("bytes loaded from shared memory", shared(was).LoadedBytes, shared(now).LoadedBytes)
	case kernel.WithoutDRAM, kernel.WithoutL2:
		if target == lower.GPU && without == kernel.WithoutDRAM {
			near := func(a, b int64) bool { return 2*b > a && 2*a > b }
			if !near(was.Flops(), now.Flops()) { // blocks at the edge of the domain have less to do
				t.Errorf("without %s: %d flops, not about %d", without, now.Flops(), was.Flops())
			}
		}
	}
}

// So do random kernels, whatever lowering would make of anything.
func TestDifferingsOfRandomKernels(t *testing.T) {
	made := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		k := kerneltest.Kernel(t)
		d := rapid.SampledFrom(kernel.Differences).Draw(t, "without")
		size := map[*kernel.Var]op.Value{k.Scalars[0]: op.Int(types.I64, kerneltest.Size)}
		next, err := d.Make(k, kernel.Surroundings{Arguments: size, LastBytes: 512, NearBytes: 128, Team: 2})
		if kernel.IsAbsent(err) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		made[d.Name]++
		buffers, scalars := inputs(next)
		var mem []*sim.Memory
		for i, b := range next.Buffers {
			mem = append(mem, sim.Values(b.Elem, buffers[i]...))
		}
		r, err := sim.Run(next, sim.Args{Buffers: mem, Scalars: scalars}, sim.Options{Faults: 500})
		if err != nil {
			t.Fatalf("%s: %v\n%s\nof\n%s", d.Name, err, kernel.Text(next), kernel.Text(k))
		}
		for _, f := range r.Faults {
			if !slices.Contains(harmless[d.Name], f.Kind) {
				t.Fatalf("%s: %v\n%s\nof\n%s", d.Name, f, kernel.Text(next), kernel.Text(k))
			}
		}
	})
	if made[kernel.WithoutDRAM] == 0 {
		t.Errorf("no kernel was without the memory, and %v", made)
	}
}
