package gridloom_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridloom/gridloom"
	"github.com/gridloom/gridloom/internal/run/device/cuda/cudatest"
)

// The tests run on a pretended NVIDIA GPU where there is none.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Setenv("OMP_WAIT_POLICY", "passive")
	gridloom.WorkerMain()
	// What a pretended GPU runs is of no use to anybody else.
	cache, err := os.MkdirTemp("", "gridloom-test-*")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CACHE_HOME", cache)
	remove := func() {}
	if _, err := os.Stat("/dev/nvidiactl"); err != nil {
		if r, err := cudatest.Install(); err == nil {
			remove = r
		}
	}
	status := m.Run()
	remove()
	os.RemoveAll(cache)
	os.Exit(status)
}

const smooth = `
parameter N = 6;
iterator i;
double u[N], v[N];
double change;
boundary u : clamp;
copyin u;
copyout v, change;

stencil smooth (out, in) {
  out[i] = 0.25*in[i-1] + 0.5*in[i] + 0.25*in[i+1];
  reduce max change = abs(out[i] - in[i]);
}

smooth (v, u);
`

const heat = `
parameter N = 24, M = 40;
iterator j, i;
double u[N,M], next[N,M];
double a = 0.1;
boundary u, next : clamp;
copyin u;
copyout u;
stencil heat (out, in, a) { out[j][i] = in[j][i] + a*(in[j][i+1] + in[j][i-1] + in[j+1][i] + in[j-1][i] - 4*in[j][i]); }
iterate 5 { heat (next, u, a); swap (next, u); }`

