package opencl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// dieEnv makes workers of these tests end like a compiler that crashes.
const dieEnv = "GRIDLOOM_TEST_COMPILER_DIES"

func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	worker.Main(dying)
	os.Exit(m.Run())
}

// dying is CompileService, which dies where dieEnv says so.
var dying = worker.Service{Name: CompileService.Name, Serve: func(l *worker.Link) error {
	if os.Getenv(dieEnv) != "" {
		syscall.Kill(os.Getpid(), syscall.SIGABRT)
		select {}
	}
	return CompileService.Serve(l)
}}

func cache(t *testing.T) *toolchain.Cache {
	t.Helper()
	c, err := toolchain.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCompile(t *testing.T) {
	if _, err := Devices(); err != nil {
		t.Skip(err)
	}
	cache := cache(t)
	build := func(ctx context.Context, text string, deadline time.Duration) (string, error) {
		p, err := OpenCompilers(device.CompilerOptions{Cache: cache, Workers: 1, Limit: deadline}, 0)
		if err != nil {
			return "", err
		}
		defer p.Close()
		image, err := p.Compile(ctx, device.Source{Text: text})
		return image.Path, err
	}
	fresh := func(name string) string { return "__kernel void " + name + "(__global float *x) { x[0] = 1; }\n" }
	image, err := build(t.Context(), fresh("f"), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := toolchain.Read(image); err != nil || !strings.HasPrefix(image, cache.Dir) {
		t.Error(image, err)
	}
	if _, err := build(t.Context(), "__kernel void f(__global float *x) { x[0] = undeclared; }\n",
		time.Hour); verdict.Of(err) != verdict.Compiler || !strings.Contains(err.Error(), "undeclared") {
		t.Errorf("%s: %v", verdict.Of(err), err)
	}
	if _, err := build(t.Context(), fresh("g"), time.Nanosecond); verdict.Of(err) != verdict.Compiler ||
		!strings.HasSuffix(err.Error(), "it took longer than 1ns") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := build(ctx, fresh("h"), time.Hour); err != why {
		t.Error(err)
	}
}

// Sources are compiled side by side, each once; what was compiled before is found.
func TestCompilers(t *testing.T) {
	if _, err := Devices(); err != nil {
		t.Skip(err)
	}
	p, err := OpenCompilers(device.CompilerOptions{Cache: cache(t), Workers: 2}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	kernel := func(name string) string {
		return "__kernel void " + name + "(__global float *x) { x[0] = 1; }\n"
	}
	for round := range 2 {
		var wait sync.WaitGroup
		paths := make([]string, 6)
		for i := range paths {
			wait.Go(func() {
				b, err := p.Compile(t.Context(), device.Source{Text: kernel(fmt.Sprintf("f%d", i)),
					Arithmetic: arith.Contract})
				if err != nil || b.Cached != (round > 0) || b.Took <= 0 {
					t.Errorf("%+v %v", b, err)
				}
				paths[i] = b.Path
			})
		}
		wait.Wait()
		slices.Sort(paths)
		if n := len(slices.Compact(paths)); n != 6 {
			t.Errorf("%d images", n)
		}
	}
	// strict has contract's options
	for mode, cached := range map[arith.Mode]bool{arith.Strict: true, arith.Fast: false} {
		b, err := p.Compile(t.Context(), device.Source{Text: kernel("f0"), Arithmetic: mode})
		if err != nil || b.Cached != cached {
			t.Errorf("%v: %+v %v", mode, b, err)
		}
	}
}

// A worker that dies is the source's fault, and costs nothing but that worker.
func TestCompilerDies(t *testing.T) {
	if _, err := Devices(); err != nil {
		t.Skip(err)
	}
	p, err := OpenCompilers(device.CompilerOptions{Cache: cache(t), Workers: 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	t.Setenv(dieEnv, "1")
	_, err = p.Compile(t.Context(), device.Source{Text: "__kernel void f(__global float *x) { x[0] = 1; }\n",
		Arithmetic: arith.Contract})
	if _, ok := errors.AsType[*worker.Death](err); !ok || verdict.Of(err) != verdict.Compiler ||
		!strings.Contains(err.Error(), "SIGABRT") {
		t.Errorf("%v", err)
	}
	os.Unsetenv(dieEnv)
	if _, err = p.Compile(t.Context(), device.Source{Text: "__kernel void f(__global float *x) { x[0] = 1; }\n",
		Arithmetic: arith.Contract}); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// A device that has no room for one more worker has fewer of them; one that none
// can open is an error.
func TestWithoutRoom(t *testing.T) {
	if _, err := Devices(); err != nil {
		t.Skip(err)
	}
	p, err := OpenCompilers(device.CompilerOptions{Cache: cache(t), Workers: 2}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	kernel := func(name string) string {
		return "__kernel void " + name + "(__global float *x) { x[0] = 1; }\n"
	}
	t.Setenv("GRIDLOOM_LIBOPENCL", "/no/such/library")
	if _, err := p.Compile(t.Context(), device.Source{Text: kernel("a"), Arithmetic: arith.Contract}); err == nil ||
		verdict.Of(err) != verdict.OK || !strings.Contains(err.Error(), "no OpenCL was found") {
		t.Errorf("%v", err)
	}
	p.workers.Close()
	os.Unsetenv("GRIDLOOM_LIBOPENCL")
	if _, err := p.Compile(t.Context(), device.Source{Text: kernel("a"), Arithmetic: arith.Contract}); err != nil {
		t.Fatal(err)
	}
	p.workers.Close() // the next has to open the device anew
	t.Setenv("GRIDLOOM_LIBOPENCL", "/no/such/library")
	if _, err := p.Compile(t.Context(), device.Source{Text: kernel("b"), Arithmetic: arith.Contract}); err == nil ||
		!strings.Contains(err.Error(), "no OpenCL was found") {
		t.Errorf("the last worker: %v", err)
	}
	if p.Workers() != 1 {
		t.Errorf("there are still %d workers", p.Workers())
	}
	p.workers.Close()
	os.Unsetenv("GRIDLOOM_LIBOPENCL")
	if _, err := p.Compile(t.Context(), device.Source{Text: kernel("c"), Arithmetic: arith.Contract}); err != nil {
		t.Error(err)
	}
}
