package schedule

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

// Check reports why a configuration is not a member of the space: the first
// parameter that is unknown, absent, out of place or has an unfit value, or
// else the first constraint that does not hold, with what would work instead.
func (s Space) Check(c Config) error {
	f, err := s.familyOf(c.Family)
	if err != nil {
		return err
	}
	if err := f.checkSettings(c); err != nil {
		return err
	}
	var want []string
	for i := range f.Params {
		p := &f.Params[i]
		switch exists := p.exists(c); {
		case exists && !c.Has(p.Name):
			return fmt.Errorf("%s is not set", p.Name)
		case exists:
			want = append(want, p.Name)
		case c.Has(p.Name):
			return fmt.Errorf("%s exists only %s", p.Name, p.conditions())
		}
	}
	for i, set := range c.Values {
		if set.Name != want[i] {
			return fmt.Errorf("%s stands where %s belongs: the order is %s",
				set.Name, want[i], strings.Join(want, ", "))
		}
	}
	for i := range f.Constraints {
		if k := &f.Constraints[i]; k.broken(c) {
			return f.brokenError(k, c, f.legal)
		}
	}
	return nil
}

// Has reports whether a configuration is a member of the space. It says what
// Check says, without working out reasons.
func (s Space) Has(c Config) bool {
	f := s.Family(c.Family)
	if f == nil {
		return false
	}
	n := 0
	for i := range f.Params {
		p := &f.Params[i]
		if !p.exists(c) {
			continue
		}
		if n == len(c.Values) || c.Values[n].Name != p.Name || !slices.ContainsFunc(p.Values, c.Values[n].Value.Equal) {
			return false
		}
		n++
	}
	return n == len(c.Values) && !slices.ContainsFunc(f.Constraints, func(k Constraint) bool { return k.broken(c) })
}

func (s Space) familyOf(name string) (*Family, error) {
	if f := s.Family(name); f != nil {
		return f, nil
	}
	var names []string
	for _, f := range s.Families {
		names = append(names, f.Name)
	}
	if name == "" {
		return nil, fmt.Errorf("no family is named; there is %s", strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("no family is called %s%s", name, hint(name, names))
}

func hint(name string, names []string) string {
	if near := diag.Nearest(name, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; there is " + strings.Join(names, ", ")
}

// checkSettings looks at each setting on its own.
func (f *Family) checkSettings(c Config) error {
	for i, set := range c.Values {
		p := f.Param(set.Name)
		if p == nil {
			var names []string
			for _, p := range f.Params {
				names = append(names, p.Name)
			}
			return fmt.Errorf("the family %s has no parameter %s%s", f.Name, set.Name, hint(set.Name, names))
		}
		if slices.ContainsFunc(c.Values[:i], func(s Setting) bool { return s.Name == set.Name }) {
			return fmt.Errorf("%s is set twice", set.Name)
		}
		if !slices.ContainsFunc(p.Values, set.Value.Equal) {
			return fmt.Errorf("%s takes no value %v; it takes %s",
				p.Name, set.Value, nearby([]Value{set.Value}, p.Values))
		}
	}
	return nil
}

// nearby names the values that are nearest to the one that is asked for, if there
// are too many to name all and they are numbers, or lists of as many. How near is a
// matter of ratios: 4x16 and 4x64 are about as far from 4x32.
func nearby(asked, values []Value) string {
	const most = 6
	if len(asked) != 1 {
		return list(values)
	}
	wanted := asked[0]
	type candidate struct {
		value    Value
		distance float64
	}
	var near []candidate
	for _, v := range values {
		if !wanted.IsNumber() || len(v.ints) != len(wanted.ints) {
			continue
		}
		c := candidate{value: v}
		for i, n := range v.ints {
			c.distance += math.Abs(math.Log1p(float64(max(n, 0))) - math.Log1p(float64(max(wanted.ints[i], 0))))
		}
		near = append(near, c)
	}
	if len(values) <= mostListed || len(near) < most {
		return list(values)
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	near = near[:most]
	slices.SortFunc(near, func(a, b candidate) int { return slices.Compare(a.value.ints, b.value.ints) })
	var parts []string
	for _, c := range near {
		parts = append(parts, c.value.String())
	}
	return fmt.Sprintf("%s and %d more", strings.Join(parts, ", "), len(values)-most)
}

// mostListed is how many values are named where no one is nearer than another.
const mostListed = 12

// list names at most a dozen values.
func list(values []Value) string {
	var parts []string
	for _, v := range values[:min(len(values), mostListed)] {
		parts = append(parts, v.String())
	}
	text := strings.Join(parts, ", ")
	if rest := len(values) - mostListed; rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

func (p *Param) conditions() string {
	var parts []string
	for _, c := range p.When {
		parts = append(parts, fmt.Sprintf("with %s=%s", c.Param, strings.ReplaceAll(list(c.In), ", ", " or ")))
	}
	return strings.Join(parts, " and ")
}

// brokenError says which constraint does not hold and which single changes
// would do.
func (f *Family) brokenError(k *Constraint, c Config, would func(Config) bool) error {
	var given, cures []string
	for _, name := range k.Params {
		was, _ := c.Get(name)
		given = append(given, Setting{name, was}.String())
		var work []Value
		for _, v := range f.Param(name).Values {
			if !v.Equal(was) && would(c.With(name, v)) {
				work = append(work, v)
			}
		}
		if len(work) > 0 {
			cures = append(cures, name+"="+strings.ReplaceAll(list(work), ", ", "|"))
		}
	}
	cure := "no change to one of them alone would do"
	if cures != nil {
		cure = "the rest being as it is, " + strings.Join(cures, " or ") + " would do"
	}
	return fmt.Errorf("%s: %s (%s); %s", strings.Join(given, ","), k.Name, k.Doc, cure)
}

// legal reports whether exactly the right parameters are set and every
// constraint holds.
func (f *Family) legal(c Config) bool {
	for i := range f.Params {
		if p := &f.Params[i]; p.exists(c) != c.Has(p.Name) {
			return false
		}
	}
	return !slices.ContainsFunc(f.Constraints, func(k Constraint) bool { return k.broken(c) })
}
