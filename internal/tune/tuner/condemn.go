package tuner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// A variant that was right may come out wrong, or crash, when it is checked
// again. Then it was never right, and nothing that was kept of it may be used.

// failedAgain decides what the failure of a leader means that was right before.
func (k *kernelSearch) failedAgain(ctx context.Context, a *attempt, err error) {
	switch {
	case ctx.Err() != nil || errors.Is(err, errNoTime): // it was not the variant's fault
	case unusable(err):
		a.doubtless = true // the next trial meets it, too, and ends the search
	default:
		k.condemn(a.outcome, err)
	}
}

// condemn makes an outcome that was good a failure, and all with the same code.
// The next fastest takes its place. What the strategy was told of them stays told.
func (k *kernelSearch) condemn(o *Outcome, err error) {
	bad := outcomeOf(measure.Trial{}, err)
	var list []*Outcome
	for _, x := range k.alike(o) {
		if slices.Contains(k.list, x) {
			list = append(list, x)
		}
		x.Verdict, x.Reason, x.Message = bad.Verdict, bad.Reason, rightBefore(x.Checks)+": "+bad.Message
		if k.opts.Log != nil && k.failed == nil {
			if err := k.opts.Log.Condemn(*x); err != nil {
				k.failed = fmt.Errorf("it cannot be kept that a configuration has failed: %w", err)
			}
		}
	}
	for _, x := range list { // the others are counted when they are told
		k.counts.condemn(x)
	}
	k.fast = slices.DeleteFunc(k.fast, func(a *attempt) bool {
		if a.outcome.Verdict == Good {
			return false
		}
		k.works.forget(k.jobName(a.config))
		return true
	})
	k.promote()
	k.order()
	text := fmt.Sprintf("%s was one of the fastest, and failed when it was checked again (%s): %s", o.Config, o.Reason, o.Message)
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

// alike lists the good outcomes of configurations with the same code, those
// that were not told yet, too.
func (k *kernelSearch) alike(o *Outcome) []*Outcome {
	first := cmp.Or(o.Same, o.Config)
	same := func(x *Outcome) bool { return x.Verdict == Good && (x.Config == first || x.Same == first) }
	var list []*Outcome
	for _, x := range k.list {
		if same(x) {
			list = append(list, x)
		}
	}
	for n := k.told; n < k.asked; n++ {
		if a := k.waiting[n]; a != nil && a.outcome != nil && same(a.outcome) && !slices.Contains(list, a.outcome) {
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

// promote makes the fastest of the others leaders where there is room. While the
// search is under way they are compiled once more, so that they can be checked
// as leaders are.
func (k *kernelSearch) promote() {
	for len(k.fast) < finalists {
		var next *Outcome
		for _, o := range k.list {
			leads := slices.ContainsFunc(k.fast, func(a *attempt) bool { return a.outcome == o })
			if o.Verdict == Good && !leads && (next == nil || o.Seconds < next.Seconds) {
				next = o
			}
		}
		if next == nil {
			return
		}
		a := &attempt{outcome: next}
		var err error
		if a.config, err = schedule.ParseConfig(next.Config); err != nil {
			panic(err) // it was written by a configuration
		}
		if !k.begun.IsZero() {
			a.job = k.works.start(k.name, k.jobName(a.config), k.stage, k.with(a.config))
		}
		k.fast = append(k.fast, a)
	}
}

// toldAs is the verdict that a configuration got when it was tried. One that has
// failed since has times, and strategies are told of it as it was then: so they
// ask for the same when the search goes on from its log.
func (o *Outcome) toldAs() string {
	if o.Seconds > 0 {
		return Good
	}
	return o.Verdict
}

// forgetTimes makes an outcome one of a configuration that has failed from the
// beginning.
func (o *Outcome) forgetTimes() {
	o.Seconds, o.Low, o.High, o.Times, o.Runs = 0, 0, 0, nil, 0
}

// blame condemns what was right in the search and failed when it was checked at
// the end. Where a stage has several kernels nobody knows which of them it was.
func (t *tuning) blame(rivals []*rival) error {
	for _, r := range rivals {
		if r.wrong == nil || r.plain {
			continue
		}
		for i, k := range t.kernels {
			o := k.right(r.plan)
			if k.stage != r.wrong || o == nil {
				continue
			}
			if k.place > 0 {
				t.note("a plan that the search came to failed when it was checked again (%s), and one of the kernels of %s is to blame: %v: %s",
					reasonOf(r.err), k.stage.stage.Name, r.err, r.plan)
				continue
			}
			k.condemn(o, r.err)
			t.take(i)
			if k.failed != nil {
				return k.failed
			}
		}
	}
	return nil
}

// right returns the outcome of the configuration that a plan has for this
// kernel, if that was tried and right; else nil.
func (k *kernelSearch) right(p schedule.Plan) *Outcome {
	i := slices.IndexFunc(p.Kernels, func(x schedule.Kernel) bool { return x.Name() == k.name })
	if i < 0 {
		return nil
	}
	config := p.Kernels[i].Config.String()
	i = slices.IndexFunc(k.list, func(o *Outcome) bool { return o.Verdict == Good && o.Config == config })
	if i < 0 {
		return nil
	}
	return k.list[i]
}

// checks is how often the search compared all that a plan computes: as often as
// the kernel that it compared least.
func (t *tuning) checks(r *rival) int {
	least := -1
	for _, k := range t.kernels {
		n := 0
		if o := k.right(r.plan); o != nil && !r.plain {
			n = o.Checks
		}
		if least < 0 || n < least {
			least = n
		}
	}
	return max(least, 0)
}
