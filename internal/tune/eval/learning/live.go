package learning

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/eval/bench"
	"github.com/gridloom/gridloom/internal/tune/predict"
)

// Live is what models chose for a kernel that they have not learned from, among all candidates, and how fast it was on
// the device: measured there, and not looked up.
type Live struct {
	Kernel  string `json:"kernel"`
	Types   string `json:"types"`
	Sizes   string `json:"sizes"`
	Pattern string `json:"pattern"`
	// Recorded are seconds of the fastest of the recordings, measured anew beside the picks.
	Recorded float64 `json:"recorded_seconds"`
	// Best are seconds of the fastest that was ever measured: the oracle.
	Best float64 `json:"best_seconds"`
	// Usual are seconds of the usual plan, which a guard measures beside picks; 0 if that was not measured, or did not
	// run.
	Usual    float64      `json:"usual_seconds,omitempty"`
	Picks    []LivePicks  `json:"picks"`
	Searches []LiveSearch `json:"searches,omitempty"`
	Device   string       `json:"device"`
	Driver   string       `json:"driver"`
	Commit   string       `json:"commit"`
}

// LivePicks are the first trials of a search that begins with a model's picks, in their order.
type LivePicks struct {
	Split      string    `json:"split"` // what the model has not learned from
	Candidates int       `json:"candidates"`
	Lowered    int       `json:"lowered,omitempty"` // of which so many were ranked by both levels
	Config     string    `json:"first"`
	Predicted  float64   `json:"predicted"` // the fraction that the first was to have
	Seconds    []float64 `json:"seconds"`   // 0 could not run
	// Ranked is how many of these are the first of the ranking. What was measured of them led to the others. It is 0 in
	// rows of before it did: all are of the ranking there.
	Ranked int `json:"ranked,omitempty"`
}

// unfinished reports whether there are fewer picks than are judged, or none of them is near the best, though a search
// may try so many.
func (l *Live) unfinished(p *LivePicks, most int) bool {
	return len(p.Seconds) > 0 && len(p.Seconds) < most && !l.enough(p)
}

// enough reports whether there are as many picks as are judged in any case, and one is near the best.
func (l *Live) enough(p *LivePicks) bool {
	return len(p.Seconds) >= judgedPicks && l.Runs(p) < mostRuns
}

// anyUnfinished is unfinished for the picks of any model.
func (l *Live) anyUnfinished(most int) bool {
	return slices.ContainsFunc(l.Picks, func(p LivePicks) bool { return l.unfinished(&p, most) })
}

// LiveSearch is a search of a kernel.
type LiveSearch struct {
	Prior  int        `json:"prior"` // configurations that a model without the kernel's stencil chose to begin with
	Trials int        `json:"trials"`
	Steps  []LiveStep `json:"steps"` // each time it found a faster one
}

// LiveStep is the trial in which a search found a faster configuration.
type LiveStep struct {
	Trial   int     `json:"trial"`
	Seconds float64 `json:"seconds"`
}

// Key names the kernel.
func (l *Live) Key() string { return l.Kernel + " " + l.Types + " " + l.Sizes }

// keyOf is the key of a kernel's row.
func keyOf(k *predict.Examples) string {
	l := Live{Kernel: k.Name, Types: k.Types(), Sizes: k.Sizes()}
	return l.Key()
}

// String sums the row up in a line.
func (l *Live) String() string {
	text := l.Key()
	for i := range l.Picks {
		p := &l.Picks[i]
		if len(p.Seconds) == 0 {
			continue
		}
		text += fmt.Sprintf("; without its %s the first pick has %.3f, %d runs", p.Split, l.first(p), l.Runs(p))
	}
	for i := range l.Searches {
		s := &l.Searches[i]
		n, ok := l.Until(s, untilPart)
		if !ok {
			n = 0
		}
		text += fmt.Sprintf("; prior %d: %d trials", s.Prior, n)
	}
	return text
}

const liveCommand = "bench picks"

// ReadLive returns the rows of a file; none if it is not there.
func ReadLive(path string) ([]*Live, error) {
	rows, err := bench.ReadRows[*Live](path, liveCommand)
	if slices.Contains(rows, nil) {
		return nil, fmt.Errorf("%s has rows of %s that are null", path, liveCommand)
	}
	return rows, err
}

