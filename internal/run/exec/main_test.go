package exec

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/device/cuda/cudatest"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/worker"
)

func TestMain(m *testing.M) {
	// Processes with the race detector would take a second to leave.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	// Threads that wait should not take the processor from other tests.
	os.Setenv("OMP_WAIT_POLICY", "passive")
	worker.Main(Service)
	remove := func() {}
	if _, err := os.Stat("/dev/nvidiactl"); err != nil { // no GPU: a pretended one
		if r, err := cudatest.Install(); err == nil {
			remove, pretended = r, true
		}
	}
	var err error
	if gpuDir, err = os.MkdirTemp("", "gridloom-exec-*"); err != nil {
		panic(err)
	}
	status := m.Run()
	os.RemoveAll(gpuDir)
	remove()
	os.Exit(status)
}

// pretended says that the GPU is package cudatest's.
var pretended bool

// program checks a source text and binds it.
func program(t testing.TB, text string, set ...string) *ir.Binding {
	t.Helper()
	src := diag.NewSource("test.loom", text)
	p, list := lang.Load(src)
	if list.HasErrors() {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	values := map[string]string{}
	for _, s := range set {
		name, value, _ := strings.Cut(s, "=")
		values[name] = value
	}
	b, list := p.Bind(values)
	if list.HasErrors() {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	return b
}

// module lowers a program for the processor in strict arithmetic.
func module(t testing.TB, b *ir.Binding) *kernel.Module {
	t.Helper()
	m, err := lower.Program(b.Program, lower.Options{Target: lower.CPU, Bound: b})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var tools = sync.OnceValues(func() (*cpu.Builder, error) {
	cache, err := toolchain.OpenCache(filepath.Join(os.TempDir(), "gridloom-exec-test"))
	if err != nil {
		return nil, err
	}
	c, err := toolchain.Find(context.Background(), os.Getenv, cache)
	return &cpu.Builder{Compiler: c, Cache: cache, Arithmetic: arith.Strict}, err
})

// build compiles C.
func build(t testing.TB, source string) string {
	t.Helper()
	b, err := tools()
	if err != nil {
		t.Skip(err)
	}
	image, err := b.Build(context.Background(), []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// openCPU opens a program on the processor.
func openCPU(t testing.TB, b *ir.Binding, o Options) *Remote {
	t.Helper()
	m := module(t, b)
	if o.Image == "" {
		o.Image = build(t, emit.Source(emit.C, m))
	}
	o.Device = "cpu"
	r, err := Open(context.Background(), m, b, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func openReference(t testing.TB, b *ir.Binding) *Reference {
	t.Helper()
	r, err := OpenReference(b, ReferenceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func initialised(t testing.TB, r Runner) Runner {
	t.Helper()
	if err := r.Initialise(nil); err != nil {
		t.Fatal(err)
	}
	return r
}

func advanced(t testing.TB, r Runner, limit Limit) Progress {
	t.Helper()
	p, err := r.Advance(context.Background(), limit)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// contents returns copies of all grids, and the reduced scalars' bits.
func contents(t testing.TB, r Runner, p *ir.Program) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, g := range p.Grids {
		b, err := r.Grid(g.Name)
		if err != nil {
			t.Fatal(err)
		}
		all[g.Name] = bytes.Clone(b)
	}
	for _, s := range r.Place().Scalars {
		all[s.Name] = []byte(valueOf(s.Type, s.Bits).String())
	}
	return all
}

func same(t testing.TB, what string, got, want map[string][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d grids and scalars, want %d", what, len(got), len(want))
	}
	for name := range want {
		if !bytes.Equal(got[name], want[name]) {
			t.Errorf("%s: %s differs", what, name)
		}
	}
}
