package predict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/analysis"
)

// Group is common to kernels that are one stencil: with other element types, sizes, weights and names. A model that is
// judged on one of them must not have learned from another. It is the shape of all reads of all statements.
func (k *Kernel) Group() string {
	f := k.facts()
	arrays := map[string]int{}
	var b strings.Builder
	fmt.Fprintf(&b, "%d", len(k.Bound.Program.Axes))
	for _, s := range f.Statements {
		fmt.Fprintf(&b, ";%s", s.Kind)
		for _, r := range s.Reads {
			if _, ok := arrays[r.Array]; !ok {
				arrays[r.Array] = len(arrays)
			}
			fmt.Fprintf(&b, " %d", arrays[r.Array])
			for _, o := range sorted(r.Offsets) {
				fmt.Fprintf(&b, ",%v", o)
			}
		}
	}
	return b.String()
}

// sorted returns offsets in an order of their own.
func sorted(offsets [][]int64) [][]int64 {
	list := slices.Clone(offsets)
	slices.SortFunc(list, slices.Compare[[]int64])
	return list
}

// facts are what is known of the kernel's call.
func (k *Kernel) facts() *analysis.CallFacts {
	return analysis.Analyze(k.Bound.Program, k.Bound).Call(k.Call)
}

// Pattern is the class of shapes that a kernel's stencil belongs to: a coarser group. Those of single grids are the
// ones of Garvey and Abdelrahman 2018, figure 1.
func (k *Kernel) Pattern() string {
	f := k.facts()
	around := 0
	var offsets [][]int64
	for _, a := range f.Arrays {
		if a.Shape.Points > 1 {
			around++
		}
	}
	for _, s := range f.Statements {
		for _, r := range s.Reads {
			if len(r.Offsets) > len(offsets) {
				offsets = r.Offsets
			}
		}
	}
	if around > 1 || len(f.Statements) > 1 {
		return "system"
	}
	order := int64(0)
	used := map[int]bool{}
	for _, o := range offsets {
		for axis, d := range o {
			if d != 0 {
				used[axis] = true
			}
			order = max(order, d, -d)
		}
	}
	is := map[string]bool{"star": true, "diamond": true, "no-corners": true}
	for _, o := range offsets {
		beside, sum, far := 0, int64(0), 0
		for axis, d := range o {
			d = max(d, -d)
			sum += d
			if d > 0 {
				beside++
			}
			if d == order && used[axis] {
				far++
			}
		}
		is["star"] = is["star"] && beside <= 1
		is["diamond"] = is["diamond"] && sum <= order
		is["no-corners"] = is["no-corners"] && far < len(used)
	}
	uneven := slices.ContainsFunc(f.Shape.Halo, func(h analysis.Halo) bool { return h.Low != h.High })
	switch {
	case uneven:
		return "other"
	case f.Shape.Density == 1:
		return "dense"
	case is["star"]:
		return "star"
	case is["diamond"]:
		return "diamond"
	case is["no-corners"] && f.Shape.Density > 0.5:
		return "no-corners"
	}
	return "other"
}
