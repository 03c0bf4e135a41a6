package gridio

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// VTI are the choices for .vti files, VTK's ImageData in XML. The coordinates
// are in the grid's order of axes, outermost first.
type VTI struct {
	Origin  []float64 // of the first cell; nil is all zeros
	Spacing []float64 // between cells; nil is all ones
	Base64  bool      // well-formed XML at four thirds of the size
}

// Field is a named array.
type Field struct {
	Name  string
	Array *Array
}

// WriteFields writes arrays of one shape as the point data of one .vti file.
func WriteFields(path string, fields []Field, v VTI) error {
	if len(fields) == 0 {
		return at(path, refuse("there is no grid to write"))
	}
	shape := fields[0].Array.Shape
	for i, f := range fields {
		if err := f.Array.check(); err != nil {
			return at(path, err)
		}
		if !slices.Equal(f.Array.Shape, shape) {
			return at(path, refuse("grid %s is %s and grid %s is %s, and the grids in one .vti file have one shape",
				fields[0].Name, FormatShape(shape), f.Name, FormatShape(f.Array.Shape)))
		}
		for _, earlier := range fields[:i] {
			if earlier.Name == f.Name {
				return at(path, refuse("two grids are named %s", f.Name))
			}
		}
	}
	if err := acceptsVTI(fields[0].Array.Type, shape, Options{VTI: v}); err != nil {
		return at(path, err)
	}
	return WriteFile(path, func(w io.Writer) error { return writeFields(w, fields, v) })
}

func acceptsVTI(_ types.Type, shape []int, o Options) error {
	switch {
	case len(shape) == 0 || len(shape) > 3:
		return refuse("a .vti file holds grids of 1, 2 or 3 dimensions, not %d", len(shape))
	case slices.Contains(shape, 0):
		return refuse("a .vti file cannot hold a grid without cells (%s)", FormatShape(shape))
	case o.VTI.Origin != nil && len(o.VTI.Origin) != len(shape),
		o.VTI.Spacing != nil && len(o.VTI.Spacing) != len(shape):
		return refuse("the origin and the spacing have one number for each of the %s", dimensions(shape))
	}
	return nil
}

func writeVTI(w io.Writer, a *Array, o Options) error {
	name := o.Name
	if name == "" {
		name = "values"
	}
	return writeFields(w, []Field{{name, a}}, o.VTI)
}

// writeFields writes the XML with the sizes and kinds of the arrays, and
// behind it, as "appended data", their cells: each array's length in bytes,
// then its bytes. VTK's x is the fastest-varying index and so our last one.
func writeFields(w io.Writer, fields []Field, v VTI) error {
	encoding := "raw"
	if v.Base64 {
		encoding = "base64"
	}
	extent := ""
	for _, n := range xyz(fields[0].Array.Shape, 1) {
		extent += fmt.Sprintf(" 0 %d", n-1)
	}
	extent = extent[1:]

	var b bytes.Buffer
	fmt.Fprintf(&b, "<?xml version=\"1.0\"?>\n")
	fmt.Fprintf(&b, "<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n")
	fmt.Fprintf(&b, "  <ImageData WholeExtent=\"%s\" Origin=\"%s\" Spacing=\"%s\">\n",
		extent, numbers(xyz(v.Origin, 0)), numbers(xyz(v.Spacing, 1)))
	fmt.Fprintf(&b, "    <Piece Extent=\"%s\">\n", extent)
	fmt.Fprintf(&b, "      <PointData Scalars=\"%s\">\n", escape(fields[0].Name))
	offset := int64(0)
	for _, f := range fields {
		fmt.Fprintf(&b, "        <DataArray type=\"%s\" Name=\"%s\" format=\"appended\" offset=\"%d\"/>\n",
			vtkType(f.Array.Type), escape(f.Name), offset)
		block := 8 + len(f.Array.Data)
		if v.Base64 {
			block = base64.StdEncoding.EncodedLen(block)
		}
		offset += int64(block)
	}
	fmt.Fprintf(&b, "      </PointData>\n    </Piece>\n  </ImageData>\n")
	fmt.Fprintf(&b, "  <AppendedData encoding=\"%s\">\n_", encoding)
	if _, err := w.Write(b.Bytes()); err != nil {
		return err
	}
	for _, f := range fields {
		if err := appendBlock(w, f.Array.Data, v.Base64); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\n  </AppendedData>\n</VTKFile>\n")
	return err
}

// appendBlock writes the length of data and data itself. In base64 the two
// are encoded as one piece.
func appendBlock(w io.Writer, data []byte, asText bool) error {
	var closer io.Closer
	if asText {
		encoder := base64.NewEncoder(base64.StdEncoding, w)
		w, closer = encoder, encoder
	}
	if err := binary.Write(w, binary.LittleEndian, uint64(len(data))); err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	if closer != nil {
		return closer.Close()
	}
	return nil
}

// xyz turns a list for our axes into one for VTK's three, with missing ones
// filled in.
func xyz[T int | float64](ours []T, missing T) [3]T {
	vtk := [3]T{missing, missing, missing}
	for i, x := range ours {
		vtk[len(ours)-1-i] = x
	}
	return vtk
}

func numbers(xs [3]float64) string {
	s := ""
	for _, x := range xs {
		s += " " + strconv.FormatFloat(x, 'g', -1, 64)
	}
	return s[1:]
}

func vtkType(t types.Type) string {
	switch t {
	case types.Bool, types.U8:
		return "UInt8"
	case types.I32:
		return "Int32"
	case types.F32:
		return "Float32"
	case types.F64:
		return "Float64"
	}
	panic("gridio: no grid has cells of type " + t.String())
}

func escape(s string) string {
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic("gridio: a buffer refused text: " + err.Error())
	}
	return b.String()
}
