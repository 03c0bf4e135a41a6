package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// maxSource bounds the size of a source file.
const maxSource = 16 << 20

// read reads a source file, or standard input for "-".
func (a *app) read(path string) (*diag.Source, error) {
	var r io.Reader = a.stdin
	name := "stdin"
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, trouble(err)
		}
		defer f.Close()
		r, name = f, path
	}
	text, err := io.ReadAll(io.LimitReader(r, maxSource+1))
	if err != nil {
		return nil, trouble(fmt.Errorf("%s: %w", name, errors.Unwrap(err)))
	}
	if len(text) > maxSource {
		return nil, failf(exitSource, "%s: a source file has at most %d bytes", name, maxSource)
	}
	return diag.NewSource(name, string(text)), nil
}

// show prints diagnostics.
func (a *app) show(src *diag.Source, list diag.List) {
	if len(list) > 0 {
		diag.Write(a.stderr, src, list, diag.Style{Color: a.colour()})
	}
}

// colour reports whether stderr is a terminal that wants colours.
func (a *app) colour() bool { return os.Getenv("NO_COLOR") == "" && a.terminal() }

// load reads, parses and checks a program, and prints what there is to say.
func (a *app) load(path string) (*diag.Source, *ir.Program, error) {
	src, err := a.read(path)
	if err != nil {
		return nil, nil, err
	}
	p, list := lang.Load(src)
	a.show(src, list)
	if list.HasErrors() {
		return nil, nil, &failure{status: exitSource}
	}
	return src, p, nil
}

// sets reads --set arguments.
func sets(args []string) (map[string]string, error) {
	out := map[string]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usage("--set %s: write NAME=VALUE", arg)
		}
		if _, twice := out[name]; twice {
			return nil, usage("--set gives %s twice", name)
		}
		out[name] = value
	}
	return out, nil
}

// bind gives a program its sizes and scalars, and prints what is wrong.
func (a *app) bind(src *diag.Source, p *ir.Program, args []string) (*ir.Binding, error) {
	set, err := sets(args)
	if err != nil {
		return nil, err
	}
	b, list := p.Bind(set)
	if !list.HasErrors() {
		return b, nil
	}
	for _, d := range list {
		if d.Range != (diag.Range{}) {
			a.show(src, diag.List{d})
			continue
		}
		fmt.Fprintf(a.stderr, "gridloom: %s\n", d.Message)
		if d.Hint != "" {
			fmt.Fprintf(a.stderr, "      hint: %s\n", d.Hint)
		}
	}
	return nil, &failure{status: exitUsage}
}

// printJSON prints a value as indented JSON.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	return trouble(enc.Encode(v))
}
