package lang

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

// Limits keep hostile input from taking the compiler's memory or stack.
const (
	MaxSource   = 1 << 20 // bytes in a source text
	maxDepth    = 200     // brackets, blocks and operators inside one another
	maxOperands = 20000   // operators in one statement
	maxErrors   = 100     // syntax errors that are reported
)

// Parse reads a source text. If the list has errors the file holds what could be
// parsed, and Check has only more errors to tell about it.
func Parse(src *diag.Source) (*File, diag.List) {
	p := &parser{src: src, file: &File{Source: src}}
	if len(src.Text) > MaxSource {
		p.diags.Errorf(diag.Range{}, "this file has %d bytes; a source text has at most %d", len(src.Text), MaxSource)
		p.file.damaged = true
		return p.file, p.diags
	}
	p.file.tokens = scan(src.Text, &p.diags)
	for i, t := range p.file.tokens {
		if !t.isComment() {
			p.order = append(p.order, i)
		}
	}
	p.findStencils()
	p.parseFile()
	p.file.damaged = p.diags.HasErrors()
	p.diags.Sort()
	if len(p.diags) > maxErrors {
		rest := p.diags[maxErrors]
		p.diags = p.diags[:maxErrors]
		p.diags.Errorf(rest.Range, "too many syntax errors; the rest are not shown")
	}
	return p.file, p.diags
}

type parser struct {
	src   *diag.Source
	file  *File
	diags diag.List

	order    []int // the tokens that are not comments
	at       int   // index into order
	depth    int
	operands int
	inIndex  bool            // operators stand without spaces
	stencils map[string]bool // names of the file's stencils
}

// bail unwinds to the nearest statement after a syntax error.
type bail struct{}

func (p *parser) token(ahead int) *Token {
	i := max(0, min(p.at+ahead, len(p.order)-1))
	return &p.file.tokens[p.order[i]]
}

func (p *parser) tok() *Token { return p.token(0) }

func (p *parser) kind() Kind { return p.tok().Kind }

func (p *parser) text(t *Token) string { return p.src.Text[t.Start:t.End] }

// next steps over the current token and returns it.
func (p *parser) next() *Token {
	t := p.tok()
	if p.at < len(p.order)-1 {
		p.at++
	}
	return t
}

// nextAs steps over the current token and notes its role.
func (p *parser) nextAs(r role) *Token {
	t := p.next()
	t.role = r
	return t
}

// isWord reports whether the token so far ahead is that word.
func (p *parser) isWord(ahead int, word string) bool {
	t := p.token(ahead)
	return t.Kind == Name && p.text(t) == word
}

func (p *parser) isKind(ahead int, k Kind) bool { return p.token(ahead).Kind == k }

func (p *parser) from(start int) span {
	end := start
	if p.at > 0 {
		end = max(start, p.file.tokens[p.order[p.at-1]].End)
	}
	return span{start, end}
}

func rangeOf(t *Token) diag.Range { return diag.Range{Start: t.Start, End: t.End} }

// describe says in the user's words what a token is.
func (p *parser) describe(t *Token) string {
	switch t.Kind {
	case Name, Number:
		return fmt.Sprintf("%q", clipped(p.text(t)))
	}
	return t.Kind.String()
}

func clipped(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}

// unexpected reports that the current token is not what was due, and bails.
func (p *parser) unexpected(due string) {
	p.complain(due)
	panic(bail{})
}

func (p *parser) complain(due string) *diag.Diagnostic {
	t := p.tok()
	if t.Kind == EOF {
		return p.diags.Errorf(rangeOf(t), "expected %s, but the file ends here", due)
	}
	return p.diags.Errorf(rangeOf(t), "expected %s, found %s", due, p.describe(t))
}

func (p *parser) expect(k Kind) *Token {
	if p.kind() != k {
		p.unexpected(k.String())
	}
	return p.next()
}

func (p *parser) expectAs(k Kind, r role) *Token {
	t := p.expect(k)
	t.role = r
	return t
}

// accept steps over the current token if it is a k.
func (p *parser) accept(k Kind) bool {
	if p.kind() != k {
		return false
	}
	p.next()
	return true
}

