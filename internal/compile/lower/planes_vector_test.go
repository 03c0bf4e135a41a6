package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/fission"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

// What the cells of a thread read side by side in shared memory is loaded together, once, and what they leave is stored
// together where rows are aligned: two cells of a row that read two cells on each side need six, in three loads.
func TestPlanesLoadVectors(t *testing.T) {
	const text = `
parameter L, M, N;
iterator k, j, i;
%s u[L,M,N], g[L,M,N], v[L,M,N];
copyin u, v;
copyout v;
stencil first (g, u) {
  g[k][j][i] = u[k][j][i-2] + 0.5*u[k][j][i-1] - u[k][j][i+1] + 0.25*u[k][j][i+2] + 2*u[k][j][i];
}
stencil second (v, g) { v[k][j][i] = g[k][j][i] - 0.5*g[k][j-1][i]; }
[0:L-1, 0:M-1, 2:N-3] : first (g, u);
[0:L-1, 1:M-1, 2:N-3] : second (v, g);
`
	for _, c := range []struct {
		kind   string
		n, vec int
		layout string
		// Vectors and single cells that are loaded of u in shared memory, and stored there of g, and of v in memory.
		// Where a block has not all cells of a vector it stores those that it has one by one.
		want string
	}{
		{"double", 48, 1, "packed", "0 5, 0 1, 0 1"},
		{"double", 48, 2, "packed", "3 0, 1 0, 1 2"},
		{"double", 47, 2, "packed", "3 0, 1 0, 1 2"},  // rows are padded
		{"double", 47, 2, "shifted", "3 0, 1 0, 1 2"}, // cell 2 of each begins a line
		{"float", 48, 4, "packed", "3 0, 1 0, 1 4"},
	} {
		p := load(t, "near", fmt.Sprintf(text, c.kind))
		b := bind(t, p, fmt.Sprintf("L=20 M=30 N=%d", c.n)).In(arith.Contract)
		config := fmt.Sprintf("sequence[0:2]@1{family=planes,block=4x16,vec=%d,stages=1,columns=none,layout=%s}", c.vec,
			c.layout)
		o := lower.Options{Target: lower.GPU, Bound: b, Sized: true, Plan: plan(t, config)}
		m, err := lower.Program(b.Program, o)
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(kernel.Text(m.Spans[0].Launches[0].Kernel), "halo_cell")
		count := func(name string) int { return strings.Count(text, "("+name) }
		got := fmt.Sprintf("%d %d, %d %d, %d %d", count("loads (u_near"), count("load u_tile"),
			count("stores g_planes "), count("store g_planes "), count("stores v "), count("store v "))
		if got != c.want {
			t.Errorf("%s, %d cells a row, vec=%d, %s: %s, and not %s\n%s", c.kind, c.n, c.vec, c.layout, got, c.want,
				text)
		}
	}
}

// Without copies to shared memory threads load runs of rows of memory: a star of order 1 takes its newest plane in one
// load for four cells, and the two rows beside its own in one each. Both cells at the ends are loaded alone.
func TestPlanesLoadRunsOfMemory(t *testing.T) {
	const text = `
parameter L, M, N;
iterator k, j, i;
float u[L,M,N], v[L,M,N];
copyin u, v;
copyout v;
stencil star (v, u) {
  v[k][j][i] = 0.4*u[k][j][i] + 0.1*u[k][j][i-1] + 0.2*u[k][j][i+1] - 0.3*u[k][j-1][i] + 0.25*u[k][j+1][i]
    + 0.15*u[k-1][j][i] - 0.05*u[k+1][j][i];
}
star (v, u);
`
	for _, c := range []struct {
		n      int
		layout string
		rows   int
		want   string // runs and single cells of a row's or two rows' cells
	}{
		{48, "packed", 1, "3 2"},
		{48, "packed", 2, "4 4"},
		{47, "padded", 2, "4 4"},
		{47, "shifted", 2, "4 4"},
	} {
		p := load(t, "runs", text)
		b := bind(t, p, fmt.Sprintf("L=20 M=30 N=%d", c.n)).In(arith.Contract)
		config := fmt.Sprintf("sequence[0:1]@1{family=planes,block=4x16,rows=%d,vec=4,stages=0,layout=%s}", c.rows,
			c.layout)
		o := lower.Options{Target: lower.GPU, Bound: b, Sized: true, Plan: plan(t, config)}
		m, err := lower.Program(b.Program, o)
		if err != nil {
			t.Fatal(err)
		}
		text := kernel.Text(m.Spans[0].Launches[0].Kernel)
		text = text[strings.Index(text, "(for step"):]
		got := fmt.Sprint(strings.Count(text, "(loads (u_near"), strings.Count(text, "(load u "))
		if got != c.want {
			t.Errorf("%d cells a row, %s, %d rows: %s, and not %s\n%s", c.n, c.layout, c.rows, got, c.want, text)
		}
		for k, size := range []string{"L=9 M=11 N=37", "L=5 M=6 N=131", "L=17 M=19 N=32"} {
			if err := checkSpan(t, lower.GPU, bind(t, p, size).In(arith.Contract), config, uint64(k)); err != nil {
				t.Errorf("%s, %s: %v", config, size, err)
			}
		}
	}
}

