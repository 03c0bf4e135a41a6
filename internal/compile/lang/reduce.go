package lang

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// reduce lowers a reduction.
func (s *callBuilder) reduce(r *Reduction) {
	diags := &s.c.diags
	kind, ok := reduceKinds[r.Op.Name]
	if !ok {
		d := diags.Errorf(r.Op.Span(), "there is no reduction %q", r.Op.Name)
		nearWord(d, r.Op.Name, "sum", "max", "min")
		if d.Hint == "" {
			d.Hintf("there are sum, max and min")
		}
		return
	}
	if s.step == nil {
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
		diags.Errorf(r.Target.Span(), "a reduction needs an int, float or double, and %q is a %s", r.Target.Name,
			target.Type.Word())
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
			s.c.lack(r.Span(), "nothing bounds this reduction along %s", s.c.prog.Axes[a]).
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
	s.call.Body = append(s.call.Body, &ir.Stmt{
		Reduce: &ir.Reduce{Kind: kind, Scalar: target}, Value: v, Domain: box, Axes: axes, Color: colors[0],
		Range: r.Span(),
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
func (s *callBuilder) clipToReads(v ir.Expr, box ir.Box, seen map[*ir.Temp]bool) {
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
