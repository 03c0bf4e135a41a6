package compare

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
)

// cells encodes values as a grid's memory.
func cells(t types.Type, values ...float64) []byte {
	out := make([]byte, len(values)*t.Size())
	for i, v := range values {
		x := op.Float(t, v)
		if !t.IsFloat() {
			x = op.Int(t, int64(v))
		}
		device.Encode(out[i*t.Size():], x)
	}
	return out
}

var nan, inf = math.NaN(), math.Inf(1)

func TestCells(t *testing.T) {
	zero := math.Copysign(0, -1)
	for _, test := range []struct {
		name      string
		typ       types.Type
		want, got []float64
		bounds    []float64
		ok        bool
		text      string
	}{
		{"same", types.F64, []float64{1, inf}, []float64{1, inf}, nil, true, "u: all 2 cells the same, bit for bit"},
		{"NaN on both sides", types.F64, []float64{1, nan, inf}, []float64{1, nan, inf}, nil, true,
			"u: all 2 cells the same, bit for bit; 1 cell more NaN on both sides, not compared"},
		{"NaN on both sides and a difference", types.F32, []float64{nan, 1, nan}, []float64{nan, 2, nan}, nil, false,
			"u: 1 of 1 cell differ; largest difference 1 (8388608 ulp); 2 cells more NaN on both sides, not " +
				"compared\n  u[11] is 2, should be 1"},
		{"NaN everywhere", types.F32, []float64{nan, nan}, []float64{nan, nan}, nil, true,
			"u: nothing was compared: all 2 cells NaN on both sides"},
		{"one cell", types.F64, []float64{1}, []float64{1}, nil, true, "u: all 1 cell the same, bit for bit"},
		{"one ulp", types.F64, []float64{1, 2}, []float64{1, math.Nextafter(2, 3)}, nil, false,
			"u: 1 of 2 cells differ; largest difference 4.44e-16 (1 ulp)\n  u[11] is 2.0000000000000004, should be 2"},
		{"float", types.F32, []float64{1}, []float64{1 - 0x1p-24}, nil, false,
			"u: 1 of 1 cell differ; largest difference 5.96e-08 (1 ulp)\n  u[10] is 0.99999994, should be 1"},
		{"across zero", types.F32, []float64{0x1p-149}, []float64{-0x1p-149}, nil, false,
			"u: 1 of 1 cell differ; largest difference 2.8e-45 (3 ulp)\n  u[10] is -1e-45, should be 1e-45"},
		{"zeros", types.F64, []float64{0}, []float64{zero}, nil, false,
			"u: 1 of 1 cell differ; largest difference 0 (1 ulp)\n  u[10] is -0, should be 0"},
		{"zeros within a bound", types.F64, []float64{0}, []float64{zero}, []float64{0}, true,
			"u: all 1 cell within their bounds, 1 not the same; largest difference 0 (1 ulp), at most 0 of the bound"},
		{"NaN", types.F64, []float64{1, nan}, []float64{nan, 1}, nil, false,
			"u: 2 of 2 cells differ; largest difference +Inf\n  u[10] is NaN, should be 1\n  u[11] is 1, should be NaN"},
		{"infinity", types.F64, []float64{inf}, []float64{-inf}, nil, false,
			"u: 1 of 1 cell differ; largest difference +Inf (18437736874454810625 ulp)\n  u[10] is -Inf, should be +Inf"},
		{"integers", types.I32, []float64{math.MaxInt32}, []float64{math.MinInt32}, nil, false,
			"u: 1 of 1 cell differ; largest difference 4.29e+09 (4294967295 ulp)\n  u[10] is -2147483648, should be 2147483647"},
		{"bytes", types.U8, []float64{3, 4, 5, 6, 7, 8, 9}, []float64{0, 0, 0, 0, 0, 0, 0}, nil, false,
			"u: 7 of 7 cells differ; largest difference 9 (9 ulp)\n  u[10] is 0, should be 3\n  u[11] is 0, should " +
				"be 4\n  u[12] is 0, should be 5\n  u[13] is 0, should be 6\n  u[14] is 0, should be 7\n  and 2 more"},
		{"bool", types.Bool, []float64{1}, []float64{0}, nil, false,
			"u: 1 of 1 cell differ; largest difference 1 (1 ulp)\n  u[10] is false, should be true"},
		{"within", types.F64, []float64{1, 2, 3}, []float64{1.5, 2, 3.25}, []float64{1, 0, 0.5}, true,
			"u: all 3 cells within their bounds, 2 not the same; largest difference 0.5 (2251799813685248 ulp), at " +
				"most 0.5 of the bound"},
		{"beyond", types.F64, []float64{1, 2}, []float64{3, 2.5}, []float64{1, 1}, false,
			"u: 1 of 2 cells beyond their bounds, 2 not the same; largest difference 2 (6755399441055744 ulp), at " +
				"most 2 of the bound\n  u[10] is 3, should be 1 within 1"},
		{"no leeway", types.F64, []float64{1}, []float64{2}, []float64{0}, false,
			"u: 1 of 1 cell beyond their bounds, 1 not the same; largest difference 1 (4503599627370496 ulp), at " +
				"most +Inf of the bound\n  u[10] is 2, should be 1 within 0"},
		{"anything goes", types.F64, []float64{1, 2}, []float64{nan, 1e9}, []float64{inf, inf}, true,
			"u: all 2 cells within their bounds, 2 not the same; largest difference +Inf, at most 0 of the bound"},
		{"not just anything", types.F64, []float64{1}, []float64{nan}, []float64{1e300}, false,
			"u: 1 of 1 cell beyond their bounds, 1 not the same; largest difference +Inf, at most +Inf of the " +
				"bound\n  u[10] is NaN, should be 1 within 1e+300"},
	} {
		g := Grid{Name: "u", Type: test.typ, Shape: []int{len(test.want)}, Lo: []int64{10}, Bounds: test.bounds}
		r, err := Cells(g, cells(test.typ, test.want...), cells(test.typ, test.got...))
		if err != nil || r.OK() != test.ok || r.String() != test.text {
			t.Errorf("%s: %v %v\n%s\nwant %v\n%s", test.name, err, r.OK(), r, test.ok, test.text)
		}
	}
}

