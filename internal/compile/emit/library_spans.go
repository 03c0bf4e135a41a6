package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// librarySpan is a span with the variant that it belongs to; -1 where there are none.
type librarySpan struct {
	*kernel.Span
	variant int
}

// spannable reports whether a library carries out the spans of an iterate. It carries out those of loops that are
// counted, and have no loops inside.
func spannable(it *ir.Iterate) bool {
	return it.Count != nil && !slices.ContainsFunc(it.Body, func(o ir.Op) bool {
		_, loop := o.(*ir.Iterate)
		return loop
	})
}

// withSpannable returns a module without the spans that a library does not carry out, nor what they alone use.
func withSpannable(m *kernel.Module) *kernel.Module {
	drop := func(s *kernel.Span) bool { return !spannable(s.Iterate) }
	if !slices.ContainsFunc(m.Spans, drop) {
		return m
	}
	own := *m
	own.Spans = slices.DeleteFunc(slices.Clone(m.Spans), drop)
	kernels, scratch := map[*kernel.Kernel]bool{}, map[*kernel.Scratch]bool{}
	mark := func(spans []*kernel.Span, used bool) {
		for _, s := range spans {
			for _, l := range slices.Concat(s.Launches, s.Prepare) {
				markUsed(l, used, kernels, scratch)
			}
		}
	}
	mark(m.Spans, false)
	mark(own.Spans, true)
	for _, launches := range m.Calls {
		for _, l := range launches {
			markUsed(l, true, kernels, scratch)
		}
	}
	own.Kernels = slices.DeleteFunc(slices.Clone(m.Kernels), func(k *kernel.Kernel) bool {
		used, known := kernels[k]
		return known && !used
	})
	own.Scratch = slices.DeleteFunc(slices.Clone(m.Scratch), func(s *kernel.Scratch) bool {
		used, known := scratch[s]
		return known && !used
	})
	return &own
}

func markUsed(l *kernel.Launch, used bool, kernels map[*kernel.Kernel]bool, scratch map[*kernel.Scratch]bool) {
	kernels[l.Kernel] = used
	for _, a := range l.Args {
		if a, ok := a.(kernel.ScratchArg); ok {
			scratch[a.Scratch] = used
		}
	}
}

// spansOf returns the spans of an iterate.
func (l *library) spansOf(it *ir.Iterate) []librarySpan {
	return slices.DeleteFunc(slices.Clone(l.spans), func(s librarySpan) bool { return s.Iterate != it })
}

// launches returns all launches of the time loop, those of spans included.
func (l *library) launches() []*kernel.Launch {
	var list []*kernel.Launch
	for _, s := range l.module.Program.Calls {
		list = append(list, l.module.Calls[s]...)
	}
	for _, s := range l.spans {
		list = append(list, slices.Concat(s.Launches, s.Prepare)...)
	}
	return list
}

// addSpares lists spares among the handle's own grids.
func (l *library) addSpares() {
	needs := map[*kernel.Spare]variantSet{}
	for _, s := range l.spans {
		for _, x := range s.Spares() {
			if s.variant >= 0 {
				needs[x] |= 1 << s.variant
			}
			if l.spares[x] == nil {
				l.spares[x] = l.newGrid(x.Like, false)
				l.spares[x].Name, l.spares[x].Spare, l.spares[x].Written = "a spare of "+x.Like.Name, x, true
			}
		}
	}
	for x, g := range l.spares {
		g.Only = l.onlyFor(needs[x])
	}
}

// hasSpans reports whether a library carries out spans of an iterate, which may be nil.
func (l *library) hasSpans(it *ir.Iterate) bool { return it != nil && len(l.spansOf(it)) > 0 }

// LoopSpans reports whether the loop that is all of the program has spans.
func (l *library) LoopSpans() bool { return l.hasSpans(l.Loop) }

// spanFunctions prints the functions that carry out the spans of all loops, outer ones first.
func (h *host) spanFunctions(body []ir.Op) string {
	text := ""
	for _, o := range body {
		if it, ok := o.(*ir.Iterate); ok {
			if h.lib.hasSpans(it) {
				text += h.spansFunction(it)
			}
			text += h.spanFunctions(it.Body)
		}
	}
	return text
}

