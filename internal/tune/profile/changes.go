package profile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/fission"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// setting is a value for the parameter of a role.
type setting struct {
	role  schedule.Role
	value schedule.Value
}

// changes are those that may carry out a hint, the best first.
type changes []Change

func (c changes) or(more changes) changes { return append(c, more...) }

// has reports whether the kernel's family has a parameter of a role.
func (f *Facts) has(r schedule.Role) bool {
	family := f.Space.Family(f.Config.Family)
	return family != nil && family.For(r) != nil
}

// set returns the changes that give parameters other values: with all others as they are, and with the usual ones,
// since some go with others only. There are none if nothing would change.
func (f *Facts) set(list ...setting) changes {
	c, alone, changed := f.Config, schedule.Config{Family: f.Config.Family}, false
	family := f.Space.Family(f.Config.Family)
	if family == nil {
		return nil
	}
	for _, s := range list {
		p := family.For(s.role)
		if p == nil {
			continue
		}
		if now, set := c.Get(p.Name); set && now.Equal(s.value) {
			continue
		}
		if !slices.ContainsFunc(p.Values, s.value.Equal) {
			return nil
		}
		c, alone, changed = with(c, p.Name, s.value), with(alone, p.Name, s.value), true
	}
	if !changed {
		return nil
	}
	return changes{{config: &c}, {config: &alone}}
}

// with returns a configuration with a value, also for a parameter that it has not.
func with(c schedule.Config, name string, v schedule.Value) schedule.Config {
	if c.Has(name) {
		return c.With(name, v)
	}
	c.Values = append(slices.Clone(c.Values), schedule.Setting{Name: name, Value: v})
	return c
}

// planesFamily is the family of kernels of iterations that needs least room on the chip.
const planesFamily = "planes"

// iterations returns the changes to so many iterations in a kernel; one is that of all statements. On GPUs the usual
// family may need too much shared memory.
func (f *Facts) iterations(depth int64) []Change {
	c := Change{deeper: depth, together: depth == 1}
	if !f.GPU || f.Depth > 1 {
		return []Change{c}
	}
	other := c
	other.family = planesFamily
	return []Change{c, other}
}

// scaled returns the change that multiplies the first number of a parameter, or makes all of its numbers 1 for 0.
func (f *Facts) scaled(r schedule.Role, by int64) changes {
	list := slices.Clone(f.roles().Ints(r))
	if len(list) == 0 {
		return nil
	}
	if by == 0 {
		for i := range list {
			list[i] = 1
		}
	} else {
		list[0] *= by
	}
	return f.set(setting{r, schedule.Int(list[0], list[1:]...)})
}

// blocked returns the change that cuts the axis outside of the innermost into cache blocks.
func (f *Facts) blocked(cells int64) changes {
	list := slices.Clone(f.roles().Ints(schedule.CacheBlock))
	if len(list) < 2 || list[len(list)-2] == cells {
		return nil
	}
	list[len(list)-2] = cells
	return f.set(setting{schedule.CacheBlock, schedule.Int(list[0], list[1:]...)})
}

// limited returns the change that leaves a thread fewer registers than it has.
func (f *Facts) limited(registers int) changes {
	family := f.Space.Family(f.Config.Family)
	if family == nil || family.For(schedule.RegisterLimit) == nil {
		return nil
	}
	most := int64(0)
	for _, v := range family.For(schedule.RegisterLimit).Values {
		if n := v.Ints(); len(n) == 1 && n[0] < int64(registers) {
			most = max(most, n[0])
		}
	}
	if most == 0 {
		return nil
	}
	return f.set(setting{schedule.RegisterLimit, schedule.Int(most)})
}

// unrolled reports whether the loop along the stream is.
func (f *Facts) unrolled() bool { return f.roles().Int(schedule.StreamUnroll, 0) > 1 }

// cells is how many cells a thread computes.
func (f *Facts) cells() int64 {
	n := int64(1)
	for _, r := range []schedule.Role{schedule.BlockedUnroll, schedule.CyclicUnroll, schedule.Vector} {
		for _, v := range f.roles().Ints(r) {
			n *= max(1, v)
		}
	}
	return n
}

// splits reports whether gridloom fission makes a version of the program.
func (f *Facts) splits(version string) bool { return slices.Contains(f.Split, version) }

// split is the version of the program whose stencils are smaller; "" if there is none. Those that compute least twice
// come first.
func (f *Facts) split() string {
	for _, name := range []string{fission.RecomputeVersion, fission.StatementVersion, fission.TrivialVersion} {
		if f.splits(name) {
			return name
		}
	}
	return ""
}

// lessBytes is how many times as fast the kernel would be if a part of its bytes of memory did not move.
func (f *Facts) lessBytes(part float64) float64 { return 1 / (1 - f.shareBefore()*part) }

// shareBefore is the part of the time that goes with the level that binds, and with those before it.
func (f *Facts) shareBefore() float64 {
	sum := 0.0
	for _, c := range costs {
		v := f.Variant(c.without)
		if !c.nested {
			break
		}
		if v != nil {
			sum += v.Share
		}
		if c.class == f.Class {
			break
		}
	}
	return sum
}

// toRoof is how many times as fast the kernel would be at the roof that is nearest; 0 if none is known.
func (f *Facts) toRoof() float64 {
	most := f.Peak
	for _, l := range f.Levels {
		most = max(most, l.Share)
	}
	if most == 0 {
		return 0
	}
	return 1 / most
}

// fewerBytes words what could be changed about the source.
func (f *Facts) fewerBytes() string {
	text := "declare fewer grids, or float instead of double, or compute anew what is stored"
	if len(f.Grids) > 0 {
		text += ": the kernel moves " + strings.Join(f.Grids, ", ")
	}
	return text
}

// planned turns a change of the kernel into the text of a plan; false if it is none.
func (f *Facts) planned(c *Change) bool {
	p := schedule.Plan{Every: f.Plan.Every, Kernels: slices.Clone(f.Plan.Kernels)}
	switch {
	case c.deeper > 0:
		name := f.LoopIn
		if c.together {
			name = f.Together.Kernel
		}
		k, err := schedule.ParseKernel(fmt.Sprintf("%s@%d{}", name, c.deeper))
		if err != nil {
			return true
		}
		p.Kernels = slices.DeleteFunc(p.Kernels, func(x schedule.Kernel) bool { return x.Name() == k.Name() })
		if k.Config.Family = c.family; f.Depth > 1 {
			k.Config.Family = f.Config.Family
		}
		p.Kernels = append(p.Kernels, k)
	case c.config != nil:
		i := slices.IndexFunc(p.Kernels, func(x schedule.Kernel) bool { return f.is(x) })
		if i < 0 {
			return true
		}
		p.Kernels[i].Config = *c.config
	default:
		return false
	}
	c.Plan = p.String()
	return true
}

// is reports whether a kernel of a plan is this one.
func (f *Facts) is(x schedule.Kernel) bool {
	return (x.ID() == f.Part || x.Name() == f.Part) && int64(max(1, x.Depth)) == f.Kernel.Depth
}
