package cuda

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/sharedlib"
)

const waiting = `
extern "C" __global__ __launch_bounds__(64) void turn(double *x)
{
    extern __shared__ __align__(16) unsigned char gl_pool[];
    double *const other = reinterpret_cast<double *>(gl_pool + 16);
    const int t = threadIdx.x;
    other[t] = __shfl_up_sync(0xffffffff, x[t], 1) + 100 * __shfl_xor_sync(0xffffffff, x[t], 3);
    __syncthreads();
    x[t] = other[63 - t];
}
extern "C" __global__ void part(double *x)
{
    if (threadIdx.x < 40)
        __syncthreads();
    x[0] = 1;
}
`

// Threads wait for each other, also on the pretended GPU; if some never come,
// the kernel fails there as it may hang elsewhere.
func TestWaitingThreads(t *testing.T) {
	d := open(t)
	l := load(t, d, arith.Strict, waiting)
	x, xb := doubles(make([]float64, 64)...)
	for i := range x {
		x[i] = float64(i)
	}
	buf, err := d.Share(xb)
	slot := slotOf(t, buf, err)
	g := geometry(1, 64)
	g.Shared = 60 << 10
	c, err := l.PrepareGrid("turn", g, []device.Arg{slot})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() error{buf.Push, c.Launch, buf.Pull} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range x {
		from := 63 - i
		up := from - 1
		if from%32 == 0 {
			up = from
		}
		if want := float64(up + 100*(from^3)); x[i] != want {
			t.Errorf("x[%d] is %g, want %g", i, x[i], want)
		}
	}
	if d.GPU.Name != "Pretended GPU" {
		return
	}
	c, err = l.PrepareGrid("part", geometry(1, 64), []device.Arg{slot})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Launch(); err != nil {
		t.Fatal(err)
	}
	if err := d.Sync(); err == nil || !strings.Contains(err.Error(), "CUDA_ERROR_LAUNCH_FAILED (719)") {
		t.Error(err)
	}
	// The context is lost, and says so once more when the device is closed.
	d.Close()
}

const late = `
static __device__ inline uint32_t gl_shared_at(const void *p) // its address in shared memory
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

template <int bytes> static __device__ inline void gl_copy_async(void *to, const void *from)
{
    asm volatile("cp.async" :: "r"(gl_shared_at(to)), "l"(from), "n"(bytes) : "memory");
}

static __device__ inline int plus(int a, int b) { return a + b; }

extern "C" __global__ void async(double *x)
{
    __shared__ __align__(16) double a[64];
    __shared__ __align__(16) int64_t full[1];
    const int t = threadIdx.x;
    gl_copy_async<8>(&a[t], &x[t]);
    gl_commit_async();
    gl_copy_async<8>(&a[32 + t], &x[32 + t]);
    gl_commit_async();
    gl_wait_async<1>();
    const double early = a[32 + t], here = a[t];
    gl_wait_async<0>();
    gl_barrier<1, 32>();
    x[t] = early == x[32 + t] ? -1 : here + a[63 - t];
    gl_barrier<1, 32>();
    if (t == 0)
        gl_mbarrier_init(full, plus(0, 1));
    __syncthreads();
    for (int round = 0; round < 3; round++) {
        if (t == 0) {
            gl_mbarrier_expect(full, 256);
            gl_copy_bulk(a, x, 256, full);
        }
        gl_mbarrier_wait(full, round & 1);
        x[32 + t] = a[31 - t] + round;
        __syncthreads();
    }
}
`

// Copies arrive when they are waited for, and no sooner.
func TestLateCopies(t *testing.T) {
	d := open(t)
	l := load(t, d, arith.Strict, late)
	x, xb := doubles(make([]float64, 64)...)
	for i := range x {
		x[i] = float64(i + 1)
	}
	buf, err := d.Share(xb)
	slot := slotOf(t, buf, err)
	c, err := l.PrepareGrid("async", geometry(1, 32), []device.Arg{slot})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() error{buf.Push, c.Launch, buf.Pull} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 32 {
		if x[i] != 65 || x[32+i] != 67 {
			t.Errorf("%d: %g, %g", i, x[i], x[32+i])
		}
	}
}

// A thread of the host sleeps while it waits for a GPU that was opened for that,
// and for no other.
func TestOpenSleeping(t *testing.T) {
	d := open(t)
	library, _, err := driverPlace.Open()
	if err != nil {
		t.Fatal(err)
	}
	var ask struct {
		State func(device int32, flags *uint32, active *int32) result `symbol:"cuDevicePrimaryCtxGetState"`
	}
	if err := sharedlib.Bind(library, &ask); err != nil {
		t.Fatal(err)
	}
	how := func(d *Device) uint32 {
		var flags uint32
		var active int32
		if r := ask.State(d.number, &flags, &active); r != 0 {
			t.Fatal(r)
		}
		return flags
	}
	if how(d) != 0 {
		t.Errorf("flags %d: short launches of the time loop wait longer", how(d))
	}
	s, err := openGPU(0, true) // has the same context, which d closes
	if err != nil {
		t.Fatal(err)
	}
	const blockingSync = 4
	if how(s) != blockingSync {
		t.Errorf("flags %d", how(s))
	}
}
