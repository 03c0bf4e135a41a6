package cuda

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// graph is a chain of kernel nodes. The driver carries out an instance of it
// with a single call.
type graph struct {
	device  *Device
	graph   handle
	exec    handle
	launch  []uintptr // arguments of cuGraphLaunch
	nodes   []node    // by launch
	last    handle    // the chain's end
	regions []*memory.Region
	free    []byte // of the last region
}

// node is a launch in a graph, with an argument block of its own.
type node struct {
	launch *preparedLaunch
	handle handle // 0 for a launch of no threads
	block  argumentBlock
}

// kernelNode is the driver's CUDA_KERNEL_NODE_PARAMS. Its later version has two
// more fields, which are zeros for what is used here.
type kernelNode struct {
	function        handle
	blocks, threads [3]uint32
	shared          uint32
	_               uint32
	params          uintptr
	_               uintptr // extra
	_               [2]uintptr
}

// Record implements device.Recorder. Calls of other devices are none of its
// business.
func (d *Device) Record(f func() error) (device.Graph, error) {
	dr := d.driver
	if dr.GraphCreate == nil || dr.GraphAddKernel == nil || dr.GraphAttribute == nil || dr.GraphInstantiate == nil ||
		dr.GraphSetKernel == nil || dr.GraphLaunch == 0 || dr.GraphExecDestroy == nil || dr.GraphDestroy == nil {
		return nil, errors.New("the driver is too old to launch graphs")
	}
	if d.recording != nil {
		panic("cuda: a recording within a recording")
	}
	g := &graph{device: d}
	if r := dr.GraphCreate(&g.graph, 0); r != 0 {
		return nil, d.fail(r, "cuGraphCreate", "a launch graph cannot be had")
	}
	d.graphs = append(d.graphs, g)
	d.recording = g
	err := f()
	d.recording = nil
	if err == nil {
		err = g.instantiate()
	}
	if err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

func (g *graph) instantiate() error {
	if r := g.device.driver.GraphInstantiate(&g.exec, g.graph, 0); r != 0 {
		return g.device.fail(r, "cuGraphInstantiate", "a launch graph of %d kernels cannot be had", len(g.nodes))
	}
	const defaultStream = 0
	g.launch = []uintptr{uintptr(g.exec), defaultStream}
	return nil
}

// add appends a launch with what its arguments hold now.
func (g *graph) add(c *preparedLaunch) error {
	if c.empty {
		g.nodes = append(g.nodes, node{launch: c})
		return nil
	}
	storage, err := g.storage(blockBytes(c.args))
	if err != nil {
		return err
	}
	n := node{launch: c, block: newArgumentBlock(storage, c.args)}
	if err := n.block.load(c.args); err != nil {
		return err
	}
	p := c.node(n.block)
	var after *handle
	count := uint64(0)
	if g.last != 0 {
		after, count = &g.last, 1
	}
	d := g.device
	if r := d.driver.GraphAddKernel(&n.handle, g.graph, after, count, &p); r != 0 {
		return d.fail(r, "cuGraphAddKernelNode", "the kernel %s cannot be part of a launch graph", c.name)
	}
	for _, a := range c.attributes {
		if r := d.driver.GraphAttribute(n.handle, a.id, &a.value); r != 0 {
			return d.fail(r, "cuGraphKernelNodeSetAttribute", "the kernel %s cannot be part of a launch graph", c.name)
		}
	}
	g.last = n.handle
	g.nodes = append(g.nodes, n)
	return nil
}

// storage returns memory outside Go's heap that lives as long as the graph.
func (g *graph) storage(bytes int) ([]byte, error) {
	if bytes > len(g.free) {
		r, err := memory.Anonymous(int64(max(bytes, 64<<10)))
		if err != nil {
			return nil, err
		}
		g.regions = append(g.regions, r)
		g.free = r.Bytes()
	}
	b := g.free[:bytes:bytes]
	g.free = g.free[bytes:]
	return b, nil
}

// Launch implements device.Graph. It allocates nothing.
func (g *graph) Launch() error {
	if len(g.nodes) > 0 {
		g.device.last = g.nodes[len(g.nodes)-1].launch.name
	}
	code, _, _ := purego.SyscallN(g.device.driver.GraphLaunch, g.launch...)
	if r := result(code); r != 0 {
		return g.device.fail(r, "cuGraphLaunch", "%d kernels cannot be launched together", len(g.nodes))
	}
	return nil
}

// Update implements device.Graph.
func (g *graph) Update(i int) error {
	n := &g.nodes[i]
	if n.handle == 0 {
		return nil
	}
	n.block.loadValues(n.launch.args)
	p := n.launch.node(n.block)
	if r := g.device.driver.GraphSetKernel(g.exec, n.handle, &p); r != 0 {
		return g.device.fail(r, "cuGraphExecKernelNodeSetParams", "the kernel %s cannot get new arguments",
			n.launch.name)
	}
	return nil
}

// Close implements device.Graph. A graph whose kernels are still under way is
// forgotten after them.
func (g *graph) Close() error {
	d := g.device
	if g.graph == 0 {
		return nil
	}
	d.graphs = slices.DeleteFunc(d.graphs, func(o *graph) bool { return o == g })
	var err error
	keep := func(e error) {
		if err == nil {
			err = e
		}
	}
	if g.exec != 0 {
		if r := d.driver.GraphExecDestroy(g.exec); r != 0 {
			keep(d.fail(r, "cuGraphExecDestroy", "a launch graph cannot be given back"))
		}
	}
	if r := d.driver.GraphDestroy(g.graph); r != 0 {
		keep(d.fail(r, "cuGraphDestroy", "a launch graph cannot be given back"))
	}
	for _, r := range g.regions {
		keep(r.Close())
	}
	*g = graph{device: d}
	return err
}

// argumentBlock is memory outside Go's heap as launches take it: a pointer for
// each of the kernel's parameters, then what the pointers point at, 8 bytes
// each, and then the tensor maps among that, which 8 bytes are too few for.
// The memory starts at a multiple of mapAlign.
type argumentBlock []byte

// blockBytes is the size of such a block, a multiple of mapAlign.
func blockBytes(args []device.Arg) int {
	return mapsStart(args) + len(tensorMap{})*len(tensorsOf(args))
}

// mapsStart is where in a block the tensor maps are.
func mapsStart(args []device.Arg) int {
	return (16*max(1, len(args)) + mapAlign - 1) / mapAlign * mapAlign
}

// tensorsOf returns the indices of the arguments that are tensor maps.
func tensorsOf(args []device.Arg) []int {
	var list []int
	for i, a := range args {
		if _, ok := a.(*device.Tensor); ok {
			list = append(list, i)
		}
	}
	return list
}

func newArgumentBlock(storage []byte, args []device.Arg) argumentBlock {
	point := func(i, at int) { *(*uintptr)(unsafe.Pointer(&storage[8*i])) = uintptr(unsafe.Pointer(&storage[at])) }
	for i := range args {
		point(i, 8*(len(args)+i))
	}
	for n, i := range tensorsOf(args) {
		point(i, mapsStart(args)+n*len(tensorMap{}))
	}
	return storage
}

func (b argumentBlock) address() uintptr { return uintptr(unsafe.Pointer(&b[0])) }

// load takes what the arguments hold now.
func (b argumentBlock) load(args []device.Arg) error {
	at, maps := 8*len(args), mapsStart(args)
	for i, a := range args {
		switch a := a.(type) {
		case *device.Slot:
			*(*pointer)(unsafe.Pointer(&b[at+8*i])) = a.Buffer.(*Buffer).at
		case *device.Image:
			t, err := a.Of.Buffer.(*Buffer).texture(a.Texel)
			if err != nil {
				return err
			}
			*(*texture)(unsafe.Pointer(&b[at+8*i])) = t
		case *device.Tensor:
			t, err := a.Of.Buffer.(*Buffer).tensorMap(a.Map)
			if err != nil {
				return err
			}
			maps += copy(b[maps:], t[:])
		}
	}
	b.loadValues(args)
	return nil
}

// loadValues takes the values, and leaves the buffers as they are.
func (b argumentBlock) loadValues(args []device.Arg) {
	at := 8 * len(args)
	for i, a := range args {
		switch a := a.(type) {
		case *device.Slot, *device.Image, *device.Tensor:
		case *device.Value:
			*(*[8]byte)(unsafe.Pointer(&b[at+8*i])) = a.Bytes
		default:
			panic(fmt.Sprintf("cuda: an argument of type %T", a))
		}
	}
}
