package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// Options say what is profiled.
type Options struct {
	Lab      measure.Lab
	Bound    *ir.Binding
	Lowering lower.Options // with the plan
	// Budget is the time for timing one kernel with its variants; 0 is usualBudget.
	Budget time.Duration
	// Part is the kernel of the plan to profile, as in "heat[0:1]" or "body[0:2]@4"; "" is all of them.
	Part string
	// Roof is what is known of the device already; nil has it measured.
	Roof *Roof
	// Progress is told what is being done; it may be nil.
	Progress func(text string)
	// Count has the hardware count; nil if it cannot.
	Count Count
}

const (
	usualBudget  = 6 * time.Second
	mostRounds   = 15 // of a comparison
	fewestRounds = 5
	enoughRounds = 3 // where the time that there is for all of a profile is over
	// A span that repeats rounds of iterations is timed with so many iterations together.
	iterationsTogether = 64
)

// ErrNothing says that a program has no kernels to profile.
var ErrNothing = errors.New("there is nothing to profile: the program runs no kernel")

// Run profiles the kernels that a program launches again and again, or once. Hints are not among the results: see
// Advise. A deadline of ctx ends a profile that has some rounds with what it knows by then.
func Run(ctx context.Context, o Options) (*Profile, error) {
	if o.Budget == 0 {
		o.Budget = usualBudget
	}
	r, list, err := newRunner(o)
	if err != nil {
		return nil, err
	}
	if o.Part != "" {
		list = slices.DeleteFunc(list, func(s subject) bool {
			return r.part(s) != o.Part && s.launch.Part != o.Part
		})
		if len(list) == 0 {
			return nil, ErrNothing
		}
	}
	setting := measure.NewSetting("profile", o.Bound)
	if err := o.Lab.Arrange(ctx, setting); err != nil {
		return nil, err
	}
	plan, err := lower.Plan(o.Bound.Program, o.Lowering)
	if err != nil {
		return nil, err
	}
	r.profile = &Profile{Program: o.Bound.Program.Name, Plan: plan.String(), Sizes: map[string]int64{}, Device: r.about,
		Kernels: []*Kernel{}}
	for i, q := range o.Bound.Program.Params {
		r.profile.Sizes[q.Name] = o.Bound.Params[i]
	}
	for _, s := range list {
		r.tell("%s: compiling", s.launch.Kernel.Name)
		k, err := r.subject(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.launch.Kernel.Name, err)
		}
		r.profile.Kernels = append(r.profile.Kernels, k)
	}
	if o.Roof != nil {
		r.profile.Roof = *o.Roof
	} else {
		r.tell("measuring the device")
		err := r.roof(ctx)
		if late(ctx) {
			r.profile.Notes, err = append(r.profile.Notes, "there was no time to measure the device"), nil
		}
		if err != nil {
			return nil, err
		}
	}
	for _, k := range r.profile.Kernels {
		r.place(k)
	}
	if err := r.count(ctx, setting); err != nil {
		return nil, err
	}
	for _, k := range r.profile.Kernels {
		k.classify()
	}
	return r.profile, nil
}

// newRunner lowers a program, and lists what there is to profile.
func newRunner(o Options) (*runner, []subject, error) {
	m, err := lower.Program(o.Bound.Program, o.Lowering)
	if err != nil {
		return nil, nil, err
	}
	r := &runner{Options: o, module: m, about: o.Lab.About()}
	list, err := r.subjects()
	if err == nil && len(list) == 0 {
		err = ErrNothing
	}
	return r, list, err
}

// runner is a profile in the making.
type runner struct {
	Options
	module  *kernel.Module
	about   measure.About
	profile *Profile
	counts  []countable // by kernel of the profile
}

func (r *runner) tell(format string, args ...any) {
	if r.Progress != nil {
		r.Progress(fmt.Sprintf(format, args...))
	}
}

// subject is a launch to profile: the number of it among those of a call, or of a span.
type subject struct {
	call   *ir.Call
	span   *kernel.Span
	launch *kernel.Launch
	number int
	around *ir.Iterate // the innermost one that carries it out; nil if none
	loop   bool        // it is carried out again and again
}

