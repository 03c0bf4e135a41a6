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

// bed is a device with a program's memory. It lives in a worker.
type bed struct {
	dev     device.Device
	tools   device.Library
	workers int64 // that compare
	across  bool  // threads side by side look at cells side by side

	setting Setting
	grids   []*plot
	cells   []*hosted
	scratch []*device.Slot
	sizes   []int64 // of scratch, in bytes
	found   *hosted // what comparing has found: three numbers a worker
	apart   *hosted
	picked  *hosted
}

// plot is the memory of a grid.
type plot struct {
	Grid
	slot  device.Slot
	bytes int64
	rows  device.Rows // where its cells lie now
	state contents
	want  *device.Slot // what the plainest kernels have made of it
}

// contents is what lies in a grid's memory.
type contents uint8

const (
	spoilt contents = iota
	filled
	poisoned
)

// hosted is memory with a host side.
type hosted struct {
	slot device.Slot
	host []byte
}

// freer is a buffer that can be given back by itself.
type freer interface{ Free() error }

func free(b device.Buffer) error {
	if f, ok := b.(freer); ok && b != nil {
		return f.Free()
	}
	return nil
}

func (b *bed) hosted(bytes int64) (*hosted, error) {
	r, err := memory.Anonymous(bytes)
	if err != nil {
		return nil, err
	}
	h := &hosted{host: r.Bytes()}
	h.slot.Buffer, err = b.dev.Copy(h.host)
	return h, err
}

// start makes the memory that comparing takes.
func (b *bed) start() error {
	var err error
	for _, m := range []struct {
		to    **hosted
		bytes int64
	}{{&b.found, 24 * b.workers}, {&b.apart, 8 * b.workers}, {&b.picked, 16}} {
		if *m.to, err = b.hosted(m.bytes); err != nil {
			return err
		}
	}
	return nil
}

// arrange makes room for a program.
func (b *bed) arrange(s Setting) error {
	for _, p := range b.grids {
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
	b.setting, b.grids, b.cells = s, nil, nil
	for _, g := range s.Grids {
		b.grids = append(b.grids, &plot{Grid: g})
	}
	for range s.Cells {
		c, err := b.hosted(8)
		if err != nil {
			return err
		}
		b.cells = append(b.cells, c)
	}
	return nil
}

// place settles how a grid lies, and what it holds before a stage runs.
func (b *bed) place(i int, r device.Rows, u Use) error {
	p := b.grids[i]
	size := int64(p.Type.Size())
	need := max(p.Count()*size, r.Padded())
	if need > p.bytes || p.slot.Buffer == nil {
		if err := free(p.slot.Buffer); p.slot.Buffer != nil && err != nil {
			return err
		}
		var err error
		p.bytes = need
		if p.slot.Buffer, err = b.dev.Alloc((need + 7) / 8 * 8); err != nil { // whole words, for poison
			return err
		}
		p.state = spoilt
	}
	want := filled
	if u.Writes[i] && !u.Reads[i] {
		want = poisoned
	}
	if p.state == want && p.rows == r {
		return nil
	}
	p.rows, p.state = r, want
	if want == poisoned || r != (device.Rows{}) {
		if err := b.run("poison", (p.bytes+7)/8, []*device.Slot{&p.slot}); err != nil {
			return err
		}
	}
	if want == filled {
		return b.run("fill_"+p.Type.String(), p.Count(), []*device.Slot{&p.slot}, p.place(int64(i+1))...)
	}
	return nil
}

// place returns the arguments that say where the cells of a grid lie, after
// others.
func (p *plot) place(before ...int64) []op.Value {
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

// run runs a tool for so many items.
func (b *bed) run(name string, items int64, slots []*device.Slot, values ...op.Value) error {
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
	return kernel.Geometry{Blocks: [3]int64{(items + toolThreads - 1) / toolThreads, 1, 1}, Threads: [3]int64{toolThreads, 1, 1}}
}

// bind prepares a call, with its geometry where the device needs it.
func bind(l device.Library, name string, g kernel.Geometry, args []device.Arg) (device.Call, error) {
	if gridded, ok := l.(device.Gridded); ok {
		return gridded.PrepareGrid(name, g, args)
	}
	return l.Prepare(name, args)
}

// ready brings the memory into the state that a stage starts from.
func (b *bed) ready(c *Code) error {
	for i := range b.grids {
		if !c.Use.Reads[i] && !c.Use.Writes[i] {
			continue
		}
		var r device.Rows
		if i < len(c.Rows) {
			r = c.Rows[i]
		}
		if err := b.place(i, r, c.Use); err != nil {
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

// ran notes what a stage has overwritten.
func (b *bed) ran(c *Code) {
	for i, p := range b.grids {
		if c.Use.Writes[i] {
			p.state = spoilt
		}
	}
}

// room makes the scratch memory that a stage takes. Variants share it.
func (b *bed) room(sizes []int64) error {
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

// prepare binds the launches of a stage to the memory.
func (b *bed) prepare(c *Code, l device.Library) ([]device.Call, error) {
	if err := b.ready(c); err != nil {
		return nil, err
	}
	if err := b.room(c.Scratch); err != nil {
		return nil, err
	}
	var calls []device.Call
	for _, launch := range c.Launches {
		var args []device.Arg
		for _, a := range launch.Args {
			arg, err := b.arg(a)
			if err != nil {
				return nil, err
			}
			args = append(args, arg)
		}
		call, err := bind(l, c.Kernels[launch.Kernel], launch.Geometry, args)
		if err != nil {
			return nil, err
		}
		calls = append(calls, call)
	}
	return calls, nil
}

// keep copies what the stage has written to memory of its own.
func (b *bed) keep(c *Code) error {
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
		if err := b.run("keep_"+p.Type.String(), p.Count(), []*device.Slot{p.want, &p.slot}, p.place()...); err != nil {
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

// arg is what a launch's argument is bound to here.
func (b *bed) arg(a exec.Arg) (device.Arg, error) {
	switch a.Kind {
	case exec.GridArg:
		return a.On(&b.grids[a.Index].slot), nil
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
