package tuner

import (
	"context"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
)

// Sets of calls are searched as loops are: by themselves, with one iteration in a kernel.

// wholePart is the part of a loop's time after which sets of its calls are searched, if kernels of all of them spill.
const wholePart = 0.5

// findLoops makes the searches of the loops whose iterations may share a kernel, and notes why others may not. Sets of
// calls are searched where those of a whole iteration may not share a kernel, where some of them have nothing to do
// with others, and where the user's plan names them. A sequence of one statement is what kernels of its call are: it is
// searched where the plan names it.
func (t *tuning) findLoops() {
	for _, loop := range t.subject.loops {
		given := t.givenSets(loop)
		if loop.Single() && given == nil && !t.isNamed(loop) {
			continue
		}
		for _, set := range given {
			t.findLoop(loop.setOf(t.subject, set))
		}
		err := t.findLoop(loop)
		if given == nil && !t.isNamed(loop) && t.opts.MaxDepth != 1 {
			for _, set := range t.proposed(loop, err != nil) {
				t.findLoop(loop.setOf(t.subject, set))
			}
		}
	}
}

// leaveToSequence leaves out of the space of a call's kernel the families that carry out pipelines, where the call is a
// sequence of several statements by itself: what they make of it is searched as a loop is.
func (t *tuning) leaveToSequence(call *tunedCall, s schedule.Space) schedule.Space {
	alone := func(loop *tunedLoop) bool {
		if !loop.Iterate.Sequence || loop.Single() || len(loop.calls) != 1 || loop.calls[0] != call {
			return false
		}
		_, err := graph.NewSpan(t.subject.bound.Program, loop.Loop, 1)
		return err == nil
	}
	if t.opts.MaxDepth == 1 || !slices.ContainsFunc(t.subject.loops, alone) {
		return s
	}
	less := schedule.Space{Families: slices.DeleteFunc(slices.Clone(s.Families), func(f schedule.Family) bool {
		return lower.CarriesPipelines(f.Name)
	})}
	if len(less.Families) == 0 {
		return s
	}
	return less
}

// givenSets returns the sets of a loop's calls that the user's plan names.
func (t *tuning) givenSets(loop *tunedLoop) [][]int {
	var sets [][]int
	for _, k := range t.given.Kernels {
		if k.Call == loop.Name && t.subject.ofLoop(k) && k.Name() != loop.place() {
			sets = append(sets, k.Members())
		}
	}
	return sets
}

// isNamed reports whether the user's plan names kernels of a loop.
func (t *tuning) isNamed(loop *tunedLoop) bool {
	return slices.ContainsFunc(t.given.Kernels, func(k schedule.Kernel) bool { return k.Name() == loop.place() })
}

// proposed returns sets of a loop's calls that are worth a search. Refused says that not all calls may share a kernel.
func (t *tuning) proposed(loop *tunedLoop, refused bool) [][]int {
	sets := graph.Propose(t.subject.bound.Program, loop.Loop, graph.MaxInstances)
	if !refused && len(sets) < 2 {
		return nil
	}
	return sets
}

// findLoop makes the search of a loop, or of a set of its calls. The error says why there is none.
func (t *tuning) findLoop(loop *tunedLoop) error {
	l := &loopSearch{tuning: t, loop: loop, at: len(t.result.Loops), forecasts: map[int64][]prediction{}}
	for _, k := range t.given.Kernels {
		if k.Name() == loop.place() && t.subject.ofLoop(k) {
			l.named, l.depths = append(l.named, k), append(l.depths, int64(k.Depth))
		}
	}
	r := LoopResult{Loop: loop.place(), Iterations: loop.count, Points: loop.points}
	err := l.begin()
	if err != nil {
		r.stopped(err)
	} else {
		t.loops = append(t.loops, l)
	}
	t.result.Loops = append(t.result.Loops, r)
	return err
}

// alternatives are sets of a loop's calls to search if kernels of all of them have a fault.
type alternatives struct {
	half [][]int // of about half of the statements: if kernels spill
	// of all but a few statements: if memory does not bind, since they compute no halo again of what the others leave
	most [][]int
}

// alternatives returns nil if there are none, or if other sets are searched.
func (l *loopSearch) alternatives() *alternatives {
	whole := l.loop.Loop
	if l.named != nil || whole.Set != nil || len(l.loop.sets) > 0 || whole.Assignments() < 4 {
		return nil
	}
	of := func(most int64) [][]int { return graph.Propose(l.subject.bound.Program, whole, most) }
	a := &alternatives{half: of(whole.Assignments() / 2), most: of(whole.Assignments() - 1)}
	if !slices.ContainsFunc(a.half, func(set []int) bool { return len(set) > 1 }) { // no two calls are that short
		a.half = a.most
	}
	if a.half == nil && a.most == nil {
		return nil
	}
	return a
}

// goOn goes on after the first part of a loop's time: with sets of its calls, if kernels of all of them spill registers
// or do not work, or if memory does not bind them, and with the best kernel otherwise.
func (l *loopSearch) goOn(ctx context.Context, at int, other *alternatives) error {
	var sets [][]int
	switch {
	case l.spills():
		sets = other.half
	case !l.memoryBinds():
		sets = other.most
	}
	if sets == nil {
		if l.limit(len(l.loops)-at, 1) {
			return l.refine(ctx)
		}
		return nil
	}
	before := len(l.loops)
	for _, set := range sets {
		l.findLoop(l.loop.setOf(l.subject, set))
	}
	// They come next.
	added := slices.Clone(l.loops[before:])
	l.tuning.loops = slices.Insert(l.loops[:before:before], at+1, added...)
	return nil
}

// memoryBinds reports whether the best kernel of a loop's iteration moves what it has to nearly as fast as a copy does.
// It is taken to where that is not known.
func (l *loopSearch) memoryBinds() bool {
	bytes, err := l.loop.bytes(1)
	best := l.bestOfOne()
	if err != nil || best == nil || l.result.Bound.CopyGBs == 0 {
		return true
	}
	class, _ := costmodel.ByTraffic(bytes, best.Seconds, l.result.Bound.CopyGBs)
	return class == costmodel.Memory
}

// spills reports whether the best kernel of a loop's iteration spills registers, as the compiler says, or none works.
func (l *loopSearch) spills() bool {
	for _, k := range l.spans {
		if k.call.iterations.depth == 1 {
			return k.best == nil || k.best.Spills > 0
		}
	}
	return false
}

// bestOfOne returns the best configuration of a loop's iteration; nil if none works.
func (l *loopSearch) bestOfOne() *Outcome {
	for _, k := range l.spans {
		if k.call.iterations.depth == 1 {
			return k.best
		}
	}
	return nil
}
