package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// GPURow is one case of the suite "cells" with one configuration.
type GPURow struct {
	Case           string   `json:"case"`
	DType          string   `json:"dtype"`
	Grid           string   `json:"grid"`
	Plan           string   `json:"plan"`
	GStencils      float64  `json:"gstencils"` // 1e9 points a second, median over the batches
	GStencilsLow   float64  `json:"gstencils_low"`
	GStencilsHigh  float64  `json:"gstencils_high"`
	Sweep          float64  `json:"sweep_ms"`
	BytesPerPoint  float64  `json:"bytes_per_point"`
	CopyGBs        float64  `json:"copy_gbs"` // the faster of the next two
	CopyDriverGBs  float64  `json:"copy_driver_gbs"`
	CopyKernelGBs  float64  `json:"copy_kernel_gbs"`
	FractionOfCopy float64  `json:"fraction_of_copy"`
	Registers      int      `json:"registers"`
	Spills         int      `json:"spills"` // bytes of local memory a thread
	CompileMS      float64  `json:"compile_ms"`
	CellsChecked   int64    `json:"cells_checked"`
	Timed          []string `json:"timed"`      // kernels
	Arithmetic     string   `json:"arithmetic"` // of the timed code; both it and strict code are checked
	Batches        int      `json:"batches"`
	Launches       int      `json:"launches"` // in a batch
	Refused        string   `json:"refused,omitempty"`
	Device         string   `json:"device"`
	Driver         string   `json:"driver"`
	Compiler       string   `json:"compiler"`
	Condition      string   `json:"condition,omitempty"` // of the GPU after the last batch
	Commit         string   `json:"commit"`
}

// GPUOptions says how to run the suite.
type GPUOptions struct {
	Ordinal int               // of the GPU
	Cases   []string          // their names; all if there are none
	Plans   []string          // the configurations; all if there are none
	Set     map[string]string // sizes instead of the cases' own
	Batches int               // timed ones; at least 5
	Batch   time.Duration     // the least that a batch takes
	Commit  string            // of the source that is measured
	Log     io.Writer
}

// gpuCase is a program with the size that it is timed at.
type gpuCase struct {
	name  string // of its file
	dtype string // replaces the type of its grids
	sizes []int64
	// bounded is a declaration that gives the grid which is read at offsets a
	// boundary on every face, so that the edges are checked too.
	bounded string
}

var gpuCases = []gpuCase{
	{"star7", "double", []int64{512, 512, 512}, "boundary u : clamp on k, periodic on j, constant(0.25) on i;"},
	{"star7", "float", []int64{512, 512, 512}, "boundary u : reflect on k, constant(0.5) on j, mirror on i;"},
	{"box27", "double", []int64{512, 512, 512}, "boundary u : mirror on k, reflect on j, periodic on i;"},
	{"box27", "float", []int64{512, 512, 512}, "boundary u : antireflect on k, clamp on j, antimirror on i;"},
	{"star5", "float", []int64{16384, 16384}, "boundary u : antimirror on j, clamp on i;"},
	{"himeno", "float", []int64{256, 256, 512}, "boundary p : periodic on k, antireflect on j, reflect on i;"},
}

