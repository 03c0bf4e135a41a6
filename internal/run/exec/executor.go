package exec

import (
	"sync/atomic"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// executor executes a script on a device, on the region's memory.
type executor struct {
	script   *Script
	device   device.Device
	region   []byte
	hosts    [][]byte // the memory that each grid had first
	grids    []*device.Slot
	holds    []int           // whose memory each grid has after rotations
	memory   []device.Buffer // by the grid that had it first: to bring cells to and fro
	inner    []device.Buffer // and what kernels work on
	cells    []device.Buffer
	step     *device.Value
	rounds   *device.Value
	launches [][]device.PreparedLaunch
	status   *status
	eval     evaluator
	pace     pacer
	usage    []device.Usage // of kernels, if the device tells it
	graphs   *graphLauncher // nil where launches are made one by one
	failed   error          // of a cell that could not be read in the midst of a formula
}

// newExecutor prepares everything that launches need. Grids that nothing writes are
// protected if the region is a worker's.
func newExecutor(s *Script, d device.Device, image string, r *memory.Region, given [][]byte,
	private bool) (*executor, error) {
	m := &executor{script: s, device: d, region: r.Bytes(), hosts: s.hosts(r, given), step: &device.Value{},
		rounds: &device.Value{}, pace: newPacer(0)}
	m.status = statusAt(m.region, s.StatusStart)
	m.eval.cell = m.cell
	if err := m.allocate(r, private); err != nil {
		return nil, err
	}
	library, err := d.Load(image)
	if err != nil {
		return nil, err
	}
	if err := m.prepare(library); err != nil {
		return m, err
	}
	m.account(library)
	return m, nil
}

// account records the resources of each kernel at its first launch. It stops at the first kernel whose resources
// the device does not know.
func (m *executor) account(library device.Library) {
	accountant, ok := library.(device.Accountant)
	if !ok {
		return
	}
	for i, name := range m.script.Kernels {
		var u device.Usage
		if g := m.script.Geometry(i); g.Threads[0]*g.Threads[1]*g.Threads[2] > 0 {
			var err error
			if u, err = accountant.Usage(name, g); err != nil {
				m.usage = nil
				return
			}
		}
		m.usage = append(m.usage, u)
	}
}

func (m *executor) allocate(r *memory.Region, private bool) error {
	for i, g := range m.script.Grids {
		outer, inner, err := m.place(g, m.hosts[i], private)
		if err != nil {
			return err
		}
		if g.ReadOnly && r.File() != nil {
			if err := r.Protect(g.Start, g.Start+g.Bytes); err != nil {
				return err
			}
		}
		m.memory, m.inner = append(m.memory, outer), append(m.inner, inner)
		m.grids = append(m.grids, &device.Slot{Buffer: inner})
		m.holds = append(m.holds, i)
	}
	for i := range m.script.Cells {
		start := m.script.cellStart(i)
		buffer, err := m.device.Share(m.region[start : start+8])
		if err != nil {
			return err
		}
		m.cells = append(m.cells, buffer)
	}
	return nil
}

func (m *executor) prepare(library device.Library) error {
	var scratch, cells []*device.Slot
	for _, bytes := range m.script.Scratch {
		buffer, err := m.device.Alloc(bytes)
		if err != nil {
			return err
		}
		scratch = append(scratch, &device.Slot{Buffer: buffer})
	}
	for _, buffer := range m.cells {
		cells = append(cells, &device.Slot{Buffer: buffer})
	}
	for _, call := range m.script.Calls {
		var launches []device.PreparedLaunch
		for _, l := range call.Launches {
			var args []device.Arg
			for _, a := range l.Args {
				switch a.Kind {
				case GridArg:
					args = append(args, a.On(m.grids[a.Index]))
				case CellArg:
					args = append(args, a.On(cells[a.Index]))
				case ScratchArg:
					args = append(args, a.On(scratch[a.Index]))
				case ValueArg:
					args = append(args, &device.Value{Bytes: a.Bits})
				case StepArg:
					args = append(args, m.step)
				case RoundsArg:
					args = append(args, m.rounds)
				}
			}
			launch, err := bind(library, m.script.Kernels[l.Kernel], l.Geometry, args)
			if err != nil {
				return err
			}
			launches = append(launches, launch)
		}
		m.launches = append(m.launches, launches)
	}
	return nil
}

// bind prepares a launch, with its geometry where the device needs it.
func bind(library device.Library, name string, g kernel.Geometry, args []device.Arg) (device.PreparedLaunch, error) {
	if gridded, ok := library.(device.Gridded); ok {
		return gridded.PrepareGrid(name, g, args)
	}
	return library.Prepare(name, args)
}

// push copies all that the host has written to the device. Spares hold nothing.
func (m *executor) push() error {
	for g, h := range m.holds {
		if m.script.Grids[g].Spare {
			continue
		}
		if err := m.memory[h].Push(); err != nil {
			return err
		}
	}
	for _, b := range m.cells {
		if err := b.Push(); err != nil {
			return err
		}
	}
	return nil
}

// pull copies grids back to the host.
func (m *executor) pull(grids []int) error {
	for _, g := range grids {
		if err := m.memory[m.holds[g]].Pull(); err != nil {
			return err
		}
	}
	return nil
}

// cell returns the present value of a reduced scalar.
func (m *executor) cell(i int) op.Value {
	if err := m.cells[i].Pull(); err != nil && m.failed == nil {
		m.failed = err
	}
	return device.Decode(m.script.Cells[i].Type, m.region[m.script.cellStart(i):])
}

// run executes leaves from a cursor on, to the end, to the limit, or until stop holds the number of this run. It
// returns the cursor that it reached.
func (m *executor) run(at ir.Cursor, limit Limit, stop *atomic.Int64,
	number int64) (c ir.Cursor, end ending, err error) {
	w := newWalker(m.script.Body, at, func(f Formula, step int64) int64 { return m.eval.eval(f, step).I })
	defer func() {
		c = w.cursor()
		if err == nil { // else it tells what has failed
			m.status.running.Store(0)
		}
	}()
	w.settle() // a cursor from elsewhere may stand before the end of an iteration
	start := w.completed
	m.pace.start(time.Now())
	for n := int64(0); ; {
		more := w.settle()
		m.status.completed.Store(w.completed)
		switch {
		case m.failed != nil:
			return c, end, m.failed
		case w.owes():
		case !more:
			return c, finished, m.finish()
		case limit.reached(n, w.completed-start):
			return c, paused, m.finish()
		case stop.Load() == number:
			return c, stopped, m.finish()
		}
		leaves := int64(0)
		if !w.owes() || stop.Load() != number { // else it stops as soon as it can
			if leaves, err = m.several(w, limit.rest(n, w.completed-start)); err != nil {
				return c, end, err
			}
		}
		if leaves == 0 {
			leaves = 1
			step := w.step()
			if err := m.execute(w.take(), step); err != nil {
				return c, end, err
			}
		}
		n += leaves
	}
}

// several executes leaves from where the walker stands together, if it can, and returns how many.
func (m *executor) several(w *walker, limit Limit) (leaves int64, err error) {
	if leaves, err = m.graphs.replay(w, limit); leaves > 0 || err != nil {
		return leaves, err
	}
	return m.together(w, limit)
}

// finish waits for the device and copies the values of reduced scalars back.
func (m *executor) finish() error {
	if err := m.device.Sync(); err != nil {
		return err
	}
	for _, b := range m.cells {
		if err := b.Pull(); err != nil {
			return err
		}
	}
	return nil
}

func (m *executor) execute(o *Op, step int64) error {
	if o.Kind == RotateOp {
		m.rotate(o.Grids)
	} else {
		if err := m.launch(o.Call, step); err != nil {
			return err
		}
		m.status.points.Add(m.script.Calls[o.Call].Points)
	}
	m.status.leaves.Add(1)
	return nil
}

// launch makes the launches of a call.
func (m *executor) launch(call int, step int64) error {
	setStep(m.step, step)
	for i, launch := range m.launches[call] {
		m.status.running.Store(place(call, i))
		m.status.launches.Add(1)
		if err := launch.Launch(); err != nil {
			return err
		}
		if err := m.queued(1); err != nil {
			return err
		}
	}
	return nil
}

// setStep sets a value that launches have: the step, or how many rounds they have.
func setStep(v *device.Value, step int64) { v.Set(op.Int(types.I32, step)) }

// queued counts launches, and waits for them as the pacer says.
func (m *executor) queued(launches int) error {
	if !m.pace.due(launches) {
		return nil
	}
	if err := m.device.Sync(); err != nil {
		return err
	}
	m.pace.synced(time.Now())
	return nil
}

// rotate gives every grid the contents of the next one, and the last those of the first, by exchanging buffers.
func (m *executor) rotate(grids []int) {
	rotate(m.holds, grids)
	for _, g := range grids {
		m.grids[g].Buffer = m.inner[m.holds[g]]
	}
}

// assignBuffers gives each grid the buffer that a list says.
func (m *executor) assignBuffers(holds []int) {
	copy(m.holds, holds)
	for g, h := range m.holds {
		m.grids[g].Buffer = m.inner[h]
	}
}
