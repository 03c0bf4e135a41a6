package bench

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/disk"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// The suite temporal: whole time loops in which several iterations share a kernel. All of
// run's loop is timed, launches of remaining single iterations included. Grids and their
// rims are random; all cells are compared with those that one iteration a kernel leaves.

//go:embed temporal/*.loom
var temporalFiles embed.FS

// TemporalRow is one case in one type on one device.
type TemporalRow struct {
	Case   string  `json:"case"`
	DType  string  `json:"dtype"`
	Grid   string  `json:"grid"`
	Steps  int64   `json:"steps"`
	Rate   float64 `json:"gstencils"` // the median of all repetitions
	Low    float64 `json:"low"`       // its 95 % interval
	High   float64 `json:"high"`
	Cool   float64 `json:"cool_gstencils"` // the best repetition
	Single float64 `json:"gstencils_single"`
	// Where single plans were given, the fastest of them is timed in turn with the plan.
	SinglePlan string  `json:"single_plan,omitempty"`
	Ratio      float64 `json:"ratio_to_single,omitempty"` // the median of all pairs
	RatioLow   float64 `json:"ratio_low,omitempty"`       // its 95 % interval
	RatioHigh  float64 `json:"ratio_high,omitempty"`
	Pairs      int     `json:"pairs,omitempty"`
	// Bare is the fastest kernel of those that were tried without handling of edges.
	Bare     float64 `json:"bare_gstencils,omitempty"`
	BarePlan string  `json:"bare_plan,omitempty"`
	Depth    int     `json:"depth"`
	Differ   int64   `json:"differing_cells"` // from one iteration a kernel
	Cells    int64   `json:"cells_compared"`
	// Registers and Spills, in bytes, are those of a thread of the kernel that has several iterations.
	Registers int     `json:"registers"`
	Spills    int     `json:"spills"`
	Plan      string  `json:"plan"`
	Seconds   float64 `json:"seconds"` // of all repetitions
	Device    string  `json:"device"`
	Driver    string  `json:"driver"`
	Commit    string  `json:"commit"`
}

// Key tells rows apart that measure different things.
func (r TemporalRow) Key() string {
	return strings.Join([]string{r.Case, r.DType, r.Grid, strconv.FormatInt(r.Steps, 10), r.Device}, " ")
}

// TemporalOptions says what to measure.
type TemporalOptions struct {
	Device string
	Cases  []string // all if there are none
	DTypes []string
	Set    map[string]string // another size
	Steps  int64
	Plans  []string      // tried in each row; the fastest is measured
	Bare   []string      // the same without handling of edges
	Single []string      // plans of one iteration a kernel to compare with; the fastest counts
	Least  time.Duration // that repetitions take
	Commit string
	Log    io.Writer
	Each   func(TemporalRow) error // after every row
}

// TemporalNames returns the cases.
func TemporalNames() []string {
	return []string{"star5", "box9", "star9", "box25", "star7", "star13", "poisson19", "box27"}
}

// Temporal measures the rows that the options name, one after the other.
func Temporal(ctx context.Context, o TemporalOptions) ([]TemporalRow, error) {
	var rows []TemporalRow
	for _, name := range TemporalNames() {
		if len(o.Cases) > 0 && !slices.Contains(o.Cases, name) {
			continue
		}
		for _, dtype := range []string{"double", "float"} {
			if len(o.DTypes) > 0 && !slices.Contains(o.DTypes, dtype) {
				continue
			}
			row, err := temporalRow(ctx, o, name, dtype)
			if err != nil {
				return rows, fmt.Errorf("%s %s: %w", name, dtype, err)
			}
			rows = append(rows, row)
			if err := o.Each(row); err != nil {
				return rows, err
			}
		}
	}
	return rows, nil
}

// temporal is a row being measured.
type temporal struct {
	TemporalOptions
	target *target.Target
	bound  *ir.Binding
	cells  int64
	data   map[string][]byte // contents to begin with
}

