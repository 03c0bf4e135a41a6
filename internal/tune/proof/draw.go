package proof

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/ir"
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

// newDrawing prepares plans for a device that lacks some capabilities.
func newDrawing(b *ir.Binding, lacks []machine.Capability) (*drawing, error) {
	d := &drawing{options: lower.Options{Target: lower.GPU, Bound: b, Sized: true, Lacks: lacks}}
	for _, word := range []string{"", "fused"} {
		var f form
		if word != "" {
			f.every = f.every.With("local", schedule.Word(word))
		}
		o := d.options
		o.Plan = schedule.Plan{Every: f.every}
		choices, err := lower.Choices(b.Program, o)
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

// known holds the censuses of families by what tells spaces apart: kernels of
// most programs have the same few spaces.
var known sync.Map

func (d *drawing) censuses(s schedule.Space) []*schedule.Census {
	var list []*schedule.Census
	for _, f := range s.Families {
		key := fmt.Sprint(f.Name, d.options.Lacks)
		for _, p := range f.Params {
			key += fmt.Sprint(p.Name, p.Default, len(p.Values))
			if p.Name == "stream" {
				key += fmt.Sprint(p.Values)
			}
		}
		c, ok := known.Load(key)
		if !ok {
			c, _ = known.LoadOrStore(key, schedule.Space{Families: []schedule.Family{f}}.Census())
		}
		list = append(list, c.(*schedule.Census))
	}
	return list
}

const (
	plans   = 20 // that are drawn for one that can run
	configs = 30 // of a kernel that are drawn for one whose tile is small
)

// plan draws a plan that can run, each family of a kernel as often as the
// others. Tiles are not larger than the largest on each axis, if there are
// such.
func (d *drawing) plan(rng *rand.Rand, largest []int64) (schedule.Plan, error) {
	for range plans {
		form := d.forms[rng.IntN(len(d.forms))]
		plan := schedule.Plan{Every: form.every}
		for i, k := range form.kernels {
			census := form.each[i][rng.IntN(len(form.each[i]))]
			for range configs {
				k.Config = census.Draw(rng)
				if largest == nil || within(tileOf(k.Config, d.options.Bound.Program.Axes), largest) {
					break
				}
			}
			plan.Kernels = append(plan.Kernels, k)
		}
		o := d.options
		o.Plan = plan
		_, err := lower.Program(o.Bound.Program, o)
		if _, ok := errors.AsType[*lower.Excess](err); ok {
			continue // more shared memory than a block has
		}
		return plan, err
	}
	return lower.Plan(d.options.Bound.Program, d.options)
}

func within(tile, largest []int64) bool {
	for axis, n := range tile {
		if n > largest[axis] {
			return false
		}
	}
	return true
}

// unsized returns a plan for kernels that serve every size.
func unsized(p schedule.Plan) (other schedule.Plan, changed bool) {
	other = schedule.Plan{Every: p.Every}
	for _, k := range p.Kernels {
		if k.Config.Has("sizes") && k.Config.Word("sizes") == "baked" {
			k.Config = k.Config.With("sizes", schedule.Word("args"))
			changed = true
		}
		other.Kernels = append(other.Kernels, k)
	}
	return other, changed
}
