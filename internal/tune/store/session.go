package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/run/gridio"
)

// ImportedStrategy is that of sessions that another program has measured.
const ImportedStrategy = "imported"

// Session is a search that is under way. Its methods may be called from several
// goroutines.
type Session struct {
	store *Store
	info  Info

	mu   sync.Mutex
	next int
}

const (
	indexBits = 24
	lastIndex = 1<<indexBits - 1
)

// Begin begins the session of a search. If search.Started is zero, it begins now.
// Its versions are the current ones, whatever search has.
func (s *Store) Begin(ctx context.Context, search Search) (*Session, error) {
	if search.Started.IsZero() {
		search.Started = time.Now()
	}
	x := &Session{store: s, info: Info{ID: identify(search), Search: search}}
	x.info.Started = search.Started.Truncate(time.Millisecond).UTC()
	x.info.Versions = Current()
	x.info.Runs = []Run{{0, x.info.Started, search.Commit}}
	err := s.transact(ctx, func(tx *sql.Tx) error {
		w := s.writing(ctx, tx)
		return w.session(&x.info)
	})
	return x, err
}

// identify returns the name of a session, which no other one has in any store:
// it is made of all that is known of the search, the moment and the process.
func identify(search Search) string {
	text, err := json.Marshal(search)
	if err != nil {
		panic(err) // a seed and texts
	}
	sum := sha256.Sum256(fmt.Appendf(text, " %d %d", search.Started.UnixNano(), os.Getpid()))
	return hex.EncodeToString(sum[:6])
}

// Resume takes up a session that was not finished, or was and is to go on.
// The first characters of its name are enough if no other session has them. The trials so far are in Log.
// One of other versions cannot go on: its trials and the next ones cannot be compared.
func (s *Store) Resume(ctx context.Context, id, commit string) (*Session, error) {
	info, err := s.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	if !info.IsCurrent() {
		return nil, word(ctx, s.path, s.wait, refuse(ErrVersions,
			fmt.Sprintf("session %s was measured under %s, and this Gridloom has %s",
				info.ID, info.Definitions(), Current().Definitions()),
			"begin another session"))
	}
	x := &Session{store: s, info: info}
	err = s.transact(ctx, func(tx *sql.Tx) error {
		var last sql.NullInt64
		if err := tx.QueryRowContext(ctx, "SELECT max(id) FROM trials WHERE id BETWEEN ? AND ?", info.first(), info.last()).Scan(&last); err != nil {
			return err
		}
		if last.Valid {
			x.next = int(last.Int64&lastIndex) + 1
		}
		r := Run{x.next, time.Now().Truncate(time.Millisecond).UTC(), commit}
		if err := s.writing(ctx, tx).run(info.row, r); err != nil {
			return err
		}
		x.info.Runs = append(x.info.Runs, r)
		x.info.Finished, x.info.Outcome = time.Time{}, ""
		_, err := tx.ExecContext(ctx, "UPDATE sessions SET finished = 0, outcome = '' WHERE id = ?", info.row)
		return err
	})
	return x, err
}

func (i *Info) first() int64 { return i.row << indexBits }
func (i *Info) last() int64  { return i.row<<indexBits | lastIndex }

// Info returns what the session is about.
func (x *Session) Info() Info { return x.info }

// ID returns the session's name.
func (x *Session) ID() string { return x.info.ID }

// Len returns the number of trials.
func (x *Session) Len() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.next
}

// Append stores a trial as the session's next one and makes t what Log will
// return for it: Index is set, At too if it is zero or that of an old trial, and
// samples, interval and times are rounded. When it returns, the trial
// outlasts the process. A context that was cancelled does not keep it from being stored.
func (x *Session) Append(ctx context.Context, t *Trial) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t.At.Before(x.info.Started) {
		t.At = time.Now()
	}
	t.Index = x.next
	s := x.store
	w := &writing{}
	// What was measured is to be kept, above all when the user stops the search.
	ctx = context.WithoutCancel(ctx)
	err := s.transact(ctx, func(tx *sql.Tx) error {
		w = s.writing(ctx, tx)
		fresh, err := w.trial(&x.info, t)
		if err == nil && !fresh {
			err = refuse(ErrBusy, fmt.Sprintf("session %s goes on in another process, which has stored trial %d", x.info.ID, t.Index), "end one of the two")
		}
		return err
	})
	if err != nil {
		return err
	}
	w.done()
	x.next++
	return nil
}

