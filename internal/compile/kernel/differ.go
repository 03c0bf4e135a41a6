package kernel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/op"
)

// A Differing makes of a kernel another one in which one of its costs vanishes, and the others stay as they are: the
// code differencing of Rawat et al. 2019 (section IV). If the other kernel is faster, that cost binds the kernel, and
// its time is what can be had without the cost. It computes wrong numbers, reads and writes nothing outside of its
// buffers, waits and communicates as the kernel does, and no compiler can tell that part of its work is for nothing.
type Differing struct {
	Name    string // "dram"
	Removes string // what costs nothing any more, for readers
	Make    func(k *Kernel, s Surroundings) (*Kernel, error)
}

// The names of the differences.
const (
	WithoutDRAM       = "dram"
	WithoutL2         = "l2"
	WithoutL1         = "l1"
	WithoutShared     = "shared"
	WithoutArithmetic = "arithmetic"
)

// Differences are all of them, the farthest from the arithmetic first. Each of the first three leaves out what those
// before it do, and more.
var Differences = []Differing{
	{WithoutDRAM, "the device's memory: all is found in the last cache", withoutDRAM},
	{WithoutL2, "the last cache too: loads find all in the first one, and nothing is copied", withoutL2},
	{WithoutL1, "all loads of global memory", withoutL1},
	{WithoutShared, "loads of shared memory", withoutShared},
	{WithoutArithmetic, "arithmetic, but for one addition a value that is loaded", withoutArithmetic},
}

// Surroundings are where a kernel runs.
type Surroundings struct {
	Arguments map[*Var]op.Value // sizes, and what else of the scalars is known
	LastBytes int64             // of all buffers together, that stay in the last cache
	NearBytes int64             // likewise in the first one, beside what else is there
	Team      int64             // threads among which parallel loops are shared out
}

// Absent says that a kernel does not have the cost that was to vanish.
type Absent struct{ Why string }

// Error says why.
func (e *Absent) Error() string { return e.Why }

func absent(format string, args ...any) error { return &Absent{fmt.Sprintf(format, args...)} }

// IsAbsent reports whether an error says that a kernel does not have a cost.
func IsAbsent(err error) bool {
	_, is := errors.AsType[*Absent](err)
	return is
}

// withoutDRAM has blocks, or iterations of the loop that threads share out, do the work of some of them, whose cells
// the last cache holds. Where blocks wait for each other, or some have much more work, none stands for all: there,
// indices are folded.
func withoutDRAM(k *Kernel, s Surroundings) (*Kernel, error) {
	if bytes := Footprint(k, s.Arguments); bytes <= s.LastBytes {
		return nil, absent("its grids have %d bytes, and the last cache keeps them", bytes)
	}
	if Waits(k) || uneven(k, s.Arguments) {
		f := newFolding(k, s.Arguments)
		f.loads, f.stores, f.boxes = s.LastBytes, s.LastBytes, true
		return f.run()
	}
	return window(k, s, s.LastBytes)
}

// withoutL2 folds the indices of loads so much that the first cache holds all, and those of stores so that the last
// one does. Copies to shared memory, which go past the first cache, are made by the first block alone.
func withoutL2(k *Kernel, s Surroundings) (*Kernel, error) {
	if !OfBlocks(k) {
		return window(k, s, s.NearBytes*s.Team)
	}
	f := newFolding(k, s.Arguments)
	f.loads, f.stores = s.NearBytes, s.LastBytes
	near, err := f.run()
	copies, none := firstBlockCopies(cmpOr(near, k))
	switch {
	case none == nil:
		return copies, nil
	case IsAbsent(none):
		return near, err
	}
	return nil, none
}

func cmpOr(k, other *Kernel) *Kernel {
	if k != nil {
		return k
	}
	return other
}

// withoutL1 has hardly any thread load from global memory: the others take another value instead. Copies are made by
// the first block alone.
func withoutL1(k *Kernel, s Surroundings) (*Kernel, error) {
	less, err := skipLoads(k, func(b *Buffer) bool { return b.Space == Global || b.Space == Image })
	copies, none := firstBlockCopies(cmpOr(less, k))
	switch {
	case none == nil:
		return copies, nil
	case IsAbsent(none):
		return less, err
	}
	return nil, none
}

