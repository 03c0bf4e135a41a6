package gridio

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/types"
)

func TestBytes(t *testing.T) {
	big := math.MaxInt/8 + 1
	for _, c := range []struct {
		kind  types.Type
		shape []int
		want  int64
		err   string
	}{
		{types.F64, []int{3, 4}, 96, ""},
		{types.I32, []int{5}, 20, ""},
		{types.Bool, []int{2, 3, 4}, 24, ""},
		{types.F32, []int{}, 4, ""},
		{types.F32, []int{7, 0}, 0, ""},
		{types.U8, []int{math.MaxInt}, math.MaxInt, ""},
		{types.I64, []int{3}, 0, "no grid has cells of type long"},
		{types.Invalid, []int{3}, 0, "no grid has cells of type invalid"},
		{types.U8, []int{3, -1}, 0, "the shape 3 x -1 has a negative size"},
		{types.F64, []int{big}, 0, "an array of 1152921504606846976 is larger than any memory"},
		{types.F64, []int{1 << 31, 1 << 31}, 0, "an array of 2147483648 x 2147483648 is larger than any memory"},
		{types.F64, []int{big, 0}, 0, "an array of 1152921504606846976 x 0 is larger than any memory"},
	} {
		got, err := Bytes(c.kind, c.shape)
		if got != c.want || errText(err) != c.err {
			t.Errorf("Bytes(%s, %v) = %d, %q; want %d, %q", c.kind, c.shape, got, errText(err), c.want, c.err)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestViewSharesMemory(t *testing.T) {
	a := mustNew(t, types.F64, 2, 3)
	View[float64](a)[4] = 1.5
	if a.At(4) != 1.5 || !bytes.Equal(a.Data[32:40], []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}) {
		t.Errorf("cell 4 is %v, bytes % x", a.At(4), a.Data[32:40])
	}
	if got := len(View[uint8](mustNew(t, types.Bool, 7))); got != 7 {
		t.Errorf("a bool grid of 7 has a view of %d", got)
	}
}

// TestNewIsAligned tries the sizes at which Go's own allocator packs small
// objects without regard to more than their size.
func TestNewIsAligned(t *testing.T) {
	for n := 1; n < 64; n++ {
		a := mustNew(t, types.U8, n)
		if at := uintptr(unsafe.Pointer(&a.Data[0])); at%8 != 0 {
			t.Fatalf("%d bytes start at %#x", n, at)
		}
	}
}

func TestViewRefuses(t *testing.T) {
	panics := func(name string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s did not panic", name)
			}
		}()
		f()
	}
	a := mustNew(t, types.I32, 4)
	panics("a view of another type", func() { View[float32](a) })
	panics("a view of another size", func() { View[uint8](a) })
	shifted := &Array{Type: types.F64, Shape: []int{1}, Data: alloc(16)[1:9]}
	panics("a misaligned view", func() { View[float64](shifted) })
}

// mustNew returns zeros.
func mustNew(t *testing.T, kind types.Type, shape ...int) *Array {
	t.Helper()
	a, err := New(kind, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// filled returns an array with the given cells.
func filled(t *testing.T, kind types.Type, shape []int, cells ...float64) *Array {
	t.Helper()
	a := mustNew(t, kind, shape...)
	if a.Len() != len(cells) {
		t.Fatalf("%d cells for the shape %v", len(cells), shape)
	}
	for i, v := range cells {
		if !put(kind, a.Data[i*kind.Size():], v) {
			t.Fatalf("%v is no %s", v, kind.Word())
		}
	}
	return a
}

// listed returns the cells of a.
func listed(a *Array) []float64 {
	out := make([]float64, a.Len())
	for i := range out {
		out[i] = a.At(i)
	}
	return out
}

// same compares type, shape and every bit.
func same(a, b *Array) bool {
	return a.Type == b.Type && slices.Equal(a.Shape, b.Shape) && bytes.Equal(a.Data, b.Data)
}
