package contest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/eval/replay"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/tuner"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// recordingFile holds the outcomes of a sub-space's configurations in a T4 file, and how they were measured in a
// file beside it. It implements tuner.Log, so that known configurations are not measured again.
type recordingFile struct {
	folder, name string
	about        about
	list         []tuner.Outcome
	index        map[string]int // of list, by configuration
	unsaved      int
}

// about is what the T4 file has no fields for.
type about struct {
	Program  string        `json:"program"`
	DType    string        `json:"dtype"`
	Grid     string        `json:"grid"`
	Sizes    session.Sizes `json:"sizes,omitempty"`
	Device   string        `json:"device"`
	Driver   string        `json:"driver,omitempty"`
	Compiler string        `json:"compiler"`
	Workers  int           `json:"workers"` // that compiled
	Commit   string        `json:"commit"`  // of the last call that measured
	versions.Set
	Configurations int64  `json:"configurations"`
	Space          string `json:"space,omitempty"` // the restrictions that leave these
	Recorded       int    `json:"recorded"`
	// Seen is the fastest plan that any search of the program's whole space found.
	Seen *fastestSeen `json:"seen,omitempty"`
}

// respell brings what was written in former spellings into those of today.
func (a *about) respell() {
	parts := strings.Split(a.Space, "; ")
	for i, text := range parts {
		parts[i] = schedule.LimitTo("", text).Text
	}
	a.Space = strings.Join(parts, "; ")
	if a.Seen != nil {
		a.Seen.Plan = schedule.RespellText(a.Seen.Plan)
	}
}

// fastestSeen is a plan and its speed.
type fastestSeen struct {
	GStencils float64 `json:"gstencils"`
	Plan      string  `json:"plan"`
	By        string  `json:"by"`
}

// saveEvery is the number of outcomes after which the file is saved: a killed call loses at most these.
const saveEvery = 200

// recordingEnd ends the names of recordings.
const recordingEnd = ".t4.json.gz"

func (b *recordingFile) path() string      { return filepath.Join(b.folder, b.name+recordingEnd) }
func (b *recordingFile) aboutPath() string { return filepath.Join(b.folder, b.name+".json") }

// openRecording reads a recording, which may be empty.
func openRecording(folder, name string) (*recordingFile, error) {
	b := &recordingFile{folder: folder, name: name, index: map[string]int{}}
	if err := readJSON(b.aboutPath(), &b.about); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	b.about.respell()
	r, err := replay.ReadFile(b.path(), nil)
	if errors.Is(err, fs.ErrNotExist) {
		if b.about.Program == "" { // neither file exists
			b.about.Set = versions.Current()
		}
		b.about.Set = b.about.Complete()
		return b, nil
	}
	if err != nil {
		return nil, err
	}
	b.about.Set = b.about.Complete()
	for i := range r.Trials {
		t := &r.Trials[i]
		c, err := schedule.ParseConfig(r.Text(t.Config))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.path(), err)
		}
		b.add(outcome(c.String(), t))
	}
	return b, nil
}

// checkFolder refuses a folder of recordings that is not there.
func checkFolder(folder string) error {
	if _, err := os.Stat(folder); err != nil {
		return fmt.Errorf("there is nothing to replay or to report: %w", err)
	}
	return nil
}

