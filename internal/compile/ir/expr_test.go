package ir

import (
	"slices"
	"testing"
)

// Accesses have the same cell exactly if they read the same one, constant indices and other arrays among them.
func TestAccessCell(t *testing.T) {
	var list []Index
	for axis := -1; axis < 2; axis++ {
		for _, offset := range []int64{-12, -1, 0, 1, 2, 12} {
			list = append(list, Index{axis, offset})
		}
	}
	of := map[Cell][]Index{}
	for _, first := range list {
		for _, second := range list {
			a := &Access{Index: []Index{first, second}}
			text := a.Cell()
			if other, ok := of[text]; ok && !slices.Equal(other, a.Index) {
				t.Fatalf("%v and %v are both %v", other, a.Index, text)
			}
			of[text] = a.Index
			if again := (&Access{Index: slices.Clone(a.Index)}).Cell(); again != text {
				t.Fatalf("%v is %v and %v", a.Index, text, again)
			}
		}
	}
	here, there := &Access{&Array{}, list[:2]}, &Access{&Array{}, list[:2]}
	if here.Cell() == there.Cell() {
		t.Error("cells of two arrays are one")
	}
	if len(of) != len(list)*len(list) {
		t.Errorf("%d texts of %d accesses", len(of), len(list)*len(list))
	}
}
