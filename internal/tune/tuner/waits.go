package tuner

import (
	"context"
	"fmt"
	"time"
)

// Waits are the seconds of a search in which the device was idle, by what it waited for.
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

// A wait is reported after firstWaitEvent, and then every waitEventInterval.
const (
	firstWaitEvent    = 2 * time.Second
	waitEventInterval = time.Second
)

// waitTimer measures a time in which nothing is measured, and reports it.
type waitTimer struct {
	t     *tuning
	begun time.Time
	told  time.Time
}

func (t *tuning) startWait() *waitTimer { return &waitTimer{t: t, begun: t.clock()} }

// tell reports what is waited for, if the wait is long.
func (p *waitTimer) tell(text func() string) {
	now := p.t.clock()
	if now.Sub(p.begun) < firstWaitEvent || now.Sub(p.told) < waitEventInterval {
		return
	}
	p.told = now
	p.t.event(Event{Kind: EventWait, Text: text(), Seconds: now.Sub(p.begun).Seconds()})
}

// took returns the seconds so far.
func (p *waitTimer) took() float64 { return p.t.clock().Sub(p.begun).Seconds() }

// runReporting calls f, and reports the wait for it. If ctx ends first, f is abandoned, and nothing that it
// sets may be used.
func (t *tuning) runReporting(ctx context.Context, what string, f func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	p := t.startWait()
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
