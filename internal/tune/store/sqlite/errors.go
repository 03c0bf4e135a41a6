package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/store"
)

// saveIt is what to do about a store that is damaged.
const saveIt = "gridloom results export > FILE saves what can be read before the damage; move the store away to " +
	"begin a new one"

const giveWrite = "give write permission, or name another file with --store or GRIDLOOM_STORE"

var errNone = refuse(store.ErrNone, "there is no store",
	"gridloom tune makes one; --store and GRIDLOOM_STORE name another")

// errBeginning is for what is in the file before the tables are: whoever made the
// store had them in the journal.
var errBeginning = refuse(store.ErrDamaged,
	"it is the beginning of a store without anything in it: it was copied without the file beside it that ends in "+
		"-wal, where the rest is",
	"copy both files while nobody writes, or use gridloom results export and import")

var errOther = refuse(store.ErrNotStore, "it is a database of another program, and has not been touched",
	"name another file with --store or GRIDLOOM_STORE")

func newer(has, knows int) error {
	return refuse(store.ErrNewer,
		fmt.Sprintf("it was written by a newer Gridloom (version %d of the store; this one knows %d), and has not "+
			"been touched", has, knows),
		"use that Gridloom, or name another file with --store or GRIDLOOM_STORE")
}

// refuse returns an error in the user's words; the path is filled in by words.
func refuse(kind error, text, hint string) error {
	return &gridio.Error{Text: text, Hint: hint, Err: kind}
}

// unread is the error of a row that was found and holds no values of its columns: its page was written over.
func unread(err error) error {
	_, own := errors.AsType[*sqlite.Error](err)
	if own || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return refuse(store.ErrDamaged, "the store is damaged: "+err.Error(), saveIt)
}

// word puts an error of the database into words. wait is how long it waited
// for other processes.
func word(ctx context.Context, path string, wait time.Duration, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*store.BadFile](err); ok {
		return err // about another file
	}
	if own, ok := errors.AsType[*gridio.Error](err); ok {
		named := *own
		named.Path = path
		return &named
	}
	failed, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return gridio.Named(path, err)
	}
	text, hint, kind := classify(failed.Code(), err)
	if kind == context.Canceled && ctx.Err() != nil {
		return ctx.Err()
	}
	if kind == store.ErrBusy {
		text += fmt.Sprintf(" (waited %v)", wait)
		if who := holders(path); who != "" {
			text = who + " is writing to it" + fmt.Sprintf(" (waited %v)", wait)
		}
	}
	return &gridio.Error{Path: path, Text: text, Hint: hint, Err: errors.Join(kind, err)}
}

// classify says what a result code means and what to do.
func classify(code int, err error) (text, hint string, kind error) {
	if code == lib.SQLITE_IOERR_SHMSIZE { // the file PATH-shm cannot grow
		code = lib.SQLITE_FULL
	}
	switch code & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return "another process is writing to it",
			"wait until it is done, end it, or name another file with --store or GRIDLOOM_STORE", store.ErrBusy
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return "the store is damaged: " + err.Error(),
			saveIt, store.ErrDamaged
	case lib.SQLITE_FULL:
		return "the disk is full, or a quota is used up; what was stored before is safe", "make room, then go on",
			store.ErrFull
	case lib.SQLITE_READONLY, lib.SQLITE_PERM:
		return "the file or its folder cannot be written", giveWrite, store.ErrReadOnly
	case lib.SQLITE_CANTOPEN:
		return "the file, or those beside it that end in -wal and -shm, cannot be opened or made",
			"look at the folder's permissions, or name another file with --store or GRIDLOOM_STORE", store.ErrReadOnly
	case lib.SQLITE_INTERRUPT:
		return "interrupted", "", context.Canceled
	}
	return "the file could not be read or written: " + err.Error(),
		"look at the disk, or name another file with --store or GRIDLOOM_STORE", errors.New("database error")
}

func isBusy(err error) bool {
	failed, ok := errors.AsType[*sqlite.Error](err)
	return ok && failed.Code()&0xff == lib.SQLITE_BUSY
}
