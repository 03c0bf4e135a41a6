package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Phase is a part of a step. What is read decides the phase from which on it is there.
type Phase uint8

// The phases of a step, in order.
const (
	Exchanged Phase = iota // after the barrier: rows of other threads are there
	Computed               // row by row: new values of the cell itself are there
	Finished               // after all rows: so are those of its neighbours in the warp
)

var phaseNames = [...]string{"exchanged", "computed", "finished"}

// String returns the phase in a word.
func (p Phase) String() string { return phaseNames[p] }

// Time is a phase of the step in which a stage computes a plane, or of a step before.
type Time struct {
	Before int64 // steps
	Phase
}

// Last is when a stage's values have to be there.
var Last = Time{0, Computed}

// always is the time of what depends on no source.
var always = Time{1 << 40, Exchanged}

// Compare orders times: negative if t is earlier.
func (t Time) Compare(u Time) int {
	return cmp.Or(cmp.Compare(u.Before, t.Before), cmp.Compare(t.Phase, u.Phase))
}

// steps returns over how many steps a value waits: who computes it for a later plane may
// not overwrite it before that.
func (t Time) steps(by Time) int64 {
	n := t.Before - by.Before
	if t.Phase < by.Phase {
		n++
	}
	return n
}

// Part is an operation of what a stage assigns that is computed before the others, because
// all that it reads is there. Its value takes the place of two or more in registers.
type Part struct {
	Of ir.Expr
	In *ir.Temp // the local scalar that it belongs to; nil for the statement itself
	At Time
	// From is set where the part is nothing but the thread's own cell, as a source had it Age steps before. All parts
	// of a source share registers then: one for each plane, for any number of readers.
	From *Source
	Age  int64
}

// Came is how many steps before the stage's own the plane came that the part is a cell of.
func (p Part) Came() int64 { return p.At.Before + p.Age }

// Parts says how the threads of one row compute a stage: which parts come early, and what
// they keep for that.
type Parts struct {
	Stage *Stage
	List  []Part // earliest first
	// Oldest is how old planes are that threads read, in steps since they came.
	Oldest int64
	// Carried is over how many steps a part waits at most.
	Carried int64
	// Keeper is the part which, at cells that the stage leaves as they were, holds what they
	// were: it has a register there that nothing else needs. It is -1 if there is none.
	Keeper int
	// Held says that the keeper finds it in the registers of an earlier stage, and not in memory.
	Held bool
	// Operands are the grids of memory of which each cell is read for itself alone, by name.
	Operands []Operand
}

// Operand is a grid of memory that a stage reads at its own cell alone, so that threads need no
// neighbours of theirs. It says when: so many steps before the stage's own, first and last.
type Operand struct {
	Value       *graph.Value
	First, Last int64
}

// Operand returns the operand that is a value, or nil.
func (p *Parts) Operand(v *graph.Value) *Operand {
	for i := range p.Operands {
		if p.Operands[i].Value == v {
			return &p.Operands[i]
		}
	}
	return nil
}

// operand notes that one is read some steps before the stage's own.
func (p *Parts) operand(v *graph.Value, before int64) {
	x := p.Operand(v)
	if x == nil {
		p.Operands = append(p.Operands, Operand{v, before, before})
		slices.SortFunc(p.Operands, func(a, b Operand) int { return cmp.Compare(a.Value.Name(), b.Value.Name()) })
		return
	}
	x.First, x.Last = max(x.First, before), min(x.Last, before)
}

// row is a row of a thread: how many rows of it come before and after.
type row struct{ before, after int64 }

// Parts decides in which parts a stage is computed, at a row of a thread that has some rows
// before and some after it (Rawat et al. 2019, section III-A: retiming, here over several
// statements). Sums in the order of planes are then kept as one value for each plane to come.
func (s *Stream) Parts(st *Stage, before, after int64) Parts {
	t := &timing{stream: s, stage: st, row: row{before, after}, ready: map[node]ready{}, seen: map[visit]bool{}}
	t.out.Stage = st
	t.place(node{st.Stmt.Value, nil}, Last)
	slices.SortStableFunc(t.out.List, func(a, b Part) int { return a.At.Compare(b.At) })
	t.keep()
	return t.out
}

