// Package explain renders what internal/compile/analysis found out about a
// program: as text for a terminal, as JSON and as a drawing.
package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

// JSON writes the facts as JSON, in the form of docs/analysis.md, with hints if there are any.
func JSON(w io.Writer, f *analysis.Facts, spans []*pipeline.Facts, hints any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		*analysis.Facts
		Spans []*pipeline.Facts `json:"spans,omitempty"`
		Hints any               `json:"hints,omitempty"` // in theory
	}{f, spans, hints})
}

// Text writes the facts for a terminal of 80 columns or more.
func Text(w io.Writer, f *analysis.Facts) error {
	e := &explainer{f: f}
	e.program()
	for _, s := range f.Calls {
		e.call(s)
	}
	for _, l := range f.Loops {
		e.loop(l)
	}
	_, err := io.WriteString(w, e.b.String())
	return err
}

type explainer struct {
	f *analysis.Facts
	b strings.Builder
}

func (e *explainer) printf(format string, args ...any) { fmt.Fprintf(&e.b, format, args...) }

// field writes one fact: a name and its text, the text wrapped.
func (e *explainer) field(name, text string) {
	const column, limit = 16, 96
	line := fmt.Sprintf("  %-*s", column-2, name)
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > limit:
			e.printf("%s\n", line)
			line = strings.Repeat(" ", column) + word
		default:
			line += " " + word
		}
	}
	e.printf("%s\n", line)
}

func (e *explainer) program() {
	e.printf("%s: %s over %s", e.f.Program, plural(len(e.f.Calls), "call"), strings.Join(e.f.Axes, ", "))
	for i, s := range e.f.Sizes {
		e.printf("%s%s = %d", []string{", ", "; "}[first(i)], s.Name, s.Value)
	}
	e.printf("\n\n")
	t := &table{heads: []string{"grid", "type", "cells", "bytes", "in/out", "boundary"}, right: []int{3}}
	for _, g := range e.f.Grids {
		cells := strings.Join(g.Dims, ", ")
		if len(g.Shape) > 0 {
			cells = product(g.Shape)
		}
		var way []string
		if g.CopyIn {
			way = append(way, "in")
		}
		if g.CopyOut {
			way = append(way, "out")
		}
		t.add(g.Name, g.Type, cells, size(g.Bytes), strings.Join(way, " "), strings.Join(g.Boundary, ", "))
	}
	e.table(t)
	if e.f.Bytes > 0 && len(e.f.Grids) > 1 {
		e.printf("  %s in all\n", size(e.f.Bytes))
	}
}

func first(i int) int {
	if i == 0 {
		return 1
	}
	return 0
}

func (e *explainer) call(s *analysis.CallFacts) {
	if as, with := e.like(s); as != "" {
		e.printf("\ncall %s: as %s, with %s\n", s.Name, as, with)
		return
	}
	e.printf("\ncall %s: %s over %s", s.Name, kindOf(s.Shape), list(s.Axes, "a single cell"))
	if s.Points > 0 {
		e.printf(", %s", plural64(s.Points, "point"))
	}
	e.printf("\n")
	if s.Shape.Order > 0 {
		e.field("halo", halos(s.Shape.Halo)+reach(s))
		e.field("shape", shape(s.Shape))
	}
	e.work(s.Ops, s.Traffic, s.Intensity)
	e.field("loads", fmt.Sprintf("%s a point if each loop over cells loads a value once, %s as written; %s",
		number(s.Loads), number(s.LoadsAsWritten), count(s.Stores, "store")))
	if s.Shape.Order > 0 {
		e.field("retiming", retiming(s.Homogeneous))
	}
	e.bound(s.Bound, " in all")
	e.printf("\n")
	e.arrays(s)
	e.statements(s)
	e.groups(s)
	e.edges(s.Edges, func(i int) string { return fmt.Sprintf("%d %s", i, s.Statements[i].Target) })
}

func kindOf(s analysis.Shape) string {
	if s.Points == 0 {
		return "no reads"
	}
	return fmt.Sprintf("%d-point stencil of order %d", s.Points, s.Order)
}

// like returns the name of an earlier call that differs from s in nothing but
// the grids that it is called with, and those grids.
func (e *explainer) like(s *analysis.CallFacts) (name, with string) {
	own := anonymous(s)
	for _, t := range e.f.Calls {
		if t == s {
			break
		}
		if anonymous(t) == own {
			var pairs []string
			for _, a := range s.Arrays {
				if a.Grid != "" {
					pairs = append(pairs, a.Name+" = "+a.Grid)
				}
			}
			return t.Name, strings.Join(pairs, ", ")
		}
	}
	return "", ""
}

// anonymous returns the facts of a call as JSON, without its name and grids.
func anonymous(s *analysis.CallFacts) string {
	t := *s
	t.Name, t.Arrays = "", nil
	for _, a := range s.Arrays {
		b := *a
		b.Grid = ""
		t.Arrays = append(t.Arrays, &b)
	}
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // numbers and texts alone
	}
	return string(text)
}

