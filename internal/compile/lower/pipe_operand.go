package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Grids of memory that a stage reads at its own cell alone: the level before the last of a wave, a coefficient
// that varies. A thread waits for memory with each such load. So it copies its own cells to shared memory some
// steps ahead, as it does with planes. No other thread reads them: there are neither halos nor barriers.

// operandOf is a grid as one stage reads it. Stages are at different planes, so each has its own copies.
type operandOf struct {
	stage *pipeline.Stage
	value *graph.Value
}

// operand is where the planes of one are.
type operand struct {
	buffer *kernel.Buffer
	slots  int64 // planes that it has room for
	late   bool  // a row is read at several times, so that first steps read what nothing has brought
}

// allocateOperands makes room for the operands that are copied ahead.
func (p *pipe) allocateOperands(shared func(name string, t types.Type, cells int64) *kernel.Buffer) {
	if p.prefetch == 0 || p.set.Word(schedule.Pointwise) == schedule.DirectOperands {
		return
	}
	for _, st := range p.stream.Stages {
		for _, x := range p.parts[st][0].Operands {
			if !p.copies(x.Value) {
				continue
			}
			waits := int64(0)
			for r := range p.rows {
				x := p.parts[st][r].Operand(x.Value)
				waits = max(waits, x.First-x.Last)
			}
			o := &operand{slots: Circular(p.prefetch + waits), late: waits > 0}
			name := x.Value.Name() + "_prefetched"
			o.buffer = shared(name, x.Value.Type(), o.slots*p.warps*p.rows*32*p.run)
			p.operands[operandOf{st, x.Value}] = o
		}
	}
}

// copies reports whether asynchronous copies can bring a grid's cells: those of a vector have a size that they
// know, and the grid ends where the others do.
func (p *pipe) copies(v *graph.Value) bool {
	bytes := p.vec * int64(v.Type().Size())
	if bytes < LeastCopy || bytes > MostCopy {
		return false
	}
	for d, dim := range v.Dims() {
		if !dim.Lo.Equal(p.extents[d].Lo) || !dim.Hi.Equal(p.extents[d].Hi) {
			return false
		}
	}
	return true
}

// operandCell is where a cell of the thread is in an operand's buffer, for the plane of a stage so many steps
// later.
func (s *pipeStep) operandCell(o *operand, st *pipeline.Stage, later, r int64) kernel.Expr {
	slot := s.slotOf(s.stream.Lag(st)-later, o.slots)
	at := kernel.Add(kernel.Mul(kernel.Add(kernel.Mul(slot, kernel.I(s.warps)), s.warp), kernel.I(s.rows)), kernel.I(r))
	return kernel.Add(kernel.Mul(at, kernel.I(32*s.run)), kernel.Mul(s.lane, kernel.I(s.run)))
}

// lateOperands returns the operands whose first steps read what nothing has brought, in the order of stages.
func (p *pipe) lateOperands() []*operand {
	var list []*operand
	for _, st := range p.stream.Stages {
		for _, x := range p.parts[st][0].Operands {
			if o := p.operands[operandOf{st, x.Value}]; o != nil && o.late {
				list = append(list, o)
			}
		}
	}
	return list
}

// fetchOperands begins to bring what a step some steps later reads first of each operand, and closes the
// step's group of copies. It comes after all reads of the step, which leave their slots free for it.
func (s *pipeStep) fetchOperands(later int64) {
	if len(s.operands) == 0 {
		return
	}
	for _, st := range s.stream.Stages {
		for _, x := range s.parts[st][0].Operands {
			o := s.operands[operandOf{st, x.Value}]
			if o == nil {
				continue
			}
			for r := range s.rows {
				distance := later + s.parts[st][r].Operand(x.Value).First
				name := planeName(distance - s.stream.Lag(st))
				row := s.operandCell(o, st, distance, r)
				s.rowElements(x.Value.Memory, s.planeOf(st, distance), name, r,
					func(b *kernel.Buffer, element kernel.Expr, c int64) {
						s.body.emit(&kernel.AsyncCopy{
							To: o.buffer, At: kernel.Add(row, kernel.I(c)), From: b, Index: element, Cells: int(s.vec),
						})
					})
			}
		}
	}
	s.body.emit(&kernel.AsyncCommit{})
}

// farthest is how many planes after that of a step the last one is that the step begins to bring.
func (p *pipe) farthest() int64 {
	n := max(p.prefetch, 1)
	for of := range p.operands {
		for _, parts := range p.parts[of.stage] {
			n = max(n, p.prefetch+parts.Operand(of.value).First-p.stream.Lag(of.stage))
		}
	}
	return n
}

// planeName names the plane that is so many after the one that a step brings.
func planeName(n int64) string {
	if n < 0 {
		return fmt.Sprintf("behind_%d", -n)
	}
	return fmt.Sprintf("in_%d", n)
}

// fromOperand is a cell of an operand as it was copied; nil if the access is of none.
func (c *pipeCell) fromOperand(a *ir.Access, v *graph.Value) kernel.Expr {
	o := c.operands[operandOf{c.stage, v}]
	if o == nil || !c.stream.Operand(a, v) {
		return nil
	}
	row := c.operandCell(o, c.stage, c.at.Before, c.r)
	return kernel.V(c.near(o.buffer, row, c.x, fmt.Sprintf("operand.%p.%d.%d", o, c.at.Before, c.r)))
}
