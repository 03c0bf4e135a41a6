package learning

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/learn"
	"github.com/gridloom/gridloom/internal/tune/predict"
)

// Each stencil is left out of all that is learned for it: of the choice, too.
func TestFolds(t *testing.T) {
	var all []*predict.Examples
	for i := range 34 {
		all = append(all, made(fmt.Sprint("stencil ", i/2), []float64{1}, []float64{0}, 1)) // twins
	}
	h := &HeldOut{All: all, stencils: map[string]int{}}
	for i, e := range all {
		h.stencils[e.Stencil] = i / 2
	}
	folds := foldsOf(h)
	outer, inner := map[string]int{}, map[string]int{}
	for _, f := range folds {
		for _, e := range f.out {
			if slices.ContainsFunc(f.in, func(o *predict.Examples) bool { return o.Stencil == e.Stencil }) {
				t.Errorf("%s is in both parts of %d, %d", e.Stencil, f.outer, f.inner)
			}
			if f.inner < 0 {
				outer[e.Stencil]++
			} else {
				inner[e.Stencil]++
			}
		}
		for _, e := range slices.Concat(f.in, f.out) {
			if f.inner >= 0 && h.stencils[e.Stencil]%outerParts == f.outer {
				t.Errorf("%s chooses for itself", e.Stencil)
			}
		}
	}
	for i := range 17 {
		name := fmt.Sprint("stencil ", i)
		if outer[name] != 2 || inner[name] != 2*(outerParts-1) { // twins
			t.Errorf("%s is left out %d times, and of a choice %d times", name, outer[name], inner[name])
		}
	}
}

// The way that is better in the inner folds is chosen, and judged on the outer one.
func TestChoices(t *testing.T) {
	defer func(was []way) { ways = was }(ways)
	ways = []way{
		{"one leaf", false, func(o *learn.BoostedOptions) { o.Trees, o.Depth, o.Leaf = 1, 1, 1000 }},
		{"trees", false, func(o *learn.BoostedOptions) { o.Trees, o.Leaf, o.Features = 60, 1, 1000 }},
	}
	var all []*predict.Examples
	for i := range 23 {
		fractions := []float64{0.2, 0.4, 0.6, 0.8, 1}
		slices.Reverse(fractions[:i%5+1]) // the first candidate is not the best
		if i%5 == 4 {
			fractions[0], fractions[4] = fractions[4], fractions[0]
		}
		all = append(all, made(fmt.Sprint("stencil ", i), fractions, fractions, uint64(i)))
	}
	h := heldOutOf(all)
	rows, err := Choices(t.Context(), h, "now", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]Row{}
	for _, r := range rows {
		if r.Experiment != "choice" || r.Split != "stencil" || r.Commit != "now" || r.Part() != PartChoices {
			t.Errorf("%+v", r)
		}
		of[r.Model+", "+r.Metric] = r
	}
	bad, good, got := of["one leaf, first pick"], of["trees, first pick"], of[chosen+", first pick"]
	if good.Value < 0.9 || bad.Value > 0.8 || got.Value != good.Value || got.Kernels != 23 || got.Groups != 23 {
		t.Errorf("first picks: one leaf %v, trees %v, chosen %+v", bad.Value, good.Value, got)
	}
	if of["trees, chosen"].Value != 1 || of["one leaf, chosen"].Value != 0 {
		t.Errorf("chosen: %+v", of["trees, chosen"])
	}
	if _, err := Choices(t.Context(), heldOutOf(all[:1]), "", io.Discard); err == nil {
		t.Error("one stencil alone is judged")
	}
}
