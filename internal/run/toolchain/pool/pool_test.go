package pool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/device/cuda/cudatest"
	"github.com/gridloom/gridloom/internal/run/refusal"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/worker"
)

var pretended error

func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	worker.Main(Service, dying)
	remove, err := cudatest.Install()
	if pretended = err; err != nil {
		remove = func() {}
	}
	status := m.Run()
	remove()
	os.Exit(status)
}

func open(t *testing.T, o Options) *Pool {
	t.Helper()
	if pretended != nil {
		if _, err := exec.LookPath("c++"); err != nil {
			t.Skip("no C++ compiler")
		}
		t.Fatal(pretended)
	}
	if o.Cache == nil {
		o.Cache = cache(t)
	}
	p, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func cache(t *testing.T) *toolchain.Cache {
	t.Helper()
	c, err := toolchain.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func source(name string) Source {
	return Source{Text: fmt.Appendf(nil, "extern \"C\" __global__ void %s(double *x) { x[0] = 1; }\n", name), Arch: 90}
}

func code(t *testing.T, r Result) string {
	t.Helper()
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	text, err := toolchain.Read(r.Image)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Results come in the order of the sources, each compiled once.
func TestCompile(t *testing.T) {
	p := open(t, Options{Workers: 2})
	bad := Source{Text: []byte("extern \"C\" __global__ void f(double *x) { x[0] = undeclared; }"), Arch: 90}
	old := source("a")
	old.Arch = 60
	other := source("a")
	other.Arithmetic = arith.Fast
	list := p.Compile(t.Context(), []Source{source("a"), bad, source("b"), source("a"), old, other})
	if a, b := code(t, list[0]), code(t, list[2]); a == b || code(t, list[3]) != a || code(t, list[5]) == a {
		t.Errorf("%q %q", a, b)
	}
	for i, cached := range []bool{false, false, false, true, false, false} {
		if list[i].Cached != cached {
			t.Errorf("%d: cached %v", i, list[i].Cached)
		}
	}
	if err := list[1].Err; refusal.Of(err) != refusal.Compiler || !strings.Contains(err.Error(), "undeclared") || !strings.Contains(list[1].Log, "undeclared") {
		t.Errorf("%v", err)
	}
	if err := list[4].Err; err == nil || !strings.Contains(err.Error(), "does not compile for compute capability 6.0") {
		t.Errorf("%v", err)
	}
	if want := []cuda.Report{{Kernel: "a", Registers: 32}}; !slices.Equal(list[0].Kernels, want) {
		t.Errorf("%+v", list[0].Kernels)
	}
	again := p.Compile(t.Context(), []Source{source("a")})[0]
	if !again.Cached || again.Image != list[0].Image || again.Took != list[0].Took || !slices.Equal(again.Kernels, list[0].Kernels) {
		t.Errorf("%+v\n%+v", again, list[0])
	}
	if len(p.crew.idle) == 0 || len(p.crew.idle) > 2 {
		t.Errorf("%d workers", len(p.crew.idle))
	}
}

// What is damaged on disk is compiled once more.
func TestDamage(t *testing.T) {
	p := open(t, Options{})
	r := p.Compile(t.Context(), []Source{source("a")})[0]
	whole := code(t, r)
	for _, name := range []string{r.Image, strings.TrimSuffix(r.Image, codeEnding) + noteEnding} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, damaged := range [][]byte{nil, text[:len(text)/2], append(bytes.Clone(text[:3]), append([]byte{text[3] ^ 1}, text[4:]...)...)} {
			if err := os.WriteFile(name, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			again := p.Compile(t.Context(), []Source{source("a")})[0]
			if again.Cached || len(code(t, again)) < len(whole)-4 {
				t.Errorf("%s of %d bytes is taken for whole", filepath.Base(name), len(damaged))
			}
		}
	}
}

// The cache keeps within its bound, the code that was used last being there.
func TestBound(t *testing.T) {
	p := open(t, Options{Bound: 700})
	var last Result
	for _, name := range []string{"a", "b", "c"} {
		last = p.Compile(t.Context(), []Source{source(name)})[0]
		code(t, last)
		time.Sleep(10 * time.Millisecond) // the order in time is that of the names
	}
	p.Close()
	entries, err := os.ReadDir(p.opts.Cache.Dir)
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			total += info.Size()
		}
	}
	if _, err := os.Stat(last.Image); err != nil || total > 700 || total < 100 {
		t.Errorf("%d bytes in %d files: %v", total, len(entries), err)
	}
}

// A compiler that hangs, takes all memory or crashes is the source's fault, and
// costs a worker.
func TestBadCompiler(t *testing.T) {
	for _, test := range []struct{ how, want string }{
		{"hang", "it took longer than 300ms"},
		{"eat", "virtual memory exhausted"},
		{"crash", "it gave up (SIGABRT)"},
	} {
		t.Run(test.how, func(t *testing.T) {
			o := Options{Workers: 1, Memory: 256 << 20}
			if test.how == "hang" {
				o.Deadline = 300 * time.Millisecond
			}
			p := open(t, o)
			t.Setenv("CUDATEST_COMPILER", test.how)
			err := p.Compile(t.Context(), []Source{source("a")})[0].Err
			if refusal.Of(err) != refusal.Compiler || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
			if _, ok := errors.AsType[*worker.Death](err); !ok {
				t.Errorf("%v", err)
			}
			os.Unsetenv("CUDATEST_COMPILER")
			p.crew.deadline = time.Hour
			if r := p.Compile(t.Context(), []Source{source("a")})[0]; r.Err != nil {
				t.Errorf("after that: %v", r.Err)
			}
		})
	}
}

// When the user has had enough, nothing is waited for.
func TestInterrupt(t *testing.T) {
	p := open(t, Options{Workers: 1})
	t.Setenv("CUDATEST_COMPILER", "hang")
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	for i, r := range p.Compile(ctx, []Source{source("a"), source("b"), source("c")}) {
		if r.Err != why {
			t.Errorf("%d: %v", i, r.Err)
		}
	}
}

// Without NVRTC there is no pool.
func TestMissing(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestMissingChild$")
	cmd.Env = append(os.Environ(), "GRIDLOOM_TEST_CHILD=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "NVRTC, the CUDA compiler, was not found") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestMissingChild(t *testing.T) {
	if os.Getenv("GRIDLOOM_TEST_CHILD") == "" {
		t.Skip("for TestMissing")
	}
	t.Setenv("GRIDLOOM_NVRTC", "/no/such/library")
	_, err := Open(Options{})
	fmt.Println(err)
}
