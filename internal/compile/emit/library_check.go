package emit

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// checks prints the tests that ir.Bind makes of a program's sizes: that local
// grids hold cells, that every statement has cells to work on and that
// constant indices are inside. What holds for all sizes is not tested.
func (h *host) checks() {
	p := h.lib.module.Program
	seen := map[string]bool{}
	test := func(call string) {
		if !seen[call] {
			seen[call] = true
			h.out.WriteString("    if (!status) status = " + call + "\n")
		}
	}
	all := p.Calls
	if p.Initial != nil {
		all = append([]*ir.Call{p.Initial}, all...)
	}
	for _, s := range all {
		for _, a := range s.Arrays {
			if !a.Local {
				continue
			}
			for d, dim := range a.Dims {
				what := fmt.Sprintf("the local grid %s of stencil %s", a.Name, sayCall(s))
				h.checkRange(what, fmt.Sprintf("dimension %d", d+1),
					ir.Range{Lo: []ir.Affine{dim.Lo}, Hi: []ir.Affine{dim.Hi}}, test)
			}
		}
		for _, st := range s.Body {
			for _, axis := range st.Axes {
				h.checkRange(sayStatement(p, s, st), p.Axes[axis], st.Domain[axis], test)
			}
			ir.Walk(st.Value, func(e ir.Expr) {
				if a, ok := e.(*ir.Access); ok {
					h.checkIndices(a, test)
				}
			})
		}
	}
}

func sayStatement(p *ir.Program, s *ir.Call, st *ir.Stmt) string {
	target := ""
	switch {
	case st.Array != nil:
		target = st.Array.Name
	case st.Reduce != nil:
		target = st.Reduce.Scalar.Name
	default:
		target = st.Temp.Name
	}
	if s == p.Initial {
		return fmt.Sprintf("the statement that sets %s in the initial block", target)
	}
	return fmt.Sprintf("the statement that sets %s in stencil %s", target, sayCall(s))
}

// checkRange tests that a range holds positions.
func (h *host) checkRange(what, axis string, r ir.Range, test func(string)) {
	if len(r.Lo) == 0 || len(r.Hi) == 0 {
		return
	}
	certain := true
	for _, lo := range r.Lo {
		for _, hi := range r.Hi {
			certain = certain && hi.Minus(lo).NeverNegative()
		}
	}
	if certain {
		return
	}
	test(fmt.Sprintf("gl_check_range(h, %s, %s, %s, %s);", quoteC(what), quoteC(axis), h.extreme(r.Lo, kernel.Max),
		h.extreme(r.Hi, kernel.Min)))
}

// checkIndices tests an access's constant indices.
func (h *host) checkIndices(a *ir.Access, test func(string)) {
	for d, ix := range a.Index {
		if ix.Axis >= 0 {
			continue
		}
		dim, holds := a.Array.Dims[d], a.Array.Holds(d)
		below, above := dim.Faces.Low.Kind == ir.None, dim.Faces.High.Kind == ir.None
		certain := true
		for _, lo := range holds.Lo {
			certain = certain && (!below || ir.Num(ix.Offset).Minus(lo).NeverNegative())
		}
		for _, hi := range holds.Hi {
			certain = certain && (!above || hi.Add(-ix.Offset).NeverNegative())
		}
		if certain {
			continue
		}
		var beyond []string
		lo, hi := h.extreme(holds.Lo, kernel.Max), h.extreme(holds.Hi, kernel.Min)
		if below {
			beyond = append(beyond, fmt.Sprintf("%d < %s", ix.Offset, lo))
		}
		if above {
			beyond = append(beyond, fmt.Sprintf("%d > %s", ix.Offset, hi))
		}
		test(fmt.Sprintf("gl_check_index(h, %s, %d, %s, %s, %s);",
			quoteC(a.Array.Name), ix.Offset, lo, hi, strings.Join(beyond, " || ")))
	}
}

func quoteC(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

// extents prints the extents of all grids.
func (h *host) extents() {
	for _, g := range h.lib.Grids {
		g.ExtentsC = nil
		for _, d := range g.grid.Dims {
			g.ExtentsC = append(g.ExtentsC, h.expr(kernel.Add(h.affine(d.Hi.Minus(d.Lo)), kernel.I(1))))
		}
	}
}
