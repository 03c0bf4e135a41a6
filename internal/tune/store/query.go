package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/run/gridio"
)

// Filter says which trials are wanted. A field that is zero lets all pass.
type Filter struct {
	Session  string    // the first characters of its name
	Program  string    // part of its name, or the first characters of its hash
	Device   string    // part of its name, or its API; case does not matter
	Sizes    string    // as they are stored
	DType    string    // as it is stored
	Strategy string    // its name
	Kernel   string    // its name
	Verdict  []Verdict // one of these
	// Arithmetic is the version of the arithmetic under which they were made.
	Arithmetic int
	Since      time.Time
	Until      time.Time // before this

	whole bool // only trials of whole programs
}

// Record is a trial with the session that it belongs to.
type Record struct {
	Session *Info
	Trial
}

// Commit returns the commit of the Gridloom that measured it.
func (r *Record) Commit() string { return r.Session.commitOf(r.Index) }

const sessionColumns = `s.id, s.uid, s.strategy, s.seed, s.budget, s.space, s.started, s.finished, s.outcome,
	p.hash, p.name, p.source, p.rank, p.radius, p.points, p.arrays, p.flops,
	d.api, d.name, d.uuid, d.driver, d.clocks, d.units, k.name, k.version, k.options, c.host, c.sizes, c.dtype, c.fp,
	c.arithmetic, c.ir
	FROM sessions s JOIN scenarios c ON c.id = s.scenario JOIN programs p ON p.id = c.program
	JOIN devices d ON d.id = c.device JOIN compilers k ON k.id = c.compiler`

// condition is a part of a WHERE clause with its arguments.
type condition struct {
	text []string
	args []any
}

func (c *condition) add(text string, args ...any) {
	c.text, c.args = append(c.text, text), append(c.args, args...)
}

func (c *condition) where() string {
	if len(c.text) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.text, " AND ")
}

// sessions returns the condition for the sessions that a filter names.
func (f *Filter) sessions() condition {
	var c condition
	if f.Session != "" {
		c.add("substr(s.uid, 1, ?) = ?", len(f.Session), f.Session)
	}
	if f.Program != "" {
		c.add("(instr(p.name, ?) > 0 OR substr(p.hash, 1, ?) = ?)", f.Program, len(f.Program), f.Program)
	}
	if f.Device != "" {
		c.add("(instr(lower(d.name), ?) > 0 OR d.api = ?)", strings.ToLower(f.Device), strings.ToLower(f.Device))
	}
	for _, e := range []struct{ column, value string }{{"c.sizes", f.Sizes}, {"c.dtype", f.DType}, {"s.strategy", f.Strategy}} {
		if e.value != "" {
			c.add(e.column+" = ?", e.value)
		}
	}
	if f.Arithmetic != 0 {
		c.add("c.arithmetic = ?", f.Arithmetic)
	}
	if !f.Until.IsZero() {
		c.add("s.started < ?", f.Until.UnixMilli())
	}
	return c
}

// trials returns the condition for the trials of one session.
func (f *Filter) trials(i *Info) condition {
	var c condition
	c.add("t.id BETWEEN ? AND ?", i.first(), i.last())
	if len(f.Verdict) > 0 {
		var list []string
		for _, v := range f.Verdict {
			list = append(list, fmt.Sprint(uint8(v)))
		}
		c.add("t.verdict IN (" + strings.Join(list, ", ") + ")")
	}
	if f.whole {
		c.add("t.kernel = 0")
	}
	if f.Kernel != "" {
		c.add("t.kernel = (SELECT id FROM words WHERE text = ?)", f.Kernel)
	}
	return c
}

// Session returns the session whose name begins with id.
func (s *Store) Session(ctx context.Context, id string) (Info, error) {
	var found []Info
	for i, err := range s.Sessions(ctx, Filter{Session: id}) {
		if err != nil {
			return Info{}, err
		}
		found = append(found, i)
	}
	text := ""
	switch {
	case len(found) == 0 || id == "":
		text = fmt.Sprintf("there is no session %q", id)
	case len(found) > 1:
		text = fmt.Sprintf("%d sessions begin with %q, the first are %s and %s", len(found), id, found[0].ID, found[1].ID)
	default:
		return found[0], nil
	}
	return Info{}, &gridio.Error{Path: s.path, Text: text, Hint: "gridloom results sessions lists them"}
}

// Sessions returns the sessions of a filter, the oldest first. What it says of
// single trials is not looked at.
func (s *Store) Sessions(ctx context.Context, f Filter) iter.Seq2[Info, error] {
	return reading(ctx, s, func(q querier, yield func(Info, error) bool) error {
		list, err := s.sessions(ctx, q, f.sessions())
		for _, i := range list {
			if !yield(i, nil) {
				return nil
			}
		}
		return err
	})
}

// Log returns the trials of a session, in order.
func (s *Store) Log(ctx context.Context, id string) iter.Seq2[Trial, error] {
	return func(yield func(Trial, error) bool) {
		info, err := s.Session(ctx, id)
		if err != nil {
			yield(Trial{}, err)
			return
		}
		for r, err := range s.Records(ctx, Filter{Session: info.ID}) {
			if !yield(r.Trial, err) {
				return
			}
		}
	}
}

// Records returns the trials of a filter: sessions from the oldest, and each
// session's trials in order. It sees the store as it was when it began, and
// holds one trial at a time.
func (s *Store) Records(ctx context.Context, f Filter) iter.Seq2[Record, error] {
	return reading(ctx, s, func(q querier, yield func(Record, error) bool) error {
		list, err := s.sessions(ctx, q, f.sessions())
		if err != nil {
			return err
		}
		for i := range list {
			more, err := s.trials(ctx, q, &list[i], &f, func(t Trial) bool { return yield(Record{&list[i], t}, nil) })
			if err != nil || !more {
				return err
			}
		}
		return nil
	})
}

