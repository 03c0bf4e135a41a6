package opencl

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/run/device"
)

func TestParseID(t *testing.T) {
	for id, want := range map[string]int{"opencl": 0, "opencl:0": 0, "opencl:12": 12, "opencl:-1": -1, "opencl:x": -1,
		"cuda:0": -1, "": -1} {
		got, ok := Kind.ParseID(id)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q is %d, want %d", id, got, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	p := Properties{
		Ordinal: 2, Name: "Some GPU", Vendor: "Somebody", Kind: "gpu", Driver: "1.2.3", Version: "OpenCL 3.0 X",
		C: "OpenCL C 1.2", Platform: "Some Platform",
		ComputeUnits: 132, Clock: 1980, Memory: 140 << 30, LargestBuffer: 35 << 30, Cache: 4 << 20, Local: 48 << 10,
		MaxThreads: 1024, MaxBlock: [3]int64{1024, 1024, 64}, Alignment: 512, Float: 1, Double: 1,
		CorrectFloat: true, Denormals: true, Available: true, Compiler: true,
	}
	want := device.Info{
		ID: "opencl:2", Name: "Some GPU, 132 compute units of Some Platform", Memory: 140 << 30,
		Notes: []string{
			"driver 1.2.3, OpenCL 3.0 X, OpenCL C 1.2",
			"140.0 GiB of memory, 35.0 GiB at most in one grid, 4.0 MiB of cache",
			"work-groups of 1024 at most, 48.0 KiB of local memory",
			"prefers vectors of 1 float or 1 double, aligns memory to 512 bytes",
			"highest clock 1980 MHz",
		},
	}
	same := func(got, want device.Info) {
		t.Helper()
		if got.ID != want.ID || got.Name != want.Name || got.Threads != want.Threads || got.Memory != want.Memory ||
			got.Unusable != want.Unusable || !slices.Equal(got.Notes, want.Notes) {
			t.Errorf("%+v\nwant %+v", got, want)
		}
	}
	same(p.describe(), want)
	figures := []device.Figure{
		{Name: "compute_units", Value: 132}, {Name: "block_threads", Value: 1024},
		{Name: "block_threads_x", Value: 1024}, {Name: "block_threads_y", Value: 1024},
		{Name: "block_threads_z", Value: 64},
		{Name: "block_shared_bytes", Value: 48 << 10}, {Name: "largest_grid_bytes", Value: 35 << 30},
		{Name: "cache_bytes", Value: 4 << 20},
		{Name: "alignment_bytes", Value: 512}, {Name: "vector_floats", Value: 1}, {Name: "vector_doubles", Value: 1},
		{Name: "correct_float_division", Value: 1}, {Name: "float_denormals", Value: 1},
		{Name: "clock_mhz", Value: 1980},
	}
	if got := p.figures(); !slices.Equal(got, figures) {
		t.Errorf("%v\nwant %v", got, figures)
	}
	p.Clock, p.Double, p.CorrectFloat, p.Denormals, p.Compiler, p.Kind = 0, 0, false, false, false, "cpu"
	want.Threads, want.Unusable = 132, "its driver has no compiler"
	want.Notes[3] = "prefers vectors of 1 float, aligns memory to 512 bytes"
	want.Notes = append(want.Notes[:4],
		"no double precision: programs with double grids or scalars do not run on it",
		"it rounds float divisions and roots otherwise than other devices do and takes the smallest floats for 0: "+
			"--fp strict is exact in double only")
	same(p.describe(), want)
	p.Available = false
	if got, want := p.describe().Unusable,
		"the driver says that it is not available: another program may have it for itself"; got != want {
		t.Error(got)
	}
}

