package analysis

import (
	"fmt"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// Two grids that are read as factors of one product alone are found, in all modes of arithmetic; any other read of one
// of them, another point, or a store, is in the way.
func TestProducts(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"out[j][i] = mu[j][i]*la[j][i]*in[j][i]", "[{mu lam 0.25}]"},
		{"out[j][i] = 2*mu[j][i]*in[j][i+1]*la[j][i] + in[j][i]", "[{mu lam 0.25}]"},
		{"out[j][i] = in[j][i] + mu[j][i]*la[j][i] - mu[j][i-1]*la[j][i-1]*in[j][i-1]", "[{mu lam 0.25}]"},
		{"out[j][i] = mu[j][i]*(la[j][i]*in[j][i])", "[{mu lam 0.25}]"},
		{"out[j][i] = mu[j][i]*la[j][i-1] + in[j][i]", "[]"},
		{"out[j][i] = mu[j][i]*la[j][i]*in[j][i] + mu[j][i]", "[]"},
		{"out[j][i] = (mu[j][i] + la[j][i])*in[j][i]", "[]"},
		{"out[j][i] = mu[j][i]/la[j][i]*in[j][i]", "[]"},
		{"out[j][i] = in[j][i] + la[j][i]*mu[j][i]*la[j][i]", "[]"},
		{"la[j][i] = 2*in[j][i]; out[j][i] = mu[j][i]*la[j][i]", "[]"},
	} {
		p, list := lang.Load(diag.NewSource("x.loom", `
parameter N = 32;
iterator j, i;
double u[N,N], v[N,N], mu[N,N], lam[N,N];
copyin u, mu, lam; copyout v, lam;
stencil s (out, in, mu, la) { `+c.body+`; }
s (v, u, mu, lam);
`))
		if list.HasErrors() {
			t.Fatalf("%s: %s", c.body, list[0].Message)
		}
		for _, mode := range []arith.Mode{arith.Strict, arith.Contract, arith.Fast} {
			q := p.In(mode)
			products := Analyze(q, nil).Call(q.Calls[0]).Products()
			got := "["
			for _, x := range products {
				got += fmt.Sprintf("{%s %s %.2g}", x.A, x.B, x.Part)
			}
			if got += "]"; got != c.want {
				t.Errorf("%s, %v: %s, not %s", c.body, mode, got, c.want)
			}
		}
	}
}
