package exec

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Programs whose scalar locals outlive what they are computed from, and the
// same with a grid in place of each such local.
var outliving = []struct{ name, head, locals, grids string }{
	{"a collision in place", `
parameter N = 37;
iterator i;
double f[N], g[N], a[N], b[N];
boundary f, g : periodic;
initial { f[i] = random(1) - 0.5; g[i] = random(2); }
`, `
stencil collide (f, g) { double u = f[i] - g[i]; double q = 1 - u*u; f[i] = q + u; g[i] = q - u; }
iterate 3 { collide (f, g); }
`, `
stencil collide (f, g) { a[i] = f[i] - g[i]; b[i] = 1 - a[i]*a[i]; f[i] = b[i] + a[i]; g[i] = b[i] - a[i]; }
iterate 3 { collide (f, g); }
`},
	{"moments in two dimensions", `
parameter M = 11, N = 19;
iterator j, i;
double e[M,N], w[M,N], n[M,N], s[M,N], rho[M,N], ux[M,N], uy[M,N], k[M,N], omega = 0.7;
boundary e, w : periodic;
boundary n, s : clamp;
initial { e[j][i] = random(1); w[j][i] = random(2); n[j][i] = random(3); s[j][i] = random(4); }
`, `
stencil collide (e, w, n, s) {
  double rho = 1 + e[j][i] + w[j][i] + n[j][i] + s[j][i];
  double ux = (e[j][i] - w[j][i])/rho, uy = (n[j][i] - s[j][i])/rho;
  double k = ux*ux + uy*uy;
  e[j][i] += omega*(rho*(ux + k) - e[j][i]);
  w[j][i] += omega*(rho*(k - ux) - w[j][i]);
  n[j][i] += omega*(rho*(uy + k) - n[j][i]);
  s[j][i] += omega*(rho*(k - uy) - s[j][i]);
}
iterate 2 { collide (e, w, n, s); }
`, `
stencil collide (e, w, n, s) {
  rho[j][i] = 1 + e[j][i] + w[j][i] + n[j][i] + s[j][i];
  ux[j][i] = (e[j][i] - w[j][i])/rho[j][i];
  uy[j][i] = (n[j][i] - s[j][i])/rho[j][i];
  k[j][i] = ux[j][i]*ux[j][i] + uy[j][i]*uy[j][i];
  e[j][i] += omega*(rho[j][i]*(ux[j][i] + k[j][i]) - e[j][i]);
  w[j][i] += omega*(rho[j][i]*(k[j][i] - ux[j][i]) - w[j][i]);
  n[j][i] += omega*(rho[j][i]*(uy[j][i] + k[j][i]) - n[j][i]);
  s[j][i] += omega*(rho[j][i]*(k[j][i] - uy[j][i]) - s[j][i]);
}
iterate 2 { collide (e, w, n, s); }
`},
	{"neighbours, and domains", `
parameter M = 9, N = 21;
iterator j, i;
double f[M,N], g[M,N], a[M,N], b[M,N];
boundary f : periodic on i, clamp on j;
boundary g : mirror;
initial { f[j][i] = random(1); g[j][i] = random(2); }
`, `
stencil step (f, g) {
  double l = f[j-1][i+1] - f[j][i-2];
  double r = l*g[j][i+1];
  [1:M-2, 2:N-3] : f[j][i] = f[j][i] + 0.1*r;
  g[j][i] = 0.5*l + f[j][i];
  [0:0, 0:N-1] : g[j][i] = r;
  f[j][i] -= 0.25*l;
}
step (f, g);
[0:M-2, 1:N-4] : step (f, g);
`, `
stencil step (f, g) {
  a[j][i] = f[j-1][i+1] - f[j][i-2];
  b[j][i] = a[j][i]*g[j][i+1];
  [1:M-2, 2:N-3] : f[j][i] = f[j][i] + 0.1*b[j][i];
  g[j][i] = 0.5*a[j][i] + f[j][i];
  [0:0, 0:N-1] : g[j][i] = b[j][i];
  f[j][i] -= 0.25*a[j][i];
}
step (f, g);
[0:M-2, 1:N-4] : step (f, g);
`},
	{"grids of unlike sizes", `
parameter M = 17, N = 23;
iterator i;
double f[N], g[M], a[M+N];
boundary f, g : periodic;
initial { f[i] = random(1); g[i] = random(2); }
`, `
stencil mix (f, g) { double t = f[i+1] + g[i]; f[i] = 0.5*t; g[i] = 0.25*t - f[i]; }
iterate 2 { mix (f, g); }
`, `
stencil mix (f, g) { a[i] = f[i+1] + g[i]; f[i] = 0.5*a[i]; g[i] = 0.25*a[i] - f[i]; }
iterate 2 { mix (f, g); }
`},
	{"values that are the same at all cells", `
parameter M = 6, N = 20;
iterator j, i;
double f[M,N], g[M,N], a[M,N], b[M,N], total = 3;
initial { f[j][i] = random(1); g[j][i] = random(2); }
`, `
stencil mean (f, g) {
  double first = f[0][0], was;
  [1:M-1, 1:N-2] : was = total;
  reduce sum total = f[j][i];
  f[j][i] = 0.5*f[j][i] - 0.1*first + 0.01*total;
  g[j][i] = first + 0.01*was;
}
iterate 3 { mean (f, g); }
`, `
stencil mean (f, g) {
  a[j][i] = f[0][0];
  b[j][i] = total;
  reduce sum total = f[j][i];
  f[j][i] = 0.5*f[j][i] - 0.1*a[j][i] + 0.01*total;
  [1:M-1, 1:N-2] : g[j][i] = a[j][i] + 0.01*b[j][i];
}
iterate 3 { mean (f, g); }
`},
	{"colours", `
parameter M = 10, N = 13;
iterator j, i;
double u[M,N], v[M,N], a[M,N];
boundary u : reflect;
initial { u[j][i] = random(1); v[j][i] = random(2); }
`, `
stencil relax (u, v) {
  double r = 0.25*(u[j][i-1] + u[j][i+1] + u[j-1][i] + u[j+1][i]) - u[j][i];
  color (j+i) % 2 == each : u[j][i] += 0.5*r;
  v[j][i] = r;
}
iterate 2 { relax (u, v); }
`, `
stencil relax (u, v) {
  a[j][i] = 0.25*(u[j][i-1] + u[j][i+1] + u[j-1][i] + u[j+1][i]) - u[j][i];
  color (j+i) % 2 == each : u[j][i] += 0.5*a[j][i];
  v[j][i] = a[j][i];
}
iterate 2 { relax (u, v); }
`},
	{"locals that are assigned again, or needed by nothing", `
parameter N = 31;
iterator i;
float f[N], g[N], a[N], b[N];
int c[N], n[N];
boundary f, g : antireflect;
initial { f[i] = random(1); g[i] = random(2); n[i] = i; }
`, `
stencil step (f, g) {
  float t = f[i+1], s = t, unused = g[i+1];
  int k = 100*f[i] + n[i];
  t = t*g[i-1];
  g[i] = t;
  float needless = unused;
  f[i] = t - s;
  g[i] += s;
  n[i] = k + n[i]/2;
  f[i] *= 0.01*k;
}
iterate 3 { step (f, g); }
`, `
stencil step (f, g) {
  a[i] = f[i+1];
  c[i] = 100*f[i] + n[i];
  b[i] = a[i]*g[i-1];
  g[i] = b[i];
  f[i] = b[i] - a[i];
  g[i] += a[i];
  n[i] = c[i] + n[i]/2;
  f[i] *= 0.01*c[i];
}
iterate 3 { step (f, g); }
`},
}

