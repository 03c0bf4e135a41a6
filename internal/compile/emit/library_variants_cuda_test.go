package emit_test

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// names are those that the host's headers have.
const names = `typedef long long int64_t; typedef int int32_t; typedef unsigned uint32_t; typedef unsigned long long uint64_t; typedef unsigned char uint8_t;
#define INFINITY __builtin_huge_valf()
`

// kernelsOf returns the kernels of a library's source, so that they compile alone.
func kernelsOf(source string) string {
	_, kernels, _ := strings.Cut(source, "// ---- kernels ----")
	kernels, _, _ = strings.Cut(kernels, "// ---- the handle ----")
	kernels, _, _ = strings.Cut(kernels, "gl_host_") // what only the host calls
	if at := strings.LastIndex(kernels, "\n}\n"); at > 0 {
		kernels = kernels[:at+3]
	}
	return names + strings.ReplaceAll(kernels, "static __global__", "extern \"C\" __global__")
}

// The kernels of a library with variants compile for an H200, all of them from
// one text.
func TestLibraryVariantsPTX(t *testing.T) {
	needClang(t)
	p, diags := lang.Load(diag.NewSource("heat.loom", `
parameter N, M, L;
iterator k, j, i;
double u[N,M,L], next[N,M,L], w[7], most;
boundary u, next : periodic;
copyin u, w; copyout u, most;
stencil heat (out, in) { out[k][j][i] = in[k][j][i] + w[3]*(in[k][j][i+1] + in[k][j][i-1] + in[k+1][j][i] - 3*in[k][j][i]); }
stencil measure () { reduce max most = u[k][j][i]; }
iterate 3 { heat (next, u); swap (next, u); measure (); }`))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var plans []schedule.Plan
	for _, text := range []string{
		"family=cells", "family=tile,vec=2,shuffle=yes,load_w=constant",
		"family=planes,vec=2,stages=1,prefetch=1",
	} {
		plan, err := schedule.ParsePlan(text)
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, plan)
	}
	modules, err := lower.Variants(p, lower.Options{Target: lower.GPU}, plans)
	if err != nil {
		t.Fatal(err)
	}
	var list []emit.Variant
	for i, m := range modules {
		list = append(list, emit.Variant{Module: m, Plan: plans[i].String(), Cells: int64(1000 << (4 * i))})
	}
	files, err := emit.Library(modules[0], emit.LibraryOptions{Dialect: emit.CUDA, Variants: list})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name != "heat.cu" {
			continue
		}
		text := ptx(t, kernelsOf(f.Text))
		for _, name := range []string{"heat_v1_kernel(", "heat_v2_kernel(", "heat_v3_kernel(", "measure_v1_kernel("} {
			if !strings.Contains(text, ".entry "+name) {
				t.Errorf("there is no kernel %s", name)
			}
		}
		return
	}
	t.Error("there is no heat.cu")
}
