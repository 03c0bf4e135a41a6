// Package counters has NVIDIA's profiler Nsight Compute (ncu) count what the hardware does in launches of kernels.
//
// The profiler enters a program by LD_PRELOAD, and takes that out of the program's environment. It puts it back only
// in the C library's functions that start programs, which Go does not call. So it sees the process that it starts, and
// none that Go starts from there: the worker that has the GPU is started by the profiler itself (measure.OpenProfiled).
// Gridloom's programs are linked dynamically, as purego asks for without cgo, so LD_PRELOAD reaches them.
//
// What the options and the metrics mean is told by NVIDIA: the options by
// https://docs.nvidia.com/nsight-compute/NsightComputeCli/ (--profile-from-start, --cache-control, --log-file), how
// metrics are named and what their units count by https://docs.nvidia.com/nsight-compute/ProfilingGuide/ (Metrics
// Structure, Metrics Decoder), and the calls that mark launches by the driver's manual (Profiler Control:
// https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PROFILER.html). The percentages of memory and caches are
// those of Nsight Compute's section SpeedOfLight, the wavefronts those of its table of shared memory, the pipes those
// of its section ComputeWorkloadAnalysis.
package counters

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/run/child"
	"github.com/gridloom/gridloom/internal/run/disk"
)

// Counters are what the hardware counted in one launch of a kernel. Percentages are of what the part sustains at its
// peak.
type Counters struct {
	DRAMBytes float64 `json:"dram_bytes"`
	// L2Bytes go between the multiprocessors and the second cache.
	L2Bytes float64 `json:"l2_bytes"`
	L1Bytes float64 `json:"l1_bytes"`
	// SharedWavefronts are the cycles that the banks of shared memory took, each for 128 bytes at the most. What the
	// copy engine writes there is not among them.
	SharedWavefronts float64 `json:"shared_wavefronts,omitempty"`
	// Excess is the memory's traffic over the bytes that a step cannot do
	// without, where somebody has set it.
	Excess float64 `json:"dram_over_useful,omitempty"`
	DRAM   float64 `json:"dram_percent"`
	// L2 is of what carries bytes to and from multiprocessors; Fabric, of what joins the second cache's two parts, is 0
	// if it is not known.
	L2        float64 `json:"l2_percent"`
	Fabric    float64 `json:"l2_fabric_percent,omitempty"`
	L1        float64 `json:"l1_percent"`
	Issue     float64 `json:"issue_percent"`
	FP64      float64 `json:"fp64_percent,omitempty"` // of the pipe's instructions; 0 if not known
	FP32      float64 `json:"fp32_percent,omitempty"` // likewise
	Occupancy float64 `json:"occupancy_percent"`
	// Limit is the part that is nearest to its peak, or "latency" where none
	// is near.
	Limit string `json:"limit"`
}

// PerRound returns the counters of one of the rounds that a launch has.
func (c *Counters) PerRound(rounds int) *Counters {
	one := *c
	for _, sum := range []*float64{&one.DRAMBytes, &one.L2Bytes, &one.L1Bytes, &one.SharedWavefronts} {
		*sum /= float64(max(1, rounds))
	}
	return &one
}

// Metric is a counter by Nsight Compute's name for it.
type Metric struct {
	Name  string
	of    func(*Counters) *float64
	scale float64 // of what the profiler prints; 0 is 1
	// largest says that the counter is the largest of its metrics, as far as they are known.
	largest bool
	// optional says that the others count without it: a GPU or a profiler may not know it.
	optional bool
}

const sectorBytes = 32

