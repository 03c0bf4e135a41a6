package proof

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/transform"
)

// pair is a random program with a random plan, and the sizes that it runs at.
type pair struct {
	seed   uint64
	source string
	mode   arith.Mode
	plan   schedule.Plan
	sizes  []sizes
	opencl bool // the plan can be printed in OpenCL
	free   bool // hints of the source are ignored

	exactOnly bool // the program calls no inexact function

	spans    bool // the plan has kernels of several iterations
	refusals []*graph.Refusal

	spoil *spoiler // for tests
}

// spoiler makes mistakes, for tests; its functions may be nil.
type spoiler struct {
	module   func(*kernel.Module)
	pipeline func(*pipeline.Pipeline)
}

type sizes struct {
	set   map[string]string
	bound *ir.Binding
	tiled bool // three tiles and a remainder on every axis
}

// pairResult is the result of checking a pair.
type pairResult struct {
	pair            *pair
	runs            int
	kernels         int
	cells           int64
	tiled           int
	pocl            int
	oclgrind        int
	slow            int
	clang           int
	poclFaults      []JudgeFault
	oclgrindCrashes []JudgeFault
	failure         *Failure
	spans           spanCounts
}

func (v *pairResult) addTo(r *GPUResult) {
	r.Pairs++
	r.Runs += v.runs
	r.Kernels += v.kernels
	r.Cells += v.cells
	r.Tiled += v.tiled
	r.PoCL += v.pocl
	r.Oclgrind += v.oclgrind
	r.Slow += v.slow
	r.Clang += v.clang
	r.PoCLFaults = eachOnce(r.PoCLFaults, v.poclFaults...)
	r.OclgrindCrashes = eachOnce(r.OclgrindCrashes, v.oclgrindCrashes...)
	if v.failure != nil {
		r.Failures = append(r.Failures, *v.failure)
	}
	if v.pair == nil {
		return
	}
	if v.pair.exact() {
		r.Strict += v.runs
	} else {
		r.Bounded += v.runs
	}
	r.Coverage.add(v.pair.plan)
	if v.pair.spans {
		r.countSpans(v)
	}
}

const (
	mostUpdates = 1_000_000 // of cells, in whole tiles, at sizes of some tiles
	mostAwkward = 200_000   // at awkward sizes
)

// poclThreads limits the threads of most blocks for PoCL, which makes code for each thread.
const poclThreads = 64

