package transform

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// mostRetimed is how many parts a statement has at most: each waits in registers of a thread.
const mostRetimed = 24

// mostExpanded is how many operations and operands a statement has at most, with scalars in their places: so much is
// compared with the text that is written.
const mostExpanded = 1 << 14

// RetimeCall has the statements of a call computed in parts, each as soon as the plane of the outermost axis has come
// that it reads last: see Retime. Each part is in a local grid, which later parts read in the planes before. So parts
// read one plane of the call's arrays, but for single cells, and kernels that go plane by plane hold few others.
// Operations and their order stay what they are: no bit changes.
//
//	out[k] = (u[k-1] + u[k]) + u[k+1]
//	=>
//	part[k] = u[k-1] + u[k], last[k] = part[k-1] + u[k]; out[k] = last[k+1]
//
// May and taken are those of ShareOptions. The Refusal says why no statement has such parts.
func RetimeCall(p *ir.Program, call *ir.Call, o ShareOptions) (*Sharing, error) {
	out := &Sharing{Planes: true, Was: map[*ir.Stmt]*ir.Stmt{}}
	names := map[string]bool{}
	maps.Copy(names, o.Taken)
	made, before := map[*ir.Stmt]*ir.Stmt{}, map[*ir.Stmt][]*Shared{} // by statements as they were
	still := stillTemps(call)
	left := slices.DeleteFunc(slices.Clone(call.Body), func(st *ir.Stmt) bool {
		return !isRetimable(p, call, still, st) || !o.May(st)
	})
	for len(left) > 0 {
		first := left[0]
		others := func(st *ir.Stmt) bool { return !st.Domain.Equal(first.Domain) }
		group := slices.DeleteFunc(slices.Clone(left), others) // which have parts in common
		left = slices.DeleteFunc(left, func(st *ir.Stmt) bool { return !others(st) })
		parts := retimedParts(p, call, group)
		if parts == nil {
			continue
		}
		parts.name(group[0].Array.Name, names)
		maps.Copy(before, parts.first)
		maps.Copy(made, parts.made)
		out.Values = append(out.Values, parts.values...)
		out.Before, out.After = out.Before.plus(parts.before), out.After.plus(parts.after)
	}
	if len(out.Values) == 0 {
		return nil, &Refusal{call.Name, "has no statement that could begin before all planes have come that it reads"}
	}
	next := *call
	next.Arrays, next.Body = slices.Clone(call.Arrays), nil
	for _, st := range call.Body {
		for _, v := range before[st] {
			next.Arrays, next.Body = append(next.Arrays, v.Array), append(next.Body, v.Stmt)
		}
		next.Body = append(next.Body, cmp.Or(made[st], st))
		out.Was[next.Body[len(next.Body)-1]] = st
	}
	for n := len(next.Body) - 1; n >= 0; n-- { // scalars that parts have taken the place of
		if st := next.Body[n]; st.Temp != nil && !readsTemp(next.Body[n+1:], st.Temp) {
			next.Body = slices.Delete(next.Body, n, n+1)
			delete(out.Was, st)
		}
	}
	next.Temps = tempsOf(next.Body)
	out.Call = &next
	return out, nil
}

// readsTemp reports whether a statement reads a temp.
func readsTemp(list []*ir.Stmt, t *ir.Temp) (reads bool) {
	for _, st := range list {
		ir.Walk(st.Value, func(e ir.Expr) {
			ref, ok := e.(ir.TempRef)
			reads = reads || ok && ref.Temp == t
		})
	}
	return reads
}

// retimedStmts is statements in parts.
type retimedStmts struct {
	values        []*Shared
	first         map[*ir.Stmt][]*Shared // those that a statement is the first to need
	made          map[*ir.Stmt]*ir.Stmt  // which take the last parts
	before, after Work
}

// planeAxis is the axis that planes come along.
const planeAxis = 0

// isRetimable reports whether a statement of a call may have parts: it assigns a grid on a box of all axes, and what it
// reads is the same in all planes.
func isRetimable(p *ir.Program, call *ir.Call, still map[*ir.Temp]bool, st *ir.Stmt) bool {
	if st.Array == nil || st.Array.Local || st.Color != nil || len(st.Axes) < len(p.Axes) || len(p.Axes) < 2 {
		return false
	}
	for _, r := range st.Domain {
		if len(r.Lo) != 1 || len(r.Hi) != 1 {
			return false
		}
	}
	return retimable(call, still, st.Value)
}

// retimedParts returns statements of one domain in parts; nil if they have none.
func retimedParts(p *ir.Program, call *ir.Call, group []*ir.Stmt) *retimedStmts {
	list := withTemps(call, group)
	if expanded(list) > mostExpanded {
		return nil
	}
	r, err := Retime(p, list, planeAxis, func(st *ir.Stmt) bool { return slices.Contains(group, st) })
	if err != nil || !r.Early || len(r.Pieces) > mostRetimed {
		return nil
	}
	parts := &retimedStmts{first: map[*ir.Stmt][]*Shared{}, made: map[*ir.Stmt]*ir.Stmt{}}
	of := map[*Piece]*Shared{}
	grids := map[*ir.Temp]*ir.Access{} // where the cell that a piece is for finds it
	for _, q := range r.Pieces {
		value := ir.Rewrite(q.Value, func(e ir.Expr) ir.Expr {
			if t, ok := e.(ir.TempRef); ok && grids[t.Temp] != nil {
				return grids[t.Temp]
			}
			return e
		})
		var read ir.Expr = value
		if q.Stmt == nil || r.Top != 0 {
			kind := value.Type()
			if q.Temp != nil {
				kind = q.Temp.Type
			}
			if !kind.IsFloat() {
				return nil
			}
			v, at := planeGrid(p, group[0].Domain, value, kind, q.Ready)
			parts.values, of[q] = append(parts.values, v), v
			read = at
			if q.Stmt == nil {
				grids[q.Temp] = at
			}
		}
		if q.Stmt != nil {
			st := *q.Stmt
			st.Value = read
			parts.made[q.Stmt] = &st
		}
	}
	placed := map[*Piece]bool{}
	var place func(q *Piece, st *ir.Stmt)
	place = func(q *Piece, st *ir.Stmt) {
		if placed[q] {
			return
		}
		placed[q] = true
		for _, u := range q.Uses {
			place(u, st)
		}
		if of[q] != nil {
			parts.first[st] = append(parts.first[st], of[q])
		}
	}
	for _, st := range group {
		for _, q := range r.Pieces {
			if q.Stmt == st {
				place(q, st)
			}
		}
	}
	if parts.count(call, group); parts.after.Loads >= parts.before.Loads {
		return nil // nothing is gained
	}
	return parts
}

