package proof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/fission"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// DAGOptions says what to prove of programs whose statements are graphs.
type DAGOptions struct {
	Pairs   int           // how many random programs, each with a random fission, a random fusion or both
	Seed    uint64        // of the first one; the others follow
	Workers int           // pairs at a time; 0 for one
	Budget  time.Duration // stop early after this long; 0 never
	Log     io.Writer     // progress; nil for none

	Fission string // the version in all pairs; "" for random ones

	spoil func(*kernel.Module) // makes mistakes, for tests; nil for none
}

// DAGResult is what was proven of fusion and fission, as bench/results/proof-dags.json holds it.
type DAGResult struct {
	Pairs      int     `json:"pairs"` // that were compared, or failed; others were refused
	FirstSeed  uint64  `json:"first_seed"`
	NextSeed   uint64  `json:"next_seed"` // where a proof that was stopped goes on
	Kernels    int     `json:"kernels"`   // verified and simulated
	Cells      int64   `json:"cells_compared"`
	Strict     int     `json:"strict_pairs"`   // all pairs are equal bit for bit; these without products fused with sums
	Contract   int     `json:"contract_pairs"` // and these with
	Carried    int     `json:"carried_out"`    // spans
	Kinds      Counts  `json:"kinds"`          // pairs, by what was done to the program
	Fissions   Counts  `json:"fissions"`       // pairs, by version
	Families   Counts  `json:"families"`       // of kernels of several calls
	Axes       Counts  `json:"axes"`           // of programs
	Statements Counts  `json:"statements"`     // of programs, in tens
	Fused      Counts  `json:"fused"`          // statements of the largest kernel of several calls
	Refused    []Rule  `json:"refused"`        // pairs of which nothing could be done, by reason
	Failures   []Fault `json:"failures"`
	Seconds    float64 `json:"seconds"`
	Host       Names   `json:"machine"`
	Commit     Names   `json:"commit"`
	versions.Set
}

// Rule is how often pairs were refused for a reason, and the first of them.
type Rule struct {
	Reason string `json:"reason"`
	Times  int    `json:"times"`
	Seed   uint64 `json:"first_seed"`
}

// Fault is a failure, with the version of the program that failed.
type Fault struct {
	Failure
	Fission string `json:"fission,omitempty"`
	Target  string `json:"target"`
}

// String describes the fault, with all that is needed to reproduce it.
func (f *Fault) String() string {
	return fmt.Sprintf("fission %q, %s: %s", f.Fission, f.Target, f.Failure.String())
}

// The kinds of pairs.
const (
	fissionKind = "fission"
	wholeKind   = "fusion"
	setsKind    = "fusion of sets"
	gapsKind    = "fusion of sets with gaps"
	alsoFission = " after fission"
)

// DAGs proves fusion and fission: random graphs of statements, with random fissions, and random sets of calls in
// kernels of several families, run in the simulator, and every cell is compared, bit for bit, with what the reference
// executor makes of the program as it was.
func DAGs(ctx context.Context, o DAGOptions) *DAGResult {
	start := time.Now()
	r := &DAGResult{
		Set: versions.Current(), FirstSeed: o.Seed, Host: Names{toolchain.ProcessorName()}, Refused: []Rule{},
		Failures: []Fault{},
	}
	proofs := series[*dagPair]{o.Seed, o.Pairs, o.Workers, o.Budget, o.prove, func(seed uint64, d *dagPair) {
		r.add(seed, d)
		if o.Log == nil {
			return
		}
		if d.failure != nil {
			fmt.Fprintln(o.Log, d.failure)
		}
		if n := seed + 1 - o.Seed; n%progress == 0 {
			fmt.Fprintf(o.Log, "%d programs, %d pairs, %d cells, %d failures, %v\n", n, r.Pairs, r.Cells,
				len(r.Failures), time.Since(start).Round(time.Second))
		}
	}}
	r.NextSeed = proofs.run(ctx)
	r.Seconds = math.Round(time.Since(start).Seconds())
	return r
}