// Metrics are all that are counted. Of several metrics of one counter the last counts, or the largest.
//
// The second cache of GPUs since the A100 has two parts, which a fabric joins. lts__t_bytes counts once more what goes
// from one to the other, so the sectors that multiprocessors ask for are better.
//
// lts__throughput has the fabric in it. On an H200 that is 93 % busy with a plain copy in memory, which has the rest of
// the second cache 52 % busy, and 94 % with a copy within the cache, which has the rest 92 % busy. So the fabric is a
// counter of its own. The second cache's is the largest of its sectors and of the ways from multiprocessors (xbar2lts)
// and to them (lts2xbar), which bind copies and mere reads within the cache.
var Metrics = []Metric{
	{Name: "dram__bytes.sum", of: func(c *Counters) *float64 { return &c.DRAMBytes }},
	{Name: "lts__t_bytes.sum", of: func(c *Counters) *float64 { return &c.L2Bytes }},
	{Name: "lts__t_sectors_srcunit_tex.sum", of: func(c *Counters) *float64 { return &c.L2Bytes }, scale: sectorBytes,
		optional: true},
	{Name: "l1tex__t_bytes.sum", of: func(c *Counters) *float64 { return &c.L1Bytes }},
	{Name: "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
		of: func(c *Counters) *float64 { return &c.SharedWavefronts }, optional: true},
	{Name: "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", of: func(c *Counters) *float64 { return &c.DRAM }},
	{Name: "lts__t_sectors.avg.pct_of_peak_sustained_elapsed", of: func(c *Counters) *float64 { return &c.L2 },
		largest: true},
	{Name: "lts__xbar2lts_cycles_active.avg.pct_of_peak_sustained_elapsed",
		of: func(c *Counters) *float64 { return &c.L2 }, largest: true, optional: true},
	{Name: "lts__lts2xbar_cycles_active.avg.pct_of_peak_sustained_elapsed",
		of: func(c *Counters) *float64 { return &c.L2 }, largest: true, optional: true},
	{Name: "lts__lts2xbar_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed", // as an H200 calls it
		of: func(c *Counters) *float64 { return &c.L2 }, largest: true, optional: true},
	{Name: "lts__ltcfabric2ltc_cycles_active.avg.pct_of_peak_sustained_elapsed",
		of: func(c *Counters) *float64 { return &c.Fabric }, optional: true},
	{Name: "l1tex__throughput.avg.pct_of_peak_sustained_active", of: func(c *Counters) *float64 { return &c.L1 }},
	{Name: "smsp__issue_active.avg.pct_of_peak_sustained_active", of: func(c *Counters) *float64 { return &c.Issue }},
	{Name: "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active",
		of: func(c *Counters) *float64 { return &c.FP64 }, optional: true},
	{Name: "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
		of: func(c *Counters) *float64 { return &c.FP32 }, optional: true},
	{Name: "sm__warps_active.avg.pct_of_peak_sustained_active", of: func(c *Counters) *float64 { return &c.Occupancy }},
}

// nearPeak is the percentage of its peak from which on a part limits a kernel.
const nearPeak = 60

// Nearest names the part that is nearest to its peak, or says that none is near.
func (c *Counters) Nearest() string {
	name, most := "latency", float64(nearPeak)
	for _, part := range []struct {
		name    string
		percent float64
	}{
		{"memory", c.DRAM}, {"L2 cache", c.L2}, {"L1 cache and shared memory", c.L1}, {"instructions", c.Issue},
		{"arithmetic", max(c.FP64, c.FP32)},
	} {
		if part.percent >= most && (part.percent > most || name == "latency") {
			name, most = part.name, part.percent
		}
	}
	return name
}

// Launches says which launches are counted, and how. None are named: those that the program marks
// (device.Profiled).
type Launches struct {
	Kernel string // the one launch of it, by its symbol
	Skip   int    // after so many of it
	// Warm leaves caches as the launches before have left them. Otherwise they are empty, which is what can be counted
	// most exactly: a launch is repeated until all is counted, and before that its memory is restored.
	Warm bool
}

// options are those of the profiler.
func (l Launches) options() []string {
	cache := "all"
	if l.Warm {
		cache = "none"
	}
	list := []string{"--cache-control", cache}
	if l.Kernel == "" {
		return append(list, "--profile-from-start", "off")
	}
	return append(list, "--kernel-name-base", "function", "--kernel-name", "regex:^"+regexp.QuoteMeta(l.Kernel)+"$",
		"--launch-skip", strconv.Itoa(l.Skip), "--launch-count", "1")
}

// Launch is a launch that was counted.
type Launch struct {
	Kernel string // its symbol
	Counters
}

// Watch has Nsight Compute count launches of a program. The function run starts the program by the command, which
// stands before its own name and arguments, and returns when the command has ended. It may be called again, where the
// profiler does not know all metrics.
func Watch(l Launches, run func(command []string) error) ([]Launch, error) {
	ncu, err := exec.LookPath("ncu")
	if err != nil {
		return nil, fmt.Errorf("counters need Nsight Compute: %w", err)
	}
	folder, err := disk.NewFolder("", "gridloom-counters-")
	if err != nil {
		return nil, err
	}
	defer folder.Remove()
	log := filepath.Join(folder.Path, "log.csv")
	for metrics := Metrics; ; {
		counted, err := watch(ncu, log, l, metrics, run)
		unknown, ok := errors.AsType[*unknownMetric](err)
		if !ok {
			return counted, err
		}
		fewer := unknown.without(metrics)
		if len(fewer) == len(metrics) {
			return nil, err
		}
		metrics = fewer
	}
}

