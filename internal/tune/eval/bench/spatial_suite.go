package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// SpatialSuiteRow is a case of a list, with plans to try and the fractions of the copy bound that are to be reached.
type SpatialSuiteRow struct {
	Case  string        `json:"case"`
	DType string        `json:"dtype"`
	Must  float64       `json:"must"`
	Aim   float64       `json:"aim"`
	Plans []SpatialPlan `json:"plans"`
}

// SpatialPlan is a plan with the fraction of the copy bound that it is taken to reach, and why.
type SpatialPlan struct {
	Plan      string  `json:"plan"`
	Predicted float64 `json:"predicted,omitempty"`
	Idea      string  `json:"idea,omitempty"`
}

// SpatialSuite returns the cases of a list that comes with gridloom, by its name.
func SpatialSuite(name string) ([]SpatialSuiteRow, error) {
	text, err := files.ReadFile("plans/spatial-" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("there is no list of cases %q: there is wide", name)
	}
	return ParseSpatialSuite(text)
}

// ParseSpatialSuite reads a list of cases: JSON.
func ParseSpatialSuite(text []byte) ([]SpatialSuiteRow, error) {
	list, err := readList[SpatialSuiteRow](text, "cases", `[{"case": "star25", "dtype": "double", "must": 0.88, `+
		`"aim": 0.92, "plans": [{"plan": "family=..."}]}]`)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		switch {
		case len(findSpatial(r.Case, r.DType)) != 1:
			return nil, fmt.Errorf("case %d of the list: there is no case %q in %q", i+1, r.Case, r.DType)
		case len(r.Plans) == 0:
			return nil, fmt.Errorf("case %d of the list: there is no plan", i+1)
		case slices.ContainsFunc(r.Plans, func(p SpatialPlan) bool { return p.Plan == "" }):
			return nil, fmt.Errorf("case %d of the list: a plan is empty", i+1)
		}
	}
	return list, nil
}

// MeasureSpatial measures the cases of a list, but for those of which all plans were tried at the options' commit
// before. It begins no case that would end after the budget, if there is one. Each gets the rows of a case.
func MeasureSpatial(ctx context.Context, o SpatialOptions, list []SpatialSuiteRow, have []SpatialRow,
	budget time.Duration, each func([]SpatialRow) error) ([]SpatialRow, error) {
	var todo []SpatialSuiteRow
	for _, r := range list {
		wanted := (len(o.Cases) == 0 || slices.Contains(o.Cases, r.Case)) &&
			(len(o.DTypes) == 0 || slices.Contains(o.DTypes, r.DType))
		if wanted && !r.measured(have, o.Commit) {
			todo = append(todo, r)
		}
	}
	var all []SpatialRow
	var failed []error
	allowed := newAllowance(budget, o.Log)
	for i, r := range todo {
		if !allowed.allows(len(todo) - i) {
			break
		}
		begin := time.Now()
		rows, err := Sweep(ctx, r.options(o))
		allowed.spent(begin)
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		r.judge(rows)
		all = append(all, rows...)
		if err := each(rows); err != nil {
			return all, err
		}
	}
	return all, errors.Join(failed...)
}

// measured reports whether all plans were tried at a commit.
func (r SpatialSuiteRow) measured(have []SpatialRow, commit string) bool {
	return !slices.ContainsFunc(r.Plans, func(p SpatialPlan) bool {
		return !slices.ContainsFunc(have, func(m SpatialRow) bool {
			return m.Case == r.Case && m.DType == r.DType && m.Plan == p.Plan && m.Commit == commit
		})
	})
}

// options are those for the case alone.
func (r SpatialSuiteRow) options(o SpatialOptions) SpatialOptions {
	o.Cases, o.DTypes, o.Plans, o.Sampled = []string{r.Case}, []string{r.DType}, nil, 0
	var plans []string
	for _, p := range r.Plans {
		plans = append(plans, p.Plan)
	}
	o.PlanFile = PlanFile{r.Case: {r.DType: plans}}
	return o
}

// judge puts beside rows what the list says of them.
func (r SpatialSuiteRow) judge(rows []SpatialRow) {
	for i := range rows {
		rows[i].Must, rows[i].Aim = r.Must, r.Aim
		for _, p := range r.Plans {
			if p.Plan == rows[i].Plan {
				rows[i].Predicted, rows[i].Idea = p.Predicted, p.Idea
			}
		}
	}
}

// ReadSpatial returns the rows of a file; none if there is no file.
func ReadSpatial(path string) ([]SpatialRow, error) {
	return ReadRows[SpatialRow](path, "bench spatial")
}

// MergeSpatial puts rows among those that a file has, in the place of those that measured the same: the fastest of
// a case first.
func MergeSpatial(path string, rows []SpatialRow) error {
	names := SpatialNames()
	return MergeRows(path, "bench spatial", rows, func(a, b SpatialRow) int {
		return cmp.Or(cmp.Compare(slices.Index(names, a.Case), slices.Index(names, b.Case)),
			strings.Compare(a.DType, b.DType), cmp.Compare(b.GStencils, a.GStencils), strings.Compare(a.Key(), b.Key()))
	})
}

// WriteSpatialShort prints what the fastest plans of a list's cases do not reach.
func WriteSpatialShort(w io.Writer, list []SpatialSuiteRow, rows []SpatialRow) {
	for _, r := range list {
		best := -1.0
		for _, m := range rows {
			if m.Case == r.Case && m.DType == r.DType && m.Refused == "" {
				best = max(best, m.FractionOfCopy)
			}
		}
		if best >= 0 && best < r.Must {
			fmt.Fprintf(w, "short: %s %s: %.3f of the copy bound, %.2f are wanted\n", r.Case, r.DType, best, r.Must)
		}
	}
}
