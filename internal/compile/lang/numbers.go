package lang

import (
	"math"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// untyped is the type of a literal with a point and of what is made of such
// literals and integers alone: it becomes the floating-point type that it
// meets.
const untyped types.Type = 255

// promote returns the type that arithmetic on a value of type t has.
func promote(t types.Type) types.Type {
	if t == types.Bool || t == types.U8 {
		return types.I32
	}
	return t
}

// combine returns the type of arithmetic on two values.
func combine(a, b types.Type) types.Type {
	if a == types.Invalid || b == types.Invalid {
		return types.Invalid
	}
	for _, t := range []types.Type{types.F64, types.F32, untyped} {
		if a == t || b == t {
			return t
		}
	}
	return types.I32
}

// real returns the floating-point type that a function of a value of type t
// is computed in.
func real(t types.Type) types.Type {
	if t == types.Invalid || t.IsFloat() {
		return t
	}
	return untyped
}

func isFloating(t types.Type) bool { return t == untyped || t.IsFloat() }

// isReal reports whether a number has a point, an exponent or the suffix f.
func isReal(text string) bool {
	return !strings.HasPrefix(text, "0x") && !strings.HasPrefix(text, "0X") && strings.ContainsAny(text, ".eEfF")
}

func realText(text string) string { return strings.TrimRight(text, "fF") }

func (c *checker) numberType(x *NumberLit) types.Type {
	if !isReal(x.Text) {
		if _, ok := c.intLit(x, false); !ok {
			return types.Invalid
		}
		return types.I32
	}
	v, err := strconv.ParseFloat(realText(x.Text), 64)
	if err != nil || math.IsInf(v, 0) {
		c.diags.Errorf(x.Span(), "%s is larger than any double", clipped(x.Text))
		return types.Invalid
	}
	return untyped
}

// intLit returns the value of an integer literal; negated if a minus stands
// before it.
func (c *checker) intLit(x *NumberLit, negated bool) (int64, bool) {
	if isReal(x.Text) {
		c.diags.Errorf(x.Span(), "a whole number is due here")
		return 0, false
	}
	limit := int64(math.MaxInt32)
	if negated {
		limit++
	}
	v, ok := parseInt(x.Text)
	if !ok || v > limit {
		c.diags.Errorf(x.Span(), "%s does not fit in an int, whose largest value is %d", clipped(x.Text), math.MaxInt32)
		return 0, false
	}
	if negated {
		v = -v
	}
	return v, true
}

// parseInt returns the value of an integer's text, unless it is out of reach.
func parseInt(text string) (int64, bool) {
	base := 10
	if len(text) > 1 && (text[1] == 'x' || text[1] == 'X') {
		text, base = text[2:], 16
	}
	v, err := strconv.ParseInt(text, base, 33)
	return v, err == nil
}

// isLowest reports whether x is the literal that only fits with a minus.
func isLowest(x Expr) bool {
	n, ok := x.(*NumberLit)
	return ok && !isReal(n.Text) && strings.TrimLeft(n.Text, "0") == "2147483648"
}

func typeWord(t types.Type) string {
	switch t {
	case untyped:
		return "a number with a fraction"
	case types.I32:
		return "an int"
	}
	return "a " + t.Word()
}
