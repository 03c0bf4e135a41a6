package tuner

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/worker"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

func TestMain(m *testing.M) {
	worker.Main(append(target.Services(), measure.Service)...)
	os.Exit(m.Run())
}

// openLab opens a Lab on an OpenCL device.
func openLab(t *testing.T) measure.Lab {
	t.Helper()
	if _, err := opencl.Devices(); err != nil {
		t.Skipf("no OpenCL device: %v", err)
	}
	cache, err := toolchain.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cache.Close() })
	at, err := target.Open("opencl:0", target.Options{
		Arithmetic: arith.Contract, CompilerOptions: measure.Compilers(cache, 1),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(at.Close)
	lab, err := measure.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	return lab
}

// checkSpan checks so many iterations of the last loop of a program in one kernel of the family overlap on a
// device. Spoil changes the code before.
func checkSpan(t *testing.T, lab measure.Lab, b *ir.Binding, depth int64, tile string,
	options func(*lower.Options), spoil func(*measure.Code)) (measure.Agreement, error) {
	t.Helper()
	o := Options{Bound: b, Lab: lab, Clock: time.Now}
	s, err := newSubject(b, lab, false)
	if err != nil {
		t.Fatal(err)
	}
	tn := &tuning{subject: s, opts: o, clock: time.Now, result: &Result{}, iterations: map[string]*tunedCall{}}
	tn.queue = newCompileQueue(t.Context(), lab, time.Now)
	if err := lab.Arrange(t.Context(), measure.NewSetting("full", b)); err != nil {
		t.Fatal(err)
	}
	loop := s.loops[len(s.loops)-1]
	after, err := loop.after(depth)
	if err != nil {
		t.Fatal(err)
	}
	call := loop.span(s, depth, after)
	if err := tn.prepareIterations(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if err := tn.expect(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if options != nil {
		options(&s.options)
	}
	kernel := loop.kernel(depth, plan(t, "family=overlap,block=32,tile="+tile).Every)
	p := tn.plainPlan()
	p.Kernels = append(p.Kernels, kernel)
	v, err := call.lowered(call.bound, p)
	if err != nil {
		t.Fatal(err)
	}
	made, err := lab.Compile(t.Context(), v.text())
	if err != nil {
		t.Fatal(err)
	}
	v.code.Image = made.Image
	if spoil != nil {
		spoil(&v.code)
	}
	trial, err := lab.Try(t.Context(), v.code, call.margins, measure.Rule{Least: time.Microsecond, Batches: 2},
		firstTrialLimit)
	if err == nil && len(trial.Times) == 0 {
		t.Error("it was not timed")
	}
	return trial.Agreement, err
}

// spanned are programs whose last loop is measured by several iterations in a kernel, with the cells that a
// check compares.
var spanned = []struct {
	name, source string
	cells        int64
}{
	{"two grids in turn", `parameter M = 40, N = 50;
iterator j, i;
double u[M,N], next[M,N];
stencil five (out, in) { out[j][i] = 0.24*in[j][i-1] + 0.26*in[j][i+1] + 0.23*in[j-1][i] + 0.27*in[j+1][i]; }
iterate 20 { five (next, u); swap (next, u); }
`, 2 * 40 * 50},
	{"three grids in turn, and the step", `parameter M = 40, N = 50;
iterator j, i;
float p[M,N], u[M,N], n[M,N], c[M,N];
boundary p, u, n : clamp;
stencil wave (n, u, p, c) {
  n[j][i] = 1.5*u[j][i] - 0.5*p[j][i] + 0.1*c[j][i]*(u[j][i+1] + u[j][i-1] - 2*u[j][i]) + 0.01*step;
}
iterate 20 { wave (n, u, p, c); rotate (p, u, n); }
`, 3 * 40 * 50},
	{"in place, in two colours", `parameter M = 40, N = 50;
iterator j, i;
double u[M,N], f[M,N];
stencil half (u, f) {
  color (j+i) % 2 == 0 : u[j][i] = 0.2*(u[j][i+1] + u[j][i-1] + u[j+1][i] + u[j-1][i]) + 0.1*f[j][i];
  color (j+i) % 2 == 1 : u[j][i] = 0.2*(u[j][i+1] + u[j][i-1] + u[j+1][i] + u[j-1][i]) - 0.1*f[j][i];
}
iterate 20 { half (u, f); }
`, 40 * 50},
	{"the second of two loops, within another, beside other calls", `parameter N = 300;
iterator i;
double u[N], v[N], w[N];
boundary u, v, w : periodic;
stencil first (out, in) { out[i] = 0.5*in[i-1] + 0.5*in[i+1]; }
stencil s (out, in) { out[i] = 0.4*in[i-3] + 0.25*in[i] + 0.35*in[i+2]; }
stencil add (out, in, w) { [1:N-2] : out[i] = in[i+1]*0.7 + w[i]*0.3; }
iterate 3 {
  first (w, u);
  iterate 9 { first (v, w); swap (v, w); }
  iterate 20 { s (v, u); add (u, v, w); }
}
`, 2 * 300},
}

// Several iterations in a kernel are compared at every cell of every grid that the loop writes.
func TestSpansAreChecked(t *testing.T) {
	lab := openLab(t)
	for _, c := range spanned {
		for depth := int64(2); depth <= 3; depth++ {
			tile := "8x32"
			if c.name == spanned[3].name {
				tile = "32"
			}
			a, err := checkSpan(t, lab, program(t, c.source), depth, tile, nil, nil)
			if err != nil || a.Cells != c.cells || a.NaNs > 0 {
				t.Errorf("%s, depth %d: %+v, %v", c.name, depth, a, err)
			}
		}
	}
}

// Kernels that are wrong in some cells are found out, and so is memory that is not where it should be.
func TestSpoiltSpans(t *testing.T) {
	lab := openLab(t)
	b := program(t, spanned[0].source)
	for _, c := range []struct {
		name    string
		options func(*lower.Options)
		code    func(*measure.Code)
	}{
		{"a halo that is too narrow", func(o *lower.Options) {
			o.Spoil = func(p *pipeline.Pipeline) { p.Stages[0].Halo[1].High-- }
		}, nil},
		{"rims that come from elsewhere", func(o *lower.Options) {
			o.Spoil = func(p *pipeline.Pipeline) {
				last := p.Stages[len(p.Stages)-1].Value
				last.Before = p.Stages[0].Value
			}
		}, nil},
		{"a second span that reads what the first has read", nil, func(c *measure.Code) {
			c.Launches[1].Args = c.Launches[0].Args
		}},
		{"grids that have changed places", nil, func(c *measure.Code) {
			c.Holds = slices.Clone(c.Holds)
			c.Holds[0], c.Holds[1] = c.Holds[1], c.Holds[0]
		}},
		{"an iteration too few", nil, func(c *measure.Code) { c.Launches = c.Launches[:len(c.Launches)-1] }},
	} {
		_, err := checkSpan(t, lab, b, 2, "8x32", c.options, c.code)
		if _, wrong := errors.AsType[*measure.Mismatch](err); !wrong {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
