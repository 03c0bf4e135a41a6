package fission_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	src := diag.NewSource("t.loom", text)
	if _, list := lang.Load(src); list.HasErrors() {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	f, _ := lang.Parse(src)
	splits := fission.Trivial(f)
	return splits, fission.Write(f, splits)
}

// equal executes two programs on the reference executor, from the same random values, and returns an error if a grid or
// a scalar of the first is not the same in the second, to the bit.
func equal(one, other string, set map[string]string, seed uint64) error {
	var states []*interp.State
	for _, text := range []string{one, other} {
		src := diag.NewSource("t.loom", text)
		p, list := lang.Load(src)
		if list.HasErrors() {
			return fmt.Errorf("%s\n%s", diag.Render(src, list, diag.Style{}), text)
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

// small returns sizes of at most 24 cells an axis for a program.
func small(t testing.TB, text string) map[string]string {
	p, _ := lang.Load(diag.NewSource("t.loom", text))
	b, list := p.Bind(nil)
	if list.HasErrors() {
		t.Fatal(list)
	}
	set := map[string]string{}
	for i, q := range p.Params {
		if b.Params[i] > 24 {
			set[q.Name] = fmt.Sprint(24 - i)
		}
	}
	if _, list := p.Bind(set); list.HasErrors() {
		return nil
	}
	return set
}

const head = `parameter M = 7, N = 9;
iterator j, i;
double u[M,N], v[M,N], w[M,N], r;
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

// All examples compute the same when their stencils are split, and so do random programs.
func TestPartsEqualTheWhole(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.loom")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), "examples", err)
	}
	parts := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
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
	programs := 0
	for seed := range uint64(120) {
		c, err := gen.Make(seed, gen.Options{Size: 12})
		if err != nil {
			t.Fatal(err)
		}
		splits, text := divided(t, c.Source)
		if len(splits) == 0 {
			continue
		}
		programs++
		for _, set := range c.Sets {
			if err := equal(c.Source, text, set, seed); err != nil {
				t.Fatalf("seed %d at %v: %v\n%s", seed, set, err, c.Source)
			}
		}
	}
	if programs < 30 {
		t.Errorf("only %d random programs have parts", programs)
	}
}
