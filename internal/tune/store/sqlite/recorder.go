package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
)

// recorder adds to a session. It implements store.Recorder.
type recorder struct {
	store *Store
	info  entry

	mu     sync.Mutex
	next   int // trial
	events int
}

// entry is a session with its row.
type entry struct {
	session.Session
	row    int64 // sessions.id
	damage error // what of it could not be read, and is zero
}

const (
	indexBits = 24
	lastIndex = session.MostTrials - 1
)

func (i *entry) first() int64 { return i.row << indexBits }
func (i *entry) last() int64  { return i.row<<indexBits | lastIndex }

// Begin implements store.Store.
func (s *Store) Begin(ctx context.Context, search session.Search) (store.Recorder, error) {
	if search.Started.IsZero() {
		search.Started = time.Now()
	}
	x := &recorder{store: s, info: entry{Session: session.Session{ID: identify(search), Search: search}}}
	i := &x.info.Session
	i.Set = session.Current()
	i.Runs = []session.Run{{Started: search.Started.Truncate(time.Millisecond).UTC(), Commit: search.Commit}}
	if err := i.Settle(); err != nil {
		return nil, word(ctx, s.path, s.wait, err)
	}
	err := s.transact(ctx, func(tx *sql.Tx) error { return s.writing(ctx, tx).session(&x.info) })
	if err != nil {
		return nil, err
	}
	return x, nil
}

// identify returns the name of a session, which no other one has in any store:
// it is made of all that is known of the search, the moment and the process.
func identify(search session.Search) string {
	text, err := json.Marshal(search)
	if err != nil {
		panic(err) // numbers and texts
	}
	sum := sha256.Sum256(fmt.Appendf(text, " %d %d", search.Started.UnixNano(), os.Getpid()))
	return hex.EncodeToString(sum[:6])
}

// Resume implements store.Store.
func (s *Store) Resume(ctx context.Context, id, commit string) (store.Recorder, error) {
	found, err := store.Session(ctx, s, id)
	if err != nil {
		return nil, err
	}
	if !found.IsCurrent() {
		return nil, word(ctx, s.path, s.wait, store.Outdated(&found))
	}
	x := &recorder{store: s, info: entry{Session: found}}
	i := &x.info
	err = s.transact(ctx, func(tx *sql.Tx) error {
		list, err := s.sessions(ctx, tx, &store.Filter{Session: found.ID})
		if err != nil {
			return err
		}
		if *i = list[0]; i.damage != nil {
			return i.damage // without its limits or its space it would be another search
		}
		var last sql.NullInt64
		if err := tx.QueryRowContext(ctx, "SELECT max(id) FROM trials WHERE id BETWEEN ? AND ?", i.first(),
			i.last()).Scan(&last); err != nil {
			return err
		}
		if last.Valid {
			x.next = int(last.Int64&lastIndex) + 1
		}
		if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(number) + 1, 0) FROM events WHERE session = ?",
			i.row).Scan(&x.events); err != nil {
			return err
		}
		r := session.Run{Trial: x.next, Started: time.Now().Truncate(time.Millisecond).UTC(), Commit: commit}
		if err := s.writing(ctx, tx).run(i.row, r); err != nil {
			return err
		}
		i.Runs = append(i.Runs, r)
		i.Finished, i.Outcome = time.Time{}, ""
		_, err = tx.ExecContext(ctx, "UPDATE sessions SET finished = 0, outcome = '' WHERE id = ?", i.row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Info implements store.Recorder.
func (x *recorder) Info() session.Session { return x.info.Session }

// ID implements store.Recorder.
func (x *recorder) ID() string { return x.info.ID }

// Len implements store.Recorder.
func (x *recorder) Len() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.next
}

// Append implements store.Recorder.
func (x *recorder) Append(ctx context.Context, t *session.Trial) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t.At.Before(x.info.Started) {
		t.At = time.Now()
	}
	t.Index = x.next
	err := x.add(ctx, func(w *writing) (bool, error) { return w.trial(&x.info, t) },
		fmt.Sprintf("session %s goes on in another process, which has stored trial %d", x.info.ID, t.Index))
	if err == nil {
		x.next++
	}
	return err
}

// Report implements store.Recorder.
func (x *recorder) Report(ctx context.Context, e *session.Event) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e.At.IsZero() {
		e.At = time.Now()
	}
	e.Index = x.events
	err := x.add(ctx, func(w *writing) (bool, error) { return w.event(&x.info, e) },
		fmt.Sprintf("session %s goes on in another process, which has stored event %d", x.info.ID, e.Index))
	if err == nil {
		x.events++
	}
	return err
}

// add writes something new to a session.
func (x *recorder) add(ctx context.Context, write func(*writing) (fresh bool, err error), another string) error {
	w := &writing{}
	ctx = context.WithoutCancel(ctx)
	err := x.store.transact(ctx, func(tx *sql.Tx) error {
		w = x.store.writing(ctx, tx)
		fresh, err := write(w)
		if err == nil && !fresh {
			err = refuse(store.ErrBusy, another, "end one of the two")
		}
		return err
	})
	if err == nil {
		w.done()
	}
	return err
}

// Condemn implements store.Recorder.
func (x *recorder) Condemn(ctx context.Context, kernel, config string, v verdict.Verdict, note string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := store.Condemning(v); err != nil {
		return err
	}
	s := x.store
	w := &writing{}
	ctx = context.WithoutCancel(ctx)
	err := s.transact(ctx, func(tx *sql.Tx) error {
		w = s.writing(ctx, tx)
		var right []session.Trial
		f := store.Filter{Verdict: []verdict.Verdict{verdict.OK}}
		_, err := s.trials(ctx, tx, &x.info, &f, func(t session.Trial) bool {
			if t.Kernel == kernel && t.Config == config {
				right = append(right, t)
			}
			return true
		})
		if err == nil && len(right) == 0 {
			err = &gridio.Error{Text: fmt.Sprintf("session %s has no trial of %s %s that was right", x.info.ID, kernel,
				config)}
		}
		for i := range right {
			err = errors.Join(err, w.condemn(&x.info, &right[i], v, note))
		}
		return err
	})
	if err == nil {
		w.done()
	}
	return err
}

// Finish implements store.Recorder. What the session has stored is on the disk then, in
// the store's file itself, unless others are reading it.
func (x *recorder) Finish(ctx context.Context, outcome string) error {
	ctx = context.WithoutCancel(ctx)
	now := time.Now().Truncate(time.Millisecond).UTC()
	err := x.store.transact(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE sessions SET finished = ?, outcome = ? WHERE id = ?", now.UnixMilli(),
			outcome, x.info.row)
		return err
	})
	if err == nil {
		x.store.flush(ctx)
	}
	return err
}
