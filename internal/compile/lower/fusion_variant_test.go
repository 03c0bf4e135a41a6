package lower_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// diffused has a register queue of local grids, one that cannot be fused, and one that
// costs no kernel.
const diffused = `
parameter M = 13, N = 38;
iterator j, i;
double u[M,N], v[M,N], w[M,N], total;
boundary w : mirror;
copyin u, w;
stencil diffuse (v, u) {
  double lap[M,N], flx[M,N], fly[M,N];
  lap[j][i] = 4*u[j][i] - (u[j][i-1] + u[j][i+1] + u[j-1][i] + u[j+1][i]);
  flx[j][i] = lap[j][i+1] - lap[j][i];
  fly[j][i] = lap[j+1][i] - lap[j][i];
  v[j][i] = u[j][i] - 0.1*(flx[j][i] - flx[j][i-1] + fly[j][i] - fly[j-1][i]);
}
stencil smooth (w, u, total) {
  double t[M,N], x[M,N];
  boundary t : clamp;
  t[j][i] = 0.5*u[j][i];
  w[j][i] = t[j][i+1] - t[j-1][i];
  x[j][i] = w[j][i+1];
  reduce sum total = x[j][i]*w[j][i];
}
diffuse (v, u);
smooth (w, v, total);
copyout v, w, total;
`

// A plan fuses local grids, or stores them, by a word for all calls or by
// naming the kernels of one; both forms have the same bits.
func TestFusionVariants(t *testing.T) {
	p := load(t, "diffused", diffused)
	b := bind(t, p, "")
	for _, c := range []struct{ plan, want string }{
		{"", "diffuse[0:1] diffuse[1:3] diffuse[3:4] smooth[0:1] smooth[1:2] smooth[2:4]"},
		{"local=stored", "diffuse[0:1] diffuse[1:3] diffuse[3:4] smooth[0:1] smooth[1:2] smooth[2:4]"},
		{"local=fused", "diffuse[0:4] smooth[0:1] smooth[1:2] smooth[2:4]"},
		{"diffuse[0:4]@1{}", "diffuse[0:4] smooth[0:1] smooth[1:2] smooth[2:4]"},
		{"diffuse[0:4]@1{};smooth[2:4]@1{}", "diffuse[0:4] smooth[0:1] smooth[1:2] smooth[2:4]"},
		{"local=fused;diffuse[1:3]@1{}", "diffuse[0:1] diffuse[1:3] diffuse[3:4] smooth[0:1] smooth[1:2] smooth[2:4]"},
	} {
		for _, target := range []lower.Target{lower.CPU, lower.GPU} {
			o := lower.Options{Target: target, Plan: plan(t, c.plan), Bound: b}
			got, err := lower.Plan(p, o)
			if err != nil {
				t.Errorf("%s: %v", c.plan, err)
				continue
			}
			var names []string
			for _, k := range got.Kernels {
				name, _, _ := strings.Cut(k.String(), "@")
				names = append(names, name)
			}
			if text := strings.Join(names, " "); text != c.want {
				t.Errorf("%s: the kernels are %s, want %s", c.plan, text, c.want)
			}
			if err := check(b, way{target: target, strict: true, plan: o.Plan}, 2); err != nil {
				t.Error(err)
			}
			// The plan that is followed leads to the same kernels again.
			first, err1 := lower.Program(p, o)
			o.Plan = got
			again, err2 := lower.Program(p, o)
			if err1 != nil || err2 != nil || moduleText(first) != moduleText(again) {
				t.Errorf("%s: the complete plan makes other kernels: %v, %v", c.plan, err1, err2)
			}
		}
	}
	// What costs no kernel is never stored.
	m, err := lowered(p, lower.Options{Target: lower.GPU, Bound: b})
	if err != nil {
		t.Fatal(err)
	}
	var scratch []string
	for _, s := range m.Scratch {
		scratch = append(scratch, s.Name)
	}
	if got, want := strings.Join(scratch, " "),
		"diffuse_lap diffuse_flx diffuse_fly smooth_t smooth_total_parts smooth_total_chunks"; got != want {
		t.Errorf("the scratch is %s, want %s", got, want)
	}
}

// local is a program with a local grid.
func local(body string) string {
	return "parameter N = 9;\niterator i;\ndouble u[N], v[N];\ncopyin u;\nstencil s () { double t[N]; " + body +
		" }\ns ();\ncopyout v;\n"
}

// Random programs have the same bits with their local grids fused.
func TestFusionVariantsOfRandomPrograms(t *testing.T) {
	t.Parallel()
	fused := 0
	rng := rand.New(rand.NewPCG(3, 4))
	for seed := range uint64(150) {
		c, err := gen.Make(seed, gen.Options{Size: 3 + int(seed%6)})
		if err != nil {
			t.Fatal(err)
		}
		b, _ := c.Program.Bind(c.Sets[min(1, len(c.Sets)-1)])
		if b == nil || work(b) > mostCells {
			continue
		}
		w := way{target: []lower.Target{lower.CPU, lower.GPU}[seed%2], strict: true, plan: plan(t, "local=fused")}
		stored, err1 := lower.Plan(c.Program, lower.Options{Target: w.target, Bound: b})
		other, err2 := lower.Plan(c.Program, lower.Options{Target: w.target, Bound: b, Plan: w.plan})
		if err1 != nil || err2 != nil || stored.String() == other.String() {
			continue // it has none to fuse
		}
		fused++
		if w.target == lower.GPU {
			w.plan = drawn(c.Program, lower.Options{Target: w.target, Bound: b, Sized: true, Plan: w.plan}, rng)
		}
		if err := check(b, w, seed); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, c.Source)
		}
	}
	if fused < 6 {
		t.Errorf("only %d programs have local grids to fuse", fused)
	}
}

// drawn returns a plan of the kernels that a program has, with random
// configurations that fit the device.
func drawn(p *ir.Program, o lower.Options, rng *rand.Rand) schedule.Plan {
	choices, _ := lower.Choices(p, o)
	for range 50 {
		o.Plan = schedule.Plan{}
		for _, c := range choices {
			f := c.Space.Families[rng.IntN(len(c.Space.Families))] // each as often as the others
			c.Config = schedule.Space{Families: []schedule.Family{f}}.Counter().Draw(rng)
			o.Plan.Kernels = append(o.Plan.Kernels, c.Kernel)
		}
		if _, err := lower.Program(p, o); err == nil {
			break
		}
	}
	return o.Plan
}

func TestFusionVariantErrors(t *testing.T) {
	for _, c := range []struct{ text, plan, want string }{
		{diffused, "local=both", "plan: local takes no value both; it takes fused, stored"},
		{local("boundary t : clamp; t[i] = u[i]; v[i] = t[i+1];"), "local=fused",
			"plan: local=fused fits no call: the local grid t has boundary conditions"},
		{local("t[i] = u[i+1]; u[i] = 1; v[i] = t[i];"), "local=fused",
			"plan: local=fused fits no call: the local grid t is read after u has changed, which it is computed from"},
		{strings.Replace(local("v[i] = u[i];"), "double t[N];", "", 1), "local=fused",
			"plan: local=fused fits no call: the program has no local grids"},
		{diffused, "diffuse[0:2]@1{}", "plan: the program has no kernel diffuse[0:2]; " +
			"it has diffuse[0:1], diffuse[1:3], diffuse[3:4], smooth[0:1], smooth[1:2], smooth[2:4]"},
	} {
		_, err := lower.Program(load(t, "forms", c.text), lower.Options{Plan: plan(t, c.plan)})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.plan, err, c.want)
		}
	}
}
