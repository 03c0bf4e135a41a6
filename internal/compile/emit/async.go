package emit

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
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
		p.line("%s<%d>(&%s, &%s);", p.asyncHelper("copy_async"), s.Cells*s.To.Elem.Size(), p.element(s.To, s.At),
			p.element(s.From, s.Index))
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
	case *kernel.MbarrierInit:
		p.line("%s(&%s, %s);", p.asyncHelper("mbarrier_init"), p.element(s.Mbarrier, s.Slot), p.expr(s.Count))
	case *kernel.MbarrierArrive:
		p.arrive(s)
	case *kernel.MbarrierWait:
		name := "mbarrier_wait"
		if p.cluster != [3]int64{} {
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

// arrive prints an arrival, here with or without bytes that are to come, or at
// another block's mbarrier.
func (p *printer) arrive(s *kernel.MbarrierArrive) {
	name, args := "mbarrier_arrive", "&"+p.element(s.Mbarrier, s.Slot)
	switch {
	case s.Bytes != nil:
		name, args = "mbarrier_expect", args+", "+p.expr(s.Bytes)
	case s.Rank != nil:
		name, args = "mbarrier_arrive_remote", args+", "+p.expr(s.Rank)
	}
	p.line("%s(%s);", p.asyncHelper(name), args)
}

func (p *printer) asyncHelper(name string) string {
	if p.Threads == nil || !p.Threads.async {
		p.lacks("asynchronous copies")
	}
	return p.helper(name)
}
