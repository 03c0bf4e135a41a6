package lang

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// access lowers the read of one cell.
func (s *stager) access(e *env, x *IndexExpr) (ir.Expr, bool) {
	name := x.Name.Name
	a := s.arrayNamed(name)
	if a == nil {
		return nil, false
	}
	if a.Local && a.Box == nil {
		s.c.diags.Errorf(x.Span(), "%q is read before it has values", name)
		return nil, false
	}
	acc := &ir.Access{Array: a, Index: make([]ir.Index, len(x.Indices))}
	ok := true
	for d, ix := range x.Indices {
		var good bool
		acc.Index[d], good = s.index(e, a, d, ix)
		ok = ok && good
	}
	if !ok {
		return nil, false
	}
	a.Read = true
	s.reads[acc] = x.Span()
	if a.Local && a.HasBoundary() && s.readBox[a] == nil {
		s.readBox[a] = a.Box
	}
	return acc, true
}

// index lowers one index of an access.
func (s *stager) index(e *env, a *ir.Array, d int, x Expr) (ir.Index, bool) {
	diags := &s.c.diags
	l, problem, place := e.linearOf(x)
	if problem == "is in error" {
		return ir.Index{}, false
	}
	axis := -1
	for i, k := range l.coef {
		if k != 0 && (k != 1 || axis >= 0) {
			problem, place = "is no iterator plus a constant", x.Span()
		}
		if k != 0 {
			axis = i
		}
	}
	if problem != "" {
		r := diags.Errorf(place, "an index is an iterator plus a constant number, or a constant number")
		if namesParam(s.c, x) {
			r.Hintf("to work at the far end of a grid, give the statement a domain: [N-1:N-1, ...] :")
		}
		return ir.Index{}, false
	}
	dim := a.Dims[d]
	if axis >= 0 && s.fixed[a] && axis != dim.Axis {
		diags.Errorf(x.Span(), "dimension %d of %q runs along %s, so %s cannot index it", d+1, a.Name, s.c.prog.Axes[dim.Axis], s.c.prog.Axes[axis]).
			Hintf("a grid that is written or has a boundary has one iterator for each dimension")
		return ir.Index{}, false
	}
	if axis < 0 {
		at := ir.Num(l.c)
		if below, ok := at.Diff(dim.Lo); ok && below < 0 && dim.Faces.Low.Kind == ir.None {
			diags.Errorf(x.Span(), "index %d is outside %q", l.c, a.Name)
			return ir.Index{}, false
		}
		if above, ok := at.Diff(dim.Hi); ok && above > 0 && dim.Faces.High.Kind == ir.None {
			diags.Errorf(x.Span(), "index %d is outside %q", l.c, a.Name)
			return ir.Index{}, false
		}
	}
	return ir.Index{Axis: axis, Offset: l.c}, true
}

func namesParam(c *checker, x Expr) bool {
	found := false
	walkNames(x, func(id *Ident) {
		_, ok := c.globals[id.Name].(*paramSym)
		found = found || ok
	})
	return found
}

// assign lowers an assignment.
func (s *stager) assign(a *Assignment) {
	value := a.Value
	if a.Op != Assign {
		value = &BinaryExpr{span: a.span, Op: plainOp[a.Op], X: a.Target, Y: a.Value}
	}
	switch target := a.Target.(type) {
	case *Ident:
		s.assignName(a, target, value)
	case *IndexExpr:
		s.assignCells(a, target, value)
	}
}

var plainOp = map[Kind]Kind{AddAssign: Plus, SubAssign: Minus, MulAssign: Star, DivAssign: Slash, AndAssign: Amp, OrAssign: Bar}

func (s *stager) assignName(a *Assignment, target *Ident, value Expr) {
	diags := &s.c.diags
	switch sym := s.env.lookup(target.Name).(type) {
	case nil:
		s.c.undefined(target, s.env.candidates())
		s.env.typeOf(a.Value)
	case *tempSym:
		if a.Color != nil {
			diags.Errorf(a.Color.Span(), "a colour picks cells of a grid, and %q is a scalar local", target.Name)
			return
		}
		// A new value does not hide the type of the old one.
		if t := s.temp(sym, value, a.Domain, a.Span()); t != nil {
			sym.now = t
		} else if sym.now == nil {
			sym.now = &ir.Temp{Name: sym.name, Type: sym.typ, Box: ir.Unbounded(s.c.rank())}
		}
	case *gridSym, *arraySym:
		diags.Errorf(target.Span(), "%q is a grid and needs an index", target.Name)
		s.env.typeOf(a.Value)
	case *scalarSym, *argSym:
		diags.Errorf(target.Span(), "%q is the same at all cells and cannot be assigned here", target.Name).
			Hintf("declare a scalar inside the stencil for a value at each cell, or use reduce")
		s.env.typeOf(a.Value)
	default:
		diags.Errorf(target.Span(), "%q is %s and cannot be assigned", target.Name, sym.kind())
		s.env.typeOf(a.Value)
	}
}

