package cli

import (
	"io"

	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

type fmtCmd struct {
	Files []string `arg:"" name:"file" help:"Source files; - reads standard input."`
	Write bool     `short:"w" help:"Write the result back to the file."`
	List  bool     `short:"l" help:"List the files whose formatting differs, and end with status 1 if there are any left."`
}

func (c *fmtCmd) Help() string {
	return `Without -w or -l the formatted source goes to standard output. A file with errors is left alone.

Examples:

	gridloom fmt -w examples/heat3d.loom
	gridloom fmt -l examples/*.loom
	gridloom fmt - < draft.loom`
}

func (c *fmtCmd) Run(a *app) error {
	wrong := false
	for _, path := range c.Files {
		if c.Write && path == "-" {
			return usage("fmt -w: standard input cannot be written back")
		}
		src, err := a.read(path)
		if err != nil {
			return err
		}
		text, list := lang.Format(src)
		a.show(src, list)
		if list.HasErrors() {
			wrong = true
			continue
		}
		changed := text != src.Text
		if c.List && changed {
			a.row("%s", src.Name)
			wrong = wrong || !c.Write
		}
		switch {
		case c.Write && changed:
			err = gridio.WriteFile(path, func(w io.Writer) error {
				_, err := io.WriteString(w, text)
				return err
			})
		case !c.Write && !c.List:
			_, err = io.WriteString(a.data, text)
		}
		if err != nil {
			return err
		}
	}
	if wrong {
		return &failure{status: exitSource}
	}
	return nil
}
