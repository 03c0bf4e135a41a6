package schedule

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/machine"
)

// Space is every legal configuration of one kernel: the union of families.
type Space struct{ Families []Family }

// Family is one way of building a kernel, with the parameters it has.
type Family struct {
	Name, Doc   string
	Params      []Param // in the order in which a configuration lists them
	Constraints []Constraint
	// Seeds are configurations to begin a search with, as texts of settings by
	// importance: a kernel that cannot have all settings leaves out the last.
	Seeds []string
}

// Param is one optimisation parameter.
type Param struct {
	Name, Doc string
	Role      Role    // what it is for
	Axis      Axis    // on which axes its numbers act
	Array     string  // the class of arrays that it is about; "" for all
	Source    string  // the publication and section that it comes from
	Values    []Value // in the order of enumeration
	Default   Value
	// Needs lists the values that not every device can do.
	Needs []Need
	// Finer returns the values between the usual ones, for searches that ask for
	// them; nil if there are none.
	Finer func() []Value
	// When lists what must all hold for the parameter to exist. A parameter
	// that does not exist is absent from the configuration.
	When []Condition
}

// Need says which values of a parameter need a capability of the dialect or the
// device.
type Need struct {
	Capability machine.Capability
	Values     []Value
}

// Without takes the values out of a parameter that need what is lacking.
func (p *Param) Without(lacks []machine.Capability) {
	for _, need := range p.Needs {
		if slices.Contains(lacks, need.Capability) {
			p.Values = slices.DeleteFunc(slices.Clone(p.Values), func(v Value) bool {
				return slices.ContainsFunc(need.Values, v.Equal)
			})
		}
	}
}

// Condition holds if an earlier parameter exists and has one of some values.
type Condition struct {
	Param string
	In    []Value
}

// When returns the condition that a parameter has one of some values.
func When(param string, in ...Value) Condition { return Condition{param, in} }

// Constraint is a relation that legal configurations satisfy. It is not asked
// unless all its parameters exist. Holds sees those parameters and no others,
// and is a function of them alone.
type Constraint struct {
	Name   string
	Doc    string // completes "... is needed because": what goes wrong otherwise
	Params []string
	Holds  func(Config) bool
}

// Family returns the family of that name, or nil.
func (s Space) Family(name string) *Family {
	for i := range s.Families {
		if s.Families[i].Name == name {
			return &s.Families[i]
		}
	}
	return nil
}

// Seeds returns the seeds of all families.
func (s Space) Seeds() []string {
	var list []string
	for i := range s.Families {
		list = append(list, s.Families[i].Seeds...)
	}
	return list
}

// Param returns the family's parameter of that name, or nil.
func (f *Family) Param(name string) *Param {
	if i := f.index(name); i >= 0 {
		return &f.Params[i]
	}
	return nil
}

func (f *Family) index(name string) int {
	return slices.IndexFunc(f.Params, func(p Param) bool { return p.Name == name })
}

// Default returns a family's configuration of default values, which Verify
// guarantees to be legal. The empty name means the first family.
func (s Space) Default(family string) Config {
	if family == "" {
		family = s.Families[0].Name
	}
	f := s.Family(family)
	if f == nil {
		panic(fmt.Sprintf("schedule: no family is called %s", family))
	}
	c := Config{Family: f.Name}
	for i := range f.Params {
		if p := &f.Params[i]; p.exists(c) {
			c.Values = append(c.Values, Setting{p.Name, p.Default})
		}
	}
	return c
}

// exists reports whether the parameters before p, set in c, let p exist.
func (p *Param) exists(c Config) bool {
	for _, cond := range p.When {
		v, ok := c.Get(cond.Param)
		if !ok || !slices.ContainsFunc(cond.In, v.Equal) {
			return false
		}
	}
	return true
}

// applies reports whether all the constraint's parameters exist in c.
func (k *Constraint) applies(c Config) bool {
	return !slices.ContainsFunc(k.Params, func(name string) bool { return !c.Has(name) })
}

// Allows reports whether the constraint holds for a configuration, or says nothing of it. It depends on the values of
// Params alone.
func (k *Constraint) Allows(c Config) bool { return !k.broken(c) }

// broken reports whether the constraint applies to c and does not hold.
func (k *Constraint) broken(c Config) bool {
	if !k.applies(c) {
		return false
	}
	own := Config{Family: c.Family, Values: make([]Setting, 0, len(k.Params))}
	for _, name := range k.Params {
		v, _ := c.Get(name)
		own.Values = append(own.Values, Setting{name, v})
	}
	return !k.Holds(own)
}

// Verify reports the first mistake in the declarations of a space: names that
// clash, defaults that are not among the values or not legal together,
// conditions on parameters that do not come before, constraints on unknown ones.
func (s Space) Verify() error {
	if len(s.Families) == 0 {
		return fmt.Errorf("the space has no family")
	}
	for i := range s.Families {
		f := &s.Families[i]
		if !isName(f.Name) || s.Family(f.Name) != f {
			return fmt.Errorf("family %q: the name is unfit or taken", f.Name)
		}
		if err := f.verify(); err != nil {
			return fmt.Errorf("family %s: %w", f.Name, err)
		}
		if err := s.Check(s.Default(f.Name)); err != nil {
			return fmt.Errorf("family %s: its defaults are not legal: %w", f.Name, err)
		}
	}
	return nil
}

func (f *Family) verify() error {
	for i := range f.Params {
		p := &f.Params[i]
		if !isName(p.Name) || p.Name == FamilyName || f.index(p.Name) != i {
			return fmt.Errorf("parameter %q: the name is unfit or taken", p.Name)
		}
		if !slices.ContainsFunc(p.Values, p.Default.Equal) {
			return fmt.Errorf("parameter %s: the default %v is not among its values", p.Name, p.Default)
		}
		if p.Role != NoRole && f.ForArray(p.Role, p.Array) != p {
			return fmt.Errorf("parameter %s: another one has the role %s, too", p.Name, p.Role)
		}
		for j, v := range p.Values {
			if slices.ContainsFunc(p.Values[:j], v.Equal) {
				return fmt.Errorf("parameter %s: %v is listed twice", p.Name, v)
			}
		}
		for _, c := range p.When {
			if at := f.index(c.Param); at < 0 || at >= i {
				return fmt.Errorf("parameter %s depends on %s, which does not come before it", p.Name, c.Param)
			}
		}
	}
	for _, k := range f.Constraints {
		for j, name := range k.Params {
			if f.index(name) < 0 || slices.Contains(k.Params[:j], name) {
				return fmt.Errorf("constraint %q: %s is unknown or listed twice", k.Name, name)
			}
		}
		if k.Holds == nil || len(k.Params) == 0 {
			return fmt.Errorf("constraint %q relates nothing", k.Name)
		}
	}
	return nil
}
