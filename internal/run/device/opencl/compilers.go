package opencl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/toolchain/pool"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// CompileService compiles OpenCL C in a worker.
var CompileService = worker.Service{Name: "compile-opencl", Serve: serve}

type request struct {
	Text       []byte
	Ordinal    int
	Arithmetic arith.Mode
	Cache      string
}

type answer struct {
	Image    device.Binary
	Unopened bool // the device could not be opened, so that nothing is known of the source
	Error    string
	Reason   verdict.Verdict
}

// serve opens the device for the first source and keeps it for the others.
func serve(l *worker.Link) error {
	runtime.LockOSThread()
	if err := worker.ExposeFaults(); err != nil {
		return err
	}
	var b *Builder
	for {
		var q request
		if err := l.Receive(&q); err != nil {
			if b != nil {
				b.Close()
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var a answer
		var err error
		if b, err = q.builder(b); err == nil {
			if err = b.Open(); err != nil {
				a.Unopened = true
			} else {
				a.Image, err = b.Make(q.Text)
			}
		}
		if err != nil {
			a.Error, a.Reason = err.Error(), verdict.Of(err)
		}
		if err := l.Send(a); err != nil {
			return err
		}
	}
}

// builder returns the one that there is, or a first one: a worker serves one
// device and one cache.
func (q *request) builder(b *Builder) (*Builder, error) {
	if b != nil {
		b.Arithmetic = q.Arithmetic
		return b, nil
	}
	cache, err := toolchain.OpenCache(q.Cache)
	return &Builder{Ordinal: q.Ordinal, Arithmetic: q.Arithmetic, Cache: cache}, err
}

// Compilers compile OpenCL C for one device in worker processes: an OpenCL compiler is
// part of a driver, and some crash. A worker has to open the device, and keeps it open for
// the next source.
type Compilers struct {
	builder Builder // finds what was compiled before
	workers *pool.Pool
	opened  atomic.Bool // some worker has opened the device
}

// contextBytes is about what a driver takes of a GPU's memory for a process that
// has opened it, and contextPart the part of the memory that all may take.
const (
	contextBytes = 512 << 20
	contextPart  = 4
)

// OpenCompilers finds the device. Workers are started when they are needed, and no more
// than the device has memory for. A source may take a minute unless the options say
// otherwise. The memory of workers is not limited: drivers reserve as much address space as
// all devices have memory.
func OpenCompilers(o device.CompilerOptions, ordinal int) (*Compilers, error) {
	p := &Compilers{builder: Builder{Ordinal: ordinal, Cache: o.Cache}}
	if err := p.builder.Find(); err != nil {
		return nil, err
	}
	workers, limit := cmp.Or(o.Workers, runtime.GOMAXPROCS(0)), cmp.Or(o.Limit, time.Minute)
	if d := &p.builder.device; !d.Unified {
		workers = max(1, min(workers, int(d.Memory/contextPart/contextBytes)))
	}
	p.workers = pool.New(CompileService.Name, workers, limit, worker.Options{})
	return p, nil
}

// Version implements device.Compiler.
func (p *Compilers) Version() string {
	return p.builder.device.Platform + " " + p.builder.device.Release
}

// Options implements device.Compiler.
func (p *Compilers) Options(a arith.Mode) []string { return p.builder.device.options(a) }

// Fused implements device.Compiler.
func (p *Compilers) Fused() bool { return true }

// Workers implements device.Compiler.
func (p *Compilers) Workers() int { return p.workers.Workers() }

// Close ends the workers, which must have nothing left to do.
func (p *Compilers) Close() { p.workers.Close() }

// Compile implements device.Compiler. Workers have the environment of the moment in
// which they were started.
func (p *Compilers) Compile(ctx context.Context, s device.Source) (device.Binary, error) {
	text, b := []byte(s.Text), p.builder
	b.Arithmetic = s.Arithmetic
	if made, ok := b.Kept(text); ok {
		return made, nil
	}
	q := request{Text: text, Ordinal: b.Ordinal, Arithmetic: s.Arithmetic, Cache: b.Cache.Dir}
	for {
		a, again, err := p.once(ctx, q)
		if !again {
			return a.Image, err
		}
	}
}

// once asks one worker. If that could not open the device though others have, the
// device has no room for so many: there is one worker less from now on, and
// another one is to be asked again.
func (p *Compilers) once(ctx context.Context, q request) (a answer, again bool, err error) {
	if err := p.workers.Enter(ctx); err != nil {
		return a, false, err
	}
	err = p.workers.Ask(ctx, q, &a)
	if err == nil && a.Unopened && p.opened.Load() && p.workers.GiveUp() {
		return a, true, nil
	}
	defer p.workers.Leave()
	switch {
	case err != nil && ctx.Err() != nil:
		return a, false, context.Cause(ctx)
	case err != nil && !pool.Died(err):
		return a, false, err
	case err != nil:
		return a, false, verdict.For(verdict.Compiler,
			fmt.Errorf("the compiler of %s did not come to an end with the generated code: %w", ID(q.Ordinal), err))
	case !a.Unopened:
		p.opened.Store(true)
	}
	if a.Error != "" {
		err = verdict.For(a.Reason, errors.New(a.Error))
	}
	return a, false, err
}
