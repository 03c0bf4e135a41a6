package gridloom_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gridloom/gridloom"
)

// must ends an example whose steps cannot fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func Example() {
	// gridloom.WorkerMain() stands first in main.
	p := must(gridloom.Parse("smooth.loom", smooth))
	u := []float64{0, 0, 4, 0, 0, 8}
	r := must(p.Run(context.Background(), gridloom.Options{}, gridloom.RunOptions{
		In: map[string]gridloom.Data{"u": gridloom.Slice(u)},
	}))
	fmt.Println(r.Grids["v"].Float64(), r.Scalars["change"])
	// Output: [0 1 2 1 2 6] 2
}

// Mistakes are shown with their place, and what may have been meant.
func ExampleParse() {
	_, err := gridloom.Parse("twice.loom", "parameter N = 4;\niterator i;\ndouble u[N], v[N];\n"+
		"stencil twice (out, in) { out[i] = 2*inn[i]; }\ntwice (v, u);\n")
	var mistakes *gridloom.SourceError
	if errors.As(err, &mistakes) {
		fmt.Println(len(mistakes.Diagnostics))
		fmt.Println(strings.TrimSpace(strings.Split(mistakes.Diagnostics[0], "\n")[0]))
	}
	// Output:
	// 1
	// twice.loom:4:38: error: nothing is called "inn"
}

func ExampleProgram_Grids() {
	p := must(gridloom.Parse("smooth.loom", smooth))
	for _, g := range p.Grids() {
		fmt.Println(g.Name, g.Type, g.Rank, g.CopyIn, g.CopyOut)
	}
	for _, s := range p.Scalars() {
		fmt.Println(s.Name, s.Type, s.Reduced)
	}
	for _, q := range p.Parameters() {
		fmt.Println(q.Name, q.Required)
	}
	// Output:
	// u double 1 true false
	// v double 1 false true
	// change double true
	// N false
}

// Sizes and scalars are given where a program is compiled; the source's own values
// stand for the others.
func ExampleProgram_Run() {
	p := must(gridloom.Parse("heat.loom", heat))
	o := gridloom.Options{Sizes: map[string]int{"N": 3, "M": 3}, Scalars: map[string]float64{"a": 0.25}}
	u := []float64{
		0, 0, 0,
		0, 4, 0,
		0, 0, 0,
	}
	r := must(p.Run(context.Background(), o, gridloom.RunOptions{
		In: map[string]gridloom.Data{"u": gridloom.Slice(u)}, Iterations: 1,
	}))
	fmt.Println(r.Grids["u"].Shape, r.Grids["u"].Float64(), r.Iterations)
	// Output: [3 3] [0 1 0 1 0 1 0 1 0] 1
}

// A program that was compiled once runs any number of times.
func ExampleProgram_Compile() {
	ctx := context.Background()
	p := must(gridloom.Parse("smooth.loom", smooth))
	c := must(p.Compile(ctx, gridloom.Options{Sizes: map[string]int{"N": 4}}))
	defer c.Close()
	for _, u := range [][]float64{{4, 0, 0, 0}, {0, 0, 0, 8}} {
		r := must(c.Run(ctx, gridloom.RunOptions{In: map[string]gridloom.Data{"u": gridloom.Slice(u)}}))
		fmt.Println(r.Grids["v"].Float64())
	}
	// Output:
	// [3 1 0 0]
	// [0 0 2 6]
}

// In place, kernels work on the caller's slices, which hold their grids at the end. On the
// processor nothing is copied.
func ExampleRunOptions_inPlace() {
	ctx := context.Background()
	p := must(gridloom.Parse("smooth.loom", smooth))
	u, v := []float64{0, 0, 4, 0, 0, 8}, make([]float64, 6)
	must(p.Run(ctx, gridloom.Options{}, gridloom.RunOptions{
		In: map[string]gridloom.Data{"u": gridloom.Slice(u), "v": gridloom.Slice(v)}, InPlace: true,
	}))
	fmt.Println(v)
	// Output: [0 1 2 1 2 6]
}

