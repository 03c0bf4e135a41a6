package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// nest is one group of statements on its way to a kernel: what every family
// needs to know of it.
type nest struct {
	*module
	*env
	call          *ir.Call
	group         *analysis.Group
	name          string
	key           string          // its name in a plan
	choices       schedule.Space  // the configurations that it may have
	given         schedule.Config // what the plan says of it
	wished        bool            // the source says something about the call's kernels
	config        schedule.Config
	set           schedule.ByRole // the configuration
	snapshots     map[*ir.Array]*store
	temps         map[*ir.Temp]*store // materialised temps of the call so far
	axes          []int
	stmts         []*statement
	span          map[int]*span // by axis
	local         map[*ir.Temp]bool
	strided       *ir.Color      // the one colour of all the group's cells; nil if there is none
	shapes        []string       // shape keys, in order of first use
	arrayClasses  []*arrayClass  // of the arrays that it reads
	resourceLimit *ResourceLimit // why the kernel cannot run anywhere
	occupancy     float64        // that the source asks for; 0 for none
	aligned       bool           // blocks of threads start with a segment of a row

	byPipeline *pipeline.Pipeline // the group as a pipeline; nil if it is none

	// What passes have made.
	kernel *kernel.Kernel // as the family has built it
	args   []kernel.Arg   // of the kernel
	finals []func()       // add the launches after the kernel's
	broken error          // why a helper of the kernel is not well formed
}

// statement is one statement of the group.
type statement struct {
	src     *ir.Stmt
	written *ir.Stmt // what src was before passes
	// into is the memory that an assignment writes, also that of a materialised
	// temp; nil for a temp that stays in the loop body and for a reduction.
	into *store
	// where are the cells that it runs at: its domain, or for a temp whose reads
	// elsewhere would race with the group's writes those of the statements that
	// need it. A cell in one of them is enough.
	where []analysis.Cells
}

// anchored reports whether the statement itself has to run at its cells; a
// temp that is not materialised only serves others.
func (s *statement) anchored() bool { return s.into != nil || s.src.Reduce != nil }

// span is the loop's range on one axis. Between inLo and inHi no statement
// needs a guard and no access a boundary.
type span struct {
	lo, hi     kernel.Expr // hi is exclusive
	inLo, inHi kernel.Expr
	low, high  bool // whether there is an edge region on that side
	// single says of each side that its edge region is of one cell at most.
	single struct{ low, high bool }
	// loBounds and hiBounds are lo and hi as bounds that every cell respects,
	// where they can be written so for all sizes; else nil.
	loBounds []ir.Affine
	hiBounds []ir.Affine
}

// collect chooses the statements that the group's loop executes.
func (n *nest) collect(f *analysis.Fusion, gi int) {
	n.axes = n.group.Axes
	n.local = map[*ir.Temp]bool{}
	uses := map[*ir.Temp]*analysis.TempUse{}
	for _, u := range f.Temps {
		uses[u.Temp] = u
	}
	keeps := n.keeps(uses, gi)
	for _, st := range n.group.Body() {
		s := &statement{src: st, written: st, where: []analysis.Cells{{Box: st.Domain}}}
		if st.Reduce == nil {
			s.where[0].Color = st.Color // a reduction takes part everywhere, and chooses its values
		}
		switch {
		case st.Temp != nil:
			u := uses[st.Temp]
			kept := u.Place == analysis.Materialised && u.Group == gi
			if len(u.Needed) == 0 || !kept && !keeps[st.Temp] && !n.needs(u) {
				continue
			}
			n.local[st.Temp] = true
			if kept {
				s.into = n.temps[st.Temp]
			}
			if n.overwrites(st) {
				s.where = n.needing(u, f, gi).Cells(n.axes)
			}
		case st.Array != nil:
			s.into = n.arrayStore(n.call, st.Array)
		}
		n.stmts = append(n.stmts, s)
	}
	if !slices.ContainsFunc(n.stmts, (*statement).anchored) {
		n.stmts = nil
	}
	n.strided = commonColor(n.stmts)
}

// keeps returns the temps that those are made of which the group keeps for others, these included.
func (n *nest) keeps(uses map[*ir.Temp]*analysis.TempUse, gi int) map[*ir.Temp]bool {
	set := map[*ir.Temp]bool{}
	for _, st := range slices.Backward(n.group.Body()) {
		if st.Temp == nil {
			continue
		}
		if u := uses[st.Temp]; u.Place == analysis.Materialised && u.Group == gi {
			set[st.Temp] = true
		}
		if !set[st.Temp] {
			continue
		}
		ir.Walk(st.Value, func(e ir.Expr) {
			if r, ok := e.(ir.TempRef); ok {
				set[r.Temp] = true
			}
		})
	}
	return set
}

// needs reports whether the group itself reads a temp.
func (n *nest) needs(u *analysis.TempUse) bool {
	return slices.ContainsFunc(u.Needed, func(s *ir.Stmt) bool { return slices.Contains(n.group.Stmts, s) })
}

