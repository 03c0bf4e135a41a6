// Package proof runs random programs on the reference executor and on a device, and compares every cell. It is the
// test behind all others: a mistake that it does not find in ten thousand programs is hard to find by hand.
package proof

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/compare"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/disk"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// Options says what to prove.
type Options struct {
	Programs int           // how many random programs
	Seed     uint64        // of the first one; the others follow
	Workers  int           // programs at a time; 0 for one
	Budget   time.Duration // stop early after this long; 0 never
	Spans    bool          // plans have kernels of several iterations, of programs of time loops
	Log      io.Writer     // progress; nil for none
}

// Result is what was proven, as bench/results/proof.json holds it.
type Result struct {
	Programs  int         `json:"programs"`
	FirstSeed uint64      `json:"first_seed"`
	NextSeed  uint64      `json:"next_seed"` // where a proof that was out of time goes on
	Runs      int         `json:"runs"`      // program, sizes and mode of arithmetic
	Kernels   int         `json:"kernels"`   // generated, verified and compiled
	Cells     int64       `json:"cells_compared"`
	Strict    int         `json:"strict_runs"`  // equal bit for bit
	Bounded   int         `json:"bounded_runs"` // within the derived bounds
	Undecided int64       `json:"cells_without_bound"`
	LargestOf float64     `json:"largest_fraction_of_bound"`
	Spans     *SpanResult `json:"spans,omitempty"`
	Failures  []Failure   `json:"failures"`
	Seconds   float64     `json:"seconds"`
	Host      Names       `json:"machine"`
	Compiler  Names       `json:"compiler"`
	Commit    Names       `json:"commit"`
	versions.Set
}

// Failure is a program on which the device and the reference disagree, or that
// could not be run.
type Failure struct {
	Program string            `json:"program,omitempty"` // its file, if it is not a random one
	Seed    uint64            `json:"seed"`
	Mode    string            `json:"fp"`
	Plan    string            `json:"plan"`
	Set     map[string]string `json:"set,omitempty"`
	Reason  string            `json:"reason"`
	By      string            `json:"by,omitempty"` // pocl or oclgrind, if a cross-check found it
	Source  string            `json:"source,omitempty"`
}

