package graph_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// declared stands before the loops of the tests.
const declared = `parameter M = 40, N = 50;
iterator j, i;
double a[N], b[N], c[N], d[N], wide[N+9], two[M,N], three[M,N], once, tol;
copyin a, b, c, d, wide, two, three;
stencil s (out, in) { out[i] = in[i+1] + in[i-1]; }
stencil full (out, in) { out[i] = 2*in[i]; }
stencil narrow (out, in) { out[i] = in[i-4] + in[i+4]; }
stencil add (out, in, more) { out[i] = in[i+1] + more[i]; }
copyout a, b, c, d, wide, two, three;
`

func load(t *testing.T, stencils, loop string) (*diag.Source, *ir.Program) {
	t.Helper()
	src := diag.NewSource("t.loom", strings.Replace(declared, "copyout", stencils+"\n"+loop+"\ncopyout", 1))
	p, list := lang.Load(src)
	if list.HasErrors() {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	return src, p
}

// spans are loops, with what a span of some iterations of them is.
var spans = []struct {
	name, stencils, loop string
	depth                int64
	want                 string
}{
	{"ping-pong, even", "", "iterate 9 { s (b, a); swap (b, a); }", 2, `
body: 2 iterations over i
v0 = s[0] of iteration 0: out in b, other cells from b; reads in from a
v1 = s[0] of iteration 1: out in a, other cells from a; reads in from v0; stored to a spare of a
after 1 more
`},
	{"ping-pong, odd", "", "iterate 9 { s (b, a); swap (b, a); }", 3, `
body: 3 iterations over i
v0 = s[0] of iteration 0: out in b, other cells from b; reads in from a
v1 = s[0] of iteration 1: out in a, other cells from a; reads in from v0
v2 = s[0] of iteration 2: out in b, other cells from v0; reads in from v1; stored to b
after 1 more
`},
	{"the partner is read later", "", "iterate 9 { add (c, a, b); s (b, a); swap (b, a); }", 2, `
body: 2 iterations over i
v0 = s[0] of iteration 0: out in b, other cells from b; reads in from a; stored to b
v1 = s[0] of iteration 1: out in a, other cells from a; reads in from v0; stored to a spare of a
after 1 more
`},
	{"the rim of the partner alone is read later", "", "iterate 9 { narrow (b, a); s (a, b); }", 2, `
body: 2 iterations over i
v0 = narrow[0] of iteration 0: out in b, other cells from b; reads in from a
v1 = s[0] of iteration 0: out in a, other cells from a; reads in from v0
v2 = narrow[0] of iteration 1: out in b, other cells from v0; reads in from v1
v3 = s[0] of iteration 1: out in a, other cells from v1; reads in from v2; stored to a spare of a
after 1 more
`},
	{"three in turn", "", "iterate 9 { add (c, b, a); rotate (a, b, c); }", 2, `
body: 2 iterations over i
v0 = add[0] of iteration 0: out in c, other cells from c; reads in from b, more from a; stored to c
v1 = add[0] of iteration 1: out in a, other cells from a; reads in from v0, more from b; stored to a spare of a
`},
	{"in place, two colours",
		"stencil half (u) { color (i) % 2 == 0 : u[i] = u[i-1] + u[i+1]; color (i) % 2 == 1 : u[i] = u[i-1]; }",
		"iterate 9 { half (a); }", 2, `
body: 2 iterations over i
v0 = half[0] of iteration 0: u in a, other cells from a; reads u from a
v1 = half[1] of iteration 0: u in a, other cells from v0; reads u from v0
v2 = half[0] of iteration 1: u in a, other cells from v1; reads u from v1
v3 = half[1] of iteration 1: u in a, other cells from v2; reads u from v2; stored to a spare of a
`},
	{"narrower domains", "", "iterate 9 { s (b, a); narrow (a, b); }", 2, `
body: 2 iterations over i
v0 = s[0] of iteration 0: out in b, other cells from b; reads in from a
v1 = narrow[0] of iteration 0: out in a, other cells from a; reads in from v0
v2 = s[0] of iteration 1: out in b, other cells from v0; reads in from v1
v3 = narrow[0] of iteration 1: out in a, other cells from v1; reads in from v2; stored to a spare of a
after 1 more
`},
	{"a local grid", "stencil flux (out, in) { double f[N]; f[i] = in[i+1] - in[i]; out[i] = f[i] - f[i-1]; }",
		"iterate 9 { flux (b, a); swap (b, a); }", 2, `
body: 2 iterations over i
v0 = flux[0] of iteration 0: f, local; reads in from a
v1 = flux[1] of iteration 0: out in b, other cells from b; reads f from v0
v2 = flux[0] of iteration 1: f, local; reads in from v1
v3 = flux[1] of iteration 1: out in a, other cells from a; reads f from v2; stored to a spare of a
after 1 more
`},
	{"a local grid assigned twice",
		"stencil flux (out, in) { double f[N]; f[i] = in[i]; f[i] = f[i] + in[i+3]; out[i] = f[i]; }",
		"iterate 9 { flux (b, a); swap (b, a); }", 2, `
body: 2 iterations over i
v0 = flux[0] of iteration 0: f, local; reads in from a
v1 = flux[1] of iteration 0: f, local, other cells from v0; reads in from a, f from v0
v2 = flux[2] of iteration 0: out in b; reads f from v1
v3 = flux[0] of iteration 1: f, local; reads in from v2
v4 = flux[1] of iteration 1: f, local, other cells from v3; reads in from v2, f from v3
v5 = flux[2] of iteration 1: out in a; reads f from v4; stored to a spare of a
after 1 more
`},
	{"a scalar local holds what was there before",
		"stencil both (u, v) { double t = u[i] + v[i]; double r = 2*t; u[i] = v[i+1]; v[i] = r + u[i]; }",
		"iterate 9 { both (a, b); }", 2, `
body: 2 iterations over i
v0 = both[1] of iteration 0: r, local; reads u from a in t, v from b in t
v1 = both[2] of iteration 0: u in a, other cells from a; reads v from b
v2 = both[3] of iteration 0: v in b; reads u from v1, r from v0
v3 = both[1] of iteration 1: r, local; reads u from v1 in t, v from v2 in t
v4 = both[2] of iteration 1: u in a, other cells from v1; reads v from v2; stored to a spare of a
v5 = both[3] of iteration 1: v in b; reads u from v4, r from v3; stored to a spare of b
`},
	{"what a scalar local alone reads", "stencil by (out, in, w) { double t = w[i]; out[i] = in[i]*t; }",
		"iterate 9 { by (b, a, c); swap (b, a); swap (c, d); }", 2, `
body: 2 iterations over i
v0 = by[1] of iteration 0: out in b; reads in from a, w from c in t
v1 = by[1] of iteration 1: out in a; reads in from v0, w from d in t; stored to a spare of a
after 1 more
`},
	{"no rotation", "", "iterate 9 { s (b, a); s (a, b); }", 2, `
body: 2 iterations over i
v0 = s[0] of iteration 0: out in b, other cells from b; reads in from a
v1 = s.2[0] of iteration 0: out in a, other cells from a; reads in from v0
v2 = s[0] of iteration 1: out in b, other cells from v0; reads in from v1
v3 = s.2[0] of iteration 1: out in a, other cells from v1; reads in from v2; stored to a spare of a
after 1 more
`},
	{"written, and read by nothing", "", "iterate 9 { s (b, a); full (c, a); swap (b, a); }", 2, `
body: 2 iterations over i
v0 = s[0] of iteration 0: out in b, other cells from b; reads in from a
v1 = s[0] of iteration 1: out in a, other cells from a; reads in from v0; stored to a spare of a
after 1 more
`},
	{"written in part, and read by nothing", "", "iterate 9 { s (b, a); narrow (c, a); swap (b, a); }", 2, `
body: 2 iterations over i
v0 = s[0] of iteration 0: out in b, other cells from b; reads in from a
v1 = s[0] of iteration 1: out in a, other cells from a; reads in from v0; stored to a spare of a
after 1 more
`},
	{"assigned in vain", "", "iterate 9 { full (b, c); full (b, a); s (a, b); }", 2, `
body: 2 iterations over i
v0 = full.2[0] of iteration 0: out in b; reads in from a
v1 = s[0] of iteration 0: out in a, other cells from a; reads in from v0
v2 = full.2[0] of iteration 1: out in b; reads in from v1
v3 = s[0] of iteration 1: out in a, other cells from v1; reads in from v2; stored to a spare of a
after 1 more
`},
	{"two formals of one grid", "", "iterate 9 { add (b, a, a); swap (b, a); }", 2, `
body: 2 iterations over i
v0 = add[0] of iteration 0: out in b, other cells from b; reads in from a
v1 = add[0] of iteration 1: out in a, other cells from a; reads in from v0; stored to a spare of a
after 1 more
`},
	{"the step", "stencil at (out, in) { out[i] = in[i] + step; }", "iterate 9 { at (b, a); swap (b, a); }", 2, `
body: 2 iterations over i
v0 = at[0] of iteration 0: out in b; reads in from a
v1 = at[0] of iteration 1: out in a; reads in from v0; stored to a spare of a
after 1 more
`},
	{"planes", "stencil p (out, in) { out[j][i] = in[j][i+1]; } stencil edge (u) { u[0][i] = 1; }",
		"iterate 9 { p (three, two); edge (three); swap (two, three); }", 2, `
body: 2 iterations over j, i
v0 = p[0] of iteration 0: out in three, other cells from three; reads in from two
v1 = edge[0] of iteration 0: u in three, other cells from v0; stored to a spare of three
v2 = p[0] of iteration 1: out in two, other cells from two; reads in from v1
v3 = edge[0] of iteration 1: u in two, other cells from v2; stored to a spare of two
`},
}

func TestSpans(t *testing.T) {
	for _, c := range spans {
		_, p := load(t, c.stencils, c.loop)
		s, err := graph.NewSpan(p, graph.Loops(p)[0], c.depth)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err := s.Verify(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := s.String(); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s:\n%s", c.name, got)
		}
	}
}

// Loops have names in the order of the source, and count the leaves of an iteration.
func TestLoops(t *testing.T) {
	_, p := load(t, "", `iterate 3 { iterate 2 { s (b, a); swap (b, a); } full (c, a); }
iterate 4 { full (c, a); s (b, c); swap (a, b); }`)
	var got []string
	for _, l := range graph.Loops(p) {
		got = append(got, fmt.Sprintf("%s[0:%d]", l.Name, l.Leaves()))
	}
	if text := strings.Join(got, " "); text != "body[0:2] body.2[0:3]" {
		t.Error(text)
	}
	if l, ok := graph.LoopNamed(p, "body.2"); !ok || l.Leaves() != 3 {
		t.Errorf("%+v", l)
	}
}

// Every refusal says what forbids a span, at the statement or the loop.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ name, stencils, loop, want, at string }{
		{"a condition", "stencil sum (u, tol) { reduce sum tol = u[i]; }",
			"iterate until (tol < 1) check 5 max 9 { s (b, a); swap (b, a); sum (a, tol); }",
			"a condition ends the loop, and is checked every 5 iterations",
			"iterate until (tol < 1) check 5 max 9 { s (b, a); swap (b, a); sum (a, tol); }"},
		{"a reduction", "stencil sum (u, once) { reduce sum once = u[i]; }",
			"iterate 9 { s (b, a); swap (b, a); sum (a, once); }",
			"once is reduced in every iteration", "reduce sum once = u[i];"},
		{"one place", "stencil from (out, in) { out[i] = in[3]; }",
			"iterate 9 { from (b, a); swap (b, a); }",
			"in is read at one place along a dimension, and the loop changes it", "out[i] = in[3];"},
		{"one place, in a scalar local", "stencil from (out, in) { double t = in[3]; out[i] = t; }",
			"iterate 9 { from (b, a); swap (b, a); }",
			"in is read at one place along a dimension, and the loop changes it", "t = in[3]"},
		{"other axes", "stencil t (u) { u[j][i] = 1; }",
			"iterate 9 { s (b, a); t (two); swap (b, a); }",
			"u is assigned over other axes than i", "u[j][i] = 1;"},
		{"no call", "",
			"iterate 9 { swap (b, a); }",
			"no grid is assigned over any axis", "iterate 9 { swap (b, a); }"},
		{"nothing goes on", "",
			"iterate 9 { full (b, c); }",
			"the next iteration reads nothing of what they compute", "iterate 9 { full (b, c); }"},
	} {
		src, p := load(t, c.stencils, c.loop)
		_, err := graph.NewSpan(p, graph.Loops(p)[0], 2)
		r, ok := errors.AsType[*graph.Refusal](err)
		if !ok {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		at := src.Text[r.At.Start:r.At.End]
		if r.Reason != c.want || at != c.at {
			t.Errorf("%s:\n{%q, %q}", c.name, r.Reason, at)
		}
	}
	_, p := load(t, "", "iterate 9 { s (b, a); swap (b, a); }")
	if _, err := graph.NewSpan(p, graph.Loops(p)[0], 1<<40); err == nil {
		t.Error("a kernel of a trillion statements")
	}
}

