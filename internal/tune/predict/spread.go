package predict

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Candidates of one form are much alike to a model: it takes hundreds that differ in little for equally fast, and where
// it errs about one, it errs about all. So what is lowered is of all forms, and the first of a ranking are of several.

// toLower returns a ranking with those before others that are lowered, n of them: the first n/2, and the next of each
// form in turn. Each part keeps its order.
func toLower(k *Kernel, ranked []Ranked, n int) []Ranked {
	if n >= len(ranked) {
		return ranked
	}
	var forms []string         // in the order of their first
	next := map[string][]int{} // places of each form, behind the first n/2
	formOf := k.FormOf()
	for i := n / 2; i < len(ranked); i++ {
		form := formOf(ranked[i].Config)
		if next[form] == nil {
			forms = append(forms, form)
		}
		next[form] = append(next[form], i)
	}
	taken := make([]bool, len(ranked))
	for left := n - n/2; left > 0; {
		for _, form := range forms {
			if places := next[form]; left > 0 && len(places) > 0 {
				taken[places[0]], next[form], left = true, places[1:], left-1
			}
		}
	}
	list := slices.Clone(ranked[:n/2])
	for _, which := range []bool{true, false} {
		for i := n / 2; i < len(ranked); i++ {
			if taken[i] == which {
				list = append(list, ranked[i])
			}
		}
	}
	return list
}

// The first of a ranking are of several forms: what one of them is predicted counts less by a loss for each of its form
// that stands before it. docs/performance-log.md, "The first of a ranking are of several forms", says what it gains.
const (
	spreadPlaces = 10
	spreadAmong  = 100 // of the ranking
	spreadLoss   = 0.03
)

// spread orders the first places of a ranking for GPUs so that they are of several forms. The first stays the first,
// and what does not come to one of these places keeps its order behind them.
func spread(k *Kernel, list []Ranked) []Ranked {
	if k.Target.Kind() != lower.GPU {
		return list
	}
	left := slices.Clone(list[:min(spreadAmong, len(list))])
	var forms []string
	formOf := k.FormOf()
	for _, x := range left {
		forms = append(forms, formOf(x.Config))
	}
	before := map[string]int{} // of a form
	var first []Ranked
	for len(first) < spreadPlaces && len(left) > 0 {
		best, most := 0, 0.0
		for i := range left {
			if x := left[i].Alone - spreadLoss*float64(before[forms[i]]); i == 0 || x > most {
				best, most = i, x
			}
		}
		first = append(first, left[best])
		before[forms[best]]++
		left, forms = slices.Delete(left, best, best+1), slices.Delete(forms, best, best+1)
	}
	list = slices.Concat(first, left, list[min(spreadAmong, len(list)):])
	falling(list)
	return list
}