// temp makes the next value of a scalar local; nil after a report.
func (s *stager) temp(sym *tempSym, value Expr, domain *Domain, at diag.Range) *ir.Temp {
	var user ir.Box
	if domain != nil {
		if user = s.c.box(domain); user == nil {
			return nil
		}
	}
	if s.env.typeOf(value) == types.Invalid {
		return nil
	}
	s.intoGrid = false
	v, ok := s.env.lowerTo(value, sym.typ, floatOr(sym.typ, types.F64))
	if !ok {
		return nil
	}
	box := ir.InferDomain(s.c.rank(), nil, false, v, user)
	if !s.notEmpty(box, at) {
		return nil
	}
	t := &ir.Temp{Name: s.unique(sym.name), Type: sym.typ, Box: box}
	s.values[t] = v
	s.vary[t] = ir.AxesOf(s.c.rank(), v, s.varies)
	s.stage.Temps = append(s.stage.Temps, t)
	s.stage.Body = append(s.stage.Body, &ir.Stmt{Temp: t, Value: v, Domain: box, Range: at})
	return t
}

func (s *stager) varies(t *ir.Temp) []int { return s.vary[t] }

// notEmpty reports a domain that holds no cells at any size.
func (s *stager) notEmpty(box ir.Box, at diag.Range) bool {
	a := emptyAxis(box)
	if a < 0 {
		return true
	}
	lo, hi := box[a].Lo[0], box[a].Hi[0]
	for _, l := range box[a].Lo {
		for _, h := range box[a].Hi {
			if d, ok := h.Diff(l); ok && d < 0 {
				lo, hi = l, h
			}
		}
	}
	noteCall(s.c.diags.Errorf(at, "no cell is left for this statement: %s would run from %s to %s", s.c.prog.Axes[a], lo.Text(s.c.prog.Params), hi.Text(s.c.prog.Params)), s.call)
	return false
}

// assignCells lowers an assignment to the cells of a grid.
func (s *stager) assignCells(a *Assignment, target *IndexExpr, value Expr) {
	diags := &s.c.diags
	name := target.Name.Name
	valueType := s.env.typeOf(value)
	sym := s.env.lookup(name)
	arr := s.arrayNamed(name)
	switch {
	case sym == nil:
		s.c.undefined(target.Name, s.env.candidates())
		return
	case arr == nil:
		if table, ok := sym.(*tableSym); ok {
			diags.Errorf(target.Span(), "%q is a table and cannot be assigned", table.name)
		} else {
			diags.Errorf(target.Span(), "%q is %s and takes no index", name, sym.kind())
		}
		return
	case isBroken(sym):
		return
	case arr.Grid != nil && arr.Grid.Constant:
		diags.Errorf(target.Span(), "%q is declared constant and cannot be written", name)
		return
	case len(target.Indices) != len(arr.Dims):
		diags.Errorf(target.Span(), "%q has %d dimension%s, and this gives %d", name, len(arr.Dims), plural(len(arr.Dims)), len(target.Indices))
		return
	}
	user, ok := s.userBox(a.Domain, arr)
	plane, okTarget := s.target(arr, target)
	colors, okColor := s.colors(a.Color, arr)
	if !ok || !okTarget || !okColor || valueType == types.Invalid {
		return
	}
	s.intoGrid = true
	v, ok := s.env.lowerTo(value, arr.Type, floatOr(arr.Type, types.F64))
	if !ok {
		return
	}
	user.Clip(plane)
	if arr.Local && arr.Box != nil && a.Color != nil {
		user.Clip(arr.Box)
	}
	axes := axesOf(arr)
	for _, axis := range ir.AxesOf(s.c.rank(), v, s.varies) {
		if !slices.Contains(axes, axis) {
			diags.Errorf(a.Value.Span(), "this value varies along %s, and %q has no dimension there", s.c.prog.Axes[axis], name)
			return
		}
	}
	box := ir.InferDomain(s.c.rank(), arr, false, v, user)
	for axis := range box {
		if !slices.Contains(axes, axis) {
			box[axis] = ir.Range{}
		}
	}
	if !s.notEmpty(box, a.Span()) {
		return
	}
	if arr.Local && !s.grow(arr, a, box) {
		return
	}
	arr.Written = true
	for _, color := range colors {
		st := &ir.Stmt{Array: arr, Value: v, Domain: box, Axes: axes, Color: color, Range: a.Span()}
		s.inPlace(st)
		s.stage.Body = append(s.stage.Body, st)
	}
}