// needing returns what is known of a temp, with only those of the statements
// that need it which do so here: the group's own, unless what the group keeps
// for others may be made of the temp.
func (n *nest) needing(u *analysis.TempUse, f *analysis.Fusion, gi int) *analysis.TempUse {
	for _, other := range f.Temps {
		if other.Place == analysis.Materialised && other.Group == gi {
			return u
		}
	}
	here := *u
	here.Needed = nil
	for _, s := range u.Needed {
		if slices.Contains(n.group.Stmts, s) {
			here.Needed = append(here.Needed, s)
		}
	}
	return &here
}

// overwrites reports whether the group writes to cells that a temp may read
// from another one.
func (n *nest) overwrites(temp *ir.Stmt) bool {
	return slices.ContainsFunc(accesses(temp.Value), func(a *ir.Access) bool {
		return strays(a) && slices.ContainsFunc(n.group.Stmts, func(s *ir.Stmt) bool { return s.Array == a.Array })
	})
}

// strays reports whether an access may read another cell than the one that it
// is evaluated at.
func strays(a *ir.Access) bool {
	for d, ix := range a.Index {
		dim := a.Array.Dims[d]
		for _, face := range []ir.Boundary{dim.Faces.Low, dim.Faces.High} {
			if face.Kind != ir.None && face.Kind != ir.Constant {
				return true
			}
		}
		if ix.Axis != dim.Axis || ix.Offset != 0 {
			return true
		}
	}
	return false
}

// commonColor returns the colour that restricts all assignments alike, so that
// the loop can visit those cells alone; nil if there is none.
func commonColor(stmts []*statement) *ir.Color {
	var common *ir.Color
	for _, s := range stmts {
		if !s.anchored() {
			continue
		}
		c := s.src.Color
		if c == nil || s.src.Reduce != nil {
			return nil
		}
		if common != nil && (c.Mod != common.Mod || c.Rem != common.Rem || !slices.Equal(c.Coef, common.Coef)) {
			return nil
		}
		common = c
	}
	return common
}

// build makes the group's kernels with the family that the configuration names.
func (n *nest) build() error {
	n.snapshots = map[*ir.Array]*store{}
	for _, a := range n.group.Snapshot {
		n.snapshots[a] = n.snapshotStore(n.call, a)
		n.copyKernel(a, n.snapshots[a])
	}
	n.env = newEnv(n.Program, n.opts.Bound)
	if n.set.Word(schedule.Sizes) == schedule.SizeLiterals {
		if !n.opts.Sized {
			name := n.choices.Family(n.config.Family).For(schedule.Sizes).Name
			return fmt.Errorf("plan for %s: %s=%s makes a kernel for one size, and this one is for all: use %s=%s",
				n.name, name, schedule.SizeLiterals, name, schedule.SizeArguments)
		}
		n.env.baked = true
	}
	for _, p := range groupPasses {
		ran, err := p.run(n)
		if err != nil {
			return err
		}
		err = n.after(p.Pass, n.key, ran, func() string { return p.text(n) }, func() error { return p.check(n) })
		if err != nil {
			return err
		}
	}
	k, err := n.passed(n.kernel, n.wanted())
	if err != nil {
		return err
	}
	if n.opts.Target == GPU {
		if err := fits(k, n.opts.gpu()); err != nil {
			return err
		}
		lowerOccupancy(k, n.opts.gpu())
	}
	n.launch(k, n.args)
	for _, f := range n.finals {
		f()
	}
	return n.broken
}

// bounds derives the loop's range on every axis.
func (n *nest) bounds() {
	n.span = map[int]*span{}
	for _, axis := range n.axes {
		n.span[axis] = n.axisSpan(axis)
	}
}

func (n *nest) axisSpan(axis int) *span {
	var los, his [][]ir.Affine
	var inside ir.Range
	for _, s := range n.stmts {
		if s.anchored() {
			for _, w := range s.where {
				r := w.Box[axis]
				los, his = append(los, r.Lo), append(his, r.Hi)
				inside.Clip(r)
			}
		}
		for _, a := range accesses(s.src.Value) {
			for d, ix := range a.Index {
				if ix.Axis != axis {
					continue
				}
				r := a.Array.Holds(d).Shift(-ix.Offset)
				faces := a.Array.Dims[d].Faces
				if faces.Low.Kind == ir.None {
					r.Lo = nil
				}
				if faces.High.Kind == ir.None {
					r.Hi = nil
				}
				inside.Clip(r)
			}
		}
	}
	hullLo, hullHi := n.hullOf(n.call, axis)
	sp := &span{loBounds: loosest(los, -1), hiBounds: loosest(his, 1)}
	sp.lo = n.hull(los, sp.loBounds, hullLo(n.size), n.low, kernel.Min)
	sp.hi = kernel.Add(n.hull(his, sp.hiBounds, hullHi(n.size), n.high, kernel.Max), kernel.I(1))
	sp.low = differ(append(los, inside.Lo))
	sp.high = differ(append(his, inside.Hi))
	sp.inLo = n.low(inside.Lo, sp.lo)
	sp.inHi = kernel.Add(n.high(inside.Hi, kernel.Sub(sp.hi, kernel.I(1))), kernel.I(1))
	if width, ok := kernel.Difference(sp.inLo, sp.lo); ok {
		sp.single.low = width <= 1
	}
	if width, ok := kernel.Difference(sp.hi, sp.inHi); ok {
		sp.single.high = width <= 1
	}
	return sp
}

