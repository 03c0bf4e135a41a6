package lower_test

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// spanEdges are time loops whose dependences are easy to get wrong.
var spanEdges = []struct{ name, text, plan, size string }{
	{"one-sided mirror", `
parameter N;
iterator i;
double u[N], v[N];
boundary u, v : mirror;
copyin u;
stencil s (out, in) { out[i] = 0.4*in[i+3] + 0.25*in[i]; }
iterate T { s (v, u); swap (v, u); }
copyout u;
`, "body[0:2]@3{family=overlap,block=32,tile=32}", "N=33"},
	{"one-sided reflect low", `
parameter M, N;
iterator j, i;
double u[M,N], v[M,N];
boundary u, v : reflect;
copyin u;
stencil s (out, in) { out[j][i] = 0.4*in[j-7][i] + 0.25*in[j][i-1]; }
iterate T { s (v, u); swap (v, u); }
copyout u;
`, "body[0:2]@2{family=overlap,block=32,tile=4x16}", "M=33 N=16"},
	{"no rotation", `
parameter N;
iterator i;
double u[N], v[N];
boundary u, v : clamp;
copyin u;
stencil s (out, in) { out[i] = 0.4*in[i+1] + 0.25*in[i-1]; }
iterate T { s (v, u); s (u, v); }
copyout u, v;
`, "body[0:2]@2{family=overlap,block=32,tile=32}", "N=60"},
	{"write only", `
parameter N;
iterator i;
double u[N], v[N], log[N];
boundary u, v : clamp;
copyin u, log;
stencil s (out, in, log) { out[i] = 0.4*in[i+1] + 0.25*in[i-1]; [3:N-5]: log[i] = in[i]*step; }
iterate T { s (v, u, log); swap (v, u); }
copyout u, log;
`, "body[0:2]@2{family=overlap,block=32,tile=32}", "N=60"},
	{"two formals", `
parameter N;
iterator i;
double u[N], v[N];
boundary u, v : clamp;
copyin u;
stencil s (out, a, b) { out[i] = 0.4*a[i+1] + 0.25*b[i-1]; }
iterate T { s (v, u, u); swap (v, u); }
copyout u, v;
`, "body[0:2]@2{family=overlap,block=32,tile=32}", "N=60"},
	{"temps before overwritten", `
parameter N;
iterator i;
double u[N], v[N];
boundary u, v : clamp;
copyin u, v;
stencil s (u, v) {
  double t = u[i] + 0.5*v[i];
  double s = t*0.5 + v[i];
  u[i] = 0.4*v[i+1] + 0.25*v[i-1];
  v[i] = s + u[i+2] + t;
}
iterate T { s (u, v); }
copyout u, v;
`, "body[0:1]@2{family=overlap,block=32,tile=32}", "N=60"},
	{"planes", `
parameter M, N;
iterator j, i;
double u[M,N], v[M,N];
copyin u, v;
stencil s (out, in) { out[j][i] = 0.4*in[j][i+1] + 0.25*in[j-1][i]; }
stencil edge (v) { v[0][i] = 0.5*v[j][i]+step; v[j][3] = 7; }
iterate T { s (v, u); edge (v); swap (v, u); }
copyout u, v;
`, "body[0:3]@3{family=overlap,block=32,tile=4x16}", "M=33 N=37"},
	{"dead and alive", `
parameter N;
iterator i;
double a[N], b[N], c[N], d[N];
boundary a,b,c,d : clamp;
copyin a,b,c,d;
stencil s (o, i1, i2) { o[i] = 0.4*i1[i+1] + 0.25*i2[i-1]; }
stencil part (o, i1) { [2:N-7] : o[i] = 0.4*i1[i+1] + 0.25*i1[i-1]; }
iterate T { s (b, a, c); part (d, b); part (d, a); rotate (a, b, c); swap (c, d); }
copyout a,b,c,d;
`, "body[0:5]@3{family=overlap,block=32,tile=32}", "N=60"},
	{"local assigned twice", `
parameter N;
iterator i;
double u[N], v[N];
boundary u, v : clamp;
copyin u;
stencil s (out, in) {
  double t[N];
  [2:N-4] : t[i] = in[i+1] - 0.5*in[i-1];
  [2:N-4] : t[i] = in[i+1] - 0.5*in[i-2];
  [5:N-6] : t[i] = 2*t[i];
  out[i] = 0.4*t[i+1] + 0.25*t[i-1]+ in[i];
}
iterate T { s (v, u); swap (v, u); }
copyout u;
`, "body[0:2]@2{family=overlap,block=32,tile=32}", "N=60"},
	{"local folded box", `
parameter N;
iterator i;
double u[N], v[N];
boundary u, v : clamp;
copyin u;
stencil s (out, in) {
  double t[N];
  boundary t : reflect;
  [2:N-4] : t[i] = in[i+1] - 0.5*in[i-1];
  [3:N-5] : out[i] = 0.4*t[i+5] + 0.25*t[i-1]+ in[i];
}
iterate T { s (v, u); swap (v, u); }
copyout u;
`, "body[0:2]@2{family=overlap,block=32,tile=32}", "N=60"},
	{"periodic and a smaller", `
parameter N;
iterator i;
double u[N], v[N], log[N-9];
boundary u, v : periodic;
copyin u;
stencil s (out, in, log) { out[i] = 0.4*in[i+1] + 0.25*in[i-1]; log[i] = out[i+4]; }
iterate T { s (v, u, log); swap (v, u); }
copyout u, v, log;
`, "body[0:2]@2{family=overlap,block=32,tile=32}", "N=70"},
	{"periodic and a larger", `
parameter N;
iterator i;
double u[N], v[N], log[N+9];
boundary u, v : periodic;
copyin u;
stencil s (out, in, log) { out[i] = 0.4*in[i+1] + 0.25*in[i-1]; log[i] = out[i+4]; }
iterate T { s (v, u, log); swap (v, u); }
copyout u, v, log;
`, "body[0:2]@2{family=overlap,block=32,tile=32}", "N=58"},
	{"periodic at one end beside one that is at both", `
parameter M, N;
iterator j, i;
double u[M,N], v[M,N], f[M,N];
boundary u, v : periodic;
boundary f : clamp on i.low, periodic on i.high;
copyin u, v, f;
stencil s (out, in, f) { out[j][i] = 0.4*in[j][i+1] + 0.25*in[j-1][i] + 0.1*f[j][i+2] + 0.2*f[j][i-1]; }
iterate T { s (v, u, f); swap (v, u); }
copyout u, v;
`, "body[0:2]@2{family=pipe,block=2x32,cells=2,chunk=7}", "M=13 N=70"},
	{"read alone, and periodic at one end", `
parameter M, N;
iterator j, i;
double f[M,N], g[M,N];
int u[M,N];
boundary f : periodic on i.high;
copyin u, f, g;
stencil s (u, f, g) { u[j][i] *= int(2*f[j][i+2]*g[j][1]); }
iterate T { s (u, f, g); }
copyout u;
`, "body[0:1]@4{family=overlap,block=32,tile=4x16}", "M=13 N=15"},
	{"a constant beyond an end that turns the sign", `
parameter M, N;
iterator j, i;
float u[M,N], v[M,N];
boundary u, v : antireflect on j, antimirror on i.low, constant(0.16) on i.high;
copyin u, v;
stencil s (out, in) { out[j][i] = 0.4*in[j-1][i+1] + 0.25*in[j+2][i-1] + 0.2*in[j+1][i+2]; }
iterate T { s (v, u); swap (v, u); }
copyout u, v;
`, "body[0:2]@2{family=pipe,block=2x32,cells=2,chunk=7}", "M=13 N=70"},
	{"a constant in registers from round to round", `
parameter M, N;
iterator j, i;
float u[M,N], v[M,N];
boundary u, v : antireflect on j, constant(0.16) on i;
copyin u, v;
stencil s (out, in) { out[j][i] = 0.4*in[j-1][i+1] + 0.25*in[j+2][i-1]; }
iterate T { s (v, u); swap (v, u); }
copyout u, v;
`, "body[0:2]@2{family=resident,block=4x32,cells=4x1}", "M=13 N=70"},
	{"a constant beyond an end that turns the sign, in 3D", `
parameter L, M, N;
iterator k, j, i;
float u[L,M,N], v[L,M,N];
boundary u, v : antireflect on k, antimirror on j, constant(0.16) on i;
copyin u, v;
stencil s (out, in) { out[k][j][i] = 0.4*in[k-1][j-1][i+1] + 0.25*in[k+1][j][i-1] + 0.2*in[k][j-1][i+1]; }
iterate T { s (v, u); swap (v, u); }
copyout u, v;
`, "body[0:2]@2{family=pipe,block=8x32,cells=2x2,chunk=7}", "L=5 M=12 N=70"},
}

// What spans decide of such loops leaves the bits of the reference.
func TestSpanEdges(t *testing.T) {
	for _, c := range spanEdges {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := bind(t, load(t, "span", strings.Replace(c.text, "iterate T", "iterate 9", 1)), c.size)
			if err := checkSpan(t, lower.GPU, b.In(arith.Contract), c.plan, 7); err != nil {
				t.Error(err)
			}
		})
	}
}
