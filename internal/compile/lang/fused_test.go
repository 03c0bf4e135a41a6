package lang

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Only what is written as a product in a sum is fused with it, whatever a name, a
// call or a table stands for.
func TestWhatIsFused(t *testing.T) {
	for _, c := range []struct {
		value string
		want  int // fused multiply-adds
	}{
		{"in[i] + a*in[i]", 1},
		{"in[i] - (a*in[i])", 1},
		{"-(a*in[i]) + in[i]", 1},
		{"a*in[i] + b*in[i] + in[i]*in[i]", 2},
		{"in[i] + x", 0},          // an argument: a*b at the call
		{"in[i] + (x)", 0},        //
		{"in[i] + x*in[i]", 1},    // a product of one
		{"in[i] + t", 0},          // a local
		{"in[i] + w[i]", 0},       // a local grid
		{"in[i] + c[1]", 0},       // an entry of a table
		{"in[i] + c[1]*in[i]", 1}, //
		{"in[i] + double(a*in[i])", 0},
		{"in[i] + (true ? a*in[i] : 0)", 0},
		{"in[i] + (in[i] > 0 ? a*in[i] : 0)", 0},
		{"in[i] + in[i]^2", 0},
		{"in[i] + a/b", 0},
		{"in[i] + max(a*in[i], b)", 0},
		{"in[i] + 2.0*3.0", 0}, // a number
		{"sum (r in 1..3) a*in[i+r]", 2},
		{"in[i] + sum (r in 1..1) a*in[i+r]", 0},
		{"sum (r in 1..2) x", 0},
		{"n + n*n", 0},
	} {
		text := "parameter N = 16;\niterator i;\nint n = 3;\ndouble u[N], v[N], a = 0.3, b = 0.7;\n" +
			"stencil s (out, in, x) {\n  double c[2] = {1, a*b};\n  double w[N];\n  double t = a*in[i];\n  w[i] = a*in[i];\n" +
			"  [1:N-4] : out[i] = " + c.value + " + 0*(t + w[i] + x + c[0]);\n}\ns (v, u, a*b);\ncopyin u; copyout v;"
		src := diag.NewSource("fused.loom", text)
		p, list := Load(src)
		if list.HasErrors() {
			t.Errorf("%s", diag.Render(src, list, diag.Style{}))
			continue
		}
		p = p.In(arith.Contract)
		if err := ir.Verify(p); err != nil {
			t.Error(err)
		}
		// The sum around the value fuses the product with 0.
		if got := strings.Count(ir.Text(p), "(fma") - 1; got != c.want {
			t.Errorf("%s: %d are fused, want %d\n%s", c.value, got, c.want, ir.Text(p))
		}
	}
}

// What is assigned with an operator is the sum that it abbreviates.
func TestAssignedSumsAreFused(t *testing.T) {
	for _, c := range []struct{ stmt, want string }{
		{"out[i] += 3*in[i]", "(fma (f64 3) (load in i) (load out i))"},
		{"out[i] -= 3*in[i]", "(fma (f64 -3) (load in i) (load out i))"},
		{"out[i] += in[i]", "(add (load out i) (load in i))"},
	} {
		p, list := Load(diag.NewSource("fused.loom",
			"parameter N = 16;\niterator i;\ndouble u[N], v[N];\nstencil s (out, in) { "+c.stmt+"; }\n"+
				"s (v, u);\ncopyin u, v; copyout v;"))
		if list.HasErrors() {
			t.Fatal(list[0].Message)
		}
		p = p.In(arith.Contract)
		if got := p.ExprText(p.Calls[0].Body[0].Value); got != c.want {
			t.Errorf("%s: %s, want %s", c.stmt, got, c.want)
		}
	}
}
