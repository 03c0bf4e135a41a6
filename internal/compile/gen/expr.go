package gen

import (
	"fmt"
	"slices"
	"strings"
)

// expr is an expression as text, with the precedence of its outermost operator
// and a bound on the magnitude of a real value.
type expr struct {
	text  string
	prec  int
	bound float64
}

// Precedences of the language, loosest first.
const (
	precSelect = iota
	precOr
	precAnd
	precBitOr
	precBitAnd
	precEqual
	precCompare
	precSum
	precProduct
	precUnary
	precPower
	precAtom
)

// as returns e as an operand that binds at least as tightly as prec.
func (e expr) as(prec int) string {
	if e.prec < prec {
		return "(" + e.text + ")"
	}
	return e.text
}

func atom(text string, bound float64) expr { return expr{text, precAtom, bound} }

func (m *maker) infix(x expr, sign string, y expr, prec int, bound float64) expr {
	// Superfluous parentheses now and then: they mean nothing.
	right := y.as(prec + 1)
	if m.chance(10) {
		right = "(" + y.text + ")"
	}
	return expr{x.as(prec) + pick(m, " "+sign+" ", sign) + right, prec, bound}
}

// array is a grid as a stencil or an initial block sees it.
type array struct {
	*family
	name   string // how it is written here
	grid   string // the global that it stands for; "" for a local grid
	formal bool
	used   bool
	offset bool // read at another cell
}

// local is a scalar local.
type local struct {
	name  string
	typ   string
	bound float64
	axes  []int
}

// scope is what a statement may read.
type scope struct {
	arrays  []*array
	locals  []*local
	scalars []*scalar
	tables  []*table
	formals []*argument
	axes    []int  // on which the value may vary
	target  string // the name that the statement assigns
	color   *color // of a coloured update
	thin    []int  // axes on which the statement runs over a few cells at a fixed place
	step    bool   // step may be used
	initial bool
	vars    []string // bound by sums, with values from 1 to 2
}

// color is the condition of a coloured update.
type color struct {
	coef map[int]int // by axis
	mod  int
}

// argument is a scalar formal.
type argument struct {
	name  string
	real  bool
	bound float64
	used  bool
}

// real makes an expression that is a double or a float, or becomes one beside
// others.
func (m *maker) real(s *scope, depth int) expr {
	if depth <= 0 {
		return m.realLeaf(s)
	}
	switch m.IntN(20) {
	case 0, 1, 2, 3, 4:
		return m.weighted(s, depth)
	case 5, 6:
		x, y := m.real(s, depth-1), m.real(s, depth-1)
		return m.infix(x, pick(m, "+", "-"), y, precSum, x.bound+y.bound)
	case 7, 8:
		x, y := m.real(s, depth-1), m.real(s, depth-1)
		return m.tame(m.infix(x, "*", y, precProduct, x.bound*y.bound))
	case 9:
		x, y := m.real(s, depth-1), m.real(s, depth-2)
		if m.chance(3) { // a divisor that many cells may have in common
			divisor := pick(m, "3", "0.7", "1.1", "2")
			if u, ok := m.uniform(s, true); ok && m.chance(2) {
				divisor = "(1.5 + abs(" + u.text + "))"
			}
			return m.tame(expr{x.as(precProduct) + "/" + divisor, precProduct, 1.5 * x.bound})
		}
		return expr{x.as(precProduct) + "/(1.5 + abs(" + y.text + "))", precProduct, x.bound}
	case 10:
		x, y := m.real(s, depth-1), m.real(s, depth-1)
		f := pick(m, "min", "max", "fmin", "fmax")
		if f[0] == 'm' && m.chance(4) {
			return atom(fmt.Sprintf("%s(%s, %s, %s)", f, x.text, y.text, m.realLeaf(s).text),
				max(x.bound, y.bound, limit))
		}
		return atom(fmt.Sprintf("%s(%s, %s)", f, x.text, y.text), max(x.bound, y.bound))
	case 11, 12:
		c, x, y := m.truth(s, depth-1), m.real(s, depth-1), m.real(s, depth-1)
		return expr{c.as(precOr) + " ? " + x.as(precOr) + " : " + y.as(precSelect), precSelect, max(x.bound, y.bound)}
	case 13:
		return m.function(s, depth)
	case 14:
		x := m.tame(m.realLeaf(s))
		switch m.IntN(4) {
		case 0:
			return expr{"(1.5 + abs(" + x.text + "))^-" + fmt.Sprint(1+m.IntN(2)), precPower, 1}
		case 1:
			return expr{"(0.25*" + x.as(precProduct) + ")^3", precPower, 1}
		}
		return m.tame(expr{x.as(precAtom) + "^2", precPower, x.bound * x.bound})
	case 15:
		x := m.real(s, depth-1)
		return expr{"-" + x.as(precPower), precUnary, x.bound}
	case 16:
		return m.sum(s, depth)
	case 17:
		x := m.real(s, depth-1)
		return atom(fmt.Sprintf("%s(%s)", pick(m, "double", "float"), x.text), x.bound)
	case 18:
		n := m.whole(s, depth-1)
		k := 3 + m.IntN(9)
		return expr{fmt.Sprintf("%s*(%s %% %d)", pick(m, "0.1", "0.25"), n.as(precProduct), k), precProduct,
			0.25 * float64(k)}
	}
	return m.realLeaf(s)
}

