package pipeline

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// VerifyParts checks what parts promise to the kernel that computes them: whatever one reads is
// there at its time, planes and parts are kept for long enough, and rows of other threads are not
// read when these may have begun to replace them. An error is a mistake of the compiler.
func (s *Stream) VerifyParts(p Parts, before, after int64) error {
	v := &partsVerifier{timing{stream: s, stage: p.Stage, row: row{before, after}}, &p}
	if !slices.IsSortedFunc(p.List, func(a, b Part) int { return a.At.Compare(b.At) }) {
		return fmt.Errorf("the parts of %s are not in the order of their times", p.Stage.Stmt.Array.Name)
	}
	if k := p.Keeper; k >= 0 && p.List[k].At.steps(Last) > p.Carried {
		return fmt.Errorf("the keeper of %s is overwritten before it is used", p.Stage.Stmt.Array.Name)
	}
	for _, q := range p.List {
		for _, n := range v.children(node{q.Of, q.In}) {
			if err := v.reads(n, q.At); err != nil {
				return err
			}
		}
		if a, ok := q.Of.(*ir.Access); ok {
			if err := v.access(a, q.In, q.At); err != nil {
				return err
			}
		}
	}
	return v.reads(node{p.Stage.Stmt.Value, nil}, Last)
}

type partsVerifier struct {
	timing
	parts *Parts
}

// reads checks what a node needs at a time.
func (v *partsVerifier) reads(n node, at Time) error {
	for _, q := range v.parts.List {
		if q.Of == n.e && q.In == n.in && q.At.Compare(at) < 0 {
			if q.At.steps(at) > v.parts.Carried {
				return fmt.Errorf("a part of %s waits for longer than it is kept", v.stage.Stmt.Array.Name)
			}
			return nil
		}
	}
	if a, ok := n.e.(*ir.Access); ok {
		return v.access(a, n.in, at)
	}
	for _, c := range v.children(n) {
		if err := v.reads(c, at); err != nil {
			return err
		}
	}
	return nil
}

// access checks that what an access may lead to is there.
func (v *partsVerifier) access(a *ir.Access, in *ir.Temp, at Time) (err error) {
	read := v.stage.Inputs[in][a.Array]
	if v.stream.Operand(a, read) {
		if x := v.parts.Operand(read); x == nil || at.Before > x.First || at.Before < x.Last {
			return fmt.Errorf("%s is read %d steps early, when its cells may not be there", a.Array.Name, at.Before)
		}
		return nil
	}
	from := v.stream.From(a, read)
	if from == nil {
		return nil
	}
	v.stream.Offsets(a, func(o []int64, _ []Face) {
		age := v.stream.Age(v.stage, from, o[0]) - at.Before
		switch foreign := v.foreign(o); {
		case v.arrives(from, o).Compare(at) > 0:
			err = fmt.Errorf("%s is read at %v before it is there", a.Array.Name, o)
		case age > v.parts.Oldest:
			err = fmt.Errorf("%s is read at %v when its plane has been replaced", a.Array.Name, o)
		case foreign && at.Phase == Finished:
			err = fmt.Errorf("%s is read at %v when other warps may have replaced the row", a.Array.Name, o)
		}
	})
	return err
}
