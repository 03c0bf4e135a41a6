package kernel

import (
	"math"
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/sexpr"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// ParseText reads the text of a kernel. It finds the variables and buffers
// that names mean and no more; Verify checks the rest.
func ParseText(text string) (*Kernel, error) {
	n, err := sexpr.ParseOne(text)
	if err != nil {
		return nil, err
	}
	p := &parser{}
	k := p.kernel(n)
	if p.err != nil {
		return nil, p.err
	}
	return k, nil
}

// parser holds the names in scope, innermost last, and the first mistake.
// After one, what it returns is of no use but does no harm.
type parser struct {
	vars    []*Var
	buffers []*Buffer
	err     error
}

func (p *parser) fail(n sexpr.Node, format string, args ...any) {
	if p.err == nil {
		p.err = n.Errorf(format, args...)
	}
}

// form checks that n is a list of the head and at least that many arguments,
// and no more unless they are open-ended, and returns the arguments.
func (p *parser) form(n sexpr.Node, head string, least int, open bool) []sexpr.Node {
	args := n.Args()
	switch {
	case n.Head() != head:
		p.fail(n, "not a %s: %s", head, brief(n))
	case open && len(args) < least:
		p.fail(n, "%s takes at least %d parts: %s", head, least, brief(n))
	case !open && len(args) != least:
		p.fail(n, "%s takes %d parts: %s", head, least, brief(n))
	default:
		return args
	}
	return make([]sexpr.Node, least)
}

// brief prints the start of a node for a message.
func brief(n sexpr.Node) string {
	s := []rune(n.String())
	if len(s) > 40 {
		return string(s[:40]) + "..."
	}
	return string(s)
}

func (p *parser) kernel(n sexpr.Node) *Kernel {
	args := p.form(n, "kernel", 1, true)
	k := &Kernel{Name: p.name(args[0])}
	rest := args[1:]
	for len(rest) > 0 && rest[0].Head() == "doc" {
		k.Doc = append(k.Doc, p.str(p.form(rest[0], "doc", 1, false)[0]))
		rest = rest[1:]
	}
	// Sizes of buffers are over the scalars, which come after them.
	var sizes [][]sexpr.Node
	for len(rest) > 0 && rest[0].Head() == "buffer" {
		a := p.form(rest[0], "buffer", 5, true)
		b := &Buffer{Name: p.name(a[0]), Elem: p.typ(a[1]), Space: p.space(a[2]), Mode: p.mode(a[3])}
		k.Buffers = append(k.Buffers, b)
		sizes = append(sizes, a[4:])
		rest = rest[1:]
	}
	for len(rest) > 0 && rest[0].Head() == "scalar" {
		a := p.form(rest[0], "scalar", 2, false)
		v := NewVar(p.name(a[0]), p.typ(a[1]))
		k.Scalars = append(k.Scalars, v)
		p.vars = append(p.vars, v)
		rest = rest[1:]
	}
	if len(rest) > 0 && rest[0].Head() == "blocks" {
		k.MinBlocks = p.count(p.form(rest[0], "blocks", 1, false)[0])
		rest = rest[1:]
	}
	if len(rest) > 0 && rest[0].Head() == "registers" {
		k.MaxRegisters = p.count(p.form(rest[0], "registers", 1, false)[0])
		rest = rest[1:]
	}
	for i, b := range k.Buffers {
		b.Cells = p.expr(sizes[i][0])
		p.special(b, sizes[i][1:])
	}
	p.buffers = append(p.buffers, k.Buffers...)
	k.Body = p.list(rest)
	return k
}

// special reads what a buffer says beside its size: (texel n), or (extents e...) and (box n...).
func (p *parser) special(b *Buffer, rest []sexpr.Node) {
	if len(rest) > 0 && rest[0].Head() == "texel" {
		b.Texel = p.count(p.form(rest[0], "texel", 1, false)[0])
		rest = rest[1:]
	}
	if len(rest) > 1 && rest[0].Head() == "extents" {
		b.Tensor = &Tensor{Extents: p.exprs(p.form(rest[0], "extents", 1, true))}
		for _, n := range p.form(rest[1], "box", 1, true) {
			b.Tensor.Box = append(b.Tensor.Box, int64(p.count(n)))
		}
		rest = rest[2:]
	}
	p.end(rest)
}

func (p *parser) atom(n sexpr.Node, what string) string {
	if n.Kind != sexpr.Atom {
		p.fail(n, "not %s: %s", what, brief(n))
	}
	return n.Text
}

func (p *parser) name(n sexpr.Node) string {
	if n.Kind == sexpr.List {
		p.fail(n, "not a name: %s", brief(n))
	}
	return n.Text
}

func (p *parser) str(n sexpr.Node) string {
	if n.Kind != sexpr.String {
		p.fail(n, "not a string: %s", brief(n))
	}
	return n.Text
}

func (p *parser) typ(n sexpr.Node) types.Type {
	t, err := types.Parse(p.atom(n, "a type"))
	if err != nil {
		p.fail(n, "%v", err)
	}
	return t
}

// index finds an atom in a list of words.
func (p *parser) index(n sexpr.Node, what string, words []string) int {
	text := p.atom(n, what)
	for i, w := range words {
		if w == text {
			return i
		}
	}
	p.fail(n, "not %s: %s", what, text)
	return 0
}

func (p *parser) space(n sexpr.Node) Space { return Space(p.index(n, "a memory space", spaceNames[:])) }
func (p *parser) mode(n sexpr.Node) Mode   { return Mode(p.index(n, "a mode", modeNames[:])) }

func (p *parser) count(n sexpr.Node) int {
	c, err := strconv.Atoi(p.atom(n, "a number"))
	if err != nil {
		p.fail(n, "not a number: %s", n.Text)
	}
	return c
}

func (p *parser) variable(n sexpr.Node) *Var {
	name := p.atom(n, "a variable")
	for i := len(p.vars) - 1; i >= 0; i-- {
		if p.vars[i].Name == name {
			return p.vars[i]
		}
	}
	p.fail(n, "no variable is called %s here", name)
	return NewVar(name, types.I64)
}

func (p *parser) buffer(n sexpr.Node) *Buffer {
	name := p.atom(n, "a buffer")
	for i := len(p.buffers) - 1; i >= 0; i-- {
		if p.buffers[i].Name == name {
			return p.buffers[i]
		}
	}
	p.fail(n, "no buffer is called %s here", name)
	return &Buffer{Name: name, Elem: types.F64}
}

// list reads statements, whose names end with it.
func (p *parser) list(nodes []sexpr.Node) []Stmt {
	vars, buffers := len(p.vars), len(p.buffers)
	var out []Stmt
	for _, n := range nodes {
		out = append(out, p.stmt(n))
	}
	p.vars, p.buffers = p.vars[:vars], p.buffers[:buffers]
	return out
}

func (p *parser) stmt(n sexpr.Node) Stmt {
	switch n.Head() {
	case "let":
		v, value := p.binding(n, "let")
		return &Let{v, value}
	case "var":
		v, value := p.binding(n, "var")
		return &Declare{v, value}
	case "set":
		a := p.form(n, "set", 2, false)
		return &Assign{p.variable(a[0]), p.expr(a[1])}
	case "store":
		a := p.form(n, "store", 3, true)
		s := &Store{Buffer: p.buffer(a[0]), Index: p.expr(a[1]), Value: p.expr(a[2])}
		s.Via, s.Rank = p.how(a[3:], true)
		return s
	case "loads", "stores":
		return p.vector(n)
	case "shuffle":
		return p.shuffle(n)
	case "alloc":
		a := p.form(n, "alloc", 4, false)
		b := &Buffer{Name: p.name(a[0]), Elem: p.typ(a[1]), Space: p.space(a[2]), Mode: InOut, Cells: p.expr(a[3])}
		p.buffers = append(p.buffers, b)
		return &Alloc{b}
	case "for":
		return p.loop(n)
	case "if":
		return p.branches(n)
	case "barrier":
		return p.barrier(n)
	case "comment":
		return &Comment{p.str(p.form(n, "comment", 1, false)[0])}
	}
	if s := p.async(n); s != nil {
		return s
	}
	p.fail(n, "not a statement: %s", brief(n))
	return &Comment{}
}

// binding reads a let or var. The new name is not in scope in its value.
func (p *parser) binding(n sexpr.Node, head string) (*Var, Expr) {
	a := p.form(n, head, 3, false)
	v := NewVar(p.name(a[0]), p.typ(a[1]))
	value := p.expr(a[2])
	p.vars = append(p.vars, v)
	return v, value
}

func (p *parser) loop(n sexpr.Node) Stmt {
	a := p.form(n, "for", 6, true)
	l := &Loop{Var: NewVar(p.name(a[0]), p.typ(a[1])), Tag: Tag(p.index(a[2], "a loop's tag", tagNames[:]))}
	rest := a[3:]
	// A variable may be called interior too: then three expressions follow the
	// tag and not four.
	if len(rest) > 3 && rest[0].Kind == sexpr.Atom && !isPart(rest[3]) {
		l.Path = Path(p.index(rest[0], "a path", pathNames[:]))
		rest = rest[1:]
	}
	l.Lo, l.Hi, l.Step = p.expr(rest[0]), p.expr(rest[1]), p.expr(rest[2])
	rest = rest[3:]
	for ; len(rest) > 0; rest = rest[1:] {
		switch rest[0].Head() {
		case "threads":
			l.Threads = p.count(p.form(rest[0], "threads", 1, false)[0])
			continue
		case "team":
			l.Team = p.expr(p.form(rest[0], "team", 1, false)[0])
			continue
		case "collapse":
			l.Collapse = p.count(p.form(rest[0], "collapse", 1, false)[0])
			continue
		case "factor":
			l.Factor = p.count(p.form(rest[0], "factor", 1, false)[0])
			continue
		case "reduce":
			r := p.form(rest[0], "reduce", 2, false)
			o, ok := op.ParseOp(p.atom(r[0], "an operator"))
			if !ok {
				p.fail(r[0], "not an operator: %s", r[0].Text)
			}
			l.Reduce = append(l.Reduce, Reduction{o, p.variable(r[1])})
			continue
		}
		break
	}
	vars := len(p.vars)
	p.vars = append(p.vars, l.Var)
	l.Body = p.list(rest)
	p.vars = p.vars[:vars]
	return l
}

// isPart reports whether n is a clause or a statement of a loop, which start
// with words that no expression starts with.
func isPart(n sexpr.Node) bool {
	switch n.Head() {
	case "threads", "team", "collapse", "factor", "reduce", "let", "var", "set", "store", "loads", "stores",
		"shuffle", "alloc", "for", "if", "barrier", "comment", "prefetch",
		"async", "async.commit", "async.wait", "async.fence", "bulk", "tensor",
		"mbarrier.init", "mbarrier.arrive", "mbarrier.wait":
		return true
	}
	return false
}

func (p *parser) branches(n sexpr.Node) Stmt {
	a := p.form(n, "if", 1, true)
	s := &If{Cond: p.expr(a[0])}
	rest := a[1:]
	if len(rest) > 0 && rest[0].Head() == "then" {
		s.Then = p.list(rest[0].Args())
		rest = rest[1:]
	}
	if len(rest) > 0 && rest[0].Head() == "else" {
		s.Else = p.list(rest[0].Args())
		rest = rest[1:]
	}
	if len(rest) > 0 {
		p.fail(rest[0], "neither then nor else: %s", brief(rest[0]))
	}
	return s
}

func (p *parser) exprs(nodes []sexpr.Node) []Expr {
	out := make([]Expr, len(nodes))
	for i, n := range nodes {
		out[i] = p.expr(n)
	}
	return out
}

func (p *parser) expr(n sexpr.Node) Expr {
	if n.Kind == sexpr.Atom {
		return &Ref{p.variable(n)}
	}
	head := n.Head()
	switch head {
	case "load":
		a := p.form(n, head, 2, true)
		l := &Load{Buffer: p.buffer(a[0]), Index: p.expr(a[1])}
		l.Via, l.Rank = p.how(a[2:], true)
		return l
	case "phase":
		a := p.form(n, head, 2, false)
		return &Phase{p.buffer(a[0]), int64(p.count(a[1]))}
	case "fma":
		x := p.exprs(p.form(n, head, 3, false))
		return &Fma{x[0], x[1], x[2]}
	case "select":
		x := p.exprs(p.form(n, head, 3, false))
		return &Select{x[0], x[1], x[2]}
	case "cast":
		a := p.form(n, head, 2, false)
		return &Cast{p.typ(a[0]), p.expr(a[1])}
	case "random":
		a := p.form(n, head, 3, false)
		return &Random{p.typ(a[0]), p.expr(a[1]), p.expr(a[2])}
	case "call":
		a := p.form(n, head, 2, true)
		f, ok := op.ParseFunc(p.atom(a[0], "a function"))
		if !ok {
			p.fail(a[0], "no function is called %s", a[0].Text)
		}
		return &FuncCall{f, p.exprs(a[1:])}
	}
	if o, ok := op.ParseOp(head); ok {
		x := p.exprs(p.form(n, head, o.Arity(), false))
		if len(x) == 1 {
			return &Unary{o, x[0]}
		}
		return &Binary{o, x[0], x[1]}
	}
	if t, err := types.Parse(head); err == nil {
		return &Lit{p.value(t, p.form(n, head, 1, false)[0])}
	}
	p.fail(n, "not an expression: %s", brief(n))
	return I(0)
}

// value reads a literal of a type.
func (p *parser) value(t types.Type, n sexpr.Node) op.Value {
	text := p.atom(n, "a literal")
	switch t {
	case types.Bool:
		switch text {
		case "true":
			return op.BoolOf(true)
		case "false":
			return op.BoolOf(false)
		}
	case types.F32, types.F64:
		if f, err := strconv.ParseFloat(text, 8*t.Size()); err == nil {
			return op.Float(t, f)
		}
	default:
		if i, err := strconv.ParseInt(text, 10, 64); err == nil && op.Int(t, i).I == i {
			return op.Int(t, i)
		}
	}
	p.fail(n, "not a literal of type %s: %s", t, text)
	return op.Float(types.F64, math.NaN())
}
