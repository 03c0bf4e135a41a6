package gridio

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/types"
)

func TestRaw(t *testing.T) {
	path := filepath.Join(t.TempDir(), "u.raw")
	a := filled(t, types.I32, []int{2, 2}, 1, -2, 3, 1<<30)
	if err := Write(path, a, Options{}); err != nil {
		t.Fatal(err)
	}
	if bytes, err := os.ReadFile(path); err != nil || !slices.Equal(bytes, a.Data) {
		t.Fatalf("% x, %v", bytes, err)
	}
	back, err := Read(path, Want{Type: types.I32, Shape: []int{2, 2}})
	if err != nil || !same(a, back) {
		t.Errorf("%v, %v", back, err)
	}
	for _, c := range []struct {
		want Want
		err  string
	}{
		{Want{Type: types.I32}, "a raw file does not say what it holds (state the type and the shape of its cells)"},
		{Want{Shape: []int{2, 2}}, "a raw file does not say what it holds (state the type and the shape of its cells)"},
		{Want{Grid: "u", Type: types.F64, Shape: []int{2, 2}}, "it has 16 bytes, but grid u of 2 x 2 double takes 32"},
		{Want{Type: types.F64, Shape: []int{1 << 31, 1 << 31}},
			"an array of 2147483648 x 2147483648 is larger than any memory"},
		{Want{Type: types.F64, Shape: []int{2}, Limit: 15},
			"reading it takes 16 bytes of memory, and the limit is 15 bytes"},
		{Want{Grid: "p", Type: types.Bool, Shape: []int{16}},
			"its value 254 at [4] does not fit grid p, whose cells are bool (a bool is 0 or 1)"},
	} {
		if _, err := Read(path, c.want); errText(err) != path+": "+c.err {
			t.Errorf("%+v:\n got %s\nwant %s: %s", c.want, errText(err), path, c.err)
		}
	}
}
