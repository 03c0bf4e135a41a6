package schedule

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"slices"
)

// Counter knows how many configurations a space has, and draws any of them with
// equal chance. Making one costs what the constraints tie together; then each
// draw is cheap.
type Counter struct {
	space Space
	each  []*elimination // by family
	total *big.Int
}

// Counter counts the space.
func (s Space) Counter() *Counter {
	c := &Counter{space: s, total: new(big.Int)}
	for i := range s.Families {
		e := eliminate(&s.Families[i], Config{})
		c.each = append(c.each, e)
		c.total.Add(c.total, e.count)
	}
	return c
}

// Count returns the number of configurations.
func (c *Counter) Count() *big.Int { return new(big.Int).Set(c.total) }

// Draw returns one configuration, each with equal chance. It panics if the
// space is empty.
func (c *Counter) Draw(rng *rand.Rand) Config {
	at := below(rng, c.total)
	for _, e := range c.each {
		if at.Cmp(e.count) < 0 {
			return e.pick(func(_ int, weights []*big.Int) int { return roulette(rng, weights) })
		}
		at.Sub(at, e.count)
	}
	panic("schedule: an empty space has nothing to draw")
}

// roulette returns an index with a chance in proportion to its weight.
func roulette(rng *rand.Rand, weights []*big.Int) int {
	total := new(big.Int)
	for _, w := range weights {
		total.Add(total, w)
	}
	at := below(rng, total)
	for i, w := range weights {
		if at.Cmp(w) < 0 {
			return i
		}
		at.Sub(at, w)
	}
	panic("schedule: a draw from no choices")
}

// below returns a number of 0 <= x < n, each with equal chance.
func below(rng *rand.Rand, n *big.Int) *big.Int {
	if n.IsUint64() {
		return new(big.Int).SetUint64(rng.Uint64N(n.Uint64()))
	}
	bits := new(big.Int).Sub(n, big.NewInt(1)).BitLen()
	buf := make([]byte, (bits+63)/64*8)
	for {
		for i := 0; i < len(buf); i += 8 {
			binary.BigEndian.PutUint64(buf[i:], rng.Uint64())
		}
		x := new(big.Int).SetBytes(buf)
		x.Rsh(x, uint(len(buf)*8-bits))
		if x.Cmp(n) < 0 {
			return x
		}
	}
}

// elimination counts a family's configurations by variable elimination, as in
// Dechter, "Bucket elimination: a unifying framework for reasoning" (1999):
// one parameter after the other is summed out of the relations that mention
// it, which leaves a table over the parameters that it was related to.
// Unrelated parameters never meet, so their counts only multiply.
type elimination struct {
	family  *Family
	domains [][]int // by parameter: indices into Values; absent if it need not exist
	buckets []bucket
	count   *big.Int
}

// absent is the choice of a parameter that does not exist.
const absent = -1

// relation says which choices of some parameters go together.
type relation struct {
	scope []int // ascending
	holds func(choice []int) bool
}

// table counts, for choices of the parameters in scope, the choices of
// parameters already eliminated. Zeros are left out.
type table struct {
	scope []int // ascending
	count map[string]*big.Int
}

// bucket is what one parameter was summed out of.
type bucket struct {
	param     int
	relations []relation
	tables    []table
}

// eliminate counts the configurations that agree with the settings in fixed.
func eliminate(f *Family, fixed Config) *elimination {
	e := &elimination{family: f, count: big.NewInt(1)}
	for i := range f.Params {
		p := &f.Params[i]
		v, isFixed := fixed.Get(p.Name)
		var domain []int
		if len(p.When) > 0 && !isFixed {
			domain = append(domain, absent)
		}
		for j := range p.Values {
			if !isFixed || v.Equal(p.Values[j]) {
				domain = append(domain, j)
			}
		}
		e.domains = append(e.domains, domain)
	}
	relations := f.relations()
	var tables []table
	left := make([]int, len(f.Params))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		param := e.cheapest(left, relations, tables)
		left = slices.DeleteFunc(left, func(i int) bool { return i == param })
		b := bucket{param: param}
		relations, b.relations = split(relations, func(r relation) bool { return slices.Contains(r.scope, param) })
		tables, b.tables = split(tables, func(t table) bool { return slices.Contains(t.scope, param) })
		e.buckets = append(e.buckets, b)
		if t := e.sumOut(b); len(t.scope) > 0 {
			tables = append(tables, t)
		} else if n := t.count[""]; n != nil {
			e.count.Mul(e.count, n)
		} else {
			e.count.SetInt64(0)
		}
	}
	return e
}

// relations returns the family's conditions and constraints.
func (f *Family) relations() []relation {
	var out []relation
	for i := range f.Params {
		p := &f.Params[i]
		if len(p.When) == 0 {
			continue
		}
		scope := []int{i}
		for _, c := range p.When {
			scope = append(scope, f.index(c.Param))
		}
		slices.Sort(scope)
		scope = slices.Compact(scope)
		out = append(out, relation{scope, func(choice []int) bool {
			return p.exists(f.config(scope, choice)) == (choice[i] != absent)
		}})
	}
	for i := range f.Constraints {
		k := &f.Constraints[i]
		var params []int // in the order in which the constraint names them
		for _, name := range k.Params {
			params = append(params, f.index(name))
		}
		scope := slices.Sorted(slices.Values(params))
		out = append(out, relation{scope, func(choice []int) bool {
			if slices.ContainsFunc(params, func(i int) bool { return choice[i] == absent }) {
				return true // it is not asked
			}
			return k.Holds(f.config(params, choice))
		}})
	}
	return out
}

