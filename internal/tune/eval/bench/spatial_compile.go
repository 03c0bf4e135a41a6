package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// CompileService compiles CUDA in a worker process. NVRTC serves the threads
// of one process nearly one after the other, and processes side by side.
var CompileService = worker.Service{Name: "bench-compile", Serve: compile}

// job is a source to compile. Its number is the caller's.
type job struct {
	Number int
	Source []byte
	Arch   int
	Mode   arith.Mode
}

// compiled is what became of a job.
type compiled struct {
	Number  int
	Code    []byte
	Seconds float64
	Failed  string
}

func compile(l *worker.Link) error {
	compiler, missing := cuda.FindCompiler()
	for {
		var j job
		if err := l.Receive(&j); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		c := compiled{Number: j.Number}
		err := missing
		if err == nil {
			start := time.Now()
			c.Code, err = anew(compiler, j)
			c.Seconds = time.Since(start).Seconds()
		}
		if err != nil {
			c.Failed = err.Error()
		}
		if err := l.Send(&c); err != nil {
			return err
		}
	}
}

// anew compiles a job, whatever NVRTC has kept of it: the time is measured.
func anew(compiler *cuda.Compiler, j job) ([]byte, error) {
	opts, err := compiler.Options(j.Source, j.Arch, j.Mode, cuda.NoCache)
	if err != nil {
		return nil, err
	}
	code, err := compiler.CompileWith(j.Source, opts)
	return code.Bytes, err
}

// compilePatience is how long a source may take.
const compilePatience = 2 * time.Minute

// compileAll compiles jobs as they come in that many processes, and sends what
// became of them as they end.
func compileAll(ctx context.Context, processes int, jobs <-chan job) <-chan compiled {
	done := make(chan compiled)
	var wg sync.WaitGroup
	for range max(1, processes) {
		wg.Go(func() {
			var p *worker.Process
			defer func() {
				if p != nil {
					p.Close()
				}
			}()
			for j := range jobs {
				c, err := compileOne(ctx, &p, j)
				if err != nil {
					c = compiled{Number: j.Number, Failed: fmt.Sprintf("the compiler's process: %v", err)}
				}
				done <- c
			}
		})
	}
	go func() {
		wg.Wait()
		close(done)
	}()
	return done
}

// compileOne gives a job to a process, which it starts if there is none. One
// that does not answer is given up.
func compileOne(ctx context.Context, p **worker.Process, j job) (compiled, error) {
	var c compiled
	if ctx.Err() != nil {
		return c, context.Cause(ctx)
	}
	if *p == nil {
		var err error
		if *p, err = worker.Start(CompileService.Name, worker.Options{}); err != nil {
			return c, err
		}
	}
	q := *p
	late := time.AfterFunc(compilePatience, func() { q.Kill(fmt.Errorf("it took longer than %v", compilePatience)) })
	defer late.Stop()
	stop := context.AfterFunc(ctx, func() { q.Kill(context.Cause(ctx)) })
	defer stop()
	q.Send(&j) // to a process that is gone: what it died of comes with Receive
	if err := q.Receive(&c); err != nil {
		q.Close()
		*p = nil
		return c, err
	}
	return c, nil
}