func TestPositions(t *testing.T) {
	g := Grid{Name: "u", Type: types.U8, Shape: []int{2, 3, 4}, Lo: []int64{0, -1, 5}}
	got := make([]byte, 24)
	got[23], got[4] = 1, 2
	r, err := Cells(g, make([]byte, 24), got)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]int64{{0, 0, 5}, {1, 1, 8}}
	if len(r.First) != 2 || !reflect.DeepEqual([][]int64{r.First[0].Index, r.First[1].Index}, want) {
		t.Errorf("%v, want %v", r.First, want)
	}
	if !strings.Contains(r.String(), "\n  u[1][1][8] is 1, should be 0") {
		t.Error(r)
	}
}

func TestSizesMustAgree(t *testing.T) {
	g := Grid{Name: "u", Type: types.F64, Shape: []int{2, 2}}
	if _, err := Cells(g, make([]byte, 32), make([]byte, 24)); err == nil ||
		err.Error() != "u: 32 and 24 bytes cannot be compared as a grid of 32" {
		t.Error(err)
	}
	g.Bounds = make([]float64, 3)
	if _, err := Cells(g, make([]byte, 32), make([]byte, 32)); err == nil || err.Error() != "u: 3 bounds for 4 cells" {
		t.Error(err)
	}
}

// Distances count the steps of Nextafter, and chunks change nothing.
func TestDistances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64().Draw(t, "x")
		if math.IsInf(x, 0) || x == 0 {
			return
		}
		y := x
		steps := rapid.IntRange(1, 20).Draw(t, "steps")
		for range steps {
			y = math.Nextafter(y, 0)
		}
		if y == 0 {
			return
		}
		at := rapid.IntRange(0, 3*chunk).Draw(t, "at")
		want, got := make([]byte, 8*(3*chunk+1)), make([]byte, 8*(3*chunk+1))
		copy(want[8*at:], cells(types.F64, x))
		copy(got[8*at:], cells(types.F64, y))
		r, err := Cells(Grid{Type: types.F64, Shape: []int{3*chunk + 1}}, want, got)
		if err != nil || r.Cells != 3*chunk+1 || r.Differ != 1 || r.MaxULP != uint64(steps) ||
			r.MaxAbs != math.Abs(x-y) || r.First[0].Index[0] != int64(at) {
			t.Fatalf("%g and %g: %+v, %v", x, y, r, err)
		}
	})
}

func TestFirstOfManyChunks(t *testing.T) {
	want, got := make([]byte, 4*chunk), make([]byte, 4*chunk)
	var list []string
	for i := range 12 {
		got[i*chunk/3+1] = 1
		if i < most {
			list = append(list, fmt.Sprint(i*chunk/3+1))
		}
	}
	r, err := Cells(Grid{Type: types.U8, Shape: []int{4 * chunk}}, want, got)
	if err != nil || r.Differ != 12 || len(r.First) != most {
		t.Fatal(r, err)
	}
	for i, c := range r.First {
		if fmt.Sprint(c.Index[0]) != list[i] {
			t.Errorf("cell %d is %v, want %s", i, c.Index, list[i])
		}
	}
}
