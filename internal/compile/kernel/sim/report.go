package sim

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Report is what a run did.
type Report struct {
	Faults []Fault // in the order in which they were first seen
	Counts
}

// Err returns the faults as one error, or nil if there are none.
func (r *Report) Err() error {
	if len(r.Faults) == 0 {
		return nil
	}
	var lines []string
	for _, f := range r.Faults {
		lines = append(lines, f.String())
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n"))
}

// Kind is a kind of fault.
type Kind uint8

const (
	OutOfBounds Kind = iota // an index outside its buffer
	Unwritten               // a load from a cell that nothing has written
	Race                    // two accesses, one a store, in no order
	Divergence              // a barrier that not all threads come to
	Residency               // a grid barrier with more blocks than the device holds
	BadStep                 // a loop whose step is not positive
	OutOfSteps              // Options.Steps
	Misaligned              // a wide access that is not at a multiple of its width
	PartialWarp             // a shuffle that not all threads of a warp come to
	Mismatch                // a barrier or mbarrier whose users disagree on how many they are
	Deadlock                // threads, one at least at an mbarrier or a numbered barrier, that wait for ever
	Exited                  // an access to the shared memory of a block that may not run
	Overtaken               // a phase of an mbarrier that may end before all have seen the one before end
)

var kindNames = [...]string{
	"out of bounds", "unwritten", "race", "divergence", "residency", "bad step", "out of steps",
	"misaligned", "partial warp", "mismatch", "deadlock", "exited", "overtaken",
}

func (k Kind) String() string { return kindNames[k] }

// Fault is something that went wrong, at one statement. Of faults of one kind
// at one statement the first is described and all are counted.
type Fault struct {
	Kind Kind
	Path string // of the statement
	Line int    // of the statement in kernel.Text; 0 for the kernel as a whole
	// Block and Thread are set for kernels of blocks and threads: x, y, z.
	Block, Thread [3]int64
	Where         string // the place in words: block, thread and loop variables
	Text          string
	Times         int64
}

// String says what happened and where.
func (f Fault) String() string {
	s := f.Path + ": " + f.Text
	if f.Where != "" {
		s += " (" + f.Where + ")"
	}
	if f.Times > 1 {
		s += fmt.Sprintf(", %d times", f.Times)
	}
	return s
}

// Counts is what a run did, counted by thread: an instruction that 20 threads
// of a warp take part in counts 20 times.
type Counts struct {
	Buffers  []Traffic // by buffer: the arguments, then the Allocs in the kernel's order
	Spaces   [7]Traffic
	Shuffles int64
	Barriers [4]int64 // barriers that all threads of a block, a warp, the grid, a cluster have passed, by kernel.Scope

	ops   [numTypes][numOps]int64
	funcs [numTypes][numFuncs]int64
	fused [numTypes]int64
}

const (
	numTypes = int(types.F64) + 1
	numOps   = int(op.Ge) + 1
	numFuncs = int(op.InvSqrt) + 1
)

// Space returns the accesses to a memory space.
func (c *Counts) Space(s kernel.Space) Traffic { return c.Spaces[s] }

// Op returns the number of operations on operands of a type. A fused multiply-add
// is a multiplication and an addition.
func (c *Counts) Op(o op.Op, t types.Type) int64 { return c.ops[t][o] }

// Func returns the number of evaluations of a function on arguments of a type.
func (c *Counts) Func(f op.Func, t types.Type) int64 { return c.funcs[t][f] }

// Fused returns the number of fused multiply-adds on operands of a type.
func (c *Counts) Fused(t types.Type) int64 { return c.fused[t] }

// Flops returns the floating-point operations: additions, subtractions,
// multiplications, divisions and functions, each as one; neither comparisons,
// min and max nor changes of sign, of which abs is one.
func (c *Counts) Flops() int64 {
	n := int64(0)
	for _, t := range []types.Type{types.F32, types.F64} {
		for _, o := range []op.Op{op.Add, op.Sub, op.Mul, op.Div} {
			n += c.ops[t][o]
		}
		for f := range numFuncs {
			if op.Func(f) != op.Abs {
				n += c.funcs[t][f]
			}
		}
	}
	return n
}
