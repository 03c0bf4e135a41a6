package lang

// stmtWords begin what may stand in a body.
var stmtWords = []string{"int", "float", "double", "bool", "byte", "shmem", "gmem", "boundary", "reduce", "color"}

func (p *parser) stencil(start int, pragma *Pragma) Item {
	s := &StencilDef{Pragma: pragma}
	at := p.at
	p.next()
	// A mistake among the formals must not hide those in the body.
	if !p.guarded(func() { p.stencilHead(s) }) {
		s.Damaged = true
		for p.kind() != LBrace && p.kind() != Semicolon && p.kind() != RBrace && p.kind() != EOF {
			p.next()
		}
		p.lost(at)
		if p.kind() != LBrace {
			panic(bail{})
		}
	}
	s.Body = p.stmtBlock("stencil " + s.Name.Name)
	s.span = p.from(start)
	return s
}

func (p *parser) stencilHead(s *StencilDef) {
	s.Name = p.name("the name of the stencil")
	p.expect(LParen)
	for p.kind() != RParen {
		f := &Formal{}
		start := p.tok().Start
		if p.isWord(0, "inout") && p.isKind(1, Colon) {
			p.next()
			p.nextAs(tight)
			f.InOut = true
		}
		if p.misspelt(0, "inout") && p.isKind(1, Colon) {
			p.unexpectedWord("inout")
		}
		f.Name = p.name("the name of a formal argument")
		f.span = p.from(start)
		s.Formals = append(s.Formals, f)
		if !p.accept(Comma) {
			break
		}
	}
	p.expect(RParen)
}

// stmtBlock parses the statements between two braces.
func (p *parser) stmtBlock(what string) []Stmt {
	var list []Stmt
	p.block(what, func() { list = append(list, p.stmt()) })
	return list
}

// block parses what stands between two braces, one part after the other.
func (p *parser) block(what string, part func()) {
	defer p.enter()()
	open := p.expectAs(LBrace, blockOpen)
	for p.kind() != RBrace {
		switch p.kind() {
		case EOF:
			p.diags.Errorf(rangeOf(open), "the { of %s is never closed", what)
			return
		case Semicolon:
			p.nextAs(empty)
			continue
		}
		if p.atStencil() && p.isKind(2, LParen) {
			p.diags.Errorf(rangeOf(open), "the { of %s is not closed before the next stencil", what).
				Notef(rangeOf(p.token(1)), "the next stencil begins here")
			return
		}
		at := p.at
		if !p.guarded(part) {
			p.skipStatement()
			p.lost(at)
		}
		if p.at == at && p.kind() != RBrace && p.kind() != EOF {
			p.next()
		}
	}
	p.nextAs(blockClose)
}

func (p *parser) stmt() Stmt {
	start := p.tok().Start
	p.operands = 0
	switch {
	case p.kind() == Hash:
		return p.assignDirective()
	case p.atDeclaration():
		return p.varDecl(start, nil)
	case p.isWord(0, "boundary") && p.isKind(1, Name):
		return p.boundary()
	case (p.isWord(0, "shmem") || p.isWord(0, "gmem")) && p.isKind(1, Name),
		p.isWord(0, "no") && p.isKind(1, Minus) && p.isWord(2, "shmem") && p.isKind(3, Name):
		s := &Storage{Word: p.storageWord()}
		s.Names = p.names("the name of a grid")
		p.endStatement()
		s.span = p.from(start)
		return s
	}
	var domain *Domain
	if p.kind() == LBracket {
		domain = p.domain()
		if p.atDeclaration() {
			return p.varDecl(start, domain)
		}
	}
	var color *Color
	if p.isWord(0, "color") && p.isKind(1, LParen) {
		color = p.color()
	}
	if p.isWord(0, "reduce") && p.isKind(1, Name) {
		return p.reduction(start, domain, color)
	}
	return p.assignment(start, domain, color)
}

func (p *parser) storageWord() string {
	t := p.next()
	if p.text(t) != "no" {
		return p.text(t)
	}
	p.nextAs(tight)
	p.next()
	return "no-shmem"
}

func (p *parser) domain() *Domain {
	start := p.expectAs(LBracket, prefix).Start
	d := &Domain{}
	p.tightly(func() {
		for {
			b := &Bounds{Lo: p.additive()}
			if p.kind() != Colon && p.kind() != DotDot {
				p.complain(`":" between the lowest and the highest index`).Hintf("a domain is [lo:hi, lo:hi, ...], one range for every iterator")
				panic(bail{})
			}
			p.nextAs(tight)
			b.Hi = p.additive()
			b.span = span(b.Lo.Span().To(b.Hi.Span()))
			d.Ranges = append(d.Ranges, b)
			if !p.accept(Comma) {
				break
			}
		}
	})
	p.expect(RBracket)
	d.span = p.from(start)
	p.expectAs(Colon, loose)
	return d
}

