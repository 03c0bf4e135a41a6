package analysis

import (
	"fmt"
	"hash/fnv"
	"math/rand"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// A randomCall runs over axes 0 and 1; its sizes are the one parameter N.
func randomCall(t *rapid.T) (*ir.Call, *ir.Scalar) {
	g := &callGen{t: t, rank: 2, call: &ir.Call{Name: "s"}, scalar: &ir.Scalar{Name: "s", Type: types.F64}}
	for i, axes := range [][]int{{0, 1}, {0, 1}, {0, 1}, {1}, {0}} {
		g.array(fmt.Sprintf("a%d", i), axes, false)
	}
	g.array("l", []int{0, 1}, true)
	for n := rapid.IntRange(1, 7).Draw(t, "statements"); len(g.call.Body) < n; {
		g.stmt()
	}
	return g.call, g.scalar
}

type callGen struct {
	t      *rapid.T
	rank   int
	call   *ir.Call
	scalar *ir.Scalar
}

func (g *callGen) pick(n int, label string) int { return rapid.IntRange(0, n-1).Draw(g.t, label) }

func (g *callGen) array(name string, axes []int, local bool) {
	n := ir.ParamAffine(0)
	a := &ir.Array{Name: name, Type: types.F64, Local: local}
	for _, axis := range axes {
		ext := [][2]ir.Affine{{ir.Num(0), n.Add(-1)}, {ir.Num(0), n.Add(-1)}, {ir.Num(0), n}, {ir.Num(1), n},
			{ir.Num(0), n.Times(2).Add(-1)}, {ir.Num(0), ir.Num(2)}}[g.pick(6, "extent")]
		a.Dims = append(a.Dims, ir.Dim{Axis: axis, Lo: ext[0], Hi: ext[1], Faces: ir.Faces{Low: g.boundary(),
			High: g.boundary()}})
	}
	g.call.Arrays = append(g.call.Arrays, a)
}

func (g *callGen) boundary() ir.Boundary {
	kind := []ir.BoundaryKind{ir.None, ir.None, ir.None, ir.Constant, ir.Clamp, ir.Mirror, ir.Reflect, ir.AntiReflect,
		ir.Periodic}[g.pick(9, "boundary")]
	b := ir.Boundary{Kind: kind}
	if kind == ir.Constant {
		b.Value = ir.ScalarRef{Scalar: g.scalar}
	}
	return b
}

// value sums up to three reads that vary on some of the axes.
func (g *callGen) value(axes []int) ir.Expr {
	var e ir.Expr = ir.Const{Value: op.Float(types.F64, float64(g.pick(100, "literal")))}
	for range g.pick(3, "reads") + 1 {
		e = &ir.Binary{Op: op.Sub, X: e, Y: g.read(axes)}
	}
	return e
}

func (g *callGen) read(axes []int) ir.Expr {
	switch g.pick(10, "operand") {
	case 0:
		return ir.ScalarRef{Scalar: g.scalar}
	case 1, 2, 3:
		var fit []*ir.Temp
		for _, s := range g.call.Body {
			if s.Temp != nil && subset(newReads(g.call).of[s].axes, axes) {
				fit = append(fit, s.Temp)
			}
		}
		if len(fit) > 0 {
			return ir.TempRef{Temp: fit[g.pick(len(fit), "temp")]}
		}
	}
	a := g.call.Arrays[g.pick(len(g.call.Arrays), "array")]
	if a.Local && a.Box == nil {
		a = g.call.Arrays[0]
	}
	acc := &ir.Access{Array: a}
	for _, dim := range a.Dims {
		ix := ir.Index{Axis: dim.Axis, Offset: int64(max(0, g.pick(6, "offset")-3) * (1 - 2*g.pick(2, "side")))}
		if !slices.Contains(axes, dim.Axis) || !a.Local && g.pick(8, "constant") == 0 {
			ix = ir.Index{Axis: -1, Offset: int64(1 + g.pick(2, "index"))}
		}
		acc.Index = append(acc.Index, ix)
	}
	return acc
}

func (g *callGen) user() ir.Box {
	box := ir.Unbounded(g.rank)
	n := ir.ParamAffine(0)
	for axis := range box {
		switch g.pick(6, "domain") {
		case 0:
			box[axis].Clip(ir.Range{Lo: []ir.Affine{ir.Num(1)}, Hi: []ir.Affine{n.Add(-2)}})
		case 1:
			box[axis].Clip(ir.Range{Lo: []ir.Affine{ir.Num(1)}, Hi: []ir.Affine{ir.Num(1)}})
		case 2:
			box[axis].Clip(ir.Range{Lo: []ir.Affine{ir.Num(2)}, Hi: []ir.Affine{n}})
		}
	}
	return box
}

func (g *callGen) stmt() {
	s := &ir.Stmt{}
	switch g.pick(8, "target") {
	case 0, 1:
		s.Value = g.value([][]int{{0, 1}, {0, 1}, {1}, {0}}[g.pick(4, "axes")])
		s.Temp = &ir.Temp{Name: fmt.Sprintf("t%d", len(g.call.Temps)), Type: types.F64}
		s.Domain = ir.InferDomain(g.rank, nil, false, s.Value, g.user())
		s.Temp.Box = s.Domain
		g.call.Temps = append(g.call.Temps, s.Temp)
	case 2:
		s.Axes = []int{0, 1}
		s.Value = &ir.Binary{Op: op.Sub, X: g.value(s.Axes), Y: &ir.Access{Array: g.call.Arrays[0],
			Index: []ir.Index{{Axis: 0}, {Axis: 1}}}}
		s.Reduce = &ir.Reduce{Kind: ir.Max, Scalar: g.scalar}
		s.Domain = ir.InferDomain(g.rank, nil, true, s.Value, g.user())
	default:
		s.Array = g.call.Arrays[g.pick(len(g.call.Arrays), "array")]
		for _, dim := range s.Array.Dims {
			s.Axes = append(s.Axes, dim.Axis)
		}
		s.Value = g.value(s.Axes)
		user := g.user()
		if s.Array.Box != nil {
			user.Clip(s.Array.Box)
		}
		s.Domain = ir.InferDomain(g.rank, s.Array, false, s.Value, user)
		if s.Array.Local && s.Array.Box == nil {
			s.Array.Box = s.Domain.Clone()
		}
		if g.pick(3, "coloured") == 0 {
			s.Color = &ir.Color{Coef: []int64{1, 1}, Mod: int64(2 + g.pick(2, "modulus"))}
			if g.pick(2, "skewed") == 0 {
				s.Color.Coef[0] = 2
			}
			for axis := range s.Color.Coef {
				if !slices.Contains(s.Axes, axis) {
					s.Color.Coef[axis] = 0
				}
			}
			s.Color.Rem = int64(g.pick(int(s.Color.Mod), "remainder"))
		}
	}
	g.call.Body = append(g.call.Body, s)
}

// A symbolic executes calls on symbols: a value is a hash of how it came about,
// so that two runs agree only if every read saw the same write.
type symbolic struct {
	params  []int64
	arrays  map[*ir.Array]map[[2]int64]uint64
	scalars map[*ir.Scalar]uint64
	temps   func(t *ir.Temp, at [2]int64) uint64
}

const span = 40 // positions that stand in for missing bounds: -4..span

func hash(parts ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, parts...)
	return h.Sum64()
}

