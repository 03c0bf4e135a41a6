package predict

import (
	"cmp"
	"context"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// What was the fastest for the programs that are most like a kernel's comes among the first of a ranking for GPUs.
// Trees average over programs, and so miss what only a few settings together make fast; such programs share it.
const (
	borrowEvery  = 3 // places from one of a neighbour's to the next, and before the first
	mostBorrowed = 3
	mostAsked    = 6 // neighbours that are asked for them
)

// byDistance returns the places of the programs that were learned from, those most like a program first, and how far
// each is.
func (m *Model) byDistance(program []float64) (order []int, distance []float64) {
	for i, e := range m.Programs {
		order, distance = append(order, i), append(distance, m.distance(program, e.Features))
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(distance[a], distance[b]) })
	return order, distance
}

// WithNeighbours puts the fastest configurations of the nearest programs among the first of a ranking, at the fourth
// place, the seventh and the tenth. Those that the space does not have, that cannot be lowered or that may spill are
// left out, and so are those that stand before that place. What stands behind it moves up.
func (m *Model) WithNeighbours(ctx context.Context, k *Kernel, list []Ranked) ([]Ranked, error) {
	if k.Target.Kind() != lower.GPU || len(list) == 0 {
		return list, nil
	}
	program, of := k.describe()
	order, _ := m.byDistance(program)
	place, left := borrowEvery, mostBorrowed
	for _, i := range order[:min(mostAsked, len(order))] {
		if left == 0 || place > len(list) {
			break
		}
		x, ok, err := m.borrow(ctx, k, m.Programs[i], list, func(c schedule.Config) *Needs {
			return m.needsOf(k, program, of, c)
		})
		if err != nil {
			return nil, err
		}
		is := func(o Ranked) bool { return o.Config.Equal(x.Config) }
		if !ok || slices.ContainsFunc(list[:place], is) {
			continue
		}
		x.Fraction = list[place-1].Fraction
		if place < len(list) {
			x.Fraction = list[place].Fraction
		}
		list = slices.Insert(slices.DeleteFunc(slices.Clone(list), is), place, x)
		place, left = place+borrowEvery, left-1
	}
	return list, nil
}

// borrow returns what was the fastest for another program, as the kernel's space has it; false if nothing can be had of
// it. needs predicts what a configuration takes that does not stand in the list with that.
func (m *Model) borrow(ctx context.Context, k *Kernel, other Example, list []Ranked,
	needs func(schedule.Config) *Needs) (x Ranked, ok bool, err error) {
	if other.Best == "" {
		return x, false, nil
	}
	if x.Config, ok = inSpace(k.Space, other.Best); !ok {
		return x, false, nil
	}
	if i := slices.IndexFunc(list, func(o Ranked) bool { return o.Config.Equal(x.Config) }); i >= 0 {
		x = list[i]
	}
	x.FastestOf = other.Name
	if x.Needs == nil {
		x.Needs = needs(x.Config)
	}
	if x.spills() > 0 {
		return x, false, nil
	}
	variants, err := k.variants(ctx, []schedule.Config{x.Config})
	return x, err == nil && variants[0] != nil, err
}

// inSpace returns the configuration of a space that is nearest to one of another program's: without settings that the
// space does not have, and without the last ones where the others allow no such values. It is false if too little is
// left.
func inSpace(space schedule.Space, text string) (schedule.Config, bool) {
	c, err := schedule.ParseConfig(text)
	if err != nil {
		return c, false
	}
	f := space.Family(c.Family)
	if f == nil {
		return c, false
	}
	c.Values = slices.DeleteFunc(c.Values, func(s schedule.Setting) bool {
		p := f.Param(s.Name)
		return p == nil || !slices.ContainsFunc(p.Values, s.Value.Equal)
	})
	return space.NearSeed(c.String())
}

// portable is the text of a configuration without the axis that blocks go along: axes of other programs have other
// names. Its settings are in the order of the family's parameters, the most important first, as those of seeds are.
func portable(c schedule.Config, space schedule.Space) string {
	if f := space.Family(c.Family); f != nil {
		c.Values = slices.DeleteFunc(slices.Clone(c.Values), func(s schedule.Setting) bool {
			p := f.Param(s.Name)
			return p != nil && p.Role == schedule.Stream
		})
	}
	return c.String()
}
