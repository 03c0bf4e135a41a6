package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

func bound(t *testing.T, text string) *ir.Binding {
	t.Helper()
	p, list := lang.Load(diag.NewSource("t.loom", text))
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	b, list := p.Bind(nil)
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	return b
}

func TestZeros(t *testing.T) {
	const head = `
parameter N = 8;
iterator j, i;
double u[N,N], v[N,N], w[N,N];
`
	for _, test := range []struct {
		name, text, given string
		want              string
	}{
		{"read first", `stencil s (out, in) { out[j][i] = in[j][i]; } s (v, u);`, "", "u;"},
		{"given", `stencil s (out, in) { out[j][i] = in[j][i]; } s (v, u);`, "u", ";"},
		{"a formula", `initial { [0:0, 0:0] : u[j][i] = 1; } stencil s (out, in) { out[j][i] = in[j][i]; } s (v, u);`, "", ";"},
		{"written before", `stencil s (u, v) { u[j][i] = 1; v[j][i] = u[j][i]; } s (u, v);`, "", ";"},
		{"adds to itself", `stencil s (u) { u[j][i] += 1; } s (u);`, "", "u;"},
		{"not used", `stencil s (u) { u[j][i] = 1; } s (u);`, "", ";"},
		{"in the second iteration", `stencil s (u, v) { u[j][i] = v[j][i]; } iterate 9 { s (u, v); swap (v, w); }`, "v", "w;"},
		{"full updates", `boundary u, v : clamp; stencil s (out, in) { out[j][i] = in[j][i+1]; } iterate 9 { s (v, u); swap (u, v); }`, "u", ";"},
		{"a rim", `stencil s (out, in) { out[j][i] = in[j][i+1]; } iterate 9 { s (v, u); swap (u, v); }`, "u", ";v with u"},
		{"a rim that is filled", `
stencil s (out, in) { out[j][i] = in[j][i+1]; [0:N-1, N-1:N-1] : out[j][i] = 0; }
iterate 9 { s (v, u); swap (u, v); }`, "u", ";"},
		{"a ring of patches", `
stencil s (out, in) {
  out[j][i] = in[j][i-1] + in[j][i+1] + in[j-1][i] + in[j+1][i];
  [0:0, 0:N-1] : out[j][i] = 0;
  [N-1:N-1, 0:N-1] : out[j][i] = 0;
  [1:N-2, 0:0] : out[j][i] = 0;
  [1:N-2, N-1:N-1] : out[j][i] = 0;
}
iterate 9 { s (v, u); swap (u, v); }`, "u", ";"},
		{"all but a corner", `
stencil s (out, in) {
  [0:N-1, 1:N-1] : out[j][i] = in[j][i];
  [1:N-1, 0:0] : out[j][i] = 0;
}
iterate 9 { s (v, u); swap (u, v); }`, "u", ";v with u"},
		{"half the colours", `stencil s (out, in) { color (j+i) % 2 == 0 : out[j][i] = in[j][i]; } iterate 9 { s (v, u); swap (u, v); }`, "u", ";v with u"},
		{"three in turn", `stencil s (a, b, c) { a[j][i] = b[j][i+1] + c[j][i]; } iterate 9 { s (w, v, u); rotate (u, v, w); }`, "u v", ";w with u"},
		{"two without values", `stencil s (a, b, c) { a[j][i] = b[j][i+1] + c[j][i]; } iterate 9 { s (w, v, u); rotate (u, v, w); }`, "", "u v;"},
	} {
		b := bound(t, head+test.text)
		var given []*ir.Grid
		for _, name := range strings.Fields(test.given) {
			given = append(given, b.Program.Grid(name))
		}
		u := Unset(b, given)
		var read, rims []string
		for _, g := range u.FromStart {
			read = append(read, g.Name)
		}
		for _, r := range u.Rims {
			rims = append(rims, fmt.Sprintf("%s with %s", r[0].Name, r[1].Name))
		}
		if got := strings.Join(read, " ") + ";" + strings.Join(rims, ", "); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
