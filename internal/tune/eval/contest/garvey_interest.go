package contest

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gridloom/gridloom/internal/tune/eval/replay"
)

// InterestRow says whether the space of a kernel needs a search, as section 5 of Garvey 2018 does. Speeds are relative;
// what cannot run has none, and counts as 0 in means.
type InterestRow struct {
	Kernel string  `json:"kernel"`            // empty: the means over the kernels
	Near   float64 `json:"within_10_percent"` // of the best: share of all configurations, also of those that cannot run
	Slow   float64 `json:"10_times_slower"`   // likewise: those with less than a tenth of the best speed
	// Alone is the configuration whose parameters have the values that are the best one by one, while all others are as
	// in the best of a random sample (5.5): its speed over the sample's best, and over the best of all. They are means
	// over samples; AloneFails is in how many of them it cannot run, a share.
	Alone       float64 `json:"each_alone_over_sample"`
	AloneOfBest float64 `json:"each_alone_over_best"`
	AloneFails  float64 `json:"each_alone_cannot_run"`
	// Others is the speed of this kernel's best configuration on the other kernels over their own best, the mean (5.6);
	// nil without other kernels.
	Others      *float64 `json:"best_on_others,omitempty"`
	OthersLeast *float64 `json:"best_on_others_least,omitempty"`
	OthersFail  float64  `json:"best_on_others_cannot_run"` // a share
}

// ValueRow counts the kernels whose best configuration has a value (Garvey 2018, figure 4).
type ValueRow struct {
	Parameter string `json:"parameter"`
	Value     string `json:"value"`
	Kernels   int    `json:"kernels"`
}

// loading is the parameter of the technique and its vectors: one depends on the other, so that they are one parameter.
const loading = "loading"

// plainSpace is a recorded space whose parameters can be changed one by one.
type plainSpace struct {
	kernel  string
	names   []string   // of parameters: blocks and repeats axis by axis, and loading
	values  [][]string // by parameter
	configs [][]string // the value of each parameter
	times   []float64  // seconds; infinite where it cannot run
	index   map[string]int
	best    int
}

// key is the text by which a configuration is found.
func key(config []string) string { return strings.Join(config, " ") }

// time returns the seconds of a configuration, infinite if it is not in the space or cannot run.
func (s *plainSpace) time(config []string) float64 {
	if i, ok := s.index[key(config)]; ok {
		return s.times[i]
	}
	return math.Inf(1)
}

// newPlainSpace takes the parameters of Garvey 2018 from a recording.
func newPlainSpace(kernel string, r *replay.Recording) (*plainSpace, error) {
	s := &plainSpace{kernel: kernel, index: map[string]int{}}
	for i := range r.Trials {
		t := &r.Trials[i]
		set := map[string]string{}
		for p, n := range t.Config {
			if n != replay.Missing {
				set[r.Params[p].Name] = r.Params[p].Values[n].String()
			}
		}
		var names, config []string
		for _, name := range []string{"block", "repeat"} {
			edges := strings.Split(set[name], "x")
			for a, edge := range edges {
				names, config = append(names, name+"."+axisName(a, len(edges))), append(config, edge)
			}
		}
		names, config = append(names, loading), append(config, loadingOf(set))
		switch {
		case s.names == nil:
			s.names, s.values = names, make([][]string, len(names))
		case len(names) != len(s.names):
			return nil, fmt.Errorf("%s has %s, and others %s", r.Text(t.Config), names, s.names)
		}
		for p, v := range config {
			if !slices.Contains(s.values[p], v) {
				s.values[p] = append(s.values[p], v)
			}
		}
		seconds := math.Inf(1)
		if t.Failure == "" {
			seconds = t.Seconds
		}
		s.index[key(config)] = len(s.configs)
		s.configs, s.times = append(s.configs, config), append(s.times, seconds)
	}
	for p := range s.values {
		slices.SortFunc(s.values[p], shortFirst)
	}
	s.best = slices.Index(s.times, slices.Min(s.times))
	return s, nil
}

// axisName is the letter of an axis; the innermost is x.
func axisName(axis, axes int) string { return "wzyx"[4-axes+axis : 4-axes+axis+1] }

// loadingOf is the technique of a configuration; with vectors also their length.
func loadingOf(set map[string]string) string {
	for _, t := range techniques {
		if t.has(set["vec"], set["load"], set["stages"]) {
			if set["vec"] != "1" {
				return t.name + " of " + set["vec"]
			}
			return t.name
		}
	}
	return "other"
}

