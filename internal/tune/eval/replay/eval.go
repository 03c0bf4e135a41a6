package replay

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// maxSteps bounds what one evaluation may do.
const maxSteps = 1 << 22

// Eval computes the expression's value; lookup gives names their values.
func (e *Expr) Eval(lookup func(name string) (Value, bool)) (Value, error) {
	return (&evaluation{text: e.text, lookup: lookup}).value(e.root)
}

// Names returns the names that the expression needs, in their order.
func (e *Expr) Names() []string {
	var list []string
	var walk func(n node, bound []string)
	walk = func(n node, bound []string) {
		switch n := n.(type) {
		case name:
			if !slices.Contains(bound, n.name) && !slices.Contains(list, n.name) {
				list = append(list, n.name)
			}
		case comprehension:
			for _, c := range n.clauses {
				walk(c.in, bound)
				bound = append(slices.Clone(bound), c.name)
				for _, x := range c.ifs {
					walk(x, bound)
				}
			}
			walk(n.item, bound)
		default:
			for _, x := range children(n) {
				walk(x, bound)
			}
		}
	}
	walk(e.root, nil)
	return list
}

func children(n node) []node {
	switch n := n.(type) {
	case literal, name, comprehension:
		return nil
	case sequence:
		return n.items
	case unary:
		return []node{n.a}
	case binary:
		return []node{n.a, n.b}
	case comparison:
		return append([]node{n.first}, n.rest...)
	case choice:
		return []node{n.c, n.a, n.b}
	case call:
		return n.args
	}
	panic(fmt.Sprintf("replay: children of %T", n))
}

type evaluation struct {
	text   string
	lookup func(string) (Value, bool)
	bound  []binding
	steps  int
}

// binding is a name that a comprehension runs over.
type binding struct {
	name  string
	value Value
}

func (e *evaluation) errorf(n node, format string, args ...any) error {
	return &exprError{e.text, n.at(), fmt.Sprintf(format, args...)}
}

func (e *evaluation) value(n node) (Value, error) {
	if e.steps++; e.steps > maxSteps {
		return Value{}, e.errorf(n, "the expression takes more than %d steps", maxSteps)
	}
	switch n := n.(type) {
	case literal:
		return n.value, nil
	case name:
		return e.name(n)
	case sequence:
		items, err := e.values(n.items)
		return Value{kind: list, list: items}, err
	case comprehension:
		var items []Value
		err := e.comprehend(n, n.clauses, &items)
		return Value{kind: list, list: items}, err
	case unary:
		return e.unary(n)
	case binary:
		return e.binary(n)
	case comparison:
		return e.comparison(n)
	case choice:
		c, err := e.value(n.c)
		if err != nil {
			return Value{}, err
		}
		if c.true() {
			return e.value(n.a)
		}
		return e.value(n.b)
	case call:
		args, err := e.values(n.args)
		if err != nil {
			return Value{}, err
		}
		v, err := functions[n.f](args)
		if err != nil {
			return Value{}, e.errorf(n, "%s: %v", n.f, err)
		}
		e.steps += len(v.list)
		return v, nil
	}
	panic(fmt.Sprintf("replay: the value of %T", n))
}

