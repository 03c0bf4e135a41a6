package cli

import (
	"io"
	"os"
	"path/filepath"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/serve/report"
)

type reportCmd struct {
	Path string `arg:"" help:"tuning.json, or the folder that holds it."`
	Out  string `help:"The page to write. Default: report.html beside tuning.json." placeholder:"FILE"`
}

func (c *reportCmd) Help() string {
	return `Draws the report of a search once more, from the story that gridloom tune --out has written. The page needs no network and no other file.

Examples:

	gridloom report tuned
	gridloom report tuned/tuning.json --out /tmp/report.html`
}

func (c *reportCmd) Run(a *app) error {
	path := c.Path
	info, err := os.Stat(path)
	if err != nil {
		return gridio.Named(path, err)
	}
	if info.IsDir() {
		path = filepath.Join(path, "tuning.json")
	}
	f, err := os.Open(path)
	if err != nil {
		return gridio.Named(path, err)
	}
	defer f.Close()
	t, err := report.Read(gridio.NewPortions(f, "it", maxStory, maxStory))
	if err != nil {
		return failf(exitDevice, "%s: %w", path, err)
	}
	page, err := reportText(t)
	if err != nil {
		return failf(exitDevice, "%s: %w", path, err)
	}
	out := c.Out
	if out == "" {
		out = filepath.Join(filepath.Dir(path), "report.html")
		if err := noLink(out); err != nil {
			return err
		}
	}
	err = gridio.WriteFile(out, func(w io.Writer) error {
		_, err := io.WriteString(w, page)
		return err
	})
	if err == nil {
		a.row("wrote %s", out)
	}
	return err
}
