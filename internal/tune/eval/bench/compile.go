package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
)

// CompileRow says how fast the suite's kernels compile.
type CompileRow struct {
	Sources   int     `json:"sources"`
	Median    float64 `json:"median_seconds"` // of one source, alone
	Longest   float64 `json:"longest_seconds"`
	One       float64 `json:"per_second_1"` // sources, by one process
	Processes int     `json:"processes"`
	Many      float64 `json:"per_second"` // by that many
	Gain      float64 `json:"gain"`
	Failed    int     `json:"failed"`
	Compiler  string  `json:"compiler"`
	Commit    string  `json:"commit"`
}

// CompileOptions says what to compile.
type CompileOptions struct {
	PlanFile  PlanFile // nil for the plans that come with the suite
	Only      []string // these cases; all if there are none
	Arch      int      // compute capability, 90 for 9.0
	Processes int
	Commit    string
	Log       io.Writer
}

// Compile measures how long NVRTC takes for every plan of every case, and what
// is gained by many processes at the same time.
func Compile(ctx context.Context, o CompileOptions) (CompileRow, error) {
	row := CompileRow{Processes: o.Processes, Commit: o.Commit}
	compiler, err := cuda.FindCompiler()
	if err != nil {
		return row, err
	}
	row.Compiler = "NVRTC " + compiler.Version
	list, err := o.sources()
	if err != nil {
		return row, err
	}
	row.Sources = len(list)
	fmt.Fprintf(o.Log, "%d sources\n", len(list))
	alone, took, err := o.run(ctx, list, 1)
	if err != nil {
		return row, err
	}
	var each []float64
	for _, c := range alone {
		if c.Failed != "" {
			row.Failed++
			fmt.Fprintf(o.Log, "  %s\n", c.Failed)
			continue
		}
		each = append(each, c.Seconds)
	}
	if len(each) == 0 {
		return row, fmt.Errorf("bench compile: none of the sources compiles")
	}
	row.Median, row.Longest = median(each), slices.Max(each)
	row.One = float64(len(list)) / took
	// So many that the last ones to end do not decide.
	var many [][]byte
	for len(many) < 2*o.Processes {
		many = append(many, list...)
	}
	if _, took, err = o.run(ctx, many, o.Processes); err != nil {
		return row, err
	}
	row.Many = float64(len(many)) / took
	row.Gain = row.Many / row.One
	return row, nil
}

// sources lowers the plans of all cases.
func (o *CompileOptions) sources() ([][]byte, error) {
	s := SpatialOptions{PlanFile: o.PlanFile, Cases: o.Only}
	cases, err := s.cases()
	if err != nil {
		return nil, err
	}
	var list [][]byte
	for _, c := range cases {
		plans, err := s.plans(c)
		if err != nil {
			return nil, err
		}
		bound, err := s.bind(c)
		if err != nil {
			return nil, err
		}
		for _, p := range plans {
			text, err := source(bound, p, arith.Contract)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %s: %w", c.name, c.dtype, p, err)
			}
			list = append(list, text)
		}
	}
	return list, nil
}

// run compiles sources in processes that have compiled something before, and
// returns the seconds from the first to the last.
func (o *CompileOptions) run(ctx context.Context, list [][]byte, processes int) ([]compiled, float64, error) {
	tasks := make(chan compileTask)
	done := compileAll(ctx, processes, tasks)
	// Each process takes one source first: it loads the compiler with it.
	go func() {
		for i := range processes {
			tasks <- compileTask{Number: -1 - i, Source: warmUp, Arch: o.Arch, Mode: arith.Contract}
		}
	}()
	for range processes {
		<-done
	}
	start := time.Now()
	go func() {
		defer close(tasks)
		for i, text := range list {
			tasks <- compileTask{Number: i, Source: text, Arch: o.Arch, Mode: arith.Contract}
		}
	}()
	var all []compiled
	for c := range done {
		all = append(all, c)
	}
	return all, time.Since(start).Seconds(), context.Cause(ctx)
}

// warmUp is compiled first, by every process. It takes long enough for the
// next one to go to the next process.
var warmUp = []byte("extern \"C\" __global__ void nothing(double *x) { x[0] = x[1] / x[2]; }\n")
