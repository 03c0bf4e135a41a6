package cpu

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gridloom/gridloom/internal/run/device"
)

type library struct {
	device *processor
	image  string
	handle uintptr
}

func load(p *processor, image string) (*library, error) {
	handle, err := purego.Dlopen(image, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("the compiled code cannot be loaded: %w", err)
	}
	hold()
	limitThreads(handle)
	return &library{p, image, handle}, nil
}

// limitThreads has kernels that the calling thread launches use as many threads as this
// process may, unless the environment says how many: in a worker it does.
func limitThreads(handle uintptr) {
	if os.Getenv("OMP_NUM_THREADS") != "" {
		return
	}
	if set, err := purego.Dlsym(handle, "omp_set_num_threads"); err == nil { // else there is no OpenMP
		purego.SyscallN(set, uintptr(Threads()))
	}
}

// hold keeps the OpenMP runtime that a library has brought with it in the
// process for good. Its threads wait in its code for more work, also after the
// last library that uses it is closed.
func hold() {
	const (
		noload   = 0x4    // RTLD_NOLOAD
		nodelete = 0x1000 // RTLD_NODELETE
	)
	for _, name := range []string{"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"} {
		// Most are not there, which is no error.
		_, _ = purego.Dlopen(name, purego.RTLD_NOW|noload|nodelete)
	}
}

func (l *library) Close() error {
	if l.handle == 0 {
		return nil
	}
	err := purego.Dlclose(l.handle)
	l.handle = 0
	return err
}

// preparedLaunch is a kernel's function with its argument block, which lies outside Go's
// heap: first a pointer for each parameter, then what the pointers point at,
// 8 bytes each.
type preparedLaunch struct {
	function uintptr
	block    []uintptr // its address, in the form that SyscallN takes without allocating
	slots    []slot
	values   []value
}

type slot struct {
	from *device.Slot
	to   *uintptr
}

type value struct {
	from *device.Value
	to   *[8]byte
}

func (l *library) Prepare(kernel string, args []device.Arg) (device.PreparedLaunch, error) {
	function, err := purego.Dlsym(l.handle, "gl_"+kernel)
	if err != nil {
		return nil, fmt.Errorf("the compiled code has no kernel %s: %w", kernel, err)
	}
	block, err := l.device.block(16 * max(1, len(args)))
	if err != nil {
		return nil, err
	}
	c := &preparedLaunch{function: function, block: []uintptr{uintptr(unsafe.Pointer(&block[0]))}}
	for i, a := range args {
		storage := &block[8*(len(args)+i)]
		*(*uintptr)(unsafe.Pointer(&block[8*i])) = uintptr(unsafe.Pointer(storage))
		switch a := a.(type) {
		case *device.Slot:
			c.slots = append(c.slots, slot{a, (*uintptr)(unsafe.Pointer(storage))})
		case *device.Value:
			c.values = append(c.values, value{a, (*[8]byte)(unsafe.Pointer(storage))})
		default:
			panic(fmt.Sprintf("cpu: an argument of type %T", a))
		}
	}
	return c, nil
}

func (c *preparedLaunch) Launch() error {
	for _, s := range c.slots {
		*s.to = s.from.Buffer.(*buffer).address()
	}
	for _, v := range c.values {
		*v.to = v.from.Bytes
	}
	purego.SyscallN(c.function, c.block...)
	return nil
}