func (e *evaluation) values(nodes []node) ([]Value, error) {
	out := make([]Value, len(nodes))
	for i, n := range nodes {
		v, err := e.value(n)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func (e *evaluation) name(n name) (Value, error) {
	for _, b := range slices.Backward(e.bound) {
		if b.name == n.name {
			return b.value, nil
		}
	}
	if e.lookup != nil {
		if v, ok := e.lookup(n.name); ok {
			return v, nil
		}
	}
	return Value{}, e.errorf(n, "nothing is called %s", n.name)
}

func (e *evaluation) comprehend(n comprehension, clauses []clause, into *[]Value) error {
	if len(clauses) == 0 {
		v, err := e.value(n.item)
		*into = append(*into, v)
		return err
	}
	c := clauses[0]
	in, err := e.value(c.in)
	if err != nil {
		return err
	}
	if in.kind != list {
		return e.errorf(c.in, "for runs over a list, not over %s", in)
	}
	e.bound = append(e.bound, binding{name: c.name})
	defer func() { e.bound = e.bound[:len(e.bound)-1] }()
items:
	for _, v := range in.list {
		e.bound[len(e.bound)-1].value = v
		for _, x := range c.ifs {
			v, err := e.value(x)
			if err != nil {
				return err
			}
			if !v.true() {
				continue items
			}
		}
		if err := e.comprehend(n, clauses[1:], into); err != nil {
			return err
		}
	}
	return nil
}

// true reports whether Python takes a value for true.
func (v Value) true() bool {
	return v.isNumber() && v.number != 0 || v.text != "" || len(v.list) > 0
}

func (e *evaluation) unary(n unary) (Value, error) {
	a, err := e.value(n.a)
	if err != nil {
		return a, err
	}
	if n.op == "not" {
		return Truth(!a.true()), nil
	}
	if !a.isNumber() {
		return a, e.errorf(n, "%s needs a number, not %s", n.op, a)
	}
	switch n.op {
	case "-":
		a.number = -a.number
	case "~":
		if a.kind == decimal {
			return a, e.errorf(n, "~ needs a whole number, not %s", a)
		}
		a.number = -a.number - 1
	}
	if a.kind == truth {
		a.kind = whole
	}
	return a, nil
}

func (e *evaluation) binary(n binary) (Value, error) {
	a, err := e.value(n.a)
	if err != nil {
		return a, err
	}
	switch {
	case n.op == "and" && !a.true(), n.op == "or" && a.true():
		return a, nil
	}
	b, err := e.value(n.b)
	if err != nil || n.op == "and" || n.op == "or" {
		return b, err
	}
	switch {
	case n.op == "[]":
		return e.subscript(n, a, b)
	case n.op == "+" && a.kind == list && b.kind == list:
		e.steps += len(a.list) + len(b.list)
		return Value{kind: list, list: slices.Concat(a.list, b.list)}, nil
	case n.op == "+" && a.kind == text && b.kind == text:
		return Text(a.text + b.text), nil
	case n.op == "*" && a.kind == list && b.kind == whole && b.number*float64(len(a.list)) < maxSteps:
		e.steps += len(a.list) * max(0, int(b.number))
		return Value{kind: list, list: slices.Repeat(a.list, max(0, int(b.number)))}, nil
	case !a.isNumber() || !b.isNumber():
		return a, e.errorf(n, "%s %s %s: %s needs numbers", a, n.op, b, n.op)
	}
	v, err := arithmetic(n.op, a, b)
	if err != nil {
		return v, e.errorf(n, "%s %s %s: %v", a, n.op, b, err)
	}
	return v, nil
}

func (e *evaluation) subscript(n binary, a, b Value) (Value, error) {
	if a.kind != list || b.kind != whole && b.kind != truth {
		return a, e.errorf(n, "a list and a whole number are expected, not %s[%s]", a, b)
	}
	i := int(b.number)
	if i < 0 {
		i += len(a.list)
	}
	if i < 0 || i >= len(a.list) {
		return a, e.errorf(n, "a list of %d has no item %s", len(a.list), b)
	}
	return a.list[i], nil
}

// arithmetic computes as Python does: / is exact division, // and % round down.
func arithmetic(op string, a, b Value) (Value, error) {
	x, y := a.number, b.number
	isWhole := a.kind != decimal && b.kind != decimal
	switch op {
	case "/", "//", "%":
		if y == 0 {
			return Value{}, fmt.Errorf("division by zero")
		}
	case "&", "|", "^", "<<", ">>":
		if !isWhole {
			return Value{}, fmt.Errorf("whole numbers are needed")
		}
	}
	var z float64
	switch op {
	case "+":
		z = x + y
	case "-":
		z = x - y
	case "*":
		z = x * y
	case "/":
		z, isWhole = x/y, false
	case "//":
		z = floorDiv(x, y)
	case "%":
		z = math.Mod(x, y)
		if z != 0 && (z < 0) != (y < 0) {
			z += y
		}
	case "**":
		z, isWhole = math.Pow(x, y), isWhole && y >= 0
	case "&":
		z = float64(int64(x) & int64(y))
	case "|":
		z = float64(int64(x) | int64(y))
	case "^":
		z = float64(int64(x) ^ int64(y))
	case "<<", ">>":
		if y < 0 {
			return Value{}, fmt.Errorf("a shift by less than nothing")
		}
		if op == ">>" {
			y = -y
		}
		z = math.Floor(math.Ldexp(x, int(max(-2000, min(y, 2000)))))
	default:
		panic("replay: the operator " + op)
	}
	if math.IsNaN(z) || math.IsInf(z, 0) || isWhole && math.Abs(z) > maxWhole {
		return Value{}, fmt.Errorf("the result is out of range")
	}
	if isWhole {
		return Value{kind: whole, number: z}, nil
	}
	return Decimal(z), nil
}

// floorDiv returns the floor of x / y without the rounding of the quotient.
func floorDiv(x, y float64) float64 {
	r := math.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return math.Round((x - r) / y)
}

func (e *evaluation) comparison(n comparison) (Value, error) {
	a, err := e.value(n.first)
	if err != nil {
		return a, err
	}
	for i, op := range n.ops {
		b, err := e.value(n.rest[i])
		if err != nil {
			return b, err
		}
		holds := false
		switch {
		case op == "==" || op == "!=":
			holds = a.same(b) == (op == "==")
		case op == "in" || op == "not in":
			if b.kind != list {
				return b, e.errorf(n, "%s needs a list, not %s", op, b)
			}
			e.steps += len(b.list)
			holds = slices.ContainsFunc(b.list, a.same) == (op == "in")
		case a.isNumber() && b.isNumber():
			holds = compares(op, a.number-b.number)
		case a.kind == text && b.kind == text:
			holds = compares(op, float64(strings.Compare(a.text, b.text)))
		default:
			return b, e.errorf(n, "%s and %s have no order", a, b)
		}
		if !holds {
			return Truth(false), nil
		}
		a = b
	}
	return Truth(true), nil
}

// compares tells from the sign of a difference.
func compares(op string, difference float64) bool {
	switch op {
	case "<":
		return difference < 0
	case "<=":
		return difference <= 0
	case ">":
		return difference > 0
	case ">=":
		return difference >= 0
	}
	panic("replay: the comparison " + op)
}

// functionNames lists what can be called.
func functionNames() string {
	return strings.Join(slices.Sorted(maps.Keys(functions)), ", ")
}