// A scalar local has the value that it had when it was assigned, whatever has
// changed since: on the reference executor, in C and in every family of
// kernels for GPUs.
func TestLocalsOutliveTheirSources(t *testing.T) {
	for _, test := range outliving {
		t.Run(test.name, func(t *testing.T) {
			b, twin := program(t, test.head+test.locals), program(t, test.head+test.grids)
			want := afterwards(t, openReference(t, b), b)
			same(t, "the reference", want, afterwards(t, openReference(t, twin), b))
			rng := rand.New(rand.NewPCG(11, 7))
			for _, local := range []string{"local=stored", "local=fused"} {
				for _, c := range plans(t, b, lower.CPU, local, 1, rng) {
					r, err := Open(t.Context(), c.module, b, Options{Image: build(t, emit.Source(emit.C, c.module)),
						Device: "cpu"})
					if err != nil {
						t.Fatal(err)
					}
					same(t, "C, plan "+c.plan, afterwards(t, r, b), want)
					r.Close()
				}
				for _, c := range plans(t, b, lower.GPU, local, 4, rng) {
					same(t, "GPU, plan "+c.plan, simulated(t, c.module, b), want)
				}
			}
		})
	}
}

// afterwards runs a program and returns the contents of the grids that b's
// calls write and its scalars; a program's other grids are there for its twin.
func afterwards(t *testing.T, r Runner, b *ir.Binding) map[string][]byte {
	advanced(t, initialised(t, r), Limit{})
	all := contents(t, r, b.Program)
	for _, g := range b.Program.Grids {
		if !written(b.Program, g) {
			delete(all, g.Name)
		}
	}
	return all
}

