package contest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/eval/bench"
	"github.com/gridloom/gridloom/internal/tune/eval/replay"
	"github.com/gridloom/gridloom/internal/tune/promising"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// ClassesOptions says which recordings show what it saves to try only what is promising.
type ClassesOptions struct {
	Folder   string // of the recordings
	Subjects []*Subject
	Machine  *machine.Machine // that they were recorded on
	Seeds    int
	Commit   string
	Log      io.Writer
}

// ClassesRow is what the rule of a program's class leaves of its recording, and how far searches get by it.
type ClassesRow struct {
	Program string `json:"program"`
	DType   string `json:"dtype"`
	Grid    string `json:"grid"`
	Class   string `json:"class"`
	Unroll  int64  `json:"unroll"` // the most cells of a thread along an axis
	// Recorded are the configurations, and Promising those that the rule leaves. OfBest is the speed of the best of
	// these over that of the best of all.
	Recorded  int     `json:"recorded"`
	Promising int     `json:"promising"`
	OfBest    float64 `json:"best_of_promising"`
	// Searches are those that went on until they had near of the best speed of all.
	Searches []ClassSearch `json:"searches"`
	Device   string        `json:"device"`
	Commit   string        `json:"commit"`
}

// ClassSearch is a strategy on a recording, or on what of it is promising, by medians over the seeds.
type ClassSearch struct {
	Strategy  string  `json:"strategy"`
	Promising bool    `json:"promising_only"`
	Trials    float64 `json:"trials"`        // until the speed was reached; of the searches that reached it
	Seconds   float64 `json:"seconds"`       // by the clock of the recording
	Reached   float64 `json:"share_reached"` // of the searches
	Final     float64 `json:"of_best"`       // the best found of all, over the best speed
}

// Key tells rows apart that measure different things.
func (r ClassesRow) Key() string { return r.Program + " " + r.DType + " " + r.Device }

// Classes replays recordings: with all configurations by auto and by hierarchical, and by hierarchical with those alone
// that are promising.
func Classes(ctx context.Context, o ClassesOptions) ([]ClassesRow, error) {
	var rows []ClassesRow
	for _, x := range o.Subjects {
		row, err := o.row(ctx, x)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", x.Name(), err)
		}
		fmt.Fprintf(o.Log, "%s is %s in theory: %d of %d configurations are promising, with %.3f of the best speed\n",
			x.Name(), row.Class, row.Promising, row.Recorded, row.OfBest)
		rows = append(rows, *row)
	}
	return rows, nil
}

func (o *ClassesOptions) row(ctx context.Context, x *Subject) (*ClassesRow, error) {
	b, err := openRecording(o.Folder, x.Name())
	if err != nil {
		return nil, err
	}
	if b.best() == nil {
		return nil, errors.New("nothing is recorded: bench tuner does that")
	}
	p := x.bound.Program
	facts := analysis.Analyze(p, x.bound)
	facts.On(o.Machine)
	rule := promising.For(promising.InTheory(facts.Calls[0]))
	choices, err := lower.Choices(p, lower.Options{Target: lower.GPU, Bound: x.bound, Sized: true})
	if err != nil {
		return nil, err
	}
	kept := rule.Keep(choices[0].Space, p.Axes)
	few := &recordingFile{folder: b.folder, name: b.name, about: b.about, index: map[string]int{}}
	for _, t := range b.list {
		c, err := schedule.ParseConfig(t.Config)
		if err != nil {
			return nil, err
		}
		if c, err = choices[0].Space.Complete(c); err == nil && kept.Check(c) == nil {
			few.add(t)
		}
	}
	row := &ClassesRow{
		Program: x.Program, DType: x.DType, Grid: x.Grid(), Class: string(rule.Class), Unroll: rule.Unroll,
		Recorded: len(b.list), Promising: len(few.list), Device: b.about.Device, Commit: o.Commit,
	}
	if few.best() == nil {
		return nil, errors.New("nothing that was recorded is promising and works")
	}
	best := b.best().Seconds
	row.OfBest = thousandths(best / few.best().Seconds)
	for _, s := range []struct {
		strategy string
		of       *recordingFile
	}{{defaultStrategy, b}, {"hierarchical", b}, {"hierarchical", few}} {
		r, err := s.of.replayable()
		if err != nil {
			return nil, err
		}
		found, err := searches(ctx, r, s.strategy, o.Seeds, best)
		if err != nil {
			return nil, err
		}
		found.Promising = s.of == few
		row.Searches = append(row.Searches, *found)
	}
	return row, nil
}

// searches runs a strategy on a recording with many seeds, each until it has near of a best time.
func searches(ctx context.Context, r *replay.Recording, strategy string, seeds int,
	best float64) (*ClassSearch, error) {
	make := stoppingAt(best/near, func(p search.Problem) (search.Strategy, error) { return search.New(strategy, p) })
	space := replay.NewSpace(r)
	trials, seconds, finals := []float64{}, []float64{}, slices.Repeat([]float64{0}, seeds)
	reached := slices.Repeat([]replay.Step{{Trial: -1}}, seeds)
	err := parallel(ctx, seeds, nil, func(i int, _ replay.Clock) error {
		run, err := replay.Search(ctx, space, make, uint64(i)+1, math.Inf(1), nil)
		if err != nil {
			return err
		}
		for n, s := range run.Steps {
			t := &r.Trials[s.Trial]
			if t.Failure != "" {
				continue
			}
			finals[i] = max(finals[i], best/t.Seconds)
			if reached[i].Trial < 0 && t.Seconds <= best/near {
				reached[i] = replay.Step{Time: s.Time, Trial: n + 1}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, s := range reached {
		if s.Trial >= 0 {
			trials, seconds = append(trials, float64(s.Trial)), append(seconds, s.Time)
		}
	}
	c := &ClassSearch{
		Strategy: strategy, Reached: thousandths(float64(len(trials)) / float64(seeds)),
		Final: thousandths(middle(finals)),
	}
	if len(trials) > 0 {
		c.Trials, c.Seconds = middle(trials), thousandths(middle(seconds))
	}
	return c, nil
}

// middle returns the median.
func middle(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// ReadClasses returns the rows of a file; none if there is no file.
func ReadClasses(path string) ([]ClassesRow, error) {
	return bench.ReadRows[ClassesRow](path, "bench classes")
}

// WriteClasses prints rows as a table in Markdown.
func WriteClasses(w io.Writer, rows []ClassesRow) {
	fmt.Fprintf(w, "Trials and seconds until %v of the best recorded speed is reached (medians; share of the "+
		"searches):\n\n", near)
	fmt.Fprintln(w, "| program | type | class | promising | best of them | auto | hierarchical | "+
		"hierarchical, promising |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for _, r := range rows {
		fmt.Fprintf(w, "| %s | %s | %s | %d of %d | %.3f |", r.Program, r.DType, r.Class, r.Promising, r.Recorded,
			r.OfBest)
		for _, s := range r.Searches {
			if s.Reached == 0 {
				fmt.Fprintf(w, " never (%.3f) |", s.Final)
				continue
			}
			fmt.Fprintf(w, " %.0f, %.1f s (%.2f) |", s.Trials, s.Seconds, s.Reached)
		}
		fmt.Fprintln(w)
	}
}