// isBroken reports whether a grid's declaration was reported.
func isBroken(s symbol) bool {
	switch s := s.(type) {
	case *gridSym:
		return s.broken
	case *arraySym:
		return s.broken
	}
	return false
}

func axesOf(a *ir.Array) []int {
	var axes []int
	for _, dim := range a.Dims {
		axes = append(axes, dim.Axis)
	}
	return axes
}

// userBox returns the statement's domain within the call's. What a call's
// domain leaves out is not touched; local grids are not seen outside, and are
// computed wherever they are needed.
func (s *stager) userBox(d *Domain, arr *ir.Array) (ir.Box, bool) {
	box := ir.Unbounded(s.c.rank())
	if s.box != nil && (arr == nil || !arr.Local) {
		box.Clip(s.box)
	}
	if d == nil {
		return box, true
	}
	user := s.c.box(d)
	if user == nil {
		return nil, false
	}
	box.Clip(user)
	return box, true
}

// target checks the indices of a target, and returns the planes that constant
// ones stand for.
func (s *stager) target(arr *ir.Array, x *IndexExpr) (ir.Box, bool) {
	plane := ir.Unbounded(s.c.rank())
	ok := true
	for d, ix := range x.Indices {
		index, good := s.index(s.env, arr, d, ix)
		if !good {
			ok = false
			continue
		}
		switch {
		case index.Axis < 0:
			at := []ir.Affine{ir.Num(index.Offset)}
			plane[arr.Dims[d].Axis].Clip(ir.Range{Lo: at, Hi: at})
		case index.Offset != 0:
			s.c.diags.Errorf(ix.Span(), "a cell that is assigned has no offset").
				Hintf("write %s here and move the offsets to the reads, or give the statement a domain", s.c.prog.Axes[index.Axis])
			ok = false
		}
	}
	return plane, ok
}

// colors returns the colours of a statement one after the other; a single nil
// if it has none.
func (s *stager) colors(c *Color, arr *ir.Array) ([]*ir.Color, bool) {
	if c == nil {
		return []*ir.Color{nil}, true
	}
	diags := &s.c.diags
	l, problem, place := s.env.linearOf(c.Sum)
	if problem == "is in error" {
		return nil, false
	}
	if problem != "" {
		diags.Errorf(place, "a colour is a sum of iterators with whole-number factors")
		return nil, false
	}
	mod, ok := s.c.intLit(c.Mod, false)
	if !ok {
		return nil, false
	}
	if mod < 2 {
		diags.Errorf(c.Mod.Span(), "there are at least 2 colours")
		return nil, false
	}
	uniform := true
	for axis, k := range l.coef {
		uniform = uniform && k%mod == 0
		if k != 0 && arr != nil && !slices.Contains(axesOf(arr), axis) {
			diags.Errorf(c.Sum.Span(), "the colour varies along %s, and %q has no dimension there", s.c.prog.Axes[axis], arr.Name)
			return nil, false
		}
	}
	if uniform {
		diags.Errorf(c.Span(), "this gives all cells one colour")
		return nil, false
	}
	first, last := int64(0), mod-1
	switch {
	case c.Rem != nil:
		rem, ok := s.c.intLit(c.Rem, false)
		if !ok {
			return nil, false
		}
		if rem >= mod {
			diags.Errorf(c.Rem.Span(), "the colours are 0 to %d", mod-1)
			return nil, false
		}
		first, last = rem, rem
	case mod > maxColors:
		diags.Errorf(c.Mod.Span(), "each stands for at most %d colours", maxColors)
		return nil, false
	case arr == nil:
		diags.Errorf(c.Span(), "a reduction has one colour or none")
		return nil, false
	}
	if arr != nil && arr.Local && arr.Box == nil && c.Rem != nil {
		diags.Errorf(c.Span(), "%q has no values yet at the cells of the other colours", arr.Name).
			Hintf("assign it at all cells first, or use == each")
		return nil, false
	}
	var list []*ir.Color
	for rem := first; rem <= last; rem++ {
		list = append(list, &ir.Color{Coef: l.coef, Mod: mod, Rem: ((rem-l.c)%mod + mod) % mod})
	}
	return list, true
}

const maxColors = 64

// grow adds a plain assignment's box to a local grid's own.
func (s *stager) grow(arr *ir.Array, a *Assignment, box ir.Box) bool {
	if a.Op != Assign {
		return true
	}
	union, ok := box, true
	if arr.Box != nil {
		union, ok = arr.Box.Unite(box)
	}
	if !ok {
		s.c.diags.Errorf(a.Span(), "the cells of %q that are assigned here and before do not make one box", arr.Name).
			Hintf("assign all of %q first, and parts of it after that", arr.Name)
		return false
	}
	// The union may rest on both parts holding cells; that it lies within the
	// extents must be seen without.
	union.Clip(arr.ExtentBox(s.c.rank()))
	if at := s.readBox[arr]; at != nil && !at.Equal(union) {
		s.c.diags.Errorf(a.Span(), "%q was read through its boundary before this assignment makes it larger", arr.Name)
		return false
	}
	arr.Box = union
	return true
}

