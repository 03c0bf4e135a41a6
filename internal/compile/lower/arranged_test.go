package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// interleaved is two chains of calls that have nothing to do with each other, one between the calls of the other; what
// they compute comes together in the last call. The first chain updates its grid twice, reading neighbours.
const interleaved = `parameter M, N;
iterator j, i;
double a[M,N], b[M,N], c[M,N], p[M,N], q[M,N], r[M,N], u[M,N];
copyin a, p, u;
copyout a, c, r, u;
stencil blur (y, x) { y[j][i] = 0.25*x[j][i-1] + 0.5*x[j][i] + 0.25*x[j+1][i]; }
stencil back (x, y) { x[j][i] = x[j][i] - 0.3*y[j-1][i+1]; }
stencil both (r, x, y) { r[j][i] = x[j][i]*y[j][i]; }
%s
`

// Sets with gaps leave the bits that single calls leave, whatever changes memory between them.
func TestArrangedParts(t *testing.T) {
	const once = `[1:M-2, 1:N-2] : blur (b, a);
[1:M-2, 1:N-2] : blur (q, p);
[2:M-3, 2:N-3] : back (a, b);
[2:M-3, 2:N-3] : back (p, q);
[1:M-2, 1:N-2] : blur (c, a);
[3:M-4, 3:N-4] : back (a, c);
[2:M-3, 2:N-3] : both (r, a, p);`
	const loop = `iterate 4 { [1:M-2, 1:N-2] : blur (b, a);
[1:M-2, 1:N-2] : blur (q, p);
swap (a, b);
[2:M-3, 2:N-3] : back (p, q);
[2:M-3, 2:N-3] : back (a, b);
[2:M-3, 2:N-3] : both (r, a, p); rotate (p, q, u); }`
	const apart = `iterate 7 { [1:M-2, 1:N-2] : blur (b, a); [2:M-3, 2:N-3] : blur (q, p); swap (a, b); swap (p, q); }`
	own := func(calls string, family string) string {
		var list []string
		for call := range strings.FieldsSeq(calls) {
			list = append(list, call+"[0:1]@1{"+family+"}")
		}
		return strings.Join(list, ";")
	}
	for n, c := range []struct {
		target lower.Target
		steps  string
		plan   string
	}{
		{lower.GPU, once, "sequence[0,2]@1{%s};sequence[1,3]@1{%s};" + own("blur.3 back.3 both", "family=cells")},
		{lower.GPU, once, "sequence[0,2,4]@1{%s};sequence[1,3]@1{%s};" + own("back.3 both", "family=cells")},
		{lower.GPU, once, "sequence[0,2,4:6]@1{%s};sequence[1,3,6]@1{%[1]s}"},
		{lower.GPU, once, "sequence[0,2]@1{%s};sequence[4,5]@1{%s};" + own("blur.2 back.2 both", "family=cells")},
		{lower.GPU, loop, "body[1,3]@1{%s};body[0,2,4]@1{%s};" + own("both", "family=cells")},
		{lower.GPU, loop, "body[0,2,4]@1{%s};body[1,3,5:7]@1{%[1]s}"},
		{lower.GPU, loop, "body[1,3]@1{%s};body[4,5]@1{%s};body[0:7]@2{family=overlap,block=32,tile=4x16};" +
			own("blur", "family=cells")},
		{lower.GPU, apart, "body[0,2]@2{%s};body[1,3]@2{%s}"},
		{lower.CPU, once, "sequence[0,2]@1{%s};sequence[1,3]@1{%s};" + own("blur.3 back.3 both", "family=loops")},
		{lower.CPU, loop, "body[1,3]@1{%s};body[0,2,4]@1{%s};" + own("both", "family=loops")},
		{lower.CPU, apart, "body[0,2]@3{%s};body[1,3]@3{%s}"},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			p := load(t, "parts", fmt.Sprintf(interleaved, c.steps))
			families := []string{"family=overlap,block=32,tile=4x16", "family=planes,block=32,chunk=7"}
			if strings.Contains(c.plan, "@2{%s") {
				families = []string{"family=overlap,block=32,tile=4x16", "family=pipe,block=2x32,cells=2,chunk=9"}
			}
			if c.target == lower.CPU {
				families = []string{"family=wavefront,threads=2", "family=wavefront"}
			}
			for k, size := range []string{"M=13 N=37", "M=9 N=18", "M=35 N=70"} {
				plan := fmt.Sprintf(c.plan, families[k%2], families[(k+1)%2])
				plan, _, _ = strings.Cut(plan, "%!")
				b := bind(t, p, size).In(arith.Contract)
				if err := checkSpan(t, c.target, b, plan, uint64(10*n+k)); err != nil {
					t.Errorf("%s, %s: %v", size, plan, err)
				}
			}
		})
	}
}
