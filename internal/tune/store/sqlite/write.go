package sqlite

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// session inserts a session with everything that it names, and sets its row.
func (w *writing) session(i *entry) error {
	scenario, err := w.scenario(&i.Scenario)
	if err != nil {
		return err
	}
	finished := int64(0)
	if !i.Finished.IsZero() {
		finished = i.Finished.UnixMilli()
	}
	budget, err := column(i.Budget)
	if err != nil {
		return err
	}
	space, err := column(i.Space)
	if err != nil {
		return err
	}
	i.row, err = w.insert("sessions",
		[]string{"uid", "scenario", "source", "strategy", "seed", "budget", "space", "origin", "started", "finished",
			"outcome"},
		i.ID, scenario, i.Source, i.Strategy, int64(i.Seed), budget, space, i.Origin, i.Started.UnixMilli(), finished,
		i.Outcome)
	for _, r := range i.Runs {
		err = errors.Join(err, w.run(i.row, r))
	}
	return err
}

// column returns the JSON of a value, or nothing for the zero value.
func column(v any) (string, error) {
	if reflect.ValueOf(v).IsZero() {
		return "", nil
	}
	text, err := json.Marshal(v)
	return string(text), err
}

func (w *writing) run(row int64, r session.Run) error {
	_, err := w.tx.ExecContext(w.ctx,
		"INSERT INTO runs (session, trial, started, revision) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
		row, r.Trial, r.Started.UnixMilli(), r.Commit)
	return err
}

func (w *writing) scenario(c *session.Scenario) (int64, error) {
	program, err := w.program(&c.Program)
	if err != nil {
		return 0, err
	}
	device, err := w.device(&c.Device)
	if err != nil {
		return 0, err
	}
	k := &c.Compiler
	compiler, err := w.row("compilers", []string{"name", "version", "options"}, k.Name, k.Version, k.Options)
	if err != nil {
		return 0, err
	}
	host, err := column(c.Host)
	if err != nil {
		return 0, err
	}
	decomposition, err := column(c.Decomposition)
	if err != nil {
		return 0, err
	}
	return w.row("scenarios",
		[]string{"program", "device", "compiler", "host", "sizes", "dtype", "fp", "arithmetic", "ir", "ranks",
			"decomposition", "network"},
		program, device, compiler, host, c.Sizes.String(), c.DType, c.FP, c.Arithmetic, c.IR, c.Ranks, decomposition,
		c.Network)
}

func (w *writing) device(d *session.Device) (int64, error) {
	clocks, err := column(d.Clocks)
	if err != nil {
		return 0, err
	}
	properties, err := column(d.Properties)
	if err != nil {
		return 0, err
	}
	return w.row("devices", []string{"api", "name", "uuid", "driver", "clocks", "units", "properties"},
		d.API, d.Name, d.UUID, d.Driver, clocks, d.Units, properties)
}

// program returns the row of a program. Who stored it first named it; its IR and its
// features are taken from whoever knows them.
func (w *writing) program(p *session.Program) (int64, error) {
	f := p.Features
	_, err := w.tx.ExecContext(w.ctx, `INSERT INTO programs (hash, name, source, ir, rank, radius, points, arrays, flops)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (hash) DO UPDATE SET rank = excluded.rank, radius = excluded.radius, points = excluded.points,
			arrays = excluded.arrays, flops = excluded.flops WHERE rank = 0 AND excluded.rank != 0`,
		p.Hash, p.Name, p.Source, p.IR, f.Rank, f.Radius, f.Points, f.Arrays, f.Flops)
	if err != nil {
		return 0, err
	}
	if p.IR != "" {
		if _, err = w.tx.ExecContext(w.ctx, "UPDATE programs SET ir = ? WHERE hash = ? AND ir = ''", p.IR,
			p.Hash); err != nil {
			return 0, err
		}
	}
	var id int64
	err = w.tx.QueryRowContext(w.ctx, "SELECT id FROM programs WHERE hash = ?", p.Hash).Scan(&id)
	return id, err
}

// insertTrial is prepared once: to compile it takes as long as to carry it out.
const insertTrial = `INSERT INTO trials (id, kernel, config, verdict, median, note, detail)
	VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

// trial inserts a trial of a session and rounds it. It returns false if there
// is one of that index already, which stays.
func (w *writing) trial(i *entry, t *session.Trial) (bool, error) {
	if err := t.Check(); err != nil {
		return false, err
	}
	t.Round(i.Started)
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
	result, err := w.tx.StmtContext(w.ctx, w.trials).ExecContext(w.ctx,
		i.first()|int64(t.Index), kernel, config, t.Verdict, t.Median, note, t.Pack(i.Started))
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// condemn changes the row of a trial.
func (w *writing) condemn(i *entry, t *session.Trial, v verdict.Verdict, text string) error {
	t.Verdict, t.Note, t.Reused = v, text, false
	t.Round(i.Started)
	note, err := w.note(t.Note)
	if err != nil {
		return err
	}
	_, err = w.tx.ExecContext(w.ctx, "UPDATE trials SET verdict = ?, note = ?, detail = ? WHERE id = ?", v, note,
		t.Pack(i.Started), i.first()|int64(t.Index))
	return err
}

// event inserts an event of a session and rounds it. It returns false if there is one
// of that index already, which stays.
func (w *writing) event(i *entry, e *session.Event) (bool, error) {
	if err := e.Check(); err != nil {
		return false, err
	}
	e.Round()
	detail, err := json.Marshal(e)
	if err != nil {
		return false, err
	}
	result, err := w.tx.ExecContext(w.ctx,
		"INSERT INTO events (session, number, at, kind, detail) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		i.row, e.Index, e.At.UnixMilli(), e.Kind, string(detail))
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}
