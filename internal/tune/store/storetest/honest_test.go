package storetest

import (
	"context"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
)

// broken are stores with one mistake each, by the part of the suite that must find it.
var broken = map[string]func(*Memory) store.Store{
	"VersionsAreNotMixed": func(m *Memory) store.Store { return &mixing{m} },
	"Clusters":            func(m *Memory) store.Store { return &spread{m} },
	"Abandoned":           func(m *Memory) store.Store { return &forgetful{m} },
	"PartialMerge":        func(m *Memory) store.Store { return &halfway{m} },
	"Order":               func(m *Memory) store.Store { return &backwards{m} },
	"Absurd":              func(m *Memory) store.Store { return &gullible{m} },
	"FilterIsDefined":     func(m *Memory) store.Store { return &lax{m} },
	"Events":              func(m *Memory) store.Store { return &silent{m} },
}

// mixing takes trials of other versions for those of now.
type mixing struct{ *Memory }

func (s *mixing) Records(ctx context.Context, f store.Filter) iter.Seq2[store.Record, error] {
	f.Versions = store.AnyVersions
	return s.Memory.Records(ctx, f)
}

// spread takes no notice of clusters.
type spread struct{ *Memory }

func (s *spread) Records(ctx context.Context, f store.Filter) iter.Seq2[store.Record, error] {
	like := f.Like
	f.Like = nil
	return func(yield func(store.Record, error) bool) {
		for r, err := range s.Memory.Records(ctx, f) {
			x := *r.Session
			if like != nil {
				x.Cluster = like.Cluster
			}
			if g := (store.Filter{Like: like}); g.HasSession(&x) && !yield(r, err) {
				return
			}
		}
	}
}

// forgetful loses the last trial of a session that is taken up.
type forgetful struct{ *Memory }

func (s *forgetful) Resume(ctx context.Context, id, commit string) (store.Recorder, error) {
	x, err := s.Memory.Resume(ctx, id, commit)
	if r, ok := x.(*memoryRecorder); ok && r.next > 0 {
		r.next--
		r.of.trials = r.of.trials[:r.next]
	}
	return x, err
}

// halfway keeps what a batch has put before it failed.
type halfway struct{ *Memory }

func (s *halfway) Merge(ctx context.Context, f func(store.Batch) error) error {
	var failed error
	s.Memory.Merge(ctx, func(b store.Batch) error { failed = f(b); return nil })
	return failed
}

// backwards returns sessions from the latest.
type backwards struct{ *Memory }

func (s *backwards) Sessions(ctx context.Context, f store.Filter) iter.Seq2[session.Session, error] {
	return func(yield func(session.Session, error) bool) {
		var list []session.Session
		for x, err := range s.Memory.Sessions(ctx, f) {
			if err != nil {
				yield(x, err)
				return
			}
			list = append(list, x)
		}
		for _, x := range slices.Backward(list) {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// gullible stores what no measurement gives.
type gullible struct{ *Memory }

func (s *gullible) Begin(ctx context.Context, search session.Search) (store.Recorder, error) {
	r, err := s.Memory.Begin(ctx, search)
	return &gullibleRecorder{r}, err
}

type gullibleRecorder struct{ store.Recorder }

func (r *gullibleRecorder) Append(ctx context.Context, t *session.Trial) error {
	if t.Check() != nil {
		t.Median, t.Low, t.High, t.Samples = 1, 0, 0, nil
	}
	return r.Recorder.Append(ctx, t)
}

// lax lets pass all of a session whose trials are asked for by kernel.
type lax struct{ *Memory }

func (s *lax) Records(ctx context.Context, f store.Filter) iter.Seq2[store.Record, error] {
	f.Kernel = ""
	return s.Memory.Records(ctx, f)
}

// silent drops events.
type silent struct{ *Memory }

func (s *silent) Events(context.Context, string) iter.Seq2[session.Event, error] {
	return func(func(session.Event, error) bool) {}
}

// TestBroken runs one part of the suite on a broken store, for TestHonest.
func TestBroken(t *testing.T) {
	part := os.Getenv("STORETEST_BROKEN")
	if part == "" {
		t.Skip("it is a part of TestHonest")
	}
	Conformance(t, inMemory(broken[part]))
}

// The suite finds each mistake, in the part that is for it.
func TestHonest(t *testing.T) {
	for part := range broken {
		t.Run(part, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestBroken$/^"+part+"$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), "STORETEST_BROKEN="+part)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestBroken/"+part) {
				t.Errorf("nothing was found: %v\n%s", err, out)
			}
		})
	}
}
