package replay

import (
	"iter"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/gridloom/gridloom/internal/tune/search"
)

// Space is the set of a recording's configurations, as a space to search. What
// is not recorded is not in it.
type Space struct {
	rec    *Recording
	coords []coordinate
	params []search.Param
	points []int16 // of all configurations, one after the other
	index  map[string]int32
	start  int // the number of the configuration that a user gets
	family int // the coordinate that is the family of kernels; -1 if there is none
	// existences are the rules by family that Shape follows. They are learned when first asked for.
	existences func() [][]existence
}

// NewSpace returns the space of a recording.
func NewSpace(r *Recording) *Space {
	s := &Space{rec: r, coords: coordinates(r), index: make(map[string]int32, len(r.Trials))}
	for i := range s.coords {
		s.params = append(s.params, s.coords[i].param)
	}
	s.points = make([]int16, 0, len(r.Trials)*len(s.coords))
	for i := range r.Trials {
		for j := range s.coords {
			s.points = append(s.points, s.coords[j].of(r.Trials[i].Config))
		}
		s.index[s.point(i).Key()] = int32(i)
	}
	s.start = s.nearest(nil)
	s.family = familyOf(s.params)
	s.existences = sync.OnceValue(s.learnExistences)
	return s
}

// Params returns the parameters.
func (s *Space) Params() []search.Param { return s.params }

// Count returns the number of configurations, those that failed included: only
// trying them tells.
func (s *Space) Count() *big.Int { return big.NewInt(int64(len(s.rec.Trials))) }

// Trial returns the number of a point's trial; false if it is not recorded.
func (s *Space) Trial(p search.Point) (int, bool) {
	if len(p) != len(s.params) {
		return 0, false
	}
	i, ok := s.index[p.Key()]
	return int(i), ok
}

// Legal reports whether p is recorded.
func (s *Space) Legal(p search.Point) bool {
	_, ok := s.Trial(p)
	return ok
}

// row is a configuration's point.
func (s *Space) row(i int) []int16 { return s.points[i*len(s.coords) : (i+1)*len(s.coords)] }

func (s *Space) point(i int) search.Point {
	p := make(search.Point, len(s.coords))
	for j, v := range s.row(i) {
		p[j] = int(v)
	}
	return p
}

// Draw returns a configuration, each with equal chance.
func (s *Space) Draw(rng *rand.Rand) search.Point { return s.point(rng.IntN(len(s.rec.Trials))) }

// All returns the configurations in the order of the recording.
func (s *Space) All() iter.Seq[search.Point] {
	return func(yield func(search.Point) bool) {
		for i := range s.rec.Trials {
			if !yield(s.point(i)) {
				return
			}
		}
	}
}

// Complete returns the recorded configuration nearest to the start that has the
// values of p.
func (s *Space) Complete(p search.Point) (search.Point, bool) {
	if len(p) != len(s.params) {
		return nil, false
	}
	i, ok := s.Trial(p)
	if !ok {
		i = s.nearest(p)
	}
	if i < 0 {
		return nil, false
	}
	return s.point(i), true
}

// nearest returns the configuration that has the values of p and else is nearest
// to the defaults, or to the middle of a parameter's values that has none. A
// middle of everything may have the largest block that there is: where nothing is
// known of defaults, the block and the work of a thread are usual ones.
func (s *Space) nearest(p search.Point) int {
	best, least := -1, math.Inf(1)
	doubt := func(search.Point) float64 { return 0 }
	if !slices.ContainsFunc(s.rec.Params, func(p Param) bool { return p.Default >= 0 }) {
		doubt = newConvention(s.params).deviation
	}
trials:
	for i := range s.rec.Trials {
		d := deviationWeight * doubt(s.point(i))
		for j, v := range s.row(i) {
			if p != nil && p[j] >= 0 && p[j] != int(v) {
				continue trials
			}
			if c := &s.coords[j]; v >= 0 {
				d += math.Abs(float64(v)-c.middle) / float64(len(c.param.Values))
			}
		}
		if d < least {
			best, least = i, d
		}
	}
	return best
}

// Starts returns the defaults, or what is in the middle if the recording does
// not know them.
func (s *Space) Starts() []search.Point { return []search.Point{s.point(s.start)} }

// Text returns a point as it was recorded, or else by its coordinates.
func (s *Space) Text(p search.Point) string {
	if i, ok := s.Trial(p); ok {
		return s.rec.Text(s.rec.Trials[i].Config)
	}
	var parts []string
	for i, c := range s.params {
		if i < len(p) && p[i] >= 0 && p[i] < len(c.Values) {
			parts = append(parts, c.Name+"="+c.Values[p[i]].String())
		}
	}
	return strings.Join(parts, ",")
}
