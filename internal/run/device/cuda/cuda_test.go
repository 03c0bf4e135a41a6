package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cuda/cudatest"
	"github.com/gridloom/gridloom/internal/run/worker"
)

var pretended error // why there is no pretended GPU

// The tests use a pretended GPU; with GRIDLOOM_REAL_GPU set, the first real one,
// on which those fail that know the pretended one's limits and words.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	worker.Main(CompileService)
	os.Setenv("CUDATEST_CLUSTERS", "1")
	if os.Getenv("GRIDLOOM_REAL_GPU") != "" {
		os.Exit(m.Run())
	}
	remove, err := cudatest.Install()
	status := 0
	if err != nil {
		pretended = err
		remove = func() {}
	}
	status = m.Run()
	remove()
	os.Exit(status)
}

// open returns the pretended GPU.
func open(t testing.TB) *Device {
	t.Helper()
	if pretended != nil {
		if _, err := exec.LookPath("c++"); err != nil {
			t.Skip("no C++ compiler")
		}
		t.Fatal(pretended)
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	d, err := Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// load compiles a source and loads it through files, as the time loop does.
func load(t testing.TB, d *Device, a arith.Mode, source string) *Library {
	t.Helper()
	c, err := FindCompiler()
	if err != nil {
		t.Fatal(err)
	}
	b := &Builder{Compiler: c, Arch: d.GPU.Arch(), Arithmetic: a, Dir: t.TempDir()}
	image, err := b.Build(context.Background(), []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	l, err := d.Load(image)
	if err != nil {
		t.Fatal(err)
	}
	return l.(*Library)
}

const scale = `
extern "C" __global__ void scale(double *__restrict__ out, const double *__restrict__ in, int64_t n, double a)
{
    const int64_t i = blockIdx.x * 32 + threadIdx.x;
    if (i < n)
        out[i] = a * in[i];
}
extern "C" __global__ void wild_store(double *out) { out[-1] = 0; }
extern "C" __global__ void fat_one(double *out) { out[0] = 0; }
`

func geometry(blocks, threads int64) kernel.Geometry {
	return kernel.Geometry{Blocks: [3]int64{blocks, 1, 1}, Threads: [3]int64{threads, 1, 1}}
}

func doubles(values ...float64) ([]float64, []byte) {
	return values, unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), 8*len(values))
}

func slotOf(t testing.TB, b device.Buffer, err error) *device.Slot {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return &device.Slot{Buffer: b}
}

func valueOf(v op.Value) *device.Value {
	var a device.Value
	a.Set(v)
	return &a
}

// A launch is prepared once; its buffers and values change under it.
func TestRotation(t *testing.T) {
	d := open(t)
	l := load(t, d, arith.Strict, scale)
	u, ub := doubles(1, 2, 3)
	v, vb := doubles(0, 0, 0)
	ubuf, err := d.Share(ub)
	x := slotOf(t, ubuf, err)
	vbuf, err := d.Copy(vb)
	y := slotOf(t, vbuf, err)
	a := valueOf(op.Float(types.F64, 10))
	c, err := l.PrepareGrid("scale", geometry(1, 32), []device.Arg{y, x, valueOf(op.Int(types.I64, 3)), a})
	if err != nil {
		t.Fatal(err)
	}
	do := func(steps ...func() error) {
		t.Helper()
		for _, f := range steps {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		}
	}
	do(ubuf.Push, c.Launch, vbuf.Pull)
	if !slices.Equal(v, []float64{10, 20, 30}) {
		t.Errorf("%v", v)
	}
	x.Buffer, y.Buffer = y.Buffer, x.Buffer
	a.Set(op.Float(types.F64, -1))
	do(c.Launch, ubuf.Pull, d.Sync)
	if !slices.Equal(u, []float64{-10, -20, -30}) {
		t.Errorf("%v", u)
	}
	if n := testing.AllocsPerRun(100, func() { c.Launch() }); n != 0 {
		t.Errorf("a launch allocates %v times", n)
	}
}

func TestMemory(t *testing.T) {
	d := open(t)
	before, total, err := d.Memory()
	if err != nil || total != cudatest.Memory {
		t.Fatal(total, err)
	}
	zeros, err := d.Alloc(4)
	if err != nil {
		t.Fatal(err)
	}
	got := []byte{1, 2, 3, 4}
	if err := zeros.(*Buffer).Read(0, got); err != nil || !slices.Equal(got, []byte{0, 0, 0, 0}) {
		t.Error(got, err)
	}
	b := zeros.(*Buffer)
	if err := b.Write(1, []byte{7, 8}); err != nil {
		t.Error(err)
	}
	other, err := d.Alloc(3)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.(*Buffer).CopyFrom(b); err != nil {
		t.Error(err)
	}
	if err := other.(*Buffer).Read(1, got[:2]); err != nil || got[0] != 7 || got[1] != 8 {
		t.Error(got, err)
	}
	for _, err := range []error{b.Write(3, []byte{1, 2}), b.Read(-1, got[:1]), b.Read(0, make([]byte, 5))} {
		if err == nil {
			t.Error("an access outside the buffer")
		}
	}
	empty, err := d.Alloc(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := empty.Push(); err != nil {
		t.Error(err)
	}
	for _, b := range []device.Buffer{zeros, other, empty} {
		if err := b.(*Buffer).Free(); err != nil {
			t.Error(err)
		}
	}
	if after, _, _ := d.Memory(); after != before {
		t.Errorf("%d bytes were free, now %d", before, after)
	}
	_, err = d.Alloc(2 << 30)
	want := "2.0 GiB of GPU memory cannot be had, 1.0 GiB of 1.0 GiB are free: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY " +
		"(2): out of memory; " +
		"the grids are too large for this GPU, or other programs use it (nvidia-smi lists them)"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// Fused multiply-adds are for the modes that allow them.
func TestArithmetic(t *testing.T) {
	flags, _ := os.ReadFile("/proc/cpuinfo")
	const source = `extern "C" __global__ void fused(double *x) { x[0] = x[1] - x[2] * x[2]; }`
	const eps = 0x1p-30
	for _, mode := range []arith.Mode{arith.Strict, arith.Contract, arith.Fast} {
		t.Run(mode.String(), func(t *testing.T) {
			d := open(t)
			l := load(t, d, mode, source)
			x, b := doubles(0, (1+eps)*(1+eps), 1+eps)
			buf, err := d.Share(b)
			s := slotOf(t, buf, err)
			c, err := l.PrepareGrid("fused", geometry(1, 1), []device.Arg{s})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range []func() error{buf.Push, c.Launch, buf.Pull} {
				if err := f(); err != nil {
					t.Fatal(err)
				}
			}
			fuses := mode == arith.Fast && (strings.Contains(string(flags), " fma ") || runtime.GOARCH == "arm64")
			if fused := x[0] != 0; fused != fuses {
				t.Errorf("%g", x[0])
			}
		})
	}
}

func TestGeometry(t *testing.T) {
	d := open(t)
	l := load(t, d, arith.Strict, scale)
	args := []device.Arg{valueOf(op.Int(types.I64, 0)), valueOf(op.Int(types.I64, 0)), valueOf(op.Int(types.I64, 0)),
		valueOf(op.Float(types.F64, 0))}
	tests := []struct {
		kernel string
		g      kernel.Geometry
		want   string
	}{
		{"scale", geometry(0, 32), ""},
		{"scale", geometry(1, 0), ""},
		{"scale", geometry(1, 1024), ""},
		{"scale", geometry(1<<31, 32),
			"the kernel scale needs 2147483648 blocks on x, and Pretended GPU launches 2147483647 at most"},
		{"scale", kernel.Geometry{Blocks: [3]int64{1, 1, 65536}, Threads: [3]int64{32, 1, 1}},
			"the kernel scale needs 65536 blocks on z, and Pretended GPU launches 65535 at most"},
		{"scale", kernel.Geometry{Blocks: [3]int64{1, 1, 1}, Threads: [3]int64{1, 1, 65}},
			"the kernel scale has 65 threads a block on z, and Pretended GPU runs 64 at most"},
		{"scale", kernel.Geometry{Blocks: [3]int64{1, 1, 1}, Threads: [3]int64{64, 32, 1}},
			"the kernel scale has 2048 threads a block, and Pretended GPU runs 1024 at most"},
		{"scale", geometry(-1, 1), "the kernel scale: a negative number of blocks or threads on x"},
		{"fat_one", geometry(1, 512),
			"the kernel fat_one has 512 threads a block: with 255 registers a thread and 0 bytes of shared memory a " +
				"block can have 256"},
		{"absent", geometry(1, 1),
			"the compiled code has no kernel absent: cuModuleGetFunction: CUDA_ERROR_NOT_FOUND (500): named symbol not found"},
	}
	for _, test := range tests {
		c, err := l.PrepareGrid(test.kernel, test.g, args)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s %v: %s\nwant %s", test.kernel, test.g, got, test.want)
		}
		if err == nil && test.g.Blocks[0]*test.g.Threads[0] == 0 {
			if err := c.Launch(); err != nil {
				t.Errorf("an empty launch: %v", err)
			}
		}
	}
	if _, err := l.Prepare("scale", args); err == nil ||
		err.Error() != "the kernel scale cannot be launched without the size of its grid" {
		t.Error(err)
	}
	r, err := l.Resources("fat_one")
	if err != nil || r != (Resources{Registers: 255, MaxThreads: 256}) {
		t.Error(r, err)
	}
}

// What a kernel breaks comes out later, and is blamed on it.
func TestLostContext(t *testing.T) {
	d := open(t)
	l := load(t, d, arith.Strict, scale)
	buf, err := d.Alloc(8)
	s := slotOf(t, buf, err)
	c, err := l.PrepareGrid("wild_store", geometry(1, 1), []device.Arg{s})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Launch(); err != nil {
		t.Fatal(err)
	}
	err = d.Sync()
	want := "the GPU did not finish its work (the kernel launched last is wild_store): cuCtxSynchronize: " +
		"CUDA_ERROR_ILLEGAL_ADDRESS (700): " +
		"an illegal memory access was encountered; a kernel accessed memory outside its arrays; this process can no " +
		"longer use the GPU"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if err := buf.Pull(); err != nil {
		t.Error(err) // nothing to copy, nothing to fail
	}
	if _, err := d.Alloc(8); err == nil || !strings.Contains(err.Error(), "wild_store") {
		t.Error(err)
	}
	if err := d.Close(); err == nil {
		t.Error("closing tells nothing of the loss")
	}
}

// Another thread than the one that opened the device is refused, whatever it
// wants.
func TestOtherThread(t *testing.T) {
	d := open(t)
	l := load(t, d, arith.Strict, scale)
	buf, err := d.Alloc(8)
	s := slotOf(t, buf, err)
	c, err := l.PrepareGrid("wild_store", geometry(1, 1), []device.Arg{s})
	if err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(t.TempDir(), "x.cubin")
	if err := os.WriteFile(image, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	calls := map[string]func() error{
		"cuMemAlloc":       func() error { _, err := d.Alloc(8); return err },
		"cuMemsetD8":       func() error { return buf.(*Buffer).Fill(1) },
		"cuMemcpyHtoD":     func() error { return buf.(*Buffer).Write(0, make([]byte, 8)) },
		"cuMemcpyDtoH":     func() error { return buf.(*Buffer).Read(0, make([]byte, 8)) },
		"cuModuleLoadData": func() error { _, err := d.Load(image); return err },
		"cuModuleGetFunction": func() error {
			_, err := l.PrepareGrid("fat_one", geometry(1, 1), []device.Arg{s})
			return err
		},
		"cuLaunchKernel":   c.Launch,
		"cuEventCreate":    func() error { _, err := d.NewTimer(); return err },
		"cuCtxSynchronize": d.Sync,
	}
	refused := make(chan map[string]error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		errs := map[string]error{}
		for name, call := range calls {
			errs[name] = call()
		}
		refused <- errs
	}()
	for name, err := range <-refused {
		const why = ": CUDA_ERROR_INVALID_CONTEXT (201): invalid device context; the device belongs to the thread " +
			"that opened it"
		if err == nil || !strings.HasSuffix(err.Error(), name+why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := d.Sync(); err != nil {
		t.Errorf("what was refused was carried out: %v", err)
	}
}

// Closing a device gives back all that came from it, whatever was closed
// before.
func TestClose(t *testing.T) {
	d := open(t)
	var all []*Library
	for range 3 {
		all = append(all, load(t, d, arith.Strict, scale))
	}
	if _, err := d.NewTimer(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := d.Alloc(8); err != nil {
			t.Fatal(err)
		}
	}
	if err := all[1].Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for i, l := range all {
		if l.module != 0 {
			t.Errorf("library %d is still loaded", i)
		}
	}
	again := open(t)
	if free, total, err := again.Memory(); err != nil || free != total {
		t.Errorf("%d of %d bytes are free: %v", free, total, err)
	}
}

func TestTimer(t *testing.T) {
	d := open(t)
	timer, err := d.NewTimer()
	if err != nil {
		t.Fatal(err)
	}
	took, err := timer.Time(func() error { time.Sleep(20 * time.Millisecond); return nil })
	if err != nil || took < 20*time.Millisecond {
		t.Error(took, err)
	}
	if _, err := timer.Time(func() error { return os.ErrInvalid }); err != os.ErrInvalid {
		t.Error(err)
	}
}

// A profiler is told where what is of interest begins and ends, also where that fails.
func TestProfile(t *testing.T) {
	d := open(t)
	calls := 0
	for _, want := range []error{nil, errors.New("it failed")} {
		if err := d.Profile(func() error { calls++; return want }); !errors.Is(err, want) {
			t.Errorf("%v instead of %v", err, want)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
	old := *d.driver
	old.ProfilerStart = nil
	d.driver, calls = &old, 0
	if err := d.Profile(func() error { calls++; return nil }); err == nil || calls != 0 {
		t.Errorf("%v, %d calls by a driver that knows no profiler", err, calls)
	}
}

func TestCompileErrors(t *testing.T) {
	open(t)
	c, err := FindCompiler()
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Compile([]byte("extern \"C\" __global__ void f(double *x) { x[0] = undeclared; }"), 90, arith.Strict)
	refused, ok := err.(*CompileError)
	if !ok || !strings.Contains(err.Error(), "undeclared") ||
		!strings.Contains(err.Error(),
			"--gpu-architecture=sm_90 --std=c++17 --fmad=false) could not compile the generated code, "+
				"which is left in "+refused.Source+":\n") {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(refused.Source); err != nil || !strings.Contains(string(text), "undeclared") {
		t.Error(string(text), err)
	}
	os.Remove(refused.Source)
	if _, err := c.Compile([]byte("int x\x00;"), 90, arith.Strict); err == nil {
		t.Error("a source with a zero byte")
	}
	_, err = c.Compile(nil, 60, arith.Strict)
	if want := fmt.Sprintf(
		"NVRTC 13.2 (%s) does not compile for compute capability 6.0: it does for 7.5 and newer; name an older one "+
			"with GRIDLOOM_NVRTC", c.Path); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	for arch, want := range map[int]string{90: "--gpu-architecture=sm_90", 103: "--gpu-architecture=compute_100"} {
		if got, err := c.target(arch); got != want || err != nil {
			t.Errorf("%d: %s %v", arch, got, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b := &Builder{Compiler: c, Arch: 90, Dir: t.TempDir()}
	if _, err := b.Build(ctx, []byte("int x;")); err != context.Canceled {
		t.Error(err)
	}
}

func TestRelease(t *testing.T) {
	open(t)
	c, err := FindCompiler()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(c.Path)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("libdriver.so, %d bytes", info.Size()); c.Release != want {
		t.Errorf("%q, want %q", c.Release, want)
	}
	// The loader knows better where a bare name is.
	if got := release("libdriver.so"); got != c.Release {
		t.Errorf("%q", got)
	}
	if got := release("libabsent.so"); got != "" {
		t.Errorf("%q", got)
	}
}

func TestLoadErrors(t *testing.T) {
	d := open(t)
	if _, err := d.Load("/no/such/image"); err == nil ||
		err.Error() != "the compiled code cannot be loaded: open /no/such/image: no such file or directory" {
		t.Error(err)
	}
	image := filepath.Join(t.TempDir(), "x.cubin")
	if err := os.WriteFile(image, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "the compiled code (8 bytes) cannot be loaded on Pretended GPU, driver 999.1 (CUDA 13.2): " +
		"cuModuleLoadData: CUDA_ERROR_INVALID_IMAGE (200): " +
		"device kernel image is invalid; the code was compiled for another GPU, or the file is damaged"
	if _, err := d.Load(image); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestDiscovery(t *testing.T) {
	open(t)
	c, err := FindCompiler()
	if err != nil {
		t.Fatal(err)
	}
	list := Describe()
	if len(list) != 1 || list[0].ID != "cuda:0" || list[0].Unusable != "" || list[0].Memory != cudatest.Memory ||
		list[0].Name != "Pretended GPU, compute capability 9.0, 4 multiprocessors" {
		t.Fatalf("%+v", list)
	}
	want := []string{
		"driver 999.1 (CUDA 13.2)",
		"1.0 GiB of memory, 1.0 MiB of cache",
		"blocks of 1024 threads and 227.0 KiB of shared memory at most; a multiprocessor holds 2048 threads, 65536 " +
			"registers, 228.0 KiB of shared memory",
		"highest clocks 1980 MHz, memory 3201 MHz",
		"now 1980 MHz, memory 3201 MHz, 45 degrees C, 123 W of 700, 3.0 MiB taken, 17 % busy",
		"compiled by NVRTC 13.2: " + c.Path,
	}
	if !slices.Equal(list[0].Notes, want) {
		t.Errorf("%q", list[0].Notes)
	}
	figures := map[string]int64{}
	for _, f := range list[0].Figures {
		if _, twice := figures[f.Name]; twice || f.Value == 0 {
			t.Errorf("%+v", f)
		}
		figures[f.Name] = f.Value
	}
	for name, want := range map[string]int64{
		"compute_capability": 90, "multiprocessors": 4, "warp_threads": 32, "block_threads": 1024,
		"block_threads_z":    64,
		"grid_blocks_y":      65535,
		"block_shared_bytes": 227 << 10, "multiprocessor_threads": 2048, "multiprocessor_blocks": 32,
		"multiprocessor_registers":    65536,
		"multiprocessor_shared_bytes": 228 << 10, "cache_bytes": 1 << 20, "memory_bus_bits": 6144, "clock_mhz": 1980,
		"memory_clock_mhz":   3201,
		"cooperative_launch": 1, "clusters": 1, "clock_now_mhz": 1980, "power_watt": 123, "power_limit_watt": 700,
		"memory_taken_bytes": 3 << 20, "busy_percent": 17,
	} {
		if figures[name] != want {
			t.Errorf("%s is %d, want %d", name, figures[name], want)
		}
	}
	if _, err := Open(1); err == nil ||
		err.Error() != "there is no GPU cuda:1: the driver shows 1 GPU, from cuda:0 on" {
		t.Error(err)
	}
	for id, want := range map[string]int{"cuda": 0, "cuda:0": 0, "cuda:12": 12, "cuda:-1": -1, "cuda:x": -1,
		"cpu": -1, "": -1} {
		got, ok := Kind.ParseID(id)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q is %d, want %d", id, got, want)
		}
	}
}

// What is missing is said in full.
func TestNothingThere(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.so")
	t.Setenv("GRIDLOOM_LIBCUDA", none)
	t.Setenv("GRIDLOOM_NVRTC", none)
	_, err := startDriver()
	want := "no NVIDIA driver was found: " + none +
		": cannot open shared object file: No such file or directory (named by GRIDLOOM_LIBCUDA) " +
		"(install the driver; a container has to be started with the GPUs, as with --gpus all)"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	_, err = findCompiler()
	want = "NVRTC, the CUDA compiler, was not found: " + none +
		": cannot open shared object file: No such file or directory (named by GRIDLOOM_NVRTC) " +
		"(install the CUDA toolkit, or with pip: nvidia-cuda-nvrtc; or name the library with GRIDLOOM_NVRTC)"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	// A library that is no driver.
	t.Setenv("GRIDLOOM_LIBCUDA", "libc.so.6")
	if _, err := startDriver(); err == nil ||
		err.Error() != "the NVIDIA driver libc.so.6 cannot be used: it has no function cuInit: it is too old, or no "+
			"such library" {
		t.Error(err)
	}
}

func TestNoDevice(t *testing.T) {
	open(t)
	t.Setenv("CUDATEST_NO_DEVICE", "1")
	t.Setenv("CUDA_VISIBLE_DEVICES", "7")
	_, err := startDriver()
	want := fmt.Sprintf(
		"the NVIDIA driver %s does not start: cuInit: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected "+
			"(CUDA_VISIBLE_DEVICES=7); "+
			"no GPU is visible: see nvidia-smi and the environment variable CUDA_VISIBLE_DEVICES",
		os.Getenv("GRIDLOOM_LIBCUDA"))
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
