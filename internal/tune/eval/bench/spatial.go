package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// SpatialOptions says how to run the suite.
type SpatialOptions struct {
	Ordinal int               // of the GPU
	Cases   []string          // their names; all if there are none
	DTypes  []string          // double, float; both if there are none
	Set     map[string]string // sizes instead of the cases' own
	// Plans are tried for every case; without any, those of PlanFile, and if
	// it is nil those that come with the suite.
	Plans    []string
	PlanFile PlanFile
	Sampled  int           // so many plans of the whole space at random, besides every family's default
	Batches  int           // timed ones of the finalists
	Batch    time.Duration // the least that such a batch takes
	Quick    bool          // finalists are not timed again
	Counters bool          // of the best plans, by Nsight Compute
	Jobs     int           // processes that compile; 0 for as many as processors
	Rivals   []Rival       // to be timed in turn
	Given    []RivalBatch  // of rivals that were timed before
	Commit   string        // of the source that is measured
	Log      io.Writer

	all bool // plans are of interest, not only the best
}

// PlanFile holds plans by case and type.
type PlanFile map[string]map[string][]string

// ParsePlans reads a file of plans: JSON, by case and type.
func ParsePlans(text []byte) (PlanFile, error) {
	var f PlanFile
	d := json.NewDecoder(strings.NewReader(string(text)))
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("a file of plans is JSON, {\"star7\": {\"double\": [\"family=...\", ...]}}: %w", err)
	}
	return f, nil
}

// knownPlans returns the plans that come with the suite.
func knownPlans() (PlanFile, error) {
	text, err := files.ReadFile("plans/h200.json")
	if err != nil {
		return nil, err
	}
	return ParsePlans(text)
}

// Spatial measures generated kernels that carry out one step: for every case
// the plans are tried, each compared at every cell with the plainest kernels,
// and the fastest are timed in turn with the GPU's copies and with rivals.
// Plans that compute anything wrong have rows of their own. Rows that were
// finished are returned with an error too.
func Spatial(ctx context.Context, o SpatialOptions) ([]SpatialRow, error) {
	cases, err := o.cases()
	if err != nil {
		return nil, err
	}
	rows, err := o.run(ctx, cases)
	best := slices.DeleteFunc(rows, func(r SpatialRow) bool { return !r.best && !r.Wrong })
	return best, err
}

// Sweep is Spatial with the rows of all plans, the fastest first and those
// that were refused last.
func Sweep(ctx context.Context, o SpatialOptions) ([]SpatialRow, error) {
	cases, err := o.cases()
	if err != nil {
		return nil, err
	}
	o.all = true
	return o.run(ctx, cases)
}

// together is of how many cases the rivals get ready at the same time: they
// compile for longer than they run, and nothing is timed meanwhile.
const together = 4

// run measures cases. One that fails does not keep the later ones from being
// measured, unless it is the first of all.
func (o *SpatialOptions) run(ctx context.Context, cases []spatialCase) ([]SpatialRow, error) {
	var rows []SpatialRow
	var failed error
	for group := range slices.Chunk(cases, together) {
		list, err := o.group(ctx, group, len(rows) > 0)
		rows = append(rows, list...)
		failed = errors.Join(failed, err)
		if ctx.Err() != nil || len(rows) == 0 {
			break
		}
	}
	return rows, failed
}

// group measures cases whose rivals are there at the same time. It goes on
// after a failure if something was measured before.
func (o *SpatialOptions) group(ctx context.Context, cases []spatialCase, measured bool) ([]SpatialRow, error) {
	rivals := make([][]*rivalProcess, len(cases))
	defer func() {
		for _, t := range slices.Concat(rivals...) {
			t.stop()
		}
	}()
	for i, c := range cases {
		var err error
		if rivals[i], err = o.startRivals(ctx, c); err != nil {
			return nil, fmt.Errorf("%s %s: %w", c.name, c.dtype, err)
		}
	}
	for _, t := range slices.Concat(rivals...) {
		if t.wait(); t.failed != nil {
			o.logf("%s %s: %s: %v\n", t.about.Case, t.about.DType, t.rival.Name, t.failed)
		}
	}
	var rows []SpatialRow
	var failed error
	for i, c := range cases {
		list, err := o.measureCase(ctx, c, rivals[i])
		rows = append(rows, list...)
		if err != nil {
			err = fmt.Errorf("%s %s: %w", c.name, c.dtype, err)
			failed = errors.Join(failed, err)
			if measured = measured || len(rows) > 0; !measured || ctx.Err() != nil {
				break
			}
			o.logf("%v\n", err)
		}
	}
	return rows, failed
}

// bind gives a case's program its sizes.
func (o *SpatialOptions) bind(c spatialCase) (*ir.Binding, error) {
	p, err := c.program()
	if err != nil {
		return nil, err
	}
	return c.bind(p, o.Set)
}

