package contest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/fission"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/eval/bench"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// ComplexCase is one of the stencils of Rawat et al. 2019, table I, as an example of our own.
type ComplexCase struct {
	Name  string // of the example
	Size  int64  // of every axis
	Steps int64  // time steps; 0 where the program has no time loop
	// Flops at a point, the arrays that go in or out, and the order: as the paper has them; 0 where it does not say.
	Flops, Arrays, Order int
	Must, Aim            float64 // 1e9 points a second on an H200; 0 for none
}

// ComplexCases are the eleven, in the paper's order, and Chebyshev's iteration.
var ComplexCases = []ComplexCase{
	{"smooth7", 512, 12, 10, 2, 1, 0, 0},
	{"smooth27", 512, 12, 32, 2, 1, 0, 0},
	{"helmholtz", 512, 12, 17, 2, 2, 300, 450},
	{"rician", 512, 1, 61, 4, 1, 112, 125},
	{"rician", 512, 12, 61, 4, 1, 115, 135},
	{"miniflux", 320, 0, 135, 25, 2, 15, 19},
	{"hypterm", 320, 0, 358, 13, 4, 20, 30},
	{"diffterm", 320, 0, 415, 11, 4, 18, 28},
	{"addsgd4", 320, 0, 373, 10, 2, 24, 30},
	{"addsgd6", 320, 0, 626, 10, 3, 17, 24},
	{"rhs4center", 320, 0, 666, 8, 2, 17, 24},
	{"rhs4sgcurv", 320, 0, 2126, 13, 2, 4.7, 6.5},
	{"cheby", 512, 12, 0, 5, 1, 130, 200},
}

// title names a case: rician, 12 steps.
func (c ComplexCase) title() string {
	if c.Steps == 0 {
		return c.Name
	}
	return fmt.Sprintf("%s, %d steps", c.Name, c.Steps)
}

// ComplexOptions says which cases are tuned.
type ComplexOptions struct {
	Search
	Sources fs.FS // the examples
	Cases   []ComplexCase
	Size    int64        // of every axis in place of the cases'; 0 for those
	Have    []ComplexRow // of earlier calls: what this commit has measured is left out
	Each    func(ComplexRow) error
}

// ComplexRow is what tune finds for a case.
type ComplexRow struct {
	Case  string `json:"case"`
	DType string `json:"dtype"`
	Grid  string `json:"grid"`
	Steps int64  `json:"steps"`
	// Points is how many cells a second go through all calls of a step: those of the largest domain count.
	Points float64 `json:"points_per_s"`
	// Fastest is that of the fastest batch of the same comparison. It is more where the GPU reaches its limit of power
	// meanwhile, and lowers its clock.
	Fastest float64 `json:"fastest_points_per_s,omitempty"`
	// Bound is that of a copy in the same search, which moves what all steps together read and leave once; 0 where
	// that stays in the caches.
	Bound     float64 `json:"bound"`
	Kernels   int     `json:"kernels"`   // that carry out a step, or Depth steps together
	Depth     int     `json:"depth"`     // the most steps that share a kernel
	Registers int     `json:"registers"` // of a thread: the most that one of the kernels takes
	Spills    int     `json:"spills"`    // bytes of a thread, likewise
	Flops     float64 `json:"flops"`     // at a point, over all calls
	Arrays    int     `json:"arrays"`    // as large as the domain, but for those that one step alone has to do with
	Order     int64   `json:"order"`
	Version   string  `json:"version"`           // the families of the plan's kernels
	Fission   string  `json:"fission,omitempty"` // the version of the source that the plan is of
	Plan      string  `json:"plan"`
	Default   float64 `json:"times_default"` // how many times as fast as the default plan
	Checked   int64   `json:"cells_compared"`
	Budget    float64 `json:"budget_seconds,omitempty"`
	Seconds   float64 `json:"seconds"` // of the search
	Trials    int     `json:"trials"`
	// NearSeconds is when the search first had every kernel of the plan within 3 % of its best time, and NearTrials how
	// many configurations it had tried by then.
	NearSeconds float64 `json:"near_seconds"`
	NearTrials  int     `json:"near_trials"`
	Strategy    string  `json:"strategy,omitempty"` // if it is not the usual one
	Device      string  `json:"device"`
	Driver      string  `json:"driver"`
	Commit      string  `json:"commit"`
}

