package search

import (
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/search/spec"
)

// choices returns the numbers of the values that a coordinate may have in a scene.
type choices func(sc *evalContext, at int) []int

// values checks what an item gives to a coordinate. Where several coordinates
// are meant, those that have none of the values are left out, which ok tells.
func (c *checker) values(v spec.Values, at int, several bool) (choose choices, uses []int, ok bool) {
	p := &c.params[at]
	switch v := v.(type) {
	case *spec.All:
		all := make([]int, len(p.Values))
		for i := range all {
			all[i] = i
		}
		return func(*evalContext, int) []int { return all }, nil, true
	case *spec.Sample:
		n := c.number(v.N)
		if n.known && !(n.eval(nil) >= 1) {
			c.list.Errorf(v.N.Place(), "%v is no number of samples", n.eval(nil))
		}
		of, uses, ok := c.values(v.Of, at, several)
		return func(sc *evalContext, at int) []int {
			list := slices.Clone(of(sc, at))
			sc.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			list = list[:min(len(list), int(max(n.eval(sc), 0)))]
			slices.Sort(list)
			return list
		}, append(uses, n.uses...), ok
	case *spec.List:
		return c.listed(v, at, several)
	case *spec.Progression:
		return c.progression(v, at, several)
	}
	panic("search: values of no kind")
}

// listed checks a list of values.
func (c *checker) listed(v *spec.List, at int, several bool) (choices, []int, bool) {
	p := &c.params[at]
	var each []formula
	var uses []int
	var words []int
	for _, e := range v.Each {
		w, isWord := e.(*spec.Word)
		if isWord {
			if i := p.word(w.Text); i >= 0 {
				words = append(words, i)
			} else if !several {
				c.noValue(e, p)
			}
			continue
		}
		if !p.number() {
			if !several {
				c.list.Errorf(e.Place(), "the values of %s are words", p.Name).Hintf(`write one of %s in quotes`,
					valuesText(p))
			}
			continue
		}
		f := c.number(e)
		if f.known {
			if p.indexOf(f.eval(nil)) < 0 {
				if !several {
					c.noValue(e, p)
				}
				continue
			}
		}
		each = append(each, f)
		uses = union(uses, f.uses)
	}
	return func(sc *evalContext, at int) []int {
		list := slices.Clone(words)
		for _, f := range each {
			if i := p.indexOf(f.eval(sc)); i >= 0 {
				list = append(list, i)
			}
		}
		slices.Sort(list)
		return slices.Compact(list)
	}, uses, len(words)+len(each) > 0
}

func (c *checker) noValue(e spec.Expr, p *Param) {
	c.list.Errorf(e.Place(), "%s has no such value; it has %s", p.Name, valuesText(p))
}

// indexOf returns which of the numbers x is; -1 if it is none of them.
func (p *Param) indexOf(x float64) int {
	if !p.number() {
		return -1
	}
	return slices.IndexFunc(p.Values, func(v valueText) bool { return math.Abs(float64(v.Ints()[0])-x) < 1e-6 })
}

// progression checks a range.
func (c *checker) progression(v *spec.Progression, at int, several bool) (choices, []int, bool) {
	p := &c.params[at]
	from, to := c.number(v.From), c.number(v.To)
	by := formula{eval: func(*evalContext) float64 { return 1 }, known: true}
	if v.By != nil {
		by = c.number(v.By)
	}
	if !p.number() {
		if !several {
			c.list.Errorf(v.From.Place().To(v.To.Place()), "the values of %s are words, which have no ranges", p.Name)
		}
		return nil, nil, false
	}
	if by.known {
		switch x := by.eval(nil); {
		case v.Factor && !(x > 1):
			c.list.Errorf(v.By.Place(), "a range that is multiplied by %v does not grow", x)
			return nil, nil, false
		case !v.Factor && !(x > 0):
			c.list.Errorf(v.By.Place(), "a range in steps of %v does not grow", x)
			return nil, nil, false
		}
	}
	if from.known && to.known && from.eval(nil) > to.eval(nil) {
		c.list.Errorf(v.From.Place().To(v.To.Place()), "the range from %v to %v is empty", from.eval(nil), to.eval(nil))
		return nil, nil, false
	}
	if v.Factor && from.known && !(from.eval(nil) > 0) {
		c.list.Errorf(v.From.Place(), "%v does not grow by being multiplied", from.eval(nil))
		return nil, nil, false
	}
	choose := func(sc *evalContext, _ int) []int {
		var list []int
		for i, x := range p.Values {
			if reaches(float64(x.Ints()[0]), from.eval(sc), to.eval(sc), by.eval(sc), v.Factor) {
				list = append(list, i)
			}
		}
		return list
	}
	if from.known && to.known && by.known && len(choose(nil, at)) == 0 {
		if !several {
			c.list.Errorf(v.From.Place().To(v.To.Place()), "%s has no value in the range; it has %s", p.Name,
				valuesText(p))
		}
		return nil, nil, false
	}
	return choose, slices.Concat(from.uses, to.uses, by.uses), true
}

// reaches reports whether x is one of from, from+by, ... (or from, from*by, ...)
// up to to.
func reaches(x, from, to, by float64, factor bool) bool {
	const little = 1e-6
	if math.IsNaN(from) || math.IsNaN(to) || x < from-little || x > to+little {
		return false
	}
	n := (x - from) / by
	if factor {
		if !(by > 1) || !(from > 0) {
			return math.Abs(x-from) < little
		}
		n = math.Log(x/from) / math.Log(by)
	} else if !(by > 0) {
		return math.Abs(x-from) < little
	}
	return math.Abs(n-math.Round(n)) < little
}