func (m *symbolic) clone() *symbolic {
	c := &symbolic{params: m.params, temps: m.temps, arrays: map[*ir.Array]map[[2]int64]uint64{},
		scalars: map[*ir.Scalar]uint64{}}
	for a, cells := range m.arrays {
		c.arrays[a] = map[[2]int64]uint64{}
		for k, v := range cells {
			c.arrays[a][k] = v
		}
	}
	for s, v := range m.scalars {
		c.scalars[s] = v
	}
	return c
}

func (m *symbolic) eval(e ir.Expr, at [2]int64, old map[*ir.Array]*symbolic) uint64 {
	switch e := e.(type) {
	case ir.Const:
		return hash("const", e.Value.F)
	case ir.ScalarRef:
		return hash("scalar", m.scalars[e.Scalar])
	case ir.TempRef:
		return m.temps(e.Temp, at)
	case *ir.Binary:
		return hash("sub", m.eval(e.X, at, old), "-", m.eval(e.Y, at, old))
	case *ir.Access:
		from := m
		if o := old[e.Array]; o != nil {
			from = o
		}
		return from.load(e, at)
	}
	panic(fmt.Sprintf("%T", e))
}

func (m *symbolic) load(acc *ir.Access, at [2]int64) uint64 {
	var cell [2]int64
	turned := false
	for d, ix := range acc.Index {
		x := ix.Offset
		if ix.Axis >= 0 {
			x += at[ix.Axis]
		}
		dim := acc.Array.Dims[d]
		e := acc.Array.Holds(d).Eval(m.params, ir.Extent{})
		face := dim.Faces.Low
		if x > e.Hi {
			face = dim.Faces.High
		}
		if x < e.Lo || x > e.Hi {
			switch face.Kind {
			case ir.None: // a constant index that Bind would refuse
			case ir.Constant:
				return m.eval(face.Value, at, nil)
			default:
				if e.Len() == 0 {
					return 0
				}
				to, neg := ir.MapIndex(face.Kind, x, e.Lo, e.Hi)
				x, turned = to, turned != neg
			}
		}
		cell[dim.Axis] = x
	}
	v, ok := m.arrays[acc.Array][cell]
	if !ok {
		v = hash("initial", acc.Array.Name, cell)
	}
	return hash("load", v, turned)
}

