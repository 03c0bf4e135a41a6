package contest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/eval/replay"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// TunerOptions says what to search and to replay.
type TunerOptions struct {
	Folder   string // of the recordings
	Subjects []*Subject
	Live     time.Duration // for each search of a whole space; 0 searches nothing
	Anew     bool          // search again where a search was made in an earlier call
	Seeds    int           // of the replays; 0 replays nothing

	Open   func(context.Context) (measure.Lab, error)
	Own    func() replay.Clock // of a strategy's own time; nil lets none pass
	Clock  func() time.Time    // nil for the real one
	Commit string
	Log    io.Writer
}

// TunerRow compares a search of a whole space with the best of its recorded part, and has the results of replays.
type TunerRow struct {
	Program string `json:"program"`
	DType   string `json:"dtype"`
	Grid    string `json:"grid"`
	liveSearch
	Known     float64  `json:"best_known_gstencils"` // of the recorded part
	KnownPlan string   `json:"best_known"`
	OfKnown   float64  `json:"fraction_of_best_known"`
	Seen      float64  `json:"best_seen_gstencils"` // of any search, the recorded part included
	SeenPlan  string   `json:"best_seen"`
	OfSeen    float64  `json:"fraction_of_best_seen"`
	Recorded  int      `json:"recorded_configurations"`
	Complete  bool     `json:"recording_complete"`
	Replays   []Replay `json:"replays,omitempty"`
}

// Tuner does what the options ask for and earlier calls have not done. It returns a row for each subject that was
// recorded and searched, in this call or an earlier one.
func Tuner(ctx context.Context, o TunerOptions) ([]TunerRow, error) {
	if o.Live > 0 {
		if err := os.MkdirAll(o.Folder, 0o777); err != nil {
			return nil, err
		}
	} else if err := checkFolder(o.Folder); err != nil {
		return nil, err
	}
	s := &recorder{folder: o.Folder, commit: o.Commit, log: o.Log, open: o.Open, clock: o.Clock}
	recordings, err := openRecordings(o.Folder, o.Subjects)
	if err != nil {
		return nil, err
	}
	failed := s.searchAll(ctx, &o, recordings)
	rows := []TunerRow{}
	for i, x := range o.Subjects {
		row, err := s.row(ctx, x, recordings[i], &o)
		if err != nil {
			return rows, errors.Join(failed, err)
		}
		if row != nil {
			rows = append(rows, *row)
		}
	}
	if len(rows) == 0 && failed == nil {
		fmt.Fprintf(s.log, "nothing to report yet: no program has been both recorded and searched in %s\n", o.Folder)
	}
	return rows, failed
}

// searchAll searches the whole spaces.
func (s *recorder) searchAll(ctx context.Context, o *TunerOptions, recordings []*recordingFile) error {
	for i, x := range o.Subjects {
		if o.Live == 0 {
			break
		}
		if _, err := os.Stat(s.livePath(x)); err == nil && !o.Anew {
			continue
		}
		if err := s.search(ctx, x, recordings[i], o.Live); err != nil {
			return err
		}
	}
	return nil
}

// row returns the row of a subject; nil if it was not recorded or not searched.
func (s *recorder) row(ctx context.Context, x *Subject, b *recordingFile, o *TunerOptions) (*TunerRow, error) {
	r := &TunerRow{Program: x.Program, DType: x.DType, Grid: x.Grid(), Recorded: len(b.list), Complete: b.complete()}
	best := b.best()
	if err := readJSON(s.livePath(x), &r.liveSearch); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	r.Plan = schedule.RespellText(r.Plan)
	if best == nil || r.Strategy == "" {
		return nil, nil
	}
	if r.Set = r.Set.Complete(); r.Set != b.about.Set {
		return nil, fmt.Errorf("%s was searched under %s, and recorded under %s: they cannot be compared",
			x.Name(), r.Definitions(), b.about.Definitions())
	}
	r.Known, r.KnownPlan = x.points()/best.Seconds/1e9, best.Config
	r.Seen, r.SeenPlan = r.Known, r.KnownPlan
	if z := b.about.Seen; z != nil && z.GStencils > r.Seen {
		r.Seen, r.SeenPlan = z.GStencils, z.Plan
	}
	r.OfKnown, r.OfSeen = r.GStencils/r.Known, r.GStencils/r.Seen
	var err error
	r.Replays, err = s.replays(ctx, x, b, o)
	return r, err
}

// keptReplays holds replays with the size of the recording that they were made of.
type keptReplays struct {
	Recorded int      `json:"recorded"`
	Replays  []Replay `json:"replays"`
}

// replays runs the replays that are asked for. If there are none it returns those of an earlier call, unless more
// was recorded since.
func (s *recorder) replays(ctx context.Context, x *Subject, b *recordingFile, o *TunerOptions) ([]Replay, error) {
	path := filepath.Join(s.folder, x.Name()+".replay.json")
	if o.Seeds == 0 {
		var k keptReplays
		err := readJSON(path, &k)
		if errors.Is(err, fs.ErrNotExist) || k.Recorded != len(b.list) {
			return nil, nil
		}
		return k.Replays, err
	}
	list, err := replays(ctx, b, o.Seeds, o.Own)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", x.Name(), err)
	}
	return list, writeJSON(path, &keptReplays{len(b.list), list})
}

// WriteTuner prints the rows as a table.
func WriteTuner(w io.Writer, rows []TunerRow) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t,
		"program\ttype\tGStencil/s\tof best known\tof best seen\tconfigurations\ta second\tdevice idle\tchecking "+
			"again\trecorded\treplays\n")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%.1f\t%.3f\t%.3f\t%d\t%.1f\t%.0f %%\t%.0f %%\t%d\t", r.Program, r.DType, r.GStencils,
			r.OfKnown, r.OfSeen, r.Trials, r.Rate, 100*r.Idle, 100*r.Rechecked, r.Recorded)
		for i, p := range r.Replays {
			if i > 0 {
				fmt.Fprintf(t, "; ")
			}
			last := p.Reached[len(p.Reached)-1]
			fmt.Fprintf(t, "%s %.3f, %.3f after %g s", p.Strategy, p.Score, last.Fraction, last.Seconds)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
