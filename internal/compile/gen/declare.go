package gen

import (
	"fmt"
	"slices"
	"strings"
)

// limit is the largest magnitude of a real number in a grid.
const limit = 4.0

// family is a number of grids that may change places.
type family struct {
	typ      string
	axes     []int
	dims     []dim
	grids    []string
	bounds   [][2]string // by dimension and face: the condition, or ""
	copyin   bool
	constant bool
}

func (f *family) real() bool { return f.typ == "double" || f.typ == "float" }

// bounded says whether reads may leave the grid on a dimension's side.
func (f *family) bounded(d, side int) bool { return f.bounds[d][side] != "" }

// dim is one dimension: as written, its lowest index and the parameter that it
// grows with.
type dim struct {
	text  string
	lo    int
	extra int // cells beyond the parameter
}

type scalar struct {
	name     string
	typ      string
	value    string // as declared, or "" for an argument or a reduction
	given    string // an argument's value in Sets
	bound    float64
	reduced  bool
	coef     bool
	assigned bool // a reduction has been made into it
}

type table struct {
	name  string
	typ   string
	size  []int
	bound float64 // on any entry
}

func (m *maker) declare() {
	rank := pick(m, 1, 2, 2, 2, 3, 3)
	for _, a := range pick(m, []string{"k", "j", "i"}, []string{"z", "y", "x"}, []string{"t3", "t2", "t1"})[3-rank:] {
		m.axes = append(m.axes, m.name(a))
	}
	m.line("iterator %s;", strings.Join(m.axes, ", "))
	shared := m.chance(3)
	for range m.axes {
		if shared && len(m.params) > 0 {
			m.params = append(m.params, m.params[0])
			continue
		}
		p := m.name(pick(m, "L", "M", "N"))
		m.params = append(m.params, p)
		switch {
		case len(m.params) > 1 && m.chance(5):
			m.line("parameter %s = %s+%d;", p, m.params[0], m.IntN(3))
		case m.chance(2):
			m.line("parameter %s = %d;", p, 5+m.IntN(20))
		default:
			m.line("parameter %s;", p)
		}
	}
	m.scalarDecls()
	m.tableDecls()
	families := 1 + m.IntN(3)
	if m.IntN(5) < 2 {
		m.alike, families = m.dims(m.allAxes()), 2+m.IntN(2)
	}
	for range families {
		m.gridDecl(true)
	}
	for n := m.IntN(3); n > 0; n-- {
		m.gridDecl(false)
	}
	if !slices.ContainsFunc(m.families, func(f *family) bool { return f.real() && len(f.axes) == rank }) {
		m.families = append(m.families, m.declareFamily("double", m.allAxes(), 3))
	}
}

func (m *maker) allAxes() []int {
	out := make([]int, len(m.axes))
	for a := range out {
		out[a] = a
	}
	return out
}

func (m *maker) gridDecl(whole bool) {
	typ := pick(m, "double", "double", "double", "float", "float", "int", "byte", "bool")
	axes := m.allAxes()
	count := pick(m, 1, 2, 2, 3)
	if m.alike != nil {
		typ = pick(m, "double", "double", "float", "float", "int", "byte")
		count = pick(m, 1, 1, 2)
	}
	if !whole {
		axes = axes[:0]
		for a := range m.axes {
			if m.chance(2) {
				axes = append(axes, a)
			}
		}
		if len(axes) == 0 {
			axes = []int{m.IntN(len(m.axes))}
		}
		count = pick(m, 1, 1, 2)
	}
	f := m.declareFamily(typ, axes, count)
	f.constant = !whole && count == 1 && m.chance(4)
	m.families = append(m.families, f)
}

func (m *maker) dim(axis int) dim {
	p := m.params[axis]
	switch m.IntN(10) {
	case 0:
		return dim{p + "+1", 0, 1}
	case 1:
		return dim{p + "+2", 0, 2}
	case 2:
		return dim{fmt.Sprintf("-1:%s", p), -1, 2}
	case 3:
		return dim{fmt.Sprintf("1..%s+1", p), 1, 1}
	case 4:
		return dim{fmt.Sprintf("0:%s-1", p), 0, 0}
	}
	return dim{p, 0, 0}
}

// dims makes the dimensions of a grid.
func (m *maker) dims(axes []int) []dim {
	if m.alike != nil && len(axes) == len(m.axes) {
		return m.alike
	}
	var out []dim
	for _, a := range axes {
		out = append(out, m.dim(a))
	}
	return out
}

func (m *maker) declareFamily(typ string, axes []int, count int) *family {
	f := &family{typ: typ, axes: axes, dims: m.dims(axes)}
	shape := m.shape(f.dims)
	var decls []string
	for range count {
		g := m.name(pick(m, "u", "v", "w", "p", "q"))
		f.grids = append(f.grids, g)
		decls = append(decls, g+shape)
	}
	m.line("%s %s;", typ, strings.Join(decls, ", "))
	f.bounds = m.conditions(f.grids, typ, axes)
	f.copyin = m.chance(2)
	return f
}

