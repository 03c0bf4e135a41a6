package analysis

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// LoopFacts is what is known of one level of the program's body: the calls and
// rotations that stand in it directly. Loops inside it have facts of their own,
// after it, with a larger Depth. The top level has facts only if it runs
// something itself.
type LoopFacts struct {
	IR *ir.Iterate `json:"-"` // nil for the top level: for a call that is no part of a sequence

	Kind  string `json:"kind"` // once, iterate or until
	Depth int    `json:"depth"`
	Text  string `json:"text,omitempty"`  // the count, or the condition
	Count *int64 `json:"count,omitempty"` // iterations, where the sizes tell
	Check int64  `json:"check,omitempty"` // an until loop's condition is looked at after so many
	Max   int64  `json:"max,omitempty"`

	Runs    []string   `json:"runs"`    // names of calls
	Rotates [][]string `json:"rotates"` // names of grids; swaps are rotations of two
	// Steps is the number of time steps in an iteration: calls of one stencil
	// that follow each other with the arguments exchanged are several (the
	// greatest common divisor of how often each stencil is called).
	Steps      int64 `json:"steps_per_iteration"`
	Points     int64 `json:"points,omitempty"`      // of the largest call; with sizes
	WorkingSet int64 `json:"working_set,omitempty"` // bytes of all grids that the calls touch; with sizes
	// Ops and Traffic hold for one of those points in one step, every call
	// counting by its share of them and no data kept on chip between calls.
	Ops       Ops       `json:"ops"`
	Single    Ops       `json:"-"`
	Traffic   Traffic   `json:"bytes_per_point"`
	Intensity Intensity `json:"intensity"`
	// Edges are the dependences among Runs, on grids and scalars, rotations
	// followed; those into the next iteration too, unless the top level.
	Edges []Edge `json:"dependences"`
	Bound *Bound `json:"bound,omitempty"`
}

func (f *Facts) loops() {
	f.Loops = []*LoopFacts{}
	if l := f.loop(nil, f.IR.Body, 0); len(l.Runs) > 0 {
		f.Loops = append(f.Loops, l)
	}
	f.nested(f.IR.Body, 0)
}

func (f *Facts) nested(body []ir.Op, depth int) {
	for _, o := range body {
		if it, ok := o.(*ir.Iterate); ok {
			if it.Sequence {
				f.Loops = append(f.Loops, f.loop(it, it.Body, depth))
				continue
			}
			f.Loops = append(f.Loops, f.loop(it, it.Body, depth+1))
			f.nested(it.Body, depth+1)
		}
	}
}

func (f *Facts) loop(it *ir.Iterate, body []ir.Op, depth int) *LoopFacts {
	out := &LoopFacts{IR: it, Kind: "once", Depth: depth, Runs: []string{}, Rotates: [][]string{}, Steps: 1}
	loop := it != nil && !it.Sequence
	switch {
	case !loop:
	case it.Until != nil:
		out.Kind, out.Check, out.Max, out.Text = "until", it.Check, it.Max, f.IR.InfixExpr(it.Until)
	default:
		out.Kind, out.Text = "iterate", f.IR.InfixExpr(it.Count)
		out.Count = f.known(it.Count)
	}
	var calls []*CallFacts
	for _, o := range body {
		switch o := o.(type) {
		case *ir.Run:
			calls = append(calls, f.Call(o.Call))
			out.Runs = append(out.Runs, o.Call.Name)
		case *ir.Rotate:
			var names []string
			for _, g := range o.Grids {
				names = append(names, g.Name)
			}
			out.Rotates = append(out.Rotates, names)
		}
	}
	if loop {
		out.Steps = steps(calls)
	}
	f.sum(out, calls)
	out.Edges = f.runEdges(body, loop)
	return out
}

// known returns the value of a count that nothing computed at run time enters.
func (f *Facts) known(e ir.Expr) *int64 {
	if f.Binding == nil {
		if c, ok := e.(ir.Const); ok {
			return &c.Value.I
		}
		return nil
	}
	ok := true
	ir.Walk(e, func(e ir.Expr) {
		switch e := e.(type) {
		case ir.ScalarRef:
			ok = ok && !e.Scalar.Reduced && !f.Binding.Unset[e.Scalar]
		case ir.StepRef:
			ok = false
		}
	})
	if !ok {
		return nil
	}
	n := f.Binding.Eval(e, 0).I
	return &n
}

