package spec

import (
	"errors"
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

// Parse reads a specification. After an error it goes on behind the next
// semicolon, so that several are reported together.
func Parse(src *diag.Source) (*File, diag.List) {
	f := &File{Source: src, Doc: doc(src.Text)}
	p := &parser{}
	p.tokens = scan(src.Text, &p.list)
	for p.now().kind != end {
		p.recover(func() { p.top(f) })
	}
	p.list.Sort()
	return f, p.list
}

type parser struct {
	tokens []token
	pos    int
	list   diag.List
	depth  int // of expressions and blocks
	blocks int // that are open
	ended  bool
}

// maxDepth is how deep expressions and blocks may be nested.
const maxDepth = 100

// errSkip unwinds to the next statement; the error has been reported.
var errSkip = errors.New("skip")

func (p *parser) recover(parse func()) {
	depth, blocks := p.depth, p.blocks
	defer func() {
		if r := recover(); r != nil {
			if r != errSkip {
				panic(r)
			}
			p.depth, p.blocks = depth, blocks
			for p.now().kind != end && !(p.blocks > 0 && p.is("}")) && p.next().text != ";" {
			}
		}
	}()
	parse()
}

func (p *parser) fail(at diag.Range, format string, args ...any) {
	p.list.Errorf(at, format, args...)
	panic(errSkip)
}

func (p *parser) now() token { return p.tokens[p.pos] }

func (p *parser) next() token {
	t := p.tokens[p.pos]
	if t.kind != end {
		p.pos++
	}
	return t
}

// is reports whether the next token is that sign or that word of the syntax.
func (p *parser) is(text string) bool {
	t := p.now()
	return (t.kind == punct || t.kind == ident) && t.text == text
}

func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expect(text, why string) diag.Range {
	if t := p.now(); !p.is(text) {
		p.fail(t.at, "%s stands where %s is expected%s", t, text, why)
	}
	return p.next().at
}

func (p *parser) ident(what string) token {
	if t := p.now(); t.kind != ident {
		p.fail(t.at, "%s stands where %s is expected", t, what)
	}
	return p.next()
}

// keyword reports whether a statement begins with that word, which a parameter
// may also be called.
func (p *parser) keyword(text string) bool {
	if !p.is(text) {
		return false
	}
	follows := p.tokens[min(p.pos+1, len(p.tokens)-1)]
	return follows.kind != punct || follows.text != "=" && follows.text != "?"
}

// semicolon ends a statement; the last one of a file or block may do without.
func (p *parser) semicolon() {
	if p.now().kind != end && !p.is("}") {
		p.expect(";", " after a statement")
	}
}

func (p *parser) top(f *File) {
	switch {
	case p.keyword("option"):
		p.next()
		name := p.ident("the option's name")
		p.expect("=", "")
		value := p.signed()
		f.Options = append(f.Options, Option{name.text, value, name.at})
		p.semicolon()
	case p.keyword("alias"):
		p.next()
		name := p.ident("the alias")
		p.expect("=", "")
		of := p.ident("a parameter")
		a := Alias{Name: name.text, Of: Name{Name: of.text, Range: of.at}, Range: name.at}
		a.Of.Optional = p.accept("?")
		f.Aliases = append(f.Aliases, a)
		p.semicolon()
	case p.keyword("limit"):
		p.next()
		f.Limits = append(f.Limits, Limit{p.expr()})
		p.semicolon()
	default:
		if s := p.stmt(); s != nil {
			f.Body = append(f.Body, s)
		}
	}
}

// signed reads a number that may have a sign.
func (p *parser) signed() float64 {
	minus := p.accept("-")
	t := p.now()
	if t.kind != number {
		p.fail(t.at, "%s stands where a number is expected", t)
	}
	x := p.number()
	if minus {
		return -x.Value
	}
	return x.Value
}

func (p *parser) deeper(at diag.Range) func() {
	if p.depth++; p.depth > maxDepth {
		p.fail(at, "this is nested more than %d deep", maxDepth)
	}
	return func() { p.depth-- }
}

func (p *parser) stmt() Stmt {
	at := p.now().at
	switch {
	case p.accept(";"):
		return nil
	case p.keyword("repeat"):
		p.next()
		times := p.expr()
		return &Repeat{times, p.block()}
	case p.keyword("each"):
		p.next()
		t := p.target()
		return &Each{t, p.block()}
	case p.keyword("singly"):
		p.next()
		s := p.step(at)
		s.Singly = true
		return s
	}
	return p.step(at)
}

func (p *parser) block() []Stmt {
	open := p.expect("{", "")
	defer p.deeper(open)()
	p.blocks++
	var list []Stmt
	for !p.accept("}") {
		if p.now().kind == end {
			if !p.ended {
				p.list.Errorf(open, "the block has no end")
			}
			p.ended = true // one complaint is enough
			panic(errSkip)
		}
		p.recover(func() {
			if s := p.stmt(); s != nil {
				list = append(list, s)
			}
		})
	}
	p.blocks--
	return list
}

func (p *parser) step(at diag.Range) *Step {
	s := &Step{Range: at}
	for {
		t := p.target()
		p.expect("=", " after what is to be tuned")
		s.Items = append(s.Items, Item{t, p.values()})
		if !p.accept(",") {
			break
		}
	}
	if p.accept("where") {
		s.Where = p.expr()
	}
	s.Range = s.Range.To(p.tokens[p.pos-1].at)
	p.semicolon()
	return s
}

func (p *parser) target() Target {
	t := p.now()
	if t.kind != ident && t.kind != word {
		p.fail(t.at, "%s stands where a parameter is expected", t)
	}
	p.next()
	return Target{Name: t.text, Pattern: t.kind == word, Optional: p.accept("?"), Range: t.at}
}

func (p *parser) values() Values {
	at := p.now().at
	defer p.deeper(at)()
	switch {
	case p.is("all"):
		return &All{p.next().at}
	case p.is("sample"):
		p.next()
		n := p.expr()
		p.expect("of", " after the number of samples")
		return &Sample{n, p.values()}
	case p.accept("{"):
		l := &List{}
		for {
			l.Each = append(l.Each, p.expr())
			if !p.accept(",") {
				break
			}
		}
		p.expect("}", " after the values")
		return l
	}
	from := p.expr()
	if !p.accept(":") {
		return &List{[]Expr{from}}
	}
	g := &Progression{From: from, To: p.expr()}
	if p.accept(":") {
		g.Factor = p.accept("*")
		if !g.Factor {
			p.accept("+")
		}
		g.By = p.expr()
	}
	return g
}

// levels lists the operators from those that bind least to those that bind most.
var levels = [][]string{{"or"}, {"and"}, {"==", "!=", "<", "<=", ">", ">="}, {"+", "-"}, {"*", "/", "%"}}

// comparisons is their level.
const comparisons = 2

func (p *parser) expr() Expr { return p.binary(0) }

func (p *parser) binary(level int) Expr {
	if level == len(levels) {
		return p.unary()
	}
	if not := p.now(); level == comparisons && p.keyword("not") {
		defer p.deeper(not.at)()
		p.next()
		x := p.binary(level)
		return &Unary{"not", x, not.at.To(x.Place())}
	}
	x := p.binary(level + 1)
	compared := false
	for {
		op := ""
		for _, o := range levels[level] {
			if p.is(o) {
				op = o
			}
		}
		if op == "" {
			return x
		}
		if sign := p.next().at; compared {
			p.list.Errorf(sign, "comparisons do not chain").Hintf("join two of them with and")
			panic(errSkip)
		}
		compared = level == comparisons
		y := p.binary(level + 1)
		x = &Binary{Op: op, X: x, Y: y, Range: x.Place().To(y.Place())}
	}
}

func (p *parser) unary() Expr {
	t := p.now()
	defer p.deeper(t.at)()
	switch {
	case p.is("-"):
		p.next()
		x := p.unary()
		return &Unary{t.text, x, t.at.To(x.Place())}
	case t.kind == number:
		return p.number()
	case t.kind == word:
		p.next()
		return &Word{t.text, p.accept("?"), t.at}
	case t.kind == ident:
		p.next()
		if p.accept("(") {
			return p.call(t)
		}
		n := &Name{Name: t.text, Range: t.at}
		n.Optional = p.accept("?")
		return n
	case p.accept("("):
		x := p.expr()
		p.expect(")", "")
		return x
	}
	p.fail(t.at, "%s stands where a value is expected", t)
	return nil
}

func (p *parser) number() *Number {
	t := p.next()
	x, err := strconv.ParseFloat(t.text, 64)
	if err != nil {
		p.fail(t.at, "%s is no number", t)
	}
	return &Number{x, t.at}
}

func (p *parser) call(name token) Expr {
	c := &Call{Func: name.text}
	for !p.is(")") {
		c.Args = append(c.Args, p.expr())
		if !p.accept(",") {
			break
		}
	}
	c.Range = name.at.To(p.expect(")", " after the arguments"))
	takes, known := Functions[c.Func]
	switch {
	case !known:
		p.fail(name.at, "there is no function %s", c.Func)
	case takes == "n" && len(c.Args) == 0:
		p.fail(c.Range, "%s takes numbers", c.Func)
	case takes != "n" && len(c.Args) != 1:
		p.fail(c.Range, "%s takes one argument", c.Func)
	}
	if _, isWord := c.Args[0].(*Word); takes == "p" && !isWord {
		p.fail(c.Args[0].Place(), "%s takes a pattern in quotes", c.Func)
	}
	return c
}
