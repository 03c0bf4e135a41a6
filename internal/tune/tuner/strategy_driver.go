package tuner

import (
	"sync/atomic"

	"github.com/gridloom/gridloom/internal/tune/search"
)

// strategyDriver runs a strategy in a goroutine of its own, so that the device does not wait for it. The
// strategy is told trials in the order in which it asked for them, and is asked for more after each. So
// its requests are a function of the trials alone, however long they take, and an interrupted search
// continues exactly.
type strategyDriver struct {
	strategy search.Strategy
	inFlight func(told int) int // how many may be asked for and not told
	trials   int                // limit of all trials; 0 is none
	// outcomes of the session that is resumed, by configuration: they count whatever the limits are
	resumed      map[string]*Outcome
	resumedCount int // how many these are
	text         func(search.Point) string
	idleWorkers  func() int // processes that have nothing to compile

	asked, told int
	requests    chan driverRequest
	replies     chan driverReply
	outstanding int // requests without a reply; of the sender alone
	ended       atomic.Bool
}

// driverRequest tells the strategy a trial, except for the first request, and may ask for points.
type driverRequest struct {
	trial *search.Trial
	ask   bool // whether more may be asked for
}

// driverReply is the answer to one request: points to try, and points that are likely to follow.
type driverReply struct {
	points, likely []search.Point
}

// maxRequests is more than the requests that can be without a reply: each trial that is told was asked for.
const maxRequests = 2 * inFlightAtMost

// start runs the strategy until stop.
func (t *strategyDriver) start() {
	t.requests, t.replies = make(chan driverRequest, maxRequests), make(chan driverReply, maxRequests)
	go func() {
		defer close(t.replies)
		for n := range t.requests {
			if !t.ended.Load() {
				t.replies <- t.step(n)
			}
		}
	}()
}

// stop ends the driver and drops its replies. It does not wait for the strategy, which may take a while.
func (t *strategyDriver) stop() {
	t.ended.Store(true)
	close(t.requests)
	go func() {
		for range t.replies {
		}
	}()
}

// send sends a request. Each request gets one reply.
func (t *strategyDriver) send(n driverRequest) {
	t.outstanding++
	t.requests <- n
}

func (t *strategyDriver) step(n driverRequest) driverReply {
	if n.trial != nil {
		t.strategy.Tell(*n.trial)
		t.told++
	}
	var o driverReply
	if !n.ask {
		return o
	}
	for !t.ended.Load() && t.asked-t.told < t.inFlight(t.told) && (t.trials == 0 || t.asked < t.trials ||
		t.replaying()) {
		points := t.strategy.Ask(1)
		if len(points) == 0 {
			break
		}
		t.asked++
		if len(t.resumed) > 0 {
			delete(t.resumed, t.text(points[0]))
		}
		o.points = append(o.points, points[0])
	}
	if len(t.requests) == 0 && !t.ended.Load() { // otherwise a later reply has better predictions
		o.likely = t.strategy.Likely(t.idleWorkers())
	}
	return o
}

// replaying reports whether the strategy may still ask for outcomes of the session that is resumed. All
// of these are asked for while at most inFlight more are.
func (t *strategyDriver) replaying() bool {
	return len(t.resumed) > 0 && t.asked < t.resumedCount+t.inFlight(t.told)
}

// poll returns a reply if there is one, without waiting.
func (t *strategyDriver) poll() (driverReply, bool) {
	select {
	case o := <-t.replies:
		t.outstanding--
		return o, true
	default:
		return driverReply{}, false
	}
}