// spansFunction returns the function that carries out iterations of a loop by its spans, after those that launch
// their kernels.
func (h *host) spansFunction(it *ir.Iterate) string {
	spans := h.lib.spansOf(it)
	var launches, prepares, fits []string
	text, prepared := "", false
	for _, s := range spans {
		suffix := fmt.Sprint(s.Depth)
		if s.variant >= 0 {
			suffix += fmt.Sprintf("_v%d", s.variant+1)
		}
		function, call := h.launchFunction("gl_span_"+suffix, [][]*kernel.Launch{s.Span.Launches})
		text, launches = text+function, append(launches, call)
		function, call = h.fitsFunction("gl_fits_"+suffix, s.Span)
		text, fits = text+function, append(fits, call)
		function, call = h.launchFunction("gl_prepare_"+suffix, [][]*kernel.Launch{s.Prepare})
		if len(s.Prepare) == 0 {
			function, call = "", ""
		}
		text, prepares, prepared = text+function, append(prepares, call), prepared || call != ""
	}
	const step = "(int32_t)(step + done)"
	body := h.body(func() {
		h.line("int64_t done = 0;")
		if prepared {
			h.line("int ready = 0; // the spares and the scratch that are")
		}
		for n, s := range spans {
			only := ""
			if s.variant >= 0 {
				only = fmt.Sprintf("h->variant == %d && ", s.variant)
			}
			if h.lib.GPU() {
				only += "!h->failed && "
			}
			only += h.longEnough(s.Span) + fits[n]
			h.line("while (%scount - done >= %d) {", only, s.Depth+s.After)
			h.indent++
			done := fmt.Sprint(s.Depth)
			if s.Repeats {
				h.line("const int64_t fit = (count - done - %d) / %d;", s.After, s.Depth)
				h.line("const int32_t %s = (int32_t)(fit < %d ? fit : %[2]d);", roundsName, kernel.MostRounds)
				done = fmt.Sprintf("%d * (int64_t)%s", s.Depth, roundsName)
			}
			set := 1 + slices.IndexFunc(spans, func(x librarySpan) bool { return samePrepared(x.Span, s.Span) })
			if prepares[n] != "" {
				h.line("if (ready != %d)", set)
				h.indent++
				h.line("%s", strings.Replace(prepares[n], "%s", step, 1))
				h.indent--
			}
			h.line("%s", strings.Replace(launches[n], "%s", step, 1))
			h.exchange(s.Span)
			if prepared {
				h.line("ready = %d;", set)
			}
			h.line("done += %s;", done)
			h.indent--
			h.line("}")
		}
		h.line("return done;")
	})
	name := h.names.pick("gl_together")
	h.together[it] = name
	h.line("")
	h.line("// Carries out as many of count iterations from a step on as go together, and returns")
	h.line("// how many.")
	h.line("static int64_t %s(%s *h, gl_grids *g, int64_t step, int64_t count)", name, h.lib.Name)
	h.line("{")
	h.out.WriteString(h.lib.Unused(body, "h", "g", "step"))
	h.out.WriteString(body)
	h.line("}")
	return text + h.take()
}

// together reports whether blocks of a launch wait for each other.
func (l *library) together(x *kernel.Launch) bool { return l.CUDA() && sizeOf(x.Kernel).together }

// Together reports whether there are spans whose blocks wait for each other.
func (l *library) Together() bool {
	return slices.ContainsFunc(l.spans, func(s librarySpan) bool { return slices.ContainsFunc(s.Launches, l.together) })
}