// newPair makes the pair of a seed; with opencl, its plan can be printed in OpenCL. With spans
// the program is one of time loops, and the plan has kernels of several of their iterations.
func newPair(seed uint64, opencl, spans bool) (*pair, error) {
	p := &pair{seed: seed, mode: modeOf(seed), opencl: opencl, free: seed%3 == 0, spans: spans}
	c, err := p.program()
	if err != nil {
		return nil, err
	}
	p.source = c.Source
	rng := rand.New(rand.NewPCG(seed, 7))
	s := newSizing(c.Program, c.Sets[len(c.Sets)-1])
	if s == nil {
		return nil, fmt.Errorf("the program does not bind with %v", c.Sets[len(c.Sets)-1])
	}
	var lacks []machine.Capability
	if opencl {
		lacks = []machine.Capability{machine.Shuffle, machine.Image} // PoCL and Oclgrind have no images
	}
	d, err := newPlanSampler(p.lowering(s.bound), lacks)
	if err != nil {
		return nil, err
	}
	// One plan of four is any plan, at sizes that are possible with it. The others have tiles small enough for three
	// of them on every axis.
	var largest []int64
	if seed%4 != 3 {
		largest = s.affordable(mostUpdates, rng)
	}
	threads := int64(0)
	if opencl && rng.IntN(3) > 0 {
		threads = poclThreads
	}
	if p.plan, err = d.plan(rng, largest, threads); err != nil {
		return nil, err
	}
	var loops []spanned
	if spans {
		p.plan, loops = d.withSpans(p, rng, largest, threads)
		if s, err = s.forSpans(c, loops); err != nil {
			return nil, err
		}
	}
	var big sizes
	big.set, big.bound, big.tiled = s.large(tilesOf(p.plan, c.Program.Axes), mostUpdates, rng)
	p.sizes = append(p.sizes, s.awkward(c, tilesOf(p.plan, c.Program.Axes), rng))
	if spans && seed%4 == 1 { // the smallest, with an axis of one cell where the program allows it
		p.sizes[0].set = c.Sets[0]
		p.sizes[0].bound, _ = c.Program.Bind(c.Sets[0])
	}
	if big.bound != nil && p.holds(big.bound) {
		p.sizes = append(p.sizes, big)
	}
	for i := range p.sizes {
		if err := s.iterate(&p.sizes[i], loops, i == len(p.sizes)-1, rng); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// holds reports whether the plan's constant memory is large enough at some sizes.
func (p *pair) holds(b *ir.Binding) bool {
	if !strings.Contains(p.plan.String(), "=constant") {
		return true
	}
	o := p.lowering(b)
	o.Plan = p.plan
	_, err := lower.Choices(b.Program, o)
	return err == nil
}

// program makes the pair's program. Every eighth seed searches for a program with local grids that can be fused,
// since few programs have these.
func (p *pair) program() (*gen.Case, error) {
	const tries = 40
	wish := p.wish().family
	o := gen.Options{Size: sizeOf(p.seed / 2), Exact: p.exactOnly || callsExactOnly(p.seed), Spans: p.spans}
	first := p.firstTry(o)
	for try := uint64(0); ; try++ {
		if try > tries/2 {
			wish = ""
		}
		c, err := gen.Make(p.seed+(first+try)<<40, o)
		if err != nil {
			return nil, err
		}
		if p.spans && try < tries && !p.allowsSpans(c.Program, wish) {
			continue
		}
		if p.seed%8 != 5 || try == tries || fusable(c.Program) {
			c.Program = c.Program.In(p.mode)
			return c, nil
		}
	}
}

// exact reports whether all results of the pair are compared bit for bit.
func (p *pair) exact() bool {
	return len(p.sizes) > 0 && interp.ModeOf(p.sizes[0].bound.Program, true) == interp.NoBounds
}

func fusable(p *ir.Program) bool {
	return slices.ContainsFunc(p.Calls, func(s *ir.Call) bool {
		grids, _ := transform.Inlinable(p, s)
		return len(grids) > 0
	})
}

// lowering returns the options to lower a pair's program, without the plan.
func (p *pair) lowering(b *ir.Binding) lower.Options {
	o := lower.Options{Target: lower.GPU, Bound: b, Sized: true, Free: p.free, Guard: true}
	if p.spoil != nil {
		o.Spoil = p.spoil.pipeline
	}
	return o
}

// lower lowers the program and verifies its kernels.
func (p *pair) lower(b *ir.Binding, sized bool, plan schedule.Plan) (*kernel.Module, error) {
	o := p.lowering(b)
	o.Sized, o.Plan = sized, plan
	if sharesTiles(plan) {
		o.Machine = smallMachine
	}
	m, err := lower.Program(b.Program, o)
	if err != nil {
		return nil, err
	}
	for _, k := range m.Kernels {
		if err := kernel.Verify(k); err != nil {
			return nil, fmt.Errorf("verifier: %w", err)
		}
		if err := kernel.CheckInterior(k); err != nil {
			return nil, fmt.Errorf("interior: %w", err)
		}
	}
	return m, nil
}

// awkward returns small sizes, primes and ones among them.
func (s *sizing) awkward(c *gen.Case, tile []int64, rng *rand.Rand) sizes {
	for at := rng.IntN(len(c.Sets)); ; at-- {
		b, _ := c.Program.Bind(c.Sets[at])
		if at == 0 || b != nil && s.work(b, tile) <= mostAwkward {
			return sizes{set: c.Sets[at], bound: b}
		}
	}
}

// prove checks a pair.
func (p *gpuProver) prove(ctx context.Context, seed uint64) (v *pairResult) {
	v = &pairResult{}
	defer func() {
		if r := recover(); r != nil {
			f := Failure{Seed: seed, Reason: fmt.Sprintf("panic: %v\n%s", r, debug.Stack())}
			if v.pair != nil {
				f = v.pair.failure(nil, f.Reason)
			}
			v.failure = &f
		}
	}()
	sampled, opencl := false, false
	if every := uint64(p.Every); p.checkers != nil {
		// The sample has seeds of every kind: odd ones and even ones.
		turn := seed / every
		sampled = seed%every == turn%min(every, 4)
		opencl = sampled && turn%5 != 3
	}
	pair, err := newPair(seed, opencl, p.Spans)
	if err != nil {
		v.failure = &Failure{Seed: seed, Reason: err.Error()}
		return v
	}
	v.pair, pair.spoil = pair, p.spoil
	for i, s := range pair.sizes {
		if reason := pair.simulate(ctx, s, v); reason != "" {
			f := pair.failure(s.set, reason)
			pair.shrink(ctx, &f)
			v.failure = &f
			return v
		}
		if !sampled {
			continue
		}
		if found := p.checkers.check(ctx, pair, s, i == 0, v); found.said != "" {
			f := pair.failure(s.set, found.said)
			f.By = found.by
			v.failure = &f
			return v
		}
	}
	return v
}

func (p *pair) failure(set map[string]string, reason string) Failure {
	return Failure{Seed: p.seed, Mode: p.mode.String(), Plan: p.plan.String(), Set: set, Reason: reason,
		Source: p.source}
}

// pair returns the pair of a failure, and the sizes.
func (f *Failure) pair() (*pair, sizes, error) {
	program, list := lang.Load(diag.NewSource("failure.loom", f.Source))
	if list.HasErrors() {
		return nil, sizes{}, errors.New(list[0].Message)
	}
	mode, err := arith.Parse(f.Mode)
	if err != nil {
		return nil, sizes{}, err
	}
	b, list := program.In(mode).Bind(f.Set)
	if list.HasErrors() {
		return nil, sizes{}, errors.New(list[0].Message)
	}
	plan, err := schedule.ParsePlan(f.Plan)
	p := &pair{
		seed: f.Seed, source: f.Source, plan: plan, opencl: true, free: f.Seed%3 == 0, mode: mode,
	}
	return p, sizes{set: f.Set, bound: b}, err
}

// simulate runs a pair at some sizes, with kernels for those sizes and with
// kernels for all, and returns what is wrong; "" for nothing.
func (p *pair) simulate(ctx context.Context, s sizes, v *pairResult) string {
	want, err := p.expect(ctx, s.bound)
	if err != nil {
		return err.Error()
	}
	other, _ := withSizeArguments(p.plan)
	before := ""
	for _, way := range []struct {
		sized bool
		plan  schedule.Plan
	}{{true, p.plan}, {false, other}} {
		m, err := p.lower(s.bound, way.sized, way.plan)
		if exceedsResources(err) {
			continue
		}
		if err != nil {
			return fmt.Sprintf("sized %t: %v", way.sized, err)
		}
		if p.spoil != nil && p.spoil.module != nil {
			p.spoil.module(m)
		}
		text := moduleText(m)
		if text == before { // the plan has no kernel for one size
			continue
		}
		before = text
		var cells int64
		reason := ""
		state, err := want.run(m, s.bound)
		if err != nil {
			reason = err.Error()
		} else {
			cells, reason = want.compare(state, m, s.bound)
		}
		if ctx.Err() != nil {
			return "interrupted"
		}
		if reason != "" {
			return fmt.Sprintf("sized %t: %s", way.sized, reason)
		}
		if cells == 0 {
			continue // no cell has a number: nothing is proven
		}
		v.runs++
		v.kernels += len(m.Kernels)
		v.cells += cells
		v.spans.add(m, state, spanRun{s.bound, tilesOf(p.plan, s.bound.Program.Axes)})
		if s.tiled {
			v.tiled++
		}
	}
	return ""
}

// moduleText returns the text of all kernels of a module.
func moduleText(m *kernel.Module) string {
	var text strings.Builder
	for _, k := range m.Kernels {
		text.WriteString(kernel.Text(k))
	}
	return text.String()
}

// String describes the failure, with all that is needed to reproduce it.
func (f *Failure) String() string {
	var set []string
	for _, name := range slices.Sorted(maps.Keys(f.Set)) {
		set = append(set, name+"="+f.Set[name])
	}
	return strings.TrimSpace(fmt.Sprintf("%s seed %d (--fp %s --set %s --plan '%s'): %s\n%s",
		f.Program, f.Seed, f.Mode, strings.Join(set, ","), f.Plan, f.Reason, f.Source))
}
