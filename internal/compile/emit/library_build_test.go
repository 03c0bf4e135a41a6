package emit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// program reads a source text.
func libraryProgram(t testing.TB, name, text string) *ir.Program {
	t.Helper()
	p, diags := lang.Load(diag.NewSource(name+".loom", text))
	for _, d := range diags {
		if d.Severity == diag.Error {
			t.Errorf("%s: %s (at %q)", name, d.Message, text[d.Range.Start:d.Range.End])
		}
	}
	if p == nil {
		t.FailNow()
	}
	return p
}

// packaged makes the files of a library.
func packaged(t testing.TB, p *ir.Program, a arith.Mode, plan string) []File {
	t.Helper()
	parsed, err := schedule.ParsePlan(plan)
	if err != nil {
		t.Fatal(err)
	}
	m, err := lower.Program(p.In(a), lower.Options{Target: lower.CPU, Plan: parsed, AnyIntegers: true})
	if err != nil {
		t.Fatal(err)
	}
	files, err := Library(m, LibraryOptions{Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// built is a library in a folder, with its shared library.
type built struct {
	name, module, class string
	dir                 string
	inPlace             bool // pointers to a GPU's memory are pointers
}

const testFlags = "-std=c11 -O1 -Wall -Wextra -Werror -pedantic -fwrapv -ffp-contract=off"

// build writes and compiles a library. With warnings of any kind it fails.
func build(t testing.TB, p *ir.Program, a arith.Mode, plan string) *built {
	t.Helper()
	return buildWith(t, p, a, plan, "")
}

// buildWith adds options of the compiler.
func buildWith(t testing.TB, p *ir.Program, a arith.Mode, plan, flags string) *built {
	t.Helper()
	need(t, "gcc")
	dir := t.TempDir()
	files := packaged(t, p, a, plan)
	for _, f := range files {
		write(t, filepath.Join(dir, f.Name), f.Text)
	}
	name := libraryName(p.Name)
	b := &built{name: name, module: pythonModule(name), class: pythonClass(name), dir: dir}
	b.sh(t, "gcc %s %s -fopenmp -fPIC -shared %s.c -o lib%s.so -lm", testFlags, flags, name, name)
	return b
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// need skips a test where a tool is missing.
func need(t testing.TB, tool string) string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skipf("there is no %s", tool)
	}
	return path
}

// python returns a Python that has NumPy.
func python(t testing.TB) string {
	t.Helper()
	for _, p := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(p, "-c", "import numpy").Run() == nil {
			return p
		}
	}
	t.Skip("there is no python3 with NumPy")
	return ""
}

// sh runs a command line in the library's folder and returns what it prints.
func (b *built) sh(t testing.TB, format string, args ...any) string {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=2", "PYTHONDONTWRITEBYTECODE=1",
		"ASAN_OPTIONS=allocator_may_return_null=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		text := string(out)
		if lines := strings.Split(text, "\n"); len(lines) > 40 {
			text = strings.Join(lines[:40], "\n") + "\n..."
		}
		t.Fatalf("%s: %v\n%s", line, err, text)
	}
	return string(out)
}
