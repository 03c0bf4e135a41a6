package oclgrind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/run/worker"
)

func TestMain(m *testing.M) {
	// Processes with the race detector would take a second to leave.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	worker.Main(Service)
	os.Exit(m.Run())
}

// patience ends a test that hangs; a busy machine takes minutes.
const patience = 30 * time.Minute

// launch runs a job, or skips the test where there is no Oclgrind.
func launch(t *testing.T, j Job) *Report {
	t.Helper()
	if _, err := Find(); err != nil {
		t.Skip(err)
	}
	r, err := Run(context.Background(), j, patience)
	if err != nil {
		t.Fatalf("%v\n%s", err, j.Source)
	}
	return r
}

// In each kernel, one thing at most is wrong, on the line of its name.
const wrong = `__kernel void unsure(__global int *x, __global int *y) { // every thread writes the first half of x
    x[get_local_id(0) / 2] = get_local_id(0);
}
__kernel void hasty(__global int *x, __global int *y) {
    __local int t[8];
    t[get_local_id(0)] = 1;
    x[get_local_id(0)] = t[get_local_id(0)];
    if (get_local_id(0) > 0) t[get_local_id(0) - 1] = 2;
}
__kernel void outside(__global int *x, __global int *y) {
    x[get_global_id(0)] = get_global_id(0) < 7 ? 1 : x[get_global_id(0) + 100];
    x[get_global_id(0) + 8] = 1;
}
__kernel void unwritten(__global int *x, __global int *y) {
    if (y[get_global_id(0)] > 1)
        x[get_global_id(0)] = 1;
}
__kernel void divided(__global int *x, __global int *y) {
    if (get_local_id(0) < 3)
        barrier(CLK_LOCAL_MEM_FENCE);
}
__kernel void right(__global int *x, __global int *y) {
    __local int4 wide[8];
    __local char narrow[8];
    const int i = get_local_id(0);
    wide[i] = (int4)(x[i]);
    narrow[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    x[i] = wide[7 - i].x + narrow[i];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}
`

func job(name string) Job {
	return Job{
		Source: wrong, Kernel: name, Geometry: kernel.Geometry{Blocks: [3]int64{1, 1, 1}, Threads: [3]int64{8, 1, 1}},
		Args: []Arg{{Bytes: 32, Data: []byte(strings.Repeat("\x03\x00\x00\x00", 8))}, {Bytes: 32}},
	}
}

func TestFaults(t *testing.T) {
	tests := []struct {
		kernel string
		want   []string
	}{
		{"unsure", []string{"race line 2, 4 times: Write-write data race at global memory"}},
		{"hasty", []string{"race line 8, 14 times: Read-write data race at local memory"}},
		{"outside", []string{
			"out of bounds line 12, 8 times: Invalid write of size 4 at global memory",
			"out of bounds line 11, 1 times: Invalid read of size 4 at global memory",
			"unwritten line 11, 1 times: Uninitialized value written to global memory",
		}},
		{"unwritten", []string{"unwritten line 15, 8 times: Controlflow depends on uninitialized value"}},
		{"divided", []string{"divergence line 20, 1 times: Work-group divergence detected (barrier)"}},
		{"right", nil},
	}
	for _, test := range tests {
		var got []string
		for _, f := range launch(t, job(test.kernel)).Faults {
			head, _, _ := strings.Cut(f.Text, " address")
			got = append(got, fmt.Sprintf("%v line %d, %d times: %s", f.Kind, f.Line, f.Times, head))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q\nwant %q", test.kernel, got, test.want)
		}
	}
}

