package lower

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// What is copied around a block has no corners for a star, has them for a box,
// and starts and ends with whole runs.
func TestAround(t *testing.T) {
	const j, i = 0, 1
	own := box{j: {0, 8}, i: {0, 64}}
	at := func(dj, di int64) box { return box{j: {dj, 8}, i: {di, 64}} }
	for _, c := range []struct {
		name string
		read []box
		want []box
	}{
		{"a star of radius 2", []box{at(0, 0), at(2, 0), at(-1, 0), at(-2, 0), at(0, 1), at(0, -2)}, []box{
			{j: {-2, 2}, i: {0, 64}}, {j: {8, 2}, i: {0, 64}}, {j: {0, 8}, i: {-4, 4}}, {j: {0, 8}, i: {64, 4}},
		}},
		{"a box", []box{at(-1, -1), at(1, 1), at(-1, 1), at(1, -1)}, []box{
			{j: {-1, 1}, i: {-4, 72}}, {j: {8, 1}, i: {-4, 72}}, {j: {0, 8}, i: {-4, 4}}, {j: {0, 8}, i: {64, 4}},
		}},
		{"one side", []box{at(0, 5)}, []box{{j: {0, 8}, i: {64, 8}}}},
		{"nothing", []box{at(0, 0)}, nil},
	} {
		if got := around(own, c.read, []int{j, i}, 4); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// The parts of a plane that are copied have all that is read outside of the
// block's own cells, and none of them twice.
func TestAroundCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		axes := []int{0, 1, 2}[:rapid.IntRange(1, 3).Draw(t, "rank")]
		n := rapid.SampledFrom([]int64{1, 2, 4}).Draw(t, "run")
		small := func(lo, hi int64, name string) int64 { return rapid.Int64Range(lo, hi).Draw(t, name) }
		own := box{}
		for _, axis := range axes {
			own[axis] = extent{0, n * small(1, 3, "own")}
		}
		var read []box
		for range small(1, 4, "reads") {
			b := box{}
			for _, axis := range axes {
				b[axis] = extent{small(-5, 5, "from"), small(1, 8, "cells")}
			}
			read = append(read, b)
		}
		parts := append([]box{own}, around(own, read, axes, n)...)
		times := map[[3]int64]int{}
		each := func(b box, f func([3]int64)) {
			for n := range b.cells() {
				var at [3]int64
				for _, axis := range axes {
					at[axis] = b[axis].from + n%b[axis].len
					n /= b[axis].len
				}
				f(at)
			}
		}
		for _, p := range parts {
			if e := p[axes[len(axes)-1]]; mod(e.from, n) != 0 || mod(e.len, n) != 0 {
				t.Fatalf("%v are no whole runs of %d", e, n)
			}
			each(p, func(at [3]int64) { times[at]++ })
		}
		for at, n := range times {
			if n > 1 {
				t.Fatalf("%v is in %d of %v", at, n, parts)
			}
		}
		for _, b := range read {
			each(b, func(at [3]int64) {
				if times[at] == 0 {
					t.Fatalf("%v is not in %v", at, parts)
				}
			})
		}
	})
}
