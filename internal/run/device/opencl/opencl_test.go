package opencl

import (
	"context"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// The tests run on the first OpenCL device, whichever it is; ./test.sh installs
// PoCL, which makes one of the processor.

// open returns the first device.
func open(t testing.TB) *Device {
	t.Helper()
	if _, err := Devices(); err != nil {
		t.Skip(err)
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

func builder(t testing.TB, a arith.Mode) *Builder {
	t.Helper()
	cache, err := toolchain.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &Builder{Ordinal: 0, Arithmetic: a, Cache: cache}
}

// load compiles a source and loads it through files, as the time loop does.
func load(t testing.TB, d *Device, a arith.Mode, source string) *Library {
	t.Helper()
	image, err := builder(t, a).Build(context.Background(), []byte(source))
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
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void scale(__global double *restrict out, __global const double *restrict in, long n, double a)
{
    const long i = get_group_id(0) * 32 + get_local_id(0);
    if (i < n)
        out[i] = a * in[i];
}
__kernel void big_tile(__global double *out)
{
    __local double tile[LOCAL];
    tile[get_local_id(0)] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[0] = tile[0];
}
`

func scaleSource(local string) string { return strings.Replace(scale, "LOCAL", local, 1) }

func geometry(blocks, threads int64) kernel.Geometry {
	return kernel.Geometry{Blocks: [3]int64{blocks, 1, 1}, Threads: [3]int64{threads, 1, 1}}
}

func doubles(values ...float64) ([]float64, []byte) {
	return values, unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), 8*len(values))
}

// outside returns memory outside Go's heap, as grids have. It stays: what was
// launched may use it until the device is closed.
func outside(t testing.TB, n int) ([]float64, []byte) {
	t.Helper()
	r, err := memory.Anonymous(int64(8 * n))
	if err != nil {
		t.Fatal(err)
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(&r.Bytes()[0])), n), r.Bytes()[:8*n]
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

func long(n int64) *device.Value { return valueOf(op.Int(types.I64, n)) }

// do makes calls and stops the test at the first error.
func do(t testing.TB, steps ...func() error) {
	t.Helper()
	for _, f := range steps {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
}

// A launch is prepared once; its buffers and values change under it.
func TestRotation(t *testing.T) {
	d := open(t)
	l := load(t, d, arith.Strict, scaleSource("1"))
	u, ub := outside(t, 3)
	copy(u, []float64{1, 2, 3})
	v, vb := outside(t, 3)
	ubuf, err := d.Share(ub)
	x := slotOf(t, ubuf, err)
	vbuf, err := d.Copy(vb)
	y := slotOf(t, vbuf, err)
	a := valueOf(op.Float(types.F64, 10))
	c, err := l.PrepareGrid("scale", geometry(1, 32), []device.Arg{y, x, long(3), a})
	if err != nil {
		t.Fatal(err)
	}
	do(t, ubuf.Push, c.Launch, vbuf.Pull)
	if !slices.Equal(v, []float64{10, 20, 30}) {
		t.Errorf("%v", v)
	}
	x.Buffer, y.Buffer = y.Buffer, x.Buffer
	a.Set(op.Float(types.F64, -1))
	do(t, c.Launch, ubuf.Pull, d.Sync)
	if !slices.Equal(u, []float64{-10, -20, -30}) {
		t.Errorf("%v", u)
	}
	// What the host writes counts once it is pushed.
	u[0] = 7
	x.Buffer, y.Buffer = y.Buffer, x.Buffer
	do(t, ubuf.Push, c.Launch, vbuf.Pull)
	if v[0] != -7 {
		t.Errorf("%v", v)
	}
	k := op.Float(types.F64, 1)
	if n := testing.AllocsPerRun(100, func() {
		k.F++
		a.Set(k)
		x.Buffer, y.Buffer = y.Buffer, x.Buffer
		c.Launch()
	}); n > poolMisses {
		t.Errorf("a launch allocates %v times", n)
	}
}

// Only on a device that works in the host's memory is nothing copied.
func TestShare(t *testing.T) {
	d := open(t)
	_, b := outside(t, 64)
	for at, aligned := range map[int]bool{0: true, 8: false} {
		buf, err := d.Share(b[at:])
		if err != nil {
			t.Fatal(err)
		}
		if got, want := buf.(*Buffer).shared, aligned && d.Properties.Unified; got != want {
			t.Errorf("from byte %d: shared is %v", at, got)
		}
	}
	if d.taken != 64*8-8 && d.Properties.Unified {
		t.Errorf("%d bytes are taken", d.taken)
	}
}

func TestMemory(t *testing.T) {
	d := open(t)
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
	do(t, empty.Push, empty.Pull, func() error { return empty.(*Buffer).CopyFrom(b) })
	for _, b := range []device.Buffer{zeros, other, empty} {
		if err := b.(*Buffer).Free(); err != nil {
			t.Error(err)
		}
	}
	if d.taken != 0 {
		t.Errorf("%d bytes are still taken", d.taken)
	}
	_, err = d.Alloc(1 << 50)
	p := &d.Properties
	want := "1.0 PiB of device memory cannot be had: " + p.Name + " has " + memory.Size(p.Memory) + ", " +
		memory.Size(p.LargestBuffer) +
		" at most in one piece, and 0 bytes are taken here: clCreateBuffer: "
	rest, ok := strings.CutPrefix(text(err), want)
	if !ok || p.Platform == pocl &&
		rest != "CL_INVALID_BUFFER_SIZE (-61); the device has no such run of memory in one piece" {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// Padding is poisoned, and stays out of the host's memory.
func TestRows(t *testing.T) {
	d := open(t)
	host, hb := outside(t, 6)
	copy(host, []float64{1, 2, 3, 4, 5, 6})
	r := device.Rows{Lead: 8, Bytes: 24, Pitch: 32, Count: 2}
	b, err := d.CopyRows(hb, r)
	if err != nil {
		t.Fatal(err)
	}
	do(t, b.Push)
	padded := make([]byte, r.Padded())
	do(t, func() error { return b.(*Buffer).Read(0, padded) })
	want := slices.Repeat([]byte{device.Poison}, int(r.Padded()))
	r.Scatter(want, hb)
	if !slices.Equal(padded, want) {
		t.Errorf("%v\nwant %v", padded, want)
	}
	clear(host)
	do(t, b.Pull)
	if !slices.Equal(host, []float64{1, 2, 3, 4, 5, 6}) {
		t.Errorf("%v", host)
	}
	if b, err := d.CopyRows(hb, device.Rows{Bytes: 24, Pitch: 24, Count: 2}); err != nil || b.(*Buffer).Bytes() != 48 {
		t.Errorf("dense rows: %+v %v", b, err)
	}
	if _, err := d.CopyRows(hb, device.Rows{Bytes: 16, Pitch: 32, Count: 2}); text(
		err) != "2 rows of 16 bytes for 48 bytes" {
		t.Error(err)
	}
}

// Fused multiply-adds are for the modes that allow them.
func TestArithmetic(t *testing.T) {
	const source = `
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void fused(__global double *x, __global float *f) {
    x[0] = x[1] - x[2] * x[2];
    const double square = x[2] * x[2]; // in another statement: a compiler may fuse what the language does not
    x[3] = x[1] - square;
    f[0] = f[1] / f[2];
    f[3] = sqrt(f[1]);
}`
	const eps = 0x1p-30
	for _, mode := range []arith.Mode{arith.Strict, arith.Contract, arith.Fast} {
		t.Run(mode.String(), func(t *testing.T) {
			d := open(t)
			l := load(t, d, mode, source)
			x, b := doubles(0, (1+eps)*(1+eps), 1+eps, 0)
			f := []float32{0, 0.7, 3.3, 0}
			buf, err := d.Copy(b)
			s := slotOf(t, buf, err)
			fbuf, err := d.Copy(unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), 16))
			fs := slotOf(t, fbuf, err)
			c, err := l.PrepareGrid("fused", geometry(1, 1), []device.Arg{s, fs})
			if err != nil {
				t.Fatal(err)
			}
			do(t, buf.Push, fbuf.Push, c.Launch, buf.Pull, fbuf.Pull)
			if mode == arith.Strict && (x[0] != 0 || x[3] != 0) {
				t.Errorf("fused: %g %g", x[0], x[3])
			}
			if want := []float32{f[1] / f[2], float32(math.Sqrt(float64(f[1])))}; d.Properties.CorrectFloat &&
				(f[0] != want[0] || f[3] != want[1]) {
				t.Errorf("%v, want %v", []float32{f[0], f[3]}, want)
			}
		})
	}
}
