package lower

import (
	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// With rimless=own, the blocks of a stream that update all cells which they go through take a loop of their own, in
// which stores ask nothing: one test for a block, the same for all of its threads, chooses the loop (Zhang and Mueller
// 2013, section 2.2, whose blocks divide the domain, and need no tests for that). The two loops are one, written
// twice: the tests of the second are true.

// rimTests are what a loop over planes asks before it stores, and the boxes that it asks about.
type rimTests struct {
	boxes []analysis.Cells
	known map[string]bool
	vars  map[*kernel.Var]kernel.Expr // the tests, and what they are inside
}

// add notes the tests of a box; nil is none.
func (t *rimTests) add(key string, box analysis.Cells, tests ...kernel.Expr) {
	if t.known == nil {
		t.known, t.vars = map[string]bool{}, map[*kernel.Var]kernel.Expr{}
	}
	for _, x := range tests {
		if ref, ok := x.(*kernel.Ref); ok {
			t.vars[ref.Var] = kernel.L(op.BoolOf(true))
		}
	}
	if !t.known[key] {
		t.known[key] = true
		t.boxes = append(t.boxes, box)
	}
}

// rangeKeys is equal for boxes that are equal.
func (w *tiledKernel) rangeKeys(cells analysis.Cells) string {
	key := ""
	for _, axis := range w.axes {
		key += w.rangeKey(cells.Box[axis]) + ";"
	}
	return key
}

// rimlessLoop returns the loop over planes from first to before last, and if the configuration asks for it, instead of
// it in blocks inside one without tests at stores. Threads that only load, and pieces of statements that come early,
// have tests that are not about the block: they stay.
func (w *tiledKernel) rimlessLoop(first, last kernel.Expr, loop *kernel.Loop) kernel.Stmt {
	if !w.rimless || len(w.tests.vars) == 0 || w.early != nil || w.hasCells() != nil {
		return loop
	}
	inside := w.blockInside(first, last, loop.Step)
	own := kernel.Copied([]kernel.Stmt{loop}, w.tests.vars)
	if inside == nil {
		return own[0]
	}
	inside = w.pre.let(w.env, "rimless", "rimless", inside)
	return &kernel.If{Cond: inside, Then: own, Else: []kernel.Stmt{loop}}
}

// blockInside returns the condition under which a block goes through no cells but those of all boxes, in whole steps;
// nil if that is always so.
func (w *tiledKernel) blockInside(first, last, step kernel.Expr) kernel.Expr {
	var cond kernel.Expr
	for _, cells := range w.tests.boxes {
		for _, axis := range w.axes {
			from, end := w.corner[axis], kernel.Add(w.corner[axis], kernel.I(w.along[axis].width()-1))
			if axis == w.stream {
				from, end = first, kernel.Sub(last, kernel.I(1))
			}
			r, sp := cells.Box[axis], w.span[axis]
			if axis == w.inner() || len(r.Lo) > 0 && !sameBounds(r.Lo, sp.loBounds) {
				cond = conj(cond, kernel.Ge(from, w.low(r.Lo, sp.lo)))
			}
			if axis != w.stream || len(r.Hi) > 0 && !sameBounds(r.Hi, sp.hiBounds) {
				cond = conj(cond, kernel.Le(end, w.high(r.Hi, kernel.Sub(sp.hi, kernel.I(1)))))
			}
		}
	}
	if n, ok := kernel.IntLit(step); !ok || n > 1 {
		rest := kernel.Bin(op.Rem, kernel.Sub(last, first), step)
		cond = conj(cond, kernel.Bin(op.Eq, rest, &kernel.Lit{Value: op.Int(types.I64, 0)}))
	}
	return cond
}