func temporalRow(ctx context.Context, o TemporalOptions, name, dtype string) (TemporalRow, error) {
	row := TemporalRow{Case: name, DType: dtype, Steps: o.Steps, Commit: o.Commit}
	dir, err := disk.NewFolder("", "gridloom-bench-")
	if err != nil {
		return row, err
	}
	defer dir.Remove()
	cache, err := toolchain.OpenCache(dir.Path)
	if err != nil {
		return row, err
	}
	defer cache.Close()
	t := &temporal{TemporalOptions: o}
	options := target.Options{Arithmetic: arith.Contract}
	options.Cache = cache
	if t.target, err = target.Open(o.Device, options); err != nil {
		return row, err
	}
	defer t.target.Close()
	row.Device, row.Driver = t.target.Properties.Name, t.target.Properties.Driver
	if err := t.load(name, dtype); err != nil {
		return row, err
	}
	row.Grid = gridText(t.bound, t.bound.Program.Grids[0])
	best, err := t.choose(ctx, t.Plans, false)
	if err != nil {
		return row, err
	}
	row.Plan, row.Depth, row.Registers, row.Spills = best.plan, best.depth, best.registers, best.spills
	if row.Differ, row.Cells, err = t.compare(ctx, best); err != nil {
		return row, err
	}
	if len(t.TemporalOptions.Single) > 0 {
		return row, t.pairs(ctx, best, &row)
	}
	single, err := t.time(ctx, &spanPlan{}, 0)
	if err != nil {
		return row, err
	}
	row.Single = median(single)
	if len(t.Bare) > 0 {
		bare, err := t.choose(ctx, t.Bare, true)
		if err != nil {
			return row, err
		}
		rates, err := t.time(ctx, bare, o.Least)
		if err != nil {
			return row, err
		}
		row.Bare, row.BarePlan = median(rates), bare.plan
	}
	start := time.Now()
	rates, err := t.time(ctx, best, o.Least)
	if err != nil {
		return row, err
	}
	row.Seconds = time.Since(start).Seconds()
	row.Rate, row.Cool = median(rates), slices.Max(rates)
	row.Low, row.High = medianInterval(rates)
	return row, nil
}

// load binds the case, and draws what its grids hold.
func (t *temporal) load(name, dtype string) error {
	text, err := temporalFiles.ReadFile("temporal/" + name + ".loom")
	if err != nil {
		return err
	}
	src := diag.NewSource(name+".loom", strings.ReplaceAll(string(text), "double", dtype))
	p, list := lang.Load(src)
	if list.HasErrors() {
		return errors.New(diag.Render(src, list, diag.Style{}))
	}
	set := map[string]string{"T": "1000000000"} // the loop is stopped
	for name, value := range t.Set {
		set[name] = value
	}
	if t.bound, err = bindTo(p.In(arith.Contract), set); err != nil {
		return err
	}
	t.data = map[string][]byte{}
	for i, g := range t.bound.Program.Grids {
		t.cells = gridCells(t.bound, g)
		t.data[g.Name] = randomCells(g.Type, t.cells, uint64(i+1))
	}
	return nil
}

// randomCells draws numbers between -1 and 1.
func randomCells(of types.Type, cells int64, seed uint64) []byte {
	size := int64(of.Size())
	data := make([]byte, cells*size)
	const part = 1 << 20
	var wg sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for from := int64(0); from < cells; from += part {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			copy(data[from*size:], gen.Input(of, int(min(part, cells-from)), seed<<32+uint64(from/part)))
		})
	}
	wg.Wait()
	return data
}

// spanPlan is a plan with what its kernel of several iterations takes.
type spanPlan struct {
	plan              string
	bare              bool // without handling of edges
	depth             int
	registers, spills int
	rate              float64
}

// choose times every plan for a short while, and returns the fastest.
func (t *temporal) choose(ctx context.Context, plans []string, bare bool) (*spanPlan, error) {
	var best *spanPlan
	for _, text := range plans {
		p := &spanPlan{plan: text, bare: bare}
		rates, err := t.time(ctx, p, 0)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			fmt.Fprintf(t.Log, "  %s: %v\n", text, err)
			continue
		}
		p.rate = median(rates)
		what := ""
		if bare {
			what = "bare, "
		}
		fmt.Fprintf(t.Log, "  %8.1f GStencil/s, %s%d registers, %d bytes spilled: %s\n", p.rate, what, p.registers,
			p.spills, text)
		if best == nil || p.rate > best.rate {
			best = p
		}
	}
	if best == nil {
		return nil, errors.New("none of the plans can be run")
	}
	return best, nil
}

