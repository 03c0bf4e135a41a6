package tuner

import (
	"context"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/tune/measure"
)

// While no variant is ready, the device re-times the reference variant (to detect drift), then contenders
// whose interval overlaps the incumbent's, then re-checks the leaders (to catch rare races: a variant
// whose threads race is wrong only now and then, and each comparison makes it less likely to win).

const (
	driftEvery  = 3 * time.Second  // between drift measurements while the device is idle
	driftAlways = 20 * time.Second // and while it is not
	enough      = 60               // batches of a contender: no more are timed
)

// prepareReference compiles the variant that drift is measured with: the default one. If that does not
// run, drift is not measured.
func (k *kernelSearch) prepareReference(ctx context.Context) {
	if k.tuning.await(ctx, k.defaultTask) != nil {
		return
	}
	code := k.defaultTask.code
	k.timeKernelAlone(&code)
	var err error
	k.queue.withoutCompilers(func() {
		_, err = k.lab.Try(ctx, code, k.call.margins, measure.Rule{Least: k.about.Least, Batches: 1}, firstTrialLimit)
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

// useIdleTime re-times or re-checks one variant. It reports whether there was one.
func (k *kernelSearch) useIdleTime(ctx context.Context) bool {
	before := k.busy
	defer func() { k.rechecked += k.busy - before }()
	if k.reference != nil && k.clock().Sub(k.drifted) > driftEvery {
		k.drift(ctx)
		return true
	}
	if a := k.leastTimed(); a != nil {
		k.timeKernelAlone(&a.task.code)
		stop := k.startBusyTimer()
		s, err := k.lab.Batch(ctx, a.task.code, k.about.Least)
		stop()
		if err != nil {
			k.recheckFailed(ctx, a, err)
		} else {
			k.addTimes(a, s)
		}
		return true
	}
	a := k.leastChecked()
	if a == nil {
		return false
	}
	t, _, err := k.check(ctx, &a.task.compiled, measure.Rule{Least: k.about.Least, Batches: 1})
	if err != nil {
		k.recheckFailed(ctx, a, err)
		return true
	}
	if t.Suspect {
		k.noteSuspect(a)
	}
	a.outcome.Checks += checksOfTry
	if len(a.outcome.Times) < enough {
		k.addTimes(a, t.Times...)
	}
	return true
}

// addTimes adds times to a contender.
func (k *kernelSearch) addTimes(a *attempt, times ...float64) {
	o := a.outcome
	o.timed(append(o.Times, times...))
	k.sortLeaders()
}

// startBusyTimer starts counting time in which the device is busy, and returns the function that stops it.
func (k *kernelSearch) startBusyTimer() func() {
	begin := k.clock()
	return func() { k.busy += k.clock().Sub(begin) }
}

// leastTimed returns the contender with the fewest batches, among those that may be the fastest.
func (k *kernelSearch) leastTimed() *attempt {
	var least *attempt
	for _, a := range k.leaders {
		if !a.ready() || a.notRetimable || len(a.outcome.Times) >= enough || a.outcome.Low > k.best.High {
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
	for _, a := range k.leaders {
		if a.ready() && !a.notRetimable && (least == nil || a.outcome.Checks < least.outcome.Checks) {
			least = a
		}
	}
	return least
}

// ready reports whether an attempt can be measured now. One that the store knew has no task, and one that
// became a leader late may not be compiled yet.
func (a *attempt) ready() bool {
	if a.task == nil {
		return false
	}
	select {
	case <-a.task.done:
		return a.task.err == nil
	default:
		return false
	}
}

// sortLeaders sorts the leaders by their present times; the first is the incumbent.
func (k *kernelSearch) sortLeaders() {
	slices.SortStableFunc(k.leaders, func(a, b *attempt) int { return compare(a.outcome.Seconds, b.outcome.Seconds) })
	k.best = nil
	if len(k.leaders) > 0 {
		k.best = k.leaders[0].outcome
	}
}