// shortFirst orders numbers by their size and other texts somehow.
func shortFirst(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// shares are those of the configurations that are nearly the best, and that are far from it.
func (s *plainSpace) shares() (near, slow float64) {
	best := s.times[s.best]
	for _, t := range s.times {
		switch speed := best / t; {
		case math.IsInf(t, 1): // it has no speed
		case speed >= 0.9:
			near++
		case speed < 0.1:
			slow++
		}
	}
	n := float64(len(s.times))
	return near / n, slow / n
}

// alone tunes each parameter around a configuration while the others stay, and combines what was the best of each. Of
// equals the value of the configuration stays.
func (s *plainSpace) alone(start []string) []string {
	combined := slices.Clone(start)
	for p := range start {
		trial, least := slices.Clone(start), s.time(start)
		for _, v := range s.values[p] {
			trial[p] = v
			if t := s.time(trial); t < least {
				combined[p], least = v, t
			}
		}
	}
	return combined
}

// interact compares parameters that are tuned alone with those of the best of samples.
func (s *plainSpace) interact(row *InterestRow, seeds, size int) {
	ran := 0.0 // samples in which anything did
	for seed := range seeds {
		start := -1
		order := rand.New(rand.NewPCG(uint64(seed)+1, 0)).Perm(len(s.configs))
		for _, i := range order[:min(size, len(order))] {
			if !math.IsInf(s.times[i], 1) && (start < 0 || s.times[i] < s.times[start]) {
				start = i
			}
		}
		if start < 0 {
			continue
		}
		ran++
		t := s.time(s.alone(s.configs[start]))
		row.Alone += s.times[start] / t
		row.AloneOfBest += s.times[s.best] / t
		if math.IsInf(t, 1) {
			row.AloneFails++
		}
	}
	if ran > 0 {
		row.Alone, row.AloneOfBest, row.AloneFails = row.Alone/ran, row.AloneOfBest/ran, row.AloneFails/ran
	}
}

// transfer runs the best configuration on the other kernels.
func (s *plainSpace) transfer(row *InterestRow, all []*plainSpace) {
	sum, least, n := 0.0, math.Inf(1), 0.0
	for _, o := range all {
		if o == s {
			continue
		}
		t := o.time(s.configs[s.best])
		speed := o.times[o.best] / t
		sum, least, n = sum+speed, min(least, speed), n+1
		if math.IsInf(t, 1) {
			row.OthersFail++
		}
	}
	if n > 0 {
		sum /= n
		row.Others, row.OthersLeast, row.OthersFail = &sum, &least, row.OthersFail/n
	}
}

// interest judges spaces by samples of a size.
func interest(all []*plainSpace, seeds, size int) []InterestRow {
	var rows []InterestRow
	for _, s := range all {
		row := InterestRow{Kernel: s.kernel}
		row.Near, row.Slow = s.shares()
		s.interact(&row, seeds, size)
		s.transfer(&row, all)
		rows = append(rows, row)
	}
	return append(rows, meanInterest(rows))
}

// meanInterest is the row of the means over kernels; the least speed is that of all.
func meanInterest(rows []InterestRow) InterestRow {
	var m InterestRow
	n := float64(len(rows))
	others, least := 0.0, math.Inf(1)
	for _, r := range rows {
		m.Near += r.Near / n
		m.Slow += r.Slow / n
		m.Alone += r.Alone / n
		m.AloneOfBest += r.AloneOfBest / n
		m.AloneFails += r.AloneFails / n
		m.OthersFail += r.OthersFail / n
		if r.Others != nil {
			others, least = others+*r.Others/n, min(least, *r.OthersLeast)
		}
	}
	if len(rows) > 1 {
		m.Others, m.OthersLeast = &others, &least
	}
	return m
}

// bestValues counts the values of the best configurations.
func bestValues(all []*plainSpace) []ValueRow {
	var rows []ValueRow
	for p, name := range all[0].names {
		count := map[string]int{}
		for _, s := range all {
			if p < len(s.names) && s.names[p] == name {
				count[s.configs[s.best][p]]++
			}
		}
		first := len(rows)
		for value, n := range count {
			rows = append(rows, ValueRow{name, value, n})
		}
		slices.SortFunc(rows[first:], func(a, b ValueRow) int { return shortFirst(a.Value, b.Value) })
	}
	return rows
}

// writeInterest prints the rows, the paper's figures of a GTX Titan beside.
func writeInterest(w io.Writer, rows []InterestRow, values []ValueRow) error {
	if len(rows) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "\nspace (section 5)\twithin 10 %\t10 times slower\teach parameter alone, over the sample's best\t"+
		"over the best\tcannot run\tits best on the others\tleast\tcannot run")
	for _, r := range rows {
		name := r.Kernel
		if name == "" {
			name = "mean"
		}
		fmt.Fprintf(t, "%s\t%.1f %%\t%.1f %%\t%.3f\t%.3f\t%.0f %%\t%s\t%s\t%.0f %%\n", name, 100*r.Near, 100*r.Slow,
			r.Alone, r.AloneOfBest, 100*r.AloneFails, speedText(r.Others), speedText(r.OthersLeast), 100*r.OthersFail)
	}
	fmt.Fprintln(t, "Garvey 2018, NVIDIA\t1.3 %\t34.2 %\t0.97\t\t\t0.69\t\t")
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, "\nvalues of the best configurations (figure 4), and of how many kernels:")
	before := ""
	for _, v := range values {
		sep := ","
		if v.Parameter != before {
			sep, before = "\n"+v.Parameter+":", v.Parameter
		}
		fmt.Fprintf(w, "%s %s (%d)", sep, v.Value, v.Kernels)
	}
	_, err := fmt.Fprintln(w)
	return err
}

func speedText(speed *float64) string {
	if speed == nil {
		return ""
	}
	return fmt.Sprintf("%.3f", *speed)
}
