package spec

import (
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

// kind is what a token is.
type kind uint8

const (
	end kind = iota
	ident
	number
	word
	punct
)

type token struct {
	kind kind
	text string // without quotes
	at   diag.Range
}

// String returns the token as messages name it.
func (t token) String() string {
	switch t.kind {
	case end:
		return "the end of the file"
	case word:
		return `"` + t.text + `"`
	}
	return t.text
}

func letter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }

// scan cuts a text into tokens; the last is the end of the file.
func scan(text string, list *diag.List) []token {
	var out []token
	i := 0
	run := func(ok func(byte) bool) {
		for i < len(text) && ok(text[i]) {
			i++
		}
	}
	for i < len(text) {
		start := i
		add := func(k kind, s string) { out = append(out, token{k, s, diag.Range{Start: start, End: i}}) }
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
		case c == '#':
			run(func(c byte) bool { return c != '\n' })
		case letter(c):
			run(func(c byte) bool { return letter(c) || digit(c) || c == '.' })
			add(ident, text[start:i])
		case digit(c):
			run(func(c byte) bool { return digit(c) || c == '.' })
			add(number, text[start:i])
		case c == '"':
			i++
			run(func(c byte) bool { return c != '"' && c != '\n' })
			if i == len(text) || text[i] != '"' {
				list.Errorf(diag.Range{Start: start, End: i}, "the word has no end").Hintf(`put " after it`)
				add(word, text[start+1:i])
				continue
			}
			i++
			add(word, text[start+1:i-1])
		case i+1 < len(text) && strings.Contains(" == != <= >= ", " "+text[i:i+2]+" "):
			i += 2
			add(punct, text[start:i])
		case strings.IndexByte("=<>+-*/%:,;(){}?", c) >= 0:
			i++
			add(punct, text[start:i])
		default:
			run(func(c byte) bool { return c >= 0x80 })
			i = max(i, start+1)
			list.Errorf(diag.Range{Start: start, End: i}, "%q has no meaning here", text[start:i])
		}
	}
	return append(out, token{end, "", diag.Range{Start: len(text), End: len(text)}})
}

// doc returns the comment on the first line of a text.
func doc(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	rest, comment := strings.CutPrefix(line, "#")
	if !comment {
		return ""
	}
	return strings.TrimSpace(rest)
}
