package gen

import (
	"fmt"
	"slices"
	"strings"
)

// stencil is one that has been written, with what a call needs.
type stencil struct {
	name       string
	text       string
	arrays     []*array  // formals and globals that it uses
	reduces    []*scalar // through formals, in order
	written    []*array
	order      []any // *array, *argument or *scalar, as the formals stand
	statements int
}

// body writes the statements of a stencil or an initial block.
type body struct {
	*maker
	s       *scope
	lines   []string
	written map[*array]bool
	names   []string // of locals
}

func (b *body) add(format string, args ...any) {
	b.lines = append(b.lines, "  "+fmt.Sprintf(format, args...))
}

// fresh makes a name for a local, different from all others in the file.
func (b *body) fresh(base string) string {
	n := b.name(base)
	b.names = append(b.names, n)
	return n
}

func (m *maker) stencil(budget int) *stencil {
	st := &stencil{name: m.name(pick(m, "relax", "blur", "sweep", "react"))}
	b := &body{maker: m, written: map[*array]bool{}, s: &scope{axes: m.allAxes(), step: m.chance(3)}}
	for _, f := range m.families {
		for _, g := range f.grids {
			a := &array{family: f, name: g, grid: g}
			if !m.chance(4) {
				a.formal = true
				a.name = m.name(pick(m, "x", "y", "out", "src"))
			}
			b.s.arrays = append(b.s.arrays, a)
		}
	}
	var reducible []*scalar
	for _, s := range m.scalars {
		if !s.reduced {
			b.s.scalars = append(b.s.scalars, s)
		} else {
			if m.o.Spans && !m.chance(12) {
				continue // no span has a reduction
			}
			reducible = append(reducible, s)
			if s.assigned {
				b.s.scalars = append(b.s.scalars, s)
			}
		}
	}
	for range m.IntN(3) {
		b.s.formals = append(b.s.formals, &argument{name: m.name(pick(m, "alpha", "beta")), real: !m.chance(3),
			bound: 1})
	}
	b.s.tables = slices.Clone(m.tables)
	if m.chance(5) {
		t := m.newTable()
		m.tables = m.tables[:len(m.tables)-1]
		b.s.tables = append(b.s.tables, t)
		b.add("%s", m.tableText(t))
	}
	for n := 1 + m.IntN(min(budget, 5)); st.statements < n; {
		st.statements++
		if st.statements == n {
			b.assign() // something comes of what is computed
			break
		}
		switch m.IntN(9) {
		case 0, 1:
			b.scalarLocal()
		case 2:
			b.localGrid()
		case 3:
			b.collide()
		case 4:
			if r := choose(m, reducible, func(s *scalar) bool { return true }); r != nil {
				b.reduce(st, r)
				continue
			}
			fallthrough
		default:
			b.assign()
		}
	}
	m.finish(st, b)
	return st
}

// finish puts the formals in an order and the text together.
func (m *maker) finish(st *stencil, b *body) {
	var order []any
	for _, a := range b.s.arrays {
		if a.grid == "" {
			continue
		}
		if b.written[a] {
			st.written = append(st.written, a)
		}
		if a.used || b.written[a] {
			st.arrays = append(st.arrays, a)
			if a.formal {
				order = append(order, a)
			}
		}
	}
	for _, f := range b.s.formals {
		if f.used {
			order = append(order, f)
		}
	}
	for _, r := range st.reduces {
		order = append(order, r)
	}
	m.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	st.order = order
	var names []string
	for _, o := range order {
		switch o := o.(type) {
		case *array:
			if b.written[o] && m.chance(4) {
				names = append(names, "inout:"+o.name)
			} else {
				names = append(names, o.name)
			}
		case *argument:
			names = append(names, o.name)
		case *scalar:
			names = append(names, "to_"+o.name)
		}
	}
	if m.chance(6) {
		st.text += fmt.Sprintf("#pragma stream %s block (%d) unroll %s=2\n", m.axes[0], 8<<m.IntN(3),
			m.axes[len(m.axes)-1])
	}
	if used := choose(m, b.s.arrays, func(a *array) bool { return a.used }); used != nil && m.chance(6) {
		b.add("%s %s;", pick(m, "shmem", "gmem", "no-shmem"), used.name)
	}
	st.text += fmt.Sprintf("%s %s (%s) {\n%s\n}\n", pick(m, "stencil", "stencil", "function"), st.name,
		strings.Join(names, ", "), strings.Join(b.lines, "\n"))
}

