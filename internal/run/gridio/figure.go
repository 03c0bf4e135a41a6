package gridio

import (
	"fmt"
	"image"
	"image/color"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"github.com/gridloom/gridloom/internal/run/quantity"
)

// figure is a picture with axes around a plot: cells in colours with a bar that
// tells their values, or a line. Each pixel is a place in the palette.
type figure struct {
	*image.Paletted
	plot image.Rectangle
}

// The palette of a figure: the levels of the colour map, then these.
const (
	figureLevels = 249 // odd, so that a centred map has its exact centre
	nanIndex     = figureLevels + iota - 1
	paperIndex
	inkIndex
	gridIndex
	lineIndex
)

var (
	paper    = color.RGBA{255, 255, 255, 255}
	ink      = color.RGBA{30, 34, 40, 255}
	gridLine = color.RGBA{217, 222, 228, 255}
	lineBlue = color.RGBA{31, 111, 235, 255}
)

// Sizes in pixels. Letters are 7 wide and 13 high.
const (
	letterWidth, letterHeight = 7, 13
	gap                       = 6
	tickLength                = 4
	barWidth                  = 16
	lineWidth, lineHeight     = 640, 360 // of the plot of a line
	usualSide                 = 480      // that small grids are enlarged to
	maxFigure                 = 1 << 13  // a figure is held in memory
)

// isLine reports whether a picture of a grid is a line: one axis is left.
func (p Picture) isLine(shape []int) bool { return len(shape)-len(p.Planes) == 1 }

// plotSize returns the size of the plot of a figure.
func (p Picture) plotSize(shape []int, cut plane) (width, height, scale int) {
	if p.isLine(shape) {
		if p.Scale > 0 {
			return max(cut.cols*p.Scale, 2), lineHeight, p.Scale
		}
		return lineWidth, lineHeight, 1
	}
	scale = p.Scale
	if scale == 0 {
		scale = max(1, usualSide/max(cut.rows, cut.cols))
	}
	return cut.cols * scale, cut.rows * scale, scale
}

// newFigure draws a grid with axes.
func newFigure(a *Array, p Picture) (*figure, error) {
	d, err := newDrawing(a, p)
	if err != nil {
		return nil, err
	}
	m, err := findColorMap(p.mapFor(a.Type))
	if err != nil {
		return nil, err
	}
	hasNaN := d.findRange(p.Range, m.centred)
	width, height, scale := p.plotSize(a.Shape, d.cut)
	d.scale, d.levels = scale, figureLevels
	line := p.isLine(a.Shape)
	if line {
		d.widen(p.Range != nil)
	}
	rows, cols := p.axes(a.Shape)
	values := quantity.Ticks(d.lo, d.hi, max(2, height/40))
	var left []string // beside the plot
	down := quantity.Ticks(float64(p.first(rows)), float64(p.first(rows)+int64(d.cut.rows)-1), max(2, height/40))
	if line {
		left = labels(values)
	} else {
		left = labels(whole(down))
	}
	margin := gap + letterWidth*longest(left) + gap + tickLength
	top := gap + 2*letterHeight + gap
	right := 4 * letterWidth
	bar := labels(values)
	if !line {
		right = 2*gap + barWidth + tickLength + gap + letterWidth*max(longest(bar), 3) + gap
	}
	title := p.Title
	total := max(margin+width+right, 2*gap+letterWidth*len(title))
	f := &figure{plot: image.Rect(margin, top, margin+width, top+height)}
	f.Paletted = image.NewPaletted(image.Rect(0, 0, total, top+height+tickLength+2*letterHeight+2*gap), f.colors(m))
	f.fill(f.Bounds(), paperIndex)
	f.text(title, gap, gap+letterHeight-2)

	across := whole(quantity.Ticks(float64(p.first(cols)), float64(p.first(cols)+int64(d.cut.cols)-1),
		max(2, width/80)))
	for i, text := range labels(across) {
		x := f.column(int(across[i])-int(p.first(cols)), d.cut.cols)
		f.fill(image.Rect(x, f.plot.Max.Y, x+1, f.plot.Max.Y+tickLength), inkIndex)
		f.text(text, x-letterWidth*len(text)/2, f.plot.Max.Y+tickLength+letterHeight)
	}
	f.text(p.name(cols), f.plot.Min.X+(width-letterWidth*len(p.name(cols)))/2, f.Bounds().Max.Y-gap)
	if line {
		for i, v := range values {
			y := f.height(d, v)
			f.fill(image.Rect(f.plot.Min.X, y, f.plot.Max.X, y+1), gridIndex)
			f.beside(left[i], y)
		}
		f.line(d)
	} else {
		f.text(p.name(rows), margin-tickLength-letterWidth*len(p.name(rows)), top-gap)
		down = whole(down)
		for i := range left {
			f.beside(left[i], f.plot.Min.Y+(2*(int(down[i])-int(p.first(rows)))+1)*height/(2*d.cut.rows))
		}
		for y := range height {
			for x := range width {
				f.SetColorIndex(f.plot.Min.X+x, f.plot.Min.Y+y, d.level(x, y))
			}
		}
		f.bar(d, values, bar, hasNaN)
	}
	f.frame(f.plot)
	return f, nil
}

