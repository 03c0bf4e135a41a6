package pipeline_test

import (
	"errors"
	"fmt"
	"slices"
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
		{"what wraps is beyond the ends", `double a[N,N,N], b[N,N,N]; boundary a, b : periodic;
stencil s (o, u) { o[k][j][i] = u[k-1][j][i] + u[k][j][i-2]; }`, `
2 planes
a, lag 0, halo 2:0 0:0 4:0
b, lag 0, halo 1:0 0:0 2:0
a, lag 0, halo 0:0 0:0 0:0
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
		{`double a[N,N,N], b[N,N,N], f[N,N,N]; copyin f; boundary f : periodic on i;
stencil s (o, u, f) { o[k][j][i] = u[k][j-1][i] + f[k][j][i+1]; }
iterate 9 { s (b, a, f); swap (b, a); }`, "f is periodic on i, and what the loop computes is not"},
		{`double a[N,N,N], b[N,N,N], f[N,N,N]; copyin f; boundary f : periodic on i.high;
stencil s (o, u, f) { o[k][j][i] = u[k][j-1][i] + f[k][j][i+1]; }
iterate 9 { s (b, a, f); swap (b, a); }`, "f is periodic on i, and what the loop computes is not"},
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

// Each text is how a thread's row computes the first stage of a loop: what it does before its
// own step, and in which phase.
func TestParts(t *testing.T) {
	const grids = "double a[N,N,N], b[N,N,N];\n"
	for _, c := range []struct {
		name, text    string
		before, after int64 // rows of the thread
		turns         int64 // for threads of all these rows
		want          string
	}{
		{"planes in order, between rows of the thread", grids + `stencil s (o, u) {
o[k][j][i] = 0.1*u[k-1][j][i] + 0.2*u[k][j-1][i] + 0.3*u[k][j][i+1] + 0.4*u[k+1][j][i]; }`, 1, 1, 2, `
-1 finished: 0.1 * u[k-1][j][i] + 0.2 * u[k][j-1][i] + 0.3 * u[k][j][i+1], or what memory has
0 computed: o
`},
		{"rows of other warps are there after the barrier", grids + `stencil s (o, u) {
o[k][j][i] = 0.1*u[k-1][j][i] + 0.2*u[k][j-1][i] + 0.3*u[k][j][i+1] + 0.4*u[k+1][j][i]; }`, 0, 2, 2, `
-1 computed: 0.1 * u[k-1][j][i], or what memory has
0 exchanged: 0.1 * u[k-1][j][i] + 0.2 * u[k][j-1][i] + 0.3 * u[k][j][i+1]
0 computed: o
`},
		{"its own cells are there at once", grids + `stencil s (o, u) {
o[k][j][i] = 0.1*u[k-1][j][i] + 0.2*u[k][j][i] + 0.4*u[k+1][j][i]; }`, 1, 1, 2, `
-1 computed: 0.1 * u[k-1][j][i] + 0.2 * u[k][j][i], or what memory has
0 computed: o
`},
		{"two planes beyond", grids + `stencil s (o, u) {
o[k][j][i] = 0.1*u[k-2][j][i] + 0.2*u[k-1][j][i] + 0.3*u[k][j][i] + 0.4*u[k+1][j][i] + 0.5*u[k+2][j][i]; }`,
			1, 1, 2, `
-3 computed: 0.1 * u[k-2][j][i] + 0.2 * u[k-1][j][i]
-2 computed: 0.1 * u[k-2][j][i] + 0.2 * u[k-1][j][i] + 0.3 * u[k][j][i]
-1 computed: 0.1 * u[k-2][j][i] + 0.2 * u[k-1][j][i] + 0.3 * u[k][j][i] + 0.4 * u[k+1][j][i], or what memory has
0 computed: o
`},
		{"all of a box is there before", grids + `stencil s (o, u) { o[k][j][i] = u[k][j-1][i] + u[k+1][j+1][i]; }`,
			1, 1, 2, `
-1 finished: u[k][j-1][i] + u[k+1][j+1][i], or what memory has
0 computed: o
`},
		{"a scalar is computed where it is needed first", grids + `stencil s (o, u) {
double m = u[k][j][i-1] + u[k][j][i+1]; o[k][j][i] = m*m + u[k+1][j][i]; }`, 1, 1, 2, `
-1 finished: m * m, or what memory has
0 computed: o
`},
		{"nothing comes early", grids + `stencil s (o, u) { o[k][j][i] = 2*u[k][j][i]; }`, 1, 1, 1, `
0 computed: o
0 to 0: cells of a
`},
		{"cells of memory are read with the part that they belong to", grids + `stencil s (o, u) {
o[k][j][i] = u[k-1][j][i] + u[k][j][i-1] - o[k][j][i] + u[k+1][j][i] + o[k][j][i]; }`, 1, 1, 2, `
-1 finished: u[k-1][j][i] + u[k][j][i-1] - o[k][j][i], or what memory has
0 computed: o
-1 to 0: cells of b
`},
		{"what a stage leaves as it was", grids + `stencil s (o, u) {
[1:N-2,1:N-2,1:N-2] : o[k][j][i] = u[k-1][j][i] + u[k][j][i-1] + u[k+1][j][i]; }`, 1, 1, 2, `
-1 finished: u[k-1][j][i] + u[k][j][i-1], or what memory has
0 computed: o
`},
	} {
		s, err := streamed(t, c.text+loop)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		p := s.Parts(s.Stages[0], c.before, c.after)
		if got := p.Text(s.Span.Program); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s:\n%s", c.name, got)
		}
		turns := int64(1)
		for _, st := range s.Stages {
			for r := range c.before + c.after + 1 {
				p := s.Parts(st, r, c.before+c.after-r)
				turns = max(turns, p.Turns())
			}
		}
		if turns != c.turns {
			t.Errorf("%s: %d turns", c.name, turns)
		}
	}
}

// Cells of a thread's own that several parts wait with share registers: one for each plane. The keeper's are its own,
// for they have other values at some cells.
func TestPartsShare(t *testing.T) {
	const grids = "double a[N,N,N], b[N,N,N];\n"
	for _, c := range []struct{ name, body, want string }{
		{"planes behind and the cell itself", `double near = u[k+1][j][i] + u[k-1][j][i];
o[k][j][i] = u[k][j][i] + 0.3*(near + u[k-2][j][i] + u[k+2][j][i] - u[k][j][i]);`, `
-3 computed: u[k-2][j][i]
-2 computed: u[k-1][j][i], as u[k-2][j][i]
-1 computed: u[k][j][i], as u[k-2][j][i]
-1 computed: near + u[k-2][j][i]
-1 computed: u[k][j][i], as u[k-2][j][i]
`},
		{"no part but cells", `[1:N-2,1:N-2,1:N-2] : o[k][j][i] = u[k-1][j][i-1]*u[k-1][j][i] - u[k+1][j][i];`, `
-2 finished: u[k-1][j][i-1] * u[k-1][j][i]
`},
		{"a cell that is the keeper", `[1:N-2,1:N-2,1:N-2] : o[k][j][i] = u[k][j][i]*(u[k+2][j][i] + u[k][j][i]);`, `
-1 computed: u[k][j][i]
-1 computed: u[k][j][i]
`},
	} {
		s, err := streamed(t, grids+"stencil s (o, u) {\n"+c.body+" }"+loop)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		p, got := s.Parts(s.Stages[0], 1, 1), ""
		for n, q := range p.List {
			got += fmt.Sprintf("%d %s: %s", -q.At.Before, q.At.Phase, s.Span.Program.InfixExpr(q.Of))
			if first := p.Shares(n); first != n {
				got += ", as " + s.Span.Program.InfixExpr(p.List[first].Of)
			}
			got += "\n"
		}
		if got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s:\n%s", c.name, got)
		}
	}
}

// A part that comes too early, a plane that is kept too short, a row that others may have
// replaced: each is found.
func TestVerifyParts(t *testing.T) {
	s, err := streamed(t, `double a[N,N,N], b[N,N,N];
stencil s (o, u) {
  o[k][j][i] = 0.1*u[k-1][j][i] + 0.2*u[k][j-1][i] + 0.3*u[k][j][i+1] + 0.4*u[k+1][j][i];
}`+loop)
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range []int64{0, 1} {
		fresh := func() pipeline.Parts { return s.Parts(s.Stages[1], before, 1) }
		if err := s.VerifyParts(fresh(), before, 1); err != nil {
			t.Errorf("%d rows before: %v", before, err)
		}
		for name, spoil := range map[string]func(p *pipeline.Parts){
			"before it is there": func(p *pipeline.Parts) {
				p.List[len(p.List)-1].At.Before += 2
				slices.Reverse(p.List)
				p.Carried = 9
			},
			"its plane has been replaced":   func(p *pipeline.Parts) { p.Oldest = 0 },
			"waits for longer":              func(p *pipeline.Parts) { p.Carried, p.Keeper = 0, -1 },
			"overwritten before it is used": func(p *pipeline.Parts) { p.Carried = 0 },
			"not in the order of their times": func(p *pipeline.Parts) {
				p.List = append(p.List, pipeline.Part{Of: p.List[0].Of, At: pipeline.Time{Before: 9}})
			},
		} {
			p := fresh()
			spoil(&p)
			if err := s.VerifyParts(p, before, 1); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%d rows before, %q: %v", before, name, err)
			}
		}
	}
}