func (b *body) depth() int { return 1 + b.IntN(3) }

// scalarLocal declares scalar locals, or gives one a new value.
func (b *body) scalarLocal() {
	if l := choose(b.maker, b.s.locals, func(l *local) bool { return l.typ != "bool" }); l != nil && b.chance(3) {
		b.reassign(l)
		return
	}
	typ := pick(b.maker, "double", "double", "float", "int", "bool")
	b.s.axes = b.allAxes()
	if b.chance(4) {
		b.s.axes = b.someAxes()
	}
	axes := b.s.axes
	x := b.value(b.s, typ, b.depth())
	b.s.axes = b.allAxes()
	l := &local{name: b.fresh("t"), typ: typ, axes: axes, bound: -1}
	if typ == "double" || typ == "float" {
		x = b.within(x, 4*limit)
		l.bound = x.bound
	}
	if b.chance(8) && len(axes) == len(b.maker.axes) {
		b.add("%s %s;", typ, l.name)
		b.add("%s%s = %s;", b.domain(axes, nil), l.name, x.text)
		b.s.thin = nil
	} else {
		b.add("%s %s = %s;", typ, l.name, x.text)
	}
	b.s.locals = append(b.s.locals, l)
}

// collide updates grids in place from locals that are computed from all of
// them: each local outlives the first update.
func (b *body) collide() {
	grids := slices.DeleteFunc(slices.Clone(b.s.arrays), func(a *array) bool {
		return a.grid == "" || a.constant || !a.real() || len(a.axes) < len(b.maker.axes)
	})
	if len(grids) < 2 {
		b.scalarLocal()
		return
	}
	b.Shuffle(len(grids), func(i, j int) { grids[i], grids[j] = grids[j], grids[i] })
	grids = grids[:min(len(grids), 2+b.IntN(2))]
	var reads []expr
	for _, a := range grids {
		reads = append(reads, b.number(a, b.access(b.s, a, pick(b.maker, onNone, onNone, onOne), b.IntN(len(a.axes)))))
	}
	declare := func(x expr) *local {
		x = b.within(x, 4*limit)
		l := &local{name: b.fresh("t"), typ: pick(b.maker, "double", "float"), axes: b.allAxes(), bound: x.bound}
		b.add("%s %s = %s;", l.typ, l.name, x.text)
		b.s.locals = append(b.s.locals, l)
		return l
	}
	sum := declare(b.combined(reads))
	square := declare(b.tame(expr{fmt.Sprintf("1 - %s*%s", sum.name, sum.name), precSum, 1 + sum.bound*sum.bound}))
	for _, a := range grids {
		b.written[a] = true
		x := b.combined([]expr{atom(sum.name, sum.bound), atom(square.name, square.bound),
			b.number(a, a.name+index(b.maker, b.maker.names(a.axes)))})
		b.add("%s%s = %s;", b.domain(a.axes, a.dims), a.name+index(b.maker, b.maker.names(a.axes)),
			b.within(x, limit).text)
		b.s.thin = nil
	}
}

func (b *body) reassign(l *local) {
	x := b.value(b.s, l.typ, b.depth())
	l.axes = b.allAxes()
	if l.typ == "int" {
		b.add("%s %s %s;", l.name, pick(b.maker, "=", "+=", "-=", "*=", "/=", "&=", "|="), x.text)
		return
	}
	x = b.within(x, limit)
	switch b.IntN(4) {
	case 0:
		b.add("%s%s = %s;", b.domain(l.axes, nil), l.name, x.text)
		b.s.thin = nil
		l.bound = x.bound
	case 1:
		b.add("%s *= %s;", l.name, x.text)
		l.bound *= x.bound
	default:
		b.add("%s %s %s;", l.name, pick(b.maker, "+=", "-="), x.text)
		l.bound += x.bound
	}
	if l.bound > 16*limit {
		b.add("%s = %s;", l.name, b.within(atom(l.name, l.bound), limit).text)
		l.bound = limit
	}
}

// someAxes returns a proper subset of the axes, in order, perhaps none.
func (b *body) someAxes() []int {
	var out []int
	for a := range b.maker.axes {
		if b.chance(2) && len(out)+1 < len(b.maker.axes) {
			out = append(out, a)
		}
	}
	return out
}

