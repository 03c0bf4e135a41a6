package fission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// WriteShared returns the text of a file in which values are shared. Calls of a stencil that share other values than
// those before get a stencil of their own.
func WriteShared(f *lang.File, list []*Sharing) (string, error) {
	w := &writer{text: f.Source.Text}
	names := f.Names()
	stencils := map[*lang.StencilDef][]string{}
	left := map[*lang.StencilDef]int{} // calls that stay as they are
	for _, item := range f.Items {
		if def, ok := item.(*lang.StencilDef); ok {
			left[def] = len(calls(f, def.Name.Name))
		}
	}
	for _, s := range list {
		left[s.body.def] -= len(s.steps)
	}
	made := map[string]string{} // the names of stencils, by their text
	called := map[string]int{}  // of these
	for _, s := range list {
		text, formals, err := w.shared(s)
		if err != nil {
			return "", err
		}
		def := s.body.def
		name, ok := made[s.Stencil+text]
		if !ok {
			name = s.Stencil
			if left[def] > 0 || len(stencils[def]) > 0 {
				name = unused(s.Stencil, names)
			}
			made[s.Stencil+text] = name
			stencils[def] = append(stencils[def], strings.Replace(text, nameHere, name, 1))
		}
		s.made, s.nth = name, called[name]
		called[name]++
		for _, c := range s.steps {
			var args []string
			for _, n := range formals {
				args = append(args, w.of(c.Args[n]))
			}
			call := name + " (" + strings.Join(args, ", ") + ");"
			if c.Domain != nil {
				call = w.of(c.Domain) + " : " + call
			}
			w.replace(c, call)
		}
	}
	for def, texts := range stencils {
		if left[def] > 0 {
			texts = append([]string{w.of(def)}, texts...)
		}
		w.replace(def, strings.Join(texts, "\n\n"))
	}
	formatted, _ := lang.Format(diag.NewSource(f.Source.Name, w.result()))
	return formatted, nil
}

// nameHere stands for the name of a stencil until it has one.
const nameHere = "\x00"

// shared returns the stencil of calls that share values, and the formal arguments that it still has.
func (w *writer) shared(s *Sharing) (string, []int, error) {
	text := newSourceText(s.program, s.body, s.steps[0])
	now, before := map[*ir.Stmt]*ir.Stmt{}, map[*ir.Stmt][]*ir.Stmt{}
	var pending []*ir.Stmt
	for _, st := range s.Call.Body {
		was := s.Was[st]
		if was == nil {
			pending = append(pending, st)
			continue
		}
		now[was], before[was], pending = st, pending, nil
	}
	gone := s.replacedScalars(now)
	for _, at := range s.body.statements {
		if was := s.meaning(at); was != nil && now[was] == nil && !gone[at] {
			now[was] = was
		}
	}
	var lines []string
	first, remark := 0, "" // the comments of what is gone
	for n, st := range s.body.def.Body {
		var names []*statement
		whole := true
		for ; first < len(s.body.statements) && s.body.statements[first].Stmt == st; first++ {
			if at := s.body.statements[first]; gone[at] {
				whole = false
			} else {
				names = append(names, at)
			}
		}
		above, behind := w.comments(s.body.def, n)
		if len(names) == 0 && !whole {
			remark += above
			if behind = strings.TrimSpace(behind); behind != "" {
				remark += behind + "\n"
			}
			continue
		}
		above, remark = remark+above, ""
		lines = append(lines, above+strings.Join(w.anew(s, text, st, names, whole, now, before), "\n")+behind)
	}
	if text.failed {
		return "", nil, fmt.Errorf("%s cannot be written anew", s.Stencil)
	}
	var out strings.Builder
	if s.body.def.Pragma != nil {
		out.WriteString(w.of(s.body.def.Pragma) + "\n")
	}
	var kept []int
	var formals []string
	for n, f := range s.body.def.Formals {
		if text.used[f.Name.Name] {
			kept = append(kept, n)
			formals = append(formals, w.of(f))
		}
	}
	fmt.Fprintf(&out, "stencil %s (%s) {\n%s\n}", nameHere, strings.Join(formals, ", "), strings.Join(lines, "\n"))
	return out.String(), kept, nil
}

// meaning returns the statement of the call that one of the body means alone; nil if there is none.
func (s *Sharing) meaning(at *statement) *ir.Stmt {
	i := slices.IndexFunc(s.call.Body, func(was *ir.Stmt) bool { return s.source(was) == at })
	if i < 0 {
		return nil
	}
	return s.call.Body[i]
}