// Cells measures the plainest GPU kernels, one thread a cell, with every block
// shape. Each is first compared with the reference executor at every cell of
// small grids of awkward sizes, in strict arithmetic bit for bit, and after it
// is timed at some cells of the large ones. Rows that were finished are
// returned with an error too, which is a *Mismatch if a comparison failed.
func Cells(ctx context.Context, o GPUOptions) ([]GPURow, error) {
	if o.Batches < 5 {
		return nil, fmt.Errorf("bench cells: %d batches: at least 5 are needed", o.Batches)
	}
	for _, name := range o.Cases {
		if !slices.ContainsFunc(gpuCases, func(c gpuCase) bool { return c.name == name }) {
			return nil, fmt.Errorf("bench cells: there is no case %s", name)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dev, err := cuda.Open(o.Ordinal)
	if err != nil {
		return nil, err
	}
	b := &gpuBench{gpuContext: gpuContext{ctx: ctx, dev: dev}, opts: o}
	err = b.start()
	for _, c := range gpuCases {
		if err == nil && (len(o.Cases) == 0 || slices.Contains(o.Cases, c.name)) {
			if err = b.run(c); err != nil {
				err = fmt.Errorf("%s %s: %w", c.name, c.dtype, err)
			}
		}
	}
	if cerr := dev.Close(); err == nil {
		err = cerr
	}
	return b.rows, err
}

type gpuBench struct {
	gpuContext
	opts GPUOptions
	rows []GPURow
}

// run measures one case with all configurations.
func (b *gpuBench) run(c gpuCase) error {
	p, err := c.load("")
	if err != nil {
		return err
	}
	bound, err := c.bind(p, b.opts.Set)
	if err != nil {
		return err
	}
	points, perPoint := (&program{bound: bound}).work()
	free, _, err := b.dev.Memory()
	if err != nil {
		return err
	}
	// The grids, a value a cell for partial results, and as much as the copies
	// move, which is about the grids once more.
	if need := bound.Bytes()*2 + 8*int64(points); need > free {
		return fmt.Errorf("the GPU has %s of free memory, and this needs %s: choose smaller sizes", memory.Size(free),
			memory.Size(need))
	}
	large, err := b.place(bound, nil)
	if err != nil {
		return err
	}
	defer large.free()
	if err := large.fill(&b.gpuContext); err != nil {
		return err
	}
	row := GPURow{
		Case: c.name, DType: c.dtype, Grid: gridText(bound, output(p)), BytesPerPoint: perPoint,
		Arithmetic: arith.Contract.String(), Batches: b.opts.Batches,
		Device: b.dev.GPU.Name, Driver: b.dev.GPU.Driver, Compiler: "NVRTC " + b.compiler.Version,
		Commit: b.opts.Commit,
	}
	if err := b.copyBound(int64(points*perPoint)/2, &row); err != nil {
		return err
	}
	b.logf("%s %s %s: copies reach %.0f GB/s (driver) and %.0f GB/s (16-byte kernel)\n", row.Case, row.DType, row.Grid,
		row.CopyDriverGBs, row.CopyKernelGBs)
	checks, err := newChecks(c, large)
	if err != nil {
		return err
	}
	for _, cfg := range configurations(len(c.sizes)) {
		if len(b.opts.Plans) > 0 && !slices.Contains(b.opts.Plans, cfg.String()) {
			continue
		}
		r := row
		r.Plan = cfg.String()
		err := b.measure(checks, large, cfg, points, &r)
		var wrong *Mismatch
		var broken *cuda.Error
		switch {
		case err == nil:
			b.logf("  %-24s %8.1f GStencil/s  %5.1f %% of copy  %3d registers  %3d bytes spilled  %d cells checked\n",
				r.Plan, r.GStencils, 100*r.FractionOfCopy, r.Registers, r.Spills, r.CellsChecked)
		case errors.As(err, &wrong), errors.As(err, &broken) && broken.Lost(), b.ctx.Err() != nil:
			return fmt.Errorf("%s: %w", r.Plan, err)
		default:
			r.Refused = err.Error()
			b.logf("  %-24s refused: %v\n", r.Plan, err)
		}
		b.rows = append(b.rows, r)
	}
	return nil
}

func (b *gpuBench) logf(format string, args ...any) { fmt.Fprintf(b.opts.Log, format, args...) }

// configurations returns those of the family "cells" for that many axes: every
// block shape.
func configurations(rank int) []schedule.Config {
	shapes := []string{"8x32", "4x32", "4x64", "8x64", "2x128", "16x16"}
	if rank > 2 {
		shapes = append(shapes, "1x256", "4x128")
	}
	var list []schedule.Config
	for _, s := range shapes {
		cfg, err := schedule.ParseConfig("family=cells,block=" + s)
		if err != nil {
			panic(err)
		}
		list = append(list, cfg)
	}
	return list
}

// measure checks and times one configuration, and fills in its row.
func (b *gpuBench) measure(checks *checks, large *gridsOnGPU, cfg schedule.Config, points float64, row *GPURow) error {
	m, lib, took, err := b.build(large.bound, cfg)
	if err != nil {
		return err
	}
	defer lib.Close()
	row.CompileMS = 1000 * took
	if row.CellsChecked, err = checks.small(&b.gpuContext, cfg, m, lib); err != nil {
		return err
	}
	launches, err := large.bind(m, lib)
	if err != nil {
		return err
	}
	defer launches.free()
	for _, c := range launches.list {
		row.Timed = append(row.Timed, c.kernel.Name)
		r, err := lib.Resources(c.kernel.Name)
		if err != nil {
			return err
		}
		row.Registers, row.Spills = max(row.Registers, r.Registers), max(row.Spills, r.Local)
	}
	if err := large.poison(); err != nil {
		return err
	}
	times, n, err := b.batches(launches.launch, b.opts.Batches, b.opts.Batch)
	if err != nil {
		return err
	}
	cells, err := checks.windows.compare(large, row.Arithmetic)
	if err != nil {
		return err
	}
	row.CellsChecked += cells
	row.Launches = n
	row.Sweep = 1000 * median(times)
	rate := func(t float64) float64 { return points / t / 1e9 }
	row.GStencils, row.GStencilsLow, row.GStencilsHigh = rate(median(times)), rate(slices.Max(times)),
		rate(slices.Min(times))
	row.FractionOfCopy = row.GStencils * row.BytesPerPoint / row.CopyGBs
	if c, ok := b.dev.GPU.Condition(); ok {
		row.Condition = c.String()
	}
	return nil
}
