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
	Once   float64 // bytes of global memory if each element moved once
}

// sample is the blocks, threads and iterations that stand for all of a kernel of blocks.
var sample = kernel.Sample{Blocks: 37, ThreadsX: 4, Threads: 16, Iterations: 24}

// TallyOf counts what a launch does whose sizes are known.
func TallyOf(k *kernel.Kernel, args map[*kernel.Var]op.Value) (*Tally, error) {
	each := map[kernel.Stmt]*Tally{}
	marked := map[kernel.Stmt]bool{}
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		if t := tallyOf(s); t != nil {
			each[s], marked[s] = t, true
		}
	}, nil)
	count := kernel.SampledExecutions
	s := sample
	if !kernel.OfBlocks(k) {
		s = kernel.Sample{}
	}
	times, err := count(k, args, marked, s)
	if err != nil {
		return nil, fmt.Errorf("the work cannot be counted: %w", err)
	}
	sum := &Tally{Flops: map[types.Type]float64{}}
	for stmt, t := range each {
		n := float64(times[stmt])
		for elem, flops := range t.Flops {
			sum.Flops[elem] += n * flops
		}
		sum.Loaded += n * t.Loaded
		sum.Stored += n * t.Stored
		sum.Shared += n * t.Shared
	}
	flags := kernel.Flags(k.Body)
	for _, b := range k.Buffers {
		if flags[b] || b.Space == kernel.TensorMap || b.Space == kernel.Image && viewed(k, b) {
			continue
		}
		bytes := float64(kernel.Elements(b, args) * int64(b.Elem.Size()))
		if b.Mode == kernel.InOut {
			bytes *= 2
		}
		sum.Once += bytes
	}
	return sum, nil
}

// viewed reports whether memory that is read as an image is also an argument by itself: lowering names the image
// after it.
func viewed(k *kernel.Kernel, image *kernel.Buffer) bool {
	for _, b := range k.Buffers {
		if b.Space == kernel.Global && b.Name+"_image" == image.Name {
			return true
		}
	}
	return false
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

// tallyOf counts what one execution of a statement does, without the statements inside; nil if nothing.
func tallyOf(s kernel.Stmt) *Tally {
	t := &Tally{Flops: map[types.Type]float64{}}
	expr := func(e kernel.Expr) {
		if e == nil {
			return
		}
		kernel.Walk(e, t.expr)
	}
	size := func(b *kernel.Buffer, n int) float64 { return float64(n * b.Elem.Size()) }
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
		t.moved(s.Buffer, size(s.Buffer, 1), &t.Stored)
	case *kernel.StoreVector:
		for _, v := range s.Values {
			expr(v)
		}
		t.moved(s.Buffer, size(s.Buffer, len(s.Values)), &t.Stored)
	case *kernel.LoadVector:
		t.moved(s.Buffer, size(s.Buffer, len(s.Vars)), &t.Loaded)
	case *kernel.AsyncCopy:
		t.Loaded += size(s.From, s.Cells)
		t.Shared += size(s.From, s.Cells)
	case *kernel.BulkCopy:
		cells, known := kernel.IntLit(s.Cells)
		if !known {
			cells, _ = s.To.Fixed() // as much as there is room for
		}
		t.Loaded += size(s.From, int(cells))
		t.Shared += size(s.From, int(cells))
	case *kernel.TensorCopy:
		n := size(s.From, int(s.From.Tensor.Elements()))
		t.Loaded += n
		t.Shared += n
	}
	if len(t.Flops) == 0 && t.Loaded == 0 && t.Stored == 0 && t.Shared == 0 {
		return nil
	}
	return t
}

func (t *Tally) moved(b *kernel.Buffer, bytes float64, global *float64) {
	switch b.Space {
	case kernel.Global, kernel.Image, kernel.Constant:
		*global += bytes
	case kernel.Shared:
		t.Shared += bytes
	}
}

func (t *Tally) expr(e kernel.Expr) {
	elem := e.Type()
	switch e := e.(type) {
	case *kernel.Load:
		t.moved(e.Buffer, float64(e.Buffer.Elem.Size()), &t.Loaded)
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
		if elem.IsFloat() && e.Func != op.Abs {
			t.Flops[elem]++
		}
	}
}
