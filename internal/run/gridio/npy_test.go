package gridio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// npyFile assembles a file byte by byte, right or wrong.
func npyFile(major byte, header string, body ...byte) []byte {
	b := []byte(npyMagic)
	b = append(b, major, 0)
	if major == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	}
	return append(append(b, header...), body...)
}

// readNpy reads a .npy file that is in memory.
func readNpy(file []byte, want Want) (*Array, error) {
	c, err := openNpy(bytes.NewReader(file), int64(len(file)), want)
	if err != nil {
		return nil, at("u.npy", err)
	}
	a, err := New(c.kind, c.shape...)
	if err != nil {
		return nil, err
	}
	return a, at("u.npy", c.fill(a.Data))
}

func TestNpyHeaders(t *testing.T) {
	six := []byte{0, 1, 2, 3, 4, 5}
	for _, c := range []struct {
		name, header string
		major        byte
		body         []byte
		shape        []int
		cells        []float64
	}{
		{"as NumPy writes it", "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }      \n", 1, six,
			[]int{2, 3}, []float64{0, 1, 2, 3, 4, 5}},
		{"Fortran order", "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", 1, six, []int{2, 3},
			[]float64{0, 2, 4, 1, 3, 5}},
		{"version 2", "{'descr': '|u1', 'fortran_order': False, 'shape': (6,), }\n", 2, six, []int{6},
			[]float64{0, 1, 2, 3, 4, 5}},
		{"version 3", "{'descr': '|u1', 'fortran_order': False, 'shape': (6,), }\n", 3, six, []int{6},
			[]float64{0, 1, 2, 3, 4, 5}},
		{"other order, quotes and spaces", "{\"shape\":(3,2),\"descr\":\"<u1\"  ,  'fortran_order' :False}", 1, six,
			[]int{3, 2}, []float64{0, 1, 2, 3, 4, 5}},
		{"Python 2", "{'descr': '|u1', 'fortran_order': False, 'shape': (2L, 3L), }", 1, six, []int{2, 3},
			[]float64{0, 1, 2, 3, 4, 5}},
		{"most significant byte first", "{'descr': '>i2', 'fortran_order': False, 'shape': (3,), }", 1, six, []int{3},
			[]float64{0x0001, 0x0203, 0x0405}},
		{"a single number", "{'descr': '<i2', 'fortran_order': False, 'shape': (), }", 1, six[2:4], []int{},
			[]float64{0x0302}},
		{"no cells", "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }", 1, nil, []int{0, 3}, []float64{}},
	} {
		a, err := readNpy(npyFile(c.major, c.header, c.body...), Want{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !slices.Equal(a.Shape, c.shape) || !slices.Equal(listed(a), c.cells) {
			t.Errorf("%s: %v %v, want %v %v", c.name, a.Shape, listed(a), c.shape, c.cells)
		}
	}
}

func TestNpyRefusals(t *testing.T) {
	head := func(descr, shape string) string {
		return "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }\n"
	}
	four := []byte{1, 2, 3, 4}
	nonsense := "u.npy: its .npy header makes no sense"
	for _, c := range []struct {
		name string
		file []byte
		want Want
		err  string
	}{
		{"not .npy", []byte("PK\x03\x04 zip archive"), Want{}, "u.npy: it is not a .npy file"},
		{"empty", nil, Want{}, "u.npy: it is not a .npy file"},
		{"future version", npyFile(4, head("'<f4'", "(1,)"), four...), Want{},
			"u.npy: it has version 4.0 of the .npy format, and the known ones are 1.0, 2.0 and 3.0"},
		{"huge header", npyFile(2, strings.Repeat(" ", maxNpyHeader+1)), Want{},
			"u.npy: its header claims 65537 bytes, and a header of more than 65536 is refused"},
		{"lying header length", append([]byte(npyMagic), 2, 0, 0xff, 0xff, 0xff, 0xff), Want{},
			"u.npy: its header claims 4294967295 bytes, and a header of more than 65536 is refused"},
		{"too few cells", npyFile(1, head("'<f4'", "(2,)"), four...), Want{},
			"u.npy: its header promises 2 float32 (8 bytes), but only 4 bytes follow (it is damaged or not " +
				"completely written)"},
		{"too many cells", npyFile(1, head("'|b1'", "(2,)"), four...), Want{},
			"u.npy: its header promises 2 bool (2 bytes), but 4 bytes follow (it is damaged, or it holds more than one array)"},
		{"lying shape", npyFile(1, head("'<f8'", "(1048576, 1048576)"), four...), Want{},
			"u.npy: its header promises 1048576 x 1048576 float64 (8796093022208 bytes), but only 4 bytes follow (it " +
				"is damaged or not completely written)"},
		{"overflowing shape", npyFile(1, head("'<f8'", "(4294967296, 4294967296)"), four...), Want{},
			"u.npy: an array of 4294967296 x 4294967296 is larger than any memory"},
		{"shape that overflows to the right size", npyFile(1, head("'|u1'", "(4, 4611686018427387905)"), four...),
			Want{},
			"u.npy: an array of 4 x 4611686018427387905 is larger than any memory"},
		{"bytes that overflow", npyFile(1, head("'<f8'", "(2305843009213693952,)"), four...), Want{},
			"u.npy: an array of 2305843009213693952 is larger than any memory"},
		{"overflow beside a zero", npyFile(1, head("'<f8'", "(4294967296, 0, 4294967296)")), Want{},
			"u.npy: an array of 4294967296 x 0 x 4294967296 is larger than any memory"},
		{"overflowing number", npyFile(1, head("'<f8'", "(99999999999999999999,)")), Want{},
			"u.npy: its header states a size that no memory holds"},
		{"negative size", npyFile(1, head("'<f4'", "(-1,)"), four...), Want{},
			"u.npy: its header states the negative size -1"},
		{"many dimensions", npyFile(1, head("'|u1'", "("+strings.Repeat("1,", 65)+")"), 0), Want{},
			"u.npy: its header states more than 64 dimensions"},
		{"objects", npyFile(1, head("'|O'", "(1,)"), four...), Want{},
			"u.npy: it holds Python objects, which are never loaded"},
		{"complex", npyFile(1, head("'<c8'", "(1,)"), four...), Want{},
			"u.npy: it holds complex numbers, and a cell is one real number (save the real and the imaginary part as two arrays)"},
		{"text", npyFile(1, head("'<U1'", "(1,)"), four...), Want{}, "u.npy: it holds text"},
		{"dates", npyFile(1, head("'<M8[ns]'", "(1,)"), four...), Want{}, "u.npy: it holds dates or times"},
		{"records", npyFile(1, head("[('a', '<f4'), ('b', '<f4')]", "(1,)"), four...), Want{},
			"u.npy: it holds records, and a cell is one number (save each field as an array of its own)"},
		{"long double", npyFile(1, head("'<f16'", "(1,)"), make([]byte, 16)...), Want{},
			`u.npy: its cells have the type "<f16", which no grid has`},
		{"no type", npyFile(1, head("'<'", "(1,)"), four...), Want{}, "u.npy: its header states no type of cells"},
		{"missing key", npyFile(1, "{'descr': '<f4', 'shape': (1,)}", four...), Want{}, nonsense},
		{"repeated key", npyFile(1, "{'descr': '<f4', 'shape': (1,), 'shape': (1,), 'fortran_order': True}", four...),
			Want{}, nonsense},
		{"unknown key", npyFile(1, "{'descr': '<f4', 'shape': (1,), 'fortran_order': True, 'x': 'y'}", four...), Want{},
			nonsense},
		{"more after the end", npyFile(1, head("'<f4'", "(1,)")+"x", four...), Want{}, nonsense},
		{"NUL after the end", npyFile(1, head("'<f4'", "(1,)")+"\x00", four...), Want{}, nonsense},
		{"number for a tuple", npyFile(1, head("'<f4'", "(1)"), four...), Want{}, nonsense},
		{"number without digits", npyFile(1, head("'<f4'", "(-)"), four...), Want{}, nonsense},
		{"missing comma", npyFile(1, head("'<f4'", "(1 1)"), four...), Want{}, nonsense},
		{"order without meaning", npyFile(1, "{'descr': '<f4', 'shape': (1,), 'fortran_order': 1}", four...), Want{},
			nonsense},
		{"open string", npyFile(1, "{'descr': '<f4", four...), Want{}, nonsense},
		{"no dictionary", npyFile(1, "['descr']", four...), Want{}, nonsense},

		{"other shape", npyFile(1, head("'|u1'", "(2, 2)"), four...), Want{Grid: "u", Shape: []int{2, 3}},
			"u.npy: it holds 2 x 2 cells, but grid u is 2 x 3"},
		{"reversed shape", npyFile(1, head("'|u1'", "(4, 1)"), four...), Want{Grid: "u", Shape: []int{1, 4}},
			"u.npy: it holds 4 x 1 cells, but grid u is 1 x 4 (the axes seem to be reversed: the outermost, " +
				"slowest-varying one comes first)"},
		{"other rank", npyFile(1, head("'|u1'", "(4,)"), four...), Want{Shape: []int{4, 1}},
			"u.npy: it holds 4 cells, but the grid is 4 x 1: 1 dimension against 2 dimensions"},
		{"no shape", npyFile(1, head("'<f4'", "()"), four...), Want{Grid: "u", Shape: []int{4}},
			"u.npy: it holds a single number, but grid u is 4: 0 dimensions against 1 dimension"},
		{"limit", npyFile(1, head("'|u1'", "(4,)"), four...), Want{Type: types.F64, Limit: 31},
			"u.npy: reading it takes 32 bytes of memory, and the limit is 31 bytes"},
		{"type without grids", npyFile(1, head("'|u1'", "(4,)"), four...), Want{Type: types.I64},
			"u.npy: no grid has cells of type long"},
	} {
		a, err := readNpy(c.file, c.want)
		if errText(err) != c.err {
			t.Errorf("%s:\n got %s\nwant %s (array %v)", c.name, errText(err), c.err, a)
		}
	}
}

// TestNpyConversions gives each type of cell to each type of grid: values at
// the edges of what fits, and the nearest that do not.
func TestNpyConversions(t *testing.T) {
	f32 := func(v float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)) }
	f64 := func(v float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)) }
	inf, nan := math.Inf(1), math.NaN()
	third := 1.0 / 3
	for _, c := range []struct {
		descr string
		cell  []byte
		want  types.Type
		fits  bool
		value float64
	}{
		{"|b1", []byte{1}, types.Bool, true, 1},
		{"|b1", []byte{2}, types.Bool, false, 0},
		{"|b1", []byte{1}, types.F32, true, 1},
		{"|u1", []byte{1}, types.Bool, true, 1},
		{"|u1", []byte{255}, types.Bool, false, 0},
		{"|u1", []byte{255}, types.U8, true, 255},
		{"|u1", []byte{255}, types.I32, true, 255},
		{"|i1", []byte{0x80}, types.I32, true, -128},
		{"|i1", []byte{0xff}, types.U8, false, 0},
		{"<i2", []byte{0xff, 0x00}, types.U8, true, 255},
		{"<i2", []byte{0x00, 0x01}, types.U8, false, 0},
		{">i2", []byte{0xff, 0xfe}, types.F32, true, -2},
		{"<u2", []byte{0xff, 0xff}, types.I32, true, 65535},
		{"<i4", []byte{0, 0, 0, 0x80}, types.I32, true, math.MinInt32},
		{"<i4", []byte{1, 0, 0, 1}, types.F32, false, 0}, // 2^24+1
		{"<i4", []byte{1, 0, 0, 1}, types.F64, true, 1<<24 + 1},
		{"<u4", []byte{0, 0, 0, 0x80}, types.I32, false, 0},
		{"<u4", []byte{0, 0, 0, 0x80}, types.F32, true, 1 << 31},
		{"<i8", []byte{0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0}, types.I32, true, math.MaxInt32},
		{"<i8", []byte{0, 0, 0, 0x80, 0, 0, 0, 0}, types.I32, false, 0},
		{"<i8", []byte{0, 0, 0, 0x80, 0xff, 0xff, 0xff, 0xff}, types.I32, true, math.MinInt32},
		{">i8", []byte{0, 0x20, 0, 0, 0, 0, 0, 0}, types.F64, true, 1 << 53},
		{">i8", []byte{0, 0x20, 0, 0, 0, 0, 0, 1}, types.F64, false, 0},
		{">i8", []byte{0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, types.F64, false, 0},
		{">i8", []byte{0x80, 0, 0, 0, 0, 0, 0, 0}, types.F32, true, -1 << 63},
		{">u8", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, types.F64, false, 0},
		{">u8", []byte{0x80, 0, 0, 0, 0, 0, 0, 0}, types.F64, true, 1 << 63},
		{"<f2", []byte{0x00, 0x3c}, types.F32, true, 1},
		{"<f2", []byte{0x01, 0x00}, types.F32, true, math.Ldexp(1, -24)},
		{"<f2", []byte{0xff, 0xfb}, types.F32, true, -65504},
		{"<f2", []byte{0x00, 0xfc}, types.F64, true, -inf},
		{">f2", []byte{0x55, 0x55}, types.F32, true, 85.3125},
		{"<f2", []byte{0x00, 0x38}, types.I32, false, 0},
		{"<f4", f32(0.1), types.F64, true, float64(float32(0.1))},
		{"<f4", f32(7), types.U8, true, 7},
		{"<f4", f32(256), types.U8, false, 0},
		{"<f4", f32(-0.5), types.U8, false, 0},
		{"<f8", f64(third), types.F32, false, 0},
		{"<f8", f64(third), types.F64, true, third},
		{"<f8", f64(0.5), types.F32, true, 0.5},
		{"<f8", f64(math.MaxFloat64), types.F32, false, 0},
		{"<f8", f64(5e-324), types.F32, false, 0},
		{"<f8", f64(inf), types.F32, true, inf},
		{"<f8", f64(nan), types.F32, true, nan},
		{"<f8", f64(nan), types.I32, false, 0},
		{"<f8", f64(nan), types.Bool, false, 0},
		{"<f8", f64(-3e9), types.I32, false, 0},
		{"<f8", f64(math.Copysign(0, -1)), types.I32, true, 0},
		{"<f8", f64(0.5), types.Bool, false, 0},
	} {
		file := npyFile(1, "{'descr': '"+c.descr+"', 'fortran_order': False, 'shape': (1,), }", c.cell...)
		a, err := readNpy(file, Want{Type: c.want})
		name := fmt.Sprintf("%s % x as %s", c.descr, c.cell, c.want.Word())
		if (err == nil) != c.fits {
			t.Errorf("%s: error %v", name, err)
		} else if err == nil && a.At(0) != c.value && !(math.IsNaN(c.value) && math.IsNaN(a.At(0))) {
			t.Errorf("%s: %v, want %v", name, a.At(0), c.value)
		}
	}
}

