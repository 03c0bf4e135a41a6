package counters

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const printed = `==PROF== Connected to process 7
"ID","Kernel Name","dram__bytes.sum","lts__t_bytes.sum","lts__t_sectors_srcunit_tex.sum","l1tex__t_bytes.sum","l1tex__data_pipe_lsu_wavefronts_mem_shared.sum","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","lts__t_sectors.avg.pct_of_peak_sustained_elapsed","lts__xbar2lts_cycles_active.avg.pct_of_peak_sustained_elapsed","lts__lts2xbar_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed","lts__ltcfabric2ltc_cycles_active.avg.pct_of_peak_sustained_elapsed","l1tex__throughput.avg.pct_of_peak_sustained_active","smsp__issue_active.avg.pct_of_peak_sustained_active","sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active","sm__warps_active.avg.pct_of_peak_sustained_active"
"","","byte","byte","sector","byte","","%","%","%","%","%","%","%","%","%"
"0","star7(double*)","2,147,483,648","3000000000","50","4e9","5e6","88.4","43.0","51.5","20.9","93.1","40.25","30","n/a","75"
"1","body_3","1","2","3","4","5","6","58","n/a","83.5","n/a","8","9","10","11"
==PROF== Disconnected from process 7
`

func TestParse(t *testing.T) {
	list, err := parse([]byte(printed))
	if err != nil {
		t.Fatal(err)
	}
	want := []Launch{
		{"star7", Counters{DRAMBytes: 1 << 31, L2Bytes: 1600, L1Bytes: 4e9, SharedWavefronts: 5e6, DRAM: 88.4, L2: 51.5,
			Fabric: 93.1, L1: 40.25, Issue: 30, Occupancy: 75}},
		{"body_3", Counters{DRAMBytes: 1, L2Bytes: 96, L1Bytes: 4, SharedWavefronts: 5, DRAM: 6, L2: 83.5, L1: 8,
			Issue: 9, FP64: 10, Occupancy: 11}},
	}
	if !slices.Equal(list, want) {
		t.Errorf("%+v\nwant %+v", list, want)
	}
	older := strings.ReplaceAll(printed, "lts__t_sectors_srcunit_tex.sum", "other")
	if list, err := parse([]byte(older)); err != nil || list[0].L2Bytes != 3e9 {
		t.Errorf("%+v, %v without sectors", list, err)
	}
	for text, want := range map[string]string{
		"==PROF== x\n==WARNING== None": "the profiler has seen no launch: ==WARNING== None",
		"==ERROR== ERR_NVGPUCTRPERM - no\n==WARNING== None": "the profiler has seen no launch: " +
			"ERR_NVGPUCTRPERM - no",
		strings.ReplaceAll(printed, "lts__t_bytes.sum", "other"): "the profiler has no lts__t_bytes.sum",
		strings.ReplaceAll(printed, "40.25", "n/a"): `the profiler's l1tex__throughput.avg.pct_of_peak_` +
			`sustained_active: strconv.ParseFloat: parsing "n/a": invalid syntax`,
	} {
		if _, err := parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

func TestNearest(t *testing.T) {
	for _, test := range []struct {
		c    Counters
		want string
	}{
		{Counters{DRAM: 59, Issue: 58}, "latency"}, {Counters{DRAM: 59, Issue: 90}, "instructions"},
		{Counters{L1: 95, L2: 94}, "L1 cache and shared memory"}, {Counters{L2: 95, DRAM: 94}, "L2 cache"},
		{Counters{DRAM: 60}, "memory"}, {Counters{Issue: 50, FP64: 88, DRAM: 61}, "arithmetic"},
	} {
		if got := test.c.Nearest(); got != test.want {
			t.Errorf("%+v: %s", test.c, got)
		}
	}
}

func TestPerRound(t *testing.T) {
	c := Counters{DRAMBytes: 64, L2Bytes: 32, L1Bytes: 16, SharedWavefronts: 8, DRAM: 50}
	if got := *c.PerRound(8); got != (Counters{DRAMBytes: 8, L2Bytes: 4, L1Bytes: 2, SharedWavefronts: 1, DRAM: 50}) {
		t.Errorf("%+v", got)
	}
	if got := *c.PerRound(0); got != c {
		t.Errorf("%+v", got)
	}
}

// pretend puts a profiler on PATH. The script has its options in $@ and the file that it prints to in $log.
func pretend(t *testing.T, script string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	text := "#!/bin/sh\necho \"$@\" >>" + dir + "/args\n" +
		`log=; for a; do [ "$log" = next ] && log=$a; [ "$a" = --log-file ] && log=next; done` + "\n" + script
	if err := os.WriteFile(filepath.Join(dir, "ncu"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A launch of a program is counted, unless the program or the profiler fails. What the profiler says is told.
func TestCount(t *testing.T) {
	t.Setenv("PATH", "")
	if _, err := Count(t.Context(), "k", 0, nil); err == nil || !strings.Contains(err.Error(), "Nsight Compute") {
		t.Errorf("%v without a profiler", err)
	}
	var names, units, values []string
	for i, m := range Metrics {
		names, units, values = append(names, strconv.Quote(m.Name)), append(units, `""`), append(values,
			strconv.Quote(strconv.Itoa(i)))
	}
	table := strings.Join(names, ",") + "\n" + strings.Join(units, ",") + "\n" + strings.Join(values, ",")
	dir := pretend(t, "cat >$log <<'END'\n"+table+"\nEND\necho of the program\n")
	c, err := Count(t.Context(), "a.b", 2, []string{"run", "x.loom"})
	if err != nil || c.L1Bytes != 3 || c.Occupancy != float64(len(Metrics)-1) {
		t.Errorf("%+v, %v", c, err)
	}
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	for _, part := range []string{`regex:^a\.b$`, "--launch-skip 2", "--cache-control all", "run x.loom"} {
		if err != nil || !strings.Contains(string(args), part) {
			t.Errorf("%s, %v: no %s", args, err, part)
		}
	}
	pretend(t, `case "$@" in
*pipe_fma*) echo '==ERROR== Failed to find metric regex:^sm__inst_executed_pipe_fma\.avg$' >$log; exit 1 ;;
*mem_shared*) echo '==ERROR== Failed to find metric l1tex__data_pipe_lsu_wavefronts_mem_shared.sum' >$log; exit 1 ;;
esac
cat >$log <<'END'
`+printed+"END\n")
	if c, err := Count(t.Context(), "k", 0, nil); err != nil || c.L2Bytes != 1600 {
		t.Errorf("%+v, %v with two unknown metrics", c, err)
	}
	for script, want := range map[string]string{
		"cat >$log <<'END'\n" + table + "\nEND\nexit 9\n":          "it ended with status 9",
		"echo '==ERROR== ERR_NVGPUCTRPERM - no' >$log\nexit 1\n":   "the profiler: ERR_NVGPUCTRPERM - no (",
		"echo '==ERROR== ERR_NVGPUCTRPERM - no' >$log\n":           "no launch: ERR_NVGPUCTRPERM - no",
		"echo unrecognised option\nexit 1\n":                       "unrecognised option",
		"echo '==ERROR== Failed to find metric x' >$log\nexit 1\n": "the profiler: Failed to find metric x",
	} {
		pretend(t, script)
		if _, err := Count(t.Context(), "k", 0, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", script, err, want)
		}
	}
}

// What the profiler does not know is not asked for again: by its own name alone, also where that begins another one.
func TestWithout(t *testing.T) {
	const realtime, all = "lts__lts2xbar_cycles_active_realtime", "lts__lts2xbar_cycles_active"
	for text, want := range map[string][]string{
		"Failed to find metric " + realtime + ".avg.pct_of_peak_sustained_elapsed": {realtime},
		"Failed to find metric regex:^" + all + `\.avg$`:                           {all},
		"Failed to find metric " + all + ".avg, " + realtime + ".avg":              {all, realtime},
	} {
		var gone []string
		left := (&unknownMetric{text}).without(Metrics)
		for _, m := range Metrics {
			if !slices.ContainsFunc(left, func(l Metric) bool { return l.Name == m.Name }) {
				name, _, _ := strings.Cut(m.Name, ".")
				gone = append(gone, name)
			}
		}
		if !slices.Equal(gone, want) {
			t.Errorf("%s: %q is left out, not %q", text, gone, want)
		}
	}
}

// A profiler that does not know a metric is asked for those that all know.
func TestUnknownMetric(t *testing.T) {
	dir := pretend(t, `case "$@" in
*srcunit_tex*) echo "==ERROR== Failed to find metric lts__t_sectors_srcunit_tex.sum" >$log; exit 1 ;;
esac
cat >$log <<'END'
`+printed+"END\n")
	runs := 0
	list, err := Watch(Launches{Warm: true}, func(command []string) error {
		runs++
		args := append(command[1:], "program")
		if runs == 1 != strings.Contains(strings.Join(args, " "), "srcunit_tex") {
			t.Errorf("%q in run %d", args, runs)
		}
		log := args[slices.Index(args, "--log-file")+1]
		if runs == 1 {
			text := "==PROF== x\n==ERROR== Failed to find metric lts__t_sectors_srcunit_tex.sum\n"
			return errors.Join(os.WriteFile(log, []byte(text), 0o600), errors.New("status 1"))
		}
		if !slices.Contains(args, "none") || !slices.Contains(args, "--profile-from-start") ||
			slices.Contains(args, "--launch-count") {
			t.Errorf("%q", args)
		}
		return os.WriteFile(log, []byte(printed), 0o600)
	})
	if err != nil || len(list) != 2 || runs != 2 {
		t.Errorf("%+v, %v after %d runs", list, err, runs)
	}
	if list, err := Watch(Launches{}, func([]string) error { return errors.New("it failed") }); err == nil ||
		list != nil {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "args")); err == nil {
		t.Error("Watch starts the profiler itself")
	}
}
