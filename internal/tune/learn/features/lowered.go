package features

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// OfLowered are the features of a launch of a lowered variant, in the order of Lowered's numbers.
var OfLowered = []Feature{
	{"global_size_0", "threads", "Threads of the launch along x.",
		"1,024 columns, each computed by its own thread in blocks of 32: 1,024", parallelism},
	{"global_size_1", "threads", "Threads of the launch along y; 1 if there is no such axis.",
		"512 rows, of which a thread computes 4, in blocks of 8: 128", parallelism},
	{"global_size_2", "threads", "Threads of the launch along z; 1 if there is no such axis.",
		"a launch of two axes: 1", parallelism},
	{"local_size_0", "threads", "Threads of a block along x.", "block=8x32: 32", parallelism},
	{"local_size_1", "threads", "Threads of a block along y; 1 if there is no such axis.", "block=8x32: 8",
		parallelism},
	{"local_size_2", "threads", "Threads of a block along z; 1 if there is no such axis.", "block=8x32: 1",
		parallelism},
	{"local_bytes", "bytes", "Shared memory of a block, mbarriers and what aligns its buffers included.",
		"10 rows of 34 doubles: 2,720", "Remmelg et al. 2020, section 4.2.1"},
	{"global_stores", "accesses a thread", "Stores to global memory. One to a vector counts once.",
		"one result for each thread, all of them inside the domain: 1", accesses},
	{"global_loads", "accesses a thread", "Loads from global and constant memory and from images. One of a vector " +
		"counts once, and so does a copy by the copy engine. A load that a select guards always counts: boundaries " +
		"are rare; of two sides that load, the one with more does.",
		"a star of 5 points without staging: 5", accesses},
	{"local_stores", "accesses a thread", "Stores to shared memory. Copies from global memory are both: a load from " +
		"there, and a store to here.",
		"a tile of 10 rows of 34 cells, filled by 8 x 32 threads: 1.33", accesses},
	{"local_loads", "accesses a thread", "Loads from shared memory.",
		"a star of 5 points whose inputs are all staged: 5", accesses},
	{"cache_lines", "lines an access and warp", "Lines of 128 bytes that the threads of a warp touch together, in " +
		"the mean over all accesses to global memory, those of the copy engine left out. It is counted for the first warp " +
		"of a block in the middle, from what its first thread touches.",
		"neighbours load neighbouring doubles: 2; all threads load the same: 1", "Remmelg et al. 2020, section 4.2.3"},
	{"barriers", "a thread", "Barriers of a block, a cluster or the grid that a thread waits at. Those within a warp " +
		"and mbarriers do not count.",
		"a tile in shared memory that is filled once: 1", control},
	{"ifs", "a thread", "Conditional statements that a thread comes to. A loop that no thread goes through more than " +
		"once is one, too; if all go through it exactly once it is nothing.",
		"one test of whether the cell is inside the domain: 1", control},
	{"loop_bodies", "a thread", "Iterations of loops that a thread carries out one after the other. What is unrolled " +
		"is no loop.",
		"a loop over 64 planes with nothing inside: 64", control},
}

const (
	parallelism = "Remmelg et al. 2020, section 4.1"
	accesses    = "Remmelg et al. 2020, section 4.2.2, algorithm 1"
	control     = "Remmelg et al. 2020, section 4.3"
)

// CountedRounds is how many rounds are counted of a kernel that repeats.
const CountedRounds = 64

// Lowered returns the features of a launch for the sizes and scalars that the program is bound to. They are counted on
// the kernel: statements by how often all threads carry them out (kernel.PiecewiseExecutions), divided by the threads
// of the launch. Of a condition that data decide both sides count.
func Lowered(x *kernel.Launch, b *ir.Binding) ([]float64, error) {
	return OfKernel(x.Kernel, arguments(x, b))
}

// arguments returns the values of a launch's arguments, as far as they are known before it.
func arguments(x *kernel.Launch, b *ir.Binding) map[*kernel.Var]op.Value {
	args := x.Sizes(b.Params, 0, CountedRounds)
	for i, v := range x.Kernel.Scalars {
		if a, ok := x.Args[len(x.Kernel.Buffers)+i].(kernel.ScalarArg); ok && !a.Scalar.Reduced {
			args[v] = b.Scalar(a.Scalar)
		}
	}
	return args
}

// OfKernel is Lowered for a kernel and its arguments.
func OfKernel(k *kernel.Kernel, args map[*kernel.Var]op.Value) ([]float64, error) {
	c, err := countLaunch(k, args)
	if err != nil {
		return nil, err
	}
	return c.lift(), nil
}

// launch is a launch of a kernel with what is counted of it.
type launch struct {
	of       *kernel.Kernel
	geometry kernel.Geometry
	threads  float64 // of the launch
	shared   int64   // bytes of a block
	counts
	lines float64 // of cache, an access and warp
}

// countLaunch counts a launch.
func countLaunch(k *kernel.Kernel, args map[*kernel.Var]op.Value) (*launch, error) {
	g, err := kernel.LaunchGeometry(k, args)
	if err != nil {
		return nil, err
	}
	l := &launch{of: k, geometry: g, threads: 1}
	_, l.shared = kernel.SharedOffsets(k)
	for i, n := range g.Blocks {
		l.threads *= float64(n * g.Threads[i])
	}
	c, err := countOf(k, args)
	if err != nil {
		return nil, fmt.Errorf("the features of a launch cannot be counted: %w", err)
	}
	l.counts, l.lines = c.all(), c.linesOf(g.Threads, args)
	return l, nil
}

// lift returns Lift's features.
func (l *launch) lift() []float64 {
	out := make([]float64, 0, len(OfLowered))
	for i, n := range l.geometry.Blocks {
		out = append(out, float64(n*l.geometry.Threads[i]))
	}
	for _, n := range l.geometry.Threads {
		out = append(out, float64(n))
	}
	out = append(out, float64(l.shared))
	for _, n := range []int64{l.global.stores, l.global.loads, l.local.stores, l.local.loads} {
		out = append(out, float64(n)/l.threads)
	}
	return append(out, l.lines, float64(l.barriers)/l.threads, float64(l.ifs)/l.threads, float64(l.bodies)/l.threads)
}
