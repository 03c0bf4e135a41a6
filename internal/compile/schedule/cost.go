package schedule

import "math/big"

// Count returns the number of configurations of a family.
func (f *Family) Count() *big.Int { return eliminate(f, Config{}).count }

// ConstraintCost is what a constraint of a family costs.
type ConstraintCost struct {
	Constraint *Constraint
	// Out is the number of configurations that it alone leaves out: those that
	// would be legal without it.
	Out *big.Int
}

// ConstraintCosts returns what each of a family's constraints leaves out.
func (f *Family) ConstraintCosts() []ConstraintCost {
	all := f.Count()
	var out []ConstraintCost
	for i := range f.Constraints {
		without := *f
		without.Constraints = append(append([]Constraint{}, f.Constraints[:i]...), f.Constraints[i+1:]...)
		n := without.Count()
		out = append(out, ConstraintCost{&f.Constraints[i], n.Sub(n, all)})
	}
	return out
}