// domain writes a statement's domain, or nothing, and notes where it is thin.
// It keeps to cells that are there unless sizes are small, those of dims if
// given.
func (b *body) domain(axes []int, dims []dim) string {
	b.s.thin = nil
	if !b.chance(3) {
		return ""
	}
	text, thin := b.box(axes, dims)
	b.s.thin = thin
	return text + " : "
}

func (m *maker) box(axes []int, dims []dim) (text string, thin []int) {
	ranges := make([]string, len(m.axes))
	for a := range m.axes {
		lo, hi := 0, 0
		if k := slices.Index(axes, a); k >= 0 && dims != nil {
			lo, hi = dims[k].lo, dims[k].lo+dims[k].extra
		}
		lo += pick(m, 0, 0, 1, 1, 2)
		from, to := fmt.Sprint(lo), fmt.Sprintf("%s%+d", m.params[a], hi-1-pick(m, 0, 0, 1, 1, 2))
		if slices.Contains(axes, a) && m.chance(6) {
			thin = append(thin, a)
			switch m.IntN(3) {
			case 0:
				to = from
			case 1:
				to = fmt.Sprint(lo + 1 + m.IntN(3))
			default:
				from, to = fmt.Sprintf("%s%+d", m.params[a], hi-2), fmt.Sprintf("%s%+d", m.params[a], hi-1-m.IntN(2))
			}
		}
		ranges[a] = from + pick(m, ":", ":", "..") + to
	}
	return "[" + strings.Join(ranges, ", ") + "]", thin
}

func (b *body) lhs(a *array) string {
	indices := make([]string, len(a.axes))
	for d, axis := range a.axes {
		indices[d] = b.maker.axes[axis]
		if b.chance(25) && a.grid != "" && b.s.thin == nil && (!b.o.Spans || b.chance(8)) {
			indices[d] = fmt.Sprint(a.dims[d].lo)
			b.s.thin = []int{axis}
		}
	}
	return a.name + index(b.maker, indices)
}

// assign writes a grid.
func (b *body) assign() {
	whole := b.o.Spans && !b.chance(25)
	a := choose(b.maker, b.s.arrays, func(a *array) bool {
		return a.grid != "" && !a.constant && !(whole && len(a.axes) < len(b.maker.axes))
	})
	b.s.target, b.s.axes = a.name, a.axes
	defer func() { b.s.target, b.s.axes, b.s.color, b.s.thin = "", b.allAxes(), nil, nil }()
	b.written[a] = true
	lead := b.domain(a.axes, a.dims) + b.color(a)
	l := b.lhs(a)
	x := b.value(b.s, a.typ, b.depth())
	if !a.real() {
		ops := []string{"=", "=", "=", "+=", "-=", "*=", "/="}
		if a.typ != "bool" {
			ops = append(ops, "&=", "|=")
		}
		b.add("%s%s %s %s;", lead, l, pick(b.maker, ops...), x.text)
		return
	}
	switch b.IntN(8) {
	case 0:
		b.add("%s%s *= %s;", lead, l, b.within(x, 1).text)
	case 1:
		b.add("%s%s /= 1.5 + abs(%s);", lead, l, x.text)
	case 2:
		b.add("%s%s %s %s;", lead, l, pick(b.maker, "+=", "-="), b.within(x, limit).text)
		b.add("%s%s = %s;", lead, l, b.within(atom(l, 2*limit), limit).text)
	default:
		b.add("%s%s = %s;", lead, l, b.within(x, limit).text)
	}
}

// color writes the colours of an update of a, or nothing.
func (b *body) color(a *array) string {
	if !b.chance(5) {
		return ""
	}
	c := &color{coef: map[int]int{}, mod: 2 + b.IntN(2)}
	var sum strings.Builder
	for k, axis := range a.axes {
		coef := pick(b.maker, 1, 1, 1, -1, 2)
		if k == 0 {
			coef = 1
		}
		c.coef[axis] = coef
		switch {
		case coef == 2:
			sum.WriteString(" + 2*")
		case coef < 0:
			sum.WriteString(" - ")
		case k > 0:
			sum.WriteString("+")
		}
		sum.WriteString(b.maker.axes[axis])
	}
	b.s.color = c
	return fmt.Sprintf("color (%s) %% %d == %s : ", sum.String(), c.mod, pick(b.maker, "each", "0", "1"))
}

