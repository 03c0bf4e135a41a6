package exec

import (
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// hosted is what this process has of a program whose kernels run on a device: the
// grids' memory, and where the program stands.
type hosted struct {
	bound  *ir.Binding
	script *Script
	region *memory.Region // holds cells, status, and the grids that have no other memory
	hosts  [][]byte       // the memory that each grid had first
	status *status

	cursor ir.Cursor
	holds  []int  // whose memory each grid has
	push   bool   // the host may have written to memory since the last advance
	stale  []bool // grids that the device has written to since they were brought here
	done   Progress
}

// newHosted stands at the start of the program. Grids that are given no slice have their
// memory in the region.
func newHosted(b *ir.Binding, s *Script, region *memory.Region, given [][]byte) hosted {
	h := hosted{
		bound: b, script: s, region: region, hosts: s.hosts(region, given), status: statusAt(region.Bytes(),
			s.StatusStart),
		push: true, stale: make([]bool, len(s.Grids)),
	}
	for i := range s.Grids {
		h.holds = append(h.holds, i)
	}
	for i, x := range reduced(b.Program) {
		h.setCell(i, b.Scalar(x))
	}
	return h
}

// hosts returns the memory of each grid on the host: its slice, or its part of the region.
func (s *Script) hosts(region *memory.Region, given [][]byte) [][]byte {
	var list [][]byte
	for i, g := range s.Grids {
		if given != nil && given[i] != nil {
			list = append(list, given[i])
			continue
		}
		list = append(list, region.Bytes()[g.Start:g.Start+g.Bytes:g.Start+g.Bytes])
	}
	return list
}

// arrived notes where an advance has come to.
func (h *hosted) arrived(at ir.Cursor, end ending, holds []int) {
	h.cursor, h.holds = at, holds
	h.done.Iterations = at.Completed
	h.done.Finished, h.done.Stopped = end == finished, end == stopped
	for i := range h.stale {
		h.stale[i] = !h.script.Grids[i].ReadOnly
	}
}

// goTo stands at a place whose scalars have those values.
func (h *hosted) goTo(p Place, values []op.Value) {
	for i, v := range values {
		h.setCell(i, v)
	}
	h.cursor, h.push = p.Cursor, true
}

// bring has all grids brought here from the device.
func (h *hosted) bring(grid func(name string) ([]byte, error)) error {
	for _, g := range h.script.Grids {
		if g.Spare {
			continue
		}
		if _, err := grid(g.Name); err != nil {
			return err
		}
	}
	return nil
}

// failure wraps what ended an advance with what the status says.
func (h *hosted) failure(err error) error {
	f := &Failure{Err: err, Iterations: h.status.completed.Load()}
	f.Call, f.Kernel, f.Others = h.status.what(h.script)
	return f
}

// tell tells of the progress while an advance is under way, which takes so long so far.
func (h *hosted) tell(progress func(Progress), busy time.Duration) {
	if progress == nil {
		return
	}
	p := h.counts()
	p.Busy = busy
	p.Call, _, _ = h.status.what(h.script)
	progress(p)
}

// reduced returns the scalars that have cells, in their order.
func reduced(p *ir.Program) []*ir.Scalar {
	return slices.DeleteFunc(slices.Clone(p.Scalars), func(s *ir.Scalar) bool { return !s.Reduced })
}

// counts returns the progress as the status shows it.
func (h *hosted) counts() Progress {
	return Progress{
		Iterations: h.status.completed.Load(),
		Leaves:     h.status.leaves.Load(),
		Launches:   h.status.launches.Load(),
		Graphs:     h.status.graphs.Load(),
		Points:     h.status.points.Load(),
		Busy:       h.done.Busy,
	}
}

// grid returns the memory that holds a grid's cells now.
func (h *hosted) grid(i int) []byte {
	return h.hosts[h.holds[i]]
}

// Scalar implements Runner.
func (h *hosted) Scalar(name string) (op.Value, error) {
	s, err := scalar(h.bound.Program, name)
	if err != nil {
		return op.Value{}, err
	}
	if i := slices.Index(reduced(h.bound.Program), s); i >= 0 {
		return h.cell(i), nil
	}
	return h.bound.Scalar(s), nil
}

func (h *hosted) cell(i int) op.Value {
	return device.Decode(h.script.Cells[i].Type, h.region.Bytes()[h.script.cellStart(i):])
}

func (h *hosted) setCell(i int, v op.Value) {
	device.Encode(h.region.Bytes()[h.script.cellStart(i):], v)
}

// initialise executes a program's initial block in the memory that grid gives.
func initialise(b *ir.Binding, given []string, grid func(i int) []byte) error {
	// The rest of the program is not needed for that.
	program := *b.Program
	program.Calls, program.Body = nil, nil
	bound := *b
	bound.Program = &program
	state, err := interp.New(&bound, interp.Options{})
	if err != nil {
		return err
	}
	for i, g := range program.Grids {
		state.Grid(g.Name).Data = grid(i)
	}
	state.RunInitial(named(&program, given))
	return nil
}

// named returns the set of the grids with those names.
func named(p *ir.Program, names []string) map[*ir.Grid]bool {
	set := map[*ir.Grid]bool{}
	for _, name := range names {
		if g := p.Grid(name); g != nil {
			set[g] = true
		}
	}
	return set
}

// Place implements Runner.
func (h *hosted) Place() Place {
	p := Place{Cursor: h.cursor}
	p.Cursor.Frames = slices.Clone(p.Cursor.Frames)
	for i, c := range h.script.Cells {
		p.Scalars = append(p.Scalars, newScalarValue(c.Name, h.cell(i)))
	}
	return p
}
