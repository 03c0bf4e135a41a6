package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Value is what one parameter is set to: a whole number, a list of them, or a
// word. A number is a list of one.
//
// Example texts:
//
//	8
//	0x64x0
//	read-only
type Value struct {
	ints []int64
	word string
}

// Int returns the value that is a number, or with more arguments a list.
func Int(n int64, more ...int64) Value { return Value{ints: append([]int64{n}, more...)} }

// Word returns the value that is a word. It panics if that is not how a word
// looks: a letter, then letters, digits, '-', '_' and '.'.
func Word(word string) Value {
	if !isName(word) {
		panic(fmt.Sprintf("schedule: %q is no word", word))
	}
	return Value{word: word}
}

// Yes and No are the values of a parameter that switches something.
var (
	Yes = Word("yes")
	No  = Word("no")
)

// Numbers returns one value for each number.
func Numbers(list ...int64) []Value {
	out := make([]Value, len(list))
	for i, n := range list {
		out[i] = Int(n)
	}
	return out
}

// Words returns one value for each word.
func Words(list ...string) []Value {
	out := make([]Value, len(list))
	for i, w := range list {
		out[i] = Word(w)
	}
	return out
}

// ParseValue reads a value's canonical text.
func ParseValue(text string) (Value, error) {
	if isName(text) {
		return Value{word: text}, nil
	}
	var v Value
	for part := range strings.SplitSeq(text, "x") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != part {
			return Value{}, fmt.Errorf("%q is neither a whole number, nor a list of them like 64x4, nor a word", text)
		}
		v.ints = append(v.ints, n)
	}
	return v, nil
}

// String returns the canonical text.
func (v Value) String() string {
	if v.word != "" {
		return v.word
	}
	text := make([]byte, 0, 24)
	for i, n := range v.ints {
		if i > 0 {
			text = append(text, 'x')
		}
		text = strconv.AppendInt(text, n, 10)
	}
	return string(text)
}

// IsNumber reports whether the value is a number or a list of them.
func (v Value) IsNumber() bool { return v.word == "" }

// Ints returns the numbers of a value that is no word.
func (v Value) Ints() []int64 { return slices.Clone(v.ints) }

// Equal reports whether two values have the same text.
func (v Value) Equal(w Value) bool { return v.word == w.word && slices.Equal(v.ints, w.ints) }

// isName reports whether text may name a parameter, a family or a call, or be
// a word.
func isName(text string) bool {
	for i, c := range []byte(text) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		other := c >= '0' && c <= '9' || c == '-' || c == '.'
		if !letter && (i == 0 || !other) {
			return false
		}
	}
	return text != ""
}
