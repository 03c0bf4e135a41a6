package contest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/eval/bench"
	"github.com/gridloom/gridloom/internal/tune/search"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// SpatialStep is a step of Zhang and Mueller 2013, figure 6, from plain kernels to tuned ones. Each has what the steps
// before it have.
type SpatialStep struct {
	Name, Doc string
	// limits stand in place of those on the same parameters that earlier steps have, or the paper's search space.
	limits []string
}

// SpatialSteps are the steps in order. All blocks of threads are tried in each, so that none is judged by blocks that
// suit another.
var SpatialSteps = []SpatialStep{
	{"base", "a thread for each cell, all from global memory", []string{"family=cells"}},
	{"queue", "blocks go along an axis, and threads keep the planes' cells in registers", []string{
		"family=planes", "vec=1", "rows=1", "stages=0", "rimless=common", "layout=packed", "load=plain",
	}},
	{"shared", "planes in shared memory: the middle one alone without accesses to corners", []string{"stages=1"}},
	{"rows", "rows of whole lines of memory, shifted where the first updated cell begins none", []string{
		"layout!=packed",
	}},
	{"rimless", "blocks inside the domain have no tests at stores", []string{"rimless=own"}},
	{"prefetch", "cells of columns are loaded a step before they are needed", []string{"prefetch=1"}},
	{"unrolled", "threads have several cells: BlockSize is tuned apart from BlockDim", []string{
		"vec=1|2|4", "rows=1|2|4",
	}},
	{"texture", "inputs by the path of textures where that is faster", []string{"load=plain|readonly"}},
	{"tuned", "all that gridloom can do, as tune finds it", nil},
}

// SpatialCases are the programs of the steps: their 7-, 13-, 19- and 27-point stencils. The 19 points are those of
// himeno, without the sum of its residual: kernels whose blocks go along an axis reduce nothing.
var SpatialCases = []string{"star7", "star13", "himeno", "box27"}

// SpatialStepsOptions says which steps are measured of which programs.
type SpatialStepsOptions struct {
	Search        // of the last step
	Cases, DTypes []string
	Steps         []string // their names; all if there are none
	Size          int64    // of every axis
	Have          []SpatialStepRow
	Each          func(SpatialStepRow) error
}

// SpatialStepRow is the fastest plan of a step.
type SpatialStepRow struct {
	Case      string  `json:"case"`
	DType     string  `json:"dtype"`
	Grid      string  `json:"grid"`
	Step      string  `json:"step"`
	GStencils float64 `json:"gstencils"`
	// Fraction is that of the bound of a copy, 0 where the grids stay in the caches.
	Fraction float64 `json:"fraction_of_copy"`
	Seconds  float64 `json:"seconds"` // of a sweep
	Plan     string  `json:"plan"`
	// The configuration in the words of the paper's table 2, the inner axis first; empty where the step has no blocks
	// that go along an axis.
	BlockSize      string  `json:"block_size,omitempty"`
	BlockDim       string  `json:"block_dim,omitempty"`
	Texture        bool    `json:"texture,omitempty"`
	Registers      int     `json:"registers"`
	Spills         int     `json:"spills"`
	Shared         int     `json:"shared"` // bytes of a block
	Configurations string  `json:"configurations"`
	Trials         int     `json:"trials"`
	SearchSeconds  float64 `json:"search_seconds"`
	Checked        int64   `json:"cells_compared"`
	Device         string  `json:"device"`
	Driver         string  `json:"driver"`
	Commit         string  `json:"commit"`
}

// Key tells rows apart that measure different things.
func (r SpatialStepRow) Key() string {
	return strings.Join([]string{r.Case, r.DType, r.Grid, r.Step, r.Device}, " ")
}

// stepOf is a step of a program.
type stepOf struct {
	name, dtype string
	step        int
}

func (s stepOf) title() string { return s.name + " " + s.dtype + ", " + SpatialSteps[s.step].Name }

