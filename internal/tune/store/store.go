// Package store keeps every measurement that was ever made: sessions of searches, their
// trials and their events (package session). Store is what a database has to do; what is
// known of a variant, which plan is best and the forms of exchange are built on it, once
// for all databases. Package sqlite is one.
//
// A trial is in the store before the next one begins, and comes back as it was told.
package store

import (
	"context"
	"iter"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// Store is an open store. Its methods may be called from several goroutines, and
// several processes may have it open at once. Package storetest says in full what holds.
type Store interface {
	// Begin begins the session of a search, now if search.Started is zero. Its versions
	// are the current ones, whatever search has.
	Begin(ctx context.Context, search session.Search) (Recorder, error)
	// Resume takes up a session of the current versions, of which the first characters of
	// its name are enough if no other has them. Its trials so far are in Log.
	Resume(ctx context.Context, id, commit string) (Recorder, error)
	// Merge takes in what was measured elsewhere: all that f puts, or nothing if it fails.
	Merge(ctx context.Context, f func(Batch) error) error

	// Sessions returns the sessions of a filter, the oldest first. What it says of
	// single trials is not looked at.
	Sessions(ctx context.Context, f Filter) iter.Seq2[session.Session, error]
	// Records returns the trials of a filter: sessions from the oldest, and each
	// session's trials in order. It sees the store as it was when it began, and
	// holds one trial at a time.
	Records(ctx context.Context, f Filter) iter.Seq2[Record, error]
	// Events returns the events of a session, in order.
	Events(ctx context.Context, id string) iter.Seq2[session.Event, error]
	// Totals returns what came of a session.
	Totals(ctx context.Context, id string) (Totals, error)

	// Check reads everything and reports what is damaged.
	Check(ctx context.Context) (Report, error)
	// Path returns where the store lies; "" if it is in no file.
	Path() string
	Close() error
}

// Recorder adds to a session that is under way. Its methods may be called from several
// goroutines. A context that was cancelled keeps nothing from being stored: what was
// measured is to be kept, above all when the user stops the search.
type Recorder interface {
	// ID returns the session's name.
	ID() string
	// Info returns what the session is about.
	Info() session.Session
	// Len returns the number of trials.
	Len() int
	// Append stores a trial and rounds it to what reading it will give. It gives it its
	// index, and the time if it has none.
	Append(ctx context.Context, t *session.Trial) error
	// Condemn notes that a variant which the session has stored as right is not. Its
	// times stay, so that a search that goes on is told what it was told before. What
	// the session had taken over from an earlier one counts as its own from now on.
	Condemn(ctx context.Context, kernel, config string, v verdict.Verdict, note string) error
	// Report stores an event. It gives it its index, and the time if it has none.
	Report(ctx context.Context, e *session.Event) error
	// Finish notes that the search is over, and how it ended.
	Finish(ctx context.Context, outcome string) error
}

// Batch takes in what was measured elsewhere. What is there already stays as it is.
type Batch interface {
	// Session takes in a session, or brings the one of its name up to date, and reports
	// whether it is new. One of other versions than the store has of it is refused.
	Session(s *session.Session) (fresh bool, err error)
	// Trial takes in a trial of a session that the batch has taken in.
	Trial(id string, t *session.Trial) (fresh bool, err error)
	// Event takes in an event of such a session.
	Event(id string, e *session.Event) (fresh bool, err error)
	// Rename names a session of the batch, unless there is one of that name.
	Rename(from, to string) (done bool, err error)
}

// Record is a trial with the session that it belongs to. Trials of one session
// that come one after the other share it.
type Record struct {
	Session *session.Session
	session.Trial
}

// Commit returns the commit of the Gridloom that measured it.
func (r *Record) Commit() string { return r.Session.CommitOf(r.Index) }

// Totals says what came of a session.
type Totals struct {
	Trials int     `json:"trials"`
	Right  int     `json:"right"`          // that ran and were right
	Best   float64 `json:"best,omitempty"` // seconds; 0 if none was right
}

// Report is what Check has found.
type Report struct {
	Sessions int      `json:"sessions"`        // that could be read
	Trials   int      `json:"trials"`          // that could be read
	Events   int      `json:"events"`          // that could be read
	Notes    []string `json:"notes,omitempty"` // of what may be missing
	Problems []string `json:"problems"`
}
