package ir

import (
	"slices"
	"testing"
)

// Accesses have the same text exactly if they read the same cell, constant indices among them.
func TestAccessCell(t *testing.T) {
	var list []Index
	for axis := -1; axis < 2; axis++ {
		for _, offset := range []int64{-12, -1, 0, 1, 2, 12} {
			list = append(list, Index{axis, offset})
		}
	}
	of := map[string][]Index{}
	for _, first := range list {
		for _, second := range list {
			a := &Access{Index: []Index{first, second}}
			text := a.Cell()
			if other, ok := of[text]; ok && !slices.Equal(other, a.Index) {
				t.Fatalf("%v and %v are both %q", other, a.Index, text)
			}
			of[text] = a.Index
			if again := (&Access{Index: slices.Clone(a.Index)}).Cell(); again != text {
				t.Fatalf("%v is %q and %q", a.Index, text, again)
			}
		}
	}
	if len(of) != len(list)*len(list) {
		t.Errorf("%d texts of %d accesses", len(of), len(list)*len(list))
	}
}
