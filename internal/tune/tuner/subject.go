package tuner

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// subject is a program with its sizes and the options to lower it for a device.
type subject struct {
	bound   *ir.Binding
	lab     measure.Lab
	about   measure.About
	options lower.Options // without the plan
	calls   []*tunedCall
	loops   []*tunedLoop
}

// tunedCall is one call of the program, or some iterations of a loop, which is compiled and measured by
// itself.
type tunedCall struct {
	*subject
	name       string
	ir         *ir.Call         // nil for iterations
	iterations *tunedIterations // nil for a call

	only   *ir.Program // the program with this call alone; grids swap and rotate as in the program
	bound  *ir.Binding // of only
	use    measure.Use
	points int64   // of its main domain
	runs   float64 // runs over those of the call that runs most often
	bytes  float64 // compulsory bytes per point

	plain        *measure.Code   // whose results others are compared with
	margins      measure.Margins // within which
	naiveMargins measure.Margins // and for naively compiled code
}

// newSubject splits a program into its calls, to measure them in a lab.
func newSubject(b *ir.Binding, lab measure.Lab, free bool) (*subject, error) {
	s, err := splitSubject(b, lab.About(), free)
	if err != nil {
		return nil, err
	}
	s.lab = lab
	return s, nil
}

// splitSubject splits a program into its calls.
func splitSubject(b *ir.Binding, about measure.About, free bool) (*subject, error) {
	s := &subject{bound: b, about: about, options: about.Target.Lowering(b, schedule.Plan{})}
	s.options.Free = free
	p := b.Program
	facts := analysis.Analyze(p, b)
	runs := runsOf(b)
	most := 0.0
	for _, n := range runs {
		most = max(most, n)
	}
	for _, call := range p.Calls {
		f := facts.Call(call)
		if runs[call] == 0 || f.Points == 0 {
			continue
		}
		bound := Alone(b, call)
		s.calls = append(s.calls, &tunedCall{
			subject: s, name: call.Name, ir: call, only: bound.Program, bound: bound, use: measure.UseOf(p, call),
			points: f.Points, runs: runs[call] / most, bytes: f.Traffic.Compulsory,
		})
	}
	if len(s.calls) == 0 {
		return nil, errors.New("there is nothing to tune: the program runs no call on any cell")
	}
	s.loops = s.loopsOf(most)
	return s, nil
}

// Alone returns the program with one call alone, as a search compiles it; grids swap and rotate as in the program.
func Alone(b *ir.Binding, call *ir.Call) *ir.Binding {
	only := *b.Program
	only.Calls, only.Initial, only.Body = []*ir.Call{call}, nil, with(b.Program.Body, call)
	bound := *b
	bound.Program = &only
	return &bound
}

// with returns the ops of a body that run a call, swap or rotate.
func with(body []ir.Op, call *ir.Call) []ir.Op {
	var out []ir.Op
	for _, o := range body {
		switch o := o.(type) {
		case *ir.Run:
			if o.Call == call {
				out = append(out, o)
			}
		case *ir.Iterate:
			inner := *o
			inner.Body = with(o.Body, call)
			out = append(out, &inner)
		default:
			out = append(out, o)
		}
	}
	return out
}

// mostRuns is the assumed number of iterations of a loop whose end depends on results.
const mostRuns = 100

// runsOf returns how often a program runs each call.
func runsOf(b *ir.Binding) map[*ir.Call]float64 {
	runs := map[*ir.Call]float64{}
	var visit func(body []ir.Op, times float64)
	visit = func(body []ir.Op, times float64) {
		for _, o := range body {
			switch o := o.(type) {
			case *ir.Run:
				runs[o.Call] += times
			case *ir.Iterate:
				visit(o.Body, times*iterations(b, o))
			}
		}
	}
	visit(b.Program.Body, 1)
	return runs
}

// Moved returns how many bytes the calls of a program load and store at least, over all of their runs: each run has
// every grid that it touches once.
func Moved(b *ir.Binding) float64 {
	facts := analysis.Analyze(b.Program, b)
	runs, sum := runsOf(b), 0.0
	for _, call := range b.Program.Calls {
		f := facts.Call(call)
		sum += runs[call] * f.Traffic.Compulsory * float64(f.Points)
	}
	return sum
}

// iterations returns how often a loop repeats, as far as that is known beforehand.
func iterations(b *ir.Binding, it *ir.Iterate) float64 {
	if it.Count == nil {
		return float64(max(1, min(it.Max, mostRuns)))
	}
	known := true
	ir.Walk(it.Count, func(e ir.Expr) {
		if s, ok := e.(ir.ScalarRef); ok && s.Scalar.Reduced {
			known = false
		}
	})
	if !known {
		return mostRuns
	}
	return float64(max(0, b.Eval(it.Count, 0).I))
}