// add adds a pair.
func (r *DAGResult) add(seed uint64, d *dagPair) {
	if d.refused != "" {
		r.refuse(Rule{d.refused, 1, seed})
		return
	}
	r.Pairs++
	if d.failure != nil {
		r.Failures = append(r.Failures, *d.failure)
		return
	}
	r.Kernels += d.kernels
	r.Cells += d.cells
	r.Carried += d.carried
	if d.mode == arith.Strict {
		r.Strict++
	} else {
		r.Contract++
	}
	r.Kinds.add(d.kind)
	r.Fissions.add(d.fission)
	for _, f := range d.families {
		r.Families.add(f)
	}
	r.Axes.add(strconv.Itoa(len(d.program.Axes)))
	r.Statements.add(strconv.Itoa(d.statements / 10 * 10))
	if d.fused > 0 {
		r.Fused.add(strconv.Itoa(d.fused))
	}
}

// refuse counts refusals.
func (r *DAGResult) refuse(x Rule) {
	i := slices.IndexFunc(r.Refused, func(o Rule) bool { return o.Reason == x.Reason })
	if i < 0 {
		r.Refused = append(r.Refused, x)
		return
	}
	r.Refused[i].Times += x.Times
}

// After adds what an earlier proof has found, which this one went on from.
func (r *DAGResult) After(e *DAGResult) error {
	if err := follows(r.FirstSeed, e.NextSeed, r.Set, e.Set); err != nil {
		return err
	}
	r.FirstSeed = e.FirstSeed
	increase([]sum{{&r.Pairs, e.Pairs}, {&r.Kernels, e.Kernels}, {&r.Strict, e.Strict}, {&r.Contract, e.Contract},
		{&r.Carried, e.Carried}})
	r.Cells += e.Cells
	r.Seconds += e.Seconds
	for _, c := range [][2]*Counts{{&r.Kinds, &e.Kinds}, {&r.Fissions, &e.Fissions}, {&r.Families, &e.Families},
		{&r.Axes, &e.Axes}, {&r.Statements, &e.Statements}, {&r.Fused, &e.Fused}} {
		c[0].after(c[1])
	}
	late := r.Refused
	r.Refused = slices.Clone(e.Refused)
	for _, x := range late {
		r.refuse(x)
	}
	r.Failures = append(slices.Clone(e.Failures), r.Failures...)
	r.Host, r.Commit = e.Host.with(r.Host), e.Commit.with(r.Commit)
	return nil
}

// dagPair is a program with what is done to it, and what came of it.
type dagPair struct {
	seed    uint64
	mode    arith.Mode
	target  lower.Target
	fission string // the version; "" for the program as it is
	source  string // of the program as it was
	program *ir.Program
	made    *ir.Program // by fission
	plan    schedule.Plan
	set     map[string]string

	kind       string
	families   []string
	statements int
	fused      int
	kernels    int
	cells      int64
	carried    int
	refused    string
	failure    *Fault
	spoil      func(*kernel.Module)
}

// prove makes the pair of a seed and checks it.
func (o *DAGOptions) prove(_ context.Context, seed uint64) (d *dagPair) {
	d = &dagPair{seed: seed, mode: arith.Contract, spoil: o.spoil}
	defer func() {
		if r := recover(); r != nil {
			d.fail(fmt.Sprintf("panic: %v\n%s", r, debug.Stack()))
		}
	}()
	if seed%3 == 0 {
		d.mode = arith.Strict
	}
	rng := rand.New(rand.NewPCG(seed, 11))
	version := cmp.Or(o.Fission, drawVersion(rng))
	makes := gen.MakeDAG
	switch version {
	case fission.CIREVersion: // what is shared has to be at several cells
		makes = gen.MakeAlike
	case fission.InlineVersion: // what is computed anew has to have values at all cells
		makes = gen.MakeFaces
	}
	c, err := makes(seed)
	if err != nil {
		d.fail(err.Error())
		return d
	}
	d.source, d.program, d.set = c.Source, c.Program.In(d.mode), c.Sets[0]
	for _, call := range d.program.Calls {
		d.statements += len(call.Body)
	}
	if rng.IntN(5) == 0 {
		d.target = lower.CPU
	} else {
		d.target = lower.GPU
	}
	if err := d.divide(version, rng); err != nil {
		d.fail(err.Error())
		return d
	}
	if d.refused != "" {
		return d
	}
	b, list := d.made.Bind(d.set)
	if list.HasErrors() {
		d.fail("the version does not bind: " + list[0].Message)
		return d
	}
	if err := d.fuse(b, rng); err != nil {
		d.fail(err.Error())
		return d
	}
	if d.kind == "" {
		d.refused = cmp.Or(d.refused, "no set of calls was drawn")
		return d
	}
	d.refused = ""
	if reason := d.simulate(b); reason != "" {
		d.fail(reason)
	}
	return d
}