// KeepLive puts a row into a file, in the place of that of the same kernel.
func KeepLive(path string, l *Live) error {
	return bench.MergeRows(path, liveCommand, []*Live{l}, func(a, b *Live) int { return cmp.Compare(a.Key(), b.Key()) })
}

// WithoutPicks drops the picks of rows that are of other commits than one, and returns the rows that are of that one.
// What was the fastest of a kernel stays in its row.
func WithoutPicks(rows []*Live, commit string) []*Live {
	var stay []*Live
	for _, l := range rows {
		if l.Commit == commit {
			stay = append(stay, l)
		} else {
			l.Picks = nil
		}
	}
	return stay
}

// Unmeasured returns the kernels of some programs, nil for all, that have no row yet, none with searches where these
// are wanted, or one that is unfinished where so many trials are. They come in rounds: stencils of which fewer kernels
// were measured come before others, so that a part of all is like the whole. Kernels that are not alone in their
// program are left out: what is picked for one is not all of it.
func Unmeasured(all []*predict.Examples, rows []*Live, programs []string, searches bool, most int) (
	[][]*predict.Examples, error) {
	for _, name := range programs {
		if !slices.ContainsFunc(all, func(k *predict.Examples) bool { return k.Name == name }) {
			return nil, fmt.Errorf("--program %s: no kernel of this name was recorded", name)
		}
	}
	measured := map[string]int{} // kernels, by stencil
	var left []*predict.Examples
	for _, k := range all {
		l := RowOf(k, rows)
		switch {
		case l != nil && (!searches || len(l.Searches) > 0) && !l.anyUnfinished(most):
			measured[k.Stencil]++
		case k.Alone() && (programs == nil || slices.Contains(programs, k.Name)):
			left = append(left, k)
		}
	}
	var rounds [][]*predict.Examples
	for _, k := range left {
		n := measured[k.Stencil]
		measured[k.Stencil]++
		for len(rounds) <= n {
			rounds = append(rounds, nil)
		}
		rounds[n] = append(rounds[n], k)
	}
	return rounds, nil
}

// RowsFirst returns kernels that have a row before others, each in their order: rows that are measured anew are of one
// model together sooner, and a search of a kernel whose picks were measured costs less.
func RowsFirst(list []*predict.Examples, rows []*Live) []*predict.Examples {
	var with, without []*predict.Examples
	for _, k := range list {
		if RowOf(k, rows) != nil {
			with = append(with, k)
		} else {
			without = append(without, k)
		}
	}
	return append(with, without...)
}

// RowOf returns the row of a kernel; nil if there is none.
func RowOf(k *predict.Examples, rows []*Live) *Live {
	i := slices.IndexFunc(rows, func(l *Live) bool { return l.Key() == keyOf(k) })
	if i < 0 {
		return nil
	}
	return rows[i]
}

// NewLive begins the row of a kernel.
func NewLive(k *predict.Examples) *Live {
	return &Live{Kernel: k.Name, Types: k.Types(), Sizes: k.Sizes(), Pattern: k.Pattern()}
}

// Of returns the picks of a model by what it has not learned from; nil if there are none.
func (l *Live) Of(split string) *LivePicks {
	i := slices.IndexFunc(l.Picks, func(p LivePicks) bool { return p.Split == split })
	if i < 0 {
		return nil
	}
	return &l.Picks[i]
}

// Found takes the time of a configuration, 0 if it could not run.
func (l *Live) Found(seconds float64) {
	if seconds > 0 && (l.Best == 0 || seconds < l.Best) {
		l.Best = seconds
	}
}

// share is what a time has of the best.
func (l *Live) share(seconds float64) float64 {
	if seconds == 0 {
		return 0
	}
	return l.Best / seconds
}

// first is what a run with a model's plan has of the best: that of the first pick, or of the next where one is refused,
// as a search follows a ranking until one runs.
func (l *Live) first(p *LivePicks) float64 {
	var shares []float64
	for _, s := range p.Seconds {
		shares = append(shares, l.share(s))
	}
	return predict.FirstToRun(shares)
}

