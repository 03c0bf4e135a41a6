package cli

import (
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

// gridFiles reads GRID=FILE arguments.
func gridFiles(p *ir.Program, option string, args []string) ([]gridFile, error) {
	var files []gridFile
	for _, arg := range args {
		name, path, ok := strings.Cut(arg, "=")
		if !ok || name == "" || path == "" {
			return nil, usage("%s %s: write GRID=FILE", option, arg)
		}
		g := p.Grid(name)
		if g == nil {
			return nil, noGrid(p, option+" "+arg, name)
		}
		files = append(files, gridFile{g, path})
	}
	return files, nil
}

// noGrid says what the program has instead of a grid of that name.
func noGrid(p *ir.Program, argument, name string) error {
	if s := p.Scalar(name); s != nil && s.Reduced {
		return usage("%s: %s is a scalar, not a grid", argument, name).
			hintf("it is printed at the end of the run, and part of --json")
	} else if s != nil || p.Param(name) >= 0 {
		return usage("%s: %s is a scalar, not a grid", argument, name).
			hintf("give it its value with --set %s=...", name)
	}
	var names []string
	for _, g := range p.Grids {
		names = append(names, g.Name)
	}
	bad := usage("%s: the program has no grid %s", argument, name)
	if near := diag.Nearest(name, names); near != "" {
		return bad.hintf("did you mean %s?", near)
	}
	return bad.hintf("it has %s", strings.Join(names, ", "))
}

// newInputs reads --in arguments.
func newInputs(p *ir.Program, args []string) ([]gridFile, error) {
	ins, err := gridFiles(p, "--in", args)
	if err != nil {
		return nil, err
	}
	seen := map[*ir.Grid]bool{}
	for _, in := range ins {
		if seen[in.grid] {
			return nil, usage("--in gives %s twice", in.grid.Name)
		}
		seen[in.grid] = true
		if err := gridio.CheckRead(in.path); err != nil {
			return nil, misuse("--in", err)
		}
	}
	return ins, nil
}

// grids returns those that files give values.
func grids(files []gridFile) []*ir.Grid {
	var list []*ir.Grid
	for _, f := range files {
		list = append(list, f.grid)
	}
	return list
}

// openInputs opens the input files and checks that they fit, before anything
// is allocated or compiled.
func openInputs(b *ir.Binding, ins []gridFile) (files []*gridio.File, err error) {
	for _, in := range ins {
		want := gridio.Want{Grid: in.grid.Name, Type: in.grid.Type, Shape: b.Shape(in.grid.Dims)}
		f, err := gridio.Open(in.path, want)
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
func initialise(r exec.Runner, b *ir.Binding, ins []gridFile) error {
	given, err := fill(r, b, ins)
	if err != nil {
		return err
	}
	return r.Initialise(given)
}

// fill reads the input files into their grids, and returns whose they are.
func fill(r exec.Runner, b *ir.Binding, ins []gridFile) (given []string, err error) {
	files, err := openInputs(b, ins)
	if err != nil {
		return nil, err
	}
	defer closeInputs(files)
	for i, in := range ins {
		cells, err := r.Grid(in.grid.Name)
		if err != nil {
			return nil, err
		}
		if err := files[i].ReadInto(cells); err != nil {
			return nil, err
		}
		given = append(given, in.grid.Name)
	}
	return given, nil
}
