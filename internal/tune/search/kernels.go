package search

import (
	"fmt"
	"iter"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// KernelSpace is the space of one kernel's configurations.
type KernelSpace struct {
	space   schedule.Space
	counter *schedule.Counter
	params  []Param
	parts   []part
	shapes  [][]paramShape // by family
}

// part says where a coordinate comes from.
type part struct {
	name    string // of the parameter
	fromEnd int    // which of its numbers; 0 is the last
}

// axes names dimensions from the inner one outwards.
var axes = []string{"x", "y", "z", "w"}

// AxisName names a dimension counted from the inner one; few have more than four.
func AxisName(fromEnd int) string {
	if fromEnd < len(axes) {
		return axes[fromEnd]
	}
	return fmt.Sprintf("d%d", fromEnd)
}

// familyParam is the coordinate that tells which family a point is of.
const familyParam = schedule.FamilyName

// Of returns the search space of a kernel's configurations. Parameters of equal
// name are one coordinate in all families, so that what is learnt of blocks in
// one family serves the others.
func Of(s schedule.Space) *KernelSpace {
	k := &KernelSpace{space: s, counter: s.Counter()}
	families := Param{Name: familyParam, Of: familyParam, Role: schedule.Choice}
	for _, f := range s.Families {
		families.Values = append(families.Values, schedule.Word(f.Name))
	}
	k.params = append(k.params, families)
	k.parts = append(k.parts, part{name: familyParam})
	for _, f := range s.Families {
		for i := range f.Params {
			k.add(&f.Params[i])
		}
	}
	for i := range k.params {
		p := &k.params[i]
		if i > 0 && p.Values[0].IsNumber() {
			slices.SortFunc(p.Values, func(a, b schedule.Value) int { return int(a.Ints()[0] - b.Ints()[0]) })
		}
	}
	k.shapes = k.newShapes()
	return k
}

// add makes coordinates of a parameter, or adds its values to those there are.
func (k *KernelSpace) add(p *schedule.Param) {
	for _, v := range p.Values {
		if !v.IsNumber() {
			k.coordinate(Param{Name: p.Name, Of: p.Name, Role: p.Role}, part{name: p.Name}, v)
			continue
		}
		n := v.Ints()
		for d := range n {
			fromEnd := len(n) - 1 - d
			c := Param{Name: p.Name, Of: p.Name, Role: p.Role}
			switch first, spread := p.Axis.FromInner(); {
			case len(n) > 1 || k.split(p.Name):
				c.Axis = AxisName(fromEnd + first)
				c.Name += "." + c.Axis
			case spread:
				c.Axis = AxisName(first)
			}
			k.coordinate(c, part{p.Name, fromEnd}, schedule.Int(n[d]))
		}
	}
}

// split reports whether some family's values of a parameter are lists.
func (k *KernelSpace) split(name string) bool {
	for i := range k.space.Families {
		if p := k.space.Families[i].Param(name); p != nil {
			if slices.ContainsFunc(p.Values, func(v schedule.Value) bool { return v.IsNumber() && len(v.Ints()) > 1 }) {
				return true
			}
		}
	}
	return false
}

func (k *KernelSpace) coordinate(c Param, from part, v schedule.Value) {
	i := slices.IndexFunc(k.params, func(p Param) bool { return p.Name == c.Name })
	if i < 0 {
		i = len(k.params)
		k.params, k.parts = append(k.params, c), append(k.parts, from)
	}
	if !slices.ContainsFunc(k.params[i].Values, v.Equal) {
		k.params[i].Values = append(k.params[i].Values, v)
	}
}

// Params returns the coordinates; the first tells the family.
func (k *KernelSpace) Params() []Param { return k.params }

// Count returns the number of configurations.
func (k *KernelSpace) Count() *big.Int { return k.counter.Count() }

// Schedule returns the space that k was made of.
func (k *KernelSpace) Schedule() schedule.Space { return k.space }

// Point returns a configuration as a point.
func (k *KernelSpace) Point(c schedule.Config) (Point, error) {
	p := make(Point, len(k.params))
	for i := range k.params {
		v, ok := k.value(c, i)
		if !ok {
			p[i] = Absent
			continue
		}
		p[i] = slices.IndexFunc(k.params[i].Values, v.Equal)
		if p[i] < 0 {
			return nil, fmt.Errorf("%s of %s is no value of the space", k.params[i].Name, c)
		}
	}
	return p, nil
}

// value returns the coordinate of a configuration.
func (k *KernelSpace) value(c schedule.Config, i int) (schedule.Value, bool) {
	if i == 0 {
		return schedule.Word(c.Family), true
	}
	v, ok := c.Get(k.parts[i].name)
	if !ok || !v.IsNumber() {
		return v, ok
	}
	n := v.Ints()
	at := len(n) - 1 - k.parts[i].fromEnd
	if at < 0 {
		return schedule.Value{}, false
	}
	return schedule.Int(n[at]), true
}

// Config returns the configuration of a point; an error if it is none.
func (k *KernelSpace) Config(p Point) (schedule.Config, error) {
	c, err := k.assemble(p, false)
	if err != nil {
		return c, err
	}
	return c, k.space.Check(c)
}

// assemble puts a configuration together. Parameters of which something is
// Free are left out if partial.
func (k *KernelSpace) assemble(p Point, partial bool) (schedule.Config, error) {
	if len(p) != len(k.params) || p[0] < 0 {
		return schedule.Config{}, fmt.Errorf("a point of the space names a family and has %d values", len(k.params))
	}
	shapes := k.shapes[p[0]]
	c := schedule.Config{Family: k.params[0].Values[p[0]].String(), Values: make([]schedule.Setting, 0, len(shapes))}
	for i := range shapes {
		s := &shapes[i]
		var value schedule.Value
		var numbers []int64 // outermost first
		given, free := false, false
		for _, j := range s.all {
			switch {
			case p[j] == Absent:
				continue
			case p[j] == Free:
				free = true
				continue
			}
			value, given = k.params[j].Values[p[j]], true
			if at := k.parts[j].fromEnd; value.IsNumber() && (numbers != nil || at > 0) {
				if numbers == nil {
					numbers = make([]int64, at+1)
				}
				numbers[len(numbers)-1-at] = value.Ints()[0]
			}
		}
		if free && !partial {
			return c, fmt.Errorf("%s is open", s.name)
		}
		if numbers != nil {
			value = schedule.Int(numbers[0], numbers[1:]...)
		}
		if given && !free {
			c.Values = append(c.Values, schedule.Setting{Name: s.name, Value: value})
		}
	}
	return c, nil
}

// Legal reports whether p is a configuration of the space, written in full.
func (k *KernelSpace) Legal(p Point) bool {
	if len(p) != len(k.params) || !slices.Equal(k.Shape(p), p) {
		return false
	}
	c, err := k.assemble(p, false)
	if err != nil || !k.space.Has(c) {
		return false
	}
	// What exists at p but not in the configuration makes it another point.
	q, err := k.Point(c)
	return err == nil && slices.Equal(p, q)
}

// Draw returns a configuration, each with equal chance.
func (k *KernelSpace) Draw(rng *rand.Rand) Point {
	p, err := k.Point(k.counter.Draw(rng))
	if err != nil {
		panic(err) // the space knows its own values
	}
	return p
}

// All returns every configuration.
func (k *KernelSpace) All() iter.Seq[Point] {
	return func(yield func(Point) bool) {
		for c := range k.space.All() {
			p, err := k.Point(c)
			if err != nil {
				panic(err)
			}
			if !yield(p) {
				return
			}
		}
	}
}

// Complete returns a configuration with the values of p. Where some numbers of
// a list are open and others are not, lists that have the latter are tried in
// their order.
func (k *KernelSpace) Complete(p Point) (Point, bool) {
	p = slices.Clone(p)
	for i := range p {
		if p[i] == Absent {
			p[i] = Free
		}
	}
	if p[0] != Free {
		return k.complete(p)
	}
	for f := range k.params[0].Values {
		p[0] = f
		if q, ok := k.complete(p); ok {
			return q, true
		}
	}
	return nil, false
}

// complete does it within a family. Absent is what has been decided.
func (k *KernelSpace) complete(p Point) (Point, bool) {
	if i := k.halfOpen(p); i >= 0 {
		f := k.space.Family(k.params[0].Values[p[0]].String())
		param := f.Param(k.params[i].Of)
		for _, v := range param.Values {
			if q, ok := k.fits(p, param.Name, v); ok {
				if q, ok := k.complete(q); ok {
					return q, true
				}
			}
		}
		return nil, false
	}
	c, err := k.assemble(p, true)
	if err != nil {
		return nil, false
	}
	full, ok := k.space.Extend(c)
	if !ok {
		return nil, false
	}
	q, err := k.Point(full)
	if err != nil {
		return nil, false
	}
	for i := range p {
		if p[i] >= 0 && p[i] != q[i] {
			return nil, false
		}
	}
	return q, true
}

// halfOpen returns a coordinate of a parameter of which some numbers are open
// and others are not; -1 if there is none.
func (k *KernelSpace) halfOpen(p Point) int {
	f := k.space.Family(k.params[0].Values[p[0]].String())
	for i := range k.params {
		if i == 0 || p[i] != Free || f.Param(k.params[i].Of) == nil {
			continue
		}
		for j := range k.params {
			if k.params[j].Of == k.params[i].Of && p[j] >= 0 {
				return i
			}
		}
	}
	return -1
}

// fits puts a parameter's value into the coordinates of p that are open, if
// the others agree with it.
func (k *KernelSpace) fits(p Point, name string, v schedule.Value) (Point, bool) {
	q := slices.Clone(p)
	one := schedule.Config{}.With(name, v)
	for i := range k.params {
		if i == 0 || k.params[i].Of != name {
			continue
		}
		at := Absent
		if c, ok := k.value(one, i); ok {
			at = slices.IndexFunc(k.params[i].Values, c.Equal)
		}
		if p[i] != Free && p[i] != at {
			return nil, false
		}
		q[i] = at
	}
	return q, true
}

// Starts returns each family's defaults.
func (k *KernelSpace) Starts() []Point {
	var list []Point
	for _, f := range k.space.Families {
		if p, err := k.Point(k.space.Default(f.Name)); err == nil && k.Legal(p) {
			list = append(list, p)
		}
	}
	return list
}

// Text returns the configuration's canonical text.
func (k *KernelSpace) Text(p Point) string {
	c, err := k.assemble(p, true)
	if err != nil {
		return strings.Trim(fmt.Sprint([]int(p)), "[]")
	}
	return c.String()
}
