package search

import (
	"fmt"
	"hash/fnv"
	"math/big"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// drawSpace makes a random space: families with numbers, lists and words,
// parameters that depend on others, constraints that tie some together. It may
// have one point or none.
func drawSpace(t *rapid.T) *KernelSpace {
	var s schedule.Space
	for f := range rapid.IntRange(1, 3).Draw(t, "families") {
		fam := schedule.Family{Name: fmt.Sprintf("f%d", f)}
		for i := range rapid.IntRange(0, 4).Draw(t, "params") {
			p := schedule.Param{Name: fmt.Sprintf("p%d", i)}
			n := rapid.IntRange(1, 4).Draw(t, "values")
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				for v := range n {
					p.Values = append(p.Values, schedule.Int(1<<v))
				}
			case 1:
				p.Name = fmt.Sprintf("w%d", i)
				for v := range n {
					p.Values = append(p.Values, schedule.Word(fmt.Sprintf("v%d", v)))
				}
			default:
				p.Name = fmt.Sprintf("q%d", i)
				for v := range n {
					p.Values = append(p.Values, schedule.Int(int64(1+v%2), int64(4*v)))
				}
			}
			p.Default = p.Values[0]
			if i > 0 && rapid.Bool().Draw(t, "conditional") {
				on := fam.Params[rapid.IntRange(0, i-1).Draw(t, "on")]
				p.When = []schedule.Condition{schedule.When(on.Name, on.Values[len(on.Values)-1])}
			}
			fam.Params = append(fam.Params, p)
		}
		if n := len(fam.Params); n > 1 && rapid.Bool().Draw(t, "tied") {
			salt := rapid.IntRange(0, 99).Draw(t, "salt")
			fam.Constraints = append(fam.Constraints, schedule.Constraint{
				Name: "tie", Params: []string{fam.Params[0].Name, fam.Params[n-1].Name},
				Holds: func(c schedule.Config) bool { return hash(c.String(), salt)%3 > 0 },
			})
		}
		s.Families = append(s.Families, fam)
	}
	return Of(s)
}

// hash is a number that depends on a text in no simple way.
func hash(text string, salt int) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, salt, text)
	return h.Sum64()
}

// tiny spaces, of no point and of one.
func emptySpace() *KernelSpace {
	return Of(schedule.Space{Families: []schedule.Family{{Name: "f", Params: []schedule.Param{
		{Name: "a", Values: schedule.Numbers(1, 2), Default: schedule.Int(1)},
	}, Constraints: []schedule.Constraint{
		{Name: "never", Params: []string{"a"}, Holds: func(schedule.Config) bool { return false }},
	}}}})
}

func singleSpace() *KernelSpace {
	return Of(schedule.Space{Families: []schedule.Family{{Name: "f"}}})
}

// hugeSpace has 10^9 points or more.
func hugeSpace() *KernelSpace {
	f := schedule.Family{Name: "f"}
	for i := range 11 {
		p := schedule.Param{Name: fmt.Sprintf("p%d", i), Default: schedule.Int(1)}
		for v := range 8 {
			p.Values = append(p.Values, schedule.Int(1<<v))
		}
		f.Params = append(f.Params, p)
	}
	f.Constraints = []schedule.Constraint{{
		Name: "little", Params: []string{"p0", "p1"},
		Holds: func(c schedule.Config) bool { return c.Int("p0")*c.Int("p1") <= 1024 },
	}}
	k := Of(schedule.Space{Families: []schedule.Family{f}})
	if k.Count().Cmp(big.NewInt(1e9)) < 0 {
		panic("not huge")
	}
	return k
}
