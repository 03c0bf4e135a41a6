package sim

import (
	"fmt"
	"math"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// compile translates a kernel that verifies.
func compile(k *kernel.Kernel) *Program {
	c := &compiler{
		p:     &Program{kernel: k, gpu: kernel.HasThreads(k), flagged: kernel.Flags(k.Body)},
		vars:  map[*kernel.Var]int32{},
		lits:  map[literalKey]int32{},
		slots: map[*kernel.Buffer]int32{},
		path:  []string{k.Name},
	}
	c.registers()
	c.place(nil)
	c.list(k.Body)
	c.emit(instr{op: opEnd})
	c.p.nf, c.p.ni = c.most[0], c.most[1]
	return c.p
}

type compiler struct {
	p      *Program
	vars   map[*kernel.Var]int32
	lits   map[literalKey]int32
	slots  map[*kernel.Buffer]int32
	free   [2]int32 // next register for a value without a name, by bank
	most   [2]int32
	path   []string
	loops  []*kernel.Loop
	at     int32
	vector *kernel.Loop // the vector loop around, if any
	shared int          // collapsed parallel loops that are still to be opened
}

// literalKey tells literals apart, the zeros and NaNs too.
type literalKey struct {
	t types.Type
	f uint64
	i int64
}

func bank(t types.Type) int {
	if t.IsFloat() {
		return 0
	}
	return 1
}

// registers gives every scalar, variable and literal a register of its own,
// and every buffer a slot.
func (c *compiler) registers() {
	k := c.p.kernel
	named := func(v *kernel.Var) int32 {
		c.vars[v] = c.temp(v.Type)
		return c.vars[v]
	}
	for _, b := range k.Buffers {
		c.slot(slot{buffer: b})
	}
	for _, v := range k.Scalars {
		c.p.scalars = append(c.p.scalars, named(v))
	}
	c.literal(op.Int(types.I32, 0)) // for what needs a neutral value
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		for _, v := range kernel.Named(s) { // those of a vector in registers that follow each other
			named(v)
		}
		switch s := s.(type) {
		case *kernel.Loop:
			named(s.Var)
			c.p.pairs = c.p.pairs || s.Tag.IsCluster()
		case *kernel.Barrier:
			c.p.resides = c.p.resides || s.Scope == kernel.GridScope
			c.p.pairs = c.p.pairs || s.Number != 0
		case *kernel.AsyncCopy, *kernel.MbarrierInit:
			c.p.pairs = true
		case *kernel.FlagSet, *kernel.FlagWait:
			c.p.pairs, c.p.resides, c.p.flags = true, true, true
		}
	}, func(e kernel.Expr) {
		kernel.Walk(e, func(e kernel.Expr) {
			if l, ok := e.(*kernel.Lit); ok {
				c.literal(l.Value)
			}
		})
	})
}

func (c *compiler) slot(s slot) int32 {
	n := int32(len(c.p.slots))
	s.traffic = trafficOf(s.buffer.Space, c.p.gpu)
	c.slots[s.buffer] = n
	c.p.slots = append(c.p.slots, s)
	return n
}

func (c *compiler) literal(v op.Value) int32 {
	key := literalKey{v.T, math.Float64bits(v.F), v.I}
	r, ok := c.lits[key]
	if !ok {
		r = c.temp(v.T)
		c.lits[key] = r
		c.p.lits = append(c.p.lits, literal{r, v})
	}
	return r
}

// temp returns the next free register of a type's bank.
func (c *compiler) temp(t types.Type) int32 {
	b := bank(t)
	r := c.free[b]
	c.free[b]++
	c.most[b] = max(c.most[b], c.free[b])
	return r
}

// emit appends an instruction and returns its address.
func (c *compiler) emit(in instr) int32 {
	in.at = c.at
	c.p.code = append(c.p.code, in)
	return int32(len(c.p.code) - 1)
}

// here makes an instruction jump to what follows.
func (c *compiler) here(from int32) { c.p.code[from].to = int32(len(c.p.code)) }

// place makes the statement at the present path what instructions belong to.
func (c *compiler) place(s kernel.Stmt) {
	pl := place{path: strings.Join(c.path, "/"), stmt: s}
	for _, l := range c.loops {
		pl.loops = append(pl.loops, l)
		pl.vars = append(pl.vars, c.vars[l.Var])
	}
	c.at = int32(len(c.p.places))
	c.p.places = append(c.p.places, pl)
}

