package examples

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// Every program that has a check in numpy/NAME.py agrees with it at every cell.
func TestNumPy(t *testing.T) {
	paths, err := filepath.Glob("numpy/*.py")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		if name := strings.TrimSuffix(filepath.Base(path), ".py"); name != "compare" {
			names = append(names, name)
		}
	}
	if !slices.Equal(names, complexCodes) {
		t.Errorf("there are checks of %v, want those of %v", names, complexCodes)
	}
	python := pythonWithNumPy(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := compareWithNumPy(t, python, name, nil)
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Log(out)
		})
	}
}

// The comparison finds programs that are spoiled, and says where.
func TestNumPyFindsMistakes(t *testing.T) {
	python := pythonWithNumPy(t)
	for _, c := range []struct{ what, program, text, spoiled, want string }{
		{"a weight", "hypterm", "4.0/105", "4.0/105.001", "r_t: cell ("},
		{"a bound", "miniflux", "2:N-3] : update", "2:N-4] : update", "n0: cell ("},
		{"a result", "diffterm", "copyout r_t, mx_t", "copyout mx_t", "compute returns ["},
		{"a constant", "diffterm", "r_t[k,j,i] = 0;", "r_t[k,j,i] = 1;", "r_t: the program's cells are not all zero"},
		{"no number", "rician", "sqrt(flat + ", "sqrt(-1e9 + ", "u: the program's cell ("},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			if n := strings.Count(source(t, c.program).Text, c.text); n == 0 {
				t.Fatalf("%s does not have %q", c.program, c.text)
			}
			out, err := compareWithNumPy(t, python, c.program, strings.NewReplacer(c.text, c.spoiled))
			if err == nil || !strings.Contains(out, c.want) {
				t.Errorf("with %s for %s: %v, %q, want %q", c.spoiled, c.text, err, out, c.want)
			}
		})
	}
}

// pythonWithNumPy returns a Python that has NumPy. Without one the test fails.
func pythonWithNumPy(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(python, "-c", "import numpy").Run() == nil {
			return python
		}
	}
	t.Fatal("there is no python3 with NumPy; test.sh installs it")
	return ""
}

// compareWithNumPy runs a program after an edit of its text, at sizes that are
// unequal and prime and from random values, and compares its results with those
// of numpy/NAME.py. It returns what the comparison prints.
func compareWithNumPy(t *testing.T, python, name string, edit *strings.Replacer) (string, error) {
	t.Helper()
	prog := load(t, name, edit)
	set := "L=11 M=13 N=17"
	if prog.Scalar("steps") != nil {
		set += " steps=3"
	}
	inputs := map[string]field{}
	for seed, g := range prog.Grids {
		if g.CopyIn {
			values := noise(seed + 1)
			inputs[g.Name] = func(at ...int) float64 { return 1.5 + values(at...) }
		}
	}
	b := bind(t, prog, set)
	m := prepare(t, b, inputs)
	facts := struct {
		Scalars map[string]float64 `json:"scalars"`
		Results []string           `json:"results"`
		Zero    []string           `json:"zero"`
	}{Scalars: numbers(b), Zero: []string{}}
	var results []*ir.Grid
	for _, g := range prog.Grids {
		if g.CopyOut {
			results = append(results, g)
			facts.Results = append(facts.Results, g.Name)
			if zeroResults[name+" "+g.Name] != "" {
				facts.Zero = append(facts.Zero, g.Name)
			}
		}
	}
	dir := t.TempDir()
	m.write(t, filepath.Join(dir, "before"), prog.Grids)
	if err := m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	m.write(t, filepath.Join(dir, "after"), results)
	text, err := json.Marshal(facts)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "facts.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "numpy/compare.py", name, dir)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// numbers returns the values that all scalars and parameters start with.
func numbers(b *ir.Binding) map[string]float64 {
	values := map[string]float64{}
	for n, p := range b.Program.Params {
		values[p.Name] = float64(b.Params[n])
	}
	for n, s := range b.Program.Scalars {
		values[s.Name] = number(b.Scalars[n])
	}
	return values
}

// write makes a folder with GRID.npy for every grid.
func (m execution) write(t *testing.T, folder string, grids []*ir.Grid) {
	t.Helper()
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, g := range grids {
		a := m.Grid(g.Name)
		cells := &gridio.Array{Type: a.Type, Shape: a.Shape, Data: a.Data}
		if err := gridio.Write(filepath.Join(folder, g.Name+".npy"), cells, gridio.Options{}); err != nil {
			t.Fatal(err)
		}
	}
}
