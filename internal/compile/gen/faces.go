package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// MakeFaces returns the program of a seed that is made of pairs of calls: the first leaves values, such as fluxes
// through faces of cells, which the second reads at other cells. Those of a second call are inputs of the pairs that
// follow. Domains are such that all cells that are read have values. Some pairs are in the opposite order. Contents
// stay from -1 to 1.
func MakeFaces(seed uint64) (*Case, error) {
	return makeOf(seed, 1<<33, 2, func(d *dag) string { return (&faces{d}).program() },
		func(*ir.Program) error { return nil })
}

// faces writes one such program.
type faces struct{ *dag }

func (f *faces) program() string {
	f.rank = []int{1, 2, 3, 3}[f.IntN(4)]
	f.order = 1 + f.IntN(min(2, 4-f.rank))
	f.typ = []string{"double", "double", "float"}[f.IntN(3)]
	f.lane, f.lanes = map[string]int{}, 1
	for range 1 + f.IntN(3) {
		f.inputs = append(f.inputs, f.fresh("u"))
	}
	results := []string{f.fresh("s")} // copied in, too: some are updated
	grids := slices.Concat(f.inputs, results)
	var stencils, calls []string
	begins := "" // an input of the first call
	for n := range 1 + f.IntN(2) {
		given := slices.Clone(f.inputs)
		margin := f.order + f.IntN(2)
		var made []string
		for range 1 + f.IntN(4) {
			made = append(made, f.fresh("g"))
		}
		stencil, call := f.pass(fmt.Sprintf("face%d", n), made, margin)
		stencils, calls = append(stencils, stencil), append(calls, call)
		if at := slices.IndexFunc(given, func(g string) bool { return f.formals[g] }); n == 0 && at >= 0 {
			begins = given[at]
		}
		f.inputs = slices.Concat(given, made)
		var out []string
		for range 1 + f.IntN(3) {
			out = append(out, f.fresh("o"))
		}
		targets := out
		if f.IntN(2) == 0 {
			targets = slices.Concat(out, results[:1])
		}
		stencil, call = f.pass(fmt.Sprintf("step%d", n), targets, margin+f.order)
		stencils, calls = append(stencils, stencil), append(calls, call)
		if f.IntN(5) == 0 { // it reads what was there before
			calls[len(calls)-1], calls[len(calls)-2] = calls[len(calls)-2], calls[len(calls)-1]
		}
		f.inputs = slices.Concat(given, out)
		grids = slices.Concat(grids, made, out)
		if f.IntN(2) == 0 {
			results = append(results, made[0])
		}
		results = slices.Concat(results, out)
	}
	f.line("parameter %s;", strings.Join(f.params(), ", "))
	f.line("iterator %s;", strings.Join(f.axes(), ", "))
	var declared []string
	for _, g := range grids {
		declared = append(declared, g+"["+strings.Join(f.params(), ",")+"]")
	}
	f.line("%s %s;", f.typ, strings.Join(declared, ", "))
	f.line("copyin %s;", strings.Join(grids, ", "))
	f.line("copyout %s;", strings.Join(results, ", "))
	f.text.WriteString(strings.Join(stencils, ""))
	if begins != "" && f.IntN(3) == 0 { // the next iteration begins with what this one ends with
		f.line("iterate %d {\n%s\nswap (%s, %s);\n}", 2+f.IntN(2), strings.Join(calls, "\n"), begins,
			results[len(results)-1])
	} else {
		f.line("%s", strings.Join(calls, "\n"))
	}
	return f.text.String()
}

// pass writes a stencil that assigns some grids of what the inputs have, and its call, so far from the rims.
func (f *faces) pass(name string, targets []string, margin int) (stencil, call string) {
	f.formals = map[string]bool{}
	var lines, locals []string
	cell := f.access(0)
	for _, g := range targets {
		if f.IntN(2) == 0 {
			t := f.fresh("t")
			lines = append(lines, fmt.Sprintf("  %s %s = %s;", f.typ, t, f.sum(locals, nil, "")))
			locals = append(locals, t)
		}
		f.formals[g] = true
		if g[0] == 's' {
			lines = append(lines, fmt.Sprintf("  %s%s = 0.5*%[1]s%[2]s + 0.5*(%[3]s);", g, cell,
				f.sum(locals, nil, "")))
		} else {
			lines = append(lines, fmt.Sprintf("  %s%s = %s;", g, cell, f.sum(locals, nil, "")))
		}
	}
	var ranges []string
	for _, p := range f.params() {
		ranges = append(ranges, fmt.Sprintf("%d:%s-%d", margin, p, margin+1))
	}
	stencil, call = f.closed(name, lines)
	return stencil, "[" + strings.Join(ranges, ", ") + "] : " + call
}
