package pipeline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

// streamed returns the stream of two iterations of a program's loop over three axes.
func streamed(t *testing.T, text string) (*pipeline.Stream, error) {
	t.Helper()
	src := diag.NewSource("t.loom", "parameter N = 40;\niterator k, j, i;\ncopyin a;\n"+text+"\ncopyout a;\n")
	p, list := lang.Load(src)
	if list.HasErrors() {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	s, err := graph.NewSpan(p, graph.Loops(p)[0], 2)
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := pipeline.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.NewStream(pipe)
}

const loop = "\niterate 9 { s (b, a); swap (b, a); }"

// Each line is what a stream decides of a loop: how far stages lag, how many planes threads
// keep, which rows other threads read.
func TestStreams(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a star", `double a[N,N,N], b[N,N,N];
stencil s (o, u) { o[k][j][i] = u[k-1][j][i] + u[k+1][j][i] + u[k][j-1][i] + u[k][j+1][i] + u[k][j][i-1]; }`, `
3 planes
a, lag 0, halo 2:2 2:2 2:0, rows 1:1
b, lag 1, halo 1:1 1:1 1:0, rows 1:1
a, lag 2, halo 0:0 0:0 0:0
`},
		{"a corner is seen after a barrier", `double a[N,N,N], b[N,N,N];
stencil s (o, u) { o[k][j][i] = u[k+1][j-1][i] + u[k][j][i]; }`, `
3 planes
a, lag 0, halo 0:2 2:0 0:0, rows 1:0
b, lag 2, halo 0:1 1:0 0:0, rows 1:0
a, lag 4, halo 0:0 0:0 0:0
`},
		{"neighbours in a row need no barrier", `double a[N,N,N], b[N,N,N];
stencil s (o, u) { o[k][j][i] = u[k+1][j][i-3] + u[k][j][i]; }`, `
2 planes
a, lag 0, halo 0:2 0:0 6:0
b, lag 1, halo 0:1 0:0 3:0
a, lag 2, halo 0:0 0:0 0:0
`},
		{"a reflection reads the other side", `double a[N,N,N], b[N,N,N]; boundary a, b : reflect on k;
stencil s (o, u) { o[k][j][i] = u[k-1][j][i] + u[k][j][i]; }`, `
3 planes
a, lag 0, halo 2:2 0:0 0:0
b, lag 1, halo 1:1 0:0 0:0
a, lag 2, halo 0:0 0:0 0:0
`},
	} {
		s, err := streamed(t, c.text+loop)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := s.String(); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s:\n%s", c.name, got)
		}
	}
}

// What no stream follows is refused, with the reason.
func TestStreamRefusals(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`double a[N,N,N], b[N,N,N]; boundary a, b : periodic on i;
stencil s (o, u) { o[k][j][i] = u[k][j][i-1]; }` + loop, "u is periodic"},
		{`double a[N,N,N];
stencil s (u) { color (k+j+i) % 2 == 0 : u[k][j][i] = 0.5*u[k][j][i-1]; }
iterate 9 { s (a); }`, "of one colour"},
		{`double a[N,N,N], b[N,N,N];
stencil s (o, u) { double f[N,N,N]; boundary f : reflect; [1:N-2,1:N-2,1:N-2] : f[k][j][i] = u[k][j][i];
o[k][j][i] = f[k][j][i]; }` + loop, "a part of it alone is assigned"},
	} {
		_, err := streamed(t, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
		if r, ok := errors.AsType[*graph.Refusal](err); ok && r.At.Start == r.At.End {
			t.Errorf("%s: the refusal names no place", c.want)
		}
	}
}

// Where other cells than its own are read by no stage, threads keep one plane.
func TestStreamOfNoNeighbours(t *testing.T) {
	s, err := streamed(t, `double a[N,N,N], b[N,N,N]; stencil s (o, u) { o[k][j][i] = 2*u[k][j][i]; }`+loop)
	if err != nil {
		t.Fatal(err)
	}
	if s.Planes != 1 {
		t.Errorf("%d planes are kept", s.Planes)
	}
}
