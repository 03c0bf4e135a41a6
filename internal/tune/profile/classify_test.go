package profile

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/tune/counters"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// faster is a variant that is so many times as fast, without doubt.
func faster(without string, gain float64) Variant {
	return Variant{Without: without, Gain: gain, Interval: measure.Interval{gain * 0.99, gain * 1.01}}
}

func TestClassify(t *testing.T) {
	const dram, l2, l1 = kernel.WithoutDRAM, kernel.WithoutL2, kernel.WithoutL1
	for _, c := range []struct {
		name     string
		variants []Variant
		levels   []Level
		peak     float64
		issue    float64
		want     Class
		evidence string
	}{
		{"faster without the memory, which is busy", []Variant{faster(dram, 2), faster(l2, 2.1), faster(l1, 2.2)},
			[]Level{{Level: DRAM, Share: 0.9}}, 0.1, 0, BoundByDRAM, "it moves 90.0 % of what dram can"},
		{"faster without the memory, which is idle", []Variant{faster(dram, 2)},
			[]Level{{Level: DRAM, Share: 0.2}}, 0.1, 0, LatencyBound, "too little is under way"},
		{"likewise, though more may move than has to", []Variant{faster(dram, 2)},
			[]Level{{Level: DRAM, Share: 0.3, AtLeast: true}}, 0.1, 0, BoundByDRAM, "at the least 30.0 %"},
		{"even if twice as much moves", []Variant{faster(dram, 2)},
			[]Level{{Level: DRAM, Share: 0.1, AtLeast: true}}, 0.1, 0, LatencyBound, "at the least 10.0 %"},
		{"of nested costs the one with most of the time", []Variant{faster(dram, 1.05), faster(l2, 1.1), faster(l1, 2)},
			[]Level{{Level: DRAM, Share: 0.5}}, 0.1, 0, BoundByL1, "40.9 %"},
		{"the last cache", []Variant{faster(dram, 1.02), faster(l2, 1.6), faster(l1, 1.7)}, nil, 0, 0, BoundByL2, ""},
		{"a variant that is slower than one that leaves out less", []Variant{faster(dram, 1.5), faster(l2, 1.2)},
			[]Level{{Level: DRAM, Share: 0.8}}, 0, 0, BoundByDRAM, "33.3 %"},
		{"shared memory", []Variant{faster(dram, 1.01), faster(kernel.WithoutShared, 1.5)}, nil, 0.2, 0,
			BoundByShared, ""},
		{"arithmetic", []Variant{faster(dram, 1.01), faster(kernel.WithoutArithmetic, 1.5)}, nil, 0.4, 0,
			ComputeBound, ""},
		{"a gain within the scatter", []Variant{{Without: dram, Gain: 1.3, Interval: measure.Interval{0.9, 1.8}}},
			nil, 0.2,
			0, LatencyBound, "no variant"},
		{"a gain that nobody would want", []Variant{faster(dram, 1.05)}, nil, 0.2, 0, LatencyBound, "less than 60.0 %"},
		{"two costs that overlap: the memory is busier", []Variant{faster(dram, 1), faster(kernel.WithoutArithmetic,
			1)},
			[]Level{{Level: DRAM, Share: 0.9}}, 0.7, 0, BoundByDRAM, "90.0 % of the bandwidth of dram"},
		{"two costs that overlap: the arithmetic is busier", []Variant{faster(dram, 1)},
			[]Level{{Level: DRAM, Share: 0.65}}, 0.8, 0, ComputeBound, "80.0 % of the arithmetic"},
		{"issue slots", []Variant{faster(dram, 1)}, nil, 0.3, 0.85, ComputeBound, "85.0 % of the issue slots"},
		{"no variant at all", []Variant{{Without: dram, Absent: "it fits"}}, nil, 0.1, 0, LatencyBound, ""},
	} {
		k := &Kernel{Seconds: 1, Variants: c.variants, Levels: c.levels, Peak: c.peak, Issue: c.issue}
		k.classify()
		if k.Class != c.want || !strings.Contains(strings.Join(k.Evidence, "\n"), c.evidence) || len(k.Evidence) == 0 {
			t.Errorf("%s: %s, by %q", c.name, k.Class, k.Evidence)
		}
	}
	k := &Kernel{}
	if k.classify(); k.Class != NotTold {
		t.Errorf("a kernel that was not timed is %s", k.Class)
	}
}

