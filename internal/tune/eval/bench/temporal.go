package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/disk"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// The suite temporal: whole time loops in which several iterations share a kernel. All of
// run's loop is timed, launches of remaining single iterations included. Grids and their
// rims are random; all cells are compared with those that one iteration a kernel leaves.

// TemporalOptions says what to measure.
type TemporalOptions struct {
	Device     string
	Cases      []string // all if there are none
	DTypes     []string
	Boundaries []string          // none alone if there are none
	Set        map[string]string // another size; N alone is that of every axis
	Steps      int64
	Plans      []string      // tried in each row; the fastest is measured
	Bare       []string      // the same without handling of edges
	Single     []string      // plans of one iteration a kernel to compare with; the fastest counts
	Least      time.Duration // that repetitions of the plan take together
	Counters   bool          // have Nsight Compute count issue slots
	Commit     string
	Log        io.Writer
	Each       func(TemporalRow) error // after every row
}

// Temporal measures the rows that the options name, one after the other.
func Temporal(ctx context.Context, o TemporalOptions) ([]TemporalRow, error) {
	return temporalRows(ctx, o, o.wanted())
}

// wanted is the rows that the options name.
func (o *TemporalOptions) wanted() (wanted []rowWanted) {
	for _, name := range chosen(TemporalNames(), o.Cases) {
		for _, boundary := range chosen(TemporalBoundaries(), orNone(o.Boundaries)) {
			for _, dtype := range chosen([]string{"double", "float"}, o.DTypes) {
				wanted = append(wanted, rowWanted{
					temporalCase: temporalCase{name, dtype, boundary}, set: o.Set, steps: o.Steps, plans: o.Plans,
					bare: o.Bare, single: o.Single,
				})
			}
		}
	}
	return wanted
}

// chosen returns those of a list that are wanted; all if nothing is said.
func chosen(list, wanted []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool {
		return len(wanted) > 0 && !slices.Contains(wanted, s)
	})
}

func orNone(boundaries []string) []string {
	if len(boundaries) == 0 {
		return []string{"none"}
	}
	return boundaries
}

// rowWanted is a row to be measured.
type rowWanted struct {
	temporalCase
	set                 map[string]string
	steps               int64
	plans, bare, single []string
	// measured is the row as it was measured, without the issue slots; nil if all is to be measured.
	measured *TemporalRow
}

// temporalDevice is the device that all rows are measured on.
type temporalDevice struct {
	TemporalOptions
	target *target.Target
	close  func()
	drawn  map[drawnCells][]byte // random contents of earlier rows
}

// drawnCells names random contents.
type drawnCells struct {
	of    types.Type
	cells int64
	seed  uint64
}

// mostDrawn is how many grids' contents are kept for rows to come: those of a case in both types.
const mostDrawn = 4

// draw returns random contents, which nobody changes. Drawing takes as long as a measurement.
func (d *temporalDevice) draw(as drawnCells) []byte {
	if data := d.drawn[as]; data != nil {
		return data
	}
	if len(d.drawn) >= mostDrawn {
		clear(d.drawn)
	}
	d.drawn[as] = randomCells(as.of, as.cells, as.seed)
	return d.drawn[as]
}

