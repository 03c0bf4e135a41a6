package lower

import (
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// residentRound is the code of the iterations between two exchanges.
type residentRound struct {
	*resident
	// guarded rounds may have cells that no stage assigns, or that read beyond the ends of the arrays.
	guarded bool
	body    *scope
	moved   map[movedCell]*kernel.Var // what shuffles and shared memory have brought
	made    map[*pipeline.Stage][][]*kernel.Var
	met     int64       // how often warps have met
	earlier kernel.Expr // iterations of the rounds before
}

// movedCell is a cell of a value that another thread has, counted from the thread's first row and cell.
type movedCell struct {
	of     *graph.Value
	row, x int64
}

// iterate makes the code of a round: all stages one after the other, each at all of the thread's
// cells, those first that other warps wait for.
func (r *resident) iterate(outer *scope, guarded bool) []kernel.Stmt {
	b := &residentRound{
		resident: r, guarded: guarded, body: newScope(outer), moved: map[movedCell]*kernel.Var{},
		made: map[*pipeline.Stage][][]*kernel.Var{},
	}
	b.earlier = kernel.Conv(types.I32, kernel.Mul(r.round, kernel.I(r.pipeline.Span.Depth)))
	b.publishStates()
	for _, st := range b.pipeline.Stages {
		order, edges := b.rowOrder(st)
		b.made[st] = make([][]*kernel.Var, b.rows)
		for _, row := range order[:edges] {
			b.stage(st, row)
		}
		if b.last[st] {
			b.publish(st.Value, b.made[st])
			b.arrive()
		}
		for _, row := range order[edges:] {
			b.stage(st, row)
		}
		if b.last[st] {
			b.meet()
		}
	}
	b.storePassing()
	b.keep()
	return b.body.stmts
}

// publishStates leaves the rows of what threads hold when the round begins.
func (b *residentRound) publishStates() {
	any := false
	for _, s := range b.states {
		for v, e := range b.edges {
			if v.Def == nil && v.Memory == s.grid && e.edgeBuffer != nil {
				b.publish(v, s.cells)
				any = true
			}
		}
	}
	if any {
		b.arrive()
		b.meet()
	}
}

// rowOrder returns the thread's rows, first those that other warps read, or that read theirs, and
// how many there are of them.
func (b *residentRound) rowOrder(st *pipeline.Stage) (order []int64, edges int) {
	if !b.last[st] {
		for row := range b.rows {
			order = append(order, row)
		}
		return order, 0
	}
	reach := *b.edges[st.Value]
	low, high := reach.High, reach.Low // the first rows are read by the warp before
	_ = st.Accesses(func(_ *ir.Access, v *graph.Value) error {
		if e := b.edges[v]; e != nil {
			low, high = max(low, e.Low), max(high, e.High)
		}
		return nil
	})
	var inner []int64
	for row := range b.rows {
		if row < low || row >= b.rows-high {
			order = append(order, row)
		} else {
			inner = append(inner, row)
		}
	}
	return append(order, inner...), len(order)
}

// valueOf returns the variables that hold a value, by row and cell.
func (b *residentRound) valueOf(v *graph.Value) [][]*kernel.Var {
	if v.Def == nil {
		return b.stateOf(v.Memory).cells
	}
	return b.made[b.pipeline.Stage(v)]
}

// stage computes a stage at the cells of a row of the thread: everywhere, and cells that the
// statement leaves as they were take what they held instead.
func (b *residentRound) stage(st *pipeline.Stage, row int64) {
	var cells []*kernel.Var
	for x := range b.run {
		pos := map[int]kernel.Expr{b.axes[0]: b.at(0, row), b.axes[1]: b.at(1, x)}
		c := &cell{
			nest: b.nest, pos: pos, row: b.body, body: b.body, vals: map[*ir.Temp]kernel.Expr{},
			stage: &stageCell{
				of: st, in: st.Inputs[nil], pipeline: b.pipeline, earlier: b.earlier,
				held: func(c *cell, a *ir.Access, v *graph.Value) kernel.Expr { return b.read(c, st, a, v, row, x) },
			},
		}
		value := c.expr(st.Stmt.Value)
		if b.guarded && st.Fills() {
			assigned := b.assigned(st, 0, row)
			if inRow := b.assigned(st, 1, x); inRow != nil {
				assigned = conj(assigned, inRow)
			}
			if assigned != nil {
				value = kernel.Sel(assigned, value, kernel.V(b.valueOf(st.Value.Before)[row][x]))
			}
		}
		made := b.body.declare(b.env, st.Stmt.Array.Name+"_new", st.Stmt.Array.Type)
		update := &kernel.Let{Var: made, Value: value}
		b.updates[update] = true
		b.body.emit(update)
		cells = append(cells, made)
	}
	b.made[st][row] = cells
}

// at is the grid's position of a row, or a cell, of the thread.
func (b *residentRound) at(k int, n int64) kernel.Expr {
	if b.guarded && b.wraps(k) {
		return b.wrappedPlace(b.body, k, n)
	}
	return b.place[k][n]
}

// read is what an access means: in a register of this thread or of another.
func (b *residentRound) read(c *cell, st *pipeline.Stage, a *ir.Access, v *graph.Value, row, x int64) kernel.Expr {
	guarded := [2]bool{b.crosses(st, 0, row), b.crosses(st, 1, x)}
	ends := faceEnds(func(at *cell, d int, face pipeline.Face) kernel.Expr {
		if !guarded[d] {
			return nil
		}
		return atFace(at, a.Index[d].Axis, b.lo[d], b.hi[d], face)
	})
	return ends.through(c, a, func(o []int64) kernel.Expr {
		return b.held(v, row+o[0], x+o[1])
	})
}

// held is a cell of a value, counted from the thread's first row and cell.
func (b *residentRound) held(v *graph.Value, row, x int64) kernel.Expr {
	if row < 0 || row >= b.rows {
		return b.foreign(v, row, x)
	}
	lanes := x / b.run
	if x < 0 {
		lanes = -((b.run - 1 - x) / b.run)
	}
	own := b.valueOf(v)[row][x-lanes*b.run]
	if lanes == 0 {
		return kernel.V(own)
	}
	key := movedCell{v, row, x}
	if have := b.moved[key]; have != nil {
		return kernel.V(have)
	}
	s := &kernel.Shuffle{
		Var: b.body.declare(b.env, own.Name+"_near", own.Type), Kind: kernel.ShuffleDown, Value: kernel.V(own),
		By: kernel.L(op.Int(types.I32, lanes)),
	}
	if lanes < 0 {
		s.Kind, s.By = kernel.ShuffleUp, kernel.L(op.Int(types.I32, -lanes))
	}
	b.body.emit(s)
	b.moved[key] = s.Var
	return kernel.V(s.Var)
}

// keep makes what the round has computed the states of the next.
func (b *residentRound) keep() {
	type move struct{ to, from *kernel.Var }
	var moves []move
	for _, s := range b.states {
		if s.from == s {
			continue
		}
		from := [][]*kernel.Var(nil)
		if s.next != nil {
			from = b.made[s.next]
		} else { // which may be overwritten before it is read
			for _, row := range s.from.cells {
				var copies []*kernel.Var
				for _, v := range row {
					old := b.body.declare(b.env, v.Name+"_old", v.Type)
					b.body.emit(&kernel.Let{Var: old, Value: kernel.V(v)})
					copies = append(copies, old)
				}
				from = append(from, copies)
			}
		}
		for row := range s.cells {
			for x := range s.cells[row] {
				moves = append(moves, move{s.cells[row][x], from[row][x]})
			}
		}
	}
	for _, m := range moves {
		b.body.emit(&kernel.Assign{Var: m.to, Value: kernel.V(m.from)})
	}
}

// storePassing stores, in the last round, what the span leaves in memory and threads do not hold
// from round to round.
func (b *residentRound) storePassing() {
	list := newScope(b.body)
	for _, x := range b.results {
		if x.state == nil {
			into, _ := b.spareStore(x.grid)
			b.storeOwn(list, into, b.made[x.stage])
		}
	}
	if len(list.stmts) > 0 {
		b.body.emit(&kernel.If{Cond: kernel.Bin(op.Eq, b.round, kernel.Sub(b.rounds(), kernel.I(1))), Then: list.stmts})
	}
}
