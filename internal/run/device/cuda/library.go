package cuda

import (
	"fmt"
	"os"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// Library is a loaded image.
type Library struct {
	device *Device
	module handle
	blocks []*memory.Region // of its calls' arguments
}

var _ device.Gridded = (*Library)(nil)

// Load loads an image that a Builder has made.
func (d *Device) Load(image string) (device.Library, error) {
	code, err := os.ReadFile(image)
	if err != nil {
		return nil, fmt.Errorf("the compiled code cannot be loaded: %w", err)
	}
	return d.LoadCode(code)
}

// LoadCode loads what Compile has made.
func (d *Device) LoadCode(code []byte) (*Library, error) {
	l := &Library{device: d}
	// Code in the portable form is text, which ends with a zero.
	code = append(slices.Clip(code), 0)
	if r := d.driver.ModuleLoad(&l.module, &code[0]); r != 0 {
		return nil, d.fail(r, "cuModuleLoadData", "the compiled code (%d bytes) cannot be loaded on %s, driver %s", len(code)-1, d.GPU.Name, d.GPU.Driver)
	}
	d.libraries = append(d.libraries, l)
	return l, nil
}

// Close forgets the image.
func (l *Library) Close() error {
	if l.module == 0 {
		return nil
	}
	d := l.device
	d.libraries = slices.DeleteFunc(d.libraries, func(m *Library) bool { return m == l })
	r := d.driver.ModuleUnload(l.module)
	l.module = 0
	var err error
	if r != 0 {
		err = d.fail(r, "cuModuleUnload", "the compiled code cannot be forgotten")
	}
	for _, b := range l.blocks {
		if e := b.Close(); err == nil {
			err = e
		}
	}
	return err
}

// function finds a kernel.
func (l *Library) function(kernel string) (handle, error) {
	var f handle
	if r := l.device.driver.Function(&f, l.module, emit.CUDA.Symbol(kernel)); r != 0 {
		return 0, l.device.fail(r, "cuModuleGetFunction", "the compiled code has no kernel %s", kernel)
	}
	return f, nil
}

// Resources are what a compiled kernel takes.
type Resources struct {
	Registers  int // a thread
	Local      int // bytes a thread in local memory: registers that were spilled, arrays
	Shared     int // bytes a block
	MaxThreads int // that a block of it may have
}

// Resources returns what a kernel takes.
func (l *Library) Resources(kernel string) (Resources, error) {
	f, err := l.function(kernel)
	if err != nil {
		return Resources{}, err
	}
	var v [4]int32
	for i, which := range []int32{functionRegisters, functionLocal, functionShared, functionMaxThreads} {
		if r := l.device.driver.FuncAttribute(&v[i], which, f); r != 0 {
			return Resources{}, l.device.fail(r, "cuFuncGetAttribute", "the kernel %s does not tell what it takes", kernel)
		}
	}
	return Resources{int(v[0]), int(v[1]), int(v[2]), int(v[3])}, nil
}

// Prepare is refused: a GPU has to know over which blocks a kernel runs.
func (l *Library) Prepare(kernel string, _ []device.Arg) (device.Call, error) {
	return nil, fmt.Errorf("the kernel %s cannot be launched without the size of its grid", kernel)
}

// call is a kernel's function with the arguments of cuLaunchKernel. The block
// lies outside Go's heap: first a pointer for each of the kernel's parameters,
// then what the pointers point at, 8 bytes each.
type call struct {
	device *Device
	name   string
	launch []uintptr // nil if there is nothing to run
	slots  []slot
	values []value
}

type slot struct {
	from *device.Slot
	to   *pointer
}

type value struct {
	from *device.Value
	to   *[8]byte
}

// PrepareGrid binds a kernel's parameters to arguments, in its order.
func (l *Library) PrepareGrid(name string, g kernel.Geometry, args []device.Arg) (device.Call, error) {
	f, err := l.function(name)
	if err != nil {
		return nil, err
	}
	c := &call{device: l.device, name: name}
	empty, err := l.fits(name, g)
	if err != nil || empty {
		return c, err
	}
	region, err := memory.Anonymous(int64(16 * max(1, len(args))))
	if err != nil {
		return nil, err
	}
	l.blocks = append(l.blocks, region)
	block := region.Bytes()
	for i, a := range args {
		storage := &block[8*(len(args)+i)]
		*(*uintptr)(unsafe.Pointer(&block[8*i])) = uintptr(unsafe.Pointer(storage))
		switch a := a.(type) {
		case *device.Slot:
			c.slots = append(c.slots, slot{a, (*pointer)(unsafe.Pointer(storage))})
		case *device.Value:
			c.values = append(c.values, value{a, (*[8]byte)(unsafe.Pointer(storage))})
		default:
			panic(fmt.Sprintf("cuda: an argument of type %T", a))
		}
	}
	const dynamicShared, defaultStream, extra = 0, 0, 0
	c.launch = []uintptr{
		uintptr(f),
		uintptr(g.Blocks[0]), uintptr(g.Blocks[1]), uintptr(g.Blocks[2]),
		uintptr(g.Threads[0]), uintptr(g.Threads[1]), uintptr(g.Threads[2]),
		dynamicShared, defaultStream, uintptr(unsafe.Pointer(&block[0])), extra,
	}
	return c, nil
}

// fits checks the size of a launch against the GPU and the kernel, so that
// what is wrong is said in words. A grid without any thread is no error.
func (l *Library) fits(name string, g kernel.Geometry) (empty bool, err error) {
	gpu := &l.device.GPU
	threads := int64(1)
	for i, axis := range "xyz" {
		switch {
		case g.Blocks[i] < 0 || g.Threads[i] < 0:
			return false, fmt.Errorf("the kernel %s: a negative number of blocks or threads on %c", name, axis)
		case g.Blocks[i] > gpu.maxGrid[i]:
			return false, fmt.Errorf("the kernel %s needs %d blocks on %c, and %s launches %d at most", name, g.Blocks[i], axis, gpu.Name, gpu.maxGrid[i])
		case g.Threads[i] > gpu.maxBlock[i]:
			return false, fmt.Errorf("the kernel %s has %d threads a block on %c, and %s runs %d at most", name, g.Threads[i], axis, gpu.Name, gpu.maxBlock[i])
		}
		threads *= g.Threads[i]
		empty = empty || g.Blocks[i] == 0 || g.Threads[i] == 0
	}
	if threads > gpu.maxThreads {
		return false, fmt.Errorf("the kernel %s has %d threads a block, and %s runs %d at most", name, threads, gpu.Name, gpu.maxThreads)
	}
	r, err := l.Resources(name)
	if err != nil {
		return false, err
	}
	if threads > int64(r.MaxThreads) {
		return false, fmt.Errorf("the kernel %s has %d threads a block: with %d registers a thread and %d bytes of shared memory a block can have %d",
			name, threads, r.Registers, r.Shared, r.MaxThreads)
	}
	return empty, nil
}

// Launch starts the kernel. It allocates nothing.
func (c *call) Launch() error {
	if c.launch == nil {
		return nil
	}
	for _, s := range c.slots {
		*s.to = s.from.Buffer.(*Buffer).at
	}
	for _, v := range c.values {
		*v.to = v.from.Bytes
	}
	c.device.last = c.name
	code, _, _ := purego.SyscallN(c.device.driver.Launch, c.launch...)
	if r := result(code); r != 0 { // the register's upper half means nothing
		return c.device.fail(r, "cuLaunchKernel", "the kernel %s cannot be launched: blocks %v, threads %v", c.name, c.launch[1:4], c.launch[4:7])
	}
	return nil
}
