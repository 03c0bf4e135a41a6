package search

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/tune/search/spec"
)

// checker settles what the names of a specification mean in a space.
type checker struct {
	params  []Param
	sizes   map[string]int64
	options map[string]float64
	aliases map[string]spec.Name
	named   map[int]bool // coordinates that some statement tunes or fixes
	list    diag.List
}

// maxRepeats is the largest number of repetitions.
const maxRepeats = 1e6

func checkHeuristic(f *spec.File, p Problem, options map[string]float64) (*program, diag.List) {
	c := &checker{
		params: p.Space.Params(), sizes: p.Sizes, options: options,
		aliases: map[string]spec.Name{}, named: map[int]bool{},
	}
	seen := map[string]bool{}
	declare := func(name string, at diag.Range) {
		if seen[name] {
			c.list.Errorf(at, "%s is declared twice", name)
		}
		seen[name] = true
	}
	for _, o := range f.Options {
		declare(o.Name, o.Range)
	}
	for _, a := range f.Aliases {
		declare(a.Name, a.Range)
		// An alias of an alias is found since that one stands before it.
		of := a.Of
		if earlier, ok := c.aliases[of.Name]; ok {
			of = spec.Name{Name: earlier.Name, Optional: of.Optional || earlier.Optional, Range: of.Range}
		}
		if c.coordinate(of.Name) < 0 && !of.Optional {
			c.unknown(of.Name, of.Range)
		}
		c.aliases[a.Name] = of
	}
	c.mention(f.Body)
	g := &program{}
	for _, l := range f.Limits {
		g.limits = append(g.limits, c.number(l.Cond))
	}
	g.body = c.block(f.Body)
	c.list.Sort()
	return g, c.list
}

// coordinate returns the number of a parameter by its name; -1 if there is none.
func (c *checker) coordinate(name string) int {
	return named(c.params, name)
}

// unknown reports a name.
func (c *checker) unknown(name string, at diag.Range) {
	d := c.list.Errorf(at, "nothing is called %s", name)
	var names []string
	for _, p := range c.params {
		names = append(names, p.Name)
	}
	for _, axis := range axes {
		names = append(names, "N"+strings.ToUpper(axis))
	}
	if near := diag.Nearest(name, names); near != "" {
		d.Hintf("did you mean %s?", near)
	} else {
		d.Hintf("there is %s", strings.Join(names[:len(c.params)], ", "))
	}
}

// size returns the axis that a name like NX is the size of.
func size(name string) (axis string, ok bool) {
	for _, axis := range axes {
		if name == "N"+strings.ToUpper(axis) {
			return axis, true
		}
	}
	return "", false
}

// matching returns the coordinates that a pattern fits: by their names, or by
// parameter and axis.
func (c *checker) matching(pattern string) []int {
	var list []int
	for i, p := range c.params {
		whole := p.Of
		if p.Axis != "" {
			whole += "." + p.Axis
		}
		if p.fits(pattern, whole) {
			list = append(list, i)
		}
	}
	return list
}

// glob reports whether a text fits a pattern in which * is any run of characters.
// Each part of the pattern between two stars is at the first place that is left,
// as no other could leave more for the parts behind it.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}

// rest is the target that stands for all parameters that a file does not name.
const rest = "rest"

// targets returns the coordinates that a target means.
func (c *checker) targets(t spec.Target) []int {
	if t.Pattern {
		list := c.matching(t.Name)
		if list == nil && !t.Optional {
			c.list.Errorf(t.Range, "no parameter fits the pattern").Hintf("a ? behind it makes that no error")
		}
		return list
	}
	name, optional := t.Name, t.Optional
	if a, ok := c.aliases[name]; ok {
		name, optional = a.Name, optional || a.Optional
	}
	if i := c.coordinate(name); i >= 0 {
		return []int{i}
	}
	if name == rest {
		var list []int
		for i := range c.params {
			if !c.named[i] {
				list = append(list, i)
			}
		}
		return list
	}
	if _, isOption := c.options[name]; isOption {
		c.list.Errorf(t.Range, "%s is an option, not a parameter", name)
	} else if _, isSize := size(name); isSize {
		c.list.Errorf(t.Range, "%s is a size of the grid, not a parameter", name)
	} else if !optional {
		c.unknown(name, t.Range)
	}
	return nil
}

// mention notes which coordinates are named, so that rest is the others. What
// is wrong with the names is reported later.
func (c *checker) mention(list []spec.Stmt) {
	note := func(t spec.Target) {
		if t.Name == rest && !t.Pattern {
			return
		}
		quiet := *c
		for _, i := range quiet.targets(t) {
			c.named[i] = true
		}
	}
	for _, s := range list {
		switch s := s.(type) {
		case *spec.Step:
			for _, item := range s.Items {
				note(item.Target)
			}
		case *spec.Repeat:
			c.mention(s.Body)
		case *spec.Each:
			note(s.Target)
			c.mention(s.Body)
		}
	}
}

