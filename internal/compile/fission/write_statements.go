package fission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// WriteCuts returns the text of a file whose statements are cut.
func WriteCuts(f *lang.File, cuts []*Cut) string {
	w := &writer{text: f.Source.Text}
	of := map[string]*Cut{}
	formals := map[string][]int{} // of the parts' stencils
	grids := map[int][]string{}   // what is declared behind a place
	for _, c := range cuts {
		of[c.Stencil] = c
		var stencils []string
		for part := 1; part <= c.Parts; part++ {
			if s := newPartText(w, c, part); s != nil {
				formals[c.names[part-1]] = s.formals
				stencils = append(stencils, s.text())
			}
		}
		w.replace(c.body.def, strings.Join(stencils, "\n\n"))
		end := declarationOf(f, c.like).Span().End
		for _, typ := range []string{"double", "float"} {
			var names []string
			for _, v := range c.Values {
				if v.Type == typ {
					names = append(names, v.Name+c.dims)
				}
			}
			if len(names) > 0 {
				grids[end] = append(grids[end], typ+" "+strings.Join(names, ", ")+";")
			}
		}
	}
	for end, list := range grids {
		at := diag.Range{Start: end, End: end}
		w.edits = append(w.edits, edit{at, "\n" + strings.Join(list, "\n")})
	}
	eachCall(f, func(call *lang.CallStep) {
		c := of[call.Name.Name]
		if c == nil {
			return
		}
		var list []string
		for _, name := range c.names {
			numbers, some := formals[name]
			if !some {
				continue
			}
			var args []string
			for _, n := range numbers {
				args = append(args, w.of(call.Args[n]))
			}
			list = append(list, fmt.Sprintf("%s : %s (%s);", c.domains[call], name, strings.Join(args, ", ")))
		}
		w.replace(call, strings.Join(list, "\n"))
	})
	formatted, _ := lang.Format(diag.NewSource(f.Source.Name, w.result()))
	return formatted
}

// declarationOf returns the declaration that declares a name.
func declarationOf(f *lang.File, name *lang.Ident) lang.Item {
	for _, item := range f.Items {
		if d, ok := item.(*lang.VarDecl); ok {
			for _, v := range d.Vars {
				if v.Name == name {
					return d
				}
			}
		}
	}
	panic("fission: no declaration of " + name.Name)
}

// partText is a part's stencil that is written.
type partText struct {
	*Cut
	w       *writer
	part    int
	wanted  map[int]bool // statements of the body
	names   map[string]bool
	formals []int
}

// newPartText finds what a part consists of; nil if it computes nothing.
func newPartText(w *writer, c *Cut, part int) *partText {
	s := &partText{Cut: c, w: w, part: part, wanted: map[int]bool{}, names: map[string]bool{}}
	for n := len(c.body.statements) - 1; n >= 0; n-- {
		st := c.body.statements[n]
		switch v := c.valueOf(n); {
		case part < c.Parts && v != nil && v.done(part+1) > v.done(part):
			s.want(n, v.names(v.done(part), v.done(part+1)))
		case part == c.Parts && !c.body.locals[st.writes[0]]:
			s.want(n, nil)
		case s.wanted[n]: // by a later statement
			s.want(n, nil)
		}
	}
	if len(s.wanted) == 0 {
		return nil
	}
	for n, f := range c.body.def.Formals {
		if s.names[f.Name.Name] {
			s.formals = append(s.formals, n)
		}
	}
	return s
}

func (c *Cut) valueOf(n int) *StoredValue {
	i := slices.IndexFunc(c.Values, func(v *StoredValue) bool { return v.Statement == n })
	if i < 0 {
		return nil
	}
	return c.Values[i]
}

// want notes that a statement is of the part, and what it needs: all that it reads, if no names are given.
func (s *partText) want(n int, names []string) {
	s.wanted[n] = true
	st := s.body.statements[n]
	if names == nil {
		names = append(slices.Clone(st.reads), st.writes...)
		if v := s.valueOf(n); v != nil && v.done(s.part) > 0 {
			names = append(v.names(v.done(s.part), len(v.terms)), st.writes...)
		}
	}
	for _, name := range names {
		s.names[name] = true
		if !s.body.locals[name] {
			continue
		}
		for i, before := range s.body.statements[:n] {
			if slices.Contains(before.writes, name) {
				s.wanted[i] = true
			}
		}
	}
}

