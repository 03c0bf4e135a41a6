package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const rivalsDir = "../../../../bench/rivals"

// printed runs a rival by itself at a case's small size, and returns what it
// has printed and the values that it should have at some cells.
func printed(t *testing.T, c spatialCase, command ...string) (answer, []float64) {
	t.Helper()
	bound, state := filled(t, c)
	cells := someCells(bound, cellsCompared)
	if err := state.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	g := output(bound.Program)
	var want []float64
	for _, n := range cells {
		want = append(want, state.Grid(g.Name).At(int(n)))
	}
	cmd := exec.Command(command[0], append(command[1:], c.name, c.dtype, gridText(bound, g), "--batches", "5",
		"--cells", join(cells))...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", c.name, err, out, said.String())
	}
	var a answer
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatalf("%s: %v: %s", c.name, err, out)
	}
	if _, err := ParseRivals(out); err != nil {
		t.Error(err)
	}
	if a.Case != c.name || a.DType != c.dtype || a.Grid != gridText(bound, g) || len(a.Samples) != 5 ||
		a.Variant == "" {
		t.Errorf("%+v", a)
	}
	return a, want
}

// The rivals' formulas are the cases'.
func TestRivalFormulas(t *testing.T) {
	t.Parallel()
	py := python(t)
	for i, name := range SpatialNames() {
		list := findSpatial(name, "")
		c := list[i%len(list)] // double, float, ...
		a, want := printed(t, c, py, filepath.Join(rivalsDir, "plain.py"))
		if err := sameValues(a.Values, want, c.dtype); err != nil {
			t.Errorf("%s %s: %v", c.name, c.dtype, err)
		}
	}
}

// The simplest CUDA kernels, carried out by the processor.
func TestSimplestCUDA(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("c++"); err != nil {
		t.Skip("no C++ compiler")
	}
	text, err := os.ReadFile(filepath.Join(rivalsDir, "simplest.cu"))
	if err != nil {
		t.Fatal(err)
	}
	source := string(text)
	change := func(what, to string) {
		t.Helper()
		re := regexp.MustCompile(what)
		if !re.MatchString(source) {
			t.Fatalf("simplest.cu has no %s", what)
		}
		source = re.ReplaceAllString(source, to)
	}
	change(`#define KERNELS\(name\).*`,
		`#define KERNELS(name) (const void *)+[](void **p) { invoke(name<double>, p); }, (const void *)+[](void **p) { invoke(name<float>, p); }`)
	change(`fill<<<blocks, 256>>>\((.*?), p\.cells\(\), (.*?)\);`,
		`for (int64_t n = 0; n < p.cells(); n++) ($1)[n] = number<std::decay_t<decltype(*$1)>>(n, $2), (void)blocks;`)
	dir := t.TempDir()
	file, program := filepath.Join(dir, "simplest.cc"), filepath.Join(dir, "simplest")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	shim, err := filepath.Abs("testdata/cuda_on_cpu.h")
	if err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-include",
		shim, "-o", program, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, c := range spatialCases {
		a, want := printed(t, c, program)
		if err := sameValues(a.Values, want, c.dtype); err != nil {
			t.Errorf("%s %s: %v", c.name, c.dtype, err)
		}
		if a.Tried != 8 || math.IsNaN(a.Error) {
			t.Errorf("%+v", a)
		}
	}
	if said, err := exec.Command(program, "star5", "float", "8x8x8").CombinedOutput(); err == nil ||
		!strings.HasPrefix(string(said), "usage: ") {
		t.Errorf("%v %s", err, said)
	}
}

// The Triton kernels, a cell at a time in Python; all scripts are Python.
func TestRivalScripts(t *testing.T) {
	t.Parallel()
	py := python(t)
	dir, err := filepath.Abs(rivalsDir)
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PYTHONPATH="+dir, "PYTHONPYCACHEPREFIX="+t.TempDir())
	cmd := exec.Command(py, "testdata/triton_on_cpu.py")
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(SpatialNames()) {
		t.Errorf("%d cases: %s", len(lines), out)
	}
	for _, line := range lines {
		name, worst, _ := strings.Cut(line, " ")
		if e, err := json.Number(worst).Float64(); err != nil || e > 1e-14 {
			t.Errorf("%s: %v (%v)", name, worst, err)
		}
	}
	scripts, err := filepath.Glob(filepath.Join(dir, "*.py"))
	if err != nil || len(scripts) < 6 {
		t.Fatal(scripts, err)
	}
	cmd = exec.Command(py, append([]string{"-m", "py_compile"}, scripts...)...)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if list, err := FindRivals(rivalsDir); err != nil || len(list) != 3 {
		t.Error(list, err)
	}
	if _, err := FindRivals(t.TempDir()); err == nil || !strings.Contains(err.Error(), "simplest_cuda.py") {
		t.Error(err)
	}
}