// tame scales what has grown large.
func (m *maker) tame(x expr) expr {
	if x.bound <= 4*limit {
		return x
	}
	return expr{"0.05*" + x.as(precUnary), precProduct, 0.05 * x.bound}
}

// weighted is a sum of reads with unlike weights, the heart of most stencils.
func (m *maker) weighted(s *scope, depth int) expr {
	var reads []expr
	for range 2 + m.IntN(2+depth) {
		reads = append(reads, m.realLeaf(s))
	}
	return m.combined(reads)
}

// ends is such a sum of what unlike grids have along their rows, as a rule
// beyond the ends.
func (m *maker) ends(s *scope, depth int) expr {
	var grids []*array
	for _, a := range s.arrays {
		if a.typ != "bool" && len(a.axes) == len(m.axes) && m.readable(s, a) {
			grids = append(grids, a)
		}
	}
	if len(grids) < 2 {
		return m.real(s, depth)
	}
	m.Shuffle(len(grids), func(i, j int) { grids[i], grids[j] = grids[j], grids[i] })
	var reads []expr
	for n := range 3 + m.IntN(2) {
		a := grids[n%min(len(grids), 3)]
		reads = append(reads, m.number(a, m.access(s, a, onOne, len(a.axes)-1)))
	}
	return m.combined(reads)
}

// combined is the sum of some values with unlike weights.
func (m *maker) combined(values []expr) expr {
	var text strings.Builder
	bound := 0.0
	for n, x := range values {
		w := 1 + m.IntN(9)
		switch {
		case n == 0:
		case m.chance(3):
			text.WriteString(" - ")
		default:
			text.WriteString(" + ")
		}
		fmt.Fprintf(&text, "0.%d*%s", w, x.as(precUnary))
		bound += float64(w) / 10 * x.bound
	}
	return m.tame(expr{text.String(), precSum, bound})
}

func (m *maker) realLeaf(s *scope) expr {
	for range 4 {
		switch m.IntN(10) {
		case 0:
			return atom(m.literal(), 1)
		case 1, 9:
			if l := choose(m, s.locals,
				func(l *local) bool { return l.bound >= 0 && subset(l.axes, s.axes) }); l != nil {
				return atom(l.name, l.bound)
			}
		case 2:
			if x, ok := m.uniform(s, true); ok {
				return x
			}
		case 3:
			if len(s.axes) > 0 && m.chance(2) {
				a := m.axes[s.axes[m.IntN(len(s.axes))]]
				// Positions go up to 70.
				return expr{fmt.Sprintf("0.01*%s", a), precProduct, 0.7}
			}
		default:
			a := m.source(s, func(a *array) bool { return a.real() || m.alike != nil && a.typ != "bool" })
			if a != nil {
				return m.number(a, m.read(s, a))
			}
		}
	}
	return atom(m.literal(), 1)
}

// number is what is read of a grid, as a real number.
func (m *maker) number(a *array, read string) expr {
	if a.real() {
		return atom(read, limit)
	}
	return expr{"0.1*(" + read + " % 7)", precProduct, 0.7}
}

