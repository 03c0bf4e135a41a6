package omnitune

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/eval/bench"
)

// Row is a figure of a model.
type Row struct {
	Experiment string  `json:"experiment"`
	Model      string  `json:"model"`
	Split      string  `json:"split"`  // what is left out
	Metric     string  `json:"metric"` // "speed": the mean part that picks have of the fastest
	Value      float64 `json:"value"`
	Low        float64 `json:"low"` // its 95 % interval, groups drawn anew
	High       float64 `json:"high"`
	ZeroR      float64 `json:"baseline_zeror"`
	Table      float64 `json:"baseline_table"`
	Random     float64 `json:"baseline_random"`
	// Gain is how much faster picks are than the table's, and its 95 % interval, paired.
	Gain     float64 `json:"gain"`
	GainLow  float64 `json:"gain_low"`
	GainHigh float64 `json:"gain_high"`
	Removed  float64 `json:"loss_removed"` // of what the table loses, the part that the model does not
	Groups   int     `json:"groups"`
	Count    int     `json:"scenarios"`
	Commit   string  `json:"commit"`
}

// Key tells rows apart that measure different things.
func (r Row) Key() string { return fmt.Sprint(r.Experiment, " ", r.Model, " ", r.Split, " ", r.Metric) }

// Run validates all models by all splits.
func Run(ctx context.Context, s *Suite, commit string, log io.Writer) ([]Row, error) {
	var rows []Row
	for _, split := range Splits {
		picks := map[string][]Pick{}
		for _, m := range Models {
			fmt.Fprintf(log, "%s, without one %s at a time\n", m.Name, split.Name)
			var err error
			if picks[m.Name], err = Validate(ctx, s, m, split); err != nil {
				return rows, err
			}
		}
		for _, m := range Models {
			rows = append(rows, rowOf(m, split, picks, commit))
		}
	}
	return rows, nil
}

// rowOf is the row of a model, beside what the baselines picked for the same scenarios.
func rowOf(m Model, split Split, all map[string][]Pick, commit string) Row {
	picks, table := all[m.Name], all[Table]
	r := Row{
		Experiment: "omnitune", Model: m.Name, Split: split.Name, Metric: "speed", Value: Mean(picks),
		ZeroR: Mean(all[ZeroR]), Table: Mean(table), Random: mean(picks, func(p Pick) float64 { return p.Random }),
		Count: len(picks), Commit: commit,
	}
	r.Low, r.High = interval(picks, func(i int) float64 { return picks[i].Speed })
	r.Gain = r.Value - r.Table
	r.GainLow, r.GainHigh = interval(picks, func(i int) float64 { return picks[i].Speed - table[i].Speed })
	if r.Table < 1 {
		r.Removed = r.Gain / (1 - r.Table)
	}
	groups := map[string]bool{}
	for _, p := range picks {
		groups[p.Group] = true
	}
	r.Groups = len(groups)
	return r
}

// Merge puts rows among those that a file has.
func Merge(path string, rows []Row) error {
	place := func(r Row) int {
		return slices.IndexFunc(Splits, func(s Split) bool { return s.Name == r.Split })*len(Models) +
			slices.IndexFunc(Models, func(m Model) bool { return m.Name == r.Model })
	}
	return bench.MergeRows(path, "bench omnitune", rows,
		func(a, b Row) int { return cmp.Compare(place(a), place(b)) })
}

// Write prints rows as a table in Markdown.
func Write(w io.Writer, rows []Row) {
	fmt.Fprintln(w, "| left out | model | speed of picks | 95 % | more than the table | 95 % | of its loss | random |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for _, r := range rows {
		fmt.Fprintf(w, "| %s of %d | %s | %.3f | %.3f to %.3f | %+.3f | %+.3f to %+.3f | %.0f %% | %.3f |\n", r.Split,
			r.Groups, r.Model, r.Value, r.Low, r.High, r.Gain, r.GainLow, r.GainHigh, 100*r.Removed, r.Random)
	}
}
