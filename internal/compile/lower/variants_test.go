package lower_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

const variantsText = `
parameter N = 8, M = 8;
iterator j, i;
float u[N,M], next[N,M], w[M];
copyin u, w; copyout u;
stencil heat (out, in) { out[j][i] = in[j][i] + w[i]*(in[j][i+1] + in[j][i-1]); }
iterate 4 { heat (next, u); swap (next, u); }`

// However wide the vectors of a plan are, all variants find grids in the same
// places: those of the widest.
func TestVariants(t *testing.T) {
	p := load(t, "variants", variantsText)
	var plans []schedule.Plan
	for _, text := range []string{"family=cells", "family=tile,vec=4", "family=planes,vec=2"} {
		plan, err := schedule.ParsePlan(text)
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, plan)
	}
	alone, err := lower.Program(p, lower.Options{Target: lower.GPU, Plan: plans[1]})
	if err != nil {
		t.Fatal(err)
	}
	list, err := lower.Variants(p, lower.Options{Target: lower.GPU}, plans)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d variants, %v", len(list), err)
	}
	for i, m := range list {
		if len(m.Layouts) == 0 || !maps.Equal(m.Layouts, alone.Layouts) {
			t.Errorf("%s: %v, want %v", plans[i], m.Layouts, alone.Layouts)
		}
	}
	// The plainest kernel reckons with the padding.
	dense, err := lower.Program(p, lower.Options{Target: lower.GPU, Plan: plans[0]})
	if err != nil {
		t.Fatal(err)
	}
	if kernel.Text(list[0].Kernels[0]) == kernel.Text(dense.Kernels[0]) {
		t.Error("the kernel does not know of the padding")
	}
	bad, _ := schedule.ParsePlan("family=tile,vec=3")
	if _, err := lower.Variants(p, lower.Options{Target: lower.GPU}, []schedule.Plan{plans[0], bad}); err == nil ||
		!strings.Contains(err.Error(), "vec") {
		t.Errorf("%v", err)
	}
}
