package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// opening says what to measure.
type opening struct {
	Ordinal int
	Case    string
	DType   string
	Set     map[string]string
}

// opened is what is known of a case on its GPU.
type opened struct {
	Device, Driver, Compiler string
	Arch                     int
	Grid                     string
	Points, Bytes            float64 // bytes a point that a step cannot do without
	Cells                    int64   // of the plain kernels, compared with the reference
	// Plain are the plain kernels' launches, in order.
	Plain []string
}

// rule says how to time.
type rule struct {
	Batches int
	Least   time.Duration // of a batch
	// Slow is a time of one step after which a single batch is enough: the
	// contender is out of the race. 0 is never.
	Slow float64
}

// attempt is a plan with its compiled code.
type attempt struct {
	Plan string
	Code []byte
	Rule rule
	Keep bool // for batches to come
}

// trial is what came out of it.
type trial struct {
	Full       string // the whole plan that the text stands for
	Kernels    []string
	Registers  int
	Spills     int // bytes of local memory a thread
	Shared     int // bytes a block
	Cells      int64
	Difference float64   // the largest from the plain kernels
	Times      []float64 // of one step, in seconds
	Launches   int       // in a batch
	Condition  string
}

// site is a case on a GPU.
type site struct {
	bed
	c       spatialCase
	bound   *ir.Binding
	sets    map[string]*placed // by layout
	want    map[*ir.Grid]*cuda.Buffer
	margins map[*ir.Grid]float64 // how far contracted code may be from contracted code
	scalars map[*ir.Scalar]op.Value
	bad     *cuda.Buffer // what the comparison finds
	kept    map[string]*contender
	ran     []string // the plain kernels' launches
	copies  [2]*cuda.Buffer
}

// contender is what batches are timed of.
type contender struct {
	launch func() error
	n      int // launches in a batch
}