func TestDiscovery(t *testing.T) {
	open(t)
	list, err := Devices()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range list {
		if p.Ordinal != i || p.Name == "" || p.Platform == "" || p.ComputeUnits < 1 || p.Memory < 1 ||
			p.Local < 16<<10 || p.MaxThreads < 1 || p.MaxBlock[0] < 1 || p.Alignment < 16 || len(p.Extensions) == 0 {
			t.Errorf("%+v", p)
		}
		if p.Has("cl_khr_fp64") != (p.Double > 0) {
			t.Errorf("%d doubles with the extensions %v", p.Double, p.Extensions)
		}
		for name, want := range map[string]int64{
			"GLOBAL_MEM_SIZE": p.Memory, "GLOBAL_MEM_CACHE_SIZE": p.Cache, "MAX_MEM_ALLOC_SIZE": p.LargestBuffer,
			"MAX_CONSTANT_BUFFER_SIZE": p.Constant, "LOCAL_MEM_SIZE": p.Local, "MAX_WORK_GROUP_SIZE": p.MaxThreads,
			"MAX_COMPUTE_UNITS": int64(p.ComputeUnits), "MAX_CLOCK_FREQUENCY": int64(p.Clock),
			"PREFERRED_VECTOR_WIDTH_FLOAT": int64(p.Float), "MEM_BASE_ADDR_ALIGN": 8 * p.Alignment,
			"EXTENSIONS": int64(len(p.Extensions)), "ENDIAN_LITTLE": 1,
		} {
			if v, ok := p.Told[name]; !ok || v != want {
				t.Errorf("the driver tells a %s of %d, not %d", name, v, want)
			}
		}
		if k := kind(uint64(p.Told["TYPE"])); k != p.Kind {
			t.Errorf("a %s is told as %s", p.Kind, k)
		}
		if v := p.General(); v.Machine.GPU == nil || v.Told["ADDRESS_BITS"] != 64 ||
			v.Told["LOCAL_MEM_TYPE"] < 1 || v.Told["LOCAL_MEM_TYPE"] > 2 {
			t.Errorf("%+v", v.Told)
		}
	}
	if !slices.IsSortedFunc(list, func(p, q Properties) int { return strings.Compare(p.Platform, q.Platform) }) {
		t.Error("platforms in no order")
	}
	for i, d := range Describe() {
		if d.ID != ID(i) || d.Name == "" || d.Memory == 0 {
			t.Errorf("%+v", d)
		}
	}
	_, err = Open(len(list))
	if err == nil || !strings.HasPrefix(err.Error(), "there is no device "+ID(len(list))+": the OpenCL drivers show ") {
		t.Error(err)
	}
}

// What is missing is said in full.
func TestNothingThere(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.so")
	t.Setenv("GRIDLOOM_LIBOPENCL", none)
	_, err := findLoader()
	want := "no OpenCL was found: " + none +
		": cannot open shared object file: No such file or directory (named by GRIDLOOM_LIBOPENCL) " +
		"(install its loader, on Debian and Ubuntu with: apt-get install ocl-icd-libopencl1)"
	if text(err) != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	t.Setenv("GRIDLOOM_LIBOPENCL", "libc.so.6")
	if _, err := findLoader(); text(
		err) != "the OpenCL loader libc.so.6 cannot be used: it has no function clGetPlatformIDs: it is too old, or "+
		"no such library" {
		t.Error(err)
	}
}

// A loader without drivers. It reads its folder once a process.
func TestNoDriver(t *testing.T) {
	a, err := findLoader()
	if err != nil {
		t.Skip(err)
	}
	if os.Getenv("OPENCL_TEST_NO_DRIVER") != "" {
		os.Stdout.WriteString(Describe()[0].Unusable + "\n")
		return
	}
	folder := t.TempDir()
	run := exec.Command(os.Args[0], "-test.run=^TestNoDriver$")
	run.Env = append(os.Environ(), "OPENCL_TEST_NO_DRIVER=1", "OCL_ICD_VENDORS="+folder)
	out, err := run.Output()
	got, _, _ := strings.Cut(string(out), "\n")
	if err == nil && got == "" {
		t.Skip("the loader does not heed OCL_ICD_VENDORS")
	}
	want := "the OpenCL loader " + a.path + " finds no platform: no driver is registered in " + folder +
		" (named by OCL_ICD_VENDORS), or none starts (" + drivers + ")"
	if err != nil || got != want {
		t.Errorf("%v %s\nwant %s", err, got, want)
	}
}