// unknownMetric is what the profiler says where it does not know a metric: "Failed to find metric", and the name or an
// expression that the name would match. It counts nothing then.
type unknownMetric struct{ text string }

// without returns the metrics that the others count without: all but the optional one that is named, or but all of
// these.
func (e *unknownMetric) without(metrics []Metric) []Metric {
	named := func(m Metric) bool {
		base, _, _ := strings.Cut(m.Name, ".")
		return m.optional && (strings.Contains(e.text, base+".") || strings.Contains(e.text, base+`\.`))
	}
	none := !slices.ContainsFunc(metrics, named)
	return slices.DeleteFunc(slices.Clone(metrics), func(m Metric) bool {
		return m.optional && (none || named(m))
	})
}

// Error returns that.
func (e *unknownMetric) Error() string { return "the profiler: " + e.text }

func watch(ncu, log string, l Launches, metrics []Metric, run func(command []string) error) ([]Launch, error) {
	var names []string
	for _, m := range metrics {
		names = append(names, m.Name)
	}
	os.Remove(log) // of the time before
	failed := run(slices.Concat([]string{
		ncu, "--target-processes", "all", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
		"--log-file", log, "--metrics", strings.Join(names, ","),
	}, l.options()))
	text, _ := os.ReadFile(log) // what cannot be read says nothing
	why := complaint(string(text))
	if strings.Contains(why, "metric") {
		return nil, &unknownMetric{why}
	}
	switch {
	case failed != nil && why != "":
		return nil, fmt.Errorf("the profiler: %s (%w)", why, failed)
	case failed != nil:
		return nil, fmt.Errorf("the profiler: %w", failed)
	}
	return parse(text)
}

// complaint returns the first error among what the profiler has printed, such as that it may not count
// (ERR_NVGPUCTRPERM); "" if there is none.
func complaint(text string) string {
	const mark = "==ERROR=="
	for line := range strings.Lines(text) {
		if after, ok := strings.CutPrefix(line, mark); ok {
			return fmt.Sprintf("%.300s", strings.TrimSpace(after))
		}
	}
	return ""
}

// parse finds the table in what the profiler has printed: names, units, and a row for each launch.
func parse(text []byte) ([]Launch, error) {
	var table []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, `"`) {
			table = append(table, line)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(strings.Join(table, ""))).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("the profiler's table cannot be read: %w", err)
	}
	if len(rows) < 3 {
		why := complaint(string(text))
		if why == "" {
			lines := strings.Split(strings.TrimSpace(string(text)), "\n") // the last says why, those before name files
			why = fmt.Sprintf("%.300s", lines[len(lines)-1])
		}
		return nil, fmt.Errorf("the profiler has seen no launch: %s", why)
	}
	var list []Launch
	for _, row := range rows[2:] {
		var l Launch
		if i := slices.Index(rows[0], "Kernel Name"); i >= 0 {
			l.Kernel, _, _ = strings.Cut(row[i], "(")
		}
		for _, m := range Metrics {
			if err := m.read(rows[0], row, &l.Counters); err != nil {
				return nil, err
			}
		}
		list = append(list, l)
	}
	return list, nil
}

// read sets a metric's counter by a row of the table.
func (m *Metric) read(names, row []string, c *Counters) error {
	column := slices.Index(names, m.Name)
	if column < 0 && m.optional {
		return nil
	}
	if column < 0 {
		return fmt.Errorf("the profiler has no %s", m.Name)
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(row[column], ",", ""), 64)
	if err != nil && m.optional {
		return nil // n/a
	}
	if err != nil {
		return fmt.Errorf("the profiler's %s: %w", m.Name, err)
	}
	if m.scale != 0 {
		v *= m.scale
	}
	if m.largest {
		v = max(v, *m.of(c))
	}
	*m.of(c) = v
	return nil
}

// patience is how long the profiler may take with a program: it runs a launch several times.
const patience = 5 * time.Minute

// Count has Nsight Compute run this program with some arguments, and returns what it has counted in one launch of a
// kernel, after so many launches of it. The program has to launch in its own process, as exec.OpenLocal does.
func Count(ctx context.Context, symbol string, skip int, args []string) (*Counters, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	list, err := Watch(Launches{Kernel: symbol, Skip: skip}, func(command []string) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_, err := child.Program{Path: command[0], Args: slices.Concat(command[1:], []string{self}, args)}.Run(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &list[0].Counters, nil
}
