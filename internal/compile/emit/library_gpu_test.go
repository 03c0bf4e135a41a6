package emit

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// packagedGPU makes the files of a library for GPUs.
func packagedGPU(t testing.TB, p *ir.Program, d *Dialect, a arith.Mode, plan string) []File {
	t.Helper()
	parsed, err := schedule.ParsePlan(plan)
	if err != nil {
		t.Fatal(err)
	}
	o := lower.Options{Target: lower.GPU, Plan: parsed}
	_, o.Lacks = d.On(nil)
	m, err := lower.Program(p.In(a), o)
	if err != nil {
		t.Fatal(err)
	}
	files, err := Library(m, LibraryOptions{Plan: plan, Dialect: d})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// buildGPU compiles a library for PoCL, or for the runtime that pretends to
// have a GPU.
func buildGPU(t testing.TB, p *ir.Program, d *Dialect, plan string) *built {
	t.Helper()
	name := libraryName(p.Name)
	b := &built{name: name, module: pythonModule(name), class: pythonClass(name), dir: t.TempDir(), inPlace: d == CUDA}
	for _, f := range packagedGPU(t, p, d, arith.Strict, plan) {
		write(t, filepath.Join(b.dir, f.Name), f.Text)
	}
	if d == OpenCL {
		need(t, "gcc")
		b.sh(t, "gcc %s -fPIC -shared %s.c -o lib%s.so -lOpenCL -lm", testFlags, name, name)
		return b
	}
	need(t, "g++")
	b.sh(t, "%s -fPIC -shared -x c++ %s.cu -o lib%s.so", pretendedCUDA(t), name, name)
	return b
}

// pretendedCUDA is the compiler with the runtime that pretends.
func pretendedCUDA(t testing.TB) string {
	return "g++ -std=c++17 -Wall -Wextra -Wno-unknown-pragmas -Wno-unused-variable -Werror -fwrapv " +
		"-ffp-contract=off -I" + absolute(t, "testdata/cuda")
}

func absolute(t testing.TB, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// heatProgram is the first of libraryPrograms.
func heatProgram(t testing.TB) (*ir.Program, []libraryCase) {
	t.Helper()
	for _, c := range libraryPrograms {
		if c.name == "heat" {
			return libraryProgram(t, c.name, c.text), c.cases
		}
	}
	t.Fatal("no program heat")
	return nil, nil
}

// Libraries for GPUs compute what programs mean, bit for bit: OpenCL on the
// processor, CUDA on a runtime that pretends. What differs between them is in
// few functions, so that most programs try one of them.
func TestGPULibraries(t *testing.T) {
	both := []string{"heat", "relax", "kinds", "result"}
	for n, c := range libraryPrograms {
		for m, d := range []*Dialect{CUDA, OpenCL} {
			if n%2 != m && !slices.Contains(both, c.name) {
				continue
			}
			t.Run(d.Name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				p := libraryProgram(t, c.name, c.text)
				drive(t, buildGPU(t, p, d, ""), p, c.cases)
			})
		}
	}
}

// Plans change how, not what, and where rows are padded the library pads them.
func TestGPULibraryPlans(t *testing.T) {
	for _, c := range []struct {
		dialect       *Dialect
		program, plan string
	}{
		{CUDA, "heat", "family=tile,vec=2,shuffle=yes"},
		{CUDA, "heat", "family=planes,rows=2,vec=2,prefetch=1,load=readonly,registers=128,store=streaming"},
		{CUDA, "leapfrog", "family=tile,vec=4,repeat=1x2"},
		{CUDA, "heat", "family=tile,vec=2,load=image"},
		{CUDA, "heat", "family=tile,vec=1,load=image"},
		{CUDA, "leapfrog", "family=tile,vec=4,load=image"},
		{CUDA, "weights", "family=tile,vec=2,load_w=constant"},
		{OpenCL, "weights", "family=tile,vec=2,load_w=constant"},
		{OpenCL, "heat", "family=planes,rows=2,vec=4,chunk=7"},
		{OpenCL, "leapfrog", "family=planes,vec=2,prefetch=1"},
		{OpenCL, "heat", "family=planes,vec=2,stages=1,layout=padded"},
		{OpenCL, "leapfrog", "family=planes,vec=2,layout=shifted,rimless=own"},
		{OpenCL, "heat", "family=tile,vec=2,stages=1,staging=halos"},
	} {
		t.Run(c.dialect.Name+"/"+c.program+"/"+c.plan, func(t *testing.T) {
			t.Parallel()
			for _, q := range libraryPrograms {
				if q.name == c.program {
					p := libraryProgram(t, q.name, q.text)
					b := buildGPU(t, p, c.dialect, c.plan)
					b.inPlace = false // rows are padded
					drive(t, b, p, q.cases)
				}
			}
		})
	}
}

// The library for OpenCL that reads images compiles; PoCL has none to run it.
func TestGPULibraryImages(t *testing.T) {
	p, _ := heatProgram(t)
	b := buildGPU(t, p, OpenCL, "family=tile,vec=2,load=image")
	text, err := os.ReadFile(filepath.Join(b.dir, "heat.c"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"__read_only image1d_buffer_t", ".memory = gl_image(h, g->u, h->room[0], 32, 4, false)", "gl_forget_images(h);",
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the library has no %q", part)
		}
	}
}

// Memory of the device is used where it is, and refused with a reason where it
// cannot be.
func TestGPULibraryMemory(t *testing.T) {
	for _, c := range []struct {
		dialect    *Dialect
		plan, want string
	}{
		{CUDA, "", `the results are the same
no memory: a pointer that is needed is NULL: u is NULL
half an element: arrays overlap or are not aligned: u is not aligned: its address is no multiple of 16
an array: arrays overlap or are not aligned: u is no memory of the GPU
another stream: all is well: u is no memory of the GPU
sizes without padding: all is well: u is no memory of the GPU
rows of 3: all is well: u is no memory of the GPU
`},
		{CUDA, "family=tile,vec=4", `the results are the same
no memory: a pointer that is needed is NULL: u is NULL
half an element: arrays overlap or are not aligned: u is not aligned: its address is no multiple of 16
an array: arrays overlap or are not aligned: u is no memory of the GPU
another stream: all is well: u is no memory of the GPU
sizes without padding: all is well: u is no memory of the GPU
rows of 3: arrays overlap or are not aligned: memory of the GPU cannot be used for u, whose rows of 3 cells are padded to 4 after 0 others there: give an array, or sizes of which 4 is a divisor
`},
		{OpenCL, "", `the results are the same
no memory: a pointer that is needed is NULL: u is NULL
larger sizes: all is well: u is NULL
a small object: arrays overlap or are not aligned: u has 3360 bytes, and 3640 are needed
sizes without padding: all is well: u has 3360 bytes, and 3640 are needed
rows of 3: all is well: u has 3360 bytes, and 3640 are needed
no such device: the device refused something: there is no OpenCL device 99: there are some
no number: an argument is out of range: the number of a device is -2
`},
	} {
		t.Run(c.dialect.Name+"/"+c.plan, func(t *testing.T) {
			t.Parallel()
			p, _ := heatProgram(t)
			b := buildGPU(t, p, c.dialect, c.plan)
			if c.dialect == CUDA {
				b.sh(t, "%s -I. -x c++ %s -x none -o caller -L. -lheat -Wl,-rpath,.",
					pretendedCUDA(t), absolute(t, "testdata/library/device.cu"))
			} else {
				b.sh(t, "gcc %s -I. %s -o caller -L. -lheat -lOpenCL -Wl,-rpath,.",
					testFlags, absolute(t, "testdata/library/device.c"))
			}
			got := regexp.MustCompile(`there are \d+`).ReplaceAllString(b.sh(t, "./caller"), "there are some")
			if got != c.want {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// On a machine with a GPU and nvcc, libraries compute the same there.
func TestNVCC(t *testing.T) {
	if _, err := exec.LookPath("nvcc"); err != nil {
		t.Skip("there is no nvcc")
	}
	if said, err := exec.Command("nvidia-smi", "-L").CombinedOutput(); err != nil || len(said) == 0 {
		t.Skip("there is no GPU of NVIDIA's: nvidia-smi lists none")
	}
	for _, c := range libraryPrograms {
		for _, plan := range []string{"", "family=planes,vec=2", "family=tile,vec=4"} {
			p := libraryProgram(t, c.name, c.text)
			parsed, err := schedule.ParsePlan(plan)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := lower.Program(p, lower.Options{Target: lower.GPU, Plan: parsed}); err != nil {
				continue // the plan does not fit the program
			}
			// The test names its folder, and linkers take commas for their own.
			t.Run(c.name+"/"+strings.NewReplacer(",", "-", "=", "-").Replace(plan), func(t *testing.T) {
				t.Parallel()
				name := libraryName(p.Name)
				b := &built{name: name, module: pythonModule(name), class: pythonClass(name), dir: t.TempDir()}
				for _, f := range packagedGPU(t, p, CUDA, arith.Strict, plan) {
					write(t, filepath.Join(b.dir, f.Name), f.Text)
				}
				b.sh(t, "nvcc -std=c++17 -O2 -arch=native --fmad=false -Xcompiler -fPIC,-fwrapv,-ffp-contract=off "+
					"-shared %s.cu -o lib%s.so", name, name)
				drive(t, b, p, c.cases)
				if name != "heat" {
					return
				}
				b.sh(t, "nvcc -std=c++17 -arch=native -I. %s -o caller -L. -lheat -Xlinker -rpath,.",
					absolute(t, "testdata/library/device.cu"))
				if got := b.sh(t, "./caller"); !strings.HasPrefix(got, "the results are the same\n") {
					t.Error(got)
				}
				b.sh(t, "cmake -S . -B build && cmake --build build && ./build/heat_example 64 64 64")
			})
		}
	}
}