func (p *parser) color() *Color {
	c := &Color{}
	start := p.next().Start
	p.next()
	p.tightly(func() { c.Sum = p.expr() })
	p.expect(RParen)
	p.expectAs(Percent, loose)
	c.Mod = p.number()
	p.expectAs(Eq, loose)
	if p.isWord(0, "each") {
		p.next()
	} else if p.kind() == Number {
		c.Rem = p.number()
	} else {
		p.unexpectedWordOr("a number or each", "each")
	}
	c.span = p.from(start)
	p.expectAs(Colon, loose)
	return c
}

func (p *parser) reduction(start int, domain *Domain, color *Color) Stmt {
	p.next()
	r := &Reduction{Domain: domain, Color: color, Op: p.word()}
	r.Target = p.name("the scalar that takes the result")
	p.expectAs(Assign, loose)
	r.Value = p.expr()
	p.endStatement()
	r.span = p.from(start)
	return r
}

func (p *parser) assignment(start int, domain *Domain, color *Color) Stmt {
	if p.kind() != Name && p.kind() != LParen {
		p.unexpected("a statement")
	}
	a := &Assignment{Domain: domain, Color: color, Target: p.target()}
	name := rootOf(a.Target)
	switch p.kind() {
	case Assign, AddAssign, SubAssign, MulAssign, DivAssign, AndAssign, OrAssign:
		a.Op = p.nextAs(loose).Kind
	case LParen:
		p.beginsNothing(name, "statement", nil)
		d := p.complain(`"=" or "["`)
		if p.misspelt(-1, "color") {
			nearWord(d, name.Name, "color")
		} else {
			d.Hintf("a stencil cannot be called inside a stencil")
		}
		panic(bail{})
	case Plus, Minus:
		d := p.complain(`"=" or another assignment`)
		if p.isKind(1, p.kind()) {
			d.Hintf("write += 1 or -= 1")
		}
		panic(bail{})
	default:
		if _, plain := a.Target.(*Ident); plain {
			p.beginsNothing(name, "statement", stmtWords)
		}
		p.unexpected(`"=" or another assignment`)
	}
	a.Value = p.expr()
	p.endStatement()
	a.span = p.from(start)
	return a
}

// target parses what is assigned: a name or a cell, which may stand in
// parentheses.
func (p *parser) target() Expr {
	if p.kind() == LParen {
		defer p.enter()()
		p.next()
		x := p.target()
		p.expect(RParen)
		return x
	}
	name := p.name("what is assigned")
	if p.kind() == LBracket {
		return p.index(name)
	}
	return name
}

// rootOf returns the name in a target.
func rootOf(x Expr) *Ident {
	if x, ok := x.(*IndexExpr); ok {
		return x.Name
	}
	return x.(*Ident)
}

func (p *parser) assignDirective() Stmt {
	hash := p.nextAs(prefix)
	d := &AssignDirective{}
	if !p.guarded(func() { p.assignGroups(hash, d) }) {
		p.endLine(hash)
	}
	d.span = p.from(hash.Start)
	return d
}

func (p *parser) assignGroups(hash *Token, d *AssignDirective) {
	if !p.onLine(hash) || !p.isWord(0, "assign") {
		p.unexpectedDirective("assign")
	}
	p.next()
	for {
		p.stayOn(hash, "shmem, gmem or no-shmem")
		start := p.tok().Start
		if !p.isWord(0, "shmem") && !p.isWord(0, "gmem") && !p.isWord(0, "no") {
			p.unexpectedWord("shmem", "gmem", "no-shmem")
		}
		g := &Storage{Word: p.storageWord()}
		p.stayOn(hash, `"("`)
		p.expect(LParen)
		for {
			p.stayOn(hash, "the name of a grid")
			g.Names = append(g.Names, p.name("the name of a grid"))
			if p.kind() != Comma {
				break
			}
			p.nextAs(tight)
		}
		p.stayOn(hash, `")"`)
		p.expect(RParen)
		g.span = p.from(start)
		d.Groups = append(d.Groups, g)
		if p.kind() != Comma || !p.onLine(hash) {
			break
		}
		p.next()
	}
	if p.onLine(hash) {
		p.unexpected("the end of the line")
	}
}
