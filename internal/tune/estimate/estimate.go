// Package estimate predicts the relative time of a GPU kernel from its configuration alone, and whether it seems
// to need more resources than there are. An estimate takes microseconds. It is rough: it orders a search and
// excludes nothing. A configuration that it puts off is tried when there is nothing better.
package estimate

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// Model estimates the configurations of one kernel. It asks what a configuration
// means by the roles of its parameters. Its measure of registers is fitted to a
// sample of configurations that are lowered.
type Model struct {
	gpu      *machine.GPU
	space    schedule.Space
	roles    schedule.FamilyRoles
	units    float64 // multiprocessors
	axes     []string
	extent   []int64
	low      []int64 // halo by axis, both sides together
	size     float64 // bytes of the widest cells
	around   float64 // arrays that are read at several offsets
	arrays   float64 // all
	grids    []grid
	bytes    float64 // a point needs
	pressure float64 // registers of the sample, over the raw measure
	sampled  int     // configurations of a sample
}

// New returns a model of a call's kernel with some space, by the facts of the call; nil where nothing is known of the
// device.
func New(f *analysis.CallFacts, b *ir.Binding, call *ir.Call, m *machine.Machine, space schedule.Space) *Model {
	if m == nil || m.GPU == nil {
		return nil
	}
	p := b.Program
	e := &Model{
		gpu: m.GPU, units: float64(max(1, m.Units)), axes: p.Axes, space: space, roles: space.Roles(),
		extent: make([]int64, len(p.Axes)), low: make([]int64, len(p.Axes)), bytes: f.Traffic.Compulsory, pressure: 1,
		sampled: max(leastSampled, min(mostSampled, sampledStatements/max(1, len(call.Body)))),
	}
	for _, a := range f.Arrays {
		e.arrays++
		e.size = max(e.size, float64(a.IR.Type.Size()))
		if a.Shape.Points > 1 {
			e.around++
		}
	}
	for i, h := range f.Shape.Halo {
		e.low[i] = h.Low + h.High
	}
	for _, g := range p.Grids {
		shape := b.Shape(g.Dims)
		for d := range shape {
			axis := len(p.Axes) - len(shape) + d
			if axis >= 0 {
				e.extent[axis] = max(e.extent[axis], int64(shape[d]))
			}
		}
	}
	e.grids = gridsOf(f, call, e.extent, space)
	return e
}

// kernelShape is the shape of the kernel that a configuration describes.
type kernelShape struct {
	threads float64 // of a block
	// persistent says that blocks share all tiles.
	persistent bool
	cells      float64 // of a thread, in a plane
	row        float64 // threads side by side on the inner axis
	vec        float64
	tile       []int64 // cells of a block by axis; 0 is all
	plane      float64 // cells that a block reads for one array, of a plane or all
	shared     float64 // bytes of a block
	held       float64 // planes in registers
	stream     int     // axis; -1 if there is none
}

// usualThreads are taken for the threads of a block where a configuration does not
// tell.
const usualThreads = 256

// shape derives the shape of a kernel.
func (e *Model) shape(c schedule.Config) kernelShape {
	set := e.roles.Of(c)
	return e.shapeOf(set, set.Shape(e.axes))
}

func (e *Model) shapeOf(set schedule.ByRole, on schedule.Shape) kernelShape {
	f := kernelShape{
		stream: on.Stream, tile: make([]int64, len(e.axes)), plane: 1, cells: 1,
		vec:        float64(set.Int(schedule.Vector, 1)),
		threads:    float64(set.Int(schedule.Threads, usualThreads)),
		persistent: set.Int(schedule.PersistentBlocks, 0) > 0,
	}
	for i, s := range on.On {
		if i == on.Stream {
			f.tile[i] = on.Length
			continue
		}
		f.tile[i] = s.Width()
		f.plane *= float64(f.tile[i] + e.low[i])
	}
	if n := set.Ints(schedule.Threads); n != nil {
		f.row = float64(n[len(n)-1])
	}
	f.cells = f.vec * float64(set.Int(schedule.BlockedUnroll, 1)*set.Int(schedule.CyclicUnroll, 1))
	e.memory(set, on, &f)
	return f
}

// memory derives what a block holds in shared memory and in registers.
func (e *Model) memory(set schedule.ByRole, on schedule.Shape, f *kernelShape) {
	steps, ahead := float64(set.Int(schedule.Staging, 0)), float64(set.Int(schedule.Prefetch, 0))
	deep := 1.0
	f.held = ahead + 1
	if f.stream >= 0 {
		deep = steps + 2 + ahead
		if copies := set.Word(schedule.StagingCopy); copies != "" && copies != schedule.AsyncCopies {
			deep--
		}
		if steps == 0 {
			f.held += float64(e.low[f.stream])
		}
	}
	if steps == 0 {
		return
	}
	switch {
	case len(e.axes) > mostAxes || f.stream >= 0 && set.Word(schedule.Refetch) == "": // of several iterations
		f.shared = e.size * f.plane * deep * e.around
	case f.stream >= 0:
		f.shared = float64(e.planes(set, on))
	default:
		f.shared = float64(e.tiles(set, on))
	}
}

// registers is the raw measure of the registers that a thread needs.
func (e *Model) registers(f kernelShape) float64 {
	words := max(1, e.size/4)
	return base + e.pressure*words*f.cells*(1+f.held)*math.Sqrt(e.arrays)
}

// beyond is the factor over a thread's registers from which a configuration is put off: it is sure to spill,
// even with the measure's error.
const beyond = lower.Spilling * 1.5

