package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// box is a box of order 1 whose sums of planes are parts.
const box = `
parameter L, M, N;
iterator k, j, i;
float u[L,M,N], v[L,M,N];
float w[3][3][3] = {
  {{0.1, 0.2, 0.3}, {0.4, 0.5, 0.6}, {0.7, 0.8, 0.9}},
  {{0.15, 0.25, 0.35}, {0.45, 0.55, 0.65}, {0.75, 0.85, 0.95}},
  {{0.12, 0.22, 0.32}, {0.42, 0.52, 0.62}, {0.72, 0.82, 0.92}}
};
copyin u;
copyout v;
stencil s (v, u) {
  v[k][j][i] = sum (c in -1..1) sum (b in -1..1) sum (a in -1..1) w[c+1][b+1][a+1]*u[k+c][j+b][i+a];
}
s (v, u);
`

// boxKernel is the text of the box's kernel from the loop along the stream on.
func boxKernel(t *testing.T, config string) string {
	t.Helper()
	b := bind(t, load(t, "box", box), "L=20 M=42 N=64").In(arith.Contract)
	o := lower.Options{Target: lower.GPU, Bound: b, Sized: true, AnyIntegers: true, Plan: plan(t, config)}
	m, err := lower.Program(b.Program, o)
	if err != nil {
		t.Fatal(err)
	}
	text := kernel.Text(m.Spans[0].Launches[0].Kernel)
	return text[strings.Index(text, "(for step"):]
}

// Where statements are computed in parts a step reads one plane: a thread with so many rows of two cells each loads two
// rows more, once for all parts, each in a run of two cells and in those at both ends. Without parts it reads three
// planes, and holds columns of its own cells.
func TestPlanesLoadOnceForAllParts(t *testing.T) {
	for _, c := range []struct {
		retime     string
		rows       int
		runs, ends int
	}{
		{"yes", 2, 4, 8}, {"yes", 4, 6, 12}, {"no", 2, 2 + 3*2, 3 * 8},
	} {
		text := boxKernel(t, fmt.Sprintf(
			"sequence[0:1]@1{family=planes,block=4x16,rows=%d,vec=2,stages=0,retime=%s}", c.rows, c.retime))
		runs, ends := strings.Count(text, "(loads (u_near"), strings.Count(text, "(load u ")
		if runs != c.runs || ends != c.ends {
			t.Errorf("retime=%s, rows=%d: %d runs and %d single cells, and not %d and %d\n%s", c.retime, c.rows, runs,
				ends, c.runs, c.ends, text)
		}
	}
}

// Copies begin after the barrier of a step, or at its end, before it, a plane earlier; stores follow the last row, or
// each. Places in circular buffers of few planes are found by masks.
func TestPlanesOrderOfAStep(t *testing.T) {
	const copies = "sequence[0:1]@1{family=planes,block=4x32,rows=2,vec=2,stages=2,sizes=literals"
	for _, more := range []string{"", ",issue=before"} {
		text := boxKernel(t, copies+more+"}")
		first, wait := strings.Index(text, "(async "), strings.Index(text, "(async.wait")
		compute := strings.Index(text, "(store v ")
		if before := more != ""; before != (compute < first) || wait < first || wait < compute {
			t.Errorf("%q: copies at %d, stores at %d, waits at %d\n%s", more, first, compute, wait, text)
		}
	}
	for _, c := range []struct {
		stores string
		want   bool // something is computed after the first store
	}{{"together", false}, {"rows", true}} {
		text := boxKernel(t, copies+",stores="+c.stores+"}")
		if got := strings.Contains(text[strings.Index(text, "(store v "):], "(fma "); got != c.want {
			t.Errorf("stores=%s: computes after the first store: %v\n%s", c.stores, got, text)
		}
	}
	text := boxKernel(t, copies+",retime=yes}") // a plane, and two that are under way, in four slots
	if !strings.Contains(text, "(let u_to i32 (mul (and") {
		t.Errorf("places in the circular buffer are not found by a mask\n%s", text)
	}
}

// All that parts, loads, copies and stores may be put in order by leaves every cell as it is, at awkward sizes, too.
func TestPlanesInParts(t *testing.T) {
	p := load(t, "box", box)
	n := uint64(0)
	for _, settings := range []string{
		"block=2x64,rows=3,vec=2,stages=0,prefetch=1,unroll=2",
		"block=2x64,rows=2,vec=4,stages=0,loads=statements",
		"block=4x16,rows=2,vec=2,stages=2,issue=before,loads=first",
		"block=1x256,rows=2,vec=2,stages=3,loads=first,chunk=7",
		"block=1x256,rows=2,vec=1,stages=1,issue=before,stores=rows",
		"block=4x32,rows=2,vec=2,stages=1,copy=tensor,refetch=no,loads=first,stores=rows",
	} {
		for _, retime := range []string{"yes", "no"} {
			for _, size := range []string{"L=9 M=11 N=37", "L=5 M=6 N=131", "L=17 M=19 N=64", "L=3 M=3 N=3"} {
				config := fmt.Sprintf("sequence[0:1]@1{family=planes,%s,retime=%s,cse=yes,sizes=literals}", settings,
					retime)
				n++
				if err := checkSpan(t, lower.GPU, bind(t, p, size).In(arith.Contract), config, n); err != nil {
					t.Errorf("%s, %s: %v", config, size, err)
				}
			}
		}
	}
}
