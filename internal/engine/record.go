package engine

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// RecordRequest asks for a recording of a program, which models learn from: its kernels with configurations that all
// programs are recorded with, and then with some that a search chooses.
type RecordRequest struct {
	Bound  *ir.Binding
	Source string
	Device *Device // opened ToTune
	Store  store.Store
	Path   string // of the recording: lines of JSON, compressed
	Commit string // of this Gridloom

	Same     int // configurations of each kernel that all programs have
	Adaptive int // that a search chooses after those
	// Likely are, in the place of those, configurations of each kernel from the best of a model's ranking: no two
	// programs have the same ones.
	Likely int
	Model  string // its file; "" is the one of the device that comes with Gridloom
	Events func(tuner.Event)
}

// Recorded reports whether a recording of the present versions is there, whole. One of another device is an error, and
// one that is damaged, too: to record over it would lose the trials that can be read of it, or a device's time where
// the whole file lies elsewhere and was cut as it was copied.
func (r *RecordRequest) Recorded(ctx context.Context) (bool, error) {
	f, err := os.Open(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	x, err := sessionOf(f)
	if err != nil {
		return false, &gridio.Error{Path: r.Path, Text: fmt.Sprintf("it is no recording: %v", err),
			Hint: "move it away to record anew"}
	}
	d := measure.DeviceOf(r.Device.Target)
	if x.Device.API != d.API || x.Device.Name != d.Name {
		return false, &gridio.Error{Path: r.Path,
			Text: fmt.Sprintf("it was recorded on %s, and this is %s", x.Device.Name, d.Name),
			Hint: "give another folder"}
	}
	if !x.IsCurrent() {
		return false, nil
	}
	if err := whole(ctx, f); ctx.Err() != nil {
		return false, context.Cause(ctx)
	} else if err != nil {
		return false, &gridio.Error{Path: r.Path, Text: fmt.Sprintf("the recording is damaged: %v", err),
			Hint: "copy it anew, or move it away and the same command records it anew"}
	}
	return true, nil
}

// whole returns what is wrong with a recording: it must be read to its end, where its checksum is, as those who learn
// from it read it, and have a trial. Record writes the file at once when all is measured, so one that is whole has all.
func whole(ctx context.Context, f io.ReadSeeker) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	found, err := store.Inspect(ctx, f, store.Source{})
	if err == nil && found.Trials == 0 {
		return errors.New("it has no trial") // Record writes no session without one
	}
	return err
}

// sessionOf reads the session that a recording begins with.
func sessionOf(r io.Reader) (*session.Session, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	lines := json.NewDecoder(z)
	for range 2 { // the first says what the file is
		var line struct {
			Session *session.Session `json:"session"`
		}
		if err := lines.Decode(&line); err != nil {
			return nil, err
		}
		if line.Session != nil {
			return line.Session, nil
		}
	}
	return nil, errors.New("no session stands at its beginning")
}

// Record makes a recording. What is measured is in the store before anything else is measured; the file is there when
// all of it is.
func Record(ctx context.Context, r RecordRequest) (*Tuned, error) {
	prior, err := r.prior()
	if err != nil {
		return nil, err
	}
	o := tuner.Options{
		Bound: r.Bound, Set: settings(r.Bound), Strategy: "auto", Seed: 1, MaxDepth: 1,
		Trials: r.configurations() * kernels(r.Bound.Program), Events: r.Events, PriorOf: prior,
	}
	t, err := Tune(ctx, TuneRequest{
		Options: o, Device: r.Device, Store: r.Store, Source: r.Source, NoHints: true, Own: true, Commit: r.Commit,
	})
	if err != nil {
		return t, err
	}
	if t.Interrupted {
		return t, context.Cause(ctx)
	}
	return t, writeRecording(ctx, r.Store, store.Filter{Session: t.Session.ID}, r.Path)
}

// configurations are those of each kernel.
func (r *RecordRequest) configurations() int {
	if r.Likely > 0 {
		return r.Likely
	}
	return r.Same + r.Adaptive
}

// prior returns what the configurations of a kernel begin with.
func (r *RecordRequest) prior() (tuner.PriorOf, error) {
	if r.Likely == 0 {
		return func(_ context.Context, _ *ir.Call, s schedule.Space) (tuner.Prior, error) {
			return tuner.Prior{First: predict.Candidates(s, r.Same)}, nil
		}, nil
	}
	m, err := modelOn(r.Device.Target, r.Model)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, noModel("likely", r.Device.Target)
	}
	return func(_ context.Context, call *ir.Call, s schedule.Space) (tuner.Prior, error) {
		k := &predict.Kernel{Bound: r.Bound, Call: call, Space: s, Target: r.Device.Target}
		return tuner.Prior{First: m.Likely(k, r.Likely)}, nil
	}, nil
}

// kernels is how many kernels of a program are searched at most.
func kernels(p *ir.Program) int { return max(1, len(p.Calls)) }

// settings returns the sizes and scalars of a program as a user would give them.
func settings(b *ir.Binding) map[string]string {
	set := map[string]string{}
	for _, z := range sizesOf(b) {
		set[z.Name] = fmt.Sprint(z.Value)
	}
	return set
}
