package kernel

import (
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
	// Layouts are those of grids that do not lie dense in a device's memory.
	Layouts map[*ir.Grid]Layout
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

// Arg is what a kernel's parameter is bound to.
type Arg interface{ arg() }

// GridArg is a grid's memory, as rotations have left it.
type GridArg struct{ Grid *ir.Grid }

// ScratchArg is a scratch buffer.
type ScratchArg struct{ Scratch *Scratch }

// CellArg is the one-element buffer that holds a reduced scalar.
type CellArg struct{ Scalar *ir.Scalar }

// ScalarArg is a scalar's value.
type ScalarArg struct{ Scalar *ir.Scalar }

// SizeArg is a parameter's value as an I64.
type SizeArg struct{ Param int }

// StepArg is the innermost iterate's count as an I32.
type StepArg struct{}

func (GridArg) arg()    {}
func (ScratchArg) arg() {}
func (CellArg) arg()    {}
func (ScalarArg) arg()  {}
func (SizeArg) arg()    {}
func (StepArg) arg()    {}
