package emit_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	runner "github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/worker"
)

func TestMain(m *testing.M) {
	// Threads that wait should not take the processor from other tests.
	os.Setenv("OMP_WAIT_POLICY", "passive")
	worker.Main(runner.Service)
	status := m.Run()
	if pretended.remove != nil {
		pretended.remove()
	}
	os.Exit(status)
}

// compiler is the C compiler that programs are run with.
var compiler = sync.OnceValues(func() (*cpu.Builder, error) {
	cache, err := toolchain.OpenCache(filepath.Join(os.TempDir(), "gridloom-emit-test"))
	if err != nil {
		return nil, err
	}
	c, err := toolchain.Find(context.Background(), os.Getenv, cache)
	return &cpu.Builder{Compiler: c, Cache: cache}, err
})

// build compiles C as the CPU device does.
func build(t testing.TB, source string, a arith.Mode) string {
	t.Helper()
	b, err := compiler()
	if err != nil {
		t.Skip(err)
	}
	with := *b
	with.Arithmetic = a
	image, err := with.Build(context.Background(), []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// strictlyCompile compiles C with every warning an error.
func strictlyCompile(t testing.TB, files ...string) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	args := []string{"-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fopenmp", "-O1", "-c"}
	for _, f := range files {
		path, err := filepath.Abs(f)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	cmd := exec.Command("gcc", args...)
	cmd.Dir = t.TempDir()
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%.4000s", err, said)
	}
}
