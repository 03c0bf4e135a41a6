package tuner

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

const chained = `
parameter M = 64, N = 64;
iterator j, i;
double u[M,N], v[M,N], w[M,N];
stencil both (v, w, u) {
  v[j][i] = u[j][i-1] + u[j][i+1];
  w[j][i] = v[j-1][i] + v[j+1][i];
}
both (v, w, u);
`

// The launches of one kernel of a call say whose they are, and those of the others
// are left out.
func TestNarrow(t *testing.T) {
	b := program(t, chained)
	s, err := newSubject(b, newScripted(t, b, smooth), false)
	if err != nil {
		t.Fatal(err)
	}
	choices, err := s.choices(schedule.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	var plan schedule.Plan
	for _, c := range choices {
		plan.Kernels = append(plan.Kernels, c.Kernel)
	}
	if len(choices) != 2 {
		t.Fatalf("%d kernels", len(choices))
	}
	v, err := s.calls[0].lowered(s.calls[0].bound, plan)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for i := range choices {
		k := &kernelSearch{call: s.calls[0], name: choices[i].Name(), several: true}
		c := v.code
		k.timeKernelAlone(&c)
		if c.From != last || c.To <= c.From || !strings.HasPrefix(c.Kernels[c.Launches[c.From].Kernel], "both_") {
			t.Errorf("kernel %d is launches %d to %d of %v", i, c.From, c.To, c.Kernels)
		}
		last = c.To
	}
	if last != len(v.code.Launches) {
		t.Errorf("%d of %d launches have a kernel", last, len(v.code.Launches))
	}
	alone := &kernelSearch{call: s.calls[0]}
	c := v.code
	if alone.timeKernelAlone(&c); c.From != 0 || c.To != len(c.Launches) {
		t.Errorf("a kernel that is alone is %d to %d", c.From, c.To)
	}
}

const fluxes = `
parameter M = 256, N = 256;
iterator j, i;
double u[M,N], next[M,N];
stencil spread (out, in) {
  double flux[M,N];
  flux[j][i] = in[j][i+1] - in[j][i];
  out[j][i] = in[j][i] + 0.1*(flux[j][i] - flux[j][i-1]);
}
iterate 10 { spread (next, u); swap (next, u); }
`

// Local grids are fused where that is faster, and stored where it is not.
func TestLocals(t *testing.T) {
	for _, fusedTakes := range []float64{0.5e-3, 2e-3} {
		b := program(t, fluxes)
		s := newScripted(t, b, func(plan string) (float64, error) {
			if strings.Contains(plan, "spread[0:2]") {
				return fusedTakes, nil
			}
			return 1e-3, nil
		})
		r := tune(t, options(s, b, 6))
		fused := strings.Contains(r.Best, "spread[0:2]")
		if fused != (fusedTakes < 1e-3) || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "local grids are ") {
			t.Errorf("%g: %s, %q", fusedTakes, r.Best, r.Notes)
		}
		if c := r.Contender("default"); c == nil || strings.Contains(c.Plan, "spread[0:2]") {
			t.Errorf("the default is %+v", c)
		}
	}
}
