// Package pool keeps worker processes that compile, many at a time. Compilers of
// GPU code are libraries that gain little from several threads of one process;
// some crash, hang or take all memory. A process each keeps that from the others.
package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/run/worker"
)

// Pool is worker processes of one service, so many at a time, that are kept for
// the next request: what a worker has opened it need not open again. Its methods
// may be called from any goroutine.
type Pool struct {
	service  string
	options  worker.Options
	deadline time.Duration // for one request
	places   chan struct{} // a token for each worker at work

	mutex sync.Mutex
	idle  []*process
	fewer int // places that were given up
}

// process is a worker process.
type process struct {
	process *worker.Process
	served  int
}

// mostServed is after how many requests a worker is replaced: compilers leak.
const mostServed = 500

// New returns a pool without processes: each is started when it is needed. The
// deadline is for one request.
func New(service string, workers int, deadline time.Duration, o worker.Options) *Pool {
	return &Pool{service: service, options: o, deadline: deadline, places: make(chan struct{}, workers)}
}

// Workers is how many may be at work at the same time.
func (p *Pool) Workers() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return cap(p.places) - p.fewer
}

// Enter waits for a place among those that are at work at the same time.
func (p *Pool) Enter(ctx context.Context) error {
	select {
	case p.places <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ctx.Err() != nil {
		p.Leave()
		return context.Cause(ctx)
	}
	return nil
}

// Leave gives a place back.
func (p *Pool) Leave() { <-p.places }

// GiveUp keeps a place taken for good, so that there are fewer workers from now
// on; false if it is the last, which the caller has to leave.
func (p *Pool) GiveUp() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.fewer+1 >= cap(p.places) {
		return false
	}
	p.fewer++
	return true
}

// Ask has an idle worker, or a new one, answer a request. The caller has a place.
// After an error the worker is gone.
func (p *Pool) Ask(ctx context.Context, request, answer any) error {
	m, err := p.next()
	if err != nil {
		return err
	}
	m.served++
	timer := time.AfterFunc(p.deadline, func() { m.process.Kill(fmt.Errorf("it took longer than %v", p.deadline)) })
	defer timer.Stop()
	stop := context.AfterFunc(ctx, func() { m.process.Kill(context.Cause(ctx)) })
	m.process.Send(request) // if it is gone, Receive tells how it went
	err = m.process.Receive(answer)
	if !stop() && err == nil {
		// The answer came with the end of ctx, which ends the worker.
		err = context.Cause(ctx)
	}
	switch {
	case err != nil || m.served >= mostServed:
		m.process.Close()
	default:
		p.mutex.Lock()
		p.idle = append(p.idle, m)
		p.mutex.Unlock()
	}
	return err
}

// next returns a worker that is idle, or a new one.
func (p *Pool) next() (*process, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if n := len(p.idle); n > 0 {
		m := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return m, nil
	}
	started, err := worker.Start(p.service, p.options)
	return &process{process: started}, err
}

// Close ends the workers, which must have nothing left to do.
func (p *Pool) Close() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var wait sync.WaitGroup
	for _, m := range p.idle {
		wait.Go(m.process.Close)
	}
	wait.Wait()
	p.idle = nil
}

// Died reports whether an error is the end of a worker, and not that there was
// none to ask.
func Died(err error) bool {
	_, ok := errors.AsType[*worker.Death](err)
	return ok
}
