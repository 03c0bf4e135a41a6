package lower_test

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Programs at which kernels of the family planes have gone wrong, or might: cells that are read alone and in runs,
// tiles as long as some rows and not as others, copies of unlike tiles, and planes that another block updates.
func TestPlanesAtTheirEdges(t *testing.T) {
	const twoTiles = `
parameter L, M, N;
iterator k, j, i;
float g[L,M,N], v[L,M,0:N+15];
copyin g, v; copyout v;
stencil s (v, g) { v[k][j][i] = 0.5*g[k][j][i-2] + g[k][j+1][i-2]; }
s (v, g);
`
	const secondLine = `
parameter L, M, N;
iterator k, j, i;
double u[L,M,N];
float v[L,M,N];
copyin u, v; copyout v;
stencil s (v, u) { v[k][j][i] = float(0.5*u[k][j][i-1] + u[k][j+1][i]); }
[1:L-2,1:M-2,8:N-9] : s (v, u);
`
	for _, c := range []struct{ name, text, plan, sizes string }{
		{"cells that are read alone and in a run", `
parameter L, M, N;
iterator k, j, i;
float u[L,M,N], v[L,M,N], x[L,M,N];
copyin u; copyout v, x;
stencil s (v, x, u) { v[k][j][i] = 0.5*u[k][j+1][i+1]; x[k][j][i] = 0.25*u[k][j+1][i+2]; }
s (v, x, u);
`, "sequence[0:1]@1{family=planes,block=4x16,vec=2,stages=0}", "L=5 M=6 N=32"},
		{"whole rows begin at a second line", secondLine,
			"sequence[0:1]@1{family=planes,block=1x256,stages=1,sizes=literals}", "L=5 M=6 N=200"},
		{"whole rows of one grid", `
parameter L, M, N;
iterator k, j, i;
float g[L,M,1:N], h[L,M,1:N], v[L,M,1:N], z[L,M,1:N];
copyin g, h, v; copyout v, z;
stencil s (v, g, h) {
  v[k][j][i] = 0.5*g[k][j][i-1] + h[k][j][i+1] + g[k][j+1][i] + h[k][j-1][i] + g[k][j][i+1] + h[k][j][i-1]
    + g[k][j-1][i] + h[k][j+1][i];
}
stencil r (z, h) { z[k][j][i] = 0.5*h[k][j][i]; }
s (v, g, h);
r (z, h);
`, "sequence[0:1]@1{family=planes,block=1x256,stages=1,sizes=literals};r[0:1]@1{family=tile,vec=4};" +
			"s[0:1]@1{family=cells}", "L=5 M=6 N=37"},
		{"whole rows and two tiles", twoTiles,
			"sequence[0:1]@1{family=planes,block=4x64,stages=1,sizes=literals}", "L=5 M=6 N=64"},
		{"plane of another block", `
parameter L, M, N;
iterator k, j, i;
float u[L,M,N], v[4:L,M,N], g[L,M,N];
copyin u, v, g; copyout u, v;
stencil s (u, v, g) { u[k][j][i] = 0.5*g[k][j][i+1]; v[k][j][i] = 0.5*v[k][j][i] + g[k][j][i]; }
s (u, v, g);
`, "sequence[0:1]@1{family=planes,block=4x16,chunk=4,prefetch=1}", "L=12 M=6 N=33"},
		{"plane of another block, harmless", `
parameter L, M, N;
iterator k, j, i;
float u[L,M,N], v[4:L,M,N], g[L,M,N];
copyin u, v, g; copyout u, v;
stencil s (u, v, g) { u[k][j][i] = 0.5*g[k-2][j][i+1]; v[k][j][i] = 0.5*v[k][j][i] + g[k][j][i]; }
s (u, v, g);
`, "sequence[0:1]@1{family=planes,block=4x16,chunk=4,prefetch=0}", "L=12 M=6 N=33"},
		{"old and new of one array", `
parameter L, M, N;
iterator k, j, i;
float u[L,M,N], v[L,M,N], g[L,M,N];
copyin u, v, g; copyout v;
stencil s (u, v, g) {
  [0:L-1,0:M-1,0:N-1] : g[k][j][i] = 0.5*u[k][j][i];
  float t = g[k][j+1][i-1] + g[k][j+1][i] + g[k][j+1][i+1];
  [0:L-1,0:M-1,0:N-1] : g[k][j][i] = 0.25*u[k][j][i] + 0.125*g[k][j][i];
  [1:L-2,1:M-2,2:N-3] : v[k][j][i] = t + 0.3*g[k][j+1][i] + 0.2*g[k][j+1][i+1]+0.2*g[k][j+1][i-1];
}
s (u, v, g);
`, "sequence[0:1]@1{family=planes,block=4x16,vec=2,stages=0}", "L=12 M=6 N=64"},
		{"old and new of one grid in memory", `
parameter L, M, N;
iterator k, j, i;
float u[L,M,N], v[L,M,N], g[L,M,N];
copyin u, v, g; copyout v;
stencil s (u, v, g) {
  float t = g[k][j+1][i-1] + g[k][j+1][i] + g[k][j+1][i+1];
  [0:L-1,0:M-1,0:N-1] : g[k][j][i] = 0.25*u[k][j][i];
  [1:L-2,1:M-2,2:N-3] : v[k][j][i] = t + 0.3*g[k][j+1][i] + 0.2*g[k][j+1][i+1]+0.2*g[k][j+1][i-1];
}
s (u, v, g);
`, "sequence[0:1]@1{family=planes,block=4x16,vec=2,stages=1}", "L=12 M=6 N=64"},
		{"whole rows and two tiles, tensor", twoTiles,
			"sequence[0:1]@1{family=planes,block=4x64,stages=1,copy=tensor,sizes=literals}", "L=5 M=6 N=64"},
		{"whole rows begin at a second line, tensor", secondLine,
			"sequence[0:1]@1{family=planes,block=2x128,stages=1,copy=tensor,sizes=literals}", "L=5 M=6 N=128"},
		{"tiles of 8 bytes a row, tensor", `
parameter L, M, N;
iterator k, j, i;
byte g[L,M,N];
float v[L,M,N];
copyin g; copyout v;
stencil s (v, g) { v[k][j][i] = 0.5*g[k-1][j][i] + 0.25*g[k][j][i+1] - 0.125*g[k+1][j-1][i]; }
s (v, g);
`, "sequence[0:1]@1{family=planes,block=16x8,chunk=7,stages=2,copy=tensor,sizes=literals}", "L=9 M=19 N=48"},
		{"whole rows, 2D", `
parameter M, N;
iterator j, i;
float g[M,N], v[M,0:N+15];
copyin g, v; copyout v;
stencil s (v, g) { v[j][i] = 0.5*g[j][i-2] + g[j-1][i-2]; }
s (v, g);
`, "sequence[0:1]@1{family=planes,block=64,stages=2,sizes=arguments}", "M=9 N=64"},
		{"division", `
parameter L, M, N;
iterator k, j, i;
int a[L,M,N], b[L,M,N];
float v[L,M,N], x[L,M,N];
copyin a, b; copyout v, x;
stencil s (v, a, b, x) {
  x[k][j][i] = float(a[k][j][i]/((b[k][j][i]&3) + (k >= 2 ? 1 : 0) + (k <= 1 ? 1 : 0)));
  v[k][j][i] = float(a[k-2][j][i]/((b[k-2][j][i]&3) + 1));
}
s (v, a, b, x);
`, "sequence[0:1]@1{family=planes,block=4x16,stages=0}", "L=7 M=6 N=32"},
		{"divisions by zero", `
parameter L, M, N;
iterator k, j, i;
int a[L,M,N], b[L,M,N];
float v[L,M,N], x[L,M,N];
copyin a, b; copyout v, x;
initial { b[k][j][i] = k == 0 ? 0 : 1; }
stencil s (v, a, b, x) {
  [1:L-1,0:M-1,0:N-1] : x[k][j][i] = float(a[k][j][i]/b[k][j][i]);
  v[k][j][i] = 0.5*x[k-2][j][i] + a[k+1][j][i];
}
s (v, a, b, x);
`, "sequence[0:1]@1{family=planes,block=4x16,stages=0}", "L=7 M=6 N=32"},
	} {
		b := bind(t, load(t, "edges", c.text), c.sizes).In(arith.Contract)
		if err := checkSpan(t, lower.GPU, b, c.plan, 1); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
