package proof

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/compare"
	"github.com/gridloom/gridloom/internal/run/disk"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// DeviceSpanOptions says what to prove of kernels of several iterations on a device.
type DeviceSpanOptions struct {
	Device  string // "cuda:0", "opencl:0"
	Pairs   int    // how many random programs, each with random spans
	Seed    uint64 // of the first one; the others follow
	Cells   int64  // of a grid, about
	Workers int    // pairs that are compiled at a time; 0 for one a processor. The device runs one pair at a time
	// Sanitize is how many pairs compute-sanitizer watches on small grids, from the first on, if it is installed.
	Sanitize int
	Budget   time.Duration
	Log      io.Writer // progress; nil for none
}

// DeviceSpanResult is what was proven of spans on a device.
type DeviceSpanResult struct {
	Device    string      `json:"device"`
	Name      string      `json:"device_name"`
	Pairs     int         `json:"pairs"` // program and plan
	FirstSeed uint64      `json:"first_seed"`
	NextSeed  uint64      `json:"next_seed"`     // where a proof that was stopped goes on
	Refused   int         `json:"pairs_refused"` // because they need more than the device has
	Cells     int64       `json:"cells_compared"`
	Largest   int64       `json:"largest_grid"`   // in cells
	Sanitized int         `json:"sanitized_runs"` // under a tool of compute-sanitizer that found nothing
	Missing   string      `json:"missing,omitempty"`
	Spans     *SpanResult `json:"spans"`
	Failures  []Failure   `json:"failures"`
	Seconds   float64     `json:"seconds"`
	Commit    Names       `json:"commit"`
	versions.Set
}

// DeviceSpans proves kernels of several iterations on a device, at sizes that no simulator can run: random time loops
// run there with random spans and, on plain kernels, iteration by iteration. All cells of all grids have to be equal
// bit for bit. When ctx ends, what was proven so far is the result.
func DeviceSpans(ctx context.Context, o DeviceSpanOptions) (*DeviceSpanResult, error) {
	return (&deviceSpanProver{DeviceSpanOptions: o}).run(ctx)
}

type deviceSpanProver struct {
	DeviceSpanOptions
	place *place
	start time.Time
	spoil func(source string) string // for tests

	checker *sanitizer // nil if none watches
	folder  string     // for sources

	device sync.Mutex // held while a pair runs

	result DeviceSpanResult
}

// devicePair is a program with a plan of plain kernels, and with one of spans.
type devicePair struct {
	*pair
	plain schedule.Plan
	at    sizes
	loops []spanned
}

// devicePairResult is the result of checking a pair.
type devicePairResult struct {
	pair           *devicePair
	cells, largest int64
	refused        bool
	sanitized      int
	failure        *Failure
}

func (p *deviceSpanProver) run(ctx context.Context) (*DeviceSpanResult, error) {
	o := p.DeviceSpanOptions
	p.start = time.Now()
	dir, err := disk.NewFolder("", "gridloom-proof-")
	if err != nil {
		return nil, err
	}
	defer dir.Remove()
	cache, err := toolchain.OpenCache(dir.Path)
	if err != nil {
		return nil, err
	}
	defer cache.Close()
	workers := cmp.Or(p.Workers, runtime.GOMAXPROCS(0))
	if p.place, err = openPlace(o.Device, cache, workers); err != nil {
		return nil, err
	}
	defer p.place.Close()
	p.place.spoil, p.folder = p.spoil, dir.Path
	p.result = DeviceSpanResult{
		Set: versions.Current(), Device: o.Device, Name: p.place.Name, FirstSeed: o.Seed,
		Spans: &SpanResult{}, Failures: []Failure{},
	}
	if p.Sanitize > 0 {
		if p.checker, err = sanitizerOf(o.Device); err != nil {
			p.result.Missing = err.Error()
		}
	}
	proofs := series[*devicePairResult]{o.Seed, o.Pairs, workers, o.Budget, p.prove, p.add}
	p.result.NextSeed = proofs.run(ctx)
	p.result.Seconds = math.Round(time.Since(p.start).Seconds())
	return &p.result, nil
}

// add adds the result of a pair.
func (p *deviceSpanProver) add(_ uint64, v *devicePairResult) {
	r := &p.result
	r.Pairs++
	r.Sanitized += v.sanitized
	switch {
	case v.failure != nil:
		r.Failures = append(r.Failures, *v.failure)
		if p.Log != nil {
			fmt.Fprintln(p.Log, v.failure)
		}
	case v.refused:
		r.Refused++
	default:
		r.Cells += v.cells
		r.Largest = max(r.Largest, v.largest)
		r.Spans.countRun(v.pair.at.bound, v.pair.loops)
		r.Spans.countPlan(v.pair.plan, v.pair.refusals, true)
	}
	if p.Log != nil && r.Pairs%10 == 0 {
		fmt.Fprintf(p.Log, "%d pairs (%d refused), %d cells, %d failures, %v\n", r.Pairs, r.Refused, r.Cells,
			len(r.Failures), time.Since(p.start).Round(time.Second))
	}
}

