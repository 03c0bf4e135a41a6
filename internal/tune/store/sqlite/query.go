package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
)

const sessionColumns = `s.id, s.uid, s.source, s.strategy, s.seed, s.budget, s.space, s.origin, s.started, s.finished, s.outcome, p.id,
	p.hash, p.name, p.rank, p.radius, p.points, p.arrays, p.flops,
	d.api, d.name, d.uuid, d.driver, d.clocks, d.units, d.properties, k.name, k.version, k.options, c.host, c.sizes, c.dtype, c.fp,
	c.arithmetic, c.ir, c.ranks, c.decomposition, c.network
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

// equal adds that a column has a value, if there is one.
func (c *condition) equal(column, value string) {
	if value != "" {
		c.add(column+" = ?", value)
	}
}

func (c *condition) where() string {
	if len(c.text) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.text, " AND ")
}

// sessionsOf returns the condition for the sessions that a filter names.
func sessionsOf(f *store.Filter) (condition, error) {
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
	c.equal("c.sizes", f.Sizes)
	c.equal("c.dtype", f.DType)
	c.equal("s.strategy", f.Strategy)
	if f.Arithmetic != 0 {
		c.add("c.arithmetic = ?", f.Arithmetic)
	}
	if !f.Until.IsZero() {
		c.add("s.started < ?", f.Until.UnixMilli())
	}
	if now := session.Current(); f.Versions == store.CurrentVersions {
		c.add("c.arithmetic = ? AND c.ir = ?", now.Arithmetic, now.IR)
	} else if f.Versions == store.OtherVersions {
		c.add("NOT (c.arithmetic = ? AND c.ir = ?)", now.Arithmetic, now.IR)
	}
	if f.Like == nil {
		return c, nil
	}
	return c, c.like(f.Like)
}

// like adds that sessions match a scenario.
func (c *condition) like(l *session.Scenario) error {
	for _, e := range []struct{ column, value string }{
		{"p.hash", l.Program.Hash}, {"d.api", l.Device.API}, {"d.name", l.Device.Name}, {"d.driver", l.Device.Driver},
		{"k.name", l.Compiler.Name}, {"k.version", l.Compiler.Version}, {"c.sizes", l.Sizes.String()},
		{"c.dtype", l.DType}, {"c.fp", l.FP},
	} {
		c.equal(e.column, e.value)
	}
	if l.Device.Units != 0 {
		c.add("d.units IN (0, ?)", l.Device.Units)
	}
	if l.Compiler.Options != "" {
		c.add("k.options IN ('', ?)", l.Compiler.Options)
	}
	decomposition, err := column(l.Decomposition)
	c.add("c.ranks = ? AND c.decomposition = ? AND c.network = ?", l.Ranks, decomposition, l.Network)
	return err
}

// trialsOf returns the condition for the trials of one session, but for their times.
func trialsOf(f *store.Filter, i *entry) condition {
	var c condition
	c.add("t.id BETWEEN ? AND ?", i.first(), i.last())
	if len(f.Verdict) > 0 {
		var list []string
		for _, v := range f.Verdict {
			list = append(list, fmt.Sprint(uint8(v)))
		}
		c.add("t.verdict IN (" + strings.Join(list, ", ") + ")")
	}
	if f.Whole {
		c.add("t.kernel = 0")
	}
	if f.Kernel != "" {
		c.add("t.kernel = (SELECT id FROM words WHERE text = ?)", f.Kernel)
	}
	return c
}

// Sessions implements store.Store.
func (s *Store) Sessions(ctx context.Context, f store.Filter) iter.Seq2[session.Session, error] {
	return func(yield func(session.Session, error) bool) {
		for i, err := range s.entries(ctx, f) {
			if !yield(i.Session, err) {
				return
			}
		}
	}
}

// entries returns the sessions of a filter with what is damaged of them.
func (s *Store) entries(ctx context.Context, f store.Filter) iter.Seq2[entry, error] {
	return reading(ctx, s, func(q querier, yield func(entry, error) bool) error {
		list, err := s.sessions(ctx, q, &f)
		for _, i := range list {
			if !yield(i, nil) {
				return nil
			}
		}
		return err
	})
}

// Records implements store.Store.
func (s *Store) Records(ctx context.Context, f store.Filter) iter.Seq2[store.Record, error] {
	return reading(ctx, s, func(q querier, yield func(store.Record, error) bool) error {
		list, err := s.sessions(ctx, q, &f)
		if err != nil {
			return err
		}
		for n := range list {
			i := &list[n]
			more, err := s.trials(ctx, q, i, &f, func(t session.Trial) bool {
				return yield(store.Record{Session: &i.Session, Trial: t}, nil)
			})
			if err != nil || !more {
				return err
			}
		}
		return nil
	})
}

// reading runs a query within a transaction, so that it sees one state of the
// store, and hands an error on as the last value.
func reading[T any](ctx context.Context, s *Store, query func(q querier, yield func(T, error) bool) error) iter.Seq2[T,
	error] {
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

func (s *Store) sessions(ctx context.Context, q querier, f *store.Filter) ([]entry, error) {
	c, err := sessionsOf(f)
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, "SELECT "+sessionColumns+c.where()+" ORDER BY s.started, s.uid", c.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []entry
	var programs []int64
	devices := map[string]session.Properties{} // by their text: they are long, and sessions share them
	for rows.Next() {
		i, program, err := scanSession(rows, devices)
		if err != nil {
			return nil, err
		}
		list, programs = append(list, i), append(programs, program)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	type text struct{ source, ir string }
	texts := map[int64]text{} // which sessions of one program share
	for n := range list {
		if err := s.runs(ctx, q, &list[n]); err != nil {
			return nil, err
		}
		p, ok := texts[programs[n]]
		if !ok {
			err := q.QueryRowContext(ctx, "SELECT source, ir FROM programs WHERE id = ?", programs[n]).Scan(&p.source,
				&p.ir)
			if err != nil {
				return nil, err
			}
			texts[programs[n]] = p
		}
		list[n].Program.Source, list[n].Program.IR = p.source, p.ir
	}
	return list, nil
}

// scanSession reads a row of sessionColumns, and returns the row of the program, too.
func scanSession(rows *sql.Rows, devices map[string]session.Properties) (i entry, program int64, err error) {
	var seed, started, finished int64
	var budget, space, clocks, properties, host, sizes, decomposition string
	p, d, k := &i.Program, &i.Device, &i.Compiler
	if err := rows.Scan(&i.row, &i.ID, &i.Source, &i.Strategy, &seed, &budget, &space, &i.Origin, &started, &finished,
		&i.Outcome, &program,
		&p.Hash, &p.Name, &p.Rank, &p.Radius, &p.Points, &p.Arrays, &p.Flops,
		&d.API, &d.Name, &d.UUID, &d.Driver, &clocks, &d.Units, &properties, &k.Name, &k.Version, &k.Options, &host,
		&sizes, &i.DType, &i.FP,
		&i.Arithmetic, &i.IR, &i.Ranks, &decomposition, &i.Network); err != nil {
		return i, 0, err
	}
	i.Seed, i.Started = uint64(seed), time.UnixMilli(started).UTC()
	if finished != 0 {
		i.Finished = time.UnixMilli(finished).UTC()
	}
	i.Sizes = session.ParseSizes(sizes)
	err = errors.Join(session.Column(budget, &i.Budget), session.Column(space, &i.Space),
		session.Column(clocks, &d.Clocks), session.Column(host, &i.Host),
		session.Column(decomposition, &i.Decomposition))
	known, ok := devices[properties]
	if !ok {
		err = errors.Join(err, session.Column(properties, &known))
		devices[properties] = known
	}
	d.Properties = known
	if err != nil { // its trials can be read all the same
		i.damage = refuse(store.ErrDamaged, fmt.Sprintf("session %s: %v", i.ID, err),
			"gridloom results check tells more")
	}
	return i, program, nil
}

func (s *Store) runs(ctx context.Context, q querier, i *entry) error {
	rows, err := q.QueryContext(ctx,
		"SELECT trial, started, revision FROM runs WHERE session = ? ORDER BY started, trial", i.row)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r session.Run
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
func (s *Store) trials(ctx context.Context, q querier, i *entry, f *store.Filter,
	yield func(session.Trial) bool) (more bool, err error) {
	c := trialsOf(f, i)
	by := ""
	if f.Whole {
		by = " INDEXED BY trials_of_programs"
	}
	rows, err := q.QueryContext(ctx, `SELECT t.id, t.kernel, t.config, t.verdict, t.median, coalesce(n.text, ''), t.detail
		FROM trials t`+by+` LEFT JOIN notes n ON n.id = t.note`+c.where()+" ORDER BY t.id", c.args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		t, err := s.scan(ctx, q, rows, i)
		if err != nil {
			return false, err
		}
		if !f.HasTrial(&t) {
			continue // its time is in the detail
		}
		if !yield(t) {
			return false, nil
		}
	}
	return true, rows.Err()
}

// scan reads a row of trials.
func (s *Store) scan(ctx context.Context, q querier, rows *sql.Rows, i *entry) (session.Trial, error) {
	var t session.Trial
	var id, kernel int64
	var number int
	var config, detail []byte
	if err := rows.Scan(&id, &kernel, &config, &number, &t.Median, &t.Note, &detail); err != nil {
		return t, unread(err)
	}
	t.Index = int(id & lastIndex)
	err := t.Unpack(detail, i.Started)
	if err == nil {
		t.Verdict, err = verdict.FromNumber(number)
	}
	if err != nil {
		return t, refuse(store.ErrDamaged, fmt.Sprintf("session %s, trial %d: %v", i.ID, t.Index, err),
			"gridloom results check tells more")
	}
	var errs [2]error
	t.Kernel, errs[0] = s.wordText(ctx, q, kernel)
	t.Config, errs[1] = s.configText(ctx, q, config)
	return t, errors.Join(errs[:]...)
}

// Events implements store.Store.
func (s *Store) Events(ctx context.Context, id string) iter.Seq2[session.Event, error] {
	return func(yield func(session.Event, error) bool) {
		found, err := store.Session(ctx, s, id)
		if err != nil {
			yield(session.Event{}, err)
			return
		}
		s.events(ctx, found.ID)(yield)
	}
}

// events returns the events of a session, or of all.
func (s *Store) events(ctx context.Context, id string) iter.Seq2[session.Event, error] {
	var c condition
	c.equal("s.uid", id)
	return reading(ctx, s, func(q querier, yield func(session.Event, error) bool) error {
		rows, err := q.QueryContext(ctx,
			"SELECT s.uid, e.number, e.at, e.kind, e.detail FROM events e JOIN sessions s ON s.id = e.session"+
				c.where()+" ORDER BY e.session, e.number", c.args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var e session.Event
			var of, kind, detail string
			var number int
			var at int64
			if err := rows.Scan(&of, &number, &at, &kind, &detail); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(detail), &e); err != nil {
				return refuse(store.ErrDamaged, fmt.Sprintf("session %s, event %d: %v", of, number, err),
					"gridloom results check tells more")
			}
			e.Index, e.Kind, e.At = number, kind, time.UnixMilli(at).UTC()
			e.Config = schedule.RespellText(e.Config)
			if !yield(e, nil) {
				return nil
			}
		}
		return rows.Err()
	})
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

// Totals implements store.Store.
func (s *Store) Totals(ctx context.Context, id string) (store.Totals, error) {
	var t store.Totals
	err := s.read.QueryRowContext(ctx, fmt.Sprintf(`SELECT count(t.id), count(t.id) FILTER (WHERE t.verdict = 0), coalesce(min(t.median) FILTER (WHERE t.verdict = 0), 0)
		FROM sessions s LEFT JOIN trials t ON t.id BETWEEN s.id << %d AND (s.id << %d | %d) WHERE s.uid = ?`, indexBits, indexBits, lastIndex), id).Scan(&t.Trials, &t.Right, &t.Best)
	return t, word(ctx, s.path, s.wait, err)
}
