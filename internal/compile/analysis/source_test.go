package analysis

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// program checks a source text, by the rules for .idsl, so that updates in
// place may be written.
func program(t testing.TB, text string) *ir.Program {
	t.Helper()
	src := diag.NewSource("test.idsl", text)
	p, diags := lang.Load(src)
	if diags.HasErrors() {
		t.Fatal(diag.Render(src, diags, diag.Style{}))
	}
	return p.In(arith.Contract)
}

// bind gives a program its default sizes.
func bind(t testing.TB, p *ir.Program, set map[string]string) *ir.Binding {
	t.Helper()
	b, diags := p.Bind(set)
	if diags != nil {
		t.Fatal(diags)
	}
	return b
}

// irCall reads a call in the IR's text form, which can say what the checker
// rewrites: updates in place and temps that outlive what they read. Grids a, b
// and c are three-dimensional and clamped along i, p is over i; temps are
// defined, and statements run, where reads beside them stay inside.
func irCall(t testing.TB, temps, body string) *ir.Program {
	t.Helper()
	const inside = "(k (lo 1) (hi N-2)) (j (lo 1) (hi N-2)) (i (lo 1) (hi N-2))"
	text := "(program test (axes k j i) (param N (i32 20)) (scalar s f64 used reduced (init (f64 2)))"
	for _, g := range []string{"a", "b", "c"} {
		text += "(grid " + g + " f64 (dim k 0 N-1) (dim j 0 N-1) (dim i 0 N-1))"
	}
	text += "(grid p f64 (dim i 0 N-1)) (stage one"
	for _, g := range []string{"a", "b", "c", "p"} {
		text += "(array " + g + use(" read", body, "(load "+g+" ") + use(" written", body, "(set "+g+" ") +
			" (grid " + g + "))"
	}
	for _, name := range strings.Fields(temps) {
		box := inside
		if strings.Contains(body, "(let "+name+" (load p") {
			box = "(i (lo 1) (hi N-2))"
		}
		if strings.Contains(body, "(let "+name+" (scalar") {
			box = ""
		}
		text += "(temp " + name + " f64 (box " + box + "))"
	}
	for _, g := range []string{"a", "b", "c"} {
		body = strings.ReplaceAll(body, "(set "+g+" ", "(set "+g+" (over k j i) (domain "+inside+") ")
	}
	body = strings.ReplaceAll(body, "(set p ", "(set p (over i) (domain (i (lo 1) (hi N-2))) ")
	body = strings.ReplaceAll(body, "(reduce ", "(reduce sum s (over k j i) (domain "+inside+") ")
	p, err := ir.ParseText(text + body + ") (body (run one)))")
	if err != nil {
		t.Fatal(err)
	}
	// Grouping copes with temps that outlive what they are computed from, which
	// the checker never makes and the verifier therefore refuses.
	if err := ir.Verify(p); err != nil {
		for _, line := range strings.Split(err.Error(), "\n") {
			if !strings.HasSuffix(line, "is used after what it is computed from has changed") {
				t.Fatal(err)
			}
		}
	}
	return p
}

func use(word, body, part string) string {
	if strings.Contains(body, part) {
		return word
	}
	return ""
}

