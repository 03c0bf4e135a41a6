package exec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// NewScript derives the script of a module for one binding of its program. An
// error is a mistake in the module, not of the user.
func NewScript(m *kernel.Module, b *ir.Binding) (*Script, error) {
	d := newDeriver(m, b)
	var err error
	if d.script.Body, err = d.ops(m.Program.Body); err != nil {
		return nil, err
	}
	if d.spansFound < len(m.Spans) {
		return nil, errors.New("a span is of an iterate that the program does not have")
	}
	if err := d.scratch(); err != nil {
		return nil, err
	}
	d.grids()
	return d.script, d.checkLayouts()
}

func newDeriver(m *kernel.Module, b *ir.Binding) *deriver {
	d := &deriver{
		Module: m, bound: b, script: &Script{}, calls: map[*ir.Call]int{}, kernels: map[*kernel.Kernel]int{},
	}
	d.cells()
	return d
}

type deriver struct {
	*kernel.Module
	bound   *ir.Binding
	script  *Script
	calls   map[*ir.Call]int
	kernels map[*kernel.Kernel]int
	used    [][]*kernel.Scratch // by call
	spares  []*kernel.Spare
	written []bool // by grid, then by spare
	rotated [][]int

	spansFound int // those whose iterates have been met
	idle       []IdleSpan
}

// cells lists the reduced scalars.
func (d *deriver) cells() {
	for _, s := range d.Program.Scalars {
		if s.Reduced {
			d.script.Cells = append(d.script.Cells, Cell{s.Name, s.Type})
		}
	}
	d.written = make([]bool, len(d.Program.Grids))
}

// cell returns the index of a reduced scalar's cell.
func (d *deriver) cell(s *ir.Scalar) (int, bool) {
	i := slices.IndexFunc(d.script.Cells, func(c Cell) bool { return c.Name == s.Name })
	return i, i >= 0
}

func (d *deriver) ops(body []ir.Op) ([]Op, error) {
	var out []Op
	for _, o := range body {
		switch o := o.(type) {
		case *ir.Run:
			call, err := d.call(o.Call)
			if err != nil {
				return nil, err
			}
			out = append(out, Op{Kind: RunOp, Call: call})
		case *ir.Rotate:
			r := Op{Kind: RotateOp}
			for _, g := range o.Grids {
				r.Grids = append(r.Grids, slices.Index(d.Program.Grids, g))
			}
			d.rotated = append(d.rotated, r.Grids)
			out = append(out, r)
		case *ir.Iterate:
			inner, err := d.ops(o.Body)
			if err != nil {
				return nil, err
			}
			it := Op{Kind: IterateOp, Check: o.Check, Max: o.Max, Body: inner, Leafless: leafless(inner),
				Sequence: o.Sequence}
			if o.Count != nil {
				it.Count = formula(d.bound, o.Count, d.cell)
			}
			if o.Until != nil {
				it.Until = formula(d.bound, o.Until, d.cell)
			}
			if err := d.spans(o, &it); err != nil {
				return nil, err
			}
			out = append(out, it)
		default:
			panic(fmt.Sprintf("exec: no op %T", o))
		}
	}
	return out, nil
}

func leafless(body []Op) bool {
	return !slices.ContainsFunc(body, func(o Op) bool { return o.Kind != IterateOp || !o.Leafless })
}

// call translates a call's launches.
func (d *deriver) call(s *ir.Call) (int, error) {
	if i, ok := d.calls[s]; ok {
		return i, nil
	}
	i, err := d.launches(Call{Name: s.Name, Points: points(d.bound, s)}, d.Calls[s])
	d.calls[s] = i
	return i, err
}

// launches adds a call with launches, and returns its index.
func (d *deriver) launches(out Call, list []*kernel.Launch) (int, error) {
	var used []*kernel.Scratch
	for _, l := range list {
		launch, err := d.launch(l, &used)
		if err != nil {
			return 0, fmt.Errorf("call %s: kernel %s: %w", out.Name, l.Kernel.Name, err)
		}
		out.Launches = append(out.Launches, launch)
	}
	d.script.Calls = append(d.script.Calls, out)
	d.used = append(d.used, used)
	return len(d.script.Calls) - 1, nil
}

// points returns the cells of a call's largest domain.
func points(b *ir.Binding, s *ir.Call) int64 {
	most := int64(0)
	for _, st := range s.Body {
		if st.Temp != nil {
			continue
		}
		n := int64(1)
		for _, axis := range st.Axes {
			n *= b.Range(st.Domain[axis]).Len()
		}
		if st.Color != nil {
			n /= st.Color.Mod
		}
		most = max(most, n)
	}
	return most
}