func TestCounts(t *testing.T) {
	r := launch(t, job("right"))
	if got, want := r.Space(kernel.Global),
		(sim.Traffic{Loads: 8, Stores: 8, LoadedBytes: 32, StoredBytes: 32}); got != want {
		t.Errorf("global %+v, want %+v", got, want)
	}
	if got, want := r.Space(kernel.Shared),
		(sim.Traffic{Loads: 16, Stores: 16, LoadedBytes: 8*16 + 8, StoredBytes: 8*16 + 8}); got != want {
		t.Errorf("local %+v, want %+v", got, want)
	}
	if r.Barriers != 16 || r.Space(kernel.Constant) != (sim.Traffic{}) {
		t.Errorf("%+v", r.Counts)
	}
	want := []byte(
		"\x03\x00\x00\x00\x04\x00\x00\x00\x05\x00\x00\x00\x06\x00\x00\x00\x07\x00\x00\x00\x08\x00\x00\x00\x09\x00\x00\x00\x0a\x00\x00\x00")
	if len(r.Memory) != 2 || !slices.Equal(r.Memory[0], want) {
		t.Errorf("%v", r.Memory)
	}
}

// What cannot be run is no fault of the kernel's.
func TestRefusals(t *testing.T) {
	launch(t, job("right"))
	j := job("absent")
	if _, err := Run(context.Background(), j, patience); err == nil ||
		err.Error() != "oclgrind: the compiled code has no kernel absent: "+
			"clCreateKernel: CL_INVALID_KERNEL_NAME (-46)" {
		t.Error(err)
	}
	j = job("right")
	j.Source = "__kernel void right(__global int *x) { undeclared; }"
	if _, err := Run(context.Background(), j, patience); err == nil ||
		!strings.Contains(err.Error(), "use of undeclared identifier 'undeclared'") {
		t.Error(err)
	} else if _, rest, ok := strings.Cut(err.Error(), "which is left in "); ok {
		path, _, _ := strings.Cut(rest, ":")
		os.Remove(path)
	}
	j.Source = "__kernel void right(__global int *x, __global int *y) { while (x[0] == 3) y[0] = x[0]; }"
	if _, err := Run(context.Background(), j, 200*time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "the kernel right ran for longer than 200ms") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(200*time.Millisecond, cancel)
	if _, err := Run(ctx, j, patience); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	none := filepath.Join(t.TempDir(), "none.so")
	t.Setenv("GRIDLOOM_OCLGRIND", none)
	want := "oclgrind was not found: stat " + none + ": no such file or directory (named by GRIDLOOM_OCLGRIND)"
	if _, err := Run(context.Background(), j, patience); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// The log of a version that says what this one does not know is not taken for
// a clean one.
func TestLog(t *testing.T) {
	const fatal = "\x00\x00\nOCLGRIND FATAL ERROR (./x.cpp:1)\nUnsupported instruction: freeze\n\tKernel: blur\n"
	_, err := faults(fatal)
	if want := "oclgrind could not run the kernel: OCLGRIND FATAL ERROR (./x.cpp:1): "; err == nil ||
		err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	const race = "\nRead-write data race at local memory address 0x1\n\tKernel: k\n\t\n\tFirst entity:  " +
		"Global(4,0,0) Local(4,0,0) Group(0,0,0)\n\t  %0 = load\n" +
		"\tAt line 3 (column 125) of input.cl:\n\t  x\n\t\n\tSecond entity: Global(3,0,0) Local(3,0,0) " +
		"Group(0,0,0)\n\t  store\n\tAt line 4 (column 1) of input.cl:\n\t  y\n\t\n"
	list, err := faults(race + race)
	want := "line 3: Read-write data race at local memory address 0x1 (Global(4,0,0) Local(4,0,0) Group(0,0,0) and " +
		"Global(3,0,0) Local(3,0,0) Group(0,0,0)), 2 times"
	if err != nil || len(list) != 1 || list[0].String() != want || list[0].Kind != sim.Race {
		t.Errorf("%v %v\nwant %s", list, err, want)
	}
	if _, err := parseCounts("Instructions executed for kernel 'other':\n", "k"); err == nil {
		t.Error("counts of another kernel")
	}
	c, err := parseCounts("Instructions executed for kernel 'k':\n  1,234,567 - load global (9,876,536 bytes)\n", "k")
	if err != nil || c.Space(kernel.Global) != (sim.Traffic{Loads: 1234567, LoadedBytes: 9876536}) {
		t.Errorf("%+v %v", c, err)
	}
}
