package kernel

import (
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// loop checks a loop and its body.
func (v *verifier) loop(l *Loop) {
	t := l.Var.Type
	if t != types.I64 && t != types.I32 {
		v.fail("the loop's variable is %s", t)
	}
	v.want(l.Lo, t, "the lower bound")
	v.want(l.Hi, t, "the upper bound")
	v.want(l.Step, t, "the step")
	if s, ok := IntLit(l.Step); ok && s < 1 {
		v.fail("the step is %d", s)
	}
	v.steady(l)
	v.placed(l)
	v.clauses(l)

	switch {
	case l.Tag.isLaunch():
		if v.level.expr(l.Lo) > perLaunch || v.level.expr(l.Hi) > perLaunch || v.level.expr(l.Step) > perLaunch {
			v.fail("the bounds of a %s loop have to be known before the launch", l.Tag)
		}
	case l.Tag == Unroll:
		if _, ok := Trips(l); !ok {
			v.fail("an unroll loop has no literal trip count")
		}
	}

	under, covered := v.under, v.covered
	v.under = max(v.under, v.level.control(l))
	if l.Tag == Parallel {
		v.covered = max(l.Collapse, v.covered, 1) - 1
	}
	v.loops = append(v.loops, l)
	taken := len(v.taken)
	v.declare(l.Var, kindLoop)
	v.constant[l.Var] = l.Tag == Unroll && v.isConstant(l.Lo) && v.isConstant(l.Step)
	v.list(l.Body)
	delete(v.vars, l.Var)
	v.forget(taken)
	v.loops = v.loops[:len(v.loops)-1]
	v.under, v.covered = under, covered
}

// steady checks that the bounds stay as they are while the loop runs: they
// are printed where each iteration evaluates them.
func (v *verifier) steady(l *Loop) {
	assigned := map[*Var]bool{}
	WalkStmts(l.Body, func(s Stmt) {
		if a, ok := s.(*Assign); ok {
			assigned[a.Var] = true
		}
	}, nil)
	for _, e := range []Expr{l.Lo, l.Hi, l.Step, l.Team} {
		if e == nil {
			continue
		}
		Walk(e, func(e Expr) {
			switch e := e.(type) {
			case *Ref:
				if assigned[e.Var] {
					v.fail("a bound reads %s, which the loop changes", e.Var.Name)
				}
			case *Load:
				if e.Buffer.Mode != In {
					v.fail("a bound reads %s, which may change", e.Buffer.Name)
				}
			}
		})
	}
}

// placed checks a loop's tag against the loops around it.
func (v *verifier) placed(l *Loop) {
	for _, o := range v.loops {
		switch {
		case l.Tag.IsBlock() && !o.Tag.IsBlock(), l.Tag.IsCluster() && !o.Tag.IsBlock() && !o.Tag.IsCluster():
			v.fail("a %s loop in the %s loop over %s", l.Tag, o.Tag, o.Var.Name)
			return
		case l.Tag.IsThread() && (o.Tag == Vector || o.Tag == Parallel):
			v.fail("a %s loop in the %s loop over %s", l.Tag, o.Tag, o.Var.Name)
			return
		case l.Tag.isLaunch() && o.Tag == l.Tag:
			v.fail("a %s loop in a %s loop, that over %s", l.Tag, o.Tag, o.Var.Name)
			return
		case l.Tag == Vector && o.Tag == Vector:
			v.fail("a vector loop in the vector loop over %s", o.Var.Name)
			return
		case l.Tag == Parallel && o.Tag == Vector, l.Tag == Parallel && o.Tag == Parallel && v.covered == 0:
			v.fail("a parallel loop in the %s loop over %s", o.Tag, o.Var.Name)
			return
		}
	}
	switch {
	case (l.Tag.IsBlock() || l.Tag.IsCluster()) && len(v.ifs) > 0:
		v.fail("a %s loop under a condition", l.Tag)
	case (l.Tag.IsBlock() || l.Tag.IsCluster()) && v.tags[l.Tag] > 1:
		v.fail("there is more than one %s loop", l.Tag)
	case l.Tag.IsCluster() && !v.clustered(l):
		v.fail("the trip count of a %s loop is no literal from 1 to %d", l.Tag, maxCluster)
	case (l.Tag == Vector || l.Tag == Parallel) && v.gpu:
		v.fail("a %s loop in a kernel of threads and blocks", l.Tag)
	}
}

// maxCluster is the number of blocks that a cluster may have.
const maxCluster = 16

// clustered reports whether the size of clusters is known and not too large.
func (v *verifier) clustered(l *Loop) bool {
	blocks := int64(1)
	for _, o := range append([]*Loop{l}, v.loops...) {
		if o.Tag.IsCluster() {
			n, ok := Trips(o)
			if !ok || n < 1 || n > maxCluster {
				return false
			}
			blocks *= n
		}
	}
	return blocks <= maxCluster
}

// clauses checks what a loop says beside its tag.
func (v *verifier) clauses(l *Loop) {
	if l.Threads != 0 && l.Tag != Parallel {
		v.fail("a team is given to a %s loop", l.Tag)
	}
	if l.Team != nil && l.Tag != Parallel {
		v.fail("a team is asked for in a %s loop", l.Tag)
	} else if l.Team != nil {
		v.want(l.Team, types.Bool, "what a team is for")
	}
	if l.Threads < 0 {
		v.fail("a team of %d threads", l.Threads)
	}
	if l.Collapse < 0 || l.Collapse > 1 && l.Tag != Parallel {
		v.fail("%d loops cannot be collapsed here", l.Collapse)
	} else if l.Collapse > 1 {
		v.perfect(l)
	}
	if l.Factor < 0 || l.Factor > 0 && l.Tag != Serial {
		v.fail("%d iterations of a %s loop cannot be written out", l.Factor, l.Tag)
	}
	if len(l.Reduce) > 0 && l.Tag != Vector {
		v.fail("only a vector loop reduces")
	}
	for _, r := range l.Reduce {
		if d := v.vars[r.Var]; d == nil || d.kind != kindMutable {
			v.fail("the loop reduces into %s, which is no variable in scope", r.Var.Name)
		}
		if r.Op != op.Add && r.Op != op.Min && r.Op != op.Max {
			v.fail("the loop reduces by %s", r.Op)
		} else if !applies(r.Op, r.Var.Type) {
			v.fail("the loop reduces a %s by %s", r.Var.Type, r.Op)
		}
	}
}

// perfect checks the loops that are collapsed into l: each is all there is in
// the one around it, and none has bounds that another counts.
func (v *verifier) perfect(l *Loop) {
	nest := Collapsed(l)
	if len(nest) < l.Collapse {
		v.fail("%d loops are collapsed and %d are nested perfectly", l.Collapse, len(nest))
	}
	for i, inner := range nest {
		for _, outer := range nest[:i] {
			if reads(inner.Lo, outer.Var) || reads(inner.Hi, outer.Var) || reads(inner.Step, outer.Var) {
				v.fail("the bounds of the collapsed loop over %s read %s", inner.Var.Name, outer.Var.Name)
			}
		}
	}
}

// Collapsed returns the loops whose iterations are shared out together with
// those of l, l first; fewer than l.Collapse if they are not nested perfectly.
func Collapsed(l *Loop) []*Loop {
	nest := []*Loop{l}
	for len(nest) < l.Collapse {
		body := nest[len(nest)-1].Body
		if len(body) != 1 {
			break
		}
		inner, ok := body[0].(*Loop)
		if !ok || inner.Tag != Parallel {
			break
		}
		nest = append(nest, inner)
	}
	return nest
}
