package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Value is what a parameter may be: a number, a text or, in expressions, a list.
type Value struct {
	kind   kind
	number float64 // of a whole number, too, if it has no more than 53 bits
	text   string
	list   []Value
}

type kind byte

const (
	nothing kind = iota
	truth        // number is 0 or 1
	whole
	decimal
	text
	list
)

// maxWhole is the greatest whole number that every arithmetic here keeps exact.
const maxWhole = 1 << 53

// Whole returns a whole number.
func Whole(n int64) Value { return Value{kind: whole, number: float64(n)} }

// Decimal returns a number that may have a fraction.
func Decimal(x float64) Value { return Value{kind: decimal, number: x} }

// Text returns a text.
func Text(s string) Value { return Value{kind: text, text: s} }

// Truth returns true or false.
func Truth(b bool) Value {
	if b {
		return Value{kind: truth, number: 1}
	}
	return Value{kind: truth}
}

func (v Value) isNumber() bool { return v.kind == truth || v.kind == whole || v.kind == decimal }

// String returns the value as Python would print it; a text stands without
// quotes.
func (v Value) String() string {
	switch v.kind {
	case nothing:
		return "None"
	case truth:
		if v.number != 0 {
			return "True"
		}
		return "False"
	case whole:
		return strconv.FormatInt(int64(v.number), 10)
	case decimal:
		return strconv.FormatFloat(v.number, 'g', -1, 64)
	case text:
		return v.text
	case list:
		return fmt.Sprint(v.list)
	}
	panic("replay: a value of no kind")
}

// same reports whether two values are one, as Python's == does: 1, 1.0 and True
// are.
func (v Value) same(w Value) bool {
	if v.isNumber() && w.isNumber() {
		return v.number == w.number
	}
	if v.kind != w.kind || v.text != w.text || len(v.list) != len(w.list) {
		return false
	}
	for i := range v.list {
		if !v.list[i].same(w.list[i]) {
			return false
		}
	}
	return true
}

// id is the same for values that are the same. Lists have none.
func (v Value) id() string {
	if v.isNumber() {
		return strconv.FormatFloat(v.number, 'g', -1, 64)
	}
	return "'" + v.String()
}

// order puts numbers first, ascending, and leaves words as they are.
func order(v, w Value) int {
	switch {
	case v.isNumber() && w.isNumber():
		return cmp.Compare(v.number, w.number)
	case v.isNumber():
		return -1
	case w.isNumber():
		return 1
	}
	return 0
}

// MarshalJSON writes the value as JSON has it.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.kind {
	case nothing:
		return []byte("null"), nil
	case truth:
		return strconv.AppendBool(nil, v.number != 0), nil
	case whole, decimal:
		return json.Marshal(v.number)
	case text:
		return json.Marshal(v.text)
	}
	return nil, fmt.Errorf("a list is no parameter's value")
}

// fromJSON returns the value of a parameter that a decoder has read with
// UseNumber.
func fromJSON(x any) (Value, error) {
	switch x := x.(type) {
	case bool:
		return Truth(x), nil
	case string:
		return Text(x), nil
	case json.Number:
		f, err := x.Float64()
		if err != nil {
			return Value{}, fmt.Errorf("%s is out of range", x)
		}
		if f == math.Trunc(f) && math.Abs(f) <= maxWhole {
			return Value{kind: whole, number: f}, nil
		}
		return Decimal(f), nil
	case nil:
		return Text("None"), nil
	}
	return Value{}, fmt.Errorf("a value is a number, a text, true or false")
}