// CPU proves the C target. The error is one that stopped the proof; programs
// that disagree are in the result.
func CPU(ctx context.Context, o Options) (*Result, error) {
	cache, err := toolchain.OpenCache("")
	if err != nil {
		return nil, err
	}
	defer cache.Close()
	compiler, err := toolchain.Find(ctx, os.Getenv, cache)
	if err != nil {
		return nil, err
	}
	// Programs run side by side, so that threads which spin while they wait would
	// take the processors from others.
	if os.Getenv("OMP_WAIT_POLICY") == "" {
		os.Setenv("OMP_WAIT_POLICY", "passive")
		defer os.Unsetenv("OMP_WAIT_POLICY")
	}
	// What is compiled here is not needed again.
	dir, err := disk.NewFolder("", "gridloom-proof-")
	if err != nil {
		return nil, err
	}
	defer dir.Remove()
	throwaway, err := toolchain.OpenCache(dir.Path)
	if err != nil {
		return nil, err
	}
	defer throwaway.Close()
	p := &prover{Options: o, compiler: compiler, cache: throwaway, start: time.Now()}
	p.result = Result{
		Set:       versions.Current(),
		FirstSeed: o.Seed, Host: Names{toolchain.ProcessorName()}, Compiler: Names{compiler.Version},
		Failures: []Failure{},
	}
	if o.Spans {
		p.result.Spans = &SpanResult{}
	}
	if err := p.all(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(p.result.Failures, func(a, b Failure) int { return int(int64(a.Seed) - int64(b.Seed)) })
	p.result.NextSeed = o.Seed + uint64(p.next)
	p.result.Seconds = math.Round(time.Since(p.start).Seconds())
	return &p.result, nil
}

type prover struct {
	Options
	compiler *toolchain.Compiler
	cache    *toolchain.Cache
	start    time.Time

	limit exec.Limit // how far programs run
	given bool       // grids that are copied in get random values

	mu     sync.Mutex
	result Result
	next   int
}

// inputs gives random values to the grids that are copied in and have no
// formula, if that is asked for, and returns their names.
func (p *prover) inputs(r exec.Runner, b *ir.Binding) ([]string, error) {
	if !p.given {
		return nil, nil
	}
	formula := map[*ir.Grid]bool{}
	if b.Program.Initial != nil {
		for _, st := range b.Program.Initial.Body {
			if st.Array != nil {
				formula[st.Array.Grid] = true
			}
		}
	}
	var names []string
	for i, g := range b.Program.Grids {
		if !(g.CopyIn || g.Constant) || formula[g] {
			continue
		}
		cells, err := r.Grid(g.Name)
		if err != nil {
			return nil, err
		}
		copy(cells, gen.Input(g.Type, len(cells)/g.Type.Size(), uint64(i)))
		names = append(names, g.Name)
	}
	return names, nil
}

func (p *prover) all(ctx context.Context) error {
	var wg sync.WaitGroup
	errs := make(chan error, max(1, p.Workers))
	for range max(1, p.Workers) {
		wg.Go(func() {
			for {
				seed, ok := p.take(ctx)
				if !ok {
					return
				}
				if err := p.program(ctx, seed); err != nil {
					errs <- fmt.Errorf("seed %d: %w", seed, err)
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return ctx.Err()
	}
}

// take returns the seed of the next program.
func (p *prover) take(ctx context.Context) (uint64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next >= p.Programs || ctx.Err() != nil || p.Budget > 0 && time.Since(p.start) > p.Budget {
		return 0, false
	}
	seed := p.Seed + uint64(p.next)
	p.next++
	if p.Log != nil && p.next%100 == 0 {
		fmt.Fprintf(p.Log, "%d programs, %d runs, %d cells, %d failures\n", p.next, p.result.Runs, p.result.Cells,
			len(p.result.Failures))
	}
	return seed, true
}

// modeOf chooses the arithmetic for a seed: the exact modes more often, because
// there every bit is decided.
func modeOf(seed uint64) arith.Mode {
	switch seed % 8 {
	case 3:
		return arith.Fast
	case 0, 2, 6:
		return arith.Strict
	}
	return arith.Contract
}

// callsExactOnly reports whether the program of a seed calls no inexact function, so that in an exact mode it is
// compared bit for bit.
func callsExactOnly(seed uint64) bool {
	return modeOf(seed) == arith.Strict || seed%8 == 4 || seed%8 == 5
}

func (p *prover) program(ctx context.Context, seed uint64) error {
	mode := modeOf(seed)
	o := gen.Options{Size: sizeOf(seed), Exact: callsExactOnly(seed)}
	c, err := (*gen.Case)(nil), error(nil)
	var refusals []*graph.Refusal
	if p.Spans {
		c, refusals, err = spanCase(seed, o)
	} else {
		c, err = gen.Make(seed, o)
	}
	if err != nil {
		return err
	}
	c.Program = c.Program.In(mode)
	plan, err := randomPlan(seed, c.Program)
	if err != nil {
		return err
	}
	var loops []spanned
	if p.Spans {
		loops = addSpans(seed, c.Program, &plan)
		if err := withIterations(seed, c, loops); err != nil {
			return err
		}
	}
	carried := false
	fail := func(set map[string]string, format string, args ...any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.result.Failures = append(p.result.Failures, Failure{
			Seed: seed, Mode: mode.String(), Plan: plan.String(), Set: set,
			Reason: fmt.Sprintf(format, args...), Source: c.Source,
		})
	}
	for _, set := range c.Sets {
		b, list := c.Program.Bind(set)
		if list.HasErrors() {
			fail(set, "does not bind: %s", list[0].Message)
			continue
		}
		reason, err := p.run(ctx, b, plan, seed)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			fail(set, "%v", err)
			break
		}
		if reason != "" {
			fail(set, "%s", reason)
			break
		}
		if p.Spans {
			p.mu.Lock()
			before := p.result.Spans.Runs
			p.result.Spans.countRun(b, loops)
			carried = carried || p.result.Spans.Runs > before
			p.mu.Unlock()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.result.Programs++
	if p.Spans {
		p.result.Spans.countPlan(plan, refusals, carried)
	}
	return nil
}

// sizeOf chooses about how many statements the program of a seed has: every
// tenth is long, because what goes wrong between statements needs several; the
// others are short, so that there are many of them.
func sizeOf(seed uint64) int {
	if seed%10 == 0 {
		return 8
	}
	return 1 + int(seed%3)
}

// randomPlan returns a random configuration for every kernel of a program. Its
// blocks are small, so that small grids have several.
func randomPlan(seed uint64, p *ir.Program) (schedule.Plan, error) {
	plan, err := lower.Plan(p, lower.Options{NoInitial: true})
	if err != nil {
		return plan, err
	}
	rng := rand.New(rand.NewPCG(seed, 99))
	for i, k := range plan.Kernels {
		set := lower.ByRole(k.Config)
		if !set.Has(schedule.CacheBlock) {
			continue
		}
		block := slices.Clone(set.Ints(schedule.CacheBlock))
		for axis := range block {
			sizes := []int64{0, 1, 2, 4, 8, 16}
			if axis == len(block)-1 {
				sizes = []int64{0, 0, 64}
			}
			block[axis] = sizes[rng.IntN(len(sizes))]
		}
		threads := []int64{0, 1, 2, 4}[rng.IntN(4)]
		cut := set.With(schedule.CacheBlock, schedule.Int(block[0], block[1:]...))
		plan.Kernels[i].Config = lower.ByRole(cut).With(schedule.Workers, schedule.Int(threads))
	}
	return plan, nil
}

// run executes one binding on both and returns how they disagree; "" if they
// do not.
func (p *prover) run(ctx context.Context, b *ir.Binding, plan schedule.Plan, seed uint64) (string, error) {
	m, err := lower.Program(b.Program, lower.Options{
		Plan: plan, Bound: b, NoInitial: true, Guard: true, AnyIntegers: p.Spans,
	})
	if err != nil {
		return "", err
	}
	for _, k := range m.Kernels {
		if err := kernel.Verify(k); err != nil {
			return "", fmt.Errorf("verifier: %w", err)
		}
	}
	if p.Spans {
		if reason, err := simulate(ctx, b, plan, seed); reason != "" || err != nil {
			return reason, err
		}
	}
	builder := &cpu.Builder{Compiler: p.compiler, Cache: p.cache, Arithmetic: b.Program.Arithmetic,
		Limit: 5 * time.Minute}
	image, err := builder.Build(ctx, []byte(emit.Source(emit.C, m)))
	if err != nil {
		return "", err
	}
	bounds := interp.ModeOf(b.Program, p.compiler.FMA)
	want, err := exec.OpenReference(b, exec.ReferenceOptions{Bounds: bounds})
	if err != nil {
		return "", err
	}
	defer want.Close()
	got, err := exec.Open(ctx, m, b, exec.Options{Device: "cpu", Image: image, Deadline: time.Minute})
	if err != nil {
		return "", err
	}
	defer got.Close()
	for _, r := range []exec.Runner{want, got} {
		given, err := p.inputs(r, b)
		if err != nil {
			return "", err
		}
		if err := r.Initialise(given); err != nil {
			return "", err
		}
		if _, err := r.Advance(ctx, p.limit); err != nil {
			return "", err
		}
	}
	return p.compare(b, bounds, want, got, m)
}

func (p *prover) compare(b *ir.Binding, mode interp.Mode, want *exec.Reference, got exec.Runner,
	m *kernel.Module) (string, error) {
	var cells, open int64
	var ratio float64
	for _, g := range kept(m, b) {
		x, err := got.Grid(g.Name)
		if err != nil {
			return "", err
		}
		y, err := want.Grid(g.Name)
		if err != nil {
			return "", err
		}
		bounds, err := want.Bounds(g.Name)
		if err != nil {
			return "", err
		}
		r, err := compare.Cells(compare.Grid{Name: g.Name, Type: g.Type, Shape: b.Shape(g.Dims), Bounds: bounds}, y, x)
		if err != nil {
			return "", err
		}
		if !r.OK() {
			return r.String(), nil
		}
		cells += r.Cells
		ratio = max(ratio, r.MaxRatio)
		for _, v := range bounds {
			if math.IsInf(v, 1) {
				open++
			}
		}
	}
	for _, s := range b.Program.Scalars {
		x, err := got.Scalar(s.Name)
		if err != nil {
			return "", err
		}
		y, err := want.Scalar(s.Name)
		if err != nil {
			return "", err
		}
		bound, err := want.ScalarBound(s.Name)
		if err != nil {
			return "", err
		}
		off := math.Abs(x.AsFloat() - y.AsFloat())
		if !x.Same(y) && (mode == interp.NoBounds || !(off <= bound || math.IsInf(bound, 1))) {
			return fmt.Sprintf("%s is %v, should be %v within %.3g", s.Name, x, y, bound), nil
		}
	}
	if cells == 0 {
		return "", nil // no cell has a number: nothing is proven
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.result.Runs++
	p.result.Cells += cells
	p.result.Undecided += open
	p.result.Kernels += len(m.Kernels)
	p.result.LargestOf = max(p.result.LargestOf, ratio)
	if mode == interp.NoBounds {
		p.result.Strict++
	} else {
		p.result.Bounded++
	}
	return "", nil
}
