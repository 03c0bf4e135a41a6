package emit

import (
	"path/filepath"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// packagedGPU makes the files of a library for GPUs.
func packagedGPU(t testing.TB, p *ir.Program, d *Dialect, a Arithmetic, plan string) []File {
	t.Helper()
	parsed, err := schedule.ParsePlan(plan)
	if err != nil {
		t.Fatal(err)
	}
	m, err := lower.Program(p, lower.Options{Target: lower.GPU, Strict: a == Strict, Plan: parsed})
	if err != nil {
		t.Fatal(err)
	}
	files, err := Library(m, LibraryOptions{Plan: plan, Arithmetic: a, Dialect: d})
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
	for _, f := range packagedGPU(t, p, d, Strict, plan) {
		write(t, filepath.Join(b.dir, f.Name), f.Text)
	}
	if d == OpenCL {
		need(t, "gcc")
		b.sh(t, "gcc %s -fPIC -shared %s.c -o lib%s.so -lOpenCL -lm", testFlags, name, name)
		return b
	}
	need(t, "g++")
	runtime, err := filepath.Abs("testdata/cuda")
	if err != nil {
		t.Fatal(err)
	}
	b.sh(t, "g++ -std=c++17 -O1 -Wall -Wextra -Wno-unknown-pragmas -Werror -fwrapv -ffp-contract=off -I%s -fPIC -shared -x c++ %s.cu -o lib%s.so", runtime, name, name)
	return b
}

// Libraries for GPUs compute what programs mean, bit for bit: OpenCL on the
// processor, CUDA on a runtime that pretends.
func TestGPULibraries(t *testing.T) {
	for _, d := range []*Dialect{CUDA, OpenCL} {
		for _, c := range libraryPrograms {
			t.Run(d.Name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				p := libraryProgram(t, c.name, c.text)
				drive(t, buildGPU(t, p, d, ""), p, c.cases)
			})
		}
	}
}
