package sim

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// lanes is the width of a register and of a warp.
const lanes = 32

// Program is a kernel compiled to the code of a register machine. There are
// two banks of registers: F for floating-point values and I for all others.
// Values of F32 are kept rounded, values of I32, U8 and Bool reduced to their
// range, so that a register holds what op.Value does.
type Program struct {
	kernel  *kernel.Kernel
	code    []instr
	nf, ni  int32 // registers of each bank
	lits    []literal
	scalars []int32 // registers of the kernel's scalars
	slots   []slot  // the argument buffers, then the Allocs
	places  []place
	gpu     bool                    // has threads or blocks
	resides bool                    // has a grid barrier
	pairs   bool                    // agents meet in pairs: not by barriers of all threads alone
	flags   bool                    // blocks wait for each other by flags
	flagged map[*kernel.Buffer]bool // the buffers that hold flags
}

// literal is a register that holds one value for good.
type literal struct {
	reg   int32
	value op.Value
}

// slot is a buffer as the code names it.
type slot struct {
	buffer  *kernel.Buffer
	perLane bool // every lane has its own
	private bool // made again by every execution of its Alloc
	bulk    bool // bulk copies write to it
	traffic trafficKind
}

// place is a statement, for messages.
type place struct {
	path  string
	stmt  kernel.Stmt    // nil for the kernel as a whole
	loops []*kernel.Loop // around the statement
	vars  []int32        // their variables' registers
}

// instr is one instruction. What the operands are depends on the opcode: a
// register of the bank that the opcode or typ says, or a slot; d is written;
// to is where a jump goes.
type instr struct {
	op         opcode
	sub        uint8 // op.Op, op.Func, kernel.Scope or a dimension
	typ        types.Type
	a, b, c, d int32
	e, f       int32 // of bulk copies
	to         int32
	at         int32 // index of the place
}

type opcode uint8

const (
	// Values. All lanes are computed; what lanes that are not active get is
	// not used.
	opMovF       opcode = iota // d = a
	opMovI                     //
	opSelectF                  // d = I[a] ? b : c
	opSelectI                  //
	opBinaryF64                // d = a sub b
	opBinaryF32                //
	opBinaryI                  // of typ
	opFma                      // d = a * b + c of typ, rounded once
	opCompareF                 // I[d] = a sub b, of typ
	opCompareI                 //
	opNegF                     // d = -a
	opNegI                     // of typ
	opNot                      // d = !a
	opIntToF64                 // F[d] = I[a]
	opIntToF32                 //
	opRoundF32                 // d = a rounded to F32
	opFloatToInt               // I[d] = F[a] as typ
	opIntToInt                 // d = a reduced to typ
	opCall                     // d = sub(a, b) of typ
	opRandom                   // F[d] = random of typ, seed I[a], number I[b]

	// What only active lanes do.
	opSetF         // d = a
	opSetI         //
	opLoad         // d = slot a [I[b]]
	opStore        // slot a [I[b]] = c
	opLoadVector   // d, d+1, ... = sub elements from slot a [I[b]]
	opStoreVector  // sub elements from slot a [I[b]] = c, c+1, ...
	opShuffle      // d = a of the lane that sub and I[b] say, of typ
	opLoadRemote   // as opLoad, from the block of rank I[to]
	opStoreRemote  // as opStore, to the block of rank I[to]
	opStoresRemote // as opStoreVector, to the block of rank I[to]
	opAlloc        // slot a anew

	// Control. The mask is pushed before it is narrowed.
	opPush // lanes where I[a]; to, if there are none
	opFlip // instead the lanes where that did not hold; to, if there are none
	opPop  //
	opJump // to

	// Loops of one thread.
	opKeep    // push the mask as it is
	opStep    // fault unless I[a] > 0
	opWhile   // lanes where I[a] < I[b]; to, if there are none
	opAdvance // I[d] += I[a]

	// Loops of threads and blocks: I[d] = I[a] + index*I[c] in the dimension
	// sub. Every thread has an iteration: the loops say how many there are.
	opThread
	opBlock
	opCluster

	// Loops of a CPU's threads and lanes.
	opTeam    // iterations that are shared out follow
	opMember  // the next iteration
	opDisband //
	opSpread  // all lanes of d = lane 0, of typ's bank
	opNeutral // lanes of d but the first = what changes nothing in sub, of typ
	opVector  // I[a] up to I[b] by I[c] in lanes
	opChunk   // I[d] = the next 32 iterations; to, if there are none
	opScalar  // back to lane 0
	opGather  // lane 0 of d = sub over all lanes, of typ

	opBarrier // of scope sub
	opGate    // of number sub for a threads

	// Asynchronous copies and mbarriers.
	opAsync    // sub elements to slot a [I[b]] from slot c [I[d]]
	opCommit   // the group
	opWait     // for all groups but the latest a
	opFence    // before bulk copies
	opBulk     // I[e] elements to slot a [I[b]] from slot c [I[d]], for mbarrier slot to [I[f]]
	opTensor   // box at I[d], I[d+1], ... of slot c to slot a [I[b]] of blocks I[e] or -1, for mbarrier slot to [I[f]]
	opInit     // mbarrier slot a [I[b]] for I[c] arrivals
	opArrive   // at mbarrier slot a [I[b]], announcing I[c] bytes, of the block of rank I[d]; c and d may be -1
	opMbarrier // wait at mbarrier slot a [I[b]] for the phase of parity I[c]
	opFlagSet  // flag slot a [I[b]] = I[c]
	opFlagWait // until flag slot a [I[b]] is no less than I[c]
	opEnd
)