// clipToBoxes bounds the statements that assign local grids by the grids' own
// boxes, in which they lie at every size at which all of them hold cells.
func (s *stager) clipToBoxes() {
	for _, st := range s.stage.Body {
		if st.Array != nil && st.Array.Local {
			st.Domain = st.Domain.Clone()
			st.Domain.Clip(st.Array.Box)
		}
	}
}

// reduce lowers a reduction.
func (s *stager) reduce(r *Reduction) {
	diags := &s.c.diags
	kind, ok := reduceKinds[r.Op.Name]
	if !ok {
		d := diags.Errorf(r.Op.Span(), "there is no reduction %q", r.Op.Name)
		d.Hintf("there are sum, max and min")
		return
	}
	if s.call == nil {
		diags.Errorf(r.Span(), "an initial block has no reductions")
		return
	}
	valueType := s.env.typeOf(r.Value)
	target := s.scalarNamed(r.Target)
	sym := s.env.lookup(r.Target.Name)
	switch {
	case sym == nil:
		s.c.undefined(r.Target, s.env.candidates())
		return
	case target == nil:
		d := diags.Errorf(r.Target.Span(), "a reduction needs a scalar of the program to put its result in")
		if arg, ok := sym.(*argSym); ok {
			d.Notef(arg.expr.Span(), "what is passed for %q is a value", r.Target.Name)
		} else {
			d.Message += ", and \"" + r.Target.Name + "\" is " + localKind(sym)
		}
		return
	case target.Coefficient:
		diags.Errorf(r.Target.Span(), "%q is declared coefficient and cannot change", target.Name)
		return
	case target.Type == types.Bool || target.Type == types.U8:
		diags.Errorf(r.Target.Span(), "a reduction needs an int, float or double, and %q is a %s", r.Target.Name, target.Type.Word())
		return
	}
	user, ok := s.userBox(r.Domain, nil)
	colors, okColor := s.colors(r.Color, nil)
	if !ok || !okColor || valueType == types.Invalid {
		return
	}
	s.intoGrid = false
	v, ok := s.env.lowerTo(r.Value, target.Type, floatOr(target.Type, types.F64))
	if !ok {
		return
	}
	axes := ir.AxesOf(s.c.rank(), v, s.varies)
	if r.Domain != nil {
		axes = nil
		for a := range s.c.rank() {
			axes = append(axes, a)
		}
	}
	s.clipToReads(v, user, make(map[*ir.Temp]bool))
	box := ir.InferDomain(s.c.rank(), nil, true, v, user)
	for a := range box {
		switch {
		case !slices.Contains(axes, a):
			box[a] = ir.Range{}
		case len(box[a].Lo) == 0 || len(box[a].Hi) == 0:
			diags.Errorf(r.Span(), "nothing bounds this reduction along %s", s.c.prog.Axes[a]).
				Hintf("give it a domain: [lo:hi, ...] : reduce ...")
			return
		}
	}
	if len(axes) == 0 {
		diags.Errorf(r.Value.Span(), "this value is the same at all cells, so there is nothing to reduce")
		return
	}
	if !s.notEmpty(box, r.Span()) {
		return
	}
	target.Reduced = true
	s.stage.Body = append(s.stage.Body, &ir.Stmt{
		Reduce: &ir.Reduce{Kind: kind, Scalar: target}, Value: v, Domain: box, Axes: axes, Color: colors[0], Range: r.Span(),
	})
}

func localKind(sym symbol) string {
	if _, ok := sym.(*tempSym); ok {
		return "a scalar local, with a value at each cell"
	}
	return sym.kind()
}

var reduceKinds = map[string]ir.ReduceKind{"sum": ir.Sum, "max": ir.Max, "min": ir.Min}

// clipToReads limits a reduction's domain to the extents of the arrays that
// its value reads through scalar locals; InferDomain sees the others.
func (s *stager) clipToReads(v ir.Expr, box ir.Box, seen map[*ir.Temp]bool) {
	ir.Walk(v, func(e ir.Expr) {
		switch e := e.(type) {
		case ir.TempRef:
			if !seen[e.Temp] {
				seen[e.Temp] = true
				s.clipToReads(s.values[e.Temp], box, seen)
			}
		case *ir.Access:
			for d, ix := range e.Index {
				if ix.Axis >= 0 {
					dim := e.Array.Dims[d]
					box[ix.Axis].Clip(ir.Range{Lo: []ir.Affine{dim.Lo}, Hi: []ir.Affine{dim.Hi}})
				}
			}
		}
	})
}
