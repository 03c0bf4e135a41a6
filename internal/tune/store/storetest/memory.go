package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
)

// Memory is a store in memory, for tests. It decides what passes a filter by the methods
// that define it, and keeps values as they are.
type Memory struct {
	mu       sync.Mutex
	sessions []*kept
	programs map[string]*session.Program // by hash
	made     int
}

// kept is a session with what belongs to it. Lists are replaced, never changed, so that
// a reader that has one sees one state.
type kept struct {
	session.Session
	trials []session.Trial // by index
	events []session.Event
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{programs: map[string]*session.Program{}} }

// Begin implements store.Store.
func (m *Memory) Begin(_ context.Context, search session.Search) (store.Recorder, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if search.Started.IsZero() {
		search.Started = time.Now()
	}
	m.made++
	x := &kept{Session: session.Session{ID: fmt.Sprintf("%012x", m.made*0x9e3779b97f4a), Search: search}}
	x.ID = x.ID[len(x.ID)-12:]
	x.Set = session.Current()
	if err := x.Settle(); err != nil {
		return nil, err
	}
	x.Runs = []session.Run{{Started: x.Started, Commit: search.Commit}}
	m.keep(x)
	return &memoryRecorder{store: m, of: x}, nil
}

// keep adds a session. What sessions of a program share comes from whoever knows it first.
func (m *Memory) keep(x *kept) {
	p := &x.Program
	known := m.programs[p.Hash]
	if known == nil {
		known = &session.Program{}
		*known = *p
		m.programs[p.Hash] = known
	}
	known.IR = cmp.Or(known.IR, p.IR)
	if known.Rank == 0 {
		known.Features = p.Features
	}
	m.sessions = append(m.sessions, x)
}

// Resume implements store.Store.
func (m *Memory) Resume(ctx context.Context, id, commit string) (store.Recorder, error) {
	found, err := store.Session(ctx, m, id)
	if err != nil {
		return nil, err
	}
	if !found.IsCurrent() {
		return nil, store.Outdated(&found)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.named(found.ID)
	r := &memoryRecorder{store: m, of: x, next: len(x.trials), events: len(x.events)}
	x.Runs = append(slices.Clone(x.Runs), session.Run{Trial: r.next,
		Started: time.Now().Truncate(time.Millisecond).UTC(), Commit: commit})
	x.Finished, x.Outcome = time.Time{}, ""
	return r, nil
}

func (m *Memory) named(id string) *kept {
	i := slices.IndexFunc(m.sessions, func(x *kept) bool { return x.ID == id })
	if i < 0 {
		return nil
	}
	return m.sessions[i]
}

// state returns the sessions that pass a filter, as they are now.
func (m *Memory) state(f *store.Filter) []kept {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []kept
	for _, x := range m.sessions {
		one := *x
		one.Program = *m.programs[x.Program.Hash]
		if f.HasSession(&one.Session) {
			list = append(list, one)
		}
	}
	slices.SortStableFunc(list, func(a, b kept) int {
		return cmp.Or(a.Started.Compare(b.Started), strings.Compare(a.ID, b.ID))
	})
	return list
}

// Sessions implements store.Store.
func (m *Memory) Sessions(ctx context.Context, f store.Filter) iter.Seq2[session.Session, error] {
	return func(yield func(session.Session, error) bool) {
		if ctx.Err() != nil {
			yield(session.Session{}, ctx.Err())
			return
		}
		for _, x := range m.state(&f) {
			if !yield(x.Session, nil) {
				return
			}
		}
	}
}

// Records implements store.Store.
func (m *Memory) Records(ctx context.Context, f store.Filter) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if ctx.Err() != nil {
			yield(store.Record{}, ctx.Err())
			return
		}
		for _, x := range m.state(&f) {
			for _, t := range x.trials {
				t.Samples = slices.Clone(t.Samples)
				if f.HasTrial(&t) && !yield(store.Record{Session: &x.Session, Trial: t}, nil) {
					return
				}
			}
		}
	}
}

