package ir

import (
	"fmt"
	"strings"
)

// Affine is an integer combination of a program's parameters and a constant:
// the form of every size and every domain bound.
//
// Example printed form:
//
//	2*N+1
type Affine struct {
	Const int64
	Terms []Term // by ascending parameter index, no zero coefficients
}

// Term is one parameter with its coefficient.
type Term struct {
	Param int // index in Program.Params
	Coef  int64
}

// Num returns the constant c.
func Num(c int64) Affine { return Affine{Const: c} }

// ParamAffine returns the parameter of that index.
func ParamAffine(param int) Affine { return Affine{Terms: []Term{{param, 1}}} }

// Plus returns a + b.
func (a Affine) Plus(b Affine) Affine {
	out := Affine{Const: a.Const + b.Const}
	i, j := 0, 0
	for i < len(a.Terms) || j < len(b.Terms) {
		var t Term
		switch {
		case j == len(b.Terms) || i < len(a.Terms) && a.Terms[i].Param < b.Terms[j].Param:
			t, i = a.Terms[i], i+1
		case i == len(a.Terms) || b.Terms[j].Param < a.Terms[i].Param:
			t, j = b.Terms[j], j+1
		default:
			t = Term{a.Terms[i].Param, a.Terms[i].Coef + b.Terms[j].Coef}
			i, j = i+1, j+1
		}
		if t.Coef != 0 {
			out.Terms = append(out.Terms, t)
		}
	}
	return out
}

// Add returns a + c.
func (a Affine) Add(c int64) Affine { return Affine{Const: a.Const + c, Terms: a.Terms} }

// Times returns c * a.
func (a Affine) Times(c int64) Affine {
	if c == 0 {
		return Affine{}
	}
	out := Affine{Const: c * a.Const}
	for _, t := range a.Terms {
		out.Terms = append(out.Terms, Term{t.Param, c * t.Coef})
	}
	return out
}

// Minus returns a - b.
func (a Affine) Minus(b Affine) Affine { return a.Plus(b.Times(-1)) }

// IsConst reports whether a holds no parameter.
func (a Affine) IsConst() bool { return len(a.Terms) == 0 }

// Diff returns a - b where that is the same for all sizes.
func (a Affine) Diff(b Affine) (int64, bool) {
	d := a.Minus(b)
	return d.Const, d.IsConst()
}

// NeverNegative reports whether a is at least 0 for all sizes, which are at
// least 1.
func (a Affine) NeverNegative() bool {
	for _, t := range a.Terms {
		if t.Coef < 0 {
			return false
		}
	}
	return a.least() >= 0
}

// Above returns what is at least a and at least b for all sizes, the lesser the
// better: one of them if that can be seen.
func Above(a, b Affine) Affine {
	// In terms of sizes less 1, which are never negative, the greater of each
	// two coefficients is on the safe side.
	out := Affine{Terms: b.Terms}
	for _, t := range a.Minus(b).Terms {
		if t.Coef > 0 {
			out = out.Plus(Affine{Terms: []Term{t}})
		}
	}
	return out.Add(max(a.least(), b.least()) - out.least())
}

// Below returns what is at most a and at most b for all sizes.
func Below(a, b Affine) Affine { return Above(a.Times(-1), b.Times(-1)).Times(-1) }

// least returns the value for sizes of 1, the least if no coefficient is
// negative.
func (a Affine) least() int64 {
	v := a.Const
	for _, t := range a.Terms {
		v += t.Coef
	}
	return v
}

// Equal reports whether a and b are the same for all sizes.
func (a Affine) Equal(b Affine) bool {
	d, ok := a.Diff(b)
	return ok && d == 0
}

// Eval returns the value for the given parameter values.
func (a Affine) Eval(params []int64) int64 {
	v := a.Const
	for _, t := range a.Terms {
		v += t.Coef * params[t.Param]
	}
	return v
}

// Text prints a with the parameters' names.
func (a Affine) Text(params []*Param) string {
	var b strings.Builder
	for _, t := range a.Terms {
		switch {
		case t.Coef == 1 && b.Len() > 0:
			b.WriteString("+")
		case t.Coef == 1:
		case t.Coef == -1:
			b.WriteString("-")
		case t.Coef > 0 && b.Len() > 0:
			fmt.Fprintf(&b, "+%d*", t.Coef)
		default:
			fmt.Fprintf(&b, "%d*", t.Coef)
		}
		b.WriteString(params[t.Param].Name)
	}
	switch {
	case b.Len() == 0:
		return fmt.Sprint(a.Const)
	case a.Const != 0:
		fmt.Fprintf(&b, "%+d", a.Const)
	}
	return b.String()
}
