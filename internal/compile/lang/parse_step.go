package lang

// itemWords begin what may stand at the top level of a file.
var itemWords = []string{
	"parameter", "iterator", "int", "float", "double", "bool", "byte", "boundary", "allocin", "copyin", "copyout",
	"constant", "coefficient", "stencil", "function", "initial", "iterate", "swap", "rotate",
}

func (p *parser) step() Step {
	start := p.tok().Start
	p.operands = 0
	if p.kind() == LBracket {
		domain := p.domain()
		return p.call(start, domain)
	}
	switch {
	case p.atIterate():
		return p.iterate()
	case (p.isWord(0, "swap") || p.isWord(0, "rotate")) && p.isKind(1, LParen) && !p.stencils[p.text(p.tok())]:
		s := &RotateStep{Word: p.word()}
		p.expect(LParen)
		s.Grids = p.names("the name of a grid")
		p.expect(RParen)
		p.endStatement()
		s.span = p.from(start)
		return s
	}
	return p.call(start, nil)
}

func (p *parser) call(start int, domain *Domain) Step {
	if p.kind() != Name {
		p.unexpected("a declaration, a stencil or a step")
	}
	c := &CallStep{Domain: domain, Name: p.name("the name of a stencil")}
	if p.kind() != LParen {
		p.beginsNothing(c.Name, "declaration", itemWords)
		d := p.complain(`"("`)
		switch p.kind() {
		case Assign, LBracket, AddAssign, SubAssign, MulAssign, DivAssign:
			d.Hintf("assignments stand inside a stencil or an initial block")
		}
		panic(bail{})
	}
	p.next()
	for p.kind() != RParen {
		c.Args = append(c.Args, p.expr())
		if !p.accept(Comma) {
			break
		}
	}
	if p.kind() != RParen {
		p.unexpected(`"," or ")"`)
	}
	p.next()
	p.endStatement()
	c.span = p.from(start)
	return c
}

// atIterate tells a loop from the call of a stencil that is called iterate.
func (p *parser) atIterate() bool {
	if !p.isWord(0, "iterate") {
		return false
	}
	if !p.isKind(1, LParen) {
		return true
	}
	return !p.stencils["iterate"] || p.kindAfterParens(1) == LBrace
}

// kindAfterParens returns what follows the parenthesis that closes the one so
// far ahead.
func (p *parser) kindAfterParens(ahead int) Kind {
	depth := 0
	for ; ; ahead++ {
		switch p.token(ahead).Kind {
		case LParen:
			depth++
		case RParen:
			if depth--; depth == 0 {
				return p.token(ahead + 1).Kind
			}
		case EOF, Semicolon, LBrace, RBrace:
			return EOF
		}
	}
}

func (p *parser) iterate() Step {
	start := p.next().Start
	if p.isWord(0, "until") && p.isKind(1, LParen) {
		return p.until(start)
	}
	if p.misspelt(0, "until") && p.isKind(1, LParen) {
		p.complain("the number of iterations or until").Hintf("did you mean \"until\"?")
		p.toBlock()
		s := &UntilStep{Cond: &Ident{span: p.from(start), Name: "true"}, Body: p.stepBlock()}
		s.span = p.from(start)
		return s
	}
	s := &IterateStep{}
	if !p.guarded(func() { p.count(s) }) {
		p.toBlock()
		s.Lo, s.Hi = nil, &NumberLit{span: p.from(start), Text: "1"}
	}
	s.Body = p.stepBlock()
	s.span = p.from(start)
	return s
}

// toBlock goes on after a mistake in the head of a loop, at its body.
func (p *parser) toBlock() {
	for p.kind() != LBrace {
		if p.kind() == Semicolon || p.kind() == RBrace || p.kind() == EOF {
			panic(bail{})
		}
		p.next()
	}
}

// count parses 12, [12], 1:10, (1:10) or [1:10].
func (p *parser) count(s *IterateStep) {
	switch {
	case p.kind() == LBrace:
		p.complain("the number of iterations").Hintf("write iterate 100 { ... } or iterate until (...) { ... }")
		panic(bail{})
	case p.kind() == LBracket:
		p.nextAs(prefix)
		p.tightly(func() {
			s.Hi = p.additive()
			if p.kind() == Colon || p.kind() == DotDot {
				p.nextAs(tight)
				s.Lo, s.Hi = s.Hi, p.additive()
			}
		})
		p.expect(RBracket)
	case p.kind() == LParen && p.rangeAhead(1):
		p.next()
		p.countRange(s)
		p.expect(RParen)
	case p.rangeAhead(0):
		p.countRange(s)
	default:
		s.Hi = p.expr()
	}
}

func (p *parser) countRange(s *IterateStep) {
	p.tightly(func() {
		s.Lo = p.additive()
		if p.kind() != Colon && p.kind() != DotDot {
			p.unexpected(`":"`)
		}
		p.nextAs(tight)
		s.Hi = p.additive()
	})
}

// rangeAhead reports whether a range comes next, within so many brackets.
func (p *parser) rangeAhead(level int) bool {
	depth, questions := 0, 0
	for ahead := 0; ; ahead++ {
		switch p.token(ahead).Kind {
		case LParen, LBracket:
			depth++
		case RParen, RBracket:
			if depth--; depth < level {
				return false
			}
		case Question:
			questions++
		case Colon:
			if questions == 0 && depth == level {
				return true
			}
			questions--
		case DotDot:
			if depth == level {
				return true
			}
		case EOF, Semicolon, LBrace, RBrace:
			return false
		}
	}
}

func (p *parser) until(start int) Step {
	s := &UntilStep{}
	if !p.guarded(func() {
		p.next()
		p.expect(LParen)
		s.Cond = p.expr()
		p.expect(RParen)
		for {
			switch {
			case p.isWord(0, "check") && s.Check == nil:
				p.next()
				s.Check = p.expr()
				continue
			case p.isWord(0, "max") && s.Max == nil:
				p.next()
				s.Max = p.expr()
				continue
			case p.kind() != LBrace:
				p.unexpectedWordOr("check, max or the loop's body", "check", "max")
			}
			break
		}
	}) {
		p.toBlock()
		*s = UntilStep{Cond: &Ident{span: p.from(start), Name: "true"}}
	}
	s.Body = p.stepBlock()
	s.span = p.from(start)
	return s
}

func (p *parser) stepBlock() []Step {
	var list []Step
	p.block("iterate", func() {
		if d := p.tok(); p.atDeclaration() || d.Kind == Hash {
			p.diags.Errorf(rangeOf(d), "only steps stand inside iterate: calls, swap, rotate, iterate")
			panic(bail{})
		}
		list = append(list, p.step())
	})
	return list
}
