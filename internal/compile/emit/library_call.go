package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// callFunction returns the function that launches a call's kernels.
func (h *host) callFunction(s *ir.Call) string {
	if len(h.lib.module.Calls[s]) == 0 {
		return ""
	}
	// Generated code keeps the word that calls had in earlier versions.
	function, call := h.launchFunction("gl_stage_"+identifier(s.Name), h.lib.launchesOf(s))
	h.calls[s] = call
	return function
}

// roundsName is how many rounds of a span a launch has, in functions that carry out spans.
const roundsName = "gl_rounds"

// launchFunction returns a function that makes launches, by variant, and its call with %s for the step.
func (h *host) launchFunction(name string, lists [][]*kernel.Launch) (function, call string) {
	body := h.body(func() { h.callLaunches(lists) })
	var params, args []string
	if slices.ContainsFunc(slices.Concat(lists...), (*kernel.Launch).Repeats) {
		params, args = append(params, "int32_t "+roundsName), append(args, roundsName)
	}
	for _, q := range []struct{ mark, param, arg string }{
		{"h->", h.lib.Name + " *h", "h"}, {"g->", "const gl_grids *g", "g"}, {"step", "int32_t step", "%s"},
	} {
		if usesWord(body, q.mark) || q.arg == "h" && h.lib.GPU() {
			params, args = append(params, q.param), append(args, q.arg)
		}
	}
	if params == nil {
		params = []string{"void"}
	}
	name = h.names.pick(name)
	h.line("")
	h.line("static void %s(%s)", name, strings.Join(params, ", "))
	h.line("{")
	h.out.WriteString(body)
	h.line("}")
	return h.take(), name + "(" + strings.Join(args, ", ") + ");"
}

// usesWord reports whether a mark stands in a text where no name holds it.
func usesWord(text, mark string) bool {
	for i := 0; ; {
		n := strings.Index(text[i:], mark)
		if n < 0 {
			return false
		}
		i += n
		end := i + len(mark)
		before := i > 0 && isNameByte(text[i-1]) || i > 0 && text[i-1] == '.'
		after := end < len(text) && isNameByte(mark[len(mark)-1]) && isNameByte(text[end])
		if !before && !after {
			return true
		}
		i = end
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// launch prints the launch of a kernel.
func (h *host) launch(launch *kernel.Launch, step string) {
	k := launch.Kernel
	if h.lib.GPU() {
		h.launchGPU(launch, step)
		return
	}
	if h.Teams {
		h.line("gl_team(h, %d);", kernelThreads(k.Body))
	}
	var args []string
	for i, a := range launch.Args {
		if n := i - len(k.Buffers); n >= 0 && !refersTo(k, k.Scalars[n]) {
			continue
		}
		switch a := a.(type) {
		case kernel.GridArg:
			args = append(args, "g->"+h.lib.grids[a.Grid].Field)
		case kernel.SpareArg:
			args = append(args, "g->"+h.lib.spares[a.Spare].Field)
		case kernel.ScratchArg:
			args = append(args, h.printer.names[a.Scratch])
		case kernel.CellArg:
			args = append(args, "&"+h.printer.names[h.scalars[a.Scalar]])
		case kernel.ScalarArg:
			args = append(args, h.printer.names[h.scalars[a.Scalar]])
		case kernel.SizeArg:
			args = append(args, h.printer.names[h.sizes[a.Param]])
		case kernel.StepArg:
			args = append(args, step)
		case kernel.RoundsArg:
			args = append(args, roundsName)
		default:
			panic(fmt.Sprintf("emit: a library has no %T", a))
		}
	}
	call := kernelFunction(k) + "(" + strings.Join(args, ", ") + ");"
	h.out.WriteString(strings.Repeat("    ", h.indent) + call + "\n")
}

// kernelThreads is the number of threads that the plan gives a kernel; 0 for
// none.
func kernelThreads(body []kernel.Stmt) int {
	n := 0
	kernel.WalkStmts(body, func(s kernel.Stmt) {
		if l, ok := s.(*kernel.Loop); ok {
			n = max(n, l.Threads)
		}
	}, nil)
	return n
}

// initial prints the launches of the initial block. Those that write an array
// whose contents are given are left out.
func (h *host) initial(s *ir.Call) {
	for _, launch := range h.lib.launchesOf(s)[0] {
		var written []kernel.Arg
		for i, b := range launch.Kernel.Buffers {
			if b.Mode != kernel.In {
				written = append(written, launch.Args[i])
			}
		}
		var g *libraryGrid
		for _, a := range written {
			if a, ok := a.(kernel.GridArg); ok {
				g = h.lib.grids[a.Grid]
			}
		}
		switch {
		case g != nil && len(written) > 1:
			h.err = fmt.Errorf("emit: the initial block's kernel %s writes more than %s: "+
				"a library must be able to leave it out", launch.Kernel.Name, g.Name)
			return
		case g == nil || !g.Caller:
			h.launch(launch, "0")
			continue
		}
		h.line("if (!(given & %s_GIVEN_%s)) {", h.lib.Upper, g.Name)
		h.indent++
		h.launch(launch, "0")
		h.indent--
		h.line("}")
	}
}