func steps(calls []*CallFacts) int64 {
	var names []string
	var counts []int64
	for _, s := range calls {
		i := slices.Index(names, s.IR.Stencil)
		if i < 0 {
			i = len(names)
			names, counts = append(names, s.IR.Stencil), append(counts, 0)
		}
		counts[i]++
	}
	n := int64(0)
	for _, c := range counts {
		n = gcd(c, n)
	}
	return max(1, n)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// sum adds up what the calls of an iteration do, for each point and step.
func (f *Facts) sum(out *LoopFacts, calls []*CallFacts) {
	rank := 0
	out.WorkingSet = f.workingSet(calls)
	for _, s := range calls {
		out.Points = max(out.Points, s.Points)
		rank = max(rank, s.degree)
	}
	for _, s := range calls {
		w := count(s.degree == rank)
		if out.Points > 0 {
			w = float64(s.Points) / float64(out.Points)
		}
		w /= float64(out.Steps)
		out.Ops = out.Ops.plus(s.Ops.times(w))
		out.Single = out.Single.plus(s.Single.times(w))
		out.Traffic = out.Traffic.plus(s.Traffic.times(w))
	}
	out.Intensity = intensity(out.Ops, out.Traffic)
}

// runEdges follows the contents of grids through a body: a rotation moves them
// from grid to grid. For a loop the body is followed twice, so that what the
// first pass does to the second shows.
func (f *Facts) runEdges(body []ir.Op, loop bool) []Edge {
	t := &tracker{f: f, holds: map[*ir.Grid]*content{}, scalars: map[*ir.Scalar]*content{}}
	for _, g := range f.IR.Grids {
		t.holds[g] = &content{}
	}
	for _, s := range f.IR.Scalars {
		t.scalars[s] = &content{}
	}
	t.pass(body, 0)
	if loop {
		t.pass(body, 1)
	}
	return t.edges
}

// tracker knows who last wrote the contents of every grid and scalar, and who
// read them since.
type tracker struct {
	f       *Facts
	holds   map[*ir.Grid]*content
	scalars map[*ir.Scalar]*content
	edges   []Edge
}

type content struct {
	writer  visit
	readers []visit
}

// visit is one execution of a run: its index, and in which pass. The zero value
// is none.
type visit struct{ run, pass int }

func (t *tracker) pass(body []ir.Op, pass int) {
	run := 0
	for _, o := range body {
		switch o := o.(type) {
		case *ir.Rotate:
			first := t.holds[o.Grids[0]]
			for i, g := range o.Grids[:len(o.Grids)-1] {
				t.holds[g] = t.holds[o.Grids[i+1]]
			}
			t.holds[o.Grids[len(o.Grids)-1]] = first
		case *ir.Run:
			t.run(t.f.Call(o.Call), visit{run + 1, pass})
			run++
		}
	}
}

func (t *tracker) run(s *CallFacts, now visit) {
	for _, a := range s.Arrays {
		if a.IR.Grid == nil {
			continue
		}
		t.use(t.holds[a.IR.Grid], a.IR.Grid.Name, a.Role != "output", a.Role != "input",
			offsets(len(t.f.Axes), of(a.IR, s.accesses)), now)
	}
	for _, sc := range t.f.IR.Scalars {
		t.use(t.scalars[sc], sc.Name, s.reads[sc], s.reduces[sc], nil, now)
	}
}

func (t *tracker) use(c *content, name string, reads, writes bool, at [][]int64, now visit) {
	if reads {
		t.edge(flow, name, c.writer, now, at)
		c.readers = append(c.readers, now)
	}
	if !writes {
		return
	}
	for _, r := range c.readers {
		if r != now {
			t.edge(anti, name, r, now, nil)
		}
	}
	if len(c.readers) == 0 {
		t.edge(output, name, c.writer, now, nil)
	}
	c.writer, c.readers = now, nil
}

// edge records a dependence unless it was seen in the first pass already.
func (t *tracker) edge(kind, on string, from, to visit, at [][]int64) {
	if from.run == 0 || from.pass == 1 && to.pass == 1 {
		return
	}
	t.edges = append(t.edges, Edge{From: from.run - 1, To: to.run - 1, Kind: kind, On: on, Offsets: at,
		Carried: from.pass != to.pass})
}