func written(p *ir.Program, g *ir.Grid) bool {
	for _, s := range p.Calls {
		for _, a := range s.Arrays {
			if a.Grid == g && a.Written {
				return true
			}
		}
	}
	return false
}

type planned struct {
	plan   string
	module *kernel.Module
}

// plans lowers a program by random plans, n for each family of kernels.
func plans(t *testing.T, b *ir.Binding, target lower.Target, local string, n int, rng *rand.Rand) (out []planned) {
	t.Helper()
	o := lower.Options{Target: target, Bound: b, Sized: true}
	base, err := schedule.ParsePlan(local)
	if err != nil {
		t.Fatal(err)
	}
	if o.Plan = base; !fits(b, o) {
		o.Plan = schedule.Plan{}
	}
	choices, err := lower.Choices(b.Program, o)
	if err != nil {
		t.Fatal(err)
	}
	families := map[string]bool{}
	for _, c := range choices {
		for _, f := range c.Space.Families {
			families[f.Name] = true
		}
	}
	for len(out) < n*len(families) {
		plan := o.Plan
		for _, c := range choices {
			k := c.Kernel
			f := c.Space.Families[rng.IntN(len(c.Space.Families))]
			k.Config = schedule.Space{Families: []schedule.Family{f}}.Counter().Draw(rng)
			plan.Kernels = append(plan.Kernels, k)
		}
		with := o
		with.Plan = plan
		m, err := lower.Program(b.Program, with)
		var excess *lower.ResourceLimit
		switch {
		case errors.As(err, &excess):
		case err != nil:
			t.Fatalf("plan %s: %v", plan, err)
		default:
			out = append(out, planned{plan.String(), m})
		}
	}
	return out
}

func fits(b *ir.Binding, o lower.Options) bool {
	_, err := lower.Program(b.Program, o)
	return err == nil
}

// simulated runs a module on the simulator.
func simulated(t *testing.T, m *kernel.Module, b *ir.Binding) map[string][]byte {
	t.Helper()
	s, err := sim.NewState(m, b, nil, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Initialise(nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, g := range b.Program.Grids {
		if written(b.Program, g) {
			from := s.Grid(g)
			all[g.Name] = make([]byte, from.Len()*g.Type.Size())
			for n, to := 0, sim.View(g.Type, all[g.Name]); n < from.Len(); n++ {
				to.Set(n, from.At(n))
			}
		}
	}
	for _, x := range b.Program.Scalars {
		if x.Reduced {
			all[x.Name] = []byte(s.Scalar(x).String())
		}
	}
	return all
}