// An execution stops after every iteration that its caller wants to look at.
func ExampleCompiled_Start() {
	ctx := context.Background()
	p := must(gridloom.Parse("heat.loom", heat))
	c := must(p.Compile(ctx, gridloom.Options{
		Sizes: map[string]int{"N": 1, "M": 4}, Scalars: map[string]float64{"a": 0.5},
	}))
	defer c.Close()
	u := gridloom.Slice([]float64{8, 0, 0, 0})
	x := must(c.Start(ctx, gridloom.RunOptions{In: map[string]gridloom.Data{"u": u}}))
	defer x.Close()
	for range 3 {
		if err := x.Advance(ctx, 1); err != nil {
			panic(err)
		}
		fmt.Println(x.Progress().Iterations, must(x.Grid("u")).Float64())
	}
	// Output:
	// 1 [4 4 0 0]
	// 2 [4 2 2 0]
	// 3 [3 3 1 1]
}

// Between two advances a grid can be written to, here a source that goes on.
func ExampleExecution_Grid() {
	ctx := context.Background()
	p := must(gridloom.Parse("heat.loom", heat))
	c := must(p.Compile(ctx, gridloom.Options{
		Sizes: map[string]int{"N": 1, "M": 4}, Scalars: map[string]float64{"a": 0.5},
	}))
	defer c.Close()
	x := must(c.Start(ctx, gridloom.RunOptions{}))
	defer x.Close()
	for range 2 {
		must(x.Grid("u")).Float64()[0] = 8
		if err := x.Advance(ctx, 1); err != nil {
			panic(err)
		}
	}
	fmt.Println(must(x.Grid("u")).Float64())
	// Output: [6 4 2 0]
}

// The exact modes of arithmetic give the same bits on all devices; the reference executor
// tells which.
func ExampleOptions_arithmetic() {
	ctx := context.Background()
	p := must(gridloom.Parse("heat.loom", heat))
	in := gridloom.RunOptions{In: map[string]gridloom.Data{"u": gridloom.Slice(random(24 * 40))}}
	for _, mode := range []gridloom.Arithmetic{gridloom.Strict, gridloom.Contract} {
		exact := gridloom.Options{Arithmetic: mode, Device: gridloom.Reference()}
		right := must(p.Run(ctx, exact, in)).Grids["u"].Float64()
		got := must(p.Run(ctx, gridloom.Options{Arithmetic: mode}, in)).Grids["u"].Float64()
		differ := 0
		for i := range right {
			if got[i] != right[i] {
				differ++
			}
		}
		fmt.Println(mode, len(got), differ)
	}
	// Output:
	// strict 960 0
	// contract 960 0
}

// Tune finds a plan, which Options and EmitOptions take.
func ExampleProgram_Tune() {
	ctx := context.Background()
	p := must(gridloom.Parse("heat.loom", heat))
	o := gridloom.Options{Sizes: map[string]int{"N": 64, "M": 64}}
	t := must(p.Tune(ctx, o, gridloom.TuneOptions{Trials: 3}))
	o.Plan = t.Plan
	r := must(p.Run(ctx, o, gridloom.RunOptions{}))
	fmt.Println(t.Trials, t.Plan.String() != "", r.Iterations)
	// Output: 3 true 5
}

// A program becomes a library in C, CUDA or OpenCL with interfaces for other languages.
func ExampleProgram_Emit() {
	p := must(gridloom.Parse("smooth.loom", smooth))
	for _, f := range must(p.Emit(gridloom.EmitOptions{Language: gridloom.LanguageCUDA})) {
		fmt.Println(f.Name)
	}
	// Output:
	// smooth.h
	// smooth.cu
	// main.c
	// CMakeLists.txt
	// smooth.py
	// smooth.f90
	// README.md
}

// The processors and the reference executor are on every machine.
func ExampleDevices() {
	for _, d := range must(gridloom.Devices(context.Background())) {
		if d.Device == gridloom.CPU() || d.Device == gridloom.Reference() {
			fmt.Println(d.Device, d.Unusable == "", d.Threads > 0)
		}
	}
	// Output:
	// cpu true true
	// ref true true
}

func ExampleParsePlan() {
	plan := must(gridloom.ParsePlan("threads=2,block=0x64"))
	fmt.Println(plan)
	p := must(gridloom.Parse("heat.loom", heat))
	c := must(p.Compile(context.Background(), gridloom.Options{Plan: plan}))
	defer c.Close()
	fmt.Println(c.Plan())
	// Output:
	// threads=2,block=0x64
	// heat[0:1]@1{family=loops,block=0x64,threads=2}
}

func ExampleParseDevice() {
	d := must(gridloom.ParseDevice("cuda"))
	fmt.Println(d, d == gridloom.CUDA(0), d.Language())
	_, err := gridloom.ParseDevice("cdua")
	fmt.Println(err)
	// Output:
	// cuda:0 true cuda
	// gridloom: there is no device cdua
}
