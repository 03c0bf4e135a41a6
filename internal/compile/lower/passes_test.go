package lower_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// The list of passes is what it is known to be: who adds one says so here, with its
// forms.
func TestPasses(t *testing.T) {
	var got strings.Builder
	seen := map[string]bool{}
	for _, p := range lower.Passes() {
		fmt.Fprintf(&got, "%s: %s -> %s\n", p.Name, p.In, p.Out)
		if seen[p.Name] || p.Name == "all" || p.Doc == "" || p.For == "" {
			t.Errorf("%+v", p)
		}
		seen[p.Name] = true
	}
	want := `inline: call -> call
group: call -> statements
arrange: loop -> loop
span: call -> span
pipeline: span -> pipeline
fold: statements -> statements
build: statements -> kernel
decide: kernel -> kernel
constants: kernel -> kernel
copies: kernel -> kernel
branches: kernel -> kernel
trips: kernel -> kernel
copies-of-trips: kernel -> kernel
branches-of-trips: kernel -> kernel
hoist: kernel -> kernel
share: kernel -> kernel
copies-of-shared: kernel -> kernel
strides: kernel -> kernel
copies-of-strides: kernel -> kernel
dead: kernel -> kernel
single: kernel -> kernel
carry: kernel -> kernel
dead-of-carried: kernel -> kernel
roots: kernel -> kernel
reciprocals: kernel -> kernel
narrow: kernel -> kernel
names: kernel -> kernel
`
	if got.String() != want {
		t.Errorf("the passes are\n%s", got.String())
	}
}

const passed = `
parameter M = 8, N = 8;
iterator j, i;
double u[M,N], next[M,N];
copyin u;
stencil spread (out, in) {
  double flux[M,N];
  flux[j][i] = in[j][i+1] - in[j][i];
  out[j][i] = flux[j][i] + flux[j-1][i];
}
stencil sums (out, in) {
  out[j][i] = 3*in[j-1][i] + 3*in[j-1][i+1] + in[j+1][i];
}
iterate 2 { spread (next, u); sums (u, next); }
copyout u;
`

// passTexts are what passes on calls and groups make of the program above; passes
// on kernels have such a table in their package.
var passTexts = []struct{ pass, plan, before, after string }{
	{"inline", "local=fused", "", `; after inline of spread
(set out
  (over j i)
  (domain (j (lo 1) (hi M-1)) (i (lo 0) (hi N-2)))
  (add (sub (load in j i+1) (load in j i)) (sub (load in j-1 i+1) (load in j-1 i))))
`},
	{"group", "local=stored", "", `; after group of spread
spread[0:1]
  (set flux
`},
	{"arrange", "body[0:1]@1{};sums[0:1]@1{}", "", `; after arrange of body
body, 1 iteration: [0:1], 1 (sums)
`},
	{"span", "body[0:2]@2{}", "", `; after span of body[0:2]
body: 2 iterations over j, i
v0 = spread[0] of iteration 0: flux, local; reads in from u
`},
	{"pipeline", "body[0:2]@2{}", "", `; after pipeline of body[0:2]
0 spread[0]: flux, halo 4:2 0:3, kept
`},
	{"fold", "fold=yes", "group", `; after fold of sums[0:1]
(set out
  (over j i)
  (domain (j (lo 1) (hi M-2)) (i (lo 0) (hi N-2)))
  (add (mul (f64 3) (add (load in j-1 i) (load in j-1 i+1))) (load in j+1 i)))
`},
	{"build", "family=cells", "group", `; after build of sums[0:1]
(kernel sums
`},
}

// Every pass on calls and groups makes the text that it is known for of the text
// before.
func TestPassTexts(t *testing.T) {
	p := load(t, "passed", passed).In(arith.Fast)
	for _, c := range passTexts {
		o := lower.Options{Target: lower.GPU, Plan: plan(t, c.plan)}
		text := func(pass string) string {
			_, steps, err := lower.Trace(p, o, pass)
			if err != nil {
				t.Fatalf("%s: %v", pass, err)
			}
			var b strings.Builder
			for _, s := range steps {
				b.WriteString(s.String())
			}
			return b.String()
		}
		after := text(c.pass)
		if !strings.Contains(after, c.after) {
			t.Errorf("%s:\n%s\nwhere is wanted\n%s", c.pass, after, c.after)
		}
		if c.before != "" && strings.Contains(text(c.before), strings.SplitN(c.after, "\n", 2)[1]) {
			t.Errorf("%s changes nothing", c.pass)
		}
		// Without what asks for them, passes that are not for all do not run.
		plain := lower.Options{Target: lower.GPU, Plan: plan(t, "family=cells,local=stored")}
		_, steps, err := lower.Trace(p, plain, c.pass)
		if err != nil {
			t.Fatal(err)
		}
		always := c.pass == "group" || c.pass == "build"
		for _, s := range steps {
			if s.Ran != always ||
				!s.Ran && !strings.Contains(s.String(), c.pass+" does not run for "+s.Of+": it is for ") {
				t.Errorf("%+v", s)
			}
		}
	}
	for _, q := range lower.Passes() {
		onKernels := slices.ContainsFunc(kernel.Passes, func(k kernel.Pass) bool { return k.Name == q.Name })
		if !onKernels && !slices.ContainsFunc(passTexts,
			func(c struct{ pass, plan, before, after string }) bool { return c.pass == q.Name }) {
			t.Errorf("%s has no text", q.Name)
		}
	}
}

// What passes print is what they make: the last text is that of the kernel.
func TestTraceEndsWithTheKernel(t *testing.T) {
	p := load(t, "passed", passed)
	for _, target := range []lower.Target{lower.CPU, lower.GPU} {
		m, steps, err := lower.Trace(p, lower.Options{Target: target}, "all")
		if err != nil {
			t.Fatal(err)
		}
		texts := map[string]bool{}
		for _, s := range steps {
			if !s.Ran {
				t.Errorf("%s of %s did not run", s.Pass, s.Of)
			}
			if s.Pass == kernel.Passes[len(kernel.Passes)-1].Name {
				texts[s.Text] = true
			}
		}
		for _, k := range m.Kernels {
			if !texts[kernel.Text(k)] {
				t.Errorf("%s was not printed", k.Name)
			}
		}
		if usual, err := lower.Program(p, lower.Options{Target: target}); err != nil ||
			len(usual.Kernels) != len(m.Kernels) {
			t.Errorf("%v", err)
		}
	}
}

// An unknown name lists those that there are.
func TestUnknownPass(t *testing.T) {
	p := load(t, "passed", passed)
	for name, want := range map[string]string{
		"stride": "no pass is called stride; did you mean strides? Others are inline, ",
		"xyzzy":  "no pass is called xyzzy; they are inline, ",
	} {
		_, _, err := lower.Trace(p, lower.Options{}, name)
		if _, ok := errors.AsType[*lower.UnknownPass](err); !ok || !strings.HasPrefix(err.Error(), want) ||
			!strings.HasSuffix(err.Error(), "names, and all") {
			t.Errorf("%v", err)
		}
	}
}