func halos(hs []analysis.Halo) string {
	var parts []string
	for _, h := range hs {
		parts = append(parts, h.Axis+" "+h.Text())
	}
	return strings.Join(parts, ", ")
}

// reach says how far the whole call reaches, if its statements together reach
// further than any one of them.
func reach(s *analysis.CallFacts) string {
	for i, h := range s.Reach {
		if h.Low > s.Shape.Halo[i].Low || h.High > s.Shape.Halo[i].High {
			return "; through all its statements " + halos(s.Reach)
		}
	}
	return ""
}

func shape(s analysis.Shape) string {
	text := fmt.Sprintf("density %.2g; ", s.Density)
	if len(s.Corners) > 0 {
		text += "corner accesses when marching along " + strings.Join(s.Corners, ", ")
	} else {
		text += "no corner accesses"
	}
	if s.Unique != "" {
		text += "; unlike the others: " + s.Unique
	}
	return text
}

func (e *explainer) work(o analysis.Ops, t analysis.Traffic, i analysis.Intensity) {
	e.field("arithmetic", ops(o))
	e.field("bytes", fmt.Sprintf("%s a point compulsory, %s group by group, %s as written", number(t.Compulsory),
		number(t.ByGroup), number(t.AsWritten)))
	if o.Flops() > 0 {
		e.field("flops/byte", fmt.Sprintf("%s compulsory, %s group by group, %s as written", number(i.Compulsory),
			number(i.ByGroup), number(i.AsWritten)))
	}
}

func ops(o analysis.Ops) string {
	text := count(o.Flops(), "flop") + " a point"
	var parts []string
	for _, p := range []struct {
		n    float64
		name string
	}{{o.Add, "add"}, {o.Mul, "mul"}, {o.Div, "div"}, {o.Sqrt, "sqrt"}, {o.Special, "function"}} {
		if p.n > 0 {
			parts = append(parts, number(p.n)+" "+p.name)
		}
	}
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	if o.FMA > 0 {
		text += fmt.Sprintf(", %s with %s fused", number(o.Fused()), count(o.FMA, "pair"))
	}
	if o.Compare > 0 {
		text += "; " + count(o.Compare, "comparison or selection", "comparisons and selections")
	}
	if o.Int > 0 {
		text += "; " + count(o.Int, "integer operation")
	}
	return text
}

func retiming(hs []analysis.Homogeneity) string {
	var parts []string
	for _, h := range hs {
		if h.OK {
			parts = append(parts, fmt.Sprintf("%s into %s on %s", h.Axis, plural(h.Parts, "part"),
				plural(h.Planes, "plane")))
		} else {
			parts = append(parts, h.Axis+" no"+because(h.Blocker))
		}
	}
	return list(parts, "nothing to retime")
}

func because(blocker string) string {
	if blocker == "" {
		return " (too many parts)"
	}
	return " (" + clip(blocker, 40) + ")"
}

func (e *explainer) bound(b *analysis.Bound, per string) {
	if b == nil {
		return
	}
	rate, balance := "", ""
	if b.GFlops > 0 {
		rate = fmt.Sprintf(", %s Gflop/s", number(b.GFlops))
		balance = fmt.Sprintf("; the machine's balance is %s flops/byte", number(b.Balance))
	}
	e.field("roofline", fmt.Sprintf("%s GStencil/s%s on %s, bound by %s", number(b.GStencils), rate,
		b.Machine, b.Limit))
	e.field("", fmt.Sprintf("memory %s ps a point, arithmetic %s%s", number(1000*b.Memory), number(1000*b.Arithmetic),
		balance))
	if b.ByGroup != b.GStencils {
		e.field("", fmt.Sprintf("group by group %s GStencil/s", number(b.ByGroup)))
	}
	if b.Cache > 0 {
		e.field("", fmt.Sprintf("with every load as written from %s %s GStencil/s", b.CacheName, number(b.Cache)))
	}
	if b.FitsIn != "" {
		e.field("", fmt.Sprintf("the grids fit in %s: a loop over them is not bound by memory", b.FitsIn))
	}
	if b.Seconds > 0 {
		e.field("", seconds(b.Seconds)+per)
	}
}

func (e *explainer) arrays(s *analysis.CallFacts) {
	t := &table{heads: []string{"array", "grid", "role", "points", "halo", "loads", "stores", "reloads along"},
		right: []int{3, 5, 6}}
	for _, a := range s.Arrays {
		grid := a.Grid
		if grid == a.Name {
			grid = ""
		}
		var again []string
		for _, r := range a.Reuse {
			if r.Reloads > 0 {
				again = append(again, fmt.Sprintf("%s %d", r.Axis, r.Reloads))
			}
		}
		halo := halos(a.Shape.Halo)
		if a.Shape.Order == 0 {
			halo = ""
		}
		t.add(a.Name, grid, a.Role, strconv.Itoa(a.Shape.Points), halo, strconv.Itoa(a.LoadsAsWritten),
			strconv.Itoa(a.Stores), strings.Join(again, ", "))
	}
	e.table(t)
}

