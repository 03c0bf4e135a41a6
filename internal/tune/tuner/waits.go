package tuner

import (
	"context"
	"fmt"
	"time"
)

// Waits are the seconds of a search in which the device did not run kernels
// though it could have, by what it waited for.
type Waits struct {
	Compilers float64 `json:"compilers_s"` // none of the variants that were asked for was ready
	Strategy  float64 `json:"strategy_s"`  // all that was asked for was tried
	Loading   float64 `json:"loading_s"`   // the driver loaded compiled code
}

// Compilation sums up what the compilers of a search have done.
type Compilation struct {
	Processes int     `json:"processes"` // at the same time
	Variants  int     `json:"variants"`
	Cached    int     `json:"cached"`      // of these, were compiled before
	Lowering  float64 `json:"lowering_s"`  // of all processes together
	Compiling float64 `json:"compiling_s"` // likewise
}

// A wait is told once it has lasted for longPause, and then every moreOften.
const (
	longPause = 2 * time.Second
	moreOften = time.Second
)

// pause is a time in which nothing is measured.
type pause struct {
	t     *tuning
	begun time.Time
	told  time.Time
}

func (t *tuning) pause() *pause { return &pause{t: t, begun: t.clock()} }

// tell tells what is waited for, if that has lasted for a while.
func (p *pause) tell(text func() string) {
	now := p.t.clock()
	if now.Sub(p.begun) < longPause || now.Sub(p.told) < moreOften {
		return
	}
	p.told = now
	p.t.event(Event{Kind: EventWait, Text: text(), Seconds: now.Sub(p.begun).Seconds()})
}

// took is how long it has lasted.
func (p *pause) took() float64 { return p.t.clock().Sub(p.begun).Seconds() }

// during calls f, and tells that it is waited for. When ctx ends first, f is left
// to itself, and nothing that it sets may be used.
func (t *tuning) during(ctx context.Context, what string, f func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	p := t.pause()
	tick := time.NewTicker(time.Second / 4)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			p.tell(func() string { return fmt.Sprintf("%s, for %.0f s", what, p.took()) })
		}
	}
}
