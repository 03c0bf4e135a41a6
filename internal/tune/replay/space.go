package replay

import (
	"iter"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// Space is the set of a recording's configurations, as a space to search. What
// is not recorded is not in it.
type Space struct {
	rec    *Recording
	params []search.Param
	index  map[string]int
	start  int // the number of the configuration that a user gets
}

// NewSpace returns the space of a recording.
func NewSpace(r *Recording) *Space {
	s := &Space{rec: r, index: make(map[string]int, len(r.Trials))}
	for i := range r.Params {
		s.params = append(s.params, coordinate(&r.Params[i]))
	}
	for i := range r.Trials {
		s.index[key(r.Trials[i].Config)] = i
	}
	s.start = s.nearest(nil)
	return s
}

// coordinate describes a parameter to strategies, which need its order and
// nothing else of values that are no whole numbers.
func coordinate(p *Param) search.Param {
	c := search.Param{Name: p.Name, Of: p.Name}
	for _, axis := range []string{"x", "y", "z", "w"} {
		if strings.HasSuffix(p.Name, "_"+axis) || strings.HasSuffix(p.Name, "."+axis) {
			c.Axis, c.Of = axis, p.Name[:len(p.Name)-2]
		}
	}
	numbers, words := true, true
	for _, v := range p.Values {
		numbers = numbers && v.isNumber()
		words = words && v.kind == text && isWord(v.text)
	}
	for i, v := range p.Values {
		switch {
		case words:
			c.Values = append(c.Values, schedule.Word(v.text))
		case !numbers:
			c.Values = append(c.Values, schedule.Word("v"+schedule.Int(int64(i)).String()))
		case allWhole(p.Values):
			c.Values = append(c.Values, schedule.Int(int64(v.number)))
		default:
			c.Values = append(c.Values, schedule.Int(int64(i)))
		}
	}
	return c
}

// isWord reports whether a text can be a word of package schedule.
func isWord(s string) bool {
	v, err := schedule.ParseValue(s)
	return err == nil && !v.IsNumber()
}

func allWhole(values []Value) bool {
	for _, v := range values {
		if v.kind == decimal {
			return false
		}
	}
	return true
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
	b := make([]byte, 0, 64)
	for _, v := range p {
		if v < 0 || v >= maxValues {
			return 0, false
		}
		b = append(b, byte(v), byte(v>>8))
	}
	i, ok := s.index[string(b)]
	return i, ok
}

// Legal reports whether p is recorded.
func (s *Space) Legal(p search.Point) bool {
	_, ok := s.Trial(p)
	return ok
}

func (s *Space) point(i int) search.Point {
	config := s.rec.Trials[i].Config
	p := make(search.Point, len(config))
	for j, v := range config {
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
	if i, ok := s.Trial(p); ok {
		return s.point(i), true
	}
	if len(p) != len(s.params) {
		return nil, false
	}
	i := s.nearest(p)
	if i < 0 {
		return nil, false
	}
	return s.point(i), true
}

// nearest returns the configuration that has the values of p and else is nearest
// to the defaults, or to the middle of a parameter's values that has none.
func (s *Space) nearest(p search.Point) int {
	best, least := -1, math.Inf(1)
trials:
	for i := range s.rec.Trials {
		d := 0.0
		for j, v := range s.rec.Trials[i].Config {
			if p != nil && p[j] >= 0 && p[j] != int(v) {
				continue trials
			}
			q := &s.rec.Params[j]
			if n := float64(len(q.Values)); q.Default >= 0 {
				d += math.Abs(float64(int(v)-q.Default)) / n
			} else {
				d += math.Abs(float64(v)-(n-1)/2) / n
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

// Text returns a point with its values as recorded.
func (s *Space) Text(p search.Point) string {
	parts := make([]string, len(s.params))
	for i, q := range s.rec.Params {
		v := "?"
		if i < len(p) && p[i] >= 0 && p[i] < len(q.Values) {
			v = q.Values[p[i]].String()
		}
		parts[i] = q.Name + "=" + v
	}
	return strings.Join(parts, ",")
}
