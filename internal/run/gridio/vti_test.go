package gridio

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// vtkFile is the part of VTK's XML that a reader looks at.
type vtkFile struct {
	XMLName    xml.Name `xml:"VTKFile"`
	Type       string   `xml:"type,attr"`
	ByteOrder  string   `xml:"byte_order,attr"`
	HeaderType string   `xml:"header_type,attr"`
	Image      struct {
		WholeExtent string `xml:",attr"`
		Origin      string `xml:",attr"`
		Spacing     string `xml:",attr"`
		Piece       struct {
			Extent    string `xml:",attr"`
			PointData struct {
				Scalars string `xml:",attr"`
				Arrays  []struct {
					Type   string `xml:"type,attr"`
					Name   string `xml:",attr"`
					Format string `xml:"format,attr"`
					Offset int    `xml:"offset,attr"`
				} `xml:"DataArray"`
			}
		}
	} `xml:"ImageData"`
	Appended struct {
		Encoding string `xml:"encoding,attr"`
		Text     string `xml:",chardata"`
	} `xml:"AppendedData"`
	DataSets []struct {
		Timestep string `xml:"timestep,attr"`
		File     string `xml:"file,attr"`
	} `xml:"Collection>DataSet"`
}

// readVTI parses a .vti file as VTK does: the XML, then each array's length
// and bytes at its offset from the underscore.
func readVTI(t *testing.T, path string) (vtkFile, [][]byte) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	start := bytes.Index(file, []byte("\n_")) + 2
	end := bytes.LastIndex(file, []byte("\n  </AppendedData>"))
	if start < 2 || end < start {
		t.Fatalf("no appended data in %q", file)
	}
	data := file[start:end]
	var v vtkFile
	// Raw cells are no XML; VTK's parser stops at the underscore.
	if err := xml.Unmarshal(slices.Concat(file[:start], file[end:]), &v); err != nil {
		t.Fatal(err)
	}
	var arrays [][]byte
	used := 0
	for _, a := range v.Image.Piece.PointData.Arrays {
		if a.Format != "appended" || a.Offset != used {
			t.Errorf("array %s is %s at %d, want it appended at %d", a.Name, a.Format, a.Offset, used)
		}
		block := data[a.Offset:]
		if v.Appended.Encoding == "base64" {
			n := len(block)
			if pad := bytes.IndexByte(block, '='); pad >= 0 {
				n = (pad + 3) / 4 * 4
			}
			// Blocks that need no padding run on into the next.
			decoded, err := base64.StdEncoding.DecodeString(string(block[:n]))
			if err != nil {
				t.Fatal(err)
			}
			block = decoded
		}
		length := binary.LittleEndian.Uint64(block)
		arrays = append(arrays, block[8:8+length])
		used += 8 + int(length)
		if v.Appended.Encoding == "base64" {
			used = a.Offset + base64.StdEncoding.EncodedLen(8+int(length))
		}
	}
	if used != len(data) {
		t.Errorf("the arrays use %d of %d bytes", used, len(data))
	}
	return v, arrays
}