func (c *compiler) list(list []kernel.Stmt) {
	labels := kernel.Labels(list)
	for i, s := range list {
		at, free := c.at, c.free
		c.path = append(c.path, labels[i])
		c.place(s)
		c.stmt(s)
		c.path = c.path[:len(c.path)-1]
		c.at, c.free = at, free
	}
}

func (c *compiler) branch(name string, list []kernel.Stmt) {
	c.path = append(c.path, name)
	c.list(list)
	c.path = c.path[:len(c.path)-1]
}

func (c *compiler) stmt(s kernel.Stmt) {
	switch s := s.(type) {
	case *kernel.Let:
		c.into(s.Value, c.vars[s.Var])
	case *kernel.Declare:
		c.into(s.Init, c.vars[s.Var])
	case *kernel.Assign:
		set := [...]opcode{opSetF, opSetI}[bank(s.Var.Type)]
		c.emit(instr{op: set, a: c.expr(s.Value), d: c.vars[s.Var]})
	case *kernel.Store:
		in := instr{op: opStore, a: c.slots[s.Buffer], b: c.expr(s.Index), c: c.expr(s.Value)}
		if s.Rank != nil {
			in.op, in.to = opStoreRemote, c.expr(s.Rank)
		}
		c.emit(in)
	case *kernel.LoadVector:
		c.emit(instr{
			op: opLoadVector, sub: uint8(len(s.Vars)), a: c.slots[s.Buffer], b: c.expr(s.Index), d: c.vars[s.Vars[0]],
		})
	case *kernel.StoreVector:
		c.storeVector(s)
	case *kernel.Shuffle:
		a, b := c.expr(s.Value), c.expr(s.By)
		c.emit(instr{op: opShuffle, sub: uint8(s.Kind), typ: s.Var.Type, a: a, b: b, d: c.vars[s.Var]})
	case *kernel.Alloc:
		c.alloc(s.Buffer)
	case *kernel.Loop:
		c.loop(s)
	case *kernel.If:
		c.branches(s)
	case *kernel.Barrier:
		if s.Number != 0 {
			c.emit(instr{op: opGate, sub: uint8(s.Number), a: int32(s.Threads)})
		} else {
			c.emit(instr{op: opBarrier, sub: uint8(s.Scope)})
		}
	case *kernel.Comment:
	default:
		c.async(s)
	}
}

// storeVector puts the values into registers that follow each other.
func (c *compiler) storeVector(s *kernel.StoreVector) {
	in := instr{op: opStoreVector, sub: uint8(len(s.Values)), a: c.slots[s.Buffer], b: c.expr(s.Index)}
	regs := make([]int32, len(s.Values))
	for i, x := range s.Values {
		regs[i] = c.temp(x.Type())
	}
	for i, x := range s.Values {
		c.into(x, regs[i])
	}
	in.c = regs[0]
	if s.Rank != nil {
		in.op, in.to = opStoresRemote, c.expr(s.Rank)
	}
	c.emit(in)
}

// alloc makes room for local memory. Private memory belongs to a thread: on a
// CPU all lanes of a vector loop share it, unless it is made in the loop.
func (c *compiler) alloc(b *kernel.Buffer) {
	n := c.slot(slot{
		buffer: b, private: b.Space == kernel.Private,
		perLane: b.Space == kernel.Private && (c.p.gpu || c.vector != nil),
	})
	if b.Space == kernel.Private {
		c.emit(instr{op: opAlloc, a: n})
	}
}

func (c *compiler) branches(s *kernel.If) {
	cond := c.expr(s.Cond)
	then := c.emit(instr{op: opPush, a: cond})
	c.branch("then", s.Then)
	c.here(then)
	if len(s.Else) > 0 {
		other := c.emit(instr{op: opFlip})
		c.branch("else", s.Else)
		c.here(other)
	}
	c.emit(instr{op: opPop})
}

// expr compiles an expression and returns the register that holds its value.
func (c *compiler) expr(e kernel.Expr) int32 {
	switch e := e.(type) {
	case *kernel.Lit:
		return c.literal(e.Value)
	case *kernel.Ref:
		return c.vars[e.Var]
	case *kernel.Cast:
		if fits(e.X.Type(), e.To) {
			return c.expr(e.X)
		}
	}
	d := c.temp(e.Type())
	c.into(e, d)
	return d
}

// fits reports whether the register of a value of one type holds its value as
// another type already.
func fits(from, to types.Type) bool {
	switch {
	case from == to:
		return true
	case from.IsFloat():
		return to == types.F64
	case to == types.I32:
		return from == types.U8 || from == types.Bool
	case to == types.U8:
		return from == types.Bool
	}
	return to == types.I64
}

