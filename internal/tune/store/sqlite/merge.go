package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// Merge implements store.Store.
func (s *Store) Merge(ctx context.Context, f func(store.Batch) error) error {
	var b *batch
	err := s.transact(ctx, func(tx *sql.Tx) error {
		b = &batch{s.writing(ctx, tx), map[string]*entry{}}
		return f(b)
	})
	if err == nil {
		b.w.done()
	}
	return err
}

// batch implements store.Batch within a transaction.
type batch struct {
	w        *writing
	sessions map[string]*entry
}

func (b *batch) Session(x *session.Session) (fresh bool, err error) {
	if err := x.Settle(); err != nil {
		return false, err
	}
	w := b.w
	i := &entry{Session: *x}
	var has versions.Set
	err = w.tx.QueryRowContext(w.ctx, `SELECT s.id, c.arithmetic, c.ir
		FROM sessions s JOIN scenarios c ON c.id = s.scenario WHERE s.uid = ?`, x.ID).Scan(&i.row, &has.Arithmetic, &has.IR)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		fresh = true
		err = w.session(i)
	case err == nil && has != x.Set:
		return false, store.Unlike(x, has)
	case err == nil:
		for _, r := range x.Runs {
			err = errors.Join(err, w.run(i.row, r))
		}
		if !x.Finished.IsZero() {
			_, failed := w.tx.ExecContext(w.ctx,
				"UPDATE sessions SET finished = ?, outcome = ? WHERE id = ? AND finished < ?",
				x.Finished.UnixMilli(), x.Outcome, i.row, x.Finished.UnixMilli())
			err = errors.Join(err, failed)
		}
	}
	b.sessions[x.ID] = i
	return fresh, err
}

func (b *batch) Trial(id string, t *session.Trial) (bool, error) {
	i, err := b.of(id)
	if err != nil {
		return false, err
	}
	return b.w.trial(i, t)
}

func (b *batch) Event(id string, e *session.Event) (bool, error) {
	i, err := b.of(id)
	if err != nil {
		return false, err
	}
	return b.w.event(i, e)
}

// of returns a session that the batch has taken in.
func (b *batch) of(id string) (*entry, error) {
	if i := b.sessions[id]; i != nil {
		return i, nil
	}
	return nil, fmt.Errorf("session %q has not been taken in", id)
}

func (b *batch) Rename(from, to string) (bool, error) {
	i, err := b.of(from)
	if err != nil {
		return false, err
	}
	var n int
	if err := b.w.tx.QueryRowContext(b.w.ctx, "SELECT count(*) FROM sessions WHERE uid = ?", to).Scan(&n); err != nil ||
		n > 0 {
		return false, err
	}
	delete(b.sessions, from)
	b.sessions[to] = i
	_, err = b.w.tx.ExecContext(b.w.ctx, "UPDATE sessions SET uid = ? WHERE id = ?", to, i.row)
	return err == nil, err
}
