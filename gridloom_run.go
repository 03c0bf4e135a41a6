package gridloom

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// RunOptions says how to run a program. The zero value runs it on the
// processor with its own sizes and values.
type RunOptions struct {
	// Set gives sizes and scalars their values, as texts: {"N": "256"}.
	Set map[string]string
	// In gives grids their first values: slices of float64, float32, int32,
	// uint8 or bool, as the grid is declared, in C order.
	In map[string]any
	// Device is "cpu" (the default) or "ref", the reference executor.
	Device string
	// FP is "contract" (the default), "strict" or "fast".
	FP string
	// Plan holds settings for the kernels, such as "threads=2".
	Plan string
	// Iterations stops after that many iterations of the program's outermost
	// iterate; 0 runs to the end.
	Iterations int64
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
func (g *Grid) Float32() []float32 { return view[float32](g, types.F32) }
func (g *Grid) Int32() []int32     { return view[int32](g, types.I32) }
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

// Run executes the program, with the plan of the options alone: unlike the
// command it does not look for one in the store of what was measured, so that
// it does the same on every machine. Cancelling ctx stops it between two stages and
// returns ctx's error.
func (p *Program) Run(ctx context.Context, o RunOptions) (*Result, error) {
	b, err := p.bind(o.Set, o.FP)
	if err != nil {
		return nil, err
	}
	r, err := p.open(ctx, b, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	given, err := p.load(r, b, o.In)
	if err != nil {
		return nil, err
	}
	if err := r.Initialise(given); err != nil {
		return nil, err
	}
	done, err := r.Advance(ctx, exec.Limit{Iterations: o.Iterations})
	if err != nil {
		return nil, err
	}
	if done.Stopped {
		return nil, ctx.Err()
	}
	return p.result(r, b, done)
}

// open compiles the program for the device and gives it memory.
func (p *Program) open(ctx context.Context, b *ir.Binding, o RunOptions) (exec.Runner, error) {
	switch o.Device {
	case "ref":
		return exec.OpenReference(b, exec.ReferenceOptions{})
	case "", "cpu":
	default:
		return nil, fmt.Errorf("gridloom: there is no device %s", o.Device)
	}
	plan, err := schedule.ParsePlan(o.Plan)
	if err != nil {
		return nil, err
	}
	m, err := lower.Program(b.Program, lower.Options{Plan: plan, AnyIntegers: o.Plan != "", Bound: b, NoInitial: true})
	if err != nil {
		return nil, err
	}
	cache, err := toolchain.OpenCache("")
	if err != nil {
		return nil, err
	}
	defer cache.Close()
	compiler, err := toolchain.Find(ctx, os.Getenv, cache)
	if err != nil {
		return nil, err
	}
	builder := &cpu.Builder{Compiler: compiler, Cache: cache, Arithmetic: b.Program.Arithmetic}
	image, err := builder.Build(ctx, []byte(emit.Source(emit.C, m)))
	if err != nil {
		return nil, err
	}
	return exec.Open(ctx, m, b, exec.Options{Device: "cpu", Image: image})
}

// load copies the caller's values into the grids.
func (p *Program) load(r exec.Runner, b *ir.Binding, in map[string]any) ([]string, error) {
	var names, known []string
	for _, g := range p.ir.Grids {
		known = append(known, g.Name)
	}
	for name := range in {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		g := p.ir.Grid(name)
		if g == nil {
			if near := diag.Nearest(name, known); near != "" {
				return nil, fmt.Errorf("gridloom: the program has no grid %s; did you mean %s?", name, near)
			}
			return nil, fmt.Errorf("gridloom: the program has no grid %s", name)
		}
		bytes, t := raw(in[name])
		if t != g.Type {
			return nil, fmt.Errorf("gridloom: %s is a %s grid and cannot take %T", name, g.Type.Word(), in[name])
		}
		cells, err := r.Grid(name)
		if err != nil {
			return nil, err
		}
		if len(bytes) != len(cells) {
			return nil, fmt.Errorf("gridloom: %s has %v cells, and %d values were given", name, b.Shape(g.Dims), len(bytes)/t.Size())
		}
		copy(cells, bytes)
	}
	return names, nil
}

// raw returns a slice's memory and the type of its cells.
func raw(values any) ([]byte, types.Type) {
	switch v := values.(type) {
	case []float64:
		return memory(v), types.F64
	case []float32:
		return memory(v), types.F32
	case []int32:
		return memory(v), types.I32
	case []uint8:
		return v, types.U8
	case []bool:
		return memory(v), types.Bool
	}
	return nil, types.Invalid
}

func memory[T any](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}

func (p *Program) result(r exec.Runner, b *ir.Binding, done exec.Progress) (*Result, error) {
	out := &Result{
		Grids: map[string]*Grid{}, Scalars: map[string]float64{},
		Iterations: done.Iterations, Points: done.Points, Time: done.Busy,
	}
	for _, g := range p.ir.Grids {
		cells, err := r.Grid(g.Name)
		if err != nil {
			return nil, err
		}
		// A copy, aligned for any type: the runner's memory goes when it closes.
		words := make([]uint64, (len(cells)+7)/8)
		data := memory(words)[:len(cells)]
		copy(data, cells)
		out.Grids[g.Name] = &Grid{Type: g.Type.Word(), Shape: b.Shape(g.Dims), data: data}
	}
	for _, s := range p.ir.Scalars {
		if !s.Reduced {
			continue
		}
		v, err := r.Scalar(s.Name)
		if err != nil {
			return nil, err
		}
		out.Scalars[s.Name] = v.AsFloat()
	}
	return out, nil
}