// SpatialStepsOf measures the steps of the programs, one after the other.
func SpatialStepsOf(ctx context.Context, o SpatialStepsOptions) ([]SpatialStepRow, error) {
	var list []stepOf
	wanted := func(names []string, name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	for _, name := range SpatialCases {
		for _, dtype := range types {
			for i, s := range SpatialSteps {
				if wanted(o.Cases, name) && wanted(o.DTypes, dtype) && wanted(o.Steps, s.Name) {
					list = append(list, stepOf{name, dtype, i})
				}
			}
		}
	}
	if len(list) == 0 {
		return nil, errors.New("no step of any case is wanted")
	}
	return bench.MeasureEach(ctx, list, o.Within, o.Log, stepOf.title,
		func(s stepOf) (*SpatialStepRow, error) { return o.measure(ctx, s) }, func(r SpatialStepRow) error {
			fmt.Fprintf(o.Log, "  %.4g GStencil/s, %.3f of a copy: %s\n", r.GStencils, r.Fraction, r.Plan)
			return o.Each(r)
		})
}

// restrictions are what a step leaves of the space: the limits of all steps up to it, the last ones on a parameter, in
// the paper's search space once blocks go along an axis. The last step has none.
func (s stepOf) restrictions() (schedule.Restrictions, error) {
	if SpatialSteps[s.step].limits == nil {
		return nil, nil
	}
	file, _ := search.SpaceFile("zhang-mueller")
	whole, err := schedule.ParseRestrictions("zhang-mueller", file)
	if err != nil {
		return nil, err
	}
	var texts []string
	if s.step > 0 {
		for _, r := range whole {
			texts = append(texts, r.Text)
		}
	}
	about := func(text string) string { return text[:strings.IndexAny(text, "<>=!")] }
	for _, step := range SpatialSteps[:s.step+1] {
		texts = slices.DeleteFunc(texts, func(text string) bool {
			return slices.ContainsFunc(step.limits, func(l string) bool { return about(l) == about(text) })
		})
		texts = append(texts, step.limits...)
	}
	var list schedule.Restrictions
	for _, text := range texts {
		list = append(list, schedule.LimitTo(SpatialSteps[s.step].Name, text))
	}
	return list, nil
}

// program returns a case for grids of a size.
func (s stepOf) program(size int64) (*ir.Binding, map[string]string, error) {
	p, err := bench.SpatialProgram(s.name, s.dtype)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range p.Calls {
		c.Body = slices.DeleteFunc(c.Body, func(st *ir.Stmt) bool { return st.Reduce != nil })
	}
	set := map[string]string{}
	for _, q := range p.Params {
		set[q.Name] = fmt.Sprint(size)
	}
	b, list := p.In(arith.Contract).Bind(set)
	if list.HasErrors() {
		return nil, nil, fmt.Errorf("%s: %s", s.name, list[0].Message)
	}
	return b, set, nil
}

// measure searches a step's space; nil if this commit has done so. All steps but the last try everything.
func (o *SpatialStepsOptions) measure(ctx context.Context, s stepOf) (*SpatialStepRow, error) {
	b, set, err := s.program(o.Size)
	if err != nil {
		return nil, err
	}
	lab, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer lab.Close()
	about := lab.About()
	row := &SpatialStepRow{
		Case: s.name, DType: s.dtype, Step: SpatialSteps[s.step].Name, Device: about.Name, Driver: about.Driver,
		Grid: fmt.Sprintf("%dx%[1]dx%[1]d", o.Size), Commit: o.Commit,
	}
	done := func(r SpatialStepRow) bool { return r.Key() == row.Key() && r.Commit == o.Commit }
	if slices.ContainsFunc(o.Have, done) {
		return nil, nil
	}
	fmt.Fprintf(o.Log, "%s, %s: %s\n", s.title(), row.Grid, SpatialSteps[s.step].Doc)
	list, err := s.restrictions()
	if err != nil {
		return nil, err
	}
	r, err := o.run(ctx, lab, b, set, func(t *tuner.Options) {
		if list != nil {
			t.Strategy, t.Restrict, t.Budget = "exhaustive", list.Apply, 0
		}
	})
	if err != nil {
		return nil, err
	}
	return row, row.read(r, float64(analysis.Analyze(b.Program, b).Calls[0].Points))
}

// aboveCopy is how many times as fast as a copy a sweep may seem: caches keep a part of grids of 256^3 cells from one
// sweep to the next.
const aboveCopy = 1.3

// read fills in what a search has found: the fastest plan that belongs to the step.
func (r *SpatialStepRow) read(t *tuner.Result, points float64) error {
	best := tuner.Outcome{}
	for _, o := range t.Kernels[0].Trials {
		if o.Seconds > 0 && (best.Seconds == 0 || o.Seconds < best.Seconds) {
			best = o
		}
	}
	if best.Seconds == 0 {
		return errors.New("no plan gave kernels that work")
	}
	r.Seconds = best.Seconds
	if i := slices.IndexFunc(t.Contenders, func(c tuner.Contender) bool { return c.Plan == t.Best }); i >= 0 &&
		strings.Contains(t.Best, "{"+best.Config+"}") {
		r.Seconds = t.Contenders[i].Seconds // side by side with others
	}
	k, err := schedule.ParseConfig(best.Config)
	if err != nil {
		return err
	}
	r.GStencils = points / r.Seconds / 1e9
	if t.Bound.GStencils > 0 {
		if r.Fraction = r.GStencils / t.Bound.GStencils; r.Fraction > aboveCopy {
			return fmt.Errorf("%.4g GStencil/s are %.3f of a copy's: the bound is wrong, or the work was not done",
				r.GStencils, r.Fraction)
		}
	}
	r.Plan, r.Registers, r.Spills, r.Shared = best.Config, best.Registers, best.Spills, best.Resources.Shared
	r.Checked, r.Trials, r.SearchSeconds = best.Cells, t.Trials, t.Seconds
	r.Configurations = t.Kernels[0].Configurations
	r.words(k)
	return nil
}

// words puts a configuration in the words of the paper's table 2.
func (r *SpatialStepRow) words(k schedule.Config) {
	set := lower.ByRole(k)
	dim := set.Ints(schedule.Threads)
	if !set.Has(schedule.Stream) || len(dim) != 2 {
		return
	}
	r.BlockDim = fmt.Sprintf("%dx%d", dim[1], dim[0])
	r.BlockSize = fmt.Sprintf("%dx%d", dim[1]*set.Int(schedule.Vector, 1), dim[0]*set.Int(schedule.BlockedUnroll, 1))
	r.Texture = set.Word(schedule.LoadPath) == schedule.ReadOnlyLoads
}

// ReadSpatialSteps returns the rows of a file; none if there is no file.
func ReadSpatialSteps(path string) ([]SpatialStepRow, error) {
	return bench.ReadRows[SpatialStepRow](path, "bench spatial --steps")
}

// MergeSpatialSteps puts a row among those that a file has, in the place of one that measured the same if there is one.
func MergeSpatialSteps(path string, row SpatialStepRow) error {
	return bench.MergeRows(path, "bench spatial --steps", []SpatialStepRow{row}, compareSteps)
}

// compareSteps orders rows by case, type and grid, and then by step.
func compareSteps(a, b SpatialStepRow) int {
	at := func(r SpatialStepRow) int {
		return slices.IndexFunc(SpatialSteps, func(s SpatialStep) bool { return s.Name == r.Step })
	}
	return cmp.Or(cmp.Compare(slices.Index(SpatialCases, a.Case), slices.Index(SpatialCases, b.Case)),
		strings.Compare(a.DType, b.DType), strings.Compare(a.Grid, b.Grid), strings.Compare(a.Device, b.Device),
		cmp.Compare(at(a), at(b)))
}

// WriteSpatialSteps prints what each step gains over the one before it (their figure 6), and the configurations of the
// step that has all of theirs (their table 2).
func WriteSpatialSteps(w io.Writer, rows []SpatialStepRow) {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, compareSteps)
	fmt.Fprintln(w, "| case | type | grid | step | GStencil/s | times the step before | of a copy | registers | "+
		"spilled bytes | configurations |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for i, r := range rows {
		gain := "-"
		if i > 0 && rows[i-1].sameAs(r) {
			gain = fmt.Sprintf("%.3f", r.GStencils/rows[i-1].GStencils)
		}
		copied := "-"
		if r.Fraction > 0 {
			copied = fmt.Sprintf("%.3f", r.Fraction)
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %.4g | %s | %s | %d | %d | %s |\n", r.Case, r.DType, r.Grid, r.Step,
			r.GStencils, gain, copied, r.Registers, r.Spills, r.Configurations)
	}
	fmt.Fprintln(w, "\n| case | type | grid | BlockSize | BlockDim | texture | GStencil/s |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	for _, r := range rows {
		if r.Step == "texture" {
			texture := map[bool]string{true: "Y", false: "N"}[r.Texture]
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %.4g |\n", r.Case, r.DType, r.Grid, r.BlockSize, r.BlockDim,
				texture, r.GStencils)
		}
	}
}

// sameAs reports whether two rows are steps of the same program on the same device.
func (r SpatialStepRow) sameAs(s SpatialStepRow) bool {
	return r.Case == s.Case && r.DType == s.DType && r.Grid == s.Grid && r.Device == s.Device
}