// open makes a site of a GPU that is open: the grids hold random values, and
// what a step makes of them is computed by the plainest kernels, which are
// compared with the reference executor on small grids before.
func open(ctx context.Context, dev *cuda.Device, o opening) (*site, opened, error) {
	s := &site{
		bed: bed{ctx: ctx, dev: dev}, sets: map[string]*placed{}, want: map[*ir.Grid]*cuda.Buffer{},
		margins: map[*ir.Grid]float64{}, scalars: map[*ir.Scalar]op.Value{}, kept: map[string]*contender{},
	}
	var info opened
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
	info = opened{
		Device: dev.GPU.Name, Driver: dev.GPU.Driver, Compiler: "NVRTC " + s.compiler.Version, Arch: dev.GPU.Arch(),
		Grid: gridText(s.bound, output(p)), Points: points(s.bound), Bytes: s.c.usefulBytes(p),
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

func (b *bed) alloc(bytes int64) (*cuda.Buffer, error) {
	buf, err := b.dev.Alloc(bytes)
	if err != nil {
		return nil, err
	}
	return buf.(*cuda.Buffer), nil
}

// fits refuses sizes that the GPU has no memory for: the grids, the results to
// compare with, two grids for the copies, and a value a cell for partial
// results of reductions.
func (s *site) fits() error {
	free, _, err := s.dev.Memory()
	if err != nil {
		return err
	}
	need := gridBytes(s.bound) + s.copyBytes()*2
	for _, g := range outputs(s.bound.Program) {
		need += gridCells(s.bound, g) * int64(g.Type.Size())
	}
	if len(s.reduced()) > 0 {
		need += 8 * int64(points(s.bound))
	}
	if need > free {
		return fmt.Errorf("the GPU has %s of free memory, and this needs %s: choose smaller sizes", memory.Size(free), memory.Size(need))
	}
	return nil
}

func (s *site) reduced() []*ir.Scalar {
	var list []*ir.Scalar
	for _, q := range s.bound.Program.Scalars {
		if q.Reduced {
			list = append(list, q)
		}
	}
	return list
}

// set returns the grids in the layout that a module wants.
func (s *site) set(m *kernel.Module) (*placed, error) {
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
func modules(bound *ir.Binding, text string, a toolchain.Arithmetic) (*kernel.Module, string, error) {
	plan, err := schedule.ParsePlan(text)
	if err != nil {
		return nil, "", err
	}
	o := lower.Options{Target: lower.GPU, Strict: a == toolchain.Strict, Plan: plan, Bound: bound, Sized: true}
	m, err := lower.Program(bound.Program, o)
	if err != nil {
		return nil, "", err
	}
	full, err := lower.Plan(bound.Program, o)
	return m, full.String(), err
}

// plainPlan is the plan of the kernels that others are compared with: one
// thread a cell.
const plainPlan = "family=cells"

// tinySizes are those at which the plain kernels are compared with the
// reference executor: primes, so that no block divides them.
var tinySizes = map[int][]int64{2: {41, 67}, 3: {19, 23, 37}}

// plain computes what a step makes of the grids, and the margins. It returns
// the number of cells compared with the reference.
func (s *site) plain() (int64, error) {
	p := s.bound.Program
	e, err := expect(p, tinySizes[len(s.c.sizes)], interp.Contract)
	if err != nil {
		return 0, err
	}
	cells := int64(0)
	for _, a := range []toolchain.Arithmetic{toolchain.Strict, toolchain.Contract} {
		m, _, err := modules(e.bound, plainPlan, a)
		if err != nil {
			return cells, err
		}
		s.note(m)
		lib, _, err := s.load(emit.Source(emit.CUDA, m), a)
		if err != nil {
			return cells, err
		}
		n, err := s.compare(e, m, lib, a)
		if err = errors.Join(err, lib.Close()); err != nil {
			return cells, err
		}
		cells += n
	}
	for _, g := range outputs(p) {
		s.margins[g] = margin(e.state.Grid(g.Name))
	}
	for _, g := range outputs(p) {
		if s.want[g], err = s.alloc(gridCells(s.bound, g) * int64(g.Type.Size())); err != nil {
			return cells, err
		}
	}
	return cells, s.expectLarge(toolchain.Contract)
}

// note keeps the names of what a step of plain kernels launches.
func (s *site) note(m *kernel.Module) {
	for _, l := range m.Stages[m.Program.Stages[0]] {
		s.ran = append(s.ran, l.Kernel.Name)
	}
}

// step fills the grids, poisons what is written, and runs one step.
func (s *site) step(p *placed, m *kernel.Module, lib *cuda.Library) error {
	calls, err := p.bind(m, lib)
	if err != nil {
		return err
	}
	err = s.run(p, calls)
	return errors.Join(err, calls.free())
}

func (s *site) run(p *placed, calls *calls) error {
	for _, f := range []func() error{func() error { return p.fill(&s.bed) }, p.poison, calls.launch, s.dev.Sync} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// scalar reads the result of a reduction.
func (p *placed) scalar(q *ir.Scalar) (op.Value, error) {
	var b [8]byte
	err := p.cells[q].Read(0, b[:])
	return device.Decode(q.Type, b[:]), err
}

// margin is how far two contracted versions of a step may be apart on random
// values: from the bounds that the reference executor has derived on a sample
// of such values, with room for larger ones elsewhere. A cell that an index or
// a weight is wrong for is further off by orders of magnitude.
func margin(a *interp.Array) float64 {
	most := 0.0
	for _, b := range a.Bound {
		if !math.IsInf(b, 0) && !math.IsNaN(b) {
			most = max(most, b)
		}
	}
	return 8 * most
}

// compareThreads are those of the comparison's kernels.
const compareThreads = 65536

// verify compares every cell of what a step has written with what the plain
// kernels make of the same values, and returns the number of cells and the
// largest difference.
func (s *site) verify(p *placed) (int64, float64, error) {
	cells, most := int64(0), 0.0
	for _, g := range outputs(s.bound.Program) {
		r := p.layouts[g]
		values := append(int64s(r.count, r.n, r.pitch, r.lead), op.Float(g.Type, s.margins[g]))
		if err := s.tool("compare_"+g.Type.String(), compareThreads, []*cuda.Buffer{s.bad, p.grids[g], s.want[g]}, values...); err != nil {
			return cells, most, err
		}
		data := make([]byte, s.bad.Bytes())
		if err := s.bad.Read(0, data); err != nil {
			return cells, most, err
		}
		found, apart := view[int64](data), view[float64](data)
		count, first := int64(0), int64(math.MaxInt64)
		for t := range compareThreads {
			count += found[3*t]
			if at := found[3*t+1]; at >= 0 {
				first = min(first, at)
			}
			most = max(most, apart[3*t+2])
		}
		if count > 0 {
			return cells, most, s.wrong(p, g, count, first)
		}
		cells += r.count * r.n
	}
	for _, q := range s.reduced() {
		v, err := p.scalar(q)
		if err != nil {
			return cells, most, err
		}
		// Sums of terms of one sign in any order over rows and trees.
		allowed := 1e-4
		if q.Type == types.F64 {
			allowed = 1e-11
		}
		want := s.scalars[q].AsFloat()
		if !(math.Abs(v.AsFloat()-want) <= allowed*math.Abs(want)) {
			return cells, most, &Mismatch{gridText(s.bound, output(s.bound.Program)), toolchain.Contract.String(), q.Name, v.AsFloat(), want, allowed * math.Abs(want)}
		}
	}
	return cells, most, nil
}

// wrong describes the first of the cells that differ.
func (s *site) wrong(p *placed, g *ir.Grid, count, first int64) error {
	r := p.layouts[g]
	size := int64(g.Type.Size())
	var got, want [8]byte
	if err := errors.Join(
		p.grids[g].Read((r.lead+first/r.n*r.pitch+first%r.n)*size, got[:size]), s.want[g].Read(first*size, want[:size])); err != nil {
		return err
	}
	what := fmt.Sprintf("%s, the first of %d wrong cells,", cellName(g, s.bound.Shape(g.Dims), int(first)), count)
	return &Mismatch{gridText(s.bound, g), toolchain.Contract.String(), what,
		device.Decode(g.Type, got[:]).AsFloat(), device.Decode(g.Type, want[:]).AsFloat(), s.margins[g]}
}

// try checks and times a plan.
func (s *site) try(a attempt) (trial, error) {
	var t trial
	m, full, err := modules(s.bound, a.Plan, toolchain.Contract)
	if err != nil {
		return t, err
	}
	t.Full = full
	lib, err := s.dev.LoadCode(a.Code)
	if err != nil {
		return t, err
	}
	p, err := s.set(m)
	if err != nil {
		return t, errors.Join(err, lib.Close())
	}
	calls, err := p.bind(m, lib)
	if err != nil {
		return t, errors.Join(err, lib.Close())
	}
	err = s.measure(a, &t, p, calls, lib)
	if err == nil && a.Keep {
		s.kept[a.Plan] = &contender{calls.launch, max(1, t.Launches)}
		return t, nil
	}
	return t, errors.Join(err, calls.free(), lib.Close())
}

func (s *site) measure(a attempt, t *trial, p *placed, calls *calls, lib *cuda.Library) error {
	for _, c := range calls.list {
		t.Kernels = append(t.Kernels, c.kernel.Name)
		r, err := lib.Resources(c.kernel.Name)
		if err != nil {
			return err
		}
		t.Registers, t.Spills, t.Shared = max(t.Registers, r.Registers), max(t.Spills, r.Local), max(t.Shared, r.Shared)
	}
	err := s.run(p, calls)
	if err != nil {
		return err
	}
	if t.Cells, t.Difference, err = s.verify(p); err != nil {
		return err
	}
	t.Times, t.Launches, err = s.race(calls.launch, a.Rule)
	if c, ok := s.dev.GPU.Condition(); ok {
		t.Condition = c.String()
	}
	return err
}

// race times the batches that a rule asks for, after one to warm up.
func (s *site) race(f func() error, r rule) ([]float64, int, error) {
	first, err := s.batch(f, 1)
	if err != nil {
		return nil, 0, err
	}
	if r.Slow > 0 && first > 2*r.Slow {
		return []float64{first}, 1, nil
	}
	n := max(1, int(math.Ceil(1.1*r.Least.Seconds()/max(first, 1e-6))))
	var times []float64
	for len(times) < r.Batches {
		took, err := s.batch(f, n)
		if err != nil {
			return nil, 0, err
		}
		if took < r.Least.Seconds() {
			n = max(n+1, int(1.2*float64(n)*r.Least.Seconds()/max(took, 1e-6)))
			times = nil
			continue
		}
		times = append(times, took/float64(n))
		if r.Slow > 0 && times[0] > r.Slow {
			break
		}
	}
	return times, n, nil
}

// The contenders that every site has.
const (
	copyDriver = "copy by the driver"
	copyOne    = "copy, 16 bytes a thread"
	copyFour   = "copy, 64 bytes a thread"
)

// copyBytes is what a copy reads, and writes: half of what a step cannot do
// without, or as much as tells the memory's speed.
func copyBytes(useful float64) int64 {
	const enough = 4 << 30
	return min(enough, int64(useful)/2) / 16 * 16
}

func (s *site) copyBytes() int64 {
	return copyBytes(points(s.bound) * s.c.usefulBytes(s.bound.Program))
}

// contender returns what a batch is to be timed of.
func (s *site) contender(name string, least time.Duration) (*contender, error) {
	if c, ok := s.kept[name]; ok {
		return c, nil
	}
	items := s.copyBytes() / 16
	for i := range s.copies {
		if s.copies[i] != nil {
			continue
		}
		var err error
		if s.copies[i], err = s.alloc(16 * items); err != nil {
			return nil, err
		}
	}
	launch := func() error { return s.copies[0].CopyFrom(s.copies[1]) }
	switch name {
	case copyDriver:
	case copyOne, copyFour:
		kernel, block := "copy_1", int64(toolThreads)
		if name == copyFour {
			kernel, block = "copy_4", 4*toolThreads
		}
		count := &device.Value{}
		count.Set(op.Int(types.I64, items))
		call, err := s.tools.PrepareGrid(kernel, blocksOf(items, block), []device.Arg{&device.Slot{Buffer: s.copies[0]}, &device.Slot{Buffer: s.copies[1]}, count})
		if err != nil {
			return nil, err
		}
		launch = call.Launch
	default:
		return nil, fmt.Errorf("bench spatial: %q is not kept for batches", name)
	}
	_, n, err := s.race(launch, rule{Batches: 1, Least: least})
	s.kept[name] = &contender{launch, n}
	return s.kept[name], err
}

// once times one batch of a contender, and returns the seconds of one step.
func (s *site) once(name string, least time.Duration) (float64, error) {
	c, err := s.contender(name, least)
	if err != nil {
		return 0, err
	}
	for {
		took, err := s.batch(c.launch, c.n)
		if err != nil || took >= least.Seconds() {
			return took / float64(c.n), err
		}
		c.n = max(c.n+1, int(1.2*float64(c.n)*least.Seconds()/max(took, 1e-6)))
	}
}
