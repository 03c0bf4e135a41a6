package bench

import (
	"slices"
	"strings"
	"testing"
)

func TestParseRivals(t *testing.T) {
	list, err := ParseRivals(
		[]byte(
			`{"rival": "R", "case": "star7", "dtype": "float", "grid": "8x8x8", "samples": [1, 2, 3, 4, 5], "gstencils": 9}

{"rival": "S", "case": "star7", "failed": "no"}
`))
	if err != nil || len(list) != 2 || list[0].GStencils != 3 || list[0].Interval[0] >= 3 || list[1].Failed != "no" {
		t.Errorf("%+v %v", list, err)
	}
	for text, want := range map[string]string{
		"{}\nx": "line 1 is no result of a rival: it needs rival, case, dtype, grid and at least 5 samples",
		"x":     "line 1 is no result of a rival: invalid character",
	} {
		if _, err := ParseRivals([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestKnownPlans(t *testing.T) {
	f, err := knownPlans()
	if err != nil {
		t.Fatal(err)
	}
	for name, types := range f {
		for dtype, plans := range types {
			c := findSpatial(name, dtype)
			if len(c) != 1 {
				t.Fatalf("there is no case %s in %s", name, dtype)
			}
			bound, err := (&SpatialOptions{}).bind(c[0])
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range plans {
				if _, err := source(bound, p, 0); err != nil {
					t.Errorf("%s %s: %s: %v", name, dtype, p, err)
				}
			}
		}
	}
	if _, err := ParsePlans([]byte("[]")); err == nil || !strings.HasPrefix(err.Error(), "a file of plans is JSON") {
		t.Error(err)
	}
}

// Plans at random are legal, and the same each time.
func TestSampledPlans(t *testing.T) {
	o := SpatialOptions{Sampled: 20}
	for _, c := range []spatialCase{spatialCases[0], findSpatial("star5", "float")[0]} {
		list, err := o.plans(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := o.plans(c)
		if err != nil || !slices.Equal(list, again) || len(list) < 20 || list[0] != "family=cells,block=8x32" {
			t.Errorf("%q\n%q", list, again)
		}
	}
}

func TestCounters(t *testing.T) {
	const text = `==PROF== Connected to process 7
star7 double 512x512x512: said by the program
"ID","Kernel Name","dram__bytes.sum","lts__t_bytes.sum","l1tex__t_bytes.sum","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","lts__throughput.avg.pct_of_peak_sustained_elapsed","l1tex__throughput.avg.pct_of_peak_sustained_active","smsp__issue_active.avg.pct_of_peak_sustained_active","sm__warps_active.avg.pct_of_peak_sustained_active"
"","","byte","byte","byte","%","%","%","%","%"
"0","star7","2,147,483,648","3000000000","4e9","91.5","50","40.25","30","75"
`
	c, err := parseCounters([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := Counters{DRAMBytes: 1 << 31, L2Bytes: 3e9, L1Bytes: 4e9, DRAM: 91.5, L2: 50, L1: 40.25, Issue: 30,
		Occupancy: 75}
	if *c != want || c.limit() != "memory" {
		t.Errorf("%+v, limited by %s", *c, c.limit())
	}
	for _, test := range []struct {
		c    Counters
		want string
	}{
		{Counters{DRAM: 59, Issue: 58}, "latency"}, {Counters{DRAM: 59, Issue: 90}, "instructions"},
		{Counters{L1: 95, L2: 94}, "L1 cache and shared memory"}, {Counters{L2: 95, DRAM: 94}, "L2 cache"},
	} {
		if got := test.c.limit(); got != test.want {
			t.Errorf("%+v: %s", test.c, got)
		}
	}
	for text, want := range map[string]string{
		"==ERROR== no": "the profiler has seen no launch: ==ERROR== no",
		strings.ReplaceAll(text, "lts__t_bytes.sum", "other"): "the profiler has no lts__t_bytes.sum",
		strings.ReplaceAll(text, "40.25", "n/a"):              `the profiler's l1tex__throughput.avg.pct_of_peak_sustained_active: strconv.ParseFloat: parsing "n/a": invalid syntax`,
	} {
		if _, err := parseCounters([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}
