package cli

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// pictureFlags say how .png files are drawn.
type pictureFlags struct {
	Slice []string `help:"Draw the plane at an index of an axis in .png files, such as k=10 (repeatable)." placeholder:"AXIS=INDEX" sep:"none"`
	Map   string   `help:"Colour map of .png files." placeholder:"NAME"`
	Range string   `help:"Values at the two ends of the colour map." placeholder:"LOW:HIGH"`
	Zoom  int      `help:"Side of the square of pixels that a cell becomes." placeholder:"N"`
}

// options returns the picture of one grid.
func (f *pictureFlags) options(p *ir.Program, g *ir.Grid) (gridio.Options, error) {
	o := gridio.Options{Name: g.Name, Picture: gridio.Picture{Map: f.Map, Scale: f.Zoom}}
	if f.Range != "" {
		low, high, ok := strings.Cut(f.Range, ":")
		x, err1 := strconv.ParseFloat(low, 64)
		y, err2 := strconv.ParseFloat(high, 64)
		if !ok || err1 != nil || err2 != nil || !(x < y) {
			return o, usage("--range %s: write LOW:HIGH", f.Range)
		}
		o.Picture.Range = &[2]float64{x, y}
	}
	for _, s := range f.Slice {
		name, text, ok := strings.Cut(s, "=")
		index, err := strconv.Atoi(text)
		if !ok || err != nil {
			return o, usage("--slice %s: write AXIS=INDEX", s)
		}
		axis := p.Axis(name)
		if axis < 0 {
			return o, usage("--slice %s: the program's axes are %s", s, strings.Join(p.Axes, ", "))
		}
		for d, dim := range g.Dims {
			if dim.Axis == axis {
				o.Picture.Planes = append(o.Picture.Planes, gridio.Plane{Axis: d, Index: index})
			}
		}
	}
	return o, nil
}

// output is one --out argument.
type output struct {
	gridFile
	name    gridio.Template
	options gridio.Options
	frames  []gridio.Frame
}

// newOutputs reads --out arguments and checks that each can be written.
func newOutputs(b *ir.Binding, args []string, f *pictureFlags) ([]*output, error) {
	files, err := gridFiles(b.Program, "--out", args)
	if err != nil {
		return nil, err
	}
	var outs []*output
	paths := map[string]bool{}
	for _, file := range files {
		o := &output{gridFile: file, name: gridio.Template(file.path)}
		if paths[filepath.Clean(file.path)] {
			return nil, usage("--out writes %s twice", file.path)
		}
		paths[filepath.Clean(file.path)] = true
		if err := o.name.Check(); err != nil {
			return nil, usage("%v", err)
		}
		if o.options, err = f.options(b.Program, file.grid); err != nil {
			return nil, err
		}
		if err := gridio.CheckWrite(o.name.Expand(0), file.grid.Type, b.Shape(file.grid.Dims), o.options); err != nil {
			return nil, hinted(err)
		}
		outs = append(outs, o)
	}
	return outs, nil
}

// write writes the grid as it is now. Series of .vti files get an index.
func (o *output) write(r exec.Runner, b *ir.Binding, step int64) error {
	cells, err := r.Grid(o.grid.Name)
	if err != nil {
		return err
	}
	path := o.name.Expand(int(step))
	array := &gridio.Array{Type: o.grid.Type, Shape: b.Shape(o.grid.Dims), Data: cells}
	if err := gridio.Write(path, array, o.options); err != nil {
		return err
	}
	if !o.name.HasStep() || strings.ToLower(filepath.Ext(path)) != ".vti" {
		return nil
	}
	if n := len(o.frames); n > 0 && o.frames[n-1].Time == float64(step) {
		return nil
	}
	o.frames = append(o.frames, gridio.Frame{Time: float64(step), File: path})
	return gridio.WriteIndex(o.name.Index(), o.frames)
}
