package kernel

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Module is a whole program for a device: the kernels, and for every call the
// launches that carry it out. The program's body says in which order calls
// run and what is rotated between them.
type Module struct {
	Program *ir.Program
	Kernels []*Kernel // each printed once, however many launches use it
	Scratch []*Scratch
	Calls   map[*ir.Call][]*Launch
	// Spans are iterations that launches carry out together, those of one iterate by falling
	// depth. Whoever runs the module may carry out any of them one by one instead.
	Spans []*Span
	// Layouts are those of grids that do not lie dense in a device's memory.
	Layouts map[*ir.Grid]Layout
	// FirstCells are those of grids whose rows' vectors begin with another cell than the first:
	// memory in which that one begins a cache line is the fastest.
	FirstCells map[*ir.Grid]int64
}

// Layout is how a grid lies in a device's memory: Lead elements that nothing
// uses, then rows of the last dimension, each followed by so many unused
// elements that the next starts at a multiple of Align from the first. The
// dense layout has no lead and an Align of 1.
type Layout struct{ Lead, Align int64 }

// Pitch returns how far apart rows of n cells start.
func (l Layout) Pitch(n int64) int64 { return (n + l.Align - 1) / l.Align * l.Align }

// Cells returns the elements that so many rows of n cells take up.
func (l Layout) Cells(rows, n int64) int64 { return l.Pitch(l.Lead + rows*l.Pitch(n)) }

// Scratch is memory that launches pass values through: a materialised local
// grid or temp, or the partial results of a reduction. Its contents need not
// survive a call.
type Scratch struct {
	Name  string
	Elem  types.Type
	Cells Expr // over variables named like the program's parameters
	// Sizes are the parameters that Cells reads: Params[i] is the value of
	// Sizes[i].
	Sizes  []*Var
	Params []int
}

// Launch runs a kernel once, with one argument for each of its buffers and
// then one for each of its scalars.
type Launch struct {
	Kernel *Kernel
	Args   []Arg
	// Part is the kernel of the plan that the launch carries out, or helps to, by
	// its name there, such as "heat[0:1]". Launches of several parts may share a
	// Kernel.
	Part string
}

// Repeats reports whether the launch has an argument that says how many rounds of a span it carries out.
func (l *Launch) Repeats() bool {
	return slices.ContainsFunc(l.Args, func(a Arg) bool { _, ok := a.(RoundsArg); return ok })
}

// Span is a number of iterations of an iterate that launches carry out together.
//
// Its launches stand for the Depth iterations that follow, rotations included: their
// GridArgs mean the memory that grids have when the span begins, their StepArg the step of
// the first iteration. When they are done, the rotations of the iterations are applied, and
// then each grid of Exchanges changes memory with its spare.
//
// The launches of a span that Repeats stand for as many rounds of Depth iterations as their
// RoundsArg says, 1 at least and MostRounds at most.
//
// A span leaves undefined what its iterate computes anew before it is read. So at least
// After iterations are carried out one by one before the iterate ends, or before anything
// else may look at the grids: at a pause, a checkpoint, a condition.
type Span struct {
	Iterate   *ir.Iterate
	Depth     int64 // at least 1
	Repeats   bool
	After     int64
	Launches  []*Launch
	Exchanges []Exchange
	// Prepare runs before the span where the iteration before was not carried out by a span of this iterate with
	// the same spares, and the same scratch that Prepare writes: it brings there what spans do not write. That scratch
	// lasts.
	Prepare []*Launch
	// Dropped are the grids that the program writes in the span's iterations and the span does not: nothing needs them
	// afterwards.
	Dropped []*ir.Grid
	// Domain says of each axis which sizes the launches serve; nil if all.
	Domain []Side
	// Work is what the launches do for one size, in one round; nil where nobody has asked.
	Work *Work
}

// Dropped returns the grids that may be left without the contents that the program gives them, since nothing needs
// those.
func (m *Module) Dropped() []*ir.Grid {
	var list []*ir.Grid
	for _, s := range m.Spans {
		for _, g := range s.Dropped {
			if !slices.Contains(list, g) {
				list = append(list, g)
			}
		}
	}
	return list
}

// MostRounds is how many rounds a launch has at the most: it ends before long, so that whoever waits for it may tell
// how far the loop is, or stop it.
const MostRounds = 4096

// Kept returns the scratch that Prepare writes, which lasts from one launch to the next.
func (s *Span) Kept() []*Scratch {
	var list []*Scratch
	for _, l := range s.Prepare {
		for _, a := range l.Args {
			if x, ok := a.(ScratchArg); ok && !slices.Contains(list, x.Scratch) {
				list = append(list, x.Scratch)
			}
		}
	}
	return list
}

// Spares lists the spares that the span has to do with.
func (s *Span) Spares() []*Spare {
	var list []*Spare
	add := func(x *Spare) {
		if !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	for _, x := range s.Exchanges {
		add(x.Spare)
	}
	for _, l := range slices.Concat(s.Launches, s.Prepare) {
		for _, a := range l.Args {
			if a, ok := a.(SpareArg); ok {
				add(a.Spare)
			}
		}
	}
	return list
}

// Rounds returns how often the span can be carried out within so many iterations that its iterate has left, After
// included. Of a span that does not repeat a launch is 1.
func (s *Span) Rounds(left int64) int64 {
	most := int64(1)
	if s.Repeats {
		most = MostRounds
	}
	return max(0, min((left-s.After)/s.Depth, most))
}

// Work counts the cells that statements are carried out at, a statement of each iteration on its
// own.
type Work struct {
	Needed int64 // cells of the statements' domains
	// Done counts every cell that a thread goes through, also those that other threads compute
	// too, and those beyond the ends of arrays: they take as long.
	Done int64
}

// Useful returns the part of the work that is needed, above 0 and 1 at most.
func (w *Work) Useful() float64 { return float64(w.Needed) / float64(w.Done) }

// Exchange is a grid, as it is called when the iterations are over, and the memory that a span writes in its place.
type Exchange struct {
	Grid  *ir.Grid
	Spare *Spare
}

// Spare is memory as large as a grid's, and laid out as it: spans write to it while they
// read the grid. Its contents need to last from one span of an iterate to the next.
type Spare struct {
	Name string
	Like *ir.Grid
}

// Arg is what a kernel's parameter is bound to.
type Arg interface{ arg() }

// GridArg is a grid's memory, as rotations have left it.
type GridArg struct{ Grid *ir.Grid }

// ScratchArg is a scratch buffer.
type ScratchArg struct{ Scratch *Scratch }

// SpareArg is a spare, as exchanges have left it.
type SpareArg struct{ Spare *Spare }

// CellArg is the one-element buffer that holds a reduced scalar.
type CellArg struct{ Scalar *ir.Scalar }

// ScalarArg is a scalar's value.
type ScalarArg struct{ Scalar *ir.Scalar }

// SizeArg is a parameter's value as an I64.
type SizeArg struct{ Param int }

// StepArg is the innermost iterate's count as an I32.
type StepArg struct{}

// RoundsArg is how many rounds of a span a launch carries out, as an I32.
type RoundsArg struct{}

func (GridArg) arg()    {}
func (ScratchArg) arg() {}
func (SpareArg) arg()   {}
func (CellArg) arg()    {}
func (ScalarArg) arg()  {}
func (SizeArg) arg()    {}
func (StepArg) arg()    {}
func (RoundsArg) arg()  {}