func (d *deriver) launch(l *kernel.Launch, used *[]*kernel.Scratch) (Launch, error) {
	k := l.Kernel
	i, ok := d.kernels[k]
	if !ok {
		i = len(d.script.Kernels)
		d.kernels[k] = i
		d.script.Kernels = append(d.script.Kernels, k.Name)
	}
	out := Launch{Kernel: i, Part: l.Part}
	if len(l.Args) != len(k.Buffers)+len(k.Scalars) {
		return out, fmt.Errorf("%d arguments for %d buffers and %d scalars", len(l.Args), len(k.Buffers),
			len(k.Scalars))
	}
	known := map[*kernel.Var]op.Value{}
	for j, a := range l.Args {
		var arg Arg
		var err error
		if j < len(k.Buffers) {
			arg, err = d.buffer(k.Buffers[j], a, used)
		} else {
			arg, err = d.scalar(k.Scalars[j-len(k.Buffers)], a, known)
		}
		if err != nil {
			return out, err
		}
		out.Args = append(out.Args, arg)
	}
	for j, p := range k.Buffers {
		switch as := device.Argument(p, nil, known).(type) {
		case *device.Image:
			out.Args[j].Texel = as.Texel
		case *device.Tensor:
			out.Args[j].Tensor = as.Map
		case *device.Constant:
			out.Args[j].Constant = as.Parameter
		}
	}
	var err error
	out.Geometry, err = kernel.LaunchGeometry(k, known)
	return out, err
}

// buffer translates the argument of a buffer parameter.
func (d *deriver) buffer(p *kernel.Buffer, a kernel.Arg, used *[]*kernel.Scratch) (Arg, error) {
	var arg Arg
	var elem types.Type
	switch a := a.(type) {
	case kernel.GridArg:
		arg, elem = Arg{Kind: GridArg, Index: slices.Index(d.Program.Grids, a.Grid)}, a.Grid.Type
		if arg.Index >= 0 && p.Mode != kernel.In {
			d.written[arg.Index] = true
		}
	case kernel.SpareArg:
		arg, elem = Arg{Kind: GridArg, Index: d.spare(a.Spare)}, a.Spare.Like.Type
	case kernel.CellArg:
		i, ok := d.cell(a.Scalar)
		if !ok {
			return arg, fmt.Errorf("%s is bound to the scalar %s, which nothing reduces into", p.Name, a.Scalar.Name)
		}
		arg, elem = Arg{Kind: CellArg, Index: i}, a.Scalar.Type
	case kernel.ScratchArg:
		arg, elem = Arg{Kind: ScratchArg, Index: slices.Index(d.Scratch, a.Scratch)}, a.Scratch.Elem
		if !slices.Contains(*used, a.Scratch) {
			*used = append(*used, a.Scratch)
		}
	default:
		return arg, fmt.Errorf("the buffer %s is bound to a %T", p.Name, a)
	}
	if arg.Index < 0 {
		return arg, fmt.Errorf("%s is bound to what the module does not have", p.Name)
	}
	if elem != p.Elem {
		return arg, fmt.Errorf("%s has elements of type %v, and what it is bound to has %v", p.Name, p.Elem, elem)
	}
	return arg, nil
}

// scalar translates the argument of a scalar parameter. A value that stays the
// same is added to known.
func (d *deriver) scalar(p *kernel.Var, a kernel.Arg, known map[*kernel.Var]op.Value) (Arg, error) {
	var v op.Value
	switch a := a.(type) {
	case kernel.ScalarArg:
		if a.Scalar.Reduced {
			return Arg{}, fmt.Errorf("%s is bound to the value of %s, which changes while the program runs", p.Name,
				a.Scalar.Name)
		}
		v = d.bound.Scalar(a.Scalar)
	case kernel.SizeArg:
		v = op.Int(types.I64, d.bound.Params[a.Param])
	case kernel.StepArg:
		if p.Type != types.I32 {
			return Arg{}, fmt.Errorf("%s has type %v, and the step has %v", p.Name, p.Type, types.I32)
		}
		return Arg{Kind: StepArg}, nil
	case kernel.RoundsArg:
		if p.Type != types.I32 {
			return Arg{}, fmt.Errorf("%s has type %v, and the number of rounds has %v", p.Name, p.Type, types.I32)
		}
		return Arg{Kind: RoundsArg}, nil
	default:
		return Arg{}, fmt.Errorf("the scalar %s is bound to a %T", p.Name, a)
	}
	if v.T != p.Type {
		return Arg{}, fmt.Errorf("%s has type %v, and what it is bound to has %v", p.Name, p.Type, v.T)
	}
	known[p] = v
	arg := Arg{Kind: ValueArg}
	device.Encode(arg.Bits[:], v)
	return arg, nil
}