func openTemporal(o TemporalOptions) (*temporalDevice, error) {
	dir, err := disk.NewFolder("", "gridloom-bench-")
	if err != nil {
		return nil, err
	}
	cache, err := toolchain.OpenCache(dir.Path)
	if err != nil {
		dir.Remove()
		return nil, err
	}
	d := &temporalDevice{TemporalOptions: o, drawn: map[drawnCells][]byte{}, close: func() {
		cache.Close()
		dir.Remove()
	}}
	options := target.Options{Arithmetic: arith.Contract}
	options.Cache = cache
	if d.target, err = target.Open(o.Device, options); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// Close ends the compilers, and removes what they made.
func (d *temporalDevice) Close() {
	d.target.Close()
	d.close()
}

// temporalRows measures rows. Those that are finished are returned with an error, too.
func temporalRows(ctx context.Context, o TemporalOptions, wanted []rowWanted) ([]TemporalRow, error) {
	d, err := openTemporal(o)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var rows []TemporalRow
	for i, w := range wanted {
		if i%rowsAhead == 0 {
			d.compileAhead(ctx, wanted[i:min(i+rowsAhead, len(wanted))])
		}
		row, err := d.row(ctx, w)
		if err != nil {
			return rows, fmt.Errorf("%v: %w", w.temporalCase, err)
		}
		rows = append(rows, row)
		if err := o.Each(row); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// temporal is a row being measured.
type temporal struct {
	*temporalDevice
	rowWanted
	bound  *ir.Binding
	points int64             // of a grid
	checks int64             // iterations after which cells are compared
	data   map[string][]byte // contents to begin with
	kept   map[string][]byte // what one iteration a kernel makes of them in so many iterations
}

// load binds the case, and draws what its grids hold.
func (d *temporalDevice) load(w rowWanted) (*temporal, error) {
	t := &temporal{temporalDevice: d, rowWanted: w, data: map[string][]byte{}}
	var err error
	if t.bound, err = w.bind(w.set); err != nil {
		return nil, err
	}
	t.points = gridCells(t.bound, t.bound.Program.Grids[0])
	for i, g := range t.bound.Program.Grids {
		t.data[g.Name] = d.draw(drawnCells{g.Type, gridCells(t.bound, g), uint64(i + 1)})
	}
	return t, nil
}

// row measures a row. The plans that are tried stay open until a faster one is found: opening
// takes longer than a repetition.
func (d *temporalDevice) row(ctx context.Context, w rowWanted) (row TemporalRow, err error) {
	row = TemporalRow{
		Case: w.name, DType: w.dtype, Boundary: w.boundary, Steps: w.steps, Commit: d.Commit,
		Device: d.target.Properties.Name, Driver: d.target.Properties.Driver,
	}
	t, err := d.load(w)
	if err != nil {
		return row, err
	}
	row.Grid = gridText(t.bound, t.bound.Program.Grids[0])
	fmt.Fprintf(d.Log, "%v %s, %d iterations\n", w.temporalCase, row.Grid, row.Steps)
	if t.checks, err = checksOf(w.plans); err != nil {
		return row, err
	}
	var loops []*timedLoop
	defer func() {
		for _, l := range loops {
			l.Close()
		}
	}()
	fastest := func(plans []string, as role) (*timedLoop, error) {
		l, err := t.fastest(ctx, plans, as)
		if err == nil {
			loops = append(loops, l)
		}
		return l, err
	}
	single, err := fastest(orDefault(w.single), ofOne)
	if err != nil {
		return row, err
	}
	best, err := fastest(w.plans, ofSeveral)
	if err != nil {
		return row, err
	}
	if len(w.single) == 0 {
		row.Single = single.seen
		single.Close()
		loops = loops[1:]
	}
	if len(w.bare) > 0 {
		if _, err := fastest(w.bare, withoutEdges); err != nil {
			return row, err
		}
	}
	row.Plan, row.Depth, row.Registers, row.Spills = best.plan, best.depth, best.registers, best.spills
	row.Differ, row.Cells, row.Useful = best.differ, best.compared, best.useful
	if err := t.inTurn(ctx, &row, loops, best); err != nil {
		return row, err
	}
	if d.Counters {
		if row.SlotShare, err = t.slotShare(ctx, best); err != nil {
			fmt.Fprintf(d.Log, "  issue slots are not counted: %v\n", err)
		}
	}
	t.judge(&row)
	if row.Rivals, err = temporalRivals(row); err != nil {
		return row, err
	}
	return row, row.impossible(t.bound, d.target.Machine)
}

// orDefault returns plans; the default one if there are none.
func orDefault(plans []string) []string {
	if len(plans) == 0 {
		return []string{""}
	}
	return plans
}

// judge compares the rate with what memory moves.
func (t *temporal) judge(row *TemporalRow) {
	facts := loopFacts(t.bound)
	row.Bytes = facts.Traffic.Compulsory * float64(facts.Points) / float64(t.points)
	row.Traffic = row.Bytes * row.Rate
	if m := t.target.Machine; m != nil && m.Memory.Bandwidth > 0 {
		row.OverCopy = row.Traffic / m.Memory.Bandwidth
	}
}