// open compiles the program with a plan, and gives it memory with what t.data has.
func (t *temporal) open(ctx context.Context, p *spanPlan) (*exec.Remote, error) {
	plan, err := schedule.ParsePlan(p.plan)
	if err != nil {
		return nil, err
	}
	for _, k := range plan.Kernels {
		p.depth = max(p.depth, k.Depth)
	}
	options := t.target.Lowering(t.bound, plan)
	options.Bare = p.bare
	m, err := lower.Program(t.bound.Program, options)
	if err != nil {
		return nil, err
	}
	code, err := t.target.Compile(ctx, emit.Source(t.target.Dialect, m))
	if err != nil {
		return nil, err
	}
	r, err := exec.Open(ctx, m, t.bound, exec.Options{Device: t.target.ID, Image: code.Path})
	if err != nil {
		return nil, err
	}
	for name, data := range t.data {
		into, err := r.Grid(name)
		if err != nil {
			r.Close()
			return nil, err
		}
		copy(into, data)
	}
	for _, span := range m.Spans {
		for _, l := range span.Launches {
			p.report(l.Kernel.Name, t.target.Dialect.Symbol(l.Kernel.Name), code.Kernels, r.Usage())
		}
	}
	return r, nil
}

// report notes what a kernel takes of a thread's registers, as the device and the compiler say.
func (p *spanPlan) report(name, symbol string, compiled []device.KernelReport, used []exec.KernelUsage) {
	for _, u := range used {
		if u.Kernel == name {
			p.registers = u.Registers
		}
	}
	for _, r := range compiled {
		if r.Kernel == symbol {
			p.spills = r.SpillStores + r.SpillLoads
		}
	}
}

// time returns the rates of repetitions in GStencil/s: three, and more until they have
// taken some time.
func (t *temporal) time(ctx context.Context, p *spanPlan, least time.Duration) ([]float64, error) {
	loop, err := t.openTimed(ctx, p)
	if err != nil {
		return nil, err
	}
	defer loop.Close()
	var rates []float64
	for start := time.Now(); len(rates) < 3 || time.Since(start) < least; {
		rate, err := loop.rate(ctx)
		if err != nil {
			return nil, err
		}
		rates = append(rates, rate)
	}
	return rates, nil
}

// timedLoop is a program that is carried out by repetitions of so many iterations.
type timedLoop struct {
	*exec.Remote
	steps, cells int64
	busy         time.Duration // so far
}

// openTimed opens a plan, and carries out a first repetition: it loads code and records graphs.
func (t *temporal) openTimed(ctx context.Context, p *spanPlan) (*timedLoop, error) {
	r, err := t.open(ctx, p)
	if err != nil {
		return nil, err
	}
	loop := &timedLoop{Remote: r, steps: t.Steps, cells: t.cells}
	if _, err := loop.rate(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return loop, nil
}

// rate carries out a repetition, and returns its GStencil/s.
func (l *timedLoop) rate(ctx context.Context) (float64, error) {
	done, err := l.Advance(ctx, exec.Limit{Iterations: l.steps})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return 0, err
	}
	took := done.Busy - l.busy
	l.busy = done.Busy
	return float64(l.cells*l.steps) / took.Seconds() / 1e9, nil
}

// pairs measures a plan in turn with the fastest of those of one iteration a kernel. They
// change their order, so that what else the machine does falls on both alike.
func (t *temporal) pairs(ctx context.Context, best *spanPlan, row *TemporalRow) error {
	single, err := t.choose(ctx, t.TemporalOptions.Single, false)
	if err != nil {
		return err
	}
	row.SinglePlan = single.plan
	var rates [2][]float64
	var loops [2]*timedLoop
	for i, p := range []*spanPlan{single, best} {
		if loops[i], err = t.openTimed(ctx, p); err != nil {
			return err
		}
		defer loops[i].Close()
	}
	var ratios []float64
	start := time.Now()
	for n := 0; n < leastPairs || time.Since(start) < t.Least; n++ {
		for _, i := range [][]int{{0, 1}, {1, 0}}[n%2] {
			rate, err := loops[i].rate(ctx)
			if err != nil {
				return err
			}
			rates[i] = append(rates[i], rate)
		}
		ratios = append(ratios, rates[1][n]/rates[0][n])
	}
	row.Seconds = time.Since(start).Seconds()
	row.Single, row.Rate, row.Cool = median(rates[0]), median(rates[1]), slices.Max(rates[1])
	row.Low, row.High = medianInterval(rates[1])
	row.Ratio, row.Pairs = median(ratios), len(ratios)
	row.RatioLow, row.RatioHigh = medianInterval(ratios)
	return nil
}