func (e *explainer) statements(s *analysis.CallFacts) {
	t := &table{heads: []string{"#", "assigns", "group", "flops", "fused", "loads", "order", "cells"},
		right: []int{0, 2, 3, 4, 5, 6}}
	for i, st := range s.Statements {
		what := st.Target
		switch {
		case st.Place != "":
			what += ", " + st.Place
		case st.Kind == "reduction":
			what += ", a reduction"
		}
		cells := st.Domain
		if st.Color != "" {
			cells += ", " + st.Color
		}
		if st.Kind == "temp" {
			cells = ""
		}
		t.add(strconv.Itoa(i), what, strconv.Itoa(st.Group), number(st.Ops.Flops()), number(st.Ops.Fused()),
			strconv.Itoa(st.LoadsAsWritten), strconv.FormatInt(st.Shape.Order, 10), cells)
	}
	e.printf("\n")
	e.table(t)
}

// groups says what is particular about groups; that there is one is nothing.
func (e *explainer) groups(s *analysis.CallFacts) {
	var lines []string
	for i, g := range s.Groups {
		var notes []string
		if len(g.Recompute) > 0 {
			var names []string
			for _, n := range g.Recompute {
				names = append(names, s.Statements[n].Target)
			}
			notes = append(notes, "recomputes "+strings.Join(names, ", "))
		}
		if len(g.Snapshot) > 0 {
			notes = append(notes, "needs a copy of "+strings.Join(g.Snapshot, ", "))
		}
		if g.InPlace {
			notes = append(notes, "updates in place")
		}
		if len(notes) > 0 {
			lines = append(lines, fmt.Sprintf("group %d %s", i, strings.Join(notes, "; ")))
		}
	}
	if len(s.Groups) > 1 {
		lines = append([]string{fmt.Sprintf("%d over cells, one for each group", len(s.Groups))}, lines...)
	}
	if len(lines) > 0 {
		e.printf("\n")
		e.field("loops", strings.Join(lines, "; "))
	}
}

func (e *explainer) edges(edges []analysis.Edge, name func(int) string) {
	t := &table{heads: []string{"from", "to", "kind", "on", "offsets"}}
	for _, d := range edges {
		to := name(d.To)
		if d.Carried {
			to += ", next iteration"
		}
		t.add(name(d.From), to, d.Kind, d.On, e.offsets(d.Offsets))
	}
	if len(t.rows) > 0 {
		e.printf("\n")
		e.table(t)
	}
}

// offsets prints the box around offsets: "k -1..1, i 0..2"; nothing for the
// point itself.
func (e *explainer) offsets(at [][]int64) string {
	var parts []string
	for axis, name := range e.f.Axes {
		for i := range at {
			if at[i][axis] == 0 {
				continue
			}
			lo, hi := at[i][axis], at[i][axis]
			for _, v := range at {
				lo, hi = min(lo, v[axis]), max(hi, v[axis])
			}
			if lo == hi {
				parts = append(parts, fmt.Sprintf("%s %+d", name, lo))
			} else {
				parts = append(parts, fmt.Sprintf("%s %d..%d", name, lo, hi))
			}
			break
		}
	}
	return strings.Join(parts, ", ")
}

func (e *explainer) loop(l *analysis.LoopFacts) {
	head := "once"
	switch l.Kind {
	case "iterate":
		head = "iterate " + l.Text
		if l.Count != nil && strconv.FormatInt(*l.Count, 10) != l.Text {
			head += fmt.Sprintf(" = %d times", *l.Count)
		}
	case "until":
		head = fmt.Sprintf("iterate until %s, looked at every %s, at most %d", l.Text, ordinal(l.Check), l.Max)
	}
	e.printf("\n%s%s: %s", strings.Repeat("  ", max(0, l.Depth-1)), head, list(l.Runs, "runs nothing itself"))
	for _, r := range l.Rotates {
		word := "rotate"
		if len(r) == 2 {
			word = "swap"
		}
		e.printf("; %s %s", word, strings.Join(r, ", "))
	}
	e.printf("\n")
	if len(l.Runs) == 0 {
		return
	}
	if l.Steps > 1 {
		e.field("steps", fmt.Sprintf("%d in an iteration", l.Steps))
	}
	if len(l.Runs) > 1 {
		e.work(l.Ops, l.Traffic, l.Intensity)
		e.bound(l.Bound, " an iteration")
	}
	if l.Depth > 0 && len(l.Runs) > 1 {
		e.edges(l.Edges, func(i int) string { return fmt.Sprintf("%d %s", i, l.Runs[i]) })
	}
}

func ordinal(n int64) string {
	if n == 1 {
		return "iteration"
	}
	return fmt.Sprintf("%d iterations", n)
}
