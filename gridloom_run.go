package gridloom

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/exec"
)

// Cell is what the cells of grids are to Go: double, float, int, byte and bool in the
// language.
type Cell interface {
	float64 | float32 | int32 | uint8 | bool
}

// Data is a slice of a grid's cells in C order: the last axis is contiguous.
type Data struct {
	bytes []byte
	cells types.Type
	count int
}

// Slice makes Data of a slice, without a copy.
func Slice[T Cell](cells []T) Data {
	d := Data{count: len(cells)}
	switch any(cells).(type) {
	case []float64:
		d.cells = types.F64
	case []float32:
		d.cells = types.F32
	case []int32:
		d.cells = types.I32
	case []uint8:
		d.cells = types.U8
	case []bool:
		d.cells = types.Bool
	}
	if len(cells) > 0 {
		size := len(cells) * int(unsafe.Sizeof(cells[0]))
		d.bytes = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(cells))), size)
	}
	return d
}

// RunOptions says how to run a program once.
type RunOptions struct {
	// In gives grids their first values. The others start with what the program's
	// initial block gives them, or zero.
	In map[string]Data
	// InPlace has the kernels work in this process, on the slices of In themselves, which
	// hold their grids at the end. On devices that work in the host's memory nothing is copied.
	// Nothing protects the process then from generated code that faults or hangs, and the
	// reference executor cannot do it.
	InPlace bool
	// Iterations stops after that many iterations of the program's outermost
	// iterate; 0 runs to the end.
	Iterations int64
	// Progress, if it is not nil, is told now and then how far the run is.
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	Iterations int64 // of the program's outermost iterate
	Points     int64 // cells updated
	Time       time.Duration
}

// Result is what a run has left.
type Result struct {
	Grids      map[string]*Grid   // every grid of the program
	Scalars    map[string]float64 // the results of reductions
	Iterations int64
	Points     int64         // cells updated
	Time       time.Duration // spent in the time loop
}

// Grid is a grid's contents in C order.
type Grid struct {
	Type  string // as in the language: "double"
	Shape []int
	data  []byte
}

// Float64 returns the cells of a double grid, Float32 those of a float grid,
// Int32 of an int grid and Bytes of a byte or bool grid; nil for other grids.
func (g *Grid) Float64() []float64 { return view[float64](g, types.F64) }

// Float32 returns the cells of a float grid, and nil for other grids.
func (g *Grid) Float32() []float32 { return view[float32](g, types.F32) }

// Int32 returns the cells of an int grid, and nil for other grids.
func (g *Grid) Int32() []int32 { return view[int32](g, types.I32) }

// Bytes returns the cells of a byte or bool grid, and nil for other grids.
func (g *Grid) Bytes() []byte {
	if g.Type == types.U8.Word() || g.Type == types.Bool.Word() {
		return g.data
	}
	return nil
}

func view[T any](g *Grid, t types.Type) []T {
	if g.Type != t.Word() || len(g.data) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&g.data[0])), len(g.data)/t.Size())
}

// Run compiles the program and runs it, with the plan of the options alone: unlike the
// command it does not look for one in the store of what was measured, so that
// it does the same on every machine. Cancelling ctx stops it between two calls and
// returns ctx's error.
func (p *Program) Run(ctx context.Context, o Options, r RunOptions) (*Result, error) {
	c, err := p.Compile(ctx, o)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Run(ctx, r)
}

// Compiled is a program that was compiled for sizes, values and a device. It can be run
// any number of times, from many goroutines.
type Compiled struct {
	program  *Program
	job      engine.Job
	compiled *engine.Compiled // nil on the reference executor
}

// Compile compiles the program, unless that was done before: compiled code is kept on
// disk. Close gives back what it takes.
func (p *Program) Compile(ctx context.Context, o Options) (*Compiled, error) {
	p, version, err := p.versionOf(&o.Plan)
	if err != nil {
		return nil, err
	}
	b, err := p.bind(&o)
	if err != nil {
		return nil, err
	}
	d, err := o.open(engine.ToRun)
	if err != nil {
		return nil, err
	}
	c := &Compiled{program: p, job: engine.Job{Bound: b, Device: d, Plan: o.Plan.plan, Version: version}}
	if o.Plan.String() != "" {
		c.job.Origin = engine.Chosen
	}
	switch {
	case !d.Reference():
		c.compiled, err = c.job.Compile(ctx, engine.Hooks{})
	case o.Plan.String() != "":
		err = errors.New("a plan has no meaning on the reference executor")
	}
	if err != nil {
		d.Close()
		return nil, worded(err)
	}
	return c, nil
}

