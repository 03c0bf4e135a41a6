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
	Body    []Stmt
}

// Space is where a buffer lives.
type Space uint8

const (
	Global   Space = iota // the device's memory
	Constant              // read-only, cached for uniform access
	Shared                // one per thread block
	Private               // one per thread: registers, indexed by constants only on GPUs
)

var spaceNames = [...]string{"global", "constant", "shared", "private"}

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

// Buffer is a named run of elements. No two buffer arguments overlap.
//
// Example printed form:
//
//	(buffer u f64 global in (mul L M))
type Buffer struct {
	Name  string
	Elem  types.Type
	Space Space
	Mode  Mode
	Cells Expr // number of elements, over the kernel's scalars
}

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

// Load reads one element.
//
// Example printed form:
//
//	(load u (add row i))
type Load struct {
	Buffer *Buffer
	Index  Expr // I64 or I32
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

// Call applies a mathematical function.
//
// Example printed form:
//
//	(call sqrt x)
type Call struct {
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

func (*Lit) expr()    {}
func (*Ref) expr()    {}
func (*Load) expr()   {}
func (*Unary) expr()  {}
func (*Binary) expr() {}
func (*Select) expr() {}
func (*Cast) expr()   {}
func (*Call) expr()   {}
func (*Random) expr() {}

func (e *Lit) Type() types.Type    { return e.Value.T }
func (e *Ref) Type() types.Type    { return e.Var.Type }
func (e *Load) Type() types.Type   { return e.Buffer.Elem }
func (e *Unary) Type() types.Type  { return e.X.Type() }
func (e *Select) Type() types.Type { return e.X.Type() }
func (e *Cast) Type() types.Type   { return e.To }
func (e *Call) Type() types.Type   { return e.Args[0].Type() }
func (e *Random) Type() types.Type { return e.T }
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

// Store writes one element.
//
// Example printed form:
//
//	(store u (add row i) x)
type Store struct {
	Buffer *Buffer
	Index  Expr
	Value  Expr
}

// Alloc makes a Shared or Private buffer for the statements after it in the
// same list. Its contents start undefined.
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
	BlockX // the blocks of a grid
	BlockY
	BlockZ
)

var tagNames = [...]string{"serial", "unroll", "vector", "parallel", "thread.x", "thread.y", "thread.z", "block.x", "block.y", "block.z"}

// String returns the tag's name in kernel texts.
func (t Tag) String() string { return tagNames[t] }

// IsThread reports whether the iterations are a block's threads.
func (t Tag) IsThread() bool { return t >= ThreadX && t <= ThreadZ }

// IsBlock reports whether the iterations are a grid's blocks.
func (t Tag) IsBlock() bool { return t >= BlockX && t <= BlockZ }

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
	// Collapse is the number of perfectly nested Parallel loops, this one
	// included, whose iterations are shared out together; 0 and 1 mean this one.
	Collapse int
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
	BlockScope Scope = iota // all threads of the block
	WarpScope               // the threads of one warp
	GridScope               // all threads of all blocks, which must be co-resident
)

var scopeNames = [...]string{"block", "warp", "grid"}

// String returns the scope's name in kernel texts.
func (s Scope) String() string { return scopeNames[s] }

// Barrier waits until all threads of its scope have come to it and their
// writes are visible to each other.
//
// Example printed form:
//
//	(barrier block)
type Barrier struct{ Scope Scope }

// Comment is a line for the reader of the printed code.
//
// Example printed form:
//
//	(comment "halo rows")
type Comment struct{ Text string }

func (*Let) stmt()     {}
func (*Declare) stmt() {}
func (*Assign) stmt()  {}
func (*Store) stmt()   {}
func (*Alloc) stmt()   {}
func (*Loop) stmt()    {}
func (*If) stmt()      {}
func (*Barrier) stmt() {}
func (*Comment) stmt() {}

// Children returns an expression's operands.
func Children(e Expr) []Expr {
	switch e := e.(type) {
	case *Lit, *Ref:
		return nil
	case *Load:
		return []Expr{e.Index}
	case *Unary:
		return []Expr{e.X}
	case *Binary:
		return []Expr{e.X, e.Y}
	case *Select:
		return []Expr{e.Cond, e.X, e.Y}
	case *Cast:
		return []Expr{e.X}
	case *Call:
		return e.Args
	case *Random:
		return []Expr{e.Seed, e.Number}
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
			each(s.Index, s.Value)
		case *Alloc:
			each(s.Buffer.Cells)
		case *Loop:
			each(s.Lo, s.Hi, s.Step)
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
