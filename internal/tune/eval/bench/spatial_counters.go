package bench

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/run/child"
)

// Counters are what the hardware counted in one launch of a row's first
// kernel. Percentages are of what the part sustains at its peak.
type Counters struct {
	DRAMBytes float64 `json:"dram_bytes"`
	L2Bytes   float64 `json:"l2_bytes"`
	L1Bytes   float64 `json:"l1_bytes"`
	// Excess is the memory's traffic over the bytes that a step cannot do
	// without.
	Excess    float64 `json:"dram_over_useful"`
	DRAM      float64 `json:"dram_percent"`
	L2        float64 `json:"l2_percent"`
	L1        float64 `json:"l1_percent"`
	Issue     float64 `json:"issue_percent"`
	Occupancy float64 `json:"occupancy_percent"`
	// Limit is the part that is nearest to its peak, or "latency" where none
	// is near.
	Limit string `json:"limit"`
}

// metrics are Nsight Compute's names.
var metrics = []struct {
	name string
	of   func(*Counters) *float64
}{
	{"dram__bytes.sum", func(c *Counters) *float64 { return &c.DRAMBytes }},
	{"lts__t_bytes.sum", func(c *Counters) *float64 { return &c.L2Bytes }},
	{"l1tex__t_bytes.sum", func(c *Counters) *float64 { return &c.L1Bytes }},
	{"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", func(c *Counters) *float64 { return &c.DRAM }},
	{"lts__throughput.avg.pct_of_peak_sustained_elapsed", func(c *Counters) *float64 { return &c.L2 }},
	{"l1tex__throughput.avg.pct_of_peak_sustained_active", func(c *Counters) *float64 { return &c.L1 }},
	{"smsp__issue_active.avg.pct_of_peak_sustained_active", func(c *Counters) *float64 { return &c.Issue }},
	{"sm__warps_active.avg.pct_of_peak_sustained_active", func(c *Counters) *float64 { return &c.Occupancy }},
}

// limit names the part that is nearest to its peak.
func (c *Counters) limit() string {
	parts := []struct {
		name    string
		percent float64
	}{{"memory", c.DRAM}, {"L2 cache", c.L2}, {"L1 cache and shared memory", c.L1}, {"instructions", c.Issue}}
	most := slices.MaxFunc(parts, func(a, b struct {
		name    string
		percent float64
	}) int {
		return int(1e6 * (a.percent - b.percent))
	})
	if most.percent < 60 {
		return "latency"
	}
	return most.name
}

// profilePatience is how long the profiler may take: it runs a launch several
// times.
const profilePatience = 5 * time.Minute

// count has Nsight Compute run this program once more, on one case with one
// plan, and reads what it has counted in the plan's first launch.
func (s *sweep) count(r *SpatialRow) (*Counters, error) {
	// The plain kernels come first, and may have the same name.
	first := r.Launched[0]
	skip := 0
	for _, name := range s.worker.info.Plain {
		if name == first {
			skip++
		}
	}
	args := []string{
		"bench", "spatial", "--device", fmt.Sprintf("cuda:%d", s.opts.Ordinal), "--case", r.Case, "--dtype", r.DType,
		"--plan", r.Plan, "--quick", "--batches", "5",
	}
	for _, q := range s.bound.Program.Params {
		if v, ok := s.opts.Set[q.Name]; ok {
			args = append(args, "--set", q.Name+"="+v)
		}
	}
	c, err := profile(s.ctx, emit.CUDA.Symbol(first), skip, args)
	if err != nil {
		return nil, err
	}
	c.Excess = c.DRAMBytes / (s.worker.info.Points * s.worker.info.Bytes)
	c.Limit = c.limit()
	return c, nil
}

// profile has Nsight Compute run this program with some arguments, and reads what it has counted
// in one launch of a kernel, after so many launches of it.
func profile(ctx context.Context, symbol string, skip int, args []string) (*Counters, error) {
	ncu, err := exec.LookPath("ncu")
	if err != nil {
		return nil, fmt.Errorf("counters need Nsight Compute: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range metrics {
		names = append(names, m.name)
	}
	full := slices.Concat([]string{
		"--target-processes", "all", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
		"--metrics", strings.Join(names, ","), "--kernel-name-base", "function",
		"--kernel-name", "regex:^" + regexp.QuoteMeta(symbol) + "$",
		"--launch-skip", strconv.Itoa(skip), "--launch-count", "1", self,
	}, args)
	ctx, cancel := context.WithTimeout(ctx, profilePatience)
	defer cancel()
	var table bytes.Buffer
	if _, err := (child.Program{Path: ncu, Args: full, Stdout: &table}).Run(ctx); err != nil {
		return nil, fmt.Errorf("the profiler: %w", err)
	}
	return parseCounters(table.Bytes())
}

// parseCounters finds the table in what the profiler has printed: names, units
// and one launch.
func parseCounters(text []byte) (*Counters, error) {
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
		return nil, fmt.Errorf("the profiler has seen no launch: %.300s", text)
	}
	c := &Counters{}
	for _, m := range metrics {
		column := slices.Index(rows[0], m.name)
		if column < 0 {
			return nil, fmt.Errorf("the profiler has no %s", m.name)
		}
		v, err := strconv.ParseFloat(strings.ReplaceAll(rows[2][column], ",", ""), 64)
		if err != nil {
			return nil, fmt.Errorf("the profiler's %s: %w", m.name, err)
		}
		*m.of(c) = v
	}
	return c, nil
}