// part is what plans call the kernel of a subject; "" if they do not name it.
func (r *runner) part(s subject) string {
	if s.span == nil {
		return s.launch.Part
	}
	return loopKernel(r.Bound.Program, s.span.Iterate, s.span.Depth)
}

// rounds is how many rounds of a span are timed together.
func (s *subject) rounds() int64 {
	if s.span == nil || !s.span.Repeats {
		return 1
	}
	return max(1, iterationsTogether/s.span.Depth)
}

// subjects lists the launches of the program's body: of a loop that a kernel of several iterations carries out those
// of its deepest one, and of others those of each call.
func (r *runner) subjects() ([]subject, error) {
	idle, err := exec.IdleSpans(r.module, r.Bound, 0)
	if err != nil {
		return nil, err
	}
	var list []subject
	seen := map[*ir.Call]bool{}
	var visit func(body []ir.Op, in *ir.Iterate, loop bool)
	visit = func(body []ir.Op, in *ir.Iterate, loop bool) {
		for _, o := range body {
			switch o := o.(type) {
			case *ir.Run:
				if seen[o.Call] {
					continue
				}
				seen[o.Call] = true
				for i, l := range r.module.Calls[o.Call] {
					list = append(list, subject{call: o.Call, launch: l, number: i, around: in, loop: loop})
				}
			case *ir.Iterate:
				i := slices.IndexFunc(r.module.Spans, func(s *kernel.Span) bool {
					return s.Iterate == o && !slices.ContainsFunc(idle,
						func(x exec.IdleSpan) bool { return x.Span == s })
				})
				if i < 0 {
					visit(o.Body, o, loop || !o.Sequence)
					continue
				}
				span := r.module.Spans[i]
				for n, l := range span.Launches {
					list = append(list, subject{span: span, launch: l, number: n, around: o, loop: loop || !o.Sequence})
				}
			}
		}
	}
	visit(r.Bound.Program.Body, nil, false)
	return list, nil
}

// contender is a kernel, or a variant of it, with the times of its rounds.
type contender struct {
	code  measure.Code
	times []float64
	err   error
}

// subject measures a launch and its variants.
func (r *runner) subject(ctx context.Context, s subject) (*Kernel, error) {
	k := &Kernel{Name: s.launch.Kernel.Name, Part: r.part(s), Depth: 1, Loop: s.loop, Levels: []Level{},
		Variants: []Variant{}, Evidence: []string{}}
	if s.span != nil {
		k.Depth = s.span.Depth
	}
	k.Grids = r.grids(s.launch)
	args := s.launch.Sizes(r.Bound.Params, 0, s.rounds())
	around := r.surroundings(s)
	base := &contender{}
	list := []*contender{base}
	kernels := []*kernel.Kernel{s.launch.Kernel}
	of := []int{} // the variant of each contender after the first
	for i := range kernel.Differences {
		d := &kernel.Differences[i]
		v := Variant{Without: d.Name, Removes: d.Removes}
		made, err := d.Make(s.launch.Kernel, around)
		if err == nil {
			err = kernel.Verify(made)
		}
		if err == nil {
			err = r.about.Target.Dialect.Lacks(made)
		}
		if err != nil {
			v.Absent = err.Error()
		} else {
			named := *made
			named.Name += "_without_" + d.Name
			list, kernels, of = append(list, &contender{}), append(kernels, &named), append(of, len(k.Variants))
		}
		k.Variants = append(k.Variants, v)
	}
	made, err := r.compile(ctx, s, kernels, list)
	if err != nil {
		return nil, err
	}
	r.resources(k, s, made)
	inCache := kernel.Footprint(s.launch.Kernel, args) <= around.LastBytes
	r.counts = append(r.counts, countable{base.code, inCache})
	r.tell("%s: timing it and %s", k.Name, quantity.Count(len(list)-1, "variant"))
	if err := r.time(ctx, list); err != nil {
		return nil, err
	}
	k.Rounds = len(base.times)
	k.Seconds, k.Interval = measure.Typical(base.times)
	for i, c := range list[1:] {
		v := &k.Variants[of[i]]
		if c.err != nil {
			v.Absent = "it failed: " + c.err.Error()
			continue
		}
		v.Seconds, _ = measure.Typical(c.times)
		v.Gain, v.Interval = measure.Ratio(base.times, c.times)
	}
	r.issued(k, s)
	t, err := TallyOf(s.launch.Kernel, args)
	if err != nil {
		k.Uncounted, k.Type = err.Error(), types.F64.String()
		return k, nil
	}
	level, once := DRAM, "each element of its grids once"
	if inCache {
		level, once = L2, once+"; the last cache keeps them"
	}
	k.tallied(t, float64(s.rounds()), Level{Level: level, Bytes: t.Once, From: once, AtLeast: true})
	return k, nil
}

