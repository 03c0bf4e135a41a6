package emit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// nodes are hand-written kernels that together hold everything a kernel may
// hold on a GPU.
func nodes(t *testing.T) map[string]*kernel.Kernel {
	t.Helper()
	files, err := filepath.Glob("testdata/nodes/*.kernel")
	if err != nil || len(files) == 0 {
		t.Fatal("no kernels", err)
	}
	all := map[string]*kernel.Kernel{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		k, err := kernel.ParseText(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := kernel.Verify(k); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".kernel")] = k
	}
	return all
}

// golden compares a text with the one that is kept.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has changed; see the difference with -update and git diff\n%s", file, got)
	}
}

// Everything is printed as CUDA, and what OpenCL has words for as OpenCL, and
// compilers take it.
func TestNodes(t *testing.T) {
	needClang(t)
	for name, k := range nodes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &kernel.Module{Kernels: []*kernel.Kernel{k}}
			if err := emit.CUDA.Lacks(k); err != nil {
				t.Error(err)
			}
			source := emit.Source(emit.CUDA, m)
			golden(t, filepath.Join("testdata", "nodes", name+".cu"), source)
			ptx(t, source)
			if err := emit.OpenCL.Lacks(k); err != nil {
				golden(t, filepath.Join("testdata", "nodes", name+".cl"), "// "+err.Error()+"\n")
				return
			}
			source = emit.Source(emit.OpenCL, m)
			golden(t, filepath.Join("testdata", "nodes", name+".cl"), source)
			spir(t, source)
		})
	}
}

// spir checks OpenCL C for no device in particular.
func spir(t *testing.T, source string, flags ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kernels.cl")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-x", "cl", "-cl-std=CL1.2", "--target=spir64", "-Wall", "-Wno-unused-variable", "-Werror",
		"-fsyntax-only", file}
	cmd := exec.Command("clang-19", append(args, flags...)...)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%.2000s\n%s", err, said, source)
	}
}