func (d *dagPair) fail(reason string) {
	target := "cpu"
	if d.target == lower.GPU {
		target = "gpu"
	}
	d.refused = ""
	d.failure = &Fault{Failure{Seed: d.seed, Mode: d.mode.String(), Plan: d.plan.String(), Set: d.set, Reason: reason,
		Source: d.source}, d.fission, target}
}

// drawVersion draws a version of a program; "" is the program as it is.
func drawVersion(rng *rand.Rand) string {
	names := fission.Names()
	if n := rng.IntN(2 * len(names)); n < len(names) {
		return names[n]
	}
	return ""
}

// divide makes a version of the program by fission; "" is the program as it is, in about half of all pairs.
func (d *dagPair) divide(version string, rng *rand.Rand) error {
	d.made = d.program
	switch version {
	case "":
		return nil
	case fission.StatementVersion:
		version = fmt.Sprintf("%s-%d", version, 2+rng.IntN(3))
	case fission.CIREVersion:
		if rng.IntN(2) == 0 {
			version += "-all" // what is not worth it, too
		}
	}
	v, err := fission.Make(version, diag.NewSource("dag.loom", d.source), d.mode)
	switch {
	case err != nil:
		return err
	case v == nil:
		d.refused = "fission: there is nothing to do for " + version
		return nil
	}
	p, list := lang.Load(v.Source)
	if list.HasErrors() {
		return errors.New(list[0].Message)
	}
	d.fission, d.made, d.kind = version, p.In(d.mode), fissionKind
	return nil
}

// families that carry out sets of calls, by target.
var setFamilies = map[lower.Target][]string{lower.CPU: {"wavefront"}, lower.GPU: {"planes", "overlap", "pipe"}}

// randomCalls is in how many pairs one has random kernels of single calls: others have the plainest, which take less
// time.
const randomCalls = 16

// fuse draws a plan: in most pairs with kernels of several calls.
func (d *dagPair) fuse(b *ir.Binding, rng *rand.Rand) error {
	o := lower.Options{Target: d.target, Bound: b, Sized: true} // simulate guards what comes of it
	sampler := &planSampler{options: o}
	var err error
	tile := [][]int64{{32}, {8, 32}, {4, 8, 32}}[len(d.made.Axes)-1]
	if rng.IntN(randomCalls) == 0 {
		if sampler, err = newPlanSampler(o, nil); err == nil {
			d.plan, err = sampler.plan(rng, tile, 0)
		}
	} else {
		o.Plan.Every = schedule.Config{Family: lower.Plain(d.target)}
		d.plan, err = lower.Plan(d.made, o)
	}
	if err != nil {
		return err
	}
	sampler.statements = 64
	if d.kind == fissionKind && rng.IntN(3) == 0 {
		return nil
	}
	kind := ""
	for _, l := range graph.Loops(d.made) {
		if rng.IntN(4) == 0 {
			kind = d.add(kind, wholeKind, sampler, l, tile, rng)
			continue
		}
		for _, set := range drawSets(d.made, l, rng) {
			l.Set = set
			of := setsKind
			if schedule.SetText(set) != fmt.Sprintf("%d:%d", set[0], set[len(set)-1]+1) {
				of = gapsKind
			}
			kind = d.add(kind, of, sampler, l, tile, rng)
		}
	}
	switch {
	case kind == "":
	case d.kind == fissionKind:
		d.kind = kind + alsoFission
	default:
		d.kind = kind
	}
	return nil
}

// add adds a kernel of a loop's calls to the plan, if there is one that can run. It returns what kind the plan has
// then.
func (d *dagPair) add(kind, of string, sampler *planSampler, l graph.Loop, tile []int64, rng *rand.Rand) string {
	families := setFamilies[d.target]
	first := rng.IntN(len(families))
	if len(l.Members()) == l.Leaves() {
		l.Set = nil // as the plan's text says it
	}
	for n := range families {
		family := families[(first+n)%len(families)]
		within := slices.Clone(tile)
		for range 3 {
			k, about, err := sampler.spanKernel(d.plan, l, 1, family, rng, within, 0)
			if err == nil {
				d.plan.Kernels = append(d.plan.Kernels, k)
				d.families = append(d.families, family)
				d.fused = max(d.fused, int(about.loop.Assignments()))
				if of == gapsKind || kind == "" {
					kind = of
				}
				return kind
			}
			d.refused = reasonOf(family, err)
			if !errors.Is(err, errTooMuch) && !exceedsResources(err) {
				break
			}
			within = halved(within, len(d.made.Axes))
		}
	}
	return kind
}