// prove checks the pair of a seed.
func (p *deviceSpanProver) prove(ctx context.Context, seed uint64) *devicePairResult {
	v := &devicePairResult{}
	d, err := p.draw(seed, p.Cells)
	if err != nil {
		if !exceedsResources(err) && !errors.Is(err, errNoSpan) {
			v.failure = &Failure{Seed: seed, Reason: err.Error()}
		}
		v.refused = true
		return v
	}
	v.pair = d
	reason, err := p.check(ctx, d, v)
	switch {
	case refuses(err):
		v.refused = true
	case err != nil:
		reason = err.Error()
	}
	if reason != "" {
		f := d.failure(d.at.set, reason)
		v.failure = &f
	} else if p.checker != nil && seed < p.Seed+uint64(p.Sanitize) {
		v.sanitized, v.failure = p.watch(ctx, seed)
	}
	return v
}

var errNoSpan = errors.New("the program has no span at these sizes")

// draw makes the pair of a seed, with grids of about so many cells. They become smaller until they fit in the device's
// memory and the kernels on the device: blocks that stay for many iterations have to be there at once.
func (p *deviceSpanProver) draw(seed uint64, cells int64) (*devicePair, error) {
	mode := arith.Strict
	if seed%2 == 1 {
		mode = arith.Contract
	}
	d := &devicePair{
		pair: &pair{
			seed: seed, mode: mode, spans: true, free: true, exactOnly: true,
			opencl: slices.Contains(p.place.Lacks, machine.Shuffle),
		},
		plain: schedule.Plan{Every: schedule.Config{Family: lower.Plain(lower.GPU)}},
	}
	c, err := d.program()
	if err != nil {
		return nil, err
	}
	d.source = c.Source
	rng := rand.New(rand.NewPCG(seed, 73))
	s := newSizing(c.Program, c.Sets[len(c.Sets)-1])
	if s == nil {
		return nil, fmt.Errorf("the program does not bind with %v", c.Sets[len(c.Sets)-1])
	}
	if d.wish().family == "resident" {
		cells = min(cells, mostResident)
	}
	for ; cells >= 64; cells /= 2 {
		d.at.set, d.at.bound = s.set(lengthsFor(cells, len(c.Program.Axes), rng))
		if d.at.bound == nil || bytesOf(d.at.bound) > p.mostBytes() {
			continue
		}
		o := d.lowering(d.at.bound)
		o.NoInitial, o.Lacks = true, p.place.Lacks
		sampler := &planSampler{options: o, full: true}
		d.pair.plan = d.plain
		if d.pair.plan, d.loops = sampler.withSpans(d.pair, rng, nil, 0); len(d.loops) == 0 {
			continue
		}
		return d, s.iterate(&d.at, d.loops, true, rng)
	}
	return nil, errNoSpan
}

const (
	mostResident  = 1 << 20 // cells of a grid whose blocks have to be on the device at once, about
	mostLine      = 1 << 26 // cells of a grid of one axis
	mostGridBytes = 12 << 30
)

// mostBytes is how many bytes the grids of a pair have at the most: there are spares beside them.
func (p *deviceSpanProver) mostBytes() int64 {
	if p.place.Memory > 0 {
		return min(p.place.Memory/3, mostGridBytes)
	}
	return mostGridBytes
}

// lengthsFor returns lengths of axes whose product is about a number of cells, unlike and of no round numbers.
func lengthsFor(cells int64, rank int, rng *rand.Rand) []int64 {
	if rank == 1 {
		cells = min(cells, mostLine)
	}
	list, left := make([]int64, rank), float64(cells)
	for axis := range list {
		side := math.Pow(left, 1/float64(rank-axis))
		if axis+1 < rank {
			side *= 0.75 + rng.Float64()/2
		}
		list[axis] = max(1, int64(side)-rng.Int64N(min(16, int64(side)/2+1)))
		left = max(1, left/float64(list[axis]))
	}
	return list
}

// bytesOf returns how many bytes the grids of a program have.
func bytesOf(b *ir.Binding) int64 {
	n := int64(0)
	for _, g := range b.Program.Grids {
		n += cellsOf(b, g) * int64(g.Type.Size())
	}
	return n
}

