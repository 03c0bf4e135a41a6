package contest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/disk"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// PlainOptions says what is tuned on the processor, and what it is set against.
type PlainOptions struct {
	Bound  *ir.Binding
	Set    map[string]string // the values that Bound was made with
	Rival  string            // a file of C: the kernels of the usual plan, by hand
	Budget time.Duration     // of the search
	Trials int               // of the search; 0 is no limit
	Rounds int               // in which all are timed; at least FewestRounds

	Open   func(context.Context) (measure.Lab, error)
	Commit string
	Log    io.Writer
}

// FewestRounds tell scatter.
const FewestRounds = 7

// PlainRow is what a search on the processor took and came to, against code
// written by hand. Speeds are in 1e9 updates of cells a second; they are means,
// and ratios are of speeds round by round, both with 95 % intervals.
type PlainRow struct {
	Program  string  `json:"program"`
	DType    string  `json:"dtype"`
	Grid     string  `json:"grid"`
	Device   string  `json:"device"`
	Compiler string  `json:"compiler"`
	Threads  int     `json:"threads"`
	Strategy string  `json:"strategy"`
	Seconds  float64 `json:"seconds"` // wall time of the search, from nothing compiled and nothing known
	Trials   int     `json:"trials"`
	Plan     string  `json:"plan"`
	// of each code, with the reference executor, after the first iterations
	Cells           int64   `json:"cells_compared"`
	Rounds          int     `json:"rounds"`
	GStencils       float64 `json:"gstencils"`
	Low             float64 `json:"low"`
	High            float64 `json:"high"`
	Plain           float64 `json:"plain_gstencils"` // as gcc -O3 -fopenmp compiles it
	PlainLow        float64 `json:"plain_low"`
	PlainHigh       float64 `json:"plain_high"`
	Ratio           float64 `json:"ratio"`
	RatioLow        float64 `json:"ratio_low"`
	RatioHigh       float64 `json:"ratio_high"`
	Native          float64 `json:"plain_native_gstencils"` // for this processor, with the same arithmetic
	NativeLow       float64 `json:"plain_native_low"`
	NativeHigh      float64 `json:"plain_native_high"`
	RatioNative     float64 `json:"ratio_native"`
	RatioNativeLow  float64 `json:"ratio_native_low"`
	RatioNativeHigh float64 `json:"ratio_native_high"`
	Commit          string  `json:"commit"`
}

// How users compile plain code: as all say, and by those who know of more.
var (
	plainFlags  = []string{"-O3", "-fopenmp"}
	nativeFlags = []string{"-O3", "-fopenmp", "-march=native", "-ffp-contract=fast"}
)

// Plain tunes a program on the processor and times what that came to in turn
// with the same program written by hand, after all of them have been compared
// with the reference executor.
func Plain(ctx context.Context, o PlainOptions) (*PlainRow, error) {
	if o.Rounds < FewestRounds {
		return nil, fmt.Errorf("%d rounds tell no scatter: at least %d are needed", o.Rounds, FewestRounds)
	}
	program := o.Bound.Program
	if len(program.Grids) == 0 {
		return nil, fmt.Errorf("%s has no grids", program.Name)
	}
	first := program.Grids[0]
	row := &PlainRow{
		Program: program.Name, DType: first.Type.Word(), Grid: shapeText(o.Bound.Shape(first.Dims)),
		Threads: cpu.Threads(), Strategy: defaultStrategy, Rounds: o.Rounds, Commit: o.Commit,
	}
	dir, err := disk.NewFolder("", "gridloom-plain-")
	if err != nil {
		return nil, err
	}
	defer dir.Remove()
	p := &plain{opts: &o, dir: dir.Path}
	list, err := p.rivals(ctx) // what is wrong with them is known before the search
	if err != nil {
		return nil, err
	}
	if err := p.tune(ctx, row); err != nil {
		return nil, err
	}
	found, err := p.found(ctx, row.Plan)
	if err != nil {
		return nil, err
	}
	if row.Cells, err = p.check(ctx, found); err != nil {
		return nil, err
	}
	list = slices.Insert(list, 0, found)
	for i := range o.Rounds {
		for j := range list {
			if err := p.time(ctx, list[(i+j)%len(list)]); err != nil {
				return nil, err
			}
		}
	}
	row.GStencils, row.Low, row.High = found.speed()
	row.Plain, row.PlainLow, row.PlainHigh = list[1].speed()
	row.Native, row.NativeLow, row.NativeHigh = list[2].speed()
	row.Ratio, row.RatioLow, row.RatioHigh = over(found, list[1])
	row.RatioNative, row.RatioNativeLow, row.RatioNativeHigh = over(found, list[2])
	return row, nil
}

// shapeText returns a text like "64x64x128".
func shapeText(shape []int) string {
	var parts []string
	for _, n := range shape {
		parts = append(parts, fmt.Sprint(n))
	}
	return strings.Join(parts, "x")
}

// tune searches, and fills in what that took.
func (p *plain) tune(ctx context.Context, row *PlainRow) error {
	o := p.opts
	start := time.Now()
	lab, err := o.Open(ctx)
	if err != nil {
		return err
	}
	defer lab.Close()
	about := lab.About()
	row.Device, row.Compiler = about.Name, about.Compiler
	fmt.Fprintf(o.Log, "%s %s: %s searches for %v\n", row.Program, row.Grid, row.Strategy, o.Budget)
	r, err := tuner.Run(ctx, tuner.Options{
		Bound: o.Bound, Set: o.Set, Lab: lab, Strategy: row.Strategy, Seed: 1, Budget: o.Budget, Trials: o.Trials,
	})
	if err != nil {
		return err
	}
	if r.Interrupted {
		return context.Cause(ctx)
	}
	row.Seconds, row.Trials, row.Plan = time.Since(start).Seconds(), r.Trials, r.Best
	fmt.Fprintf(o.Log, "%d configurations in %.1f s: %s\n", row.Trials, row.Seconds, row.Plan)
	return nil
}

// WritePlain prints the row as a table.
func WritePlain(w io.Writer, r *PlainRow) {
	fmt.Fprintf(w, "%s %s %s on %s: %d configurations in %.1f s\n%s\n", r.Program, r.DType, r.Grid, r.Device, r.Trials,
		r.Seconds, r.Plan)
	line := func(name string, v, low, high float64) {
		fmt.Fprintf(w, "  %-14s %8.3f GStencil/s (%.3f to %.3f)\n", name, v, low, high)
	}
	line("tuned", r.GStencils, r.Low, r.High)
	line("plain", r.Plain, r.PlainLow, r.PlainHigh)
	line("plain, native", r.Native, r.NativeLow, r.NativeHigh)
	fmt.Fprintf(w, "  %.3f times as fast as %s (%.3f to %.3f)\n", r.Ratio, strings.Join(plainFlags, " "), r.RatioLow,
		r.RatioHigh)
	fmt.Fprintf(w, "  %.3f times as fast as %s (%.3f to %.3f)\n", r.RatioNative, strings.Join(nativeFlags, " "),
		r.RatioNativeLow, r.RatioNativeHigh)
}
