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
func Candidates(s schedule.Space, n int) []schedule.Config {
	d := newDraws(s)
	var list []schedule.Config
	seen := make(map[uint64]bool, n)
	for i := 0; len(list) < n && i < mostMisses*n; i++ {
		for try := range mostDraws {
			c, key, ok := d.draw(uint64(i), uint64(i*mostDraws+try))
			if !ok {
				continue
			}
			if !seen[key] {
				seen[key] = true
				list = append(list, c)
			}
			break
		}
	}
	return list
}

// Shared is how many candidates all programs are recorded with, unless the user wants others.
const Shared = 200

const (
	mostDraws  = 20 // of a family's configurations until one is legal
	mostMisses = 4  // such draws for each configuration that is wanted: families may have few
)

// draws has what is drawn from: values with their hashes and weights.
type draws struct {
	space    schedule.Space
	families drawn
	params   [][]drawn // by family and parameter
	rules    [][]rule  // by family
	chosen   []uint64  // the hashes of the values of a draw, by parameter; 0 where there is none
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
	weights []float64
}

// newDraws prepares draws from a space.
func newDraws(s schedule.Space) *draws {
	d := &draws{space: s}
	for i := range s.Families {
		f := &s.Families[i]
		// Families come up by how much there is to choose in them.
		d.families.add(float64(max(1, len(f.Params))), f.Name)
		var params []drawn
		for j := range f.Params {
			p := &f.Params[j]
			var list drawn
			for _, v := range p.Values {
				list.add(weight(p, v), f.Name, p.Name, v.String())
			}
			params = append(params, list)
		}
		d.params = append(d.params, params)
		d.rules = append(d.rules, rulesOf(f))
	}
	return d
}

// add adds a value, by the texts that tell it from others.
func (d *drawn) add(weight float64, parts ...string) {
	d.hashes, d.weights = append(d.hashes, hashOf(parts...)), append(d.weights, weight)
}

// draw returns the configuration of a number, of the family of another number, and a key that tells configurations
// apart; false if it is not legal.
func (d *draws) draw(family, number uint64) (c schedule.Config, key uint64, ok bool) {
	i := d.families.least(family)
	key = d.families.hashes[i]
	f := &d.space.Families[i]
	d.chosen = slices.Grow(d.chosen[:0], len(f.Params))[:len(f.Params)]
	clear(d.chosen)
	j := -1
	c = f.Choose(func(p *schedule.Param) schedule.Value {
		for j++; &f.Params[j] != p; j++ {
		}
		list := &d.params[i][j]
		k := list.least(number)
		d.chosen[j] = list.hashes[k]
		key = mixed(key + list.hashes[k])
		return p.Values[k]
	})
	return c, key, !slices.ContainsFunc(d.rules[i], func(r rule) bool { return !r.allows(c, d.chosen) })
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

// allows reports whether the constraint holds. Most draws share the few values that it depends on.
func (r *rule) allows(c schedule.Config, chosen []uint64) bool {
	key := uint64(0)
	for _, j := range r.params {
		if j >= 0 {
			key = mixed(key + chosen[j])
		}
	}
	is, ok := r.known[key]
	if !ok {
		is = r.Allows(c)
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
	// Of values of one weight the largest hash is drawn, so that logarithms are needed of two at most: most
	// parameters have one value with another weight.
	best, most := 0, mixed(d.hashes[0]+number*odd)
	for i := 1; i < len(d.hashes); i++ {
		x := mixed(d.hashes[i] + number*odd)
		if d.weights[i] == d.weights[best] && x <= most ||
			d.weights[i] != d.weights[best] && exponential(x)*d.weights[best] >= exponential(most)*d.weights[i] {
			continue
		}
		best, most = i, x
	}
	return best
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
