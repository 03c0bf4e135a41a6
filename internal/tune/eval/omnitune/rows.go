package omnitune

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

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
	// Gain is how much more the figure is than the table's, and its 95 % interval, paired.
	Gain     float64 `json:"gain"`
	GainLow  float64 `json:"gain_low"`
	GainHigh float64 `json:"gain_high"`
	Removed  float64 `json:"loss_removed,omitempty"` // of the speed that the table loses, the part that the model does not
	Groups   int     `json:"groups"`
	Count    int     `json:"scenarios"` // that have the figure
	Data     string  `json:"data"`      // the file's
	Commit   string  `json:"commit"`
}

// Key tells rows apart that measure different things.
func (r Row) Key() string { return fmt.Sprint(r.Experiment, " ", r.Model, " ", r.Split, " ", r.Metric) }

// Run validates all models by some splits, and keeps the rows of each family as they come. What is known of the same
// scenarios by the same commit is not done again, unless that had changes.
func Run(ctx context.Context, s *Suite, splits []Split, commit string, log io.Writer, known []Row,
	keep func([]Row) error,
) ([]Row, error) {
	var rows []Row
	if note := s.twinNote(); note != "" {
		fmt.Fprintln(log, "note: "+note)
	}
	for _, split := range splits {
		if _, err := split.of(s); err != nil {
			fmt.Fprintln(log, err)
			continue
		}
		f := figures{split: split, metrics: metricsOf(s), data: s.Data, commit: commit}
		var err error
		if f.zeror, f.table, err = besides(ctx, s, split); err != nil {
			return rows, err
		}
		for _, family := range Families {
			more := f.among(known, family)
			if len(more) == 0 {
				fmt.Fprintf(log, "%s, without %s\n", family.Models[0].Name, split.Doc)
				lists, times, err := timedPicks(ctx, s, family, split)
				if err != nil {
					return rows, err
				}
				for k, m := range family.Models {
					fmt.Fprintf(log, "  %s: a pick takes %v\n", m.Name, times[k].Round(100*time.Nanosecond))
					more = append(more, f.rows(m, lists[k])...)
				}
				if err := keep(more); err != nil {
					return rows, err
				}
			}
			rows = append(rows, more...)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("too few scenarios: nothing can be left out of them")
	}
	return rows, nil
}

// besides are the picks of the baselines that every figure stands beside.
func besides(ctx context.Context, s *Suite, split Split) (zeror, table []Pick, err error) {
	for _, f := range baselines {
		for name, picks := range map[string]*[]Pick{ZeroR: &zeror, Table: &table} {
			if f.Models[0].Name == name {
				lists, err := Validate(ctx, s, f, split)
				if err != nil {
					return nil, nil, err
				}
				*picks = lists[0]
			}
		}
	}
	return zeror, table, nil
}

// figures makes rows of picks.
type figures struct {
	split        Split
	metrics      []metric
	zeror, table []Pick
	data, commit string
}

// among returns the rows of a family among those that are known.
func (f figures) among(known []Row, family Family) []Row {
	if f.commit == "" || strings.Contains(f.commit, "+") {
		return nil
	}
	var list []Row
	for _, r := range known {
		if r.Split == f.split.Name && r.Data == f.data && r.Commit == f.commit &&
			slices.ContainsFunc(family.Models, func(m Model) bool { return m.Name == r.Model }) {
			list = append(list, r)
		}
	}
	return list
}

// rows are the figures of a model's picks, beside what others picked for the same scenarios.
func (f figures) rows(m Model, picks []Pick) []Row {
	groups := numbered(picks)
	once := slices.Repeat([]float64{1}, len(groups))
	var list []Row
	for _, metric := range f.metrics {
		own, table := metric.sampled(picks, groups), metric.sampled(f.table, groups)
		if len(own.numbers) == 0 {
			continue
		}
		r := Row{
			Experiment: "omnitune", Model: m.Name, Split: f.split.Name, Metric: metric.name, Value: own.value(once),
			ZeroR: figure(metric.sampled(f.zeror, groups).value(once)), Table: figure(table.value(once)),
			Random: figure(random(metric, picks)), Groups: len(groups), Count: len(own.numbers), Data: f.data,
			Commit: f.commit,
		}
		r.Low, r.High = interval(len(groups), own.value)
		if len(table.numbers) > 0 {
			gain := func(times []float64) float64 { return own.value(times) - table.value(times) }
			r.Gain = gain(once)
			r.GainLow, r.GainHigh = interval(len(groups), gain)
		}
		if metric.name == speedMetric && r.Table < 1 {
			r.Removed = r.Gain / (1 - r.Table)
		}
		list = append(list, r)
	}
	return list
}

// figure is a number, or 0 in place of none.
func figure(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// random is the mean of a metric over twenty lists of picks at random. Rounding takes it no further than the lists are:
// a share is at most 1.
func random(m metric, picks []Pick) float64 {
	const lists = 20
	groups := numbered(picks)
	once := slices.Repeat([]float64{1}, len(groups))
	r := rand.New(rand.NewPCG(drawSeed, 1))
	total, least, most := 0.0, math.Inf(1), math.Inf(-1)
	for range lists {
		v := m.sampled(atRandom(picks, r.IntN), groups).value(once)
		total, least, most = total+v/lists, min(least, v), max(most, v)
	}
	return min(max(total, least), most)
}

// order is the one of Splits, Models and metrics.
func order(a, b Row) int {
	place := func(r Row) []int {
		return []int{
			slices.IndexFunc(slices.Concat(Splits, RecordedSplits), func(s Split) bool { return s.Name == r.Split }),
			slices.IndexFunc(Models(), func(m Model) bool { return m.Name == r.Model }),
			slices.Index(metricNames(), r.Metric),
		}
	}
	return cmp.Or(slices.Compare(place(a), place(b)), cmp.Compare(a.Key(), b.Key()))
}

const command = "bench omnitune"

// Known reads the rows of a file. If there is no such file, there are none.
func Known(path string) ([]Row, error) { return bench.ReadRows[Row](path, command) }

// Merge puts rows among those that a file has.
func Merge(path string, rows []Row) error { return bench.MergeRows(path, command, rows, order) }
