package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/serve/report"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// harvest is what a search leaves in a folder: its story, the report, the best
// plan and a library.
type harvest struct {
	source *diag.Source
	bound  *ir.Binding
	set    map[string]string
	about  measure.About
	free   bool

	session, limits, space, commit string
}

// reserve makes the folder, and finds out before any work whether it can be
// written to.
func reserve(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return gridio.Named(dir, err)
	}
	file := filepath.Join(dir, "tuning.json")
	if err := noLink(file); err != nil {
		return err
	}
	return gridio.CheckFile(file)
}

// write writes all files or none.
func (h *harvest) write(dir string, r *tuner.Result, known []remembered, say func(format string, args ...any)) error {
	t := &report.Tuning{Result: *r, File: filepath.Base(h.source.Name), Source: h.source.Text, Session: h.session, Limits: h.limits, Space: h.space, Set: h.set, Version: Version, Commit: h.commit, Library: []report.Variant{}}
	files, variants, err := h.library(r, known)
	if err != nil {
		text, _ := split(err)
		t.Notes = append(slices.Clone(t.Notes), "there is no library: "+text)
		say("note: there is no library: %s", text)
	} else {
		t.Library = variants
	}
	for i := range files {
		files[i].Name = filepath.Join("library", files[i].Name)
	}
	page, err := reportText(t)
	if err != nil {
		return err
	}
	var story strings.Builder
	lines := json.NewEncoder(&story)
	lines.SetIndent("", "  ")
	lines.SetEscapeHTML(false) // people read the source in it
	if err := lines.Encode(t); err != nil {
		return err
	}
	files = append(files, emit.File{Name: "best.plan", Text: r.Best + "\n"}, emit.File{Name: "report.html", Text: page},
		emit.File{Name: "tuning.json", Text: story.String()})
	return writeTree(dir, files)
}

// reportText draws a report.
func reportText(t *report.Tuning) (string, error) {
	var b strings.Builder
	err := report.Write(&b, t.Story())
	return b.String(), err
}

// library makes the library: of the best plan that can be one, and of those
// that are best at other sizes, as the store knows them.
func (h *harvest) library(r *tuner.Result, known []remembered) ([]emit.File, []report.Variant, error) {
	first := errors.New("no plan was timed")
	for i, c := range r.LibraryPlans() {
		v := report.Variant{Plan: c.Plan, Sizes: sizesOf(h.bound), Seconds: c.Seconds, Low: c.Interval[0], High: c.Interval[1]}
		files, variants, err := h.pack([]report.Variant{v})
		if err != nil {
			if i == 0 {
				first = err
			}
			continue
		}
		all := []report.Variant{v}
		for _, other := range others(known, h.bound) {
			try := append(slices.Clone(all), other)
			if more, grown, err := h.pack(try); err == nil {
				files, variants, all = more, grown, try
			}
		}
		if len(variants) > 1 {
			h.refine(variants, known)
			if files, variants, err = h.pack(variants); err != nil {
				return nil, nil, err
			}
		}
		return files, variants, nil
	}
	return nil, nil, first
}

// mostSizes is for how many sizes a library has variants.
const mostSizes = 8

// others returns the plans that are best at other sizes and can be in a library,
// those of the nearest sizes first.
func others(known []remembered, b *ir.Binding) []report.Variant {
	cells := largestGrid(b.Program, b.Params)
	known = slices.Clone(known)
	slices.SortStableFunc(known, func(x, y remembered) int { return cmp.Compare(apart(x.cells, cells), apart(y.cells, cells)) })
	var list []report.Variant
	for _, k := range known {
		if k.sizes.Equal(sizesOf(b)) {
			continue
		}
		for _, r := range k.records {
			p, err := schedule.ParsePlan(r.Config)
			if err != nil {
				continue
			}
			if _, same := tuner.ForAllSizes(p); same {
				list = append(list, report.Variant{Plan: r.Config, Sizes: k.sizes, Seconds: r.Median, Low: r.Low, High: r.High})
				break
			}
		}
	}
	return list[:min(len(list), mostSizes-1)]
}

// rivalsFrom returns the plans of the nearest other sizes, to be timed at these:
// where two plans were timed at the sizes of both, a library knows better from
// which size on to pick the second.
func rivalsFrom(known []remembered, b *ir.Binding) []schedule.Plan {
	var list []schedule.Plan
	for _, v := range others(known, b) {
		if p, err := schedule.ParsePlan(v.Plan); err == nil && len(list) < 2 {
			list = append(list, p)
		}
	}
	return list
}

