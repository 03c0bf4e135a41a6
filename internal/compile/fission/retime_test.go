package fission_test

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/fission"
	"github.com/gridloom/gridloom/internal/compile/gen"
)

const retimeHead = `
parameter M = 19, N = 23;
iterator j, i;
double u[M,N], v[M,N], out[M,N], other[M,N];
double c = 0.3;
copyin u, v, out, other;
copyout out, other, v;
`

// Parts of statements are in local grids, and read one row of the arrays each. The bits are the same.
func TestRetime(t *testing.T) {
	for _, c := range []struct {
		name, text, told string
		want             []string
	}{
		{"rows of a box", `
stencil box (o, u) {
  o[j][i] = (u[j-1][i-1] + c*u[j-1][i+1]) + (0.5*u[j][i-1] + u[j][i]) + (u[j+1][i] - u[j+1][i+1]);
}
box (out, u);
`, "box has 3 values that wait for later planes: a plane is read at 3 cells, and not at 6", []string{
			"double o_part1[M-2,1:N-2];",
			"o_part1[j,i] = u[j,i-1] + c*u[j,i+1];",
			"o_part2[j,i] = o_part1[j-1,i] + (0.5*u[j,i-1] + u[j,i]);",
			"o_part3[j,i] = o_part2[j-1,i] + (u[j,i] - u[j,i+1]);",
			"o[j][i] = o_part3[j+1,i];",
		}},
		{"scalars that move, and one that does not", `
stencil two (o, p, u, v) {
  double w = 2*c, left = u[j-1][i] + u[j][i-1], product = u[j-1][i]*v[j][i];
  o[j][i] = w*left + u[j+1][i];
  p[j][i] = left*product - w*v[j+1][i];
}
two (out, other, u, v);
`, "two has 5 values", []string{"double w = 2*c;", "o[j][i] = o_part2[j+1,i];", "p[j][i] = o_part5[j+1,i];"}},
		{"a scalar that stays since a text reads it that does not change", `
stencil some (o, p, u, v) {
  double left = u[j-1][i] + u[j-1][i+1], unused = 2*left;
  o[j][i] = left + (u[j][i] + u[j][i+1]);
  p[j][i] = 0.5*v[j][i];
}
some (out, other, u, v);
`, "some has 1 value that waits", []string{"double left = u[j-1][i] + u[j-1][i+1], unused = 2*left;",
			"o[j][i] = o_part1[j-1,i] + (u[j,i] + u[j,i+1]);", "p[j][i] = 0.5*v[j][i];"}},
		{"what is assigned in the call is not read early", `
stencil after (o, p, u) {
  o[j][i] = u[j-1][i] + u[j-1][i+1] + u[j+1][i];
  p[j][i] = o[j-1][i] + o[j-1][i+1] + o[j+1][i];
}
[1:M-2, 0:N-2] : after (out, other, u);
`, "after has 2 values", []string{"o[j][i] = o_part2[j+1,i];", "p[j][i] = o[j-1][i] + o[j-1][i+1] + o[j+1][i];"}},
		{"a scalar that comes later, and one that changes", `
stencil late (o, p, u, v) {
  double w = c;
  o[j][i] = w*(u[j-1][i] + u[j-1][i+1]) + u[j+1][i];
  w = 2*c;
  double x = w + 1;
  p[j][i] = x*(w*(u[j-1][i] + v[j-1][i+1]) + v[j-1][i]) + u[j+1][i] + u[j+1][i+1];
}
late (out, other, u, v);
`, "late has ", []string{"p[j][i] = o_part"}},
		{"what only others read does not wait", `
stencil unrelated (o, p, u, v) {
  double y = v[j+2][i]*j;
  o[j][i] = u[j][i-1] + u[j][i+1];
  p[j][i] = y;
}
unrelated (out, other, u, v);
`, "", nil},
		{"a chain of scalars that is long when it is written out", "stencil chain (o, u) {\n" +
			"  double x = u[j-1][i] + u[j-1][i+1];\n" + strings.Repeat("  x = 0.5*(x + 1.0/x);\n", 40) +
			"  o[j][i] = x + u[j+1][i] + u[j+1][i+1];\n}\nchain (out, u);\n", "", nil},
		{"boundaries, and the grid itself", `
boundary u : mirror on j, periodic on i;
stencil mirrored (o, u) { o[j][i] += u[j-2][i] + u[j-2][i+1] + c*u[j+1][i-1]; }
mirrored (out, u);
`, "", nil},
		{"positions differ in each plane", `
stencil moving (o, u) { o[j][i] = (u[j-1][i] + u[j-1][i+1])*j + u[j+1][i]; }
moving (out, u);
`, "", nil},
		{"one row", `
stencil along (o, u) { o[j][i] = u[j][i-1] + u[j][i+1]; }
along (out, u);
`, "", nil},
	} {
		text := retimeHead + c.text
		for n, mode := range modes {
			v, err := fission.Make(fission.RetimeVersion, diag.NewSource("t.loom", text), mode)
			if err != nil {
				t.Fatalf("%s, %v: %v", c.name, mode, err)
			}
			if c.want == nil {
				if v != nil {
					t.Errorf("%s, %v: %q\n%s", c.name, mode, v.Made, v.Source.Text)
				}
				continue
			}
			if v == nil {
				t.Errorf("%s, %v: there is no version", c.name, mode)
				continue
			}
			if mode != arith.Fast && !strings.HasPrefix(v.Made[0], c.told) {
				t.Errorf("%s, %v: %q", c.name, mode, v.Made)
			}
			for _, line := range c.want {
				if mode == arith.Strict && !strings.Contains(v.Source.Text, line) { // contract turns sums around
					t.Errorf("%s, %v: there is no %s in\n%s", c.name, mode, line, v.Source.Text)
				}
			}
			set := map[string]string{"M": "19", "N": "23"}
			if err := same(t, text, v.Source.Text, set, mode, uint64(n)); err != nil {
				t.Errorf("%s, %v: %v\n%s", c.name, mode, err, v.Source.Text)
			}
		}
	}
}

// Random programs keep their bits, whatever is in parts.
func TestRetimeRandom(t *testing.T) {
	equalTheWhole(t, 240, 12, modes[:2], func(seed uint64) (*gen.Case, string, error) {
		c, err := gen.MakeDAG(seed)
		return c, fission.RetimeVersion, err
	})
}
