package lower

import (
	"fmt"
	"math"
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// scope is a list of statements being written, with the values that it names.
// A name is made once and found again by its key and the value itself: no key
// has to tell all that a value depends on.
type scope struct {
	outer *scope
	stmts []kernel.Stmt
	named map[string][]*kernel.Let
	names map[string]bool
	tried map[string]int // by name: all with a lower number behind it are taken here
}

func newScope(outer *scope) *scope {
	return &scope{outer: outer, named: map[string][]*kernel.Let{}, names: map[string]bool{}, tried: map[string]int{}}
}

func (s *scope) emit(list ...kernel.Stmt) { s.stmts = append(s.stmts, list...) }

func (s *scope) find(key string, value kernel.Expr) (*kernel.Var, bool) {
	for ; s != nil; s = s.outer {
		for _, l := range s.named[key] {
			if kernel.Same(l.Value, value) {
				return l.Var, true
			}
		}
	}
	return nil, false
}

func (s *scope) taken(name string) bool {
	for ; s != nil; s = s.outer {
		if s.names[name] {
			return true
		}
	}
	return false
}

// let names a value, or finds it if it is known under the key in scope.
func (s *scope) let(e *env, key, name string, value kernel.Expr) kernel.Expr {
	if v, ok := s.find(key, value); ok {
		return kernel.V(v)
	}
	switch value.(type) {
	case *kernel.Ref, *kernel.Lit:
		return value
	}
	v := s.declare(e, name, value.Type())
	l := &kernel.Let{Var: v, Value: value}
	s.named[key] = append(s.named[key], l)
	s.emit(l)
	return kernel.V(v)
}

// declare makes a variable with a name that is free in scope.
func (s *scope) declare(e *env, name string, t types.Type) *kernel.Var {
	base := e.fresh(name)
	name = base
	if s.taken(name) {
		name = s.numbered(e, base)
	}
	s.names[name] = true
	return kernel.NewVar(name, t)
}

// numbered returns a name with the lowest number behind it that makes it free. It
// goes on from where it stopped last: names that were taken stay taken.
func (s *scope) numbered(e *env, base string) string {
	i := 2
	for o := s; o != nil; o = o.outer {
		i = max(i, o.tried[base])
	}
	for ; ; i++ {
		if name := e.fresh(base + "_" + strconv.Itoa(i)); !s.taken(name) {
			s.tried[base] = i
			return name
		}
	}
}

// cell is the place where code for one cell is written: which axes are in an
// edge region, the scope of the row (everything that does not vary on the
// inner axis) and that of the cell.
type cell struct {
	*nest
	edge map[int]bool
	pos  map[int]kernel.Expr // I64 position by axis
	row  *scope
	body *scope
	vals map[*ir.Temp]kernel.Expr
	// tiledKernel is set where the cell is one of a thread's tile, and place is where
	// in it: offsets from pos by axis.
	tiledKernel *tiledKernel
	place       map[int]int64
	// stage is set where the cell is one of a stage's.
	stage *stageCell
}

// at returns the cell's position on an axis.
func (c *cell) at(axis int) kernel.Expr { return kernel.Add(c.pos[axis], kernel.I(c.place[axis])) }

// load reads what an access means at this cell.
func (c *cell) load(a *ir.Access) kernel.Expr {
	if c.tiledKernel != nil {
		return c.tiledKernel.value(c, a)
	}
	if c.stage != nil {
		return c.stage.value(c, a)
	}
	st := c.storeOf(a.Array)
	b := c.bufferOf(st)
	b.reads = true
	var idx []index
	for d, ix := range a.Index {
		idx = append(idx, c.index(a, d, ix))
	}
	return applied(&kernel.Load{Buffer: b.buffer, Index: c.element(st, idx)}, idx)
}

// applied applies the boundaries of some indices to a value that was loaded
// with them: the first axis that hits a constant wins, so it is the outermost
// choice.
func applied(value kernel.Expr, idx []index) kernel.Expr {
	for _, x := range idx {
		if x.negate != nil {
			value = kernel.Sel(x.negate, kernel.Un(op.Neg, value), value)
		}
	}
	for d := len(idx) - 1; d >= 0; d-- {
		for _, hit := range idx[d].constants {
			value = kernel.Sel(hit.cond, hit.value, value)
		}
	}
	return value
}

// storeOf returns where an array's values are read.
func (c *cell) storeOf(a *ir.Array) *store {
	if st, ok := c.snapshots[a]; ok {
		return st
	}
	return c.arrayStore(c.call, a)
}

// bufferOf returns the kernel's buffer for a store, made on first use.
func (e *env) bufferOf(st *store) *binding {
	return e.buffer(st.arg, st.order, st.name, st.elem, func() kernel.Expr { return st.cells(e.size) })
}

// index is one index of an access after boundaries: an expression for the
// cell that is read, in grid coordinates.
type index struct {
	axis      int // -1 for a constant
	at        kernel.Expr
	offset    int64 // at = position + offset, where plain
	plain     bool
	key       string
	constants []constantHit
	negate    kernel.Expr // Bool, or nil
	single    bool        // where it is beyond a face, that is by one cell
}

type constantHit struct{ cond, value kernel.Expr }

// index maps one index of an access. In an interior region, and where the
// access cannot cross a face, that is the position plus the offset.
func (c *cell) index(a *ir.Access, d int, ix ir.Index) index {
	out := index{axis: ix.Axis, offset: ix.Offset, plain: true}
	if ix.Axis < 0 {
		out.at, out.key = kernel.I(ix.Offset), fmt.Sprintf("=%d", ix.Offset)
		out.plain = false
	} else {
		out.at = kernel.Add(c.pos[ix.Axis], kernel.I(ix.Offset))
		out.key = fmt.Sprintf("%d%+d", ix.Axis, ix.Offset)
	}
	if ix.Axis >= 0 && !c.edge[ix.Axis] {
		return out
	}
	faces := a.Array.Dims[d].Faces
	holds := a.Array.Holds(d)
	below, above := c.beyond(ix, holds.Lo, c.loBounds, -1), c.beyond(ix, holds.Hi, c.hiBounds, 1)
	low, high := faces.Low.Kind != ir.None && below > 0, faces.High.Kind != ir.None && above > 0
	if !low && !high {
		return out
	}
	out.single = (!low || below == 1) && (!high || above == 1)
	return c.mapped(a.Array, d, out, low, high)
}

// crosses reports whether an access may read beyond a face; see beyond.
func (c *cell) crosses(ix ir.Index, ends []ir.Affine, loop func(axis int) []ir.Affine, side int64) bool {
	return c.beyond(ix, ends, loop, side) > 0
}

// beyond returns how many cells beyond a face an access may read, math.MaxInt64 if
// that depends on the sizes: side is -1 for the low face and 1 for the high one.
// ends are the dimension's bounds on that side, of which there is more than one
// only for local grids.
func (c *cell) beyond(ix ir.Index, ends []ir.Affine, loop func(axis int) []ir.Affine, side int64) int64 {
	var from []ir.Affine
	if ix.Axis < 0 {
		from = []ir.Affine{ir.Num(ix.Offset)}
	} else {
		for _, b := range loop(ix.Axis) {
			from = append(from, b.Add(ix.Offset))
		}
	}
	far := int64(0)
	for _, end := range ends {
		least := int64(math.MaxInt64)
		for _, f := range from {
			if d, ok := f.Diff(end); ok {
				least = min(least, d*side)
			}
		}
		far = max(far, least)
	}
	return far
}

// loBounds returns bounds that every cell of the loop respects on an axis.
func (c *cell) loBounds(axis int) []ir.Affine { return c.span[axis].loBounds }

func (c *cell) hiBounds(axis int) []ir.Affine { return c.span[axis].hiBounds }

// mapped applies a dimension's boundaries. The values that it needs are named
// in the row's scope unless they vary on the inner axis.
func (c *cell) mapped(a *ir.Array, d int, raw index, low, high bool) index {
	s := c.row
	if raw.axis == c.inner() {
		s = c.body
	}
	key := fmt.Sprintf("map:%s:%d:%s", a.Name, d, raw.key)
	return c.throughFaces(s, a, d, raw, key, c.offsetName(raw), low, high)
}

// throughFaces makes an index of a dimension one that can be loaded: where it
// may cross a face, it is mapped as the boundary says, or clipped if there is
// none. The values that this takes are named in a scope, under a key.
func (c *cell) throughFaces(s *scope, a *ir.Array, d int, raw index, key, name string, low, high bool) index {
	holds, faces := a.Holds(d), a.Dims[d].Faces
	out := index{axis: raw.axis, offset: raw.offset, key: key}
	lo, hi := c.low(holds.Lo, nil), c.high(holds.Hi, nil)
	x := raw.at
	at := x
	var negate kernel.Expr
	side := func(which string, f ir.Boundary, cond, end kernel.Expr, clip func(x, y kernel.Expr) kernel.Expr) {
		if f.Kind == ir.None {
			at = clip(at, end)
			return
		}
		to, neg := mapIndex(f.Kind, x, lo, hi)
		if c.opts.Target == CPU {
			to, neg = mapNear(f.Kind, x, lo, hi, which == "above", raw.single, to, neg)
		}
		if f.Kind == ir.Constant {
			// Any cell will do: its value is not used.
			hit := s.let(c.env, key+":"+which, name+"_"+which, cond)
			out.constants = append(out.constants, constantHit{hit, c.expr(f.Value)})
		}
		at = kernel.Sel(cond, to, at)
		if neg != nil {
			neg = kernel.And(cond, neg)
			if negate != nil {
				neg = kernel.Bin(op.LOr, negate, neg)
			}
			negate = neg
		}
	}
	if high {
		side("above", faces.High, kernel.Bin(op.Gt, x, hi), hi, kernel.Min)
	}
	if low {
		side("below", faces.Low, kernel.Lt(x, lo), lo, kernel.Max)
	}
	out.at = s.let(c.env, key+":at", name, at)
	if negate != nil {
		out.negate = s.let(c.env, key+":neg", name+"_neg", negate)
	}
	return out
}

// element returns the position of a cell within a store. The part that does
// not vary on the inner axis is named in the row's scope.
func (c *cell) element(st *store, idx []index) kernel.Expr {
	if c.tiledKernel != nil {
		return c.tiledKernel.element(st, idx)
	}
	last := len(idx) - 1
	if last < 0 {
		return kernel.I(0) // one value, for all cells
	}
	for _, x := range idx[:last] {
		if x.axis == c.inner() {
			return c.flat(st, idx) // the inner axis strides through memory
		}
	}
	if idx[last].axis != c.inner() {
		return c.flat(st, idx)
	}
	inLo := st.dims[last].lo(c.size)
	at := idx[last].at
	inLo = kernel.Sub(inLo, kernel.I(st.layout.Lead))
	if last == 0 {
		return kernel.Sub(at, inLo)
	}
	key := "row:" + st.shapeKey()
	name := c.rowName(st)
	var off kernel.Expr
	for d := range last {
		x := kernel.Sub(idx[d].at, st.dims[d].lo(c.size))
		if d == 0 {
			off = x
		} else {
			off = kernel.Add(kernel.Mul(off, st.dims[d].len(c.size)), x)
		}
		key += idx[d].key + ";"
		name += c.rowSuffix(idx[d])
	}
	off = kernel.Mul(off, st.pitch(last, c.size))
	row := c.row.let(c.env, key, name, kernel.Sub(off, inLo))
	if idx[last].plain {
		return kernel.Add(kernel.Add(row, c.pos[c.inner()]), kernel.I(idx[last].offset))
	}
	return kernel.Add(row, at)
}

// flat is the element of a store at some indices, all of it computed in place.
func (e *env) flat(st *store, idx []index) kernel.Expr {
	var off kernel.Expr
	for d, x := range idx {
		rel := kernel.Sub(x.at, st.dims[d].lo(e.size))
		if d == 0 {
			off = rel
		} else {
			off = kernel.Add(kernel.Mul(off, st.pitch(d, e.size)), rel)
		}
	}
	return kernel.Add(off, kernel.I(st.layout.Lead))
}

// rowName names the start of a row of a store: "row" for the shape that is
// used first, "u_row" for others.
func (c *cell) rowName(st *store) string {
	key := st.shapeKey()
	for i, k := range c.shapes {
		if k == key {
			if i == 0 {
				return "row"
			}
			return st.name + "_row"
		}
	}
	c.shapes = append(c.shapes, key)
	return c.rowName(st)
}

func (c *cell) rowSuffix(x index) string {
	switch {
	case x.plain && x.offset == 0:
		return ""
	case x.axis < 0:
		return fmt.Sprintf("_at%d", max(x.offset, -x.offset))
	}
	return "_" + c.offsetName(x)
}

// offsetName is "km1" for k-1 and "jp2" for j+2.
func (c *cell) offsetName(x index) string {
	switch {
	case x.axis < 0:
		return fmt.Sprintf("at%d", max(x.offset, -x.offset))
	case x.offset < 0:
		return fmt.Sprintf("%sm%d", c.Program.Axes[x.axis], -x.offset)
	case x.offset > 0:
		return fmt.Sprintf("%sp%d", c.Program.Axes[x.axis], x.offset)
	}
	return c.Program.Axes[x.axis] + "0"
}
