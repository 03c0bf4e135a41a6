package pool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/refusal"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// Service compiles in a worker. Programs give it to worker.Main.
var Service = worker.Service{Name: "compile", Serve: serve}

// memoryEnv tells a worker how many bytes it may take.
const memoryEnv = "GRIDLOOM_COMPILE_MEMORY"

type request struct {
	Text    []byte
	Options []string
}

type answer struct {
	Code    []byte
	Log     string
	Took    time.Duration
	Refused *cuda.CompileError
	Error   string // what the source is not to blame for
	Reason  refusal.Reason
}

func serve(l *worker.Link) error {
	if err := worker.ExposeFaults(); err != nil {
		return err
	}
	compiler, err := cuda.FindCompiler()
	if err != nil {
		return err
	}
	if err := limitMemory(); err != nil {
		return err
	}
	for {
		var q request
		if err := l.Receive(&q); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		start := time.Now()
		code, err := compiler.CompileWith(q.Text, q.Options)
		a := answer{Code: code.Bytes, Log: code.Log, Took: time.Since(start)}
		if refused, ok := errors.AsType[*cuda.CompileError](err); ok {
			a.Refused = refused
		} else if err != nil {
			a.Error, a.Reason = err.Error(), refusal.Of(err)
		}
		if err := l.Send(a); err != nil {
			return err
		}
	}
}

// limitMemory lets this process take so much more address space than it has.
func limitMemory() error {
	more, err := strconv.ParseUint(os.Getenv(memoryEnv), 10, 63)
	if err != nil {
		return fmt.Errorf("%s: %w", memoryEnv, err)
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	first, _, _ := bytes.Cut(text, []byte(" "))
	pages, err := strconv.ParseUint(string(first), 10, 63)
	if err != nil {
		return err
	}
	bytes := pages*uint64(os.Getpagesize()) + more
	return unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: bytes, Max: bytes})
}

// compilation is a worker that compiles.
type compilation struct {
	process *worker.Process
	served  int
}

// mostServed is after how many sources a worker is replaced: compilers leak.
const mostServed = 500

// worker returns one that is idle, or a new one.
func (p *Pool) worker() (*compilation, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return c, nil
	}
	process, err := worker.Start(Service.Name, worker.Options{Env: []string{fmt.Sprintf("%s=%d", memoryEnv, p.opts.Memory)}, Memory: p.opts.Memory})
	return &compilation{process: process}, err
}

// back takes back a worker that has answered.
func (p *Pool) back(c *compilation) {
	if c.served >= mostServed {
		c.close()
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.idle = append(p.idle, c)
}

// compile has a source compiled. After an error the worker is gone.
func (c *compilation) compile(ctx context.Context, q request, deadline time.Duration) (answer, error) {
	c.served++
	timer := time.AfterFunc(deadline, func() { c.process.Kill(fmt.Errorf("it took longer than %v", deadline)) })
	defer timer.Stop()
	stop := context.AfterFunc(ctx, func() { c.process.Kill(context.Cause(ctx)) })
	var a answer
	c.process.Send(q) // if it is gone, Receive tells how it went
	err := c.process.Receive(&a)
	if !stop() && err == nil {
		// The answer came with the end of ctx, which ends the worker.
		err = context.Cause(ctx)
	}
	if err != nil {
		c.process.Close()
	}
	return a, err
}

func (c *compilation) close() { c.process.Close() }