// refine moves the boundaries between variants to where the times of both plans
// would cross, where both were timed at the sizes of both: on a logarithmic scale of
// cells, the logarithm of the ratio of their times is taken for a straight line.
func (h *harvest) refine(variants []report.Variant, known []remembered) {
	at := func(sizes session.Sizes, plan string) float64 {
		for _, k := range known {
			for _, r := range k.records {
				if k.sizes.Equal(sizes) && r.Config == plan {
					return math.Log(r.Median)
				}
			}
		}
		return math.NaN()
	}
	for i := range variants[1:] {
		a, b := &variants[i], &variants[i+1]
		lost := at(a.Sizes, b.Plan) - at(a.Sizes, a.Plan) // by the second where the first is best
		won := at(b.Sizes, a.Plan) - at(b.Sizes, b.Plan)
		if !(lost > 0 && won > 0) {
			continue
		}
		low, high := math.Log(float64(a.Cells)), math.Log(float64(b.Cells))
		cells := int64(math.Round(math.Exp(low + (high-low)*lost/(lost+won))))
		b.From = min(max(cells, a.Cells+1), b.Cells)
	}
}

// pack makes a library with a variant for each of several sizes. It returns the
// variants in order, each with the number of cells from which on it is picked;
// neighbours with the same plan are one. Where From is not 0 it stays.
func (h *harvest) pack(variants []report.Variant) ([]emit.File, []report.Variant, error) {
	p := h.bound.Program
	o := lower.Options{
		Target: h.about.Target, Lacks: h.about.Lacks, Machine: h.about.Machine, Free: h.free, AnyIntegers: true,
	}
	var err error
	if o.Bound, err = h.coefficients(); err != nil {
		return nil, nil, err
	}
	var plans []schedule.Plan
	for _, v := range variants {
		plan, err := schedule.ParsePlan(v.Plan)
		if err != nil {
			return nil, nil, err
		}
		plans = append(plans, plan)
	}
	modules, err := lower.Variants(p, o, plans)
	if err != nil {
		return nil, nil, err
	}
	list := slices.Clone(variants)
	module := map[string]*kernel.Module{}
	for i := range list {
		params, ok := paramsOf(p, list[i].Sizes)
		if !ok {
			return nil, nil, fmt.Errorf("the sizes %s are not those of the program", list[i].Sizes)
		}
		list[i].Cells = emit.Cells(modules[i], params)
		module[list[i].Plan] = modules[i]
	}
	slices.SortStableFunc(list, func(a, b report.Variant) int { return cmp.Compare(a.Cells, b.Cells) })
	list = distinct(list)
	lo := emit.LibraryOptions{
		Source: filepath.Base(h.source.Name), Plan: list[0].Plan,
		Bound: o.Bound, Dialect: h.about.Dialect,
	}
	for _, v := range list {
		lo.Variants = append(lo.Variants, emit.Variant{Module: module[v.Plan], Plan: v.Plan, Cells: v.Cells, From: v.From})
	}
	files, err := emit.Library(module[list[0].Plan], lo)
	return files, list, err
}

// distinct returns variants, in order, without those whose plan is that of the
// one before, or whose cells are. It says from which cells on each is picked.
func distinct(list []report.Variant) []report.Variant {
	var out []report.Variant
	before := int64(0)
	for _, v := range list {
		n := len(out)
		switch {
		case n > 0 && v.Plan == out[n-1].Plan:
			before = v.Cells
			continue
		case n > 0 && v.Cells == before:
			continue
		case n == 0:
			v.From = 0
		case v.From == 0:
			v.From = emit.Boundary(before, v.Cells)
		}
		before = v.Cells
		out = append(out, v)
	}
	return out
}

// coefficients binds those; nil if there are none.
func (h *harvest) coefficients() (*ir.Binding, error) {
	set, needed := map[string]string{}, false
	p := h.bound.Program
	for _, s := range p.Scalars {
		if !s.Coefficient {
			continue
		}
		needed = true
		if v, ok := h.set[s.Name]; ok {
			set[s.Name] = v
		}
	}
	if !needed {
		return nil, nil
	}
	b, list := p.Coefficients(set)
	if list.HasErrors() {
		return nil, fmt.Errorf("%s", list[0].Message)
	}
	return b, nil
}

// sizesOf returns the sizes of a program as the store has them.
func sizesOf(b *ir.Binding) session.Sizes {
	var sizes session.Sizes
	for i, q := range b.Program.Params {
		sizes = append(sizes, session.Size{Name: q.Name, Value: b.Params[i]})
	}
	return sizes
}