func TestNpyMisfitIsNamed(t *testing.T) {
	for _, c := range []struct {
		name, header string
		body         []byte
		kind         types.Type
		err          string
	}{
		{"C order", "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2), }", []byte{1, 0, 2, 0, 44, 1, 45, 1},
			types.U8,
			"u.npy: its value 300 at [1][0] does not fit grid u, whose cells are byte (a byte is a whole number from 0 to 255)"},
		{"Fortran order", "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 2), }",
			[]byte{1, 0, 2, 0, 44, 1, 45, 1}, types.U8,
			"u.npy: its value 300 at [0][1] does not fit grid u, whose cells are byte (a byte is a whole number from 0 to 255)"},
		{"rounded", "{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }", []byte{0x3f, 0xb9, 0x99, 0x99, 0x99,
			0x99, 0x99, 0x9a}, types.F32,
			"u.npy: its value 0.1 at [0] does not fit grid u, whose cells are float (float32 does not hold it " +
				"exactly: round on purpose with .astype('float32') before saving, or declare the grid double)"},
		{"large", "{'descr': '<u8', 'fortran_order': False, 'shape': (), }", []byte{255, 255, 255, 255, 255, 255, 255,
			255}, types.F64,
			"u.npy: its value 18446744073709551615 at [] does not fit grid u, whose cells are double (it is not " +
				"exactly a double)"},
		{"negative", "{'descr': '|i1', 'fortran_order': False, 'shape': (1,), }", []byte{0xfe}, types.Bool,
			"u.npy: its value -2 at [0] does not fit grid u, whose cells are bool (a bool is 0 or 1)"},
		{"int", "{'descr': '<u4', 'fortran_order': False, 'shape': (1,), }", []byte{0, 0, 0, 128}, types.Invalid,
			"u.npy: its value 2147483648 at [0] does not fit grid u, whose cells are int (an int is a whole number " +
				"from -2147483648 to 2147483647)"},
	} {
		_, err := readNpy(npyFile(1, c.header, c.body...), Want{Grid: "u", Type: c.kind})
		if errText(err) != c.err {
			t.Errorf("%s:\n got %s\nwant %s", c.name, errText(err), c.err)
		}
	}
}