// scratch gives scratch buffers their memory. Contents need not survive a
// call, so calls share it: the largest buffer of each, the second largest,
// and so on.
func (d *deriver) scratch() error {
	bytes := make([]int64, len(d.Scratch))
	for i, s := range d.Scratch {
		env := map[*kernel.Var]op.Value{}
		for j, v := range s.Sizes {
			env[v] = op.Int(v.Type, d.bound.Params[s.Params[j]])
		}
		cells := kernel.Eval(s.Cells, env).I
		if cells < 0 || cells > ir.MaxBytes/int64(s.Elem.Size()) {
			return fmt.Errorf("scratch %s has %d cells", s.Name, cells)
		}
		bytes[i] = max(1, cells) * int64(s.Elem.Size())
	}
	users := map[*kernel.Scratch]int{}
	for _, used := range d.used {
		for _, s := range used {
			users[s]++
		}
	}
	index := make([]int, len(d.Scratch)) // of the memory, by scratch
	for i, s := range d.Scratch {
		if users[s] > 1 {
			index[i] = len(d.script.Scratch)
			d.script.Scratch = append(d.script.Scratch, bytes[i])
		}
	}
	own := len(d.script.Scratch)
	for _, used := range d.used {
		var mine []int
		for _, s := range used {
			if users[s] == 1 {
				mine = append(mine, slices.Index(d.Scratch, s))
			}
		}
		slices.SortStableFunc(mine, func(a, b int) int { return cmp.Compare(bytes[b], bytes[a]) })
		for rank, i := range mine {
			index[i] = own + rank
			if index[i] == len(d.script.Scratch) {
				d.script.Scratch = append(d.script.Scratch, 0)
			}
			d.script.Scratch[index[i]] = max(d.script.Scratch[index[i]], bytes[i])
		}
	}
	for _, call := range d.script.Calls {
		for _, l := range call.Launches {
			for j := range l.Args {
				if l.Args[j].Kind == ScratchArg {
					l.Args[j].Index = index[l.Args[j].Index]
				}
			}
		}
	}
	return nil
}

// grids lays out the shared region: grids, cells, status.
func (d *deriver) grids() {
	d.spread()
	s := d.script
	for i, g := range d.Program.Grids {
		s.Grids = append(s.Grids, d.array(g.Name, g))
		s.Grids[i].ReadOnly = !d.written[i]
	}
	for _, x := range d.spares {
		a := d.array(x.Name, x.Like)
		a.Spare = true
		s.Grids = append(s.Grids, a)
	}
	s.compact(make([][]byte, len(s.Grids)))
}

// array describes memory for a grid.
func (d *deriver) array(name string, g *ir.Grid) Array {
	size := int64(g.Type.Size())
	bytes := size
	for _, n := range d.bound.Shape(g.Dims) {
		bytes *= int64(n)
	}
	return Array{
		Name: name, Bytes: bytes, Rows: rows(d.Layouts[g], g, d.bound.Shape(g.Dims)),
		Phase: (memory.Line - d.FirstCells[g]*size%memory.Line) % memory.Line,
	}
}

// compact leaves those grids out of the region that have memory elsewhere.
func (s *Script) compact(given [][]byte) {
	arrays := make([]memory.Span, len(s.Grids), len(s.Grids)+2)
	for i, g := range s.Grids {
		if given[i] == nil {
			arrays[i] = memory.Span{Bytes: g.Bytes, Phase: g.Phase}
		}
	}
	starts, bytes := memory.Place(append(arrays, memory.Span{Bytes: int64(len(s.Cells)) * cellStride},
		memory.Span{Bytes: statusBytes}))
	for i := range s.Grids {
		s.Grids[i].Start = starts[i]
	}
	s.CellsStart, s.StatusStart, s.SharedBytes = starts[len(s.Grids)], starts[len(s.Grids)+1], bytes
}

// spread marks as written what changes places with something written.
func (d *deriver) spread() {
	for changed := true; changed; {
		changed = false
		for _, grids := range d.rotated {
			some := slices.ContainsFunc(grids, func(g int) bool { return d.written[g] })
			for _, g := range grids {
				if some && !d.written[g] {
					d.written[g], changed = true, true
				}
			}
		}
	}
}

// Needs lists the memory of this machine that a script takes on a device, the
// cpu's private copies of the grids included if there are to be any. Other
// devices have memory of their own, and say themselves when it runs out.
func (s *Script) Needs(device string, private bool) []memory.Need {
	var needs []memory.Need
	for _, g := range s.Grids {
		bytes := g.Bytes
		if device == "cpu" && private {
			bytes *= 2
		}
		needs = append(needs, memory.Need{Name: g.Name, Bytes: bytes})
	}
	scratch := int64(0)
	for _, n := range s.Scratch {
		scratch += n
	}
	if device == "cpu" && scratch > 0 {
		needs = append(needs, memory.Need{Name: "intermediate results", Bytes: scratch})
	}
	return needs
}
