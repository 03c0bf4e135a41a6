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
	"github.com/gridloom/gridloom/internal/compile/fission"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
	"github.com/gridloom/gridloom/internal/tune/eval/bench"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// ComplexVersion is a way to compute the complex stencils, of Rawat et al. 2019, figures 5 and 6: a part of the space
// of each kernel.
type ComplexVersion struct {
	Name, Doc string
	limits    []string
	source    string // the version of the source; "" for the program as it is
	// plain says that all else is as it is by default, but for the path of loads and the parameters that have one of
	// some roles, which are searched.
	plain bool
	free  []schedule.Role
}

// unrolling are the roles of what gives a thread more cells.
var unrolling = []schedule.Role{
	schedule.BlockedUnroll, schedule.CyclicUnroll, schedule.StreamUnroll,
}

// unoptimised kernels: a thread has a cell, and blocks are the paper's, which come last.
var unoptimised = []string{"vec=1", "chunk=0", "sizes=literals", "block=16x16|4x4x16|32"}

// blocksApart is how many of those limits are not about blocks.
const blocksApart = 3

// tiles are kernels that cut all axes, and hold nothing in shared memory.
var tiles = []string{"family=tile", "stages=0"}

// sharedPlanes are kernels that go along an axis, with planes in shared memory and in registers.
var sharedPlanes = []string{"family=planes", "stages>=1"}

// ComplexVersions are the versions in the order of the figures: of each kind of memory the unoptimised one, with one
// optimisation, and with all.
var ComplexVersions = []ComplexVersion{
	{Name: "global-base", Doc: "all axes cut into tiles, from global memory", limits: slices.Concat(tiles, unoptimised),
		plain: true},
	{Name: "global-block", Doc: "and the shape of blocks searched",
		limits: slices.Concat(tiles, unoptimised[:blocksApart]), plain: true, free: []schedule.Role{schedule.Threads}},
	{Name: "global-unroll", Doc: "and the cells of a thread searched, in place of blocks",
		limits: slices.Concat(tiles, unoptimised), plain: true, free: unrolling},
	{Name: "global", Doc: "and everything searched", limits: tiles},
	{Name: "global-stream", Doc: "along an axis, from global memory, and everything searched",
		limits: []string{"family=planes", "stages=0"}},
	{Name: "shared-base", Doc: "along an axis, from shared memory and registers",
		limits: slices.Concat(sharedPlanes, unoptimised, []string{"stages=1"}), plain: true},
	{Name: "shared-block", Doc: "and the shape of blocks searched",
		limits: slices.Concat(sharedPlanes, unoptimised[:blocksApart], []string{"stages=1"}), plain: true,
		free: []schedule.Role{schedule.Threads}},
	{Name: "shared-unroll", Doc: "and the cells of a thread searched, in place of blocks",
		limits: slices.Concat(sharedPlanes, unoptimised, []string{"stages=1"}), plain: true, free: unrolling},
	{Name: "shared", Doc: "and everything searched", limits: sharedPlanes},
	{Name: "cire", Doc: "as tuned, of the source with values shared across cells", source: fission.CIREVersion},
	{Name: "inline", Doc: "as tuned, of the source with values of other cells computed anew",
		source: fission.InlineVersion},
	{Name: "tuned", Doc: "all that gridloom can do, as tune finds it: steps and calls may share a kernel"},
}

// ComplexVersionsOptions says which versions of which cases are measured.
type ComplexVersionsOptions struct {
	ComplexOptions
	Versions []string // their names; all if there are none
	Rows     []ComplexVersionRow
	Keep     func(ComplexVersionRow) error
}

// ComplexVersionRow is the fastest plan of a version of a case.
type ComplexVersionRow struct {
	ComplexRow
	Families string `json:"families"` // of the plan's kernels
	// Theoretical is the paper's OI_T: the flops of all calls over the bytes of all arrays, each once.
	Theoretical float64     `json:"oi_theoretical"`
	Intensity   []Intensity `json:"intensity"` // of each call of a step, or of the steps that share a kernel
}

// Intensity is what the launches of a call do, counted on its kernels (table III has what counters say), and the flops
// a byte at each level: the device's memory if every launch moves each element once, what threads ask caches for,
// and shared memory. There is no intensity where nothing moves.
type Intensity struct {
	Call     string  `json:"call"`
	Flops    float64 `json:"flops"` // of the source: what is computed twice counts once
	DRAM     float64 `json:"bytes_dram"`
	Cache    float64 `json:"bytes_cache"`
	Shared   float64 `json:"bytes_shared"`
	OfDRAM   float64 `json:"oi_dram"`
	OfCache  float64 `json:"oi_cache"`
	OfShared float64 `json:"oi_shared,omitempty"`
}

// Key tells rows apart that measure different things.
func (r ComplexVersionRow) Key() string { return r.ComplexRow.Key() + " " + r.Version }

