package proof

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/disk"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// DeviceOptions says what to prove on a device.
type DeviceOptions struct {
	Device   string         // "cuda:0", "opencl:0"
	Sources  []*diag.Source // programs that have sizes of their own
	Plans    int            // random plans of each
	Seed     uint64         // of the first plan; the others follow
	Workers  int            // plans at a time; 0 for one a processor
	Budget   time.Duration  // stop early after this long; 0 never
	Sanitize int            // plans that compute-sanitizer watches; 0 for none
	Log      io.Writer      // progress; nil for none
}

// DeviceResult is what was proven on a device.
type DeviceResult struct {
	Device    string `json:"device"`
	Name      string `json:"device_name"`
	Programs  int    `json:"programs"`
	Plans     int    `json:"plans"` // program and plan
	FirstSeed uint64 `json:"first_seed"`
	NextSeed  uint64 `json:"next_seed"` // where a proof that was stopped goes on
	Runs      int    `json:"runs"`      // plan and sizes
	Kernels   int    `json:"kernels"`
	Cells     int64  `json:"cells_compared"`
	Strict    int    `json:"strict_runs"`
	Bounded   int    `json:"bounded_runs"`
	Tiled     int    `json:"runs_of_three_tiles"`
	Refused   int    `json:"plans_refused"` // because they need more than the device has
	Coverage
	Sanitized int       `json:"sanitizer_runs"`
	Missing   []string  `json:"missing,omitempty"`
	Failures  []Failure `json:"failures"`
	Seconds   float64   `json:"seconds"`
	Commit    Names     `json:"commit"`
	versions.Set
}

// Device proves the kernels for GPUs on a device: random plans of some programs
// run there at awkward sizes and at sizes of several tiles, and every cell is
// compared with the reference executor. When ctx ends, what was proven so far is
// the result.
func Device(ctx context.Context, o DeviceOptions) (*DeviceResult, error) {
	return (&deviceProver{DeviceOptions: o}).run(ctx)
}

func (p *deviceProver) run(ctx context.Context) (*DeviceResult, error) {
	o := p.DeviceOptions
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
	if p.Workers == 0 {
		p.Workers = runtime.GOMAXPROCS(0)
	}
	if p.place, err = openPlace(o.Device, cache, p.Workers); err != nil {
		return nil, err
	}
	defer p.place.Close()
	p.place.spoil = p.spoil
	p.result = DeviceResult{Set: versions.Current(), Device: o.Device, Name: p.place.Name,
		FirstSeed: o.Seed, NextSeed: o.Seed,
		Failures: []Failure{}}
	var programs []*subject
	for _, src := range o.Sources {
		s, err := newSubject(src, p.place.Lacks)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", src.Name, err)
		}
		programs = append(programs, s)
	}
	p.result.Programs = len(programs)
	watch, err := p.sanitizer()
	if err != nil {
		p.result.Missing = append(p.result.Missing, err.Error())
	}
	trials := make(chan trial)
	var wg sync.WaitGroup
	for range p.Workers {
		wg.Go(func() {
			for t := range trials {
				p.prove(ctx, t)
			}
		})
	}
	// All programs have had a plan before any has the next.
send:
	for i := range o.Plans {
		if o.Budget > 0 && time.Since(p.start) > o.Budget {
			break
		}
		for _, s := range programs {
			select {
			case <-ctx.Done():
				break send
			case trials <- trial{subject: s, seed: o.Seed + uint64(i)}:
			}
		}
		p.result.NextSeed++
	}
	close(trials)
	wg.Wait()
	if watch != nil {
		for i := range o.Sanitize {
			p.watched(ctx, watch, trial{subject: programs[i%len(programs)], seed: o.Seed + uint64(i/len(programs))})
		}
	}
	slices.SortStableFunc(p.result.Failures, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(a.Program, b.Program), cmp.Compare(a.Seed, b.Seed))
	})
	p.result.Coverage.sort()
	p.result.Seconds = math.Round(time.Since(p.start).Seconds())
	return &p.result, nil
}

// subject is a program that plans are drawn for.
type subject struct {
	src     *diag.Source
	program *ir.Program
	sizing  *sizing
	drawing map[arith.Mode]*planSampler // a mode has plans of its own
	small   []sizes                     // awkward ones
	given   map[*ir.Grid]bool
}

// awkwardLengths are awkward lengths of axes, from the outermost on: a few
// cells, primes, and rows that end within a vector, a warp or a block.
var awkwardLengths = [][]int64{{1, 1, 1}, {2, 3, 5}, {3, 5, 7}, {5, 7, 13}, {7, 11, 31}, {11, 13, 67}, {13, 3, 131},
	{5, 17, 257}}