// colors returns the palette.
func (f *figure) colors(m ColorMap) color.Palette {
	var list color.Palette
	for i := range figureLevels {
		list = append(list, m.at(float64(i)/(figureLevels-1)))
	}
	return append(list, nanColor, paper, ink, gridLine, lineBlue)
}

// axes returns the axes that are the rows and the columns; -1 for none.
func (p Picture) axes(shape []int) (rows, cols int) {
	rows, cols = -1, -1
	fixed := map[int]bool{}
	for _, at := range p.Planes {
		fixed[at.Axis] = true
	}
	for axis := 0; len(shape)-len(fixed) > 2; axis++ {
		fixed[axis] = true
	}
	for axis := range shape {
		if !fixed[axis] {
			rows, cols = cols, axis
		}
	}
	return rows, cols
}

func (p Picture) name(axis int) string {
	if axis < 0 || axis >= len(p.Names) {
		return ""
	}
	return p.Names[axis]
}

func (p Picture) first(axis int) int64 {
	if axis < 0 || axis >= len(p.First) {
		return 0
	}
	return p.First[axis]
}

// widen leaves room around a line, also where all values are the same.
func (d *drawing) widen(given bool) {
	switch {
	case d.lo == d.hi:
		room := math.Max(math.Abs(d.lo)/2, 0.5)
		d.lo, d.hi = d.lo-room, d.hi+room
	case !given:
		room := d.hi/20 - d.lo/20
		d.lo, d.hi = math.Max(d.lo-room, -math.MaxFloat64), math.Min(d.hi+room, math.MaxFloat64)
	}
}

// column returns the pixel of the middle of a cell.
func (f *figure) column(cell, cells int) int {
	return f.plot.Min.X + int((2*int64(cell)+1)*int64(f.plot.Dx())/(2*int64(cells)))
}

// height returns the pixel of a value; values beyond the range are at its ends.
func (f *figure) height(d *drawing, v float64) int {
	t := (v/2 - d.lo/2) / (d.hi/2 - d.lo/2)
	t = math.Max(0, math.Min(1, t))
	return f.plot.Max.Y - 1 - int(math.Round(t*float64(f.plot.Dy()-1)))
}

