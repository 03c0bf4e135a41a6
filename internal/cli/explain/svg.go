package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gridloom/gridloom/internal/compile/analysis"
)

// SVG draws the dependence graph of every call: what its statements assign,
// from the grids that they read at the top to those that they write at the
// bottom. Solid arrows carry values and say how far the reads reach; dashed
// ones only order statements.
func SVG(w io.Writer, f *analysis.Facts) error {
	var b strings.Builder
	var panels []*graph
	width, height := 540.0, float64(headHeight)
	for _, s := range f.Calls {
		g := draw(f, s)
		panels = append(panels, g)
		width = max(width, g.width)
		height += titleHeight + g.height
	}
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%.0f" height="%.0f" fill="#fff"/>`+"\n", width, height)
	legend(&b)
	top := float64(headHeight)
	for i, g := range panels {
		fmt.Fprintf(&b, `<g transform="translate(0 %.0f)">`+"\n", top)
		fmt.Fprintf(&b, `<text font-size="14" font-weight="bold" x="%d" y="20">call %s</text>`+"\n", margin,
			escape(f.Calls[i].Name))
		fmt.Fprintf(&b, `<g transform="translate(%.1f %d)">`+"\n", (width-g.width)/2, titleHeight)
		g.write(&b)
		b.WriteString("</g>\n</g>\n")
		top += titleHeight + g.height
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

const (
	headHeight  = 40
	titleHeight = 28
	charWidth   = 7.25 // of a letter of a label
	noteWidth   = 6.05 // of a letter of a note
)

// fills tells the kinds of node apart.
var fills = []struct{ class, fill, text string }{
	{"input", "#ffd8a8", "grid read"},
	{"temp", "#d0ebff", "scalar"},
	{"local", "#c3fae8", "local grid"},
	{"output", "#e5dbff", "grid written"},
	{"reduction", "#ffdeeb", "reduction"},
}

func fill(class string) string {
	for _, f := range fills {
		if f.class == class {
			return f.fill
		}
	}
	panic("explain: no fill for " + class)
}

func legend(b *strings.Builder) {
	x := margin
	for _, f := range fills {
		fmt.Fprintf(b,
			`<rect x="%d" y="12" width="14" height="14" rx="4" fill="%s" stroke="#333"/><text x="%d" y="23">%s</text>`+"\n", x, f.fill, x+19, f.text)
		x += 32 + int(charWidth*float64(len(f.text)))
	}
}

// A picture holds at most so many statements by themselves, and edges pass so
// many layers in all. Beyond that it is unreadable and slow to draw, so that
// statements that follow each other share nodes.
const (
	maxStatements = 256
	maxBends      = 20000
)

// draw makes the graph of a call: a node for every array that is read before
// it is written, and one for every statement or run of statements.
func draw(f *analysis.Facts, s *analysis.CallFacts) *graph {
	for limit := maxStatements; ; limit /= 2 {
		g := connect(f, s, runs(s, limit))
		if len(g.nodes) == 0 {
			return g
		}
		g.assign()
		if g.spanned() > maxBends && limit > 1 {
			continue
		}
		g.widen()
		g.layout()
		return g
	}
}

// connect makes nodes for arrays and for runs of statements, and edges between
// them; a run's own edges are left out.
func connect(f *analysis.Facts, s *analysis.CallFacts, parts []run) *graph {
	g := &graph{}
	sources := map[string]*node{}
	kind := map[string]string{}
	for _, a := range s.Arrays {
		kind[a.Name] = "output"
		switch a.Role {
		case "intermediate":
			kind[a.Name] = "local"
		case "input", "in-out":
			note := strings.Join(append([]string{a.Type}, a.Axes...), " ")
			if a.Grid != a.Name {
				note = a.Grid + ": " + note
			}
			sources[a.Name] = g.add(box(a.Name, note, a.Role+" "+a.Name, "input"))
		}
	}
	var at []*node // of every statement
	for _, r := range parts {
		n := g.add(r.node(s, kind))
		for range r.hi - r.lo {
			at = append(at, n)
		}
	}
	links := newLinks(g)
	fed := map[string]bool{} // "5 u": statement 5 reads u from an earlier one
	for _, d := range s.Edges {
		if d.Kind == "flow" {
			fed[fmt.Sprint(d.To, " ", d.On)] = true
			links.flow(at[d.From], at[d.To], d.On, d.Offsets)
		}
	}
	for i, st := range s.Statements {
		for _, r := range st.Reads {
			if src := sources[r.Array]; src != nil && !fed[fmt.Sprint(i, " ", r.Array)] {
				links.flow(src, at[i], r.Array, r.Offsets)
			}
		}
	}
	for _, l := range links.flows {
		g.link(l.from, l.to, reachText(f.Axes, l.offsets), false)
	}
	for _, d := range s.Edges {
		if d.Kind != "flow" {
			links.order(at[d.From], at[d.To])
		}
	}
	return g
}

// widen gives every node the width that its edges need: labels stand in two
// rows above the node that they lead to.
func (g *graph) widen() {
	for _, n := range g.nodes {
		in, out := 0, 0
		for _, e := range g.edges {
			if e.from == n {
				out++
			}
			if e.to == n {
				in++
				n.pitch = max(n.pitch, labelWidth(e.label)/2+3)
			}
		}
		n.pitch = max(n.pitch, 14)
		if in > 1 {
			n.w = max(n.w, n.pitch*float64(in-1)+16)
		}
		n.w = max(n.w, 8*float64(out))
	}
}

func labelWidth(s string) float64 { return noteWidth * float64(utf8.RuneCountInString(s)) }

func box(label, note, title, class string) *node {
	w := max(charWidth*float64(utf8.RuneCountInString(label)), labelWidth(note))
	return &node{label: label, note: note, title: title, class: class, w: max(48, w+18)}
}

// reachText prints how far offsets reach along the axes: "±1" if it is the same
// on every axis of the program, else "k±1 i+2 j-1..+2"; nothing for the cell
// itself. Diagonal offsets are told apart: up to two are spelt out, as in
// "(j-1 i+1) (j+1 i-1)", and more make a box, "box ±1".
func reachText(axes []string, offsets [][]int64) string {
	var away [][]int64
	diagonal := false
	for _, v := range offsets {
		moved := 0
		for _, o := range v {
			if o != 0 {
				moved++
			}
		}
		diagonal = diagonal || moved > 1
		if moved > 0 && !slices.ContainsFunc(away, func(w []int64) bool { return slices.Equal(v, w) }) {
			away = append(away, v)
		}
	}
	switch {
	case diagonal && len(away) <= 2:
		var all []string
		for _, v := range away {
			all = append(all, "("+spanText(axes, [][]int64{v}, false)+")")
		}
		return strings.Join(all, " ")
	case diagonal:
		return "box " + spanText(axes, offsets, true)
	}
	return spanText(axes, offsets, true)
}

// spanText prints the least and the greatest offset on each axis. If that is the
// same on all axes of the program and may be merged, it is printed once.
func spanText(axes []string, offsets [][]int64, merge bool) string {
	var names, spans []string
	for axis, name := range axes {
		lo, hi := int64(0), int64(0)
		for i, v := range offsets {
			if i == 0 {
				lo, hi = v[axis], v[axis]
			}
			lo, hi = min(lo, v[axis]), max(hi, v[axis])
		}
		switch {
		case lo == 0 && hi == 0:
			continue
		case lo == -hi:
			spans = append(spans, fmt.Sprintf("±%d", hi))
		case lo >= 0:
			spans = append(spans, fmt.Sprintf("%+d", hi))
		case hi <= 0:
			spans = append(spans, fmt.Sprintf("%+d", lo))
		default:
			spans = append(spans, fmt.Sprintf("%+d..%+d", lo, hi))
		}
		names = append(names, name)
	}
	same := merge && len(names) == len(axes)
	for _, s := range spans {
		same = same && s == spans[0]
	}
	if same && len(spans) > 0 {
		return spans[0]
	}
	for i := range names {
		names[i] += spans[i]
	}
	return strings.Join(names, " ")
}

func (g *graph) write(b *strings.Builder) {
	for _, e := range g.edges {
		stroke, dash := "#666", ""
		if e.dashed {
			stroke, dash = "#c92a2a", ` stroke-dasharray="4 3"`
		}
		x, y := e.to.x+e.end, e.to.y-nodeHeight/2
		fmt.Fprintf(b, `<path fill="none" stroke="%s"%s d="%s"/>`, stroke, dash, e.curve())
		fmt.Fprintf(b, `<path fill="%s" d="M%.1f %.1f l-3.5 -8 h7 z"/>`+"\n", stroke, x, y)
	}
	for _, n := range g.nodes {
		fmt.Fprintf(b,
			`<g><title>%s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="6" fill="%s" stroke="#333"/>`,
			escape(n.title), n.x-n.w/2, n.y-nodeHeight/2, n.w, nodeHeight, fill(n.class))
		fmt.Fprintf(b, `<text text-anchor="middle" x="%.1f" y="%.1f">%s</text>`, n.x, n.y-2, escape(n.label))
		fmt.Fprintf(b, `<text text-anchor="middle" font-size="10" fill="#555" x="%.1f" y="%.1f">%s</text></g>`+"\n",
			n.x, n.y+12, escape(n.note))
	}
	for _, e := range g.edges {
		if e.label == "" {
			continue
		}
		// Near the reader, those that stand side by side at two heights.
		x, y := e.to.x+e.end, e.to.y-nodeHeight/2-14-float64(e.turn%2)*11
		w := labelWidth(e.label)
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="11" fill="#fff" fill-opacity="0.8"/>`,
			x-w/2, y-9, w)
		fmt.Fprintf(b, `<text text-anchor="middle" font-size="10" fill="#1864ab" x="%.1f" y="%.1f">%s</text>`+"\n", x,
			y, escape(e.label))
	}
}

// curve returns the path of an edge. It leaves and enters nodes upright, and
// runs upright past the nodes of the layers where it bends.
func (e *edge) curve() string {
	x, y := e.from.x+e.start, e.from.y+nodeHeight/2
	path := fmt.Sprintf("M%.1f %.1f", x, y)
	for i, n := range e.path[1:] {
		to, down := n.x, n.y-nodeHeight/2
		if i == len(e.path)-2 {
			to, down = to+e.end, down-4 // the tip covers the rest
		}
		mid := (y + down) / 2
		path += fmt.Sprintf(" C%.1f %.1f %.1f %.1f %.1f %.1f", x, mid, to, mid, to, down)
		x, y = to, down
		if n.bend {
			y += nodeHeight
			path += fmt.Sprintf(" V%.1f", y)
		}
	}
	return path
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace
