package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// openRequest says which case to open.
type openRequest struct {
	Ordinal int
	Case    string
	DType   string
	Set     map[string]string
}

// openReply describes a case on its GPU.
type openReply struct {
	Device, Driver, Compiler string
	Arch                     int
	Grid                     string
	Points, Bytes            float64 // bytes a point that a step cannot do without
	Cells                    int64   // of the plain kernels, compared with the reference
	// Plain are the plain kernels' launches, in order.
	Plain []string
}

// caseRunner checks and times plans of a case on a GPU.
type caseRunner struct {
	gpuContext
	c       spatialCase
	bound   *ir.Binding
	sets    map[string]*gridsOnGPU // by layout
	want    map[*ir.Grid]*cuda.Buffer
	scalars map[*ir.Scalar]op.Value
	bad     *cuda.Buffer // what the comparison finds
	kept    map[string]*contender
	ran     []string // the plain kernels' launches
	copies  [2]*cuda.Buffer
}

// open opens a case on an open GPU: grids hold random values, and plain kernels compute the expected results. The
// plain kernels are compared with the reference executor on small grids before.
func open(ctx context.Context, dev *cuda.Device, o openRequest) (*caseRunner, openReply, error) {
	s := &caseRunner{
		gpuContext: gpuContext{ctx: ctx, dev: dev}, sets: map[string]*gridsOnGPU{}, want: map[*ir.Grid]*cuda.Buffer{},
		scalars: map[*ir.Scalar]op.Value{}, kept: map[string]*contender{},
	}
	var info openReply
	list := findSpatial(o.Case, o.DType)
	if len(list) != 1 {
		return nil, info, fmt.Errorf("bench spatial: there is no case %s in %s", o.Case, o.DType)
	}
	s.c = list[0]
	p, err := s.c.program()
	if err != nil {
		return nil, info, err
	}
	if s.bound, err = s.c.bind(p, o.Set); err != nil {
		return nil, info, err
	}
	if err := s.fits(); err != nil {
		return nil, info, err
	}
	if err := s.start(); err != nil {
		return nil, info, err
	}
	info = openReply{
		Device: dev.GPU.Name, Driver: dev.GPU.Driver, Compiler: "NVRTC " + s.compiler.Version, Arch: dev.GPU.Arch(),
		Grid: gridText(s.bound, output(p)), Points: points(s.bound), Bytes: s.c.usefulBytes(s.bound),
	}
	if s.bad, err = s.alloc(3 * 8 * compareThreads); err != nil {
		return nil, info, err
	}
	if info.Cells, err = s.plain(); err != nil {
		return nil, info, err
	}
	info.Plain = s.ran
	return s, info, nil
}

func (b *gpuContext) alloc(bytes int64) (*cuda.Buffer, error) {
	buf, err := b.dev.Alloc(bytes)
	if err != nil {
		return nil, err
	}
	return buf.(*cuda.Buffer), nil
}

// random returns memory with random values: zeros might be copied faster.
func (b *gpuContext) random(bytes int64) (*cuda.Buffer, error) {
	buf, err := b.alloc(bytes)
	if err != nil {
		return nil, err
	}
	n := bytes / 4
	return buf, b.runTool("fill_f32", n, []*cuda.Buffer{buf}, int64s(1, n, n, 0, 1)...)
}

// fits refuses sizes that the GPU has no memory for: the grids, the results to
// compare with, two grids for the copies, and a value a cell for partial
// results of reductions.
func (s *caseRunner) fits() error {
	free, _, err := s.dev.Memory()
	if err != nil {
		return err
	}
	need := s.bound.Bytes() + s.copyBytes()*2
	for _, g := range outputs(s.bound.Program) {
		need += gridCells(s.bound, g) * int64(g.Type.Size())
	}
	if len(s.reduced()) > 0 {
		need += 8 * int64(points(s.bound))
	}
	if need > free {
		return fmt.Errorf("the GPU has %s of free memory, and this needs %s: choose smaller sizes", memory.Size(free),
			memory.Size(need))
	}
	return nil
}

func (s *caseRunner) reduced() []*ir.Scalar {
	var list []*ir.Scalar
	for _, q := range s.bound.Program.Scalars {
		if q.Reduced {
			list = append(list, q)
		}
	}
	return list
}

// set returns the grids in the layout that a module wants.
func (s *caseRunner) set(m *kernel.Module) (*gridsOnGPU, error) {
	var key strings.Builder
	for _, g := range s.bound.Program.Grids {
		r := layout(s.bound, g, m.Layouts)
		fmt.Fprintf(&key, "%d+%d;", r.lead, r.pitch)
	}
	if p, ok := s.sets[key.String()]; ok {
		return p, nil
	}
	p, err := s.place(s.bound, m.Layouts)
	if err != nil {
		return nil, err
	}
	s.sets[key.String()] = p
	return p, nil
}

// modules lowers the program with a plan, for some sizes.
func modules(bound *ir.Binding, text string, a arith.Mode) (*kernel.Module, string, error) {
	plan, err := schedule.ParsePlan(text)
	if err != nil {
		return nil, "", err
	}
	bound = bound.In(a)
	o := lower.Options{Target: lower.GPU, Plan: plan, Bound: bound, Sized: true, AnyIntegers: true}
	m, err := lower.Program(bound.Program, o)
	if err != nil {
		return nil, "", err
	}
	full, err := lower.Plan(bound.Program, o)
	return m, full.String(), err
}

// plainPlan is the plan of the kernels that others are compared with: one
// thread a cell.
var plainPlan = "family=" + lower.Plain(lower.GPU)

// tinySizes are those at which the plain kernels are compared with the
// reference executor: primes, so that no block divides them.
var tinySizes = map[int][]int64{2: {41, 67}, 3: {19, 23, 37}}

// plain computes what a step makes of the grids. It returns
// the number of cells compared with the reference.
func (s *caseRunner) plain() (int64, error) {
	p := s.bound.Program
	cells := int64(0)
	for _, a := range []arith.Mode{arith.Strict, arith.Contract} {
		e, err := expect(p.In(a), tinySizes[len(s.c.sizes)])
		if err != nil {
			return cells, err
		}
		m, _, err := modules(e.bound, plainPlan, a)
		if err != nil {
			return cells, err
		}
		s.note(m)
		lib, _, err := s.load(emit.Source(emit.CUDA, m), a)
		if err != nil {
			return cells, err
		}
		n, err := s.compare(e, m, lib)
		if err = errors.Join(err, lib.Close()); err != nil {
			return cells, err
		}
		cells += n
	}
	var err error
	for _, g := range outputs(p) {
		if s.want[g], err = s.alloc(gridCells(s.bound, g) * int64(g.Type.Size())); err != nil {
			return cells, err
		}
	}
	return cells, s.expectLarge(arith.Contract)
}

// note keeps the names of what a step of plain kernels launches.
func (s *caseRunner) note(m *kernel.Module) {
	for _, l := range m.Calls[m.Program.Calls[0]] {
		s.ran = append(s.ran, l.Kernel.Name)
	}
}

// step fills the grids, poisons what is written, and runs one step.
func (s *caseRunner) step(p *gridsOnGPU, m *kernel.Module, lib *cuda.Library) error {
	launches, err := p.bind(m, lib)
	if err != nil {
		return err
	}
	err = s.run(p, launches)
	return errors.Join(err, launches.free())
}

func (s *caseRunner) run(p *gridsOnGPU, launches *callLaunches) error {
	fill := func() error { return p.fill(&s.gpuContext) }
	for _, f := range []func() error{fill, p.poison, launches.launch, s.dev.Sync} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