func (m *symbolic) inside(s Cells, at [2]int64) bool {
	for axis, r := range s.Box {
		if e := r.Eval(m.params, ir.Extent{Lo: -4, Hi: span}); at[axis] < e.Lo || at[axis] > e.Hi {
			return false
		}
	}
	if c := s.Color; c != nil {
		return mod(c.Coef[0]*at[0]+c.Coef[1]*at[1]-c.Rem, c.Mod) == 0
	}
	return true
}

// loop returns the cells of a loop over axes that holds the domains of the
// statements; axes that it does not run over stay at 0.
func (m *symbolic) loop(axes []int, stmts []*ir.Stmt) [][2]int64 {
	ext := [2]ir.Extent{}
	for _, axis := range axes {
		e := ir.Extent{Lo: span, Hi: -4}
		for _, s := range stmts {
			d := s.Domain[axis].Eval(m.params, ir.Extent{Lo: 0, Hi: 0})
			e.Lo, e.Hi = min(e.Lo, d.Lo), max(e.Hi, d.Hi)
		}
		ext[axis] = e
	}
	var cells [][2]int64
	for j := ext[0].Lo; j <= ext[0].Hi; j++ {
		for i := ext[1].Lo; i <= ext[1].Hi; i++ {
			cells = append(cells, [2]int64{j, i})
		}
	}
	return cells
}

func (m *symbolic) store(a *ir.Array, at [2]int64, v uint64) { m.arrays[a][onAxes(at, a)] = v }

func onAxes(at [2]int64, a *ir.Array) [2]int64 {
	var out [2]int64
	for _, dim := range a.Dims {
		out[dim.Axis] = at[dim.Axis]
	}
	return out
}

// allAtOnce executes the call as the language says.
func (m *symbolic) allAtOnce(call *ir.Call) {
	taken := map[*ir.Temp]func([2]int64) uint64{}
	m.temps = func(t *ir.Temp, at [2]int64) uint64 { return taken[t](at) }
	for _, s := range call.Body {
		old := m.clone()
		if s.Temp != nil {
			taken[s.Temp] = func(at [2]int64) uint64 { return old.eval(s.Value, at, nil) }
			continue
		}
		var all []uint64
		for _, at := range m.loop(s.Axes, []*ir.Stmt{s}) {
			if m.inside(Cells{s.Domain, s.Color}, at) {
				v := old.eval(s.Value, at, nil)
				all = append(all, v)
				if s.Array != nil {
					m.store(s.Array, at, v)
				}
			}
		}
		if s.Reduce != nil {
			m.scalars[s.Reduce.Scalar] = reduced(all)
		}
	}
}

func reduced(all []uint64) uint64 {
	all = slices.Clone(all)
	slices.Sort(all)
	return hash("reduced", all)
}

// grouped executes the call as Group promises; order permutes a loop's cells.
func (m *symbolic) grouped(call *ir.Call, f *Fusion, order func(n int) []int) {
	stored := map[*ir.Temp]map[[2]int64]uint64{}
	for _, g := range f.Groups {
		m.group(call, f, g, stored, order)
	}
}

