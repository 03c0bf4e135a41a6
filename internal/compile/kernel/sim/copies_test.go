package sim_test

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
)

// What copies and accesses to other blocks count, worked out by hand.
func TestCountsOfCopies(t *testing.T) {
	for _, c := range []struct {
		what, body     string
		global, shared sim.Traffic
	}{
		{"64 threads copy a double each", block + "(async s t u t 1) (async.commit) (async.wait 0)))",
			sim.Traffic{Loads: 64, LoadedBytes: 512, LoadedSectors: 16, LoadedLines: 4},
			sim.Traffic{Stores: 64, StoredBytes: 512, Wavefronts: 4}},
		{"32 threads copy two each", block +
			"(if (lt t (i64 32)) (then (async s (mul t (i64 2)) u (mul t (i64 2)) 2) (async.commit) (async.wait 0)))))",
			sim.Traffic{Loads: 32, LoadedBytes: 512, LoadedSectors: 16, LoadedLines: 4},
			sim.Traffic{Stores: 32, StoredBytes: 512, Wavefronts: 4}},
		{"a bulk copy from the middle of a line", ring + "(if (eq t (i64 0)) " +
			"(then (mbarrier.arrive m (i64 0) (bytes (i32 320))) (bulk s (i64 0) u (i64 10) (i64 40) m (i64 0)))) " +
			"(mbarrier.wait m (i64 0) (i32 0))))",
			sim.Traffic{Loads: 1, LoadedBytes: 320, LoadedSectors: 11, LoadedLines: 4}, // bytes 80 to 399
			sim.Traffic{Stores: 1, StoredBytes: 320}},
		{"a store to the other block and one to the own", pair +
			"(if (lt t (i64 32)) (then (store s t (f64 1) (rank other)))) " +
			"(if (ge t (i64 32)) (then (store s t (f64 1) (rank r)))) (barrier cluster))))",
			sim.Traffic{},
			sim.Traffic{Stores: 128, StoredBytes: 1024, Remote: 64, Wavefronts: 4}},
	} {
		r := exec(t, c.body, sim.Options{})
		if err := r.Err(); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if got := r.Space(kernel.Global); got != c.global {
			t.Errorf("%s: global %+v, want %+v", c.what, got, c.global)
		}
		if got := r.Space(kernel.Shared); got != c.shared {
			t.Errorf("%s: shared %+v, want %+v", c.what, got, c.shared)
		}
	}
}

func TestCountsOfBarriers(t *testing.T) {
	r := exec(t, pair+"(barrier block) (barrier warp) (barrier block (number 2) (threads 32)) "+
		"(barrier block (number 3) (threads 64)) (barrier cluster) (barrier cluster) (barrier grid))))", sim.Options{})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	// Two blocks of two warps: block barriers and numbered ones, those of warps,
	// the grid's, and three of the cluster.
	if want := [4]int64{2 + 4 + 2, 4, 1, 3}; r.Barriers != want {
		t.Errorf("barriers %v, want %v", r.Barriers, want)
	}
}