// Key tells rows apart that measure different things.
func (r ComplexRow) Key() string {
	key := fmt.Sprint(r.Case, " ", r.DType, " ", r.Grid, " ", r.Steps, " ", r.Device)
	if r.Strategy != "" {
		key += " " + r.Strategy
	}
	return key
}

// share is that of the bound; 0 without one.
func (r *ComplexRow) share() float64 {
	if r.Bound == 0 {
		return 0
	}
	return r.Points / r.Bound
}

// Complex tunes the cases one after the other, as tune does where nothing is known.
func Complex(ctx context.Context, o ComplexOptions) ([]ComplexRow, error) {
	return bench.MeasureEach(ctx, o.Cases, o.Within, o.Log, ComplexCase.title,
		func(c ComplexCase) (*ComplexRow, error) { return o.tune(ctx, c) }, func(r ComplexRow) error {
			fmt.Fprintf(o.Log, "  %.4g points/s, %.3g of the bound: %s\n", r.Points, r.share(), r.Plan)
			return o.Each(r)
		})
}

// source returns a case's source text.
func (c ComplexCase) source(sources fs.FS) (*diag.Source, error) {
	text, err := fs.ReadFile(sources, c.Name+".loom")
	return diag.NewSource(c.Name+".loom", string(text)), err
}

// Program returns a case's program for a size of every axis; 0 is the case's own.
func (c ComplexCase) Program(sources fs.FS, size int64) (*ir.Binding, map[string]string, error) {
	src, err := c.source(sources)
	if err != nil {
		return nil, nil, err
	}
	p, list := lang.Load(src)
	if list.HasErrors() {
		return nil, nil, errors.New(diag.Render(src, list, diag.Style{}))
	}
	if size == 0 {
		size = c.Size
	}
	set := map[string]string{}
	for _, q := range p.Params {
		set[q.Name] = fmt.Sprint(size)
	}
	if c.Steps > 0 {
		set["steps"] = fmt.Sprint(c.Steps)
	}
	b, list := p.In(arith.Contract).Bind(set)
	if list.HasErrors() {
		return nil, nil, errors.New(list[0].Message)
	}
	return b, set, nil
}

// tune tunes a case; nil if this commit has done so.
func (o *ComplexOptions) tune(ctx context.Context, c ComplexCase) (*ComplexRow, error) {
	row := &ComplexRow{}
	done := func() bool {
		return slices.ContainsFunc(o.Have, func(r ComplexRow) bool {
			return r.Key() == row.Key() && o.stands(r.Commit, r.Budget)
		})
	}
	found, err := o.tuneAs(ctx, c, row, done, "", nil, nil)
	if found == nil {
		return nil, err
	}
	return row, err
}

// tunedCase is a case that was tuned, for a target.
type tunedCase struct {
	bound  *ir.Binding
	target *target.Target
}

// tuneAs tunes a case, and fills in its row; nil if it is done already, or has no such version of the source. With
// options of its own it tunes that version, or the program as it is written, and else its versions, too. Keep may
// choose another best plan then.
func (o *ComplexOptions) tuneAs(ctx context.Context, c ComplexCase, row *ComplexRow, done func() bool, version string,
	change func(*tuner.Options), keep func(*ir.Program, *tuner.Result)) (*tunedCase, error) {
	b, set, err := c.Program(o.Sources, o.Size)
	if err != nil {
		return nil, err
	}
	*row = ComplexRow{
		Case: c.Name, DType: b.Program.Grids[0].Type.Word(), Steps: max(1, c.Steps), Budget: o.Budget.Seconds(),
		Commit: o.Commit, Strategy: o.Strategy,
	}
	points := row.describe(b)
	bytes, err := bytesOf(b.Program)
	if err != nil {
		return nil, err
	}
	if err := c.agrees(row); err != nil {
		return nil, err
	}
	lab, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer lab.Close()
	row.Device, row.Driver = lab.About().Name, lab.About().Driver
	if done() {
		return nil, nil
	}
	fmt.Fprintf(o.Log, "%s, %s\n", strings.TrimSuffix(c.title()+", "+row.Version, ", "), row.Grid)
	src, err := c.source(o.Sources)
	if err != nil {
		return nil, err
	}
	if version != "" {
		if b, err = versionOf(src, version, b, set); b == nil {
			return nil, err
		}
		row.Fission = version
	}
	if change != nil {
		r, err := o.run(ctx, lab, b, set, change)
		if err != nil {
			return nil, err
		}
		if keep != nil {
			keep(b.Program, r)
		}
		return &tunedCase{b, lab.About().Target}, row.read(b.Program, r, points, bytes/float64(row.Steps))
	}
	r, v, err := o.runVersions(ctx, lab, src, b, set)
	if err != nil {
		return nil, err
	}
	row.Fission = v.Name
	return &tunedCase{v.Bound, lab.About().Target}, row.read(v.Bound.Program, r, points, bytes/float64(row.Steps))
}