// TestNpyOwnTypes pins the grid that a file makes when nobody asks for a type.
func TestNpyOwnTypes(t *testing.T) {
	for descr, kind := range map[string]types.Type{
		"|b1": types.Bool, "|u1": types.U8, "|i1": types.I32, "<i2": types.I32, "<u2": types.I32, "<i4": types.I32,
		"<u4": types.I32, "<i8": types.I32, "<u8": types.I32, "<f2": types.F32, "<f4": types.F32, "<f8": types.F64,
		"=f8": types.F64, ">f4": types.F32, "f4": types.F32,
	} {
		d, err := parseDtype(descr)
		if err != nil || d.grid() != kind {
			t.Errorf("%s: %s, %v; want %s", descr, d.grid(), err, kind)
		}
	}
}

// TestNpyTruncated cuts a good file after every byte.
func TestNpyTruncated(t *testing.T) {
	var b bytes.Buffer
	if err := writeNpy(&b, filled(t, types.F32, []int{3, 2}, 1, 2, 3, 4, 5, 6), Options{}); err != nil {
		t.Fatal(err)
	}
	for n := range b.Len() {
		var refusal *Error
		if _, err := readNpy(b.Bytes()[:n], Want{}); !errors.As(err, &refusal) || refusal.Text == "" {
			t.Errorf("%d of %d bytes: %v", n, b.Len(), err)
		}
	}
	if _, err := readNpy(b.Bytes(), Want{}); err != nil {
		t.Error(err)
	}
}

