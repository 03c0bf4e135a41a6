package lang

import "github.com/gridloom/gridloom/internal/compile/diag"

func (p *parser) parseFile() {
	for p.kind() != EOF {
		switch p.kind() {
		case Semicolon:
			p.nextAs(empty)
			continue
		case RBrace:
			p.diags.Errorf(rangeOf(p.tok()), "this } closes nothing")
			p.next()
			continue
		}
		at := p.at
		if !p.guarded(func() { p.file.add(p.item()) }) {
			p.skipStatement()
			p.lost(at)
		}
		if p.at == at && p.kind() != EOF {
			p.next()
		}
	}
}

func (f *File) add(it Item) {
	if it != nil {
		f.Items = append(f.Items, it)
	}
}

// isType reports whether the token so far ahead names a type.
func (p *parser) isType(ahead int) bool {
	t := p.token(ahead)
	return t.Kind == Name && (typeWords[p.text(t)] || p.text(t) == "byte")
}

// atDeclaration reports whether a type and a name come next.
func (p *parser) atDeclaration() bool { return p.isType(0) && p.isKind(1, Name) }

func (p *parser) item() Item {
	start := p.tok().Start
	switch {
	case p.kind() == Hash:
		return p.pragmaAndStencil()
	case p.atStencil():
		return p.stencil(start, nil)
	case p.isWord(0, "initial") && p.isKind(1, LBrace):
		p.next()
		body := p.stmtBlock("the initial block")
		return &InitialDef{span: p.from(start), Body: body}
	}
	if d := p.declaration(); d != nil {
		return d
	}
	return p.step()
}

// declaration parses a declaration, or returns nil if none comes next.
func (p *parser) declaration() Item {
	start := p.tok().Start
	switch {
	case p.atDeclaration():
		return p.varDecl(start, nil)
	case p.kind() != Name || !p.isKind(1, Name):
		return nil
	}
	switch p.text(p.tok()) {
	case "parameter":
		return p.parameters()
	case "iterator":
		p.next()
		names := p.names("the name of an iterator")
		p.endStatement()
		return &IteratorDecl{span: p.from(start), Names: names}
	case "boundary":
		return p.boundary()
	case "allocin", "copyin", "copyout", "constant", "coefficient":
		word := p.word()
		names := p.names("a name")
		p.endStatement()
		return &AttributeDecl{span: p.from(start), Word: word, Names: names}
	}
	return nil
}

func (p *parser) parameters() Item {
	start := p.next().Start
	var list []*Parameter
	for {
		q := &Parameter{Name: p.name("the name of a parameter")}
		if p.accept(Assign) {
			q.Value = p.expr()
		}
		q.span = p.from(q.Name.Start)
		list = append(list, q)
		if !p.accept(Comma) {
			break
		}
	}
	p.endStatement()
	return &ParameterDecl{span: p.from(start), Params: list}
}

func (p *parser) varDecl(start int, domain *Domain) *VarDecl {
	d := &VarDecl{Domain: domain, Type: p.word()}
	for {
		d.Vars = append(d.Vars, p.declarator())
		if !p.accept(Comma) {
			break
		}
	}
	p.endStatement()
	d.span = p.from(start)
	return d
}

func (p *parser) declarator() *Declarator {
	d := &Declarator{Name: p.name("a name")}
	for p.kind() == LBracket {
		p.nextAs(tight)
		p.tightly(func() {
			for {
				d.Dims = append(d.Dims, p.dim())
				if p.kind() != Comma {
					break
				}
				p.nextAs(tight)
			}
		})
		p.expect(RBracket)
	}
	if p.accept(Assign) {
		if p.kind() == LBrace {
			d.Table = p.table()
		} else {
			d.Value = p.expr()
		}
	}
	d.span = p.from(d.Name.Start)
	return d
}

// tightly runs f for a part in which operators stand without spaces.
func (p *parser) tightly(f func()) {
	was := p.inIndex
	p.inIndex = true
	f()
	p.inIndex = was
}

func (p *parser) dim() *Dim {
	d := &Dim{Hi: p.additive()}
	if p.kind() == Colon || p.kind() == DotDot {
		p.nextAs(tight)
		d.Lo, d.Hi = d.Hi, p.additive()
		d.span = span(d.Lo.Span().To(d.Hi.Span()))
		return d
	}
	d.span = span(d.Hi.Span())
	return d
}

func (p *parser) table() *Table {
	defer p.enter()()
	start := p.expectAs(LBrace, prefix).Start
	t := &Table{}
	for p.kind() != RBrace {
		if p.kind() == LBrace {
			t.Entries = append(t.Entries, p.table())
		} else {
			t.Entries = append(t.Entries, p.expr())
		}
		if !p.accept(Comma) {
			break
		}
	}
	p.expect(RBrace)
	t.span = p.from(start)
	return t
}

