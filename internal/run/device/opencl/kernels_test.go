package opencl

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/device"
)

// blur sums the 3 x 3 cells around every cell, those outside counting nothing,
// through a tile with a margin in local memory. BX and BY are the block's.
const blur = `
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void blur(__global double *restrict out, __global const double *restrict in, long rows, long columns)
{
    __local double tile[(BY + 2) * (BX + 2)];
    const long x = get_local_id(0), y = get_local_id(1), left = get_group_id(0) * BX - 1, top = get_group_id(1) * BY - 1;
    for (long at = y * BX + x; at < (BY + 2) * (BX + 2); at += BX * BY) {
        const long i = left + at % (BX + 2), j = top + at / (BX + 2);
        tile[at] = i >= 0 && i < columns && j >= 0 && j < rows ? in[j * columns + i] : 0.0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    double sum = 0.0;
    for (int dj = 0; dj < 3; dj++)
        for (int di = 0; di < 3; di++)
            sum += tile[(y + dj) * (BX + 2) + x + di];
    if (left + 1 + x < columns && top + 1 + y < rows)
        out[(top + 1 + y) * columns + left + 1 + x] = sum;
}

// Every block adds up its cells, halving the threads that take part.
__kernel void total(__global double *restrict partial, __global const double *restrict in, long n)
{
    __local double sums[64];
    const long t = get_local_id(0), i = get_group_id(0) * 64 + t;
    sums[t] = i < n ? in[i] : 0.0;
    for (long some = 32; some > 0; some /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (t < some)
            sums[t] += sums[t + some];
    }
    if (t == 0)
        partial[get_group_id(0)] = sums[0];
}

__kernel void lent(__global double *out, __local double *tile)
{
    const int t = get_local_id(0);
    tile[t] = t;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[t] = tile[63 - t];
}
`

func blurred(in []float64, rows, columns int) []float64 {
	out := make([]float64, len(in))
	for j := range rows {
		for i := range columns {
			for dj := -1; dj <= 1; dj++ {
				for di := -1; di <= 1; di++ {
					if y, x := j+dj, i+di; y >= 0 && y < rows && x >= 0 && x < columns {
						out[j*columns+i] += in[y*columns+x]
					}
				}
			}
		}
	}
	return out
}

// arrays returns device memory with what the host has, and memory for results.
func arrays(t *testing.T, d *Device, n, results int) (in, out []float64, from, to *device.Slot) {
	in, ib := outside(t, n)
	for i := range in {
		in[i] = float64((i*i*31 + 7) % 1009)
	}
	out, ob := outside(t, results)
	ibuf, err := d.Share(ib)
	from = slotOf(t, ibuf, err)
	obuf, err := d.Share(ob)
	to = slotOf(t, obuf, err)
	do(t, ibuf.Push, obuf.Push)
	return in, out, from, to
}

// Local memory and barriers, at sizes that no block divides.
func TestKernels(t *testing.T) {
	d := open(t)
	for _, block := range [][2]int{{8, 4}, {5, 3}} {
		bx, by := block[0], block[1]
		l := load(t, d, arith.Strict, strings.NewReplacer("BX", fmt.Sprint(bx), "BY", fmt.Sprint(by)).Replace(blur))
		for _, size := range [][2]int{{1, 1}, {7, 5}, {17, 33}, {64, 64}} {
			rows, columns := size[0], size[1]
			in, out, from, to := arrays(t, d, rows*columns, rows*columns)
			g := kernel.Geometry{
				Blocks:  [3]int64{int64((columns + bx - 1) / bx), int64((rows + by - 1) / by), 1},
				Threads: [3]int64{int64(bx), int64(by), 1},
			}
			c, err := l.PrepareGrid("blur", g, []device.Arg{to, from, long(int64(rows)), long(int64(columns))})
			if err != nil {
				t.Fatal(err)
			}
			do(t, c.Launch, to.Buffer.Pull)
			if want := blurred(in, rows, columns); !slices.Equal(out, want) {
				t.Errorf("block %v, %d x %d: %v\nwant %v", block, rows, columns, out, want)
			}
		}
		if by != 4 {
			continue
		}
		for _, n := range []int{1, 63, 64, 65, 1000} {
			blocks := (n + 63) / 64
			in, out, from, to := arrays(t, d, n, blocks)
			c, err := l.PrepareGrid("total", geometry(int64(blocks), 64), []device.Arg{to, from, long(int64(n))})
			if err != nil {
				t.Fatal(err)
			}
			do(t, c.Launch, to.Buffer.Pull)
			want := make([]float64, blocks)
			for i, x := range in {
				want[i/64] += x
			}
			if !slices.Equal(out, want) {
				t.Errorf("%d cells: %v, want %v", n, out, want)
			}
		}
		_, out, _, to := arrays(t, d, 1, 64)
		g := geometry(1, 64)
		g.Shared = 64 * 8
		c, err := l.PrepareGrid("lent", g, []device.Arg{to})
		if err != nil {
			t.Fatal(err)
		}
		do(t, c.Launch, to.Buffer.Pull)
		for i, x := range out {
			if x != float64(63-i) {
				t.Errorf("local memory from the launch: %v", out)
				break
			}
		}
	}
}

// PoCL turns a work-group's threads into loops in several ways, each of which
// needs every thread at every barrier.
func TestWorkGroupMethods(t *testing.T) {
	d := open(t)
	if d.Properties.Platform != pocl {
		t.Skip("the device is not PoCL's")
	}
	for _, method := range []string{"loopvec", "workitemrepl"} {
		run := exec.Command(os.Args[0], "-test.run=^TestKernels$")
		run.Env = append(os.Environ(), "POCL_WORK_GROUP_METHOD="+method)
		if out, err := run.CombinedOutput(); err != nil || strings.Contains(string(out), "Unknown work group") {
			t.Errorf("%s: %v\n%s", method, err, out)
		}
	}
}

func TestTimer(t *testing.T) {
	d := open(t)
	l := load(t, d, arith.Strict, scaleSource("1"))
	_, _, from, to := arrays(t, d, 1000, 1000)
	c, err := l.PrepareGrid("scale", geometry(32, 32), []device.Arg{to, from, long(1000), long(0)})
	if err != nil {
		t.Fatal(err)
	}
	timer, err := d.NewTimer()
	if err != nil {
		t.Fatal(err)
	}
	took, err := timer.Time(func() error { return nil })
	if took != 0 || err != nil {
		t.Error(took, err)
	}
	before := time.Now()
	one, err := timer.Time(c.Launch)
	if wall := time.Since(before); err != nil || one <= 0 || one > wall {
		t.Errorf("%v of %v: %v", one, wall, err)
	}
	const pause = 20 * time.Millisecond
	before = time.Now()
	took, err = timer.Time(func() error {
		do(t, c.Launch, c.Launch, d.Sync)
		time.Sleep(pause)
		return to.Buffer.(*Buffer).CopyFrom(from.Buffer.(*Buffer))
	})
	if wall := time.Since(before); err != nil || took < pause || took > wall {
		t.Errorf("%v of %v: %v", took, wall, err)
	}
	if _, err := timer.Time(func() error { return os.ErrInvalid }); err != os.ErrInvalid {
		t.Error(err)
	}
	timer.Time(func() error {
		if n := testing.AllocsPerRun(10, func() { c.Launch() }); n > poolMisses {
			t.Errorf("a launch that is timed allocates %v times", n)
		}
		return nil
	})
}
