package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// What random programs have found in kernels of several iterations stays found.
func TestSpansOfRandomPrograms(t *testing.T) {
	for _, c := range []struct {
		name, source, plan string
		sizes              map[string]string
	}{
		{
			"a constant at a corner has no sign", `iterator k, j, i;
parameter K, I, T;
double v[K,3,I], w[K,3,I], u[K,3,I];
boundary v, w, u : antireflect on k, constant(1) on i;
stencil react (a, inout:x) { x[k][j][i] = 1*(1*w[k+1,j,i+1]*a[k][j][i]); }
iterate T { react (v, u); rotate (v, u); }
copyin v, w, u;
copyout v, u;
`, "body[0:2]@3{family=pipe,block=1x32,cells=4x1,chunk=128,stages=0,barrier=whole,rims=step}",
			map[string]string{"K": "4", "I": "7", "T": "5"},
		},
		{
			"rows of rims end within vectors, and other blocks store the next row", `iterator c, j, i;
parameter M, N, I, T;
int in[M][N+1][1..I+1], u[M][N+1][1..I+1];
byte b[M][I];
double w[M+1,N,0:I-1], x[M+1,N,0:I-1];
stencil blur (inout:out, a) { out[c][j][i] = u[c][j-1][i] + a[c][i]; }
iterate 1 { rotate (w, x); }
iterate T { blur (in, b); swap (u, in); }
copyin in, u, b, w, x;
copyout in, u;
`, "body.2[0:2]@3{family=pipe,block=1x32,cells=4x2,chunk=32,stages=1,sizes=literals,rims=step,rimvec=1}",
			map[string]string{"M": "6", "N": "9", "I": "137", "T": "6"},
		},
		{
			"whole planes alone are not assigned", `iterator k, j, i;
parameter N, T;
double v[N,5,1..N+1], w[N,5,1..N+1];
boundary v, w : antimirror on j;
stencil s (x, y) { x[k][j][i] = 0.5*y[k-1][j+1][i] + y[k][j][i]; }
iterate T { s (w, v); swap (w, v); }
copyin v, w;
copyout v, w;
`, "body[0:2]@2{family=pipe,block=2x32,cells=2x1,chunk=0,stages=4,sizes=literals,rimvec=2}",
			map[string]string{"N": "7", "T": "5"},
		},
		{
			"rows of planes that are left end within vectors", `iterator k, j, i;
parameter N, T;
float q[N+2][1..N+1][1..N+1], v[N+2][1..N+1][1..N+1], w[N+2][1..N+1][1..N+1];
stencil blur (x, y) { x[k][j][i] = -y[k+1][j-2][i-1]; }
iterate T { blur (v, q); rotate (q, v, w); }
copyin q, v, w;
copyout q, v, w;
`, "body[0:2]@2{family=pipe,block=6x32,cells=4x2,chunk=4,stages=3,sizes=arguments,barrier=whole,rimvec=2}",
			map[string]string{"N": "3", "T": "5"},
		},
		{
			"chunks end before the last stage begins", `iterator j, i;
parameter M, N, T;
double u[M,N], low[M,N];
float p[M,N];
copyin u, low, p;
copyout u, p;
stencil react (out, p, y) {
  double t = 0.7*p[j][i];
  p[j][i] = 0.6*t;
  out[j][i] = 0.9*(out[j][i]*y[j][i]*p[j][i-1]);
}
iterate T { react (u, p, low); }
`, "body[0:1]@6{family=planes,block=32,rows=1,vec=2,chunk=4,stages=2,copy=tensor,columns=halos}",
			map[string]string{"M": "14", "N": "221", "T": "9"},
		},
		{
			"copies begin in runs, and rows are where another kernel wants them", `iterator y, x;
parameter N, M;
double v[N,M], p[N,M], u[N,M], w[N,M];
boundary v : clamp;
initial {
  v[y][x] = random(1);
  [0..N,1:M] : p[y][x] = 0.3*v[y+2][x]*v[y][x-1];
}
stencil s (out, a, b, c) {
  double t[N,M];
  t[y][x] = max(min(0.5*c[y][x], 1), -1);
  out[y][x] = a[y][x]*b[y][x] + t[y][x];
}
s (w, v, p, u);
copyin u, w;
copyout p, w;
`, "initial[1:2]@1{family=planes,block=32,rows=1,vec=4,chunk=0,stages=2,copy=async,refetch=no,columns=all," +
				"stores=rows,layout=shifted,sizes=arguments};sequence[0:1]@1{family=planes,block=32,layout=packed}",
			map[string]string{"M": "401", "N": "7"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, list := load(t, "random.loom", c.source).In(arith.Contract).Bind(c.sizes)
			if list.HasErrors() {
				t.Fatal(list)
			}
			if err := checkSpan(t, lower.GPU, b, c.plan, 1); err != nil {
				t.Error(err)
			}
		})
	}
}

// A boundary that leads from one end of an axis to the other, and not back, is refused of what iterations compute. Of
// what they only read it is right where tiles go on beyond the ends for other grids.
func TestSpansPeriodicAtOneEnd(t *testing.T) {
	const source = `iterator j, i;
parameter N, T;
double u[N,N], v[N,N], p[N,N];
boundary u, v : %s;
boundary p : %s;
stencil s (x, y) { x[j][i] = y[j][i+1] + %s; }
iterate T { s (v, u); swap (v, u); }
copyin u, v, p;
copyout u, v;
`
	for _, c := range []struct{ computed, read, term, want string }{
		{"periodic on i.high", "clamp", "p[j][i]", "y is periodic at one end of i alone"},
		{"periodic on i.high, clamp on i.low", "clamp", "p[j][i]", "y is periodic at one end of i alone"},
		{"clamp", "periodic on i.high", "p[j][i+2]", "p is periodic on i, and what the loop computes is not"},
		{"clamp", "periodic on j.low", "p[j-1][i]", "p is periodic on j, and what the loop computes is not"},
		{"periodic", "periodic on i.high, clamp on i.low", "p[j][i+2] - p[j][i-1]", ""},
		{"periodic", "periodic on j.low, mirror on j.high", "p[j+2][i] - p[j-1][i]", ""},
		{"clamp", "periodic", "p[j][i+2]", "p is periodic on j, and what the loop computes is not"},
		{"periodic", "periodic", "p[j][i+2]", ""},
	} {
		for n, way := range []string{"block=2x32,cells=2", "stages=0"} {
			plan := "body[0:2]@3{family=pipe," + way + "}"
			program := load(t, "ends.loom", fmt.Sprintf(source, c.computed, c.read, c.term))
			b, list := program.In(arith.Contract).Bind(map[string]string{"N": []string{"13", "70"}[n], "T": "6"})
			if list.HasErrors() {
				t.Fatal(list)
			}
			err := checkSpan(t, lower.GPU, b, plan, 1)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s, %s: %v", c.computed, c.read, plan, err)
			}
		}
	}
}
