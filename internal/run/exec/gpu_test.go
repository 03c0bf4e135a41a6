package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// forGPU lowers and compiles a program in strict arithmetic for the first GPU, by a plan.
func forGPU(t *testing.T, b *ir.Binding, plan ...string) (*kernel.Module, string) {
	t.Helper()
	gpus, err := cuda.GPUs()
	if err != nil {
		t.Skip(err)
	}
	compiler, err := cuda.FindCompiler()
	if err != nil {
		t.Skip(err)
	}
	parsed, err := schedule.ParsePlan(strings.Join(plan, ";"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := lower.Program(b.Program, lower.Options{Target: lower.GPU, Bound: b, Plan: parsed})
	if err != nil {
		t.Fatal(err)
	}
	source := emit.Source(emit.CUDA, m)
	if image, ok := gpuImages[source]; ok {
		return m, image
	}
	builder := &cuda.Builder{Compiler: compiler, Arch: gpus[0].Arch(), Arithmetic: arith.Strict, Dir: gpuDir}
	image, err := builder.Build(context.Background(), []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	gpuImages[source] = image
	return m, image
}

// gpuImages are what was compiled already, in gpuDir, by source.
var (
	gpuImages = map[string]string{}
	gpuDir    string
)

func openModule(t *testing.T, m *kernel.Module, b *ir.Binding, o Options) *Remote {
	t.Helper()
	o.Device = cuda.ID(0)
	r, err := Open(context.Background(), m, b, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// steps counts: loops in loops of known length, grids that rotate by three, the
// step of either loop.
const steps3 = `
parameter N = 12;
iterator i;
int a[N], b[N], c[N];
boundary a, b, c : periodic;
initial { a[i] = i; b[i] = 3*i; c[i] = 5*i; }
stencil s (out, in, t) { out[i] = (2*in[i-1] + 3*in[i+1] + t) % 10007; }
iterate 7 { iterate 2 { s (b, a, step); rotate (a, b, c); } s (c, a, step); swap (a, c); }
iterate 23 { s (b, a, step); swap (a, b); }
iterate 2 { s (b, a, 1); swap (a, b); }
copyout a, b, c;
`

// A GPU gives the reference's bits, whatever the pieces that it goes in and
// however long its graphs.
func TestGPUAgrees(t *testing.T) {
	for _, test := range append(programs[:2:2], struct{ name, text string }{"steps", steps3}) {
		b := program(t, test.text)
		m, image := forGPU(t, b)
		ref := initialised(t, openReference(t, b))
		p := advanced(t, ref, Limit{})
		want := contents(t, ref, b.Program)
		for _, eager := range []int64{0, 2, 7} {
			for _, limit := range []Limit{{}, {Leaves: 7}, {Iterations: 2}} {
				r := initialised(t, openModule(t, m, b, Options{Image: image, eager: eager}))
				var q Progress
				for !q.Finished {
					q = advanced(t, r, limit)
				}
				if q.Iterations != p.Iterations || q.Leaves != p.Leaves || q.Points != p.Points {
					t.Errorf("%s %d: ends with %+v, the reference with %+v", test.name, eager, q, p)
				}
				if eager > 1 && limit == (Limit{}) && (q.Graphs == 0 || q.Launches < q.Graphs) {
					t.Errorf("%s %d: %d launches by %d graphs", test.name, eager, q.Launches, q.Graphs)
				}
				same(t, fmt.Sprintf("%s %d %+v", test.name, eager, limit), contents(t, r, b.Program), want)
			}
		}
	}
}

// Launches that are short enough are put in graphs without being asked to, and
// the same number of them is made.
func TestGraphsComeByThemselves(t *testing.T) {
	b := program(t, heat, "T=30000", "N=5")
	m, image := forGPU(t, b)
	var bits [2]map[string][]byte
	for i, o := range []Options{{Image: image}, {Image: image, NoGraphs: true}} {
		r := initialised(t, openModule(t, m, b, o))
		p := advanced(t, r, Limit{})
		if p.Launches != 30000 || (p.Graphs > 10) != (i == 0) {
			t.Errorf("%d launches by %d graphs", p.Launches, p.Graphs)
		}
		bits[i] = contents(t, r, b.Program)
	}
	same(t, "with and without graphs", bits[0], bits[1])
}

// onPretended skips a test that a real GPU cannot be made to fail.
func onPretended(t *testing.T) {
	t.Helper()
	if !pretended {
		t.Skip("no pretended GPU")
	}
}

// What a GPU cannot run is known before anything is compiled.
func TestFitsGPU(t *testing.T) {
	b := program(t, heat, "N=100")
	m, err := lower.Program(b.Program, lower.Options{Target: lower.GPU, Bound: b})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewScript(m, b)
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(2*100*100*8 + 100*8); s.DeviceBytes() != want {
		t.Errorf("%d bytes, want %d", s.DeviceBytes(), want)
	}
	gpu := cuda.GPU{Name: "X", Memory: 1 << 20, Limits: cuda.Limits{Threads: 1024, Block: [3]int64{1024, 1024, 64},
		Grid: [3]int64{1 << 31, 65535, 65535}}}
	for _, test := range []struct {
		change func(g *cuda.GPU)
		want   string
		why    verdict.Verdict
	}{
		{func(*cuda.GPU) {}, "", verdict.OK},
		{func(g *cuda.GPU) { g.Memory = 100000 }, "this needs 157.0 KiB of device memory, and cuda:0 (X) has 97.7 KiB",
			verdict.OK},
		{func(g *cuda.GPU) { g.Limits.Threads = 128 },
			"the kernel heat has 256 threads a block, and X runs 128 at most", verdict.Resources},
		{func(g *cuda.GPU) { g.Limits.Grid[1] = 12 }, "the kernel heat needs 13 blocks on y, and X launches 12 at most",
			verdict.Resources},
	} {
		g := gpu
		test.change(&g)
		if err := s.Fits(target.Of(&cuda.Kind, 0, g.Properties(), target.Options{})); message(err) != test.want ||
			verdict.Of(err) != test.why {
			t.Errorf("%v (%s), want %s", err, verdict.Of(err), test.want)
		}
	}
}

// Kernels are known with what they take.
func TestUsage(t *testing.T) {
	onPretended(t)
	b := program(t, heat)
	m, image := forGPU(t, b)
	r := openModule(t, m, b, Options{Image: image})
	want := KernelUsage{"heat", 256, device.Usage{Registers: 32, MaxThreads: 1024, Blocks: 8}}
	if got := r.Usage(); len(got) != 1 || got[0] != want {
		t.Errorf("%+v", got)
	}
	if got := openCPU(t, b, Options{}).Usage(); got != nil {
		t.Errorf("%+v", got)
	}
}

// A driver that has no graphs is as good as any.
func TestGraphsRefused(t *testing.T) {
	onPretended(t)
	t.Setenv("CUDATEST_NO_GRAPHS", "1")
	b := program(t, heat)
	m, image := forGPU(t, b)
	r := initialised(t, openModule(t, m, b, Options{Image: image, eager: 2}))
	if p := advanced(t, r, Limit{}); !p.Finished || p.Graphs != 0 {
		t.Errorf("%+v", p)
	}
}

// A run with graphs hears an interrupt, and goes on from there.
func TestInterruptOfGraphs(t *testing.T) {
	b := program(t, heat, "T=100000000", "N=5")
	m, image := forGPU(t, b)
	r := openModule(t, m, b, Options{Image: image, eager: 2})
	initialised(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	var seen atomic.Int64
	r.opts.Interval = 5 * time.Millisecond
	r.opts.Progress = func(p Progress) {
		if seen.Store(p.Iterations); p.Graphs > 3 {
			cancel()
		}
	}
	time.AfterFunc(10*time.Second, cancel)
	p, err := r.Advance(ctx, Limit{})
	if err != nil || !p.Stopped || p.Graphs < 3 || seen.Load() == 0 {
		t.Fatalf("%+v %v", p, err)
	}
	if q := advanced(t, r, Limit{Iterations: 10}); q.Iterations != p.Iterations+10 {
		t.Errorf("%+v after %+v", q, p)
	}
}

// What goes wrong on the way ends the worker, and says what ran.
func TestGPUFailures(t *testing.T) {
	onPretended(t)
	b := program(t, heat, "N=5", "T=9")
	m, image := forGPU(t, b)
	const threads = "256"
	for _, test := range []struct {
		env   string
		eager int64
		want  string
	}{
		{"CUDATEST_WILD", 0,
			"kernel heat failed after 0 iterations: the GPU did not finish its work (the kernel launched last is " +
				"heat): cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700): " +
				"an illegal memory access was encountered; a kernel accessed memory outside its arrays; this process " +
				"can no longer use the GPU"},
		{"CUDATEST_WILD", 4,
			"kernel heat, or one launched together with it, failed after 0 iterations: the GPU did not finish its work"},
		{"CUDATEST_HANG", 0, "kernel heat failed after 0 iterations: it took longer than 200ms"},
		{"CUDATEST_HANG", 4,
			"kernel heat, or one launched together with it, failed after 0 iterations: it took longer than 200ms"},
	} {
		t.Setenv(test.env, threads)
		r := initialised(t, openModule(t, m, b, Options{Image: image, eager: test.eager,
			Deadline: 200 * time.Millisecond}))
		_, err := r.Advance(t.Context(), Limit{})
		if f, ok := errors.AsType[*Failure](err); !ok || !strings.HasPrefix(err.Error(), test.want) ||
			f.Kernel != "heat" {
			t.Errorf("%v\nwant %s", err, test.want)
		}
		if d, ok := errors.AsType[*worker.Death](err); ok != (test.env == "CUDATEST_HANG") {
			t.Errorf("%v", d)
		}
		os.Unsetenv(test.env)
	}
}

// What the driver refuses before anything runs.
func TestGPURefuses(t *testing.T) {
	onPretended(t)
	b := program(t, heat, "N=400")
	m, image := forGPU(t, b)
	for _, test := range []struct {
		env, value string
		want       string
		why        verdict.Verdict
	}{
		{"CUDATEST_BUSY", "1",
			"the GPU cuda:0 cannot be opened: cuDevicePrimaryCtxRetain: CUDA_ERROR_DEVICE_UNAVAILABLE (46): " +
				"CUDA-capable device(s) is/are busy or unavailable; " +
				"another program has the GPU for itself, or it is in compute mode Prohibited", verdict.OK},
		{"CUDATEST_MEMORY", "2000000",
			"1.2 MiB of GPU memory cannot be had, 703.1 KiB of 1.9 MiB are free: cuMemAlloc: " +
				"CUDA_ERROR_OUT_OF_MEMORY (2): out of memory; " +
				"the grids are too large for this GPU, or other programs use it (nvidia-smi lists them)", verdict.OK},
		{"CUDATEST_OLD_DRIVER", "1",
			"cuModuleLoadData: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222): the provided PTX was compiled with an " +
				"unsupported toolchain.; " +
				"NVRTC is newer than the driver: update the driver, or name an older NVRTC with GRIDLOOM_NVRTC",
			verdict.Launch},
		{"CUDATEST_NO_DEVICE", "1", "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected; " +
			"no GPU is visible: see nvidia-smi and the environment variable CUDA_VISIBLE_DEVICES", verdict.OK},
	} {
		t.Setenv(test.env, test.value)
		_, err := Open(t.Context(), m, b, Options{Device: cuda.ID(0), Image: image})
		if err == nil || !strings.HasSuffix(err.Error(), test.want) || verdict.Of(err) != test.why {
			t.Errorf("%v (%s)\nwant %s", err, verdict.Of(err), test.want)
		}
		os.Unsetenv(test.env)
	}
}
