package transform

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// Plane is the part of a statement's value whose reads are all at one offset
// along an axis.
type Plane struct {
	Offset int64
	// Value is the part as the cell at Offset sees it: no read has an offset
	// along the axis any more. A cell's value is the sum of what the parts are
	// at their offsets from it.
	Value ir.Expr
}

// Decompose splits the value of a statement into accumulations, one for every
// plane of an axis that it reads (statement decomposition), and moves each to
// its plane (retiming), products being distributed over sums where they must
// be (Rawat et al. 2019, section III-B2). A kernel that goes along the axis
// meets each plane once and adds to the cells that need it. Planes come in
// ascending order; what reads none belongs to one of them.
//
//	out[k][i] = c*(u[k-1][i] + u[k][i+1]) - u[k+1][i]
//	=>
//	-1: c*u[k][i]    0: c*u[k][i+1]    1: -u[k][i]
//
// Temps that vary along the axis are looked into. Of integers the sum has the
// same bits; sums of floating-point numbers are rearranged, which only fast
// arithmetic allows. The error says what reads several planes and is no sum.
func Decompose(p *ir.Program, s *ir.Call, st *ir.Stmt, axis int) ([]Plane, error) {
	d := &decomposer{program: p, def: definitions(s.Body), varies: variations(s.Body), axis: axis,
		temps: map[*ir.Temp]ir.Expr{}}
	value, err := d.open(st.Value)
	if err == nil {
		var parts []part
		if parts, err = d.split(value); err == nil {
			return d.retimed(parts), nil
		}
	}
	return nil, &Refusal{p.Infix(st), err.Error()}
}

// Joined is the value that planes are the parts of, added in their order.
func Joined(planes []Plane, rank, axis int) ir.Expr {
	var sum ir.Expr
	for _, q := range planes {
		at := make(offset, rank)
		at[axis] = q.Offset
		sum = added(sum, shift(q.Value, at, keepTemp))
	}
	return sum
}

func keepTemp(t *ir.Temp) ir.Expr { return ir.TempRef{Temp: t} }

type decomposer struct {
	program *ir.Program
	def     map[*ir.Temp]*ir.Stmt
	varies  map[*ir.Temp][]int
	axis    int
	temps   map[*ir.Temp]ir.Expr // opened
	terms   int                  // of what has been written out and multiplied out
}

// part is a term of the value: all its reads along the axis are at one offset,
// if there are any.
type part struct {
	offset int64
	reads  bool
	value  ir.Expr
}

// open writes out the temps that vary along the axis.
func (d *decomposer) open(e ir.Expr) (ir.Expr, error) {
	var err error
	out := ir.Rewrite(e, func(e ir.Expr) ir.Expr {
		r, ok := e.(ir.TempRef)
		if !ok || err != nil || !slices.Contains(d.varies[r.Temp], d.axis) {
			return e
		}
		if d.temps[r.Temp] == nil {
			d.temps[r.Temp], err = d.open(d.def[r.Temp].Value)
			if err != nil {
				return e
			}
		}
		err = d.count(d.temps[r.Temp])
		return d.temps[r.Temp]
	})
	return out, err
}

// count adds up what has come of an expression so far.
func (d *decomposer) count(e ir.Expr) error {
	ir.Walk(e, func(ir.Expr) { d.terms++ })
	if d.terms > maxNodes {
		return fmt.Errorf("has more than %d terms when it is written out", maxNodes)
	}
	return nil
}

// split returns the parts of an expression, no two at one offset.
func (d *decomposer) split(e ir.Expr) ([]part, error) {
	if whole, ok := d.whole(e); ok {
		return []part{whole}, nil
	}
	switch e := e.(type) {
	case *ir.Unary:
		if e.Op == op.Neg {
			x, err := d.split(e.X)
			return d.each(x, negated), err
		}
	case *ir.Binary:
		if e.Op != op.Add && e.Op != op.Sub && e.Op != op.Mul && (e.Op != op.Div || !e.Type().IsFloat()) {
			break
		}
		x, err := d.split(e.X)
		if err != nil {
			return nil, err
		}
		y, err := d.split(e.Y)
		if err != nil {
			return nil, err
		}
		switch e.Op {
		case op.Add:
			return d.merge(x, y), nil
		case op.Sub:
			return d.merge(x, d.each(y, negated)), nil
		}
		if e.Op == op.Mul || len(y) == 1 {
			return d.product(e, x, y)
		}
	}
	return nil, fmt.Errorf("reads several planes of %s in %s, which is no sum of parts", d.program.Axes[d.axis],
		d.program.InfixExpr(e))
}

