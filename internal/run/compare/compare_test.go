package compare

import (
	"math"
	"testing"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/types"
)

func bytes64(v ...float64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 8*len(v))
}

func bytes32(v ...float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 4*len(v))
}

func TestCells(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name      string
		got, want []byte
		bounds    []float64
		result    Result
	}{
		{"equal", bytes64(1, nan, 0), bytes64(1, nan, math.Copysign(0, -1)), nil, Result{Cells: 3}},
		{"one ulp", bytes64(1, 2), bytes64(1, math.Nextafter(2, 3)), nil, Result{Cells: 2, Differ: 1, Wrong: 1, MaxAbs: 0x1p-51, MaxULP: 1}},
		{"within", bytes64(1, 2), bytes64(1.5, 2), []float64{1, 0}, Result{Cells: 2, Differ: 1, MaxAbs: 0.5, MaxULP: 0x1p51, OfBound: 0.5}},
		{"beyond", bytes64(1, 2), bytes64(1.5, 2), []float64{0.25, 0}, Result{Cells: 2, Differ: 1, Wrong: 1, MaxAbs: 0.5, MaxULP: 0x1p51, OfBound: 2}},
		{"open", bytes64(1, 2), bytes64(9, 2), []float64{inf, 0}, Result{Cells: 2, Open: 1}},
		{"nan against a number", bytes64(nan), bytes64(1), []float64{10}, Result{Cells: 1, Differ: 1, Wrong: 1, MaxAbs: inf, MaxULP: inf, OfBound: inf}},
		{"across zero", bytes64(-math.SmallestNonzeroFloat64), bytes64(math.SmallestNonzeroFloat64), nil,
			Result{Cells: 1, Differ: 1, Wrong: 1, MaxAbs: 2 * math.SmallestNonzeroFloat64, MaxULP: 2}},
	} {
		r := Cells(types.F64, []int{len(c.want) / 8}, c.got, c.want, c.bounds)
		first := r.First
		r.First = nil
		if r.Cells != c.result.Cells || r.Differ != c.result.Differ || r.Wrong != c.result.Wrong || r.Open != c.result.Open ||
			r.MaxAbs != c.result.MaxAbs || r.MaxULP != c.result.MaxULP || r.OfBound != c.result.OfBound {
			t.Errorf("%s: %+v, want %+v", c.name, r, c.result)
		}
		if int64(len(first)) != r.Wrong {
			t.Errorf("%s: %d wrong cells named of %d", c.name, len(first), r.Wrong)
		}
	}
}

func TestOtherTypes(t *testing.T) {
	r := Cells(types.F32, []int{2}, bytes32(1, -1), bytes32(math.Nextafter32(1, 2), -1), nil)
	if r.Wrong != 1 || r.MaxULP != 1 {
		t.Errorf("float: %+v", r)
	}
	r = Cells(types.U8, []int{2, 2}, []byte{1, 2, 3, 4}, []byte{1, 2, 3, 9}, nil)
	if r.Wrong != 1 || r.MaxAbs != 5 || r.First[0].String() != "[1,1] is 4, the reference 9" {
		t.Errorf("byte: %+v", r)
	}
}