// withoutShared likewise has hardly any thread load from shared memory.
func withoutShared(k *Kernel, _ Surroundings) (*Kernel, error) {
	return skipLoads(k, func(b *Buffer) bool { return b.Space == Shared })
}

// OfBlocks reports whether a kernel is for blocks of threads.
func OfBlocks(k *Kernel) bool { return len(blockVars(k.Body)) > 0 }

// blockVars returns the variables of the loops over blocks or clusters.
func blockVars(body []Stmt) []*Var {
	var list []*Var
	WalkStmts(body, func(s Stmt) {
		if l, ok := s.(*Loop); ok && l.Tag.IsBlock() {
			list = append(list, l.Var)
		}
	}, nil)
	return list
}

// Waits reports whether blocks of a kernel wait for others.
func Waits(k *Kernel) bool {
	found := len(Flags(k.Body)) > 0
	WalkStmts(k.Body, func(s Stmt) {
		if b, ok := s.(*Barrier); ok {
			found = found || b.Scope == GridScope
		}
	}, nil)
	return found
}

// Elements returns how many elements an argument has; 0 if its sizes are not known.
func Elements(b *Buffer, args map[*Var]op.Value) int64 {
	if !uniform(b.Cells, args) {
		return 0
	}
	return Eval(b.Cells, args).I
}

// Footprint returns the bytes of a kernel's grids. Images and tensor maps are of memory that is there besides only if
// nothing else of the kernel has it, which their names do not tell: each counts.
func Footprint(k *Kernel, args map[*Var]op.Value) int64 {
	flags, sum := Flags(k.Body), int64(0)
	for _, b := range k.Buffers {
		if !flags[b] {
			sum += Elements(b, args) * int64(b.Elem.Size())
		}
	}
	return sum
}

// rebuilt returns a kernel with another body.
func rebuilt(k *Kernel, body []Stmt) *Kernel {
	next := *k
	next.Body = body
	return TidyNames(&next)
}

// mapList copies a list of statements and the lists inside, with what f makes of each statement without its lists.
func mapList(list []Stmt, f func(Stmt) []Stmt) []Stmt {
	var out []Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *Loop:
			l := *s
			l.Body = mapList(s.Body, f)
			out = append(out, f(&l)...)
		case *If:
			out = append(out, f(&If{s.Cond, mapList(s.Then, f), mapList(s.Else, f)})...)
		default:
			out = append(out, f(s)...)
		}
	}
	return out
}

// firstBlockCopies leaves copies from global to shared memory to the first block. Nothing tells a compiler that there
// are others. Who waits for the bytes of copies waits for none in the other blocks.
func firstBlockCopies(k *Kernel) (*Kernel, error) {
	blocks := blockVars(k.Body)
	var first Expr = L(op.BoolOf(true))
	for _, v := range blocks {
		first = And(first, Bin(op.Eq, V(v), L(op.Int(v.Type, 0))))
	}
	found := false
	body := mapList(k.Body, func(s Stmt) []Stmt {
		switch s := s.(type) {
		case *AsyncCopy, *BulkCopy, *TensorCopy:
			found = true
			return []Stmt{&If{Cond: first, Then: []Stmt{s}}}
		case *MbarrierArrive:
			if s.Bytes != nil {
				a := *s
				a.Bytes = Sel(first, s.Bytes, L(op.Int(s.Bytes.Type(), 0)))
				return []Stmt{&a}
			}
		}
		return []Stmt{s}
	})
	if !found || len(blocks) == 0 {
		return nil, absent("it copies nothing to shared memory")
	}
	return rebuilt(k, body), nil
}

// sortedLiterals returns the members of a set in order.
func sortedLiterals(set map[int64]bool) []int64 {
	var list []int64
	for v := range set {
		list = append(list, v)
	}
	slices.Sort(list)
	return list
}
