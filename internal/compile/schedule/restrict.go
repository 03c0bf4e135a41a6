package schedule

import (
	"fmt"
	"slices"
	"strings"
)

// Fix returns the configurations that have a parameter with one of some
// values. Families that cannot have it are left out; where a parameter exists
// only with certain values of others, these have them. The name "family"
// chooses among the families themselves.
//
//	s.Fix("family", Word("planes"))
//	s.Fix("vec", Int(2), Int(4))
func (s Space) Fix(name string, values ...Value) (Space, error) {
	if name == FamilyName {
		return s.fixFamily(values)
	}
	return s.Named(name).Fix(values...)
}

// Limit returns the configurations in which a parameter, if it exists, is as a
// text says: name, comparison, value. A list counts as the product of its
// numbers, but is compared with another list of its length number by number.
// With = and !=, several values stand between bars. Names with stars between them stand for the product of their
// values, which is taken number by number.
//
//	s.Limit("vec<=4")
//	s.Limit("block<512")
//	s.Limit("load!=plain")
//	s.Limit("chunk=16|32")
//	s.Limit("block*repeat<=16x64")
func (s Space) Limit(text string) (Space, error) {
	l, err := parseLimit(text)
	if err != nil {
		return Space{}, err
	}
	if l.name == FamilyName {
		return s.limitFamily(l)
	}
	if l.factors() != nil {
		return s.limitProduct(l)
	}
	return s.Named(l.name).restrict(strings.TrimSpace(l.op+" "+l.text), l.values, false, l.holds)
}

// Restricting is a space of which one parameter is to be restricted, whatever
// each family calls it.
type Restricting struct {
	space Space
	what  string // the parameter, in words
	find  func(*Family) *Param
}

// Named restricts the parameter of a name.
func (s Space) Named(name string) Restricting {
	return Restricting{s, name, func(f *Family) *Param { return f.Param(name) }}
}

// On restricts the parameters that have a role.
func (s Space) On(r Role) Restricting { return s.OnArray(r, "") }

// OnArray restricts those that have a role for a class of arrays.
func (s Space) OnArray(r Role, array string) Restricting {
	return Restricting{s, r.String(), func(f *Family) *Param { return f.ForArray(r, array) }}
}

// Any reports whether some family has the parameter.
func (r Restricting) Any() bool {
	return slices.ContainsFunc(r.space.Families, func(f Family) bool { return r.find(&f) != nil })
}

// Fix returns the configurations that have the parameter with one of some values.
func (r Restricting) Fix(values ...Value) (Space, error) {
	return r.restrict(list(values), values, true, func(v Value) bool { return slices.ContainsFunc(values, v.Equal) })
}

// Choose is Fix with a test in the place of values; what says which pass.
func (r Restricting) Choose(what string, pass func(Value) bool) (Space, error) {
	return r.restrict(what, nil, true, pass)
}

// Keep returns the configurations that have one of some values, or have not the
// parameter.
func (r Restricting) Keep(values ...Value) (Space, error) {
	return r.restrict("= "+list(values), values, false, func(v Value) bool {
		return slices.ContainsFunc(values, v.Equal)
	})
}

// Limit is Keep with a test in the place of values; what says which pass.
func (r Restricting) Limit(what string, pass func(Value) bool) (Space, error) {
	return r.restrict(what, nil, false, pass)
}

// Prefer returns the space with another default of the parameter in every
// family that has it with that value.
func (r Restricting) Prefer(v Value) Space {
	out := Space{Families: slices.Clone(r.space.Families)}
	for i := range out.Families {
		f := &out.Families[i]
		if p := r.find(f); p == nil || !slices.ContainsFunc(p.Values, v.Equal) {
			continue
		}
		f.Params = slices.Clone(f.Params)
		r.find(f).Default = v
		f.settle()
	}
	return out
}

