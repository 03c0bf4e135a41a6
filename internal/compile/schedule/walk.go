package schedule

import (
	"iter"
	"math/big"
	"math/rand/v2"
	"slices"
)

// Count returns the number of configurations in the space.
func (s Space) Count() *big.Int { return s.Counter().Count() }

// Sample returns n different configurations in random order, every such choice
// with equal chance, or all of them if there are no more than n. To draw again
// and again from one space, keep its Counter.
func (s Space) Sample(rng *rand.Rand, n int) []Config {
	counter := s.Counter()
	if few := big.NewInt(2 * int64(n)); counter.total.Cmp(few) <= 0 {
		all := slices.Collect(s.All())
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all[:min(n, len(all))]
	}
	seen := make(map[string]bool, n)
	out := make([]Config, 0, n)
	for len(out) < n {
		c := counter.Draw(rng)
		if text := c.String(); !seen[text] {
			seen[text] = true
			out = append(out, c)
		}
	}
	return out
}

// All returns every configuration: by family, then by the values of the first
// parameter, and so on.
func (s Space) All() iter.Seq[Config] {
	return func(yield func(Config) bool) {
		for i := range s.Families {
			if !s.Families[i].all(Config{Family: s.Families[i].Name}, 0, yield) {
				return
			}
		}
	}
}

// all completes c from parameter at on, and reports whether to go on.
func (f *Family) all(c Config, at int, yield func(Config) bool) bool {
	if at == len(f.Params) {
		c.Values = slices.Clone(c.Values)
		return yield(c)
	}
	p := &f.Params[at]
	if !p.exists(c) {
		return f.all(c, at+1, yield)
	}
	for _, v := range p.Values {
		next := c
		next.Values = append(c.Values, Setting{p.Name, v})
		// A constraint is asked once its last parameter has a value.
		broken := slices.ContainsFunc(f.Constraints, func(k Constraint) bool {
			return slices.Contains(k.Params, p.Name) && k.broken(next)
		})
		if !broken && !f.all(next, at+1, yield) {
			return false
		}
	}
	return true
}
