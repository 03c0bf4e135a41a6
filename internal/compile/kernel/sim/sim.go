// Package sim executes kernels with the semantics of the machines that they
// are for, on small grids: blocks of threads in warps that meet at barriers,
// or the shared-out and vector loops of a CPU. It reports what no machine
// would: indices outside their buffers, reads of memory that nothing has
// written, races and barriers that not all threads come to. It counts what a
// kernel does exactly.
//
// A kernel is compiled once to the code of a register machine whose registers
// hold a value for each of 32 lanes. A warp's threads are the lanes; which of
// them take part in an instruction is a mask that conditions and loops narrow.
// A CPU kernel runs in lane 0, and the iterations of a vector loop, 32 at a
// time, in all of them. Warps keep their state between instructions, so that
// one can wait at a barrier while others run.
//
// Races are found by what must happen before what, not by what happened: two
// accesses to a cell, one of them a store, race if different threads,
// iterations or copy engines make them and no barrier, mbarrier or end of a
// loop puts one before the other. Whoever goes first, every race on the path
// taken is seen. An asynchronous copy is under way until somebody has waited
// for it, however soon it ends: its target holds nothing until then.
//
// The lanes of a warp take the branches of a condition one after the other, so
// a lane that waits at an mbarrier keeps the others waiting.
package sim

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Args are a kernel's arguments, in its order.
type Args struct {
	Buffers []*Memory
	Scalars []op.Value
}

// Options limit a run. The zero value sets no limits.
type Options struct {
	// Resident is the number of blocks that the device can hold at once, which
	// a grid barrier needs to be enough for all; 0 for no limit.
	Resident int
	// Faults is the number of different faults after which a run stops; 0
	// means 20.
	Faults int
	// Steps is the number of instructions after which a run is given up; 0 for
	// no limit.
	Steps int64
	// Turn is the number of instructions after which a warp lets others run; 0
	// for as many as it can before it has to wait. What is wrong is found in
	// any order, though it may show at another place first.
	Turn int
}

// Run executes a kernel once. The error says that the kernel or its arguments
// are not fit to be run; faults of the run itself are in the report.
func Run(k *kernel.Kernel, args Args, opts Options) (*Report, error) {
	p, err := Compile(k)
	if err != nil {
		return nil, err
	}
	return p.Run(args, opts)
}

// Run executes a compiled kernel once.
func (p *Program) Run(args Args, opts Options) (*Report, error) {
	m, err := p.newExecution(args, opts)
	if err != nil {
		return nil, err
	}
	m.grid()
	return m.report(), nil
}

// Compile prepares a kernel to be run any number of times.
func Compile(k *kernel.Kernel) (*Program, error) {
	if err := kernel.Verify(k); err != nil {
		return nil, err
	}
	return compile(k), nil
}

// check compares arguments with what a kernel takes. Sizes are checked by the
// caller, who knows them.
func (a Args) check(k *kernel.Kernel) error {
	if len(a.Buffers) != len(k.Buffers) || len(a.Scalars) != len(k.Scalars) {
		return fmt.Errorf("%s takes %d buffers and %d scalars, not %d and %d",
			k.Name, len(k.Buffers), len(k.Scalars), len(a.Buffers), len(a.Scalars))
	}
	for i, s := range k.Scalars {
		if a.Scalars[i].T != s.Type {
			return fmt.Errorf("%s: the scalar %s is %s, not %s", k.Name, s.Name, s.Type, a.Scalars[i].T)
		}
	}
	for i, b := range k.Buffers {
		if a.Buffers[i].elem != b.Elem {
			return fmt.Errorf("%s: the buffer %s is of %s, not %s", k.Name, b.Name, b.Elem, a.Buffers[i].elem)
		}
		for j, other := range a.Buffers[:i] {
			if other == a.Buffers[i] && (b.Mode != kernel.In || k.Buffers[j].Mode != kernel.In) {
				return fmt.Errorf("%s: %s and %s are the same memory, and one may be written",
					k.Name, k.Buffers[j].Name, b.Name)
			}
		}
	}
	return nil
}

// poison is what a cell holds that nothing has written: loud, and the same in
// every run.
func poison(t types.Type) op.Value {
	switch {
	case t.IsFloat():
		return op.Value{T: t, F: nan}
	case t == types.Bool:
		return op.BoolOf(true)
	}
	return op.Int(t, -1<<31+0x5EED)
}
