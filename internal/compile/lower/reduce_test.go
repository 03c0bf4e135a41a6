package lower_test

import (
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Reductions hold under any plan of the GPU's families, in any arithmetic.
func TestReductionsUnderPlans(t *testing.T) {
	t.Parallel()
	text := `
parameter L = 5, M = 9, N = 37;
iterator k, j, i;
double u[L,M,N], v[L,M,N], total, most;
float w[L,M,N], least;
int n[L,M,N], count;
boundary u, v : clamp;
copyin u, w, n;
stencil measure (v, u, total, most) {
  v[k][j][i] = u[k][j][i+1] - u[k-1][j][i] + u[k+1][j-1][i];
  reduce sum total = v[k][j][i]*u[k][j][i];
  [1:L-2, 1:M-2, 1:N-2] : reduce max most = v[k][j][i];
  reduce min least = w[k][j][i];
  color (k+j+i) % 2 == 1 : reduce sum count = n[k][j][i];
}
iterate 2 { measure (v, u, total, most); swap (u, v); }
copyout u, total, most, least, count;
`
	p := load(t, "measure", text)
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 32 {
		b := bind(t, p, []string{"", "L=3 M=3 N=3", "L=3 M=4 N=70", "L=7 M=3 N=130"}[round%4])
		w := way{target: lower.GPU, strict: round%3 == 0}
		b = b.In(w.mode())
		var err error
		w.plan, err = randomPlan(b, w.target, rng)
		if err == nil {
			err = check(b, w, uint64(round))
		}
		if err != nil {
			t.Errorf("round %d, sizes %v: %v", round, b.Params, err)
		}
	}
}
