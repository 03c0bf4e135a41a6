package fission

import (
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// WriteFused returns the text of a file in which calls are joined. Stencils that nobody calls any more are left out.
func WriteFused(f *lang.File, joints []*Joint) string {
	defs, names := definitions(f), f.Names()
	return writeJoints(f, joints, func(w *writer, j *Joint) (stencil, call string) { return w.joint(j, defs, names) })
}

// writeJoints does so with stencils and calls that are made for each joint.
func writeJoints(f *lang.File, joints []*Joint, made func(*writer, *Joint) (stencil, call string)) string {
	w := &writer{text: f.Source.Text}
	defs := definitions(f)
	apart := map[string]bool{} // stencils that are still called
	eachCall(f, func(c *lang.CallStep) {
		apart[c.Name.Name] = apart[c.Name.Name] || !slices.ContainsFunc(joints, func(j *Joint) bool {
			return slices.Contains(j.Calls, c)
		})
	})
	stencils := map[*lang.StencilDef][]string{} // that stand where another one is or was
	for _, j := range joints {
		var behind *lang.StencilDef
		for _, c := range j.Calls {
			if def := defs[c.Name.Name]; behind == nil || def.Span().Start > behind.Span().Start {
				behind = def
			}
		}
		text, call := made(w, j)
		stencils[behind] = append(stencils[behind], text)
		for _, c := range j.Calls[1:] {
			w.replace(c, "")
		}
		w.replace(j.Calls[0], call)
	}
	for _, item := range f.Items {
		def, ok := item.(*lang.StencilDef)
		if !ok {
			continue
		}
		called, mentioned := apart[def.Name.Name]
		list := stencils[def]
		if called || !mentioned {
			list = append([]string{w.of(def)}, list...)
		}
		w.replace(def, strings.Join(list, "\n\n"))
	}
	formatted, _ := lang.Format(diag.NewSource(f.Source.Name, w.result()))
	return formatted
}

// joint returns the stencil of a joint, and its call. Grids and scalars that calls pass stand in the stencil by their
// own names; the values of other arguments are its formal arguments.
func (w *writer) joint(j *Joint, defs map[string]*lang.StencilDef, names map[string]bool) (stencil, call string) {
	used := map[string]bool{} // what names mean in the stencil must not change
	for _, c := range j.Calls {
		def := defs[c.Name.Name]
		b := newBody(def, nil)
		own := map[string]bool{}
		for _, f := range def.Formals {
			own[f.Name.Name] = true
		}
		for _, arg := range c.Args {
			if id, ok := arg.(*lang.Ident); ok {
				used[id.Name] = true
			}
		}
		for _, st := range def.Body {
			eachName(st, func(id *lang.Ident) {
				if !own[id.Name] && !b.locals[id.Name] {
					used[id.Name] = true
				}
			})
		}
	}
	fresh := func(name string) string {
		if used[name] {
			name = unused(name, names)
		}
		used[name] = true
		return name
	}
	var formals, args, lines []string
	for _, c := range j.Calls {
		def := defs[c.Name.Name]
		b := newBody(def, nil)
		stands := map[string]string{}
		for n, f := range def.Formals {
			if id, ok := c.Args[n].(*lang.Ident); ok {
				stands[f.Name.Name] = id.Name
				continue
			}
			name := fresh(f.Name.Name)
			stands[f.Name.Name] = name
			formals, args = append(formals, name), append(args, w.of(c.Args[n]))
		}
		for _, st := range b.statements {
			if st.declares != nil {
				stands[st.writes[0]] = fresh(st.writes[0])
			}
		}
		for n, st := range def.Body {
			above, behind := w.comments(def, n)
			lines = append(lines, above+w.renamed(st, stands)+behind)
		}
	}
	stencil = "stencil " + j.Name + " (" + strings.Join(formals, ", ") + ") {\n" + strings.Join(lines, "\n") + "\n}"
	return stencil, j.Name + " (" + strings.Join(args, ", ") + ");"
}

// renamed returns the text of a statement in which other names stand for some.
func (w *writer) renamed(st lang.Stmt, stands map[string]string) string {
	part := &writer{text: w.text[:st.Span().End]}
	eachName(st, func(id *lang.Ident) {
		if name, ok := stands[id.Name]; ok {
			part.replace(id, name)
		}
	})
	return part.result()[st.Span().Start:]
}

// eachName calls f once for every place in a statement where the name of a value or a grid stands.
func eachName(st lang.Stmt, f func(*lang.Ident)) {
	done := map[diag.Range]bool{}
	once := func(id *lang.Ident) {
		if !done[id.Span()] {
			done[id.Span()] = true
			f(id)
		}
	}
	for _, id := range written(st) {
		once(id)
	}
	for _, x := range expressions(st) {
		lang.WalkNames(x, once)
	}
}
