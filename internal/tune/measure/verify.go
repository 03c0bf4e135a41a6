package measure

import (
	"fmt"
	"math"
	"strings"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
)

// Margins say how far the results of a variant may be from those of the plain kernels.
type Margins struct {
	Grids []Margin // by grid
	Cells []Margin
}

// Margin is how far two numbers may be apart: an absolute difference plus a relative one.
type Margin struct {
	Absolute, Relative float64
	// Loose is the part of all cells that may be further apart, because a comparison in the program may go
	// either way there.
	Loose float64
}

// Mismatch says that the results of a variant differ from those of the plain kernels.
type Mismatch struct {
	What      string // "next[3][0][17], the first of 4 wrong cells,"
	Got, Want float64
	Bound     float64 // how far they may be apart
}

// Error returns the text.
func (e *Mismatch) Error() string {
	return fmt.Sprintf("%s is %v, and should be %v; they may differ by %.3g", e.What, e.Got, e.Want, e.Bound)
}

// Agreement is the result of comparing all cells.
type Agreement struct {
	Cells   int64   `json:"cells"`          // that were compared
	NaNs    int64   `json:"nans,omitempty"` // that were not: neither side has a number there
	Largest float64 `json:"largest_difference"`
	Loose   int64   `json:"undecided,omitempty"` // cells that differ because a comparison may go either way
}

// compare compares every cell that a call writes with the results of the plain kernels.
func (b *workerContext) compare(c *Code, m Margins, cells []op.Value) (Agreement, error) {
	var a Agreement
	for i, p := range b.grids {
		if !c.Use.Writes[i] || p.Count() == 0 {
			continue
		}
		if p.want == nil {
			return a, errorf("nobody has computed what %s should be", p.Name)
		}
		if err := b.compareGrid(p, b.memory(c.holder(i)), m.Grids[i], &a); err != nil {
			return a, err
		}
	}
	numbers := false
	for _, i := range c.Use.Reduces {
		v, err := b.readCell(i)
		if err != nil {
			return a, err
		}
		got, want, bound := v.AsFloat(), cells[i].AsFloat(),
			m.Cells[i].Absolute+m.Cells[i].Relative*math.Abs(cells[i].AsFloat())
		if !v.Same(cells[i]) && !(math.Abs(got-want) <= bound) {
			return a, &Mismatch{b.setting.Cells[i].Name, got, want, bound}
		}
		numbers = numbers || got == got
	}
	if !numbers && a.Cells == 0 && a.NaNs > 0 {
		return a, errorf("nothing was compared: there is no number in any of %d cells", a.NaNs)
	}
	return a, nil
}

// readCell reads the value of a reduced scalar.
func (b *workerContext) readCell(i int) (op.Value, error) {
	if err := b.cells[i].slot.Buffer.Pull(); err != nil {
		return op.Value{}, err
	}
	return device.Decode(b.setting.Cells[i].Type, b.cells[i].host), nil
}

// compareGrid compares what a memory holds with what a grid should hold.
func (b *workerContext) compareGrid(p, in *gridMemory, m Margin, a *Agreement) error {
	all := p.Count()
	workers := min(b.comparers, all)
	count := (all + workers - 1) / workers
	start, step := count, int64(1)
	if b.interleaved {
		start, step = 1, workers
	}
	values := append(in.placement(), int64s(all, start, step, count)...)
	values = append(values, op.Float(types.F64, m.Absolute), op.Float(types.F64, m.Relative))
	slots := []*device.Slot{&b.counts.slot, &b.differences.slot, &in.slot, p.want}
	if err := b.runTool("compare_"+p.Type.String(), workers, slots, values...); err != nil {
		return err
	}
	for _, h := range []*hostBuffer{b.counts, b.differences} {
		if err := h.slot.Buffer.Pull(); err != nil {
			return err
		}
	}
	found, apart := view[int64](b.counts.host), view[float64](b.differences.host)
	wrong, first := int64(0), int64(math.MaxInt64)
	for t := range workers {
		if found[3*t] > 0 {
			wrong += found[3*t]
			first = min(first, found[3*t+1])
		}
		a.NaNs += found[3*t+2]
		a.Cells -= found[3*t+2]
		a.Largest = max(a.Largest, apart[t])
	}
	a.Cells += all
	if wrong == 0 {
		return nil
	}
	if float64(wrong) <= m.Loose*float64(all) {
		a.Loose += wrong
		return nil
	}
	return b.mismatch(p, in, m, wrong, first)
}

// mismatch describes the first cell that differs.
func (b *workerContext) mismatch(p, in *gridMemory, m Margin, count, first int64) error {
	slots := []*device.Slot{&b.pair.slot, &in.slot, p.want}
	if err := b.runTool("pick_"+p.Type.String(), 1, slots, in.placement(first)...); err != nil {
		return err
	}
	if err := b.pair.slot.Buffer.Pull(); err != nil {
		return err
	}
	v := view[float64](b.pair.host)
	what := fmt.Sprintf("%s, the first of %d wrong cells,", cellName(&p.Grid, first), count)
	return &Mismatch{what, v[0], v[1], m.Absolute + m.Relative*math.Abs(v[1])}
}

// cellName returns the name of a cell by its number: "u[3][0][17]".
func cellName(g *Grid, i int64) string {
	at := make([]string, len(g.Shape))
	for d := len(g.Shape) - 1; d >= 0; d-- {
		at[d] = fmt.Sprintf("[%d]", i%int64(g.Shape[d]))
		i /= int64(g.Shape[d])
	}
	return g.Name + strings.Join(at, "")
}

func view[T any](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(zero)))
}

// values reads everything that a call has written, dense.
func (b *workerContext) values(c *Code) (Values, error) {
	var v Values
	for i, p := range b.grids {
		if !c.Use.Writes[i] {
			v.Grids = append(v.Grids, nil)
			continue
		}
		h, err := b.newHostBuffer(p.Count() * int64(p.Type.Size()))
		if err != nil {
			return v, err
		}
		from := b.memory(c.holder(i))
		if err := b.runTool("keep_"+p.Type.String(), p.Count(), []*device.Slot{&h.slot, &from.slot},
			from.placement()...); err != nil {
			return v, err
		}
		if err := h.slot.Buffer.Pull(); err != nil {
			return v, err
		}
		v.Grids = append(v.Grids, append([]byte(nil), h.host...))
		if err := free(h.slot.Buffer); err != nil {
			return v, err
		}
	}
	var err error
	v.Cells, err = b.readCells()
	return v, err
}

// readCells reads the values of all reduced scalars.
func (b *workerContext) readCells() ([]op.Value, error) {
	var list []op.Value
	for i := range b.cells {
		v, err := b.readCell(i)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// Values are what a call has written.
type Values struct {
	Grids [][]byte // by grid; nil where it writes nothing
	Cells []op.Value
}
