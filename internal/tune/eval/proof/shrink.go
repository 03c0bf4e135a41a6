package proof

import (
	"context"
	"fmt"
	"time"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// patience is how long a failure is made smaller.
const patience = time.Minute

// shrink makes a failure's program smaller as long as it fails with its plan,
// kernel by kernel in order, at its sizes.
func (p *pair) shrink(ctx context.Context, f *Failure) {
	until := time.Now().Add(patience)
	most := int64(4 * mostUpdates)
	for _, z := range p.sizes { // no text may do more than the one that failed
		most = max(most, p.work(z.bound))
	}
	try := func(source string) (other Failure, failed bool) {
		defer func() {
			if r := recover(); r != nil {
				other.Source, other.Set = source, f.Set
				other.Reason, failed = fmt.Sprintf("panic: %v", r), true
			}
		}()
		program, list := lang.Load(diag.NewSource("small.loom", source))
		if list.HasErrors() {
			return other, false
		}
		set := map[string]string{}
		for _, q := range program.Params {
			if v, ok := f.Set[q.Name]; ok {
				set[q.Name] = v
			}
		}
		for _, s := range program.Scalars {
			if v, ok := f.Set[s.Name]; ok {
				set[s.Name] = v
			}
		}
		b, list := program.In(p.mode).Bind(set)
		if list.HasErrors() || p.work(b) > most {
			return other, false
		}
		plan, ok := p.planFor(p.lowering(b))
		if !ok {
			return other, false
		}
		small := *p
		small.source, small.plan = source, plan
		reason := small.simulate(ctx, sizes{set: set, bound: b}, &pairResult{})
		return small.failure(set, reason), reason != ""
	}
	gen.Shrink(f.Source, func(source string) bool {
		if ctx.Err() != nil || time.Now().After(until) {
			return false
		}
		smaller, failed := try(source)
		if failed && smaller.Plan != "" {
			*f = smaller
		}
		return failed
	})
}

// work counts the cells that a program updates with the pair's plan, roughly.
func (p *pair) work(b *ir.Binding) int64 {
	return (&sizing{}).work(b, tilesOf(p.plan, b.Program.Axes))
}

// planFor gives the kernels of another program the configurations of the
// pair's plan: those that are at the same statements, else any that fits.
func (p *pair) planFor(o lower.Options) (schedule.Plan, bool) {
	o.Plan = schedule.Plan{Every: p.plan.Every}
	choices, err := lower.Choices(o.Bound.Program, o)
	if err != nil {
		o.Plan = schedule.Plan{}
		if choices, err = lower.Choices(o.Bound.Program, o); err != nil {
			return o.Plan, false
		}
	}
	for _, c := range choices {
		k := c.Kernel
		for _, from := range p.plan.Kernels {
			config, err := c.Space.Complete(from.Config)
			if err != nil {
				continue
			}
			k.Config = config
			if from.Call == k.Call && from.From == k.From {
				break
			}
		}
		o.Plan.Kernels = append(o.Plan.Kernels, k)
	}
	o.Plan.Kernels = append(o.Plan.Kernels, p.spansFor(o)...)
	return o.Plan, true
}
