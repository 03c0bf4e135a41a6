package replay

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// A recording has no word of which parameters exist beside which values, but its configurations show it: staging is
// there where stages=1, and nowhere else. Strategies that change stages need to know, as they do in the space that was
// recorded. Otherwise no step would lead from stages=0 to stages=1 or back, since each also takes or gives a staging.

// existence says beside which values a coordinate has a value, within a family.
type existence struct {
	coordinate int
	never      bool
	when       []condition // which all hold where it has one, and only there
}

// condition holds if a coordinate has one of some values.
type condition struct {
	coordinate int
	in         []bool // by the number of the value
}

func (c *condition) holds(v int) bool { return v != search.Absent && (v < 0 || c.in[v]) }

// Shape returns p with search.Absent for coordinates that have no value beside the others in any configuration of the
// recording, and search.Free for those that always have one there and have none in p. Where the recording shows no
// rule, coordinates stay as they are. So does a configuration of the recording.
func (s *Space) Shape(p search.Point) search.Point {
	q := slices.Clone(p)
	if len(p) != len(s.params) {
		return q
	}
	family := 0
	if s.family >= 0 {
		if family = p[s.family]; family < 0 {
			return q
		}
	}
	for _, e := range s.existences()[family] {
		exists := !e.never
		for i := range e.when {
			exists = exists && e.when[i].holds(q[e.when[i].coordinate])
		}
		switch {
		case !exists:
			q[e.coordinate] = search.Absent
		case q[e.coordinate] == search.Absent:
			q[e.coordinate] = search.Free
		}
	}
	return q
}

// familyOf returns the number of the coordinate that is the family of kernels; -1 if there is none.
func familyOf(params []search.Param) int {
	return slices.IndexFunc(params, func(p search.Param) bool { return p.Name == schedule.FamilyName })
}

// learnExistences returns the rules by the number of the family; there is one family if nothing is called so.
func (s *Space) learnExistences() [][]existence {
	families := make([][]int, 1) // the configurations of each
	if s.family >= 0 {
		families = make([][]int, len(s.params[s.family].Values))
	}
	sometimes := make([]bool, len(s.params)) // absent
	for i := range s.rec.Trials {
		family := 0
		if s.family >= 0 {
			family = int(s.row(i)[s.family])
		}
		if family >= 0 {
			families[family] = append(families[family], i)
		}
		for j, v := range s.row(i) {
			sometimes[j] = sometimes[j] || v == search.Absent
		}
	}
	list := make([][]existence, len(families))
	for f, trials := range families {
		list[f] = s.learnFamily(trials, sometimes)
	}
	return list
}

// learnFamily returns the rules of one family, each after those of the coordinates that it asks for. Coordinates that
// exist everywhere in the recording need none.
func (s *Space) learnFamily(trials []int, sometimes []bool) []existence {
	var rules []existence
	var settled, open []int // coordinates
	for j := range s.params {
		n := 0
		for _, i := range trials {
			if s.row(i)[j] != search.Absent {
				n++
			}
		}
		switch {
		case n == 0:
			rules = append(rules, existence{coordinate: j, never: true})
		case n < len(trials):
			open = append(open, j)
		default:
			settled = append(settled, j)
			if sometimes[j] {
				rules = append(rules, existence{coordinate: j})
			}
		}
	}
	// A rule may ask for coordinates that have a rule themselves.
	for before := -1; before != len(open); {
		before = len(open)
		open = slices.DeleteFunc(open, func(j int) bool {
			when, ok := s.learn(trials, j, settled)
			if ok {
				rules, settled = append(rules, existence{coordinate: j, when: when}), append(settled, j)
			}
			return ok
		})
	}
	return rules
}

// learn returns the fewest conditions on settled coordinates that tell where a coordinate exists, as far as choosing
// the one that tells most each time finds them; false if none tell.
func (s *Space) learn(trials []int, coordinate int, settled []int) ([]condition, bool) {
	var present, absent []int // trials
	for _, i := range trials {
		if s.row(i)[coordinate] != search.Absent {
			present = append(present, i)
		} else {
			absent = append(absent, i)
		}
	}
	var possible []condition // that hold wherever it exists
	for _, k := range settled {
		c := condition{k, make([]bool, len(s.params[k].Values))}
		always := true
		for _, i := range present {
			v := s.row(i)[k]
			if always = v != search.Absent; !always {
				break
			}
			c.in[v] = true
		}
		if always {
			possible = append(possible, c)
		}
	}
	var when []condition
	for len(absent) > 0 {
		most, best := 0, -1
		for n := range possible {
			excluded := 0
			for _, i := range absent {
				if !possible[n].holds(int(s.row(i)[possible[n].coordinate])) {
					excluded++
				}
			}
			if excluded > most {
				most, best = excluded, n
			}
		}
		if best < 0 {
			return nil, false
		}
		c := possible[best]
		when = append(when, c)
		absent = slices.DeleteFunc(absent, func(i int) bool { return !c.holds(int(s.row(i)[c.coordinate])) })
	}
	return when, true
}
