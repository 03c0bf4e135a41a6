package tuner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// A variant that was right may be wrong, or crash, when it is checked again. Then it was never right, and no
// result of it may be used: it is condemned.

// recheckFailed handles the failure of a leader that was right before.
func (k *kernelSearch) recheckFailed(ctx context.Context, a *attempt, err error) {
	switch {
	case ctx.Err() != nil || errors.Is(err, errNoTime): // it was not the variant's fault
	case unusable(err):
		a.notRetimable = true // the next trial fails, too, and ends the search
	default:
		k.condemn(a.outcome, err)
	}
}

// condemn turns a good outcome, and all with the same code, into failures. The next fastest take their
// places among the leaders. What the strategy was told does not change.
func (k *kernelSearch) condemn(o *Outcome, err error) {
	bad := outcomeOf(measure.Trial{}, err)
	var list []*Outcome
	for _, x := range k.goodWithSameCode(o) {
		if slices.Contains(k.list, x) {
			list = append(list, x)
		}
		x.Verdict, x.Message = bad.Verdict, rightBefore(x.Checks)+": "+bad.Message
		if k.opts.Log != nil && k.failed == nil {
			if err := k.opts.Log.Condemn(*x); err != nil {
				k.failed = fmt.Errorf("it cannot be kept that a configuration has failed: %w", err)
			}
		}
	}
	for _, x := range list { // the others are counted when they are told
		k.counts.condemn(x)
	}
	k.leaders = slices.DeleteFunc(k.leaders, func(a *attempt) bool {
		if a.outcome.Verdict == verdict.OK {
			return false
		}
		k.queue.forget(k.taskName(a.config))
		return true
	})
	k.promote()
	k.sortLeaders()
	text := fmt.Sprintf("%s was one of the fastest, and failed when it was checked again (%s): %s", o.Config, o.Verdict,
		o.Message)
	if n := len(list) - 1; n > 0 {
		text += fmt.Sprintf("; %d with the same code are out, too", n)
	}
	k.result.Notes = append(k.result.Notes, text)
	for i, x := range list {
		e := Event{Kind: EventCondemned, Trial: x, Status: k.status()}
		if i == 0 {
			e.Text = text
		}
		k.event(e)
	}
}

// goodWithSameCode lists the good outcomes with the same code, including those that were not told yet.
func (k *kernelSearch) goodWithSameCode(o *Outcome) []*Outcome {
	first := cmp.Or(o.Same, o.Config)
	same := func(x *Outcome) bool { return x.Verdict == verdict.OK && (x.Config == first || x.Same == first) }
	var list []*Outcome
	for _, x := range k.list {
		if same(x) {
			list = append(list, x)
		}
	}
	for n := k.told; n < k.asked; n++ {
		if a := k.untold[n]; a != nil && a.outcome != nil && same(a.outcome) && !slices.Contains(list, a.outcome) {
			list = append(list, a.outcome)
		}
	}
	return list
}

func rightBefore(checks int) string {
	if checks == 0 {
		return "it was right before" // in an earlier search
	}
	return fmt.Sprintf("it was right %d times before", checks)
}

// promote makes the fastest other outcomes leaders while there is room. During the search they are compiled
// once more, so that they can be checked like other leaders.
func (k *kernelSearch) promote() {
	for len(k.leaders) < maxFinalists {
		var next *Outcome
		for _, o := range k.list {
			leads := slices.ContainsFunc(k.leaders, func(a *attempt) bool { return a.outcome == o })
			if o.Verdict == verdict.OK && !leads && (next == nil || o.Seconds < next.Seconds) {
				next = o
			}
		}
		if next == nil {
			return
		}
		a := &attempt{outcome: next}
		var err error
		if a.config, err = schedule.ParseConfig(next.Config); err != nil {
			panic(err) // a configuration wrote this text
		}
		if !k.begun.IsZero() {
			a.task = k.queue.addPlan(k.name, k.taskName(a.config), k.call, k.with(a.config))
		}
		k.leaders = append(k.leaders, a)
	}
}

// toldVerdict is the verdict of a configuration when it was tried. A condemned outcome keeps its times, and
// a strategy that is resumed is told that it was good, so that it asks for the same as before.
func (o *Outcome) toldVerdict() verdict.Verdict {
	if o.Seconds > 0 {
		return verdict.OK
	}
	return o.Verdict
}

// forgetTimes removes the times, so that the outcome failed from the beginning.
func (o *Outcome) forgetTimes() {
	o.Seconds, o.Low, o.High, o.Times, o.Runs = 0, 0, 0, nil, 0
}

// condemnFinalists condemns configurations that were right in the search and failed the check at the end.
// Where a call has several kernels, it is not known which of them failed, and a note says so.
func (t *tuning) condemnFinalists(finalists []*finalist) error {
	for _, r := range finalists {
		if r.failedCall == nil || r.naive {
			continue
		}
		for _, k := range t.searches() {
			o := k.goodOutcome(r.plan)
			if k.call != r.failedCall || o == nil {
				continue
			}
			if k.several {
				t.note(
					"a plan that the search came to failed when it was checked again (%s), and one of the kernels of "+
						"%s is to blame: %v: %s",
					verdictOf(r.err), k.call.ir.Name, r.err, r.plan)
				continue
			}
			k.condemn(o, r.err)
			k.collect()
			if k.failed != nil {
				return k.failed
			}
		}
	}
	return nil
}

// goodOutcome returns the good outcome of the configuration that a plan has for this kernel; nil if none.
func (k *kernelSearch) goodOutcome(p schedule.Plan) *Outcome {
	i := slices.IndexFunc(p.Kernels, func(x schedule.Kernel) bool { return x.ID() == k.name })
	if i < 0 {
		return nil
	}
	config := p.Kernels[i].Config.String()
	i = slices.IndexFunc(k.list, func(o *Outcome) bool { return o.Verdict == verdict.OK && o.Config == config })
	if i < 0 {
		return nil
	}
	return k.list[i]
}

// checks is how often the search compared all that a plan computes: the least of its kernels.
func (t *tuning) checks(r *finalist) int {
	least := -1
	for _, k := range t.searches() {
		if k.call.iterations != nil && !hasKernel(r.plan, k.name) {
			continue
		}
		n := 0
		if o := k.goodOutcome(r.plan); o != nil && !r.naive {
			n = o.Checks
		}
		if least < 0 || n < least {
			least = n
		}
	}
	return max(least, 0)
}
