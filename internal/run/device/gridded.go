package device

import "github.com/gridloom/gridloom/internal/compile/kernel"

// Gridded is a Library whose kernels run over a grid of thread blocks. How
// many follows from the sizes that a kernel is bound to: kernel.LaunchGeometry
// tells it. Prepare has no place for it and is refused.
type Gridded interface {
	Library
	// PrepareGrid is Prepare for a launch of that many blocks and threads. One
	// without any is a call that does nothing.
	PrepareGrid(kernel string, g kernel.Geometry, args []Arg) (Call, error)
}
