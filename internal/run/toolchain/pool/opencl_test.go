package pool

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
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/refusal"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// dieEnv makes workers of these tests end like a compiler that crashes.
const dieEnv = "GRIDLOOM_TEST_COMPILER_DIES"

// dying is OpenCLService, which dies where dieEnv says so.
var dying = worker.Service{Name: OpenCLService.Name, Serve: func(l *worker.Link) error {
	if os.Getenv(dieEnv) != "" {
		syscall.Kill(os.Getpid(), syscall.SIGABRT)
		select {}
	}
	return OpenCLService.Serve(l)
}}

func TestOpenCL(t *testing.T) {
	if _, err := opencl.Devices(); err != nil {
		t.Skip(err)
	}
	cache := cache(t)
	build := func(ctx context.Context, text string, deadline time.Duration) (string, error) {
		return OpenCL(ctx, cache, 0, arith.Strict, []byte(text), deadline)
	}
	const good = "__kernel void f(__global float *x) { x[0] = 1; }\n"
	image, err := build(t.Context(), good, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := toolchain.Read(image); err != nil || !strings.HasPrefix(image, cache.Dir) {
		t.Error(image, err)
	}
	if _, err := build(t.Context(), "__kernel void f(__global float *x) { x[0] = undeclared; }\n", time.Hour); refusal.Of(err) != refusal.Compiler || !strings.Contains(err.Error(), "undeclared") {
		t.Errorf("%s: %v", refusal.Of(err), err)
	}
	if _, err := build(t.Context(), good, time.Nanosecond); refusal.Of(err) != refusal.Compiler || !strings.HasSuffix(err.Error(), "it took longer than 1ns") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := build(ctx, good, time.Hour); err != why {
		t.Error(err)
	}
}

// A pool has as many workers as sources at the same time and no more, keeps them
// for the next, and finds what was compiled before without any.
func TestOpenCLPool(t *testing.T) {
	if _, err := opencl.Devices(); err != nil {
		t.Skip(err)
	}
	p, err := OpenOpenCL(Options{Cache: cache(t), Workers: 2}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	kernel := func(name string) []byte {
		return []byte("__kernel void " + name + "(__global float *x) { x[0] = 1; }\n")
	}
	for round := range 2 {
		var wait sync.WaitGroup
		paths := make([]string, 6)
		for i := range paths {
			wait.Go(func() {
				b, err := p.Build(t.Context(), kernel(fmt.Sprintf("f%d", i)), arith.Contract)
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
	served := 0
	for _, m := range p.crew.idle {
		served += m.served
	}
	if len(p.crew.idle) > 2 || served != 6 {
		t.Errorf("%d workers have compiled %d sources", len(p.crew.idle), served)
	}
	for mode, cached := range map[arith.Mode]bool{arith.Strict: true, arith.Fast: false} { // strict has contract's options
		b, err := p.Build(t.Context(), kernel("f0"), mode)
		if err != nil || b.Cached != cached {
			t.Errorf("%v: %+v %v", mode, b, err)
		}
	}
}

// A worker that dies is the source's fault, and costs nothing but that worker.
func TestOpenCLCompilerDies(t *testing.T) {
	if _, err := opencl.Devices(); err != nil {
		t.Skip(err)
	}
	p, err := OpenOpenCL(Options{Cache: cache(t), Workers: 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	t.Setenv(dieEnv, "1")
	_, err = p.Build(t.Context(), []byte("__kernel void f(__global float *x) { x[0] = 1; }\n"), arith.Contract)
	if _, ok := errors.AsType[*worker.Death](err); !ok || refusal.Of(err) != refusal.Compiler || !strings.Contains(err.Error(), "SIGABRT") {
		t.Errorf("%v", err)
	}
	os.Unsetenv(dieEnv)
	if _, err = p.Build(t.Context(), []byte("__kernel void f(__global float *x) { x[0] = 1; }\n"), arith.Contract); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// A device that has no room for one more worker has fewer of them; one that none
// can open is an error.
func TestOpenCLWithoutRoom(t *testing.T) {
	if _, err := opencl.Devices(); err != nil {
		t.Skip(err)
	}
	p, err := OpenOpenCL(Options{Cache: cache(t), Workers: 2}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	kernel := func(name string) []byte {
		return []byte("__kernel void " + name + "(__global float *x) { x[0] = 1; }\n")
	}
	t.Setenv("GRIDLOOM_LIBOPENCL", "/no/such/library")
	if _, err := p.Build(t.Context(), kernel("a"), arith.Contract); err == nil || refusal.Of(err) != refusal.None || !strings.Contains(err.Error(), "no OpenCL was found") {
		t.Errorf("%v", err)
	}
	p.crew.close()
	os.Unsetenv("GRIDLOOM_LIBOPENCL")
	if _, err := p.Build(t.Context(), kernel("a"), arith.Contract); err != nil {
		t.Fatal(err)
	}
	good := p.crew.idle
	p.crew.idle = nil
	t.Setenv("GRIDLOOM_LIBOPENCL", "/no/such/library")
	if _, err := p.Build(t.Context(), kernel("b"), arith.Contract); err == nil || !strings.Contains(err.Error(), "no OpenCL was found") {
		t.Errorf("the last worker: %v", err)
	}
	if p.crew.fewer != 1 || len(p.crew.places) != 1 {
		t.Errorf("%d places were given up, and %d are taken", p.crew.fewer, len(p.crew.places))
	}
	p.crew.close()
	p.crew.idle = good
	if _, err := p.Build(t.Context(), kernel("c"), arith.Contract); err != nil {
		t.Error(err)
	}
}
