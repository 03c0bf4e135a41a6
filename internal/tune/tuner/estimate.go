package tuner

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/refusal"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// estimator predicts the relative time of a GPU kernel from its configuration alone, and whether it seems to
// need more resources than there are. An estimate takes microseconds. It is rough: it orders a search and
// excludes nothing. A configuration that it puts off is tried when there is nothing better. Its measure of
// registers is fitted to a sample of configurations that are lowered.
type estimator struct {
	gpu      *machine.GPU
	units    float64 // multiprocessors
	axes     []string
	extent   []int64
	low      []int64 // halo by axis, both sides together
	size     float64 // bytes of the widest cells
	around   float64 // arrays that are read at several offsets
	arrays   float64 // all
	bytes    float64 // a point needs
	pressure float64 // registers of the sample over the raw measure
}

// newEstimator returns nil if the device is not a GPU whose machine is known.
func newEstimator(st *stage) *estimator {
	if st.about.Shared || st.about.Target != lower.GPU || st.about.Machine == nil || st.about.Machine.GPU == nil {
		return nil
	}
	p := st.subject.bound.Program
	f := analysis.Analyze(p, st.subject.bound).Stage(st.stage)
	e := &estimator{
		gpu: st.about.Machine.GPU, units: float64(max(1, st.about.Machine.Units)), axes: p.Axes,
		extent: make([]int64, len(p.Axes)), low: make([]int64, len(p.Axes)), bytes: st.bytes, pressure: 1,
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
		shape := st.subject.bound.Shape(g.Dims)
		for d := range shape {
			axis := len(p.Axes) - len(shape) + d
			if axis >= 0 {
				e.extent[axis] = max(e.extent[axis], int64(shape[d]))
			}
		}
	}
	return e
}

// kernelShape is the shape of the kernel that a configuration describes.
type kernelShape struct {
	threads float64 // of a block
	cells   float64 // of a thread, in a plane
	planes  float64 // that a thread computes at a time
	row     float64 // threads side by side on the inner axis
	vec     float64
	tile    []int64 // cells of a block by axis; 0 is all
	plane   float64 // cells that a block reads for one array, of a plane or all
	shared  float64 // bytes of a block
	held    float64 // planes in registers
	stream  int     // axis; -1 if there is none
}

func get(c schedule.Config, name string, otherwise int64) int64 {
	if v, ok := c.Get(name); ok && v.IsNumber() {
		n := int64(1)
		for _, k := range v.Ints() {
			n *= k
		}
		return n
	}
	return otherwise
}

// shape derives the shape of a kernel.
func (e *estimator) shape(c schedule.Config) kernelShape {
	f := kernelShape{stream: -1, tile: make([]int64, len(e.axes)), planes: float64(get(c, "planes", 1)), vec: float64(get(c, "vec", 1))}
	var spread []int
	along, _ := c.Get("stream")
	for i, name := range e.axes {
		f.tile[i] = 1
		if c.Has("stream") && along.String() == name {
			f.stream = i
			f.tile[i] = get(c, "chunk", 0)
			continue
		}
		spread = append(spread, i)
	}
	times := func(name string, skip int) {
		v, ok := c.Get(name)
		if !ok || !v.IsNumber() {
			return
		}
		n := v.Ints()
		for i := 1; i <= min(len(n), len(spread)-skip); i++ {
			f.tile[spread[len(spread)-skip-i]] *= n[len(n)-i]
		}
	}
	times("block", 0)
	times("repeat", 0)
	times("rows", 1)
	f.tile[len(f.tile)-1] *= int64(f.vec)
	f.threads = float64(get(c, "block", 256))
	if v, ok := c.Get("block"); ok && v.IsNumber() {
		f.row = float64(v.Ints()[len(v.Ints())-1])
	}
	f.cells = f.vec * float64(get(c, "rows", 1)*get(c, "repeat", 1))
	f.plane = 1
	for _, i := range spread {
		f.plane *= float64(f.tile[i] + e.low[i])
	}
	e.memory(c, &f)
	return f
}

// memory derives what a block holds in shared memory and in registers.
func (e *estimator) memory(c schedule.Config, f *kernelShape) {
	steps, ahead := float64(get(c, "shared", 0)), float64(get(c, "ahead", 0))
	deep := 1.0
	f.held = ahead + 1
	if f.stream >= 0 {
		deep = f.planes*(steps+2) + ahead
		if v, ok := c.Get("fetch"); ok && v.String() != "async" {
			deep -= f.planes
		}
		if v, ok := c.Get("stage"); ok && v.String() == "halos" {
			deep = f.planes * (steps + 2)
			f.held += float64(e.low[f.stream])
		}
		if steps == 0 {
			f.held += float64(e.low[f.stream])
		}
	}
	if steps > 0 {
		f.shared = e.size * f.plane * deep * e.around
	}
}