func (p *parser) boundary() *BoundaryDecl {
	d := &BoundaryDecl{}
	start := p.next().Start
	d.Grids = p.names("the name of a grid")
	p.expectAs(Colon, loose)
	for {
		d.Rules = append(d.Rules, p.boundaryRule())
		if !p.accept(Comma) {
			break
		}
	}
	p.endStatement()
	d.span = p.from(start)
	return d
}

func (p *parser) boundaryRule() *BoundaryRule {
	if p.kind() != Name {
		p.unexpected("a boundary condition")
	}
	r := &BoundaryRule{Kind: p.word()}
	if p.kind() == LParen {
		p.nextAs(callParen)
		r.Value = p.expr()
		p.expect(RParen)
	}
	if p.kind() == Name && p.isKind(1, Name) && p.misspelt(0, "on") {
		p.unexpectedWordOr(`"on", "," or ";"`, "on")
	}
	if p.isWord(0, "on") {
		p.next()
		r.Axis = p.name("an iterator")
		if p.kind() == Dot {
			p.nextAs(tight)
			r.Side = p.name("low or high")
		}
	}
	r.span = p.from(r.Kind.Start)
	return r
}

// onLine reports whether the current token still belongs to the directive that
// began with hash.
func (p *parser) onLine(hash *Token) bool { return p.kind() != EOF && p.tok().Line == hash.Line }

// endLine steps over what is left of a directive's line after an error.
func (p *parser) endLine(hash *Token) {
	for p.onLine(hash) {
		p.next()
	}
}

func (p *parser) pragmaAndStencil() Item {
	hash := p.tok()
	pragma := &Pragma{}
	ok := p.guarded(func() { p.pragma(hash, pragma) })
	if !ok {
		p.endLine(hash)
	}
	pragma.span = p.from(hash.Start)
	if !p.atStencil() {
		if !ok {
			return nil
		}
		p.diags.Errorf(pragma.Span(), "no stencil follows this #pragma").
			Hintf("a #pragma stands on the line before the stencil it speaks of")
		return nil
	}
	return p.stencil(hash.Start, pragma)
}

func (p *parser) pragma(hash *Token, d *Pragma) {
	p.nextAs(prefix)
	if !p.onLine(hash) || !p.isWord(0, "pragma") {
		p.unexpectedDirective("pragma")
	}
	p.next()
	seen := map[string]bool{}
	for p.onLine(hash) {
		word := p.tok()
		text := p.text(word)
		if seen[text] {
			p.diags.Errorf(rangeOf(word), "%s is given twice", text)
		}
		seen[text] = true
		switch {
		case word.Kind == Name && text == "stream":
			p.next()
			p.stayOn(hash, "an iterator")
			d.Stream = p.name("an iterator")
		case word.Kind == Name && text == "block":
			p.next()
			p.stayOn(hash, `"("`)
			p.expect(LParen)
			p.tightly(func() {
				for {
					p.stayOn(hash, "a number")
					d.Block = append(d.Block, p.number())
					if p.kind() != Comma {
						break
					}
					p.nextAs(tight)
				}
			})
			p.stayOn(hash, `")"`)
			p.expect(RParen)
		case word.Kind == Name && text == "unroll":
			p.next()
			for {
				p.stayOn(hash, "an iterator")
				d.Unroll = append(d.Unroll, p.unroll(hash))
				if p.kind() != Comma || !p.onLine(hash) {
					break
				}
				p.nextAs(tight)
			}
		case word.Kind == Name && text == "occupancy":
			p.next()
			p.stayOn(hash, "a number")
			d.Occupancy = p.number()
		default:
			p.unexpectedWord("stream", "block", "unroll", "occupancy")
		}
	}
}

// stayOn bails unless the current token is on the directive's line.
func (p *parser) stayOn(hash *Token, due string) {
	if !p.onLine(hash) {
		before := p.token(-1)
		p.diags.Errorf(diag.Range{Start: before.End, End: before.End}, "expected %s before the end of this line", due)
		panic(bail{})
	}
}

func (p *parser) unroll(hash *Token) *Unroll {
	u := &Unroll{Axis: p.name("an iterator")}
	p.stayOn(hash, `"="`)
	p.expectAs(Assign, tight)
	p.stayOn(hash, "a number")
	u.Factor = p.number()
	u.span = p.from(u.Axis.Start)
	return u
}

func (p *parser) number() *NumberLit {
	if p.kind() != Number {
		p.unexpected("a number")
	}
	t := p.next()
	return &NumberLit{span: span(rangeOf(t)), Text: p.text(t)}
}
