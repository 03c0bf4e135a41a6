package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Facts is what is known of a program. Its JSON form is described in
// docs/analysis.md and stable.
type Facts struct {
	IR      *ir.Program `json:"-"`
	Binding *ir.Binding `json:"-"` // nil if no sizes were given

	Program string       `json:"program"`
	Axes    []string     `json:"axes"` // outermost first
	Sizes   []Size       `json:"sizes,omitempty"`
	Bytes   int64        `json:"bytes,omitempty"` // of all grids
	Grids   []*GridFacts `json:"grids"`
	Calls   []*CallFacts `json:"stages"` // the key is older than the word call; names of fields are stable
	Loops   []*LoopFacts `json:"loops"`
}

// Size is the value of a parameter.
type Size struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// GridFacts is what is known of a grid.
type GridFacts struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Dims     []string `json:"dims"`            // as index ranges: "0..N-1"
	Shape    []int    `json:"shape,omitempty"` // with sizes
	Bytes    int64    `json:"bytes,omitempty"` // with sizes
	CopyIn   bool     `json:"copyin,omitempty"`
	CopyOut  bool     `json:"copyout,omitempty"`
	Boundary []string `json:"boundary,omitempty"` // "clamp on j.low"
}

// CallFacts is what is known of a call. Numbers per point hold for a point
// of the call's main domain, the largest one of the statements that write grids
// or reduce: with sizes, a statement counts by its share of those points;
// without, statements and arrays of fewer dimensions, and those over a fixed
// number of planes, count as nothing.
type CallFacts struct {
	IR     *ir.Call `json:"-"`
	Fusion *Fusion  `json:"-"`

	Name       string   `json:"name"`
	Axes       []string `json:"axes"`                  // that the main domain runs over
	Points     int64    `json:"points,omitempty"`      // of the main domain; with sizes
	WorkingSet int64    `json:"working_set,omitempty"` // bytes of all grids that the call touches; with sizes
	Shape      Shape    `json:"shape"`
	// Reach is the halo of what the call reads from outside through everything
	// that it computes: the margin that one tile of it needs.
	Reach      []Halo        `json:"reach"`
	Arrays     []*ArrayFacts `json:"arrays"`
	Statements []*StmtFacts  `json:"statements"`
	Groups     []*GroupFacts `json:"groups"`
	Edges      []Edge        `json:"dependences"`

	Ops            Ops           `json:"ops"`   // per point
	Single         Ops           `json:"-"`     // the part of Ops in single precision
	Loads          float64       `json:"loads"` // per point, each value loaded once
	LoadsAsWritten float64       `json:"loads_as_written"`
	Stores         float64       `json:"stores"`
	Traffic        Traffic       `json:"bytes_per_point"`
	Intensity      Intensity     `json:"intensity"`
	Homogeneous    []Homogeneity `json:"homogenizable"`   // for every axis of Axes on which something is assigned
	Bound          *Bound        `json:"bound,omitempty"` // on the machine given to Facts.On

	accesses       []*ir.Access // all, as written
	reads, reduces map[*ir.Scalar]bool
	degree         int
}

// StmtFacts is what is known of a statement by itself, at one of its cells.
type StmtFacts struct {
	IR *ir.Stmt `json:"-"`

	Text   string `json:"text"`
	Target string `json:"target"`
	Kind   string `json:"kind"` // array, temp or reduction
	Domain string `json:"domain"`
	Color  string `json:"color,omitempty"`
	Cells  int64  `json:"cells,omitempty"` // that it is evaluated at; with sizes, temps aside
	Group  int    `json:"group"`
	Place  string `json:"place,omitempty"` // of a temp
	Reads  []Read `json:"reads"`           // of arrays, by the statement itself
	// Shape looks through temps: it is the footprint on arrays alone.
	Shape          Shape         `json:"shape"`
	Ops            Ops           `json:"ops"`
	Single         Ops           `json:"-"`
	Loads          int           `json:"loads"` // distinct, of arrays
	LoadsAsWritten int           `json:"loads_as_written"`
	Homogeneous    []Homogeneity `json:"homogenizable,omitempty"` // for every axis it runs over; not for temps
}

