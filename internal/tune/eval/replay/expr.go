package replay

import (
	"fmt"
	"slices"
)

// Expr is a Python expression over names, of the part of the language that
// definitions of tuning spaces use: numbers, texts, lists and comprehensions,
// arithmetic, comparisons (chained, too), and, or, not, conditional
// expressions, subscripts, and calls of range, list, tuple, min, max, sum, len, abs,
// int, float, bool, round, pow, sorted, any and all. It can do nothing but compute.
type Expr struct {
	text string
	root node
}

// ParseExpr reads an expression.
func ParseExpr(text string) (*Expr, error) {
	words, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := &parser{text: text, words: words}
	root, err := p.expression()
	if err != nil {
		return nil, err
	}
	if w := p.word(); w.kind != lexEnd {
		return nil, p.unexpected("an operator or the end")
	}
	return &Expr{text, root}, nil
}

// String returns the text that was parsed.
func (e *Expr) String() string { return e.text }

// The nodes of an expression. Each knows the column where it, or its operator,
// stands.
type (
	node interface{ at() int }

	column int

	// literal is a number or a text.
	literal struct {
		column
		value Value
	}
	// name stands for a value.
	name struct {
		column
		name string
	}
	// sequence is [a, b] or (a, b).
	sequence struct {
		column
		items []node
	}
	// comprehension is item for a in x if c.
	comprehension struct {
		column
		item    node
		clauses []clause
	}
	// unary is -a, +a, ~a, not a.
	unary struct {
		column
		op string
		a  node
	}
	// binary is a + b, a and b, a[b].
	binary struct {
		column
		op   string
		a, b node
	}
	// comparison is a < b <= c.
	comparison struct {
		column
		first node
		ops   []string
		rest  []node
	}
	// choice is a if c else b.
	choice struct {
		column
		c, a, b node
	}
	// call is f(a, b).
	call struct {
		column
		f    string
		args []node
	}
)

func (c column) at() int { return int(c) }

// clause is "for a in x if c if d".
type clause struct {
	name string
	in   node
	ifs  []node
}

type parser struct {
	text  string
	words []lexeme
	depth int
}

// maxDepth bounds nesting, so that no text overflows the stack.
const maxDepth = 200

func (p *parser) word() lexeme { return p.words[0] }

func (p *parser) next() lexeme {
	w := p.words[0]
	if w.kind != lexEnd {
		p.words = p.words[1:]
	}
	return w
}

// is reports whether a sign comes next.
func (p *parser) is(sign string) bool { return p.word().kind == lexSign && p.word().text == sign }

// accept passes over a sign if it comes next.
func (p *parser) accept(sign string) bool {
	if p.is(sign) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(sign string) error {
	if !p.accept(sign) {
		return p.unexpected(fmt.Sprintf("%q", sign))
	}
	return nil
}

func (p *parser) unexpected(want string) error {
	w := p.word()
	if w.kind == lexValue {
		w.text = w.value.String()
	}
	return &exprError{p.text, w.column, fmt.Sprintf("%s is expected, not %s", want, w.text)}
}

// expression reads "a if c else b" and what binds tighter.
func (p *parser) expression() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, &exprError{p.text, p.word().column, "nested too deeply"}
	}
	defer func() { p.depth-- }()
	a, err := p.binary(0)
	if err != nil || !p.is("if") {
		return a, err
	}
	at := column(p.next().column)
	c, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	if err := p.expect("else"); err != nil {
		return nil, err
	}
	b, err := p.expression()
	return choice{at, c, a, b}, err
}