// uniform is a scalar, formal or global, of a real or a whole type.
func (m *maker) uniform(s *scope, real bool) (expr, bool) {
	if f := choose(m, s.formals, func(f *argument) bool { return f.real == real }); f != nil && m.chance(2) {
		f.used = true
		return atom(f.name, f.bound), true
	}
	g := choose(m, s.scalars, func(g *scalar) bool { return (g.typ != "int") == real })
	switch {
	case g == nil:
		return expr{}, false
	case !g.reduced:
		return atom(g.name, g.bound), true
	}
	if real {
		return expr{fmt.Sprintf("%s/(1.0 + abs(%s))", g.name, g.name), precProduct, 1}, true
	}
	return atom(g.name, 0), true
}

// choose returns one of those that fit, or nil.
func choose[T any](m *maker, all []*T, fits func(*T) bool) *T {
	var some []*T
	for _, x := range all {
		if fits(x) {
			some = append(some, x)
		}
	}
	if some == nil {
		return nil
	}
	return some[m.IntN(len(some))]
}

func subset(some, all []int) bool {
	for _, a := range some {
		if !slices.Contains(all, a) {
			return false
		}
	}
	return true
}

// readable reports whether a may be read here: a grid that is written keeps to
// its own cell, unless the update is coloured.
func (m *maker) readable(s *scope, a *array) bool {
	return a.name != s.target || subset(a.axes, s.axes)
}

// source chooses an array to read, a local grid rather than another.
func (m *maker) source(s *scope, fits func(*array) bool) *array {
	if a := choose(m, s.arrays, func(a *array) bool { return a.grid == "" && fits(a) && m.readable(s, a) }); a != nil &&
		m.chance(3) {
		return a
	}
	return choose(m, s.arrays, func(a *array) bool { return fits(a) && m.readable(s, a) })
}

// way is on how many axes a read may be of another cell.
type way int

const (
	onNone way = iota
	onOne
	onAll
)

// read writes an access.
func (m *maker) read(s *scope, a *array) string {
	return m.access(s, a, pick(m, onNone, onOne, onOne, onAll), m.IntN(len(a.axes)))
}

// access writes one along a dimension.
func (m *maker) access(s *scope, a *array, w way, along int) string {
	a.used = true
	self := a.name == s.target
	still := self && s.color == nil || s.initial && m.chance(2)
	if self {
		w = min(w, onOne)
	}
	indices := make([]string, len(a.axes))
	for d, axis := range a.axes {
		if !slices.Contains(s.axes, axis) || !self && a.grid != "" && m.chance(40) && m.mayFix(a) {
			// The lowest index is there whatever the size.
			indices[d] = fmt.Sprint(a.dims[d].lo)
			a.offset = true
			continue
		}
		o := 0
		if !still && (w == onAll || w == onOne && d == along) {
			o = m.reach(a, d)
			if slices.Contains(s.thin, axis) && !a.bounded(d, (1+sign(o))/2) {
				o = 0
			}
			if self && o*s.color.coef[axis]%s.color.mod == 0 {
				o = 0 // a cell of the same colour
			}
		}
		if o != 0 {
			a.offset = true
			indices[d] = fmt.Sprintf("%s%+d", m.axes[axis], o)
			continue
		}
		indices[d] = m.axes[axis]
		if len(s.vars) > 0 && !still && !self && d == along && !slices.Contains(s.thin, axis) {
			a.offset = true
			indices[d] += pick(m, "+", "-") + s.vars[m.IntN(len(s.vars))]
		}
	}
	return a.name + index(m, indices)
}

