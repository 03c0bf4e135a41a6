package lower

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// What kernels make of an index beyond a face is what the boundary says, however far
// beyond it is and however few cells there are.
func TestMapIndex(t *testing.T) {
	for _, kind := range []ir.BoundaryKind{
		ir.Clamp, ir.Periodic, ir.Mirror, ir.AntiMirror, ir.Reflect, ir.AntiReflect,
	} {
		for n := int64(1); n <= 5; n++ {
			for _, lo := range []int64{-3, 0, 2} {
				hi := lo + n - 1
				for away := int64(1); away <= 3*n+2; away++ {
					for _, above := range []bool{false, true} {
						x := lo - away
						if above {
							x = hi + away
						}
						want, turned := ir.MapIndex(kind, x, lo, hi)
						check := func(what string, at, negate kernel.Expr) {
							got, ok := kernel.IntLit(at)
							if !ok || got != want {
								t.Errorf("%s of %d..%d, %s at %d: %s, want %d",
									kind, lo, hi, what, x, kernel.ExprText(at), want)
							}
							// One that is nil never turns the sign.
							l, ok := negate.(*kernel.Lit)
							if negate != nil && (!ok || l.Value.Same(op.BoolOf(true)) != turned) ||
								negate == nil && turned {
								t.Errorf("%s of %d..%d, %s at %d: the sign turns: %v, want %t",
									kind, lo, hi, what, x, negate, turned)
							}
						}
						at, negate := mapIndex(kind, kernel.I(x), kernel.I(lo), kernel.I(hi))
						check("wherever", at, negate)
						near := func(what string, single bool) {
							at, negate := mapNear(kind, kernel.I(x), kernel.I(lo), kernel.I(hi),
								above, single, at, negate)
							check(what, at, negate)
						}
						near("near", false)
						if away == 1 {
							near("one cell away", true)
						}
					}
				}
			}
		}
	}
}

// An index that is one cell away takes no division and no choice.
func TestOneCellAway(t *testing.T) {
	x, lo, hi := kernel.V(kernel.NewVar("x", kernel.I(0).Type())), kernel.I(0),
		kernel.V(kernel.NewVar("hi", kernel.I(0).Type()))
	for _, kind := range []ir.BoundaryKind{ir.Periodic, ir.Mirror, ir.AntiMirror} {
		for _, above := range []bool{false, true} {
			at, negate := mapIndex(kind, x, lo, hi)
			at, _ = mapNear(kind, x, lo, hi, above, true, at, negate)
			kernel.Walk(at, func(e kernel.Expr) {
				_, chooses := e.(*kernel.Select)
				if b, ok := e.(*kernel.Binary); chooses || ok && (b.Op == op.Rem || b.Op == op.Div) {
					t.Errorf("%s: %s", kind, kernel.ExprText(at))
				}
			})
		}
	}
}
