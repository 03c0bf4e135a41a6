package contest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/tune/eval/bench"
)

// DeepOptions says for which rows of a list tune looks for plans.
type DeepOptions struct {
	Search
	List []bench.SuiteRow
	// Timing is how what was found is timed in turn with the fastest plan of the list: on which device, for how long.
	Timing bench.TemporalOptions
	Have   []DeepRow // of earlier calls: what this commit has measured is left out
	Each   func(DeepRow) error
}

// DeepRow is what tune finds for a row of bench temporal, against the best plan that is known.
type DeepRow struct {
	Case     string `json:"case"`
	DType    string `json:"dtype"`
	Boundary string `json:"boundary,omitempty"`
	Grid     string `json:"grid"`
	Steps    int64  `json:"steps"`
	bench.PlanPair
	Budget  float64 `json:"budget_seconds,omitempty"`
	Seconds float64 `json:"seconds"` // of the search
	Trials  int     `json:"trials"`
	Device  string  `json:"device"`
	Driver  string  `json:"driver"`
	Commit  string  `json:"commit"`
}

// Key tells rows apart that measure different things.
func (r DeepRow) Key() string {
	return strings.Join([]string{
		r.Case, r.DType, cmp.Or(r.Boundary, "none"), r.Grid, strconv.FormatInt(r.Steps, 10), r.Device,
	}, " ")
}

// Deep tunes the programs of the rows one after the other, as tune does where nothing is known, and times what it finds
// in turn with the fastest plan of the row's list.
func Deep(ctx context.Context, o DeepOptions) ([]DeepRow, error) {
	return bench.MeasureEach(ctx, o.List, o.Within, o.Log, bench.SuiteRow.Title,
		func(r bench.SuiteRow) (*DeepRow, error) { return o.row(ctx, r) }, func(r DeepRow) error {
			fmt.Fprintf(o.Log, "  %.3f of the best plan known, depth %d: %s\n", r.Share, r.Depth, r.Plan)
			return o.Each(r)
		})
}

// row measures a row; nil if this commit has done so.
func (o *DeepOptions) row(ctx context.Context, r bench.SuiteRow) (*DeepRow, error) {
	row, err := o.search(ctx, r)
	if row == nil || err != nil {
		return nil, err
	}
	pair, err := r.Compare(ctx, o.Timing, row.Plan)
	if err != nil {
		return nil, err
	}
	row.PlanPair = *pair
	return row, nil
}

// search looks for a plan. It gives the device back before anything else is timed there.
func (o *DeepOptions) search(ctx context.Context, r bench.SuiteRow) (*DeepRow, error) {
	lab, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer lab.Close()
	about := lab.About()
	row := &DeepRow{
		Case: r.Case, DType: r.DType, Boundary: r.Boundary, Grid: r.Grid, Steps: r.Steps, Budget: o.Budget.Seconds(),
		Device: about.Name, Driver: about.Driver, Commit: o.Commit,
	}
	if slices.ContainsFunc(o.Have, func(x DeepRow) bool {
		return x.Key() == row.Key() && o.stands(x.Commit, x.Budget)
	}) {
		return nil, nil
	}
	b, set, err := r.Program()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(o.Log, "%s, %d iterations\n", r.Title(), r.Steps)
	found, err := o.run(ctx, lab, b, set)
	if err != nil {
		return nil, err
	}
	row.Plan, row.Seconds, row.Trials = found.Best, found.Seconds, found.Trials
	return row, nil
}

// ReadDeep returns the rows of a file; none if there is no file.
func ReadDeep(path string) ([]DeepRow, error) { return bench.ReadRows[DeepRow](path, "bench deep") }

// MergeDeep puts a row among those that a file has, in the place of one that measured the same if there is one.
func MergeDeep(path string, row DeepRow) error {
	return bench.MergeRows(path, "bench deep", []DeepRow{row}, func(a, b DeepRow) int {
		return strings.Compare(a.Key(), b.Key())
	})
}

// WriteDeep prints rows as a table in Markdown.
func WriteDeep(w io.Writer, rows []DeepRow) {
	fmt.Fprintln(w, "| case | type | grid | GStencil/s | depth | best plan known, in turn | share | 95 % interval |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for _, r := range rows {
		name := r.Case
		if r.Boundary != "" {
			name += ", " + r.Boundary
		}
		fmt.Fprintf(w, "| %s | %s | %s | %.4g | %d | %.4g | %.3f | %.3f to %.3f |\n", name, r.DType, r.Grid, r.Rate,
			r.Depth, r.Best, r.Share, r.ShareLow, r.ShareHigh)
	}
}

// mustDeep is what a search must reach of the best plan that is known.
const mustDeep = 0.95

// WriteShortDeep prints which rows do not reach what they must.
func WriteShortDeep(w io.Writer, rows []DeepRow) {
	for _, r := range rows {
		if r.Share < mustDeep {
			fmt.Fprintf(w, "short: %s %s %s: %.3f of the best plan known, and not %.2f\n", r.Case, r.DType, r.Grid,
				r.Share, mustDeep)
		}
		if r.Differ > 0 {
			fmt.Fprintf(w, "short: %s %s %s: %d cells differ\n", r.Case, r.DType, r.Grid, r.Differ)
		}
	}
}
