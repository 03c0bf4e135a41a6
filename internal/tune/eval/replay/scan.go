package replay

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// exprError is a mistake in an expression.
type exprError struct {
	text   string
	column int // from 1
	what   string
}

func (e *exprError) Error() string {
	return fmt.Sprintf("column %d of %q: %s", e.column, e.text, e.what)
}

// lexeme is a piece of an expression's text.
type lexeme struct {
	kind   lexKind
	text   string
	value  Value
	column int
}

type lexKind byte

const (
	lexEnd lexKind = iota
	lexName
	lexValue
	lexSign // operators, brackets and the words that are operators
)

// signs are the operators, longer ones first.
var signs = []string{"**", "//", "==", "!=", "<=", ">=", "<<", ">>", "+", "-", "*", "/", "%", "<", ">", "(", ")", "[",
	"]", ",", "&", "|", "^", "~"}

var wordSigns = map[string]bool{"and": true, "or": true, "not": true, "in": true, "is": true, "if": true, "else": true,
	"for": true}

// scan parts the text of an expression.
func scan(s string) ([]lexeme, error) {
	var out []lexeme
	for i := 0; i < len(s); {
		column := i + 1
		c := s[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case isLetter(c):
			j := i
			for j < len(s) && (isLetter(s[j]) || isDigit(s[j])) {
				j++
			}
			out = append(out, named(s[i:j], column))
			i = j
			continue
		case isDigit(c) || c == '.' && i+1 < len(s) && isDigit(s[i+1]):
			v, n, err := scanNumber(s, i)
			if err != nil {
				return nil, err
			}
			out = append(out, lexeme{kind: lexValue, value: v, column: column})
			i += n
			continue
		case c == '"' || c == '\'':
			end := strings.IndexByte(s[i+1:], c)
			if end < 0 || strings.ContainsRune(s[i+1:i+1+end], '\\') {
				return nil, &exprError{s, column, "a text that does not end, or has a backslash in it"}
			}
			out = append(out, lexeme{kind: lexValue, value: Text(s[i+1 : i+1+end]), column: column})
			i += end + 2
			continue
		}
		sign := ""
		for _, x := range signs {
			if strings.HasPrefix(s[i:], x) {
				sign = x
				break
			}
		}
		if sign == "" {
			return nil, &exprError{s, column, fmt.Sprintf("%q means nothing here", c)}
		}
		out = append(out, lexeme{kind: lexSign, text: sign, column: column})
		i += len(sign)
	}
	return append(out, lexeme{kind: lexEnd, text: "the end", column: len(s) + 1}), nil
}

func named(s string, column int) lexeme {
	switch {
	case wordSigns[s]:
		return lexeme{kind: lexSign, text: s, column: column}
	case s == "True" || s == "False":
		return lexeme{kind: lexValue, value: Truth(s == "True"), column: column}
	case s == "None":
		return lexeme{kind: lexValue, column: column}
	}
	return lexeme{kind: lexName, text: s, column: column}
}

// scanNumber returns the number at i and its length.
func scanNumber(s string, i int) (Value, int, error) {
	j := i
	for j < len(s) && (isDigit(s[j]) || isLetter(s[j]) || s[j] == '.' || (s[j] == '+' || s[j] == '-') &&
		(s[j-1] == 'e' || s[j-1] == 'E') && !strings.HasPrefix(s[i:], "0x")) {
		j++
	}
	digits := s[i:j]
	if n, err := strconv.ParseInt(digits, 0, 64); err == nil && n <= maxWhole {
		return Whole(n), j - i, nil
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(f, 0) || !strings.ContainsAny(digits, ".eE") {
		return Value{}, 0, &exprError{s, i + 1, fmt.Sprintf("%s is no number, or too great a one", digits)}
	}
	return Decimal(f), j - i, nil
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
