// Package device is what a machine that runs kernels looks like to the time
// loop: memory, kernels whose arguments are prepared once, and launches. Each
// kind of device has a package of its own beside this one.
//
// A device belongs to one goroutine, which stays on one thread of the
// operating system (runtime.LockOSThread): drivers and thread teams keep state
// by thread. Generated code can do anything to the process it runs in, so
// devices are opened in worker processes.
package device

import "context"

// Info describes a device to people.
type Info struct {
	ID       string   // what --device calls it: "cpu"
	Name     string   // "AMD EPYC 9654, 2 threads"
	Threads  int      // that run at the same time; 0 where the word means nothing
	Memory   int64    // bytes that it has; 0 if not known
	Unusable string   // why it cannot be used; "" if it can
	Notes    []string // what works less well than it might, and why
	Figures  []Figure // limits, and the state that it is in
}

// Figure is a number that a program may want to know of a device. Its name
// ends in its unit where it has one: "shared_per_block_bytes".
type Figure struct {
	Name  string
	Value int64
}

// Builder turns printed kernels into an image that a device loads. It needs no
// device, and may run in another process than the one that has it.
type Builder interface {
	// Build returns the image's path.
	Build(ctx context.Context, source []byte) (string, error)
}

// Device is an open device.
type Device interface {
	// Load makes the kernels of an image callable.
	Load(image string) (Library, error)
	// Share returns a buffer for a run of host memory. A device that can work
	// in the host's memory does; any other makes memory of its own, and Push
	// and Pull copy. The host memory lies outside Go's heap and stays where it
	// is for as long as the buffer is used.
	Share(host []byte) (Buffer, error)
	// Copy is Share on every device the other way: memory of the device's own,
	// of the kind that it is fastest with.
	Copy(host []byte) (Buffer, error)
	// Alloc returns a buffer without a host side. It starts as zeros.
	Alloc(bytes int64) (Buffer, error)
	// Sync waits until everything launched has finished.
	Sync() error
	// Close gives back everything that came from the device.
	Close() error
}

// Placer is a device that gives memory which begins within a cache line.
type Placer interface {
	// AllocAt is Alloc of memory that starts so many bytes behind a multiple of memory.Line.
	AllocAt(bytes, phase int64) (Buffer, error)
}

// Buffer is memory that kernels work on.
type Buffer interface {
	Push() error // host to device, where they are not the same
	Pull() error // device to host; waits for what was launched
}

// Library is a loaded image.
type Library interface {
	// Prepare binds a kernel's parameters, in its order, and returns the launch.
	Prepare(kernel string, args []Arg) (PreparedLaunch, error)
	// Close forgets the image. Its launches must not be used any more.
	Close() error
}

// PreparedLaunch is a kernel with its arguments.
type PreparedLaunch interface {
	// Launch runs the kernel on what its arguments hold now. It may return
	// before the kernel has finished, but not before it has read its values.
	Launch() error
}