// Condemn notes that a variant which the session has stored as right is not. Its
// times stay, so that a search that goes on is told what it was told before. What
// the session had taken over from an earlier one counts as its own from now on. A
// context that was cancelled does not keep it from being noted.
func (x *Session) Condemn(ctx context.Context, kernel, config string, v Verdict, note string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if v == OK || int(v) >= len(verdicts) {
		return &gridio.Error{Text: fmt.Sprintf("a variant cannot be condemned by verdict %d", v)}
	}
	s := x.store
	w := &writing{}
	ctx = context.WithoutCancel(ctx)
	err := s.transact(ctx, func(tx *sql.Tx) error {
		w = s.writing(ctx, tx)
		var right []Trial
		f := Filter{Verdict: []Verdict{OK}}
		_, err := s.trials(ctx, tx, &x.info, &f, func(t Trial) bool {
			if t.Kernel == kernel && t.Config == config {
				right = append(right, t)
			}
			return true
		})
		if err == nil && len(right) == 0 {
			err = &gridio.Error{Text: fmt.Sprintf("session %s has no trial of %s %s that was right", x.info.ID, kernel, config)}
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

// condemn changes the row of a trial.
func (w *writing) condemn(i *Info, t *Trial, v Verdict, text string) error {
	t.Verdict, t.Note, t.Reused = v, text, false
	t.round(i.Started)
	note, err := w.note(t.Note)
	if err != nil {
		return err
	}
	_, err = w.tx.ExecContext(w.ctx, "UPDATE trials SET verdict = ?, note = ?, detail = ? WHERE id = ?", v, note, t.pack(i.Started), i.first()|int64(t.Index))
	return err
}

// Finish notes that the search is over, and how it ended, be it by a context
// that was cancelled. What the session has stored is on the disk then, in the
// store's file itself, unless others are reading it.
func (x *Session) Finish(ctx context.Context, outcome string) error {
	ctx = context.WithoutCancel(ctx)
	now := time.Now().Truncate(time.Millisecond).UTC()
	err := x.store.transact(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE sessions SET finished = ?, outcome = ? WHERE id = ?", now.UnixMilli(), outcome, x.info.row)
		return err
	})
	if err == nil {
		x.store.flush(ctx)
	}
	return err
}

// session inserts a session with everything that it names, and sets its row.
func (w *writing) session(i *Info) error {
	scenario, err := w.scenario(&i.Scenario)
	if err != nil {
		return err
	}
	finished := int64(0)
	if !i.Finished.IsZero() {
		finished = i.Finished.UnixMilli()
	}
	i.row, err = w.insert("sessions",
		[]string{"uid", "scenario", "strategy", "seed", "budget", "space", "started", "finished", "outcome"},
		i.ID, scenario, i.Strategy, int64(i.Seed), i.Budget, i.Space, i.Started.UnixMilli(), finished, i.Outcome)
	for _, r := range i.Runs {
		err = errors.Join(err, w.run(i.row, r))
	}
	return err
}

func (w *writing) run(session int64, r Run) error {
	_, err := w.tx.ExecContext(w.ctx, "INSERT INTO runs (session, trial, started, revision) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
		session, r.Trial, r.Started.UnixMilli(), r.Commit)
	return err
}

func (w *writing) scenario(c *Scenario) (int64, error) {
	program, err := w.program(&c.Program)
	if err != nil {
		return 0, err
	}
	d, k := &c.Device, &c.Compiler
	device, err := w.row("devices", []string{"api", "name", "uuid", "driver", "clocks", "units"}, d.API, d.Name, d.UUID, d.Driver, d.Clocks, d.Units)
	if err != nil {
		return 0, err
	}
	compiler, err := w.row("compilers", []string{"name", "version", "options"}, k.Name, k.Version, k.Options)
	if err != nil {
		return 0, err
	}
	return w.row("scenarios", []string{"program", "device", "compiler", "host", "sizes", "dtype", "fp", "arithmetic", "ir"},
		program, device, compiler, c.Host, c.Sizes, c.DType, c.FP, c.Arithmetic, c.IR)
}

// program returns the row of a program. Who stored it first named it; features
// are taken from whoever knows them.
func (w *writing) program(p *Program) (int64, error) {
	f := p.Features
	_, err := w.tx.ExecContext(w.ctx, `INSERT INTO programs (hash, name, source, rank, radius, points, arrays, flops) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (hash) DO UPDATE SET rank = excluded.rank, radius = excluded.radius, points = excluded.points,
			arrays = excluded.arrays, flops = excluded.flops WHERE rank = 0 AND excluded.rank != 0`,
		p.Hash, p.Name, p.Source, f.Rank, f.Radius, f.Points, f.Arrays, f.Flops)
	if err != nil {
		return 0, err
	}
	var id int64
	err = w.tx.QueryRowContext(w.ctx, "SELECT id FROM programs WHERE hash = ?", p.Hash).Scan(&id)
	return id, err
}

// trial inserts a trial of a session and rounds it. It returns false if there
// is one of that index already, which stays.
func (w *writing) trial(i *Info, t *Trial) (bool, error) {
	if err := t.check(); err != nil {
		return false, err
	}
	t.round(i.Started)
	config, err := w.config(t.Config)
	if err != nil {
		return false, err
	}
	kernel, err := w.word(t.Kernel)
	if err != nil {
		return false, err
	}
	note, err := w.note(t.Note)
	if err != nil {
		return false, err
	}
	result, err := w.tx.ExecContext(w.ctx, "INSERT INTO trials (id, kernel, config, verdict, median, note, detail) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		i.first()|int64(t.Index), kernel, config, t.Verdict, t.Median, note, t.pack(i.Started))
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// check refuses trials that no measurement gives.
func (t *Trial) check() error {
	bad := func(format string, args ...any) error {
		return &gridio.Error{Text: fmt.Sprintf("trial %d: ", t.Index) + fmt.Sprintf(format, args...)}
	}
	number := func(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }
	switch {
	case t.Index < 0 || t.Index > lastIndex:
		return bad("a session has at most %d trials", lastIndex+1)
	case t.Config == "":
		return bad("it has no configuration")
	case int(t.Verdict) >= len(verdicts):
		return bad("there is no verdict %d", t.Verdict)
	case t.Verdict == OK && !(t.Median > 0):
		return bad("a variant that ran took %v s", t.Median)
	case !number(t.Median), !number(t.Low), !number(t.High), t.Low > t.High:
		return bad("a time of %v s (%v to %v)", t.Median, t.Low, t.High)
	case t.Resources.Registers < 0 || t.Resources.Spills < 0 || t.Resources.Shared < 0:
		return bad("negative resources")
	}
	for _, v := range t.Samples {
		if !number(v) {
			return bad("a sample of %v s", v)
		}
	}
	for _, d := range t.times() {
		if *d < 0 {
			return bad("it took %v", *d)
		}
	}
	return nil
}
