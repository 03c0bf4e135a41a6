package transform_test

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/transform"
)

// What is shared, under which arithmetic, and what is not.
func TestShare(t *testing.T) {
	const head = `parameter M = 12, N = 40;
iterator j, i;
double a[M,N], u[M,N], v[M,N], w[M,N], x[N], h = 0.5;
boundary w : clamp;
copyin u, v, w, x, h;
stencil s () {
`
	for _, c := range []struct {
		name, body string
		mode       arith.Mode
		want       string // what is shared, or why nothing is
	}{
		{"storage folding", "a[j][i] = u[j][i-1]*v[j][i-1] + h*(u[j][i]*v[j][i]) + u[j][i+1]*v[j][i+1];", arith.Strict,
			"u_v = u[j][i] * v[j][i] at 3 cells"},
		{"a product that a sum takes in has no value",
			"a[j][i] = u[j][i-1]*v[j][i-1] + h*(u[j][i]*v[j][i]) + u[j][i+1]*v[j][i+1];", arith.Contract,
			"has nothing to share: no value that it computes at several cells saves more operations and loads than it " +
				"costs"},
		{"rows of one plane", "a[j][i] = h*(u[j-1][i-1] + u[j-1][i] + u[j-1][i+1]) + (u[j][i-1] + u[j][i] + " +
			"u[j][i+1])*(u[j+1][i-1] + u[j+1][i] + u[j+1][i+1]);", arith.Contract,
			"u_shared = u[j][i-1] + u[j][i] + u[j][i+1] at 3 cells"},
		{"another order of operands is another value", "a[j][i] = h*(u[j][i-1] + u[j][i] + u[j][i+1]) + " +
			"(u[j+1][i] + u[j+1][i-1] + u[j+1][i+1]);", arith.Strict, "has nothing"},
		{"under fast it is the same", "a[j][i] = h*(u[j][i-1] + u[j][i] + u[j][i+1]) + " +
			"sqrt(u[j+1][i] + u[j+1][i-1] + u[j+1][i+1]);", arith.Fast, "has nothing"},
		{"the largest first, then what they have in common",
			"double b = sqrt(abs(u[j-1][i])) + 1, c = sqrt(abs(u[j][i])) + 1, d = sqrt(abs(u[j+1][i])); " +
				"a[j][i] = b*c + d;", arith.Strict, "u_shared = sqrt(abs(u[j][i])) at 3 cells"},
		{"through local scalars that are the same at all cells",
			"double two = 2*h; a[j][i] = exp(two*u[j][i-1]*v[j][i-1]) - exp(two*u[j][i+1]*v[j][i+1]);", arith.Contract,
			"u_v = exp(two * u[j][i] * v[j][i]) at 2 cells"},
		{"not through others",
			"double two = 2*v[j][i]; a[j][i] = exp(two*u[j][i-1]) - exp(two*u[j][i+1]);", arith.Strict, "has nothing"},
		{"nor positions", "a[j][i] = exp(i*u[j][i-1]) - exp(i*u[j][i+1]);", arith.Strict, "has nothing"},
		{"what lies along one axis", "a[j][i] = u[j][i] + exp(x[i-1]) + exp(x[i+1]);", arith.Strict, "has nothing"},
		{"contents that change", "a[j][i] = exp(v[j][i-1]); v[j][i] = 0; a[j][i] += exp(v[j][i+1]);", arith.Strict,
			"has nothing"},
		{"beyond a grid", "a[j][i] = exp(w[j-1][i]) + exp(w[j+1][i]);", arith.Contract,
			"w_shared = exp(w[j][i]) at 2 cells"},
		{"one value of a colour", "color (i) % 2 == 0 : a[j][i] = exp(u[j-1][i]) + exp(u[j+1][i]);", arith.Strict,
			"has nothing"},
		{"planes of a symmetric stencil", "a[j][i] = u[j][i] + h*(u[j-1][i-1] + u[j-1][i] + u[j-1][i+1] + " +
			"u[j+1][i-1] + u[j+1][i] + u[j+1][i+1] + u[j+2][i-1] + u[j+2][i] + u[j+2][i+1]);", arith.Fast,
			"u_shared = u[j][i+1] + (u[j][i-1] + u[j][i]) at 3 cells"},
	} {
		p := load(t, head+c.body+"\n}\ns ();\n").In(c.mode)
		got := share(t, p, p.Calls[0])
		if got != c.want && !(c.want == "has nothing" && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// Of several values those that save most are left.
func TestFewShared(t *testing.T) {
	p := load(t, `parameter M = 12, N = 40;
iterator j, i;
double a[M,N], u[M,N], v[M,N];
copyin u, v;
stencil s () { a[j][i] = sum (q in -1..1) exp(u[j+q][i]) + sum (q in -2..2) (v[j][i+q]^2 + 1); }
s ();
`)
	for most, want := range []string{
		"u_shared = exp(u[j][i]) at 3 cells; v_shared = v[j][i]^2 + 1 at 5 cells", "u_shared = exp(u[j][i]) at 3 cells",
	} {
		s, err := transform.Share(p, p.Calls[0], transform.ShareOptions{May: anyStatement, Most: most})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.Lines(p), "; "); got != want {
			t.Errorf("at most %d: %s", most, got)
		}
	}
}

func anyStatement(*ir.Stmt) bool { return true }

// share returns what a call shares, or why not.
func share(t testing.TB, p *ir.Program, call *ir.Call) string {
	t.Helper()
	s, err := transform.Share(p, call, transform.ShareOptions{May: anyStatement})
	if err != nil {
		return strings.TrimPrefix(err.Error(), call.Name+" ")
	}
	if err := ir.Verify(shared(p, call, s)); err != nil {
		t.Error(err)
	}
	return strings.Join(s.Lines(p), "; ")
}

// shared returns a program in which a call shares values.
func shared(p *ir.Program, call *ir.Call, s *transform.Sharing) *ir.Program {
	q, _ := transform.Program(p, func(c *ir.Call) (*ir.Call, error) {
		if c == call {
			return s.Call, nil
		}
		return c, nil
	})
	return q
}