// reading runs a query within a transaction, so that it sees one state of the
// store, and hands an error on as the last value.
func reading[T any](ctx context.Context, s *Store, query func(q querier, yield func(T, error) bool) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		more := true
		err := func() error {
			tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
			if err != nil {
				return err
			}
			defer tx.Rollback()
			return query(tx, func(v T, err error) bool {
				more = yield(v, err)
				return more
			})
		}()
		if err != nil && more {
			var none T
			yield(none, word(ctx, s.path, s.wait, err))
		}
	}
}

func (s *Store) sessions(ctx context.Context, q querier, c condition) ([]Info, error) {
	rows, err := q.QueryContext(ctx, "SELECT "+sessionColumns+c.where()+" ORDER BY s.started, s.uid", c.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Info
	for rows.Next() {
		var i Info
		var seed, started, finished int64
		p, d, k := &i.Program, &i.Device, &i.Compiler
		if err := rows.Scan(&i.row, &i.ID, &i.Strategy, &seed, &i.Budget, &i.Space, &started, &finished, &i.Outcome,
			&p.Hash, &p.Name, &p.Source, &p.Rank, &p.Radius, &p.Points, &p.Arrays, &p.Flops,
			&d.API, &d.Name, &d.UUID, &d.Driver, &d.Clocks, &d.Units, &k.Name, &k.Version, &k.Options,
			&i.Host, &i.Sizes, &i.DType, &i.FP, &i.Arithmetic, &i.IR); err != nil {
			return nil, err
		}
		i.Seed, i.Started = uint64(seed), time.UnixMilli(started).UTC()
		if finished != 0 {
			i.Finished = time.UnixMilli(finished).UTC()
		}
		list = append(list, i)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for n := range list {
		if err := s.runs(ctx, q, &list[n]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (s *Store) runs(ctx context.Context, q querier, i *Info) error {
	rows, err := q.QueryContext(ctx, "SELECT trial, started, revision FROM runs WHERE session = ? ORDER BY started, trial", i.row)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r Run
		var started int64
		if err := rows.Scan(&r.Trial, &started, &r.Commit); err != nil {
			return err
		}
		r.Started = time.UnixMilli(started).UTC()
		i.Runs = append(i.Runs, r)
	}
	if len(i.Runs) > 0 {
		i.Commit = i.Runs[0].Commit
	}
	return rows.Err()
}

// trials hands a session's trials to yield, until it returns false.
func (s *Store) trials(ctx context.Context, q querier, i *Info, f *Filter, yield func(Trial) bool) (more bool, err error) {
	c := f.trials(i)
	rows, err := q.QueryContext(ctx, `SELECT t.id, t.kernel, t.config, t.verdict, t.median, coalesce(n.text, ''), t.detail
		FROM trials t LEFT JOIN notes n ON n.id = t.note`+c.where()+" ORDER BY t.id", c.args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		t, err := s.scan(ctx, q, rows, i)
		if err != nil {
			return false, err
		}
		if t.At.Before(f.Since) || !f.Until.IsZero() && !t.At.Before(f.Until) {
			continue
		}
		if !yield(t) {
			return false, nil
		}
	}
	return true, rows.Err()
}

// scan reads a row of trials.
func (s *Store) scan(ctx context.Context, q querier, rows *sql.Rows, i *Info) (Trial, error) {
	var t Trial
	var id, kernel int64
	var verdict int
	var config, detail []byte
	if err := rows.Scan(&id, &kernel, &config, &verdict, &t.Median, &t.Note, &detail); err != nil {
		return t, err
	}
	t.Index = int(id & lastIndex)
	err := t.unpack(detail, i.Started)
	if err == nil && verdict >= len(verdicts) {
		err = fmt.Errorf("there is no verdict %d", verdict)
	}
	if err != nil {
		return t, refuse(ErrDamaged, fmt.Sprintf("session %s, trial %d: %v", i.ID, t.Index, err), "gridloom results check tells more")
	}
	t.Verdict = Verdict(verdict)
	var errs [2]error
	t.Kernel, errs[0] = s.wordText(ctx, q, kernel)
	t.Config, errs[1] = s.configText(ctx, q, config)
	return t, errors.Join(errs[:]...)
}

// lines returns what a query of one text column gives.
func (s *Store) lines(ctx context.Context, query string) iter.Seq2[string, error] {
	return reading(ctx, s, func(q querier, yield func(string, error) bool) error {
		rows, err := q.QueryContext(ctx, query)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				return err
			}
			if !yield(line, nil) {
				return nil
			}
		}
		return rows.Err()
	})
}

// Totals says what came of a session.
type Totals struct {
	Trials int     `json:"trials"`
	Right  int     `json:"right"`          // that ran and were right
	Best   float64 `json:"best,omitempty"` // seconds; 0 if none was right
}

// Totals returns what came of a session.
func (s *Store) Totals(ctx context.Context, i Info) (Totals, error) {
	var t Totals
	err := s.read.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE verdict = 0), coalesce(min(median) FILTER (WHERE verdict = 0), 0)
		FROM trials WHERE id BETWEEN ? AND ?`, i.first(), i.last()).Scan(&t.Trials, &t.Right, &t.Best)
	return t, word(ctx, s.path, s.wait, err)
}
