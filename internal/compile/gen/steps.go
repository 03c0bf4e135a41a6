package gen

import (
	"fmt"
	"slices"
	"strings"
)

// steps writes calls of all stencils, in loops and out of them, with
// exchanges in between.
func (m *maker) steps() {
	if m.o.Spans {
		m.spanSteps()
		return
	}
	left := slices.Clone(m.stencils)
	for len(left) > 0 || m.chance(4) {
		n := min(len(left), 1+m.IntN(3))
		group := left[:n]
		left = left[n:]
		if m.chance(4) {
			for _, s := range group {
				m.call(s, "")
			}
			continue
		}
		m.loop(group, "")
	}
}

func (m *maker) loop(group []*stencil, indent string) {
	head := fmt.Sprintf("iterate %d", 1+m.IntN(4))
	if r := choose(m, m.scalars, func(s *scalar) bool { return s.reduced && s.assigned }); r != nil && m.chance(2) {
		head = fmt.Sprintf("iterate until (%s %s %s)%s max %d", r.name, pick(m, "<", ">"), m.literal(),
			pick(m, "", " check 2", " check 3"), 1+m.IntN(6))
	} else {
		switch m.IntN(6) {
		case 0:
			head = "iterate (1:3)"
		case 1:
			head = "iterate " + m.params[0] + "%3 + 1"
		}
	}
	m.line("%s%s {", indent, head)
	m.loops++
	for _, s := range group {
		m.call(s, indent+"  ")
		m.exchange(indent + "  ")
	}
	if len(indent) < 4 && m.chance(6) && len(m.stencils) > 0 {
		m.loop([]*stencil{m.stencils[m.IntN(len(m.stencils))]}, indent+"  ")
	}
	m.loops--
	m.line("%s}", indent)
}

// spanSteps writes calls of all stencils in time loops that have no others in them, some
// with a loop around them, and some without any loop. In most programs the loops exchange grids.
func (m *maker) spanSteps() {
	for left := m.stencils; len(left) > 0; {
		n := min(len(left), 1+m.IntN(2))
		group := left[:n]
		left = left[n:]
		if m.chance(6) {
			for _, s := range group {
				m.callWith(s, "", map[string]string{})
				m.exchangeWritten(s, "")
			}
			continue
		}
		count := m.name("T")
		m.counts = append(m.counts, count)
		m.line("parameter %s = %d;", count, 5+m.IntN(8))
		indent := ""
		outer := m.chance(6)
		if outer {
			m.line("iterate %d {", 1+m.IntN(2))
			indent, m.loops = "  ", m.loops+1
		}
		m.line("%siterate %s {", indent, pick(m, count, count, "(1:"+count+")", count+" + 1"))
		m.loops++
		for _, s := range group {
			m.callWith(s, indent+"  ", map[string]string{})
			m.exchangeWritten(s, indent+"  ")
		}
		m.loops--
		m.line("%s}", indent)
		if outer {
			if m.chance(2) {
				m.exchange("  ")
			}
			m.loops--
			m.line("}")
		}
	}
}

// exchangeWritten makes the grids change places that a stencil writes, as a rule.
func (m *maker) exchangeWritten(s *stencil, indent string) {
	for _, f := range m.families {
		written := slices.ContainsFunc(s.written, func(a *array) bool { return a.family == f })
		if len(f.grids) < 2 || f.constant || !m.chance(4) == !written {
			continue
		}
		grids := slices.Clone(f.grids)
		m.Shuffle(len(grids), func(i, j int) { grids[i], grids[j] = grids[j], grids[i] })
		if len(grids) > 2 && !m.chance(4) {
			m.line("%srotate (%s);", indent, strings.Join(grids, ", "))
		} else {
			m.line("%sswap (%s, %s);", indent, grids[0], grids[1])
		}
	}
}

func (m *maker) exchange(indent string) {
	f := choose(m, m.families, func(f *family) bool { return len(f.grids) > 1 && !f.constant })
	if f == nil || !m.chance(2) {
		return
	}
	grids := slices.Clone(f.grids)
	m.Shuffle(len(grids), func(i, j int) { grids[i], grids[j] = grids[j], grids[i] })
	if len(grids) > 2 && m.chance(2) {
		m.line("%srotate (%s);", indent, strings.Join(grids, ", "))
		return
	}
	m.line("%sswap (%s, %s);", indent, grids[0], grids[1])
}

// call writes one call, or several that make the grids of a family change
// places.
func (m *maker) call(s *stencil, indent string) {
	places := map[string]string{}
	m.callWith(s, indent, places)
	f := choose(m, m.families, func(f *family) bool { return len(f.grids) > 1 && m.free(s, f) })
	if f == nil || !m.chance(3) {
		return
	}
	for n := range 1 + m.IntN(4) {
		for k, g := range f.grids {
			places[g] = f.grids[(k+n+1)%len(f.grids)]
		}
		m.callWith(s, indent, places)
	}
}

// free reports whether a stencil takes the grids of a family as arguments
// alone.
func (m *maker) free(s *stencil, f *family) bool {
	return !slices.ContainsFunc(s.arrays, func(a *array) bool { return a.family == f && !a.formal })
}

func (m *maker) callWith(s *stencil, indent string, places map[string]string) {
	var args []string
	for _, o := range s.order {
		switch o := o.(type) {
		case *array:
			g := o.grid
			if to := places[g]; to != "" {
				g = to
			}
			args = append(args, g)
		case *scalar:
			args = append(args, o.name)
		case *argument:
			args = append(args, m.actual(o))
		}
	}
	domain := ""
	if m.chance(8) {
		text, _ := m.box(m.allAxes(), nil)
		domain = text + " : "
	}
	m.line("%s%s%s (%s);", indent, domain, s.name, strings.Join(args, ", "))
}

// actual is what a scalar formal gets.
func (m *maker) actual(f *argument) string {
	if !f.real {
		if m.loops > 0 && m.chance(3) {
			return "step"
		}
		return pick(m, "3", "-2", m.params[0], m.params[0]+"/2 + 1")
	}
	if s := choose(m, m.scalars, func(s *scalar) bool { return !s.reduced && s.typ != "int" }); s != nil &&
		m.chance(2) {
		return pick(m, s.name, "0.5*"+s.name, "-"+s.name)
	}
	return pick(m, "", "-") + m.literal()
}
