package lower_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/worker"
)

func TestMain(m *testing.M) {
	// Threads that wait should not take the processor from other tests.
	os.Setenv("OMP_WAIT_POLICY", "passive")
	worker.Main(exec.Service)
	os.Exit(m.Run())
}

// Configurations that cut and share out loops in every way give the same bits on the processor,
// with any number of threads.
func TestConfigurationsAgree(t *testing.T) {
	t.Parallel()
	p := load(t, "configured", `
parameter M = 23, N = 150;
iterator j, i;
double u[M,N], v[M,N], most, total;
boundary u, v : clamp on j, antireflect on i;
initial { u[j][i] = random(1); }
stencil smooth (out, in, most, total) {
  double lap[M,N];
  lap[j][i] = in[j][i+1] + in[j][i-1] + in[j+1][i] + in[j-1][i] - 4*in[j][i];
  out[j][i] = in[j][i] + 0.1*(lap[j][i] - 0.25*lap[j][i-2]);
  reduce max most = abs(lap[j][i]);
  [1:M-2, 2:N-2] : reduce sum total = out[j][i];
}
iterate 3 { smooth (v, u, most, total); swap (u, v); }
copyout u, most, total;
`)
	b := bind(t, p, "")
	var modules []*kernel.Module
	var plans []string
	all := &kernel.Module{Program: p}
	for _, text := range []string{
		"", "threads=1", "threads=4", "block=1x0,threads=2", "block=0x64", "block=4x64,threads=1",
		"block=4x64,threads=4",
	} {
		m, err := lowered(p, lower.Options{Plan: plan(t, text), Bound: b, NoInitial: true})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		// All in one source, so that it is compiled but once.
		for _, k := range m.Kernels {
			k.Name = fmt.Sprintf("%s_c%d", k.Name, len(modules))
			all.Kernels = append(all.Kernels, k)
		}
		modules, plans = append(modules, m), append(plans, text)
	}
	image := compile(t, emit.Source(emit.C, all))
	want := contents(t, "u", func() (exec.Runner, error) {
		return exec.OpenReference(b, exec.ReferenceOptions{})
	})
	for i, m := range modules {
		got := contents(t, "u", func() (exec.Runner, error) {
			return exec.Open(context.Background(), m, b, exec.Options{Device: "cpu", Image: image})
		})
		if !bytes.Equal(got, want) {
			t.Errorf("%s gives other bits than the reference", plans[i])
		}
	}
}

// compile compiles C in strict arithmetic.
func compile(t testing.TB, source string) string {
	t.Helper()
	cache, err := toolchain.OpenCache(filepath.Join(os.TempDir(), "gridloom-lower-test"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := toolchain.Find(context.Background(), os.Getenv, cache)
	if err != nil {
		t.Skip(err)
	}
	builder := &cpu.Builder{Compiler: c, Cache: cache, Arithmetic: arith.Strict}
	image, err := builder.Build(context.Background(), []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// contents runs a program and returns a grid's cells and the scalars.
func contents(t testing.TB, grid string, open func() (exec.Runner, error)) []byte {
	t.Helper()
	r, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Initialise(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Advance(context.Background(), exec.Limit{}); err != nil {
		t.Fatal(err)
	}
	cells, err := r.Grid(grid)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(bytes.Clone(cells), "%v", r.Place().Scalars)
}
