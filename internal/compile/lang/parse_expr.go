package lang

// expr parses any expression.
func (p *parser) expr() Expr {
	defer p.enter()()
	x := p.binary(lowest)
	if p.kind() != Question {
		return x
	}
	p.nextAs(loose)
	a := p.expr()
	p.expectAs(Colon, loose)
	b := p.expr()
	return &CondExpr{span: span(x.Span().To(b.Span())), Cond: x, X: a, Y: b}
}

// The levels of precedence between ?: and the unary operators, loosest first.
const (
	lowest         = 1
	additive       = 7
	multiplicative = 8
)

var precedence = [...]int{
	OrOr: 1, AndAnd: 2, Bar: 3, Amp: 4, Eq: 5, Ne: 5, Lt: 6, Le: 6, Gt: 6, Ge: 6,
	Plus: additive, Minus: additive, Star: multiplicative, Slash: multiplicative, Percent: multiplicative,
	RBrace: 0,
}

// additive parses what may be a bound: no comparison, no logic, no choice.
func (p *parser) additive() Expr { return p.binary(additive) }

// binary parses operators of at least that precedence, left-associative.
func (p *parser) binary(least int) Expr {
	x := p.unary()
	for {
		k := p.kind()
		prec := precedence[k]
		if prec < least || prec == 0 {
			return x
		}
		p.operator(prec)
		y := p.operand(prec + 1)
		x = &BinaryExpr{span: span(x.Span().To(y.Span())), Op: k, X: x, Y: y}
	}
}

// operand parses the right operand of an operator.
func (p *parser) operand(least int) Expr {
	if least > multiplicative {
		return p.unary()
	}
	return p.binary(least)
}

// operator steps over a binary operator; those that bind tightly, and all that
// stand in an index, are set without spaces.
func (p *parser) operator(prec int) {
	if p.operands++; p.operands > maxOperands {
		p.diags.Errorf(rangeOf(p.tok()), "this statement has more than %d operators", maxOperands)
		panic(bail{})
	}
	if p.inIndex || prec >= multiplicative {
		p.nextAs(tight)
	} else {
		p.nextAs(loose)
	}
}

func (p *parser) unary() Expr {
	switch k := p.kind(); k {
	case Minus, Plus, Bang:
		defer p.enter()()
		start := p.nextAs(prefix).Start
		x := p.unary()
		return &UnaryExpr{span: span{start, x.Span().End}, Op: k, X: x}
	}
	return p.power()
}

func (p *parser) power() Expr {
	x := p.primary()
	for p.kind() == Caret {
		p.operator(multiplicative)
		y := p.exponent()
		x = &BinaryExpr{span: span(x.Span().To(y.Span())), Op: Caret, X: x, Y: y}
	}
	return x
}

// exponent parses what follows ^, which may have a sign of its own.
func (p *parser) exponent() Expr {
	switch k := p.kind(); k {
	case Minus, Plus, Bang:
		defer p.enter()()
		start := p.nextAs(prefix).Start
		x := p.exponent()
		return &UnaryExpr{span: span{start, x.Span().End}, Op: k, X: x}
	}
	return p.primary()
}

func (p *parser) primary() Expr {
	t := p.tok()
	switch t.Kind {
	case Number:
		return p.number()
	case LParen:
		start := p.next().Start
		was := p.inIndex
		x := p.expr()
		p.inIndex = was
		if p.kind() != RParen {
			p.unexpected(`")"`)
		}
		p.next()
		return &ParenExpr{span: p.from(start), X: x}
	case Name:
		if p.atSum() {
			return p.sum()
		}
		return p.named()
	}
	p.unexpected("an expression")
	return nil
}

// named parses what begins with a name: a value, a cell, a call.
func (p *parser) named() Expr {
	t := p.next()
	id := &Ident{span: span(rangeOf(t)), Name: p.text(t)}
	switch p.kind() {
	case LBracket:
		return p.index(id)
	case LParen:
		p.nextAs(callParen)
		c := &CallExpr{Func: id}
		was := p.inIndex
		p.inIndex = false
		for p.kind() != RParen {
			c.Args = append(c.Args, p.expr())
			if !p.accept(Comma) {
				break
			}
		}
		p.inIndex = was
		if p.kind() != RParen {
			d := p.complain(`"," or ")"`)
			if id.Name == "sum" && p.kind() == Name {
				d.Hintf("a bounded sum is written sum (r in 1..4) ...")
			}
			panic(bail{})
		}
		p.next()
		c.span = p.from(t.Start)
		return c
	}
	return id
}

// index parses the brackets of name[k][j, i].
func (p *parser) index(name *Ident) *IndexExpr {
	x := &IndexExpr{Name: name}
	for p.kind() == LBracket {
		p.nextAs(tight)
		p.tightly(func() {
			for {
				x.Indices = append(x.Indices, p.expr())
				if p.kind() != Comma {
					break
				}
				p.nextAs(tight)
			}
		})
		if p.kind() != RBracket {
			p.unexpected(`"," or "]"`)
		}
		p.next()
	}
	x.span = p.from(name.Start)
	return x
}

// atSum tells sum (r in 1..4) from a grid or a function called sum.
func (p *parser) atSum() bool {
	return p.isWord(0, "sum") && p.isKind(1, LParen) && p.isKind(2, Name) && p.isWord(3, "in") && !p.isKind(4, RParen)
}

// sum parses a bounded sum, which reaches over the factors that follow it.
func (p *parser) sum() Expr {
	defer p.enter()()
	s := &SumExpr{}
	start := p.next().Start
	p.next()
	s.Var = p.name("the name of the sum's variable")
	p.next()
	p.tightly(func() {
		s.Lo = p.additive()
		if p.kind() != DotDot && p.kind() != Colon {
			p.unexpected(`".."`)
		}
		p.nextAs(tight)
		s.Hi = p.additive()
	})
	p.expect(RParen)
	s.Body = p.binary(multiplicative)
	s.span = p.from(start)
	return s
}
