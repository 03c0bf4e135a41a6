package exec

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// walker moves through a script's body as an ir.Cursor moves through the
// program's, to the same places, but allocates nothing on the way.
type walker struct {
	eval      func(f Formula, step int64) int64
	frames    []ir.Frame
	bodies    [][]Op // that the frames stand in
	loops     []*Op  // the iterate that each body belongs to; nil for the first
	completed int64

	// Spans are carried out by the innermost iterate.
	due     int64 // iterations that it has to complete before anything else may happen
	spanned *Span // that its iteration before belonged to; nil for none
}

// newWalker returns a walker that stands at a cursor, which has been checked.
func newWalker(body []Op, at ir.Cursor, eval func(f Formula, step int64) int64) *walker {
	w := &walker{eval: eval, frames: slices.Clone(at.Frames), bodies: [][]Op{body}, loops: []*Op{nil},
		completed: at.Completed}
	if len(w.frames) == 0 {
		w.frames = []ir.Frame{{}}
	}
	for _, f := range w.frames[:len(w.frames)-1] {
		it := &w.bodies[len(w.bodies)-1][f.At]
		w.loops, w.bodies = append(w.loops, it), append(w.bodies, it.Body)
	}
	return w
}

// cursor returns where the walker stands.
func (w *walker) cursor() ir.Cursor {
	return ir.Cursor{Frames: slices.Clone(w.frames), Completed: w.completed}
}

// settle moves on until a leaf comes next: it opens iterates, and ends or
// repeats those whose body is done. It returns false at the end.
func (w *walker) settle() bool {
	for {
		depth := len(w.frames) - 1
		f := &w.frames[depth]
		if f.At < len(w.bodies[depth]) {
			o := &w.bodies[depth][f.At]
			if o.Kind != IterateOp {
				return true
			}
			w.enter(o, f)
			continue
		}
		if depth == 0 {
			return false
		}
		f.Done++
		if depth == 1 && !w.loops[depth].Sequence {
			w.completed++
		}
		if w.over(w.loops[depth], f) {
			w.frames, w.bodies, w.loops = w.frames[:depth], w.bodies[:depth], w.loops[:depth]
			w.frames[depth-1].At++
			w.due, w.spanned = 0, nil
		} else {
			f.At = 0
		}
	}
}

// enter opens an iterate, or skips it if it does nothing.
func (w *walker) enter(o *Op, f *ir.Frame) {
	limit := o.Max
	if len(o.Count) > 0 {
		limit = w.eval(o.Count, w.step())
	}
	if limit < 1 || o.Leafless {
		f.At++
		return
	}
	w.frames = append(w.frames, ir.Frame{Limit: limit})
	w.bodies, w.loops = append(w.bodies, o.Body), append(w.loops, o)
}

// over reports whether an iterate has ended, f.Done iterations being done.
func (w *walker) over(o *Op, f *ir.Frame) bool {
	if f.Done >= f.Limit {
		return true
	}
	return len(o.Until) > 0 && f.Done%max(1, o.Check) == 0 && w.eval(o.Until, f.Done) != 0
}

// take returns the leaf that comes next, after settle, and moves past it.
func (w *walker) take() *Op {
	depth := len(w.frames) - 1
	f := &w.frames[depth]
	f.At++
	w.spanned = nil
	return &w.bodies[depth][f.At-1]
}

// step returns what the step is at this place.
func (w *walker) step() int64 {
	if last := len(w.frames) - 1; last > 0 {
		return w.frames[last].Done
	}
	return 0
}

// begins reports whether the iterate at a depth is about to begin an iteration,
// after settle: nothing of it is done, in no loop inside.
func (w *walker) begins(depth int) bool {
	for i := depth; i < len(w.frames); i++ {
		if f := &w.frames[i]; f.At != 0 || i > depth && f.Done != 0 {
			return false
		}
	}
	return true
}

// room returns how many iterations the iterate at a depth can make before its
// end, or before its condition is looked at.
func (w *walker) room(depth int) int64 {
	f, o := &w.frames[depth], w.loops[depth]
	room := f.Limit - f.Done
	if len(o.Until) > 0 {
		check := max(1, o.Check)
		room = min(room, check-f.Done%check)
	}
	return room
}

// within returns how much of that room a limit leaves, iterations having so many leaves.
func (w *walker) within(depth int, leaves int64, limit Limit) int64 {
	room := w.room(depth)
	if depth == 1 && limit.Iterations > 0 {
		room = min(room, limit.Iterations)
	}
	if limit.Leaves > 0 {
		room = min(room, limit.Leaves/leaves)
	}
	return room
}

// skip moves past iterations of the iterate at a depth, from where it begins
// one to the end of the last: settle goes on from there.
func (w *walker) skip(depth int, times int64) {
	w.frames, w.bodies, w.loops = w.frames[:depth+1], w.bodies[:depth+1], w.loops[:depth+1]
	f := &w.frames[depth]
	f.Done += times - 1
	f.At = len(w.bodies[depth])
	w.spanned = nil
	if depth == 1 {
		w.completed += times - 1
	}
}
