package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// PlanOrigin says where a plan is from.
type PlanOrigin uint8

const (
	Usual    PlanOrigin = iota // families' defaults, and what the source fixes
	Chosen                     // the user's
	Stored                     // the fastest that the store knows
	Modelled                   // what a model expects to be the fastest
	Fallback                   // tried after another one has failed
)

// String names it.
func (o PlanOrigin) String() string {
	return [...]string{"usual", "chosen", "store", "model", "fallback"}[o]
}

// Job is a bound program on a device, with a plan. Its program has the device's
// arithmetic.
type Job struct {
	Bound    *ir.Binding
	Device   *Device
	Plan     schedule.Plan
	Version  string      // of the source that the program is made of, as plans name it; "" is the source as it is
	Whole    *ir.Binding // the program as it is, at the same sizes; nil if it is Bound
	Origin   PlanOrigin
	Next     []schedule.Plan // what a model expects to be fastest after its plan, the best first
	Left     []string        // what was left out of a plan from the store, and why
	Free     bool            // the plan need not keep to what the source fixes
	Deadline time.Duration   // for one launch; 0 is none
	NoGraphs bool            // every kernel is started by itself, also where many could start together
}

// Lowering returns the options that lower the program for the device. On the reference
// executor they have no meaning.
func (j *Job) Lowering() lower.Options {
	o := j.Device.Lowering(j.Bound, j.Plan)
	o.Free = j.Free
	return o
}

// Lower turns the program into the kernels that the device runs, and checks that there is
// memory for it: what cannot run is not compiled. Refusals have their reasons.
func (j *Job) Lower() (*kernel.Module, error) {
	o := j.Lowering()
	o.Advise = true
	m, err := lower.Program(j.Bound.Program, o)
	if err != nil {
		reason := verdict.Constraint
		if _, excess := errors.AsType[*lower.ResourceLimit](err); excess {
			reason = verdict.Resources
		}
		return nil, verdict.For(reason, BadPlan(j.Plan, err))
	}
	if err := j.Device.Cannot(m); err != nil {
		return nil, verdict.For(verdict.Constraint, BadPlan(j.Plan, err))
	}
	script, err := exec.NewScript(m, j.Bound)
	if err != nil {
		return nil, err
	}
	if err := script.Fits(j.Device.Target); err != nil {
		return nil, err
	}
	return m, memory.System("/").Check(script.Needs(j.Device.ID, false))
}

// Fits reports why the device cannot run the program, as far as that can be known
// in no time.
func (j *Job) Fits() error {
	if j.Device.Reference() {
		return nil // it allocates and begins at once, and checks that itself
	}
	_, err := j.Lower()
	return err
}

// PlanText returns the plan in full: every kernel with its configuration. It is empty
// on the reference executor, and for a plan that does not fit.
func (j *Job) PlanText() string {
	if j.Device.Reference() {
		return ""
	}
	p, err := lower.Plan(j.Bound.Program, j.Lowering())
	if err != nil {
		return "" // it would have been refused
	}
	return p.WithFission(j.Version).String()
}

// Hooks are called while a job is opened and run. Each may be nil.
type Hooks struct {
	Progress func(exec.Progress) // now and then while a Runner advances
	Note     func(string)        // with what the user should know
}

// Run is a program that was compiled and has memory.
type Run struct {
	exec.Runner
	Kernels []KernelUse // what its kernels take of a GPU
	Dropped []*ir.Grid  // that are left without the program's values: see kernel.Module.Dropped
}

// Open compiles the program, unless that was done before, and gives it memory.
func (j *Job) Open(ctx context.Context, h Hooks) (*Run, error) {
	if j.Device.Reference() {
		r, err := exec.OpenReference(j.Bound, exec.ReferenceOptions{Progress: h.Progress})
		if err != nil {
			return nil, err
		}
		return &Run{Runner: r}, nil
	}
	c, err := j.Compile(ctx, h)
	if err != nil {
		return nil, err
	}
	return c.Open(ctx, h)
}

// BadPlan words an error of lowering, which only a plan can bring about.
func BadPlan(plan schedule.Plan, err error) error {
	if plan.String() == "" {
		return err
	}
	if _, refused := errors.AsType[*graph.Refusal](err); refused { // which has a place
		return &Fault{Cause: Request, Option: "plan", Err: err}
	}
	if _, placed := errors.AsType[*lower.AtLoop](err); placed {
		return &Fault{Cause: Request, Option: "plan", Err: err}
	}
	return requestf("plan", "%s", strings.TrimPrefix(err.Error(), "plan: "))
}

