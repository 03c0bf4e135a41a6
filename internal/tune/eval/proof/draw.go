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

// drawing draws random GPU plans of a program.
type drawing struct {
	forms   []form // the kernels with local grids stored, and fused
	options lower.Options
}

type form struct {
	every   schedule.Config
	kernels []schedule.Kernel
	each    [][]*schedule.Census // by kernel and family
}

// newDrawing prepares plans of a program that is lowered like this, for a
// device that lacks some capabilities.
func newDrawing(o lower.Options, lacks []machine.Capability) (*drawing, error) {
	o.Lacks = lacks
	d := &drawing{options: o}
	for _, word := range []string{"", lower.FusedGrids} {
		var f form
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
			f.each = append(f.each, d.censuses(c.Space))
		}
		d.forms = append(d.forms, f)
	}
	return d, nil
}

// known holds the censuses of families by their text: kernels of most programs
// have the same few spaces, and counting one takes as long as a simulation.
var known sync.Map

func (d *drawing) censuses(s schedule.Space) []*schedule.Census {
	usual := lower.Space(lower.GPU, d.options.Bound.Program.Axes)
	var list []*schedule.Census
	for _, f := range s.Families {
		space := schedule.Space{Families: []schedule.Family{f}}
		// Constraints are code: those that a source adds of its own have no text.
		if u := usual.Family(f.Name); u == nil || len(u.Constraints) != len(f.Constraints) {
			list = append(list, space.Census())
			continue
		}
		key := f.Name
		for _, p := range f.Params {
			key += fmt.Sprint(" ", p.Name, p.Values)
		}
		c, ok := known.Load(key)
		if !ok {
			c, _ = known.LoadOrStore(key, space.Census())
		}
		list = append(list, c.(*schedule.Census))
	}
	return list
}

const (
	plans   = 20  // that are drawn for one that can run
	configs = 200 // of a kernel that are drawn for one that is small enough
)

// plan draws a plan that can run, each family of a kernel as often as the
// others. If it can be had, tiles are not larger than the largest on each axis,
// and blocks have no more threads than there may be; nil and 0 for any.
func (d *drawing) plan(rng *rand.Rand, largest []int64, threads int64) (schedule.Plan, error) {
	for range plans {
		form := d.forms[rng.IntN(len(d.forms))]
		plan := schedule.Plan{Every: form.every}
		for i, k := range form.kernels {
			census := form.each[i][rng.IntN(len(form.each[i]))]
			k.Config = d.config(census, rng, largest, threads)
			plan.Kernels = append(plan.Kernels, k)
		}
		o := d.options
		o.Plan = plan
		m, err := lower.Program(o.Bound.Program, o)
		if excessive(err) || err == nil && spills(m) {
			continue
		}
		return plan, err
	}
	return lower.Plan(d.options.Bound.Program, d.options)
}

func threadsOf(c schedule.Config) int64 { return lower.ByRole(c).Int(schedule.Threads, 1) }

// spills reports whether a kernel is sure to spill: it would take a compiler and a
// device as long as many others, and show no more.
func spills(m *kernel.Module) bool {
	return slices.ContainsFunc(m.Kernels, func(k *kernel.Kernel) bool { return lower.Resources(k).Spills(usual.GPU) })
}

// usual is the GPU that kernels are for if nobody says otherwise.
var usual = func() *machine.Machine {
	m, err := machine.Builtin("h200")
	if err != nil {
		panic(err)
	}
	return m
}()

// excessive reports whether kernels are refused because they ask for more than
// a device has.
func excessive(err error) bool {
	_, ok := errors.AsType[*lower.Excess](err)
	return ok
}

// config draws a configuration that is small enough, or of many that are not
// the one that is nearest to it.
func (d *drawing) config(census *schedule.Census, rng *rand.Rand, largest []int64, threads int64) schedule.Config {
	var best schedule.Config
	least := math.Inf(1)
	for range configs {
		c := census.Draw(rng)
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

// unsized returns a plan for kernels that serve every size.
func unsized(p schedule.Plan) (other schedule.Plan, changed bool) {
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

// unconstant returns a configuration without constant memory, which kernels that
// serve every size do not have: the grids are loaded as others are.
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

// begun returns a plan without the kernels of the initial block, for devices
// whose grids are given their first contents.
func begun(p schedule.Plan, program *ir.Program) schedule.Plan {
	if program.Initial != nil {
		p.Kernels = slices.DeleteFunc(slices.Clone(p.Kernels), func(k schedule.Kernel) bool { return k.Stage == program.Initial.Name })
	}
	return p
}