// fitsFunction returns a function that reports whether the GPU holds all blocks of a span's kernels that wait for
// each other, and the condition that it does; both are empty if there are none. Without it the iterations are carried
// out by other spans, or one by one.
func (h *host) fitsFunction(name string, s *kernel.Span) (function, condition string) {
	if !slices.ContainsFunc(s.Launches, h.lib.together) {
		return "", ""
	}
	body := h.body(func() {
		h.line("bool all = true;")
		for _, x := range s.Launches {
			if !h.lib.together(x) {
				continue
			}
			h.nameScalars(x, "0")
			h.line("{")
			h.indent++
			size := h.geometry(x.Kernel)
			h.line("all = all && gl_fits(h, %s, blocks, threads, %d);", kernelFunction(x.Kernel), size.shared)
			h.indent--
			h.line("}")
		}
		h.line("return all;")
	})
	name = h.names.pick(name)
	h.line("")
	h.line("static bool %s(const %s *h)", name, h.lib.Name)
	h.line("{")
	h.out.WriteString(body)
	h.line("}")
	return h.take(), name + "(h) && "
}

// Smallest says for each loop with such spans how many cells the domain has at least, along each axis, for iterations
// to be carried out together.
func (l *library) Smallest() []string {
	var list []string
	for _, s := range l.spans {
		for _, side := range s.Domain {
			text := fmt.Sprintf("%d cells along %s", side.Least, side.Axis)
			if side.Least > 1 && !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return list
}

// longEnough says in C which sizes the kernels of a span need: what has to hold besides. It is "" if any will do.
func (h *host) longEnough(s *kernel.Span) string {
	text := ""
	for _, side := range s.Domain {
		if side.Least > 1 {
			cells := kernel.Add(h.affine(side.Dim.Hi.Minus(side.Dim.Lo)), kernel.I(1))
			text += fmt.Sprintf("%s >= %d && ", h.expr(cells), side.Least)
		}
	}
	return text
}

// samePrepared reports whether what one span needs prepared is so after another.
func samePrepared(a, b *kernel.Span) bool {
	x, y := a.Spares(), b.Spares()
	return slices.Equal(a.Kept(), b.Kept()) && len(x) == len(y) &&
		!slices.ContainsFunc(x, func(s *kernel.Spare) bool { return !slices.Contains(y, s) })
}

// exchange prints what the rotations of a span's iterations and its exchanges come to.
func (h *host) exchange(s *kernel.Span) {
	from := make([]int, len(h.lib.Grids)) // whose memory each grid gets
	whole := func() {
		for i := range from {
			from[i] = i
		}
	}
	whole()
	for range s.Depth {
		for _, r := range rotations(s.Iterate.Body) {
			first := from[h.lib.grids[r.Grids[0]].Index]
			for k, g := range r.Grids[1:] {
				from[h.lib.grids[r.Grids[k]].Index] = from[h.lib.grids[g].Index]
			}
			from[h.lib.grids[r.Grids[len(r.Grids)-1]].Index] = first
		}
	}
	if s.Repeats {
		if times := periodOf(from); times > 1 {
			h.line("for (int32_t n = %s %% %d; n > 0; n--) {", roundsName, times)
			h.indent++
			h.permute(from, "the rotations of a round")
			h.indent--
			h.line("}")
		}
		whole()
	}
	for _, x := range s.Exchanges {
		a, b := h.lib.grids[x.Grid].Index, h.lib.spares[x.Spare].Index
		from[a], from[b] = from[b], from[a]
	}
	h.permute(from, "exchanges and rotations")
}

// permute prints that each grid gets the memory of another.
func (h *host) permute(from []int, remark string) {
	for _, cycle := range cyclesOf(from) {
		var grids []*libraryGrid
		for _, i := range cycle {
			grids = append(grids, h.lib.Grids[i])
		}
		if len(grids) > 1 {
			h.rotateMemory(grids, remark)
		}
	}
}

// cyclesOf returns the cycles of a permutation.
func cyclesOf(from []int) [][]int {
	var list [][]int
	done := make([]bool, len(from))
	for i := range from {
		var cycle []int
		for j := i; !done[j]; j = from[j] {
			done[j] = true
			cycle = append(cycle, j)
		}
		if len(cycle) > 0 {
			list = append(list, cycle)
		}
	}
	return list
}

// periodOf returns after how many applications a permutation brings everything back.
func periodOf(from []int) int {
	n := 1
	for _, cycle := range cyclesOf(from) {
		a, b := n, len(cycle)
		for b != 0 {
			a, b = b, a%b
		}
		n = n / a * len(cycle)
	}
	return n
}