// keep chooses the keeper: the last part before the stage's step, so that memory has time.
func (t *timing) keep() {
	t.out.Keeper = -1
	if !t.stage.Fills() {
		return
	}
	for n, q := range slices.Backward(t.out.List) {
		if q.At.Before < 1 || q.Of.Type() != t.stage.Stmt.Array.Type {
			continue
		}
		if t.out.Keeper = n; q.From != nil { // it would need registers of its own
			for m := n - 1; m >= 0 && t.out.List[m].At.Before == q.At.Before; m-- {
				if of := t.out.List[m]; of.From == nil && of.Of.Type() == q.Of.Type() {
					t.out.Keeper, q = m, of
					break
				}
			}
		}
		t.out.Carried = max(t.out.Carried, q.At.steps(Last))
		if before := t.stream.Source(t.stage.Value.Before); before != nil {
			age := t.stream.Age(t.stage, before, 0) - q.At.Before
			there := age > 0 || age == 0 && q.At.Phase != Exchanged
			if t.out.Held = there && age <= max(t.out.Oldest, 1); t.out.Held {
				t.out.Oldest = max(t.out.Oldest, age)
			}
		}
		return
	}
}

// node is an operation where it stands; the same scalar may be read in several places.
type node struct {
	e  ir.Expr
	in *ir.Temp
}

// ready is when the operands of a node are there, and whether they are several values.
type ready struct {
	at      Time
	only    string // the one cell that is read; empty for none
	several bool
	foreign bool // a row of another thread is read
}

type visit struct {
	node
	by Time
}

type timing struct {
	stream *Stream
	stage  *Stage
	row    row
	ready  map[node]ready
	seen   map[visit]bool
	out    Parts
}

// children returns the operands of a node: for a local scalar, what it is.
func (t *timing) children(n node) []node {
	if ref, ok := n.e.(ir.TempRef); ok {
		for _, st := range t.stage.Call.Body {
			if st.Temp == ref.Temp {
				return []node{{st.Value, ref.Temp}}
			}
		}
		panic("pipeline: a local scalar without a statement")
	}
	var list []node
	for _, c := range ir.Children(n.e) {
		list = append(list, node{c, n.in})
	}
	return list
}

// when returns the time from which on a node can be computed.
func (t *timing) when(n node) ready {
	if r, ok := t.ready[n]; ok {
		return r
	}
	r := ready{at: always}
	if a, ok := n.e.(*ir.Access); ok {
		v := t.stage.Inputs[n.in][a.Array]
		if from := t.stream.From(a, v); from != nil {
			t.stream.Offsets(a, func(o []int64, _ []Face) {
				if at := t.arrives(from, o); at.Compare(r.at) > 0 {
					r.at = at
				}
				r.foreign = r.foreign || t.foreign(o)
			})
		}
		r.only = fmt.Sprintf("%p%v", v, a.Index)
	}
	for _, c := range t.children(n) {
		sub := t.when(c)
		if sub.at.Compare(r.at) > 0 {
			r.at = sub.at
		}
		r.several = r.several || sub.several || r.only != "" && sub.only != "" && r.only != sub.only
		r.only, r.foreign = cmp.Or(r.only, sub.only), r.foreign || sub.foreign
	}
	t.ready[n] = r
	return r
}

// arrives is the time from which on a source's value at an offset is there.
func (t *timing) arrives(from *Source, o []int64) Time {
	age := t.stream.Age(t.stage, from, o[0])
	switch {
	case t.foreign(o):
		return Time{age - 1, Exchanged}
	case age == 0 || !slices.ContainsFunc(o[1:], func(o int64) bool { return o != 0 }):
		return Time{age, Computed}
	}
	return Time{age, Finished}
}

// foreign reports whether an offset leads to a row of another thread.
func (t *timing) foreign(o []int64) bool {
	return len(o) == 3 && (-o[1] > t.row.before || o[1] > t.row.after)
}

// place makes parts of a node and what is below, given when its value is needed.
func (t *timing) place(n node, by Time) {
	if t.seen[visit{n, by}] {
		return
	}
	t.seen[visit{n, by}] = true
	if at := t.early(n, by); at != by {
		t.out.Carried = max(t.out.Carried, at.steps(by))
		if part := t.part(n, at); !slices.Contains(t.out.List, part) {
			t.out.List = append(t.out.List, part)
		}
		by = at
	}
	if a, ok := n.e.(*ir.Access); ok {
		t.read(a, n.in, by)
	}
	for _, c := range t.children(n) {
		t.place(c, by)
	}
}

