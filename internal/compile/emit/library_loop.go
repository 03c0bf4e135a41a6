package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// ops prints the steps of a body. step is the text of the step in it, as an
// int32_t.
func (h *host) ops(body []ir.Op, depth int, step string) {
	for _, o := range body {
		switch o := o.(type) {
		case *ir.Run:
			if call, ok := h.calls[o.Call]; ok {
				h.line("%s", strings.Replace(call, "%s", step, 1))
			}
		case *ir.Rotate:
			h.rotate(o)
		case *ir.Iterate:
			if _, spans := h.together[o]; o.Sequence && !spans {
				h.ops(o.Body, depth, step)
				continue
			}
			inner := fmt.Sprintf("step_%d", depth+1)
			h.iterate(o, inner, inner, step, depth, func() { h.ops(o.Body, depth+1, inner) })
		default:
			panic(fmt.Sprintf("emit: no step %T", o))
		}
	}
}

func (h *host) rotate(r *ir.Rotate) {
	var grids []*libraryGrid
	for _, g := range r.Grids {
		grids = append(grids, h.lib.grids[g])
	}
	h.rotateMemory(grids, sayRotate(r))
}

// rotateMemory gives each grid the memory of the one after it.
func (h *host) rotateMemory(grids []*libraryGrid, remark string) {
	h.line("{ // %s", remark)
	h.indent++
	h.line("%sfirst = g->%s;", h.lib.MemoryType(grids[0].CType), grids[0].Field)
	for i, g := range grids {
		from := "first"
		if i+1 < len(grids) {
			from = "g->" + grids[i+1].Field
		}
		h.line("g->%s = %s;", g.Field, from)
	}
	h.indent--
	h.line("}")
}

// iterate prints a loop. counter is its counter and step that as an int32_t;
// outer is the step around it.
func (h *host) iterate(it *ir.Iterate, counter, step, outer string, depth int, body func()) {
	if !hasLeaf(it.Body) {
		return
	}
	declare := "int32_t " + counter
	if strings.Contains(counter, "->") {
		declare = counter
	}
	if it.Count != nil {
		count := h.value(it.Count, outer)
		h.results(count)
		if _, literal := it.Count.(ir.Const); !literal {
			name := fmt.Sprintf("count_%d", depth+1)
			h.line("const int32_t %s = %s;", name, count)
			count = name
		}
		start := "0"
		if name, ok := h.together[it]; ok {
			start = fmt.Sprintf("%s(h, g, 0, %s)", name, count)
			if declare != counter {
				start = "(int32_t)" + start
			}
		}
		h.line("for (%s = %s; %s < %s; ++%s) {", declare, start, counter, count, counter)
		h.indent++
		body()
		h.indent--
		h.line("}")
		return
	}
	cond := h.value(it.Until, step)
	results := cond
	if it.Check > 1 {
		cond = fmt.Sprintf("%s %% %d == 0 && (%s)", counter, it.Check, cond)
	}
	h.line("%s = 0;", declare)
	h.line("do {")
	h.indent++
	body()
	h.line("++%s;", counter)
	if it.Check > 1 && h.lib.GPU() {
		h.line("if (%s %% %d == 0)", counter, it.Check)
		h.indent++
		h.results(results)
		h.indent--
	} else {
		h.results(results)
	}
	h.indent--
	h.line("} while (%s < %d && !(%s));", counter, it.Max, cond)
}

// program prints the whole program. The step of a loop that is all of it is
// kept in the handle.
func (h *host) program() {
	if h.lib.Loop == nil {
		h.line("gl_once(h, g, 0);")
		h.line("++h->step;")
		return
	}
	if !hasLeaf(h.lib.Loop.Body) {
		h.line("h->step = 0;")
	}
	h.iterate(h.lib.Loop, "h->step", "(int32_t)h->step", "0", 0, func() { h.line("gl_once(h, g, (int32_t)h->step);") })
}

func hasLeaf(body []ir.Op) bool {
	return slices.ContainsFunc(body, func(o ir.Op) bool {
		it, ok := o.(*ir.Iterate)
		return !ok || hasLeaf(it.Body)
	})
}

// sayOps names the steps of a body for a comment.
func sayOps(body []ir.Op) string {
	var list []string
	for _, o := range body {
		switch o := o.(type) {
		case *ir.Run:
			list = append(list, sayCall(o.Call))
		case *ir.Rotate:
			list = append(list, sayRotate(o))
		case *ir.Iterate:
			if o.Sequence {
				list = append(list, sayOps(o.Body))
				continue
			}
			list = append(list, "iterate { "+sayOps(o.Body)+" }")
		}
	}
	return strings.Join(list, "; ")
}

func sayCall(s *ir.Call) string {
	if s.Stencil != "" {
		return s.Stencil
	}
	return s.Name
}

func sayRotate(r *ir.Rotate) string {
	word := "rotate"
	if len(r.Grids) == 2 {
		word = "swap"
	}
	var names []string
	for _, g := range r.Grids {
		names = append(names, g.Name)
	}
	return word + " (" + strings.Join(names, ", ") + ")"
}