func (m *maker) shape(dims []dim) string {
	var texts []string
	for _, d := range dims {
		texts = append(texts, d.text)
	}
	if m.chance(3) {
		return "[" + strings.Join(texts, "][") + "]"
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// conditions writes a boundary declaration, or none, for grids that have the
// axes.
func (m *maker) conditions(grids []string, typ string, axes []int) [][2]string {
	out := make([][2]string, len(axes))
	ends, same := []int{0, 1, 2, 2}, 3 // 1: those of an axis by themselves; 2: both at once
	if m.alike != nil {
		ends, same = []int{0, 1, 1, 1, 1, 2, 2}, 6
	} else if m.chance(3) {
		return out
	}
	var rules []string
	if m.chance(same) {
		rule := m.condition(typ)
		for d := range out {
			out[d] = [2]string{rule, rule}
		}
		rules = []string{rule}
	} else {
		for d, a := range axes {
			switch pick(m, ends...) {
			case 0:
			case 1:
				side := m.IntN(2)
				rule := m.condition(typ)
				if m.o.Spans && rule == "periodic" && !m.chance(10) { // no span has one end alone
					out[d] = [2]string{rule, rule}
					rules = append(rules, fmt.Sprintf("%s on %s", rule, m.axes[a]))
					continue
				}
				out[d][side] = rule
				rules = append(rules, fmt.Sprintf("%s on %s.%s", rule, m.axes[a], [2]string{"low", "high"}[side]))
				if m.chance(2) {
					if rule = m.condition(typ); m.o.Spans && rule == "periodic" {
						rule = "clamp"
					}
					out[d][1-side] = rule
					rules = append(rules, fmt.Sprintf("%s on %s.%s", rule, m.axes[a], [2]string{"high", "low"}[side]))
				}
			default:
				rule := m.condition(typ)
				out[d] = [2]string{rule, rule}
				rules = append(rules, fmt.Sprintf("%s on %s", rule, m.axes[a]))
			}
		}
	}
	if rules == nil {
		return out
	}
	m.line("boundary %s : %s;", strings.Join(grids, ", "), strings.Join(rules, ", "))
	return out
}

func (m *maker) condition(typ string) string {
	kinds := []string{"clamp", "mirror", "reflect", "periodic", "periodic", "constant"}
	if typ != "bool" && typ != "byte" {
		kinds = append(kinds, "antimirror", "antireflect")
	}
	kind := pick(m, kinds...)
	if kind != "constant" {
		return kind
	}
	switch typ {
	case "bool":
		return "constant(" + pick(m, "true", "false") + ")"
	case "byte", "int":
		return fmt.Sprintf("constant(%d)", m.IntN(5))
	}
	for _, s := range m.scalars {
		if !s.reduced && s.bound <= limit && m.chance(4) {
			return "constant(" + s.name + ")"
		}
	}
	return "constant(" + m.literal() + ")"
}

// literal is a real number of at most 1, asymmetric as a rule.
func (m *maker) literal() string {
	return pick(m, "0.5", "0.25", "0.3", "0.7", "0.125", "0.9", "1.0", "1e-1", "0.37",
		fmt.Sprintf("0.%02d", m.IntN(100)))
}

func (m *maker) scalarDecls() {
	for range m.IntN(4) {
		s := &scalar{typ: pick(m, "double", "float", "int"), bound: 1}
		s.name = m.name(pick(m, "a", "b", "c"))
		v := m.literal()
		if s.typ == "int" {
			s.bound = 5
			v = fmt.Sprint(1 + m.IntN(5))
		}
		if m.chance(3) {
			s.given = v
			m.line("%s %s;", s.typ, s.name)
		} else {
			s.value = v
			m.line("%s %s = %s;", s.typ, s.name, v)
		}
		s.coef = m.chance(4)
		m.scalars = append(m.scalars, s)
	}
	for range m.IntN(3) {
		s := &scalar{typ: pick(m, "double", "float", "int"), reduced: true, bound: -1}
		s.name = m.name(pick(m, "res", "total"))
		m.line("%s %s;", s.typ, s.name)
		m.scalars = append(m.scalars, s)
	}
}

func (m *maker) tableDecls() {
	for range m.IntN(3) {
		m.line("%s", m.tableText(m.newTable()))
	}
}

func (m *maker) newTable() *table {
	t := &table{typ: pick(m, "double", "float", "int"), size: []int{2 + m.IntN(3)}, bound: 1}
	t.name = m.name(pick(m, "c", "weight"))
	if m.chance(4) {
		t.size = append(t.size, 2)
	}
	if t.typ == "int" {
		t.bound = 3
	}
	m.tables = append(m.tables, t)
	return t
}

func (m *maker) tableText(t *table) string {
	var entries func(depth int) string
	entries = func(depth int) string {
		var all []string
		for range t.size[depth] {
			switch {
			case depth+1 < len(t.size):
				all = append(all, entries(depth+1))
			case t.typ == "int":
				all = append(all, fmt.Sprint(m.IntN(7)-3))
			default:
				all = append(all, pick(m, "", "-")+m.literal())
			}
		}
		return "{" + strings.Join(all, ", ") + "}"
	}
	var dims strings.Builder
	for _, n := range t.size {
		fmt.Fprintf(&dims, "[%d]", n)
	}
	return fmt.Sprintf("%s %s%s = %s;", t.typ, t.name, dims.String(), entries(0))
}

// copies writes what goes in and out.
func (m *maker) copies() {
	var in, out, constant, coef []string
	for _, f := range m.families {
		if f.copyin {
			in = append(in, f.grids...)
		}
		if f.constant {
			constant = append(constant, f.grids...)
		} else {
			out = append(out, f.grids...)
		}
	}
	for _, s := range m.scalars {
		if s.coef {
			coef = append(coef, s.name)
		}
		if s.reduced && s.assigned {
			out = append(out, s.name)
		}
	}
	for _, d := range []struct {
		word  string
		names []string
	}{{"copyin", in}, {"constant", constant}, {"coefficient", coef}, {"copyout", out}} {
		if len(d.names) > 0 {
			m.line("%s %s;", d.word, strings.Join(d.names, ", "))
		}
	}
}