// Constrain returns the space with one more constraint in every family that has
// all its parameters, and without the families in which it never holds.
func (s Space) Constrain(k Constraint) (Space, error) {
	return s.Each(func(f *Family) *Constraint {
		if slices.ContainsFunc(k.Params, func(name string) bool { return f.index(name) < 0 }) {
			return nil
		}
		return &k
	})
}

// Each is Constrain with a constraint for each family, nil for none.
func (s Space) Each(constraint func(*Family) *Constraint) (Space, error) {
	var out Space
	doc := ""
	for _, f := range s.Families {
		declared := f
		if k := constraint(&declared); k != nil {
			doc = k.Doc
			f.Constraints = append(slices.Clip(f.Constraints), *k)
			if !f.prune(k) || !f.settle() {
				continue
			}
		}
		out.Families = append(out.Families, f)
	}
	if len(out.Families) == 0 {
		return Space{}, fmt.Errorf("no configuration is left: %s", doc)
	}
	return out, nil
}

// prune takes out the values that a constraint allows with no values of its
// other parameters, and reports whether any are left. It leaves constraints on
// parameters alone that need not exist.
func (f *Family) prune(k *Constraint) bool {
	var params []*Param
	for _, name := range k.Params {
		p := f.Param(name)
		if len(p.When) > 0 {
			return true
		}
		params = append(params, p)
	}
	c := Config{Family: f.Name, Values: make([]Setting, len(params))}
	supported := make([][]bool, len(params))
	for i, p := range params {
		supported[i] = make([]bool, len(p.Values))
	}
	at := make([]int, len(params))
	var try func(depth int)
	try = func(depth int) {
		if depth < len(params) {
			for i, v := range params[depth].Values {
				at[depth], c.Values[depth] = i, Setting{params[depth].Name, v}
				try(depth + 1)
			}
			return
		}
		if k.Holds(c) {
			for d, i := range at {
				supported[d][i] = true
			}
		}
	}
	try(0)
	for i, p := range params {
		var kept []Value
		for j, v := range p.Values {
			if supported[i][j] {
				kept = append(kept, v)
			}
		}
		if len(kept) == 0 {
			return false
		}
		if len(kept) < len(p.Values) {
			f.keep(p.Name, kept)
		}
	}
	return true
}

// restrict keeps the values of a parameter that pass; must leaves out families
// that do not have it. What and the values say what is asked for.
func (r Restricting) restrict(what string, asked []Value, must bool, pass func(Value) bool) (Space, error) {
	s := r.space
	var out Space
	var first error
	refuse := func(err error) {
		if first == nil {
			first = err
		}
	}
	known := false
	for _, f := range s.Families {
		p := r.find(&f)
		if p == nil {
			if !must {
				out.Families = append(out.Families, f)
			}
			continue
		}
		known = true
		name := p.Name
		kept := slices.DeleteFunc(slices.Clone(p.Values), func(v Value) bool { return !pass(v) })
		possible := true
		switch {
		case len(kept) > 0:
			f.keep(name, kept)
			if must {
				possible = f.require(p.When)
			}
		case must, len(p.When) == 0:
			refuse(fmt.Errorf("%s takes no value %s; it takes %s", name, what, nearby(asked, p.Values)))
			continue
		default:
			f.remove(name)
		}
		if !possible || !f.settle() {
			refuse(fmt.Errorf("no configuration of the family %s has %s %s", f.Name, name, what))
			continue
		}
		out.Families = append(out.Families, f)
	}
	switch {
	case !known:
		return Space{}, s.unknown(r.what)
	case len(out.Families) == 0:
		return Space{}, first
	}
	return out, nil
}

