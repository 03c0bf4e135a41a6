package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/sqlite"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

type resultsCmd struct {
	List     resultsList     `cmd:"" default:"withargs" help:"List what was measured."`
	Sessions resultsSessions `cmd:"" help:"List the searches that measured it."`
	Export   resultsExport   `cmd:"" help:"Write it as CSV, T4 or lines of JSON."`
	Import   resultsImport   `cmd:"" help:"Take in what was exported, here or by others."`
	Check    resultsCheck    `cmd:"" help:"Read the whole store and report what is damaged."`
	Path     resultsPath     `cmd:"" help:"Print where the store lies."`
}

func (c *resultsCmd) Help() string {
	return `Every variant that was ever tried on this machine is in a file, the store. tune does not
measure again what is there.

Examples:

	gridloom results --best
	gridloom results list --program heat3d --verdict ok --since 24h
	gridloom results export --program heat3d --out heat.csv`
}

// storeFlag says which store is meant.
type storeFlag struct {
	Store string `env:"GRIDLOOM_STORE" help:"The file that holds what was measured. Default: store.db in the user's folder for data, which gridloom results path prints." placeholder:"FILE"`
}

func (f *storeFlag) path() (string, error) {
	if f.Store != "" {
		return f.Store, nil
	}
	return sqlite.DefaultPath()
}

// open opens the store.
func (f *storeFlag) open(a *app, o sqlite.Options) (store.Store, error) {
	path, err := f.path()
	if err != nil {
		return nil, err
	}
	s, err := sqlite.Open(a.ctx, path, o)
	if err != nil {
		return nil, err // and not a nil *sqlite.Store
	}
	return s, nil
}

type resultsList struct {
	storeFlag   `embed:""`
	filterFlags `embed:""`

	Best bool `help:"Only the fastest variant of each program, device, sizes, type and arithmetic."`
	Last int  `help:"Only the last so many." placeholder:"N"`
	JSON bool `name:"json" help:"Print as JSON."`
}

func (c *resultsList) Help() string {
	return `Lists the variants that were tried, the oldest first: when, in which session, the program,
the device, sizes and type of cells, the arithmetic with its version, the median time of a step
and half the width of its 95 % interval, and the configuration; for one that was refused, why.
Times of day are UTC. Times of different versions are not compared: --best ranks those that
were measured under the versions of this Gridloom.

Examples:

	gridloom results list --best
	gridloom results list --device h200 --verdict refused --last 20
	gridloom results list --session 4f1d --json`
}

func (c *resultsList) Run(a *app) error {
	f, err := c.filter(time.Now())
	if err != nil {
		return err
	}
	if c.Last < 0 {
		return usage("--last %d: a number of variants is positive", c.Last)
	}
	s, err := c.open(a, sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer s.Close()
	records := s.Records(a.ctx, f)
	passed := 0
	if c.Best {
		records = bestVariants(records, f.Arithmetic == 0, &passed)
	}
	if c.Last > 0 {
		records = lastVariants(records, c.Last)
	}
	t := newTable(a,
		column{head: "tried (UTC)"}, column{head: "session"}, column{head: "program"}, column{head: "device"},
		column{head: "sizes"}, column{head: "cells"}, column{head: "arithmetic"},
		column{head: "time of a step"}, column{head: "kernel and configuration"})
	show := func(_ *app, r *store.Record) error { return t.row(recordRow(r)...) }
	if c.JSON {
		show = jsonRecord()
		fmt.Fprint(a.json, "[")
	}
	for r, err := range records {
		if err != nil {
			return err
		}
		if err := show(a, &r); err != nil {
			return err
		}
	}
	if passed > 0 {
		fmt.Fprintf(a.stderr, "note: not ranked: %s of other versions; --arithmetic N ranks those of version N\n",
			count(passed, "variant"))
	}
	if c.JSON {
		_, err := fmt.Fprint(a.json, "\n]\n")
		return err
	}
	return t.end()
}

// arithmeticOf is a mode of arithmetic with its version, and with that of the program
// IR if it is not that of now.
func arithmeticOf(i *session.Session) string {
	text := fmt.Sprintf("%s %d", i.FP, i.Arithmetic)
	if i.Set.IR != session.Current().IR {
		text += fmt.Sprintf(", IR %d", i.Set.IR)
	}
	return strings.TrimSpace(text)
}

// recordRow is a variant as the table has it.
func recordRow(r *store.Record) []string {
	what, outcome := r.Config, quantity.Time(r.Median)
	if r.Kernel != "" {
		what = r.Kernel + " " + what
	}
	if half := (r.High - r.Low) / 2; half > 0 {
		outcome += fmt.Sprintf(" ±%.1f %%", 100*half/r.Median)
	}
	if r.Verdict != verdict.OK {
		outcome = r.Verdict.String()
		if r.Note != "" {
			what += ": " + strings.Join(strings.Fields(r.Note), " ")
		}
	}
	i := r.Session
	return []string{r.At.Format(minutes), i.ID, i.Program.Name, i.Device.String(),
		i.Sizes.String(), i.DType, arithmeticOf(i), outcome, what}
}

// minutes is how lists write times.
const minutes = "2006-01-02 15:04"

// variantRow is a variant as --json prints it.
type variantRow struct {
	Session     string        `json:"session"`
	Program     string        `json:"program"`
	ProgramHash string        `json:"program_hash"`
	API         string        `json:"api"`
	Device      string        `json:"device"`
	Driver      string        `json:"driver,omitempty"`
	Units       int           `json:"units,omitempty"`
	Sizes       session.Sizes `json:"sizes"`
	DType       string        `json:"dtype"`
	FP          string        `json:"fp"`
	versions.Set
	Strategy string `json:"strategy"`
	Commit   string `json:"commit,omitempty"`
	session.Trial
}

// jsonRecord returns what prints the elements of a list.
func jsonRecord() func(a *app, r *store.Record) error {
	between := "\n  "
	return func(a *app, r *store.Record) error {
		i := r.Session
		text, err := json.Marshal(variantRow{i.ID, i.Program.Name, i.Program.Hash,
			i.Device.API, i.Device.Name, i.Device.Driver, i.Device.Units,
			i.Sizes, i.DType, i.FP, i.Set, i.Strategy, r.Commit(), r.Trial})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.json, "%s%s", between, text)
		between = ",\n  "
		return err
	}
}

