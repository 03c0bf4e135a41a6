package pool

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/refusal"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

func TestOpenCL(t *testing.T) {
	if _, err := opencl.Devices(); err != nil {
		t.Skip(err)
	}
	cache := cache(t)
	build := func(ctx context.Context, text string, deadline time.Duration) (string, error) {
		return OpenCL(ctx, cache, 0, toolchain.Strict, []byte(text), deadline)
	}
	const good = "__kernel void f(__global float *x) { x[0] = 1; }\n"
	image, err := build(t.Context(), good, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := toolchain.Read(image); err != nil || !strings.HasPrefix(image, cache.Dir) {
		t.Error(image, err)
	}
	if _, err := build(t.Context(), "__kernel void f(__global float *x) { x[0] = undeclared; }\n", time.Minute); refusal.Of(err) != refusal.Compiler || !strings.Contains(err.Error(), "undeclared") {
		t.Errorf("%s: %v", refusal.Of(err), err)
	}
	if _, err := build(t.Context(), good, time.Nanosecond); refusal.Of(err) != refusal.Compiler || !strings.HasSuffix(err.Error(), "it took longer than 1ns") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := build(ctx, good, time.Minute); err != why {
		t.Error(err)
	}
}
