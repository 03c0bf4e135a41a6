package ir

import (
	"fmt"
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/sexpr"
)

// Text prints a program as an S-expression, whole but for the places in the
// source. ParseText reads it back.
//
//	(program heat
//	  (axes k i)
//	  (param N (i32 64))
//	  (scalar alpha f64 argument used (init (f64 0.1)))
//	  (grid u f64 copyin copyout (dim k 0 N-1) (dim i 0 N-1 (low clamp) (high constant (f64 1))))
//	  (grid next f64 (dim k 0 N-1) (dim i 0 N-1 (low clamp) (high constant (f64 1))))
//	  (arguments N alpha u)
//	  (stage heat
//	    (array out written (grid next))
//	    (array in read (grid u))
//	    (temp c f64 (box (k (lo 0) (hi N-1))))
//	    (let c (mul (scalar alpha) (load in k i)))
//	    (set out (over k i) (domain (k (lo 0) (hi N-1)) (i (lo 0) (hi N-1)))
//	      (add (temp c) (load in k i+1))))
//	  (body (iterate (i32 10) (run heat) (rotate u next))))
//
// An array's type and dimensions are printed where they are not its grid's.
func Text(p *Program) string {
	return printer{p}.program().Format()
}

// ExprText prints an expression of p on one line.
func (p *Program) ExprText(e Expr) string { return printer{p}.expr(e).String() }

// StmtText prints a statement of p, over several lines if it is long.
func (p *Program) StmtText(s *Stmt) string { return printer{p}.stmt(s).Format() }

// callKeyword begins a call in the text form. It is the word of earlier versions: stores and recordings know
// programs by hashes of this text, which must not change.
const callKeyword = "stage"

type printer struct{ p *Program }

// line collects the parts of a list.
type line []sexpr.Node

func (l *line) add(n ...sexpr.Node) { *l = append(*l, n...) }

// flag adds a word where it holds.
func (l *line) flag(on bool, word string) {
	if on {
		l.add(sexpr.A("%s", word))
	}
}

func (w printer) program() sexpr.Node {
	p := w.p
	all := line{sexpr.Name(p.Name), sexpr.L("axes", names(p.Axes)...)}
	if p.Arithmetic != arith.Strict {
		all.add(sexpr.L("arithmetic", sexpr.A("%v", p.Arithmetic)))
	}
	for _, q := range p.Params {
		l := line{sexpr.Name(q.Name)}
		if q.Default != nil {
			l.add(w.expr(q.Default))
		}
		all.add(sexpr.L("param", l...))
	}
	for _, s := range p.Scalars {
		all.add(w.scalar(s))
	}
	for _, g := range p.Grids {
		all.add(w.grid(g))
	}
	all.add(sexpr.L("arguments", names(p.Arguments)...))
	for _, s := range p.Calls {
		all.add(w.call(callKeyword, s))
	}
	if p.Initial != nil {
		all.add(w.call("initial", p.Initial))
	}
	all.add(sexpr.L("body", w.ops(p.Body)...))
	return sexpr.L("program", all...)
}

func names(texts []string) []sexpr.Node {
	out := make([]sexpr.Node, len(texts))
	for i, t := range texts {
		out[i] = sexpr.Name(t)
	}
	return out
}

func numbers(vs []int64) []sexpr.Node {
	out := make([]sexpr.Node, len(vs))
	for i, v := range vs {
		out[i] = sexpr.A("%d", v)
	}
	return out
}

func (w printer) scalar(s *Scalar) sexpr.Node {
	l := line{sexpr.Name(s.Name), sexpr.A("%v", s.Type)}
	l.flag(s.Coefficient, "coefficient")
	l.flag(s.Argument, "argument")
	l.flag(s.Reduced, "reduced")
	l.flag(s.CopyOut, "copyout")
	l.flag(s.Used, "used")
	if s.Init != nil {
		l.add(sexpr.L("init", w.expr(s.Init)))
	}
	return sexpr.L("scalar", l...)
}

func (w printer) grid(g *Grid) sexpr.Node {
	l := line{sexpr.Name(g.Name), sexpr.A("%v", g.Type)}
	l.flag(g.CopyIn, "copyin")
	l.flag(g.CopyOut, "copyout")
	l.flag(g.Constant, "constant")
	l.add(w.dims(g.Dims)...)
	return sexpr.L("grid", l...)
}

