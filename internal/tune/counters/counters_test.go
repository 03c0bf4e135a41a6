package counters

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestCounters(t *testing.T) {
	const text = `==PROF== Connected to process 7
star7 double 512x512x512: said by the program
"ID","Kernel Name","dram__bytes.sum","lts__t_bytes.sum","l1tex__t_bytes.sum","l1tex__data_pipe_lsu_wavefronts_mem_shared.sum","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","lts__throughput.avg.pct_of_peak_sustained_elapsed","l1tex__throughput.avg.pct_of_peak_sustained_active","smsp__issue_active.avg.pct_of_peak_sustained_active","sm__warps_active.avg.pct_of_peak_sustained_active"
"","","byte","byte","byte","","%","%","%","%","%"
"0","star7","2,147,483,648","3000000000","4e9","5e6","91.5","50","40.25","30","75"
`
	c, err := parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := Counters{DRAMBytes: 1 << 31, L2Bytes: 3e9, L1Bytes: 4e9, SharedWavefronts: 5e6, DRAM: 91.5, L2: 50,
		L1: 40.25, Issue: 30,
		Occupancy: 75}
	if *c != want || c.Nearest() != "memory" {
		t.Errorf("%+v, limited by %s", *c, c.Nearest())
	}
	for _, test := range []struct {
		c    Counters
		want string
	}{
		{Counters{DRAM: 59, Issue: 58}, "latency"}, {Counters{DRAM: 59, Issue: 90}, "instructions"},
		{Counters{L1: 95, L2: 94}, "L1 cache and shared memory"}, {Counters{L2: 95, DRAM: 94}, "L2 cache"},
	} {
		if got := test.c.Nearest(); got != test.want {
			t.Errorf("%+v: %s", test.c, got)
		}
	}
	for text, want := range map[string]string{
		"==ERROR== no": "the profiler has seen no launch: ==ERROR== no",
		strings.ReplaceAll(text, "lts__t_bytes.sum", "other"): "the profiler has no lts__t_bytes.sum",
		strings.ReplaceAll(text, "40.25", "n/a"):              `the profiler's l1tex__throughput.avg.pct_of_peak_sustained_active: strconv.ParseFloat: parsing "n/a": invalid syntax`,
	} {
		if _, err := parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// A profiler that has ended the program has a status of its own; what it has counted counts. Where it may not count, it
// is told why.
func TestCount(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", "")
	if _, err := Count(t.Context(), "k", 0, true, nil); err == nil || !strings.Contains(err.Error(), "Nsight Compute") {
		t.Errorf("%v without a profiler", err)
	}
	pretend := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "ncu"), []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	var names, units, values []string
	for i, m := range Metrics {
		names, units, values = append(names, strconv.Quote(m.Name)), append(units, `""`), append(values,
			strconv.Quote(strconv.Itoa(i)))
	}
	table := strings.Join(names, ",") + "\n" + strings.Join(units, ",") + "\n" + strings.Join(values, ",")
	pretend("echo \"$@\" >" + dir + "/args\ncat <<'END'\n" + table + "\nEND\nexit 9\n")
	c, err := Count(t.Context(), "a.b", 2, true, []string{"run", "x.loom"})
	if err != nil || c.L2Bytes != 1 || c.Occupancy != float64(len(Metrics)-1) {
		t.Errorf("%+v, %v", c, err)
	}
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	for _, part := range []string{`regex:^a\.b$`, "--launch-skip 2", "--kill yes", "run x.loom"} {
		if err != nil || !strings.Contains(string(args), part) {
			t.Errorf("%s, %v: no %s", args, err, part)
		}
	}
	if _, err := Count(t.Context(), "k", 0, false, nil); err == nil {
		t.Error("a program that fails is counted")
	}
	pretend("echo '==ERROR== ERR_NVGPUCTRPERM' >&2\nexit 1\n")
	if _, err := Count(t.Context(), "k", 0, true, nil); err == nil || !strings.Contains(err.Error(),
		"ERR_NVGPUCTRPERM") {
		t.Errorf("%v", err)
	}
}