type resultsSessions struct {
	storeFlag   `embed:""`
	filterFlags `embed:""`

	JSON bool `name:"json" help:"Print as JSON."`
}

func (c *resultsSessions) Help() string {
	return `Lists searches, the oldest first: when they began, their names, the program, the device, sizes
and type of cells, the arithmetic with its version, the strategy and its seed, how many variants were tried and how many of them
were right, the best time, and how the search ended. One that has not ended may be running, or
can be taken up again.

Examples:

	gridloom results sessions --program heat3d
	gridloom results sessions --since 7d --json`
}

func (c *resultsSessions) Run(a *app) error {
	f, err := c.filter(time.Now())
	if err != nil {
		return err
	}
	if c.Kernel != "" || len(c.Verdict) > 0 {
		return usage("--kernel and --verdict are about variants, not about searches").
			hintf("gridloom results list lists variants")
	}
	s, err := c.open(a, sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer s.Close()
	list := []sessionRow{}
	for i, err := range s.Sessions(a.ctx, f) {
		if err != nil {
			return err
		}
		if i.Started.Before(f.Since) {
			continue
		}
		totals, err := s.Totals(a.ctx, i.ID)
		if err != nil {
			return err
		}
		i.Program.Source, i.Program.IR = "", ""
		list = append(list, sessionRow{i, totals})
	}
	if c.JSON {
		return a.printJSON(list)
	}
	t := newTable(a,
		column{head: "began (UTC)"}, column{head: "session"}, column{head: "program"}, column{head: "device"},
		column{head: "sizes"}, column{head: "cells"}, column{head: "arithmetic"}, column{head: "strategy"},
		column{head: "variants", right: true}, column{head: "right", right: true},
		column{head: "best step"}, column{head: "ended"})
	for _, i := range list {
		outcome := i.Outcome
		if i.Finished.IsZero() {
			outcome = "not finished"
		}
		how, best := fmt.Sprintf("%s, seed %d", i.Strategy, i.Seed), ""
		if i.Strategy == session.Imported { // there is nobody to go on with it
			how, outcome = i.Strategy, ""
		}
		if i.Right > 0 {
			best = quantity.Time(i.Best)
		}
		err := t.row(i.Started.Format(minutes), i.ID, i.Program.Name, i.Device.String(), i.Sizes.String(),
			i.DType, arithmeticOf(&i.Session), how, quantity.Whole(i.Trials), quantity.Whole(i.Right), best, outcome)
		if err != nil {
			return err
		}
	}
	return t.end()
}

// sessionRow is a search as --json prints it.
type sessionRow struct {
	session.Session
	store.Totals
}

type resultsPath struct {
	storeFlag `embed:""`
}

func (c *resultsPath) Help() string {
	return `Examples:

	gridloom results path`
}

func (c *resultsPath) Run(a *app) error {
	path, err := c.path()
	if err == nil {
		a.row("%s", path)
	}
	return err
}

type resultsCheck struct {
	storeFlag `embed:""`

	JSON bool `name:"json" help:"Print as JSON."`
}

func (c *resultsCheck) Help() string {
	return `Reads every page and every record. The status is 4 if something is damaged. A note says where
the last variants of a search may be missing, because the file was copied without its journal.

Examples:

	gridloom results check`
}

func (c *resultsCheck) Run(a *app) error {
	s, err := c.open(a, sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := s.Check(a.ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		size := int64(0)
		if info, err := os.Stat(s.Path()); err == nil {
			size = info.Size()
		}
		a.row("%s: %s, %s, %s", s.Path(), count(r.Sessions, "session"), count(r.Trials, "variant"), memory.Size(size))
		for _, p := range r.Problems {
			a.row("  %s", p)
		}
		for _, n := range r.Notes {
			a.row("  note: %s", n)
		}
	}
	if len(r.Problems) > 0 {
		return failf(exitCheck, "%s: the store is damaged", s.Path()).
			hintf("gridloom results export > FILE saves what can be read before the damage; " +
				"move the store away to begin a new one")
	}
	return nil
}
