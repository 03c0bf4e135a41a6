package measure

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// workerContext is a device with the memory of a program, in a worker process.
type workerContext struct {
	dev         device.Device
	tools       device.Library
	comparers   int64 // threads that compare
	interleaved bool  // neighbouring threads compare neighbouring cells

	setting     Setting
	grids       []*gridMemory
	spares      []*gridMemory // what the present code needs besides
	cells       []*hostBuffer
	scratch     []*device.Slot
	sizes       []int64     // of scratch, in bytes
	counts      *hostBuffer // results of a comparison: three numbers for each comparing thread
	differences *hostBuffer
	pair        *hostBuffer
}

// gridMemory is the memory of a grid.
type gridMemory struct {
	Grid
	slot  device.Slot
	bytes int64
	phase int64       // bytes that it starts behind a multiple of memory.Line
	rows  device.Rows // the present layout of its cells
	state gridState
	want  *device.Slot // what the plain kernels computed
}

// gridState says what a grid's memory holds.
type gridState uint8

const (
	overwritten gridState = iota
	filled
	poisoned
)

// hostBuffer is device memory with a copy on the host.
type hostBuffer struct {
	slot device.Slot
	host []byte
}

// freer is a buffer that can be freed by itself.
type freer interface{ Free() error }

func free(b device.Buffer) error {
	if f, ok := b.(freer); ok && b != nil {
		return f.Free()
	}
	return nil
}

func (b *workerContext) newHostBuffer(bytes int64) (*hostBuffer, error) {
	r, err := memory.Anonymous(bytes)
	if err != nil {
		return nil, err
	}
	h := &hostBuffer{host: r.Bytes()}
	h.slot.Buffer, err = b.dev.Copy(h.host)
	return h, err
}

// allocateComparison allocates the memory of comparisons.
func (b *workerContext) allocateComparison() error {
	var err error
	for _, m := range []struct {
		to    **hostBuffer
		bytes int64
	}{{&b.counts, 24 * b.comparers}, {&b.differences, 8 * b.comparers}, {&b.pair, 16}} {
		if *m.to, err = b.newHostBuffer(m.bytes); err != nil {
			return err
		}
	}
	return nil
}

// arrange allocates the memory of a program, and frees that of the one before.
func (b *workerContext) arrange(s Setting) error {
	for _, p := range slices.Concat(b.grids, b.spares) {
		if err := free(p.slot.Buffer); err != nil {
			return err
		}
		if p.want != nil {
			if err := free(p.want.Buffer); err != nil {
				return err
			}
		}
	}
	for _, c := range b.cells {
		if err := free(c.slot.Buffer); err != nil {
			return err
		}
	}
	b.setting, b.grids, b.spares, b.cells = s, nil, nil, nil
	for _, g := range s.Grids {
		b.grids = append(b.grids, &gridMemory{Grid: g})
	}
	for range s.Cells {
		c, err := b.newHostBuffer(8)
		if err != nil {
			return err
		}
		b.cells = append(b.cells, c)
	}
	return nil
}

// memory returns the memory of a grid, or of a spare, which follow the grids.
func (b *workerContext) memory(i int) *gridMemory {
	if i < len(b.grids) {
		return b.grids[i]
	}
	return b.spares[i-len(b.grids)]
}

// provideSpares makes the first spares be like the grids that are named.
func (b *workerContext) provideSpares(like []int) {
	for i, g := range like {
		if i == len(b.spares) {
			b.spares = append(b.spares, &gridMemory{})
		}
		p := b.spares[i]
		if of := b.grids[g].Grid; p.Type != of.Type || !slices.Equal(p.Shape, of.Shape) {
			p.Grid, p.rows, p.state = of, device.Rows{}, overwritten
		}
		p.Name = b.grids[g].Name + " (spare)"
	}
}

