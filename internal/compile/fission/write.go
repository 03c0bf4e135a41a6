package fission

import (
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// Write returns the text of a file in which stencils are split. What is not of them stays as it is, comments included.
func Write(f *lang.File, splits []*Split) string {
	w := &writer{text: f.Source.Text}
	of := map[string]*Split{}
	for _, s := range splits {
		of[s.Stencil] = s
	}
	formals := map[*Part][]int{}
	for _, item := range f.Items {
		def, ok := item.(*lang.StencilDef)
		if !ok || of[def.Name.Name] == nil {
			continue
		}
		b := newBody(def, nil)
		var stencils []string
		for _, p := range of[def.Name.Name].Parts {
			formals[p] = b.formals(p)
			stencils = append(stencils, w.stencil(b, p, formals[p]))
		}
		w.replace(def, strings.Join(stencils, "\n\n"))
	}
	eachCall(f, func(c *lang.CallStep) {
		if s := of[c.Name.Name]; s != nil {
			w.replace(c, w.calls(c, s, formals))
		}
	})
	text := w.result()
	formatted, _ := lang.Format(diag.NewSource(f.Source.Name, text))
	return formatted
}

// writer replaces parts of a text.
type writer struct {
	text  string
	edits []edit
}

type edit struct {
	at   diag.Range
	text string
}

func (w *writer) replace(n lang.Node, text string) { w.edits = append(w.edits, edit{n.Span(), text}) }

// of returns the text of a part of the file.
func (w *writer) of(n lang.Node) string { return w.text[n.Span().Start:n.Span().End] }

func (w *writer) result() string {
	slices.SortFunc(w.edits, func(x, y edit) int { return x.at.Start - y.at.Start })
	var out strings.Builder
	at := 0
	for _, e := range w.edits {
		out.WriteString(w.text[at:e.at.Start])
		out.WriteString(e.text)
		at = e.at.End
	}
	out.WriteString(w.text[at:])
	return out.String()
}

// formals returns which formal arguments a part has: those that its statements name.
func (b *body) formals(p *Part) []int {
	var list []int
	for n, f := range b.def.Formals {
		if !b.locals[f.Name.Name] && b.names(p, f.Name.Name) {
			list = append(list, n)
		}
	}
	return list
}

// names reports whether statements of a part have a name.
func (b *body) names(p *Part, name string) bool {
	return slices.ContainsFunc(p.Statements, func(i int) bool {
		st := b.statements[i]
		return slices.Contains(st.reads, name) || slices.Contains(st.writes, name)
	})
}

// stencil returns the text of a part.
func (w *writer) stencil(b *body, p *Part, formals []int) string {
	var out strings.Builder
	if b.def.Pragma != nil {
		out.WriteString(w.of(b.def.Pragma) + "\n")
	}
	var args []string
	for _, n := range formals {
		args = append(args, w.of(b.def.Formals[n]))
	}
	out.WriteString("stencil " + p.Name + " (" + strings.Join(args, ", ") + ") {\n")
	first := 0 // the statement's first name
	for n, st := range b.def.Body {
		var kept []*statement
		for ; first < len(b.statements) && b.statements[first].Stmt == st; first++ {
			if slices.Contains(p.Statements, first) {
				kept = append(kept, b.statements[first])
			}
		}
		if text := w.statement(b, p, st, kept); text != "" {
			before, behind := w.comments(b.def, n)
			out.WriteString(before + text + behind + "\n")
		}
	}
	out.WriteString("}")
	return out.String()
}

// comments returns the comments above a statement of a stencil, and that behind it on its last line.
func (w *writer) comments(def *lang.StencilDef, n int) (above, behind string) {
	between := func(n int) (behind, above string) { // those from a statement to the next
		from, to := def.Name.Span().End, def.Span().End-1
		if n >= 0 {
			from = def.Body[n].Span().End
		} else {
			if formals := len(def.Formals); formals > 0 {
				from = def.Formals[formals-1].Span().End
			}
			from += strings.IndexByte(w.text[from:], '{') + 1
		}
		if n+1 < len(def.Body) {
			to = def.Body[n+1].Span().Start
		}
		line, rest, _ := strings.Cut(w.text[from:to], "\n")
		if n < 0 || strings.Contains(line, "/*") && !strings.Contains(line, "*/") {
			line, rest = "", w.text[from:to]
		}
		const space = " \t\r\n"
		tidy := func(text string) string { return strings.TrimRight(strings.TrimLeft(text, space+";"), space) }
		return tidy(line), tidy(rest)
	}
	if _, above = between(n - 1); above != "" {
		above += "\n"
	}
	if behind, _ = between(n); behind != "" {
		behind = "  " + behind
	}
	return above, behind
}

// statement returns the text of what a part has of a statement, or of a hint; "" if that is nothing.
func (w *writer) statement(b *body, p *Part, st lang.Stmt, kept []*statement) string {
	domain := func(d *lang.Domain) string {
		if d == nil {
			return ""
		}
		return w.of(d) + " : "
	}
	grids := func(hint *lang.Storage) string {
		var list []string
		for _, name := range hint.Names {
			if b.names(p, name.Name) {
				list = append(list, name.Name)
			}
		}
		return strings.Join(list, ", ")
	}
	switch st := st.(type) {
	case *lang.Storage:
		if list := grids(st); list != "" {
			return st.Word + " " + list + ";"
		}
		return ""
	case *lang.AssignDirective:
		var groups []string
		for _, g := range st.Groups {
			if list := grids(g); list != "" {
				groups = append(groups, g.Word+" ("+list+")")
			}
		}
		if len(groups) == 0 {
			return ""
		}
		return "#assign " + strings.Join(groups, ", ")
	}
	if len(kept) == 0 {
		return ""
	}
	var names []string
	switch st := st.(type) {
	case *lang.VarDecl:
		for _, k := range kept {
			names = append(names, w.of(k.declares))
		}
		return domain(st.Domain) + st.Type.Name + " " + strings.Join(names, ", ") + ";"
	case *lang.BoundaryDecl:
		for _, k := range kept {
			names = append(names, k.bounds.Name)
		}
		rules := w.text[st.Rules[0].Span().Start:st.Rules[len(st.Rules)-1].Span().End]
		return "boundary " + strings.Join(names, ", ") + " : " + rules + ";"
	}
	return w.of(st)
}

// calls returns the calls of a stencil's parts that take the place of one.
func (w *writer) calls(c *lang.CallStep, s *Split, formals map[*Part][]int) string {
	var list []string
	for _, p := range s.Parts {
		var args []string
		for _, n := range formals[p] {
			args = append(args, w.of(c.Args[n]))
		}
		call := p.Name + " (" + strings.Join(args, ", ") + ");"
		if c.Domain != nil {
			call = w.of(c.Domain) + " : " + call
		}
		list = append(list, call)
	}
	return strings.Join(list, "\n")
}