func (w printer) dims(dims []Dim) []sexpr.Node {
	var out []sexpr.Node
	for _, d := range dims {
		l := line{w.axis(d.Axis), w.affine(d.Lo), w.affine(d.Hi)}
		l.add(w.face("low", d.Faces.Low)...)
		l.add(w.face("high", d.Faces.High)...)
		out = append(out, sexpr.L("dim", l...))
	}
	return out
}

// face prints nothing for None.
func (w printer) face(side string, b Boundary) []sexpr.Node {
	switch b.Kind {
	case None:
		return nil
	case Constant:
		return []sexpr.Node{sexpr.L(side, sexpr.A("constant"), w.expr(b.Value))}
	}
	return []sexpr.Node{sexpr.L(side, sexpr.A("%v", b.Kind))}
}

// axis prints an axis' name, and "_" for none.
func (w printer) axis(axis int) sexpr.Node {
	if axis < 0 {
		return sexpr.A("_")
	}
	return sexpr.Name(w.p.Axes[axis])
}

func (w printer) affine(a Affine) sexpr.Node { return sexpr.Name(a.Text(w.p.Params)) }

// box prints the bounded ranges of a box.
func (w printer) box(head string, b Box) sexpr.Node {
	var l line
	for axis, r := range b {
		if len(r.Lo)+len(r.Hi) == 0 {
			continue
		}
		bounds := line{w.axis(axis)}
		for _, side := range []struct {
			name   string
			bounds []Affine
		}{{"lo", r.Lo}, {"hi", r.Hi}} {
			var all line
			for _, a := range side.bounds {
				all.add(w.affine(a))
			}
			if all != nil {
				bounds.add(sexpr.L(side.name, all...))
			}
		}
		l.add(sexpr.Node{Kind: sexpr.List, List: bounds})
	}
	return sexpr.L(head, l...)
}

func (w printer) call(head string, s *Call) sexpr.Node {
	l := line{sexpr.Name(s.Name)}
	if s.Stencil != s.Name {
		l.add(sexpr.L("stencil", sexpr.Name(s.Stencil)))
	}
	l.add(w.hints(s.Hints)...)
	for _, a := range s.Arrays {
		l.add(w.array(a))
	}
	for _, t := range s.Temps {
		l.add(sexpr.L("temp", sexpr.Name(t.Name), sexpr.A("%v", t.Type), w.box("box", t.Box)))
	}
	for _, st := range s.Body {
		l.add(w.stmt(st))
	}
	return sexpr.L(head, l...)
}

func (w printer) hints(h Hints) []sexpr.Node {
	var l line
	if h.Stream >= 0 {
		l.add(sexpr.L("stream", w.axis(h.Stream)))
	}
	if h.Block != nil {
		l.add(sexpr.L("block", numbers(h.Block)...))
	}
	if h.Unroll != nil {
		l.add(sexpr.L("unroll", numbers(h.Unroll)...))
	}
	if h.Occupancy != 0 {
		l.add(sexpr.L("occupancy", sexpr.A("%s", strconv.FormatFloat(h.Occupancy, 'g', -1, 64))))
	}
	return l
}

func (w printer) array(a *Array) sexpr.Node {
	head := "array"
	l := line{sexpr.Name(a.Name)}
	if a.Local {
		head = "local"
	}
	if a.Grid == nil || a.Grid.Type != a.Type {
		l.add(sexpr.A("%v", a.Type))
	}
	l.flag(a.Read, "read")
	l.flag(a.Written, "written")
	l.flag(a.InOut, "inout")
	l.flag(a.Hint != Anywhere, a.Hint.String())
	dims := w.dims(a.Dims)
	if a.Grid != nil {
		l.add(sexpr.L("grid", sexpr.Name(a.Grid.Name)))
	}
	if a.Grid == nil || fmt.Sprint(dims) != fmt.Sprint(w.dims(a.Grid.Dims)) {
		l.add(dims...)
	}
	if a.Box != nil {
		l.add(w.box("box", a.Box))
	}
	return sexpr.L(head, l...)
}

