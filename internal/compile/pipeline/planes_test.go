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

// sequenceOf returns the statements of a program's sequence as stages.
func sequenceOf(t *testing.T, text string) (*pipeline.Pipeline, error) {
	t.Helper()
	src := diag.NewSource("t.loom", "parameter N = 40;\niterator k, j, i;\n"+text)
	p, list := lang.Load(src)
	if list.HasErrors() {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	s, err := graph.NewSpan(p, graph.Loops(p)[0], 1)
	if err != nil {
		return nil, err
	}
	return pipeline.New(s)
}

// Each line is what the plan decides of statements that share a kernel, plane by plane: how far they lag, where their
// planes are, and which planes of memory threads read.
func TestPlanes(t *testing.T) {
	const grids = "double a[N,N,N], b[N,N,N], c[N,N,N], d[N,N,N]; copyin a, d; copyout d;\n"
	for _, c := range []struct {
		name, text, want string
		keeps            pipeline.Keeps
	}{
		{"neighbours read in shared memory, behind a barrier", `
stencil s (b, a) { b[k][j][i] = 2*a[k][j][i]; }
stencil r (d, b) { d[k][j][i] = b[k][j][i-1] + b[k][j+1][i]; }
s (b, a); r (d, b);`, `
b, lag 0, 2 planes in shared memory
d, lag 1
tile of a: 1 planes, the newest 0 ahead, halo 0:1 1:0
`, pipeline.Keeps{}},
		{"a column stays in registers", `
stencil s (b, a) { b[k][j][i] = 2*a[k][j][i]; }
stencil r (d, b) { d[k][j][i] = b[k-1][j][i] + b[k+2][j][i]; }
s (b, a); r (d, b);`, `
b, lag 0, halo 1:2, 4 in registers
d, lag 2
column of a: 1 planes, the newest 0 ahead
`, pipeline.Keeps{}},
		{"what is in shared memory for others is read there by all", `
stencil s (b, a) { b[k][j][i] = 2*a[k][j][i]; }
stencil r (d, b) { d[k][j][i] = b[k-1][j][i] + b[k][j][i+1]; }
s (b, a); r (d, b);`, `
b, lag 0, halo 1:0, 3 planes in shared memory
d, lag 1
tile of a: 1 planes, the newest 0 ahead, halo 0:0 0:1
`, pipeline.Keeps{}},
		{"a sum in parts is made in registers", `
stencil s (d, a) { d[k][j][i] = a[k-1][j][i]; d[k][j][i] += a[k+1][j][i]; d[k][j][i] -= a[k][j-2][i]; }
s (d, a);`, `
d, lag 0, 1 in registers
d, lag 0, 1 in registers
d, lag 0
column of a: 3 planes, the newest 1 ahead
tile of a: 1 planes, the newest 0 ahead, halo 2:0 0:0
`, pipeline.Keeps{}},
		{"what is updated in place is stored when all have read it", `
stencil s (b, c, d, a) {
  b[k][j][i] = a[k+1][j][i];
  c[k][j][i] = b[k+1][j][i]*d[k][j][i];
  d[k][j][i] = a[k][j][i] + c[k][j][i];
}
s (b, c, d, a);`, `
b, lag 0, halo -1:1, 2 in registers
c, lag 1, 1 in registers
d, lag 1
column of a: 3 planes, the newest 1 ahead
column of d: 1 planes, the newest -1 ahead
`, pipeline.Keeps{}},
		{"threads hold their own columns of what others read in shared memory", `
stencil s (b, a) { b[k][j][i] = 2*a[k][j][i]; }
stencil r (d, b) { d[k][j][i] = b[k-1][j][i] + b[k][j][i+1]; }
s (b, a); r (d, b);`, `
d, lag 1
b, lag 0, halo 1:0, 2 planes in shared memory, 3 in registers
tile of a: 1 planes, the newest 0 ahead, halo 0:0 0:1
`, pipeline.Keeps{Held: pipeline.HeldAll}},
		{"parts that wait for later planes are computed on no others", `
stencil s (d, a) {
  double p[N, N, N];
  p[k][j][i] = a[k][j][i];
  d[k][j][i] = p[k-1][j][i];
}
stencil r (d, a) {
  double p[N, N, N], q[N, N, N];
  p[k][j][i] = a[k][j][i-1] + a[k][j][i];
  q[k][j][i] = p[k-1][j][i] + a[k][j][i+1];
  d[k][j][i] = q[k+1][j][i];
}
r (d, a);`, `
q, lag 0, halo -1:1, 2 in registers
d, lag 1
p, lag 0, 2 in registers
column of a: 1 planes, the newest 0 ahead
tile of a: 1 planes, the newest 0 ahead, halo 0:0 1:1
`, pipeline.Keeps{}},
		{"threads read their own cells where others read the plane, and hold no other columns", `
stencil s (d, a, c) {
  d[k][j][i] = a[k][j][i] + a[k][j][i+1];
  d[k][j][i] += c[k][j][i] + c[k+1][j-1][i+1];
}
s (d, a, c);`, `
d, lag 0, 1 in registers
d, lag 0
column of c: 1 planes, the newest 0 ahead
tile of a: 1 planes, the newest 0 ahead, halo 0:0 0:1
tile of c: 1 planes, the newest 1 ahead, halo 1:0 0:1
`, pipeline.Keeps{Held: pipeline.HeldNone}},
		{"planes that a column reads first stay in shared memory for neighbours", `
stencil s (d, a) { d[k][j][i] = a[k-1][j][i] - a[k+3][j][i]; d[k][j][i] += a[k][j-2][i]; }
s (d, a);`, `
d, lag 0, 1 in registers
d, lag 0
column of a: 5 planes, the newest 3 ahead
tile of a: 4 planes, the newest 3 ahead, halo 2:0 0:0
`, pipeline.Keeps{Fetched: true}},
	} {
		p, err := sequenceOf(t, grids+c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		p.UpdateInPlace()
		s, err := pipeline.NewPlanes(p, c.keeps)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := s.String(); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s:\n%s", c.name, got)
		}
		if err := s.Verify(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if spoilt := *s; len(s.Lags) > 1 && s.Lags[len(s.Lags)-1] > 0 {
			spoilt.Lags = append(append([]int64{}, s.Lags[:len(s.Lags)-1]...), 0)
			if spoilt.Verify() == nil {
				t.Errorf("%s: the verifier holds a statement for right that does not lag", c.name)
			}
		}
	}
}

// Stages of which cells are read that are beyond a tile on two axes, the first one's apart: those of others need no
// corners of their halo.
func TestCorners(t *testing.T) {
	const grids = "double a[N,N,N], b[N,N,N], c[N,N,N], d[N,N,N]; copyin a, d; copyout d;\n"
	const copied = "stencil s (o, a) { o[k][j][i] = 2*a[k][j][i]; }\n"
	for _, c := range []struct{ name, text, want string }{
		{"a star", `stencil r (d, b) { d[k][j][i] = b[k][j][i-1] + b[k][j+1][i] + b[k+1][j][i]; }
s (b, a); r (d, b);`, ""},
		{"planes before and after", `stencil r (d, b) { d[k][j][i] = b[k-1][j][i-1] + b[k+1][j+1][i]; }
s (b, a); r (d, b);`, ""},
		{"a box", `stencil r (d, b) { d[k][j][i] = b[k][j+1][i-1]; }
s (b, a); r (d, b);`, "b"},
		{"the halo of a halo on another axis", `stencil q (c, b) { c[k][j][i] = b[k][j-1][i] + b[k][j+1][i]; }
stencil r (d, c) { d[k][j][i] = c[k][j][i-1] + c[k][j][i+1]; }
s (b, a); q (c, b); r (d, c);`, "b"},
		{"the halo of a halo on the same axis", `stencil q (c, b) { c[k][j][i] = b[k][j][i-1] + b[k-1][j][i+1]; }
stencil r (d, c) { d[k][j][i] = c[k][j][i-1] + c[k][j][i+1]; }
s (b, a); q (c, b); r (d, c);`, ""},
		{"the cells of a halo with corners", `stencil q (c, b) { c[k][j][i] = 2*b[k][j][i]; }
stencil r (d, c) { d[k][j][i] = c[k][j-1][i-1]; }
s (b, a); q (c, b); r (d, c);`, "b c"},
	} {
		p, err := sequenceOf(t, grids+copied+c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var list []string
		for _, st := range p.Stages {
			if st.Corners {
				list = append(list, st.Value.Name())
			}
		}
		if got := strings.Join(list, " "); got != c.want {
			t.Errorf("%s: corners of %q, not of %q", c.name, got, c.want)
		}
	}
}

// What cannot be carried out plane by plane is refused, with the reason.
func TestPlanesRefuse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`double a[N,N,N], b[N,N,N], d[N,N,N]; boundary b : periodic on i; copyout d;
stencil s (b, a) { b[k][j][i] = 2*a[k][j][i]; }
stencil r (d, b) { d[k][j][i] = b[k][j][i-1]; }
s (b, a); r (d, b);`, "i is periodic"},
		{`double a[N,N,N], d[N,N,N]; copyout d;
stencil s (d, a) { d[k][j][i] = 2*a[k][j][i]; color (k+j+i) % 2 == 0 : d[k][j][i] += 1; }
s (d, a);`, "d is assigned at the cells of one colour"},
	} {
		p, err := sequenceOf(t, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.want, err)
			continue
		}
		_, err = pipeline.NewPlanes(p, pipeline.Keeps{})
		if r, ok := errors.AsType[*graph.Refusal](err); !ok || r.Reason != c.want {
			t.Errorf("%v, and not %q", err, c.want)
		}
	}
}
