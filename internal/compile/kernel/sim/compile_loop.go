package sim

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
)

func (c *compiler) loop(l *kernel.Loop) {
	lo, hi, by := c.expr(l.Lo), c.expr(l.Hi), c.expr(l.Step)
	if _, ok := kernel.IntLit(l.Step); !ok {
		c.emit(instr{op: opStep, a: by})
	}
	bounds := instr{a: lo, b: hi, c: by, d: c.vars[l.Var]}
	switch {
	case l.Tag.IsBlock():
		bounds.op, bounds.sub = opBlock, uint8(l.Tag-kernel.BlockX)
		c.emit(bounds)
		c.body(l)
	case l.Tag.IsCluster():
		bounds.op, bounds.sub = opCluster, uint8(l.Tag-kernel.ClusterX)
		c.emit(bounds)
		c.body(l)
	case l.Tag.IsThread():
		bounds.op, bounds.sub = opThread, uint8(l.Tag-kernel.ThreadX)
		c.emit(bounds)
		c.body(l)
	case l.Tag == kernel.Vector:
		c.vectorLoop(l, bounds)
	case l.Tag == kernel.Parallel:
		c.parallelLoop(l, bounds)
	default:
		c.serialLoop(l, bounds)
	}
}

func (c *compiler) body(l *kernel.Loop) {
	c.loops = append(c.loops, l)
	c.list(l.Body)
	c.loops = c.loops[:len(c.loops)-1]
}

func (c *compiler) serialLoop(l *kernel.Loop, in instr) {
	c.emit(instr{op: opMovI, a: in.a, d: in.d})
	c.emit(instr{op: opKeep})
	test := c.emit(instr{op: opWhile, a: in.d, b: in.b})
	c.body(l)
	c.emit(instr{op: opAdvance, a: in.c, d: in.d})
	c.emit(instr{op: opJump, to: test})
	c.here(test)
	c.emit(instr{op: opPop})
}

// parallelLoop compiles a loop whose iterations are shared out. They run one
// after the other; every one of the innermost collapsed loop is a member.
func (c *compiler) parallelLoop(l *kernel.Loop, in instr) {
	outermost := c.shared == 0
	if outermost {
		c.shared = max(l.Collapse, 1)
		c.emit(instr{op: opTeam})
	}
	c.shared--
	innermost := c.shared == 0
	c.emit(instr{op: opMovI, a: in.a, d: in.d})
	c.emit(instr{op: opKeep})
	test := c.emit(instr{op: opWhile, a: in.d, b: in.b})
	if innermost {
		c.emit(instr{op: opMember})
	}
	c.body(l)
	c.emit(instr{op: opAdvance, a: in.c, d: in.d})
	c.emit(instr{op: opJump, to: test})
	c.here(test)
	c.emit(instr{op: opPop})
	if outermost {
		c.emit(instr{op: opDisband})
	}
}

// vectorLoop compiles a loop whose iterations run in lanes. What the body
// reads from outside, lane 0 has; it is spread to all. Each lane reduces into
// a value of its own.
func (c *compiler) vectorLoop(l *kernel.Loop, in instr) {
	for _, v := range outside(l) {
		if r, ok := c.vars[v]; ok && !c.isScalar(v) {
			c.emit(instr{op: opSpread, typ: v.Type, d: r})
		}
	}
	for _, r := range l.Reduce {
		c.emit(instr{op: opNeutral, sub: uint8(r.Op), typ: r.Var.Type, d: c.vars[r.Var]})
	}
	in.op = opVector
	c.emit(in)
	next := c.emit(instr{op: opChunk, d: in.d})
	c.vector = l
	c.body(l)
	c.vector = nil
	c.emit(instr{op: opJump, to: next})
	c.here(next)
	c.emit(instr{op: opScalar})
	for _, r := range l.Reduce {
		c.emit(instr{op: opGather, sub: uint8(r.Op), typ: r.Var.Type, d: c.vars[r.Var]})
	}
}

func (c *compiler) isScalar(v *kernel.Var) bool {
	for _, s := range c.p.kernel.Scalars {
		if s == v {
			return true
		}
	}
	return false
}

// outside returns the variables that a loop's body uses and does not declare,
// in the order of their first use.
func outside(l *kernel.Loop) []*kernel.Var {
	seen := map[*kernel.Var]bool{l.Var: true}
	var out []*kernel.Var
	use := func(v *kernel.Var) {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	kernel.WalkStmts(l.Body, func(s kernel.Stmt) {
		for _, v := range kernel.Named(s) {
			seen[v] = true
		}
		switch s := s.(type) {
		case *kernel.Loop:
			seen[s.Var] = true
		case *kernel.Assign:
			use(s.Var)
		}
	}, func(e kernel.Expr) {
		kernel.Walk(e, func(e kernel.Expr) {
			if r, ok := e.(*kernel.Ref); ok {
				use(r.Var)
			}
		})
	})
	return out
}