// Read is how a statement reads an array.
type Read struct {
	Array   string    `json:"array"`
	Offsets [][]int64 `json:"offsets"`         // by axis of the program
	Fixed   bool      `json:"fixed,omitempty"` // it also reads at indices that do not move with the cell
}

// GroupFacts is a Group in words.
type GroupFacts struct {
	Statements []int    `json:"statements"` // indices
	Axes       []string `json:"axes"`
	Recompute  []int    `json:"recompute,omitempty"` // indices of temp statements
	Snapshot   []string `json:"snapshot,omitempty"`
	InPlace    bool     `json:"in_place,omitempty"`
}

// Analyze states the facts of a program; b gives it sizes, or is nil.
func Analyze(p *ir.Program, b *ir.Binding) *Facts {
	f := &Facts{IR: p, Binding: b, Program: p.Name, Axes: p.Axes}
	if b != nil {
		for i, q := range p.Params {
			f.Sizes = append(f.Sizes, Size{q.Name, b.Params[i]})
		}
	}
	for _, g := range p.Grids {
		f.Grids = append(f.Grids, f.grid(g))
		f.Bytes += f.Grids[len(f.Grids)-1].Bytes
	}
	for _, s := range p.Calls {
		call := newGatherer(p, b, s).facts()
		call.WorkingSet = f.workingSet([]*CallFacts{call})
		f.Calls = append(f.Calls, call)
	}
	f.loops()
	return f
}

// Call returns the facts of a call of the program.
func (f *Facts) Call(s *ir.Call) *CallFacts {
	for _, t := range f.Calls {
		if t.IR == s {
			return t
		}
	}
	return nil
}

func (f *Facts) grid(g *ir.Grid) *GridFacts {
	out := &GridFacts{Name: g.Name, Type: g.Type.Word(), CopyIn: g.CopyIn, CopyOut: g.CopyOut}
	for _, d := range g.Dims {
		out.Dims = append(out.Dims, d.Lo.Text(f.IR.Params)+".."+d.Hi.Text(f.IR.Params))
		if d.Axis < 0 {
			continue
		}
		axis := f.IR.Axes[d.Axis]
		low, high := f.boundary(d.Faces.Low), f.boundary(d.Faces.High)
		switch {
		case low == high && low != "":
			out.Boundary = append(out.Boundary, low+" on "+axis)
		default:
			if low != "" {
				out.Boundary = append(out.Boundary, low+" on "+axis+".low")
			}
			if high != "" {
				out.Boundary = append(out.Boundary, high+" on "+axis+".high")
			}
		}
	}
	if f.Binding != nil {
		out.Shape = f.Binding.Shape(g.Dims)
		out.Bytes = int64(g.Type.Size())
		for _, n := range out.Shape {
			out.Bytes *= int64(n)
		}
	}
	return out
}

// workingSet returns the bytes of the grids that calls touch.
func (f *Facts) workingSet(calls []*CallFacts) int64 {
	n := int64(0)
	for i, g := range f.IR.Grids {
		if slices.ContainsFunc(calls, func(s *CallFacts) bool {
			return slices.ContainsFunc(s.IR.Arrays, func(a *ir.Array) bool { return a.Grid == g })
		}) {
			n += f.Grids[i].Bytes
		}
	}
	return n
}

func (f *Facts) boundary(b ir.Boundary) string {
	switch b.Kind {
	case ir.None:
		return ""
	case ir.Constant:
		return "constant(" + f.IR.InfixExpr(b.Value) + ")"
	}
	return b.Kind.String()
}

// domainText prints the bounded axes of a box: "k 1..N-2, j 0..M-1".
func domainText(p *ir.Program, box ir.Box) string {
	var parts []string
	for axis, r := range box {
		if len(r.Lo) > 0 || len(r.Hi) > 0 {
			parts = append(parts, p.Axes[axis]+" "+
				boundText(p, r.Lo, "max", func(a, b ir.Affine) bool { return atLeast(b, a) })+".."+
				boundText(p, r.Hi, "min", atLeast))
		}
	}
	return strings.Join(parts, ", ")
}

