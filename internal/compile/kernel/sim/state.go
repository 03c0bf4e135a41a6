package sim

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// State is a lowered program in execution on the simulator: one device's
// memory, with a launch after the other.
type State struct {
	module   *kernel.Module
	bound    *ir.Binding // its Scalars are the present values
	opts     Options
	programs map[*kernel.Kernel]*Program
	grids    map[*ir.Grid]*Memory
	cells    map[*ir.Scalar]*Memory
	scratch  map[*kernel.Scratch]*Memory
	spares   map[*kernel.Spare]*Memory
	spans    map[*kernel.Span]int64 // how often each was carried out
	prepared *kernel.Span           // the one that was carried out last; nil if something else was
	rounds   int64                  // of the span that is being carried out
	reports  map[*kernel.Kernel]*Report
	err      error
}

// NewState makes the memory of a module's program: grids hold what data gives
// them, in the machine's byte order, or zeros. Data is not changed. Every
// kernel has to verify.
func NewState(m *kernel.Module, b *ir.Binding, data map[*ir.Grid][]byte, opts Options) (*State, error) {
	live := *b
	live.Scalars = slices.Clone(b.Scalars)
	s := &State{
		module: m, bound: &live, opts: opts,
		programs: map[*kernel.Kernel]*Program{},
		grids:    map[*ir.Grid]*Memory{},
		cells:    map[*ir.Scalar]*Memory{},
		scratch:  map[*kernel.Scratch]*Memory{},
		spares:   map[*kernel.Spare]*Memory{},
		spans:    map[*kernel.Span]int64{},
		reports:  map[*kernel.Kernel]*Report{},
	}
	for _, k := range m.Kernels {
		p, err := Compile(k)
		if err != nil {
			return nil, err
		}
		s.programs[k] = p
	}
	for _, g := range m.Program.Grids {
		s.grids[g] = View(g.Type, s.spread(g, data[g]))
	}
	for i, x := range m.Program.Scalars {
		if x.Reduced {
			s.cells[x] = Values(x.Type, live.Scalars[i])
		}
	}
	for _, sc := range m.Scratch {
		env := map[*kernel.Var]op.Value{}
		for i, v := range sc.Sizes {
			env[v] = op.Int(v.Type, b.Params[sc.Params[i]])
		}
		s.scratch[sc] = New(sc.Elem, int(kernel.Eval(sc.Cells, env).I))
	}
	return s, nil
}

// rows returns how many rows a grid has, their length, and how they lie.
func (s *State) rows(g *ir.Grid) (rows, length int64, l kernel.Layout) {
	rows, length = 1, 1
	for _, extent := range s.bound.Shape(g.Dims) {
		rows *= length
		length = int64(extent)
	}
	l, ok := s.module.Layouts[g]
	if !ok {
		l = kernel.Layout{Align: 1}
	}
	return rows, length, l
}

// spread lays out a grid's cells, zeros where there are no data. What lies
// between the rows is no number that a program computes.
func (s *State) spread(g *ir.Grid, data []byte) []byte {
	rows, length, l := s.rows(g)
	size := int64(g.Type.Size())
	own := allocate(int(l.Cells(rows, length) * size))
	for i := range own {
		own[i] = 0xff
	}
	for r := range rows {
		at := (l.Lead + r*l.Pitch(length)) * size
		row := own[at : at+length*size]
		clear(row)
		if data != nil {
			copy(row, data[r*length*size:])
		}
	}
	return own
}

// Grid returns a grid's cells without what its layout has between them, as
// rotations have left them: a copy, if there is anything.
func (s *State) Grid(g *ir.Grid) *Memory {
	rows, length, l := s.rows(g)
	m := s.grids[g]
	if l.Cells(rows, length) == rows*length {
		return m
	}
	dense := New(g.Type, int(rows*length))
	for r := range rows {
		for i := range length {
			dense.Set(int(r*length+i), m.At(int(l.Lead+r*l.Pitch(length)+i)))
		}
	}
	return dense
}

// Scalar returns the present value of a scalar.
func (s *State) Scalar(x *ir.Scalar) op.Value {
	if c, ok := s.cells[x]; ok {
		return c.At(0)
	}
	return s.bound.Scalar(x)
}

// Initialise runs the initial block, but for the kernels that write to grids
// which have been given their contents.
func (s *State) Initialise(given map[*ir.Grid]bool) error {
	call := s.module.Program.Initial
	if call == nil {
		return nil
	}
	return s.call(call, 0, given)
}

// Run executes the program's body. The first fault ends it.
func (s *State) Run() error {
	var c ir.Cursor
	for s.err == nil {
		if s.span(&c) {
			continue
		}
		leaf, ok := c.Next(s.module.Program.Body, s.evaluate)
		if !ok {
			break
		}
		s.prepared = nil
		switch o := leaf.Op.(type) {
		case *ir.Run:
			s.err = s.call(o.Call, leaf.Step, nil)
		case *ir.Rotate:
			s.rotate(o)
		default:
			panic(fmt.Sprintf("sim: %T is no leaf", o))
		}
	}
	return s.err
}

func (s *State) rotate(o *ir.Rotate) {
	first := s.grids[o.Grids[0]]
	for i, g := range o.Grids[1:] {
		s.grids[o.Grids[i]] = s.grids[g]
	}
	s.grids[o.Grids[len(o.Grids)-1]] = first
}

