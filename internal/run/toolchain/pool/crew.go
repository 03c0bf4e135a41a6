package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/run/worker"
)

// crew is worker processes of one service, so many at a time, that are kept for
// the next request: what a worker has opened it need not open again.
type crew struct {
	service  string
	options  worker.Options
	deadline time.Duration // for one request
	places   chan struct{} // a token for each worker at work

	mutex sync.Mutex
	idle  []*member
	fewer int // places that were given up
}

// member is a worker process.
type member struct {
	process *worker.Process
	served  int
}

// mostServed is after how many requests a worker is replaced: compilers leak.
const mostServed = 500

func newCrew(service string, workers int, deadline time.Duration, o worker.Options) *crew {
	return &crew{service: service, options: o, deadline: deadline, places: make(chan struct{}, workers)}
}

// enter waits for a place; leave gives it back.
func (c *crew) enter(ctx context.Context) error {
	select {
	case c.places <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ctx.Err() != nil {
		c.leave()
		return context.Cause(ctx)
	}
	return nil
}

func (c *crew) leave() { <-c.places }

// giveUp keeps a place taken for good, so that there are fewer workers from now
// on; false if it is the last, which the caller has to leave.
func (c *crew) giveUp() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.fewer+1 >= cap(c.places) {
		return false
	}
	c.fewer++
	return true
}

// ask has an idle worker, or a new one, answer a request. The caller has a place.
// After an error the worker is gone.
func (c *crew) ask(ctx context.Context, request, answer any) error {
	m, err := c.member()
	if err != nil {
		return err
	}
	m.served++
	timer := time.AfterFunc(c.deadline, func() { m.process.Kill(fmt.Errorf("it took longer than %v", c.deadline)) })
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
		c.mutex.Lock()
		c.idle = append(c.idle, m)
		c.mutex.Unlock()
	}
	return err
}

// member returns a worker that is idle, or a new one.
func (c *crew) member() (*member, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if n := len(c.idle); n > 0 {
		m := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return m, nil
	}
	process, err := worker.Start(c.service, c.options)
	return &member{process: process}, err
}

// close ends the workers, which must have nothing left to do.
func (c *crew) close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var wait sync.WaitGroup
	for _, m := range c.idle {
		wait.Go(m.process.Close)
	}
	wait.Wait()
	c.idle = nil
}

// died reports whether an error is the end of a worker, and not that there was
// none to ask.
func died(err error) bool {
	_, ok := errors.AsType[*worker.Death](err)
	return ok
}