// part is a node that is computed at a time.
func (t *timing) part(n node, at Time) Part {
	part := Part{Of: n.e, In: n.in, At: at}
	a, ok := n.e.(*ir.Access)
	if !ok {
		return part
	}
	from := t.stream.From(a, t.stage.Inputs[n.in][a.Array])
	if from == nil || slices.ContainsFunc(a.Index[1:], func(ix ir.Index) bool { return ix.Offset != 0 }) ||
		len(Mapped(a, 0)) > 1 {
		return part
	}
	part.From, part.Age = from, t.stream.Age(t.stage, from, a.Index[0].Offset)-at.Before
	return part
}

// early returns when a node is computed that is needed by a time: then, or before.
func (t *timing) early(n node, by Time) Time {
	r := t.when(n)
	_, scalar := n.e.(ir.TempRef)
	switch {
	case r.at == always || scalar || r.at.Compare(by) >= 0:
		return by
	case r.several: // one value takes the place of some
		return r.at
	case r.at.Before-by.Before > 1: // else a plane of the source would be kept for long
		if r.foreign {
			return Time{r.at.Before - 1, Exchanged}
		}
		return Time{r.at.Before - 1, Computed}
	case r.foreign && by.Phase == Finished: // others may have new rows there by then
		return Time{by.Before, Exchanged}
	}
	return by
}

// read notes how old a plane is when it is read, or when a cell of memory is.
func (t *timing) read(a *ir.Access, in *ir.Temp, by Time) {
	v := t.stage.Inputs[in][a.Array]
	if t.stream.Operand(a, v) {
		t.out.operand(v, by.Before)
		return
	}
	if from := t.stream.From(a, v); from != nil {
		t.stream.Offsets(a, func(o []int64, _ []Face) {
			t.out.Oldest = max(t.out.Oldest, t.stream.Age(t.stage, from, o[0])-by.Before)
		})
	}
}

// Before returns the number of the part that an operation is, if it is one that comes before a time; else -1.
func (p *Parts) Before(e ir.Expr, in *ir.Temp, time Time) int {
	return slices.IndexFunc(p.List, func(q Part) bool {
		return q.Of == e && q.In == in && q.At.Compare(time) < 0
	})
}

// Shares returns the first of the parts whose registers a part has. It is the part itself if it is not a cell of a
// source, and if it is the keeper, whose registers have other values at some cells.
func (p *Parts) Shares(n int) int {
	if p.List[n].From == nil || n == p.Keeper {
		return n
	}
	for m, q := range p.List {
		if q.From == p.List[n].From && q.Age == p.List[n].Age && m != p.Keeper {
			return m
		}
	}
	return n
}

// Text returns the parts, one a line, with the steps and the phase in which each comes.
//
// Example text:
//
//	-1 computed: 0.1*u[k-1][j][i] + 0.4*u[k][j][i]
//	0 computed: next
//	-1 to 0: cells of prev
func (p *Parts) Text(program *ir.Program) string {
	var b strings.Builder
	for n, q := range p.List {
		fmt.Fprintf(&b, "%d %s: %s", -q.At.Before, q.At.Phase, program.InfixExpr(q.Of))
		switch {
		case n == p.Keeper && p.Held:
			b.WriteString(", or what an earlier stage has")
		case n == p.Keeper:
			b.WriteString(", or what memory has")
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%d %s: %s\n", Last.Before, Last.Phase, p.Stage.Stmt.Array.Name)
	for _, x := range p.Operands {
		fmt.Fprintf(&b, "%d to %d: cells of %s\n", -x.First, -x.Last, x.Value.Name())
	}
	return b.String()
}

// Turns is how many steps a loop over the stream is unrolled by at the least, so that the planes
// and the parts stay in their registers.
func (p *Parts) Turns() int64 { return max(1, p.Oldest+1, p.Carried) }

// Lead is how many steps before the stage's own the first part comes.
func (p *Parts) Lead() int64 {
	if len(p.List) == 0 {
		return 0
	}
	return p.List[0].At.Before
}
