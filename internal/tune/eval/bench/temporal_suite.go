package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// SuiteRow is a row of a list of rows, with the plans to measure it by and what is to be reached.
type SuiteRow struct {
	Case     string   `json:"case"`
	DType    string   `json:"dtype"`
	Boundary string   `json:"boundary,omitempty"` // none if it is empty
	Grid     string   `json:"grid"`
	Steps    int64    `json:"steps"`
	Plans    []string `json:"plans"`
	Bare     []string `json:"bare,omitempty"`
	Single   []string `json:"single,omitempty"`
	// Must and Aim are GStencil/s. Where the row must reach a share of another one, that is the
	// row of the case Of, of the same type, with boundary none, and 1,000 steps on BaseGrid.
	Must     float64 `json:"must,omitempty"`
	Aim      float64 `json:"aim,omitempty"`
	Of       string  `json:"of,omitempty"`
	BaseGrid string  `json:"base_grid,omitempty"`
	Share    float64 `json:"share,omitempty"`
	Ratio    float64 `json:"ratio,omitempty"` // to one iteration a kernel
}

// mustGuarded is what the handling of edges must leave of the rate without it.
const mustGuarded = 0.95

// TemporalSuite returns the rows of a list that comes with gridloom, by its name.
func TemporalSuite(name string) ([]SuiteRow, error) {
	text, err := files.ReadFile("plans/temporal-" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("there is no list of rows %q: there is h200", name)
	}
	return ParseSuite(text)
}

// ParseSuite reads a list of rows: JSON.
func ParseSuite(text []byte) ([]SuiteRow, error) {
	list, err := readList[SuiteRow](text, "rows", `[{"case": "star5", "dtype": "double", "grid": "16384x16384", `+
		`"steps": 1000, "plans": ["..."]}]`)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		var err error
		switch _, wrong := gridSizes(r.Grid); {
		case !slices.Contains(TemporalNames(), r.Case):
			err = fmt.Errorf("there is no case %q", r.Case)
		case r.DType != "double" && r.DType != "float":
			err = fmt.Errorf("the types are double and float, not %q", r.DType)
		case !slices.Contains(TemporalBoundaries(), cmp.Or(r.Boundary, "none")):
			err = fmt.Errorf("there is no boundary %q", r.Boundary)
		case wrong != nil:
			err = wrong
		case r.Steps < 1 || len(r.Plans) == 0:
			err = errors.New("a row needs steps and plans")
		}
		if err != nil {
			return nil, fmt.Errorf("row %d of the list: %w", i+1, err)
		}
	}
	return list, nil
}

// wanted is the row as something to be measured.
func (r SuiteRow) wanted() (rowWanted, error) {
	set, err := gridSizes(r.Grid)
	return rowWanted{
		temporalCase: temporalCase{r.Case, r.DType, cmp.Or(r.Boundary, "none")}, set: set, steps: r.Steps,
		plans: r.Plans, bare: r.Bare, single: r.Single,
	}, err
}

// in returns the row of the list as it was measured on a device, or nil.
func (r SuiteRow) in(rows []TemporalRow, device string) *TemporalRow {
	key := TemporalRow{
		Case: r.Case, DType: r.DType, Boundary: r.Boundary, Grid: r.Grid, Steps: r.Steps, Device: device,
	}.Key()
	for i := range rows {
		if rows[i].Key() == key {
			return &rows[i]
		}
	}
	return nil
}

// MeasureSuite measures the rows of a list, but for those that were measured at the options'
// commit, as completely, before. Where the issue slots alone are missing, those are counted. It
// begins no row that would end after the budget, if there is one: each is taken to need as long as
// the longest so far. What is finished is returned with an error, too. A row that fails does not
// keep the others from being measured.
func MeasureSuite(ctx context.Context, o TemporalOptions, list []SuiteRow, have []TemporalRow,
	budget time.Duration) ([]TemporalRow, error) {
	d, err := openTemporal(o)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	todo, err := d.left(list, have)
	if err != nil {
		return nil, err
	}
	return d.rows(ctx, todo, budget)
}