// boundText prints the tightest of several bounds; implied says that its first
// argument is no tighter than the second, for all sizes.
func boundText(p *ir.Program, list []ir.Affine, tightest string, implied func(a, b ir.Affine) bool) string {
	var parts []string
	for i, a := range list {
		needed := true
		for j, b := range list {
			needed = needed && (i == j || !implied(a, b) || j > i && implied(b, a))
		}
		if needed {
			parts = append(parts, a.Text(p.Params))
		}
	}
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return tightest + "(" + strings.Join(parts, ", ") + ")"
}

func colorText(p *ir.Program, c *ir.Color) string {
	var sum []string
	for axis, k := range c.Coef {
		switch {
		case k == 1:
			sum = append(sum, p.Axes[axis])
		case k != 0:
			sum = append(sum, fmt.Sprintf("%d*%s", k, p.Axes[axis]))
		}
	}
	return fmt.Sprintf("(%s) %% %d == %d", strings.Join(sum, "+"), c.Mod, c.Rem)
}

// gatherer gathers the facts of one call.
type gatherer struct {
	p      *ir.Program
	b      *ir.Binding // or nil
	ir     *ir.Call
	deps   *reads
	fusion *Fusion
	weight map[*ir.Stmt]float64 // share of the main domain's points
	splits map[int]*homogenizer // by axis
	axes   []int                // of the main domain
	degree int                  // of them, those that grow with the sizes
	points int64                // of the main domain; 0 without sizes
}

func newGatherer(p *ir.Program, b *ir.Binding, s *ir.Call) *gatherer {
	g := &gatherer{p: p, b: b, ir: s, deps: newReads(s), fusion: FusableGroups(s), weight: map[*ir.Stmt]float64{},
		splits: map[int]*homogenizer{}}
	g.setShares()
	return g
}

// setShares finds the main domain and every statement's share of it.
func (g *gatherer) setShares() {
	for _, s := range g.mains() {
		if n := cells(g.b, s); len(s.Axes) > len(g.axes) || n > g.points {
			g.axes = s.Axes
		}
		g.points = max(g.points, cells(g.b, s))
		g.degree = max(g.degree, degree(s))
	}
	for _, s := range g.ir.Body {
		if s.Temp != nil {
			continue
		}
		w := 0.0
		switch {
		case g.points > 0:
			w = float64(cells(g.b, s)) / float64(g.points)
		case degree(s) >= g.degree:
			w = 1
		}
		if s.Color != nil {
			w /= float64(s.Color.Mod)
		}
		g.weight[s] = w
		for _, t := range g.deps.temps(s) {
			g.weight[t] = max(g.weight[t], w)
		}
	}
}

// mains returns the statements that may have the main domain: those whose
// results leave the call, or if none do, all assignments.
func (g *gatherer) mains() []*ir.Stmt {
	var leave, all []*ir.Stmt
	for _, s := range g.ir.Body {
		if s.Temp != nil {
			continue
		}
		all = append(all, s)
		if s.Array == nil || !s.Array.Local {
			leave = append(leave, s)
		}
	}
	if leave == nil {
		return all
	}
	return leave
}

// cells returns the number of cells in the domain of an assignment or
// reduction, all colours; 0 without sizes.
func cells(b *ir.Binding, s *ir.Stmt) int64 {
	if b == nil {
		return 0
	}
	n := int64(1)
	for _, axis := range s.Axes {
		n *= b.Range(s.Domain[axis]).Len()
	}
	return n
}

// degree returns the number of axes on which a statement's domain grows with
// the sizes.
func degree(s *ir.Stmt) int {
	n := 0
	for _, axis := range s.Axes {
		if !fixed(s.Domain[axis]) {
			n++
		}
	}
	return n
}

// fixed reports whether a range holds no more than a number of positions that
// is the same for all sizes.
func fixed(r ir.Range) bool {
	for _, lo := range r.Lo {
		for _, hi := range r.Hi {
			if _, ok := hi.Diff(lo); ok {
				return true
			}
		}
	}
	return false
}

