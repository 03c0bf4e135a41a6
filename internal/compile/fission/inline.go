package fission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// Inlining is calls that follow each other and become one. What an earlier one assigns and a later one reads at other
// cells is computed anew there, as a local scalar. So all statements of the joint need the values of their own cell
// alone, share a loop over cells, and wait for nobody (Ragan-Kelley et al. 2013 call that compute_inline).
type Inlining struct {
	Joint
	Values []string // what is computed anew, and where: gx0 at [k,j,i+1]
	// Before and After are the operations of all statements at a cell.
	Before, After int
	lines         []string // of the body, with the domains of the statements
}

// Lines say what is joined, and what is computed anew.
func (n *Inlining) Lines() []string {
	return []string{fmt.Sprintf("%s; %d operations become %d, for %s", n.String(), n.Before, n.After,
		strings.Join(n.Values, ", "))}
}

// mostInlined is how many times the operations of the program a joint may have.
const mostInlined = 2

// Inline joins the calls of a file that was checked, and its program, where that has values to compute anew, and not
// too many. Stencils with a schedule or storage that the user has fixed, with local grids, boundaries, colors and
// reductions stay as they are.
func Inline(f *lang.File, p *ir.Program) []*Inlining {
	defs, made, names := definitions(f), irCalls(f, p), f.Names()
	var list []*Inlining
	eachRun(f, func(run []*lang.CallStep) {
		// The longest run that can be joined, from each call on.
		for len(run) > 1 {
			n := len(run)
			var in *Inlining
			for ; n > 1 && in == nil; n-- {
				in = inlined(p, run[:n], defs, made, names)
			}
			if in == nil {
				run = run[1:]
				continue
			}
			list, run = append(list, in), run[n+1:]
		}
	})
	return list
}

// irCalls returns the calls of the program by those of the file.
func irCalls(f *lang.File, p *ir.Program) map[*lang.CallStep]*ir.Call {
	made := map[*lang.CallStep]*ir.Call{}
	for name := range definitions(f) {
		runs, steps := stepsOf(f, p, name)
		for n, run := range runs {
			for _, c := range steps[n] {
				made[c] = run
			}
		}
	}
	return made
}

// inliner makes a joint.
type inliner struct {
	text     *sourceText
	names    map[string]bool
	assigned map[*ir.Grid]*ir.Stmt // by the run; nil if by several statements
	before   map[*ir.Grid]bool     // the statement that is written
	in       map[*ir.Stmt]*ir.Call
	temps    map[shifted]*ir.Temp // as the joint has them
	out      *Inlining
}

// shifted is a value of a call, of a temp or an array, at a cell away from the own one.
type shifted struct {
	temp   *ir.Temp
	grid   *ir.Grid
	offset string
}

// inlined joins a run of calls; nil if it cannot be, or if nothing is computed anew.
func inlined(p *ir.Program, run []*lang.CallStep, defs map[string]*lang.StencilDef,
	made map[*lang.CallStep]*ir.Call, names map[string]bool) *Inlining {
	w := &inliner{
		text: globalText(p), assigned: map[*ir.Grid]*ir.Stmt{}, before: map[*ir.Grid]bool{},
		in: map[*ir.Stmt]*ir.Call{}, temps: map[shifted]*ir.Temp{}, out: &Inlining{},
	}
	for _, c := range run {
		call := made[c]
		if call == nil || !plain(defs[c.Name.Name], call) {
			return nil
		}
		for _, st := range call.Body {
			w.in[st] = call
			if st.Array == nil {
				continue
			}
			if _, again := w.assigned[st.Array.Grid]; again {
				w.assigned[st.Array.Grid] = nil
			} else {
				w.assigned[st.Array.Grid] = st
			}
		}
	}
	taken := maps.Clone(names) // what does not come to be takes no names
	for _, c := range run {
		for name := range newBody(defs[c.Name.Name], nil).locals {
			if !means(p, name) && defs[name] == nil {
				delete(taken, name)
			}
		}
	}
	w.names = taken
	for _, c := range run {
		for _, st := range made[c].Body {
			if !w.statement(st) {
				return nil
			}
		}
	}
	if w.text.failed || len(w.out.Values) == 0 || float64(w.out.After) > mostInlined*float64(w.out.Before) {
		return nil
	}
	w.out.Joint = Joint{unused(nameOf(run), names), run}
	return w.out
}