// Refusals name the other places that they have to do with, and what to do.
func TestRefusalsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name, stencils, loop string
		depth                int64
		notes                []string // the source there
		hint                 string   // a part of it
	}{
		{"read where another statement writes",
			"stencil rim (out, in) { out[3] = in[3]; } stencil from (out, in) { out[i] = in[i] + in[7]; }",
			"iterate 9 { s (b, a); from (a, b); }", 2,
			[]string{"out[i] = in[i+1] + in[i-1];"}, "kernels of one iteration"},
		{"rotated", "stencil from (out, in) { out[i] = in[7]; }",
			"iterate 9 { s (b, a); from (d, c); rotate (c, b, a); }", 2,
			[]string{"out[i] = in[i+1] + in[i-1];"}, "kernels of one iteration"},
		{"where it writes itself", "stencil from (out, in) { out[i] = in[3]; }",
			"iterate 9 { from (b, a); swap (b, a); }", 2, nil, "kernels of one iteration"},
		{"a local grid", "stencil from (out, in) { double f[N]; f[i] = in[i]; out[i] = f[3]; }",
			"iterate 9 { from (b, a); swap (b, a); }", 2,
			[]string{"f[i] = in[i];"}, "kernels of one iteration"},
		{"other axes", "stencil t (u) { u[j][i] = 1; }", "iterate 9 { s (b, a); t (two); swap (b, a); }", 2,
			[]string{"out[i] = in[i+1] + in[i-1];"}, ""},
		{"a reduction", "stencil sum (u, once) { reduce sum once = u[i]; }",
			"iterate 9 { s (b, a); swap (b, a); sum (a, once); }", 2, nil, "iterate 8 {"},
		{"a condition", "stencil sum (u, tol) { reduce sum tol = u[i]; }",
			"iterate until (tol < 1) check 5 max 9 { s (b, a); swap (b, a); sum (a, tol); }", 2, nil, "iterate 8 {"},
		{"too deep", "", "iterate 9 { s (b, a); s (a, b); }", 3000, nil, "at most 2048 iterations of body"},
	} {
		src, p := load(t, c.stencils, c.loop)
		_, err := graph.NewSpan(p, graph.Loops(p)[0], c.depth)
		r, ok := errors.AsType[*graph.Refusal](err)
		if !ok {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var notes []string
		for _, n := range r.Notes {
			notes = append(notes, src.Text[n.Range.Start:n.Range.End])
		}
		if !slices.Equal(notes, c.notes) || !strings.Contains(r.Hint, c.hint) {
			t.Errorf("%s: notes at %q, hint %q", c.name, notes, r.Hint)
		}
	}
}

// Sequences of one statement have numbers after those of several, so that what plans call these stays.
func TestLoopNames(t *testing.T) {
	p, list := lang.Load(diag.NewSource("t.loom", `
parameter N = 8; iterator i;
double u[N], v[N], w[N];
copyin u; copyout w;
stencil copy (o, a) { o[i] = a[i]; }
copy (v, u);
iterate 2 { copy (w, v); copy (v, w); }
copy (u, v); copy (w, u);
iterate 3 { copy (v, w); }
copy (w, v);
`))
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	var names []string
	for _, l := range graph.Loops(p) {
		names = append(names, fmt.Sprintf("%s %d", l.Name, l.Assignments()))
	}
	want := "[sequence.2 1 body 2 sequence 2 body.2 1 sequence.3 1]"
	if got := fmt.Sprint(names); got != want {
		t.Errorf("%s, and not %s", got, want)
	}
}
