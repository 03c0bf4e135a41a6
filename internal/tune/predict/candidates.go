package predict

import (
	"hash/fnv"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Candidates returns up to n different configurations of a kernel's space: the model's space. They are stratified:
// the form of a kernel (its family, what is staged and by whom, the vectors, the tile) is drawn evenly, and the
// settings that matter less are mostly their defaults.
//
// The same configurations come up in all spaces that have them, whatever else those have: the draw of number i takes
// for each parameter the value of the least hash. So programs are recorded with the same configurations, and what a
// model picks from is like what it has learned from.
func Candidates(s schedule.Space, n int) []schedule.Config { return withOthers(s, n, nil) }

// withOthers returns candidates, and those of some others that are none of them.
func withOthers(s schedule.Space, n int, others []schedule.Config) []schedule.Config {
	d := newDraws(s)
	list := make([]schedule.Config, 0, n+len(others))
	seen := make(map[uint64]bool, n)
	for i := 0; len(list) < n && i < mostMisses*n; i++ {
		for try := range mostDraws {
			key, ok := d.draw(uint64(i), uint64(i*mostDraws+try))
			if !ok {
				continue
			}
			if !seen[key] {
				seen[key] = true
				list = append(list, d.config())
			}
			break
		}
	}
	for _, c := range others {
		key, ok := d.keyOf(c)
		if ok && seen[key] {
			continue
		}
		seen[key] = seen[key] || ok
		list = append(list, c)
	}
	return list
}

// Shared is how many candidates all programs are recorded with, unless the user wants others.
const Shared = 200

const (
	mostDraws  = 20 // of a family's configurations until one is legal
	mostMisses = 4  // such draws for each configuration that is wanted: families may have few
)

// draws has what is drawn from, and what was drawn last: values by their places in lists.
type draws struct {
	space    schedule.Space
	names    drawn
	families []drawnFamily
	family   int   // that was drawn
	values   []int // of its parameters; absent where a parameter does not exist
	// spare is where settings of configurations are kept: thousands of lists of their own would take longer to make.
	spare []schedule.Setting
}

// slab is how many settings are made at once.
const slab = 4096

const absent = -1

// drawnFamily is a family that configurations are drawn from.
type drawnFamily struct {
	params []drawnParam
	rules  []rule
}

// drawnParam is a parameter whose value is drawn if it exists.
type drawnParam struct {
	drawn
	when []condition
}

// condition is one of a parameter's existence.
type condition struct {
	param int    // before it; absent if there is none, so that it never exists
	in    []bool // by value
}

// rule is a constraint with what is known of it already.
type rule struct {
	*schedule.Constraint
	params []int           // that it is of
	known  map[uint64]bool // whether it holds, by the hashes of their values
}

// drawn are values one of which is drawn: by their hashes and weights.
type drawn struct {
	hashes  []uint64
	weights []float64 // each once
	of      [][]int   // the values of a weight
}

// newDraws prepares draws from a space.
func newDraws(s schedule.Space) *draws {
	d := &draws{space: s}
	for i := range s.Families {
		f := &s.Families[i]
		// Families come up by how much there is to choose in them.
		d.names.add(float64(max(1, len(f.Params))), f.Name)
		var own drawnFamily
		for j := range f.Params {
			p := &f.Params[j]
			var x drawnParam
			for _, v := range p.Values {
				x.add(weight(p, v), f.Name, p.Name, v.String())
			}
			for _, w := range p.When {
				x.when = append(x.when, conditionOf(f.Params[:j], w))
			}
			own.params = append(own.params, x)
		}
		own.rules = rulesOf(f)
		d.families = append(d.families, own)
	}
	return d
}

// conditionOf prepares a condition on one of the parameters before.
func conditionOf(before []schedule.Param, w schedule.Condition) condition {
	c := condition{param: slices.IndexFunc(before, func(p schedule.Param) bool { return p.Name == w.Param })}
	if c.param != absent {
		for _, v := range before[c.param].Values {
			c.in = append(c.in, slices.ContainsFunc(w.In, v.Equal))
		}
	}
	return c
}

// add adds a value, by the texts that tell it from others.
func (d *drawn) add(weight float64, parts ...string) {
	i := slices.Index(d.weights, weight)
	if i < 0 {
		i = len(d.weights)
		d.weights, d.of = append(d.weights, weight), append(d.of, nil)
	}
	d.of[i] = append(d.of[i], len(d.hashes))
	d.hashes = append(d.hashes, hashOf(parts...))
}

// draw draws the configuration of a number, of the family of another number, and returns a key that tells
// configurations apart; false if it is not legal.
func (d *draws) draw(family, number uint64) (key uint64, ok bool) {
	d.family = d.names.least(family)
	key = d.names.hashes[d.family]
	f := &d.families[d.family]
	d.values = d.values[:0]
	for j := range f.params {
		p := &f.params[j]
		v := absent
		if !slices.ContainsFunc(p.when, func(c condition) bool { return !c.holds(d.values) }) {
			v = p.least(number)
			key = mixed(key + p.hashes[v])
		}
		d.values = append(d.values, v)
	}
	return key, !slices.ContainsFunc(f.rules, func(r rule) bool { return !r.allows(d) })
}

// holds reports whether the values of the parameters before fulfil the condition.
func (c *condition) holds(values []int) bool {
	return c.param != absent && values[c.param] != absent && c.in[values[c.param]]
}

// config returns the configuration that was drawn last.
func (d *draws) config() schedule.Config {
	f := &d.space.Families[d.family]
	if cap(d.spare)-len(d.spare) < len(f.Params) {
		d.spare = make([]schedule.Setting, 0, max(slab, len(f.Params)))
	}
	from := len(d.spare)
	for j, v := range d.values {
		if p := &f.Params[j]; v != absent {
			d.spare = append(d.spare, schedule.Setting{Name: p.Name, Value: p.Values[v]})
		}
	}
	to := len(d.spare)
	return schedule.Config{Family: f.Name, Values: d.spare[from:to:to]}
}

// keyOf returns the key that draw has for a configuration; false if it is none of the space.
func (d *draws) keyOf(c schedule.Config) (key uint64, ok bool) {
	family := slices.IndexFunc(d.space.Families, func(f schedule.Family) bool { return f.Name == c.Family })
	if family < 0 {
		return 0, false
	}
	key = d.names.hashes[family]
	for j := range d.space.Families[family].Params {
		p := &d.space.Families[family].Params[j]
		value, has := c.Get(p.Name)
		if !has {
			continue
		}
		v := slices.IndexFunc(p.Values, value.Equal)
		if v < 0 {
			return 0, false
		}
		key = mixed(key + d.families[family].params[j].hashes[v])
	}
	return key, true
}

// rulesOf returns the constraints of a family.
func rulesOf(f *schedule.Family) []rule {
	var list []rule
	for i := range f.Constraints {
		r := rule{Constraint: &f.Constraints[i], known: map[uint64]bool{}}
		for _, name := range r.Params {
			is := func(p schedule.Param) bool { return p.Name == name }
			r.params = append(r.params, slices.IndexFunc(f.Params, is))
		}
		list = append(list, r)
	}
	return list
}

// allows reports whether the constraint holds for what was drawn. Most draws share the few values that it depends on.
func (r *rule) allows(d *draws) bool {
	key := uint64(0)
	for _, j := range r.params {
		if j < 0 {
			continue
		}
		hash := uint64(0)
		if v := d.values[j]; v != absent {
			hash = d.families[d.family].params[j].hashes[v]
		}
		key = mixed(key + hash)
	}
	is, ok := r.known[key]
	if !ok {
		is = r.Allows(d.config())
		r.known[key] = is
	}
	return is
}

// usualPart is about the part of draws in which a setting that matters less is the default.
const usualPart = 0.75

// weight returns how often a value comes up, beside the others of its parameter.
func weight(p *schedule.Param, v schedule.Value) float64 {
	switch {
	case decidesForm(p.Role):
		return 1
	case v.Equal(p.Default):
		return usualPart * float64(len(p.Values))
	}
	return 1 - usualPart
}

// decidesForm reports whether values of a role make kernels of another form or shape.
func decidesForm(r schedule.Role) bool {
	switch r {
	case schedule.Threads, schedule.CacheBlock, schedule.Tile, schedule.Workers, schedule.Vector,
		schedule.BlockedUnroll, schedule.CyclicUnroll, schedule.Stream, schedule.StreamLength, schedule.Staging,
		schedule.StagingCopy, schedule.Prefetch, schedule.Sizes:
		return true
	}
	return false
}

// least returns the index of the value that is drawn: of the least logarithm of a hash over its weight. A value that is
// missing in another space changes nothing where it was not taken (Thaler and Ravishankar, IEEE/ACM Transactions on
// Networking 6(1), 1998).
func (d *drawn) least(number uint64) int {
	best, at := 0, -1 // the value, and its weight's place
	var hash uint64
	for i, values := range d.of {
		// Of values of one weight that is the largest hash, so that one logarithm is needed for all of them.
		own, most := values[0], mixed(d.hashes[values[0]]+number*odd)
		for _, k := range values[1:] {
			if x := mixed(d.hashes[k] + number*odd); x > most {
				own, most = k, x
			}
		}
		if at < 0 || d.before(i, most, at, hash) {
			best, at, hash = own, i, most
		}
	}
	return best
}

// before reports whether the hash of one weight has a lesser logarithm over it than that of another. Mostly no
// logarithm is needed for that: of the greater weight and the greater hash it is the lesser.
func (d *drawn) before(i int, x uint64, j int, y uint64) bool {
	v, w := d.weights[i], d.weights[j]
	switch {
	case x <= y && v <= w:
		return false
	case x > y && v >= w:
		return true
	}
	return exponential(x)/v < exponential(y)/w
}

// exponential makes a number of an exponential distribution of a hash.
func exponential(x uint64) float64 { return -math.Log((float64(x>>11) + 0.5) / (1 << 53)) }

// hashOf returns a hash of some texts.
func hashOf(parts ...string) uint64 {
	h := fnv.New64a()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return h.Sum64()
}

// odd spreads numbers over all bits.
const odd = 0x9e3779b97f4a7c15

// mixed spreads each bit over all others (the finalizer of Steele, Lea and Flood, OOPSLA 2014).
func mixed(x uint64) uint64 {
	x += odd
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