// means reports whether a name stands for something in all of a program.
func means(p *ir.Program, name string) bool {
	return p.Grid(name) != nil || p.Scalar(name) != nil || slices.Contains(p.Axes, name) ||
		slices.ContainsFunc(p.Params, func(q *ir.Param) bool { return q.Name == name })
}

// plain reports whether a stencil's statements may stand in another one.
func plain(def *lang.StencilDef, call *ir.Call) bool {
	if fixed(def) || slices.ContainsFunc(call.Arrays, func(a *ir.Array) bool { return a.Grid == nil }) {
		return false
	}
	for _, st := range def.Body {
		switch st := st.(type) {
		case *lang.BoundaryDecl:
			return false
		case *lang.VarDecl:
			if st.Domain != nil {
				return false
			}
		}
	}
	return !slices.ContainsFunc(call.Body, func(st *ir.Stmt) bool { return st.Reduce != nil || st.Color != nil })
}

// statement writes a statement of the run; false if that cannot be.
func (w *inliner) statement(st *ir.Stmt) bool {
	w.out.Before += operations(st.Value)
	value, ok := w.value(st, st.Value, nil, w.domains(st))
	if !ok {
		return false
	}
	w.out.After += operations(value)
	if st.Temp != nil {
		w.declare(shifted{temp: st.Temp}, st.Temp.Name, st.Temp, value)
		return true
	}
	var box ir.Box
	for _, d := range st.Array.Dims {
		box = append(box, st.Domain[d.Axis])
	}
	w.out.lines = append(w.out.lines, fmt.Sprintf("%s : %s%s = %s;", w.text.box(box), w.text.global(st.Array.Grid.Name),
		w.text.cell(st.Array.Dims), w.text.expr(value)))
	w.before[st.Array.Grid] = true
	return true
}

// domains returns where a statement's value is needed: a temp's where those statements assign arrays that read it.
func (w *inliner) domains(st *ir.Stmt) []ir.Box {
	if st.Temp == nil {
		return []ir.Box{st.Domain}
	}
	var list []ir.Box
	for _, user := range w.in[st].Body {
		reads := false
		ir.Walk(user.Value, func(e ir.Expr) {
			ref, ok := e.(ir.TempRef)
			reads = reads || ok && ref.Temp == st.Temp
		})
		if reads {
			list = append(list, w.domains(user)...)
		}
	}
	return list
}

// declare writes a local scalar of the joint.
func (w *inliner) declare(of shifted, name string, like *ir.Temp, value ir.Expr) *ir.Temp {
	name, _, _ = strings.Cut(name, ".") // temps that are assigned several times have numbers
	t := &ir.Temp{Name: unused(name, w.names), Type: like.Type}
	w.temps[of] = t
	w.out.lines = append(w.out.lines, fmt.Sprintf("%s %s = %s;", t.Type.Word(), t.Name, w.text.expr(value)))
	return t
}

// value returns an expression of a statement for the cell that is so far away from the own one, by axis; nil is the own
// one. Needed is where it is needed.
func (w *inliner) value(st *ir.Stmt, e ir.Expr, by map[int]int64, needed []ir.Box) (ir.Expr, bool) {
	ok := true
	value := ir.Rewrite(e, func(e ir.Expr) ir.Expr {
		switch e := e.(type) {
		case ir.TempRef:
			if t := w.temps[shifted{temp: e.Temp, offset: fmt.Sprint(by)}]; t != nil {
				return ir.TempRef{Temp: t}
			}
			if len(by) == 0 { // those of the own cell are there
				return ir.TempRef{Temp: w.temps[shifted{temp: e.Temp}]}
			}
			x, fine := w.again(w.definition(st, e.Temp), shifted{temp: e.Temp}, e.Temp, by, needed)
			ok = ok && fine
			return x
		case ir.Pos:
			ok = ok && by[e.Axis] == 0
		case *ir.Access:
			x, fine := w.access(e, by, needed)
			ok = ok && fine
			return x
		}
		return e
	})
	return value, ok
}

