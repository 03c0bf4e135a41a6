package pool

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/refusal"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// OpenCLService compiles OpenCL C in a worker: the compiler is part of a
// driver, and some crash. Programs give it to worker.Main.
var OpenCLService = worker.Service{Name: "compile-opencl", Serve: serveOpenCL}

type openCLRequest struct {
	Text       []byte
	Ordinal    int
	Arithmetic toolchain.Arithmetic
	Cache      string
}

type openCLAnswer struct {
	Image  string
	Error  string
	Reason refusal.Reason
}

func serveOpenCL(l *worker.Link) error {
	runtime.LockOSThread()
	if err := worker.ExposeFaults(); err != nil {
		return err
	}
	var q openCLRequest
	if err := l.Receive(&q); err != nil {
		return err
	}
	var a openCLAnswer
	cache, err := toolchain.OpenCache(q.Cache)
	if err == nil {
		a.Image, err = (&opencl.Builder{Ordinal: q.Ordinal, Arithmetic: q.Arithmetic, Cache: cache}).Build(context.Background(), q.Text)
	}
	if err != nil {
		a.Error, a.Reason = err.Error(), refusal.Of(err)
	}
	return l.Send(a)
}

// OpenCL compiles a source for a device of OpenCL and returns the image's path.
func OpenCL(ctx context.Context, cache *toolchain.Cache, ordinal int, arithmetic toolchain.Arithmetic, text []byte, deadline time.Duration) (string, error) {
	p, err := worker.Start(OpenCLService.Name, worker.Options{})
	if err != nil {
		return "", err
	}
	defer p.Close()
	timer := time.AfterFunc(deadline, func() { p.Kill(fmt.Errorf("it took longer than %v", deadline)) })
	defer timer.Stop()
	stop := context.AfterFunc(ctx, func() { p.Kill(context.Cause(ctx)) })
	defer stop()
	p.Send(openCLRequest{text, ordinal, arithmetic, cache.Dir}) // if it is gone, Receive tells how it went
	var a openCLAnswer
	switch err := p.Receive(&a); {
	case err != nil && ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", refusal.For(refusal.Compiler, fmt.Errorf("the compiler of %s did not come to an end with the generated code: %w", opencl.ID(ordinal), err))
	case a.Error != "":
		return "", refusal.For(a.Reason, errors.New(a.Error))
	}
	return a.Image, nil
}