// whole returns an expression as one part, if all its reads are at one offset.
// Reads that the axis does not index, and those of a fixed plane, do not count.
func (d *decomposer) whole(e ir.Expr) (part, bool) {
	out, ok := part{value: e}, true
	ir.Walk(e, func(e ir.Expr) {
		acc, is := e.(*ir.Access)
		if !is {
			return
		}
		for _, ix := range acc.Index {
			if ix.Axis == d.axis {
				ok = ok && (!out.reads || out.offset == ix.Offset)
				out.offset, out.reads = ix.Offset, true
			}
		}
	})
	return out, ok
}

func (d *decomposer) each(parts []part, f func(ir.Expr) ir.Expr) []part {
	out := slices.Clone(parts)
	for i := range out {
		out[i].value = f(out[i].value)
	}
	return out
}

// merge adds parts to others, in the order of the program within a plane.
func (d *decomposer) merge(x, y []part) []part {
	out := slices.Clone(x)
	for _, q := range y {
		i := slices.IndexFunc(out, func(p part) bool { return p.reads == q.reads && p.offset == q.offset })
		if i < 0 {
			out = append(out, q)
			continue
		}
		out[i].value = added(out[i].value, q.value)
	}
	return out
}

// product multiplies out a product of sums, or a quotient whose divisor is one
// part.
func (d *decomposer) product(e *ir.Binary, x, y []part) ([]part, error) {
	var out []part
	for _, p := range x {
		for _, q := range y {
			r := part{offset: p.offset, reads: p.reads || q.reads, value: &ir.Binary{Op: e.Op, X: p.value, Y: q.value}}
			switch {
			case !p.reads:
				r.offset = q.offset
			case q.reads && p.offset != q.offset:
				return nil, fmt.Errorf("reads several planes of %s in %s, which is no sum of parts",
					d.program.Axes[d.axis], d.program.InfixExpr(r.value))
			}
			if err := d.count(r.value); err != nil {
				return nil, err
			}
			out = d.merge(out, []part{r})
		}
	}
	return out, nil
}

// retimed moves parts to their planes. What reads no plane goes with the one
// at hand, or with the first.
func (d *decomposer) retimed(parts []part) []Plane {
	home := slices.IndexFunc(parts, func(p part) bool { return p.reads && p.offset == 0 })
	if home < 0 {
		home = slices.IndexFunc(parts, func(p part) bool { return p.reads })
	}
	if free := slices.IndexFunc(parts, func(p part) bool { return !p.reads }); free >= 0 && home >= 0 {
		parts[home].value = added(parts[home].value, parts[free].value)
		parts = slices.Delete(parts, free, free+1)
	}
	var out []Plane
	for _, p := range parts {
		back := make(offset, len(d.program.Axes))
		back[d.axis] = -p.offset
		out = append(out, Plane{p.offset, shift(p.value, back, keepTemp)})
	}
	slices.SortFunc(out, func(a, b Plane) int { return cmp.Compare(a.Offset, b.Offset) })
	return out
}

// added returns x + y, written as a difference where y is turned; x may be nil.
func added(x, y ir.Expr) ir.Expr {
	if x == nil {
		return y
	}
	if n, ok := y.(*ir.Unary); ok && n.Op == op.Neg {
		return &ir.Binary{Op: op.Sub, X: x, Y: n.X}
	}
	return &ir.Binary{Op: op.Add, X: x, Y: y}
}

// negated returns -x, without turning twice.
func negated(x ir.Expr) ir.Expr {
	if n, ok := x.(*ir.Unary); ok && n.Op == op.Neg {
		return n.X
	}
	return &ir.Unary{Op: op.Neg, X: x}
}