// localGrid declares a local grid, assigns it and leaves it to be read.
func (b *body) localGrid() {
	f := &family{typ: pick(b.maker, "double", "double", "float", "int"), axes: b.allAxes()}
	if b.chance(4) && len(b.maker.axes) > 1 && (!b.o.Spans || b.chance(12)) {
		f.axes = []int{b.IntN(len(b.maker.axes))}
	}
	f.dims = b.dims(f.axes)
	f.bounds = make([][2]string, len(f.axes))
	name := b.fresh("tmp")
	f.grids = []string{name}
	b.add("%s %s%s;", f.typ, name, b.shape(f.dims))
	before := b.text.Len()
	f.bounds = b.conditions(f.grids, f.typ, f.axes)
	if rule := b.text.String()[before:]; rule != "" {
		rest := b.text.String()[:before]
		b.text.Reset()
		b.text.WriteString(rest)
		b.add("%s", strings.TrimSuffix(rule, "\n"))
	}
	a := &array{family: f, name: name}
	b.s.target, b.s.axes = name, f.axes
	lead := b.domain(f.axes, f.dims)
	x := b.value(b.s, f.typ, b.depth())
	if f.real() {
		x = b.within(x, limit)
	}
	b.add("%s%s = %s;", lead, b.lhs(a), x.text)
	b.s.thin = nil
	b.s.arrays = append(b.s.arrays, a)
	if f.real() && b.chance(4) {
		b.add("%s *= %s;", b.lhs(a), b.within(b.value(b.s, f.typ, 1), 1).text)
	}
	b.s.target, b.s.axes = "", b.allAxes()
}

// reduce writes a reduction into a scalar, through a formal or directly.
func (b *body) reduce(st *stencil, r *scalar) {
	name := r.name
	if slices.Contains(st.reduces, r) {
		name = "to_" + r.name
	} else if !r.assigned && b.chance(2) {
		st.reduces = append(st.reduces, r)
		name = "to_" + r.name
	}
	// What a reduction runs over is what it reads.
	a := choose(b.maker, b.s.arrays, func(a *array) bool { return true })
	lead := b.domain(b.allAxes(), nil)
	defer func() { b.s.thin = nil }()
	x := atom(b.read(b.s, a), limit)
	if b.chance(2) {
		x = b.infix(x, pick(b.maker, "+", "-"), b.value(b.s, r.typ, b.depth()-1), precSum, 0)
	}
	if r.typ != "int" && !a.real() {
		x = atom("(0.01*("+x.text+"))", 1)
	}
	kind := pick(b.maker, "sum", "max", "min")
	if kind == "sum" {
		// A colour may have no cells, and the maximum of none is not tame.
		lead += b.color(a)
		b.s.color = nil
	}
	b.add("%sreduce %s %s = %s;", lead, kind, name, x.text)
	r.assigned = true
	if name == r.name && !slices.Contains(b.s.scalars, r) {
		b.s.scalars = append(b.s.scalars, r)
	}
}

// initial gives grids their first values.
func (m *maker) initial() {
	b := &body{maker: m, written: map[*array]bool{}, s: &scope{axes: m.allAxes(), initial: true}}
	for _, s := range m.scalars {
		if !s.reduced {
			b.s.scalars = append(b.s.scalars, s)
		}
	}
	b.s.tables = m.tables
	for _, f := range m.families {
		for _, g := range f.grids {
			if f.constant || f.copyin && m.chance(2) {
				continue
			}
			a := &array{family: f, name: g, grid: g}
			b.s.target, b.s.axes = g, f.axes
			lead := b.domain(f.axes, f.dims)
			var x expr
			switch {
			case f.real() && m.chance(2):
				x = expr{fmt.Sprintf("random(%d) - 0.%d", m.IntN(100), 1+m.IntN(9)), precSum, 1}
			case f.real():
				x = m.within(m.real(b.s, 2), limit)
			case f.typ == "bool":
				x = m.truth(b.s, 1)
			default:
				x = m.whole(b.s, 2)
			}
			b.add("%s%s = %s;", lead, a.name+index(m, m.names(f.axes)), x.text)
			b.s.arrays = append(b.s.arrays, a)
		}
	}
	if len(b.lines) > 0 {
		m.line("initial {\n%s\n}", strings.Join(b.lines, "\n"))
	}
}

func (m *maker) names(axes []int) []string {
	out := make([]string, len(axes))
	for k, a := range axes {
		out[k] = m.axes[a]
	}
	return out
}