// Plan returns the plan in full: every kernel with its configuration. It is the zero value
// on the reference executor.
func (c *Compiled) Plan() Plan {
	p, err := ParsePlan(c.job.PlanText())
	if err != nil {
		panic(err)
	}
	return p
}

// Shape returns the cells of a grid on every axis, the outermost first; nil if there is no
// such grid.
func (c *Compiled) Shape(grid string) []int {
	if g := c.program.ir.Grid(grid); g != nil {
		return c.job.Bound.Shape(g.Dims)
	}
	return nil
}

// Close gives back what the program takes. Runs must have ended.
func (c *Compiled) Close() { c.job.Device.Close() }

// Run runs the program from its start.
func (c *Compiled) Run(ctx context.Context, o RunOptions) (*Result, error) {
	x, err := c.start(ctx, o)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	if err := x.Advance(ctx, o.Iterations); err != nil {
		return nil, err
	}
	return x.result(o)
}

// Execution is a program under way, between two calls. It belongs to one goroutine.
type Execution struct {
	compiled *Compiled
	runner   exec.Runner
	done     exec.Progress
}

// Start gives the program memory and its first values, and stands at its start. Advance
// goes on from there. Close gives everything back.
func (c *Compiled) Start(ctx context.Context, o RunOptions) (*Execution, error) {
	if o.Iterations != 0 {
		return nil, errors.New("gridloom: Advance says how many iterations, and not Start")
	}
	return c.start(ctx, o)
}