// Runs of a narrow type are no longer than its rows are aligned, of which a wider type may ask less. No run goes beyond
// the buffer.
func TestPlanesRunsOfTwoTypes(t *testing.T) {
	p := load(t, "mixed", `
parameter L, M, N;
iterator k, j, i;
float u[L,M,1:N], v[L,M,1:N];
double w[L,M,1:N], x[L,M,1:N];
copyin u, v, w, x;
copyout v, x;
stencil a (v, u) { v[k][j][i] = 0.5*u[k][j][i] + 0.25*u[k][j][i-1] + 0.125*u[k][j][i+1] + u[k-1][j][i]; }
stencil b (x, w) { x[k][j][i] = 0.5*w[k][j][i] + 0.25*w[k][j][i-1]; }
b (x, w);
a (v, u);
`)
	for n, size := range []string{"L=5 M=6 N=32", "L=5 M=6 N=36", "L=5 M=6 N=37"} {
		for _, layout := range []string{"packed", "padded", "shifted"} {
			text := "sequence[0:2]@1{family=planes,block=4x16,vec=4,stages=0,layout=" + layout +
				"};a[0:1]@1{family=cells};b[0:1]@1{family=cells}"
			if err := checkSpan(t, lower.GPU, bind(t, p, size).In(arith.Contract), text, uint64(n)); err != nil {
				t.Errorf("%s, %s: %v", layout, size, err)
			}
		}
	}
}

// A run of a stage's cells is loaded together only where the stage has computed all of them.
func TestPlanesLoadComputedRuns(t *testing.T) {
	p := load(t, "computed", `
parameter L, M, N;
iterator k, j, i;
float u[L,M,N], g[L,M,N], v[L,M,N];
copyin u, v;
copyout v;
stencil first (g, u) { g[k][j][i] = u[k][j][i] - 0.5*u[k][j-1][i]; }
stencil second (v, g) { v[k][j][i] = g[k][j][i-2] + 0.5*g[k][j][i-1] - 0.25*g[k][j][i+1]; }
[0:L-1, 1:M-1, 0:N-1] : first (g, u);
[0:L-1, 1:M-1, 2:N-2] : second (v, g);
`)
	for n, size := range []string{"L=5 M=6 N=32", "L=5 M=6 N=37"} {
		text := "sequence[0:2]@1{family=planes,block=4x16,vec=4,stages=1}"
		if err := checkSpan(t, lower.GPU, bind(t, p, size).In(arith.Contract), text, uint64(n)); err != nil {
			t.Errorf("%s: %v", size, err)
		}
	}
}

// Parts of a sum that wait for later planes read one plane of shared memory, and load what they have in common once: a
// box of 27 cells takes 9 loads, by whatever steps its stages are needed in.
func TestPlanesShareLoadsOfParts(t *testing.T) {
	const head = `
parameter L, M, N;
iterator k, j, i;
double u[L,M,N], v[L,M,N];
copyin u, v;
copyout v;
stencil box (v, u) {
  v[k][j][i] = sum (c in -1..1) sum (b in -1..1) sum (a in -1..1) (0.3 + 0.2*a + 0.1*b*c)*u[k+c][j+b][i+a];
}
box (v, u);
`
	made, err := fission.Make(fission.RetimeVersion, diag.NewSource("box.loom", head), arith.Contract)
	if err != nil || made == nil {
		t.Fatal(made, err)
	}
	const config = "sequence[0:1]@1{family=planes,block=4x16,chunk=7,stages=1}"
	for _, c := range []struct {
		text, planes string
		guards       int // by which stages ask whether a plane is needed
	}{{head, "3 planes", 1}, {made.Source.Text, "1 planes", 1}} {
		p := load(t, "box", c.text)
		b := bind(t, p, "L=20 M=30 N=48").In(arith.Contract)
		o := lower.Options{Target: lower.GPU, Bound: b, Sized: true, Plan: plan(t, config)}
		m, err := lower.Program(b.Program, o)
		if err != nil {
			t.Fatal(err)
		}
		l, _ := graph.LoopNamed(b.Program, "sequence")
		span, err := graph.NewSpan(b.Program, l, 1)
		if err != nil {
			t.Fatal(err)
		}
		pipe, err := pipeline.New(span)
		if err != nil {
			t.Fatal(err)
		}
		planes, err := pipeline.NewPlanes(pipe, pipeline.Keeps{})
		if err != nil {
			t.Fatal(err)
		}
		if text := planes.String(); !strings.Contains(text, "tile of u: "+c.planes) {
			t.Errorf("there is no tile of %s:\n%s", c.planes, text)
		}
		text := kernel.Text(m.Spans[0].Launches[0].Kernel)
		text = text[strings.Index(text, "(for step"):]
		if got := strings.Count(text, "(ge step") + strings.Count(text, "(ge plane"); got > c.guards {
			t.Errorf("%d stages ask whether they are needed, and not %d\n%s", got, c.guards, text)
		}
		for k, size := range []string{"L=9 M=11 N=37", "L=3 M=6 N=31", "L=17 M=19 N=32"} {
			if err := checkSpan(t, lower.GPU, bind(t, p, size).In(arith.Contract), config, uint64(k)); err != nil {
				t.Errorf("%s: %v", size, err)
			}
		}
	}
}
