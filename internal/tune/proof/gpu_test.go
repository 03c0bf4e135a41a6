package proof

import (
	"context"
	"slices"
	"testing"
)

// A slice of the proof for GPUs with fixed seeds, in which every family turns
// up, with shared memory, shuffles and kernels for one size.
func TestRandomPairs(t *testing.T) {
	t.Parallel()
	n := 80
	if testing.Short() {
		n = 16
	}
	r, err := GPU(context.Background(), GPUOptions{Pairs: n, Seed: 70000, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Failures {
		t.Error(f.String())
	}
	if r.Pairs != n || r.Runs < 2*n || r.Tiled == 0 || r.Strict == 0 || r.Bounded == 0 || r.Cells == 0 || r.NextSeed != uint64(70000+n) {
		t.Errorf("%d pairs, %d runs (%d of three tiles, %d strict, %d bounded), %d cells, next %d",
			r.Pairs, r.Runs, r.Tiled, r.Strict, r.Bounded, r.Cells, r.NextSeed)
	}
	for _, c := range []Counts{
		{"family", []Count{{Value: "cells"}, {Value: "tile"}, {Value: "stream"}}},
		{"x", []Count{{Value: "load"}, {Value: "shuffle"}}},
		{"shared", []Count{{Value: "0"}, {Value: "1"}, {Value: "2"}, {Value: "3"}}},
		{"sizes", []Count{{Value: "args"}, {Value: "baked"}}},
	} {
		at := slices.IndexFunc(r.Values, func(x Counts) bool { return x.Name == c.Name })
		have := r.Families
		if at >= 0 {
			have = r.Values[at]
		}
		for _, v := range c.Values {
			if !slices.ContainsFunc(have.Values, func(x Count) bool { return x.Value == v.Value && x.Times > 0 }) {
				t.Errorf("no kernel has %s=%s", c.Name, v.Value)
			}
		}
	}
}
