package proof

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/run/device/cuda/cudatest"
	"github.com/gridloom/gridloom/internal/run/device/opencl/oclgrind"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/worker"
)

func TestMain(m *testing.M) {
	// Threads that wait should not take the processor from other programs.
	os.Setenv("OMP_WAIT_POLICY", "passive")
	worker.Main(append(target.Services(), exec.Service, oclgrind.Service)...)
	remove, err := cudatest.Install()
	if err != nil {
		fmt.Fprintf(os.Stderr, "no pretended GPU: %v\n", err)
		os.Exit(1)
	}
	status := m.Run()
	remove()
	os.Exit(status)
}

// A slice of the proof with fixed seeds. gridloom bench proof runs thousands.
func TestRandomPrograms(t *testing.T) {
	t.Parallel()
	n := 28
	if testing.Short() {
		n = 8
	}
	r, err := CPU(context.Background(), Options{Programs: n, Seed: 50000, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Failures {
		t.Errorf("seed %d (--fp %s, plan %s, %v): %s\n%s", f.Seed, f.Mode, f.Plan, f.Set, f.Reason, f.Source)
	}
	if r.Programs != n || r.Runs < n || r.Strict == 0 || r.Bounded == 0 || r.Cells == 0 {
		t.Errorf("%d programs, %d runs (%d strict, %d bounded), %d cells", r.Programs, r.Runs, r.Strict,
			r.Bounded, r.Cells)
	}
}

// A compiler that turns one operator into another must not go unnoticed.
func TestAWrongCompilerIsFound(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "cc")
	// Arguments that end in .c are compiled from a copy in which every " + 1]"
	// of an index reads one cell further left.
	text := `#!/bin/sh
for a; do
	case $a in *kernels.c) sed 's/ + 1\]/ + 0]/g' "$a" > "$a.wrong" && cp "$a.wrong" "$a" ;; esac
done
exec cc "$@"
`
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CC", script)
	t.Setenv("XDG_CACHE_HOME", dir)
	r, err := CPU(context.Background(), Options{Programs: 6, Seed: 50000, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Failures) == 0 {
		t.Fatal("the proof holds although the compiler is wrong")
	}
	f := r.Failures[0]
	if !strings.Contains(f.Reason, "differ") && !strings.Contains(f.Reason, "beyond") &&
		!strings.Contains(f.Reason, "should be") {
		t.Errorf("the reason does not speak of values: %s", f.Reason)
	}
	if f.Seed < 50000 || !strings.Contains(f.Source, "iterator ") {
		t.Errorf("seed %d, source %q", f.Seed, f.Source)
	}
}