// replacedScalars returns the scalars of the body that values have taken the place of, and that no text reads which
// stays as it is.
func (s *Sharing) replacedScalars(now map[*ir.Stmt]*ir.Stmt) map[*statement]bool {
	gone := map[*statement]bool{}
	for _, at := range s.body.statements {
		if was := s.meaning(at); was != nil && now[was] == nil {
			gone[at] = true
		}
	}
	for more := true; more; {
		more = false
		for _, at := range s.body.statements {
			if was := s.meaning(at); gone[at] || was != nil && now[was] != was && now[was] != nil {
				continue // what is written anew reads none of them
			}
			for scalar := range gone {
				if slices.Contains(at.reads, scalar.writes[0]) {
					delete(gone, scalar)
					more = true
				}
			}
		}
	}
	return gone
}

// anew returns the statements that take the place of one, of which it may not be the whole: itself if nothing of it
// changes.
func (w *writer) anew(s *Sharing, text *sourceText, st lang.Stmt, names []*statement, whole bool,
	now map[*ir.Stmt]*ir.Stmt, before map[*ir.Stmt][]*ir.Stmt) []string {
	changes := func(at *statement) bool {
		was := s.meaning(at)
		return was != nil && (now[was] != was || len(before[was]) > 0 || s.domains[was])
	}
	if whole && !slices.ContainsFunc(names, changes) {
		for _, at := range names {
			for _, name := range slices.Concat(at.reads, at.writes) {
				text.own(name)
			}
		}
		return []string{w.of(st)}
	}
	var list []string
	for _, at := range names {
		was := s.meaning(at)
		if was != nil {
			for _, shared := range before[was] {
				list = append(list, w.sharedValue(text, shared)...)
			}
		}
		list = append(list, w.rewritten(s, text, at, was, now))
	}
	return list
}

// sharedValue returns the declaration of a local grid, and its assignment.
func (w *writer) sharedValue(text *sourceText, st *ir.Stmt) []string {
	a := st.Array
	return []string{
		a.Type.Word() + " " + a.Name + text.dims(a.Dims) + ";",
		text.box(st.Domain) + " : " + a.Name + text.cell(a.Dims) + " = " + text.expr(st.Value) + ";",
	}
}

// rewritten returns a statement with what it computes now.
func (w *writer) rewritten(s *Sharing, text *sourceText, at *statement, was *ir.Stmt,
	now map[*ir.Stmt]*ir.Stmt) string {
	for _, name := range at.writes {
		text.own(name)
	}
	same := was == nil || now[was] == was
	if same {
		for _, name := range at.reads {
			text.own(name)
		}
	}
	domain := func(d *lang.Domain) string {
		switch {
		case was != nil && s.domains[was]:
			return text.box(was.Domain) + " : "
		case d != nil:
			for _, r := range d.Ranges {
				for _, x := range []lang.Expr{r.Lo, r.Hi} {
					lang.WalkNames(x, func(id *lang.Ident) { text.own(id.Name) })
				}
			}
			return w.of(d) + " : "
		}
		return ""
	}
	switch st := at.Stmt.(type) {
	case *lang.VarDecl:
		value := w.of(at.declares)
		if !same {
			value = at.declares.Name.Name + " = " + text.expr(now[was].Value)
		}
		return domain(st.Domain) + st.Type.Name + " " + value + ";"
	case *lang.Assignment:
		if same && (was == nil || !s.domains[was]) {
			return w.of(st)
		}
		value, between := now[was].Value, " = "
		if st.Op != lang.Assign && changesTarget(st.Op, now[was]) { // else sums have another order
			between = w.text[st.Target.Span().End:st.Value.Span().Start]
			value = addedTo(st.Op, value)
		}
		colour := ""
		if st.Color != nil {
			colour = w.of(st.Color) + " : "
		}
		lang.WalkNames(st.Target, func(id *lang.Ident) { text.own(id.Name) })
		return domain(st.Domain) + colour + w.of(st.Target) + between + text.expr(value) + ";"
	}
	return w.of(at.Stmt)
}

// addedTo returns what an assignment such as += adds to its target, or such as -= takes from it.
func addedTo(by lang.Kind, e ir.Expr) ir.Expr {
	switch e := e.(type) {
	case *ir.Binary:
		return e.Y
	case *ir.Fma:
		x := e.X
		if by == lang.SubAssign {
			if of, minus := withoutSign(x); minus {
				x = of
			} else {
				x = &ir.Unary{Op: op.Neg, X: x}
			}
		}
		return &ir.Binary{Op: op.Mul, X: x, Y: e.Y}
	}
	panic("fission: no operation")
}