// rows measures rows one by one, within the budget if there is one. Of those that were measured before it counts the
// issue slots. What is finished is returned with an error, too.
func (d *temporalDevice) rows(ctx context.Context, todo []rowWanted, budget time.Duration) ([]TemporalRow, error) {
	var rows []TemporalRow
	var failed []error
	allowed := newAllowance(budget, d.Log)
	for i, w := range todo {
		if !allowed.allows(len(todo) - i) {
			break
		}
		if i%rowsAhead == 0 {
			ahead := slices.Clone(todo[i:min(i+rowsAhead, len(todo))])
			d.compileAhead(ctx, slices.DeleteFunc(ahead, func(w rowWanted) bool { return w.measured != nil }))
		}
		begin := time.Now()
		measure := d.row
		if w.measured != nil {
			measure = d.countSlots
		}
		row, err := measure(ctx, w)
		allowed.spent(begin)
		if ctx.Err() != nil {
			return rows, context.Cause(ctx)
		}
		if err != nil {
			err = fmt.Errorf("%v %s: %w", w.temporalCase, row.Grid, err)
			fmt.Fprintf(d.Log, "  %v\n", err)
			failed = append(failed, err)
			continue
		}
		rows = append(rows, row)
		if err := d.Each(row); err != nil {
			return rows, err
		}
	}
	return rows, errors.Join(failed...)
}

// CountSlots counts the issue slots of rows that were measured before without them, at whatever commit, by their
// plans. It begins none that would end after the budget, if there is one.
func CountSlots(ctx context.Context, o TemporalOptions, have []TemporalRow, budget time.Duration) ([]TemporalRow,
	error) {
	d, err := openTemporal(o)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var todo []rowWanted
	for i := range have {
		r := &have[i]
		w, err := SuiteRow{
			Case: r.Case, DType: r.DType, Boundary: r.Boundary, Grid: r.Grid, Steps: r.Steps, Plans: []string{r.Plan},
		}.wanted()
		if err != nil {
			return nil, err
		}
		if r.SlotShare == nil && r.Device == d.target.Properties.Name && d.chosen(w.temporalCase) {
			w.measured = r
			todo = append(todo, w)
		}
	}
	return d.rows(ctx, todo, budget)
}

// chosen reports whether the options do not leave a case out.
func (d *temporalDevice) chosen(c temporalCase) bool {
	return slices.Contains(chosen(TemporalNames(), d.Cases), c.name) &&
		slices.Contains(chosen(TemporalBoundaries(), d.Boundaries), c.boundary) &&
		(len(d.DTypes) == 0 || slices.Contains(d.DTypes, c.dtype))
}

// left returns the rows of a list that the options do not leave out, and that are not measured yet.
func (d *temporalDevice) left(list []SuiteRow, have []TemporalRow) ([]rowWanted, error) {
	var todo []rowWanted
	for _, r := range list {
		w, err := r.wanted()
		if err != nil {
			return nil, err
		}
		if !d.chosen(w.temporalCase) {
			continue
		}
		m := r.in(have, d.target.Properties.Name)
		if m != nil && m.Commit == d.Commit && r.complete(m) {
			if !d.Counters || m.SlotShare != nil {
				continue
			}
			w.measured = m
		}
		todo = append(todo, w)
	}
	return todo, nil
}

// complete reports whether a row has all rates that the list asks for.
func (r SuiteRow) complete(m *TemporalRow) bool {
	return (len(r.Bare) == 0 || m.Bare > 0) && (len(r.Single) == 0 || m.Pairs > 0)
}

// WriteShort prints what rows do not reach of what their list says.
func WriteShort(w io.Writer, list []SuiteRow, rows []TemporalRow) {
	for _, r := range list {
		for _, text := range r.short(rows) {
			fmt.Fprintf(w, "short: %s %s %s %s, %d steps: %s\n", r.Case, r.DType, cmp.Or(r.Boundary, "none"), r.Grid,
				r.Steps, text)
		}
	}
}

// short says what the row does not reach; nothing if it was not measured.
func (r SuiteRow) short(rows []TemporalRow) []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, m := range rows {
		if r.in([]TemporalRow{m}, m.Device) == nil {
			continue
		}
		if m.Rate < r.Must {
			add("%s GStencil/s of %s", figure(m.Rate), figure(r.Must))
		}
		if base := r.base().in(rows, m.Device); r.Share > 0 && base != nil && m.Rate < r.Share*base.Rate {
			add("%.3f of the %s GStencil/s of %s, and not %.2f", m.Rate/base.Rate, figure(base.Rate), base.Case,
				r.Share)
		}
		if m.Ratio < r.Ratio {
			add("%.2f times one iteration a kernel, and not %.2f", m.Ratio, r.Ratio)
		}
		if len(r.Bare) > 0 && m.Guarded < mustGuarded {
			add("%.3f of what is reached without edges, and not %.2f", m.Guarded, mustGuarded)
		}
		if m.Spills > 0 {
			add("%d bytes are spilled", m.Spills)
		}
		if m.Differ > 0 {
			add("%d cells differ", m.Differ)
		}
	}
	return list
}

// base is the row that this one must reach a share of.
func (r SuiteRow) base() SuiteRow {
	return SuiteRow{Case: cmp.Or(r.Of, r.Case), DType: r.DType, Grid: cmp.Or(r.BaseGrid, r.Grid), Steps: 1000}
}
