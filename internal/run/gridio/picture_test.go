package gridio

import (
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// drawn writes a picture and reads it back with a decoder of pictures.
func drawn(t *testing.T, a *Array, p Picture) image.Image {
	t.Helper()
	path := filepath.Join(t.TempDir(), "u.png")
	if err := Write(path, a, Options{Picture: p}); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	img, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// greys lists a grey picture's pixels, row after row.
func greys(t *testing.T, img image.Image) []uint8 {
	t.Helper()
	g, ok := img.(*image.Gray)
	if !ok {
		t.Fatalf("the picture is a %T", img)
	}
	return g.Pix
}

// TestPictureOfBytes: what is read from a grey picture and drawn is that
// picture.
func TestPictureOfBytes(t *testing.T) {
	a := mustNew(t, types.U8, 16, 16)
	for i := range a.Data {
		a.Data[i] = byte(i)
	}
	img := drawn(t, a, Picture{})
	if img.Bounds() != image.Rect(0, 0, 16, 16) || !slices.Equal(greys(t, img), a.Data) {
		t.Errorf("%v: %v", img.Bounds(), greys(t, img))
	}
}

func TestPictureCuts(t *testing.T) {
	// Cells are numbered in C order and drawn as their number.
	for _, c := range []struct {
		name   string
		shape  []int
		planes []Plane
		rows   int
		want   []uint8
	}{
		{"a number", []int{}, nil, 1, []uint8{0}},
		{"a plane", []int{2, 3}, nil, 2, []uint8{0, 1, 2, 3, 4, 5}},
		{"the middle of a block", []int{3, 2, 2}, nil, 2, []uint8{4, 5, 6, 7}},
		{"another plane", []int{3, 2, 2}, []Plane{{0, 2}}, 2, []uint8{8, 9, 10, 11}},
		{"across the middle axis", []int{3, 2, 2}, []Plane{{1, 0}}, 3, []uint8{0, 1, 4, 5, 8, 9}},
		{"across the last axis", []int{3, 2, 2}, []Plane{{2, 1}}, 3, []uint8{1, 3, 5, 7, 9, 11}},
		{"a point of a block", []int{3, 2, 2}, []Plane{{2, 1}, {0, 2}, {1, 0}}, 1, []uint8{9}},
		{"four dimensions", []int{2, 2, 2, 2}, []Plane{{1, 0}}, 2, []uint8{8, 9, 10, 11}},
	} {
		a := mustNew(t, types.U8, c.shape...)
		for i := range a.Data {
			a.Data[i] = byte(i)
		}
		img := drawn(t, a, Picture{Planes: c.planes})
		if got := greys(t, img); !slices.Equal(got, c.want) || img.Bounds().Dy() != c.rows {
			t.Errorf("%s: %v in %d rows, want %v in %d", c.name, got, img.Bounds().Dy(), c.want, c.rows)
		}
	}
}

func TestPictureRange(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	huge := math.MaxFloat64
	for _, c := range []struct {
		name  string
		cells []float64
		given *[2]float64
		want  []uint8
	}{
		{"automatic", []float64{-1, 0, 1, 0.5}, nil, []uint8{0, 128, 255, 191}},
		{"given", []float64{-1, 0, 1, 2}, &[2]float64{0, 1}, []uint8{0, 0, 255, 255}},
		{"constant", []float64{3, 3, 3, 3}, nil, []uint8{128, 128, 128, 128}},
		{"infinite", []float64{-inf, 1, 2, inf}, nil, []uint8{0, 0, 255, 255}},
		{"only infinite", []float64{-inf, -inf, inf, inf}, nil, []uint8{0, 0, 255, 255}},
		{"the widest", []float64{-huge, 0, huge / 2, huge}, nil, []uint8{0, 128, 191, 255}},
	} {
		a := filled(t, types.F64, []int{2, 2}, c.cells...)
		if got := greys(t, drawn(t, a, Picture{Map: "grey", Range: c.given})); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	// NaN is neither black nor white, and does not disturb the range.
	img := drawn(t, filled(t, types.F32, []int{1, 4}, nan, 1, 2, nan), Picture{Map: "grey"})
	for x, want := range []color.RGBA{nanColor, {0, 0, 0, 255}, {255, 255, 255, 255}, nanColor} {
		if got := color.RGBAModel.Convert(img.At(x, 0)); got != want {
			t.Errorf("pixel %d is %v, want %v", x, got, want)
		}
	}
	drawn(t, filled(t, types.F32, []int{1, 2}, nan, nan), Picture{})
	// The centred map puts zero at its centre, whatever the data.
	img = drawn(t, filled(t, types.F64, []int{1, 3}, -1, 0, 4), Picture{Map: "tide"})
	if got := color.RGBAModel.Convert(img.At(1, 0)); got != tide(0.5) {
		t.Errorf("zero is %v, want %v", got, tide(0.5))
	}
	if got := color.RGBAModel.Convert(img.At(2, 0)); got != tide(1) {
		t.Errorf("the greatest is %v, want %v", got, tide(1))
	}
}

func TestPictureScale(t *testing.T) {
	img := drawn(t, filled(t, types.Bool, []int{2, 2}, 0, 1, 1, 0), Picture{Scale: 3})
	want := []uint8{
		0, 0, 0, 255, 255, 255,
		0, 0, 0, 255, 255, 255,
		0, 0, 0, 255, 255, 255,
		255, 255, 255, 0, 0, 0,
		255, 255, 255, 0, 0, 0,
		255, 255, 255, 0, 0, 0,
	}
	if !slices.Equal(greys(t, img), want) {
		t.Errorf("%v", greys(t, img))
	}
}

func TestPictureRefusals(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		shape []int
		p     Picture
		err   string
	}{
		{[]int{2, 2}, Picture{Map: "jet"},
			`there is no colour map "jet" (there are dusk (violet over green to yellow, evenly lighter all the way); tide (blue over white to red, for values on both sides of zero); grey (black to white))`},
		{[]int{2, 2}, Picture{Range: &[2]float64{1, 1}}, "1 to 1 is not a range that a picture can show"},
		{[]int{2, 2}, Picture{Range: &[2]float64{0, nan}}, "0 to NaN is not a range that a picture can show"},
		{[]int{2, 2}, Picture{Range: &[2]float64{0, math.Inf(1)}}, "0 to +Inf is not a range that a picture can show"},
		{[]int{2, 2}, Picture{Scale: -1}, "a picture cannot be scaled by -1"},
		{[]int{2, 2}, Picture{Scale: 40000},
			"a picture of 2 x 2 cells, scaled by 40000, has more than 65536 pixels in a row or column"},
		{[]int{2, 0}, Picture{}, "a grid without cells (2 x 0) cannot be drawn"},
		{[]int{4, 4, 4}, Picture{Planes: []Plane{{3, 0}}},
			"a picture at axis 3 of a grid of 3 dimensions is not possible (axes are counted from 0, the outermost)"},
		{[]int{4, 4, 4}, Picture{Planes: []Plane{{1, 4}}},
			"a picture at index 4 of axis 1 is not possible: its indices are 0 to 3"},
		{[]int{4, 4, 4}, Picture{Planes: []Plane{{1, 1}, {1, 2}}}, "a picture is fixed twice at axis 1"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "u.png")
		if err := Write(path, mustNew(t, types.F32, c.shape...), Options{Picture: c.p}); errText(
			err) != path+": "+c.err {
			t.Errorf("got %v\nwant %s", err, c.err)
		}
		if err := CheckWrite(path, types.F32, c.shape, Options{Picture: c.p}); errText(err) != path+": "+c.err {
			t.Errorf("checked: got %v\nwant %s", err, c.err)
		}
		if files := folder(t, dir); len(files) != 0 {
			t.Errorf("%s: left %q", c.err, files)
		}
	}
}

// luminance returns the light that a screen gives, 0 to 1.
func luminance(c color.RGBA) float64 {
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// lightness returns CIE L*, the lightness that an eye sees, 0 to 100; a
// yardstick from outside the space that the maps are made in.
func lightness(c color.RGBA) float64 {
	y := luminance(c)
	if y <= 216.0/24389 {
		return y * 24389 / 27
	}
	return 116*math.Cbrt(y) - 16
}

// TestColorMaps checks what makes a map honest: lightness that rises with the
// value in about equal steps, so that no step of the data is hidden or made up.
func TestColorMaps(t *testing.T) {
	const steps = 16
	rise := func(m ColorMap, from, to float64) {
		for i := range steps {
			at := func(i int) float64 { return from + (to-from)*float64(i)/steps }
			step := lightness(m.at(at(i+1))) - lightness(m.at(at(i)))
			mean := (lightness(m.at(to)) - lightness(m.at(from))) / steps
			if step < 0.6*mean || step > 1.4*mean {
				t.Errorf("%s: the lightness rises by %.2f from %.3f, by %.2f on average", m.Name, step, at(i), mean)
			}
		}
	}
	for _, m := range ColorMaps {
		if m.centred {
			rise(m, 0, 0.5)
			rise(m, 1, 0.5)
			if d := lightness(m.at(0)) - lightness(m.at(1)); math.Abs(d) > 6 {
				t.Errorf("%s: one end is lighter by %.2f", m.Name, d)
			}
		} else {
			rise(m, 0, 1)
		}
		for i := range 1001 {
			c := m.at(float64(i) / 1000)
			far := math.Hypot(math.Hypot(float64(c.R)-255, float64(c.G)), float64(c.B)-255)
			if far < 120 {
				t.Errorf("%s: %d thousandths are %v, hard to tell from NaN", m.Name, i, c)
			}
		}
	}
}