// config returns the settings of some parameters, given every parameter's
// choice.
func (f *Family) config(params, choice []int) Config {
	c := Config{Family: f.Name, Values: make([]Setting, 0, len(params))}
	for _, i := range params {
		if choice[i] != absent {
			c.Values = append(c.Values, Setting{f.Params[i].Name, f.Params[i].Values[choice[i]]})
		}
	}
	return c
}

func split[T any](list []T, take func(T) bool) (rest, taken []T) {
	for _, x := range list {
		if take(x) {
			taken = append(taken, x)
		} else {
			rest = append(rest, x)
		}
	}
	return rest, taken
}

// scope returns the parameters that a bucket relates to its own, ascending.
func (b *bucket) scope() []int {
	var out []int
	for _, r := range b.relations {
		out = append(out, r.scope...)
	}
	for _, t := range b.tables {
		out = append(out, t.scope...)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(i int) bool { return i == b.param })
}

// cheapest returns the parameter that has the fewest combinations with those
// that it is related to.
func (e *elimination) cheapest(left []int, relations []relation, tables []table) int {
	best, least := left[0], -1.0
	for _, param := range left {
		b := bucket{param: param}
		_, b.relations = split(relations, func(r relation) bool { return slices.Contains(r.scope, param) })
		_, b.tables = split(tables, func(t table) bool { return slices.Contains(t.scope, param) })
		cost := float64(len(e.domains[param]))
		for _, i := range b.scope() {
			cost *= float64(len(e.domains[i]))
		}
		if least < 0 || cost < least {
			best, least = param, cost
		}
	}
	return best
}

// sumOut counts the choices of a bucket's parameter for each choice of the
// parameters in its scope. A branch is cut as soon as what is decided is wrong.
func (e *elimination) sumOut(b bucket) table {
	out := table{scope: b.scope(), count: make(map[string]*big.Int)}
	vars := append(slices.Clone(out.scope), b.param)
	at := func(scope []int) int { // the position in vars at which scope is decided
		last := 0
		for _, i := range scope {
			last = max(last, slices.Index(vars, i))
		}
		return last
	}
	relations := make([][]relation, len(vars))
	for _, r := range b.relations {
		relations[at(r.scope)] = append(relations[at(r.scope)], r)
	}
	tables := make([][]table, len(vars))
	for _, t := range b.tables {
		tables[at(t.scope)] = append(tables[at(t.scope)], t)
	}
	choice := make([]int, len(e.domains))
	var visit func(depth int, weight *big.Int)
	visit = func(depth int, weight *big.Int) {
		if depth == len(vars) {
			k := string(key(out.scope, choice))
			if sum := out.count[k]; sum != nil {
				sum.Add(sum, weight)
			} else {
				out.count[k] = new(big.Int).Set(weight)
			}
			return
		}
		for _, c := range e.domains[vars[depth]] {
			choice[vars[depth]] = c
			if w := multiplied(relations[depth], tables[depth], choice, weight); w != nil {
				visit(depth+1, w)
			}
		}
	}
	visit(0, big.NewInt(1))
	return out
}

// multiplied multiplies a weight by what relations and tables say of a choice; nil
// is zero. Most choices are wrong, so products are made last.
func multiplied(relations []relation, tables []table, choice []int, weight *big.Int) *big.Int {
	var few [4]*big.Int
	counts := few[:0]
	for _, t := range tables {
		n := t.count[string(key(t.scope, choice))]
		if n == nil {
			return nil
		}
		counts = append(counts, n)
	}
	for _, r := range relations {
		if !r.holds(choice) {
			return nil
		}
	}
	for _, n := range counts {
		weight = new(big.Int).Mul(weight, n)
	}
	return weight
}

// key packs the choices of the parameters in scope.
func key(scope, choice []int) []byte {
	k := make([]byte, 0, 16)
	for _, i := range scope {
		k = binary.AppendUvarint(k, uint64(choice[i]+1))
	}
	return k
}

// pick makes one configuration, the last parameter that was eliminated first.
// choose is given the weights of a parameter's domain: for each choice the
// number of ways to go on; it returns an index of one that is not zero.
func (e *elimination) pick(choose func(param int, weights []*big.Int) int) Config {
	choice := make([]int, len(e.domains))
	one, zero := big.NewInt(1), new(big.Int)
	for _, b := range slices.Backward(e.buckets) {
		domain := e.domains[b.param]
		weights := make([]*big.Int, len(domain))
		for i, c := range domain {
			choice[b.param] = c
			if weights[i] = multiplied(b.relations, b.tables, choice, one); weights[i] == nil {
				weights[i] = zero
			}
		}
		choice[b.param] = domain[choose(b.param, weights)]
	}
	all := make([]int, len(choice))
	for i := range all {
		all[i] = i
	}
	return e.family.config(all, choice)
}