// openRecordings reads those of some subjects.
func openRecordings(folder string, subjects []*Subject) ([]*recordingFile, error) {
	list := make([]*recordingFile, len(subjects))
	for i, x := range subjects {
		var err error
		if list[i], err = openRecording(folder, x.Name()); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// normalise writes configurations as a space does, and drops those that are no longer in it.
func (b *recordingFile) normalise(s schedule.Space) {
	list := b.list
	b.list, b.index = nil, map[string]int{}
	for _, o := range list {
		c, err := schedule.ParseConfig(o.Config)
		if err != nil {
			continue
		}
		if c, err = s.Complete(c); err == nil {
			o.Config = c.String()
			b.add(o)
		}
	}
}

func (b *recordingFile) add(o tuner.Outcome) {
	if _, ok := b.index[o.Config]; ok {
		return
	}
	b.index[o.Config] = len(b.list)
	b.list = append(b.list, o)
}

// Keep implements tuner.Log.
func (b *recordingFile) Keep(o tuner.Outcome) error {
	if o.Known || o.Config == "" {
		return nil
	}
	b.add(o)
	if b.unsaved++; b.unsaved < saveEvery {
		return nil
	}
	return b.save()
}

// Condemn implements tuner.Log.
func (b *recordingFile) Condemn(o tuner.Outcome) error {
	i, ok := b.index[o.Config]
	if !ok {
		return fmt.Errorf("%s: %s is not recorded", b.path(), o.Config)
	}
	b.list[i] = o
	return b.save()
}

// Known implements tuner.Log.
func (b *recordingFile) Known(_, config string) (tuner.Outcome, bool) {
	i, ok := b.index[config]
	if !ok {
		return tuner.Outcome{}, false
	}
	return b.list[i], true
}

// best returns the fastest configuration; nil if there is none.
func (b *recordingFile) best() *tuner.Outcome {
	var best *tuner.Outcome
	for i := range b.list {
		if o := &b.list[i]; o.Verdict == verdict.OK && (best == nil || o.Seconds < best.Seconds) {
			best = o
		}
	}
	return best
}

// complete reports whether the whole sub-space is recorded.
func (b *recordingFile) complete() bool {
	return b.about.Configurations > 0 && int64(len(b.list)) >= b.about.Configurations
}

// save writes both files.
func (b *recordingFile) save() error {
	b.unsaved = 0
	if b.best() == nil {
		return nil // there is nothing to replay
	}
	b.about.Recorded = len(b.list)
	r := b.recording()
	err := gridio.WriteFile(b.path(), func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		if err := replay.Write(z, r); err != nil {
			return err
		}
		return z.Close()
	})
	if err != nil {
		return err
	}
	return writeJSON(b.aboutPath(), &b.about)
}

// noteFastest keeps a plan if it is the fastest so far.
func (b *recordingFile) noteFastest(s fastestSeen) {
	if b.about.Seen == nil || s.GStencils > b.about.Seen.GStencils {
		b.about.Seen = &s
	}
}

// recording returns the outcomes in the form of package replay.
func (b *recordingFile) recording() *replay.Recording {
	r := &replay.Recording{Name: b.name, Kernel: b.about.Program, Device: b.about.Device, Sizes: b.about.Sizes}
	values := []map[string]uint16{}
	for i := range b.list {
		o := &b.list[i]
		t := b.trial(o)
		t.Config = slices.Repeat([]uint16{replay.Missing}, len(r.Params))
		for _, setting := range tuner.Settings(o.Config) {
			name, value := setting.Name, setting.Value
			p := slices.IndexFunc(r.Params, func(p replay.Param) bool { return p.Name == name })
			if p < 0 {
				p = len(r.Params)
				r.Params = append(r.Params, replay.Param{Name: name, Default: -1})
				values = append(values, map[string]uint16{})
				for j := range r.Trials {
					r.Trials[j].Config = append(r.Trials[j].Config, replay.Missing)
				}
				t.Config = append(t.Config, replay.Missing)
			}
			n, ok := values[p][value]
			if !ok {
				n = uint16(len(values[p]))
				values[p][value] = n
				r.Params[p].Values = append(r.Params[p].Values, written(value))
			}
			t.Config[p] = n
		}
		r.Trials = append(r.Trials, t)
	}
	return r
}

// replayable returns the recording as it would be read from its file.
func (b *recordingFile) replayable() (*replay.Recording, error) { return reread(b.recording()) }

// reread writes and reads a recording: values that no configuration has are dropped, the others are sorted.
func reread(r *replay.Recording) (*replay.Recording, error) {
	var text bytes.Buffer
	if err := replay.Write(&text, r); err != nil {
		return nil, err
	}
	out, err := replay.Read(&text, nil)
	if err != nil {
		return nil, err
	}
	out.Name = r.Name
	return out, nil
}

// written returns a value as recordings have it: a number, or a text for lists and words.
func written(text string) replay.Value {
	if v, err := schedule.ParseValue(text); err == nil && v.IsNumber() && len(v.Ints()) == 1 {
		return replay.Whole(v.Ints()[0])
	}
	return replay.Text(text)
}

// lowering is the least cost of a configuration in seconds, also of one that is refused before compilation.
const lowering = 2e-3

// trial returns an outcome as a trial of a replay. A configuration with the code of another has the same cost,
// since a replay that tries it first has to compile it.
func (b *recordingFile) trial(o *tuner.Outcome) replay.Trial {
	t := replay.Trial{Seconds: o.Seconds}
	if o.Verdict != verdict.OK {
		t.Failure, t.Seconds = o.Verdict.String(), 0
	}
	if i, ok := b.index[o.Same]; ok && o.Same != "" {
		o = &b.list[i]
	}
	t.Cost = replay.Cost{Compile: o.Compile, Framework: lowering}
	t.Resources = session.Resources{Registers: o.Registers, Spills: o.Spills, Shared: o.Shared, Blocks: o.Blocks}
	switch o.Verdict {
	case verdict.Constraint, verdict.Resources, verdict.Compiler: // it never ran: the rest of its cost was waiting
	default:
		t.Cost.Runs = max(0, o.Cost-o.Compile)
	}
	round := func(x *float64) { *x = math.Round(*x*1e9) / 1e9 } // nanoseconds
	for _, x := range []*float64{&t.Seconds, &t.Cost.Compile, &t.Cost.Runs} {
		round(x)
	}
	return t
}

// outcome is the reverse of trial.
func outcome(config string, t *replay.Trial) tuner.Outcome {
	o := tuner.Outcome{
		Config: config, Verdict: verdict.OK, Seconds: t.Seconds, Low: t.Seconds, High: t.Seconds,
		Compile: t.Cost.Compile, Cost: t.Cost.Compile + t.Cost.Runs,
	}
	q := t.Resources
	o.Resources = measure.Resources{Registers: q.Registers, Spills: q.Spills, Shared: q.Shared, Blocks: q.Blocks}
	if t.Failure == "" {
		return o
	}
	o.Seconds, o.Low, o.High = 0, 0, 0
	var err error
	if o.Verdict, err = verdict.Parse(t.Failure); err != nil {
		o.Verdict = verdict.Launch // a failure of somebody else's recording
	}
	return o
}

// maxFileBytes is the largest file that is read.
const maxFileBytes = 1 << 30

func readJSON(path string, into any) error {
	text, err := gridio.ReadSmall(path, maxFileBytes)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return gridio.WriteFile(path, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s\n", text)
		return err
	})
}