func cellsOf(b *ir.Binding, g *ir.Grid) int64 {
	n := int64(1)
	for _, k := range b.Shape(g.Dims) {
		n *= int64(k)
	}
	return n
}

// check compiles a pair's kernels, and runs the program with both plans.
func (p *deviceSpanProver) check(ctx context.Context, d *devicePair, v *devicePairResult) (string, error) {
	var modules [2]*kernel.Module
	var images [2]string
	for i, plan := range []schedule.Plan{d.plain, d.plan} {
		o := d.lowering(d.at.bound)
		o.NoInitial, o.Lacks, o.Plan = true, p.place.Lacks, plan
		m, err := lower.Program(d.at.bound.Program, o)
		if err != nil {
			return "", err
		}
		script, err := exec.NewScript(m, d.at.bound)
		if err != nil {
			return "", err
		}
		if err := script.Fits(p.place.Target); err != nil {
			return "", verdict.For(verdict.Resources, err)
		}
		if images[i], err = p.place.build(ctx, emit.Source(p.place.Dialect, m), d.mode); err != nil {
			return "", err
		}
		modules[i] = m
	}
	p.device.Lock()
	defer p.device.Unlock()
	want := map[string][]byte{}
	for i, m := range modules {
		got, err := p.execute(ctx, m, images[i], d)
		if err != nil {
			return "", err
		}
		reason := ""
		for _, g := range kept(modules[1], d.at.bound) {
			cells, err := got.Grid(g.Name)
			if err != nil {
				return "", err
			}
			if i == 0 {
				want[g.Name] = bytes.Clone(cells)
			} else if reason == "" {
				if reason, err = v.compare(d.at.bound, g, want[g.Name], cells); err != nil {
					return "", err
				}
			}
		}
		if err := got.Close(); err != nil || reason != "" {
			return reason, err
		}
	}
	return "", nil
}

// execute runs a module from random contents of all grids to its end.
func (p *deviceSpanProver) execute(ctx context.Context, m *kernel.Module, image string, d *devicePair,
) (exec.Runner, error) {
	o := exec.Options{Device: p.place.worker, Image: image, Deadline: p.place.launch}
	r, err := exec.Open(ctx, m, d.at.bound, o)
	if err != nil {
		return nil, err
	}
	var given []string
	for i, g := range d.at.bound.Program.Grids {
		cells, err := r.Grid(g.Name)
		if err != nil {
			r.Close()
			return nil, err
		}
		fillRandom(cells, g.Type, d.seed+uint64(i))
		given = append(given, g.Name)
	}
	err = r.Initialise(given)
	if err == nil {
		_, err = r.Advance(ctx, exec.Limit{})
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// fillRandom fills a grid with random cells, which repeat after a number that no row is as long as.
func fillRandom(cells []byte, t types.Type, seed uint64) {
	const period = 1_000_003
	some := gen.Input(t, min(period, len(cells)/t.Size()), seed)
	for at := 0; at < len(cells); at += len(some) {
		copy(cells[at:], some)
	}
}

// compare returns how a grid differs from what it should be; "" if it does not.
func (v *devicePairResult) compare(b *ir.Binding, g *ir.Grid, want, have []byte) (string, error) {
	v.largest = max(v.largest, cellsOf(b, g))
	v.cells += compare.Numbers(g.Type, want)
	if bytes.Equal(want, have) {
		return "", nil
	}
	r, err := compare.Cells(compare.Grid{Name: g.Name, Type: g.Type, Shape: b.Shape(g.Dims)}, want, have)
	if err != nil || r.OK() { // but for the kinds of NaN
		return "", err
	}
	return "spans against single iterations: " + r.String(), nil
}

// After adds what an earlier proof has found, which this one went on from.
func (r *DeviceSpanResult) After(e *DeviceSpanResult) error {
	if err := follows(r.FirstSeed, e.NextSeed, r.Set, e.Set); err != nil {
		return err
	}
	if r.Device != e.Device || r.Name != e.Name {
		return fmt.Errorf("the earlier proof ran on %s (%s), and this one on %s (%s)", e.Device, e.Name, r.Device,
			r.Name)
	}
	if e.Spans == nil {
		return errOtherPlans
	}
	r.FirstSeed = e.FirstSeed
	increase([]sum{{&r.Pairs, e.Pairs}, {&r.Refused, e.Refused}, {&r.Sanitized, e.Sanitized}})
	r.Cells += e.Cells
	r.Largest = max(r.Largest, e.Largest)
	r.Seconds += e.Seconds
	r.Spans.after(e.Spans)
	r.Failures = append(slices.Clone(e.Failures), r.Failures...)
	r.Commit = e.Commit.with(r.Commit)
	return nil
}
