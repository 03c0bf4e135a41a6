// Package counters has NVIDIA's profiler count what the hardware does in one launch of a kernel, in a process of its
// own.
package counters

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

	"github.com/gridloom/gridloom/internal/run/child"
)

// Counters are what the hardware counted in one launch of a kernel. Percentages are of what the part sustains at its
// peak.
type Counters struct {
	DRAMBytes float64 `json:"dram_bytes"`
	L2Bytes   float64 `json:"l2_bytes"`
	L1Bytes   float64 `json:"l1_bytes"`
	// SharedWavefronts are the cycles that the banks of shared memory took, each for 128 bytes at the most.
	SharedWavefronts float64 `json:"shared_wavefronts,omitempty"`
	// Excess is the memory's traffic over the bytes that a step cannot do
	// without, where somebody has set it.
	Excess    float64 `json:"dram_over_useful,omitempty"`
	DRAM      float64 `json:"dram_percent"`
	L2        float64 `json:"l2_percent"`
	L1        float64 `json:"l1_percent"`
	Issue     float64 `json:"issue_percent"`
	Occupancy float64 `json:"occupancy_percent"`
	// Limit is the part that is nearest to its peak, or "latency" where none
	// is near.
	Limit string `json:"limit"`
}

// Metric is a counter by Nsight Compute's name for it.
type Metric struct {
	Name string
	of   func(*Counters) *float64
}

// Metrics are all that are counted.
var Metrics = []Metric{
	{"dram__bytes.sum", func(c *Counters) *float64 { return &c.DRAMBytes }},
	{"lts__t_bytes.sum", func(c *Counters) *float64 { return &c.L2Bytes }},
	{"l1tex__t_bytes.sum", func(c *Counters) *float64 { return &c.L1Bytes }},
	{"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", func(c *Counters) *float64 { return &c.SharedWavefronts }},
	{"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", func(c *Counters) *float64 { return &c.DRAM }},
	{"lts__throughput.avg.pct_of_peak_sustained_elapsed", func(c *Counters) *float64 { return &c.L2 }},
	{"l1tex__throughput.avg.pct_of_peak_sustained_active", func(c *Counters) *float64 { return &c.L1 }},
	{"smsp__issue_active.avg.pct_of_peak_sustained_active", func(c *Counters) *float64 { return &c.Issue }},
	{"sm__warps_active.avg.pct_of_peak_sustained_active", func(c *Counters) *float64 { return &c.Occupancy }},
}

// nearPeak is the percentage of its peak from which on a part limits a kernel.
const nearPeak = 60

// Nearest names the part that is nearest to its peak, or says that none is near.
func (c *Counters) Nearest() string {
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
	if most.percent < nearPeak {
		return "latency"
	}
	return most.name
}

// patience is how long the profiler may take: it runs a launch several
// times.
const patience = 5 * time.Minute

// Count has Nsight Compute run this program with some arguments, and reads what it has counted in one launch of a
// kernel, after so many launches of it. The program ends when that is counted, if it is to.
func Count(ctx context.Context, symbol string, skip int, stop bool,
	args []string) (*Counters, error) {
	ncu, err := exec.LookPath("ncu")
	if err != nil {
		return nil, fmt.Errorf("counters need Nsight Compute: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range Metrics {
		names = append(names, m.Name)
	}
	full := slices.Concat([]string{
		"--target-processes", "all", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
		"--metrics", strings.Join(names, ","), "--kernel-name-base", "function",
		"--kernel-name", "regex:^" + regexp.QuoteMeta(symbol) + "$",
		"--launch-skip", strconv.Itoa(skip), "--launch-count", "1",
	}, ending(stop), []string{self}, args)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var table bytes.Buffer
	_, err = child.Program{Path: ncu, Args: full, Stdout: &table}.Run(ctx)
	if c, wrong := parse(table.Bytes()); wrong == nil && stop {
		return c, nil // a program that was ended has no good status
	} else if err == nil {
		return c, wrong
	}
	return nil, fmt.Errorf("the profiler: %w", err)
}

// ending are the options by which the profiler ends the program, or does not.
func ending(stop bool) []string {
	if stop {
		return []string{"--kill", "yes", "--check-exit-code", "no"}
	}
	return nil
}

// parse finds the table in what the profiler has printed: names, units
// and one launch.
func parse(text []byte) (*Counters, error) {
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
		lines := strings.Split(strings.TrimSpace(string(text)), "\n") // the last says why, those before name files
		return nil, fmt.Errorf("the profiler has seen no launch: %.300s", lines[len(lines)-1])
	}
	c := &Counters{}
	for _, m := range Metrics {
		column := slices.Index(rows[0], m.Name)
		if column < 0 {
			return nil, fmt.Errorf("the profiler has no %s", m.Name)
		}
		v, err := strconv.ParseFloat(strings.ReplaceAll(rows[2][column], ",", ""), 64)
		if err != nil {
			return nil, fmt.Errorf("the profiler's %s: %w", m.Name, err)
		}
		*m.of(c) = v
	}
	return c, nil
}