// enter counts one level of nesting; its result undoes that.
func (p *parser) enter() func() {
	if p.depth++; p.depth > maxDepth {
		p.diags.Errorf(rangeOf(p.tok()), "this is nested more than %d deep", maxDepth)
		panic(bail{})
	}
	depth := p.depth
	return func() { p.depth = depth - 1 }
}

// guarded runs f and reports whether it came to its end without a bail.
func (p *parser) guarded(f func()) (ok bool) {
	depth, inIndex := p.depth, p.inIndex
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case bail:
			ok = false
		default:
			panic(r)
		}
		p.depth, p.inIndex = depth, inIndex
	}()
	f()
	return true
}

// lost notes that the tokens from one on became nothing. What looks like a
// declaration may have declared any of its names.
func (p *parser) lost(from int) {
	declares := false
	for i := from; i < p.at; i++ {
		declares = declares || p.isType(i-p.at) || p.isKind(i-p.at, Name) && p.isKind(i+1-p.at, Name) && i+1 < p.at
	}
	if !declares {
		return
	}
	if p.file.doubtful == nil {
		p.file.doubtful = make(map[string]bool)
	}
	for i := from; i < p.at; i++ {
		if t := p.token(i - p.at); t.Kind == Name {
			p.file.doubtful[p.text(t)] = true
		}
	}
}

// skipStatement goes on after an error: past the next semicolon or block, or
// up to the end of the enclosing block.
func (p *parser) skipStatement() {
	depth := 0
	for {
		switch p.kind() {
		case EOF:
			return
		case Semicolon:
			p.next()
			if depth == 0 {
				return
			}
			continue
		case LBrace:
			depth++
		case RBrace:
			if depth == 0 {
				return
			}
			if depth--; depth == 0 {
				p.next()
				return
			}
		}
		p.next()
	}
}

// endStatement steps over the semicolon that ends a statement. One that is
// missing at the end of a line costs nothing else.
func (p *parser) endStatement() {
	if p.kind() == Semicolon {
		p.nextAs(stmtEnd)
		return
	}
	before := p.token(-1)
	if p.kind() == EOF || p.kind() == RBrace || p.tok().Line > before.Line {
		p.diags.Errorf(diag.Range{Start: before.End, End: before.End}, "expected %s here", Semicolon)
		return
	}
	d := p.complain(Semicolon.String())
	if word := p.token(-2); before.Kind == RParen && p.isType(-2) && p.isKind(-3, LParen) {
		d.Hintf("a conversion is written %s(x)", p.text(word))
	}
	panic(bail{})
}

// typeWords are the words that may not be anything else than a type.
var typeWords = map[string]bool{"int": true, "float": true, "double": true, "bool": true}

// name parses the declaration or use of a name.
func (p *parser) name(due string) *Ident {
	t := p.tok()
	if t.Kind != Name {
		p.unexpected(due)
	}
	if text := p.text(t); typeWords[text] {
		p.diags.Errorf(rangeOf(t), "%q is a type and cannot be a name", text)
	}
	p.next()
	return &Ident{span: span(rangeOf(t)), Name: p.text(t)}
}

// word steps over the current token, which is a word of the language.
func (p *parser) word() *Ident {
	t := p.next()
	return &Ident{span: span(rangeOf(t)), Name: p.text(t)}
}

func (p *parser) names(due string) []*Ident {
	list := []*Ident{p.name(due)}
	for p.accept(Comma) {
		list = append(list, p.name(due))
	}
	return list
}

// findStencils notes the names of the file's stencils before anything else is
// parsed: a stencil may be called swap, and be used before its definition.
func (p *parser) findStencils() {
	p.stencils = make(map[string]bool)
	for i := range p.order {
		p.at = i
		if p.atStencil() {
			p.stencils[p.text(p.token(1))] = true
		}
	}
	p.at = 0
}

func (p *parser) atStencil() bool {
	return (p.isWord(0, "stencil") || p.isWord(0, "function")) && p.isKind(1, Name)
}