// Runs counts the picks, and the trials of the search that went on from them, until one is near the best: mostRuns if
// none of those that were measured is.
func (l *Live) Runs(p *LivePicks) int {
	if p == nil {
		return mostRuns
	}
	i := slices.IndexFunc(p.Seconds, func(s float64) bool { return l.share(s) >= nearBest })
	if i < 0 {
		return mostRuns
	}
	return i + 1
}

// Until counts the trials of a search until it had so much of the best; false if it never had.
func (l *Live) Until(s *LiveSearch, part float64) (trials int, ok bool) {
	for _, step := range s.Steps {
		if l.share(step.Seconds) >= part {
			return step.Trial, true
		}
	}
	return s.Trials, false
}

// After is what a search has of the best after so many trials.
func (l *Live) After(s *LiveSearch, trials int) float64 {
	have := 0.0
	for _, step := range s.Steps {
		if step.Trial <= trials {
			have = max(have, l.share(step.Seconds))
		}
	}
	return have
}

// MostTrials are the picks and trials that are worth measuring: no more are counted.
const MostTrials = mostRuns

// ofFive is what the best of a model's first five picks has of the best.
func (l *Live) ofFive(p *LivePicks) float64 {
	best := 0.0
	for _, s := range p.Seconds[:min(judgedPicks, len(p.Seconds))] {
		best = max(best, l.share(s))
	}
	return best
}

// liveMetrics are what is judged of live picks. What is not known of a kernel is not a number.
var liveMetrics = []struct {
	name      string
	geometric bool
	fewer     bool // is better
	of        func(l *Live, p *LivePicks) float64
}{
	{"first pick", true, false, (*Live).first},
	{"first pick can run", false, false, func(_ *Live, p *LivePicks) float64 {
		if p.Seconds[0] > 0 {
			return 1
		}
		return 0
	}},
	{"best of 5", true, false, (*Live).ofFive},
	{"with a guard", true, false, func(l *Live, p *LivePicks) float64 {
		if l.Usual == 0 {
			return math.NaN()
		}
		return max(l.ofFive(p), l.share(l.Usual))
	}},
	{"runs to 90 %", false, true, func(l *Live, p *LivePicks) float64 { return float64(l.Runs(p)) }},
}

// untilPart is the part of the best to which the trials of searches are counted.
const untilPart = 0.95