func (w printer) stmt(s *Stmt) sexpr.Node {
	var l line
	head := "set"
	switch {
	case s.Temp != nil:
		head = "let"
		l.add(sexpr.Name(s.Temp.Name))
	case s.Reduce != nil:
		head = "reduce"
		l.add(sexpr.A("%v", s.Reduce.Kind), sexpr.Name(s.Reduce.Scalar.Name))
	default:
		l.add(sexpr.Name(s.Array.Name))
	}
	if s.Axes != nil {
		var over line
		for _, axis := range s.Axes {
			over.add(w.axis(axis))
		}
		l.add(sexpr.L("over", over...))
	}
	if s.Domain != nil && !(s.Temp != nil && s.Domain.Equal(s.Temp.Box)) {
		l.add(w.box("domain", s.Domain))
	}
	if c := s.Color; c != nil {
		l.add(sexpr.L("color", append(numbers([]int64{c.Mod, c.Rem}), numbers(c.Coef)...)...))
	}
	l.add(w.expr(s.Value))
	return sexpr.L(head, l...)
}

func (w printer) ops(body []Op) []sexpr.Node {
	var l line
	for _, o := range body {
		switch o := o.(type) {
		case *Run:
			l.add(sexpr.L("run", sexpr.Name(o.Call.Name)))
		case *Rotate:
			l.add(sexpr.L("rotate", w.grids(o.Grids)...))
		case *Iterate:
			head, parts := "iterate", line{}
			switch {
			case o.Sequence:
				head = "sequence"
			case o.Count != nil:
				parts.add(w.expr(o.Count))
			default:
				head = "until"
				parts.add(w.expr(o.Until), sexpr.L("check", sexpr.A("%d", o.Check)),
					sexpr.L("max", sexpr.A("%d", o.Max)))
			}
			if len(o.Temporary) > 0 {
				parts.add(sexpr.L("temporary", w.grids(o.Temporary)...))
			}
			l.add(sexpr.L(head, append(parts, w.ops(o.Body)...)...))
		default:
			panic(fmt.Sprintf("ir: unknown op %T", o))
		}
	}
	return l
}

func (w printer) grids(list []*Grid) []sexpr.Node {
	var l line
	for _, g := range list {
		l.add(sexpr.Name(g.Name))
	}
	return l
}

func (w printer) exprs(es ...Expr) []sexpr.Node {
	out := make([]sexpr.Node, len(es))
	for i, e := range es {
		out[i] = w.expr(e)
	}
	return out
}

func (w printer) expr(e Expr) sexpr.Node {
	switch e := e.(type) {
	case Const:
		return sexpr.L(e.Value.T.String(), sexpr.A("%v", e.Value))
	case ParamRef:
		return sexpr.L("param", sexpr.Name(w.p.Params[e.Param].Name))
	case ScalarRef:
		return sexpr.L("scalar", sexpr.Name(e.Scalar.Name))
	case TempRef:
		return sexpr.L("temp", sexpr.Name(e.Temp.Name))
	case Pos:
		return sexpr.L("pos", w.axis(e.Axis))
	case StepRef:
		return sexpr.L("step")
	case *Access:
		l := line{sexpr.Name(e.Array.Name)}
		for _, ix := range e.Index {
			switch {
			case ix.Axis < 0:
				l.add(sexpr.A("%d", ix.Offset))
			case ix.Offset == 0:
				l.add(sexpr.Name(w.p.Axes[ix.Axis]))
			default:
				l.add(sexpr.Name(fmt.Sprintf("%s%+d", w.p.Axes[ix.Axis], ix.Offset)))
			}
		}
		return sexpr.L("load", l...)
	case *Unary:
		return sexpr.L(e.Op.String(), w.exprs(e.X)...)
	case *Binary:
		return sexpr.L(e.Op.String(), w.exprs(e.X, e.Y)...)
	case *Fma:
		return sexpr.L("fma", w.exprs(e.X, e.Y, e.Z)...)
	case *Select:
		return sexpr.L("select", w.exprs(e.Cond, e.X, e.Y)...)
	case *Cast:
		return sexpr.L("cast", sexpr.A("%v", e.To), w.expr(e.X))
	case *FuncCall:
		return sexpr.L("call", append(line{sexpr.A("%v", e.Func)}, w.exprs(e.Args...)...)...)
	case *PowInt:
		return sexpr.L("powi", sexpr.A("%d", e.N), w.expr(e.X))
	case *Random:
		return sexpr.L("random", sexpr.A("%v", e.T), w.expr(e.Seed))
	}
	panic(fmt.Sprintf("ir: unknown expression %T", e))
}
