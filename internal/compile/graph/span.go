package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Span is several iterations of a loop as a graph. Instances are in the order of the
// program; those that no output needs are left out.
type Span struct {
	Loop
	Program   *ir.Program
	Depth     int64
	Axes      []int // that all instances run over, ascending
	Instances []*Instance
	Outputs   []*Output
	// After is how many more iterations have to run before all grids have the contents that
	// the program gives them: what nothing reads before it is computed anew, a span does not
	// store.
	After int64
	// Dropped are the grids that iterations write and the span does not store: they are temporary.
	Dropped []*ir.Grid
	// Final are the contents that grids have after the span. Those that are not among the outputs may be made by
	// instances that are left out.
	Final map[*ir.Grid]*Value
}

// Instance is a statement in an iteration.
type Instance struct {
	Number int
	Call   *ir.Call
	Stmt   *ir.Stmt
	Step   int64  // the iteration, from 0
	Value  *Value // what it makes
	// Inputs are the contents of arrays that its value reads, for each local scalar that is
	// part of it, and under nil for the statement itself. A local scalar reads what arrays
	// held when it was assigned.
	Inputs map[*ir.Temp]map[*ir.Array]*Value
}

// Value is the contents of a grid, or of a local grid, between two assignments.
type Value struct {
	Number int       // that of Def; 0 without
	Memory *ir.Grid  // whose memory it is at home in, by the name that this has when the span begins
	Local  *ir.Array // or the local grid
	// Def computes the cells of its domain; the others are those of Before. Both are nil for
	// what memory holds when the span begins. Before is nil, too, where Def computes all cells,
	// and for the first assignment of a local grid, whose other cells are undefined.
	Def    *Instance
	Before *Value
	over   *Value // what it takes the place of, whether it leaves cells as they were or not
}

// Output is what a span leaves in memory.
type Output struct {
	Value *Value
	// Spare says that blocks may still read the memory when others store, so that a spare
	// takes its place: all cells are stored there, those that no statement computes, too.
	Spare bool
}

// MaxInstances bounds the instances of a span.
const MaxInstances = 4096

// NewSpan returns a number of iterations of a loop as a graph, or the Refusal that says why
// they cannot share a kernel.
func NewSpan(p *ir.Program, l Loop, depth int64) (*Span, error) {
	b := &builder{program: p, span: &Span{Loop: l, Program: p, Depth: depth}, held: map[*ir.Grid]*Value{}}
	if err := b.possible(); err != nil {
		return nil, err
	}
	if depth < 1 || depth > MaxInstances || depth*l.Assignments() > MaxInstances {
		r := b.refuse(l.Iterate.Range,
			"a kernel computes %d statements at most, those of all iterations counted", MaxInstances)
		if most := MaxInstances / max(1, l.Assignments()); most > 1 {
			r.Hint = fmt.Sprintf("at most %d iterations of %s are so many", most, l.Name)
		}
		return nil, r
	}
	if l.Iterate.Sequence && depth > 1 {
		return nil, b.refuse(l.Iterate.Range, "%s is no loop", l.Name)
	}
	for _, g := range p.Grids {
		b.held[g] = &Value{Memory: g}
	}
	for step := range depth {
		if err := b.iteration(step); err != nil {
			return nil, err
		}
	}
	made := len(b.instances)
	final := map[*ir.Grid]*Value{}
	for g, v := range b.held {
		final[g] = v
	}
	// What the iterations after the span do tells which contents they still need.
	horizon := int64(2 * (len(p.Grids) + 1))
	if l.once() {
		horizon = 0
	}
	for step := range min(horizon, 16) {
		if err := b.iteration(depth + step); err != nil {
			return nil, err
		}
	}
	b.span.Final = final
	if err := b.outputs(final, made); err != nil {
		return nil, err
	}
	b.span.keepNeeded(b.instances[:made])
	read := b.span.readMemory()
	for _, o := range b.span.Outputs {
		o.Spare = read[o.Value.Memory] || !o.Value.Uniform()
	}
	return b.span, nil
}