// The four stencils of Zhang and Mueller, Table 4, as that table writes them.
const (
	sevenPoint = `parameter N = 66; iterator k, j, i;
double u[N,N,N], out[N,N,N], alpha = 0.5, beta = 0.1;
stencil seven (out, u) {
  double tmp = (u[k][j][i+1] + u[k][j][i-1] + u[k][j+1][i] + u[k][j-1][i] + u[k+1][j][i] + u[k-1][j][i])*beta;
  out[k][j][i] = tmp + alpha*u[k][j][i];
}
seven (out, u);`

	thirteenPoint = `parameter N = 66; iterator k, j, i;
double u[N,N,N], out[N,N,N], c0 = 0.5, c1 = 0.1, c2 = 0.01;
stencil thirteen (out, u) {
  double tmp;
  tmp = c1*(u[k][j][i+1] + u[k][j][i-1] + u[k][j+1][i] + u[k][j-1][i] + u[k+1][j][i] + u[k-1][j][i]);
  tmp += c2*(u[k][j][i+2] + u[k][j][i-2] + u[k][j+2][i] + u[k][j-2][i] + u[k+2][j][i] + u[k-2][j][i]);
  out[k][j][i] = tmp + c0*u[k][j][i];
}
thirteen (out, u);`

	himeno = `parameter N = 66; iterator k, j, i;
float p[N,N,N], wrk1[N,N,N], wrk2[N,N,N], bnd[N,N,N], a0[N,N,N], a1[N,N,N], a2[N,N,N], a3[N,N,N];
float b0[N,N,N], b1[N,N,N], b2[N,N,N], c0[N,N,N], c1[N,N,N], c2[N,N,N], omega = 0.8;
stencil himeno (wrk2, p) {
  float s0 = wrk1[k][j][i] + a0[k][j][i]*p[k+1][j][i] + a1[k][j][i]*p[k][j+1][i];
  s0 += b0[k][j][i]*(p[k+1][j+1][i] - p[k-1][j+1][i] - p[k+1][j-1][i] + p[k-1][j-1][i]) + a2[k][j][i]*p[k][j][i+1];
  s0 += b1[k][j][i]*(p[k][j+1][i+1] - p[k][j-1][i+1] - p[k][j+1][i-1] + p[k][j-1][i-1]);
  s0 += b2[k][j][i]*(p[k+1][j][i+1] - p[k-1][j][i+1] - p[k+1][j][i-1] + p[k-1][j][i-1]) + c0[k][j][i]*p[k-1][j][i];
  s0 += c1[k][j][i]*p[k][j-1][i] + c2[k][j][i]*p[k][j][i-1];
  float ss = (s0*a3[k][j][i] - p[k][j][i])*bnd[k][j][i];
  wrk2[k][j][i] = p[k][j][i] + omega*ss;
}
himeno (wrk2, p);`

	twentySevenPoint = `parameter N = 66; iterator k, j, i;
double a[N,N,N], b[N,N,N], p0 = 0.5, p1 = 0.1, p2 = 0.01, p3 = 0.001;
stencil box (b, a) {
  b[k][j][i] = p0*a[k][j][i]
    + p1*(a[k-1][j][i] + a[k+1][j][i] + a[k][j-1][i] + a[k][j+1][i] + a[k][j][i-1] + a[k][j][i+1])
    + p2*(a[k-1][j-1][i] + a[k-1][j+1][i] + a[k+1][j-1][i] + a[k+1][j+1][i] + a[k-1][j][i-1] + a[k-1][j][i+1]
        + a[k+1][j][i-1] + a[k+1][j][i+1] + a[k][j-1][i-1] + a[k][j-1][i+1] + a[k][j+1][i-1] + a[k][j+1][i+1])
    + p3*(a[k-1][j-1][i-1] + a[k-1][j-1][i+1] + a[k-1][j+1][i-1] + a[k-1][j+1][i+1]
        + a[k+1][j-1][i-1] + a[k+1][j-1][i+1] + a[k+1][j+1][i-1] + a[k+1][j+1][i+1]);
}
box (b, a);`

	// Acoustic wave, two time levels, order 8 in space.
	wave = `parameter N = 80; iterator k, j, i;
float now[N,N,N], before[N,N,N], c[5] = {-2.847, 1.6, -0.2, 0.0254, -0.0018};
stencil wave (before, now) {
  before[k][j][i] = 2*now[k][j][i] - before[k][j][i] + 3*c[0]*now[k][j][i]
    + sum (r in 1..4) c[r]*(now[k][j][i+r] + now[k][j][i-r] + now[k][j+r][i] + now[k][j-r][i] + now[k+r][j][i] + now[k-r][j][i]);
}
iterate 10 { wave (before, now); swap (before, now); }`

	// One direction of an elastic operator of order 4 with variable coefficients
	// and grid stretching, in the manner of SW4's rhs4.
	elastic = `parameter N = 104; iterator k, j, i;
double u0[N,N,N], u1[N,N,N], mu[N,N,N], la[N,N,N], out0[N,N,N], out1[N,N,N], strx[N], stry[N], h = 0.01;
stencil elastic (out0, out1) {
  double mux1 = mu[k][j][i-1]*strx[i-1] - 0.75*(mu[k][j][i]*strx[i] + mu[k][j][i-2]*strx[i-2]);
  double mux2 = mu[k][j][i-2]*strx[i-2] + mu[k][j][i+1]*strx[i+1] + 3*(mu[k][j][i]*strx[i] + mu[k][j][i-1]*strx[i-1]);
  double muy1 = mu[k][j-1][i]*stry[j-1] - 0.75*(mu[k][j][i]*stry[j] + mu[k][j-2][i]*stry[j-2]);
  double r0 = strx[i]*((2*mux1 + la[k][j][i-1]*strx[i-1])*(u0[k][j][i-2] - u0[k][j][i]) + mux2*(u0[k][j][i-1] - u0[k][j][i]))
            + stry[j]*muy1*(u0[k][j-2][i] - u0[k][j][i]);
  double r1 = strx[i]*mux2*(u1[k][j][i-1] - u1[k][j][i]) + stry[j]*muy1*(u1[k][j-2][i] - u1[k][j][i]);
  out0[k][j][i] = r0/(h*h);
  out1[k][j][i] = r1/(h*h);
}
elastic (out0, out1);`
)
