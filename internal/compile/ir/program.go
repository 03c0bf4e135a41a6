// Package ir is the stencil program: what a source file means, with every name
// resolved, every type explicit, every call's formals bound to its actuals and
// every statement's domain known as a symbolic box over the size parameters.
//
// A Program is built by lang.Check or read from its text form, never changed
// in place by what comes later; Bind gives it sizes and scalar values. Positions,
// bounds and offsets are in grid coordinates: a dimension declared with the
// plain size N holds 0..N-1, one declared lo:hi holds lo..hi.
package ir

import (
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Program is a checked stencil program.
type Program struct {
	Name    string   // the source file's base name without extension
	Axes    []string // iterators, outermost first; the last varies fastest
	Params  []*Param
	Scalars []*Scalar
	Grids   []*Grid
	Calls   []*Call // every distinct stencil call, in order of first use
	Initial *Call   // the initial block, or nil; its arrays are the grids
	Body    []Op
	// Arithmetic says how the floating-point operations of statements are
	// computed; In changes it. Bounds, scalars' initial values and conditions of
	// loops are computed once, on the host, every operation rounded on its own.
	Arithmetic arith.Mode
	strict     *Program // what In made this one of, if it did
	// Arguments holds the names that make up the generated interface, in order
	// of declaration: parameters, argument scalars, grids that are copied in or
	// out and reduction results that are copied out.
	Arguments []string
}

// Param is a size parameter: a positive 32-bit integer.
type Param struct {
	Name    string
	Default Expr // over earlier-evaluated parameters, of type I32; nil if it must be set
	Range   diag.Range
}

// Scalar is a value that does not vary over cells.
type Scalar struct {
	Name        string
	Type        types.Type
	Init        Expr // over parameters and other scalars; nil if none
	Coefficient bool // known when the kernel is compiled
	Argument    bool // --set and the generated interface may give its value
	Reduced     bool // the target of a reduction; starts at Init or zero
	CopyOut     bool
	Used        bool // something reads it
	Range       diag.Range
}

// Grid is an array that the program declares at top level.
type Grid struct {
	Name     string
	Type     types.Type
	Dims     []Dim
	CopyIn   bool
	CopyOut  bool
	Constant bool // may live in constant memory; accepts input
	Range    diag.Range
}

// Dim is one dimension of an array: it holds Lo..Hi inclusive. Axis is the
// iterator that indexes it, or -1 if accesses disagree or there are none; an
// array that is written, or has a boundary, has an axis for every dimension,
// in ascending order.
type Dim struct {
	Axis   int
	Lo, Hi Affine
	Faces  Faces
}

// Array is storage as a call sees it: a grid under its formal name, or a
// local grid. If several formals are bound to one grid they share one Array.
type Array struct {
	Name  string // formal name, unique within the call
	Type  types.Type
	Dims  []Dim
	Grid  *Grid // the actual; nil for a local grid
	Local bool
	// Box is a local grid's own domain: the union of its plain assignments,
	// within its extents. Values beyond it are undefined, or found through
	// Dims[].Faces as index maps on Box, not on the extents. Indexed by axis.
	Box Box
	// Written and Read say whether the call's statements do so.
	Written, Read bool
	InOut         bool // marked inout: in the source
	Hint          Storage
	HintRange     diag.Range // where the source gives the hint
}

// Storage is where the user wants an array held.
type Storage uint8

const (
	Anywhere  Storage = iota
	Shared            // shmem
	Global            // gmem
	NotShared         // no-shmem
)

var storageNames = [...]string{"anywhere", "shmem", "gmem", "no-shmem"}

// String returns the hint's word in the language; "anywhere" for none.
func (s Storage) String() string { return storageNames[s] }

// Temp is one assignment of a scalar local: a value a cell, never reassigned
// (a reassignment in the source makes a new Temp: r, r.2, r.3).
type Temp struct {
	Name string
	Type types.Type
	Box  Box // where it is defined
}

// Call is one stencil with its formals bound: a list of statements that run
// one after the other, each at all cells of its domain at once.
type Call struct {
	Name    string // unique in the program: heat, heat.2
	Stencil string // the stencil's name in the source
	Arrays  []*Array
	Temps   []*Temp
	Body    []*Stmt
	Hints   Hints
	Range   diag.Range
}

// Stmt is one assignment: to an array, to a temp or, as a reduction, to a
// scalar. Exactly one of Array, Temp and Reduce is set.
type Stmt struct {
	Array  *Array
	Temp   *Temp
	Reduce *Reduce
	Value  Expr // of the target's type
	// Domain bounds every axis that the statement runs over, and no other: the
	// axes of a target array in its Dims' order; of a reduction the axes of the
	// arrays it reads. A temp's domain is its Box, which may be unbounded on
	// axes that no read limits: it is evaluated wherever it is needed.
	Domain Box
	Axes   []int // the axes the statement runs over, ascending; nil for a temp
	Color  *Color
	Range  diag.Range
}

// ReduceKind is the operator of a reduction.
type ReduceKind uint8

const (
	Sum ReduceKind = iota
	Max
	Min
)

var reduceNames = [...]string{"sum", "max", "min"}

// String returns the reduction's word in the language.
func (k ReduceKind) String() string { return reduceNames[k] }

// Segment is the number of neighbouring cells of a row that a reduction combines
// first.
const Segment = 32

// Reduce is the target of a reduction.
//
// A row is the cells along the statement's last axis. It is cut into segments at
// the positions that are multiples of Segment. The value at position x takes place
// x mod Segment; a place that the domain does not reach has no value. Within a
// segment, places l and l+16 are combined for every l below 16, then l and l+8,
// l+4, l+2 and l+1, the value of the lower place first; where one of two has no
// value, the other stays as it is.
//
// The values of the segments, in row-major order, are combined over a binary
// tree: n of them split into the largest power of two below n and the rest.
// Integers may be combined in any order, which makes no difference.
//
// Cells of another colour than the statement's take part in a sum as 0, in a
// maximum as the least value of the type, in a minimum as the greatest.
type Reduce struct {
	Kind   ReduceKind
	Scalar *Scalar
}

// Color restricts a statement to the cells where the sum of Coef[a] times the
// position on axis a is congruent to Rem modulo Mod (0 <= Rem < Mod).
type Color struct {
	Coef     []int64 // by axis
	Mod, Rem int64
}

// Hints is what the source says about the schedule of a call.
type Hints struct {
	Stream    int // streaming axis, or -1
	Block     []int64
	Unroll    []int64 // by axis; 0 where not given; nil if none
	Occupancy float64 // 0 if not given
	Range     diag.Range
}

// Op is one step of the program's body.
type Op interface{ op() }

// Run executes a call.
//
// Example printed form:
//
//	(run heat)
type Run struct{ Call *Call }

// Rotate gives every grid the contents of the one after it, and the last those
// of the first; swap is a rotation of two.
//
// Example printed form:
//
//	(rotate a b c)
type Rotate struct{ Grids []*Grid }

// Iterate repeats its body: Count times, or until a condition holds.
//
// Example printed form:
//
//	(iterate (i32 10) (run heat) (rotate u next))
//
// What an iteration leaves in temporary grids is of no use to anything after it, the next iteration included.
//
// A Sequence is calls and rotations outside of all loops, which are executed once. It is no loop of the source: its
// iteration is not counted.
//
//	(sequence (temporary fx fy) (run fluxes) (run update))
type Iterate struct {
	Count Expr // uniform, of type I32; nil for an until loop
	Until Expr // uniform, Bool; evaluated after every Check iterations
	Check int64
	Max   int64
	Body  []Op
	Range diag.Range

	Sequence  bool
	Temporary []*Grid
}

func (*Run) op()     {}
func (*Rotate) op()  {}
func (*Iterate) op() {}

// Axis returns the index of the iterator of that name, or -1.
func (p *Program) Axis(name string) int {
	for i, n := range p.Axes {
		if n == name {
			return i
		}
	}
	return -1
}

// Grid returns the grid of that name, or nil.
func (p *Program) Grid(name string) *Grid {
	for _, g := range p.Grids {
		if g.Name == name {
			return g
		}
	}
	return nil
}

// Scalar returns the scalar of that name, or nil.
func (p *Program) Scalar(name string) *Scalar {
	for _, s := range p.Scalars {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Param returns the index of the parameter of that name, or -1.
func (p *Program) Param(name string) int {
	for i, q := range p.Params {
		if q.Name == name {
			return i
		}
	}
	return -1
}

// CallNamed returns the call of that name, or nil.
func (p *Program) CallNamed(name string) *Call {
	for _, c := range p.Calls {
		if c.Name == name {
			return c
		}
	}
	return nil
}
