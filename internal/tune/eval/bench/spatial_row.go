package bench

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/tune/counters"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// SpatialRow is one plan of one case of the suite "spatial", or the best one.
type SpatialRow struct {
	Case  string `json:"case"`
	DType string `json:"dtype"`
	Grid  string `json:"grid"`
	Plan  string `json:"plan"`
	// Kernels is the plan in full, with what the short one leaves open.
	Kernels        string    `json:"kernels,omitempty"`
	GStencils      float64   `json:"gstencils"` // 1e9 points a second, median over the batches
	Interval       Interval  `json:"interval"`  // of the mean, 95 %
	Step           float64   `json:"step_ms"`
	BytesPerPoint  float64   `json:"bytes_per_point"` // that a step cannot do without
	CopyGBs        float64   `json:"copy_gbs"`        // the faster of the next two
	CopyDriverGBs  float64   `json:"copy_driver_gbs"`
	CopyKernelGBs  float64   `json:"copy_kernel_gbs"`
	FractionOfCopy float64   `json:"fraction_of_copy"`
	Must           float64   `json:"must"` // fractions of the copy bound to reach
	Aim            float64   `json:"aim"`
	BestRival      string    `json:"best_rival,omitempty"`
	BestRivalG     float64   `json:"best_rival_gstencils,omitempty"`
	BestRivalRange *Interval `json:"best_rival_interval,omitempty"`
	RatioToRival   float64   `json:"ratio_to_best_rival,omitempty"`
	// RatioWanted is 1.25, or what reaches the aim if that is less.
	RatioWanted    float64            `json:"ratio_wanted,omitempty"`
	Apart          bool               `json:"intervals_apart"`
	Rivals         []RivalBatch       `json:"rivals,omitempty"`
	Registers      int                `json:"registers"`
	Spills         int                `json:"spills"` // bytes of local memory a thread
	Shared         int                `json:"shared"` // bytes a block
	CompileSeconds float64            `json:"compile_seconds"`
	CellsChecked   int64              `json:"cells_checked"`
	Difference     float64            `json:"largest_difference"`           // from the plain kernels, over all cells
	Strict         int64              `json:"cells_equal_strict,omitempty"` // bit for bit, in strict code
	StrictRefused  string             `json:"strict_refused,omitempty"`
	Launched       []string           `json:"launched,omitempty"`
	Batches        int                `json:"batches"`
	Launches       int                `json:"launches"`
	Final          bool               `json:"final"` // timed in turn with the others and the copies
	Refused        string             `json:"refused,omitempty"`
	Wrong          bool               `json:"wrong,omitempty"`
	Device         string             `json:"device"`
	Driver         string             `json:"driver"`
	Compiler       string             `json:"compiler"`
	Counters       *counters.Counters `json:"counters,omitempty"`
	Condition      string             `json:"condition,omitempty"`
	Commit         string             `json:"commit"`
	// Predicted is the fraction of the copy bound that the plan was taken to reach, and Idea why.
	Predicted float64 `json:"predicted,omitempty"`
	Idea      string  `json:"idea,omitempty"`

	best bool // of its case
}

// Key tells rows apart that measure different things.
func (r SpatialRow) Key() string {
	return strings.Join([]string{r.Case, r.DType, r.Grid, r.Device, r.Plan}, " ")
}

// RivalBatch is what a rival reached beside a case.
type RivalBatch struct {
	Rival     string    `json:"rival"`
	Case      string    `json:"case"`
	DType     string    `json:"dtype"`
	Grid      string    `json:"grid"`
	Variant   string    `json:"variant"` // the fastest of its own
	Tried     int       `json:"tried"`   // variants
	GStencils float64   `json:"gstencils"`
	Interval  Interval  `json:"interval"`
	Samples   []float64 `json:"samples"` // GStencil/s
	Error     float64   `json:"largest_error"`
	Failed    string    `json:"failed,omitempty"`
}

// row starts a row with what all rows of a case share.
func (s *sweep) row(plan string) SpatialRow {
	i := &s.worker.info
	return SpatialRow{
		Case: s.c.name, DType: s.c.dtype, Grid: i.Grid, Plan: plan, BytesPerPoint: i.Bytes, Must: s.c.must,
		Aim:    s.c.aim,
		Device: i.Device, Driver: i.Driver, Compiler: i.Compiler, Commit: s.opts.Commit,
	}
}

// timed fills in what samples of the time of a step amount to.
func (r *SpatialRow) timed(times []float64, points float64) {
	rates := rates(times, points)
	r.GStencils, r.Interval, r.Batches = median(rates), measure.Mean(rates), len(rates)
	r.Step = 1000 * median(times)
	if r.CopyGBs > 0 {
		r.FractionOfCopy = r.GStencils * r.BytesPerPoint / r.CopyGBs
	}
}

// Short says what a row falls short of, or "".
func (r *SpatialRow) Short() string {
	var list []string
	if r.FractionOfCopy < r.Must {
		list = append(list, fmt.Sprintf("%.3f of the copy bound, %.2f are wanted", r.FractionOfCopy, r.Must))
	}
	if r.BestRival != "" && (r.RatioToRival < r.RatioWanted || !r.Apart) {
		list = append(list, fmt.Sprintf("%.2f times %s, %.2f are wanted", r.RatioToRival, r.BestRival, r.RatioWanted))
	}
	return strings.Join(list, "; ")
}

// rates turns seconds of a step into GStencil/s.
func rates(times []float64, points float64) []float64 {
	var list []float64
	for _, t := range times {
		list = append(list, points/t/1e9)
	}
	return list
}
