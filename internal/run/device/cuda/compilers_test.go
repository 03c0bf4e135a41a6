package cuda

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
	"sync"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/run/worker"
)

func compilers(t *testing.T, o device.CompilerOptions) *Compilers {
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
	p, err := OpenCompilers(o, 90)
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

func plainSource(name string) device.Source {
	return device.Source{Text: fmt.Sprintf("extern \"C\" __global__ void %s(double *x) { x[0] = 1; }\n", name)}
}

// compiled compiles a source that has no mistakes.
func compiled(t *testing.T, p *Compilers, s device.Source) (device.Binary, string) {
	t.Helper()
	image, err := p.Compile(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	text, err := toolchain.Read(image.Path)
	if err != nil {
		t.Fatal(err)
	}
	return image, string(text)
}

// Each source is compiled once, by as many workers as may be at work.
func TestCompile(t *testing.T) {
	p := compilers(t, device.CompilerOptions{Workers: 2})
	other := plainSource("a")
	other.Arithmetic = arith.Fast
	var wait sync.WaitGroup
	texts := make([]string, 3)
	for i, s := range []device.Source{plainSource("a"), plainSource("b"), other} {
		wait.Go(func() {
			image, err := p.Compile(t.Context(), s)
			if err != nil || image.Cached || image.Took <= 0 {
				t.Errorf("%d: %+v %v", i, image, err)
				return
			}
			text, err := toolchain.Read(image.Path)
			if err != nil {
				t.Error(err)
			}
			texts[i] = string(text)
		})
	}
	wait.Wait()
	if texts[0] == texts[1] || texts[0] == texts[2] || texts[0] == "" {
		t.Errorf("%q", texts)
	}
	_, err := p.Compile(t.Context(), device.Source{
		Text: "extern \"C\" __global__ void f(double *x) { x[0] = undeclared; }",
	})
	if verdict.Of(err) != verdict.Compiler || !strings.Contains(err.Error(), "undeclared") {
		t.Errorf("%v", err)
	}
	first, text := compiled(t, p, plainSource("a"))
	if want := []device.KernelReport{{Kernel: "a", Registers: 32}}; !slices.Equal(first.Kernels, want) {
		t.Errorf("%+v", first.Kernels)
	}
	if again, _ := compiled(t, p, plainSource("a")); !again.Cached || again.Path != first.Path ||
		again.Took != first.Took || text != texts[0] {
		t.Errorf("%+v\n%+v", again, first)
	}
	if p.Workers() != 2 || p.Version() == "NVRTC " || !p.Fused() {
		t.Errorf("%d workers of %s", p.Workers(), p.Version())
	}
	old, err := OpenCompilers(device.CompilerOptions{Cache: p.opts.Cache}, 60)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if _, err := old.Compile(t.Context(), plainSource("a")); err == nil ||
		!strings.Contains(err.Error(), "does not compile for compute capability 6.0") {
		t.Errorf("%v", err)
	}
}

// What is damaged on disk is compiled once more.
func TestDamage(t *testing.T) {
	p := compilers(t, device.CompilerOptions{})
	image, whole := compiled(t, p, plainSource("a"))
	for _, name := range []string{image.Path, strings.TrimSuffix(image.Path, codeEnding) + noteEnding} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, damaged := range [][]byte{nil, text[:len(text)/2],
			append(bytes.Clone(text[:3]), append([]byte{text[3] ^ 1}, text[4:]...)...)} {
			if err := os.WriteFile(name, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if again, text := compiled(t, p, plainSource("a")); again.Cached || len(text) < len(whole)-4 {
				t.Errorf("%s of %d bytes is taken for whole", filepath.Base(name), len(damaged))
			}
		}
	}
}

// The cache keeps within its bound, the code that was used last being there.
func TestBound(t *testing.T) {
	p := compilers(t, device.CompilerOptions{})
	p.bound = 700
	var last device.Binary
	for _, name := range []string{"a", "b", "c"} {
		last, _ = compiled(t, p, plainSource(name))
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
	if _, err := os.Stat(last.Path); err != nil || total > 700 || total < 100 {
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
			o := device.CompilerOptions{Workers: 1, Memory: 256 << 20}
			if test.how == "hang" {
				o.Limit = 300 * time.Millisecond
			}
			p := compilers(t, o)
			t.Setenv("CUDATEST_COMPILER", test.how)
			_, err := p.Compile(t.Context(), plainSource("a"))
			if verdict.Of(err) != verdict.Compiler || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
			if _, ok := errors.AsType[*worker.Death](err); !ok {
				t.Errorf("%v", err)
			}
			os.Unsetenv("CUDATEST_COMPILER")
			patient := compilers(t, device.CompilerOptions{Workers: 1, Cache: p.opts.Cache})
			for _, after := range []*Compilers{patient, p} {
				if _, err := after.Compile(t.Context(), plainSource("a")); err != nil {
					t.Errorf("after that: %v", err)
				}
			}
		})
	}
}

// When the user interrupts, nothing is waited for.
func TestInterrupt(t *testing.T) {
	p := compilers(t, device.CompilerOptions{Workers: 1})
	t.Setenv("CUDATEST_COMPILER", "hang")
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	var wait sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		wait.Go(func() {
			if _, err := p.Compile(ctx, plainSource(name)); err != why {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	wait.Wait()
}

// Without NVRTC nothing compiles.
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
	_, err := OpenCompilers(device.CompilerOptions{}, 90)
	fmt.Println(err)
}
