package cli

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// maxSource bounds the size of a source file, maxSmall that of other texts that
// people write: plans, spaces, machines, specifications; maxStory that of what
// searches and benchmarks leave.
const (
	maxSource = 16 << 20
	maxSmall  = 1 << 20
	maxStory  = 1 << 30
)

// read reads a source file, or standard input for "-".
func (a *app) read(path string) (*diag.Source, error) {
	var r io.Reader = a.stdin
	name := "stdin"
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, gridio.Named(path, err)
		}
		defer f.Close()
		r, name = f, path
	}
	text, err := io.ReadAll(io.LimitReader(r, maxSource+1))
	if err != nil {
		return nil, gridio.Named(name, err)
	}
	if len(text) > maxSource {
		return nil, failf(exitSource, "%s: a source file has at most %d bytes", name, maxSource)
	}
	return diag.NewSource(name, string(text)), nil
}

// show prints diagnostics.
func (a *app) show(src *diag.Source, list diag.List) {
	if len(list) > 0 {
		io.WriteString(a.cursor, clip(diag.Render(src, list, diag.Style{Color: a.colour()})))
	}
}

// load reads, parses and checks a program for a mode of arithmetic, and prints
// what there is to say.
func (a *app) load(path string, mode arith.Mode) (*diag.Source, *ir.Program, error) {
	src, err := a.read(path)
	if err != nil {
		return nil, nil, err
	}
	p, list := engine.Parse(src)
	a.show(src, list)
	a.src = src
	if list.HasErrors() {
		return nil, nil, &failure{status: exitSource}
	}
	return src, p.In(mode), nil
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
	return a.bindBy(p.Bind, complete(p), src, args)
}

// bindSizes gives a program its sizes, and scalars as far as they have values.
func (a *app) bindSizes(src *diag.Source, p *ir.Program, args []string) (*ir.Binding, error) {
	return a.bindBy(p.BindSizes, sized(p), src, args)
}

// bindBy binds; whole says that the source gives every value that takes.
func (a *app) bindBy(bind func(map[string]string) (*ir.Binding, diag.List), whole bool,
	src *diag.Source, args []string) (*ir.Binding, error) {
	set, err := sets(args)
	if err != nil {
		return nil, err
	}
	b, list := bind(set)
	switch {
	case !list.HasErrors():
		return b, nil
	case len(set) == 0 && whole:
		return nil, a.unfit(exitSource, src, list)
	}
	return nil, a.unfit(exitUsage, src, list)
}

// sized reports whether the source gives every parameter its value.
func sized(p *ir.Program) bool {
	return !slices.ContainsFunc(p.Params, func(q *ir.Param) bool { return q.Default == nil })
}

// complete reports whether the source gives every value that a run needs.
func complete(p *ir.Program) bool {
	return sized(p) && !slices.ContainsFunc(p.Scalars, (*ir.Scalar).NeedsValue)
}

// unfit prints what is wrong with the values that a program was given.
func (a *app) unfit(status int, src *diag.Source, list diag.List) error {
	for _, d := range list {
		if d.Range == (diag.Range{}) { // about the command line alone
			a.complain("--set: "+d.Message, d.Hint)
			continue
		}
		a.show(src, diag.List{d})
	}
	return &failure{status: status}
}

// printJSON prints a value as indented JSON.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.json)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
