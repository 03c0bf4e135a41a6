package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// distant is a device with memory of its own that executes nothing before it
// is asked to synchronise: the harshest that the interface allows.
type distant struct {
	kernels map[string]func(args [][]byte)
	queue   []func()
	events  []string
	fail    string // the event that fails
}

func (d *distant) event(name string) error {
	d.events = append(d.events, name)
	if d.fail == name {
		return errors.New(name + " has failed")
	}
	return nil
}

func (d *distant) Load(image string) (device.Library, error) { return d, d.event("load " + image) }
func (d *distant) Share(host []byte) (device.Buffer, error)  { return d.Copy(host) }
func (d *distant) Copy(host []byte) (device.Buffer, error) {
	return &distantBuffer{d, host, make([]byte, len(host))}, d.event("copy")
}
func (d *distant) Alloc(bytes int64) (device.Buffer, error) {
	return &distantBuffer{d, nil, make([]byte, bytes)}, d.event(fmt.Sprintf("alloc %d", bytes))
}
func (d *distant) Close() error { return nil }
func (d *distant) Sync() error {
	for _, f := range d.queue {
		f()
	}
	d.queue = nil
	return d.event("sync")
}

func (d *distant) Prepare(string, []device.Arg) (device.PreparedLaunch, error) {
	return nil, errors.New("the geometry is missing")
}

func (d *distant) PrepareGrid(name string, g kernel.Geometry, args []device.Arg) (device.PreparedLaunch, error) {
	return &distantLaunch{d, name, args}, d.event(fmt.Sprintf("prepare %s %v", name, g.Blocks))
}

type distantBuffer struct {
	device    *distant
	host, own []byte
}

func (b *distantBuffer) Push() error { copy(b.own, b.host); return b.device.event("push") }
func (b *distantBuffer) Pull() error {
	if err := b.device.Sync(); err != nil {
		return err
	}
	copy(b.host, b.own)
	return b.device.event("pull")
}

type distantLaunch struct {
	device *distant
	name   string
	args   []device.Arg
}

func (c *distantLaunch) Launch() error {
	var args [][]byte
	for _, a := range c.args {
		switch a := a.(type) {
		case *device.Slot:
			args = append(args, a.Buffer.(*distantBuffer).own)
		case *device.Value:
			args = append(args, slices.Clone(a.Bytes[:]))
		}
	}
	c.device.queue = append(c.device.queue, func() { c.device.kernels[c.name](args) })
	return c.device.event("launch")
}

// countdown is a program of one grid pair and one reduced scalar: out = in + 1,
// and the scalar is the first cell.
func countdown(t *testing.T) (*kernel.Module, *ir.Binding) {
	b := program(t, `
parameter N = 8;
iterator i;
int u[N], v[N];
int first;
stencil more (out, in, first) { out[i] = in[i] + 1; reduce max first = out[i]; }
iterate until (first >= 7) check 1 max 100 { more (v, u, first); swap (u, v); }
`)
	u, v, first := b.Program.Grid("u"), b.Program.Grid("v"), b.Program.Scalar("first")
	block := kernel.NewVar("block", types.I64)
	n := kernel.NewVar("N", types.I64)
	k := &kernel.Kernel{
		Name: "more",
		Buffers: []*kernel.Buffer{
			{Name: "out", Elem: types.I32, Mode: kernel.Out}, {Name: "in", Elem: types.I32},
			{Name: "first", Elem: types.I32, Mode: kernel.Out}, {Name: "parts", Elem: types.F64, Mode: kernel.InOut},
		},
		Scalars: []*kernel.Var{n},
		Body: []kernel.Stmt{&kernel.Loop{Var: block, Lo: kernel.I(0), Hi: kernel.CeilDiv(kernel.V(n), kernel.I(3)),
			Step: kernel.I(1), Tag: kernel.BlockX}},
	}
	parts := &kernel.Scratch{Name: "parts", Elem: types.F64, Cells: kernel.Mul(kernel.V(n), kernel.I(2)),
		Sizes: []*kernel.Var{n}, Params: []int{0}}
	return &kernel.Module{
		Program: b.Program, Kernels: []*kernel.Kernel{k}, Scratch: []*kernel.Scratch{parts},
		Calls: map[*ir.Call][]*kernel.Launch{b.Program.Calls[0]: {{Kernel: k, Args: []kernel.Arg{
			kernel.GridArg{Grid: v}, kernel.GridArg{Grid: u}, kernel.CellArg{Scalar: first},
			kernel.ScratchArg{Scratch: parts}, kernel.SizeArg{Param: 0},
		}}}},
	}, b
}

