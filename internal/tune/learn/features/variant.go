package features

import (
	"math"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
)

// OfVariant are the features of a launch of a lowered variant beside OfLowered: what a cell takes of it, where that
// tells what a thread takes by its cells, and what the kernel's text tells of registers.
var OfVariant = []Feature{
	{"cell_loads", "accesses a cell", "Loads from global memory, by the cells of the domain.",
		"4 cells a thread that share 12 loads: 3", own},
	{"cell_stores", "accesses a cell", "Stores to global memory, by the cells of the domain.", "vec=4: 0.25", own},
	{"cell_shared", "accesses a cell", "Loads from shared memory and stores to it, by the cells of the domain.",
		"a star of 5 points whose inputs are all staged: 6.33", own},
	{"cell_floats", "operations a cell", "Operations on floating-point numbers, by the cells of the domain. Of a " +
		"select both sides count.", "a sum of 5 products: 9", own},
	{"cell_others", "operations a cell", "Operations on integers and conditions, by the cells of the domain.",
		"an index that is a sum of two products: 3", own},
	{"cell_barriers", "log2 of barriers a cell", "Barriers that threads wait at, by the cells of the domain; 0 " +
		"without.", "4 cells a thread, a barrier: -2", own},
	{"cell_threads", "log2 of threads a cell", "Threads of the launch by the cells of the domain.",
		"8 cells a thread: -3", own},
	{"statements", "log2", "Statements of the kernel's text, what is unrolled carried out once.", "64 statements: 6",
		own},
	{"live_registers", "registers", "What values take at once, half-way between early and late loads.",
		"lower.Resources", own},
	{"least_registers", "registers", "What values take at once if loads are late.", "lower.Resources", own},
	{"most_registers", "registers", "The most that a thread can have, by the kernel's limit and by its block's size.",
		"a block of 512 threads: 128", own},
	{"crowding", "", "Registers that values take by those that a thread can have.", "300 of 255: 1.18", own},
	{"live_blocks", "blocks", "Blocks that a multiprocessor holds at once with so many registers.", "2,048 / 256: 8",
		own},
	{"live_occupancy", "", "Resident threads by those that there could be, with so many registers.",
		"8 blocks of 256: 1", own},
	{"live_waves", "log2", "Blocks of the launch by those that there is room for at once.", "4 waves: 2", own},
}

// Variant returns the features of a launch: those of OfLowered, then those of OfVariant. A machine that is no GPU
// leaves what follows for GPUs at 0.
func Variant(x *kernel.Launch, b *ir.Binding, call *ir.Call, m *machine.Machine) ([]float64, error) {
	l, err := countLaunch(x.Kernel, arguments(x, b))
	if err != nil {
		return nil, err
	}
	cells := 1.0
	for _, n := range domainOf(b, call) {
		cells *= float64(max(1, n))
	}
	out := l.lift()
	for _, n := range []int64{l.global.loads, l.global.stores, l.local.loads + l.local.stores, l.floats, l.others} {
		out = append(out, float64(n)/cells)
	}
	barriers := 0.0
	if l.barriers > 0 {
		barriers = math.Log2(float64(l.barriers) / cells)
	}
	statements := 0
	kernel.WalkStmts(x.Kernel.Body, func(kernel.Stmt) { statements++ }, nil)
	out = append(out, barriers, math.Log2(l.threads/cells), log2(float64(statements)))
	if m == nil || m.GPU == nil {
		return append(out, make([]float64, len(OfLowered)+len(OfVariant)-len(out))...), nil
	}
	e := lower.Resources(x.Kernel)
	blocks := float64(e.BlocksPerMultiprocessor(m.GPU))
	launched := 1.0
	for _, n := range l.geometry.Blocks {
		launched *= float64(n)
	}
	available := float64(e.Available(m.GPU))
	return append(out, float64(e.Registers), float64(e.Least), available, float64(e.Registers)/available, blocks,
		e.Occupancy(m.GPU), math.Log2(launched/(max(1, blocks)*float64(max(1, m.Units))))), nil
}
