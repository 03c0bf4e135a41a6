package profile

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Tally is what all threads of a launch do, counted on the kernel's text: how often its statements are carried out, by
// sizes. Both sides of a choice count.
type Tally struct {
	Flops  map[types.Type]float64 // additions, multiplications and so on, of each type; two for a fused multiply-add
	Loaded float64                // bytes of global memory that threads ask for, before any cache; copies count
	Stored float64
	Shared float64 // bytes that move through shared memory
	// Once is the bytes of global memory if each element that is needed moved once: of a grid no more than threads
	// load.
	Once float64

	from, to map[*kernel.Buffer]float64 // bytes of each argument that are loaded and stored
}

// sample is the blocks, threads and iterations that stand for all of a kernel of blocks.
var sample = kernel.Sample{Blocks: 9, ThreadsX: 8, Threads: 4, Iterations: 24}

// TallyOf counts what a launch does whose sizes are known.
func TallyOf(k *kernel.Kernel, args map[*kernel.Var]op.Value) (*Tally, error) {
	each := map[kernel.Stmt]*Tally{}
	tallyLists(k.Body, each)
	marked := map[kernel.Stmt]bool{}
	for s := range each {
		marked[s] = true
	}
	s := sample
	if !kernel.OfBlocks(k) {
		s = kernel.Sample{}
	}
	times, err := kernel.SampledExecutions(k, args, marked, s)
	if err != nil {
		return nil, fmt.Errorf("the work cannot be counted: %w", err)
	}
	sum := newTally()
	for stmt, t := range each {
		sum.add(t, float64(times[stmt]))
	}
	flags := kernel.Flags(k.Body)
	for _, b := range k.Buffers {
		if size := float64(kernel.Elements(b, args) * int64(b.Elem.Size())); !flags[b] {
			sum.Once += min(size, sum.from[b]) + min(size, sum.to[b])
		}
	}
	return sum, nil
}

func newTally() *Tally {
	return &Tally{Flops: map[types.Type]float64{}, from: map[*kernel.Buffer]float64{}, to: map[*kernel.Buffer]float64{}}
}

// add adds another tally so many times.
func (t *Tally) add(x *Tally, times float64) {
	for elem, n := range x.Flops {
		t.Flops[elem] += times * n
	}
	for b, n := range x.from {
		t.from[b] += times * n
	}
	for b, n := range x.to {
		t.to[b] += times * n
	}
	t.Loaded += times * x.Loaded
	t.Stored += times * x.Stored
	t.Shared += times * x.Shared
}

// tallyLists counts the statements of each list of a kernel together, without those inside of them: they are carried
// out equally often. The first statement stands for them.
func tallyLists(list []kernel.Stmt, each map[kernel.Stmt]*Tally) {
	var first kernel.Stmt
	sum := newTally()
	for _, s := range list {
		switch s := s.(type) {
		case *kernel.Loop:
			tallyLists(s.Body, each)
		case *kernel.If:
			tallyLists(s.Then, each)
			tallyLists(s.Else, each)
		case *kernel.Comment, *kernel.Alloc:
		default:
			if first == nil {
				first = s
			}
			sum.stmt(s)
		}
	}
	if first != nil {
		each[first] = sum
	}
}

// Type returns the type of most of the arithmetic, and all operations.
func (t *Tally) Type() (types.Type, float64) {
	most, all := types.F64, 0.0
	for _, elem := range []types.Type{types.F32, types.F64} {
		all += t.Flops[elem]
		if t.Flops[elem] > t.Flops[most] {
			most = elem
		}
	}
	return most, all
}

// stmt counts one execution of a statement.
func (t *Tally) stmt(s kernel.Stmt) {
	expr := func(list ...kernel.Expr) {
		for _, e := range list {
			kernel.Walk(e, t.expr)
		}
	}
	size := func(b *kernel.Buffer, n int64) float64 { return float64(n * int64(b.Elem.Size())) }
	copied := func(b *kernel.Buffer, elements int64) {
		t.load(b, size(b, elements))
		t.Shared += size(b, elements)
	}
	switch s := s.(type) {
	case *kernel.Let:
		expr(s.Value)
	case *kernel.Declare:
		expr(s.Init)
	case *kernel.Assign:
		expr(s.Value)
	case *kernel.Shuffle:
		expr(s.Value)
	case *kernel.Store:
		expr(s.Value)
		t.store(s.Buffer, size(s.Buffer, 1))
	case *kernel.StoreVector:
		expr(s.Values...)
		t.store(s.Buffer, size(s.Buffer, int64(len(s.Values))))
	case *kernel.LoadVector:
		t.load(s.Buffer, size(s.Buffer, int64(len(s.Vars))))
	case *kernel.AsyncCopy:
		copied(s.From, int64(s.Cells))
	case *kernel.BulkCopy:
		elements, known := kernel.IntLit(s.Cells)
		if !known {
			elements, _ = s.To.Fixed() // as many as there is room for
		}
		copied(s.From, elements)
	case *kernel.TensorCopy:
		copied(s.From, s.From.Tensor.Elements())
	}
}

func (t *Tally) load(b *kernel.Buffer, bytes float64) {
	switch b.Space {
	case kernel.Global, kernel.Image, kernel.Constant, kernel.TensorMap:
		t.Loaded += bytes
		t.from[b] += bytes
	case kernel.Shared:
		t.Shared += bytes
	}
}

func (t *Tally) store(b *kernel.Buffer, bytes float64) {
	switch b.Space {
	case kernel.Global:
		t.Stored += bytes
		t.to[b] += bytes
	case kernel.Shared:
		t.Shared += bytes
	}
}

func (t *Tally) expr(e kernel.Expr) {
	elem := e.Type()
	switch e := e.(type) {
	case *kernel.Load:
		t.load(e.Buffer, float64(e.Buffer.Elem.Size()))
	case *kernel.Binary:
		switch e.Op {
		case op.Add, op.Sub, op.Mul, op.Div:
			if elem.IsFloat() {
				t.Flops[elem]++
			}
		}
	case *kernel.Fma:
		t.Flops[elem] += 2
	case *kernel.FuncCall:
		if elem.IsFloat() && e.Func != op.Abs && e.Func != op.Quotient { // those are hardly ever needed
			t.Flops[elem]++
		}
	}
}
