package predict

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// checked is how many trials of a kernel are lowered again at first, spread over all. If today's compiler makes the
// same of them, the others are taken to be so, too: to lower all takes minutes.
const checked = 6

// DropChanged takes the trials out whose kernel today's compiler makes otherwise, or not at all, and returns how many
// there were: what was measured then says nothing of what would be measured now. Trials that cannot be checked stay.
func DropChanged(ctx context.Context, list []*Recorded) (int, error) {
	dropped := make([]int, len(list))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				dropped[i] = list[i].dropChanged(ctx)
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	wg.Wait()
	n := 0
	for _, d := range dropped {
		n += d
	}
	return n, context.Cause(ctx)
}

func (r *Recorded) dropChanged(ctx context.Context) int {
	step := max(1, len(r.Trials)/checked)
	same := true
	for i := 0; i < len(r.Trials) && same && ctx.Err() == nil; i += step {
		same = !r.changed(&r.Trials[i])
	}
	if same {
		return 0
	}
	before := len(r.Trials)
	r.Trials = slices.DeleteFunc(r.Trials, func(t Trial) bool { return ctx.Err() == nil && r.changed(&t) })
	return before - len(r.Trials)
}

// changed reports whether today's compiler makes something else of a trial's configuration.
func (r *Recorded) changed(t *Trial) bool {
	if !r.checkable(t) {
		return false
	}
	code, ok := r.Code(t.Config)
	return !ok || code != t.Code
}

// checkable reports whether it can be known if today's compiler makes something else of a trial's configuration: the
// hash of what was compiled must be kept, and be of the kernel alone.
func (r *Recorded) checkable(t *Trial) bool { return t.Code != 0 && r.alone }

// Unchecked returns how many trials cannot be checked as DropChanged does.
func (r *Recorded) Unchecked() int {
	n := 0
	for i := range r.Trials {
		if !r.checkable(&r.Trials[i]) {
			n++
		}
	}
	return n
}
