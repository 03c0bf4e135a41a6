package fission_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/fission"
	"github.com/gridloom/gridloom/internal/compile/gen"
)

// cut cuts a text's statements.
func cut(t testing.TB, text string, l fission.Limit) ([]*fission.Cut, string) {
	t.Helper()
	f, p := load(t, text)
	cuts := fission.Statements(f, p, l)
	return cuts, fission.WriteCuts(f, cuts)
}

const long = `parameter M = 9, N = 11;
iterator j, i;
double u[M,N], v[M,N], w[M,N], h = 0.5;
float f[M,N], g[M,N];
copyin u, v, f;
copyout v, w, g;
`

// Parts compute the values of large locals, and the first terms of sums. The last one has the name of the stencil.
func TestWriteCuts(t *testing.T) {
	cuts, text := cut(t, long+`
// the sum
stencil far (out, inout:v, u, h) {
  shmem u;
  double small = 2*h;
  double x = small*u[j][i-2] + u[j][i+1]*v[j][i] + u[j-1][i] + u[j+1][i];  // half of it
  out[j][i] = u[j][i] + x + h*v[j][i-1]*v[j][i+1] - u[j][i-1] - u[j][i+1] - v[j-1][i] - v[j+1][i]*small;
  v[j][i] = x;
}
far (w, v, u, h);
`, fission.Limit{Parts: 2})
	if len(cuts) != 1 || cuts[0].String() != "far: 2 parts, in grids x, 2 of 7 terms of out" {
		t.Errorf("%v", cuts)
	}
	const want = `
double far_x[M,N], far_out[M,N];
float f[M,N], g[M,N];
`
	for _, part := range []string{want, `
// the sum
stencil far_part1 (v, u, h) {
  shmem u;
  double small = 2*h;
  far_x[j][i] = small*u[j][i-2] + u[j][i+1]*v[j][i] + u[j-1][i] + u[j+1][i];
  double x = far_x[j][i];
  far_out[j][i] = u[j][i] + x;
}

stencil far (out, inout:v, u, h) {
  shmem u;
  double small = 2*h;
  double x = far_x[j][i];  // half of it
  out[j][i] = far_out[j][i] + h*v[j][i-1]*v[j][i+1] - u[j][i-1] - u[j][i+1] - v[j-1][i] - v[j+1][i]*small;
  v[j][i] = x;
}
[1:M-2, 2:N-2] : far_part1 (v, u, h);
[1:M-2, 2:N-2] : far (w, v, u, h);
`} {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %s\n%s", part, text)
		}
	}
}

// star is a sum of eight terms.
const star = "u[j][i-1] + u[j][i+1] + u[j-1][i] + u[j+1][i] - u[j][i-2] - u[j][i+2] + u[j-2][i] + u[j+2][i]"

// What is cut, and what stays whole.
func TestStatements(t *testing.T) {
	for _, c := range []struct {
		name, program string
		limit         fission.Limit
		want          string
	}{
		{"a sum", "stencil s (a, u) { a[j][i] = " + star + "; } s (w, u);", fission.Limit{Parts: 2},
			"s: 2 parts, in grids 4 of 8 terms of a"},
		{"four parts", "stencil s (a, u) { a[j][i] = " + star + " + u[j-1][i-1] + u[j+1][i+1] + u[j-1][i+1]" +
			" + u[j+1][i-1] + u[j-2][i-2] + u[j+2][i+2] + u[j-2][i+2] + u[j+2][i-2]; } s (w, u);",
			fission.Limit{Parts: 4}, "s: 4 parts, in grids 12 of 16 terms of a"},
		{"registers", "stencil s (a, u) { a[j][i] = " + star + "; } s (w, u);", fission.Limit{Registers: 8},
			"s: 2 parts, in grids 4 of 8 terms of a"},
		{"enough registers", "stencil s (a, u) { a[j][i] = " + star + "; } s (w, u);",
			fission.Limit{Registers: 16}, ""},
		{"no name for a product that a sum takes in", "stencil s (a, u) { a[j][i] = 0.3*u[j][i-1] + (" + star +
			"); } s (w, u);", fission.Limit{Parts: 2}, ""},
		{"it reads what was assigned", "stencil s (a, b, u) { b[j][i] = u[j][i-1]; a[j][i] = " +
			strings.ReplaceAll(star, "u[", "b[") + "; } s (w, v, u);", fission.Limit{Parts: 2}, ""},
		{"a local that is assigned again", "stencil s (a, u) { double x = " + star + "; x += " + star +
			"; a[j][i] = x; } s (w, u);", fission.Limit{Parts: 2}, ""},
		{"two domains", "stencil s (a, b, u) { a[j][i] = " + star + "; b[j][i] = u[j][i]; } s (w, v, u);",
			fission.Limit{Parts: 2}, ""},
		{"a reduction", "double r; stencil s (a, u, r) { a[j][i] = " + star + "; reduce max r = u[j][i]; } " +
			"s (w, u, r);",
			fission.Limit{Parts: 2}, ""},
		{"few cells", "stencil s (a, u) { a[j][i] = u[j][i-1] + u[j][i+1]; } s (w, u);", fission.Limit{Parts: 2}, ""},
		{"two calls, one in place, of floats", "stencil s (a, x) { a[j][i] += x[j][i-1] + x[j][i+1] + x[j-1][i] + " +
			"x[j+1][i] - x[j][i-2]*x[j][i+2] - x[j-2][i]*x[j+2][i]; } s (g, f); [2:M-3, 3:N-4] : s (g, f);",
			fission.Limit{Parts: 3}, "s: 2 parts, in grids 4 of 6 terms of a"},
	} {
		cuts, text := cut(t, long+c.program, c.limit)
		got := ""
		for _, x := range cuts {
			got += x.String()
		}
		if got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
		for seed := range uint64(2) {
			if err := equal(long+c.program, text, nil, seed); err != nil {
				t.Errorf("%s: %v\n%s", c.name, err, text)
			}
		}
	}
}

// Examples and random programs compute the same when their statements are cut, in both modes of arithmetic.
func TestCutsEqualTheWhole(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.loom")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), "examples", err)
	}
	examples := 0
	for n, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cuts, text := cut(t, string(data), fission.Limit{Parts: 2 + n%3})
		if len(cuts) == 0 {
			continue
		}
		examples++
		for seed := range uint64(2) {
			if err := equal(string(data), text, small(t, string(data)), seed); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if examples < 6 {
		t.Errorf("only %d examples have statements to cut", examples)
	}
	programs := 0
	for seed := range uint64(60) {
		c, err := gen.MakeDAG(seed)
		if seed%4 == 3 {
			c, err = gen.Make(seed, gen.Options{Size: 8})
		}
		if err != nil {
			t.Fatal(err)
		}
		cuts, text := cut(t, c.Source, fission.Limit{Parts: 2 + int(seed%3)})
		if len(cuts) == 0 {
			continue
		}
		programs++
		if err := equal(c.Source, text, c.Sets[len(c.Sets)-1], seed); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, c.Source, text)
		}
	}
	if programs < 10 {
		t.Errorf("only %d random programs have statements to cut", programs)
	}
}
