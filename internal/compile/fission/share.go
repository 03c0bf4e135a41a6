package fission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/transform"
)

// Sharing is how calls of a stencil share values across cells: each value is in a local grid.
type Sharing struct {
	Stencil string
	*transform.Sharing

	program *ir.Program
	body    *body
	call    *ir.Call // as it was
	steps   []*lang.CallStep
	domains map[*ir.Stmt]bool // statements, as they were, whose domains have to be written out
	made    string            // the name of the stencil that was written
	nth     int               // of its calls
}

// Lines says what is shared, and what that saves.
func (s *Sharing) Lines() []string {
	values, wait := "1 value", "waits"
	if n := len(s.Values); n > 1 {
		values, wait = fmt.Sprintf("%d values", n), "wait"
	}
	list := []string{fmt.Sprintf("%s shares %s: %s", s.Stencil, values, s.Gain())}
	if s.Planes {
		list[0] = fmt.Sprintf("%s has %s that %s for later planes: a plane is read at %.0f cells, and not at %.0f",
			s.Stencil, values, wait, s.After.Loads, s.Before.Loads)
	}
	return append(list, s.Sharing.Lines(s.program)...)
}

// Gain says what sharing saves.
//
// Example text:
//
//	620 operations become 480, 150 loads 120
func (s *Sharing) Gain() string {
	return fmt.Sprintf("%.0f operations become %.0f, %.0f loads %.0f", s.Before.Operations, s.After.Operations,
		s.Before.Loads, s.After.Loads)
}

// Share finds what calls of a file's stencils may share across cells; the program is that of the file, in the mode of
// arithmetic that it is for. Calls that have nothing to share are not in the list. Most and all are those of
// transform.ShareOptions.
func Share(f *lang.File, p *ir.Program, most int, all bool) []*Sharing {
	return inGrids(f, p, func(call *ir.Call, o transform.ShareOptions) (*transform.Sharing, error) {
		o.Most, o.All = most, all
		return transform.Share(p, call, o)
	})
}

// Retime finds what calls of a file's stencils may compute before all planes have come that they read, likewise.
func Retime(f *lang.File, p *ir.Program) []*Sharing {
	return inGrids(f, p, func(call *ir.Call, o transform.ShareOptions) (*transform.Sharing, error) {
		return transform.RetimeCall(p, call, o)
	})
}

// inGrids puts values of a file's calls into local grids, each of which a function finds.
func inGrids(f *lang.File, p *ir.Program,
	find func(*ir.Call, transform.ShareOptions) (*transform.Sharing, error)) []*Sharing {
	var list []*Sharing
	for _, item := range f.Items {
		def, ok := item.(*lang.StencilDef)
		if !ok {
			continue
		}
		b := newBody(def, calls(f, def.Name.Name))
		runs, steps := stepsOf(f, p, def.Name.Name)
		for n, run := range runs {
			s := &Sharing{Stencil: def.Name.Name, program: p, body: b, call: run, steps: steps[n],
				domains: map[*ir.Stmt]bool{}}
			if s.keepsOld() {
				continue
			}
			var err error
			s.Sharing, err = find(run, transform.ShareOptions{May: s.writable, Taken: f.Names()})
			if err == nil {
				list = append(list, s)
			}
		}
	}
	return list
}

// stepsOf returns the calls of a stencil in a program, and the calls in its file that each stands for: those that are
// the same are one. There are none if it is not known which is which.
func stepsOf(f *lang.File, p *ir.Program, stencil string) (runs []*ir.Call, steps [][]*lang.CallStep) {
	runs, steps = callsOf(p, stencil), distinct(f, calls(f, stencil))
	if len(runs) != len(steps) {
		return nil, nil
	}
	return runs, steps
}

// distinct groups calls that are the same.
func distinct(f *lang.File, list []*lang.CallStep) [][]*lang.CallStep {
	var groups [][]*lang.CallStep
	of := map[string]int{}
	for _, c := range list {
		var key strings.Builder
		if c.Domain != nil {
			key.WriteString(f.Source.Text[c.Domain.Span().Start:c.Domain.Span().End])
		}
		for _, a := range c.Args {
			key.WriteString("," + f.Source.Text[a.Span().Start:a.Span().End])
		}
		text := strings.Join(strings.Fields(key.String()), "")
		n, ok := of[text]
		if !ok {
			n = len(groups)
			of[text] = n
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], c)
	}
	return groups
}

// writable reports whether a statement may be written anew: it alone is what a statement of the source means.
func (s *Sharing) writable(st *ir.Stmt) bool {
	at := s.source(st)
	if at == nil {
		return false
	}
	a, ok := at.Stmt.(*lang.Assignment)
	if ok && a.Op != lang.Assign && (!changesTarget(a.Op, st) || st.Array != nil && st.Array.Local) {
		return false
	}
	text := newSourceText(s.program, s.body, s.steps[0])
	text.expr(st.Value)
	return !text.failed
}

// keepsOld reports whether the program keeps values in grids that the text has not, since what they are computed from
// changes.
func (s *Sharing) keepsOld() bool {
	return slices.ContainsFunc(s.call.Arrays, func(a *ir.Array) bool {
		declares := func(st *statement) bool {
			return st.declares != nil && st.declares.Dims != nil && st.writes[0] == a.Name
		}
		return a.Local && !slices.ContainsFunc(s.body.statements, declares)
	})
}

