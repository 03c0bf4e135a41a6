package sqlite

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
)

// Check reads everything and reports what is damaged.
func (s *Store) Check(ctx context.Context) (store.Report, error) {
	r := store.Report{Problems: []string{}}
	for _, query := range []string{
		"SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check != 'ok'",
		`SELECT printf('table %s, row %d: there is no row of %s that it names', "table", rowid, parent) FROM pragma_foreign_key_check`,
		fmt.Sprintf("SELECT printf('trial %%d belongs to no session', id) FROM trials WHERE id >> %d NOT IN (SELECT "+
			"id FROM sessions)", indexBits),
	} {
		err := each(&r, s.lines(ctx, query), func(line string) { r.Problems = append(r.Problems, line) })
		if err != nil {
			return r, err
		}
	}
	err := each(&r, s.entries(ctx, store.Filter{}), func(i entry) {
		r.Sessions++
		if damage, ok := errors.AsType[*gridio.Error](i.damage); ok {
			r.Problems = append(r.Problems, damage.Text)
		}
		if s.alone && i.Finished.IsZero() && i.Strategy != session.Imported {
			r.Notes = append(r.Notes,
				fmt.Sprintf("session %s has not ended, and there is no %s: if the store was copied while that search "+
					"ran, its last variants are missing",
					i.ID, filepath.Base(s.path)+"-wal"))
		}
	})
	if err != nil {
		return r, err
	}
	if err := each(&r, s.events(ctx, ""), func(session.Event) { r.Events++ }); err != nil {
		return r, err
	}
	return r, each(&r, s.Records(ctx, store.Filter{}), func(store.Record) { r.Trials++ })
}

// each hands values to f. Damage ends that, but is no error: it is what was looked for.
func each[T any](r *store.Report, values iter.Seq2[T, error], f func(T)) error {
	for v, err := range values {
		if err == nil {
			f(v)
			continue
		}
		damage, ok := errors.AsType[*gridio.Error](err)
		if !ok || !errors.Is(err, store.ErrDamaged) {
			return err
		}
		r.Problems = append(r.Problems, damage.Text)
	}
	return nil
}
