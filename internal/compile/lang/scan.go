package lang

import (
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

// scanner cuts a text into tokens. It accepts any bytes.
type scanner struct {
	text  string
	pos   int
	line  int
	diags *diag.List
}

// scan returns all tokens of a text, comments among them, the last being EOF.
func scan(text string, diags *diag.List) []Token {
	s := &scanner{text: text, line: 1, diags: diags}
	s.skipMark()
	var toks []Token
	for {
		t := s.next()
		toks = append(toks, t)
		if t.Kind == EOF {
			return toks
		}
	}
}

// skipMark passes over a byte order mark, which some editors put first.
func (s *scanner) skipMark() {
	if strings.HasPrefix(s.text, "\ufeff") {
		s.pos = len("\ufeff")
	}
}

func (s *scanner) peek(ahead int) byte {
	if s.pos+ahead < len(s.text) {
		return s.text[s.pos+ahead]
	}
	return 0
}

func (s *scanner) next() Token {
	for {
		s.skipSpace()
		t := Token{Start: s.pos, Line: s.line}
		if s.pos >= len(s.text) {
			t.End = s.pos
			return t
		}
		c := s.text[s.pos]
		switch {
		case isLetter(c), c >= 128:
			t.Kind = Name
			s.name()
		case isDigit(c), c == '.' && isDigit(s.peek(1)):
			t.Kind = Number
			s.number()
		case c == '/' && s.peek(1) == '/':
			t.Kind = LineComment
			s.skipWhile(func(c byte) bool { return c != '\n' })
		case c == '/' && s.peek(1) == '*':
			t.Kind = BlockComment
			s.blockComment()
		default:
			if t.Kind = s.operator(); t.Kind == EOF {
				s.strange()
				continue
			}
		}
		t.End = s.pos
		return t
	}
}

func (s *scanner) skipSpace() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case '\n':
			s.line++
		case ' ', '\t', '\r', '\f', '\v':
		default:
			return
		}
		s.pos++
	}
}

func (s *scanner) skipWhile(f func(byte) bool) {
	for s.pos < len(s.text) && f(s.text[s.pos]) {
		s.pos++
	}
}

func isLetter(c byte) bool   { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool    { return c >= '0' && c <= '9' }
func isNamePart(c byte) bool { return isLetter(c) || isDigit(c) }

func isHexDigit(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// name passes over a name. Characters beyond ASCII are reported but belong to
// it, so that a name with an accent is one mistake.
func (s *scanner) name() {
	start := s.pos
	s.skipWhile(isNamePart)
	if s.peek(0) < 128 {
		return
	}
	s.skipWhile(func(c byte) bool { return isNamePart(c) || c >= 128 })
	s.diags.Errorf(diag.Range{Start: start, End: s.pos}, "this is not a name").
		Hintf("names are made of the letters A-Z and a-z, digits and _; other characters belong in comments")
}

// number passes over a number. Letters and points that touch it belong to it,
// so that a slip of the pen is one mistake and not two tokens.
func (s *scanner) number() {
	start := s.pos
	ok := true
	if s.peek(0) == '0' && (s.peek(1) == 'x' || s.peek(1) == 'X') {
		s.pos += 2
		digits := s.pos
		s.skipWhile(isHexDigit)
		ok = s.pos > digits
	} else {
		s.skipWhile(isDigit)
		if s.peek(0) == '.' && s.peek(1) != '.' {
			s.pos++
			s.skipWhile(isDigit)
		}
		if c := s.peek(0); c == 'e' || c == 'E' {
			s.pos++
			if c := s.peek(0); c == '+' || c == '-' {
				s.pos++
			}
			digits := s.pos
			s.skipWhile(isDigit)
			ok = s.pos > digits
		}
		if c := s.peek(0); c == 'f' || c == 'F' {
			s.pos++
		}
	}
	for isNamePart(s.peek(0)) || s.peek(0) == '.' && isDigit(s.peek(1)) {
		ok = false
		s.pos++
	}
	if !ok {
		s.diags.Errorf(diag.Range{Start: start, End: s.pos}, "%q is not a number", s.text[start:s.pos])
	}
}

func (s *scanner) blockComment() {
	start := s.pos
	end := strings.Index(s.text[s.pos+2:], "*/")
	if end < 0 {
		s.diags.Errorf(diag.Range{Start: start, End: start + 2}, "this comment has no end").
			Hintf("end it with */")
		s.pos = len(s.text)
	} else {
		s.pos += 2 + end + 2
	}
	s.line += strings.Count(s.text[start:s.pos], "\n")
}

var twoChar = map[string]Kind{
	"&&": AndAnd, "||": OrOr, "==": Eq, "!=": Ne, "<=": Le, ">=": Ge, "+=": AddAssign, "-=": SubAssign,
	"*=": MulAssign, "/=": DivAssign, "&=": AndAssign, "|=": OrAssign, "..": DotDot,
}

var oneChar = [128]Kind{
	'+': Plus, '-': Minus, '*': Star, '/': Slash, '%': Percent, '^': Caret, '&': Amp, '|': Bar, '!': Bang,
	'<': Lt, '>': Gt, '=': Assign, '?': Question, ':': Colon, ';': Semicolon, ',': Comma, '.': Dot, '#': Hash,
	'(': LParen, ')': RParen, '[': LBracket, ']': RBracket, '{': LBrace, '}': RBrace,
}

// operator returns the operator at the current place, or EOF if none is there.
func (s *scanner) operator() Kind {
	if s.pos+2 <= len(s.text) {
		if k, ok := twoChar[s.text[s.pos:s.pos+2]]; ok {
			s.pos += 2
			return k
		}
	}
	c := s.text[s.pos]
	if c >= 128 || oneChar[c] == EOF {
		return EOF
	}
	s.pos++
	return oneChar[c]
}

// strange reports a run of bytes that begin no token, once.
func (s *scanner) strange() {
	start := s.pos
	s.skipWhile(func(c byte) bool {
		return c < 128 && !isNamePart(c) && oneChar[c] == EOF && !strings.ContainsRune(" \t\r\n", rune(c))
	})
	s.diags.Errorf(diag.Range{Start: start, End: s.pos}, "%q means nothing here", clipped(s.text[start:s.pos]))
}
