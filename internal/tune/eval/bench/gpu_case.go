package bench

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
)

// load compiles the case's source, with its grids' type replaced and another
// declaration added to it.
func (c gpuCase) load(declaration string) (*ir.Program, error) {
	text, err := files.ReadFile("cases/" + c.name + ".loom")
	if err != nil {
		return nil, err
	}
	source := strings.NewReplacer("double", c.dtype, "float", c.dtype).Replace(string(text)) + declaration + "\n"
	src := diag.NewSource(c.name+".loom", source)
	p, list := lang.Load(src)
	if list.HasErrors() {
		return nil, errors.New(diag.Render(src, list, diag.Style{}))
	}
	return p.In(arith.Contract), nil
}

// bind gives a program the case's sizes, or those that set names.
func (c gpuCase) bind(p *ir.Program, set map[string]string) (*ir.Binding, error) {
	full := map[string]string{}
	for i, q := range p.Params {
		full[q.Name] = strconv.FormatInt(c.sizes[i], 10)
	}
	for name, value := range set {
		if _, ok := full[name]; ok { // cases have unlike sizes
			full[name] = value
		}
	}
	return bindTo(p, full)
}

// sized gives a program sizes by axis.
func sized(p *ir.Program, sizes []int64) (*ir.Binding, error) {
	set := map[string]string{}
	for i, q := range p.Params {
		set[q.Name] = strconv.FormatInt(sizes[i], 10)
	}
	return bindTo(p, set)
}

func bindTo(p *ir.Program, set map[string]string) (*ir.Binding, error) {
	bound, list := p.Bind(set)
	if list.HasErrors() {
		return nil, errors.New(list[0].Message)
	}
	return bound, nil
}

// output returns the first grid that the program writes.
func output(p *ir.Program) *ir.Grid { return outputs(p)[0] }

// outputs returns the grids that the program's one call writes.
func outputs(p *ir.Program) []*ir.Grid {
	var list []*ir.Grid
	for _, a := range p.Calls[0].Arrays {
		if a.Written && !a.Local {
			list = append(list, a.Grid)
		}
	}
	if len(list) == 0 {
		panic("bench: a case that writes nothing")
	}
	return list
}

func gridCells(b *ir.Binding, g *ir.Grid) int64 {
	n := int64(1)
	for _, k := range b.Shape(g.Dims) {
		n *= int64(k)
	}
	return n
}

// gridsOnGPU is a bound program with its memory on the GPU.
type gridsOnGPU struct {
	dev     *cuda.Device
	bound   *ir.Binding
	layouts map[*ir.Grid]rows
	grids   map[*ir.Grid]*cuda.Buffer
	cells   map[*ir.Scalar]*cuda.Buffer // of reduced scalars
}

// rows is how a grid's rows of n elements lie: pitch elements apart, lead
// elements after the start of the memory.
type rows struct{ count, n, pitch, lead int64 }

// layout returns where a grid's rows lie for a module.
func layout(bound *ir.Binding, g *ir.Grid, layouts map[*ir.Grid]kernel.Layout) rows {
	r := rows{count: 1, n: 1}
	if shape := bound.Shape(g.Dims); len(shape) > 0 {
		r.n = int64(shape[len(shape)-1])
		r.count = gridCells(bound, g) / max(1, r.n)
	}
	r.pitch = r.n
	if l, ok := layouts[g]; ok {
		align := max(1, l.Align)
		r.pitch, r.lead = (r.n+align-1)/align*align, l.Lead
	}
	return r
}

// bytes returns the memory that the rows take.
func (r rows) bytes(g *ir.Grid) int64 { return (r.lead + r.count*r.pitch) * int64(g.Type.Size()) }

// place allocates memory for the grids, as a module wants them to lie.
func (b *gpuContext) place(bound *ir.Binding, layouts map[*ir.Grid]kernel.Layout) (*gridsOnGPU, error) {
	p := &gridsOnGPU{b.dev, bound, map[*ir.Grid]rows{}, map[*ir.Grid]*cuda.Buffer{}, map[*ir.Scalar]*cuda.Buffer{}}
	for _, g := range bound.Program.Grids {
		p.layouts[g] = layout(bound, g, layouts)
		buf, err := b.dev.Alloc(p.layouts[g].bytes(g))
		if err != nil {
			return nil, errors.Join(err, p.free())
		}
		p.grids[g] = buf.(*cuda.Buffer)
	}
	for _, s := range bound.Program.Scalars {
		if !s.Reduced {
			continue
		}
		buf, err := b.dev.Alloc(8)
		if err != nil {
			return nil, errors.Join(err, p.free())
		}
		p.cells[s] = buf.(*cuda.Buffer)
	}
	return p, nil
}

func (p *gridsOnGPU) free() error {
	return freeAll(slices.Concat(slices.Collect(maps.Values(p.grids)), slices.Collect(maps.Values(p.cells))))
}

func freeAll(list []*cuda.Buffer) error {
	var first error
	for _, b := range list {
		if err := b.Free(); first == nil {
			first = err
		}
	}
	return first
}

// fill gives every grid random values, on the GPU.
func (p *gridsOnGPU) fill(b *gpuContext) error {
	for i, g := range p.bound.Program.Grids {
		r := p.layouts[g]
		if err := b.runTool("fill_"+g.Type.String(), r.count*r.n, []*cuda.Buffer{p.grids[g]},
			int64s(r.count, r.n, r.pitch, r.lead, int64(i+1))...); err != nil {
			return err
		}
	}
	return p.dev.Sync()
}

// write fills a grid with cells that lie dense in host memory, and read fetches
// them.
func (p *gridsOnGPU) write(g *ir.Grid, data []byte) error {
	return p.rowwise(g, data, p.grids[g].Write)
}
func (p *gridsOnGPU) read(g *ir.Grid, data []byte) error { return p.rowwise(g, data, p.grids[g].Read) }

