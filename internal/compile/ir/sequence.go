package ir

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// NewSequence returns calls and rotations that are executed once. Its place in the source is that of the first call.
func NewSequence(body []Op) *Iterate {
	it := &Iterate{Count: Const{op.Int(types.I32, 1)}, Body: body, Sequence: true}
	for _, o := range slices.Backward(body) {
		if run, ok := o.(*Run); ok {
			it.Range = run.Call.Range
		}
	}
	return it
}

// Sequences returns a program's body with the calls and rotations between its loops as sequences, if they assign
// grids: their statements may share a kernel. Its innermost iterates have their temporary grids.
func Sequences(p *Program, body []Op) []Op {
	var out, run []Op
	end := func() {
		if assigns(run) {
			run = []Op{NewSequence(run)}
		}
		out, run = append(out, run...), nil
	}
	for _, o := range body {
		if it, ok := o.(*Iterate); ok {
			end()
			out = append(out, it)
			continue
		}
		run = append(run, o)
	}
	end()
	for i, o := range out {
		if it, ok := o.(*Iterate); ok {
			findTemporary(p, it, out[i+1:])
		}
	}
	return out
}

// findTemporary finds the temporary grids of an iterate, or of those in it. Others are the ops that are executed after
// it, or after an iteration of it.
func findTemporary(p *Program, it *Iterate, others []Op) {
	nested := false
	for i, o := range it.Body {
		if inner, ok := o.(*Iterate); ok {
			findTemporary(p, inner, slices.Concat(it.Body[:i], it.Body[i+1:], others))
			nested = true
		}
	}
	if nested {
		return
	}
	for _, g := range p.Grids {
		if temporary(p, it.Body, others, g) {
			it.Temporary = append(it.Temporary, g)
		}
	}
}

// assigns reports whether a statement of some calls assigns an array.
func assigns(body []Op) bool {
	return slices.ContainsFunc(body, func(o Op) bool {
		r, ok := o.(*Run)
		return ok && slices.ContainsFunc(r.Call.Body, func(st *Stmt) bool { return st.Array != nil })
	})
}

// Keep makes a grid a result: no iterate leaves it out.
func (p *Program) Keep(g *Grid) {
	g.CopyOut = true
	keep(p.Body, g)
}

func keep(body []Op, g *Grid) {
	for _, o := range body {
		if it, ok := o.(*Iterate); ok {
			it.Temporary = slices.DeleteFunc(slices.Clone(it.Temporary), func(t *Grid) bool { return t == g })
			keep(it.Body, g)
		}
	}
}

// temporary reports whether calls write a grid for themselves alone: it is no result, no other op has to do with it,
// none of them reads it before it is written, and all write the same cells. All grids are results of a program that
// names none.
func temporary(p *Program, calls, rest []Op, g *Grid) bool {
	results := slices.ContainsFunc(p.Grids, func(g *Grid) bool { return g.CopyOut })
	if g.CopyOut || !results || mentions(rest, g) {
		return false
	}
	if rotated(calls, g) {
		return false
	}
	var first *Stmt
	for _, o := range calls {
		run, ok := o.(*Run)
		if !ok {
			continue
		}
		for _, st := range run.Call.Body {
			if first == nil && readsGrid(st, g) {
				return false
			}
			if st.Array == nil || st.Array.Grid != g {
				continue
			}
			if first == nil {
				first = st
			}
			if st.Color != nil || !st.Domain.Equal(first.Domain) { // else cells that one leaves may be another's
				return false
			}
		}
	}
	return first != nil
}

func rotated(body []Op, g *Grid) bool {
	return slices.ContainsFunc(body, func(o Op) bool {
		r, ok := o.(*Rotate)
		return ok && slices.Contains(r.Grids, g)
	})
}

// readsGrid reports whether a statement reads a grid.
func readsGrid(st *Stmt, g *Grid) bool {
	found := false
	Walk(st.Value, func(e Expr) {
		if a, ok := e.(*Access); ok && a.Array.Grid == g {
			found = true
		}
	})
	return found
}

// mentions reports whether a body reads, assigns or moves a grid.
func mentions(body []Op, g *Grid) bool {
	return slices.ContainsFunc(body, func(o Op) bool {
		switch o := o.(type) {
		case *Run:
			return slices.ContainsFunc(o.Call.Arrays, func(a *Array) bool { return a.Grid == g })
		case *Rotate:
			return slices.Contains(o.Grids, g)
		case *Iterate:
			return mentions(o.Body, g)
		}
		return true
	})
}
