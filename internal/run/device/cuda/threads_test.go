package cuda

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/toolchain"
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
	l := load(t, d, toolchain.Strict, waiting)
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