// Alternatives returns plans that are worth trying when one has failed that the user has
// not chosen: after a model's those that it expects to be the next fastest, the usual plan, if it was one of the
// store or of a model, and on a GPU the plainest kernels, and those with smaller blocks. Each is another plan than the
// job's, and than those before it. The plainest do not keep to what the source fixes.
func (j *Job) Alternatives() []schedule.Plan {
	if j.Origin == Chosen || j.Device.Reference() {
		return nil
	}
	var texts []string
	seen := []string{j.PlanText()}
	if j.Origin == Stored || j.Origin == Modelled {
		for _, plan := range j.Next {
			texts = append(texts, plan.String())
		}
		usual := *j
		usual.Plan = schedule.Plan{}
		texts = append(texts, usual.PlanText())
	}
	if j.Device.Kind() == lower.GPU {
		texts = append(texts, "family=cells", "family=cells,block=4x32", "family=cells,block=64")
	}
	var list []schedule.Plan
	for _, text := range texts {
		p, err := schedule.ParsePlan(text)
		if err != nil {
			panic(err)
		}
		other := *j
		other.Plan, other.Free = p, true
		if full := other.PlanText(); full != "" && !slices.Contains(seen, full) {
			seen = append(seen, full)
			list = append(list, p)
		}
	}
	return list
}

// Blameful reports whether an error is the kernels' fault, which it is not if
// the machine could not just now: other kernels would fare no better.
func Blameful(err error) bool {
	_, failed := errors.AsType[*exec.Failure](err)
	switch verdict.Of(err) {
	case verdict.OK:
		return failed
	case verdict.Transient:
		return false
	}
	return true
}

// Compiled is a job whose kernels were compiled. It can be opened any number of times,
// and side by side.
type Compiled struct {
	job    Job
	module *kernel.Module
	binary string // the path of the compiled code
	kernel func([]exec.KernelUsage) []KernelUse
}

// Compile lowers and compiles the program, unless that was done before.
func (j *Job) Compile(ctx context.Context, h Hooks) (*Compiled, error) {
	m, err := j.Lower()
	if err != nil {
		return nil, err
	}
	if _, err := j.Device.compiler(ctx); err != nil {
		return nil, err
	}
	source := emit.Source(j.Device.Dialect, m)
	b, err := j.Device.Compile(ctx, source)
	if h.Note != nil {
		for _, text := range j.Device.Notes() {
			h.Note(text)
		}
	}
	if err != nil {
		if refused, ok := errors.AsType[leaver](err); ok {
			refused.Leave([]byte(source))
		}
		return nil, err
	}
	uses := func(used []exec.KernelUsage) []KernelUse { return kernelUses(used, b.Kernels, j.Device) }
	return &Compiled{job: *j, module: m, binary: b.Path, kernel: uses}, nil
}

// leaver is an error of a compiler that leaves the source where the user can look at it.
type leaver interface {
	error
	Leave(source []byte)
}

// Dropped returns the grids that the kernels leave without the program's values: they are no results.
func (c *Compiled) Dropped() []*ir.Grid { return c.module.Dropped() }

// Open gives the program memory.
func (c *Compiled) Open(ctx context.Context, h Hooks) (*Run, error) {
	j := &c.job
	r, err := exec.Open(ctx, c.module, j.Bound, exec.Options{
		Device: j.Device.ID, Image: c.binary, Deadline: j.Deadline, NoGraphs: j.NoGraphs, Progress: h.Progress,
	})
	if err != nil {
		return nil, err
	}
	return &Run{r, c.kernel(r.Usage()), c.Dropped()}, nil
}

// OpenLocal runs the program in this process, on memory of the caller for the grids that
// given names: see exec.OpenLocal.
func (c *Compiled) OpenLocal(ctx context.Context, h Hooks, given map[string][]byte) (*exec.Local, error) {
	j := &c.job
	return exec.OpenLocal(ctx, c.module, j.Bound, exec.Options{
		Device: j.Device.ID, Image: c.binary, NoGraphs: j.NoGraphs, Progress: h.Progress,
	}, given)
}
