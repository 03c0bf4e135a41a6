package schedule

import (
	"fmt"
	"math/big"
	"slices"
)

// Complete returns the member of the space that has the given settings and
// otherwise the defaults; where those are not legal together with what is
// given, values near them. Without a family it is the first one in which that
// can be done.
func (s Space) Complete(partial Config) (Config, error) {
	if partial.Family != "" {
		f, err := s.familyOf(partial.Family)
		if err != nil {
			return Config{}, err
		}
		return f.complete(partial)
	}
	var said error
	most := -1
	for i := range s.Families {
		f := &s.Families[i]
		c, err := f.complete(partial)
		if err == nil {
			return c, nil
		}
		// The complaint of a family that knows the names, or the values too, says more.
		n := 0
		if f.knows(partial) {
			n = 1
			if f.checkSettings(partial) == nil {
				n = 2
			}
		}
		if n > most {
			said, most = err, n
		}
	}
	return Config{}, said
}

// Extend is Complete without working out reasons: false if no member of the
// family that partial names has its settings.
func (s Space) Extend(partial Config) (Config, bool) {
	f := s.Family(partial.Family)
	if f == nil || f.checkSettings(partial) != nil {
		return Config{}, false
	}
	// What the settings decide by themselves is not worth an elimination.
	if slices.ContainsFunc(f.Constraints, func(k Constraint) bool { return k.broken(partial) }) {
		return Config{}, false
	}
	return f.extend(partial)
}

// knows reports whether the family has all the parameters that c sets.
func (f *Family) knows(c Config) bool {
	for _, set := range c.Values {
		if f.index(set.Name) < 0 {
			return false
		}
	}
	return true
}

func (f *Family) complete(partial Config) (Config, error) {
	if err := f.checkSettings(partial); err != nil {
		return Config{}, err
	}
	if c, possible := f.extend(partial); possible {
		return c, nil
	}
	return Config{}, f.conflict(partial)
}

// extend finds the member nearest to the defaults; false if there is none.
func (f *Family) extend(partial Config) (Config, bool) {
	plain := f.fill(partial)
	if plain.covers(partial) && f.legal(plain) {
		return plain, true
	}
	e := eliminate(f, partial)
	if e.count.Sign() == 0 {
		return Config{}, false
	}
	return e.pick(func(param int, weights []*big.Int) int { return e.nearest(plain, param, weights) }), true
}

// conflict says why no configuration has the given settings: it leaves out
// those that do not matter and looks for a constraint among the rest.
func (f *Family) conflict(partial Config) error {
	possible := func(c Config) bool { return eliminate(f, c).count.Sign() > 0 }
	core := partial
	for _, set := range partial.Values {
		if less := core.without(set.Name); !possible(less) {
			core = less
		}
	}
	for i := range f.Constraints {
		if k := &f.Constraints[i]; k.broken(core) {
			return f.brokenError(k, core, possible)
		}
	}
	for _, set := range core.Values {
		p := f.Param(set.Name)
		for _, cond := range p.When {
			if v, given := core.Get(cond.Param); given && !slices.ContainsFunc(cond.In, v.Equal) {
				return fmt.Errorf("%s exists only %s", p.Name, p.conditions())
			}
		}
	}
	core.Family = ""
	return fmt.Errorf("no configuration of the family %s has %v", f.Name, core)
}

func (c Config) without(name string) Config {
	c.Values = slices.DeleteFunc(slices.Clone(c.Values), func(s Setting) bool { return s.Name == name })
	return c
}

// fill gives every parameter that exists the value that partial sets, or else
// its default.
func (f *Family) fill(partial Config) Config {
	c := Config{Family: f.Name}
	for i := range f.Params {
		p := &f.Params[i]
		if !p.exists(c) {
			continue
		}
		v, given := partial.Get(p.Name)
		if !given {
			v = p.Default
		}
		c.Values = append(c.Values, Setting{p.Name, v})
	}
	return c
}

// covers reports whether c has a value for all that partial sets.
func (c Config) covers(partial Config) bool {
	for _, set := range partial.Values {
		if !c.Has(set.Name) {
			return false
		}
	}
	return true
}

// nearest returns the index of the possible choice that is listed nearest to
// what plain has.
func (e *elimination) nearest(plain Config, param int, weights []*big.Int) int {
	p := &e.family.Params[param]
	v, exists := plain.Get(p.Name)
	if !exists {
		v = p.Default
	}
	at := slices.IndexFunc(p.Values, v.Equal)
	best, least := -1, 0
	for i, c := range e.domains[param] {
		far := max(c-at, at-c)
		switch {
		case c == absent && exists:
			far = len(p.Values)
		case c == absent:
			far = -1
		}
		if weights[i].Sign() > 0 && (best < 0 || far < least) {
			best, least = i, far
		}
	}
	return best
}
