package features

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// OfKernels counts what stands in kernels by the opcodes of LLVM that it would become, each statement once. Compilers
// share, move and fold what is counted here, so that counts of one source are not like those of the other.
func OfKernels(kernels []*kernel.Kernel) *Instructions {
	n := &Instructions{Of: map[string]int{}}
	for _, k := range kernels {
		n.Functions++
		n.Blocks++
		n.add("ret", 1)
		kernel.WalkStmts(k.Body, n.statement, func(e kernel.Expr) { kernel.Walk(e, n.expression) })
	}
	return n
}

// statement counts what a statement does beside its expressions.
func (n *Instructions) statement(s kernel.Stmt) {
	switch s := s.(type) {
	case *kernel.Store, *kernel.StoreVector:
		n.access("store")
	case *kernel.LoadVector:
		n.access("load")
	case *kernel.AsyncCopy, *kernel.BulkCopy, *kernel.TensorCopy:
		n.access("load")
		n.access("store")
	case *kernel.Shuffle, *kernel.Barrier, *kernel.Prefetch:
		n.add("call", 1)
	case *kernel.Loop:
		n.loop(s)
	case *kernel.If:
		n.add("br", 2)
		n.Blocks += 2
		if s.Else != nil {
			n.add("br", 1)
			n.Blocks++
		}
	}
}

// loop counts what a loop is: a question for a thread's number, or a variable that is counted up.
func (n *Instructions) loop(s *kernel.Loop) {
	switch {
	case s.Tag.IsThread(), s.Tag.IsBlock(), s.Tag.IsCluster():
		n.add("call", 1)
	case s.Tag == kernel.Unroll: // it is written out: what is inside counts once nonetheless
	default:
		n.add("phi", 1)
		n.add("icmp", 1)
		n.add("add", 1)
		n.add("br", 2)
		n.Blocks += 2
	}
}

// access counts an access to memory and its address.
func (n *Instructions) access(opcode string) {
	n.add("getelementptr", 1)
	n.add(opcode, 1)
}

// arithmetic is what operators become: on integers, and on floating-point numbers.
var arithmetic = map[op.Op][2]string{
	op.Add: {"add", "fadd"}, op.Sub: {"sub", "fsub"}, op.Mul: {"mul", "fmul"}, op.Div: {"sdiv", "fdiv"},
	op.Rem: {"srem", "frem"}, op.Neg: {"sub", "fsub"}, op.And: {"and", "and"}, op.Or: {"or", "or"},
	op.LAnd: {"and", "and"}, op.LOr: {"or", "or"}, op.Not: {"xor", "xor"},
}

// expression counts an expression without its operands.
func (n *Instructions) expression(e kernel.Expr) {
	switch e := e.(type) {
	case *kernel.Load:
		n.access("load")
	case *kernel.Unary:
		n.add(arithmetic[e.Op][kindOf(e.X)], 1)
	case *kernel.Binary:
		n.binary(e)
	case *kernel.Fma, *kernel.FuncCall, *kernel.Random:
		n.add("call", 1)
	case *kernel.Select:
		n.add("select", 1)
	case *kernel.Cast:
		n.add(cast(e.X.Type(), e.To), 1)
	}
}

// kindOf is 0 for integers and 1 for floating-point numbers.
func kindOf(e kernel.Expr) int {
	if e.Type().IsFloat() {
		return 1
	}
	return 0
}

func (n *Instructions) binary(e *kernel.Binary) {
	compare := [2]string{"icmp", "fcmp"}[kindOf(e.X)]
	switch {
	case e.Op.IsComparison():
		n.add(compare, 1)
	case e.Op == op.Min, e.Op == op.Max:
		n.add(compare, 1)
		n.add("select", 1)
	default:
		n.add(arithmetic[e.Op][kindOf(e.X)], 1)
	}
}

// cast is the opcode of a conversion.
func cast(from, to types.Type) string {
	switch {
	case from.IsFloat() && to.IsFloat():
		if to.Size() > from.Size() {
			return "fpext"
		}
		return "fptrunc"
	case from.IsFloat():
		return "fptosi"
	case to.IsFloat():
		if from == types.I32 || from == types.I64 {
			return "sitofp"
		}
		return "uitofp"
	case to.Size() < from.Size():
		return "trunc"
	case from == types.I32 || from == types.I64:
		return "sext"
	}
	return "zext"
}
