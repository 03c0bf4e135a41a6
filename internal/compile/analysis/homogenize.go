package analysis

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// Homogeneity says whether a statement, or every assignment of a call, can be
// retimed along an axis (Rawat, section III-B2): its value splits into a sum of
// sub-statements, products distributed over sums where needed, each of which
// reads at one offset on that axis, so that the offset can be brought to zero
// by moving the sub-statement.
type Homogeneity struct {
	Axis string `json:"axis"`
	OK   bool   `json:"ok"`
	// Parts is the number of sub-statements, Planes the number of different
	// offsets among them; both 0 if it cannot be done.
	Parts  int `json:"parts,omitempty"`
	Planes int `json:"planes,omitempty"`
	// Blocker is the first subexpression that reads at several offsets and does
	// not split, if it cannot be done; empty if there are too many parts.
	Blocker string `json:"blocker,omitempty"`
}

// maxParts bounds the products of sums that are multiplied out.
const maxParts = 4096

// part is one sub-statement: the offset at which it reads on the axis, if it
// reads anything there.
type part struct {
	offset int64
	reads  bool
}

// homogeneous combines the assignments of the call.
func (g *gatherer) homogeneous(axis int) Homogeneity {
	out := Homogeneity{Axis: g.p.Axes[axis], OK: true}
	for _, s := range g.ir.Body {
		if s.Array == nil || !slices.Contains(s.Axes, axis) {
			continue
		}
		h := g.homogenize(s, axis)
		if !h.OK {
			return h
		}
		out.Parts += h.Parts
		out.Planes = max(out.Planes, h.Planes)
	}
	return out
}

func (g *gatherer) homogenize(s *ir.Stmt, axis int) Homogeneity {
	h := g.splits[axis]
	if h == nil {
		h = &homogenizer{g: g, axis: axis, temps: map[*ir.Temp]split{}, wholes: map[*ir.Temp]whole{}}
		g.splits[axis] = h
	}
	h.blocker = nil
	out := Homogeneity{Axis: g.p.Axes[axis]}
	parts, ok := h.split(s.Value)
	if !ok {
		if h.blocker != nil {
			out.Blocker = g.p.InfixExpr(h.blocker)
		}
		return out
	}
	var planes []int64
	for _, p := range parts {
		if p.reads && !slices.Contains(planes, p.offset) {
			planes = append(planes, p.offset)
		}
	}
	out.OK, out.Parts, out.Planes = true, len(parts), len(planes)
	return out
}

// homogenizer splits the values of a call along an axis. What it finds of a
// temp it keeps: a temp may be read along many paths.
type homogenizer struct {
	g       *gatherer
	axis    int
	temps   map[*ir.Temp]split
	wholes  map[*ir.Temp]whole
	blocker ir.Expr
}

// split is what a temp's value splits into, or what keeps it from splitting.
type split struct {
	parts   []part
	ok      bool
	blocker ir.Expr
}

// whole is a temp's value as one part, if it is one.
type whole struct {
	part part
	ok   bool
}

// split returns the parts of an expression, to be added to: a sum of a thousand terms is as deep, and is not copied at
// each.
func (h *homogenizer) split(e ir.Expr) ([]part, bool) {
	switch e := e.(type) {
	case *ir.Unary:
		if e.Op == op.Neg {
			return h.split(e.X)
		}
	case *ir.Fma:
		return h.split(&ir.Binary{Op: op.Add, X: e.Z, Y: &ir.Binary{Op: op.Mul, X: e.X, Y: e.Y}})
	case *ir.Binary:
		switch e.Op {
		case op.Add, op.Sub:
			x, ok := h.split(e.X)
			if !ok {
				return nil, false
			}
			y, ok := h.split(e.Y)
			return append(x, y...), ok && len(x)+len(y) <= maxParts
		case op.Mul:
			if p, ok := h.whole(e); ok {
				return p, true
			}
			return h.product(e)
		case op.Div:
			if p, ok := h.whole(e); ok || !e.Type().IsFloat() {
				return p, ok || h.block(e)
			}
			return h.quotient(e)
		}
	case ir.TempRef:
		known, ok := h.temps[e.Temp]
		if !ok {
			known.parts, known.ok = h.split(h.g.deps.assigned[e.Temp].Value)
			known.blocker = h.blocker
			h.temps[e.Temp] = known
		}
		if !known.ok && known.blocker != nil {
			h.block(known.blocker)
		}
		return slices.Clip(known.parts), known.ok // whoever adds to them has a copy
	}
	if p, ok := h.whole(e); ok {
		return p, true
	}
	return nil, h.block(e)
}

func (h *homogenizer) block(e ir.Expr) bool {
	if h.blocker == nil {
		h.blocker = e
	}
	return false
}

// product multiplies out a product that reads at several offsets.
func (h *homogenizer) product(e *ir.Binary) ([]part, bool) {
	x, ok := h.split(e.X)
	if !ok {
		return nil, false
	}
	y, ok := h.split(e.Y)
	if !ok || len(x)*len(y) > maxParts {
		return nil, false
	}
	var out []part
	for _, p := range x {
		for _, q := range y {
			r, ok := join(p, q)
			if !ok {
				return nil, h.block(e)
			}
			out = append(out, r)
		}
	}
	return out, true
}

// quotient divides every part of a sum.
func (h *homogenizer) quotient(e *ir.Binary) ([]part, bool) {
	x, ok := h.split(e.X)
	if !ok {
		return nil, false
	}
	y, ok := h.whole(e.Y)
	if !ok {
		return nil, h.block(e.Y)
	}
	var out []part
	for _, p := range x {
		r, ok := join(p, y[0])
		if !ok {
			return nil, h.block(e)
		}
		out = append(out, r)
	}
	return out, true
}

func join(p, q part) (part, bool) {
	switch {
	case !p.reads:
		return q, true
	case !q.reads || p.offset == q.offset:
		return p, true
	}
	return part{}, false
}

// whole returns an expression as one part, if all its reads, through temps too,
// are at one offset. Reads that the axis does not index, and those of a fixed
// plane, do not count.
func (h *homogenizer) whole(e ir.Expr) ([]part, bool) {
	w := h.asOne(e)
	return []part{w.part}, w.ok
}

func (h *homogenizer) asOne(e ir.Expr) whole {
	all := whole{ok: true}
	add := func(p part) {
		if one, fits := join(all.part, p); fits {
			all.part = one
		} else {
			all.ok = false
		}
	}
	ir.Walk(e, func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Access:
			for _, ix := range e.Index {
				if ix.Axis == h.axis {
					add(part{ix.Offset, true})
				}
			}
		case ir.TempRef:
			w, known := h.wholes[e.Temp]
			if !known {
				w = h.asOne(h.g.deps.assigned[e.Temp].Value)
				h.wholes[e.Temp] = w
			}
			all.ok = all.ok && w.ok
			add(w.part)
		}
	})
	return all
}
