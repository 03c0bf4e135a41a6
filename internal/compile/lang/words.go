package lang

import (
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

// cellTypes are the words for types, as a hint lists them.
const cellTypes = "int, float, double, bool and byte"

// foreignTypes are words of other languages for types, with the type that they
// come nearest to.
var foreignTypes = map[string]string{
	"real": "double", "float64": "double", "f64": "double", "fp64": "double", "real8": "double",
	"float32": "float", "f32": "float", "fp32": "float", "single": "float", "half": "float", "float16": "float",
	"integer": "int", "unsigned": "int", "long": "int", "short": "int", "signed": "int", "int32": "int", "int64": "int",
	"int32_t": "int", "int64_t": "int", "i32": "int",
	"char": "byte", "uchar": "byte", "uint8": "byte", "uint8_t": "byte", "u8": "byte",
	"boolean": "bool", "logical": "bool", "_Bool": "bool",
}

// foreignWords begin what other languages have and this one says otherwise.
var foreignWords = map[string]string{
	"const":  "a scalar with a value never changes: double x = 3; coefficient x;",
	"static": "leave the word out",
	"let":    "a declaration begins with a type: double x = 3;",
	"var":    "a declaration begins with a type: double x = 3;",
	"auto":   "a declaration begins with a type: double x = 3;",
	"def":    "a stencil is written stencil name (out, in) { ... }",
	"void":   "a stencil is written stencil name (out, in) { ... }",
	"for":    "a statement runs at all cells of its domain: [lo:hi, ...] : u[i] = ...; steps are repeated by iterate",
	"while":  "steps are repeated outside stencils: iterate until (...) { ... }",
	"if":     "a value is chosen by c ? x : y; a domain limits a statement: [lo:hi, ...] : u[i] = ...",
	"else":   "a value is chosen by c ? x : y",
	"return": "a stencil returns nothing: it assigns to the cells of its grids",
}

// nearWord adds to a complaint which word was meant, if one is near.
func nearWord(d *diag.Diagnostic, got string, words ...string) *diag.Diagnostic {
	if near := diag.Nearest(got, words); near != "" && d.Hint == "" {
		d.Hintf("did you mean %q?", near)
	}
	return d
}

// misspelt reports whether the token so far ahead is nearly that word, and not
// the word itself.
func (p *parser) misspelt(ahead int, word string) bool {
	t := p.token(ahead)
	return t.Kind == Name && p.text(t) != word && diag.Nearest(p.text(t), []string{word}) != ""
}

// unexpectedWord reports that the current token is none of some words, and
// bails.
func (p *parser) unexpectedWord(words ...string) {
	p.unexpectedWordOr(listed(words), words...)
}

// unexpectedWordOr is unexpectedWord where more than these words is due.
func (p *parser) unexpectedWordOr(due string, words ...string) {
	d := p.complain(due)
	if t := p.tok(); t.Kind == Name {
		nearWord(d, p.text(t), words...)
	}
	panic(bail{})
}

// unexpectedDirective reports that what follows # is not that word, and bails.
func (p *parser) unexpectedDirective(word string) {
	d := p.complain(word)
	if p.misspelt(0, word) {
		nearWord(d, p.text(p.tok()), word)
	} else {
		d.Hintf("#pragma stands before a stencil, #assign inside one")
	}
	panic(bail{})
}

// listed returns "a, b or c".
func listed(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// beginsNothing reports, at the token that follows it, a word that begins
// neither a declaration nor a statement, and bails. It returns if nothing can
// be said of the word.
func (p *parser) beginsNothing(word *Ident, what string, words []string) {
	hint, foreign := foreignWords[word.Name]
	near := diag.Nearest(word.Name, words)
	declares := p.kind() == Name && !slices.Contains(itemWords, word.Name) &&
		slices.Contains([]Kind{LBracket, Assign, Comma, Semicolon}, p.token(1).Kind)
	typ, known := foreignTypes[word.Name]
	switch {
	case foreign:
		p.diags.Errorf(word.Span(), "%q begins no %s", word.Name, what).Hintf("%s", hint)
	case p.kind() == Name && known:
		p.diags.Errorf(word.Span(), "there is no type %q", word.Name).Hintf("%s is near to it; there are %s", typ,
			cellTypes)
	case near != "" && slices.Contains([]Kind{Name, Number, LBrace}, p.kind()):
		p.diags.Errorf(word.Span(), "%q begins no %s", clipped(word.Name), what).Hintf("did you mean %q?", near)
	case declares:
		p.diags.Errorf(word.Span(), "there is no type %q", clipped(word.Name)).Hintf("there are %s", cellTypes)
	default:
		return
	}
	panic(bail{})
}