func (g *gatherer) facts() *CallFacts {
	out := &CallFacts{IR: g.ir, Fusion: g.fusion, Name: g.ir.Name, Axes: g.axisNames(g.axes), Points: g.points}
	out.Shape = g.shape(g.effective(g.ir.Body))
	out.Reach = g.reach()
	out.Arrays = g.arrays()
	for i := range g.ir.Body {
		out.Statements = append(out.Statements, g.statement(i))
	}
	for _, group := range g.fusion.Groups {
		out.Groups = append(out.Groups, g.group(group))
	}
	out.Edges = g.edges()
	for i, s := range out.Statements {
		w := g.weight[g.ir.Body[i]]
		out.Ops = out.Ops.plus(s.Ops.times(w))
		out.Single = out.Single.plus(s.Single.times(w))
		out.LoadsAsWritten += w * float64(s.LoadsAsWritten)
		if g.ir.Body[i].Array != nil {
			out.Stores += w
		}
	}
	out.Loads = g.loads()
	out.Traffic = g.traffic()
	out.Intensity = intensity(out.Ops, out.Traffic)
	out.Homogeneous = []Homogeneity{}
	for _, axis := range g.axes {
		if h := g.homogeneous(axis); !h.OK || h.Parts > 0 {
			out.Homogeneous = append(out.Homogeneous, h)
		}
	}
	out.degree, out.reads, out.reduces = g.degree, map[*ir.Scalar]bool{}, map[*ir.Scalar]bool{}
	for _, s := range g.ir.Body {
		r := g.deps.of[s]
		out.accesses = append(out.accesses, r.accesses...)
		for sc := range r.scalars {
			out.reads[sc] = true
		}
		if s.Reduce != nil {
			out.reduces[s.Reduce.Scalar] = true
		}
	}
	return out
}

func (g *gatherer) axisNames(axes []int) []string {
	names := []string{}
	for _, a := range axes {
		names = append(names, g.p.Axes[a])
	}
	return names
}

func (g *gatherer) statement(i int) *StmtFacts {
	s := g.ir.Body[i]
	out := &StmtFacts{
		IR: s, Text: g.p.Infix(s), Target: target(s), Kind: "array",
		Domain: domainText(g.p, s.Domain), Cells: cells(g.b, s), Reads: []Read{},
	}
	switch {
	case s.Temp != nil:
		out.Kind, out.Cells = "temp", 0
		for _, u := range g.fusion.Temps {
			if u.Stmt == s {
				out.Place = u.Place.String()
			}
		}
	case s.Reduce != nil:
		out.Kind = "reduction"
	}
	if s.Color != nil {
		out.Color = colorText(g.p, s.Color)
	}
	for n, group := range g.fusion.Groups {
		if slices.Contains(group.Stmts, s) {
			out.Group = n
		}
	}
	for _, a := range g.ir.Arrays {
		accs := of(a, g.deps.of[s].accesses)
		if len(accs) > 0 {
			fixed := slices.ContainsFunc(accs, func(acc *ir.Access) bool {
				return slices.ContainsFunc(acc.Index, func(ix ir.Index) bool { return ix.Axis < 0 })
			})
			out.Reads = append(out.Reads, Read{a.Name, offsets(len(g.p.Axes), accs), fixed})
		}
	}
	out.Shape = g.shape(g.effective([]*ir.Stmt{s}))
	out.Ops, out.Single = g.count(s)
	out.LoadsAsWritten = len(g.deps.of[s].accesses)
	out.Loads = len(g.deps.of[s].distinct)
	if s.Temp == nil {
		for _, axis := range s.Axes {
			out.Homogeneous = append(out.Homogeneous, g.homogenize(s, axis))
		}
	}
	return out
}

// target returns the name of what a statement assigns.
func target(s *ir.Stmt) string {
	switch {
	case s.Array != nil:
		return s.Array.Name
	case s.Temp != nil:
		return s.Temp.Name
	}
	return s.Reduce.Scalar.Name
}

func (g *gatherer) group(group *Group) *GroupFacts {
	out := &GroupFacts{Axes: g.axisNames(group.Axes), InPlace: group.InPlace}
	for _, s := range group.Stmts {
		out.Statements = append(out.Statements, slices.Index(g.ir.Body, s))
	}
	for _, s := range group.Recompute {
		out.Recompute = append(out.Recompute, slices.Index(g.ir.Body, s))
	}
	for _, a := range group.Snapshot {
		out.Snapshot = append(out.Snapshot, a.Name)
	}
	return out
}