// builder executes a loop's body with values in the place of contents.
type builder struct {
	program   *ir.Program
	span      *Span
	held      map[*ir.Grid]*Value // by the grid's present name
	instances []*Instance
}

func (b *builder) refuse(at diag.Range, format string, args ...any) *Refusal {
	return NewRefusal(b.span.Loop, b.span.Depth, at, format, args...)
}

// possible refuses what no depth can change.
func (b *builder) possible() error {
	it := b.span.Iterate
	if it.Until != nil {
		r := b.refuse(it.Range, "a condition ends the loop, and is checked every %s", every(max(1, it.Check)))
		r.Hint = "iterations between two checks may share a kernel in a loop of their own: " +
			"iterate until (...) { iterate 8 { ... } ... }"
		return r
	}
	axes := -1
	var first *ir.Stmt
	for _, o := range b.span.Body() {
		run, ok := o.(*ir.Run)
		if !ok {
			continue
		}
		for _, st := range run.Call.Body {
			switch {
			case st.Reduce != nil:
				r := b.refuse(st.Range, "%s is reduced in every iteration", st.Reduce.Scalar.Name)
				r.Hint = "iterations between two reductions may share a kernel in a loop of their own: " +
					"iterate ... { iterate 8 { ... } ... }"
				return r
			case st.Temp != nil && st.Color != nil:
				return b.refuse(st.Range, "%s is assigned at the cells of one colour", st.Temp.Name)
			case st.Array == nil:
				continue
			case axes < 0:
				b.span.Axes, axes, first = st.Axes, len(st.Axes), st
			case !slices.Equal(st.Axes, b.span.Axes):
				r := b.refuse(st.Range, "%s is assigned over other axes than %s", st.Array.Name, b.span.axesText())
				r.note(first.Range, "%s is assigned over %s", first.Array.Name, b.span.axesText())
				return r
			}
		}
	}
	if axes < 1 {
		return b.refuse(it.Range, "no grid is assigned over any axis")
	}
	return nil
}

func every(n int64) string {
	if n == 1 {
		return "iteration"
	}
	return fmt.Sprintf("%d iterations", n)
}

func (s *Span) axesText() string {
	var names []string
	for _, a := range s.Axes {
		names = append(names, s.Program.Axes[a])
	}
	return strings.Join(names, ", ")
}

// iteration executes the body once.
func (b *builder) iteration(step int64) error {
	for _, o := range b.span.Body() {
		switch o := o.(type) {
		case *ir.Run:
			if err := b.call(o.Call, step); err != nil {
				return err
			}
		case *ir.Rotate:
			first := b.held[o.Grids[0]]
			for i, g := range o.Grids[:len(o.Grids)-1] {
				b.held[g] = b.held[o.Grids[i+1]]
			}
			b.held[o.Grids[len(o.Grids)-1]] = first
		}
	}
	return nil
}

