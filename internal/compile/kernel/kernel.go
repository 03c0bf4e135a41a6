// Package kernel is the kernel IR: explicit loops, threads, memory spaces and
// barriers, one step above the text of C, CUDA or OpenCL. Every target is
// lowered to it, every optimisation happens in it or above it, and the
// printers in emit only spell it.
//
// A kernel is a tree of statements over typed scalar expressions. Loops carry
// a tag that says what runs them: one thread after the other, a vector unit,
// the threads of a team, the threads or blocks of a GPU. Memory is in named
// buffers, each in one space, indexed by element; wide accesses are statements
// that move several scalars at once, so that no expression has a vector type.
package kernel

import (
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Kernel is one function for a device.
type Kernel struct {
	Name    string
	Doc     []string  // what it computes, for the reader of the printed code
	Buffers []*Buffer // arguments in memory, in order
	Scalars []*Var    // arguments by value, in order, after the buffers
	// MinBlocks is how many blocks each multiprocessor should be able to hold
	// at once, which caps the registers of a thread; MaxRegisters caps them by
	// number. 0 leaves the matter to the compiler; one at most is set.
	MinBlocks, MaxRegisters int
	Body                    []Stmt
}

// Space is where a buffer lives.
type Space uint8

const (
	Global   Space = iota // the device's memory
	Constant              // read-only, cached for uniform access
	Shared                // one per thread block
	Private               // one per thread: registers, indexed by constants only on GPUs
	Mbarrier              // one per thread block: I64 elements that are mbarriers and nothing else
	// The device's memory, read as a one-dimensional image: nothing writes it while the kernel runs.
	Image
	// The device's memory, read in boxes by TensorCopy alone: nothing writes it while the kernel runs.
	TensorMap
)

var spaceNames = [...]string{"global", "constant", "shared", "private", "mbarrier", "image", "tensor"}

// String returns the space's name in kernel texts.
func (s Space) String() string { return spaceNames[s] }

// Mode is how a kernel uses a buffer.
type Mode uint8

const (
	In    Mode = iota // only read
	Out               // only written
	InOut             // both
)

var modeNames = [...]string{"in", "out", "inout"}

// String returns the mode's name in kernel texts.
func (m Mode) String() string { return modeNames[m] }

// Via is the way that an access to global memory takes through the caches. It
// changes no value.
type Via uint8

const (
	Plain     Via = iota
	ReadOnly      // loads: the read-only (texture) path; nothing writes the buffer while the kernel runs
	Streaming     // first to leave the caches: nothing needs the line again
	Resident      // last to leave the caches: others need the line again
)

var viaNames = [...]string{"", "readonly", "streaming", "resident"}

// String returns the way's name in kernel texts; "" for the plain one.
func (v Via) String() string { return viaNames[v] }

// Buffer is a named run of elements. No two buffer arguments overlap, but for
// images and tensor maps of what is only read. The first element of an argument
// and of shared memory is aligned to 16 bytes, and to 128 where shared memory is
// what a TensorCopy copies to.
//
// Example printed forms:
//
//	(buffer u f64 global in (mul L M))
//	(buffer u_image f64 image in (mul L M) (texel 2))
//	(buffer u_tensor f64 tensor in (mul L M) (extents L M) (box 8 34))
type Buffer struct {
	Name  string
	Elem  types.Type
	Space Space
	Mode  Mode
	Cells Expr // number of elements, over the kernel's scalars
	// Texel is how many elements each access to an image takes: 1, or 2 or 4
	// where all accesses are of so many. It is 0 in other spaces.
	Texel int
	// Tensor is how a tensor map sees the elements; nil in other spaces.
	Tensor *Tensor
}

// Fixed returns the number of elements of a buffer whose size is known when the
// kernel is compiled.
func (b *Buffer) Fixed() (int64, bool) { return IntLit(b.Cells) }

// Var is a named scalar: an argument, a loop counter or a local.
type Var struct {
	Name string
	Type types.Type
}

// Expr is a typed scalar expression without effects.
type Expr interface {
	Type() types.Type
	expr()
}

// Lit is a literal.
//
// Example printed form:
//
//	(f64 0.1)
type Lit struct{ Value op.Value }

// Ref reads a variable.
//
// Example printed form:
//
//	N
type Ref struct{ Var *Var }

// Load reads one element. With a rank it reads another block's copy of a
// shared buffer: that of the block with this number in the cluster.
//
// Example printed forms:
//
//	(load u (add row i))
//	(load u (add row i) (via readonly))
//	(load tile (i64 5) (rank r))
type Load struct {
	Buffer *Buffer
	Index  Expr // I64 or I32
	Via    Via
	Rank   Expr // I32, or nil
}

// Unary is Neg or Not.
//
// Example printed form:
//
//	(neg x)
type Unary struct {
	Op op.Op
	X  Expr
}

// Binary is an operator on two operands of one type.
//
// Example printed form:
//
//	(add x y)
type Binary struct {
	Op   op.Op
	X, Y Expr
}

// Fma is X*Y + Z, rounded once (op.Fma), on floats of one type. No pass makes
// one of a product and a sum, or takes one apart.
//
// Example printed form:
//
//	(fma x y z)
type Fma struct{ X, Y, Z Expr }

// Select is X where Cond holds and Y elsewhere. The operand that is not chosen
// is not evaluated, so it may guard a load.
//
// Example printed form:
//
//	(select c x y)
type Select struct{ Cond, X, Y Expr }

// Cast converts as op.Convert does.
//
// Example printed form:
//
//	(cast f32 x)
type Cast struct {
	To types.Type
	X  Expr
}

// FuncCall applies a mathematical function.
//
// Example printed form:
//
//	(call sqrt x)
type FuncCall struct {
	Func op.Func
	Args []Expr
}

// Random is op.Random of Seed and Number, both I64.
//
// Example printed form:
//
//	(random f64 seed number)
type Random struct {
	T            types.Type
	Seed, Number Expr
}

// Phase is where a global buffer lies in memory: how many elements its first one is behind a
// multiple of Bytes, as an I64 from 0. Nothing but speed may depend on it.
//
// Example printed form:
//
//	(phase u 64)
type Phase struct {
	Buffer *Buffer
	Bytes  int64
}

// Elements is how many elements of the buffer Bytes are.
func (e *Phase) Elements() int64 { return e.Bytes / int64(e.Buffer.Elem.Size()) }

func (*Lit) expr()      {}
func (*Ref) expr()      {}
func (*Load) expr()     {}
func (*Unary) expr()    {}
func (*Binary) expr()   {}
func (*Fma) expr()      {}
func (*Select) expr()   {}
func (*Cast) expr()     {}
func (*FuncCall) expr() {}
func (*Random) expr()   {}
func (*Phase) expr()    {}

func (e *Lit) Type() types.Type      { return e.Value.T }
func (e *Ref) Type() types.Type      { return e.Var.Type }
func (e *Load) Type() types.Type     { return e.Buffer.Elem }
func (e *Unary) Type() types.Type    { return e.X.Type() }
func (e *Fma) Type() types.Type      { return e.X.Type() }
func (e *Select) Type() types.Type   { return e.X.Type() }
func (e *Cast) Type() types.Type     { return e.To }
func (e *FuncCall) Type() types.Type { return e.Args[0].Type() }
func (e *Random) Type() types.Type   { return e.T }
func (e *Phase) Type() types.Type    { return types.I64 }
func (e *Binary) Type() types.Type {
	if e.Op.IsComparison() {
		return types.Bool
	}
	return e.X.Type()
}

// Stmt is a statement.
type Stmt interface{ stmt() }

// Let names a value once and for all.
//
// Example printed form:
//
//	(let row i64 (mul j N))
type Let struct {
	Var   *Var
	Value Expr
}

// Declare makes a variable that Assign may change.
//
// Example printed form:
//
//	(var sum f64 (f64 0))
type Declare struct {
	Var  *Var
	Init Expr
}

// Assign changes a variable made by Declare.
//
// Example printed form:
//
//	(set sum (add sum x))
type Assign struct {
	Var   *Var
	Value Expr
}

// Store writes one element, with a rank into another block's copy of a shared
// buffer.
//
// Example printed forms:
//
//	(store u (add row i) x)
//	(store u (add row i) x (via streaming))
//	(store tile (i64 5) x (rank r))
type Store struct {
	Buffer *Buffer
	Index  Expr
	Value  Expr
	Via    Via
	Rank   Expr // I32, or nil
}

// LoadVector names consecutive elements with one access. There are 2, 4 or 8
// of them, at most 16 bytes; the index is a multiple of their number.
//
// Example printed form:
//
//	(loads (a b) u (add row i) (via readonly))
type LoadVector struct {
	Vars   []*Var
	Buffer *Buffer
	Index  Expr
	Via    Via
}

// StoreVector writes consecutive elements with one access, as LoadVector
// reads them, with a rank into another block's copy of a shared buffer.
//
// Example printed forms:
//
//	(stores u (add row i) (x y) (via streaming))
//	(stores tile (i64 4) (x y) (rank r))
type StoreVector struct {
	Buffer *Buffer
	Index  Expr
	Values []Expr
	Via    Via
	Rank   Expr // I32, or nil
}

// ShuffleKind says whose value a lane gets.
type ShuffleKind uint8

const (
	ShuffleUp   ShuffleKind = iota // that of lane - By; its own where there is none
	ShuffleDown                    // that of lane + By; its own where there is none
	ShuffleXor                     // that of lane ^ By
	ShuffleFrom                    // that of lane By
)

var shuffleNames = [...]string{"up", "down", "xor", "from"}

// String returns the kind's name in kernel texts.
func (k ShuffleKind) String() string { return shuffleNames[k] }

// Shuffle names the value that another lane of the warp has. All threads of
// the warp come to it together.
//
// Example printed form:
//
//	(shuffle left f64 up x (i32 1))
type Shuffle struct {
	Var   *Var
	Kind  ShuffleKind
	Value Expr
	By    Expr // I32
}

// fromFirst reports whether all threads of a warp get what its first one has.
func (s *Shuffle) fromFirst() bool {
	n, literal := IntLit(s.By)
	return s.Kind == ShuffleFrom && literal && n == 0
}

// Alloc makes a Shared, Mbarrier or Private buffer for the statements after it
// in the same list. The number of its elements is a literal. Its contents start
// undefined.
//
// Example printed form:
//
//	(alloc tile f64 shared (i64 512))
type Alloc struct{ Buffer *Buffer }

// Tag is what runs the iterations of a loop.
type Tag uint8

const (
	Serial   Tag = iota // one after the other
	Unroll              // as Serial, written out; the trip count is a literal
	Vector              // independent iterations, for the lanes of a vector unit
	Parallel            // independent iterations, for the threads of a team
	ThreadX             // the threads of a block, fastest first
	ThreadY
	ThreadZ
	BlockX // the blocks of a grid; in a kernel with clusters, the clusters
	BlockY
	BlockZ
	ClusterX // the blocks of a cluster, which can reach each other's shared memory
	ClusterY
	ClusterZ
)

var tagNames = [...]string{
	"serial", "unroll", "vector", "parallel", "thread.x", "thread.y", "thread.z",
	"block.x", "block.y", "block.z", "cluster.x", "cluster.y", "cluster.z",
}

// String returns the tag's name in kernel texts.
func (t Tag) String() string { return tagNames[t] }

// IsThread reports whether the iterations are a block's threads.
func (t Tag) IsThread() bool { return t >= ThreadX && t <= ThreadZ }

// IsBlock reports whether the iterations are a grid's blocks or clusters.
func (t Tag) IsBlock() bool { return t >= BlockX && t <= BlockZ }

// IsCluster reports whether the iterations are a cluster's blocks.
func (t Tag) IsCluster() bool { return t >= ClusterX && t <= ClusterZ }

// Path says which cells a loop's body is written for.
type Path uint8

const (
	AnyPath  Path = iota
	Interior      // every access is inside its array: no boundary tests below
	Edge          // guards and index maps where needed
)

var pathNames = [...]string{"", "interior", "edge"}

// String returns the path's name in kernel texts; "" for any.
func (p Path) String() string { return pathNames[p] }

// Loop runs its body for Var = Lo, Lo+Step, ... below Hi.
//
// Example printed form:
//
//	(for i i64 vector interior lo hi (i64 1) ...)
type Loop struct {
	Var    *Var // I64, or I32 where that cannot overflow
	Lo, Hi Expr
	Step   Expr // positive
	Tag    Tag
	Path   Path
	// Threads is the team's size for Parallel: 0 lets the runtime choose.
	Threads int
	// Team says where a team is worth its start for Parallel; elsewhere the
	// calling thread runs all iterations. nil is everywhere.
	Team Expr
	// Collapse is the number of perfectly nested Parallel loops, this one
	// included, whose iterations are shared out together; 0 and 1 mean this one.
	Collapse int
	// Factor is how many iterations of a Serial loop compilers are asked to write out one after the other; 0 leaves
	// that to them.
	Factor int
	// Reduce are variables that Vector iterations accumulate into, each by one
	// operator: Add, Min or Max, in any order.
	Reduce []Reduction
	Body   []Stmt
}

// Reduction is a variable with the operator that accumulates into it.
type Reduction struct {
	Op  op.Op
	Var *Var
}

// If runs Then where Cond holds and Else elsewhere.
//
// Example printed form:
//
//	(if c (then ...) (else ...))
type If struct {
	Cond Expr
	Then []Stmt
	Else []Stmt
}

// Scope is the set of threads that a barrier waits for.
type Scope uint8

const (
	BlockScope   Scope = iota // all threads of the block
	WarpScope                 // the threads of one warp
	GridScope                 // all threads of all blocks, which must be co-resident
	ClusterScope              // all threads of the cluster's blocks
)

var scopeNames = [...]string{"block", "warp", "grid", "cluster"}

// String returns the scope's name in kernel texts.
func (s Scope) String() string { return scopeNames[s] }

// Barrier waits until all threads of its scope have come to it and their
// writes are visible to each other. A numbered barrier is for some warps of a
// block: it waits for as many threads as it says, and those of other numbers
// do not take part.
//
// Example printed forms:
//
//	(barrier block)
//	(barrier block (number 1) (threads 64))
type Barrier struct {
	Scope   Scope
	Number  int // 1 to 15, or 0 for all threads
	Threads int // a multiple of 32 where Number is not 0
}

// Comment is a line for the reader of the printed code.
//
// Example printed form:
//
//	(comment "halo rows")
type Comment struct{ Text string }

func (*Let) stmt()            {}
func (*Declare) stmt()        {}
func (*Assign) stmt()         {}
func (*Store) stmt()          {}
func (*LoadVector) stmt()     {}
func (*StoreVector) stmt()    {}
func (*Shuffle) stmt()        {}
func (*Prefetch) stmt()       {}
func (*AsyncCopy) stmt()      {}
func (*AsyncCommit) stmt()    {}
func (*AsyncWait) stmt()      {}
func (*BulkCopy) stmt()       {}
func (*TensorCopy) stmt()     {}
func (*AsyncFence) stmt()     {}
func (*MbarrierInit) stmt()   {}
func (*MbarrierArrive) stmt() {}
func (*MbarrierWait) stmt()   {}
func (*Alloc) stmt()          {}
func (*Loop) stmt()           {}
func (*If) stmt()             {}
func (*Barrier) stmt()        {}
func (*Comment) stmt()        {}

// Children returns an expression's operands in evaluation order: what a fused multiply-add
// adds to comes before the product. mapChildren has the same order.
func Children(e Expr) []Expr { return children(e, new([3]Expr)) }

// children is Children, in the place of a list. Where Children is inlined, the place is on the stack.
func children(e Expr, list *[3]Expr) []Expr {
	switch e := e.(type) {
	case *Lit, *Ref, *Phase:
		return nil
	case *Load:
		if e.Rank != nil {
			return append(list[:0], e.Index, e.Rank)
		}
		return append(list[:0], e.Index)
	case *Unary:
		return append(list[:0], e.X)
	case *Binary:
		return append(list[:0], e.X, e.Y)
	case *Fma:
		return append(list[:0], e.Z, e.X, e.Y)
	case *Select:
		return append(list[:0], e.Cond, e.X, e.Y)
	case *Cast:
		return append(list[:0], e.X)
	case *FuncCall:
		return e.Args
	case *Random:
		return append(list[:0], e.Seed, e.Number)
	}
	panic("kernel: unknown expression")
}

// Walk calls f for e and everything below it, parents first.
func Walk(e Expr, f func(Expr)) {
	f(e)
	for _, c := range Children(e) {
		Walk(c, f)
	}
}

// WalkStmts calls f for every statement of a list and of the lists inside,
// parents first, and g for every expression tree's root. Either may be nil.
func WalkStmts(list []Stmt, f func(Stmt), g func(Expr)) {
	each := func(es ...Expr) {
		for _, e := range es {
			if g != nil && e != nil {
				g(e)
			}
		}
	}
	for _, s := range list {
		if f != nil {
			f(s)
		}
		switch s := s.(type) {
		case *Let:
			each(s.Value)
		case *Declare:
			each(s.Init)
		case *Assign:
			each(s.Value)
		case *Store:
			each(s.Index, s.Value, s.Rank)
		case *LoadVector:
			each(s.Index)
		case *StoreVector:
			each(s.Index)
			each(s.Values...)
			each(s.Rank)
		case *Shuffle:
			each(s.Value, s.By)
		case *Prefetch:
			each(s.Index)
		case *AsyncCopy:
			each(s.At, s.Index)
		case *AsyncCommit, *AsyncWait, *AsyncFence:
		case *BulkCopy:
			each(s.At, s.Index, s.Cells, s.Slot)
		case *TensorCopy:
			each(s.At)
			each(s.Corner...)
			each(s.Slot, s.Blocks)
		case *MbarrierInit:
			each(s.Slot, s.Count)
		case *MbarrierArrive:
			each(s.Slot, s.Bytes, s.Rank)
		case *MbarrierWait:
			each(s.Slot, s.Parity)
		case *FlagSet:
			each(s.Index, s.Value)
		case *FlagWait:
			each(s.Index, s.Value)
		case *Alloc:
			each(s.Buffer.Cells)
		case *Loop:
			each(s.Lo, s.Hi, s.Step, s.Team)
			WalkStmts(s.Body, f, g)
		case *If:
			each(s.Cond)
			WalkStmts(s.Then, f, g)
			WalkStmts(s.Else, f, g)
		case *Barrier, *Comment:
		default:
			panic("kernel: unknown statement")
		}
	}
}