func (m *symbolic) group(call *ir.Call, f *Fusion, g *Group, stored map[*ir.Temp]map[[2]int64]uint64,
	order func(n int) []int) {
	old := map[*ir.Array]*symbolic{}
	for _, a := range g.Snapshot {
		old[a] = m.clone()
	}
	use := map[*ir.Stmt]*TempUse{}
	for _, u := range f.Temps {
		use[u.Stmt] = u
	}
	covers := []*ir.Stmt{}
	for _, s := range g.Stmts {
		if s.Temp == nil {
			covers = append(covers, s)
		} else if use[s].Place == Materialised {
			covers = append(covers, use[s].Needed...)
			stored[s.Temp] = map[[2]int64]uint64{}
		}
	}
	cells := m.loop(g.Axes, covers)
	all := map[*ir.Stmt][]uint64{}
	for _, c := range order(len(cells)) {
		at := cells[c]
		local := map[*ir.Temp]uint64{}
		m.temps = func(t *ir.Temp, at [2]int64) uint64 {
			if v, ok := local[t]; ok {
				return v
			}
			var u *TempUse
			for _, x := range f.Temps {
				if x.Temp == t {
					u = x
				}
			}
			v, ok := stored[t][project(at, u.Axes)]
			if !ok {
				panic(fmt.Sprintf("%s is not there at %v", t.Name, at))
			}
			return v
		}
		for _, s := range g.Body() {
			if s.Temp != nil {
				if slices.ContainsFunc(use[s].Cells(g.Axes), func(c Cells) bool { return m.inside(c, at) }) {
					local[s.Temp] = m.eval(s.Value, at, nil)
					if cells, ok := stored[s.Temp]; ok {
						if v, twice := cells[project(at, use[s].Axes)]; twice && v != local[s.Temp] {
							panic("a materialised temp has two values at one cell")
						}
						cells[project(at, use[s].Axes)] = local[s.Temp]
					}
				}
				continue
			}
			if !m.inside(Cells{s.Domain, s.Color}, at) {
				continue
			}
			v := m.eval(s.Value, at, old)
			all[s] = append(all[s], v)
			if s.Array != nil {
				m.store(s.Array, at, v)
			}
		}
	}
	for _, s := range g.Stmts {
		if s.Reduce != nil {
			m.scalars[s.Reduce.Scalar] = reduced(all[s])
		}
	}
}

func project(at [2]int64, axes []int) [2]int64 {
	var out [2]int64
	for _, a := range axes {
		out[a] = at[a]
	}
	return out
}

func newSymbolic(call *ir.Call, n int64) *symbolic {
	m := &symbolic{params: []int64{n}, arrays: map[*ir.Array]map[[2]int64]uint64{}, scalars: map[*ir.Scalar]uint64{}}
	for _, a := range call.Arrays {
		m.arrays[a] = map[[2]int64]uint64{}
	}
	return m
}

func (m *symbolic) differs(o *symbolic) string {
	for s, v := range m.scalars {
		if o.scalars[s] != v {
			return "the reduced scalar"
		}
	}
	for a, cells := range m.arrays {
		for at, v := range cells {
			if o.arrays[a][at] != v {
				return fmt.Sprintf("%s at %v", a.Name, at)
			}
		}
	}
	return ""
}

func describe(f *Fusion) string {
	out := ""
	for i, g := range f.Groups {
		out += fmt.Sprintf("group %d axes %v snapshot %d in place %t recompute %d\n", i, g.Axes, len(g.Snapshot),
			g.InPlace, len(g.Recompute))
		for _, s := range g.Body() {
			out += "  " + stmtText(s) + "\n"
		}
	}
	return out
}

func stmtText(s *ir.Stmt) string {
	target := ""
	switch {
	case s.Array != nil:
		target = s.Array.Name
	case s.Temp != nil:
		target = s.Temp.Name
	default:
		target = "reduce"
	}
	reads := ""
	ir.Walk(s.Value, func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Access:
			reads += fmt.Sprintf(" %s%v", e.Array.Name, e.Index)
		case ir.TempRef:
			reads += " " + e.Temp.Name
		case ir.ScalarRef:
			reads += " s"
		}
	})
	return fmt.Sprintf("%s <-%s over %v colour %v", target, reads, s.Domain, s.Color)
}

// TestGroupsKeepTheMeaning executes random calls group by group, cells
// forwards, backwards and shuffled, and compares every value with that of the
// statements run one after the other.
func TestGroupsKeepTheMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		call, _ := randomCall(t)
		f := FusableGroups(call)
		var flat []*ir.Stmt
		for _, g := range f.Groups {
			flat = append(flat, g.Stmts...)
		}
		if !slices.Equal(flat, call.Body) {
			t.Fatalf("the groups are no partition:\n%s", describe(f))
		}
		n := int64(rapid.IntRange(2, 6).Draw(t, "N"))
		want := newSymbolic(call, n)
		want.allAtOnce(call)
		for name, order := range map[string]func(n int) []int{
			"forwards":  func(n int) []int { return ascending(n) },
			"backwards": func(n int) []int { o := ascending(n); slices.Reverse(o); return o },
			"shuffled":  func(n int) []int { return rand.New(rand.NewSource(int64(n))).Perm(n) },
		} {
			got := newSymbolic(call, n)
			got.grouped(call, f, order)
			if at := want.differs(got); at != "" {
				t.Fatalf("N=%d, cells %s: %s differs\n%s", n, name, at, describe(f))
			}
			if at := got.differs(want); at != "" {
				t.Fatalf("N=%d, cells %s: %s is written too much\n%s", n, name, at, describe(f))
			}
		}
	})
}

func ascending(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