// line draws the values as a line with gaps where they are no numbers; these are
// marked below it. Where several cells share a column of pixels, all that the
// line passes there is drawn.
func (f *figure) line(d *drawing) {
	width := f.plot.Dx()
	high, low, none := make([]int, width), make([]int, width), make([]bool, width)
	for x := range width {
		high[x], low[x] = math.MaxInt, math.MinInt
	}
	pass := func(x, y int) {
		x -= f.plot.Min.X
		high[x], low[x] = min(high[x], y), max(low[x], y)
	}
	beforeX, beforeY, before := 0, 0, false
	for i := range d.cut.cols {
		v, x := d.value(0, i), f.column(i, d.cut.cols)
		if math.IsNaN(v) {
			none[x-f.plot.Min.X], before = true, false
			continue
		}
		y := f.height(d, v)
		pass(x, y)
		if before {
			// Each column goes on to half way to the next.
			for c := beforeX; c < x; c++ {
				at := func(half int) int { return beforeY + (y-beforeY)*(2*(c-beforeX)+half)/(2*(x-beforeX)) }
				pass(c, at(0))
				pass(c, at(1))
				pass(c+1, at(1))
			}
			if beforeX == x {
				pass(x, beforeY)
			}
		}
		beforeX, beforeY, before = x, y, true
	}
	for i := range width {
		x := f.plot.Min.X + i
		if high[i] <= low[i] {
			f.fill(image.Rect(x, high[i], x+1, low[i]+2).Intersect(f.plot), lineIndex)
		}
		if none[i] {
			f.fill(image.Rect(x-1, f.plot.Max.Y-5, x+2, f.plot.Max.Y).Intersect(f.plot), nanIndex)
		}
	}
}

// bar draws the colours with their values, right of the plot.
func (f *figure) bar(d *drawing, values []float64, texts []string, hasNaN bool) {
	r := image.Rect(f.plot.Max.X+2*gap, f.plot.Min.Y, f.plot.Max.X+2*gap+barWidth, f.plot.Max.Y)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		level := (figureLevels - 1) * (r.Max.Y - 1 - y) / max(1, r.Dy()-1)
		if d.lo == d.hi {
			level = figureLevels / 2
		}
		f.fill(image.Rect(r.Min.X, y, r.Max.X, y+1), uint8(level))
	}
	for i, v := range values {
		y := (r.Min.Y + r.Max.Y) / 2
		if d.lo < d.hi {
			y = f.height(d, v)
		}
		f.fill(image.Rect(r.Max.X, y, r.Max.X+tickLength, y+1), inkIndex)
		f.text(texts[i], r.Max.X+tickLength+gap, y+letterHeight/2-2)
	}
	f.frame(r)
	if hasNaN {
		box := image.Rect(r.Min.X, r.Max.Y+gap, r.Max.X, r.Max.Y+gap+letterHeight)
		f.fill(box, nanIndex)
		f.frame(box)
		f.text("nan", box.Max.X+tickLength+gap, box.Max.Y-2)
	}
}

// beside writes a label left of the plot.
func (f *figure) beside(text string, y int) {
	f.fill(image.Rect(f.plot.Min.X-tickLength, y, f.plot.Min.X, y+1), inkIndex)
	f.text(text, f.plot.Min.X-tickLength-gap-letterWidth*len(text), y+letterHeight/2-2)
}

func (f *figure) frame(r image.Rectangle) {
	f.fill(image.Rect(r.Min.X-1, r.Min.Y-1, r.Max.X+1, r.Min.Y), inkIndex)
	f.fill(image.Rect(r.Min.X-1, r.Max.Y, r.Max.X+1, r.Max.Y+1), inkIndex)
	f.fill(image.Rect(r.Min.X-1, r.Min.Y, r.Min.X, r.Max.Y), inkIndex)
	f.fill(image.Rect(r.Max.X, r.Min.Y, r.Max.X+1, r.Max.Y), inkIndex)
}

func (f *figure) fill(r image.Rectangle, index uint8) {
	r = r.Intersect(f.Bounds())
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			f.SetColorIndex(x, y, index)
		}
	}
}

// text writes a line of letters, from the left end of its base line.
func (f *figure) text(s string, x, y int) {
	w := font.Drawer{Dst: f, Src: image.NewUniform(ink), Face: basicfont.Face7x13, Dot: fixed.P(x, y)}
	w.DrawString(s)
}

func labels(values []float64) []string {
	var list []string
	for _, v := range values {
		list = append(list, fmt.Sprintf("%.6g", v+0)) // -0 is 0
	}
	return list
}

// whole returns the values that are whole numbers: between cells there is nothing.
func whole(values []float64) []float64 {
	var list []float64
	for _, v := range values {
		if v == math.Trunc(v) {
			list = append(list, v)
		}
	}
	return list
}

func longest(list []string) int {
	n := 0
	for _, s := range list {
		n = max(n, len(s))
	}
	return n
}