// Shares of nested costs are those of the time that is left, and add up.
func TestShares(t *testing.T) {
	k := &Kernel{Seconds: 1, Variants: []Variant{
		faster(kernel.WithoutDRAM, 1.25), faster(kernel.WithoutL2, 2), faster(kernel.WithoutL1, 4),
		faster(kernel.WithoutShared, 2),
	}}
	k.share()
	for i, want := range []float64{0.2, 0.3, 0.25, 0.5} {
		if got := k.Variants[i].Share; got < want-1e-9 || got > want+1e-9 {
			t.Errorf("without %s: %v of the time, not %v", k.Variants[i].Without, got, want)
		}
	}
}

func TestPlaceOf(t *testing.T) {
	for _, c := range []struct {
		intensity, ridge float64
		want             Place
	}{{1, 8, FarBelow}, {4, 8, FarBelow}, {4.1, 8, Near}, {7.9, 8, Near}, {8, 8, Above}, {20, 8, Above}} {
		if got := PlaceOf(c.intensity, c.ridge); got != c.want {
			t.Errorf("%v at a ridge of %v is %s", c.intensity, c.ridge, got)
		}
	}
}

func TestByCounters(t *testing.T) {
	for _, c := range []struct {
		name    string
		counted counters.Counters
		copy    float64 // the share of what a copy moves; 0 if that is not known
		want    Class
	}{
		{"a copy in memory", counters.Counters{DRAM: 88.4, L2: 51.5, Fabric: 93.1}, 1.02, BoundByDRAM},
		{"a copy within the last cache", counters.Counters{DRAM: 7.8, L2: 91.5, Fabric: 94.1}, 0.09, BoundByL2},
		{"reads within the last cache", counters.Counters{DRAM: 3.4, L2: 83.5, Fabric: 9.5}, 0.04, BoundByL2},
		{"as much as a copy, with a cache nearer to its peak", counters.Counters{DRAM: 88, L2: 92}, 1, BoundByDRAM},
		{"less than a copy", counters.Counters{DRAM: 70, L2: 85}, 0.8, BoundByL2},
		{"near the peak by the profiler, half of a copy by the clock", counters.Counters{DRAM: 65}, 0.5, LatencyBound},
		{"a fabric that is busy alone", counters.Counters{DRAM: 50, L2: 55, Fabric: 95}, 0.57, LatencyBound},
		{"by percentages: memory", counters.Counters{DRAM: 91, L2: 60}, 0, BoundByDRAM},
		{"by percentages: the last cache", counters.Counters{DRAM: 50, L2: 80, L1: 70}, 0, BoundByL2},
		{"the first cache", counters.Counters{L1: 90, L1Bytes: 1e9, SharedWavefronts: 1e6}, 0, BoundByL1},
		{"shared memory", counters.Counters{L1: 90, L1Bytes: 1e8, SharedWavefronts: 1e6}, 0, BoundByShared},
		{"issue slots", counters.Counters{DRAM: 59, Issue: 85}, 0, ComputeBound},
		{"the pipe for double", counters.Counters{DRAM: 62, Issue: 45, FP64: 90}, 0.7, ComputeBound},
		{"the pipe for float", counters.Counters{DRAM: 62, Issue: 45, FP32: 70}, 0, ComputeBound},
		{"nothing", counters.Counters{DRAM: 59, L2: 30, L1: 59, Issue: 40}, 0, LatencyBound},
	} {
		k := &Kernel{Counters: &Hardware{Counters: c.counted}, Levels: []Level{{Level: DRAM, Share: c.copy}}}
		if got := k.byCounters(); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
}

// What the hardware has counted takes the place of what was counted on the kernel.
func TestCounted(t *testing.T) {
	k := &Kernel{Seconds: 1e-3, Flops: 2e9, Type: "f64", Levels: []Level{{Level: DRAM, Bytes: 1}}}
	roof := &Roof{Peaks: []Peak{{Type: "f64", GFlops: 20000}}, Levels: []Speed{{DRAM, 2500, ""}, {Shared, 32000, ""}}}
	k.counted(&counters.Counters{DRAMBytes: 2e9, L2Bytes: 3e9, L1Bytes: 4e9, SharedWavefronts: 1e7, DRAM: 60,
		L2: 70, Issue: 20}, roof)
	d, s := k.Level(DRAM), k.Level(Shared)
	if len(k.Levels) != 4 || d.Intensity != 1 || d.Ridge != 8 || d.Share != 0.8 || d.Place != FarBelow {
		t.Errorf("%+v", k.Levels)
	}
	if s.Bytes != 1.28e9 || k.Level(L2).Ridge != 0 || k.Counters.Class != BoundByDRAM || k.Issue != 0.2 {
		t.Errorf("%+v, %+v", s, k.Counters)
	}
}
