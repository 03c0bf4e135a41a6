package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// async prints a statement about asynchronous copies or mbarriers and reports
// whether it is one.
func (p *printer) async(s kernel.Stmt) bool {
	if p.Threads != nil && !p.Threads.async {
		return p.atOnce(s)
	}
	switch s := s.(type) {
	case *kernel.Prefetch:
		p.line("%s(&%s);", p.asyncHelper("prefetch"), p.element(s.Buffer, s.Index))
	case *kernel.AsyncCopy:
		p.copyAsync(s)
	case *kernel.AsyncCommit:
		p.line("%s();", p.asyncHelper("commit_async"))
	case *kernel.AsyncWait:
		p.line("%s<%d>();", p.asyncHelper("wait_async"), s.Pending)
	case *kernel.AsyncFence:
		p.line("%s();", p.asyncHelper("fence_async"))
	case *kernel.BulkCopy:
		bytes := kernel.Mul(s.Cells, kernel.L(op.Int(s.Cells.Type(), int64(s.To.Elem.Size()))))
		p.line("%s(&%s, &%s, %s, &%s);", p.asyncHelper("copy_bulk"), p.element(s.To, s.At), p.element(s.From, s.Index),
			p.expr(bytes), p.element(s.Mbarrier, s.Slot))
	case *kernel.TensorCopy:
		p.tensorCopy(s)
	case *kernel.MbarrierInit:
		p.line("%s(&%s, %s);", p.asyncHelper("mbarrier_init"), p.element(s.Mbarrier, s.Slot), p.expr(s.Count))
	case *kernel.MbarrierArrive:
		p.arrive(s)
	case *kernel.MbarrierWait:
		name := "mbarrier_wait"
		if p.exchanges {
			name += "_cluster"
		}
		p.line("%s(&%s, %s);", p.asyncHelper(name), p.element(s.Mbarrier, s.Slot), p.expr(s.Parity))
	case *kernel.FlagSet:
		p.line("%s(&%s, %s);", p.asyncHelper("flag_set"), p.element(s.Buffer, s.Index), p.expr(s.Value))
	case *kernel.FlagWait:
		p.line("%s(&%s, %s);", p.asyncHelper("flag_wait"), p.element(s.Buffer, s.Index), p.expr(s.Value))
	default:
		return false
	}
	return true
}

// copyAsync prints a copy of a few cells. Numbers in indices become part of the instruction, for compilers keep
// an address of each copy in registers otherwise. That is for copies of 16 bytes, which pass by the first-level cache:
// kernels with smaller ones are slower, since those come right after each other then (docs/performance-log.md).
func (p *printer) copyAsync(s *kernel.AsyncCopy) {
	size := int64(s.To.Elem.Size())
	bytes := int64(s.Cells) * size
	how, at, index := fmt.Sprint(bytes), s.At, s.Index
	if bytes == 16 {
		toRest, to := kernel.Apart(s.At)
		fromRest, from := kernel.Apart(s.Index)
		if to != 0 || from != 0 {
			how, at, index = fmt.Sprintf("16, %d, %d", to*size, from*size), toRest, fromRest
		}
	}
	p.line("%s<%s>(&%s, &%s);", p.asyncHelper("copy_async"), how, p.element(s.To, at), p.element(s.From, index))
}

// atOnce prints copies that are complete when they are begun, so that nobody
// has to wait for them, and reports whether s is about such copies.
func (p *printer) atOnce(s kernel.Stmt) bool {
	switch s := s.(type) {
	case *kernel.AsyncCopy:
		to, from := p.element(s.To, s.At), p.element(s.From, s.Index)
		if s.Cells > 1 {
			vector := p.vectorOf(s.To, s.Cells)
			to, from = "*"+p.vectorAt(s.To, s.At, vector), "*"+p.vectorAt(s.From, s.Index, vector)
		}
		p.line("%s = %s;", to, from)
	case *kernel.Prefetch:
		p.line("prefetch(&%s, 1);", p.element(s.Buffer, s.Index))
	case *kernel.AsyncCommit, *kernel.AsyncWait:
	default:
		return false
	}
	return true
}

// tensorCopy prints a copy of a box, whose indices begin with the last axis's. Along that, the tensor map
// may take several elements for one.
func (p *printer) tensorCopy(s *kernel.TensorCopy) {
	name := fmt.Sprintf("copy_tensor%d", len(s.Corner))
	args := []string{"&" + p.element(s.To, s.At), "&" + p.names[s.From]}
	for i := len(s.Corner) - 1; i >= 0; i-- {
		at := s.Corner[i]
		if i == len(s.Corner)-1 {
			at = kernel.Bin(op.Div, at, kernel.L(op.Int(types.I32, s.From.Tensor.Unit(s.From.Elem))))
		}
		args = append(args, p.expr(at))
	}
	args = append(args, "&"+p.element(s.Mbarrier, s.Slot))
	if s.Blocks != nil {
		name, args = name+"_multicast", append(args, p.expr(s.Blocks))
	}
	p.line("%s(%s);", p.asyncHelper(name), strings.Join(args, ", "))
}

// arrive prints an arrival, here with or without bytes that are to come, or at
// another block's mbarrier.
func (p *printer) arrive(s *kernel.MbarrierArrive) {
	name, args := "mbarrier_arrive", "&"+p.element(s.Mbarrier, s.Slot)
	switch {
	case s.Bytes != nil:
		name, args = "mbarrier_expect", args+", "+p.expr(s.Bytes)
	case s.Rank != nil && p.exchanges:
		name, args = "mbarrier_arrive_remote", args+", "+p.expr(s.Rank)
	case s.Rank != nil:
		name, args = "mbarrier_signal_remote", args+", "+p.expr(s.Rank)
	}
	p.line("%s(%s);", p.asyncHelper(name), args)
}

// exchanges reports whether threads of a cluster's blocks may read what those of another block have stored. Arrivals
// at another block's mbarrier then make stores visible there, for which the hardware waits until all stores of a thread
// are through. Where blocks send each other copies of the copy engine alone, arrivals say no more than that a thread
// has read what was there.
func exchanges(k *kernel.Kernel) bool {
	if clusterSize(k) == [3]int64{} {
		return false
	}
	found := slices.ContainsFunc(k.Buffers, func(b *kernel.Buffer) bool {
		return b.Space == kernel.Global && b.Mode == kernel.InOut
	})
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		switch s := s.(type) {
		case *kernel.Store:
			found = found || s.Rank != nil
		case *kernel.StoreVector:
			found = found || s.Rank != nil
		}
	}, func(e kernel.Expr) {
		kernel.Walk(e, func(e kernel.Expr) {
			load, ok := e.(*kernel.Load)
			found = found || ok && load.Rank != nil
		})
	})
	return found
}

func (p *printer) asyncHelper(name string) string {
	if p.Threads == nil || !p.Threads.async {
		p.lacks("asynchronous copies")
	}
	return p.helper(name)
}
