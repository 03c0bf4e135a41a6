package proof

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// planSampler draws random GPU plans of a program.
type planSampler struct {
	variants []fusionVariant // the kernels with local grids stored, and with them fused
	options  lower.Options
	full     bool // tiles do not become smaller to save work
	// statements is how many a kernel of several iterations or calls has at the most; 0 for mostStatements.
	statements int
}

type fusionVariant struct {
	every    schedule.Config
	kernels  []schedule.Kernel
	counters [][]*schedule.Counter // by kernel and family
}

// newPlanSampler makes a sampler of plans for a program with its options, on a device that lacks capabilities.
func newPlanSampler(o lower.Options, lacks []machine.Capability) (*planSampler, error) {
	o.Lacks = lacks
	d := &planSampler{options: o}
	for _, word := range []string{"", lower.FusedGrids} {
		var f fusionVariant
		o := d.options
		o.Plan = schedule.Plan{}
		if word != "" {
			o.Plan = lower.WithLocalGrids(o.Plan, word)
			f.every = o.Plan.Every
		}
		choices, err := lower.Choices(o.Bound.Program, o)
		if err != nil {
			if word != "" {
				continue // it has no local grids to fuse
			}
			return nil, err
		}
		for _, c := range choices {
			f.kernels = append(f.kernels, c.Kernel)
			f.counters = append(f.counters, d.spaceCounters(c.Space))
		}
		d.variants = append(d.variants, f)
	}
	return d, nil
}

// counterCache holds the space counters of families by their text. Kernels of most programs have the same few
// spaces, and counting one takes as long as a simulation.
var counterCache sync.Map

func (d *planSampler) spaceCounters(s schedule.Space) []*schedule.Counter {
	usual := lower.Space(lower.GPU, d.options.Bound.Program.Axes)
	var list []*schedule.Counter
	for _, f := range s.Families {
		space := schedule.Space{Families: []schedule.Family{f}}
		// Constraints are code without text, so families with further constraints are not cached.
		if u := usual.Family(f.Name); u == nil || len(u.Constraints) != len(f.Constraints) {
			list = append(list, space.Counter())
			continue
		}
		key := f.Name
		for _, p := range f.Params {
			key += fmt.Sprint(" ", p.Name, p.Values)
		}
		c, ok := counterCache.Load(key)
		if !ok {
			c, _ = counterCache.LoadOrStore(key, space.Counter())
		}
		list = append(list, c.(*schedule.Counter))
	}
	return list
}

const (
	plans   = 20  // attempts to draw a plan that can run
	configs = 200 // attempts to draw a small enough configuration
)

// plan draws a plan that can run, with equal chance for each family of a kernel. If possible, tiles are at most
// largest on each axis and blocks have at most so many threads; nil and 0 allow any.
func (d *planSampler) plan(rng *rand.Rand, largest []int64, threads int64) (schedule.Plan, error) {
	for range plans {
		variant := d.variants[rng.IntN(len(d.variants))]
		plan := schedule.Plan{Every: variant.every}
		for i, k := range variant.kernels {
			counter := variant.counters[i][rng.IntN(len(variant.counters[i]))]
			k.Config = d.config(counter, rng, largest, threads)
			plan.Kernels = append(plan.Kernels, k)
		}
		o := d.options
		o.Plan = plan
		m, err := lower.Program(o.Bound.Program, o)
		if exceedsResources(err) || err == nil && spills(m) {
			continue
		}
		return plan, err
	}
	return lower.Plan(d.options.Bound.Program, d.options)
}

func threadsOf(c schedule.Config) int64 { return lower.ByRole(c).Int(schedule.Threads, 1) }

// spills reports whether a kernel is sure to spill. Such a kernel takes a compiler and a device as long as many
// others, and proves no more.
func spills(m *kernel.Module) bool {
	return slices.ContainsFunc(m.Kernels,
		func(k *kernel.Kernel) bool { return lower.Resources(k).Spills(defaultMachine.GPU) })
}

// defaultMachine is the GPU that kernels are for by default.
var defaultMachine = func() *machine.Machine {
	m, err := machine.Builtin("h200")
	if err != nil {
		panic(err)
	}
	return m
}()

// smallMachine is that GPU with few multiprocessors, so that blocks that share all tiles of a small domain have
// several.
var smallMachine = func() *machine.Machine {
	m, gpu := *defaultMachine, *defaultMachine.GPU
	m.Units, m.GPU = 3, &gpu
	return &m
}()

// sharesTiles reports whether blocks of a plan's kernels share all tiles, and none wait for all others.
func sharesTiles(plan schedule.Plan) bool {
	shares := false
	for _, k := range plan.Kernels {
		set := lower.ByRole(k.Config)
		if set.Has(schedule.BlockWait) {
			return false
		}
		shares = shares || set.Int(schedule.PersistentBlocks, 0) > 0
	}
	return shares
}

// exceedsResources reports whether kernels are refused because they need more than a device has.
func exceedsResources(err error) bool {
	_, ok := errors.AsType[*lower.ResourceLimit](err)
	return ok
}

// config draws a small enough configuration, or the one nearest to that of many.
func (d *planSampler) config(counter *schedule.Counter, rng *rand.Rand, largest []int64, threads int64,
) schedule.Config {
	var best schedule.Config
	least := math.Inf(1)
	for range configs {
		c := counter.Draw(rng)
		beyond := 1.0
		if largest != nil {
			for axis, n := range tileOf(c, d.options.Bound.Program.Axes) {
				beyond *= max(1, float64(n)/float64(largest[axis]))
			}
		}
		if threads > 0 {
			beyond *= max(1, float64(threadsOf(c))/float64(threads))
		}
		if beyond < least {
			best, least = c, beyond
		}
		if beyond == 1 {
			break
		}
	}
	return best
}

// withSizeArguments returns the plan with kernels that take sizes as arguments, and whether it differs.
func withSizeArguments(p schedule.Plan) (other schedule.Plan, changed bool) {
	other = schedule.Plan{Every: p.Every}
	for _, k := range p.Kernels {
		if set := lower.ByRole(k.Config); set.Word(schedule.Sizes) == schedule.SizeLiterals {
			k.Config, changed = set.With(schedule.Sizes, schedule.Word(schedule.SizeArguments)), true
		}
		if c := unconstant(k.Config); !c.Equal(k.Config) {
			k.Config, changed = c, true
		}
		other.Kernels = append(other.Kernels, k)
	}
	return other, changed
}

// unconstant returns a configuration without constant memory, which kernels that take sizes as arguments do not
// have.
func unconstant(c schedule.Config) schedule.Config {
	constant, same := schedule.Word(schedule.ConstantLoads), schedule.Word(schedule.SameLoads)
	if set := lower.ByRole(c); set.Word(schedule.LoadPath) == schedule.ConstantLoads {
		c = set.With(schedule.LoadPath, schedule.Word(schedule.ReadOnlyLoads))
	}
	all, _ := lower.ByRole(c).Get(schedule.LoadPath)
	for _, s := range c.Values {
		own := lower.RoleOf(s.Name) == schedule.ArrayLoadPath
		if own && (s.Value.Equal(constant) || s.Value.Equal(all)) {
			c = c.With(s.Name, same)
		}
	}
	return c
}

// withoutInitial returns a plan without the kernels of the initial block, for devices whose grids are given their
// first contents.
func withoutInitial(p schedule.Plan, program *ir.Program) schedule.Plan {
	if program.Initial != nil {
		p.Kernels = slices.DeleteFunc(slices.Clone(p.Kernels),
			func(k schedule.Kernel) bool { return k.Call == program.Initial.Name })
	}
	return p
}