// versionOf returns a version of a program's source, bound as the program is; nil if there is none.
func versionOf(src *diag.Source, version string, b *ir.Binding, set map[string]string) (*ir.Binding, error) {
	made, err := fission.Make(version, src, b.Program.Arithmetic)
	if made == nil || err != nil {
		return nil, err
	}
	p, list := lang.Load(made.Source)
	if !list.HasErrors() {
		b, list = p.In(b.Program.Arithmetic).Bind(set)
	}
	if list.HasErrors() {
		return nil, errors.New(list[0].Message)
	}
	return b, nil
}

// describe fills in what is known of a program by itself, and returns the points of a step.
func (r *ComplexRow) describe(b *ir.Binding) int64 {
	var grid []string
	for _, n := range b.Shape(b.Program.Grids[0].Dims) {
		grid = append(grid, fmt.Sprint(n))
	}
	r.Grid = strings.Join(grid, "x")
	points := int64(0)
	for _, call := range analysis.Analyze(b.Program, b).Calls {
		points = max(points, call.Points)
		r.Flops += call.Ops.Flops()
		for _, h := range call.Reach {
			r.Order = max(r.Order, h.Low, h.High)
		}
	}
	for _, g := range b.Program.Grids {
		if len(g.Dims) == len(b.Program.Axes) && !temporary(b.Program, g) {
			r.Arrays++
		}
	}
	return points
}

// temporary reports whether a grid is of use inside of one sequence alone. Of time loops the paper counts all grids.
func temporary(p *ir.Program, g *ir.Grid) bool {
	in := func(l graph.Loop) bool { return l.Iterate.Sequence && slices.Contains(l.Iterate.Temporary, g) }
	return slices.ContainsFunc(graph.Loops(p), in)
}

// bytesOf returns how many bytes all calls, or an iteration of the loop, move at a cell if they share a kernel.
func bytesOf(p *ir.Program) (float64, error) {
	loops := graph.Loops(p)
	if len(loops) != 1 {
		return 0, fmt.Errorf("%s has %d loops and sequences, and not one", p.Name, len(loops))
	}
	return pipeline.Bytes(p, loops[0], 1)
}

// mostOff is how far the flops may be from the paper's.
const mostOff = 0.05

// agrees reports why a program is not the paper's stencil.
func (c ComplexCase) agrees(r *ComplexRow) error {
	switch {
	case c.Flops > 0 && math.Abs(r.Flops/float64(c.Flops)-1) > mostOff:
		return fmt.Errorf("%s has %.4g flops at a point, and the paper's stencil %d", c.Name, r.Flops, c.Flops)
	case r.Arrays != c.Arrays:
		return fmt.Errorf("%s has %d arrays, and the paper's stencil %d", c.Name, r.Arrays, c.Arrays)
	case r.Order != int64(c.Order):
		return fmt.Errorf("%s is of order %d, and the paper's stencil of %d", c.Name, r.Order, c.Order)
	}
	return nil
}

// read fills in what the search has come to. Bytes are those that a point and step cannot do without.
func (r *ComplexRow) read(p *ir.Program, t *tuner.Result, points int64, bytes float64) error {
	i := slices.IndexFunc(t.Contenders, func(c tuner.Contender) bool { return c.Plan == t.Best })
	if i < 0 {
		return errors.New("no plan gave kernels that work")
	}
	best := &t.Contenders[i]
	r.Points, r.Plan, r.Default = float64(points)/best.Seconds, best.Plan, best.Gain.Ratio
	if len(best.Times) > 0 {
		r.Fastest = float64(points) / slices.Min(best.Times)
	}
	r.Bound = t.Bound.CopyGBs * 1e9 / bytes
	r.Seconds, r.Trials = t.Seconds, t.Trials
	kernels, err := carriers(p, t, best)
	if err != nil {
		return err
	}
	r.Kernels, r.Depth = len(kernels), depthOf(best.Plan)
	var versions []string
	for _, k := range kernels {
		if !slices.Contains(versions, k.Config.Family) {
			versions = append(versions, k.Config.Family)
		}
		if o := t.Outcome(k); o != nil {
			r.Registers, r.Spills = max(r.Registers, o.Registers), max(r.Spills, o.Spills)
			r.Checked += o.Cells
			at, n := nearTime(t, o)
			r.NearSeconds, r.NearTrials = max(r.NearSeconds, at), max(r.NearTrials, n)
		}
	}
	if r.Checked == 0 { // the search had the same kernels with sizes as literals
		r.Registers, r.Spills, r.Checked = best.Resources.Registers, best.Resources.Spills, best.Cells
	}
	r.Version = strings.Join(versions, ", ")
	if r.Bound > 0 && r.Points > r.Bound {
		return fmt.Errorf("%.4g points/s are above the bound of %.4g: the bound is wrong, or the work was not done",
			r.Points, r.Bound)
	}
	return nil
}