// span carries out the longest span that fits where the cursor stands, if there is one.
func (s *State) span(c *ir.Cursor) bool {
	if len(s.module.Spans) == 0 {
		return false
	}
	body := s.module.Program.Body
	it, left, step := c.Room(body, s.evaluate)
	for _, span := range s.module.Spans {
		if span.Iterate != it || span.Short(s.bound.Params) != nil {
			continue
		}
		if s.rounds = span.Rounds(left); s.rounds == 0 {
			continue
		}
		for _, x := range span.Spares() {
			s.spares[x] = s.unwritten(x.Like)
		}
		kept := span.Kept()
		if s.prepared != span { // as if no other span had the same to prepare
			s.forgetScratch(span.Prepare, nil)
			if s.err = s.launches(span.Prepare, step, nil); s.err != nil {
				s.err = fmt.Errorf("what %d iterations together need: %w", span.Depth, s.err)
				return true
			}
		}
		s.prepared = span
		s.forgetScratch(span.Launches, kept)
		if s.err = s.launches(span.Launches, step, nil); s.err != nil {
			s.err = fmt.Errorf("%d iterations together: %w", s.rounds*span.Depth, s.err)
			return true
		}
		for range s.rounds * span.Depth {
			for _, o := range it.Body {
				if r, ok := o.(*ir.Rotate); ok {
					s.rotate(r)
				}
			}
		}
		for _, x := range span.Exchanges {
			s.grids[x.Grid], s.spares[x.Spare] = s.spares[x.Spare], s.grids[x.Grid]
		}
		c.Skip(body, s.rounds*span.Depth)
		s.spans[span]++
		return true
	}
	return false
}

// unwritten returns memory like a grid's, in which nothing is written to the cells.
// Vectors may read what lies between rows.
func (s *State) unwritten(g *ir.Grid) *Memory {
	rows, length, l := s.rows(g)
	m := New(g.Type, int(l.Cells(rows, length)))
	between := func(from, to int64) {
		for i := from; i < to; i++ {
			m.Set(int(i), poison(g.Type))
		}
	}
	end := int64(0)
	for r := range rows {
		at := l.Lead + r*l.Pitch(length)
		between(end, at)
		end = at + length
	}
	between(end, int64(m.Len()))
	return m
}

// Spans returns how many spans have been carried out.
func (s *State) Spans() int64 {
	n := int64(0)
	for _, times := range s.spans {
		n += times
	}
	return n
}

// Carried returns how often a span has been carried out.
func (s *State) Carried(span *kernel.Span) int64 { return s.spans[span] }

// Report returns what the last launch of a kernel did; nil if there was none.
func (s *State) Report(k *kernel.Kernel) *Report { return s.reports[k] }

func (s *State) evaluate(e ir.Expr, step int64) op.Value {
	for i, x := range s.module.Program.Scalars {
		s.bound.Scalars[i] = s.Scalar(x)
	}
	return s.bound.Eval(e, step)
}

// call runs a call's launches. Scratch does not survive it.
func (s *State) call(call *ir.Call, step int64, given map[*ir.Grid]bool) error {
	s.forgetScratch(s.module.Calls[call], nil)
	if err := s.launches(s.module.Calls[call], step, given); err != nil {
		return fmt.Errorf("call %s: %w", call.Name, err)
	}
	return nil
}

// forgetScratch makes the scratch of launches undefined, which does not survive others, but for what is kept.
func (s *State) forgetScratch(list []*kernel.Launch, kept []*kernel.Scratch) {
	for _, l := range list {
		for _, a := range l.Args {
			if sc, ok := a.(kernel.ScratchArg); ok && !slices.Contains(kept, sc.Scratch) {
				s.scratch[sc.Scratch].forget()
			}
		}
	}
}

// launches runs launches, but for those that write to given grids.
func (s *State) launches(list []*kernel.Launch, step int64, given map[*ir.Grid]bool) error {
	for _, l := range list {
		if s.writes(l, given) {
			continue
		}
		args, err := s.args(l, step)
		if err != nil {
			return err
		}
		r, err := s.programs[l.Kernel].Run(args, s.opts)
		if err == nil {
			s.reports[l.Kernel] = r
			err = r.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writes reports whether a launch writes to one of some grids.
func (s *State) writes(l *kernel.Launch, grids map[*ir.Grid]bool) bool {
	for i, b := range l.Kernel.Buffers {
		if g, ok := l.Args[i].(kernel.GridArg); ok && b.Mode != kernel.In && grids[g.Grid] {
			return true
		}
	}
	return false
}

// args binds a launch's arguments.
func (s *State) args(l *kernel.Launch, step int64) (Args, error) {
	var out Args
	for _, a := range l.Args {
		switch a := a.(type) {
		case kernel.GridArg:
			out.Buffers = append(out.Buffers, s.grids[a.Grid])
		case kernel.ScratchArg:
			out.Buffers = append(out.Buffers, s.scratch[a.Scratch])
		case kernel.SpareArg:
			out.Buffers = append(out.Buffers, s.spares[a.Spare])
		case kernel.CellArg:
			out.Buffers = append(out.Buffers, s.cells[a.Scalar])
		case kernel.ScalarArg:
			out.Scalars = append(out.Scalars, s.bound.Scalar(a.Scalar))
		case kernel.SizeArg:
			out.Scalars = append(out.Scalars, op.Int(types.I64, s.bound.Params[a.Param]))
		case kernel.StepArg:
			out.Scalars = append(out.Scalars, op.Int(types.I32, step))
		case kernel.RoundsArg:
			out.Scalars = append(out.Scalars, op.Int(types.I32, s.rounds))
		default:
			panic(fmt.Sprintf("sim: unknown argument %T", a))
		}
	}
	for i, m := range out.Buffers {
		if m == nil {
			return out, fmt.Errorf("%s: the buffer %s is bound to memory that the program does not have",
				l.Kernel.Name, l.Kernel.Buffers[i].Name)
		}
	}
	return out, nil
}