// choices returns the kernels of a program with their spaces.
func (s *subject) choices(plan schedule.Plan) ([]lower.Choice, error) {
	o := s.options
	o.Plan = plan
	return lower.Choices(s.bound.Program, o)
}

// part returns what a plan says of a call.
func (call *tunedCall) part(p schedule.Plan) schedule.Plan {
	if call.iterations != nil {
		return call.iterations.part(p)
	}
	p.Kernels = slices.DeleteFunc(slices.Clone(p.Kernels),
		func(k schedule.Kernel) bool { return k.Call != call.ir.Name })
	if len(p.Kernels) > 0 {
		p.Every = schedule.Config{} // the plan's kernels have all settings
	}
	return p
}

// variant is a call with a plan, lowered and printed.
type variant struct {
	plan   schedule.Plan
	code   measure.Code // without its image
	source string
	key    string // equal for variants with the same code
	// registers is the least number that a thread needs, by the text.
	registers float64
}

// text returns the source to compile.
func (v *variant) text() measure.Text { return measure.Text{Name: v.code.Name, Source: v.source} }

// lowered lowers a call with a plan. A plan that makes lowering panic is refused like an illegal one, so
// that the search continues.
func (call *tunedCall) lowered(bound *ir.Binding, plan schedule.Plan) (v *variant, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = verdict.For(verdict.Constraint, fmt.Errorf("the plan breaks the compiler: %v", r))
		}
	}()
	o := call.options
	o.Plan, o.Bound = call.part(plan), bound
	m, err := lower.Program(bound.Program, o)
	if err != nil {
		return nil, constraint(err)
	}
	for _, k := range m.Kernels {
		if err := call.about.Target.Dialect.Lacks(k); err != nil {
			return nil, verdict.For(verdict.Constraint, err)
		}
	}
	script, err := exec.NewScript(m, bound)
	if err != nil {
		return nil, err
	}
	v = &variant{plan: plan, source: emit.Source(call.about.Target.Dialect, m)}
	v.code = measure.Code{Name: o.Plan.String(), Use: call.use, Scratch: script.Scratch, Kernels: script.Kernels}
	if err := call.launches(script, &v.code, len(m.Spans) > 0); err != nil {
		return nil, err
	}
	v.code.Rows, v.code.Phases = rowsOf(script)
	if call.about.Target.Kind() == lower.GPU {
		for _, k := range m.Kernels {
			v.registers = max(v.registers, float64(lower.Resources(k).Least))
		}
	}
	v.key = keyOf(v.source, v.code.Launches, v.code.Rows)
	if err := call.lab.Fits(script); err != nil {
		return v, verdict.For(verdict.Resources, err)
	}
	return v, nil
}

// launches sets what code launches for the call.
func (call *tunedCall) launches(script *exec.Script, code *measure.Code, spans bool) error {
	switch {
	case call.iterations != nil:
		return call.iterations.launches(script, code, spans)
	case len(script.Calls) != 1:
		return fmt.Errorf("call %s has become %d", call.name, len(script.Calls))
	}
	code.Launches, code.To = script.Calls[0].Launches, len(script.Calls[0].Launches)
	return nil
}

// constraint marks an error of lowering as a refusal: for lack of resources, or by a constraint.
func constraint(err error) error {
	reason := verdict.Constraint
	if _, ok := excess(err); ok {
		reason = verdict.Resources
	}
	return verdict.For(reason, &refused{strings.TrimPrefix(err.Error(), "plan: "), err})
}

// refused is an error of lowering without the words that suppose a plan given by the user.
type refused struct {
	text string
	err  error
}

// Error returns the text.
func (r *refused) Error() string { return r.text }

// Unwrap returns the cause.
func (r *refused) Unwrap() error { return r.err }

// excess returns the resource limit that a kernel exceeds.
func excess(err error) (*lower.ResourceLimit, bool) { return errors.AsType[*lower.ResourceLimit](err) }

// updates returns the cells that a program updates during one run of the call that runs most often.
func (s *subject) updates() float64 {
	n := 0.0
	for _, call := range s.calls {
		n += call.runs * float64(call.points)
	}
	return n
}

// traffic returns the compulsory bytes of these updates.
func (s *subject) traffic() float64 {
	n := 0.0
	for _, call := range s.calls {
		n += call.runs * float64(call.points) * call.bytes
	}
	return n
}

// plainly lowers the call with the plain kernels, without the hints of the source.
func (call *tunedCall) plainly(bound *ir.Binding, plan schedule.Plan) (*variant, error) {
	subject, free := *call.subject, *call
	subject.options.Free = true
	free.subject = &subject
	return free.lowered(bound, plan)
}