// names are those of grids, stencils and locals of random programs, and numbers.
var nameOrNumber = regexp.MustCompile(`\b([a-z]+[0-9][a-z0-9_.]*|[0-9]+)(\[[^]]*\])?`)

// reasonOf words why there is no kernel, without names.
func reasonOf(family string, err error) string {
	if r, ok := errors.AsType[*graph.Refusal](err); ok {
		return "fusion: " + r.Rule
	}
	if exceedsResources(err) {
		return "fusion: " + family + ": more than a block has"
	}
	return "fusion: " + family + ": " + nameOrNumber.ReplaceAllString(err.Error(), "...")
}

// drawSets draws sets of a loop's calls that may share a kernel each: pairs of sets are joined where that is possible.
func drawSets(p *ir.Program, l graph.Loop, rng *rand.Rand) [][]int {
	var sets [][]int
	for n, o := range l.Iterate.Body {
		if _, isCall := o.(*ir.Run); isCall {
			sets = append(sets, []int{n})
		}
	}
	for range 3 * len(sets) {
		if len(sets) < 2 || rng.IntN(3*len(l.Iterate.Body)) == 0 {
			break
		}
		x, y := rng.IntN(len(sets)), rng.IntN(len(sets))
		if x == y {
			continue
		}
		joined := l
		joined.Set = slices.Sorted(slices.Values(slices.Concat(sets[x], sets[y])))
		next := slices.Clone(sets)
		next[min(x, y)] = joined.Set
		next = slices.Delete(next, max(x, y), max(x, y)+1)
		if _, err := graph.Arrange(l, 1, next); err != nil {
			continue
		}
		if _, err := graph.NewSpan(p, joined, 1); err == nil {
			sets = next
		}
	}
	return slices.DeleteFunc(sets, func(set []int) bool {
		l.Set = set
		return l.Assignments() < 2
	})
}

// simulate runs the pair and returns what is wrong; "" for nothing.
func (d *dagPair) simulate(b *ir.Binding) string {
	was, list := d.program.Bind(d.set)
	if list.HasErrors() {
		return list[0].Message
	}
	want, err := expect(context.Background(), was, interp.NoBounds, d.seed, map[*ir.Grid]bool{}, 0)
	if err != nil {
		return err.Error()
	}
	o := lower.Options{Target: d.target, Bound: b, Sized: true, Guard: true, Plan: d.plan}
	if sharesTiles(d.plan) {
		o.Machine = smallMachine
	}
	m, err := lower.Program(b.Program, o)
	if err != nil {
		return err.Error()
	}
	for _, k := range m.Kernels {
		if err := kernel.Verify(k); err != nil {
			return fmt.Sprintf("verifier: %v", err)
		}
	}
	if d.spoil != nil {
		d.spoil(m)
	}
	data := map[*ir.Grid][]byte{} // what fission has added is random, too
	for i, g := range b.Program.Grids {
		if x := was.Program.Grid(g.Name); x != nil {
			data[g] = want.data[x]
			continue
		}
		cells := 1
		for _, n := range b.Shape(g.Dims) {
			cells *= n
		}
		data[g] = gen.Input(g.Type, cells, d.seed+uint64(1000+i))
	}
	s, err := sim.NewState(m, b, data, sim.Options{Steps: steps})
	if err != nil {
		return err.Error()
	}
	if err := s.Run(); err != nil {
		return fmt.Sprintf("simulator: %v", err)
	}
	for _, x := range m.Spans {
		if s.Carried(x) == 0 {
			return fmt.Sprintf("a span of %d iterations was not carried out", x.Depth)
		}
	}
	d.kernels, d.carried = len(m.Kernels), int(s.Spans())
	for _, g := range kept(m, b) {
		if was.Program.Grid(g.Name) == nil {
			continue
		}
		x, y := want.Grid(g.Name), s.Grid(g)
		for n := range x.Len() {
			if !agree(y.At(n).AsFloat(), x.At(n), 0, false) {
				return fmt.Sprintf("%s differs: cell %d is %v, should be %v", g.Name, n, y.At(n), x.At(n))
			}
			if !math.IsNaN(x.At(n)) { // else it proves nothing
				d.cells++
			}
		}
	}
	return ""
}
