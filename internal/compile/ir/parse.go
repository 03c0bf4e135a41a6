package ir

import (
	"math"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/sexpr"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// ParseText reads a program as Text prints it. It resolves names and no more:
// Verify says whether the program makes sense.
func ParseText(text string) (p *Program, err error) {
	root, err := sexpr.ParseOne(text)
	if err != nil {
		return nil, err
	}
	r := &reader{p: &Program{}}
	defer func() {
		if f := recover(); f != nil {
			fault, ok := f.(*sexpr.Error)
			if !ok {
				panic(f)
			}
			p, err = nil, fault
		}
	}()
	r.program(root)
	return r.p, nil
}

// reader builds a program. Faults are thrown as *sexpr.Error and caught by
// ParseText.
type reader struct {
	p    *Program
	call *Call // the one that is read
}

func fail(n sexpr.Node, format string, args ...any) { panic(n.Errorf(format, args...)) }

// parts are the arguments of a list, taken from the left.
type parts struct {
	of   sexpr.Node
	rest []sexpr.Node
}

func partsOf(n sexpr.Node) *parts {
	if n.Kind != sexpr.List || n.Head() == "" {
		fail(n, "a list that begins with a word is needed here")
	}
	return &parts{n, n.Args()}
}

func (p *parts) next(what string) sexpr.Node {
	if len(p.rest) == 0 {
		fail(p.of, "%s has no %s", p.of.Head(), what)
	}
	n := p.rest[0]
	p.rest = p.rest[1:]
	return n
}

func (p *parts) name(what string) string { return text(p.next(what), what) }

// list takes the next part if it is a list with that head.
func (p *parts) list(head string) (*parts, bool) {
	if len(p.rest) == 0 || p.rest[0].Head() != head {
		return nil, false
	}
	return partsOf(p.next(head)), true
}

// flags takes words as long as they are keys of set, and sets them.
func (p *parts) flags(set map[string]*bool) {
	for len(p.rest) > 0 && p.rest[0].Kind == sexpr.Atom && set[p.rest[0].Text] != nil {
		*set[p.rest[0].Text] = true
		p.rest = p.rest[1:]
	}
}

func (p *parts) end() {
	if len(p.rest) > 0 {
		fail(p.rest[0], "%s has a part too many", p.of.Head())
	}
}

func text(n sexpr.Node, what string) string {
	if n.Kind == sexpr.List {
		fail(n, "a %s is needed here, not a list", what)
	}
	return n.Text
}

func integer(n sexpr.Node) int64 {
	v, err := strconv.ParseInt(text(n, "number"), 10, 64)
	if err != nil {
		fail(n, "%s is not a whole number", n.Text)
	}
	return v
}

func typ(n sexpr.Node) types.Type {
	t, err := types.Parse(text(n, "type"))
	if err != nil {
		fail(n, "%v", err)
	}
	return t
}

func find[T any](n sexpr.Node, what string, all []T, name func(T) string) T {
	want := text(n, what)
	for _, v := range all {
		if name(v) == want {
			return v
		}
	}
	fail(n, "no %s is called %s", what, want)
	panic("unreachable")
}

func (r *reader) param(n sexpr.Node) int {
	k := r.p.Param(text(n, "parameter"))
	if k < 0 {
		fail(n, "no parameter is called %s", n.Text)
	}
	return k
}

func (r *reader) scalarNamed(n sexpr.Node) *Scalar {
	return find(n, "scalar", r.p.Scalars, func(s *Scalar) string { return s.Name })
}

func (r *reader) gridNamed(n sexpr.Node) *Grid {
	return find(n, "grid", r.p.Grids, func(g *Grid) string { return g.Name })
}

func (r *reader) axis(n sexpr.Node) int {
	if text(n, "axis") == "_" {
		return -1
	}
	k := r.p.Axis(n.Text)
	if k < 0 {
		fail(n, "no axis is called %s", n.Text)
	}
	return k
}

// program reads the names of declarations first, because they may use each
// other's in any order, then what they hold, then the calls, whose arrays are
// the grids declared, then the body, which runs the calls.
func (r *reader) program(root sexpr.Node) {
	if root.Head() != "program" {
		fail(root, "a program is needed here")
	}
	all := partsOf(root)
	r.p.Name = all.name("name")
	for _, n := range all.rest {
		switch n.Head() {
		case "axes":
			r.p.Axes = r.names(partsOf(n))
		case "param":
			r.p.Params = append(r.p.Params, &Param{Name: partsOf(n).name("name")})
		case "scalar":
			r.p.Scalars = append(r.p.Scalars, &Scalar{Name: partsOf(n).name("name")})
		case "grid":
			r.p.Grids = append(r.p.Grids, &Grid{Name: partsOf(n).name("name")})
		}
	}
	params, scalars, grids := 0, 0, 0
	for _, n := range all.rest {
		l := partsOf(n)
		switch n.Head() {
		case "axes":
		case "arithmetic":
			mode, err := arith.Parse(l.name("mode"))
			if err != nil {
				fail(n, "%v", err)
			}
			r.p.Arithmetic = mode
		case "arguments":
			r.p.Arguments = r.names(l)
		case "param":
			r.paramDecl(r.p.Params[params], l)
			params++
		case "scalar":
			r.scalarDecl(r.p.Scalars[scalars], l)
			scalars++
		case "grid":
			r.gridDecl(r.p.Grids[grids], l)
			grids++
		case callKeyword, "initial", "body":
		default:
			fail(n, "a program holds no %s", n.Head())
		}
	}
	for _, n := range all.rest {
		switch l := partsOf(n); n.Head() {
		case callKeyword:
			r.p.Calls = append(r.p.Calls, r.readCall(l))
		case "initial":
			r.p.Initial = r.readCall(l)
		}
	}
	for _, n := range all.rest {
		if n.Head() == "body" {
			r.p.Body = r.ops(partsOf(n))
		}
	}
}

func (r *reader) names(l *parts) []string {
	var out []string
	for len(l.rest) > 0 {
		out = append(out, l.name("name"))
	}
	return out
}

func (r *reader) integers(l *parts) []int64 {
	out := []int64{}
	for len(l.rest) > 0 {
		out = append(out, integer(l.next("number")))
	}
	return out
}

func (r *reader) paramDecl(q *Param, l *parts) {
	l.next("name")
	if len(l.rest) > 0 {
		q.Default = r.expr(l.next("default"))
	}
	l.end()
}

func (r *reader) scalarDecl(s *Scalar, l *parts) {
	l.next("name")
	s.Type = typ(l.next("type"))
	l.flags(map[string]*bool{
		"coefficient": &s.Coefficient, "argument": &s.Argument, "reduced": &s.Reduced,
		"copyout": &s.CopyOut, "used": &s.Used,
	})
	if init, ok := l.list("init"); ok {
		s.Init = r.expr(init.next("value"))
		init.end()
	}
	l.end()
}

func (r *reader) gridDecl(g *Grid, l *parts) {
	l.next("name")
	g.Type = typ(l.next("type"))
	l.flags(map[string]*bool{"copyin": &g.CopyIn, "copyout": &g.CopyOut, "constant": &g.Constant})
	g.Dims = r.dims(l)
	l.end()
}

func (r *reader) dims(l *parts) []Dim {
	var out []Dim
	for d, ok := l.list("dim"); ok; d, ok = l.list("dim") {
		dim := Dim{Axis: r.axis(d.next("axis")), Lo: r.affine(d.next("lower bound")),
			Hi: r.affine(d.next("upper bound"))}
		dim.Faces.Low = r.face(d, "low")
		dim.Faces.High = r.face(d, "high")
		d.end()
		out = append(out, dim)
	}
	return out
}

func (r *reader) face(l *parts, side string) Boundary {
	f, ok := l.list(side)
	if !ok {
		return Boundary{}
	}
	n := f.next("kind")
	kind, ok := ParseBoundary(text(n, "boundary"))
	if !ok {
		fail(n, "no boundary is called %s", n.Text)
	}
	b := Boundary{Kind: kind}
	if kind == Constant {
		b.Value = r.expr(f.next("value"))
	}
	f.end()
	return b
}

// affine reads 2*N-M+1.
func (r *reader) affine(n sexpr.Node) Affine {
	rest := text(n, "bound")
	var out Affine
	for rest != "" {
		sign := int64(1)
		switch rest[0] {
		case '-':
			sign, rest = -1, rest[1:]
		case '+':
			rest = rest[1:]
		}
		term := rest
		if end := strings.IndexAny(rest, "+-"); end >= 0 {
			term = rest[:end]
		}
		rest = rest[len(term):]
		coef, name, product := strings.Cut(term, "*")
		if !product {
			coef, name = "1", term
		}
		c, err := strconv.ParseInt(coef, 10, 64)
		switch {
		case err != nil:
			fail(n, "%s is not a bound", n.Text)
		case !product && term != "" && term[0] >= '0' && term[0] <= '9':
			v, err := strconv.ParseInt(term, 10, 64)
			if err != nil {
				fail(n, "%s is not a bound", n.Text)
			}
			out = out.Add(sign * v)
		default:
			k := r.p.Param(name)
			if k < 0 {
				fail(n, "no parameter is called %q", name)
			}
			out = out.Plus(ParamAffine(k).Times(sign * c))
		}
	}
	return out
}

func (r *reader) box(l *parts) Box {
	out := Unbounded(len(r.p.Axes))
	for len(l.rest) > 0 {
		side := partsOf(l.next("range"))
		axis := r.p.Axis(side.of.Head())
		if axis < 0 {
			fail(side.of, "no axis is called %s", side.of.Head())
		}
		bounds := func(head string) []Affine {
			var all []Affine
			if in, ok := side.list(head); ok {
				for len(in.rest) > 0 {
					all = append(all, r.affine(in.next("bound")))
				}
			}
			return all
		}
		out[axis] = Range{Lo: bounds("lo"), Hi: bounds("hi")}
		side.end()
	}
	return out
}

func (r *reader) readCall(l *parts) *Call {
	s := &Call{Name: l.name("name"), Hints: Hints{Stream: -1}}
	s.Stencil = s.Name
	r.call = s
	for len(l.rest) > 0 {
		n := l.next("part")
		in := partsOf(n)
		switch n.Head() {
		case "stencil":
			s.Stencil = in.name("name")
			in.end()
		case "stream":
			s.Hints.Stream = r.axis(in.next("axis"))
			in.end()
		case "block":
			s.Hints.Block = r.integers(in)
		case "unroll":
			s.Hints.Unroll = r.integers(in)
		case "occupancy":
			v := in.next("number")
			occupancy, err := strconv.ParseFloat(text(v, "number"), 64)
			if err != nil {
				fail(v, "%s is not a number", v.Text)
			}
			s.Hints.Occupancy = occupancy
			in.end()
		case "array", "local":
			s.Arrays = append(s.Arrays, r.array(n.Head() == "local", in))
		case "temp":
			t := &Temp{Name: in.name("name"), Type: typ(in.next("type")), Box: Unbounded(len(r.p.Axes))}
			if b, ok := in.list("box"); ok {
				t.Box = r.box(b)
			}
			in.end()
			s.Temps = append(s.Temps, t)
		case "set", "let", "reduce":
			s.Body = append(s.Body, r.stmt(n.Head(), in))
		default:
			fail(n, "a call holds no %s", n.Head())
		}
	}
	return s
}

func (r *reader) array(local bool, l *parts) *Array {
	a := &Array{Name: l.name("name"), Local: local}
	if len(l.rest) > 0 && l.rest[0].Kind == sexpr.Atom {
		if t, err := types.Parse(l.rest[0].Text); err == nil {
			a.Type = t
			l.rest = l.rest[1:]
		}
	}
	l.flags(map[string]*bool{"read": &a.Read, "written": &a.Written, "inout": &a.InOut})
	if len(l.rest) > 0 && l.rest[0].Kind == sexpr.Atom {
		n := l.next("hint")
		for h := Shared; h <= NotShared; h++ {
			if h.String() == n.Text {
				a.Hint = h
			}
		}
		if a.Hint == Anywhere {
			fail(n, "no storage hint is called %s", n.Text)
		}
	}
	if g, ok := l.list("grid"); ok {
		a.Grid = r.gridNamed(g.next("name"))
		g.end()
	}
	a.Dims = r.dims(l)
	if a.Grid != nil {
		if a.Type == types.Invalid {
			a.Type = a.Grid.Type
		}
		if a.Dims == nil {
			a.Dims = append(a.Dims, a.Grid.Dims...)
		}
	}
	if a.Type == types.Invalid {
		fail(l.of, "the array %s has neither a type nor a grid", a.Name)
	}
	if b, ok := l.list("box"); ok {
		a.Box = r.box(b)
	}
	l.end()
	return a
}

func (r *reader) stmt(head string, l *parts) *Stmt {
	s := &Stmt{}
	switch head {
	case "let":
		s.Temp = r.temp(l.next("target"))
		s.Domain = s.Temp.Box.Clone()
	case "reduce":
		n := l.next("operator")
		s.Reduce = &Reduce{}
		switch text(n, "operator") {
		case "sum":
		case "max":
			s.Reduce.Kind = Max
		case "min":
			s.Reduce.Kind = Min
		default:
			fail(n, "no reduction is called %s", n.Text)
		}
		s.Reduce.Scalar = r.scalarNamed(l.next("target"))
	default:
		s.Array = r.arrayNamed(l.next("target"))
	}
	if over, ok := l.list("over"); ok {
		s.Axes = []int{}
		for len(over.rest) > 0 {
			n := over.next("axis")
			axis := r.axis(n)
			if axis < 0 {
				fail(n, "a statement runs over axes")
			}
			s.Axes = append(s.Axes, axis)
		}
	}
	if d, ok := l.list("domain"); ok {
		s.Domain = r.box(d)
	}
	if c, ok := l.list("color"); ok {
		s.Color = &Color{Mod: integer(c.next("modulus")), Rem: integer(c.next("remainder"))}
		s.Color.Coef = r.integers(c)
	}
	s.Value = r.expr(l.next("value"))
	l.end()
	return s
}

func (r *reader) arrayNamed(n sexpr.Node) *Array {
	if r.call == nil {
		fail(n, "arrays belong to calls")
	}
	return find(n, "array", r.call.Arrays, func(a *Array) string { return a.Name })
}

func (r *reader) temp(n sexpr.Node) *Temp {
	if r.call == nil {
		fail(n, "temps belong to calls")
	}
	return find(n, "temp", r.call.Temps, func(t *Temp) string { return t.Name })
}

func (r *reader) ops(l *parts) []Op {
	r.call = nil
	var out []Op
	for len(l.rest) > 0 {
		n := l.next("op")
		in := partsOf(n)
		switch n.Head() {
		case "run":
			s := find(in.next("call"), "call", r.p.Calls, func(s *Call) string { return s.Name })
			in.end()
			out = append(out, &Run{s})
		case "rotate":
			o := &Rotate{}
			for len(in.rest) > 0 {
				o.Grids = append(o.Grids, r.gridNamed(in.next("grid")))
			}
			out = append(out, o)
		case "iterate":
			o := &Iterate{Count: r.expr(in.next("count"))}
			o.Temporary = r.temporary(in)
			o.Body = r.ops(in)
			out = append(out, o)
		case "sequence":
			o := NewSequence(nil)
			o.Temporary = r.temporary(in)
			o.Body = r.ops(in)
			out = append(out, o)
		case "until":
			o := &Iterate{Until: r.expr(in.next("condition"))}
			o.Check, o.Max = r.setting(in, "check", 1), r.setting(in, "max", math.MaxInt32)
			o.Temporary = r.temporary(in)
			o.Body = r.ops(in)
			out = append(out, o)
		default:
			fail(n, "a body holds no %s", n.Head())
		}
	}
	return out
}

// temporary reads the temporary grids of an iterate, if there are any.
func (r *reader) temporary(l *parts) []*Grid {
	var grids []*Grid
	if list, ok := l.list("temporary"); ok {
		for len(list.rest) > 0 {
			grids = append(grids, r.gridNamed(list.next("grid")))
		}
	}
	return grids
}

// setting reads (head number), if it is there.
func (r *reader) setting(l *parts, head string, otherwise int64) int64 {
	in, ok := l.list(head)
	if !ok {
		return otherwise
	}
	v := integer(in.next("number"))
	in.end()
	return v
}

func (r *reader) expr(n sexpr.Node) Expr {
	l := partsOf(n)
	e := r.form(n.Head(), l)
	l.end()
	return e
}

func (r *reader) form(head string, l *parts) Expr {
	if t, err := types.Parse(head); err == nil {
		return r.constant(t, l.next("value"))
	}
	if o, ok := op.ParseOp(head); ok {
		x := r.expr(l.next("operand"))
		if o.Arity() == 1 {
			return &Unary{o, x}
		}
		return &Binary{o, x, r.expr(l.next("second operand"))}
	}
	switch head {
	case "param":
		return ParamRef{r.param(l.next("name"))}
	case "scalar":
		return ScalarRef{r.scalarNamed(l.next("name"))}
	case "temp":
		return TempRef{r.temp(l.next("name"))}
	case "pos":
		n := l.next("axis")
		axis := r.axis(n)
		if axis < 0 {
			fail(n, "a position is on an axis")
		}
		return Pos{axis}
	case "step":
		return StepRef{}
	case "load":
		e := &Access{Array: r.arrayNamed(l.next("array"))}
		for len(l.rest) > 0 {
			e.Index = append(e.Index, r.index(l.next("index")))
		}
		return e
	case "fma":
		return &Fma{r.expr(l.next("factor")), r.expr(l.next("second factor")), r.expr(l.next("summand"))}
	case "select":
		return &Select{r.expr(l.next("condition")), r.expr(l.next("value")), r.expr(l.next("second value"))}
	case "cast":
		return &Cast{typ(l.next("type")), r.expr(l.next("operand"))}
	case "call":
		n := l.next("function")
		f, ok := op.ParseFunc(text(n, "function"))
		if !ok {
			fail(n, "no function is called %s", n.Text)
		}
		e := &FuncCall{Func: f}
		for range f.Arity() {
			e.Args = append(e.Args, r.expr(l.next("argument")))
		}
		return e
	case "powi":
		n := l.next("exponent")
		return &PowInt{N: int(integer(n)), X: r.expr(l.next("operand"))}
	case "random":
		return &Random{T: typ(l.next("type")), Seed: r.expr(l.next("seed"))}
	}
	fail(l.of, "no expression is called %s", head)
	panic("unreachable")
}

func (r *reader) constant(t types.Type, n sexpr.Node) Expr {
	v, err := ParseScalar(t, text(n, "value"))
	if err != nil {
		fail(n, "%s: %v", n.Text, err)
	}
	return Const{v}
}

// index reads an axis with an offset, or a number.
func (r *reader) index(n sexpr.Node) Index {
	word := text(n, "index")
	if v, err := strconv.ParseInt(word, 10, 64); err == nil {
		return Index{-1, v}
	}
	name, offset := word, int64(0)
	if end := strings.LastIndexAny(word, "+-"); end > 0 {
		v, err := strconv.ParseInt(word[end:], 10, 64)
		if err != nil {
			fail(n, "%s is not an index", word)
		}
		name, offset = word[:end], v
	}
	axis := r.p.Axis(name)
	if axis < 0 {
		fail(n, "no axis is called %s", name)
	}
	return Index{axis, offset}
}
