package lang

import (
	"math"
	"reflect"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// steps makes the program's body of the file's steps.
func (c *checker) steps(f *File) []ir.Op {
	c.initial()
	var body []ir.Op
	for _, it := range f.Items {
		if s, ok := it.(Step); ok {
			body = append(body, c.step(s)...)
		}
	}
	return ir.Sequences(c.prog, body)
}

func (c *checker) step(s Step) []ir.Op {
	var out ir.Op
	switch s := s.(type) {
	case *CallStep:
		if call := c.call(s); call != nil {
			out = &ir.Run{Call: call}
		}
	case *RotateStep:
		if r := c.rotate(s); r != nil {
			out = r
		}
	case *IterateStep:
		it := &ir.Iterate{Range: s.Span()}
		it.Count = c.count(s)
		it.Body = c.body(s.Body)
		out = it
	case *UntilStep:
		it := &ir.Iterate{Range: s.Span(), Check: 1, Max: math.MaxInt32}
		if c.between.typeOf(s.Cond) != types.Invalid {
			c.reset()
			it.Until, _ = c.between.lowerTo(s.Cond, types.Bool, types.F64)
		}
		c.positive(s.Check, &it.Check, "the number of iterations between checks")
		c.positive(s.Max, &it.Max, "the largest number of iterations")
		it.Body = c.body(s.Body)
		out = it
	}
	if out == nil {
		return nil
	}
	return []ir.Op{out}
}

func (c *checker) body(steps []Step) []ir.Op {
	var list []ir.Op
	for _, s := range steps {
		list = append(list, c.step(s)...)
	}
	return list
}

// positive reads an optional constant of at least one.
func (c *checker) positive(x Expr, out *int64, what string) {
	if x == nil {
		return
	}
	n, ok := c.between.constant(x, what)
	switch {
	case !ok:
	case n < 1:
		c.diags.Errorf(x.Span(), "%s must be at least 1", what)
	default:
		*out = n
	}
}

func (c *checker) count(s *IterateStep) ir.Expr {
	hi, ok := c.between.integer(s.Hi)
	if !ok {
		return nil
	}
	if s.Lo == nil && c.opts.Ancestor {
		c.pardon(inclusive, s.Hi.Span(), "iterate "+countText(s.Hi))
	}
	if s.Lo != nil {
		lo, ok := c.between.integer(s.Lo)
		if !ok {
			return nil
		}
		one := ir.Const{Value: op.Int(types.I32, 1)}
		hi = binary(op.Add, binary(op.Sub, hi, lo), one)
	}
	if k, ok := hi.(ir.Const); ok && k.Value.I < 0 {
		at := s.Hi.Span()
		if s.Lo != nil {
			at = at.To(s.Lo.Span())
		}
		c.diags.Errorf(at, "a loop cannot run %d times", k.Value.I)
	}
	return hi
}

// countText returns a count as a message shows it.
func countText(x Expr) string {
	text := exprText(x)
	if _, ok := x.(*BinaryExpr); ok {
		return text[1 : len(text)-1]
	}
	return text
}

// rotate checks that the grids may exchange their contents.
func (c *checker) rotate(s *RotateStep) ir.Op {
	r := &ir.Rotate{}
	ok := true
	seen := make(map[*ir.Grid]bool)
	for _, id := range s.Grids {
		sym := c.globals[id.Name]
		g, gridOK := sym.(*gridSym)
		switch {
		case sym == nil:
			c.undefined(id, c.globalNames(isGrid))
			ok = false
			continue
		case !gridOK:
			c.diags.Errorf(id.Span(), "%s exchanges grids, and %q is %s", s.Word.Name, id.Name, sym.kind())
			ok = false
			continue
		case seen[g.grid]:
			c.diags.Errorf(id.Span(), "%q stands twice in this %s", id.Name, s.Word.Name)
			ok = false
			continue
		case g.broken:
			ok = false
			continue
		case g.grid.Constant:
			c.diags.Errorf(id.Span(), "%q is declared constant and cannot change", id.Name)
			ok = false
		}
		seen[g.grid] = true
		if len(r.Grids) > 0 {
			ok = c.alike(s, s.Grids[0], id) && ok
		}
		r.Grids = append(r.Grids, g.grid)
	}
	if len(s.Grids) < 2 || s.Word.Name == "swap" && len(s.Grids) != 2 {
		want := "two or more grids"
		if s.Word.Name == "swap" {
			want = "two grids"
		}
		c.diags.Errorf(s.Span(), "%s takes %s, not %d", s.Word.Name, want, len(s.Grids))
		ok = false
	}
	if !ok {
		return nil
	}
	return r
}

// alike reports in what two grids that exchange their contents differ.
func (c *checker) alike(s *RotateStep, a, b *Ident) bool {
	first, ok := c.globals[a.Name].(*gridSym)
	if !ok || first.broken {
		return false
	}
	g, h := first.grid, c.globals[b.Name].(*gridSym).grid
	differ := func(format string, args ...any) bool {
		c.diags.Errorf(b.Span(), format, args...).
			Notef(g.Range, "%q is declared here", g.Name).
			Notef(h.Range, "%q is declared here", h.Name)
		return false
	}
	if g.Type != h.Type {
		return differ("%q holds %ss and %q holds %ss, so they cannot exchange their contents", a.Name, g.Type.Word(),
			b.Name, h.Type.Word())
	}
	if len(g.Dims) != len(h.Dims) {
		return differ("%q and %q have different shapes, so they cannot exchange their contents", a.Name, b.Name)
	}
	for d := range g.Dims {
		x, y := g.Dims[d], h.Dims[d]
		if !x.Lo.Equal(y.Lo) || !x.Hi.Equal(y.Hi) {
			return differ("%q and %q have different shapes, so they cannot exchange their contents", a.Name, b.Name)
		}
		if !c.damaged && !reflect.DeepEqual(x.Faces, y.Faces) {
			return differ("%q and %q have different boundaries, so they cannot exchange their contents", a.Name, b.Name)
		}
	}
	return true
}

// call returns the ir.Call of a call in the source; calls that are alike share one.
func (c *checker) call(s *CallStep) *ir.Call {
	var box ir.Box
	if s.Domain != nil {
		box = c.between.box(s.Domain)
	}
	b := c.bound[s]
	if b == nil || s.Domain != nil && box == nil {
		return nil
	}
	key := b.key(s, box, c.prog)
	call, done := c.calls[key]
	if !done {
		call = c.makeCall(s, b, box)
		c.calls[key] = call
		if call != nil {
			c.prog.Calls = append(c.prog.Calls, call)
		}
	}
	return call
}

// box reads a domain; it is nil after a report.
func (e *env) box(d *Domain) ir.Box {
	c := e.c
	if len(d.Ranges) != c.rank() {
		c.lack(d.Span(), "a domain has one range for each of the iterators %s, and this has %d", c.axisNames(),
			len(d.Ranges))
		return nil
	}
	box := ir.Unbounded(c.rank())
	ok := true
	for i, r := range d.Ranges {
		lo, okLo := e.affine(r.Lo)
		hi, okHi := e.affine(r.Hi)
		if !okLo || !okHi {
			ok = false
			continue
		}
		if n, isConst := hi.Diff(lo); isConst && n < 0 {
			c.diags.Errorf(r.Span(), "this range holds no cells: bounds are inclusive and the lower one comes first")
			ok = false
		}
		box[i] = ir.Range{Lo: []ir.Affine{lo}, Hi: []ir.Affine{hi}}
	}
	if !ok {
		return nil
	}
	return box
}

// emptyAxis returns an axis on which a box holds nothing, whatever the sizes.
func emptyAxis(box ir.Box) int {
	for a, r := range box {
		if r.Empty() {
			return a
		}
	}
	return -1
}

// note adds the call to a report about a stencil's body.
func noteCall(d *diag.Diagnostic, call *CallStep) *diag.Diagnostic {
	if call != nil {
		d.Notef(call.Span(), "in this call")
	}
	return d
}
