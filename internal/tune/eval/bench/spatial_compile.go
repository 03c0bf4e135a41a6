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

// compileTask is a source to compile. Its number is the caller's.
type compileTask struct {
	Number int
	Source []byte
	Arch   int
	Mode   arith.Mode
}

// compiled is the result of a compileTask.
type compiled struct {
	Number  int
	Code    []byte
	Seconds float64
	Failed  string
}

func compile(l *worker.Link) error {
	compiler, missing := cuda.FindCompiler()
	for {
		var task compileTask
		if err := l.Receive(&task); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		c := compiled{Number: task.Number}
		err := missing
		if err == nil {
			start := time.Now()
			c.Code, err = compileUncached(compiler, task)
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

// compileUncached compiles a task without NVRTC's cache, because its time is measured.
func compileUncached(compiler *cuda.Compiler, task compileTask) ([]byte, error) {
	opts, err := compiler.Options(task.Source, task.Arch, task.Mode, cuda.NoCache)
	if err != nil {
		return nil, err
	}
	code, err := compiler.CompileWith(task.Source, opts)
	return code.Bytes, err
}

// compilePatience is how long a source may take.
const compilePatience = 2 * time.Minute

// compileAll compiles tasks as they come in that many processes, and sends what
// became of them as they end.
func compileAll(ctx context.Context, processes int, tasks <-chan compileTask) <-chan compiled {
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
			for task := range tasks {
				c, err := compileOne(ctx, &p, task)
				if err != nil {
					c = compiled{Number: task.Number, Failed: fmt.Sprintf("the compiler's process: %v", err)}
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

// compileOne gives a task to a process, which it starts if there is none. One
// that does not answer is given up.
func compileOne(ctx context.Context, p **worker.Process, task compileTask) (compiled, error) {
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
	q.Send(&task) // to a process that is gone: what it died of comes with Receive
	if err := q.Receive(&c); err != nil {
		q.Close()
		*p = nil
		return c, err
	}
	return c, nil
}