// unknown says that no family has a parameter of that name.
func (s Space) unknown(name string) error {
	var names []string
	for _, f := range s.Families {
		for _, p := range f.Params {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("no parameter is called %s: there is nothing to choose", name)
	}
	return fmt.Errorf("no parameter is called %s%s", name, hint(name, names))
}

// keep gives a parameter fewer values. The family's own list is not touched:
// other spaces may have it.
func (f *Family) keep(name string, kept []Value) {
	f.Params = slices.Clone(f.Params)
	p := f.Param(name)
	if !slices.ContainsFunc(kept, p.Default.Equal) {
		p.Default = nearestOf(p.Values, p.Default, kept)
	}
	p.Values = kept
}

// nearestOf returns that of the kept values which is listed nearest to another.
func nearestOf(all []Value, to Value, kept []Value) Value {
	place := func(v Value) int { return slices.IndexFunc(all, v.Equal) }
	at := place(to)
	return slices.MinFunc(kept, func(v, w Value) int {
		i, j := place(v), place(w)
		return max(i-at, at-i) - max(j-at, at-j)
	})
}

// require makes conditions hold always, and reports whether they can.
func (f *Family) require(when []Condition) bool {
	for _, c := range when {
		p := f.Param(c.Param)
		kept := slices.DeleteFunc(slices.Clone(p.Values), func(v Value) bool {
			return !slices.ContainsFunc(c.In, v.Equal)
		})
		if len(kept) == 0 {
			return false
		}
		f.keep(c.Param, kept)
		if !f.require(p.When) {
			return false
		}
	}
	return true
}

// remove takes a conditional parameter out, and with it what needs it: no
// configuration may have the values that would make it exist.
func (f *Family) remove(name string) {
	p := f.Param(name)
	k := Constraint{Name: "no " + name, Doc: "no value of " + name + " is left"}
	for _, c := range p.When {
		k.Params = append(k.Params, c.Param)
	}
	slices.Sort(k.Params)
	k.Params = slices.Compact(k.Params)
	k.Holds = func(c Config) bool { return !p.exists(c) }
	needs := func(q Param) bool {
		return slices.ContainsFunc(q.When, func(c Condition) bool { return c.Param == name })
	}
	dependents := slices.Clone(f.Params)
	f.Params = slices.DeleteFunc(slices.Clone(f.Params), func(q Param) bool { return q.Name == name })
	f.Constraints = slices.DeleteFunc(slices.Clone(f.Constraints), func(k Constraint) bool {
		return slices.Contains(k.Params, name)
	})
	f.Constraints = append(f.Constraints, k)
	for _, q := range dependents {
		if needs(q) {
			f.drop(q.Name)
		}
	}
}

// drop takes out a parameter that can no longer exist.
func (f *Family) drop(name string) {
	all := f.Params
	f.Params = slices.DeleteFunc(slices.Clone(all), func(q Param) bool { return q.Name == name })
	f.Constraints = slices.DeleteFunc(slices.Clone(f.Constraints), func(k Constraint) bool {
		return slices.Contains(k.Params, name)
	})
	for _, q := range all {
		if slices.ContainsFunc(q.When, func(c Condition) bool { return c.Param == name }) {
			f.drop(q.Name)
		}
	}
}

// settle makes the defaults legal again, by values near them, and reports
// whether anything is.
func (f *Family) settle() bool {
	c, err := f.complete(Config{Family: f.Name})
	if err != nil {
		return false
	}
	f.Params = slices.Clone(f.Params)
	for i := range f.Params {
		if v, ok := c.Get(f.Params[i].Name); ok {
			f.Params[i].Default = v
		}
	}
	return true
}

func (s Space) fixFamily(values []Value) (Space, error) {
	for _, v := range values {
		if _, err := s.familyOf(v.String()); err != nil {
			return Space{}, err
		}
	}
	var out Space
	for _, f := range s.Families {
		if slices.ContainsFunc(values, func(v Value) bool { return v.String() == f.Name }) {
			out.Families = append(out.Families, f)
		}
	}
	if len(out.Families) == 0 {
		return Space{}, fmt.Errorf("no family is chosen")
	}
	return out, nil
}
