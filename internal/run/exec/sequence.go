package exec

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
)

// Sequence is launches in order, without the loop that they are of. A grid argument means memory: that which
// the grid of its number has when the sequence begins. The step is a value.
type Sequence struct {
	Launches []Launch
	Holds    []int // by grid: whose memory has its contents at the end

	script  *Script
	step    int64
	spanned *Span // that the last launches belong to; nil for none
}

// NewSequence returns the sequence of no iteration.
func (s *Script) NewSequence() *Sequence {
	q := &Sequence{script: s}
	for i := range s.Grids {
		q.Holds = append(q.Holds, i)
	}
	return q
}

// Iterations adds iterations of an iterate one by one. The iterate has no other in it.
func (q *Sequence) Iterations(o *Op, times int64) {
	for range times {
		for i := range o.Body {
			switch leaf := &o.Body[i]; leaf.Kind {
			case RunOp:
				q.launch(leaf.Call, 1)
			case RotateOp:
				rotate(q.Holds, leaf.Grids)
			}
		}
		q.step++
	}
	q.spanned = nil
}

// Span adds iterations of an iterate that launches carry out together, so many rounds.
func (q *Sequence) Span(o *Op, s *Span, rounds int64) {
	if s.Prepare >= 0 && !s.preparedBy(q.spanned) {
		q.launch(s.Prepare, 1)
	}
	q.launch(s.Call, rounds)
	s.apply(o, rounds, q.Holds)
	q.step += rounds * s.Depth
	q.spanned = s
}

// launch adds the launches of a call, which have so many rounds.
func (q *Sequence) launch(call int, rounds int64) {
	for _, l := range q.script.Calls[call].Launches {
		l.Args = slices.Clone(l.Args)
		for i := range l.Args {
			switch a := &l.Args[i]; a.Kind {
			case GridArg:
				a.Index = q.Holds[a.Index]
			case StepArg:
				*a = Arg{Kind: ValueArg}
				device.Encode(a.Bits[:], op.Int(types.I32, q.step))
			case RoundsArg:
				*a = Arg{Kind: ValueArg}
				device.Encode(a.Bits[:], op.Int(types.I32, rounds))
			}
		}
		q.Launches = append(q.Launches, l)
	}
}

// Iterate returns the op of an iterate of the program that the script is of; nil if it is not there.
func (s *Script) Iterate(p *ir.Program, it *ir.Iterate) *Op {
	var find func(body []ir.Op, ops []Op) *Op
	find = func(body []ir.Op, ops []Op) *Op {
		for i, o := range body {
			inner, ok := o.(*ir.Iterate)
			switch {
			case !ok:
				continue
			case inner == it:
				return &ops[i]
			}
			if found := find(inner.Body, ops[i].Body); found != nil {
				return found
			}
		}
		return nil
	}
	return find(p.Body, s.Body)
}
