package gridio

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/types"
)

func figureOf(t *testing.T, a *Array, p Picture) *figure {
	t.Helper()
	f, err := newFigure(a, p)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// find returns where a text is written within a part of the figure: the left end of
// its base line.
func (f *figure) find(text string, b image.Rectangle) (image.Point, bool) {
	want := &figure{Paletted: image.NewPaletted(image.Rect(0, 0, letterWidth*len(text), letterHeight), f.Palette)}
	want.fill(want.Bounds(), paperIndex)
	want.text(text, 0, letterHeight-2)
	for y := b.Min.Y; y+letterHeight <= b.Max.Y; y++ {
		for x := b.Min.X; x+want.Bounds().Dx() <= b.Max.X; x++ {
			if f.same(want, x, y) {
				return image.Pt(x, y+letterHeight-2), true
			}
		}
	}
	return image.Point{}, false
}

func (f *figure) same(want *figure, x, y int) bool {
	for dy := range want.Bounds().Dy() {
		for dx := range want.Bounds().Dx() {
			if (want.ColorIndexAt(dx, dy) == inkIndex) != (f.ColorIndexAt(x+dx, y+dy) == inkIndex) {
				return false
			}
		}
	}
	return true
}

// A line goes through the values of all cells, and has gaps where there are none.
func TestLine(t *testing.T) {
	nan := math.NaN()
	a := filled(t, types.F64, []int{8}, 0, 1, 2, 3, nan, nan, 1, 0)
	f := figureOf(t, a, Picture{Title: "u after 3 iterations", Names: []string{"i"}, First: []int64{-2},
		Range: &[2]float64{0, 3}})
	if f.plot.Dx() != 640 || f.plot.Dy() != 360 {
		t.Fatalf("%v", f.plot)
	}
	x := func(cell int) int { return f.plot.Min.X + 80*cell + 40 }
	y := func(v float64) int { return f.plot.Max.Y - 1 - int(math.Round(359*v/3)) }
	for i := range 8 {
		v := a.At(i)
		if math.IsNaN(v) {
			if got := f.ColorIndexAt(x(i), f.plot.Max.Y-2); got != nanIndex {
				t.Errorf("cell %d is not marked: %d", i, got)
			}
		} else if got := f.ColorIndexAt(x(i), y(v)); got != lineIndex {
			t.Errorf("the line misses cell %d: %d", i, got)
		}
	}
	if got := f.ColorIndexAt(x(0)+40, y(0.5)); got != lineIndex {
		t.Errorf("the line misses the middle between two cells: %d", got)
	}
	for col := x(3) + 2; col < x(6)-1; col++ {
		for row := f.plot.Min.Y; row < f.plot.Max.Y; row++ {
			if f.ColorIndexAt(col, row) == lineIndex {
				t.Fatalf("the line goes on where there are no numbers, at %d, %d", col, row)
			}
		}
	}
	// Labels are where their values are, and as far as nothing else is written.
	for _, c := range []struct {
		text string
		at   image.Rectangle
	}{
		{"-2", image.Rect(x(0)-9, f.plot.Max.Y+tickLength, x(0)+9, f.plot.Max.Y+tickLength+letterHeight+3)},
		{"5", image.Rect(x(7)-9, f.plot.Max.Y+tickLength, x(7)+9, f.plot.Max.Y+tickLength+letterHeight+3)},
		{"0", image.Rect(f.plot.Min.X-gap-tickLength-8, y(0)-9, f.plot.Min.X-tickLength, y(0)+9)},
		{"3", image.Rect(f.plot.Min.X-gap-tickLength-8, y(3)-9, f.plot.Min.X-tickLength, y(3)+9)},
		{"i", image.Rect(x(3), f.Bounds().Max.Y-20, x(4), f.Bounds().Max.Y)},
		{"u after 3 iterations", image.Rect(0, 0, 300, f.plot.Min.Y)},
	} {
		if _, found := f.find(c.text, c.at); !found {
			t.Errorf("there is no %q in %v", c.text, c.at)
		}
	}
}

// A line of more cells than there are pixels shows the least and the greatest of
// those that share a column; what is constant, infinite or no number at all is
// drawn, too.
func TestLinesOfAllKinds(t *testing.T) {
	long := mustNew(t, types.F64, 64000)
	View[float64](long)[12345] = 7
	f := figureOf(t, long, Picture{Range: &[2]float64{0, 7}})
	if got := f.ColorIndexAt(f.plot.Min.X+123, f.plot.Min.Y); got != lineIndex {
		t.Errorf("a spike of one cell is lost: %d", got)
	}
	inf, nan := math.Inf(1), math.NaN()
	for name, c := range map[string]struct {
		cells []float64
		line  bool
	}{
		"one": {[]float64{5}, true}, "constant": {[]float64{3, 3, 3}, true}, "infinite": {[]float64{-inf, 1, inf},
			true}, "no numbers": {[]float64{nan, nan}, false},
		"the widest": {[]float64{-math.MaxFloat64, math.MaxFloat64}, true}, "alone": {[]float64{nan, 1, nan}, true},
	} {
		f := figureOf(t, filled(t, types.F64, []int{len(c.cells)}, c.cells...), Picture{})
		if bytes.Contains(f.Pix, []byte{lineIndex}) != c.line ||
			bytes.Contains(f.Pix, []byte{nanIndex}) != (c.cells[0] != c.cells[0]) {
			t.Errorf("%s: line %v", name, !c.line)
		}
	}
	// A row, a column and a line of a block are lines; points and planes are not.
	for planes, want := range map[string]bool{"": false, "0": false, "01": true, "012": false} {
		var p Picture
		for _, axis := range planes {
			p.Planes = append(p.Planes, Plane{Axis: int(axis - '0')})
		}
		if p.isLine([]int{4, 4, 4}) != want {
			t.Errorf("planes %q: %v", planes, !want)
		}
	}
}

// With axes a cell has the colour that the bar has at its value.
func TestAxes(t *testing.T) {
	cells := make([]float64, 12*8)
	for i := range cells {
		cells[i] = float64(i)
	}
	cells[95], cells[94] = math.NaN(), 96
	a := filled(t, types.F64, []int{8, 12}, cells...)
	p := Picture{Axes: true, Title: "u", Names: []string{"j", "i"}, First: []int64{1, 0}}
	f := figureOf(t, a, p)
	if f.plot.Dx() != 480 || f.plot.Dy() != 320 {
		t.Fatalf("%v", f.plot)
	}
	bar := f.plot.Max.X + 2*gap + barWidth/2
	for i, v := range cells {
		got := f.ColorIndexAt(f.plot.Min.X+40*(i%12)+20, f.plot.Min.Y+40*(i/12)+20)
		if v != v {
			if got != nanIndex {
				t.Errorf("cell %d is drawn as %d", i, got)
			}
			continue
		}
		there := f.ColorIndexAt(bar, f.plot.Max.Y-1-int(math.Round(319*v/96)))
		if d := int(got) - int(there); d < -1 || d > 1 {
			t.Errorf("cell %d is drawn as %d, and the bar is %d there", i, got, there)
		}
	}
	left, below := image.Rect(0, f.plot.Min.Y-gap-letterHeight, f.plot.Min.X-tickLength, f.plot.Max.Y+9),
		image.Rect(f.plot.Min.X, f.plot.Max.Y+tickLength, f.plot.Max.X, f.Bounds().Max.Y)
	beside := image.Rect(bar, f.plot.Min.Y, f.Bounds().Max.X, f.Bounds().Max.Y)
	for _, c := range []struct {
		text string
		at   image.Rectangle
		want bool
	}{
		{"nan", beside, true}, {"80", beside, true}, {"j", left, true}, {"8", left, true}, {"9", left, false},
		{"i", below, true}, {"10", below, true},
		{"12", below, false}, {"u", image.Rect(0, 0, f.plot.Min.X, f.plot.Min.Y-gap), true},
	} {
		if at, found := f.find(c.text, c.at); found != c.want {
			t.Errorf("%q is at %v (%v)", c.text, at, found)
		}
	}
	// The file is such a picture, and plain without --axes.
	for axes, size := range map[bool]image.Point{true: f.Bounds().Size(), false: {12, 8}} {
		p.Axes = axes
		var b bytes.Buffer
		if err := writePicture(&b, a, Options{Picture: p}); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&b)
		if err != nil || img.Bounds().Size() != size {
			t.Fatalf("%v, %v, want %v", img.Bounds(), err, size)
		}
		if x, y := f.plot.Min.X+20, f.plot.Min.Y+20; axes &&
			color.RGBAModel.Convert(img.At(x, y)) != color.Color(dusk(0)) {
			t.Errorf("the first cell is %v", img.At(x, y))
		}
	}
}

func TestFiguresThatAreTooLarge(t *testing.T) {
	for name, c := range map[string]struct {
		shape []int
		p     Picture
		want  string
	}{
		"cells": {[]int{9000, 10}, Picture{Axes: true}, "a picture with axes of 9000 x 10 pixels is too large"},
		"zoom": {[]int{10, 100}, Picture{Axes: true, Scale: 100},
			"a picture with axes of 1000 x 10000 pixels is too large"},
		"line":    {[]int{100}, Picture{Scale: 100}, "a picture with axes of 360 x 10000 pixels is too large"},
		"no axes": {[]int{9000, 10}, Picture{}, ""},
		"long":    {[]int{1 << 20}, Picture{}, ""},
	} {
		err := acceptsPicture(types.F64, c.shape, Options{Picture: c.p})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
