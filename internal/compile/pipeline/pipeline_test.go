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

// made returns the pipeline of the first loop of a program.
func made(t *testing.T, text string, depth int64) (*diag.Source, *pipeline.Pipeline, error) {
	t.Helper()
	src := diag.NewSource("t.loom", "parameter N = 40;\niterator i;\ncopyin a;\n"+text+"\ncopyout a;\n")
	p, list := lang.Load(src)
	if list.HasErrors() {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	s, err := graph.NewSpan(p, graph.Loops(p)[0], depth)
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := pipeline.New(s)
	return src, pipe, err
}

// Each line is what a pipeline decides of a loop.
func TestPipelines(t *testing.T) {
	for _, c := range []struct {
		name, text string
		depth      int64
		want       string
		wraps      bool
	}{
		{"both sides", `double a[N], b[N]; stencil s (o, u) { o[i] = u[i-1] + u[i+2]; }
iterate 9 { s (b, a); swap (b, a); }`, 3, `
0 s[0]: o, halo 2:4, kept
1 s[0]: o, halo 1:2, kept
2 s[0]: o, halo 0:0, stored to b
`, false},
		{"one side", `double a[N], b[N]; stencil s (o, u) { o[i] = u[i+2] + u[i]; }
iterate 9 { s (b, a); swap (b, a); }`, 3, `
0 s[0]: o, halo 0:4, kept
1 s[0]: o, halo 0:2, kept
2 s[0]: o, halo 0:0, stored to b
`, false},
		{"one side, clamped", `double a[N], b[N]; boundary a, b : clamp; stencil s (o, u) { o[i] = u[i+2]; }
iterate 9 { s (b, a); swap (b, a); }`, 3, `
0 s[0]: o, halo 0:4, kept
1 s[0]: o, halo 0:2, kept
2 s[0]: o, halo 0:0, stored to b
`, false},
		{"one side, which turns back at its end", `double a[N], b[N]; boundary a, b : mirror;
stencil s (o, u) { o[i] = u[i+2]; } iterate 9 { s (b, a); swap (b, a); }`, 3, `
0 s[0]: o, halo 4:4, kept
1 s[0]: o, halo 2:2, kept
2 s[0]: o, halo 0:0, stored to b
`, false},
		{"one side, which cannot leave at the other", `double a[N], b[N]; boundary a, b : mirror on i.low;
stencil s (o, u) { o[i] = u[i+2]; } iterate 9 { s (b, a); swap (b, a); }`, 3, `
0 s[0]: o, halo 0:4, kept
1 s[0]: o, halo 0:2, kept
2 s[0]: o, halo 0:0, stored to b
`, false},
		{"a constant leads nowhere", `double a[N], b[N]; boundary a, b : constant(1);
stencil s (o, u) { o[i] = u[i+2]; } iterate 9 { s (b, a); swap (b, a); }`, 2, `
0 s[0]: o, halo 0:2, kept
1 s[0]: o, halo 0:0, stored to a spare of a
`, false},
		{"periodic", `double a[N], b[N]; boundary a, b : periodic; stencil s (o, u) { o[i] = u[i-1] + u[i+1]; }
iterate 9 { s (b, a); swap (b, a); }`, 2, `
0 s[0]: o, halo 1:1, kept
1 s[0]: o, halo 0:0, stored to a spare of a
`, true},
		{"local grids and what fills", `double a[N], b[N]; stencil s (o, u) { double f[N]; f[i] = u[i+1] - u[i];
o[i] = f[i] - f[i-1]; } iterate 9 { s (b, a); swap (b, a); }`, 2, `
0 s[0]: f, halo 2:1, kept
0 s[1]: o, halo 1:1, kept
1 s[0]: f, halo 1:0, kept
1 s[1]: o, halo 0:0, stored to a spare of a
`, false},
		{"through a scalar local", `double a[N], b[N]; stencil s (o, u) { double t = u[i-3]; o[i] = t; }
iterate 9 { s (b, a); swap (b, a); }`, 2, `
0 s[1]: o, halo 3:0, kept
1 s[1]: o, halo 0:0, stored to a spare of a
`, false},
		{"other extents with a constant", `double a[N], b[N], w[N+9], x[N+9]; boundary a, b : constant(1);
stencil s (o, u) { o[i] = u[i+1]; } stencil m (o, u, p) { o[i] = u[i+1] + p[i]; }
iterate 9 { s (b, a); m (x, b, w); swap (b, a); swap (x, w); } copyout w;`, 2, `
0 s[0]: o, halo 0:2, kept
0 m[0]: o, halo 0:0, kept
1 s[0]: o, halo 0:1, kept, stored to a spare of a
1 m[0]: o, halo 0:0, stored to a spare of w
`, false},
	} {
		_, p, err := made(t, c.text, c.depth)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err := p.Verify(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := p.String(); got != strings.TrimPrefix(c.want, "\n") || p.Wraps[0] != c.wraps {
			t.Errorf("%s:\n%s", c.name, got)
		}
	}
}

// Every refusal says what no halo covers, at the statement.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ name, text, want, at string }{
		{"periodic at one end", `double a[N], b[N]; boundary a, b : periodic on i.low, clamp on i.high;
stencil s (o, u) { o[i] = u[i-1]; } iterate 9 { s (b, a); swap (b, a); }`,
			"u is periodic at one end of i alone", "o[i] = u[i-1];"},
		{"unequal extents", `double a[N], b[N], c[N-3], d[N-3]; boundary a, b : periodic; boundary c, d : clamp;
stencil s (o, u) { o[i] = u[i-1]; } stencil m (o, v, u) { o[i] = v[i] + u[i+1]; }
iterate 9 { s (b, a); m (d, c, b); s (c, d); swap (b, a); }  copyout c;`,
			"i is periodic for some grids, and o has other ends there", "o[i] = v[i] + u[i+1];"},
		{"clamped, of other extents", `double a[N], b[N], w[2*N], x[2*N]; boundary a, b : clamp;
stencil s (o, u) { o[i] = u[i+1]; } stencil m (o, u, p) { o[i] = u[i+1] + p[i]; }
iterate 9 { s (b, a); m (x, b, w); swap (b, a); swap (x, w); } copyout w;`,
			"u is read far beyond its ends along i", "o[i] = u[i+1] + p[i];"},
		{"a local grid that is periodic on a part", `double a[N], b[N]; boundary a, b : clamp;
stencil s (o, u) { double f[N]; boundary f : periodic; [2:N-4] : f[i] = u[i]; o[i] = f[i+1]; }
iterate 9 { s (b, a); swap (b, a); }`,
			"f is periodic on i, and is not assigned over all of it", "o[i] = f[i+1];"},
	} {
		src, _, err := made(t, c.text, 2)
		r, ok := errors.AsType[*graph.Refusal](err)
		if !ok {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if at := src.Text[r.At.Start:r.At.End]; r.Reason != c.want || at != c.at {
			t.Errorf("%s:\n{%q, %q}", c.name, r.Reason, at)
		}
	}
}

// The verifier finds what is spoilt.
func TestVerify(t *testing.T) {
	for _, c := range []struct {
		name, want string
		spoil      func(p *pipeline.Pipeline)
	}{
		{"a halo", "stage 1: the halo of stage 0 ends before what is read on i",
			func(p *pipeline.Pipeline) { p.Stages[0].Halo[0].High-- }},
		{"kept", "stage 0: kept is false, and read is true", func(p *pipeline.Pipeline) { p.Stages[0].Kept = false }},
		{"an output", "stage 1 stores something else than the span",
			func(p *pipeline.Pipeline) { p.Stages[1].Output = nil }},
		{"a wrap", "stage 1: tiles do not go on beyond the ends of i, and u is periodic",
			func(p *pipeline.Pipeline) { p.Wraps[0] = false }},
		{"a spare", "the span: v1 is stored to a, which other blocks read",
			func(p *pipeline.Pipeline) { p.Span.Outputs[0].Spare = false }},
		{"the order", "the span: v0: iteration 1 is out of order",
			func(p *pipeline.Pipeline) { p.Span.Depth = 1; p.Stages[0].Step = 1 }},
		{"an input", "the span: v0: there is no value of u\nthere is no value of u",
			func(p *pipeline.Pipeline) { clear(p.Stages[0].Inputs[nil]) }},
		{"after", "the span: after -1 more iterations", func(p *pipeline.Pipeline) { p.Span.After = -1 }},
	} {
		_, p, err := made(t, `double a[N], b[N]; boundary a, b : periodic; stencil s (o, u) { o[i] = u[i-1] + u[i+1]; }
iterate 9 { s (b, a); swap (b, a); }`, 2)
		if err != nil {
			t.Fatal(err)
		}
		c.spoil(p)
		if err := p.Verify(); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
