package cpu

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// build compiles the test kernels.
func build(t testing.TB, a arith.Mode) string {
	t.Helper()
	cache, err := toolchain.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	compiler, err := toolchain.Find(context.Background(), os.Getenv, cache)
	if err != nil {
		t.Skip(err)
	}
	source, err := os.ReadFile(filepath.Join("testdata", "kernels.c"))
	if err != nil {
		t.Fatal(err)
	}
	b := &Builder{Compiler: compiler, Cache: cache, Arithmetic: a}
	image, err := b.Build(context.Background(), source)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// open returns an open device with the test kernels on it.
func open(t testing.TB, a arith.Mode) (device.Device, device.Library) {
	t.Helper()
	image := build(t, a)
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	d := Open()
	l, err := d.Load(image)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, l
}

// host returns doubles outside Go's heap, and their bytes.
func host(t testing.TB, values ...float64) ([]float64, []byte) {
	t.Helper()
	r, err := memory.Anonymous(int64(8 * len(values)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	b := r.Bytes()
	view := unsafe.Slice((*float64)(unsafe.Pointer(&b[0])), len(values))
	copy(view, values)
	return view, b
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

func prepare(t testing.TB, l device.Library, kernel string, args ...device.Arg) device.PreparedLaunch {
	t.Helper()
	c, err := l.Prepare(kernel, args)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func launch(t testing.TB, c device.PreparedLaunch) {
	t.Helper()
	if err := c.Launch(); err != nil {
		t.Fatal(err)
	}
}

// A launch is prepared once; its buffers and values change under it.
func TestRotation(t *testing.T) {
	d, l := open(t, arith.Strict)
	u, ub := host(t, 1, 2, 3)
	v, vb := host(t, 0, 0, 0)
	ubuf, err := d.Share(ub)
	x := slotOf(t, ubuf, err)
	vbuf, err := d.Share(vb)
	y := slotOf(t, vbuf, err)
	a := valueOf(op.Float(types.F64, 10))
	c := prepare(t, l, "scale", y, x, valueOf(op.Int(types.I64, 3)), a)
	launch(t, c)
	if v[0] != 10 || v[1] != 20 || v[2] != 30 || u[2] != 3 {
		t.Errorf("%v -> %v", u, v)
	}
	x.Buffer, y.Buffer = y.Buffer, x.Buffer
	a.Set(op.Float(types.F64, -1))
	launch(t, c)
	if u[0] != -10 || u[1] != -20 || u[2] != -30 || v[2] != 30 {
		t.Errorf("%v <- %v", u, v)
	}
}

// Memory of the device's own follows its host side only when it is told to.
func TestCopy(t *testing.T) {
	d, l := open(t, arith.Strict)
	u, ub := host(t, 1, 2)
	own, err := d.Copy(ub)
	x := slotOf(t, own, err)
	scratch, err := d.Alloc(16)
	y := slotOf(t, scratch, err)
	two, n := valueOf(op.Float(types.F64, 2)), valueOf(op.Int(types.I64, 2))
	there, back := prepare(t, l, "scale", y, x, n, two), prepare(t, l, "scale", x, y, n, two)
	if err := own.Push(); err != nil {
		t.Fatal(err)
	}
	u[0] = 100
	launch(t, there)
	launch(t, back)
	if u[0] != 100 || u[1] != 2 {
		t.Errorf("the host sees %v before it asks", u)
	}
	if err := own.Pull(); err != nil {
		t.Fatal(err)
	}
	if u[0] != 4 || u[1] != 8 {
		t.Errorf("the host gets %v", u)
	}
}

func TestEveryType(t *testing.T) {
	d, l := open(t, arith.Strict)
	values := []op.Value{
		op.BoolOf(true), op.Int(types.U8, 200), op.Int(types.I32, -7), op.Int(types.I64, -1<<40),
		op.Float(types.F32, 0.1), op.Float(types.F64, 0.1),
	}
	var slots, args []device.Arg
	_, b := host(t, 0, 0, 0, 0, 0, 0)
	for i, v := range values {
		buf, err := d.Share(b[8*i : 8*i+8])
		slots = append(slots, slotOf(t, buf, err))
		args = append(args, valueOf(v))
	}
	launch(t, prepare(t, l, "types", append(slots, args...)...))
	for i, v := range values {
		if got := device.Decode(v.T, b[8*i:]); !got.Same(v) {
			t.Errorf("%v became %v", v, got)
		}
	}
}

func TestManyArguments(t *testing.T) {
	d, l := open(t, arith.Strict)
	out, b := host(t, 0)
	buf, err := d.Share(b)
	args := []device.Arg{slotOf(t, buf, err)}
	want := 0.0
	for i := range 24 {
		args = append(args, valueOf(op.Float(types.F64, float64(i+1))))
		want += math.Ldexp(float64(i+1), i)
	}
	launch(t, prepare(t, l, "many", args...))
	if out[0] != want {
		t.Errorf("%v, want %v", out[0], want)
	}
}

func TestArithmetic(t *testing.T) {
	const eps = 0x1p-30
	for _, mode := range []arith.Mode{arith.Strict, arith.Contract, arith.Fast} {
		d, l := open(t, mode)
		out, ob := host(t, 0, 0, 0)
		in, ib := host(t, (1+eps)*(1+eps), 1+eps, 1+eps, 0x1p-1074*6, math.Inf(1))
		o, err := d.Share(ob)
		x := slotOf(t, o, err)
		i, err := d.Share(ib)
		c := prepare(t, l, "arithmetic", x, slotOf(t, i, err))
		launch(t, c)
		if fused := out[0] != 0; fused && mode.Exact() {
			t.Errorf("%v arithmetic: the compiler has fused: %g", mode, out[0])
		}
		if out[1] != 0x1p-1074*3 {
			t.Errorf("%v: a denormal became %g", mode, out[1])
		}
		if !math.IsInf(out[2], 1) {
			t.Errorf("%v: infinity became %g", mode, out[2])
		}
		in[4] = math.NaN()
		launch(t, c)
		if !math.IsNaN(out[2]) {
			t.Errorf("%v: NaN became %g", mode, out[2])
		}
	}
	// The process as a whole still has denormals.
	if x := math.Float64frombits(3); x/2 == 0 {
		t.Error("denormals are gone")
	}
}

func TestNoAllocationInALaunch(t *testing.T) {
	d, l := open(t, arith.Strict)
	_, b := host(t, 1)
	buf, err := d.Share(b)
	x := slotOf(t, buf, err)
	args := []device.Arg{x, x, x, x, valueOf(op.Int(types.I64, 1)), valueOf(op.Int(types.I64, 1))}
	c := prepare(t, l, "nothing", args...)
	if n := testing.AllocsPerRun(100, func() { launch(t, c) }); n != 0 {
		t.Errorf("a launch allocates %v times", n)
	}
}

// Closing the last library that uses OpenMP leaves its threads alive.
func TestLoadAgain(t *testing.T) {
	for range 3 {
		d, l := open(t, arith.Contract)
		u, b := host(t, 1, 2, 3, 4)
		buf, err := d.Share(b)
		x := slotOf(t, buf, err)
		launch(t, prepare(t, l, "scale", x, x, valueOf(op.Int(types.I64, 4)), valueOf(op.Float(types.F64, 3))))
		if u[3] != 12 {
			t.Error(u)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatCannotBeLoaded(t *testing.T) {
	_, l := open(t, arith.Strict)
	if _, err := l.Prepare("absent", nil); err == nil ||
		!strings.HasPrefix(err.Error(), "the compiled code has no kernel absent: ") {
		t.Error(err)
	}
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("no object"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, image := range []string{"/no/such/file.so", text} {
		if _, err := Open().Load(image); err == nil ||
			!strings.HasPrefix(err.Error(), "the compiled code cannot be loaded: "+image) {
			t.Error(err)
		}
	}
}

func TestDescribe(t *testing.T) {
	good := Describe(&toolchain.Compiler{Path: "/bin/cc", Version: "cc 1", OpenMP: true, Notes: []string{"slow"}}, nil)
	if good.ID != "cpu" || good.Unusable != "" || good.Threads != runtime.GOMAXPROCS(0) || len(good.Notes) != 2 ||
		good.Notes[0] != "compiled by /bin/cc: cc 1" {
		t.Errorf("%+v", good)
	}
	serial := Describe(&toolchain.Compiler{}, nil)
	if serial.Threads != 1 || !strings.HasSuffix(serial.Name, ", 1 thread") {
		t.Errorf("%+v", serial)
	}
	none := Describe(nil, &toolchain.Missing{Tried: []string{"cc: not found"}})
	if !strings.HasPrefix(none.Unusable, "no C compiler could be used: cc: not found") {
		t.Errorf("%+v", none)
	}
}

func BenchmarkLaunch(b *testing.B) {
	_, l := open(b, arith.Strict)
	c := prepare(b, l, "nothing", valueOf(op.Int(types.I64, 1)))
	for b.Loop() {
		c.Launch()
	}
}

// Vectors are aligned in a copy where they are in the host's memory.
func TestCopyLiesInLinesAsTheHost(t *testing.T) {
	d, _ := open(t, arith.Strict)
	region, err := memory.Anonymous(1024)
	if err != nil {
		t.Fatal(err)
	}
	defer region.Close()
	for _, at := range []int{0, 8, 56} {
		b, err := d.Copy(region.Bytes()[at : at+100])
		if err != nil {
			t.Fatal(err)
		}
		if got := b.(*buffer).address() % memory.Line; got != uintptr(at) {
			t.Errorf("%d bytes behind a line in the host's memory, %d in the copy", at, got)
		}
	}
}

// Memory begins where it is asked to, and can be given back alone.
func TestAllocAt(t *testing.T) {
	d, _ := open(t, arith.Strict)
	for _, phase := range []int64{0, 8, 60} {
		b, err := d.(device.Placer).AllocAt(100, phase)
		if err != nil {
			t.Fatal(err)
		}
		own := b.(*buffer)
		if got := own.address() % memory.Line; got != uintptr(phase) || len(own.own) != 100 {
			t.Errorf("%d bytes, %d behind a line, want 100 and %d", len(own.own), got, phase)
		}
		if err := own.Free(); err != nil || own.Free() != nil {
			t.Error("it cannot be given back:", err)
		}
	}
}
