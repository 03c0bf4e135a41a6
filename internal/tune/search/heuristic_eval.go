package search

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/search/spec"
)

type valueText = schedule.Value

// evalContext is what a formula is evaluated in.
type evalContext struct {
	point Point // as far as it has been put together
	best  Point // the best so far
	rng   *rand.Rand
}

// formula is an expression that was checked. Truth is 1 and falsehood 0.
type formula struct {
	eval  func(*evalContext) float64
	uses  []int // coordinates whose values in the point it depends on
	known bool  // it depends on nothing
}

func constant(x float64) formula {
	return formula{eval: func(*evalContext) float64 { return x }, known: true}
}

// number checks an expression that gives a number.
func (c *checker) number(e spec.Expr) formula {
	switch e := e.(type) {
	case *spec.Number:
		return constant(e.Value)
	case *spec.Word:
		c.list.Errorf(e.Range, "a word can only be compared with a parameter, by == or !=")
	case *spec.Name:
		return c.name(e)
	case *spec.Call:
		return c.call(e)
	case *spec.Unary:
		x := c.number(e.X)
		return formula{eval: func(sc *evalContext) float64 {
			if e.Op == "-" {
				return -x.eval(sc)
			}
			return truth(x.eval(sc) == 0)
		}, uses: x.uses, known: x.known}
	case *spec.Binary:
		if f, ok := c.comparesWord(e); ok {
			return f
		}
		x, y := c.number(e.X), c.number(e.Y)
		do := operations[e.Op]
		return formula{eval: func(sc *evalContext) float64 { return do(x.eval(sc), y.eval(sc)) },
			uses: union(x.uses, y.uses), known: x.known && y.known}
	}
	return constant(1)
}

// union returns the coordinates of both, each once: long formulas name the same
// few again and again.
func union(x, y []int) []int {
	all := slices.Concat(x, y)
	slices.Sort(all)
	return slices.Compact(all)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// operations of two numbers. Division is exact: a quotient that is no whole
// number is the value of no parameter.
var operations = map[string]func(x, y float64) float64{
	"or":  func(x, y float64) float64 { return truth(x != 0 || y != 0) },
	"and": func(x, y float64) float64 { return truth(x != 0 && y != 0) },
	"==":  func(x, y float64) float64 { return truth(x == y) },
	"!=":  func(x, y float64) float64 { return truth(x != y) },
	"<":   func(x, y float64) float64 { return truth(x < y) },
	"<=":  func(x, y float64) float64 { return truth(x <= y) },
	">":   func(x, y float64) float64 { return truth(x > y) },
	">=":  func(x, y float64) float64 { return truth(x >= y) },
	"+":   func(x, y float64) float64 { return x + y },
	"-":   func(x, y float64) float64 { return x - y },
	"*":   func(x, y float64) float64 { return x * y },
	"/":   func(x, y float64) float64 { return x / y },
	"%":   math.Mod,
}

// name finds out what a name means: a parameter, an option or a size.
func (c *checker) name(e *spec.Name) formula {
	name, optional := e.Name, e.Optional
	if a, ok := c.aliases[name]; ok {
		name, optional = a.Name, optional || a.Optional
	}
	if x, ok := c.options[name]; ok {
		return constant(x)
	}
	if i := c.coordinate(name); i >= 0 {
		p := &c.params[i]
		if !p.number() {
			c.list.Errorf(e.Range, "the values of %s are words",
				name).Hintf(`words are compared by == and !=, as in %s == "%s"`, name, p.Values[0])
			return constant(1)
		}
		return formula{eval: func(sc *evalContext) float64 { return p.at(sc.point, i) }, uses: []int{i}}
	}
	if axis, ok := size(name); ok {
		if n, ok := c.sizes[axis]; ok {
			return constant(float64(n))
		}
		return formula{eval: func(*evalContext) float64 { return math.Inf(1) }}
	}
	if !optional {
		c.unknown(name, e.Range)
	}
	return constant(1)
}

// at returns the coordinate's value at a point. A parameter that does not exist
// there counts as 1, like a factor by which nothing is done.
func (p *Param) at(point Point, i int) float64 {
	if point[i] < 0 {
		return 1
	}
	return float64(p.Values[point[i]].Ints()[0])
}

// comparesWord checks a comparison of a parameter with a word.
func (c *checker) comparesWord(e *spec.Binary) (formula, bool) {
	name, isName := e.X.(*spec.Name)
	w, isWord := e.Y.(*spec.Word)
	if !isName || !isWord {
		name, isName = e.Y.(*spec.Name)
		w, isWord = e.X.(*spec.Word)
	}
	if !isName || !isWord || e.Op != "==" && e.Op != "!=" {
		return formula{}, false
	}
	full := name.Name
	optional := name.Optional
	if a, ok := c.aliases[full]; ok {
		full, optional = a.Name, optional || a.Optional
	}
	i := c.coordinate(full)
	equal := e.Op == "=="
	if i < 0 {
		if !optional {
			c.unknown(full, name.Range)
		}
		return constant(truth(!equal)), true
	}
	p := &c.params[i]
	v := p.word(w.Text)
	if v < 0 {
		c.noValue(w, p)
	}
	return formula{eval: func(sc *evalContext) float64 { return truth((sc.point[i] == v) == equal) },
		uses: []int{i}}, true
}

// call checks a function call.
func (c *checker) call(e *spec.Call) formula {
	switch e.Func {
	case "best":
		x := c.number(e.Args[0])
		eval := func(sc *evalContext) float64 {
			return x.eval(&evalContext{point: sc.best, best: sc.best, rng: sc.rng})
		}
		return formula{eval: eval, known: x.known}
	case "product", "sum":
		w := e.Args[0].(*spec.Word)
		all := c.matching(w.Text)
		if all == nil && !w.Optional {
			c.list.Errorf(w.Range, "no parameter fits the pattern").Hintf("a ? behind it makes that no error")
		}
		all = slices.DeleteFunc(all, func(i int) bool { return !c.params[i].number() })
		return formula{eval: func(sc *evalContext) float64 {
			product, sum := 1.0, 0.0
			for _, i := range all {
				x := c.params[i].at(sc.point, i)
				product *= x
				if sc.point[i] >= 0 {
					sum += x
				}
			}
			if e.Func == "sum" {
				return sum
			}
			return product
		}, uses: all, known: len(all) == 0}
	case "min", "max":
		f := formula{known: true}
		var each []formula
		for _, a := range e.Args {
			x := c.number(a)
			each = append(each, x)
			f.uses = union(f.uses, x.uses)
			f.known = f.known && x.known
		}
		f.eval = func(sc *evalContext) float64 {
			out := each[0].eval(sc)
			for _, x := range each[1:] {
				if e.Func == "min" {
					out = min(out, x.eval(sc))
				} else {
					out = max(out, x.eval(sc))
				}
			}
			return out
		}
		return f
	}
	do := map[string]func(float64) float64{"floor": math.Floor, "ceil": math.Ceil, "log2": math.Log2}[e.Func]
	x := c.number(e.Args[0])
	return formula{eval: func(sc *evalContext) float64 { return do(x.eval(sc)) }, uses: x.uses, known: x.known}
}
