// Package sqlite is a store in an SQLite database: one file, which several processes may
// have open at once, on a local disk.
//
// Each trial is a transaction of its own, so a process that is killed loses at most the
// one it was about to write. Lookup tables hold what trials share, and a configuration is
// a row of numbers of its settings, so a trial with ten samples takes less than 100 bytes.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/gridloom/gridloom/internal/tune/store"
)

// Options say how a store is opened.
type Options struct {
	// ReadOnly opens what exists, and works where nothing can be written.
	ReadOnly bool
	// Wait is how long to wait for other processes that write; 0 means 30 s.
	Wait time.Duration

	maxPages int // for tests: where the disk is full
}

// Store is an open store in a file. It implements store.Store.
type Store struct {
	path        string
	wait        time.Duration
	file        os.FileInfo
	read        *sql.DB
	write       *sql.DB // nil if the store is read-only
	words       *vocabulary
	trialInsert *sql.Stmt // likewise
	alone       bool      // opened to read, and there was no journal beside it with anything in it
}

// Open opens the store in a file. Unless it is to be read only, a file that
// does not exist is made, and the folder too if path is DefaultPath.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if o.Wait == 0 {
		o.Wait = 30 * time.Second
	}
	fail := func(err error) (*Store, error) { return nil, word(ctx, path, o.Wait, err) }
	scripts, err := migrations(embedded)
	if err != nil {
		return fail(err)
	}
	file, err := claim(path, o.ReadOnly, len(scripts))
	if err != nil {
		return fail(err)
	}
	s := &Store{path: path, wait: o.Wait, file: file, words: newVocabulary()}
	if o.ReadOnly {
		err = s.openToRead(ctx, len(scripts))
		if errors.Is(err, store.ErrOlder) {
			err = s.update(ctx, scripts, err)
		}
	} else {
		err = s.openToWrite(ctx, o, scripts)
	}
	if err != nil {
		s.Close()
		return fail(err)
	}
	return s, nil
}

// Path returns the file's name as it was given to Open.
func (s *Store) Path() string { return s.path }

// Close closes the store.
func (s *Store) Close() error {
	var errs []error
	if s.write != nil {
		s.settle() // SQLite does so only for the last that closes it
	}
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.file != nil {
		release(s.file)
		s.file = nil
	}
	return word(context.Background(), s.path, s.wait, errors.Join(errs...))
}

func (s *Store) openToWrite(ctx context.Context, o Options, scripts []string) error {
	pragmas := []string{"journal_mode(wal)", "synchronous(normal)", "foreign_keys(on)",
		fmt.Sprintf("wal_autocheckpoint(%d)", journalPages)}
	if o.maxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count(%d)", o.maxPages))
	}
	var err error
	if s.write, err = s.connect("rwc&_txlock=immediate", pragmas...); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1) // writers of this process wait for each other here
	// The journal's mode is changed without waiting for others, so that two
	// processes that make the same store must try again.
	if err := s.patiently(ctx, func() error { return migrate(ctx, s.write, scripts) }); err != nil {
		return err
	}
	s.settle() // the tables of a new store above all
	if s.trialInsert, err = s.write.PrepareContext(ctx, insertTrial); err != nil {
		return err
	}
	s.read, err = s.connect("rw", "query_only(on)")
	return err
}

// update brings an older store up to date that is to be read: nothing is lost, and
// nobody has to know what a version of the store is. Where it cannot be written, it
// stays refused.
func (s *Store) update(ctx context.Context, scripts []string, refused error) error {
	s.read.Close()
	db, err := s.connect("rw&_txlock=immediate", "foreign_keys(on)")
	if err == nil {
		err = errors.Join(s.patiently(ctx, func() error { return migrate(ctx, db, scripts) }), db.Close())
	}
	switch kind := word(ctx, s.path, s.wait, err); {
	case errors.Is(kind, store.ErrReadOnly):
		return refused
	case err != nil:
		return err
	}
	return s.openToRead(ctx, len(scripts))
}

// settle brings what the journal holds to the file: who copies the file alone has
// it then. Where that cannot be done now, it will be done at the next opportunity.
func (s *Store) settle() { s.write.Exec("PRAGMA wal_checkpoint(PASSIVE)") }

// journalPages is how many pages the journal grows to before they come to the
// file: those of some ten trials. A copy without the journal lacks no more.
const journalPages = 64

// openToRead opens a store that may be where nothing can be written. Readers
// need the files beside it, which tell what writers do; where they cannot be
// made and there are none, nobody writes.
func (s *Store) openToRead(ctx context.Context, latest int) error {
	journal, err := os.Stat(s.path + "-wal")
	s.alone = err != nil || journal.Size() == 0
	try := func(mode string) (err error) {
		if s.read, err = s.connect(mode, "query_only(on)"); err != nil {
			return err
		}
		v, err := version(ctx, s.read, latest)
		switch {
		case err != nil || v == latest:
			return err
		case v == 0 && s.alone && s.file.Size() > 0:
			return errBeginning
		case v == 0:
			return errNone
		}
		return refuse(store.ErrOlder, fmt.Sprintf("it is of version %d of the store, this Gridloom reads version %d", v,
			latest),
			"it is brought up to date where it can be written: give write permission, or copy it")
	}
	if err = try("ro"); err == nil {
		return nil
	}
	if kind := word(ctx, s.path, s.wait, err); !errors.Is(kind, store.ErrReadOnly) && !errors.Is(kind, store.ErrFull) {
		return err
	}
	if !s.alone {
		return err
	}
	s.read.Close()
	return try("ro&immutable=1")
}

func (s *Store) connect(mode string, pragmas ...string) (*sql.DB, error) {
	path, err := filepath.Abs(s.path)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("file:%s?mode=%s&_pragma=busy_timeout(%d)", (&url.URL{Path: path}).EscapedPath(), mode,
		min(moment, s.wait).Milliseconds())
	for _, p := range pragmas {
		name += "&_pragma=" + p
	}
	return sql.Open("sqlite", name)
}

// transact runs f in a transaction, which is undone if f or its end fails.
func (s *Store) transact(ctx context.Context, f func(tx *sql.Tx) error) error {
	if s.write == nil {
		return word(ctx, s.path, s.wait, refuse(store.ErrReadOnly, "the store was opened to be read only", ""))
	}
	var tx *sql.Tx
	err := s.patiently(ctx, func() (err error) {
		tx, err = s.write.BeginTx(ctx, nil)
		return err
	})
	if err == nil {
		if err = f(tx); err == nil {
			err = tx.Commit()
		}
		tx.Rollback() // changes nothing after a commit
	}
	return word(ctx, s.path, s.wait, err)
}

// flush brings the journal to the disk and moves what can be moved from there to
// the store's file. What cannot be stays in the journal, as whole as it was.
func (s *Store) flush(ctx context.Context) {
	s.write.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
}

// patiently repeats f while another process writes, as long as the store is to
// wait. SQLite itself waits only for a moment, since nothing interrupts it then.
func (s *Store) patiently(ctx context.Context, f func() error) error {
	for deadline := time.Now().Add(s.wait); ; {
		err := f()
		if !isBusy(err) || !time.Now().Before(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// moment is how long SQLite waits for a lock by itself.
const moment = 50 * time.Millisecond