// placeAt frees the memory of a grid or a spare that starts elsewhere in a cache line than the code
// wants it, on a device that can choose.
func (b *workerContext) placeAt(p *gridMemory, c *Code, i int) error {
	if _, ok := b.dev.(device.Placer); !ok || i >= len(c.Phases) || c.Phases[i] == p.phase {
		return nil
	}
	p.phase = c.Phases[i]
	if p.slot.Buffer == nil {
		return nil
	}
	err := free(p.slot.Buffer)
	p.slot.Buffer = nil
	return err
}

// alloc returns memory that starts so many bytes behind a multiple of memory.Line, if the device
// can choose.
func (b *workerContext) alloc(bytes, phase int64) (device.Buffer, error) {
	if d, ok := b.dev.(device.Placer); ok {
		return d.AllocAt(bytes, phase)
	}
	return b.dev.Alloc(bytes)
}

// lay lays out the memory of a grid, and fills it with what it is to hold. Number tells grids with other
// contents apart.
func (b *workerContext) lay(p *gridMemory, number int, r device.Rows, want gridState) error {
	size := int64(p.Type.Size())
	need := max(p.Count()*size, r.Padded())
	if need > p.bytes || p.slot.Buffer == nil {
		if err := free(p.slot.Buffer); p.slot.Buffer != nil && err != nil {
			return err
		}
		var err error
		p.bytes = need
		if p.slot.Buffer, err = b.alloc((need+7)/8*8, p.phase); err != nil { // whole words, for poison
			return err
		}
		p.state = overwritten
	}
	if p.state == want && p.rows == r {
		return nil
	}
	p.rows, p.state = r, want
	if want == poisoned || r != (device.Rows{}) {
		if err := b.runTool("poison", (p.bytes+7)/8, []*device.Slot{&p.slot}); err != nil {
			return err
		}
	}
	if want == filled {
		return b.runTool("fill_"+p.Type.String(), p.Count(), []*device.Slot{&p.slot}, p.placement(int64(number+1))...)
	}
	return nil
}

// placement returns the given arguments, followed by those that describe the grid's layout.
func (p *gridMemory) placement(before ...int64) []op.Value {
	n, pitch, lead := p.Count(), p.Count(), int64(0)
	if p.rows != (device.Rows{}) {
		size := int64(p.Type.Size())
		n, pitch, lead = p.rows.Bytes/size, p.rows.Pitch/size, p.rows.Lead/size
	}
	return int64s(append(before, max(1, n), pitch, lead)...)
}

func int64s(list ...int64) []op.Value {
	var out []op.Value
	for _, v := range list {
		out = append(out, op.Int(types.I64, v))
	}
	return out
}

// runTool runs a tool on so many items.
func (b *workerContext) runTool(name string, items int64, slots []*device.Slot, values ...op.Value) error {
	if items == 0 {
		return nil
	}
	var args []device.Arg
	for _, s := range slots {
		args = append(args, s)
	}
	for _, v := range append(values, int64s(items)...) {
		a := &device.Value{}
		a.Set(v)
		args = append(args, a)
	}
	c, err := bind(b.tools, name, toolGeometry(items), args)
	if err != nil {
		return err
	}
	return c.Launch()
}

func toolGeometry(items int64) kernel.Geometry {
	return kernel.Geometry{Blocks: [3]int64{(items + toolThreads - 1) / toolThreads, 1, 1},
		Threads: [3]int64{toolThreads, 1, 1}}
}

// bind prepares a launch, with its geometry if the device needs it.
func bind(l device.Library, name string, g kernel.Geometry, args []device.Arg) (device.PreparedLaunch, error) {
	if gridded, ok := l.(device.Gridded); ok {
		return gridded.PrepareGrid(name, g, args)
	}
	return l.Prepare(name, args)
}

// prepareInputs sets the memory to the state from which a call starts.
func (b *workerContext) prepareInputs(c *Code) error {
	b.provideSpares(c.Spares)
	for i := range len(b.grids) + len(c.Spares) {
		want := filled
		switch spare := i >= len(b.grids); {
		case spare || c.Use.Writes[i] && !c.Use.Reads[i]:
			want = poisoned
		case !c.Use.Reads[i]:
			continue
		}
		var r device.Rows
		if i < len(c.Rows) {
			r = c.Rows[i]
		}
		if err := b.placeAt(b.memory(i), c, i); err != nil {
			return err
		}
		if err := b.lay(b.memory(i), i, r, want); err != nil {
			return err
		}
	}
	for i, cell := range b.cells {
		device.Encode(cell.host, b.setting.Cells[i].Start())
		if err := cell.slot.Buffer.Push(); err != nil {
			return err
		}
	}
	return nil
}