// call executes a call's statements.
func (b *builder) call(c *ir.Call, step int64) error {
	locals := map[*ir.Array]*Value{}
	now := func(a *ir.Array) *Value {
		if a.Grid != nil {
			return b.held[a.Grid]
		}
		return locals[a]
	}
	temps := map[*ir.Temp]map[*ir.Temp]map[*ir.Array]*Value{}
	for _, st := range c.Body {
		inputs := map[*ir.Temp]map[*ir.Array]*Value{nil: {}}
		var failed error
		ir.Walk(st.Value, func(e ir.Expr) {
			switch e := e.(type) {
			case *ir.Access:
				v := now(e.Array)
				if v == nil {
					failed = b.refuse(st.Range, "%s is read before it is assigned", e.Array.Name)
					return
				}
				inputs[nil][e.Array] = v
				if err := b.affine(st, e, v); err != nil {
					failed = err
				}
			case ir.TempRef:
				for t, in := range temps[e.Temp] {
					if t == nil {
						t = e.Temp
					}
					inputs[t] = in
				}
			}
		})
		if failed != nil {
			return failed
		}
		if st.Temp != nil {
			temps[st.Temp] = inputs
			continue
		}
		i := &Instance{Number: len(b.instances), Call: c, Stmt: st, Step: step, Inputs: inputs}
		i.Value = &Value{Number: i.Number, Def: i, over: now(st.Array)}
		if i.partial() {
			i.Value.Before = i.Value.over
		}
		b.instances = append(b.instances, i)
		if st.Array.Grid == nil {
			i.Value.Local = st.Array
			locals[st.Array] = i.Value
			continue
		}
		i.Value.Memory = b.held[st.Array.Grid].Memory
		b.held[st.Array.Grid] = i.Value
	}
	return nil
}

// affine refuses a read of what the span computes at a place that does not move with the
// cell: a block would need cells from anywhere.
func (b *builder) affine(st *ir.Stmt, a *ir.Access, v *Value) error {
	if v.Def == nil && !b.assigned(v.Memory) {
		return nil
	}
	for d, ix := range a.Index {
		if dim := a.Array.Dims[d]; ix.Axis < 0 || ix.Axis != dim.Axis {
			r := b.refuse(st.Range, "%s is read at one place along a dimension, and the loop changes it",
				a.Array.Name)
			for _, w := range b.assigning(v) {
				if w != st {
					r.note(w.Range, "the loop changes it here")
				}
			}
			r.Hint = "all cells need what the iteration before leaves there; such a loop has kernels of one iteration"
			return r
		}
	}
	return nil
}

// assigned reports whether the loop writes to a grid, or to one that it changes places with.
func (b *builder) assigned(g *ir.Grid) bool {
	if g == nil {
		return true
	}
	for _, o := range b.span.Body() {
		switch o := o.(type) {
		case *ir.Run:
			for _, st := range o.Call.Body {
				if st.Array != nil && st.Array.Grid == g {
					return true
				}
			}
		case *ir.Rotate:
			if slices.Contains(o.Grids, g) {
				return true
			}
		}
	}
	return false
}

// assigning returns the statements of the loop that make contents like a value: of its local grid, or of the grids
// that its memory serves in turn.
func (b *builder) assigning(v *Value) []*ir.Stmt {
	grids := map[*ir.Grid]bool{v.Memory: v.Memory != nil}
	for range b.span.Body() { // as often as a rotation may add to them
		for _, o := range b.span.Body() {
			r, ok := o.(*ir.Rotate)
			if !ok || !slices.ContainsFunc(r.Grids, func(g *ir.Grid) bool { return grids[g] }) {
				continue
			}
			for _, g := range r.Grids {
				grids[g] = true
			}
		}
	}
	var list []*ir.Stmt
	for _, o := range b.span.Body() {
		run, ok := o.(*ir.Run)
		if !ok {
			continue
		}
		for _, st := range run.Call.Body {
			switch {
			case st.Array == nil:
			case st.Array.Grid == nil && st.Array == v.Local, grids[st.Array.Grid]:
				list = append(list, st)
			}
		}
	}
	return list
}

// readMemory returns the grids that instances read as they were before the span.
func (s *Span) readMemory() map[*ir.Grid]bool {
	read := map[*ir.Grid]bool{}
	for _, i := range s.Instances {
		for _, in := range i.Inputs {
			for _, v := range in {
				if v.Def == nil {
					read[v.Memory] = true
				}
			}
		}
	}
	return read
}