// into compiles an expression so that its value comes into a register, which
// the expression does not read.
func (c *compiler) into(e kernel.Expr, d int32) {
	t := e.Type()
	free := c.free
	switch e := e.(type) {
	case *kernel.Lit, *kernel.Ref:
		c.emit(instr{op: [...]opcode{opMovF, opMovI}[bank(t)], a: c.expr(e), d: d})
	case *kernel.Load:
		in := instr{op: opLoad, a: c.slots[e.Buffer], b: c.expr(e.Index), d: d}
		if e.Rank != nil {
			in.op, in.to = opLoadRemote, c.expr(e.Rank)
		}
		c.emit(in)
	case *kernel.Unary:
		c.unary(e, d)
	case *kernel.Binary:
		c.binary(e, d)
	case *kernel.Fma:
		c.emit(instr{op: opFma, typ: t, a: c.expr(e.X), b: c.expr(e.Y), c: c.expr(e.Z), d: d})
	case *kernel.Select:
		c.choose(e, d)
	case *kernel.Cast:
		c.cast(e, d)
	case *kernel.FuncCall:
		in := instr{op: opCall, sub: uint8(e.Func), typ: t, d: d, a: c.expr(e.Args[0])}
		if len(e.Args) > 1 {
			in.b = c.expr(e.Args[1])
		}
		c.emit(in)
	case *kernel.Random:
		c.emit(instr{op: opRandom, typ: t, a: c.expr(e.Seed), b: c.expr(e.Number), d: d})
	case *kernel.Phase:
		c.into(kernel.I(phase(e)), d)
	default:
		panic(fmt.Sprintf("sim: unknown expression %T", e))
	}
	c.free = free
}

// phase is where a buffer lies: somewhere, and most buffers elsewhere than others, since results
// must not depend on it.
func phase(e *kernel.Phase) int64 {
	n := int64(0)
	for _, b := range []byte(e.Buffer.Name) {
		n += int64(b)
	}
	return n % e.Elements()
}

func (c *compiler) unary(e *kernel.Unary, d int32) {
	in := instr{sub: uint8(e.Op), typ: e.X.Type(), a: c.expr(e.X), d: d}
	switch {
	case e.Op == op.Not:
		in.op = opNot
	case in.typ.IsFloat():
		in.op = opNegF
	default:
		in.op = opNegI
	}
	c.emit(in)
}

func (c *compiler) binary(e *kernel.Binary, d int32) {
	in := instr{sub: uint8(e.Op), typ: e.X.Type(), a: c.expr(e.X), b: c.expr(e.Y), d: d}
	switch {
	case e.Op.IsComparison() && in.typ.IsFloat():
		in.op = opCompareF
	case e.Op.IsComparison():
		in.op = opCompareI
	case in.typ == types.F64:
		in.op = opBinaryF64
	case in.typ == types.F32:
		in.op = opBinaryF32
	default:
		in.op = opBinaryI
	}
	c.emit(in)
}

// choose compiles a select. Each operand is evaluated by the lanes that choose
// it alone.
func (c *compiler) choose(e *kernel.Select, d int32) {
	code := [...]opcode{opSelectF, opSelectI}[bank(e.Type())]
	cond := c.expr(e.Cond)
	if isLeaf(e.X) && isLeaf(e.Y) {
		c.emit(instr{op: code, a: cond, b: c.expr(e.X), c: c.expr(e.Y), d: d})
		return
	}
	then := c.emit(instr{op: opPush, a: cond})
	x := c.expr(e.X)
	c.here(then)
	other := c.emit(instr{op: opFlip})
	y := c.expr(e.Y)
	c.here(other)
	c.emit(instr{op: opPop})
	c.emit(instr{op: code, a: cond, b: x, c: y, d: d})
}

func isLeaf(e kernel.Expr) bool {
	switch e.(type) {
	case *kernel.Lit, *kernel.Ref:
		return true
	}
	return false
}

func (c *compiler) cast(e *kernel.Cast, d int32) {
	from := e.X.Type()
	in := instr{typ: e.To, a: c.expr(e.X), d: d}
	switch {
	case fits(from, e.To):
		in.op = [...]opcode{opMovF, opMovI}[bank(e.To)]
	case from.IsFloat() && e.To == types.F32:
		in.op = opRoundF32
	case from.IsFloat():
		in.op = opFloatToInt
	case e.To == types.F64:
		in.op = opIntToF64
	case e.To == types.F32:
		in.op = opIntToF32
	default:
		in.op = opIntToInt
	}
	c.emit(in)
}