// changesTarget reports whether a statement's value is what an operator such as += makes of its target.
func changesTarget(by lang.Kind, st *ir.Stmt) bool {
	of := func(e ir.Expr) bool {
		acc, ok := e.(*ir.Access)
		return ok && acc.Array == st.Array && !slices.ContainsFunc(acc.Index, func(ix ir.Index) bool {
			return ix.Axis < 0 || ix.Offset != 0
		})
	}
	switch e := st.Value.(type) {
	case *ir.Binary:
		return e.Op == changing[by] && of(e.X)
	case *ir.Fma:
		return (by == lang.AddAssign || by == lang.SubAssign) && of(e.Z)
	}
	return false
}

// changing is what operators of assignments do to their targets.
var changing = map[lang.Kind]op.Op{lang.AddAssign: op.Add, lang.SubAssign: op.Sub, lang.MulAssign: op.Mul,
	lang.DivAssign: op.Div, lang.AndAssign: op.And, lang.OrAssign: op.Or}

// source returns the statement of the body that a statement of the call is made of alone; nil if there is none.
func (s *Sharing) source(st *ir.Stmt) *statement {
	for _, at := range s.body.statements {
		span := spanOf(at)
		if span.Start > st.Range.Start || st.Range.End > span.End {
			continue
		}
		within := func(other *ir.Stmt) bool {
			return other != st && span.Start <= other.Range.Start && other.Range.End <= span.End
		}
		if slices.ContainsFunc(s.call.Body, within) {
			return nil
		}
		return at
	}
	return nil
}

// spanOf returns where a statement stands, or the declaration of its name.
func spanOf(st *statement) diag.Range {
	if st.declares != nil {
		return st.declares.Span()
	}
	return st.Span()
}

// verifyShared checks all calls of a text that was written.
func verifyShared(list []*Sharing, p *ir.Program) (again bool, err error) {
	for _, s := range list {
		runs := callsOf(p, s.made)
		if len(runs) == 0 {
			return false, fmt.Errorf("%s is not called", s.made)
		}
		more, err := s.verify(p, runs[min(s.nth, len(runs)-1)])
		if err != nil {
			return false, err
		}
		again = again || more
	}
	return again, nil
}

// verify returns an error unless the program that was written is the one that it was, with local grids for some values:
// with these in the place of their reads, all statements are the same, on the same domains. If only domains differ,
// it notes that they have to be written out, and returns true.
func (s *Sharing) verify(p *ir.Program, made *ir.Call) (again bool, err error) {
	values := map[string]ir.Expr{}
	for _, v := range s.Values {
		values[v.Array.Name] = nil
	}
	var left []*ir.Stmt
	inlined := func(e ir.Expr) ir.Expr {
		return transform.Substituted(e, func(a *ir.Array) ir.Expr {
			if a.Local {
				return values[a.Name]
			}
			return nil
		})
	}
	for _, st := range made.Body {
		value := inlined(st.Value)
		if st.Array != nil && st.Array.Local {
			if _, is := values[st.Array.Name]; is {
				values[st.Array.Name] = value
				continue
			}
		}
		of := *st
		of.Value = value
		left = append(left, &of)
	}
	var stay []*ir.Stmt // all but scalars that values have taken the place of
	for _, st := range s.Call.Body {
		if was := s.Was[st]; was != nil {
			stay = append(stay, was)
		}
	}
	if len(left) != len(stay) {
		return false, fmt.Errorf("%s has %d statements, and not %d", s.Stencil, len(left), len(stay))
	}
	for n, was := range stay {
		meant, value := was.Value, left[n].Value
		switch {
		case s.Planes: // parts of scalars are values, too
			meant, value = withoutTemps(meant, s.call.Body), withoutTemps(value, left)
		case p.Arithmetic == arith.Fast:
			meant = s.meant(was) // sums have another order
		}
		if text, want := p.ExprText(value), s.program.ExprText(meant); text != want {
			return false, fmt.Errorf("%s computes %s, and not %s", s.Stencil, text, want)
		}
		if was.Temp == nil && !was.Domain.Equal(left[n].Domain) {
			if s.domains[was] {
				return false, fmt.Errorf("%s in %s has another domain", s.program.Infix(was), s.Stencil)
			}
			s.domains[was], again = true, true
		}
	}
	return again, nil
}

// withoutTemps returns an expression with what temps of a body hold in their places.
func withoutTemps(e ir.Expr, body []*ir.Stmt) ir.Expr {
	return ir.Rewrite(e, func(e ir.Expr) ir.Expr {
		t, ok := e.(ir.TempRef)
		if !ok {
			return e
		}
		i := slices.IndexFunc(body, func(st *ir.Stmt) bool { return st.Temp == t.Temp })
		if i < 0 {
			return e
		}
		return withoutTemps(body[i].Value, body)
	})
}

// meant returns what a statement computes with the values that are shared in the place of their reads.
func (s *Sharing) meant(was *ir.Stmt) ir.Expr {
	values := map[*ir.Array]ir.Expr{}
	for _, st := range s.Call.Body {
		value := transform.Substituted(st.Value, func(a *ir.Array) ir.Expr { return values[a] })
		switch of := s.Was[st]; of {
		case nil:
			values[st.Array] = value
		case was:
			return value
		}
	}
	panic("fission: a statement is lost")
}
