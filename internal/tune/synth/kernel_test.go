package synth

import (
	"strings"
	"testing"
)

// TestTable2 counts the kernels as Table 2 of the paper does.
func TestTable2(t *testing.T) {
	type cell struct {
		pattern Pattern
		n       int
	}
	dims, radii := map[cell]int{}, map[cell]int{}
	names := map[string]bool{}
	for _, k := range Kernels() {
		dims[cell{k.Pattern, len(k.Axes)}]++
		radii[cell{k.Pattern, k.Radius}]++
		names[k.Name()] = true
	}
	if len(names) != 104 {
		t.Errorf("%d kernels with names of their own", len(names))
	}
	for _, row := range []struct {
		pattern Pattern
		dims    [3]int
		radii   [6]int
	}{
		{Star, [3]int{0, 15, 5}, [6]int{0, 4, 4, 4, 4, 4}},
		{Thumbtack, [3]int{0, 0, 15}, [6]int{0, 3, 3, 3, 3, 3}},
		{Diamond, [3]int{0, 12, 4}, [6]int{0, 0, 4, 4, 4, 4}},
		{NoCorners, [3]int{0, 12, 5}, [6]int{0, 1, 4, 4, 4, 4}},
		{Dense, [3]int{16, 15, 5}, [6]int{1, 7, 7, 7, 7, 7}},
	} {
		for d, want := range row.dims {
			if got := dims[cell{row.pattern, d + 1}]; got != want {
				t.Errorf("%s: %d kernels of %d dimensions, want %d", row.pattern, got, d+1, want)
			}
		}
		for r, want := range row.radii {
			if got := radii[cell{row.pattern, r}]; got != want {
				t.Errorf("%s: %d kernels of radius %d, want %d", row.pattern, got, r, want)
			}
		}
	}
}

func TestCells(t *testing.T) {
	for _, c := range []struct {
		name  string
		cells int
	}{
		{"dense-x-r0", 1},
		{"dense-z-r3", 7},
		{"dense-zyx-r1", 27},
		{"star-zyx-r5", 31},
		{"diamond-zx-r2", 13},
		{"diamond-zyx-r2", 25},
		{"no-corners-yx-r2", 21},
		{"no-corners-zyx-r1", 19},
		{"thumbtack-zyx-r3", 7*7 + 3},
	} {
		k, err := FindKernel(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(k.Cells()); got != c.cells {
			t.Errorf("%s has %d cells, want %d", c.name, got, c.cells)
		}
	}
	if _, err := FindKernel("star-zyx-r6"); err == nil || !strings.Contains(err.Error(), `"star-zyx-r6"`) {
		t.Errorf("%v", err)
	}
}

func TestSource(t *testing.T) {
	k, _ := FindKernel("star-yx-r1")
	want := `// A synthetic kernel: star on yx, radius 1 (Garvey 2018, section 7.1).
parameter NZ = 8, NY = 9, NX = 10;
iterator z, y, x;
float u[NZ, NY, NX], next[NZ, NY, NX];
copyin u;

stencil weigh (out, in) {
  out[z][y][x] = 0.871f*in[z][y-1][x]
    + 0.107f*in[z][y][x-1]
`
	if got := k.Source([3]int{8, 9, 10}, 3); !strings.HasPrefix(got, want) {
		t.Errorf("%s", got)
	}
}