// Terms are what an estimate is made of.
type Terms struct {
	Registers float64 // of a thread, that it would like to have
	Shared    float64 // bytes of a block
	Fits      bool    // whether a block has so many
	Blocks    float64 // that a multiprocessor holds at once
	Spilt     float64 // factor of the time for registers that there are not
	Halo      float64 // factor by which a block reads more than its own cells
	Width     float64 // part of the bandwidth that accesses of a thread's width reach
	Flight    float64 // part of the bandwidth that the bytes in flight reach
	Waves     float64 // part of the time in which all multiprocessors have blocks
	Launched  float64 // blocks, over those that there is room for at once
}

// Time is the relative time.
func (t *Terms) Time() float64 { return t.Halo * t.Spilt / (t.Width * t.Flight * t.Waves) }

// Estimate returns a relative time; false if the configuration should be put off.
func (e *Model) Estimate(c schedule.Config) (float64, bool) {
	f := e.shape(c)
	t := e.terms(f)
	soon := f.threads <= float64(e.gpu.ThreadsPerBlock) && t.Fits &&
		t.Registers <= beyond*float64(e.gpu.RegistersPerThread)
	return t.Time(), soon
}

// Terms returns the terms of the estimate of a configuration.
func (e *Model) Terms(c schedule.Config) Terms { return e.terms(e.shape(c)) }

// TermsOf are those of a configuration whose roles and shape are known.
func (e *Model) TermsOf(set schedule.ByRole, on schedule.Shape) Terms {
	return e.terms(e.shapeOf(set, on))
}

func (e *Model) terms(f kernelShape) Terms {
	t := Terms{Registers: e.registers(f), Shared: f.shared, Fits: f.shared <= float64(e.gpu.SharedPerBlock)}
	t.Spilt = max(1, t.Registers/float64(e.gpu.RegistersPerThread))
	regs := min(t.Registers, float64(e.gpu.RegistersPerThread))
	t.Blocks = math.Floor(min(float64(e.gpu.BlocksPerUnit), float64(e.gpu.ThreadsPerUnit)/f.threads,
		float64(e.gpu.Registers)/(regs*f.threads)))
	if f.shared > 0 {
		t.Blocks = min(t.Blocks, math.Floor(float64(e.gpu.SharedPerUnit)/(f.shared+1024)))
	}
	t.Blocks = max(1, t.Blocks)
	t.Halo, t.Width, t.Flight = e.halo(f), e.width(f), e.flight(f, t.Blocks)
	t.Waves, t.Launched = e.waves(f, t.Blocks)
	return t
}

// halo is the factor by which a block reads more than its own cells. Most of the halo comes from caches.
func (e *Model) halo(f kernelShape) float64 {
	own := 1.0
	for i, n := range f.tile {
		if i != f.stream {
			own *= float64(n)
		}
	}
	const missed = 0.3
	more := f.plane/own - 1
	if f.stream >= 0 && f.tile[f.stream] > 0 {
		more += float64(e.low[f.stream]) / float64(f.tile[f.stream])
	}
	return 1 + missed*more*e.around/e.arrays
}

// width is the part of the memory's bandwidth that accesses of a thread's width reach, with rows that are
// not whole cache lines counted.
func (e *Model) width(f kernelShape) float64 {
	part := min(1, 0.7+0.3*math.Log2(max(1, f.vec*e.size/4))/2)
	return part * min(1, 0.4+0.6*f.row*f.vec*e.size/128)
}

// flight is the part of the bandwidth that the bytes in flight reach: some 40 KB on each multiprocessor hide
// the memory's latency.
func (e *Model) flight(f kernelShape, blocks float64) float64 {
	const needed = 40 << 10
	return min(1, 0.2+0.8*blocks*f.threads*f.cells*e.bytes/2/needed)
}

// waves is the part of the time in which all multiprocessors have blocks, and how many times as many blocks there are
// as they hold at once.
func (e *Model) waves(f kernelShape, blocks float64) (part, launched float64) {
	if f.persistent {
		return 1, 1
	}
	n := 1.0
	for i, t := range f.tile {
		if t > 0 && e.extent[i] > 0 {
			n *= math.Ceil(float64(e.extent[i]) / float64(t))
		}
	}
	w := n / (blocks * e.units)
	return w / math.Ceil(w), w
}

// A sample has so many configurations: fewer of large bodies, which take long to
// lower.
const (
	mostSampled       = 32
	leastSampled      = 8
	sampledStatements = 640 // statements that are lowered for a sample, about
)

// Fit fits the measure of registers to what a sample of configurations needs by
// its lowered text; needs returns false where the text does not tell. The sample is
// the same each time.
func (e *Model) Fit(needs func(schedule.Config) (registers float64, ok bool)) {
	configs := e.space.Sample(rand.New(rand.NewPCG(1, 1)), e.sampled)
	ratios := make([]float64, len(configs))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				ratios[i] = e.ratio(configs[i], needs)
			}
		})
	}
	for i := range configs {
		next <- i
	}
	close(next)
	wg.Wait()
	ratios = slices.DeleteFunc(ratios, func(r float64) bool { return r <= 0 })
	if len(ratios) > 0 {
		e.pressure = measure.Median(ratios)
	}
}

// base is the registers of a thread that has no cells.
const base = 24

// ratio compares what a configuration's text needs with the raw measure; 0 if
// the text does not tell.
func (e *Model) ratio(c schedule.Config, needs func(schedule.Config) (float64, bool)) float64 {
	raw := e.registers(e.shape(c)) - base
	need, ok := needs(c)
	if !ok || raw <= 0 {
		return 0
	}
	return max(0, need-base) / raw
}