func (c *checker) block(list []spec.Stmt) []statement {
	var out []statement
	for _, s := range list {
		switch s := s.(type) {
		case *spec.Step:
			out = append(out, c.step(s)...)
		case *spec.Repeat:
			times := c.number(s.Times)
			n := 0.0
			switch {
			case !times.known:
				c.list.Errorf(s.Times.Place(), "the number of repetitions must be known beforehand")
			default:
				n = times.eval(nil)
				if !(n >= 0 && n <= maxRepeats) || n != math.Trunc(n) {
					c.list.Errorf(s.Times.Place(), "%v is no number of repetitions", n)
				}
			}
			out = append(out, &repeatStatement{int(n), c.block(s.Body)})
		case *spec.Each:
			body := c.block(s.Body)
			switch at := c.targets(s.Target); {
			case len(at) > 1:
				c.list.Errorf(s.Target.Range, "each takes one parameter at a time")
			case len(at) == 0:
				out = append(out, body...)
			default:
				out = append(out, &eachStatement{at[0], body})
			}
		}
	}
	return out
}

// item is one coordinate of a step before they are put in order.
type item struct {
	stepItem
	name  string
	uses  []int
	place diag.Range
}

func (c *checker) step(s *spec.Step) []statement {
	var items []item
	for _, it := range s.Items {
		for _, at := range c.targets(it.Target) {
			if i := slices.IndexFunc(items, func(x item) bool { return x.at == at }); i >= 0 {
				c.list.Errorf(it.Target.Range, "%s has values in this step already", c.params[at].Name).Notef(
					items[i].place, "here")
				continue
			}
			several := it.Target.Pattern || it.Target.Optional || it.Target.Name == rest
			values, uses, ok := c.values(it.Values, at, several)
			if ok {
				items = append(items, item{stepItem{at, values}, c.params[at].Name, uses, it.Target.Range})
			}
		}
	}
	if len(items) == 0 {
		return nil
	}
	where := c.conjuncts(s.Where)
	if s.Singly {
		var out []statement
		for _, it := range items {
			out = append(out, c.ordered([]item{it}, where))
		}
		return out
	}
	return []statement{c.ordered(items, where)}
}

// conjuncts returns the conditions that are joined by and.
func (c *checker) conjuncts(e spec.Expr) []formula {
	if e == nil {
		return nil
	}
	if b, ok := e.(*spec.Binary); ok && b.Op == "and" {
		return append(c.conjuncts(b.X), c.conjuncts(b.Y)...)
	}
	return []formula{c.number(e)}
}

// ordered puts each item behind those that its values depend on, otherwise in
// the order of the space, in which what decides stands before what depends.
func (c *checker) ordered(items []item, where []formula) statement {
	s := &stepStatement{where: where}
	left := slices.SortedStableFunc(slices.Values(items), func(a, b item) int { return a.at - b.at })
	waits := func(it item) int {
		return slices.IndexFunc(left, func(o item) bool { return slices.Contains(it.uses, o.at) })
	}
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(it item) bool { return waits(it) < 0 })
		if i < 0 {
			c.cycle(left, waits)
			return s
		}
		s.items = append(s.items, left[i].stepItem)
		left = slices.Delete(left, i, i+1)
	}
	// A condition on items alone is asked as soon as they have their values.
	s.early = make([][]formula, len(s.items))
	for _, f := range where {
		last := -1
		for _, use := range f.uses {
			at := slices.IndexFunc(s.items, func(it stepItem) bool { return it.at == use })
			if at < 0 {
				last = -1
				break
			}
			last = max(last, at)
		}
		if last >= 0 {
			s.early[last] = append(s.early[last], f)
		}
	}
	return s
}

// cycle reports items that wait for each other.
func (c *checker) cycle(left []item, waits func(item) int) {
	var path []int
	at := 0
	for !slices.Contains(path, at) {
		path = append(path, at)
		at = waits(left[at])
	}
	path = path[slices.Index(path, at):]
	var names []string
	for _, i := range append(path, path[0]) {
		names = append(names, left[i].name)
	}
	c.list.Errorf(left[path[0]].place, "the values of %s depend on themselves: %s", names[0],
		strings.Join(names, " ← ")).
		Hintf("best(%s) is its value in the best point so far", names[0])
}

// few names at most ten values.
func valuesText(p *Param) string {
	const most = 10
	var parts []string
	for _, v := range p.Values[:min(most, len(p.Values))] {
		parts = append(parts, v.String())
	}
	if n := len(p.Values) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(parts, ", "), n)
	}
	return strings.Join(parts, ", ")
}