// TestNpyLiesCostNothing reads headers that promise much and counts the bytes
// that are allocated before they are refused.
func TestNpyLiesCostNothing(t *testing.T) {
	for _, shape := range []string{"(1099511627776,)", "(1048576, 1048576)", "(4294967296, 4294967296)"} {
		file := npyFile(1, "{'descr': '<f8', 'fortran_order': True, 'shape': "+shape+", }", 1, 2, 3)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readNpy(file, Want{})
		runtime.ReadMemStats(&after)
		if spent := after.TotalAlloc - before.TotalAlloc; err == nil || spent > 1<<16 {
			t.Errorf("%s: %d bytes allocated, error %v", shape, spent, err)
		}
	}
}

var gridTypes = []types.Type{types.Bool, types.U8, types.I32, types.F32, types.F64}

// anyArray draws an array of any type and shape; all bit patterns occur.
func anyArray(t *rapid.T, least, most int) *Array {
	kind := rapid.SampledFrom(gridTypes).Draw(t, "type")
	shape := rapid.SliceOfN(rapid.IntRange(0, 7), least, most).Draw(t, "shape")
	a, err := New(kind, shape...)
	if err != nil {
		t.Fatal(err)
	}
	limit := byte(255)
	if kind == types.Bool {
		limit = 1
	}
	for i := range a.Data {
		a.Data[i] = rapid.ByteRange(0, limit).Draw(t, "byte")
	}
	return a
}

func TestNpyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyArray(t, 0, 4)
		fortran := rapid.Bool().Draw(t, "fortran")
		var b bytes.Buffer
		if err := writeNpy(&b, a, Options{Fortran: fortran}); err != nil {
			t.Fatal(err)
		}
		if header := b.Len() - len(a.Data); header%64 != 0 {
			t.Fatalf("the cells start at byte %d", header)
		}
		back, err := readNpy(b.Bytes(), Want{Type: a.Type, Shape: a.Shape})
		if err != nil || !same(a, back) {
			t.Fatalf("%v, %v", back, err)
		}
	})
}

// TestNpyForeignRoundTrip encodes arrays in every version, order and byte
// order of the format with code of its own.
func TestNpyForeignRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyArray(t, 1, 4)
		d := dtypeOf(a.Type)
		d.big = a.Type.Size() > 1 && rapid.Bool().Draw(t, "big")
		fortran := rapid.Bool().Draw(t, "fortran")
		major := rapid.ByteRange(1, 3).Draw(t, "version")

		size, body := a.Type.Size(), make([]byte, len(a.Data))
		for n := range a.Len() {
			// The place of cell n of the C order in the file.
			place, stride, rest := 0, 1, n
			if fortran {
				index := make([]int, len(a.Shape))
				for i := len(a.Shape) - 1; i >= 0; i-- {
					index[i], rest = rest%a.Shape[i], rest/a.Shape[i]
				}
				for i := range a.Shape {
					place += index[i] * stride
					stride *= a.Shape[i]
				}
			} else {
				place = n
			}
			cell := slices.Clone(a.Data[n*size : (n+1)*size])
			if d.big {
				slices.Reverse(cell)
			}
			copy(body[place*size:], cell)
		}
		order := "False"
		if fortran {
			order = "True"
		}
		tuple := strings.ReplaceAll(strings.Trim(fmt.Sprint(a.Shape), "[]"), " ", ", ") + ","
		header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s)}", d.descr(), order, tuple)
		back, err := readNpy(npyFile(major, header, body...), Want{})
		if err != nil || !same(a, back) {
			t.Fatalf("%s: %v, %v", header, back, err)
		}
	})
}