// outputs decides which contents are stored.
func (b *builder) outputs(final map[*ir.Grid]*Value, made int) error {
	s := b.span
	temporary := s.Temporary()
	for _, g := range b.program.Grids {
		v := final[g]
		if v.Def == nil {
			continue
		}
		if slices.Contains(temporary, g) {
			s.Dropped = append(s.Dropped, g)
			continue
		}
		if s.once() {
			s.Outputs = append(s.Outputs, &Output{Value: v})
			continue
		}
		overwritten, live := b.fate(v, made)
		if !live {
			s.After = max(s.After, overwritten-s.Depth+1)
			continue
		}
		s.Outputs = append(s.Outputs, &Output{Value: v})
	}
	if len(s.Outputs) == 0 {
		if s.once() {
			return b.refuse(s.Iterate.Range, "nothing reads what they compute")
		}
		return b.refuse(s.Iterate.Range, "the next iteration reads nothing of what they compute")
	}
	return nil
}

// fate says what becomes of contents after the span: whether anything reads cells that the
// span has computed, or else in which iteration all of them are overwritten.
func (b *builder) fate(v *Value, made int) (overwritten int64, live bool) {
	of := map[*Value]bool{v: true} // these hold cells of v
	for _, i := range b.instances[made:] {
		for _, in := range i.Inputs {
			for _, r := range in {
				if of[r] {
					return 0, true
				}
			}
		}
		if !of[i.Value.over] {
			continue
		}
		if covers(i, v) {
			return i.Step, false
		}
		of[i.Value] = true
	}
	return 0, true
}

// covers reports whether an instance overwrites all cells of a value that a span computes.
func covers(i *Instance, v *Value) bool {
	if i.Stmt.Color != nil {
		return false
	}
	for w := v; w.Def != nil; w = w.over {
		if !i.Stmt.Domain.Equal(w.Def.Stmt.Domain) {
			return false
		}
	}
	return true
}

// Uniform reports whether all assignments that a value is made of have one domain, and no
// colour: then no cell that is stored is read in memory where a statement leaves it out.
func (v *Value) Uniform() bool {
	for w := v; w.Def != nil; w = w.over {
		if w.Def.Stmt.Color != nil || !w.Def.Stmt.Domain.Equal(v.Def.Stmt.Domain) {
			return false
		}
	}
	return true
}

// Fills reports whether there may be cells of the array that the statement leaves as they
// were, so that they are those of Before.
func (i *Instance) Fills() bool { return i.Value.Before != nil && i.partial() }

// partial reports whether the statement may leave out cells of its array.
func (i *Instance) partial() bool {
	if i.Stmt.Color != nil {
		return true
	}
	for d, dim := range i.Stmt.Array.Dims {
		if !i.Stmt.Domain[dim.Axis].Equal(i.Stmt.Array.Holds(d)) {
			return true
		}
	}
	return false
}

// keepNeeded keeps the instances that outputs are made of.
func (s *Span) keepNeeded(all []*Instance) {
	needed := map[*Value]bool{}
	var need func(v *Value)
	need = func(v *Value) {
		if v == nil || needed[v] {
			return
		}
		needed[v] = true
		need(v.Before)
		if v.Def == nil {
			return
		}
		for _, in := range v.Def.Inputs {
			for _, w := range in {
				need(w)
			}
		}
	}
	for _, o := range s.Outputs {
		need(o.Value)
	}
	for _, i := range all {
		if needed[i.Value] {
			i.Number, i.Value.Number = len(s.Instances), len(s.Instances)
			s.Instances = append(s.Instances, i)
		}
	}
}

// Dims returns the dimensions of the grid, or local grid, whose contents the value is.
func (v *Value) Dims() []ir.Dim {
	if v.Local != nil {
		return v.Local.Dims
	}
	return v.Memory.Dims
}

// Type returns the type of the cells.
func (v *Value) Type() types.Type {
	if v.Local != nil {
		return v.Local.Type
	}
	return v.Memory.Type
}

// Name returns the name of the grid, or local grid, that the value is at home in.
func (v *Value) Name() string {
	if v.Local != nil {
		return v.Local.Name
	}
	return v.Memory.Name
}
