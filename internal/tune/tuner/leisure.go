package tuner

import (
	"context"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/tune/measure"
)

// When no variant is ready the device need not wait: it times the reference
// variant once more, which tells whether speeds drift, or a contender whose
// interval overlaps that of the best. If there is none it checks the leaders
// again: where threads race a variant comes out wrong only now and then, and
// each comparison more makes it less likely that such a one wins.

const (
	driftEvery  = 3 * time.Second  // when there is leisure
	driftAlways = 20 * time.Second // and when there is none
	enough      = 60               // batches of a contender
)

// prepareReference compiles the variant that tells drift: the default one. If
// that does not run, nothing is told.
func (k *kernelSearch) prepareReference(ctx context.Context) {
	if k.tuning.await(ctx, k.usual) != nil {
		return
	}
	code := k.usual.code
	k.narrow(&code)
	var err error
	k.works.quietly(func() {
		_, err = k.lab.Try(ctx, code, k.margins, measure.Rule{Least: k.about.Least, Batches: 1}, firstPatience)
	})
	if err != nil {
		return
	}
	k.reference = &code
	k.drift(ctx)
}

// drift times the reference variant.
func (k *kernelSearch) drift(ctx context.Context) {
	k.drifted = k.clock()
	if k.reference == nil {
		return
	}
	before := k.batched
	s, err := k.batch(ctx, *k.reference, k.about.Least)
	k.busy += k.batched - before
	if err == nil {
		k.result.Drift = append(k.result.Drift, DriftPoint{At: k.elapsed().Seconds(), Kernel: k.name, Seconds: s})
	}
}

// leisure does something useful with the device for a moment. It reports
// whether there was anything to do.
func (k *kernelSearch) leisure(ctx context.Context) bool {
	before := k.busy
	defer func() { k.again += k.busy - before }()
	if k.reference != nil && k.clock().Sub(k.drifted) > driftEvery {
		k.drift(ctx)
		return true
	}
	if a := k.doubtful(); a != nil {
		k.narrow(&a.job.code)
		stop := k.occupied()
		s, err := k.lab.Batch(ctx, a.job.code, k.about.Least)
		stop()
		if err != nil {
			k.failedAgain(ctx, a, err)
		} else {
			k.timed(a, s)
		}
		return true
	}
	a := k.leastChecked()
	if a == nil {
		return false
	}
	t, _, err := k.check(ctx, &a.job.compiled, measure.Rule{Least: k.about.Least, Batches: 1})
	if err != nil {
		k.failedAgain(ctx, a, err)
		return true
	}
	if t.Suspect {
		k.suspect(a)
	}
	a.outcome.Checks += checksOfTry
	if len(a.outcome.Times) < enough {
		k.timed(a, t.Times...)
	}
	return true
}

// timed takes in more times of a contender.
func (k *kernelSearch) timed(a *attempt, times ...float64) {
	o := a.outcome
	o.timed(append(o.Times, times...))
	k.order()
}

// occupied starts counting time in which the device has something to do, and
// returns what stops it.
func (k *kernelSearch) occupied() func() {
	begin := k.clock()
	return func() { k.busy += k.clock().Sub(begin) }
}

// doubtful returns the contender that was timed least, of those that may be
// the best.
func (k *kernelSearch) doubtful() *attempt {
	var least *attempt
	for _, a := range k.fast {
		if !a.ready() || a.doubtless || len(a.outcome.Times) >= enough || a.outcome.Low > k.best.High {
			continue
		}
		if least == nil || len(a.outcome.Times) < len(least.outcome.Times) {
			least = a
		}
	}
	return least
}

// leastChecked returns the leader that was compared least often.
func (k *kernelSearch) leastChecked() *attempt {
	var least *attempt
	for _, a := range k.fast {
		if a.ready() && !a.doubtless && (least == nil || a.outcome.Checks < least.outcome.Checks) {
			least = a
		}
	}
	return least
}

// ready reports whether an attempt can be measured now. What the store knew was
// not compiled, and what has become a leader late may not be yet.
func (a *attempt) ready() bool {
	if a.job == nil {
		return false
	}
	select {
	case <-a.job.done:
		return a.job.err == nil
	default:
		return false
	}
}

// order sorts the fastest by what is known of them now.
func (k *kernelSearch) order() {
	slices.SortStableFunc(k.fast, func(a, b *attempt) int { return compare(a.outcome.Seconds, b.outcome.Seconds) })
	k.best = nil
	if len(k.fast) > 0 {
		k.best = k.fast[0].outcome
	}
}