// Events implements store.Store.
func (m *Memory) Events(ctx context.Context, id string) iter.Seq2[session.Event, error] {
	return func(yield func(session.Event, error) bool) {
		found, err := store.Session(ctx, m, id)
		if err != nil {
			yield(session.Event{}, err)
			return
		}
		for _, e := range m.state(&store.Filter{Session: found.ID})[0].events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Totals implements store.Store.
func (m *Memory) Totals(_ context.Context, id string) (store.Totals, error) {
	var t store.Totals
	for _, x := range m.state(&store.Filter{}) {
		if x.ID != id {
			continue
		}
		for _, trial := range x.trials {
			t.Trials++
			if trial.Verdict == verdict.OK {
				t.Right++
				if t.Best == 0 || trial.Median < t.Best {
					t.Best = trial.Median
				}
			}
		}
	}
	return t, nil
}

// Check implements store.Store.
func (m *Memory) Check(context.Context) (store.Report, error) {
	r := store.Report{Problems: []string{}}
	for _, x := range m.state(&store.Filter{}) {
		r.Sessions++
		r.Trials += len(x.trials)
		r.Events += len(x.events)
	}
	return r, nil
}

// Path implements store.Store.
func (m *Memory) Path() string { return "" }

// Close implements store.Store.
func (m *Memory) Close() error { return nil }

// Merge implements store.Store.
func (m *Memory) Merge(_ context.Context, f func(store.Batch) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := &Memory{made: m.made, programs: map[string]*session.Program{}}
	for hash, p := range m.programs {
		one := *p
		next.programs[hash] = &one
	}
	for _, x := range m.sessions {
		one := *x
		next.sessions = append(next.sessions, &one)
	}
	if err := f(&memoryBatch{next, map[string]bool{}}); err != nil {
		return err
	}
	for _, x := range m.sessions { // recorders of this store have them
		*x = *next.named(x.ID)
	}
	m.sessions = append(m.sessions, next.sessions[len(m.sessions):]...)
	m.programs = next.programs
	return nil
}

type memoryBatch struct {
	store *Memory
	taken map[string]bool
}

func (b *memoryBatch) Session(s *session.Session) (bool, error) {
	if err := s.Settle(); err != nil {
		return false, err
	}
	b.taken[s.ID] = true
	x := b.store.named(s.ID)
	if x == nil {
		b.store.keep(&kept{Session: *s})
		return true, nil
	}
	if x.Set != s.Set {
		return false, store.Unlike(s, x.Set)
	}
	x.Runs = slices.Clone(x.Runs)
	for _, r := range s.Runs {
		if !slices.ContainsFunc(x.Runs, func(has session.Run) bool {
			return has.Trial == r.Trial &&
				has.Started.Equal(r.Started)
		}) {
			x.Runs = append(x.Runs, r)
		}
	}
	slices.SortStableFunc(x.Runs, func(a, b session.Run) int {
		return cmp.Or(a.Started.Compare(b.Started),
			cmp.Compare(a.Trial, b.Trial))
	})
	if s.Finished.After(x.Finished) {
		x.Finished, x.Outcome = s.Finished, s.Outcome
	}
	return false, nil
}

func (b *memoryBatch) of(id string) (*kept, error) {
	if !b.taken[id] {
		return nil, fmt.Errorf("session %q has not been taken in", id)
	}
	return b.store.named(id), nil
}

func (b *memoryBatch) Trial(id string, t *session.Trial) (bool, error) {
	x, err := b.of(id)
	if err != nil {
		return false, err
	}
	return x.trial(t)
}

func (b *memoryBatch) Event(id string, e *session.Event) (bool, error) {
	x, err := b.of(id)
	if err != nil {
		return false, err
	}
	return x.event(e)
}

func (b *memoryBatch) Rename(from, to string) (bool, error) {
	x, err := b.of(from)
	if err != nil || b.store.named(to) != nil {
		return false, err
	}
	x.ID, b.taken[to] = to, true
	return true, nil
}

// trial adds one, unless there is one of its index.
func (x *kept) trial(t *session.Trial) (bool, error) {
	if err := t.Check(); err != nil {
		return false, err
	}
	t.Round(x.Started)
	at, found := slices.BinarySearchFunc(x.trials, t.Index,
		func(has session.Trial, i int) int { return cmp.Compare(has.Index, i) })
	if !found {
		one := *t
		one.Samples = slices.Clone(t.Samples)
		x.trials = slices.Insert(slices.Clip(slices.Clone(x.trials)), at, one)
	}
	return !found, nil
}

func (x *kept) event(e *session.Event) (bool, error) {
	if err := e.Check(); err != nil {
		return false, err
	}
	e.Round()
	at, found := slices.BinarySearchFunc(x.events, e.Index,
		func(has session.Event, i int) int { return cmp.Compare(has.Index, i) })
	if !found {
		x.events = slices.Insert(slices.Clip(slices.Clone(x.events)), at, *e)
	}
	return !found, nil
}

// memoryRecorder adds to a session of Memory.
type memoryRecorder struct {
	store        *Memory
	of           *kept
	next, events int
}

func (r *memoryRecorder) lock() func() { r.store.mu.Lock(); return r.store.mu.Unlock }

// ID implements store.Recorder.
func (r *memoryRecorder) ID() string { return r.of.ID }

// Info implements store.Recorder.
func (r *memoryRecorder) Info() session.Session { defer r.lock()(); return r.of.Session }

// Len implements store.Recorder.
func (r *memoryRecorder) Len() int { defer r.lock()(); return r.next }

// Append implements store.Recorder.
func (r *memoryRecorder) Append(_ context.Context, t *session.Trial) error {
	defer r.lock()()
	if t.At.Before(r.of.Started) {
		t.At = time.Now()
	}
	t.Index = r.next
	fresh, err := r.of.trial(t)
	if err == nil && !fresh {
		err = goesOn(r.of.ID, "trial", t.Index)
	}
	if err == nil {
		r.next++
	}
	return err
}

// Report implements store.Recorder.
func (r *memoryRecorder) Report(_ context.Context, e *session.Event) error {
	defer r.lock()()
	if e.At.IsZero() {
		e.At = time.Now()
	}
	e.Index = r.events
	fresh, err := r.of.event(e)
	if err == nil && !fresh {
		err = goesOn(r.of.ID, "event", e.Index)
	}
	if err == nil {
		r.events++
	}
	return err
}

func goesOn(id, what string, n int) error {
	return &gridio.Error{Text: fmt.Sprintf("session %s goes on in another process, which has stored %s %d", id, what,
		n),
		Hint: "end one of the two", Err: store.ErrBusy}
}

// Condemn implements store.Recorder.
func (r *memoryRecorder) Condemn(_ context.Context, kernel, config string, v verdict.Verdict, note string) error {
	defer r.lock()()
	if err := store.Condemning(v); err != nil {
		return err
	}
	list := slices.Clone(r.of.trials)
	found := false
	for i := range list {
		if t := &list[i]; t.Kernel == kernel && t.Config == config && t.Verdict == verdict.OK {
			t.Verdict, t.Note, t.Reused, found = v, note, false, true
			t.Round(r.of.Started)
		}
	}
	if !found {
		return errors.New("there is no such trial that was right")
	}
	r.of.trials = list
	return nil
}

// Finish implements store.Recorder.
func (r *memoryRecorder) Finish(_ context.Context, outcome string) error {
	defer r.lock()()
	r.of.Finished, r.of.Outcome = time.Now().Truncate(time.Millisecond).UTC(), outcome
	return nil
}
