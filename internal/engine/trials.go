package engine

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/gridloom/gridloom/internal/run/disk"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/sqlite"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// TrialsRequest asks for trials of a kernel, the only one of its program, in a store of their own: no search knows what
// another has measured.
type TrialsRequest struct {
	Kernel *predict.Kernel
	Device *Device // opened ToTune
	Commit string  // of this Gridloom
	Path   string  // of the recording of all that was tried
}

// Trials does work that tries configurations. When it is done, a recording is written.
func Trials(ctx context.Context, r TrialsRequest, work func(tuner.Try) error) error {
	own, err := disk.NewFolder("", "gridloom-trials-")
	if err != nil {
		return err
	}
	defer own.Remove()
	s, err := sqlite.Open(ctx, filepath.Join(own.Path, "store.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	err = work(func(trials int, prior tuner.PriorOf, told func(o *tuner.Outcome, n int) (enough bool)) error {
		ctx, end := context.WithCancelCause(ctx)
		defer end(nil)
		n := 0
		o := tuner.Options{
			Bound: r.Kernel.Bound, Set: settings(r.Kernel.Bound), Strategy: "auto", Seed: 1, MaxDepth: 1,
			Trials: trials, PriorOf: prior, Events: func(e tuner.Event) {
				if e.Kind == tuner.EventTrial && e.Trial.Kernel == r.Kernel.ID {
					n++
					if told(e.Trial, n) {
						end(errEnough)
					}
				}
			},
		}
		t, err := Tune(ctx, TuneRequest{
			Options: o, Device: r.Device, Store: s, NoHints: true, Own: true, Commit: r.Commit,
		})
		if err == nil && t.Interrupted {
			err = context.Cause(ctx)
		}
		if errors.Is(context.Cause(ctx), errEnough) && (errors.Is(err, errEnough) || errors.Is(err, context.Canceled)) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return writeRecording(ctx, s, store.Filter{}, r.Path)
}

// errEnough ends trials of which enough were made.
var errEnough = errors.New("enough was tried")

// writeRecording writes what a store has as a recording.
func writeRecording(ctx context.Context, s store.Store, f store.Filter, path string) error {
	return gridio.WriteFile(path, func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		if err := store.ExportBrief(ctx, s, z, f); err != nil {
			return err
		}
		return z.Close()
	})
}