// SumUpLive returns the figures of live picks and searches: means over stencils of the means of their kernels, as
// Evaluate has them.
//
// told is the model that run tells intervals by, nil if there is none. How many live first picks lie in those is
// counted beside how many lie in intervals of live picks. Of the picks that it tells by, one is of the very kernel.
func SumUpLive(list []*Live, h *HeldOut, told *predict.Model, commit string) ([]Row, error) {
	kernels := map[string]*predict.Examples{}
	for _, k := range h.All {
		kernels[keyOf(k)] = k
	}
	for _, l := range list {
		if kernels[l.Key()] == nil {
			return nil, fmt.Errorf("%s has no recording", l.Key())
		}
	}
	stencil := func(l *Live) string { return kernels[l.Key()].Stencil }
	var rows []Row
	splits := slices.DeleteFunc(slices.Clone(Splits), func(s Split) bool { return !h.wants(s) })
	for _, split := range splits {
		for _, m := range liveMetrics {
			var values []float64
			var groups []string
			for _, l := range list {
				p := l.Of(split.Name)
				if p == nil || len(p.Seconds) == 0 {
					continue
				}
				if v := m.of(l, p); !math.IsNaN(v) {
					values, groups = append(values, scale(v, m.geometric)), append(groups, stencil(l))
				}
			}
			if len(values) == 0 {
				continue
			}
			r := sumUp(values, groups, m.geometric, m.fewer)
			r.Experiment, r.Model, r.Split, r.Metric = "live", liveModel(list), split.Name, m.name
			r.Device, r.Commit = list[0].Device, commit
			rows = append(rows, r)
		}
	}
	for _, split := range splits {
		var picks []predict.Pick
		var intervals []predict.Expectation // that are told
		var groups []string
		for _, l := range list {
			p := l.Of(split.Name)
			if p == nil || len(p.Seconds) == 0 {
				continue
			}
			picks = append(picks, predict.Pick{Fraction: l.first(p), Distance: h.distance(kernels[l.Key()], split)})
			if told != nil {
				intervals = append(intervals, predict.ExpectAt(told.Picks, h.distanceBy(told, kernels[l.Key()], split)))
			}
			groups = append(groups, stencil(l))
		}
		if len(picks) == 0 {
			continue
		}
		r := Row{
			Experiment: "live", Model: liveModel(list), Split: split.Name, Metric: inInterval,
			Device: list[0].Device, Commit: commit,
		}
		rows = append(rows, coverage(picks, groups, r))
		if told != nil {
			r.Metric = "in the interval that is told"
			rows = append(rows, covered(picks, intervals, groups, r))
		}
	}
	for _, m := range searchMetrics {
		if !h.wants(searched) {
			break
		}
		var values []float64
		var groups []string
		for _, l := range list {
			without, with := l.search(false), l.search(true)
			if without == nil || with == nil {
				continue
			}
			values = append(values, scale(m.of(l, without, with), m.geometric))
			groups = append(groups, stencil(l))
		}
		if len(values) == 0 {
			continue
		}
		r := sumUp(values, groups, m.geometric, m.fewer)
		r.Experiment, r.Model, r.Split, r.Metric = "search", m.model, searched.Name, m.name
		r.Device, r.Commit = list[0].Device, commit
		rows = append(rows, r)
	}
	if !h.On(list[0].Device) {
		for i := range rows { // models know nothing of this device
			rows[i].Experiment = "transfer, " + rows[i].Experiment
		}
	}
	return rows, nil
}

// liveModel is the model that picked.
func liveModel(list []*Live) string {
	for _, l := range list {
		for i := range l.Picks {
			if l.Picks[i].Lowered == 0 {
				return Own
			}
		}
	}
	return Both
}

// fewTrials are those after which searches are compared: a model is calibrated by as many where it knows nothing of the
// device.
const fewTrials = 20

// searchMetrics are what is judged of two searches of a kernel, one without and one with a prior. A search that never
// came so far counts as all its trials.
var searchMetrics = []struct {
	model, name      string
	geometric, fewer bool
	of               func(l *Live, without, with *LiveSearch) float64
}{
	{"auto", toPart, true, true, func(l *Live, without, _ *LiveSearch) float64 { return l.trials(without) }},
	{prior, toPart, true, true, func(l *Live, _, with *LiveSearch) float64 { return l.trials(with) }},
	{"times fewer", toPart, true, false, func(l *Live, without, with *LiveSearch) float64 {
		return l.trials(without) / l.trials(with)
	}},
	{"auto", afterFew, true, false, func(l *Live, without, _ *LiveSearch) float64 {
		return l.After(without, fewTrials)
	}},
	{prior, afterFew, true, false, func(l *Live, _, with *LiveSearch) float64 { return l.After(with, fewTrials) }},
	{"auto", atTheEnd, true, false, func(l *Live, without, _ *LiveSearch) float64 {
		return l.After(without, without.Trials)
	}},
	{prior, atTheEnd, true, false, func(l *Live, _, with *LiveSearch) float64 { return l.After(with, with.Trials) }},
}

const (
	prior    = "auto with a prior"
	atTheEnd = "after all trials"
)

var (
	toPart   = fmt.Sprintf("trials to %.0f %%", 100*untilPart)
	afterFew = fmt.Sprintf("after %d trials", fewTrials)
)

// trials are those of a search until it was near the best.
func (l *Live) trials(s *LiveSearch) float64 {
	n, _ := l.Until(s, untilPart)
	return float64(n)
}

// search returns the kernel's search with or without a prior; nil if it was not made.
func (l *Live) search(prior bool) *LiveSearch {
	i := slices.IndexFunc(l.Searches, func(s LiveSearch) bool { return s.Trials > 0 && (s.Prior > 0) == prior })
	if i < 0 {
		return nil
	}
	return &l.Searches[i]
}
