package transform

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Sharing is a call in which values that statements read at several cells are computed once for each cell (CIRE,
// cross-iteration redundancy elimination: Luporini et al. 2020; array common subexpressions: Deitz et al. 2001). A
// value of arrays at one point, such as A*B, is storage folding (Rawat et al. 2019).
type Sharing struct {
	Call   *ir.Call // with a local grid for each value, which is assigned before its first reader
	Values []*Shared
	// Before and After are what a cell costs: values that a cell needs several times count once.
	Before, After Work
	// Was holds the statements as they were, for those of the call that assign no shared value.
	Was map[*ir.Stmt]*ir.Stmt
	// Planes says that the values are parts of statements that wait for later planes. See RetimeCall.
	Planes bool
}

// Shared is a value that is computed once for each cell, and read at several from there.
type Shared struct {
	Array   *ir.Array // the local grid that holds it
	Stmt    *ir.Stmt  // assigns it
	Offsets [][]int64 // from a cell to those whose values it reads, by axis
}

// Work is operations and loads of a cell.
type Work struct{ Operations, Loads float64 }

// Sum adds both up: a load costs as much as an operation.
func (w Work) Sum() float64 { return w.Operations + w.Loads }

// Lines says what is shared, a line each.
//
// Example text:
//
//	mu_strx = mu[k][j][i] * strx[i] at 4 cells
func (s *Sharing) Lines(p *ir.Program) []string {
	var list []string
	for _, v := range s.Values {
		if s.Planes {
			list = append(list, fmt.Sprintf("%s = %s", v.Array.Name, p.InfixExpr(v.Stmt.Value)))
			continue
		}
		cells := "1 cell"
		if n := len(v.Offsets); n > 1 {
			cells = fmt.Sprintf("%d cells", n)
		}
		list = append(list, fmt.Sprintf("%s = %s at %s", v.Array.Name, p.InfixExpr(v.Stmt.Value), cells))
	}
	return list
}

// tileCells is how many cells a tile has along an axis: so large a part of a value's cells is beyond the tile that a
// reader one cell away adds. Along the outermost axis kernels go plane by plane.
const tileCells = 32

// ShareOptions says what may be shared.
type ShareOptions struct {
	May   func(*ir.Stmt) bool // which statements may be written anew
	Taken map[string]bool     // names that local grids do not get
	Most  int                 // so many values at most, those that save most; 0 for all that are worth it
	All   bool                // share values that are not worth it, too: for proofs
}

// mostShared bounds the values that are shared whether they are worth it or not.
const mostShared = 64

// Share finds the values of a call that are worth a local grid each: those that save more operations and loads than
// their own computation, in the halo of a tile, too, and its loads cost. An access costs as much as an operation. It
// takes the largest values first, and then what these have in common. Operations stay what they are, and in their
// order: no bit changes. Under arith.Contract a product that a sum takes in has no value of its own, and is not shared.
// Under arith.Fast sums are put into another order first.
//
// The Refusal says why nothing is shared.
func Share(p *ir.Program, call *ir.Call, o ShareOptions) (*Sharing, error) {
	s := &sharer{program: p, call: call, forms: newForms(), names: map[string]bool{}, refused: map[int]bool{}}
	s.all = o.All
	maps.Copy(s.names, o.Taken)
	if len(p.Axes) > maxAxes {
		return nil, &Refusal{call.Name, fmt.Sprintf("has more than %d axes", maxAxes)}
	}
	s.begin(o.May)
	before, _ := s.cost(s.items)
	was := map[*ir.Stmt]*ir.Stmt{} // statements whose sums have another order, as they were
	if p.Arithmetic == arith.Fast {
		s.regroup()
		for _, it := range s.items {
			was[it.stmt] = it.was
		}
	}
	for s.step() && (!s.all || len(s.shared) < mostShared) {
	}
	if !s.all {
		s.prune()
	}
	for o.Most > 0 && len(s.shared) > o.Most {
		s.dropLeast()
	}
	if len(s.shared) == 0 {
		return nil, &Refusal{call.Name, "has nothing to share: no value that it computes at several cells saves more " +
			"operations and loads than it costs"}
	}
	out := &Sharing{Values: s.shared, Before: before, Was: map[*ir.Stmt]*ir.Stmt{}}
	next := *call
	next.Arrays, next.Body = slices.Clone(call.Arrays), nil
	for _, v := range s.shared {
		v.Array.Name = s.name(v.Stmt.Value)
		next.Arrays = append(next.Arrays, v.Array)
		v.Offsets = s.offsets(v.Array)
	}
	for _, it := range s.items {
		if st := was[it.stmt]; st != nil { // it reads nothing that is shared
			it.stmt = st
		}
		next.Body = append(next.Body, it.stmt)
		if it.was != nil {
			out.Was[it.stmt] = it.was
		}
	}
	out.After, _ = s.cost(s.items)
	out.Call = &next
	return out, nil
}

// sharer rewrites the statements of a call, a value at a time.
type sharer struct {
	program *ir.Program
	call    *ir.Call
	items   []*item
	shared  []*Shared
	forms   *forms
	refused map[int]bool // forms that are not worth it
	names   map[string]bool
	all     bool // whether they are worth it or not
}

// item is a statement. It is not changed: a value that is shared makes others of those that read it.
type item struct {
	stmt  *ir.Stmt
	was   *ir.Stmt // as the call has it; nil for a shared value
	reads bool     // it may be written anew, to read shared values
	need  ir.Box   // the cells that its value is needed at; nil if it is at none, or they cannot be written
	// versions are how many statements before it assign an array, or reduce into a scalar.
	versions map[any]int
}

// open reports whether values in the statement may be shared.
func (it *item) open() bool { return it.need != nil && (it.reads || it.was == nil) }

func (s *sharer) begin(may func(*ir.Stmt) bool) {
	versions := map[any]int{}
	for _, st := range s.call.Body {
		it := &item{stmt: st, was: st, reads: may(st) && st.Reduce == nil && st.Color == nil, versions: map[any]int{}}
		for k, n := range versions {
			it.versions[k] = n
		}
		switch {
		case st.Array != nil:
			versions[st.Array]++
		case st.Reduce != nil:
			versions[st.Reduce.Scalar]++
		}
		if st.Temp != nil {
			everywhere := ir.Unbounded(len(s.program.Axes)).Equal(st.Domain)
			s.forms.uniform[st.Temp] = everywhere && len(s.axes(st.Value)) == 0
		}
		s.items = append(s.items, it)
	}
	s.findNeeds()
}

// axes returns those on which an expression varies.
func (s *sharer) axes(e ir.Expr) []int {
	all := make([]int, len(s.program.Axes))
	for a := range all {
		all[a] = a
	}
	return ir.AxesOf(len(all), e, func(t *ir.Temp) []int {
		if s.forms.uniform[t] {
			return nil
		}
		return all
	})
}

// findNeeds finds the cells at which values are needed.
func (s *sharer) findNeeds() {
	temps := map[*ir.Temp]ir.Box{}
	unknown := map[*ir.Temp]bool{}
	for _, it := range slices.Backward(s.items) {
		switch st := it.stmt; {
		case st.Temp == nil:
			it.need = plainBox(st.Domain)
		case !unknown[st.Temp]:
			it.need = temps[st.Temp]
		}
		ir.Walk(it.stmt.Value, func(e ir.Expr) {
			r, ok := e.(ir.TempRef)
			switch {
			case !ok:
			case it.need == nil && (it.stmt.Temp == nil || unknown[it.stmt.Temp]):
				unknown[r.Temp] = true
			case it.need != nil:
				if temps[r.Temp], ok = hull(temps[r.Temp], it.need); !ok {
					unknown[r.Temp] = true
				}
			}
		})
	}
}

// plainBox returns a box if each of its axes has one lower and one upper bound; else nil.
func plainBox(b ir.Box) ir.Box {
	for _, r := range b {
		if len(r.Lo) != 1 || len(r.Hi) != 1 {
			return nil
		}
	}
	return b
}

// hull returns the smallest box that has two others, if it can be seen for all sizes. The first may be nil.
func hull(b, c ir.Box) (ir.Box, bool) {
	if b == nil {
		return c, true
	}
	out := make(ir.Box, len(b))
	for a := range b {
		lo, okLo := lesser(b[a].Lo[0], c[a].Lo[0])
		hi, okHi := lesser(c[a].Hi[0].Times(-1), b[a].Hi[0].Times(-1))
		if !okLo || !okHi {
			return nil, false
		}
		out[a] = ir.Range{Lo: []ir.Affine{lo}, Hi: []ir.Affine{hi.Times(-1)}}
	}
	return out, true
}

func lesser(a, b ir.Affine) (ir.Affine, bool) {
	switch {
	case b.Minus(a).NeverNegative():
		return a, true
	case a.Minus(b).NeverNegative():
		return b, true
	}
	return ir.Affine{}, false
}

// step shares one value more, and reports whether there was one: the largest that is worth it, or what is worth more in
// it, since it is at more cells.
func (s *sharer) step() bool {
	groups := s.groups()
	_, was := s.cost(s.items)
	for _, g := range groups {
		if s.refused[g.form] {
			continue
		}
		items, is := s.try(g)
		if items == nil || is >= was && !s.all {
			s.refused[g.form] = true
			continue
		}
		within := map[int]bool{}
		ir.Walk(g.value, func(e ir.Expr) { within[s.forms.place(e, s.items[g.first].versions).form] = true })
		for _, h := range groups {
			if !within[h.form] || len(h.cells) <= len(g.cells) || s.refused[h.form] || s.all {
				continue
			}
			if others, less := s.try(h); others != nil && less < is {
				items, is = others, less
			}
		}
		s.now(items)
		return true
	}
	return false
}

// group is a value that is computed at several cells.
type group struct {
	form  int
	cells []vector // where, as forms place it
	first int      // item that has it
	value ir.Expr  // at the first of the cells
}

// groups returns the values that statements compute at two cells or more, the largest first.
func (s *sharer) groups() []*group {
	of := map[int]*group{}
	var list []*group
	for n, it := range s.items {
		if !it.open() {
			continue
		}
		var visit func(e ir.Expr)
		visit = func(e ir.Expr) {
			at := s.forms.place(e, it.versions)
			f := &s.forms.list[at.form]
			if f.cost == 0 { // of what is below it, too
				return
			}
			if s.sharable(e, f) {
				g := of[at.form]
				if g == nil {
					g = &group{form: at.form, first: n, value: e}
					of[at.form] = g
					list = append(list, g)
				}
				if !slices.Contains(g.cells, at.at) {
					g.cells = append(g.cells, at.at)
				}
			}
			for _, c := range ir.Children(e) {
				visit(c)
			}
		}
		visit(it.stmt.Value)
	}
	list = slices.DeleteFunc(list, func(g *group) bool { return len(g.cells) < 2 })
	slices.SortStableFunc(list, func(a, b *group) int {
		return cmp.Compare(s.forms.list[b.form].cost, s.forms.list[a.form].cost)
	})
	return list
}

// sharable reports whether a value may be stored in a grid: it moves with the cell along all axes, since kernels of
// several statements run over one set of axes, and has a type whose grids keep it. A sign is not worth a grid, and what
// is converted is no smaller than what it is made of.
func (s *sharer) sharable(e ir.Expr, f *form) bool {
	if u, ok := e.(*ir.Unary); ok && f.typ.IsFloat() && u.Op.Sign() == "-" {
		return false
	}
	if _, ok := e.(*ir.Cast); ok {
		return false
	}
	return f.moves && f.own > 0 && f.axes == 1<<len(s.program.Axes)-1 && (f.typ.IsFloat() || f.typ == types.I32)
}

// try returns the items with a value that is shared, and what they cost; nil if the domain cannot be written.
func (s *sharer) try(g *group) ([]*item, float64) {
	f := s.forms.list[g.form]
	origin := s.center(g.value)
	back := make(offset, len(s.program.Axes))
	for a := range back {
		back[a] = -origin[a]
	}
	at := s.forms.place(g.value, s.items[g.first].versions).at
	name := fmt.Sprintf("shared %d", g.form) // until all are known
	v := &Shared{Array: &ir.Array{Name: name, Type: f.typ, Local: true, Written: true, Read: true}}
	v.Stmt = &ir.Stmt{Array: v.Array, Value: shift(g.value, back, keepTemp)}
	for a := range back {
		v.Stmt.Axes = append(v.Stmt.Axes, a)
	}
	var items []*item
	var need ir.Box
	ok := true
	for n, it := range s.items {
		if n == g.first {
			items = append(items, &item{stmt: v.Stmt, versions: it.versions})
		}
		if !it.open() {
			items = append(items, it)
			continue
		}
		next := s.replaced(it, g.form, func(cell vector) ir.Expr {
			read := &ir.Access{Array: v.Array}
			reach := it.need.Clone()
			for a := range back {
				d := int64(cell[a]) - int64(at[a]) + origin[a]
				read.Index = append(read.Index, ir.Index{Axis: a, Offset: d})
				reach[a] = reach[a].Shift(d)
			}
			if ok {
				need, ok = hull(need, reach)
			}
			return read
		})
		items = append(items, next)
	}
	if !ok {
		return nil, 0
	}
	v.Stmt.Domain = need
	v.Array.Box = need
	v.Array.Dims = s.dims(need)
	items[g.first].need = need
	_, is := s.cost(items)
	return items, is
}

// now takes the items that there are from now on.
func (s *sharer) now(items []*item) {
	s.items, s.shared = items, nil
	for _, it := range items {
		if it.was == nil {
			s.shared = append(s.shared, &Shared{Array: it.stmt.Array, Stmt: it.stmt})
		}
	}
}

// prune computes values where they are needed that are no longer worth a local grid, since larger ones are shared.
func (s *sharer) prune() {
	for _, v := range s.shared {
		items := s.without(v)
		_, was := s.cost(s.items)
		if _, is := s.cost(items); is < was {
			s.now(items)
		}
	}
}

// dropLeast computes the value where it is needed that saves least.
func (s *sharer) dropLeast() {
	var least []*item
	lowest := 0.0
	for _, v := range s.shared {
		items := s.without(v)
		if _, is := s.cost(items); least == nil || is < lowest {
			least, lowest = items, is
		}
	}
	s.now(least)
}

// without returns the items with a value computed where it is needed.
func (s *sharer) without(v *Shared) []*item {
	var items []*item
	var value ir.Expr
	for _, it := range s.items {
		if it.stmt.Array == v.Array {
			value = it.stmt.Value
			continue
		}
		next, st := *it, *it.stmt
		st.Value = Substituted(st.Value, func(a *ir.Array) ir.Expr {
			if a == v.Array {
				return value
			}
			return nil
		})
		if st.Value != it.stmt.Value {
			next.stmt = &st
			it = &next
		}
		items = append(items, it)
	}
	return items
}

// replaced returns an item with all values of a form in it replaced by reads of the cell where they are.
func (s *sharer) replaced(it *item, form int, read func(vector) ir.Expr) *item {
	var visit func(e ir.Expr) ir.Expr
	visit = func(e ir.Expr) ir.Expr {
		at := s.forms.place(e, it.versions)
		if at.form == form {
			return read(at.at)
		}
		if s.forms.list[at.form].cost < s.forms.list[form].cost {
			return e
		}
		return ir.MapChildren(e, visit)
	}
	value := visit(it.stmt.Value)
	if value == it.stmt.Value {
		return it
	}
	next, st := *it, *it.stmt
	st.Value = value
	next.stmt = &st
	return &next
}

// center returns the middle of the cells that a value reads.
func (s *sharer) center(e ir.Expr) offset {
	out := make(offset, len(s.program.Axes))
	for a := range out {
		lo, hi, some := int64(0), int64(0), false
		ir.Walk(e, func(e ir.Expr) {
			acc, ok := e.(*ir.Access)
			if !ok {
				return
			}
			for _, ix := range acc.Index {
				if ix.Axis != a {
					continue
				}
				if !some {
					lo, hi, some = ix.Offset, ix.Offset, true
				}
				lo, hi = min(lo, ix.Offset), max(hi, ix.Offset)
			}
		})
		out[a] = (lo + hi) >> 1 // rounded down
	}
	return out
}

// dims returns the dimensions of a grid that holds a box: those of an array of the call, if it has room.
func (s *sharer) dims(b ir.Box) []ir.Dim {
	for _, arr := range s.call.Arrays {
		if len(arr.Dims) != len(b) {
			continue
		}
		holds := true
		var dims []ir.Dim
		for a, d := range arr.Dims {
			holds = holds && d.Axis == a && ir.Range{Lo: []ir.Affine{d.Lo}, Hi: []ir.Affine{d.Hi}}.Has(b[a])
			dims = append(dims, ir.Dim{Axis: a, Lo: d.Lo, Hi: d.Hi})
		}
		if holds {
			return dims
		}
	}
	var dims []ir.Dim
	for a, r := range b {
		dims = append(dims, ir.Dim{Axis: a, Lo: r.Lo[0], Hi: r.Hi[0]})
	}
	return dims
}

// name returns a name for a value: those of the arrays that it is computed from, if they are few.
func (s *sharer) name(e ir.Expr) string {
	var names []string
	var visit func(e ir.Expr)
	visit = func(e ir.Expr) {
		a, ok := e.(*ir.Access)
		if !ok {
			return
		}
		for _, v := range s.shared {
			if v.Array == a.Array {
				ir.Walk(v.Stmt.Value, visit)
				return
			}
		}
		if !slices.Contains(names, a.Array.Name) {
			names = append(names, a.Array.Name)
		}
	}
	ir.Walk(e, visit)
	base := strings.Join(names, "_")
	if len(names) == 1 || len(base) > longestName {
		base = names[0] + "_shared"
	}
	free := base
	for n := 2; s.names[free]; n++ {
		free = fmt.Sprintf("%s_%d", base, n)
	}
	s.names[free] = true
	return free
}

// longestName is how long names become that are made of several.
const longestName = 20

// offsets returns where statements read a local grid, in order.
func (s *sharer) offsets(arr *ir.Array) [][]int64 {
	var list [][]int64
	for _, it := range s.items {
		ir.Walk(it.stmt.Value, func(e ir.Expr) {
			if acc, ok := e.(*ir.Access); ok && acc.Array == arr {
				var at []int64
				for _, ix := range acc.Index {
					at = append(at, ix.Offset)
				}
				list = append(list, at)
			}
		})
	}
	slices.SortFunc(list, slices.Compare)
	return slices.CompactFunc(list, slices.Equal)
}

// cost returns the work of a cell, and what that costs in a tile, where values are computed in a halo, too.
func (s *sharer) cost(items []*item) (Work, float64) {
	var all Work
	total := 0.0
	reach := map[*ir.Array][2]vector{} // how far from the cells that a tile is for
	own := map[placed]bool{}           // what is computed at the cell itself
	for _, it := range slices.Backward(items) {
		if it.stmt.Temp != nil && it.need == nil && it.was != nil && it.reads {
			continue
		}
		has, halo, weight := own, [2]vector{}, 1.0
		if it.was == nil {
			has, halo = map[placed]bool{}, reach[it.stmt.Array]
			for a := 1; a < len(s.program.Axes); a++ {
				weight *= 1 + float64(halo[1][a]-halo[0][a])/tileCells
			}
			total++ // it is stored
		}
		var w Work
		var visit func(e ir.Expr)
		visit = func(e ir.Expr) {
			at := s.forms.place(e, it.versions)
			if has[at] {
				return
			}
			has[at] = true
			f := &s.forms.list[at.form]
			w.Operations += f.own
			if acc, ok := e.(*ir.Access); ok {
				w.Loads++
				if acc.Array.Local {
					r, some := reach[acc.Array]
					for _, ix := range acc.Index {
						if a := ix.Axis; a >= 0 {
							lo, hi := halo[0][a]+int32(ix.Offset), halo[1][a]+int32(ix.Offset)
							if some {
								lo, hi = min(lo, r[0][a]), max(hi, r[1][a])
							}
							r[0][a], r[1][a] = lo, hi
						}
					}
					reach[acc.Array] = r
				}
			}
			for _, c := range ir.Children(e) {
				visit(c)
			}
		}
		visit(it.stmt.Value)
		all.Operations += w.Operations
		all.Loads += w.Loads
		total += weight * w.Sum()
	}
	return all, total
}
