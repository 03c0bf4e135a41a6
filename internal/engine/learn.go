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
	"github.com/gridloom/gridloom/internal/run/quantity"
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

// Learned is a model, what was left out of it, and what it has learned from unchecked.
type Learned struct {
	*predict.Model
	Unread    []predict.Unread
	Others    int // sessions of other versions
	Changed   int // trials whose kernel today's compiler makes otherwise
	Unchecked int // trials of which nothing tells whether it does; they are learned from
}

// recordingEnding is that of recordings' names.
const recordingEnding = ".jsonl.gz"

// Learn makes a model. Trials of other versions are left out.
func Learn(ctx context.Context, r LearnRequest) (*Learned, error) {
	var found *predict.Found
	var err error
	if r.Recordings != "" {
		found, err = recordings(ctx, r.Recordings, r.Device)
	} else {
		found, err = predict.Read(ctx, r.Store, store.Filter{Device: r.Device})
	}
	if err != nil {
		return nil, err
	}
	out := &Learned{Unread: found.Unread, Others: found.Others}
	if out.Changed, err = predict.DropChanged(ctx, found.Kernels); err != nil {
		return nil, err
	}
	out.Changed += found.Gone
	list := slices.DeleteFunc(found.Kernels, func(k *predict.Recorded) bool { return len(k.Trials) == 0 })
	for _, k := range list {
		out.Unchecked += k.Unchecked()
	}
	if err := oneModel(list); err != nil {
		return nil, err
	}
	left := out.LeftOut()
	if len(list) == 0 && len(out.Unread) > 0 {
		u := out.Unread[0]
		left = append(left, fmt.Sprintf("%d sessions cannot be read, such as %s of %s", len(out.Unread), u.Session,
			u.Program))
		return nil, fmt.Errorf("nothing to learn from: %s: %w", strings.Join(left, "; "), u.Err)
	}
	if len(list) == 0 && len(left) > 0 {
		return nil, fmt.Errorf("nothing to learn from: %s", strings.Join(left, "; "))
	}
	if out.Model, err = predict.Train(ctx, list, r.Progress); err != nil && len(left) > 0 && ctx.Err() == nil {
		err = fmt.Errorf("%w (%s)", err, strings.Join(left, "; ")) // with those there might be enough
	}
	return out, err
}

// LeftOut says what was left out but for sessions that cannot be read, and how much of each.
func (l *Learned) LeftOut() []string {
	var list []string
	if l.Changed > 0 {
		list = append(list, fmt.Sprintf("%s left out: today's compiler makes other kernels of them",
			quantity.Count(l.Changed, "trial")))
	}
	if l.Others > 0 {
		list = append(list, fmt.Sprintf("%s left out: of other versions of gridloom",
			quantity.Count(l.Others, "session")))
	}
	return list
}

// Recordings returns the kernels that the recordings in a folder have, of one device or of processors.
func Recordings(ctx context.Context, folder, device string) ([]*predict.Recorded, error) {
	found, err := recordings(ctx, folder, device)
	if err != nil {
		return nil, err
	}
	list := found.Kernels
	if len(list) == 0 {
		return nil, requestf("recordings "+folder, "no kernel of the current versions was recorded")
	}
	return list, oneModel(list)
}

// recordings reads recordings through a store of their own.
func recordings(ctx context.Context, folder, device string) (*predict.Found, error) {
	own, err := disk.NewFolder("", "gridloom-learn-")
	if err != nil {
		return nil, err
	}
	defer own.Remove()
	s, err := sqlite.Open(ctx, filepath.Join(own.Path, "store.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := importAll(ctx, s, folder); err != nil {
		return nil, err
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