// tallied sets what was counted on a kernel, of one round. The level that its grids come from is given: a round reads
// and writes them once, however many there are.
func (k *Kernel) tallied(t *Tally, rounds float64, source Level) {
	elem, flops := t.Type()
	k.Type, k.Flops = elem.String(), flops/rounds
	const counted = "counted on the kernel"
	k.Levels = append(k.Levels, source, Level{Level: L1, Bytes: (t.Loaded + t.Stored) / rounds, From: counted})
	if t.Shared > 0 {
		k.Levels = append(k.Levels, Level{Level: Shared, Bytes: t.Shared / rounds, From: counted})
	}
}

// late reports whether the time for all of a profile is over: what is known by then has to do. The user's interrupt is
// something else.
func late(ctx context.Context) bool { return errors.Is(ctx.Err(), context.DeadlineExceeded) }

// time times batches of all in turn, until the budget is spent.
func (r *runner) time(ctx context.Context, list []*contender) error {
	end := time.Now().Add(r.Budget)
	for round := range mostRounds {
		if round >= fewestRounds && time.Now().After(end) {
			break
		}
		for i := range list {
			c := list[(i+round)%len(list)]
			if c.err != nil {
				continue
			}
			s, err := r.Lab.Batch(ctx, c.code, r.about.Least)
			if late(ctx) && round >= enoughRounds {
				for _, c := range list {
					c.times = c.times[:min(round, len(c.times))]
				}
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil && c == list[0] {
				return err
			}
			if c.err = err; err == nil {
				c.times = append(c.times, s)
			}
		}
	}
	return nil
}

const (
	nearBytes    = 16 << 10 // that the first cache keeps beside what kernels have in shared memory
	unknownCache = 32 << 20 // of a device that does not tell the size of its cache
)

// surroundings is where a launch runs. Half of the last cache is left to what comes and goes.
func (r *runner) surroundings(s subject) kernel.Surroundings {
	last := r.about.CacheBytes
	if last == 0 {
		last = unknownCache
	}
	return kernel.Surroundings{
		Arguments: s.launch.Sizes(r.Bound.Params, 0, s.rounds()), LastBytes: last / 2, NearBytes: nearBytes,
		Team: team(r.about),
	}
}

// loopKernel returns what plans call a kernel of so many iterations of a loop; "" of an iterate that is no loop for
// plans.
func loopKernel(p *ir.Program, it *ir.Iterate, depth int64) string {
	for _, l := range graph.Loops(p) {
		if l.Iterate == it {
			return schedule.Kernel{Call: l.Name, To: l.Leaves(), Depth: int(depth)}.ID()
		}
	}
	return ""
}

// grids lists the grids of a launch, the largest first.
func (r *runner) grids(l *kernel.Launch) []string {
	list, cells := []string{}, map[string]int64{}
	for _, a := range l.Args {
		g, ok := a.(kernel.GridArg)
		if !ok || slices.Contains(list, g.Grid.Name) {
			continue
		}
		n := int64(g.Grid.Type.Size())
		for _, extent := range r.Bound.Shape(g.Grid.Dims) {
			n *= int64(extent)
		}
		list, cells[g.Grid.Name] = append(list, g.Grid.Name), n
	}
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(cells[b], cells[a]) })
	return list
}