// cellsCompared are those at which a rival's results are compared with ours.
const cellsCompared = 16

// startRivals starts the rivals on a case.
func (o *SpatialOptions) startRivals(ctx context.Context, c spatialCase) ([]*rivalProcess, error) {
	bound, err := o.bind(c)
	if err != nil {
		return nil, err
	}
	var list []*rivalProcess
	for _, r := range o.Rivals {
		list = append(list, startRival(ctx, r, c, gridText(bound, output(bound.Program)),
			someCells(bound, cellsCompared)))
	}
	return list, nil
}

// cases returns the cases that the options name.
func (o *SpatialOptions) cases() ([]spatialCase, error) {
	for _, name := range o.Cases {
		if len(findSpatial(name, "")) == 0 {
			return nil, fmt.Errorf("bench spatial: there is no case %s; there is %s", name,
				strings.Join(SpatialNames(), ", "))
		}
	}
	for _, t := range o.DTypes {
		if t != "double" && t != "float" {
			return nil, fmt.Errorf("bench spatial: no case has the type %s: there is double and float", t)
		}
	}
	var list []spatialCase
	for _, c := range spatialCases {
		if (len(o.Cases) == 0 || slices.Contains(o.Cases, c.name)) && (len(o.DTypes) == 0 ||
			slices.Contains(o.DTypes, c.dtype)) {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("bench spatial: no case of %s is in %s", strings.Join(o.Cases, ", "),
			strings.Join(o.DTypes, ", "))
	}
	return list, nil
}

// plans returns those to try for a case.
func (o *SpatialOptions) plans(c spatialCase) ([]string, error) {
	list := slices.Clone(o.Plans)
	if len(list) == 0 && o.Sampled == 0 {
		file := o.PlanFile
		if file == nil {
			var err error
			if file, err = knownPlans(); err != nil {
				return nil, err
			}
		}
		list = append(list, file[c.name][c.dtype]...)
	}
	if o.Sampled > 0 {
		p, err := c.program()
		if err != nil {
			return nil, err
		}
		choices, err := lower.Choices(p, lower.Options{Target: lower.GPU})
		if err != nil {
			return nil, err
		}
		space := lower.Space(lower.GPU, p.Axes)
		space.Families = slices.DeleteFunc(space.Families, func(f schedule.Family) bool { // no kernel has it
			return !slices.ContainsFunc(choices, func(c lower.Choice) bool { return c.Space.Family(f.Name) != nil })
		})
		for _, f := range space.Families {
			list = append(list, space.Default(f.Name).String())
		}
		for _, cfg := range space.Sample(rand.New(rand.NewPCG(1, 1)), o.Sampled) {
			list = append(list, cfg.String())
		}
	}
	if len(list) == 0 {
		list = []string{plainPlan}
	}
	var each []string
	for _, p := range list {
		if !slices.Contains(each, p) {
			each = append(each, p)
		}
	}
	return each, nil
}

func (o *SpatialOptions) logf(format string, args ...any) { fmt.Fprintf(o.Log, format, args...) }

func (o *SpatialOptions) processes() int {
	if o.Jobs > 0 {
		return o.Jobs
	}
	return runtime.GOMAXPROCS(0)
}

// measureCase measures a case and returns the rows of its plans, the fastest first.
func (o *SpatialOptions) measureCase(ctx context.Context, c spatialCase, rivals []*rivalProcess) ([]SpatialRow, error) {
	defer func() {
		for _, t := range rivals {
			t.stop()
		}
	}()
	plans, err := o.plans(c)
	if err != nil {
		return nil, err
	}
	bound, err := o.bind(c)
	if err != nil {
		return nil, err
	}
	h, err := newHost(ctx, openRequest{o.Ordinal, c.name, c.dtype, o.Set})
	defer h.close()
	if err != nil {
		return nil, err
	}
	o.logf("%s %s %s on %s: %d plans; %d cells of the plain kernels equal the reference\n",
		c.name, c.dtype, h.info.Grid, h.info.Device, len(plans), h.info.Cells)
	s := &sweep{ctx: ctx, opts: o, c: c, bound: bound, worker: h, rivals: rivals}
	if err := s.try(plans); err != nil {
		return s.sorted(), err
	}
	err = s.final()
	return s.sorted(), err
}

// sorted returns the rows: finalists first, then by speed, then by plan.
func (s *sweep) sorted() []SpatialRow {
	slices.SortStableFunc(s.rows, func(a, b SpatialRow) int {
		if a.Final != b.Final {
			if a.Final {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.GStencils, a.GStencils), cmp.Compare(a.Plan, b.Plan))
	})
	return s.rows
}
