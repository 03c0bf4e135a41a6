package gridio

import (
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// Picture says how a grid is drawn. The zero value draws the middle plane of
// a 3-D grid in "dusk", from the least to the greatest value in it. Byte and
// bool grids are pictures and patterns: they are drawn in grey, and 255 or true
// is white whether or not it occurs.
type Picture struct {
	// Planes fix axes until at most two are left, the rows and the columns.
	// Axes that are still too many are fixed at their middle, outermost first.
	Planes []Plane
	Map    string      // a name of [ColorMaps]; "" chooses by the type
	Range  *[2]float64 // the values at the map's two ends; nil takes those drawn
	Scale  int         // side of the square that a cell becomes; 0 is 1
	// Axes asks for axes, a title and a bar of the colours. A grid of which one
	// axis is left is a line, which always has axes.
	Axes  bool
	Title string
	Names []string // of the grid's axes
	First []int64  // indices of their first cells; 0 where there are none
}

// mapFor returns the name of the colour map for cells of a type.
func (p Picture) mapFor(t types.Type) string {
	switch {
	case p.Map != "":
		return p.Map
	case t == types.U8 || t == types.Bool:
		return "grey"
	}
	return ColorMaps[0].Name
}

// Plane fixes one axis of a grid, counted from 0 for the outermost.
type Plane struct{ Axis, Index int }

// maxSide bounds a picture's height and width, which viewers bound too.
const maxSide = 1 << 16

// plane is the part of a grid that is drawn.
type plane struct {
	base, rows, cols     int
	rowStride, colStride int
}

// cut selects the part of a grid that a picture shows.
func (p Picture) cut(shape []int) (plane, error) {
	stride := strides(shape)
	fixed := make([]bool, len(shape))
	free, base := len(shape), 0
	fix := func(axis, index int) {
		fixed[axis] = true
		free--
		base += index * stride[axis]
	}
	for _, at := range p.Planes {
		switch {
		case at.Axis < 0 || at.Axis >= len(shape):
			return plane{}, refuse("a picture at axis %d of a grid of %s is not possible", at.Axis, dimensions(shape)).
				hint("axes are counted from 0, the outermost")
		case fixed[at.Axis]:
			return plane{}, refuse("a picture is fixed twice at axis %d", at.Axis)
		case at.Index < 0 || at.Index >= shape[at.Axis]:
			return plane{}, refuse("a picture at index %d of axis %d is not possible: its indices are 0 to %d",
				at.Index, at.Axis, shape[at.Axis]-1)
		}
		fix(at.Axis, at.Index)
	}
	if slices.Contains(shape, 0) {
		return plane{}, refuse("a grid without cells (%s) cannot be drawn", FormatShape(shape))
	}
	for axis := 0; free > 2; axis++ {
		if !fixed[axis] {
			fix(axis, shape[axis]/2)
		}
	}
	cut := plane{base: base, rows: 1, cols: 1}
	for axis, n := range shape {
		if !fixed[axis] {
			cut.rows, cut.rowStride = cut.cols, cut.colStride
			cut.cols, cut.colStride = n, stride[axis]
		}
	}
	return cut, nil
}

// acceptsPicture refuses what cannot be drawn.
func acceptsPicture(_ types.Type, shape []int, o Options) error {
	p := o.Picture
	cut, err := p.cut(shape)
	if err != nil {
		return err
	}
	if p.Map != "" {
		if _, err := findColorMap(p.Map); err != nil {
			return err
		}
	}
	if r := p.Range; r != nil && !(math.Inf(-1) < r[0] && r[0] < r[1] && r[1] < math.Inf(1)) {
		return refuse("%g to %g is not a range that a picture can show", r[0], r[1])
	}
	if p.Scale < 0 {
		return refuse("a picture cannot be scaled by %d", p.Scale)
	}
	if p.Axes || p.isLine(shape) {
		if width, height, _ := p.plotSize(shape, cut); width > maxFigure || height > maxFigure {
			return refuse("a picture with axes of %d x %d pixels is too large: it has %d in a row or column at most",
				height, width, maxFigure).
				hint("choose a smaller --zoom, or draw it without --axes")
		}
		return nil
	}
	if scale := max(1, p.Scale); cut.rows > maxSide/scale || cut.cols > maxSide/scale {
		return refuse("a picture of %d x %d cells, scaled by %d, has more than %d pixels in a row or column",
			cut.rows, cut.cols, scale, maxSide)
	}
	return nil
}

// writePicture draws a grid as a .png file.
func writePicture(w io.Writer, a *Array, o Options) error {
	var img image.Image
	var err error
	if o.Picture.Axes || o.Picture.isLine(a.Shape) {
		var f *figure
		if f, err = newFigure(a, o.Picture); err == nil {
			img = f.Paletted
		}
	} else {
		img, err = newDrawing(a, o.Picture)
	}
	if err != nil {
		return err
	}
	return png.Encode(w, img)
}

// drawing is a picture that is computed pixel by pixel while it is encoded,
// so that the picture of a large grid takes no memory.
type drawing struct {
	a      *Array
	cut    plane
	scale  int
	lo, hi float64
	levels int           // values are drawn in so many steps
	colors color.Palette // one for each level, and the last for NaN; nil is plain grey
}

func newDrawing(a *Array, p Picture) (*drawing, error) {
	cut, err := p.cut(a.Shape)
	if err != nil {
		return nil, err
	}
	m, err := findColorMap(p.mapFor(a.Type))
	if err != nil {
		return nil, err
	}
	d := &drawing{a: a, cut: cut, scale: max(1, p.Scale)}
	hasNaN := d.findRange(p.Range, m.centred)
	if m.Name == "grey" && !hasNaN {
		d.levels = 256
		return d, nil
	}
	// A palette has 256 entries, one of them for NaN. An odd number of levels
	// gives a centred map its exact centre.
	d.levels = 255
	for i := range d.levels {
		d.colors = append(d.colors, m.at(float64(i)/float64(d.levels-1)))
	}
	d.colors = append(d.colors, nanColor)
	return d, nil
}

// findRange sets the ends of the range and reports whether there is a NaN.
// Infinities do not count for the range; they are drawn at its ends.
func (d *drawing) findRange(given *[2]float64, centred bool) (hasNaN bool) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for row := range d.cut.rows {
		for col := range d.cut.cols {
			v := d.value(row, col)
			if math.IsNaN(v) {
				hasNaN = true
			} else if !math.IsInf(v, 0) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	switch {
	case given != nil:
		lo, hi = given[0], given[1]
	case d.a.Type == types.U8:
		lo, hi = 0, 255
	case d.a.Type == types.Bool:
		lo, hi = 0, 1
	case lo > hi: // nothing finite
		lo, hi = 0, 0
	case centred:
		hi = max(hi, -lo)
		lo = -hi
	}
	d.lo, d.hi = lo, hi
	return hasNaN
}

func (d *drawing) value(row, col int) float64 {
	return d.a.At(d.cut.base + row*d.cut.rowStride + col*d.cut.colStride)
}

// level returns the step of a pixel's value, d.levels for NaN.
func (d *drawing) level(x, y int) uint8 {
	v := d.value(y/d.scale, x/d.scale)
	top := float64(d.levels - 1)
	switch {
	case math.IsNaN(v):
		return uint8(d.levels)
	case v > d.hi:
		return uint8(top)
	case v < d.lo:
		return 0
	case d.lo == d.hi:
		return uint8(d.levels / 2)
	}
	// Halved, because the range itself may be too large for a float64.
	t := (v/2 - d.lo/2) / (d.hi/2 - d.lo/2)
	return uint8(math.Round(t * top))
}

// ColorModel tells the encoder to write a grey or a palette picture.
func (d *drawing) ColorModel() color.Model {
	if d.colors == nil {
		return color.GrayModel
	}
	return d.colors
}

// Bounds returns the size of the picture.
func (d *drawing) Bounds() image.Rectangle {
	return image.Rect(0, 0, d.cut.cols*d.scale, d.cut.rows*d.scale)
}

// ColorIndexAt returns a pixel's place in the palette.
func (d *drawing) ColorIndexAt(x, y int) uint8 { return d.level(x, y) }

// At returns a pixel's colour.
func (d *drawing) At(x, y int) color.Color {
	if d.colors == nil {
		return color.Gray{Y: d.level(x, y)}
	}
	return d.colors[d.level(x, y)]
}