func newSubject(src *diag.Source, lacks []machine.Capability) (*subject, error) {
	program, list := lang.Load(src)
	if list.HasErrors() {
		return nil, fmt.Errorf("%s", list[0].Message)
	}
	s := &subject{src: src, program: program, given: map[*ir.Grid]bool{}}
	base := map[string]string{}
	for _, q := range program.Params {
		if q.Default == nil {
			base[q.Name] = "16"
		}
	}
	for _, x := range program.Scalars {
		if x.Argument && x.Init == nil {
			base[x.Name] = map[bool]string{true: "0.375", false: "1"}[x.Type.IsFloat()]
		}
	}
	if s.sizing = newSizing(program, base); s.sizing == nil {
		return nil, fmt.Errorf("it does not bind with %v", base)
	}
	s.sizing.leaves = deviceLeaves
	for _, l := range awkwardLengths {
		want := make([]int64, len(program.Axes))
		for axis := range want {
			want[axis] = l[max(0, 3-len(want)+axis)]
		}
		if set, b := s.sizing.set(want); b != nil {
			s.small = append(s.small, sizes{set: set, bound: b})
		}
	}
	if len(s.small) == 0 {
		return nil, fmt.Errorf("no awkward size fits it")
	}
	formula := map[*ir.Grid]bool{}
	if program.Initial != nil {
		for _, st := range program.Initial.Body {
			if st.Array != nil {
				formula[st.Array.Grid] = true
			}
		}
	}
	for _, g := range program.Grids {
		s.given[g] = (g.CopyIn || g.Constant) && !formula[g]
	}
	var err error
	s.drawing = map[arith.Mode]*planSampler{}
	for _, mode := range []arith.Mode{arith.Strict, arith.Contract} {
		o := lower.Options{Target: lower.GPU, Bound: s.sizing.bound.In(mode), Sized: true}
		if s.drawing[mode], err = newPlanSampler(o, lacks); err != nil {
			return nil, err
		}
	}
	return s, nil
}

type deviceProver struct {
	DeviceOptions
	place *place
	start time.Time
	spoil func(source string) string // for tests

	mu     sync.Mutex
	result DeviceResult
}

// trial is a plan of a program.
type trial struct {
	*subject
	seed uint64
}

func (t trial) rng() *rand.Rand {
	h := fnv.New64a()
	io.WriteString(h, t.src.Name)
	return rand.New(rand.NewPCG(t.seed, h.Sum64()))
}

const (
	mostOnDevice = 4_000_000 // updates of cells at sizes of some tiles
	deviceLeaves = 12        // that run
)

// plan draws a trial's plan and sizes.
func (t trial) plan() (plan schedule.Plan, at []sizes, err error) {
	rng := t.rng()
	var largest []int64
	if t.seed%4 != 3 {
		largest = t.sizing.affordable(mostOnDevice, rng)
	}
	if plan, err = t.drawing[t.mode()].plan(rng, largest, 0); err != nil {
		return plan, nil, err
	}
	at = append(at, t.small[rng.IntN(len(t.small))])
	var big sizes
	if big.set, big.bound, big.tiled = t.sizing.large(tilesOf(plan, t.program.Axes), mostOnDevice,
		rng); big.bound != nil {
		at = append(at, big)
	}
	return plan, at, nil
}

// mode returns the arithmetic of a trial.
func (t trial) mode() arith.Mode {
	if t.seed%2 == 1 {
		return arith.Contract
	}
	return arith.Strict
}

// prove runs a trial and adds its result.
func (p *deviceProver) prove(ctx context.Context, t trial) {
	plan, at, err := t.plan()
	a := t.mode()
	fail := func(set map[string]string, reason string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		f := Failure{Program: t.src.Name, Seed: t.seed, Mode: a.String(), Plan: plan.String(), Set: set, Reason: reason}
		p.result.Failures = append(p.result.Failures, f)
		if p.Log != nil {
			fmt.Fprintln(p.Log, f.String())
		}
	}
	if err != nil {
		fail(nil, err.Error())
		return
	}
	ran, kernels := 0, 0
	for _, s := range at {
		s.bound = s.bound.In(a)
		mode := interp.ModeOf(s.bound.Program, true)
		m, err := lower.Program(s.bound.Program, lower.Options{
			Target: lower.GPU, Plan: withoutInitial(plan, t.program), Bound: s.bound, Sized: true, NoInitial: true,
			Lacks: t.drawing[a].options.Lacks,
		})
		if exceedsResources(err) {
			continue
		}
		if err != nil {
			fail(s.set, err.Error())
			return
		}
		want, err := expect(ctx, s.bound, mode, t.seed, t.given, deviceLeaves)
		if ctx.Err() != nil {
			return
		}
		fits, reason := false, ""
		if err == nil {
			fits, reason, err = runOn(ctx, p.place, m, s.bound, a, want, deviceLeaves)
		}
		switch {
		case ctx.Err() != nil:
			return
		case refuses(err):
			continue
		case err != nil:
			fail(s.set, err.Error())
			return
		case reason != "":
			fail(s.set, reason)
			return
		case !fits:
			continue
		}
		cells := want.numbers(s.bound.Program)
		if cells == 0 {
			continue // that proves nothing
		}
		ran++
		kernels += len(m.Kernels)
		p.mu.Lock()
		r := &p.result
		r.Runs++
		r.Cells += cells
		if mode == interp.NoBounds {
			r.Strict++
		} else {
			r.Bounded++
		}
		if s.tiled {
			r.Tiled++
		}
		p.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &p.result
	r.Plans++
	r.Kernels += kernels
	if ran == 0 {
		r.Refused++
	} else {
		r.Coverage.add(withoutInitial(plan, t.program))
	}
	if p.Log != nil && r.Plans%progress == 0 {
		fmt.Fprintf(p.Log, "%d plans (%d refused), %d runs, %d cells, %d failures, %v\n",
			r.Plans, r.Refused, r.Runs, r.Cells, len(r.Failures), time.Since(p.start).Round(time.Second))
	}
}
