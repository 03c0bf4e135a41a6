package kernel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// boxes is a kernel with a tensor map of a buffer, and a copy of a box by it.
const boxes = `(kernel k
  (buffer u %s)
  (buffer v f64 global out (i64 16))
  (scalar N i64)
  (for b i32 block.x (i32 0) (i32 1) (i32 1)
    (for c i32 cluster.x (i32 0) (i32 2) (i32 1)
      (alloc s f64 shared (i64 64))
      (alloc m i64 mbarrier (i64 1))
      (for t i32 thread.x (i32 0) (i32 32) (i32 1)
        %s))))
`

const (
	goodMap  = "f64 tensor in (mul N (i64 8)) (extents N (i64 8)) (box 2 4)"
	goodCopy = "(tensor s (i64 16) u (t (i32 -1)) m (i64 0) (blocks (i32 3)))"
)

// The text of a tensor map is read back as it was, and what no driver or copy engine takes is refused.
func TestTensorMaps(t *testing.T) {
	for _, c := range []struct{ buffer, copy, want string }{
		{goodMap, goodCopy, ""},
		{goodMap, "(tensor s (i64 0) u (t t) m (i64 0))", ""},
		{"f64 tensor in N (extents N) (box 258)", "(comment \"\")",
			"k: the rows of the box of u have 258 elements, more than a tensor map takes"},
		{"f32 tensor in N (extents N) (box 512)", "(comment \"\")", ""},
		{"f32 tensor in N (extents N) (box 516)", "(comment \"\")",
			"k: the rows of the box of u have 516 elements, more than a tensor map takes"},
		{"f32 tensor in N (extents N) (box 6)", "(comment \"\")",
			"k: the rows of the box of u have 24 bytes, no multiple of 16"},
		{"f32 tensor in (i64 66) (extents (i64 11) (i64 6)) (box 1 4)", "(comment \"\")",
			"k: the rows of u have 24 bytes, no multiple of 16"},
		{"f64 tensor in N (extents N (i64 8)) (box 300 4)", "(comment \"\")",
			"k: the box of u has 300 elements along an axis, not 1 to 256"},
		{"f64 tensor in N (extents N N N N N N) (box 1 1 1 1 1 2)", "(comment \"\")",
			"k: the tensor map u has no extents and box along 1 to 5 axes"},
		{"f64 tensor in N", "(comment \"\")", "k: the tensor map u has no extents and box along 1 to 5 axes"},
		{"f64 global in N (extents N) (box 2)", "(comment \"\")",
			"k: u is in global memory, of which there is no tensor map"},
		{"f64 tensor inout N (extents N) (box 2)", "(comment \"\")", "k: u is in tensor memory and may be written"},
		{"f64 tensor in N (extents (i64 0)) (box 2)", "(comment \"\")", "k: an extent of u is 0"},
		{goodMap, "(store v (i64 0) (load u (i64 0)))", "u is a tensor map and is loaded from"},
		{goodMap, "(tensor s (i64 0) u (t) m (i64 0))", "1 indices of a box along 2 axes"},
		{goodMap, "(tensor s (i64 0) u (t (i64 0)) m (i64 0))", "an index is i64 where i32 is wanted"},
		{goodMap, "(tensor s (i64 8) u (t t) m (i64 0))", "a box at byte 64 of s, which is no multiple of 128"},
		{goodMap, "(tensor v (i64 0) u (t t) m (i64 0))",
			"a copy from tensor to global memory, not from a tensor map to shared memory"},
		{goodMap, "(tensor s (i64 0) u (t t) m (i64 0) (blocks (i64 1)))",
			"the set of blocks is i64 where i32 is wanted"},
	} {
		text := fmt.Sprintf(boxes, c.buffer, c.copy)
		k, err := kernel.ParseText(text)
		if err != nil {
			t.Errorf("%s %s: %v", c.buffer, c.copy, err)
			continue
		}
		if got := kernel.Text(k); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(text), " ") {
			t.Errorf("not as it was read:\n%s", got)
		}
		err = kernel.Verify(k)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, not %q", c.buffer, c.copy, err, c.want)
		}
	}
	k, err := kernel.ParseText(strings.Replace(fmt.Sprintf(boxes, goodMap, goodCopy), "cluster.x (i32 0) (i32 2)",
		"serial (i32 0) (i32 1)", 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := kernel.Verify(k); err == nil || !strings.Contains(err.Error(),
		"there is no cluster loop around a copy to other blocks' s") {
		t.Errorf("without clusters: %v", err)
	}
}

// Shared memory that boxes go to is aligned as they need it.
func TestTensorPlaces(t *testing.T) {
	k, err := kernel.ParseText(strings.Replace(fmt.Sprintf(boxes, goodMap, goodCopy), "(alloc s",
		"(alloc before f64 shared (i64 3)) (alloc s", 1))
	if err != nil {
		t.Fatal(err)
	}
	offsets, bytes := kernel.SharedOffsets(k)
	got := map[string]int64{}
	for b, at := range offsets {
		got[b.Name] = at
	}
	if want := map[string]int64{"before": 0, "s": 128, "m": 640}; fmt.Sprint(got) != fmt.Sprint(want) || bytes != 768 {
		t.Errorf("%v of %d bytes, not %v of 768", got, bytes, want)
	}
}
