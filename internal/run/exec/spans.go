package exec

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// span returns the longest span that fits in so many iterations, and how many rounds a launch of it has.
func (o *Op) span(room int64) (s *Span, rounds int64) {
	for i := range o.Spans {
		s := &o.Spans[i]
		if n := s.rounds(room); n > 0 {
			return s, n
		}
	}
	return nil, 0
}

// rounds returns how many rounds a launch has within so many iterations; 0 if none fits.
func (s *Span) rounds(room int64) int64 {
	of := kernel.Span{Depth: s.Depth, After: s.After, Repeats: s.Repeats}
	return of.Rounds(room)
}

// apply makes of what the grids hold before so many rounds of a span of an iterate what they hold after them.
func (s *Span) apply(o *Op, rounds int64, holds []int) {
	times := s.Depth
	if rounds > 1 {
		once := make([]int, len(holds)) // whose contents each grid has after an iteration
		for i := range once {
			once[i] = i
		}
		o.rotate(once)
		times = rounds * s.Depth % period(once)
	}
	for range times {
		o.rotate(holds)
	}
	for _, x := range s.Exchanges {
		holds[x[0]], holds[x[1]] = holds[x[1]], holds[x[0]]
	}
}

// rotate applies the rotations of an iteration.
func (o *Op) rotate(holds []int) {
	for i := range o.Body {
		if o.Body[i].Kind == RotateOp {
			rotate(holds, o.Body[i].Grids)
		}
	}
}

// rotate gives every grid what the next one holds, and the last what the first does.
func rotate(holds, grids []int) {
	first := holds[grids[0]]
	for k, g := range grids[:len(grids)-1] {
		holds[g] = holds[grids[k+1]]
	}
	holds[grids[len(grids)-1]] = first
}

// leaves returns those of the iterations that a span of an iterate stands for.
func (s *Span) leaves(o *Op) int64 { return s.Depth * int64(len(o.Body)) }

// span returns the longest span that can be carried out where the walker stands, within a limit, and how many rounds
// a launch of it has.
func (w *walker) span(limit Limit) (s *Span, rounds int64) {
	depth := len(w.frames) - 1
	if o := w.loops[depth]; o != nil && len(o.Spans) > 0 && w.begins(depth) {
		return o.span(w.within(depth, int64(len(o.Body)), limit))
	}
	return nil, 0
}

// preparedBy reports whether what the span needs prepared is so, since another span has come before, or itself.
func (s *Span) preparedBy(before *Span) bool {
	return before != nil && slices.Equal(before.Spares, s.Spares) && slices.Equal(before.Kept, s.Kept)
}

// unprepared reports whether a span needs its spares prepared where the walker stands.
func (w *walker) unprepared(s *Span) bool {
	return s.Prepare >= 0 && !s.preparedBy(w.spanned)
}

// pass moves past a span that has been carried out so many times, rounds included.
func (w *walker) pass(s *Span, times int64) {
	depth := len(w.frames) - 1
	w.due = max(w.due, w.frames[depth].Done+times*s.Depth+s.After)
	w.skip(depth, times*s.Depth)
	w.spanned = s
}

// owes reports whether iterations have to be carried out before anything else may happen: spans have left some
// grids undefined.
func (w *walker) owes() bool { return w.frames[len(w.frames)-1].Done < w.due }

// together carries out a span from where the walker stands, if one fits, and returns its leaves.
func (m *executor) together(w *walker, limit Limit) (leaves int64, err error) {
	s, rounds := w.span(limit)
	if s == nil {
		return 0, nil
	}
	o := w.loops[len(w.frames)-1]
	if err := m.prepareSpares(w, s); err != nil {
		return 0, err
	}
	setStep(m.rounds, rounds)
	if err := m.launch(s.Call, w.step()); err != nil {
		return 0, err
	}
	s.apply(o, rounds, m.holds)
	m.assignBuffers(m.holds)
	leaves = rounds * s.leaves(o)
	m.status.points.Add(rounds * m.script.Calls[s.Call].Points)
	m.status.leaves.Add(leaves)
	w.pass(s, rounds)
	return leaves, nil
}

// prepareSpares prepares the spares of a span, if they are not.
func (m *executor) prepareSpares(w *walker, s *Span) error {
	if !w.unprepared(s) {
		return nil
	}
	return m.launch(s.Prepare, w.step())
}
