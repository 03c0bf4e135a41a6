package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Space returns the configurations of a kernel that loops over some axes, named
// from the outermost on. There is nothing to choose for a kernel that works on
// a single cell. What the device lacks restricts the parameters that need it.
func Space(t Target, axes []string, lacks ...machine.Capability) schedule.Space {
	var s schedule.Space
	for _, f := range families {
		if f.serves(t, len(axes)) {
			s.Families = append(s.Families, f.space(axes, lacks))
		}
	}
	return s
}

// space returns the configurations of the group's kernel.
func (n *nest) space() schedule.Space {
	var names []string
	for _, a := range n.axes {
		names = append(names, n.Program.Axes[a])
	}
	s := Space(n.opts.Target, names, n.opts.Lacks...)
	s.Families = slices.DeleteFunc(s.Families, func(f schedule.Family) bool {
		can := familyNamed(f.Name).can
		return can != nil && !can(n)
	})
	if n.opts.Target == GPU && n.tileable() {
		n.arrayClasses = n.findArrayClasses()
	}
	preferred := 0
	for i := range s.Families {
		f := &s.Families[i]
		of := familyNamed(f.Name)
		for _, offer := range of.offers {
			offer(n, f)
		}
		n.offerFolding(f)
		if n.opts.AnyIntegers {
			anyIntegers(f)
		}
		f.Seeds = of.seedsFor(len(n.Program.Axes), n.widest())
		if n.opts.Sized && of.preferred != nil && of.preferred(n, f) {
			preferred = i
		}
	}
	s.Families[0], s.Families[preferred] = s.Families[preferred], s.Families[0]
	return s
}

// widest returns the bytes of the widest cells of the call's arrays.
func (n *nest) widest() int64 {
	most := int64(1)
	for _, a := range n.source(n.call).Arrays {
		most = max(most, int64(a.Type.Size()))
	}
	return most
}
