package exec

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
)

// Script is everything that a worker needs to know to run a program, as plain
// data. Its body has the shape of the program's, op for op, so that a place in
// one is a place in the other.
type Script struct {
	Grids       []Array // as the program has them, then the spares
	Cells       []Cell  // the reduced scalars
	Scratch     []int64 // bytes of each scratch buffer
	Kernels     []string
	Calls       []Call // those of the body, and what spans launch
	Body        []Op
	SharedBytes int64 // of the region that holds grids, cells and status
	CellsStart  int64 // in the region, of the first cell
	StatusStart int64
}

// Array is the memory of one grid. Rotations make grids change places.
type Array struct {
	Name     string
	Bytes    int64
	Start    int64       // in the region
	Phase    int64       // bytes that it starts behind a multiple of memory.Line
	ReadOnly bool        // nothing writes it, nor a grid that it changes places with
	Spare    bool        // no grid of the program: memory that spans exchange for a grid's
	Rows     device.Rows // in the device's memory; none if it lies dense there
}

// Cell is the one-element memory of a reduced scalar.
type Cell struct {
	Name string
	Type types.Type
}

// cellStride keeps cells on lines of their own.
const cellStride = 64

// cellStart returns where in the region a cell lies.
func (s *Script) cellStart(i int) int64 { return s.CellsStart + int64(i)*cellStride }

// Call is what one ir.Run executes, or what a span launches.
type Call struct {
	Name     string
	Launches []Launch
	Points   int64 // cells of its largest domain; of a span, of all that it stands for in one round
}

// Launch is one start of a kernel.
type Launch struct {
	Kernel   int
	Part     string // the kernel of the plan that it carries out: see kernel.Launch
	Args     []Arg
	Geometry kernel.Geometry // for devices that need it
}

// Geometry returns that of a kernel's first launch.
func (s *Script) Geometry(kernelIndex int) kernel.Geometry {
	for _, call := range s.Calls {
		for _, l := range call.Launches {
			if l.Kernel == kernelIndex {
				return l.Geometry
			}
		}
	}
	return kernel.Geometry{}
}

// ArgKind says what an argument is.
type ArgKind uint8

const (
	GridArg    ArgKind = iota // the memory that grid Index has now
	CellArg                   // the memory of cell Index
	ScratchArg                // scratch buffer Index
	ValueArg                  // Bits
	StepArg                   // the innermost iterate's count, as an I32
	RoundsArg                 // how many rounds the launch has, as an I32
)

// Arg is one argument of a launch. Bits is a value as it lies in memory.
type Arg struct {
	Kind  ArgKind
	Index int
	Bits  [8]byte
	// Texel is what memory is read by that is an image, Tensor the tensor map that it
	// is read by; Constant names the parameter that is constant memory. Zero for memory
	// that a pointer is to.
	Texel    device.Texel
	Tensor   device.TensorMap
	Constant string
}

// On returns the argument for a slot.
func (a *Arg) On(s *device.Slot) device.Arg {
	switch {
	case a.Texel.Count > 0:
		return &device.Image{Of: s, Texel: a.Texel}
	case a.Tensor.Axes > 0:
		return &device.Tensor{Of: s, Map: a.Tensor}
	case a.Constant != "":
		return &device.Constant{Of: s, Parameter: a.Constant}
	}
	return s
}

// OpKind says what an op does.
type OpKind uint8

const (
	RunOp OpKind = iota
	RotateOp
	IterateOp
)

// Op is one step of the body.
type Op struct {
	Kind  OpKind
	Call  int   // of RunOp
	Grids []int // of RotateOp: each takes the contents of the one after it

	// Of IterateOp. Count or Until is empty.
	Count, Until Formula
	Check, Max   int64
	Body         []Op
	Leafless     bool // it executes nothing, however often
	Sequence     bool // it is no loop: see ir.Iterate
	Spans        []Span
}

// Span is iterations of an iterate that launches carry out together: see kernel.Span.
type Span struct {
	Depth, After  int64
	Repeats       bool     // its launches have a number of rounds, of Depth iterations each
	Call, Prepare int      // what it launches, and what prepares its spares; Prepare may be -1
	Exchanges     [][2]int // a grid and a spare each
	Spares        []int    // all that it has to do with
	Kept          []int    // scratch that Prepare writes, and that lasts
}
