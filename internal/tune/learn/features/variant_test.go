package features

import (
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// What a cell takes of a variant is what one counts by hand.
func TestVariant(t *testing.T) {
	t.Parallel()
	b := bound(t, `
parameter M = 64, N = 128;
iterator j, i;
float u[M,N], v[M,N];
copyin u;
stencil s (out, in) { out[j][i] = 0.5f*in[j][i-1] + 0.25f*in[j][i+1]; }
s (v, u);
copyout v;
`, "")
	call := b.Program.Calls[0]
	variant := func(config string) map[string]float64 {
		o := gpu(t, b)
		plan, err := schedule.ParsePlan("s[0:1]@1{" + config + "}")
		if err != nil {
			t.Fatal(err)
		}
		o.Plan = plan
		m, err := lower.Program(b.Program, o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Variant(m.Calls[call][0], b, call, o.Machine)
		if err != nil {
			t.Fatal(err)
		}
		return named(t, slices.Concat(OfLowered, OfVariant), got)
	}
	cells := variant("family=cells,block=4x32")
	for name, want := range map[string]float64{
		"cell_loads": 2, "cell_stores": 1, "cell_shared": 0, "cell_barriers": 0, "most_registers": 255,
		"live_blocks": 16, // 2,048 threads by 128
	} {
		if got := cells[name]; got != want {
			t.Errorf("cells: %s is %v, not %v", name, got, want)
		}
	}
	if n := cells["cell_floats"]; n < 2 || n > 3 { // two products and a sum, or a product and a fused one
		t.Errorf("cells: %v operations a cell", n)
	}
	if n := cells["cell_threads"]; n < 0 || n > 0.2 { // 64 x 128 threads for 64 x 126 cells
		t.Errorf("cells: 2^%v threads a cell", n)
	}
	staged := variant("family=tile,block=4x32,vec=1,rows=1,stages=1")
	if staged["cell_shared"] < 3 || staged["cell_loads"] > 1.3 || staged["cell_barriers"] == 0 {
		t.Errorf("staged: %v", staged)
	}
	wide := variant("family=tile,block=4x32,vec=4,rows=4,stages=0")
	if wide["live_registers"] <= cells["live_registers"] || wide["statements"] <= cells["statements"] ||
		wide["cell_stores"] < 0.25 || wide["cell_stores"] > 0.3 { // vectors at the ends are taken apart
		t.Errorf("16 cells a thread: %v", wide)
	}
	if wide["crowding"] != wide["live_registers"]/wide["most_registers"] {
		t.Errorf("%v registers of %v are a crowding of %v", wide["live_registers"], wide["most_registers"],
			wide["crowding"])
	}
}
