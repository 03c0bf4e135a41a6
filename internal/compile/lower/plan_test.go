package lower_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// planned has kernels of every rank, in stencils that are called twice.
const planned = `
parameter M = 6, N = 7;
iterator j, i;
double u[M,N], v[M,N], x[N], total;
boundary u : periodic;
initial { u[j][i] = i; x[i] = i; }
stencil smooth (v, u, total) {
  double t[M,N];
  t[j][i] = u[j][i+1] + u[j][i-1];
  v[j][i] = t[j-1][i];
  reduce sum total = v[j][i]*x[i];
}
stencil line (x) { x[i] = 2*x[i]; x[0] = x[1]; }
stencil initial (v) { v[j][i] += 1; }
smooth (v, u, total);
line (x);
initial (v);
[1:3, 1:3] : initial (v);
copyout v, x, total;
`

// A plan's text is canonical: what Plan returns reads back, and asks for what
// would be done without it.
func TestPlans(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          lower.Options
		plan, want string
	}{
		{"defaults", planned, lower.Options{}, "",
			"initial[0:1]@1{family=loops,block=0x0,threads=0};initial[1:2]@1{family=loops,block=0,threads=0};" +
				"smooth[0:1]@1{family=loops,block=0x0,threads=0};smooth[1:3]@1{family=loops,block=0x0,threads=0};" +
				"line[0:1]@1{family=loops,block=0,threads=0};line[1:2]@1{family=loops,block=0,threads=0};" +
				"initial.2[0:1]@1{family=loops,block=0x0,threads=0};" +
				"initial.3[0:1]@1{family=loops,block=0x0,threads=0}"},
		{"for all, where it fits", planned, lower.Options{NoInitial: true}, "threads=2,block=4x64",
			"smooth[0:1]@1{family=loops,block=4x64,threads=2};smooth[1:3]@1{family=loops,block=4x64,threads=2};" +
				"line[0:1]@1{family=loops,block=0,threads=2};line[1:2]@1{family=loops,block=0,threads=2};" +
				"initial.2[0:1]@1{family=loops,block=4x64,threads=2};" +
				"initial.3[0:1]@1{family=loops,block=4x64,threads=2}"},
		{"for one, which the rest does not touch", planned, lower.Options{NoInitial: true},
			"threads=2;smooth[1:3]@1{block=0x64};line[0:1]@1{family=loops,threads=4}",
			"smooth[0:1]@1{family=loops,block=0x0,threads=2};smooth[1:3]@1{family=loops,block=0x64,threads=0};" +
				"line[0:1]@1{family=loops,block=0,threads=4};line[1:2]@1{family=loops,block=0,threads=2};" +
				"initial.2[0:1]@1{family=loops,block=0x0,threads=2};" +
				"initial.3[0:1]@1{family=loops,block=0x0,threads=2}"},
		{"on a GPU", planned, lower.Options{Target: lower.GPU, NoInitial: true}, "block=16x16",
			"smooth[0:1]@1{family=cells,block=16x16};smooth[1:3]@1{family=cells,block=16x16};" +
				"line[0:1]@1{family=cells,block=256};line[1:2]@1{family=cells,block=256};" +
				"initial.2[0:1]@1{family=cells,block=16x16};initial.3[0:1]@1{family=cells,block=16x16}"},
	} {
		o := c.o
		o.Plan = plan(t, c.plan)
		p := load(t, "planned", c.text)
		got, err := lower.Plan(p, o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got.String() != c.want {
			t.Errorf("%s: the plan is\n%s, want\n%s", c.name, got, c.want)
		}
		again := c.o
		again.Plan = plan(t, got.String())
		fixed, err := lower.Plan(p, again)
		if err != nil || fixed.String() != got.String() {
			t.Errorf("%s: the plan\n%s leads to\n%s, %v", c.name, got, fixed, err)
		}
		first, err1 := lower.Program(p, o)
		second, err2 := lower.Program(p, again)
		if err1 != nil || err2 != nil || moduleText(first) != moduleText(second) {
			t.Errorf("%s: the complete plan makes other kernels: %v, %v", c.name, err1, err2)
		}
	}
}

func TestPlanErrors(t *testing.T) {
	for _, c := range []struct{ plan, want string }{
		{"thread=2", "plan: thread=2 fits no kernel: the family loops has no parameter thread; did you mean threads?"},
		{"threads=3",
			"plan: threads=3 fits no kernel: threads takes no value 3; it takes 1, 2, 4, 6, 8, 12 and 8 more"},
		{"block=4x4x64", "plan: block=4x4x64 fits no kernel: block takes no value 4x4x64; it takes 0x0, 0x64, 0x128, " +
			"0x256, 0x512, 0x1024, 0x2048, 0x4096, 0x8192, 0x16384, 1x0, 1x64 and 88 more"},
		{"threads=2,stream=j",
			"plan: stream=j fits no kernel: the family loops has no parameter stream; there is block, threads"},
		{"family=cells", "plan: family=cells fits no kernel: no family is called cells; there is loops"},
		{"family=lopps,threads=2", "plan: family=lopps fits no kernel: no family is called lopps; did you mean loops?"},
		{"smooth[0:2]@1{}", "plan: the program has no kernel smooth[0:2]; it has smooth[0:1], smooth[1:3], " +
			"line[0:1], line[1:2], initial.2[0:1], initial.3[0:1]"},
		{"smoth[0:1]@1{}", "plan: the program has no kernel smoth[0:1]; did you mean smooth[0:1] or smooth[1:3]?"},
		{"jacobi[0:1]@1{threads=2}", "plan: the program has no kernel jacobi[0:1]; it has smooth[0:1], smooth[1:3], " +
			"line[0:1], line[1:2], initial.2[0:1], initial.3[0:1]"},
		{"smooth[0:1]@2{}", "plan for smooth[0:1]: a depth of 2 is that of a loop, and smooth is a call; " +
			"the program has no time loop (iterate)"},
		{"smooth[0:1]@1{block=64}", "plan for smooth[0:1]: block takes no value 64; it takes 0x0, 0x64, 0x128, " +
			"0x256, 0x512, 0x1024, 0x2048, 0x4096, 0x8192, 0x16384, 1x0, 1x64 and 88 more"},
		{"smooth[0:1]@1{family=single}", "plan for smooth[0:1]: no family is called single; there is loops"},
		{"line[0:1]@1{threads=2,blocks=64}",
			"plan for line[0:1]: the family loops has no parameter blocks; did you mean block?"},
	} {
		_, err := lower.Program(load(t, "planned", planned), lower.Options{NoInitial: true, Plan: plan(t, c.plan)})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n%v, want\n%s", c.plan, err, c.want)
		}
	}
}

