package engine

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/run/disk"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/sqlite"
)

// LearnRequest asks for a model of what was measured on a device.
type LearnRequest struct {
	Store      store.Store // what is learned from, unless there are recordings
	Recordings string      // a folder, with its folders: files that Record has written
	Device     string      // a part of its name; "" if there is only one
	Progress   func(done, all int)
}

// Learned is a model, and what was left out of it.
type Learned struct {
	*predict.Model
	Unread  []predict.Unread
	Changed int // trials whose kernel today's compiler makes otherwise
}

// recordingEnding is that of recordings' names.
const recordingEnding = ".jsonl.gz"

// Learn makes a model. Trials of other versions are left out.
func Learn(ctx context.Context, r LearnRequest) (*Learned, error) {
	var list []*predict.Recorded
	var err error
	out := &Learned{}
	if r.Recordings != "" {
		list, out.Unread, err = recordings(ctx, r.Recordings, r.Device)
	} else {
		list, out.Unread, err = predict.Read(ctx, r.Store, store.Filter{Device: r.Device})
	}
	if err != nil {
		return nil, err
	}
	if out.Changed, err = predict.DropChanged(ctx, list); err != nil {
		return nil, err
	}
	for _, k := range list {
		out.Changed += k.Gone
	}
	list = slices.DeleteFunc(list, func(k *predict.Recorded) bool { return len(k.Trials) == 0 })
	if err := oneModel(list); err != nil {
		return nil, err
	}
	if len(list) == 0 && len(out.Unread) > 0 {
		u := out.Unread[0]
		return nil, fmt.Errorf("nothing to learn from: %d sessions cannot be read, such as %s of %s: %w",
			len(out.Unread), u.Session, u.Program, u.Err)
	}
	out.Model, err = predict.Train(ctx, list, r.Progress)
	return out, err
}

// Recordings returns the kernels that the recordings in a folder have, of one device or of processors.
func Recordings(ctx context.Context, folder, device string) ([]*predict.Recorded, error) {
	list, _, err := recordings(ctx, folder, device)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, requestf("recordings "+folder, "no kernel of the current versions was recorded")
	}
	return list, oneModel(list)
}

// recordings reads recordings through a store of their own.
func recordings(ctx context.Context, folder, device string) ([]*predict.Recorded, []predict.Unread, error) {
	own, err := disk.NewFolder("", "gridloom-learn-")
	if err != nil {
		return nil, nil, err
	}
	defer own.Remove()
	s, err := sqlite.Open(ctx, filepath.Join(own.Path, "store.db"), sqlite.Options{})
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	if err := importAll(ctx, s, folder); err != nil {
		return nil, nil, err
	}
	return predict.Read(ctx, s, store.Filter{Device: device})
}

// oneModel refuses kernels that no model is made of together.
func oneModel(list []*predict.Recorded) error {
	if err := predict.OneModel(list); err != nil {
		return requestf("device", "%v: name one of them", err)
	}
	return nil
}

// importAll imports all recordings in a folder and its folders, in the order of their names.
func importAll(ctx context.Context, s store.Store, folder string) error {
	found := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return gridio.Named(path, err)
		}
		if d.IsDir() || !strings.HasSuffix(path, recordingEnding) {
			return nil
		}
		found++
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := store.Import(ctx, s, f, store.Source{}); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return ctx.Err()
	})
	if err == nil && found == 0 {
		return requestf("recordings "+folder, "there is no recording: no name ends in %s", recordingEnding).
			hintf("gridloom record makes them")
	}
	return err
}
