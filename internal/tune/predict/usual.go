package predict

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/lower"
)

// usualPlace is that of a kernel's usual configuration in a ranking: it stands by for the first pick, and is among the
// few that are measured.
const usualPlace = 1

// WithUsual puts the usual configuration of a kernel for GPUs into a ranking: at the second place. A model errs most
// about programs that are unlike all that it has learned from, and the usual configuration is never far from what it is
// elsewhere; but first picks are faster even for these programs (docs/performance-log.md, "The usual configuration is
// the second of all rankings"). One that stands before that place stays there.
func (m *Model) WithUsual(k *Kernel, list []Ranked) []Ranked {
	if k.Target.Kind() != lower.GPU || len(list) == 0 || k.Usual.Family == "" || k.Space.Check(k.Usual) != nil {
		return list
	}
	is := func(o Ranked) bool { return o.Config.Equal(k.Usual) }
	if slices.ContainsFunc(list[:usualPlace], is) {
		return list
	}
	x := Ranked{Config: k.Usual}
	if i := slices.IndexFunc(list, is); i >= 0 {
		x = list[i]
	} else {
		program, of := k.describe()
		x.Alone, x.Needs = m.predictor(k)(k.Usual), m.needsOf(k, program, of, k.Usual)
	}
	x.Usual, x.Fraction = true, list[min(usualPlace, len(list)-1)].Fraction
	return slices.Insert(slices.DeleteFunc(slices.Clone(list), is), usualPlace, x)
}