// caseVersion is a version of a case.
type caseVersion struct {
	ComplexCase
	version *ComplexVersion
}

// Versions measures the versions of the cases, one after the other.
func Versions(ctx context.Context, o ComplexVersionsOptions) ([]ComplexVersionRow, error) {
	var list []caseVersion
	for _, c := range o.Cases {
		for i := range ComplexVersions {
			v := &ComplexVersions[i]
			if len(o.Versions) == 0 || slices.Contains(o.Versions, v.Name) {
				list = append(list, caseVersion{c, v})
			}
		}
	}
	title := func(x caseVersion) string { return x.title() + ", " + x.version.Name }
	return bench.MeasureEach(ctx, list, o.Within, o.Log, title,
		func(x caseVersion) (*ComplexVersionRow, error) { return o.measure(ctx, x) }, func(r ComplexVersionRow) error {
			fmt.Fprintf(o.Log, "  %.4g points/s, %.3g of the bound: %s\n", r.Points, r.share(), r.Plan)
			return o.Keep(r)
		})
}

// measure searches a version's part of the space; nil if this commit has done so.
func (o *ComplexVersionsOptions) measure(ctx context.Context, x caseVersion) (*ComplexVersionRow, error) {
	row := &ComplexVersionRow{}
	done := func() bool {
		row.Version = x.version.Name
		return slices.ContainsFunc(o.Rows, func(r ComplexVersionRow) bool {
			return r.Key() == row.Key() && o.stands(r.Commit, r.Budget)
		})
	}
	found, err := o.tuneAs(ctx, x.ComplexCase, &row.ComplexRow, done, x.version.source, func(t *tuner.Options) {
		if x.version.limits != nil {
			t.MaxDepth, t.Restrict = 1, x.version.restrict
		}
	}, x.version.keep)
	if found == nil || err != nil {
		return nil, err
	}
	row.Families, row.Version = row.Version, x.version.Name
	if f := x.version.family(); f != "" && row.Families != f {
		return nil, fmt.Errorf("no kernels of the family %s work: there are some of %s", f, row.Families)
	}
	return row, row.count(found.bound, found.target)
}

// family is that of the version's kernels; "" if they may be of any.
func (v *ComplexVersion) family() string {
	if v.limits == nil {
		return ""
	}
	return strings.TrimPrefix(v.limits[0], schedule.FamilyName+"=")
}

// keep makes the fastest plan that was found the best of which all kernels are of the version's family. Plans that were
// not searched may be faster, as an expert's.
func (v *ComplexVersion) keep(p *ir.Program, t *tuner.Result) {
	f := v.family()
	var best *tuner.Contender
	for i := range t.Contenders {
		c := &t.Contenders[i]
		kernels, err := carriers(p, t, c)
		other := func(k schedule.Kernel) bool { return k.Config.Family != f }
		switch {
		case err != nil || c.Seconds == 0 || slices.ContainsFunc(kernels, other):
		case !strings.HasPrefix(c.Name, "found ") && !strings.HasPrefix(c.Name, "spans ") && c.Plan != t.Best:
		case best == nil || c.Seconds < best.Seconds:
			best = c
		}
	}
	if f != "" && best != nil {
		t.Best = best.Plan
	}
}

// restrict leaves of the kernels' spaces what the version has. A limit on what no kernel has means nothing.
func (v *ComplexVersion) restrict(kernels []string, spaces []schedule.Space) (left []schedule.Space, notes []string,
	err error) {
	left, notes = spaces, nil
	for _, text := range v.limits {
		name := text[:strings.IndexAny(text, "<>=!")]
		if name != schedule.FamilyName && !slices.ContainsFunc(left, func(s schedule.Space) bool {
			return s.Named(name).Any()
		}) {
			continue
		}
		var more []string
		left, more, err = schedule.Restrictions{schedule.LimitTo("version "+v.Name, text)}.Apply(kernels, left)
		if notes = append(notes, more...); err != nil {
			return nil, nil, err
		}
	}
	if !v.plain {
		return left, notes, nil
	}
	for i := range left {
		if left[i], err = plainly(left[i], append(v.free[:len(v.free):len(v.free)], schedule.LoadPath)); err != nil {
			return nil, nil, err
		}
	}
	return left, notes, nil
}

// plainly leaves the defaults of all parameters but those with some roles.
func plainly(s schedule.Space, free []schedule.Role) (schedule.Space, error) {
	var out schedule.Space
	for _, f := range s.Families {
		one := schedule.Space{Families: []schedule.Family{f}}
		for _, p := range f.Params {
			now := one.Families[0].Param(p.Name)
			if slices.Contains(free, p.Role) || now == nil {
				continue
			}
			var err error
			if one, err = one.Named(p.Name).Keep(now.Default); err != nil {
				return out, err
			}
		}
		out.Families = append(out.Families, one.Families...)
	}
	return out, nil
}