// Errors of plans for loops say what to write, and where the source forbids it.
func TestSpanPlanErrors(t *testing.T) {
	const looped = `parameter M = 64, N = 64; iterator j, i; double u[M,N], v[M,N], w[M,N], s; copyin u;
stencil f (o, u) { o[j][i] = u[j][i+4] + u[j-4][i]; }
stencil total (s, u) { reduce sum s = u[j][i]; }
iterate 9 { f (v, u); swap (u, v); }
iterate 9 { f (w, u); total (s, u); swap (u, w); }
copyout u, s;`
	for _, c := range []struct{ plan, want string }{
		{"bdy[0:2]@2{}",
			"plan: the program has no loop bdy; write body[0:2]@2{...} or body.2[0:3]@2{...}"},
		{"body[0:1]@2{}",
			"plan for body[0:1]@2: 2 iterations of body cannot share a kernel: 1 (a rotation) is in no kernel of so many " +
				"iterations"},
		{"f[0:1]@2{}",
			"plan for f[0:1]: a depth of 2 is that of a loop, and f is a call; write body[0:2]@2{...} or " +
				"body.2[0:3]@2{...}"},
		{"f[0:1]@1{};f[0:1]@2{}",
			"plan for f[0:1]: a depth of 2 is that of a loop, and f is a call; write body[0:2]@2{...} or " +
				"body.2[0:3]@2{...}"},
		{"body.2[0:3]@2{}",
			"plan for body.2[0:3]@2: 2 iterations of body.2 cannot share a kernel: s is reduced in every " +
				"iteration"},
		{"body[0:2]@100000{}",
			"plan for body[0:2]@100000: 100000 iterations of body cannot share a kernel: a kernel computes " +
				"4096 statements at most, those of all iterations counted"},
		{"body[0:2]@2{tile=3x3}",
			"plan for body[0:2]@2: tile takes no value 3x3; it takes 32x32, 16x64, 32x64, 64x64, 16x32, " +
				"8x32, 4x16"},
		{"body[0:2]@16{tile=64x64}",
			"plan for body[0:2]@16: the kernel body_16 takes 345856 bytes of shared memory a block, and a " +
				"block has 232448; tile=32x32 fits"},
		{"body[0:2]@400{tile=4x16}",
			"plan for body[0:2]@400: the kernel body_400 takes 61593088 bytes of shared memory a block, and " +
				"a block has 232448; body[0:2]@24 fits"},
	} {
		_, err := lower.Program(load(t, "looped", looped), lower.Options{Target: lower.GPU, Plan: plan(t, c.plan)})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n%v", c.plan, err)
		}
	}
	o := lower.Options{Target: lower.GPU, Plan: plan(t, "body[0:2]@2{}")}
	_, err := lower.Program(load(t, "planned", planned), o)
	if want := "plan: body[0:2]@2: the program has no time loop (iterate)"; err == nil || err.Error() != want {
		t.Error(err)
	}
}

// No kernel that a plan names twice is taken for another.
func TestPlanNamesAreUnique(t *testing.T) {
	got, err := lower.Plan(load(t, "planned", planned), lower.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, k := range got.Kernels {
		k.Config = schedule.Config{}
		if seen[k.String()] {
			t.Errorf("two kernels are %s", k)
		}
		seen[k.String()] = true
	}
}

// A loop may have kernels of several depths, the deepest first.
func TestSpansOfSeveralDepths(t *testing.T) {
	p := load(t, "depths", `parameter M = 64, N = 64; iterator j, i; double u[M,N], v[M,N]; copyin u;
stencil f (o, u) { o[j][i] = u[j][i+1] + u[j-1][i]; }
iterate 9 { f (v, u); swap (u, v); }
copyout u;`)
	text := "body[0:2]@2{family=overlap,tile=16x64};f[0:1]@1{family=cells};body[0:2]@4{family=overlap,tile=8x32}"
	o := lower.Options{Target: lower.GPU, Plan: plan(t, text)}
	m, err := lower.Program(p, o)
	if err != nil {
		t.Fatal(err)
	}
	var depths []int64
	for _, s := range m.Spans {
		depths = append(depths, s.Depth)
	}
	if !slices.Equal(depths, []int64{4, 2}) {
		t.Errorf("depths %v", depths)
	}
	full, err := lower.Plan(p, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"body[0:2]@2{family=overlap,block=256,tile=16x64",
		"body[0:2]@4{family=overlap,block=256,tile=8x32"} {
		if !strings.Contains(full.String(), want) {
			t.Errorf("%s is not in %s", want, full)
		}
	}
}
