package sim

import "github.com/gridloom/gridloom/internal/compile/kernel"

// async compiles a statement about asynchronous copies and mbarriers.
func (c *compiler) async(s kernel.Stmt) {
	switch s := s.(type) {
	case *kernel.Prefetch: // a hint: neither wrong addresses nor others' stores matter
		c.expr(s.Index)
	case *kernel.AsyncCopy:
		c.emit(instr{
			op: opAsync, sub: uint8(s.Cells), a: c.slots[s.To], b: c.expr(s.At), c: c.slots[s.From], d: c.expr(s.Index),
		})
	case *kernel.AsyncCommit:
		c.emit(instr{op: opCommit})
	case *kernel.AsyncWait:
		c.emit(instr{op: opWait, a: int32(s.Pending)})
	case *kernel.AsyncFence:
		c.emit(instr{op: opFence})
	case *kernel.BulkCopy:
		in := instr{op: opBulk, a: c.slots[s.To], b: c.expr(s.At), c: c.slots[s.From], d: c.expr(s.Index)}
		in.e, in.f, in.to = c.expr(s.Cells), c.expr(s.Slot), c.slots[s.Mbarrier]
		c.p.slots[in.a].bulk = true
		c.emit(in)
	case *kernel.TensorCopy:
		c.tensorCopy(s)
	case *kernel.MbarrierInit:
		c.emit(instr{op: opInit, a: c.slots[s.Mbarrier], b: c.expr(s.Slot), c: c.expr(s.Count)})
	case *kernel.MbarrierArrive:
		in := instr{op: opArrive, a: c.slots[s.Mbarrier], b: c.expr(s.Slot), c: -1, d: -1}
		if s.Bytes != nil {
			in.c = c.expr(s.Bytes)
		}
		if s.Rank != nil {
			in.d = c.expr(s.Rank)
		}
		c.emit(in)
	case *kernel.MbarrierWait:
		c.emit(instr{op: opMbarrier, a: c.slots[s.Mbarrier], b: c.expr(s.Slot), c: c.expr(s.Parity)})
	case *kernel.FlagSet:
		c.emit(instr{op: opFlagSet, a: c.slots[s.Buffer], b: c.expr(s.Index), c: c.expr(s.Value)})
	case *kernel.FlagWait:
		c.emit(instr{op: opFlagWait, a: c.slots[s.Buffer], b: c.expr(s.Index), c: c.expr(s.Value)})
	default:
		panic("sim: unknown statement")
	}
}

// tensorCopy puts the indices of the box into registers that follow each other.
func (c *compiler) tensorCopy(s *kernel.TensorCopy) {
	in := instr{op: opTensor, a: c.slots[s.To], b: c.expr(s.At), c: c.slots[s.From], e: -1, to: c.slots[s.Mbarrier]}
	in.f = c.expr(s.Slot)
	if s.Blocks != nil {
		in.e = c.expr(s.Blocks)
	}
	regs := make([]int32, len(s.Corner))
	for i, e := range s.Corner {
		regs[i] = c.temp(e.Type())
	}
	for i, e := range s.Corner {
		c.into(e, regs[i])
	}
	in.d = regs[0]
	c.p.slots[in.a].bulk = true
	c.emit(in)
}