// withTemps returns statements of a call, and those before them that assign the scalars which they read.
func withTemps(call *ir.Call, group []*ir.Stmt) []*ir.Stmt {
	var list []*ir.Stmt
	for _, st := range slices.Backward(call.Body) {
		if slices.Contains(group, st) || st.Temp != nil && readsTemp(list, st.Temp) {
			list = append(list, st)
		}
	}
	slices.Reverse(list)
	return list
}

// expanded counts the operations and operands of the largest statement, with scalars in their places.
func expanded(list []*ir.Stmt) float64 {
	sizes, most := map[*ir.Temp]float64{}, 0.0
	for _, st := range list {
		n := 0.0
		ir.Walk(st.Value, func(e ir.Expr) {
			n++
			if t, ok := e.(ir.TempRef); ok {
				n += sizes[t.Temp]
			}
		})
		if st.Temp != nil {
			sizes[st.Temp] = n
		}
		most = max(most, n)
	}
	return most
}

// stillTemps returns the scalars of a call whose values are the same in all planes, as far as that goes: they read no
// array that the call assigns, and no position.
func stillTemps(call *ir.Call) map[*ir.Temp]bool {
	still := map[*ir.Temp]bool{}
	for _, st := range call.Body { // each comes after those that it reads
		if st.Temp != nil {
			still[st.Temp] = retimable(call, still, st.Value)
		}
	}
	return still
}

// planeGrid returns a local grid for a value that cells of a domain have when a plane has come, and how a cell reads
// its own there.
func planeGrid(p *ir.Program, domain ir.Box, value ir.Expr, of types.Type, ready int64) (*Shared, *ir.Access) {
	back, box := make(offset, len(p.Axes)), domain.Clone()
	back[planeAxis] = -ready
	box[planeAxis] = box[planeAxis].Shift(ready)
	v := &Shared{Array: &ir.Array{Type: of, Local: true, Written: true, Read: true, Box: box}}
	v.Stmt = &ir.Stmt{Array: v.Array, Value: shift(value, back, keepTemp), Domain: box}
	read := &ir.Access{Array: v.Array}
	for a, in := range box {
		v.Array.Dims = append(v.Array.Dims, ir.Dim{Axis: a, Lo: in.Lo[0], Hi: in.Hi[0]})
		v.Stmt.Axes = append(v.Stmt.Axes, a)
		read.Index = append(read.Index, ir.Index{Axis: a, Offset: -back[a]})
	}
	v.Offsets = [][]int64{make([]int64, len(box))}
	return v, read
}

// retimable reports whether all that an expression reads is the same in all planes of a call: arrays that it does not
// assign, no position, and such scalars.
func retimable(call *ir.Call, still map[*ir.Temp]bool, e ir.Expr) bool {
	same := true
	ir.Walk(e, func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Access:
			same = same && !slices.ContainsFunc(call.Body, func(st *ir.Stmt) bool { return st.Array == e.Array })
		case ir.Pos:
			same = false
		case ir.TempRef:
			same = same && still[e.Temp]
		}
	})
	return same
}

// name gives the parts names that nothing has: that of an array, and a number.
func (r *retimedStmts) name(array string, taken map[string]bool) {
	n := 0
	for _, v := range r.values {
		for v.Array.Name == "" || taken[v.Array.Name] {
			n++
			v.Array.Name = fmt.Sprintf("%s_part%d", array, n)
		}
		taken[v.Array.Name] = true
	}
}

// count finds the operations of a cell, and at how many cells of planes the arrays are read.
func (r *retimedStmts) count(call *ir.Call, group []*ir.Stmt) {
	cells := func(list []*ir.Stmt) (w Work) {
		seen := map[ir.Cell]bool{}
		for _, st := range list {
			ir.Walk(st.Value, func(e ir.Expr) {
				switch e := e.(type) {
				case *ir.Access:
					key := e.Cell()
					if !e.Array.Local && !seen[key] {
						seen[key] = true
						w.Loads++
					}
				case *ir.Binary, *ir.Unary, *ir.Fma:
					w.Operations++
				}
			})
		}
		return w
	}
	r.before = cells(withTemps(call, group))
	var list []*ir.Stmt
	for _, v := range r.values {
		list = append(list, v.Stmt)
	}
	for _, st := range group {
		list = append(list, r.made[st])
	}
	r.after = cells(list)
}

// plus adds up work.
func (w Work) plus(v Work) Work { return Work{w.Operations + v.Operations, w.Loads + v.Loads} }
