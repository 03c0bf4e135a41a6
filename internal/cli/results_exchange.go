package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/sqlite"
)

type resultsExport struct {
	storeFlag   `embed:""`
	filterFlags `embed:""`

	Format string `help:"csv, t4 or jsonl. Default: by the ending of --out (.csv, .json for t4, .jsonl), or jsonl." placeholder:"FORMAT"`
	Out    string `short:"o" help:"Write to a file instead of standard output." placeholder:"FILE"`
}

func (c *resultsExport) Help() string {
	return `Lines of JSON keep everything. T4 is what programs for auto-tuning exchange: one kernel in one
scenario, each configuration once. CSV is a table with a column for everything.

Examples:

	gridloom results export --out all.jsonl
	gridloom results export --program heat3d --device h200 --sizes L=512,M=512,N=512 --format t4 --out heat.json
	gridloom results export --format csv > all.csv`
}

// exporter writes the variants that a filter lets pass.
type exporter func(ctx context.Context, s store.Store, w io.Writer, f store.Filter) error

// formats are those of results export, with the endings of their files.
var formats = []struct {
	name, ending string
	export       exporter
}{
	{"jsonl", ".jsonl", store.ExportLines},
	{"csv", ".csv", store.ExportCSV},
	{"t4", ".json", store.ExportT4},
}

// format returns what writes the format that is asked for: by name, or by the
// ending of the file.
func (c *resultsExport) format() (exporter, error) {
	ending := strings.ToLower(filepath.Ext(c.Out))
	if c.Format == "" && ending == "" {
		return formats[0].export, nil
	}
	for _, e := range formats {
		if c.Format == e.name || c.Format == "" && ending == e.ending {
			return e.export, nil
		}
	}
	if c.Format == "" {
		return nil, usage("--out %s: no format has the ending %s", c.Out, ending).
			hintf("there are .jsonl, .csv and .json, which is T4; --format names one whatever the ending is")
	}
	return nil, usage("--format %s: there are csv, t4 and jsonl", c.Format)
}

func (c *resultsExport) Run(a *app) error {
	f, err := c.filter(time.Now())
	if err != nil {
		return err
	}
	export, err := c.format()
	if err != nil {
		return err
	}
	if c.Out != "" {
		if err := gridio.CheckFile(c.Out); err != nil {
			return err
		}
	}
	s, err := c.open(a, sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer s.Close()
	if c.Out == "" {
		return export(a.ctx, s, a.data, f)
	}
	var failed error // about the store, not about the file that is written
	err = gridio.WriteFile(c.Out, func(w io.Writer) error {
		to := &output{to: w}
		if err := export(a.ctx, s, to, f); to.failed == nil {
			failed = err
		}
		return errors.Join(failed, to.failed)
	})
	if failed != nil {
		return failed
	}
	return err
}

type resultsImport struct {
	storeFlag `embed:""`

	Files   []string `arg:"" name:"file" help:"Files that results export has written (jsonl, t4), T4 results of other programs, or caches of Kernel Tuner, plain or packed by gzip; - reads standard input."`
	Program string   `help:"What was measured, where a file does not say." placeholder:"NAME"`
	Device  string   `short:"d" help:"On what it was measured, where a file does not say." placeholder:"NAME"`
}

func (c *resultsImport) Help() string {
	return `Each file is imported whole or not at all. What is in the store already stays as it is, so that
a file may be imported again.

Examples:

	gridloom results import all.jsonl
	gridloom results import convolution_A4000.json.gz --program convolution`
}

func (c *resultsImport) Run(a *app) error {
	s, err := c.open(a, sqlite.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	for _, file := range c.Files {
		n, err := c.file(a, s, file)
		if bad, ok := errors.AsType[*store.BadFile](err); ok {
			return failf(exitDevice, "%s: %s", file, bad.Text).hintf("%s", bad.Hint)
		}
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%s: %s of %s", file, count(n.Trials, "new variant"), count(n.Sessions, "new session"))
		if n.Already > 0 {
			text += fmt.Sprintf(", %d were known", n.Already)
		}
		a.row("%s", text)
	}
	return nil
}

func (c *resultsImport) file(a *app, s store.Store, file string) (store.Imported, error) {
	from := store.Source{Program: c.Program, Device: c.Device}
	if file == "-" {
		return store.Import(a.ctx, s, a.stdin, from)
	}
	f, err := os.Open(file)
	if err != nil {
		return store.Imported{}, gridio.Named(file, err)
	}
	defer f.Close()
	return store.Import(a.ctx, s, f, from)
}