// leastPairs is how many pairs there are at the least: enough for an interval.
const leastPairs = 9

// compare runs a plan and one iteration a kernel from the same contents, for a number of
// iterations that leaves some over, and counts the cells that differ in any grid.
func (t *temporal) compare(ctx context.Context, p *spanPlan) (differ, cells int64, err error) {
	var kept map[string][]byte
	for _, plan := range []*spanPlan{{}, {plan: p.plan}} {
		r, err := t.open(ctx, plan)
		if err != nil {
			return 0, 0, err
		}
		after := map[string][]byte{}
		if _, err = r.Advance(ctx, exec.Limit{Iterations: int64(3*p.depth + 1)}); err == nil {
			for name := range t.data {
				var have []byte
				if have, err = r.Grid(name); err != nil {
					break
				}
				if kept == nil {
					after[name] = bytes.Clone(have)
					continue
				}
				size := len(have) / int(t.cells)
				differ += differing(have, kept[name], size)
				cells += t.cells
			}
		}
		r.Close()
		if err != nil {
			return 0, 0, err
		}
		kept = after
	}
	return differ, cells, nil
}

// differing counts the elements of a size that differ.
func differing(a, b []byte, size int) int64 {
	n := int64(0)
	const part = 1 << 16
	for from := 0; from < len(a); from += part * size {
		to := min(from+part*size, len(a))
		if bytes.Equal(a[from:to], b[from:to]) {
			continue
		}
		for i := from; i < to; i += size {
			if !bytes.Equal(a[i:i+size], b[i:i+size]) {
				n++
			}
		}
	}
	return n
}

// MergeTemporal puts a row among those that a file has, in the place of one that measured
// the same if there is one.
func MergeTemporal(path string, row TemporalRow) error {
	var rows []TemporalRow
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(text, &rows); err != nil {
			return fmt.Errorf("%s has no rows of bench temporal: %w", path, err)
		}
	}
	rows = slices.DeleteFunc(rows, func(r TemporalRow) bool { return r.Key() == row.Key() })
	rows = append(rows, row)
	order := TemporalNames()
	slices.SortStableFunc(rows, func(a, b TemporalRow) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Case), slices.Index(order, b.Case)),
			strings.Compare(a.Key(), b.Key()))
	})
	out, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	return disk.Replace(path, append(out, '\n'), 0o644, true)
}

// WriteTemporal prints rows as a table.
func WriteTemporal(w io.Writer, rows []TemporalRow) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if slices.ContainsFunc(rows, func(r TemporalRow) bool { return r.Pairs > 0 }) {
		writePairs(t, rows)
		return
	}
	fmt.Fprintln(t, "case\ttype\tgrid\tsteps\tdepth\tGStencil/s\t95 % interval\tbest\tone a kernel\tdiffer\tplan")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%.0f\t%.0f to %.0f\t%.0f\t%.0f\t%d\t%s\n", r.Case, r.DType, r.Grid, r.Steps,
			r.Depth, r.Rate, r.Low, r.High, r.Cool, r.Single, r.Differ, r.Plan)
	}
	t.Flush()
}

// writePairs prints rows that were compared with one iteration a kernel, in turn.
func writePairs(t *tabwriter.Writer, rows []TemporalRow) {
	fmt.Fprintln(t, "case\ttype\tgrid\tsteps\tdepth\tGStencil/s\tone a kernel\tratio\t95 % interval\tpairs\tdiffer\t"+
		"plan")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%.2f\t%.2f\t%.2f\t%.2f to %.2f\t%d\t%d\t%s\n", r.Case, r.DType, r.Grid,
			r.Steps, r.Depth, r.Rate, r.Single, r.Ratio, r.RatioLow, r.RatioHigh, r.Pairs, r.Differ, r.Plan)
	}
	t.Flush()
}
