package interp

import (
	"fmt"
	"math"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// statement is a compiled ir.Stmt.
type statement struct {
	src      *ir.Stmt
	axes     []int // those it runs over; the last is the row's
	dom      []ir.Extent
	value    bnode // its eval leaves bounds nil where none are kept
	uniforms []ir.Expr
	needs    needs

	// Assignments write where write says. One that reads its target anywhere
	// but at the cell it writes fills buffer first, then copies.
	target *store
	write  *access
	buffer *store
	fill   *access // of buffer
	copied bnode   // buffer's values

	length  int64 // of a row
	per     int64 // stretches in a row
	units   int64 // stretches in all
	workers []*row
}

// scope is what the statements of a call refer to.
type scope struct {
	state  *State
	stores map[*ir.Array]*store
	temps  map[*ir.Temp]*store
}

func (sc *scope) compiler(st *ir.Stmt, dom []ir.Extent, axes []int) *compiler {
	c := &compiler{state: sc.state, dom: dom, rowAxis: -1, stores: sc.stores, temps: sc.temps}
	if st != nil {
		c.target = st.Array
	}
	if len(axes) > 0 {
		c.rowAxis = axes[len(axes)-1]
	}
	return c
}

// compile compiles e in the state's mode.
func (c *compiler) compile(e ir.Expr) bnode {
	if c.state.opts.Bounds != NoBounds {
		return c.bound(e, 0)
	}
	n := c.expr(e, 0)
	if e.Type().IsFloat() {
		return bnode{eval: func(r *row) bounded { return bounded{f: n.f(r)} }}
	}
	return bnode{eval: func(r *row) bounded { return bounded{i: n.i(r)} }}
}

func (sc *scope) statement(src *ir.Stmt, dom []ir.Extent, axes []int) (*statement, error) {
	s := sc.state
	st := &statement{src: src, axes: axes, dom: dom, length: 1, units: 1}
	for _, axis := range axes {
		if dom[axis].Len() == 0 {
			return nil, fmt.Errorf("a statement has no cells on %s", s.b.Program.Axes[axis])
		}
	}
	c := sc.compiler(src, dom, axes)
	st.value = c.compile(src.Value)
	var index []ir.Index
	switch {
	case src.Array != nil:
		st.target, index = sc.stores[src.Array], identity(src.Array)
	case src.Temp != nil:
		st.target = sc.temps[src.Temp]
		for _, axis := range st.target.axes {
			index = append(index, ir.Index{Axis: axis})
		}
	}
	if st.target == nil || !st.target.chain {
		st.value = bnode{eval: c.close(st.value, src.Value.Type(), 0)}
	} else {
		st.target.ops = max(st.target.ops, st.value.ops)
	}
	if st.target != nil && c.err == nil {
		st.write, c.err = c.newAccess("the target", st.target, make([]ir.Dim, len(index)), index)
	}
	if src.Array != nil && readsElsewhere(src) && c.err == nil {
		var lo, hi []int64
		for _, ix := range index {
			lo, hi = append(lo, dom[ix.Axis].Lo), append(hi, dom[ix.Axis].Hi)
		}
		st.buffer = newStore(src.Array.Type, lo, hi)
		st.buffer.chain, st.buffer.ops = st.target.chain, st.target.ops
		st.fill, c.err = c.newAccess("a buffer", st.buffer, make([]ir.Dim, len(index)), index)
		st.copied = c.copies(st.fill, src.Array.Type)
	}
	if c.err != nil {
		return nil, c.err
	}
	st.uniforms = c.uniforms
	st.needs = needs{depth: c.depth, uniforms: len(c.uniforms), bounds: s.opts.Bounds != NoBounds}
	if len(axes) > 0 {
		st.length = dom[c.rowAxis].Len()
		for _, axis := range axes[:len(axes)-1] {
			st.units *= dom[axis].Len()
		}
	}
	st.per = (st.length + stretch - 1) / stretch
	st.units *= st.per
	return st, nil
}

// copies compiles a load.
func (c *compiler) copies(a *access, t types.Type) bnode {
	if c.state.opts.Bounds != NoBounds {
		return c.loaded(a, t, 0)
	}
	n := load(a, 0)
	if t.IsFloat() {
		return bnode{eval: func(r *row) bounded { return bounded{f: n.f(r)} }}
	}
	return bnode{eval: func(r *row) bounded { return bounded{i: n.i(r)} }}
}

// readsElsewhere reports whether a statement reads its target anywhere but at
// the cell it writes.
func readsElsewhere(st *ir.Stmt) bool {
	elsewhere := false
	ir.Walk(st.Value, func(e ir.Expr) {
		a, ok := e.(*ir.Access)
		if !ok || a.Array != st.Array {
			return
		}
		for d, ix := range a.Index {
			if ix.Axis != st.Array.Dims[d].Axis || ix.Offset != 0 {
				elsewhere = true
			}
		}
	})
	return elsewhere
}

// run executes the statement at all its cells.
func (st *statement) run(s *State, step int64) {
	st.prepare(s, step)
	switch {
	case st.src.Reduce != nil:
		st.reduce(s)
	case st.buffer != nil:
		st.each(func(r *row, _ int64) { put(st.fill, r, st.value.eval(r), nil) })
		st.each(func(r *row, _ int64) { put(st.write, r, st.copied.eval(r), st.pick(r)) })
	default:
		st.each(func(r *row, _ int64) { put(st.write, r, st.value.eval(r), st.pick(r)) })
	}
}

// busy is the number of cells below which a statement is not worth sharing out.
const busy = 8192

// prepare gives every worker the uniform values.
func (st *statement) prepare(s *State, step int64) {
	n := 1
	if st.units*min(st.length, stretch) > busy {
		n = int(min(int64(s.opts.Workers), st.units))
	}
	length := int(min(st.length, stretch))
	for len(st.workers) < n {
		st.workers = append(st.workers, newRow(len(s.b.Program.Axes), length, st.needs))
	}
	for u, e := range st.uniforms {
		v, bound := s.evaluate(e, step)
		for _, r := range st.workers {
			fill(r.uf[u], v.F)
			fill(r.ui[u], v.I)
			if r.ub != nil {
				fill(r.ub[u], bound)
			}
		}
	}
}

// each calls f for every stretch of the domain, on all workers.
func (st *statement) each(f func(r *row, unit int64)) { st.span(0, st.units, f) }

// span calls f for the stretches from first up to last, on all workers, each
// of which gets a run of neighbours.
func (st *statement) span(first, last int64, f func(r *row, unit int64)) {
	part := func(w int64) {
		n := int64(len(st.workers))
		r := st.workers[w]
		for unit := first + (last-first)*w/n; unit < first+(last-first)*(w+1)/n; unit++ {
			st.seek(r, unit)
			f(r, unit)
		}
	}
	var wg sync.WaitGroup
	for w := 1; w < len(st.workers); w++ {
		wg.Go(func() { part(int64(w)) })
	}
	part(0)
	wg.Wait()
}

// seek moves r to a stretch; they are numbered in row-major order.
func (st *statement) seek(r *row, unit int64) {
	at := unit % st.per * stretch
	r.n = int(min(stretch, st.length-at))
	unit /= st.per
	for k := len(st.axes) - 1; k >= 0; k-- {
		axis := st.axes[k]
		if k == len(st.axes)-1 {
			r.pos[axis] = st.dom[axis].Lo + at
			continue
		}
		n := st.dom[axis].Len()
		r.pos[axis] = st.dom[axis].Lo + unit%n
		unit /= n
	}
}

// pick returns the cells of a row that a coloured statement updates, or nil
// for all of them.
func (st *statement) pick(r *row) func(k int) bool {
	c := st.src.Color
	if c == nil {
		return nil
	}
	sum, along := int64(0), int64(0)
	for axis, coef := range c.Coef {
		sum += coef * r.pos[axis]
	}
	if len(st.axes) > 0 {
		along = c.Coef[st.axes[len(st.axes)-1]]
	}
	return func(k int) bool {
		m := (sum + along*int64(k)) % c.Mod
		return m == c.Rem || m+c.Mod == c.Rem
	}
}

// put writes a row of results.
func put(a *access, r *row, v bounded, pick func(int) bool) {
	first := a.first(r)
	to := a.from
	switch to.Type {
	case types.F64:
		putCells(cells[float64](to.Array)[first:], v.f, pick)
	case types.F32:
		putCells(cells[float32](to.Array)[first:], v.f, pick)
	case types.I32:
		putCells(cells[int32](to.Array)[first:], v.i, pick)
	case types.U8, types.Bool:
		putCells(to.Data[first:], v.i, pick)
	default:
		panic("interp: no cells of type " + to.Type.String())
	}
	if v.b != nil {
		putCells(to.Bound[first:], v.b, pick)
	}
	if to.chain {
		putCells(to.sum[first:], v.s, pick)
		putCells(to.mag[first:], v.m, pick)
	}
}

func putCells[E element, V int64 | float64](dst []E, src []V, pick func(int) bool) {
	dst = dst[:len(src)]
	for k, v := range src {
		if pick == nil || pick(k) {
			dst[k] = E(v)
		}
	}
}

// batch is the number of stretches whose values a reduction holds at a time.
const batch = 64

// reduce takes the values of the domain's cells in row-major order, a batch of
// stretches at a time, up the tree that ir.Reduce describes, segment by segment.
func (st *statement) reduce(s *State) {
	t, kind := st.src.Reduce.Scalar.Type, st.src.Reduce.Kind
	size := min(st.length, stretch)
	results := make([][]cell, min(batch, st.units))
	join := s.joiner(kind, t)
	tree, part := tree{join: join}, segment{}
	none, n := neutral(kind, t), uint64(0)
	for first := int64(0); first < st.units; first += batch {
		last := min(first+batch, st.units)
		st.span(first, last, func(r *row, unit int64) {
			out := results[unit-first]
			if out == nil {
				out = make([]cell, 0, size)
			}
			results[unit-first] = collect(out[:0], r, st.value.eval(r), st.pick(r), none)
		})
		for i, values := range results[:last-first] {
			x, ends := st.stretch(first + int64(i))
			for _, v := range values {
				if part.put(x, v) {
					tree.push(part.take(join))
				}
				x++
			}
			if ends && part.has != 0 {
				tree.push(part.take(join))
			}
			n += uint64(len(values))
		}
	}
	v := tree.root(none)
	value := op.Value{T: t, F: v.f, I: v.i}
	s.set(st.src.Reduce.Scalar, value, s.finish(v, kind, t, n))
}

// stretch returns where a stretch starts on the last axis, and whether it is the
// last of its row.
func (st *statement) stretch(unit int64) (first int64, ends bool) {
	if len(st.axes) == 0 {
		return 0, true
	}
	at := unit % st.per
	return st.dom[st.axes[len(st.axes)-1]].Lo + at*stretch, at == st.per-1
}

// collect adds a row's values to a list, and none where pick leaves a cell out.
func collect(out []cell, r *row, v bounded, pick func(int) bool, none cell) []cell {
	for k := range r.n {
		if pick != nil && !pick(k) {
			out = append(out, none)
			continue
		}
		var c cell
		if v.f != nil {
			c.f = v.f[k]
		} else {
			c.i = v.i[k]
		}
		if v.b != nil {
			c.b = v.b[k]
			c.s = math.Abs(c.f) + c.b
		}
		out = append(out, c)
	}
	return out
}
