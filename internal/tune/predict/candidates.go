package predict

import (
	"hash/fnv"
	"math"

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
	seen := map[string]bool{}
	for i := 0; len(list) < n && i < mostMisses*n; i++ {
		for try := range mostDraws {
			c := d.draw(uint64(i), uint64(i*mostDraws+try))
			if s.Check(c) != nil {
				continue
			}
			if text := c.String(); !seen[text] {
				seen[text] = true
				list = append(list, c)
			}
			break
		}
	}
	return list
}

const (
	mostDraws  = 20 // of a family's configurations until one is legal
	mostMisses = 4  // such draws for each configuration that is wanted: families may have few
)

// draws has what is drawn from: values with their hashes and weights.
type draws struct {
	space    schedule.Space
	families []drawn
	params   []map[string][]drawn // by family and parameter
}

// drawn is a value that may be drawn.
type drawn struct {
	hash uint64
	part float64 // 1 / its weight
}

// newDraws prepares draws from a space.
func newDraws(s schedule.Space) *draws {
	d := &draws{space: s}
	for i := range s.Families {
		f := &s.Families[i]
		// Families come up by how much there is to choose in them.
		d.families = append(d.families, drawn{hashOf(f.Name), 1 / float64(max(1, len(f.Params)))})
		params := map[string][]drawn{}
		for j := range f.Params {
			p := &f.Params[j]
			list := make([]drawn, len(p.Values))
			for k, v := range p.Values {
				list[k] = drawn{hashOf(f.Name, p.Name, v.String()), 1 / weight(p, v)}
			}
			params[p.Name] = list
		}
		d.params = append(d.params, params)
	}
	return d
}

// draw returns the configuration of a number, of the family of another number.
func (d *draws) draw(family, number uint64) schedule.Config {
	i := least(family, d.families)
	return d.space.Families[i].Choose(func(p *schedule.Param) schedule.Value {
		return p.Values[least(number, d.params[i][p.Name])]
	})
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

// least returns the index of the value whose hash is least, by weights. A value that is missing in another space
// changes nothing where it was not taken (Thaler and Ravishankar, IEEE/ACM Transactions on Networking 6(1), 1998).
func least(number uint64, values []drawn) int {
	at, lowest := 0, math.Inf(1)
	for i, v := range values {
		if x := -math.Log(uniform(number, v.hash)) * v.part; x < lowest {
			at, lowest = i, x
		}
	}
	return at
}

// hashOf returns a hash of some texts.
func hashOf(parts ...string) uint64 {
	h := fnv.New64a()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return h.Sum64()
}

// uniform returns a number between 0 and 1, both left out, that depends on a draw's number and a hash (by the
// finalizer of Steele, Lea and Flood, OOPSLA 2014).
func uniform(number, hash uint64) float64 {
	x := hash + (number+1)*0x9e3779b97f4a7c15
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return (float64(x>>11) + 0.5) / (1 << 53)
}
