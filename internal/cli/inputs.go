package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// gridFile is a grid with a file, from --in or --out.
type gridFile struct {
	grid *ir.Grid
	path string
}

// gridFiles reads NAME=FILE arguments.
func gridFiles(p *ir.Program, option string, args []string) ([]gridFile, error) {
	var files []gridFile
	seen := map[string]bool{}
	for _, arg := range args {
		name, path, ok := strings.Cut(arg, "=")
		if !ok || name == "" || path == "" {
			return nil, usage("%s %s: write NAME=FILE", option, arg)
		}
		g := p.Grid(name)
		if g == nil {
			var names []string
			for _, g := range p.Grids {
				names = append(names, g.Name)
			}
			if p.Scalar(name) != nil {
				return nil, usage("%s %s: %s is a scalar, not a grid%s", option, arg, name, scalarHint(option))
			}
			if near := diag.Nearest(name, names); near != "" {
				return nil, usage("%s %s: the program has no grid %s; did you mean %s?", option, arg, name, near)
			}
			return nil, usage("%s %s: the program has no grid %s; it has %s", option, arg, name, strings.Join(names, ", "))
		}
		if option == "--in" && seen[name] {
			return nil, usage("--in gives %s twice", name)
		}
		seen[name] = true
		files = append(files, gridFile{g, path})
	}
	return files, nil
}

func scalarHint(option string) string {
	if option == "--in" {
		return "; give it with --set"
	}
	return "; results of reductions are printed"
}

// openInputs opens the input files and checks that they fit, before anything
// is allocated or compiled.
func openInputs(b *ir.Binding, ins []gridFile) (files []*gridio.File, err error) {
	for _, in := range ins {
		f, err := gridio.Open(in.path, gridio.Want{Grid: in.grid.Name, Type: in.grid.Type, Shape: b.Shape(in.grid.Dims)})
		if err != nil {
			closeInputs(files)
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func closeInputs(files []*gridio.File) {
	for _, f := range files {
		f.Close()
	}
}

// initialise gives a runner its first values: files for the grids that have
// them, formulas or zero for the others.
func initialise(r exec.Runner, ins []gridFile, files []*gridio.File) error {
	var given []string
	for i, in := range ins {
		cells, err := r.Grid(in.grid.Name)
		if err != nil {
			return err
		}
		if err := files[i].ReadInto(cells); err != nil {
			return err
		}
		given = append(given, in.grid.Name)
	}
	return r.Initialise(given)
}

// startsAtZero says which grids begin without values that the program reads.
func (a *app) startsAtZero(p *ir.Program, ins []gridFile) {
	has := map[*ir.Grid]bool{}
	for _, in := range ins {
		has[in.grid] = true
	}
	if p.Initial != nil {
		for _, st := range p.Initial.Body {
			if st.Array != nil && st.Array.Grid != nil {
				has[st.Array.Grid] = true
			}
		}
	}
	var zero []string
	for _, g := range p.Grids {
		if !has[g] && (g.CopyIn || g.Constant) {
			zero = append(zero, g.Name)
		}
	}
	if len(zero) > 0 {
		fmt.Fprintf(a.stderr, "note: without --in or an initial formula these grids start at zero: %s\n", strings.Join(zero, ", "))
	}
	for _, pair := range lonelyPartners(p, has) {
		fmt.Fprintf(a.stderr, "warning: %s changes places with %s but has no first values: cells that no statement writes start at zero in it\n", pair[0].Name, pair[1].Name)
	}
}

// lonelyPartners returns the grids without first values that change places
// with grids that have them, where some cells are never written.
func lonelyPartners(p *ir.Program, has map[*ir.Grid]bool) [][2]*ir.Grid {
	partial := map[*ir.Grid]bool{}
	for _, s := range p.Stages {
		for _, st := range s.Body {
			if st.Array == nil || st.Array.Grid == nil {
				continue
			}
			extent := st.Array.ExtentBox(len(p.Axes))
			for _, axis := range st.Axes {
				if !st.Domain[axis].Equal(extent[axis]) {
					partial[st.Array.Grid] = true
				}
			}
		}
	}
	var out [][2]*ir.Grid
	told := map[*ir.Grid]bool{}
	var walk func(body []ir.Op)
	walk = func(body []ir.Op) {
		for _, o := range body {
			switch o := o.(type) {
			case *ir.Iterate:
				walk(o.Body)
			case *ir.Rotate:
				var with *ir.Grid
				any := false
				for _, g := range o.Grids {
					if has[g] {
						with = g
					}
					any = any || partial[g]
				}
				for _, g := range o.Grids {
					if with != nil && any && !has[g] && !told[g] {
						told[g] = true
						out = append(out, [2]*ir.Grid{g, with})
					}
				}
			}
		}
	}
	walk(p.Body)
	return out
}

// hinted words an error of gridio with its hint on a line of its own.
func hinted(err error) error {
	var e *gridio.Error
	if errors.As(err, &e) && e.Hint != "" {
		plain := *e
		plain.Hint = ""
		return failf(exitDevice, "%v\n      hint: %s", &plain, e.Hint)
	}
	return trouble(err)
}