func parsed(t *testing.T, text string) *gridloom.Program {
	t.Helper()
	p, err := gridloom.Parse("test.loom", text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func random(n int) []float64 {
	rng := rand.New(rand.NewPCG(7, 7))
	list := make([]float64, n)
	for i := range list {
		list[i] = rng.Float64() - 0.3
	}
	return list
}

// devices are those that tests run on; what a machine lacks is left out there, and said.
func devices(t *testing.T) []gridloom.Device {
	t.Helper()
	found, err := gridloom.Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []gridloom.Device
	for _, want := range []gridloom.Device{gridloom.CPU(), gridloom.CUDA(0), gridloom.OpenCL(0)} {
		usable := func(d gridloom.DeviceInfo) bool { return d.Device == want && d.Unusable == "" }
		if i := slices.IndexFunc(found, usable); i < 0 {
			t.Errorf("%v cannot be used here", want)
			continue
		}
		list = append(list, want)
	}
	return list
}

// Every path, from source text to a tuned library, on every device, and on the processor in every arithmetic: what that
// means on GPUs is tested where kernels are made.
// The exact modes leave no bit open.
func TestParseTuneRunEmit(t *testing.T) {
	p := parsed(t, heat)
	u := random(24 * 40)
	in := gridloom.RunOptions{In: map[string]gridloom.Data{"u": gridloom.Slice(u)}}
	for _, mode := range []gridloom.Arithmetic{gridloom.Strict, gridloom.Contract, gridloom.Fast} {
		right, err := p.Run(t.Context(), gridloom.Options{Device: gridloom.Reference(), Arithmetic: mode}, in)
		if err != nil {
			t.Fatal(err)
		}
		near := 0.0
		if mode == gridloom.Fast {
			near = 1e-12
		}
		agree := func(what string, got []float64) {
			t.Helper()
			want := right.Grids["u"].Float64()
			if len(got) != len(want) {
				t.Fatalf("%s: %d cells, want %d", what, len(got), len(want))
			}
			for i, v := range want {
				if !(math.Abs(got[i]-v) <= near*math.Abs(v)) {
					t.Fatalf("%s: cell %d is %v, want %v", what, i, got[i], v)
				}
			}
		}
		for _, d := range devices(t) {
			if mode != gridloom.Contract && d != gridloom.CPU() {
				continue
			}
			what := fmt.Sprintf("%v on %v", mode, d)
			o := gridloom.Options{Device: d, Arithmetic: mode}
			told := 0
			tuned, err := p.Tune(t.Context(), o, gridloom.TuneOptions{
				Strategy: "random", Seed: 3, Trials: 1, Progress: func(s gridloom.TuneProgress) { told = s.Trials },
			})
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			planned := len(tuned.Plans) >= 2 && tuned.Plan.String() != ""
			if tuned.Trials != 1 || told != 1 || tuned.Interrupted || tuned.Bound < 0 || !planned {
				t.Errorf("%s: %+v, told of %d", what, tuned, told)
			}
			for _, x := range tuned.Plans {
				if x.Time <= 0 || x.GStencils <= 0 {
					t.Errorf("%s: %+v", what, x)
				}
			}
			for _, plan := range []gridloom.Plan{{}, tuned.Plan} {
				o.Plan = plan
				c, err := p.Compile(t.Context(), o)
				if err != nil {
					t.Fatalf("%s, %v: %v", what, plan, err)
				}
				for range 2 { // it is kept, and runs again from the start
					r, err := c.Run(t.Context(), in)
					if err != nil {
						t.Fatalf("%s, %v: %v", what, plan, err)
					}
					agree(what, r.Grids["u"].Float64())
				}
				own := slices.Clone(u)
				r, err := c.Run(t.Context(), gridloom.RunOptions{
					In: map[string]gridloom.Data{"u": gridloom.Slice(own)}, InPlace: true,
				})
				if err != nil {
					t.Fatalf("%s, %v, in place: %v", what, plan, err)
				}
				agree(what+", in place", own)
				if got := r.Grids["u"].Float64(); &got[0] != &own[0] {
					t.Errorf("%s: the result in place is a copy", what)
				}
				c.Close()
			}
			files, err := p.Emit(gridloom.EmitOptions{
				Language: d.Language(), Arithmetic: mode, Plan: tuned.LibraryPlan,
			})
			if err != nil || len(files) < 5 {
				t.Errorf("%s: %d files: %v", what, len(files), err)
			}
		}
	}
}

// A program that was compiled once runs in many goroutines at the same time.
func TestCompiledSideBySide(t *testing.T) {
	p := parsed(t, smooth)
	c, err := p.Compile(t.Context(), gridloom.Options{Sizes: map[string]int{"N": 501}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.Shape("u"); !slices.Equal(got, []int{501}) || c.Shape("w") != nil {
		t.Errorf("the shape is %v", got)
	}
	if plan := c.Plan().String(); !strings.HasPrefix(plan, "smooth[0:2]@1{family=loops") {
		t.Errorf("the plan is %s", plan)
	}
	var wait sync.WaitGroup
	for k := range 6 {
		wait.Go(func() {
			u := random(501)
			for i := range u {
				u[i] *= float64(k + 1)
			}
			r, err := c.Run(t.Context(), gridloom.RunOptions{
				In: map[string]gridloom.Data{"u": gridloom.Slice(u)}, InPlace: k%2 == 0,
			})
			if err != nil {
				t.Error(err)
				return
			}
			v, change := r.Grids["v"].Float64(), 0.0
			for i := range v {
				want := math.FMA(0.25, u[min(i+1, 500)], math.FMA(0.5, u[i], 0.25*u[max(i-1, 0)]))
				if v[i] != want {
					t.Errorf("run %d: cell %d is %v, want %v", k, i, v[i], want)
					return
				}
				change = max(change, math.Abs(v[i]-u[i]))
			}
			if r.Scalars["change"] != change {
				t.Errorf("run %d: the change is %v, want %v", k, r.Scalars["change"], change)
			}
		})
	}
	wait.Wait()
}

// An execution can be looked at and changed between two advances, and gives the bits of one run.
func TestExecution(t *testing.T) {
	p := parsed(t, heat)
	u := random(24 * 40)
	in := gridloom.RunOptions{In: map[string]gridloom.Data{"u": gridloom.Slice(u)}}
	for _, d := range append(devices(t), gridloom.Reference()) {
		c, err := p.Compile(t.Context(), gridloom.Options{Device: d})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := c.Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		x, err := c.Start(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for step := int64(1); !x.Finished(); step++ {
			if err := x.Advance(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if got := x.Progress(); got.Iterations != step || got.Points != step*24*40 {
				t.Errorf("%v: after %d iterations %+v", d, step, got)
			}
			if step == 5 {
				break
			}
		}
		g, err := x.Grid("u")
		if err != nil {
			t.Fatal(err)
		}
		same := slices.Equal(g.Float64(), whole.Grids["u"].Float64())
		if !same || !slices.Equal(g.Shape, []int{24, 40}) || g.Type != "double" {
			t.Errorf("%v: pieces and the whole differ", d)
		}
		if a, err := x.Scalar("a"); a != 0.1 || err != nil {
			t.Errorf("%v: a is %v, %v", d, a, err)
		}
		if _, err := x.Grid("w"); err == nil {
			t.Error("there is a grid w")
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		c.Close()
	}
}

// A context that ends stops what is under way, and an execution goes on from there.
func TestCancel(t *testing.T) {
	p := parsed(t, strings.Replace(heat, "iterate 5", "iterate 100000000", 1))
	for _, inPlace := range []bool{false, true} {
		c, err := p.Compile(t.Context(), gridloom.Options{})
		if err != nil {
			t.Fatal(err)
		}
		x, err := c.Start(t.Context(), gridloom.RunOptions{InPlace: inPlace})
		if err != nil {
			t.Fatal(err)
		}
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
		if err := x.Advance(ctx, 0); err != why {
			t.Fatalf("in place %v: %v", inPlace, err)
		}
		at := x.Progress().Iterations
		if err := x.Advance(t.Context(), 2); err != nil || x.Progress().Iterations != at+2 || x.Finished() {
			t.Errorf("in place %v: %v, %d after %d", inPlace, err, x.Progress().Iterations, at)
		}
		x.Close()
		c.Close()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Run(ended, gridloom.Options{}, gridloom.RunOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := p.Tune(ended, gridloom.Options{}, gridloom.TuneOptions{Trials: 1}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Grids of every type go in and out, in place or not.
func TestTypes(t *testing.T) {
	p := parsed(t, `
parameter N = 5;
iterator i;
double d[N]; float f[N]; int n[N]; byte b[N]; bool q[N];
double scale = 1; int more = 1; bool flip = false;
copyin d, f, n, b, q;
copyout d, f, n, b, q;
stencil s () {
  d[i] = scale*d[i]; f[i] = 2*f[i]; n[i] += more; b[i] += 3; q[i] = flip != q[i];
}
s ();
`)
	for _, inPlace := range []bool{false, true} {
		d, f := []float64{1, 2, 3, 4, 5}, []float32{1, 2, 3, 4, 5}
		n, b, q := []int32{1, -2, 3, -4, 5}, []uint8{1, 2, 3, 4, 254}, []bool{true, false, true, true, false}
		o := gridloom.Options{Scalars: map[string]float64{"scale": 0.5, "more": -7, "flip": 1}}
		r, err := p.Run(t.Context(), o, gridloom.RunOptions{
			InPlace: inPlace, In: map[string]gridloom.Data{
				"d": gridloom.Slice(d), "f": gridloom.Slice(f), "n": gridloom.Slice(n),
				"b": gridloom.Slice(b), "q": gridloom.Slice(q),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(r.Grids["d"].Float64(), r.Grids["f"].Float32(),
			r.Grids["n"].Int32(), r.Grids["b"].Bytes(), r.Grids["q"].Bytes())
		const want = "[0.5 1 1.5 2 2.5] [2 4 6 8 10] [-6 -9 -4 -11 -2] [4 5 6 7 1] [0 1 0 0 1]"
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if inPlace != (d[0] == 0.5 && q[0] == false && n[4] == -2) {
			t.Errorf("in place %v: %v %v %v", inPlace, d, n, q)
		}
		wrong := r.Grids["d"].Float32() != nil || r.Grids["f"].Float64() != nil
		if wrong || r.Grids["n"].Bytes() != nil || r.Grids["b"].Int32() != nil {
			t.Error("cells of another type are not nil")
		}
	}
}

func TestMistakes(t *testing.T) {
	_, err := gridloom.Parse("bad.loom", "parameter N = 4;\niterator i;\ndouble u[N];\ncopyin w;\n")
	var source *gridloom.SourceError
	if !errors.As(err, &source) || len(source.Diagnostics) == 0 {
		t.Fatalf("a misspelt name: %v", err)
	}
	if !strings.HasPrefix(err.Error(), "bad.loom:4:8: error:") {
		t.Errorf("a misspelt name: %v", err)
	}
	p := parsed(t, smooth)
	plan := func(text string) gridloom.Plan {
		x, err := gridloom.ParsePlan(text)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	in := func(name string, d gridloom.Data) gridloom.RunOptions {
		return gridloom.RunOptions{In: map[string]gridloom.Data{name: d}}
	}
	type o = gridloom.Options
	type r = gridloom.RunOptions
	for _, c := range []struct {
		o    o
		r    r
		want string
	}{
		{o{Sizes: map[string]int{"M": 3}}, r{}, "the program has no parameter or scalar called M"},
		{o{Sizes: map[string]int{"N": -3}}, r{}, "gridloom: N"},
		{o{Scalars: map[string]float64{"N": 2.5}}, r{}, "N"},
		{o{Sizes: map[string]int{"N": 3}, Scalars: map[string]float64{"N": 3}}, r{},
			"gridloom: N is among the sizes and among the scalars"},
		{o{}, in("u", gridloom.Slice([]float64{1})), "gridloom: u has [6] cells, and 1 values were given"},
		{o{}, in("u", gridloom.Slice([]float32{1})),
			"gridloom: u is a double grid and cannot take cells of type float"},
		{o{}, in("w", gridloom.Slice([]float64{1})), "gridloom: the program has no grid w"},
		{o{}, r{Iterations: -1}, "gridloom: -1 iterations cannot be run"},
		{o{Plan: plan("threads=-4")}, r{}, "gridloom: plan: "},
		{o{Device: gridloom.CUDA(99)}, r{}, "gridloom: device cuda:99: "},
		{o{Device: gridloom.OpenCL(99)}, r{}, "gridloom: device opencl:99: "},
		{o{Device: gridloom.Reference()}, r{InPlace: true}, "gridloom: the reference executor does not work in place"},
		{o{Device: gridloom.Reference(), Plan: plan("threads=1")}, r{},
			"gridloom: a plan has no meaning on the reference executor"},
	} {
		_, err := p.Run(t.Context(), c.o, c.r)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v %+v: %v, want %s", c.o, c.r, err, c.want)
		}
	}
	for _, c := range []struct {
		o    o
		t    gridloom.TuneOptions
		want string
	}{
		{o{}, gridloom.TuneOptions{Trials: -1}, "neither can be negative"},
		{o{Sizes: map[string]int{"K": 3}}, gridloom.TuneOptions{}, "K"},
		{o{}, gridloom.TuneOptions{Strategy: "hope", Trials: 1}, "hope"},
		{o{Device: gridloom.Reference()}, gridloom.TuneOptions{Trials: 1},
			"nothing can be tuned on the reference executor"},
	} {
		if _, err := p.Tune(t.Context(), c.o, c.t); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v %+v: %v, want %s", c.o, c.t, err, c.want)
		}
	}
	if _, err := gridloom.ParsePlan("threads"); err == nil || !strings.Contains(err.Error(), "name=value") {
		t.Error(err)
	}
	if _, err := gridloom.ParseArithmetic("loose"); err == nil || !strings.Contains(err.Error(), "loose") {
		t.Error(err)
	}
	if _, err := gridloom.ParseDevice("abacus"); err == nil || !strings.Contains(err.Error(), "abacus") {
		t.Error(err)
	}
	_, err = p.Emit(gridloom.EmitOptions{Coefficients: map[string]float64{"change": 1}})
	if err == nil || !strings.Contains(err.Error(), "not a coefficient") {
		t.Error(err)
	}
}

// Names of devices and modes parse back.
func TestNames(t *testing.T) {
	for _, d := range []gridloom.Device{
		gridloom.CPU(), gridloom.CUDA(3), gridloom.OpenCL(0), gridloom.Reference(), gridloom.Auto(),
	} {
		if got, err := gridloom.ParseDevice(d.String()); err != nil || got.String() != d.String() {
			t.Errorf("%v parses as %v, %v", d, got, err)
		}
	}
	for _, a := range []gridloom.Arithmetic{gridloom.Contract, gridloom.Strict, gridloom.Fast} {
		if got, err := gridloom.ParseArithmetic(a.String()); err != nil || got != a {
			t.Errorf("%v parses as %v, %v", a, got, err)
		}
	}
}

func TestEmit(t *testing.T) {
	p := parsed(t, smooth)
	for language, want := range map[gridloom.Language]string{
		gridloom.LanguageC:      "#pragma omp",
		gridloom.LanguageCUDA:   "static __global__ ",
		gridloom.LanguageOpenCL: "clBuildProgram",
	} {
		files, err := p.Emit(gridloom.EmitOptions{Language: language})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range files {
			names = append(names, f.Name)
		}
		const first = "test_stencil.h test_stencil.c"
		const last = " CMakeLists.txt test_stencil.py test_stencil.f90 README.md"
		if got := strings.Join(names, " "); !strings.HasPrefix(got, first) || !strings.HasSuffix(got, last) {
			t.Errorf("%v: files %s", language, got)
		}
		if !strings.Contains(files[1].Text, want) {
			t.Errorf("%v: no %q in %s", language, want, files[1].Text)
		}
	}
}

// A plan that only fast arithmetic allows is one for Emit, too.
func TestFastPlansAreTaken(t *testing.T) {
	p := parsed(t, "parameter N = 40;\niterator i;\ndouble u[N], v[N], r = 0.5;\ncopyin u; copyout v;\n"+
		"stencil s () { v[i] = r*u[i-1] + r*u[i+1]; }\ns ();")
	fold, err := gridloom.ParsePlan("fold=yes")
	if err != nil {
		t.Fatal(err)
	}
	const unfit = "fold=yes fits no kernel"
	for mode, want := range map[gridloom.Arithmetic]string{
		gridloom.Fast: "", gridloom.Contract: unfit, gridloom.Strict: unfit,
	} {
		_, err := p.Emit(gridloom.EmitOptions{Language: gridloom.LanguageCUDA, Arithmetic: mode, Plan: fold})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", mode, err, want)
		}
	}
}
