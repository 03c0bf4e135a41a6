package pool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/refusal"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// OpenCLService compiles OpenCL C in a worker. Programs give it to worker.Main.
var OpenCLService = worker.Service{Name: "compile-opencl", Serve: serveOpenCL}

type openCLRequest struct {
	Text       []byte
	Ordinal    int
	Arithmetic arith.Mode
	Cache      string
}

type openCLAnswer struct {
	Built    opencl.Built
	Unopened bool // the device could not be opened, so that nothing is known of the source
	Error    string
	Reason   refusal.Reason
}

// serveOpenCL opens the device for the first source and keeps it for the others.
func serveOpenCL(l *worker.Link) error {
	runtime.LockOSThread()
	if err := worker.ExposeFaults(); err != nil {
		return err
	}
	var b *opencl.Builder
	for {
		var q openCLRequest
		if err := l.Receive(&q); err != nil {
			if b != nil {
				b.Close()
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var a openCLAnswer
		var err error
		if b, err = q.builder(b); err == nil {
			if err = b.Open(); err != nil {
				a.Unopened = true
			} else {
				a.Built, err = b.Make(q.Text)
			}
		}
		if err != nil {
			a.Error, a.Reason = err.Error(), refusal.Of(err)
		}
		if err := l.Send(a); err != nil {
			return err
		}
	}
}

// builder returns the one that there is, or a first one: a worker serves one
// device and one cache.
func (q *openCLRequest) builder(b *opencl.Builder) (*opencl.Builder, error) {
	if b != nil {
		b.Arithmetic = q.Arithmetic
		return b, nil
	}
	cache, err := toolchain.OpenCache(q.Cache)
	return &opencl.Builder{Ordinal: q.Ordinal, Arithmetic: q.Arithmetic, Cache: cache}, err
}

// OpenCLPool compiles OpenCL C for one device. Its methods may be called from any
// goroutine.
type OpenCLPool struct {
	request openCLRequest   // but for the text
	builder *opencl.Builder // finds what was compiled before; nil leaves that to the workers
	crew    *crew
	opened  atomic.Bool // some worker has opened the device
}

// contextBytes is about what a driver takes of a GPU's memory for a process that
// has opened it, and contextPart the part of the memory that all may take.
const (
	contextBytes = 512 << 20
	contextPart  = 4
)

// OpenOpenCL returns a pool for a device. Workers are started when they are
// needed, and no more than the device has memory for. The zero values of Options
// stand for what they do in Open, but that the memory of workers is not limited:
// drivers reserve as much address space as all devices have memory.
func OpenOpenCL(o Options, ordinal int) (*OpenCLPool, error) {
	device, err := opencl.Find(ordinal)
	if err != nil {
		return nil, err
	}
	workers, deadline := o.crew()
	if !device.Unified {
		workers = max(1, min(workers, int(device.Memory/contextPart/contextBytes)))
	}
	p := newOpenCLPool(ordinal, o.Cache, workers, deadline)
	p.builder = &opencl.Builder{Ordinal: ordinal, Cache: o.Cache}
	return p, p.builder.Find()
}

func newOpenCLPool(ordinal int, cache *toolchain.Cache, workers int, deadline time.Duration) *OpenCLPool {
	return &OpenCLPool{request: openCLRequest{Ordinal: ordinal, Cache: cache.Dir}, crew: newCrew(OpenCLService.Name, workers, deadline, worker.Options{})}
}

// Workers is how many compile at the same time.
func (p *OpenCLPool) Workers() int { return cap(p.crew.places) }

// Close ends the workers, which must have nothing left to do.
func (p *OpenCLPool) Close() { p.crew.close() }

// Build compiles a source, or finds what was compiled before. The reason of an
// error is refusal.Compiler if the source is to blame: the compiler has refused
// it, or did not come to an end.
func (p *OpenCLPool) Build(ctx context.Context, text []byte, a arith.Mode) (opencl.Built, error) {
	if p.builder != nil {
		b := *p.builder
		b.Arithmetic = a
		if made, ok := b.Kept(text); ok {
			return made, nil
		}
	}
	q := p.request
	q.Text, q.Arithmetic = text, a
	for {
		a, again, err := p.once(ctx, q)
		if !again {
			return a.Built, err
		}
	}
}

// once asks one worker. If that could not open the device though others have, the
// device has no room for so many: there is one worker less from now on, and
// another one is to be asked again.
func (p *OpenCLPool) once(ctx context.Context, q openCLRequest) (a openCLAnswer, again bool, err error) {
	if err := p.crew.enter(ctx); err != nil {
		return a, false, err
	}
	err = p.crew.ask(ctx, q, &a)
	if err == nil && a.Unopened && p.opened.Load() && p.crew.giveUp() {
		return a, true, nil
	}
	defer p.crew.leave()
	switch {
	case err != nil && ctx.Err() != nil:
		return a, false, context.Cause(ctx)
	case err != nil && !died(err):
		return a, false, err
	case err != nil:
		return a, false, refusal.For(refusal.Compiler, fmt.Errorf("the compiler of %s did not come to an end with the generated code: %w", opencl.ID(q.Ordinal), err))
	case !a.Unopened:
		p.opened.Store(true)
	}
	if a.Error != "" {
		err = refusal.For(a.Reason, errors.New(a.Error))
	}
	return a, false, err
}

// OpenCL compiles one source for a device of OpenCL in a worker of its own, which
// has the environment of this moment, and returns the image's path.
func OpenCL(ctx context.Context, cache *toolchain.Cache, ordinal int, a arith.Mode, text []byte, deadline time.Duration) (string, error) {
	p := newOpenCLPool(ordinal, cache, 1, deadline)
	defer p.Close()
	b, err := p.Build(ctx, text, a)
	return b.Path, err
}
