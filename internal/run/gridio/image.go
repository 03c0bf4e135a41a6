package gridio

import (
	"encoding/binary"
	"image"
	"image/color"
	_ "image/jpeg" // decoders register themselves
	_ "image/png"
	"io"
	"math"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// openImage reads a picture as a grid of rows and columns, the top row first.
// A cell is the luma of a pixel after Rec. 709, 0.2126 R + 0.7152 G + 0.0722 B
// of the values as stored, with transparent pixels laid on black. What the
// numbers are follows from the grid:
//
//   - byte: 0..255, the customary meaning of 8-bit pictures; 16-bit ones are
//     rounded, as a byte has no room for more.
//   - int: the stored values, 0..255 or 0..65535 by the picture's depth, for
//     exact arithmetic on them.
//   - float and double: 0..1 whatever the depth, so that a program's constants
//     mean the same for every picture.
//   - bool: whether the luma is at least one half.
//
// Without a wanted type a picture becomes a byte grid, or an int grid if it
// has 16 bits.
func openImage(r io.ReaderAt, size int64, want Want) (*content, error) {
	config, name, err := image.DecodeConfig(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, imageError(err)
	}
	t := want.Type
	if t == types.Invalid {
		if t = types.U8; isDeep(config.ColorModel) {
			t = types.I32
		}
	}
	shape := []int{config.Height, config.Width}
	if err := want.checkShape(shape, "pixels (rows x columns)"); err != nil {
		return nil, err
	}
	n, err := Bytes(t, shape)
	if err != nil {
		return nil, err
	}
	pixels := int64(config.Height) * int64(config.Width)
	// The packing of .png shrinks by a factor of 1032 at most, and .jpeg takes
	// a bit for 64 pixels at least.
	if pixels/8/1032 > size {
		return nil, refuse("it claims %s pixels, more than %d bytes can hold", FormatShape(shape), size)
	}
	// A decoded pixel takes 8 bytes at most.
	if err := want.checkLimit(n + 8*pixels); err != nil {
		return nil, err
	}
	return &content{kind: t, shape: shape, fill: func(dst []byte) error {
		img, decoded, err := image.Decode(io.NewSectionReader(r, 0, size))
		if err != nil {
			return imageError(err)
		}
		if decoded != name || img.Bounds().Dx() != config.Width || img.Bounds().Dy() != config.Height {
			return refuse("it changed while it was read")
		}
		fillLuma(dst, t, img)
		return nil
	}}, nil
}

// isDeep reports whether a picture has 16 bits a channel.
func isDeep(m color.Model) bool {
	return m == color.Gray16Model || m == color.RGBA64Model || m == color.NRGBA64Model
}

// fillLuma writes the luma of each pixel as a cell of type t.
func fillLuma(dst []byte, t types.Type, img image.Image) {
	depth := 255.0
	if isDeep(img.ColorModel()) {
		depth = 65535
	}
	size, i := t.Size(), 0
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			red, green, blue, _ := img.At(x, y).RGBA()
			// An exact integer; the only rounding is that of the division.
			luma := float64(2126*uint64(red)+7152*uint64(green)+722*uint64(blue)) / (65535 * 10000)
			cell := dst[i*size:]
			switch t {
			case types.Bool:
				cell[0] = 0
				if luma >= 0.5 {
					cell[0] = 1
				}
			case types.U8:
				cell[0] = byte(math.Round(luma * 255))
			case types.I32:
				binary.LittleEndian.PutUint32(cell, uint32(math.Round(luma*depth)))
			case types.F32:
				binary.LittleEndian.PutUint32(cell, math.Float32bits(float32(luma)))
			case types.F64:
				binary.LittleEndian.PutUint64(cell, math.Float64bits(luma))
			}
			i++
		}
	}
}

// imageError puts a decoder's complaint into words.
func imageError(err error) error {
	if err == image.ErrFormat {
		return refuse("it is not a picture in the format .png or .jpeg")
	}
	text := err.Error()
	if strings.Contains(text, "EOF") {
		text = "the file ends too early; it is damaged or not completely written"
	}
	e := refuse("%s", text)
	e.Err = err
	return e
}