// registers is the raw measure of the registers that a thread needs.
func (e *estimator) registers(f kernelShape) float64 {
	words := max(1, e.size/4)
	return 24 + e.pressure*words*f.cells*(f.planes+f.held)*math.Sqrt(e.arrays)
}

// beyond is the factor over a thread's registers from which a configuration is put off: it is sure to spill,
// even with the measure's error.
const beyond = lower.Spilling * 1.5

// estimate returns a relative time; false if the configuration should be put off.
func (e *estimator) estimate(c schedule.Config) (float64, bool) {
	f := e.shape(c)
	regs := e.registers(f)
	soon := f.threads <= float64(e.gpu.ThreadsPerBlock) && f.shared <= float64(e.gpu.SharedPerBlock) && regs <= beyond*float64(e.gpu.RegistersPerThread)
	spilt := max(1, regs/float64(e.gpu.RegistersPerThread))
	regs = min(regs, float64(e.gpu.RegistersPerThread))
	blocks := math.Floor(min(float64(e.gpu.BlocksPerUnit), float64(e.gpu.ThreadsPerUnit)/f.threads, float64(e.gpu.Registers)/(regs*f.threads)))
	if f.shared > 0 {
		blocks = min(blocks, math.Floor(float64(e.gpu.SharedPerUnit)/(f.shared+1024)))
	}
	blocks = max(1, blocks)
	return e.halo(f) * spilt / (e.width(f) * e.flight(f, blocks) * e.waves(f, blocks)), soon
}

// halo is the factor by which a block reads more than its own cells. Most of the halo comes from caches.
func (e *estimator) halo(f kernelShape) float64 {
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
func (e *estimator) width(f kernelShape) float64 {
	part := min(1, 0.7+0.3*math.Log2(max(1, f.vec*e.size/4))/2)
	return part * min(1, 0.4+0.6*f.row*f.vec*e.size/128)
}

// flight is the part of the bandwidth that the bytes in flight reach: some 40 KB on each multiprocessor hide
// the memory's latency.
func (e *estimator) flight(f kernelShape, blocks float64) float64 {
	const needed = 40 << 10
	return min(1, 0.2+0.8*blocks*f.threads*f.cells*e.bytes/2/needed)
}

// waves is the part of the time in which all multiprocessors have blocks.
func (e *estimator) waves(f kernelShape, blocks float64) float64 {
	n := 1.0
	for i, t := range f.tile {
		if t > 0 && e.extent[i] > 0 {
			n *= math.Ceil(float64(e.extent[i]) / float64(t))
		}
	}
	w := n / (blocks * e.units)
	return w / math.Ceil(w)
}

// sampled is the size of the sample that the measure of registers is fitted to. It is smaller for large
// bodies, which take long to lower.
func sampled(st *stage) int {
	const most, least, statements = 32, 8, 640
	return max(least, min(most, statements/max(1, len(st.stage.Body))))
}

// fit lowers a sample of the space, the same each time, and fits the measure of registers to its texts.
func (e *estimator) fit(st *stage, with func(schedule.Config) schedule.Plan, space schedule.Space) {
	configs := space.Sample(rand.New(rand.NewPCG(1, 1)), sampled(st))
	ratios := make([]float64, len(configs))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				ratios[i] = e.ratio(st, with(configs[i]), configs[i])
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

// ratio returns the registers that a configuration's text needs over the raw measure; 0 if not known.
func (e *estimator) ratio(st *stage, plan schedule.Plan, c schedule.Config) float64 {
	raw := e.registers(e.shape(c)) - 24
	need, ok := st.needs(plan)
	if !ok || raw <= 0 {
		return 0
	}
	return max(0, need-24) / raw
}

// needs returns the registers that the kernels of a stage need by their text.
func (st *stage) needs(plan schedule.Plan) (float64, bool) {
	v, err := st.lowered(st.bound, plan)
	if err != nil && refusal.Of(err) != refusal.Resources || v == nil {
		return 0, false
	}
	return v.registers, true
}

// estimates returns the estimate that strategies may use; nil if there is none.
func (k *kernelSearch) estimates() func(search.Point) (float64, bool) {
	e := newEstimator(k.stage)
	if e == nil {
		return nil
	}
	e.fit(k.stage, k.with, k.space.Schedule())
	return func(p search.Point) (float64, bool) {
		c, err := k.space.Config(p)
		if err != nil {
			return 0, false
		}
		return e.estimate(c)
	}
}
