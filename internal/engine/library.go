package engine

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// LibraryVariant is a plan of a library, with the sizes that it was tuned at.
type LibraryVariant struct {
	Plan    string        `json:"plan"`
	Sizes   session.Sizes `json:"sizes"`
	Cells   int64         `json:"cells"`             // of the largest grid there
	From    int64         `json:"from"`              // such cells on it is picked
	Seconds float64       `json:"seconds,omitempty"` // of an update of the program at its sizes
	Low     float64       `json:"low,omitempty"`
	High    float64       `json:"high,omitempty"`
}

// LibraryRequest asks for a library of what a search has found.
type LibraryRequest struct {
	Tuned  *Tuned
	Bound  *ir.Binding       // of the program, at the sizes that were searched at
	Set    map[string]string // the values that Bound was made with
	Source string            // the name of the program's file
	Free   bool              // the plans need not keep to what the source fixes
}

// Library makes a library of what a search has found: of the best plan that can be one, and of those
// that are best at other sizes, as the store knows them.
func Library(r LibraryRequest) ([]emit.File, []LibraryVariant, error) {
	known := r.Tuned.Stored
	first := errors.New("no plan was timed")
	for i, c := range r.Tuned.LibraryPlans() {
		v := LibraryVariant{
			Plan: c.Plan, Sizes: sizesOf(r.Bound), Seconds: c.Seconds, Low: c.Interval[0], High: c.Interval[1],
		}
		files, variants, err := r.pack([]LibraryVariant{v})
		if err != nil {
			if i == 0 {
				first = err
			}
			continue
		}
		all := []LibraryVariant{v}
		for _, other := range others(known, r.Bound) {
			try := append(slices.Clone(all), other)
			if more, grown, err := r.pack(try); err == nil {
				files, variants, all = more, grown, try
			}
		}
		if len(variants) > 1 {
			refine(variants, known)
			if files, variants, err = r.pack(variants); err != nil {
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
func others(known []StoredPlans, b *ir.Binding) []LibraryVariant {
	cells := largestGrid(b.Program, b.Params)
	known = slices.Clone(known)
	slices.SortStableFunc(known, func(x, y StoredPlans) int {
		return cmp.Compare(apart(x.Cells, cells), apart(y.Cells, cells))
	})
	var list []LibraryVariant
	for _, k := range known {
		if k.Sizes.Equal(sizesOf(b)) {
			continue
		}
		for _, r := range k.Records {
			p, err := schedule.ParsePlan(r.Config)
			if err != nil {
				continue
			}
			if _, same := tuner.ForAllSizes(p); same {
				list = append(list, LibraryVariant{
					Plan: r.Config, Sizes: k.Sizes, Seconds: r.Median, Low: r.Low, High: r.High,
				})
				break
			}
		}
	}
	return list[:min(len(list), mostSizes-1)]
}

// finalistsFrom returns the plans of the nearest other sizes, to be timed at these:
// where two plans were timed at the sizes of both, a library knows better from
// which size on to pick the second.
func finalistsFrom(known []StoredPlans, b *ir.Binding) []schedule.Plan {
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
func refine(variants []LibraryVariant, known []StoredPlans) {
	at := func(sizes session.Sizes, plan string) float64 {
		for _, k := range known {
			for _, x := range k.Records {
				if k.Sizes.Equal(sizes) && x.Config == plan {
					return math.Log(x.Median)
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
func (r *LibraryRequest) pack(variants []LibraryVariant) ([]emit.File, []LibraryVariant, error) {
	p := r.Bound.Program
	o := r.Tuned.About.Target.Lowering(nil, schedule.Plan{})
	o.NoInitial, o.Sized, o.Free, o.AnyIntegers = false, false, r.Free, true
	var err error
	if o.Bound, err = r.coefficients(); err != nil {
		return nil, nil, err
	}
	var plans []schedule.Plan
	for _, v := range variants {
		plan, err := schedule.ParsePlan(v.Plan)
		if err != nil {
			return nil, nil, err
		}
		_, plan = plan.Fission() // the program is that version
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
	slices.SortStableFunc(list, func(a, b LibraryVariant) int { return cmp.Compare(a.Cells, b.Cells) })
	list = distinct(list)
	lo := emit.LibraryOptions{
		Source: filepath.Base(r.Source), Plan: list[0].Plan,
		Bound: o.Bound, Dialect: r.Tuned.About.Target.Dialect,
	}
	for _, v := range list {
		x := emit.Variant{Module: module[v.Plan], Plan: v.Plan, Cells: v.Cells, From: v.From}
		lo.Variants = append(lo.Variants, x)
	}
	files, err := emit.Library(module[list[0].Plan], lo)
	return files, list, err
}

// distinct returns variants, in order, without those whose plan is that of the
// one before, or whose cells are. It says from which cells on each is picked.
func distinct(list []LibraryVariant) []LibraryVariant {
	var out []LibraryVariant
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
func (r *LibraryRequest) coefficients() (*ir.Binding, error) {
	set, needed := map[string]string{}, false
	p := r.Bound.Program
	for _, s := range p.Scalars {
		if !s.Coefficient {
			continue
		}
		needed = true
		if v, ok := r.Set[s.Name]; ok {
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