// count fills in the intensities of the row's plan.
func (r *ComplexVersionRow) count(b *ir.Binding, t *target.Target) error {
	plan, err := schedule.ParsePlan(r.Plan)
	if err != nil {
		return err
	}
	m, err := lower.Program(b.Program, t.Lowering(b, plan))
	if err != nil {
		return err
	}
	facts := analysis.Analyze(b.Program, b)
	arrays, all := 0.0, 0.0
	for _, g := range b.Program.Grids {
		if len(g.Dims) == len(b.Program.Axes) && !temporary(b.Program, g) {
			arrays += float64(g.Type.Size())
		}
	}
	for _, c := range facts.Calls {
		all += c.Ops.Flops() * float64(c.Points)
	}
	r.Theoretical = r.Flops / arrays
	if len(m.Spans) > 0 {
		x, err := intensityOf("all", m.Spans[0].Launches, b, all*float64(m.Spans[0].Depth))
		r.Intensity = []Intensity{x}
		return err
	}
	for _, c := range facts.Calls {
		x, err := intensityOf(c.Name, m.Calls[c.IR], b, c.Ops.Flops()*float64(c.Points))
		if err != nil {
			return err
		}
		r.Intensity = append(r.Intensity, x)
	}
	return nil
}

// intensityOf counts what launches move that together carry out so many flops.
func intensityOf(name string, launches []*kernel.Launch, b *ir.Binding, flops float64) (Intensity, error) {
	x := Intensity{Call: name, Flops: flops}
	for _, l := range launches {
		w, err := costmodel.WorkOf(l, b)
		if err != nil {
			return x, err
		}
		x.DRAM, x.Cache, x.Shared = x.DRAM+w.Once, x.Cache+w.Loaded+w.Stored, x.Shared+w.Shared
	}
	if x.DRAM == 0 || x.Cache == 0 {
		return x, errors.New("the kernels of " + name + " move nothing")
	}
	x.OfDRAM, x.OfCache = flops/x.DRAM, flops/x.Cache
	if x.Shared > 0 {
		x.OfShared = flops / x.Shared
	}
	return x, nil
}

// ReadComplexVersions returns the rows of a file; none if there is no file.
func ReadComplexVersions(path string) ([]ComplexVersionRow, error) {
	return bench.ReadRows[ComplexVersionRow](path, "bench complex --versions")
}

// MergeComplexVersions puts a row among those that a file has, in the place of one that measured the same if there is
// one.
func MergeComplexVersions(path string, row ComplexVersionRow) error {
	at := func(r ComplexVersionRow) int {
		return slices.IndexFunc(ComplexVersions, func(v ComplexVersion) bool { return v.Name == r.Version })
	}
	order := func(a, b ComplexVersionRow) int {
		return cmp.Or(cmp.Compare(a.place(), b.place()), strings.Compare(a.Grid, b.Grid),
			strings.Compare(a.Device, b.Device), cmp.Compare(at(a), at(b)))
	}
	return bench.MergeRows(path, "bench complex --versions", []ComplexVersionRow{row}, order)
}

// WriteComplexVersions prints points a second by case and version (figures 5 and 6), and then intensities (table III).
func WriteComplexVersions(w io.Writer, rows []ComplexVersionRow) {
	names := make([]string, len(ComplexVersions))
	for i, v := range ComplexVersions {
		names[i] = v.Name
	}
	fmt.Fprintf(w, "G points/s:\n\n| case | grid | steps | %s |\n", strings.Join(names, " | "))
	fmt.Fprintf(w, "|%s\n", strings.Repeat("---|", len(names)+3))
	var seen []string
	for _, r := range rows {
		line := fmt.Sprintf("| %s | %s | %d |", r.Case, r.Grid, r.Steps)
		if slices.Contains(seen, line+r.Device) {
			continue
		}
		seen = append(seen, line+r.Device)
		for _, name := range names {
			cell := " - |"
			for _, q := range rows {
				if q.Version == name && q.ComplexRow.Key() == r.ComplexRow.Key() {
					cell = fmt.Sprintf(" %.4g |", q.Points/1e9)
				}
			}
			line += cell
		}
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w, "\nFlops a byte, counted on kernels:\n\n| case | version | call | in theory | flops | "+
		"of the memory | of the caches | of shared memory |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for _, r := range rows {
		for _, x := range r.Intensity {
			shm := "-"
			if x.Shared > 0 {
				shm = fmt.Sprintf("%.3g", x.OfShared)
			}
			fmt.Fprintf(w, "| %s | %s | %s | %.3g | %.3g | %.3g | %.3g | %s |\n", r.Case, r.Version, x.Call,
				r.Theoretical, x.Flops, x.OfDRAM, x.OfCache, shm)
		}
	}
}