func (p *gridsOnGPU) rowwise(g *ir.Grid, data []byte, f func(int64, []byte) error) error {
	r, size := p.layouts[g], int64(g.Type.Size())
	if r.pitch == r.n {
		return f(r.lead*size, data)
	}
	for row := range r.count {
		if err := f((r.lead+row*r.pitch)*size, data[row*r.n*size:(row+1)*r.n*size]); err != nil {
			return err
		}
	}
	return nil
}

// copyTo copies a grid's cells to dense memory on the GPU.
func (p *gridsOnGPU) copyTo(g *ir.Grid, to *cuda.Buffer) error {
	if r := p.layouts[g]; r.pitch != r.n || r.lead != 0 {
		return fmt.Errorf("the plain kernels pad the rows of %s", g.Name)
	}
	return to.CopyFrom(p.grids[g])
}

func int64s(list ...int64) []op.Value {
	var out []op.Value
	for _, v := range list {
		out = append(out, op.Int(types.I64, v))
	}
	return out
}

// poison fills the grids that are written, and the reduced scalars, with what
// no kernel computes.
func (p *gridsOnGPU) poison() error {
	for _, g := range outputs(p.bound.Program) {
		if err := p.grids[g].Fill(poison); err != nil {
			return err
		}
	}
	for _, b := range p.cells {
		if err := b.Fill(poison); err != nil {
			return err
		}
	}
	return nil
}

// poison makes a NaN of every floating-point type.
const poison = 0xFF

// callLaunches are the launches of the program's one call.
type callLaunches struct {
	list    []gpuLaunch
	scratch []*cuda.Buffer
}

type gpuLaunch struct {
	kernel *kernel.Kernel
	device.PreparedLaunch
	shared int64 // bytes of a block that the launch asks for
}

func (c *callLaunches) free() error { return freeAll(c.scratch) }

// launch runs the whole call.
func (c *callLaunches) launch() error {
	for _, l := range c.list {
		if err := l.Launch(); err != nil {
			return err
		}
	}
	return nil
}

// launchesOf returns a module's launches for the program's one call: those of the span that has it, if there is one.
func launchesOf(m *kernel.Module, call *ir.Call) ([]*kernel.Launch, error) {
	switch {
	case len(m.Spans) == 0:
		return m.Calls[call], nil
	case len(m.Spans) > 1 || m.Spans[0].Depth != 1 || len(m.Spans[0].Exchanges) > 0:
		return nil, errors.New("the plan has more than one kernel for the step, or one that exchanges grids for spares")
	}
	return slices.Concat(m.Spans[0].Prepare, m.Spans[0].Launches), nil
}

// bind prepares a module's launches on the program's memory.
func (p *gridsOnGPU) bind(m *kernel.Module, lib *cuda.Library) (*callLaunches, error) {
	out := &callLaunches{}
	scratch := map[*kernel.Scratch]*cuda.Buffer{}
	for _, s := range m.Scratch {
		env := map[*kernel.Var]op.Value{}
		for i, v := range s.Sizes {
			env[v] = op.Int(v.Type, p.bound.Params[s.Params[i]])
		}
		buf, err := p.dev.Alloc(kernel.Eval(s.Cells, env).I * int64(s.Elem.Size()))
		if err != nil {
			return nil, errors.Join(err, out.free())
		}
		scratch[s] = buf.(*cuda.Buffer)
		out.scratch = append(out.scratch, scratch[s])
	}
	list, err := launchesOf(m, p.bound.Program.Calls[0])
	if err != nil {
		return nil, errors.Join(err, out.free())
	}
	for _, l := range list {
		c, shared, err := p.prepare(l, lib, scratch)
		if err != nil {
			return nil, errors.Join(err, out.free())
		}
		out.list = append(out.list, gpuLaunch{l.Kernel, c, shared})
	}
	return out, nil
}

func (p *gridsOnGPU) prepare(l *kernel.Launch, lib *cuda.Library,
	scratch map[*kernel.Scratch]*cuda.Buffer) (device.PreparedLaunch, int64, error) {
	var args []device.Arg
	var bufs []*cuda.Buffer
	env := map[*kernel.Var]op.Value{}
	for i, a := range l.Args {
		var buf *cuda.Buffer
		var v op.Value
		switch a := a.(type) {
		case kernel.GridArg:
			buf = p.grids[a.Grid]
		case kernel.ScratchArg:
			buf = scratch[a.Scratch]
		case kernel.CellArg:
			buf = p.cells[a.Scalar]
		case kernel.ScalarArg:
			v = p.bound.Scalar(a.Scalar)
		case kernel.SizeArg:
			v = op.Int(types.I64, p.bound.Params[a.Param])
		case kernel.StepArg:
			v = op.Int(types.I32, 0)
		default:
			panic(fmt.Sprintf("bench: an argument of type %T", a))
		}
		if i < len(l.Kernel.Buffers) {
			bufs = append(bufs, buf)
			continue
		}
		value := &device.Value{}
		value.Set(v)
		args = append(args, value)
		env[l.Kernel.Scalars[i-len(l.Kernel.Buffers)]] = v
	}
	g, err := kernel.LaunchGeometry(l.Kernel, env)
	if err != nil {
		return nil, 0, err
	}
	var buffers []device.Arg
	for i, buf := range bufs {
		buffers = append(buffers, device.Argument(l.Kernel.Buffers[i], &device.Slot{Buffer: buf}, env))
	}
	args = append(buffers, args...)
	c, err := lib.PrepareGrid(l.Kernel.Name, g, args)
	return c, g.Shared, err
}