// levels are the binary operators, from those that bind loosest.
var levels = [][]string{{"or"}, {"and"}, {"not"}, {"<", ">", "<=", ">=", "==", "!=", "in", "not", "is"}, {"|"}, {"^"},
	{"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "%"}}

const (
	levelNot     = 2
	levelCompare = 3
)

func (p *parser) binary(level int) (node, error) {
	switch level {
	case len(levels):
		return p.unary()
	case levelNot:
		if w := p.word(); p.accept("not") {
			if p.depth++; p.depth > maxDepth {
				return nil, &exprError{p.text, w.column, "nested too deeply"}
			}
			defer func() { p.depth-- }()
			a, err := p.binary(levelNot)
			return unary{column(w.column), "not", a}, err
		}
		return p.binary(level + 1)
	case levelCompare:
		return p.comparison()
	}
	a, err := p.binary(level + 1)
	for err == nil && p.word().kind == lexSign && slices.Contains(levels[level], p.word().text) {
		w := p.next()
		var b node
		b, err = p.binary(level + 1)
		a = binary{column(w.column), w.text, a, b}
	}
	return a, err
}

func (p *parser) comparison() (node, error) {
	first, err := p.binary(levelCompare + 1)
	c := comparison{column: column(p.word().column), first: first}
	for err == nil && p.word().kind == lexSign && slices.Contains(levels[levelCompare], p.word().text) {
		op := p.next().text
		switch op {
		case "not":
			if err := p.expect("in"); err != nil {
				return nil, err
			}
			op = "not in"
		case "is":
			op = "=="
			if p.accept("not") {
				op = "!="
			}
		}
		var b node
		b, err = p.binary(levelCompare + 1)
		c.ops, c.rest = append(c.ops, op), append(c.rest, b)
	}
	if len(c.ops) == 0 {
		return first, err
	}
	return c, err
}

// unary reads -a and a ** b, which binds tighter than the minus before it.
func (p *parser) unary() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, &exprError{p.text, p.word().column, "nested too deeply"}
	}
	defer func() { p.depth-- }()
	w := p.word()
	for _, op := range []string{"-", "+", "~"} {
		if p.accept(op) {
			a, err := p.unary()
			return unary{column(w.column), op, a}, err
		}
	}
	a, err := p.postfix()
	if w := p.word(); err == nil && p.accept("**") {
		b, err := p.unary()
		return binary{column(w.column), "**", a, b}, err
	}
	return a, err
}

// postfix reads subscripts.
func (p *parser) postfix() (node, error) {
	a, err := p.operand()
	for err == nil && p.is("[") {
		w := p.next()
		var b node
		if b, err = p.expression(); err == nil {
			err = p.expect("]")
		}
		a = binary{column(w.column), "[]", a, b}
	}
	return a, err
}

func (p *parser) operand() (node, error) {
	w := p.word()
	at := column(w.column)
	switch {
	case w.kind == lexValue:
		p.next()
		return literal{at, w.value}, nil
	case w.kind == lexName:
		p.next()
		if !p.accept("(") {
			return name{at, w.text}, nil
		}
		if functions[w.text] == nil {
			return nil, &exprError{p.text, w.column, fmt.Sprintf("no function is called %s; there are %s", w.text,
				functionNames())}
		}
		items, _, err := p.items(")")
		return call{at, w.text, items}, err
	case p.accept("["):
		items, _, err := p.items("]")
		if err == nil && len(items) == 1 {
			if c, ok := items[0].(comprehension); ok {
				return c, nil
			}
		}
		return sequence{at, items}, err
	case p.accept("("):
		items, comma, err := p.items(")")
		if err == nil && len(items) == 1 && !comma {
			return items[0], nil
		}
		return sequence{at, items}, err
	}
	return nil, p.unexpected("a value")
}

// items reads a list up to its closing bracket, and whether a comma ends it.
func (p *parser) items(end string) (items []node, comma bool, err error) {
	for !p.is(end) {
		w := p.word()
		x, err := p.expression()
		if err != nil {
			return nil, false, err
		}
		if p.is("for") && len(items) == 0 {
			c := comprehension{column: column(w.column), item: x}
			if c.clauses, err = p.clauses(); err != nil {
				return nil, false, err
			}
			x = c
		}
		items, comma = append(items, x), false
		if !p.accept(",") {
			break
		}
		comma = true
	}
	return items, comma, p.expect(end)
}

func (p *parser) clauses() ([]clause, error) {
	var list []clause
	for p.accept("for") {
		if p.word().kind != lexName {
			return nil, p.unexpected("a name")
		}
		c := clause{name: p.next().text}
		err := p.expect("in")
		if err != nil {
			return nil, err
		}
		if c.in, err = p.binary(0); err != nil {
			return nil, err
		}
		for p.accept("if") {
			x, err := p.binary(0)
			if err != nil {
				return nil, err
			}
			c.ifs = append(c.ifs, x)
		}
		list = append(list, c)
	}
	return list, nil
}