func (c *Compiled) start(ctx context.Context, o RunOptions) (*Execution, error) {
	if o.Iterations < 0 {
		return nil, fmt.Errorf("gridloom: %d iterations cannot be run", o.Iterations)
	}
	names := slices.Sorted(maps.Keys(o.In))
	for _, name := range names {
		if err := c.fits(name, o.In[name]); err != nil {
			return nil, err
		}
	}
	var h engine.Hooks
	if o.Progress != nil {
		h.Progress = func(p exec.Progress) { o.Progress(Progress{p.Iterations, p.Points, p.Busy}) }
	}
	runner, err := c.open(ctx, o, h)
	if err != nil {
		return nil, worded(err)
	}
	x := &Execution{compiled: c, runner: runner}
	if err := x.load(names, o); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

func (c *Compiled) open(ctx context.Context, o RunOptions, h engine.Hooks) (exec.Runner, error) {
	switch {
	case o.InPlace && c.compiled == nil:
		return nil, errors.New("the reference executor does not work in place")
	case o.InPlace:
		given := map[string][]byte{}
		for name, d := range o.In {
			given[name] = d.bytes
		}
		return c.compiled.OpenLocal(ctx, h, given)
	case c.compiled != nil:
		return c.compiled.Open(ctx, h)
	}
	return c.job.Open(ctx, h)
}

// drops reports whether the kernels leave a grid without the program's values.
func (c *Compiled) drops(g *ir.Grid) bool {
	return c.compiled != nil && slices.Contains(c.compiled.Dropped(), g)
}

// fits refuses data that a grid cannot take.
func (c *Compiled) fits(name string, d Data) error {
	g := c.program.ir.Grid(name)
	if g == nil {
		var known []string
		for _, g := range c.program.ir.Grids {
			known = append(known, g.Name)
		}
		if near := diag.Nearest(name, known); near != "" {
			return fmt.Errorf("gridloom: the program has no grid %s; did you mean %s?", name, near)
		}
		return fmt.Errorf("gridloom: the program has no grid %s", name)
	}
	if d.cells != g.Type {
		return fmt.Errorf("gridloom: %s is a %s grid and cannot take cells of type %s",
			name, g.Type.Word(), d.cells.Word())
	}
	cells := 1
	for _, n := range c.Shape(name) {
		cells *= n
	}
	if d.count != cells {
		return fmt.Errorf("gridloom: %s has %v cells, and %d values were given", name, c.Shape(name), d.count)
	}
	return nil
}

// load gives grids their first values.
func (x *Execution) load(names []string, o RunOptions) error {
	for _, name := range names {
		if o.InPlace {
			break // they are there
		}
		cells, err := x.runner.Grid(name)
		if err != nil {
			return err
		}
		copy(cells, o.In[name].bytes)
	}
	return x.runner.Initialise(names)
}

// Advance runs so many iterations of the program's outermost iterate, or to the program's
// end for 0. Cancelling ctx stops it between two calls and returns ctx's error; another
// Advance goes on from there.
func (x *Execution) Advance(ctx context.Context, iterations int64) error {
	if iterations < 0 {
		return fmt.Errorf("gridloom: %d iterations cannot be run", iterations)
	}
	done, err := x.runner.Advance(ctx, exec.Limit{Iterations: iterations})
	x.done = done
	switch {
	case err != nil:
		return worded(err)
	case done.Stopped:
		return context.Cause(ctx)
	}
	return nil
}

// Finished reports whether the program has ended.
func (x *Execution) Finished() bool { return x.done.Finished }

// Progress returns how far the program is.
func (x *Execution) Progress() Progress {
	return Progress{x.done.Iterations, x.done.Points, x.done.Busy}
}

// Grid returns a grid as it is now: not a copy, but the memory that the program works on.
// It is valid, and may be written to, until the next Advance or Close.
func (x *Execution) Grid(name string) (*Grid, error) {
	g := x.compiled.program.ir.Grid(name)
	if g == nil {
		return nil, fmt.Errorf("gridloom: the program has no grid %s", name)
	}
	if x.compiled.drops(g) {
		return nil, fmt.Errorf("gridloom: the plan computes %s without storing it, because it is no result: "+
			"name it in copyout", name)
	}
	cells, err := x.runner.Grid(name)
	if err != nil {
		return nil, worded(err)
	}
	return &Grid{g.Type.Word(), x.compiled.Shape(name), cells}, nil
}

// Scalar returns the present value of a scalar.
func (x *Execution) Scalar(name string) (float64, error) {
	v, err := x.runner.Scalar(name)
	if err != nil {
		return 0, worded(err)
	}
	return v.AsFloat(), nil
}

// Close gives everything back. The slices that the program worked on in place stay.
func (x *Execution) Close() error { return x.runner.Close() }

// result returns copies of all grids that have values of the program, or the slices that were worked on in place.
func (x *Execution) result(o RunOptions) (*Result, error) {
	c := x.compiled
	out := &Result{
		Grids: map[string]*Grid{}, Scalars: map[string]float64{},
		Iterations: x.done.Iterations, Points: x.done.Points, Time: x.done.Busy,
	}
	if local, ok := x.runner.(*exec.Local); ok {
		if err := local.Settle(); err != nil {
			return nil, worded(err)
		}
	}
	for _, g := range c.program.ir.Grids {
		if c.drops(g) {
			continue
		}
		cells, err := x.runner.Grid(g.Name)
		if err != nil {
			return nil, worded(err)
		}
		if _, given := o.In[g.Name]; !given || !o.InPlace {
			cells = copied(cells) // the runner's memory goes when it closes
		}
		out.Grids[g.Name] = &Grid{g.Type.Word(), c.Shape(g.Name), cells}
	}
	for _, s := range reduced(c.program.ir) {
		v, err := x.runner.Scalar(s.Name)
		if err != nil {
			return nil, worded(err)
		}
		out.Scalars[s.Name] = v.AsFloat()
	}
	return out, nil
}

func reduced(p *ir.Program) []*ir.Scalar {
	return slices.DeleteFunc(slices.Clone(p.Scalars), func(s *ir.Scalar) bool { return !s.Reduced })
}

// copied returns a copy that is aligned for cells of any type.
func copied(cells []byte) []byte {
	words := make([]uint64, (len(cells)+7)/8)
	data := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))[:len(cells)]
	copy(data, cells)
	return data
}