// carriers returns the kernels of a contender's plan that carry out a program: those of loops and sequences, where
// there are any, all but what is left over.
func carriers(p *ir.Program, t *tuner.Result, c *tuner.Contender) ([]schedule.Kernel, error) {
	plan, err := schedule.ParsePlan(c.Plan)
	if err != nil || !t.HasSpans(c) {
		return plan.Kernels, err
	}
	others := func(k schedule.Kernel) bool { return !lower.OfLoop(p, k) }
	return slices.DeleteFunc(slices.Clone(plan.Kernels), others), nil
}

// nearTime returns when a search first had a kernel within near of the time of its best outcome, and how many trials of
// all kernels that took.
func nearTime(t *tuner.Result, best *tuner.Outcome) (at float64, trials int) {
	at = best.At
	for i := range t.Kernels {
		for _, o := range t.Kernels[i].Trials {
			if o.Kernel == best.Kernel && o.Seconds > 0 && o.Seconds*near <= best.Seconds {
				at = min(at, o.At)
			}
		}
	}
	for i := range t.Kernels {
		for _, o := range t.Kernels[i].Trials {
			if o.At <= at {
				trials++
			}
		}
	}
	return at, trials
}

// ReadComplex returns the rows of a file; none if there is no file.
func ReadComplex(path string) ([]ComplexRow, error) {
	return bench.ReadRows[ComplexRow](path, "bench complex")
}

// place is where the row's case stands in the list of cases; -1 if it does not.
func (r ComplexRow) place() int {
	return slices.IndexFunc(ComplexCases, func(c ComplexCase) bool {
		return c.Name == r.Case && max(1, c.Steps) == r.Steps
	})
}

// MergeComplex puts a row among those that a file has, in the place of one that measured the same if there is one.
func MergeComplex(path string, row ComplexRow) error {
	return bench.MergeRows(path, "bench complex", []ComplexRow{row}, func(a, b ComplexRow) int {
		return cmp.Or(cmp.Compare(a.place(), b.place()), strings.Compare(a.Key(), b.Key()))
	})
}

// WriteComplex prints rows as a table in Markdown.
func WriteComplex(w io.Writer, rows []ComplexRow) {
	fmt.Fprintln(w, "| case | grid | steps | G points/s | of the bound | kernels | registers | spilled bytes | "+
		"flops | arrays | order | families |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range rows {
		kernels := fmt.Sprint(r.Kernels)
		if r.Depth > 1 {
			kernels += fmt.Sprintf(" for %d steps", r.Depth)
		}
		fmt.Fprintf(w, "| %s | %s | %d | %.4g | %.2f | %s | %d | %d | %.4g | %d | %d | %s |\n", r.Case, r.Grid, r.Steps,
			r.Points/1e9, r.share(), kernels, r.Registers, r.Spills, r.Flops, r.Arrays, r.Order, r.Version)
	}
}

// WriteShortComplex prints which rows, at the cases' own sizes, do not reach what they must on an H200.
func WriteShortComplex(w io.Writer, rows []ComplexRow) {
	for _, r := range rows {
		for _, c := range ComplexCases {
			own := fmt.Sprintf("%dx%[1]dx%[1]d", c.Size)
			if c.Name == r.Case && max(1, c.Steps) == r.Steps && r.Grid == own && r.Points < c.Must*1e9 {
				fmt.Fprintf(w, "short: %s: %.4g G points/s, and not %.4g\n", c.title(), r.Points/1e9, c.Must)
			}
		}
	}
}
