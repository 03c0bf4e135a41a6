package fission_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/fission"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// divided splits a text's stencils, and returns how, and the text that comes of it.
func divided(t testing.TB, text string) ([]*fission.Split, string) {
	t.Helper()
	f, _ := load(t, text)
	splits := fission.Trivial(f)
	return splits, fission.Write(f, splits)
}

// recomputing splits a text's stencils where they compute too much again.
func recomputing(t testing.TB, text string) ([]*fission.Split, string) {
	t.Helper()
	f, p := load(t, text)
	splits := fission.Recompute(f, p)
	return splits, fission.Write(f, splits)
}

// load parses and checks a text.
func load(t testing.TB, text string) (*lang.File, *ir.Program) {
	t.Helper()
	src := diag.NewSource("t.loom", text)
	p, list := lang.Load(src)
	if list.HasErrors() {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	f, _ := lang.Parse(src)
	return f, p
}

// equal executes two programs on the reference executor, from the same random values, and returns an error if a grid or
// a scalar of the first is not the same in the second, to the bit. Odd seeds have products fused with sums.
func equal(one, other string, set map[string]string, seed uint64) error {
	var states []*interp.State
	for _, text := range []string{one, other} {
		src := diag.NewSource("t.loom", text)
		p, list := lang.Load(src)
		if list.HasErrors() {
			return fmt.Errorf("%s\n%s", diag.Render(src, list, diag.Style{}), text)
		}
		if seed%2 == 1 {
			p = p.In(arith.Contract)
		}
		b, list := p.Bind(set)
		if list.HasErrors() {
			return fmt.Errorf("%s", diag.Render(src, list, diag.Style{}))
		}
		s, err := interp.New(b, interp.Options{Workers: 1})
		if err != nil {
			return err
		}
		given := map[*ir.Grid]bool{}
		for i, g := range p.Grids {
			if g.CopyIn || g.Constant {
				a := s.Grid(g.Name)
				if len(states) > 0 { // the other may have more grids
					i = slices.Index(states[0].Program().Grids, states[0].Program().Grid(g.Name))
				}
				copy(a.Data, gen.Input(g.Type, a.Len(), seed+uint64(i)))
				given[g] = true
			}
		}
		s.RunInitial(given)
		if err := s.Run(context.Background()); err != nil {
			return err
		}
		states = append(states, s)
	}
	p := states[0].Program()
	for _, g := range p.Grids {
		x, y := states[0].Grid(g.Name), states[1].Grid(g.Name)
		if string(x.Data) != string(y.Data) {
			return fmt.Errorf("%s differs", g.Name)
		}
	}
	for _, v := range p.Scalars {
		x, _ := states[0].Scalar(v)
		w := states[1].Program().Scalar(v.Name)
		y, _ := states[1].Scalar(w)
		if fmt.Sprint(x) != fmt.Sprint(y) {
			return fmt.Errorf("%s is %v, and not %v", v.Name, y, x)
		}
	}
	return nil
}

// small returns sizes of at most 17 cells an axis for a program.
func small(t testing.TB, text string) map[string]string {
	p, _ := lang.Load(diag.NewSource("t.loom", text))
	b, list := p.Bind(nil)
	if list.HasErrors() {
		t.Fatal(list)
	}
	set := map[string]string{}
	for i, q := range p.Params {
		if b.Params[i] > 17 {
			set[q.Name] = fmt.Sprint(17 - i)
		}
	}
	if _, list := p.Bind(set); list.HasErrors() {
		return nil
	}
	return set
}

const head = `parameter M = 7, N = 9;
iterator j, i;
double u[M,N], v[M,N], w[M,N], r = 0.25;
copyin u, v, w;
`

// Each output has a part with what it is computed from; outputs that need each other share one.
func TestTrivial(t *testing.T) {
	for _, c := range []struct{ name, stencil, want string }{
		{"two outputs", "stencil s (a, b, c) { a[j][i] = c[j][i+1]; b[j][i] = 2*c[j][i]; } s (u, v, w);",
			"s: s_a assigns a with 0; s_b assigns b with 1"},
		{"one output", "stencil s (a, c) { a[j][i] = c[j][i+1]; a[j][i] += 1; } s (u, w);", ""},
		{"what both need", "stencil s (a, b, c) { double d = c[j][i+1], e = d*d, f = 3; a[j][i] = d; b[j][i] = e; }" +
			" s (u, v, w);", "s: s_a assigns a with 0 3; s_b assigns b with 0 1 2 4"},
		{"a temporary that changes", "stencil s (a, b, c) { double d = c[j][i]; a[j][i] = d; d += 1; b[j][i] = d; " +
			"d = 0; } s (u, v, w);", "s: s_a assigns a with 0 1; s_b assigns b with 0 2 3 4"},
		{"one reads the other", "stencil s (a, b) { a[j][i] += 1; b[j][i] = a[j][i+1]; } s (u, v);",
			"s: s_a assigns a with 0; s_b assigns b with 1"},
		{"one reads what the other is to replace", "stencil s (a, b) { double d = b[j][i]; b[j][i] = 1; " +
			"a[j][i] = d; } s (u, v);", "s: s_a assigns a with 0 2; s_b assigns b with 1"},
		{"each reads the other", "stencil s (a, b) { a[j][i] = b[j][i]; b[j][i] = a[j][i+1]; a[j][i] += b[j][i]; } " +
			"s (u, v);", ""},
		{"two of three read each other", "stencil s (a, b, c) { a[j][i] = b[j][i]; c[j][i] = a[j][i]; " +
			"b[j][i] = a[j][i+1]; a[j][i] = 0; } s (u, v, w);",
			""},
		{"one grid for two arguments", "stencil s (a, b, c) { a[j][i] = c[j][i]; b[j][i] = 2*c[j][i]; } s (u, u, w);",
			""},
		{"an argument is what another output reads", "stencil s (a, b, c) { a[j][i] = 1; b[j][i] = c[j][i]; } " +
			"s (u, v, u);", "s: s_a assigns a with 0; s_b assigns b with 1"},
		{"a reduction", "stencil s (a) { reduce sum r = a[j][i]; a[j][i] -= r; } s (u);",
			"s: s_r assigns r with 0; s_a assigns a with 1"},
		{"a name that is taken", "double s_a = 3; stencil s (a, b) { a[j][i] = s_a; b[j][i] = 2; } s (u, v);",
			"s: s_a_2 assigns a with 0; s_b assigns b with 1"},
		{"a local grid", "stencil s (a, b, c) { double g[M,N], h[M,N]; boundary g, h : clamp; g[j][i] = c[j][i]; " +
			"h[j][i] = g[j][i+1]; a[j][i] = g[j-1][i]; b[j][i] = h[j][i]; } s (u, v, w);",
			"s: s_a assigns a with 0 2 4 6; s_b assigns b with 0 1 2 3 4 5 7"},
	} {
		splits, text := divided(t, head+c.stencil)
		var got []string
		for _, s := range splits {
			got = append(got, s.String())
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s:\n%s\nand not\n%s", c.name, strings.Join(got, "\n"), c.want)
		}
		if err := equal(head+c.stencil, text, nil, 3); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Parts are as large as what they compute again allows.
func TestRecompute(t *testing.T) {
	const head = "parameter N = 40;\niterator i;\ndouble u[N], v[N], w[N], x[N], r;\ncopyin u;\n"
	for _, c := range []struct{ name, body, want string }{
		{"not far", "v[i] = u[i+2]; w[i] = v[i-2]; x[i] = w[i+2];", ""},
		{"too far", "v[i] = u[i+1]; w[i] = v[i-3]; x[i] = w[i+2];",
			"s: s_v_w assigns v and w with 0 1; s_x assigns x with 2"},
		{"one statement reads as far", "v[i] = u[i+1]; w[i] = v[i-3]; x[i] = w[i+2] + u[i-5];", ""},
		{"by temporaries", "v[i] = u[i+1]; double d = v[i-3], e = 2*d; w[i] = e; x[i] = w[i+2];",
			"s: s_v_w assigns v and w with 0 1 2 3; s_x assigns x with 4"},
		{"by a local grid", "double g[N]; g[i] = u[i+1]; v[i] = g[i+3]; w[i] = v[i-2];",
			"s: s_v assigns v with 0 1 2; s_w assigns w with 3"},
		{"a temporary of another output", "v[i] = u[i]; double d = v[i+3], e = v[i+3]; w[i] = e; x[i] = w[i-2] + d;",
			"s: s_v_w assigns v and w with 0 2 3; s_x assigns x with 1 4"},
		{"with nothing in common", "v[i] = u[i+4]; w[i] = u[i-4]; x[i] = u[i];", ""},
	} {
		source := head + "stencil s () { " + c.body + " }\ns ();\n"
		splits, text := recomputing(t, source)
		var got []string
		for _, s := range splits {
			got = append(got, s.String())
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s:\n%s\nand not\n%s", c.name, strings.Join(got, "\n"), c.want)
		}
		if err := equal(source, text, nil, 3); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Comments, hints and domains stay, or go, with what they belong to.
func TestWrite(t *testing.T) {
	_, text := divided(t, `// Two fluxes.
parameter M = 7, N = 9;
iterator j, i;
double u[M,N], v[M,N], w[M,N], h = 0.5;
copyin w;

// what is done
#pragma stream j block (32)
stencil flux (a, inout:b, c, h) {  // of two
  shmem b;
  #assign gmem (a,c)
  /* the half
     of it */
  double d = h*c[j][i], e = c[j][i+1];  // e is a neighbour
  [1:M-2, 1:N-2] : a[j][i] = d - e;
  // the other
  b[j][i] += e;
}
[0:4, 0:5] : flux (u, v, w, 2*h);  // once
copyout u, v;
`)
	const want = `// Two fluxes.
parameter M = 7, N = 9;
iterator j, i;
double u[M,N], v[M,N], w[M,N], h = 0.5;
copyin w;

// what is done
#pragma stream j block (32)
stencil flux_a (a, c, h) {
  #assign gmem (a,c)
  /* the half
     of it */
  double d = h*c[j][i], e = c[j][i+1];  // e is a neighbour
  [1:M-2, 1:N-2] : a[j][i] = d - e;
}

#pragma stream j block (32)
stencil flux_b (inout:b, c) {
  // of two
  shmem b;
  #assign gmem (c)
  /* the half
     of it */
  double e = c[j][i+1];  // e is a neighbour
  // the other
  b[j][i] += e;
}
[0:4, 0:5] : flux_a (u, w, 2*h);
[0:4, 0:5] : flux_b (v, w);  // once
copyout u, v;
`
	if text != want {
		t.Errorf("%s", text)
	}
}

// The stencil of a joint has what its calls pass in the place of formal arguments, and its own names for what would be
// mistaken for it.
func TestWriteFused(t *testing.T) {
	_, text := fused(t, `parameter N = 9;
iterator i;
double u[N], v[N], w[N], h = 0.5;
copyin w;
stencil half (a, b) {
  double d = b[i+1];  // a neighbour
  [1:N-3] : a[i] = 0.5*d;
}
// scales
stencil scale (a, u, h) {
  // in place
  double d = h, e = 2;
  a[i] *= d*u[i] + e;
}
half (u, w);  // first
scale (v, u, 2*h);
half (v, u);
copyout u, v;
`)
	const want = `parameter N = 9;
iterator i;
double u[N], v[N], w[N], h = 0.5;
copyin w;

// scales
stencil half_scale (h) {
  double d = w[i+1];  // a neighbour
  [1:N-3] : u[i] = 0.5*d;
  // in place
  double d_2 = h, e = 2;
  v[i] *= d_2*u[i] + e;
  double d_3 = u[i+1];  // a neighbour
  [1:N-3] : v[i] = 0.5*d_3;
}
half_scale (2*h);  // first

copyout u, v;
`
	if text != want {
		t.Errorf("%s", text)
	}
}

// All examples compute the same when their calls are joined, and when their stencils are split, and random programs do
// after both.
func TestPartsEqualTheWhole(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.loom")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), "examples", err)
	}
	parts, fusions := 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if joints, text := fused(t, string(data)); len(joints) > 0 {
			fusions++
			if err := equal(string(data), text, small(t, string(data)), 4); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
		splits, text := divided(t, string(data))
		if len(splits) == 0 {
			continue
		}
		parts++
		if err := equal(string(data), text, small(t, string(data)), 5); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if parts < 8 {
		t.Errorf("only %d examples have parts", parts)
	}
	if fusions < 4 {
		t.Errorf("only %d examples have calls to join", fusions)
	}
	programs, joined, recomputed := 0, 0, 0
	for seed := range uint64(120) {
		c, err := gen.Make(seed, gen.Options{Size: 12})
		if err != nil {
			t.Fatal(err)
		}
		whole := c.Source
		if joints, text := fused(t, c.Source); len(joints) > 0 {
			joined++
			whole = text // it is what is split then
		}
		splits, text := divided(t, whole)
		if some, other := recomputing(t, whole); seed%3 == 0 && len(some) > 0 {
			recomputed++
			splits, text = some, other
		}
		if len(splits) == 0 && whole == c.Source {
			continue
		}
		programs++
		for _, set := range c.Sets {
			if err := equal(c.Source, text, set, seed); err != nil {
				t.Fatalf("seed %d at %v: %v\n%s", seed, set, err, c.Source)
			}
		}
	}
	if recomputed < 3 {
		t.Errorf("only %d random programs compute much again", recomputed)
	}
	if joined < 30 {
		t.Errorf("only %d random programs have calls to join", joined)
	}
	if programs < 30 {
		t.Errorf("only %d random programs have parts", programs)
	}
}

// fused joins a text's calls.
func fused(t testing.TB, text string) ([]*fission.Joint, string) {
	t.Helper()
	f, _ := load(t, text)
	joints := fission.MaxFuse(f)
	return joints, fission.WriteFused(f, joints)
}

// Calls that follow each other become one; names keep their meaning.
func TestMaxFuse(t *testing.T) {
	const stencils = `stencil f (a, b) { double d = b[j][i]; a[j][i] = d + b[j][i+1]; }
stencil g (a, b, x) { double d = 2*x, u = 1; a[j][i] = d*b[j][i] + u; }
stencil q (a) { a[j][i] += sum (v in 0..2) v*w[j][i]; }
stencil red (a) { reduce max r = a[j][i]; }
`
	for _, c := range []struct{ name, steps, want string }{
		{"two calls", "f (u, v); g (w, u, 0.5);", "f_g: f, g"},
		{"one call", "f (u, v);", ""},
		{"the same stencil", "f (u, v); f (w, u); f (v, w);", "f_2: f, f, f"},
		{"a loop", "f (u, v); iterate 2 { f (w, u); g (v, w, r); } f (u, v); f (w, v);",
			"f_g: f, g; f_2: f, f"},
		{"names of local variables", "g (u, v, 0.5); g (v, u, 2*r); g (w, w, r);", "g_2: g, g, g"},
		{"a swap between them", "f (u, v); swap (u, v); f (w, u);", ""},
		{"a domain", "f (u, v); [1:3, 2:4] : f (w, u); f (u, w); f (v, u);", "f_2: f, f"},
		{"the variable of a sum", "f (u, w); q (v); f (w, v);", ""},
		{"a reduction", "red (u); g (v, u, r); g (w, u, r + 1);", "red_g: red, g"},
	} {
		src := head + stencils + c.steps
		joints, text := fused(t, src)
		var got []string
		for _, j := range joints {
			got = append(got, j.String())
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %s, and not %s", c.name, got, c.want)
		}
		if err := equal(src, text, nil, 7); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
