package device

import "github.com/gridloom/gridloom/internal/compile/kernel"

// Gridded is a Library whose kernels run over a grid of thread blocks. How
// many follows from the sizes that a kernel is bound to: kernel.LaunchGeometry
// tells it. Prepare has no place for it and is refused.
type Gridded interface {
	Library
	// PrepareGrid is Prepare for a launch of that many blocks and threads. One
	// without any is a launch that does nothing.
	PrepareGrid(kernel string, g kernel.Geometry, args []Arg) (PreparedLaunch, error)
}

// Usage is what a compiled kernel takes of its device.
type Usage struct {
	Registers  int // a thread
	Local      int // bytes a thread of memory beside them: spilled registers, arrays
	Shared     int // bytes a block, those that the launch brings included
	MaxThreads int // that a block could have
	Blocks     int // that a multiprocessor holds at once
}

// Accountant is a Library that tells what its kernels take.
type Accountant interface {
	Library
	// Usage tells it for a launch of that size.
	Usage(kernel string, g kernel.Geometry) (Usage, error)
}
