package pipeline_test

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

// Each line is what a wavefront decides of a loop: how far stages lag, and how many of their
// planes are needed at a time.
func TestWavefronts(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a star", `double a[N,N,N], b[N,N,N];
stencil s (o, u) { o[k][j][i] = u[k-1][j][i] + u[k+1][j][i] + u[k][j-1][i] + u[k][j+1][i] + u[k][j][i-1]; }` + loop, `
b, lag 0, 3 planes
a, lag 1
`},
		{"a corner is in the plane that was computed just before", `double a[N,N,N], b[N,N,N];
stencil s (o, u) { o[k][j][i] = u[k+1][j-1][i] + u[k][j][i]; }` + loop, `
b, lag 0, 2 planes
a, lag 1
`},
		{"what lies behind needs no lag", `double a[N,N,N], b[N,N,N]; boundary a, b : periodic;
stencil s (o, u) { o[k][j][i] = u[k-2][j][i] + u[k][j][i-2]; }` + loop, `
b, lag 0, 3 planes
a, lag 0
`},
		{"a reflection leads as far ahead", `double a[N,N,N], b[N,N,N]; boundary a, b : reflect on k;
stencil s (o, u) { o[k][j][i] = u[k-1][j][i] + u[k][j][i]; }` + loop, `
b, lag 0, 3 planes
a, lag 1
`},
		{"cells that are left come from two iterations before", `double a[N,N,N], b[N,N,N];
stencil s (o, u) { o[k][j][i] = u[k+1][j][i]; }
iterate 9 { s (b, a); s (a, b); }`, `
b, lag 0, 3 planes
a, lag 1, 3 planes
b, lag 2, 2 planes
a, lag 3
`},
		{"statements that read their own cell", `double a[N,N,N], b[N,N,N];
stencil s (b, a) { b[k][j][i] = 0.5*a[k][j][i]; a[k][j][i] = b[k][j][i] + 1; }
iterate 9 { s (b, a); }`, `
b, lag 0, 1 planes
a, lag 0, 1 planes
b, lag 0, 1 planes
a, lag 0
`},
	} {
		s, err := streamed(t, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := pipeline.NewWavefront(s.Pipeline).String(); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s:\n%s", c.name, got)
		}
	}
}
