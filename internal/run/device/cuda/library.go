package cuda

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/ebitengine/purego"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// Library is a loaded image.
type Library struct {
	device *Device
	module handle
	blocks []*memory.Region // of its launches' arguments
	// constants is the memory that holds contents of buffers, by its name.
	constants map[string]*constant
}

var (
	_ device.Gridded    = (*Library)(nil)
	_ device.Accountant = (*Library)(nil)
)

// Load loads an image that a Builder has made, or package pool has kept.
func (d *Device) Load(image string) (device.Library, error) {
	code, err := toolchain.Read(image)
	if errors.Is(err, toolchain.ErrDamaged) { // or not sealed: the driver will tell
		code, err = os.ReadFile(image)
	}
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
		err := d.fail(r, "cuModuleLoadData", "the compiled code (%d bytes) cannot be loaded on %s, driver %s",
			len(code)-1, d.GPU.Name, d.GPU.Driver)
		return nil, verdict.For(verdict.Launch, err)
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
	l.forgetConstants()
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
	Shared     int // bytes a block that the code declares; a launch may ask for more
	MaxThreads int // that a block of it may have
}

// Resources returns what a kernel takes.
func (l *Library) Resources(kernel string) (Resources, error) {
	f, err := l.function(kernel)
	if err != nil {
		return Resources{}, err
	}
	return l.resources(kernel, f)
}

func (l *Library) resources(kernel string, f handle) (Resources, error) {
	var v [4]int32
	for i, which := range []int32{functionRegisters, functionLocal, functionShared, functionMaxThreads} {
		if r := l.device.driver.FuncAttribute(&v[i], which, f); r != 0 {
			return Resources{}, l.device.fail(r, "cuFuncGetAttribute", "the kernel %s does not tell what it takes",
				kernel)
		}
	}
	return Resources{int(v[0]), int(v[1]), int(v[2]), int(v[3])}, nil
}

// Occupancy returns how many blocks of a kernel a multiprocessor holds at once,
// launched like that.
func (l *Library) Occupancy(kernel string, g kernel.Geometry) (blocks int, err error) {
	f, err := l.function(kernel)
	if err != nil {
		return 0, err
	}
	if err := l.allow(kernel, f, g); err != nil {
		return 0, err
	}
	return l.occupancy(kernel, f, g)
}

// Usage implements device.Accountant.
func (l *Library) Usage(kernel string, g kernel.Geometry) (device.Usage, error) {
	r, err := l.Resources(kernel)
	if err != nil {
		return device.Usage{}, err
	}
	blocks, err := l.Occupancy(kernel, g)
	return device.Usage{Registers: r.Registers, Local: r.Local, Shared: r.Shared + int(g.Shared),
		MaxThreads: r.MaxThreads, Blocks: blocks}, err
}

func (l *Library) occupancy(kernel string, f handle, g kernel.Geometry) (int, error) {
	var n int32
	threads := int32(g.Threads[0] * g.Threads[1] * g.Threads[2])
	if r := l.device.driver.Occupancy(&n, f, threads, uint64(g.Shared)); r != 0 {
		return 0, l.device.fail(r, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
			"the kernel %s does not tell its occupancy", kernel)
	}
	return int(n), nil
}

// Prepare is refused: a GPU has to know over which blocks a kernel runs.
func (l *Library) Prepare(kernel string, _ []device.Arg) (device.PreparedLaunch, error) {
	return nil, fmt.Errorf("the kernel %s cannot be launched without the size of its grid", kernel)
}

// preparedLaunch is a kernel's function with the arguments of its launch, all outside
// Go's heap.
type preparedLaunch struct {
	device     *Device
	name       string
	empty      bool // there is nothing to run
	function   handle
	geometry   kernel.Geometry
	args       []device.Arg
	block      argumentBlock
	attributes []attribute
	entry      uintptr // cuLaunchKernel, or cuLaunchKernelEx where there are attributes
	launch     []uintptr
}

// PrepareGrid binds a kernel's parameters to arguments, in its order.
func (l *Library) PrepareGrid(name string, g kernel.Geometry, args []device.Arg) (device.PreparedLaunch, error) {
	f, err := l.function(name)
	if err != nil {
		return nil, verdict.For(verdict.Launch, err)
	}
	if args, err = l.fillConstants(name, args); err != nil {
		return nil, verdict.For(verdict.Launch, err)
	}
	c := &preparedLaunch{device: l.device, name: name, function: f, geometry: g, args: args}
	if c.empty, err = l.fits(name, f, g); err != nil || c.empty {
		return c, err
	}
	if err := l.trust(name, f, g); err != nil {
		return nil, err
	}
	region, err := memory.Anonymous(int64(blockBytes(args) + configBytes))
	if err != nil {
		return nil, err
	}
	l.blocks = append(l.blocks, region)
	c.block = newArgumentBlock(region.Bytes(), args)
	if err := c.block.load(args); err != nil { // images and maps that cannot be had are known before the first launch
		return nil, verdict.For(verdict.Launch, err)
	}
	c.attributes = attributes(g)
	if len(c.attributes) > 0 {
		return c, c.prepareEx(region.Bytes()[blockBytes(args):])
	}
	const defaultStream, extra = 0, 0
	c.entry = l.device.driver.Launch
	c.launch = []uintptr{
		uintptr(f),
		uintptr(g.Blocks[0]), uintptr(g.Blocks[1]), uintptr(g.Blocks[2]),
		uintptr(g.Threads[0]), uintptr(g.Threads[1]), uintptr(g.Threads[2]),
		uintptr(g.Shared), defaultStream, c.block.address(), extra,
	}
	return c, nil
}

// node describes the launch as part of a graph, with that argument block.
func (c *preparedLaunch) node(b argumentBlock) kernelNode {
	n := kernelNode{function: c.function, shared: uint32(c.geometry.Shared), params: b.address()}
	for i := range 3 {
		n.blocks[i], n.threads[i] = uint32(c.geometry.Blocks[i]), uint32(c.geometry.Threads[i])
	}
	return n
}

// Launch starts the kernel, or adds it to what is being recorded. Starting
// allocates nothing.
func (c *preparedLaunch) Launch() error {
	if g := c.device.recording; g != nil {
		return g.add(c)
	}
	if c.empty {
		return nil
	}
	if err := c.block.load(c.args); err != nil {
		return err
	}
	c.device.last = c.name
	code, _, _ := purego.SyscallN(c.entry, c.launch...)
	if r := result(code); r != 0 { // the register's upper half means nothing
		err := c.device.fail(r, "cuLaunchKernel", "the kernel %s cannot be launched: %s", c.name, shape(c.geometry))
		return verdict.For(verdict.Launch, err)
	}
	return nil
}

// shape words a launch.
func shape(g kernel.Geometry) string {
	s := fmt.Sprintf("blocks %v, threads %v", g.Blocks, g.Threads)
	if g.Cluster != [3]int64{} {
		s += fmt.Sprintf(", clusters of %v", g.Cluster)
	}
	if g.Shared > 0 {
		s += fmt.Sprintf(", %d bytes of shared memory", g.Shared)
	}
	return s
}
