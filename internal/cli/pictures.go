package cli

import (
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// pictureFlags say how .png files are drawn.
type pictureFlags struct {
	Slice []string `group:"pictures" help:"Draw the plane at an index of an axis, such as k=10 (repeatable). Default: the middle." placeholder:"AXIS=INDEX" sep:"none"`
	Map   string   `group:"pictures" help:"Colour map: ${maps}." placeholder:"NAME"`
	Range string   `group:"pictures" help:"Values at the two ends of the colour map, as in --range=-1:1. Default: the least and the greatest drawn." placeholder:"LOW:HIGH"`
	Zoom  int      `group:"pictures" help:"Side of the square of pixels that a cell becomes. Default: 1." placeholder:"N"`
	Axes  bool     `group:"pictures" help:"Draw axes, a title and a colour bar around the cells. Lines of 1-D grids always have axes."`
}

// mostZoom keeps pictures of small grids within reason.
const mostZoom = 1000

// colourMaps returns the names of all.
func colourMaps() []string {
	var names []string
	for _, m := range gridio.ColorMaps {
		names = append(names, m.Name)
	}
	return names
}

// picture returns the picture of one grid.
func (f *pictureFlags) picture(b *ir.Binding, g *ir.Grid) (p gridio.Picture, err error) {
	p.Map, p.Scale, p.Axes, p.Title = f.Map, f.Zoom, f.Axes, g.Name
	for _, dim := range g.Dims {
		name := ""
		if dim.Axis >= 0 {
			name = b.Program.Axes[dim.Axis]
		}
		p.Names, p.First = append(p.Names, name), append(p.First, b.Extent(dim).Lo)
	}
	if f.Zoom < 0 || f.Zoom > mostZoom {
		return p, usage("--zoom %d: it is between 1 and %d", f.Zoom, mostZoom)
	}
	if f.Range != "" {
		low, high, ok := strings.Cut(f.Range, ":")
		x, err1 := strconv.ParseFloat(low, 64)
		y, err2 := strconv.ParseFloat(high, 64)
		if !ok || err1 != nil || err2 != nil || !(x < y) {
			return p, usage("--range %s: write LOW:HIGH, two numbers, the smaller first", f.Range)
		}
		p.Range = &[2]float64{x, y}
	}
	for _, s := range f.Slice {
		axis, index, err := slice(b.Program, s)
		if err != nil {
			return p, err
		}
		for d, dim := range g.Dims {
			if dim.Axis != axis {
				continue
			}
			e := b.Extent(dim)
			if index < e.Lo || index > e.Hi {
				return p, usage("--slice %s: %s has the indices %d to %d on %s",
					s, g.Name, e.Lo, e.Hi, b.Program.Axes[axis])
			}
			p.Planes = append(p.Planes, gridio.Plane{Axis: d, Index: int(index - e.Lo)})
		}
	}
	return p, nil
}

// slice reads AXIS=INDEX.
func slice(p *ir.Program, text string) (axis int, index int64, err error) {
	name, number, ok := strings.Cut(text, "=")
	index, err = strconv.ParseInt(number, 10, 64)
	if !ok || err != nil {
		return 0, 0, usage("--slice %s: write AXIS=INDEX", text)
	}
	if axis = p.Axis(name); axis < 0 {
		bad := usage("--slice %s: the program has no axis %s", text, name)
		if near := diag.Nearest(name, p.Axes); near != "" {
			return 0, 0, bad.hintf("did you mean %s?", near)
		}
		return 0, 0, bad.hintf("it has %s", strings.Join(p.Axes, ", "))
	}
	return axis, index, nil
}

// used refuses options that change no picture.
func (f *pictureFlags) used(p *ir.Program, outs []*writer) error {
	drawn := make([]bool, len(p.Axes)) // axes that some picture has
	any := false
	for _, w := range outs {
		if !w.isPicture() {
			continue
		}
		any = true
		for _, d := range w.grid.Dims {
			if d.Axis >= 0 {
				drawn[d.Axis] = true
			}
		}
	}
	for _, s := range f.Slice {
		axis, _, err := slice(p, s)
		if err != nil {
			return err
		}
		if any && !drawn[axis] {
			return usage("--slice %s: no grid that is drawn has the axis %s", s, p.Axes[axis])
		}
	}
	if !any && (len(f.Slice) > 0 || f.Map != "" || f.Range != "" || f.Zoom != 0 || f.Axes) {
		return usage("--slice, --map, --range, --zoom and --axes are for outputs ending in .png").
			hintf("add one, such as --out %s=%s.png", sample(p), sample(p))
	}
	return nil
}

// sample names a grid for a hint.
func sample(p *ir.Program) string {
	for _, g := range p.Grids {
		if g.CopyOut {
			return g.Name
		}
	}
	return "u"
}