// definition returns the statement that assigns a temp of another's call.
func (w *inliner) definition(of *ir.Stmt, t *ir.Temp) *ir.Stmt {
	body := w.in[of].Body
	return body[slices.IndexFunc(body, func(st *ir.Stmt) bool { return st.Temp == t })]
}

// access returns a read of a grid at the cell that is so far away, or the value that a statement of the run has there.
func (w *inliner) access(a *ir.Access, by map[int]int64, needed []ir.Box) (ir.Expr, bool) {
	moved := &ir.Access{Array: &ir.Array{Name: a.Array.Grid.Name, Type: a.Array.Type}}
	from, later := w.assigned[a.Array.Grid]
	offset, away := map[int]int64{}, false
	for _, ix := range a.Index {
		if ix.Axis >= 0 {
			ix.Offset += by[ix.Axis]
			if ix.Offset != 0 {
				offset[ix.Axis], away = ix.Offset, true
			}
		} else if later {
			return a, false
		}
		moved.Index = append(moved.Index, ix)
	}
	w.text.global(a.Array.Grid.Name)
	switch {
	case !later:
		return moved, true
	case len(by) == 0 && (!away || !w.before[a.Array.Grid]):
		return moved, true // it is assigned at this cell, or has what it had before
	case from == nil || len(by) > 0: // values of values would grow without an end
		return a, false
	}
	for _, d := range from.Array.Dims {
		for _, box := range needed {
			if !from.Domain[d.Axis].Has(box[d.Axis].Shift(offset[d.Axis])) {
				return a, false
			}
		}
	}
	t := &ir.Temp{Name: a.Array.Grid.Name, Type: from.Array.Type}
	return w.again(from, shifted{grid: a.Array.Grid}, t, offset, needed)
}

// again returns the value of a statement at another cell, which is declared where it is first needed.
func (w *inliner) again(st *ir.Stmt, of shifted, like *ir.Temp, by map[int]int64, needed []ir.Box) (ir.Expr, bool) {
	of.offset = fmt.Sprint(by)
	if t := w.temps[of]; t != nil {
		return ir.TempRef{Temp: t}, true
	}
	value, ok := w.value(st, st.Value, by, needed)
	if !ok {
		return st.Value, false
	}
	w.out.After += operations(value)
	name, _, _ := strings.Cut(like.Name, ".")
	place := ""
	var index []string
	for axis, n := range w.text.program.Axes {
		switch d := by[axis]; {
		case d > 0:
			place += fmt.Sprintf("_%s%d", n, d)
			index = append(index, fmt.Sprintf("%s+%d", n, d))
		case d < 0:
			place += fmt.Sprintf("_%s_%d", n, -d)
			index = append(index, fmt.Sprintf("%s%d", n, d))
		default:
			index = append(index, n)
		}
	}
	if of.grid != nil {
		w.out.Values = append(w.out.Values, fmt.Sprintf("%s at [%s]", name, strings.Join(index, ",")))
	}
	return ir.TempRef{Temp: w.declare(of, name+place, like, value)}, true
}

// operations counts those of an expression.
func operations(e ir.Expr) int {
	n := 0
	ir.Walk(e, func(e ir.Expr) {
		switch e.(type) {
		case *ir.Unary, *ir.Binary, *ir.FuncCall, *ir.PowInt, *ir.Select:
			n++
		}
	})
	return n
}

// WriteInlined returns the text of a file in which calls are joined.
func WriteInlined(f *lang.File, list []*Inlining) string {
	var joints []*Joint
	bodies := map[*Joint]string{}
	for _, in := range list {
		joints = append(joints, &in.Joint)
		bodies[&in.Joint] = "stencil " + in.Name + " () {\n" + strings.Join(in.lines, "\n") + "\n}"
	}
	return writeJoints(f, joints, func(_ *writer, j *Joint) (stencil, call string) {
		return bodies[j], j.Name + " ();"
	})
}