func TestVTI(t *testing.T) {
	u := mustNew(t, types.F64, 2, 3, 5)
	for n := range u.Len() {
		View[float64](u)[n] = float64(n)
	}
	mask := mustNew(t, types.Bool, 2, 3, 5)
	mask.Data[7] = 1
	third := mustNew(t, types.I32, 2, 3, 5)
	for _, asText := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "u.vti")
		fields := []Field{{"u", u}, {"a<b & \"c\"", mask}, {"n", third}}
		if err := WriteFields(path, fields, VTI{Base64: asText, Origin: []float64{1, 2, 3},
			Spacing: []float64{0.5, 0.25, 1e-3}}); err != nil {
			t.Fatal(err)
		}
		v, arrays := readVTI(t, path)
		image := v.Image
		got := fmt.Sprint(v.Type, v.ByteOrder, v.HeaderType, v.Appended.Encoding, "|", image.WholeExtent, "|",
			image.Piece.Extent, "|", image.Origin, "|", image.Spacing, "|", image.Piece.PointData.Scalars)
		encoding := map[bool]string{false: "raw", true: "base64"}[asText]
		want := fmt.Sprint("ImageData", "LittleEndian", "UInt64", encoding,
			"|", "0 4 0 2 0 1", "|", "0 4 0 2 0 1", "|", "3 2 1", "|", "0.001 0.25 0.5", "|", "u")
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		kinds := ""
		for i, a := range image.Piece.PointData.Arrays {
			kinds += a.Type + " " + a.Name + ";"
			if !bytes.Equal(arrays[i], fields[i].Array.Data) {
				t.Errorf("array %s is % x", a.Name, arrays[i])
			}
		}
		if kinds != `Float64 u;UInt8 a<b & "c";Int32 n;` {
			t.Errorf("the arrays are %s", kinds)
		}
		// VTK's point x, y, z of an extent 5 x 3 x 2 is number x+5(y+3z), and
		// our cell [z][y][x].
		x, y, z := 4, 1, 1
		if cell := arrays[0][8*(x+5*(y+3*z)):][:8]; !bytes.Equal(cell, u.Data[8*((z*3+y)*5+x):][:8]) {
			t.Errorf("the point 4, 1, 1 is % x", cell)
		}
	}
}

func TestVTIOfFewerDimensions(t *testing.T) {
	for _, c := range []struct {
		shape  []int
		extent string
	}{
		{[]int{7}, "0 6 0 0 0 0"},
		{[]int{3, 7}, "0 6 0 2 0 0"},
	} {
		path := filepath.Join(t.TempDir(), "u.vti")
		if err := Write(path, mustNew(t, types.F32, c.shape...), Options{Name: "u"}); err != nil {
			t.Fatal(err)
		}
		v, _ := readVTI(t, path)
		if v.Image.WholeExtent != c.extent || v.Image.Spacing != "1 1 1" || v.Image.Origin != "0 0 0" ||
			v.Image.Piece.PointData.Scalars != "u" {
			t.Errorf("%v: %+v", c.shape, v.Image)
		}
	}
}

func TestVTIRefusals(t *testing.T) {
	a, b := mustNew(t, types.F32, 2, 2), mustNew(t, types.F32, 2, 3)
	deep := mustNew(t, types.U8, 1, 1, 1, 1)
	for _, c := range []struct {
		fields []Field
		v      VTI
		err    string
	}{
		{nil, VTI{}, "there is no grid to write"},
		{[]Field{{"a", a}, {"b", b}}, VTI{},
			"grid a is 2 x 2 and grid b is 2 x 3, and the grids in one .vti file have one shape"},
		{[]Field{{"a", a}, {"a", a}}, VTI{}, "two grids are named a"},
		{[]Field{{"a", deep}}, VTI{}, "a .vti file holds grids of 1, 2 or 3 dimensions, not 4"},
		{[]Field{{"a", mustNew(t, types.U8, 2, 0)}}, VTI{}, "a .vti file cannot hold a grid without cells (2 x 0)"},
		{[]Field{{"a", a}}, VTI{Origin: []float64{1}},
			"the origin and the spacing have one number for each of the 2 dimensions"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "u.vti")
		if err := WriteFields(path, c.fields, c.v); errText(err) != path+": "+c.err {
			t.Errorf("got %v, want %s", err, c.err)
		}
		if files := folder(t, dir); len(files) != 0 {
			t.Errorf("%s: left %q", c.err, files)
		}
	}
}

func TestIndex(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "u.pvd")
	frames := []Frame{
		{0, filepath.Join(dir, "u_000.vti")},
		{0.1, filepath.Join(dir, "frames", "u_&.vti")},
	}
	if err := WriteIndex(path, frames); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var v vtkFile
	if err := xml.Unmarshal(content, &v); err != nil {
		t.Fatal(err)
	}
	if got := strings.Trim(fmt.Sprint(v.DataSets), "[]"); v.Type != "Collection" ||
		got != "{0 u_000.vti} {0.1 frames/u_&.vti}" {
		t.Errorf("%s: %s", v.Type, got)
	}
}
