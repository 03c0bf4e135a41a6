package proof

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

const (
	mostDepth      = 8
	spanTries      = 12 // to draw a configuration that can run
	mostExtra      = 48 // times that a cell is computed, else simulations take too long
	mostStatements = 48 // of a kernel, in all its iterations: compilers of others judge some
)

// A wish is what a pair looks for: programs are drawn until one allows it.
type wish struct {
	family   string // that is tried first; "" for any
	lateRims bool   // its rims can be put in place late
}

// wishes are those of pairs, by their seeds: pipe and planes in two of seven pairs, resident in one. Any family comes
// for the others, and where no configuration can run.
var wishes = []wish{
	{family: "pipe"}, {family: "resident"}, {family: "planes"}, {},
	{family: "pipe", lateRims: true}, {family: "planes"}, {},
}

// wish returns what the pair looks for.
func (p *pair) wish() wish {
	if p.opencl { // it has no shuffles, which these families need
		return wish{}
	}
	return wishes[p.seed%uint64(len(wishes))]
}

// withSpans adds kernels of several iterations to the pair's plan, for most loops that allow
// it. Depths and tiles become smaller until the kernels can run.
func (d *planSampler) withSpans(p *pair, rng *rand.Rand, largest []int64, threads int64,
) (schedule.Plan, []spanned) {
	plan := p.plan
	var list []spanned
	wish := p.wish().family
	loops := graph.Loops(d.options.Bound.Program)
	for i, l := range loops {
		if rng.IntN(6) == 0 && (i+1 < len(loops) || len(list) > 0) {
			continue
		}
		k, about, ok := d.drawSpan(plan, l, wish, rng, largest, threads)
		if !ok && wish != "" {
			k, about, ok = d.drawSpan(plan, l, "", rng, largest, threads)
		}
		if ok {
			plan.Kernels = append(slices.Clone(plan.Kernels), k)
			list = append(list, about)
		}
	}
	return plan, list
}

// drawSpan draws a kernel of a loop's iterations of a family, "" for any.
func (d *planSampler) drawSpan(plan schedule.Plan, l graph.Loop, family string, rng *rand.Rand, largest []int64,
	threads int64) (schedule.Kernel, spanned, bool) {
	depth := drawDepth(l, rng)
	least := min(depth, 2)
	within := slices.Clone(largest)
	for try := range spanTries {
		if try > 0 {
			depth = max(least, depth-1)
		}
		if try > 1 && !d.full {
			within = halved(within, len(d.options.Bound.Program.Axes))
		}
		k, about, err := d.spanKernel(plan, l, depth, family, rng, within, threads)
		if err == nil {
			return k, about, true
		}
		if _, ok := errors.AsType[*graph.Refusal](err); ok && try == 0 {
			depth += 2 // an exchange may make some depths impossible
		}
		if errors.Is(err, errNotAllowed) || l.Iterate.Sequence && depth > 1 {
			break
		}
	}
	return schedule.Kernel{}, spanned{}, false
}

// drawDepth draws how many iterations a kernel of a loop has: small numbers more often than others, and 1 only where an
// iteration has several statements. A sequence has one.
func drawDepth(l graph.Loop, rng *rand.Rand) int {
	if l.Iterate.Sequence || l.Assignments() > 1 && rng.IntN(5) == 0 {
		return 1
	}
	return 2 + min(rng.IntN(mostDepth-1), rng.IntN(mostDepth-1))
}

// halved returns smaller tiles.
func halved(tile []int64, rank int) []int64 {
	if tile == nil {
		tile = slices.Repeat([]int64{32}, rank)
	}
	tile = slices.Clone(tile)
	for i := range tile {
		tile[i] = max(1, tile[i]/2)
	}
	return tile
}

var (
	errTooMuch    = errors.New("it computes too much for a simulation")
	errNotAllowed = errors.New("the loop does not allow the family")
)

// spanKernel draws a kernel of a number of iterations that can run beside those of a plan.
func (d *planSampler) spanKernel(plan schedule.Plan, l graph.Loop, depth int, family string, rng *rand.Rand,
	largest []int64, threads int64) (schedule.Kernel, spanned, error) {
	about := spanned{loop: l, depth: int64(depth)}
	program := d.options.Bound.Program
	choice, err := lower.SpanChoice(program, d.options, l, depth)
	if err != nil {
		return choice.Kernel, about, err
	}
	if family != "" {
		f := choice.Space.Family(family)
		if f == nil {
			return choice.Kernel, about, errNotAllowed
		}
		choice.Space.Families = []schedule.Family{*f}
	}
	counters := d.spaceCounters(choice.Space)
	k := choice.Kernel
	k.Config = d.config(counters[rng.IntN(len(counters))], rng, largest, threads)
	about.repeats = lower.Repeats(k.Config.Family)
	span, err := graph.NewSpan(program, l, int64(depth))
	if err != nil {
		return k, about, err
	}
	pl, err := pipeline.New(span)
	if err != nil {
		return k, about, err
	}
	about.after = span.After
	about.extra = overlap(pl, k.Config, program.Axes)
	if about.extra > mostExtra || len(pl.Stages) > cmp.Or(d.statements, mostStatements) {
		return k, about, errTooMuch
	}
	o := d.options
	o.Plan = schedule.Plan{Every: plan.Every, Kernels: append(slices.Clone(plan.Kernels), k)}
	m, err := lower.Program(program, o)
	if err == nil && spills(m) {
		err = errTooMuch
	}
	if err != nil && !exceedsResources(err) && !errors.Is(err, errTooMuch) {
		err = nil // it is a failure, which simulate reports
	}
	return k, about, err
}

// overlap returns how often a cell is computed for each stage of a pipeline with a configuration.
func overlap(p *pipeline.Pipeline, c schedule.Config, axes []string) float64 {
	tile, set := tileOf(c, axes), lower.ByRole(c)
	shape := set.Shape(axes)
	within := !set.Has(schedule.Tile) // threads stand on the halo, too
	all, own := 0.0, 0.0
	for _, st := range p.Stages {
		cells, mine := 1.0, 1.0
		for k, axis := range p.Axes {
			n, halo := float64(tile[axis]), st.Halo[k]
			switch {
			case axis == shape.Stream && shape.Length == 0: // the whole axis
			case within && axis != shape.Stream:
				first := p.Stages[0].Halo[k]
				mine *= max(1, n-float64(first.Low+first.High))
				cells *= n
			default:
				mine *= n
				cells *= n + float64(halo.Low+halo.High)
			}
		}
		all, own = all+cells, own+mine
	}
	return all / own
}
