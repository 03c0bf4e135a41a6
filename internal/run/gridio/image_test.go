package gridio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// readImage reads a picture that is in memory.
func readImage(file []byte, want Want) (*Array, error) {
	c, err := openImage(bytes.NewReader(file), int64(len(file)), want)
	if err != nil {
		return nil, at("p.png", err)
	}
	a, err := New(c.kind, c.shape...)
	if err != nil {
		return nil, err
	}
	return a, at("p.png", c.fill(a.Data))
}

func encode(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// painted draws a picture of one row.
func painted(img interface {
	image.Image
	Set(x, y int, c color.Color)
}, colors ...color.Color) image.Image {
	for x, c := range colors {
		img.Set(x, 0, c)
	}
	return img
}

// TestImageValues states what each kind of grid gets from each kind of pixel.
// The expected lumas are written out, so that they do not share the formula.
func TestImageValues(t *testing.T) {
	row := image.Rect(0, 0, 4, 1)
	grey8 := painted(image.NewGray(row), color.Gray{0}, color.Gray{100}, color.Gray{128}, color.Gray{255})
	grey16 := painted(image.NewGray16(row), color.Gray16{0}, color.Gray16{1000}, color.Gray16{32768},
		color.Gray16{65535})
	primaries := []color.Color{color.RGBA{255, 0, 0, 255}, color.RGBA{0, 255, 0, 255}, color.RGBA{0, 0, 255, 255},
		color.RGBA{255, 255, 255, 255}}
	rgb := painted(image.NewRGBA(row), primaries...)
	rgb16 := painted(image.NewRGBA64(row), primaries...)
	palette := painted(image.NewPaletted(row, primaries), primaries...)
	veiled := painted(image.NewNRGBA(row), color.NRGBA{255, 255, 255, 0}, color.NRGBA{255, 255, 255, 51},
		color.NRGBA{0, 255, 0, 255}, color.NRGBA{255, 255, 255, 255})
	for _, c := range []struct {
		name string
		img  image.Image
		kind types.Type
		want []float64
	}{
		{"8-bit grey", grey8, types.U8, []float64{0, 100, 128, 255}},
		{"8-bit grey", grey8, types.I32, []float64{0, 100, 128, 255}},
		{"8-bit grey", grey8, types.F64, []float64{0, 100.0 / 255, 128.0 / 255, 1}},
		{"8-bit grey", grey8, types.F32, []float64{0, float64(float32(100.0 / 255)), float64(float32(128.0 / 255)), 1}},
		{"8-bit grey", grey8, types.Bool, []float64{0, 0, 1, 1}},
		{"16-bit grey", grey16, types.U8, []float64{0, 4, 128, 255}},
		{"16-bit grey", grey16, types.I32, []float64{0, 1000, 32768, 65535}},
		{"16-bit grey", grey16, types.F64, []float64{0, 1000.0 / 65535, 32768.0 / 65535, 1}},
		{"RGB", rgb, types.U8, []float64{54, 182, 18, 255}},
		{"RGB", rgb, types.F64, []float64{0.2126, 0.7152, 0.0722, 1}},
		{"RGB", rgb, types.Bool, []float64{0, 1, 0, 1}},
		{"16-bit RGB", rgb16, types.I32, []float64{13933, 46871, 4732, 65535}},
		{"palette", palette, types.U8, []float64{54, 182, 18, 255}},
		{"transparent", veiled, types.U8, []float64{0, 51, 182, 255}},
	} {
		a, err := readImage(encode(t, c.img), Want{Type: c.kind, Shape: []int{1, 4}})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if !slices.Equal(listed(a), c.want) {
			t.Errorf("%s as %s: %v, want %v", c.name, c.kind.Word(), listed(a), c.want)
		}
	}
}

func TestImageShapeAndType(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 3, 2)) // 3 wide, 2 high
	img.SetGray(2, 0, color.Gray{9})
	a, err := readImage(encode(t, img), Want{})
	if err != nil || a.Type != types.U8 || !slices.Equal(a.Shape, []int{2, 3}) ||
		!slices.Equal(listed(a), []float64{0, 0, 9, 0, 0, 0}) {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err := readImage(encode(t, image.NewGray16(img.Rect)), Want{}); err != nil || a.Type != types.I32 {
		t.Errorf("%+v, %v", a, err)
	}
	_, err = readImage(encode(t, img), Want{Grid: "u", Shape: []int{3, 3}})
	if errText(err) != "p.png: it holds 2 x 3 pixels (rows x columns), but grid u is 3 x 3" {
		t.Errorf("got %v", err)
	}
	_, err = readImage(encode(t, img), Want{Limit: 53})
	if errText(err) != "p.png: reading it takes 54 bytes of memory, and the limit is 53 bytes" {
		t.Errorf("got %v", err)
	}
}

func TestJPEG(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 16, 8))
	for i := range img.Pix {
		img.Pix[i] = 200
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	a, err := readImage(b.Bytes(), Want{})
	if err != nil || !slices.Equal(a.Shape, []int{8, 16}) || slices.Min(a.Data) < 199 || slices.Max(a.Data) > 201 {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := readImage(b.Bytes()[:b.Len()/2],
		Want{}); errText(err) != "p.png: the file ends too early; it is damaged or not completely written" {
		t.Errorf("got %v", err)
	}
}

func TestImageTruncated(t *testing.T) {
	file := encode(t, image.NewRGBA(image.Rect(0, 0, 5, 4)))
	for n := range file {
		var refusal *Error
		if _, err := readImage(file[:n], Want{}); !errors.As(err, &refusal) || refusal.Text == "" {
			t.Errorf("%d of %d bytes: %v", n, len(file), err)
		}
	}
}

// TestImageLies changes the size in a good file's header, with a right checksum.
func TestImageLies(t *testing.T) {
	file := encode(t, image.NewGray(image.Rect(0, 0, 4, 4)))
	header := file[12 : 12+4+13]
	binary.BigEndian.PutUint32(header[4:], 30000)
	binary.BigEndian.PutUint32(header[8:], 30000)
	binary.BigEndian.PutUint32(file[29:], crc32.ChecksumIEEE(header))
	_, err := readImage(file, Want{})
	if !strings.HasPrefix(errText(err), "p.png: it claims 30000 x 30000 pixels, more than ") {
		t.Errorf("got %v", err)
	}
	if _, err := readImage([]byte("GIF89a"),
		Want{}); errText(err) != "p.png: it is not a picture in the format .png or .jpeg" {
		t.Errorf("got %v", err)
	}
}