// mayFix reports whether an access may keep to one place along a dimension: no span has
// such accesses to grids that it changes.
func (m *maker) mayFix(a *array) bool {
	return !m.o.Spans || a.constant || len(a.axes) < len(m.axes) || m.chance(12)
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

func index(m *maker, indices []string) string {
	if m.chance(5) {
		return "[" + strings.Join(indices, ",") + "]"
	}
	return "[" + strings.Join(indices, "][") + "]"
}

// reach is an offset: small where cells are lost to it, and now and then wide
// where a boundary serves it. Grids that are alike are rather read where they
// have boundaries.
func (m *maker) reach(a *array, d int) int {
	side := m.IntN(2)
	if m.alike != nil && !a.bounded(d, side) && !m.chance(4) {
		side = 1 - side
	}
	o := 1
	switch {
	case a.bounded(d, side) && m.chance(6):
		o = 1 + m.IntN(7)
	case m.chance(5):
		o = 2
	}
	if side == 0 {
		return -o
	}
	return o
}

// sum is a bounded sum, over a table as a rule.
func (m *maker) sum(s *scope, depth int) expr {
	v := fmt.Sprintf("r%d", len(s.vars))
	s.vars = append(s.vars, v)
	defer func() { s.vars = s.vars[:len(s.vars)-1] }()
	x := m.realLeaf(s)
	if len(s.vars) < 2 && m.chance(4) {
		x = m.sum(s, depth)
	}
	body := expr{x.as(precProduct), precProduct, x.bound}
	if t := choose(m, s.tables, func(t *table) bool { return true }); t != nil {
		entry := fmt.Sprintf("%s[%s-1]", t.name, v)
		if len(t.size) > 1 {
			entry += fmt.Sprintf("[%d]", m.IntN(2))
		}
		body = expr{entry + "*" + x.as(precUnary), precProduct, t.bound * x.bound}
	}
	if m.chance(3) {
		y := m.realLeaf(s)
		body = expr{"(" + body.text + " - " + y.as(precProduct) + ")", precAtom, body.bound + y.bound}
	}
	keyword := fmt.Sprintf("sum (%s in 1..2) ", v)
	return m.tame(expr{keyword + body.text, precProduct, 2 * body.bound})
}

// function is a call of a mathematical function that is defined for all
// arguments it can get.
func (m *maker) function(s *scope, depth int) expr {
	x := m.real(s, depth-1)
	exact := []expr{
		atom("sqrt(abs("+x.text+"))", max(1, x.bound)),
		atom("abs("+x.text+")", x.bound),
		atom("fabs("+x.text+")", x.bound),
		atom("floor("+x.text+")", x.bound+1),
		atom("ceil("+x.text+")", x.bound+1),
		atom("trunc("+x.text+")", x.bound),
		atom("round("+x.text+")", x.bound+1),
		atom("fmod("+x.text+", 0.7)", 0.7),
	}
	if m.o.Exact {
		return pick(m, exact...)
	}
	return pick(m, append(exact,
		atom("sin("+x.text+")", 1),
		atom("cosf("+x.text+")", 1),
		atom("tanh("+x.text+")", 1),
		atom("exp(-abs("+x.text+"))", 1),
		atom("log(1.5 + abs("+x.text+"))", 1+x.bound),
		atom("atan2("+x.text+", 1.25)", 1.6),
		atom("pow(1.5 + abs("+x.text+"), -0.5)", 1),
		atom("erf("+x.text+")", 1),
		atom("cbrt("+x.text+")", max(1, x.bound)),
		atom("hypot("+x.text+", 0.5)", x.bound+0.5),
		expr{"(1.5 + abs(" + x.text + "))^-0.5", precPower, 1},
	)...)
}

// whole makes an int expression. Such values may be of any size and wrap.
func (m *maker) whole(s *scope, depth int) expr {
	if depth <= 0 {
		return m.wholeLeaf(s)
	}
	if m.chance(12) {
		return atom(fmt.Sprintf("int(3.5*%s)", m.real(s, depth-1).as(precUnary)), 0)
	}
	x := m.whole(s, depth-1)
	other := func() expr { return m.whole(s, depth-1) }
	switch m.IntN(11) {
	case 0, 1, 2:
		return m.infix(x, pick(m, "+", "-"), other(), precSum, 0)
	case 3:
		return m.infix(x, "*", other(), precProduct, 0)
	case 4:
		y := m.wholeLeaf(s)
		if y.text == "0" {
			y.text = "7" // dividing by a literal zero is an error
		}
		return m.infix(x, pick(m, "/", "%"), y, precProduct, 0)
	case 5:
		return m.infix(x, pick(m, "/", "%"), atom(fmt.Sprint(2+m.IntN(6)), 0), precProduct, 0)
	case 6:
		if m.chance(2) {
			return m.infix(x, "&", other(), precBitAnd, 0)
		}
		return m.infix(x, "|", other(), precBitOr, 0)
	case 7:
		return atom(fmt.Sprintf("%s(%s, %s)", pick(m, "min", "max"), x.text, other().text), 0)
	case 8:
		c := m.truth(s, depth-1)
		return expr{c.as(precOr) + " ? " + x.as(precOr) + " : " + other().as(precSelect), precSelect, 0}
	case 9:
		return pick(m, atom("abs("+x.text+")", 0), expr{"-" + x.as(precPower), precUnary, 0},
			atom("byte("+x.text+")", 0))
	}
	return expr{x.as(precAtom) + "^" + fmt.Sprint(m.IntN(4)), precPower, 0}
}

func (m *maker) wholeLeaf(s *scope) expr {
	for range 4 {
		switch m.IntN(9) {
		case 0:
			return atom(fmt.Sprint(m.IntN(10)), 0)
		case 1:
			if len(s.axes) > 0 {
				return atom(m.axes[s.axes[m.IntN(len(s.axes))]], 0)
			}
		case 2:
			if s.step {
				return atom("step", 0)
			}
		case 3:
			return atom(m.params[m.IntN(len(m.params))], 0)
		case 4:
			if x, ok := m.uniform(s, false); ok {
				return x
			}
		case 5:
			if l := choose(m, s.locals,
				func(l *local) bool { return l.bound < 0 && subset(l.axes, s.axes) }); l != nil {
				return atom(l.name, 0)
			}
		default:
			if a := m.source(s, func(a *array) bool { return !a.real() }); a != nil {
				return atom(m.read(s, a), 0)
			}
		}
	}
	return atom(fmt.Sprint(1+m.IntN(9)), 0)
}

// truth makes a condition.
func (m *maker) truth(s *scope, depth int) expr {
	if depth > 0 && m.chance(3) {
		x := m.truth(s, depth-1)
		switch m.IntN(3) {
		case 0:
			return m.infix(x, "&&", m.truth(s, depth-1), precAnd, 0)
		case 1:
			return m.infix(x, "||", m.truth(s, depth-1), precOr, 0)
		}
		return expr{"!" + x.as(precAtom), precUnary, 0}
	}
	sign := pick(m, "<", "<=", ">", ">=")
	if m.chance(2) {
		x := m.wholeLeaf(s)
		if m.chance(3) {
			return m.infix(m.infix(x, "%", atom("3", 0), precProduct, 0), pick(m, "==", "!="),
				atom(fmt.Sprint(m.IntN(3)), 0), precEqual, 0)
		}
		return m.infix(x, sign, m.wholeLeaf(s), precCompare, 0)
	}
	if m.chance(6) {
		if a := choose(m, s.arrays, func(a *array) bool { return a.typ == "bool" && m.readable(s, a) }); a != nil {
			return atom(m.read(s, a), 0)
		}
		return atom(pick(m, "true", "false"), 0)
	}
	x, y := m.real(s, depth-1), m.realLeaf(s)
	return m.infix(x, sign, y, precCompare, 0)
}

// value makes an expression for a target of that type.
func (m *maker) value(s *scope, typ string, depth int) expr {
	switch {
	case m.alike != nil && typ != "bool" && !m.chance(4):
		x := m.ends(s, depth)
		if typ == "int" || typ == "byte" {
			x = atom("int(2.5*"+x.as(precUnary)+")", 0)
		}
		return x
	case typ == "double" || typ == "float":
		return m.real(s, depth)
	case typ == "bool" || m.chance(6):
		return m.truth(s, depth)
	case m.chance(6):
		return atom("int(2.5*"+m.real(s, depth).as(precUnary)+")", 0)
	}
	return m.whole(s, depth)
}

// within returns x for a real target whose values must stay within top.
func (m *maker) within(x expr, top float64) expr {
	switch {
	case x.bound <= top:
		return x
	case m.chance(2):
		return atom(fmt.Sprintf("max(min(%s, %g), -%g)", x.text, top, top), top)
	}
	scale := 0.9 * top / x.bound
	if m.chance(3) {
		return expr{fmt.Sprintf("%s*%.6f", x.as(precProduct), scale), precProduct, top}
	}
	return expr{fmt.Sprintf("%.6f*%s", scale, x.as(precUnary)), precProduct, top}
}