func newDistant() *distant {
	i32 := func(b []byte) op.Value { return device.Decode(types.I32, b) }
	return &distant{kernels: map[string]func([][]byte){"more": func(args [][]byte) {
		out, in, first, n := args[0], args[1], args[2], device.Decode(types.I64, args[4]).I
		for c := range n {
			device.Encode(out[4*c:], op.Int(types.I32, i32(in[4*c:]).I+1))
		}
		device.Encode(first, i32(out))
	}}}
}

// start prepares an executor for the program, and its region.
func start(t *testing.T, d device.Device) (*executor, *memory.Region, error) {
	m, b := countdown(t)
	s, err := NewScript(m, b)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int64{8 * 16}; !slices.Equal(s.Scratch, want) {
		t.Errorf("scratch of %v bytes, want %v", s.Scratch, want)
	}
	region, err := memory.New("test", s.SharedBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { region.Close() })
	executor, err := newExecutor(s, d, "image", region, nil, false)
	return executor, region, err
}

// A device whose memory is far away and which works when it likes computes the
// same as one that does at once.
func TestDistantDevice(t *testing.T) {
	d := newDistant()
	m, region, err := start(t, d)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(d.events, "prepare more [3 1 1]") {
		t.Errorf("the geometry is wrong: %v", d.events)
	}
	u := region.Bytes()[m.script.Grids[0].Start:]
	device.Encode(u, op.Int(types.I32, 2))
	if err := m.push(); err != nil {
		t.Fatal(err)
	}
	var none atomic.Int64
	at, end, err := m.run(ir.Cursor{}, Limit{Iterations: 2}, &none, 1)
	if err != nil || end != paused || at.Completed != 2 {
		t.Fatal(at, end, err)
	}
	at, end, err = m.run(at, Limit{}, &none, 2)
	if err != nil || end != finished || at.Completed != 5 {
		t.Fatal(at, end, err)
	}
	if err := m.pull([]int{0}); err != nil {
		t.Fatal(err)
	}
	held := region.Bytes()[m.script.Grids[m.holds[0]].Start:]
	if got := device.Decode(types.I32, held).I; got != 7 {
		t.Errorf("u starts with %d, want 7", got)
	}
	if got := device.Decode(types.I32, held[4:]).I; got != 5 {
		t.Errorf("u goes on with %d, want 5", got)
	}
	if got := m.cell(0).I; got != 7 {
		t.Errorf("first is %d, want 7", got)
	}
}

func TestDistantFailures(t *testing.T) {
	for _, event := range []string{"load image", "copy", "alloc 128", "prepare more [3 1 1]"} {
		d := newDistant()
		d.fail = event
		if _, _, err := start(t, d); err == nil || err.Error() != event+" has failed" {
			t.Errorf("%s: %v", event, err)
		}
	}
	for _, event := range []string{"launch", "sync", "pull", "push"} {
		d := newDistant()
		m, _, err := start(t, d)
		if err != nil {
			t.Fatal(err)
		}
		d.fail = event
		var none atomic.Int64
		if err = m.push(); err == nil {
			_, _, err = m.run(ir.Cursor{}, Limit{}, &none, 1)
		}
		if err == nil || err.Error() != event+" has failed" {
			t.Errorf("%s: %v", event, err)
		}
	}
}

func TestStopBeforeItStarts(t *testing.T) {
	d := newDistant()
	m, _, err := start(t, d)
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Int64
	stop.Store(4)
	if at, end, err := m.run(ir.Cursor{}, Limit{}, &stop, 4); err != nil || end != stopped || at.Completed != 0 {
		t.Error(at, end, err)
	}
	// Another run's number stops nothing.
	if at, end, err := m.run(ir.Cursor{}, Limit{}, &stop, 5); err != nil || end != finished || at.Completed != 7 {
		t.Error(at, end, err)
	}
}

// A context that has already ended stops a runner before it does anything.
func TestInterruptedBefore(t *testing.T) {
	b := program(t, heat)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := openReference(t, b)
	if p, err := r.Advance(ctx, Limit{}); err != nil || !p.Stopped || p.Leaves != 0 {
		t.Errorf("%+v, %v", p, err)
	}
}