// differ reports whether the bounds are not all alike.
func differ(lists [][]ir.Affine) bool {
	for _, l := range lists[1:] {
		if !sameBounds(l, lists[0]) {
			return true
		}
	}
	return false
}

// loosest returns the bound among lists that all others lie within, if that
// can be seen for all sizes: the lowest for side -1, the highest for side 1.
func loosest(lists [][]ir.Affine, side int64) []ir.Affine {
	best := lists[0]
	for _, l := range lists[1:] {
		if sameBounds(l, best) {
			continue
		}
		if len(l) != 1 || len(best) != 1 {
			return nil
		}
		d, ok := l[0].Diff(best[0])
		if !ok {
			return nil
		}
		if d*side > 0 {
			best = l
		}
	}
	return best
}

// hull returns the end of the loop: the loosest bound where there is one.
func (n *nest) hull(lists [][]ir.Affine, loosest []ir.Affine, missing kernel.Expr,
	end func([]ir.Affine, kernel.Expr) kernel.Expr, pick func(x, y kernel.Expr) kernel.Expr) kernel.Expr {
	if loosest != nil {
		return end(loosest, missing)
	}
	x := end(lists[0], missing)
	for i, l := range lists[1:] {
		if !slices.ContainsFunc(lists[:i+1], func(k []ir.Affine) bool { return sameBounds(k, l) }) {
			x = pick(x, end(l, missing))
		}
	}
	return x
}

func sameBounds(a, b []ir.Affine) bool {
	return ir.Range{Lo: a}.Equal(ir.Range{Lo: b})
}

func accesses(e ir.Expr) []*ir.Access {
	var out []*ir.Access
	ir.Walk(e, func(e ir.Expr) {
		if a, ok := e.(*ir.Access); ok {
			out = append(out, a)
		}
	})
	return out
}

// doc says what the kernel computes, for the reader of its code.
func (n *nest) doc() []string {
	var lines []string
	for _, s := range n.stmts {
		text := n.Program.Infix(s.src)
		lines = append(lines, text)
	}
	return lines
}

// noAxis is no axis of any index.
const noAxis = -2

// inner is the axis that varies fastest; noAxis for a single cell.
func (n *nest) inner() int {
	if len(n.axes) == 0 {
		return noAxis
	}
	return n.axes[len(n.axes)-1]
}

// outer are the other axes.
func (n *nest) outer() []int { return n.axes[:len(n.axes)-1] }

// reductions returns the group's reductions.
func (n *nest) reductions() []*statement {
	var out []*statement
	for _, s := range n.stmts {
		if s.src.Reduce != nil {
			out = append(out, s)
		}
	}
	return out
}

// identity is the value that changes nothing in a reduction.
func identity(kind ir.ReduceKind, t types.Type) kernel.Expr {
	switch kind {
	case ir.Sum:
		return kernel.L(op.Convert(t, op.Int(types.I32, 0)))
	case ir.Max:
		return kernel.L(lowest(t))
	case ir.Min:
		return kernel.L(highest(t))
	}
	panic("lower: unknown reduction")
}

func reduceOp(kind ir.ReduceKind) op.Op {
	return [...]op.Op{ir.Sum: op.Add, ir.Max: op.Max, ir.Min: op.Min}[kind]
}

// wanted says which passes the group's kernel goes through: GPUs have 32-bit
// integers only, and the compilers of processors see a 64-bit index as the address
// that it becomes.
func (n *nest) wanted() kernel.Asked {
	if n.opts.Target != GPU {
		return kernel.Asked{}
	}
	a := kernel.Asked{GPU: true, Indexing: n.set.Is(schedule.Indexing), Known: n.opts.Sized, Arguments: kernel.Ranges{}}
	if n.opts.Sized {
		a.Arguments = n.ranges()
	}
	return a
}

// ranges returns what is known of the kernel's arguments: the sizes, and how many rounds there may be.
func (e *env) ranges() kernel.Ranges {
	known := kernel.Ranges{}
	for param, v := range e.sizes {
		n := e.bound.Params[param]
		known[v] = kernel.Interval{Lo: n, Hi: n}
	}
	if e.rounds != nil {
		known[e.rounds] = kernel.Interval{Lo: 1, Hi: kernel.MostRounds}
	}
	return known
}