// TestNpyAcrossChunks reads and writes more than is held in memory at a time.
func TestNpyAcrossChunks(t *testing.T) {
	shape := []int{37, 41, 29} // 176 kB as i32
	a := mustNew(t, types.I32, shape...)
	for i, cells := 0, View[int32](a); i < len(cells); i++ {
		cells[i] = int32(i)
	}
	for _, fortran := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "u.npy")
		if err := Write(path, a, Options{Fortran: fortran}); err != nil {
			t.Fatal(err)
		}
		wide, err := Read(path, Want{Type: types.F64, Shape: shape})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range View[float64](wide) {
			if v != float64(i) {
				t.Fatalf("fortran %t: cell %d is %v", fortran, i, v)
			}
		}
	}
}

// TestNpyBytes pins a file as NumPy 1.24 writes it.
func TestNpyBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "u.npy")
	if err := Write(path, filled(t, types.I32, []int{2}, 1, -1), Options{}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	header := "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }"
	want := npyFile(1, header+strings.Repeat(" ", 117-len(header))+"\n", 1, 0, 0, 0, 255, 255, 255, 255)
	if !bytes.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func FuzzNpy(f *testing.F) {
	f.Add(npyFile(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", 0, 0, 0, 0, 0, 0, 0, 0), byte(0))
	f.Add(npyFile(2, "{'descr': '>u2', 'fortran_order': True, 'shape': (2, 2), }", 1, 2, 3, 4, 5, 6, 7, 8), byte(5))
	f.Add(npyFile(3, "{'descr': '|b1', 'fortran_order': True, 'shape': (1, 0, 3), }"), byte(1))
	f.Add(npyFile(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (), }", 0, 0x7e), byte(4))
	f.Add(npyFile(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (9223372036854775807, 2), }"), byte(4))
	f.Fuzz(func(t *testing.T, file []byte, kind byte) {
		want := Want{}
		if n := int(kind) % (len(gridTypes) + 1); n > 0 {
			want.Type = gridTypes[n-1]
		}
		a, err := readNpy(file, want)
		if err != nil {
			var refusal *Error
			if !errors.As(err, &refusal) {
				t.Fatalf("an error without words: %v", err)
			}
			return
		}
		// The widest conversion is from one byte to eight.
		if len(a.Data) > 8*len(file) {
			t.Fatalf("%d bytes of cells from a file of %d", len(a.Data), len(file))
		}
		var b bytes.Buffer
		if err := writeNpy(&b, a, Options{}); err != nil {
			t.Fatal(err)
		}
		back, err := readNpy(b.Bytes(), Want{Type: a.Type, Shape: a.Shape})
		if err != nil || !same(a, back) {
			t.Fatalf("%v became %v, %v", a, back, err)
		}
	})
}
