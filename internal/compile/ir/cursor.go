package ir

import (
	"fmt"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/op"
)

// Cursor is a place in a program's body: between two executions of a leaf, a
// Run or a Rotate. The zero value is the start. It is a plain value: a copy
// stays where it was made, and it can be stored as JSON, so that a run stops
// and goes on at any leaf.
type Cursor struct {
	Frames    []Frame `json:"frames"`    // the open bodies, outermost first; none at the start
	Completed int64   `json:"completed"` // iterations that outermost iterates have completed so far
}

// Frame is one open body: the program's, or that of an iterate.
type Frame struct {
	At    int   `json:"at"`    // index of the op that comes next, or of the iterate that is open
	Done  int64 `json:"done"`  // iterations that the iterate has completed
	Limit int64 `json:"limit"` // iterations after which it ends in any case
}

// Leaf is a Run or a Rotate to execute, with where it stands in time.
type Leaf struct {
	Op         Op
	Step       int64   // what StepRef means in it
	Iterations []int64 // completed iterations of the enclosing iterates, outermost first
}

// Uniforms evaluates a uniform expression at the program's present state.
type Uniforms func(e Expr, step int64) op.Value

// Next returns the leaf that comes next in body and moves past it; false if
// there is none. The leaf before must have been executed, because iterates
// end by what eval says at this moment. A count is taken when its iterate is
// entered and sees the step outside; a condition sees the number of completed
// iterations.
//
// When Completed grows, the state at this moment, before the returned leaf is
// executed, is the one after that many iterations.
func (c *Cursor) Next(body []Op, eval Uniforms) (Leaf, bool) {
	w, more := c.settle(body, eval)
	if !more {
		return Leaf{}, false
	}
	depth := len(w.frames) - 1
	f := &w.frames[depth]
	leaf := Leaf{Op: w.bodies[depth][f.At], Step: w.step()}
	for _, g := range w.frames[1:] {
		leaf.Iterations = append(leaf.Iterations, g.Done)
	}
	f.At++
	return leaf, true
}

// Room returns the innermost iterate that is about to begin an iteration, how many it has
// left with a count, and the step. It is nil where another leaf comes next, or the end.
func (c *Cursor) Room(body []Op, eval Uniforms) (it *Iterate, left, step int64) {
	w, more := c.settle(body, eval)
	depth := len(w.frames) - 1
	if !more || depth == 0 || w.frames[depth].At > 0 || w.iterates[depth].Count == nil {
		return nil, 0, 0
	}
	f := w.frames[depth]
	return w.iterates[depth], f.Limit - f.Done, f.Done
}

// Skip moves past iterations of the iterate that Room has returned.
func (c *Cursor) Skip(body []Op, times int64) {
	w := walk{frames: slices.Clone(c.Frames)}
	w.open(body)
	depth := len(w.frames) - 1
	w.frames[depth].Done += times - 1
	w.frames[depth].At = len(w.bodies[depth])
	if depth == 1 {
		c.Completed += times - 1
	}
	c.Frames = w.frames
}

// settle moves on until a leaf comes next; false at the end.
func (c *Cursor) settle(body []Op, eval Uniforms) (*walk, bool) {
	w := &walk{frames: slices.Clone(c.Frames)}
	if len(w.frames) == 0 {
		w.frames = []Frame{{}}
	}
	w.open(body)
	defer func() { c.Frames = w.frames }()
	for {
		depth := len(w.frames) - 1
		f := &w.frames[depth]
		if f.At == len(w.bodies[depth]) {
			if depth == 0 {
				return w, false
			}
			f.Done++
			if depth == 1 && !w.iterates[depth].Sequence {
				c.Completed++
			}
			if w.iterates[depth].ends(f, eval) {
				w.pop()
			} else {
				f.At = 0
			}
			continue
		}
		it, nested := w.bodies[depth][f.At].(*Iterate)
		if !nested {
			return w, true
		}
		limit := it.Max
		if it.Count != nil {
			limit = eval(it.Count, w.step()).I
		}
		if limit < 1 || !hasLeaf(it.Body) {
			f.At++
			continue
		}
		w.push(it, Frame{Limit: limit})
	}
}

// ends reports whether an iterate is over, f.Done iterations being complete.
func (it *Iterate) ends(f *Frame, eval Uniforms) bool {
	if f.Done >= f.Limit {
		return true
	}
	return it.Until != nil && f.Done%max(1, it.Check) == 0 && eval(it.Until, f.Done).True()
}

// hasLeaf reports whether a body executes anything: one that does not would
// only be counted through.
func hasLeaf(body []Op) bool {
	return slices.ContainsFunc(body, func(o Op) bool {
		it, ok := o.(*Iterate)
		return !ok || hasLeaf(it.Body)
	})
}

// walk is a cursor with the ops that its frames stand in.
type walk struct {
	frames   []Frame
	iterates []*Iterate // nil for the program's body
	bodies   [][]Op
}

func (w *walk) open(body []Op) {
	w.iterates, w.bodies = []*Iterate{nil}, [][]Op{body}
	for _, f := range w.frames[:len(w.frames)-1] {
		it := w.bodies[len(w.bodies)-1][f.At].(*Iterate)
		w.iterates, w.bodies = append(w.iterates, it), append(w.bodies, it.Body)
	}
}

func (w *walk) push(it *Iterate, f Frame) {
	w.frames = append(w.frames, f)
	w.iterates, w.bodies = append(w.iterates, it), append(w.bodies, it.Body)
}

func (w *walk) pop() {
	last := len(w.frames) - 1
	w.frames, w.iterates, w.bodies = w.frames[:last], w.iterates[:last], w.bodies[:last]
	w.frames[last-1].At++
}

func (w *walk) step() int64 {
	if last := len(w.frames) - 1; last > 0 {
		return w.frames[last].Done
	}
	return 0
}

// Check returns an error if c, perhaps read from a file, is no place in body.
func (c Cursor) Check(body []Op) error {
	for depth, f := range c.Frames {
		if f.At < 0 || f.At > len(body) || f.Done < 0 || depth > 0 && f.Done >= f.Limit {
			return fmt.Errorf("the cursor stands outside the program at depth %d", depth)
		}
		if depth == len(c.Frames)-1 {
			break
		}
		var it *Iterate
		if f.At < len(body) {
			it, _ = body[f.At].(*Iterate)
		}
		if it == nil {
			return fmt.Errorf("the cursor is inside op %d at depth %d, which is no iterate", f.At, depth)
		}
		body = it.Body
	}
	return nil
}

// Leaves returns how many leaves a body executes when every until loop runs to
// its maximum, and whether there are none of those, so that the number is
// exact. Counts beyond an int64 are returned as its maximum.
func Leaves(body []Op, eval Uniforms) (n int64, exact bool) {
	exact = true
	for _, o := range body {
		it, ok := o.(*Iterate)
		if !ok {
			n = saturatingAdd(n, 1)
			continue
		}
		inner, e := Leaves(it.Body, eval)
		limit := it.Max
		if it.Count != nil {
			limit = eval(it.Count, 0).I
		}
		exact = exact && e && it.Count != nil
		n = saturatingAdd(n, saturatingMul(inner, max(0, limit)))
	}
	return n, exact
}

func saturatingAdd(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func saturatingMul(a, b int64) int64 {
	if b != 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}