// markOverwritten marks the grids that a call writes, and its spares.
func (b *workerContext) markOverwritten(c *Code) {
	for _, p := range b.spares[:len(c.Spares)] {
		p.state = overwritten
	}
	for i, p := range b.grids {
		if c.Use.Writes[i] || c.Use.Drops != nil && c.Use.Drops[i] {
			p.state = overwritten
		}
	}
}

// allocateScratch allocates the scratch memory of a call. Variants share it.
func (b *workerContext) allocateScratch(sizes []int64) error {
	for i, n := range sizes {
		if i < len(b.sizes) && b.sizes[i] >= n {
			continue
		}
		if i == len(b.sizes) {
			b.sizes, b.scratch = append(b.sizes, 0), append(b.scratch, &device.Slot{})
		} else if err := free(b.scratch[i].Buffer); err != nil {
			return err
		}
		buf, err := b.dev.Alloc(n)
		if err != nil {
			return err
		}
		b.scratch[i].Buffer, b.sizes[i] = buf, n
	}
	return nil
}

// bindLaunches binds the launches of a call to the memory.
func (b *workerContext) bindLaunches(c *Code, l device.Library) ([]device.PreparedLaunch, error) {
	if err := b.prepareInputs(c); err != nil {
		return nil, err
	}
	if err := b.allocateScratch(c.Scratch); err != nil {
		return nil, err
	}
	var launches []device.PreparedLaunch
	for _, launch := range c.Launches {
		var args []device.Arg
		for _, a := range launch.Args {
			arg, err := b.bindArg(a)
			if err != nil {
				return nil, err
			}
			args = append(args, arg)
		}
		prepared, err := bind(l, c.Kernels[launch.Kernel], launch.Geometry, args)
		if err != nil {
			return nil, err
		}
		launches = append(launches, prepared)
	}
	return launches, nil
}

// keepExpected copies what the call has written, to compare with.
func (b *workerContext) keepExpected(c *Code) error {
	for i, p := range b.grids {
		if p.want != nil {
			if err := free(p.want.Buffer); err != nil {
				return err
			}
			p.want = nil
		}
		if !c.Use.Writes[i] {
			continue
		}
		buf, err := b.dev.Alloc(max(1, p.Count()*int64(p.Type.Size())))
		if err != nil {
			return err
		}
		p.want = &device.Slot{Buffer: buf}
		from := b.memory(c.holder(i))
		if err := b.runTool("keep_"+p.Type.String(), p.Count(), []*device.Slot{p.want, &from.slot},
			from.placement()...); err != nil {
			return err
		}
	}
	return b.dev.Sync()
}

// kinds lists the types of a program's grids, each once.
func kinds(s Setting) []types.Type {
	var list []types.Type
	for _, g := range s.Grids {
		if !slices.Contains(list, g.Type) {
			list = append(list, g.Type)
		}
	}
	slices.Sort(list)
	return list
}

func errorf(format string, args ...any) error { return fmt.Errorf("measure: "+format, args...) }

// bindArg returns the device argument of a launch's argument.
func (b *workerContext) bindArg(a exec.Arg) (device.Arg, error) {
	switch a.Kind {
	case exec.GridArg:
		return a.On(&b.memory(a.Index).slot), nil
	case exec.CellArg:
		return a.On(&b.cells[a.Index].slot), nil
	case exec.ScratchArg:
		return a.On(b.scratch[a.Index]), nil
	case exec.ValueArg:
		return &device.Value{Bytes: a.Bits}, nil
	case exec.StepArg:
		return &device.Value{}, nil // no iterate has completed an iteration
	}
	return nil, errorf("no argument is of kind %d", a.Kind)
}