// text returns the stencil.
func (s *partText) text() string {
	var out strings.Builder
	if s.body.def.Pragma != nil {
		out.WriteString(s.w.of(s.body.def.Pragma) + "\n")
	}
	var args []string
	for _, n := range s.formals {
		f := s.body.def.Formals[n]
		if s.part == s.Parts {
			args = append(args, s.w.of(f))
		} else { // it writes none
			args = append(args, f.Name.Name)
		}
	}
	fmt.Fprintf(&out, "stencil %s (%s) {\n", s.Cut.names[s.part-1], strings.Join(args, ", "))
	first := 0
	for n, st := range s.body.def.Body {
		var lines []string
		for ; first < len(s.body.statements) && s.body.statements[first].Stmt == st; first++ {
			if s.wanted[first] {
				lines = append(lines, s.line(first))
			}
		}
		if len(lines) == 0 {
			lines = s.hint(st)
		}
		if len(lines) == 0 {
			continue
		}
		above, behind := "", ""
		if s.part == s.Parts {
			above, behind = s.w.comments(s.body.def, n)
		}
		out.WriteString(above + strings.Join(lines, "\n") + behind + "\n")
	}
	out.WriteString("}")
	return out.String()
}

// hint returns what the part has of a hint.
func (s *partText) hint(st lang.Stmt) []string {
	p := &Part{}
	for n := range s.wanted {
		p.Statements = append(p.Statements, n)
	}
	switch st.(type) {
	case *lang.Storage, *lang.AssignDirective:
		b := *s.body
		b.statements = nil // hints name grids that the part has
		for name := range s.names {
			b.statements = append(b.statements, &statement{reads: []string{name}})
		}
		p.Statements = nil
		for n := range b.statements {
			p.Statements = append(p.Statements, n)
		}
		if text := s.w.statement(&b, p, st, nil); text != "" {
			return []string{text}
		}
	}
	return nil
}

// line returns what the part has of a statement.
func (s *partText) line(n int) string {
	st := s.body.statements[n]
	v := s.valueOf(n)
	stored := ""
	if v != nil {
		stored = v.Name + s.cell
	}
	if v != nil && s.part < s.Parts && v.done(s.part+1) > v.done(s.part) {
		text := s.terms(v, v.done(s.part), v.done(s.part+1))
		if v.done(s.part) > 0 {
			text = stored + text
		}
		text = fmt.Sprintf("%s = %s;", stored, text)
		if v.done(s.part+1) == len(v.terms) && s.isRead(n) {
			text += fmt.Sprintf("\n%s %s = %s;", s.typeOf(st), st.writes[0], stored)
		}
		return text
	}
	if v == nil || v.done(s.part) == 0 {
		if st.declares != nil {
			return s.typeOf(st) + " " + s.w.of(st.declares) + ";"
		}
		return s.w.of(st.Stmt)
	}
	// What is there already stands in the place of the first terms.
	own, at := st.Stmt.Span(), v.x.Span()
	if st.declares != nil {
		own = st.declares.Span()
	}
	text := s.w.text[own.Start:at.Start] + stored + s.terms(v, v.done(s.part), len(v.terms)) + s.w.text[at.End:own.End]
	if st.declares != nil {
		return s.typeOf(st) + " " + text + ";"
	}
	return text
}

// isRead reports whether a later statement of the part reads the local that a statement declares.
func (s *partText) isRead(n int) bool {
	name := s.body.statements[n].writes[0]
	return s.body.locals[name] && s.names[name]
}

func (s *partText) typeOf(st *statement) string { return st.Stmt.(*lang.VarDecl).Type.Name }

// terms returns the text of some terms of a sum, which begins with an operator unless they are the first.
func (s *partText) terms(v *StoredValue, from, to int) string {
	if from == to {
		return ""
	}
	return s.w.text[v.terms[from].at.Start:v.terms[to-1].at.End]
}
