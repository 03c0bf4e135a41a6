package emit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Blocks of a cluster that compute one tile store rows in each other's shared memory, by vectors. Arrivals there
// release what they have stored, and waits acquire it.
func TestCUDAClusters(t *testing.T) {
	needClang(t)
	p, diags := lang.Load(diag.NewSource("clusters.loom", `parameter N = 70, T = 7; iterator k, j, i; double u[N,N,N], v[N,N,N];
copyin u; copyout u, v;
stencil s (out, in) {
  out[k][j][i] = 0.5*in[k][j][i] + 0.1*(in[k-1][j][i] + in[k+1][j][i] + in[k][j-1][i] + in[k][j+1][i] + in[k][j][i-1]
    + in[k][j][i+1]);
}
iterate T { s (v, u); swap (v, u); }
`))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for barrier, want := range map[string]string{
		"split": "mbarrier.arrive.release.cluster.shared::cluster.b64|try_wait.parity.acquire.cluster|st.v2.",
		"whole": "barrier.cluster.arrive.release|barrier.cluster.wait.acquire|st.v2.",
	} {
		bound, list := p.Bind(nil)
		if list.HasErrors() {
			t.Fatal(list)
		}
		const text = "body[0:2]@2{family=pipe,block=4x32,cells=2x2,cluster=2,barrier=%s}"
		plan, err := schedule.ParsePlan(fmt.Sprintf(text, barrier))
		if err != nil {
			t.Fatal(err)
		}
		m, err := lower.Program(p, lower.Options{Target: lower.GPU, Plan: plan, Bound: bound, Sized: true})
		if err != nil {
			t.Fatal(err)
		}
		source := emit.Source(emit.CUDA, m)
		if !strings.Contains(source, "__cluster_dims__(2, 1,") {
			t.Errorf("%s: there are no clusters", barrier)
		}
		code := ptx(t, source)
		for text := range strings.SplitSeq(want, "|") {
			if !strings.Contains(code, text) {
				t.Errorf("%s: the compiled code has no %s", barrier, text)
			}
		}
	}
}
