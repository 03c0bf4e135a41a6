package tuner

import (
	"context"
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/deep"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// Iterations of a loop are compiled and measured by themselves, as calls are. To check a span, it is carried
// out twice, so that the second reads what the first has stored to spares, and then so many iterations follow
// that all grids are defined. Where a family repeats rounds of them, its first launch has about as many as one of the
// loop, and its time is divided by them; other families carry out as many spans. All grids that the loop touches hold
// random numbers at first, each its own, and all are compared with what plain kernels leave that carry out the same
// iterations one by one. The first span is timed.

// mostTogether is how many iterations all rounds of the first launch have at the most.
const mostTogether = 256

// tunedLoop is an innermost loop of the program that runs, or a set of its calls.
type tunedLoop struct {
	graph.Loop
	program    *ir.Program
	calls      []*tunedCall // that an iteration runs, in order
	count      int64        // iterations of one execution, as far as that is known
	executions float64      // over the runs of the call that runs most often
	points     int64        // that an iteration updates

	only *ir.Program // the program with this loop alone; grids swap and rotate as in the program
	here graph.Loop  // the loop in only, which has the calls of the set alone
	use  measure.Use
	sets []*tunedLoop // of its calls, which are searched as well; at most one is in a set
}

// tunedIterations is a number of iterations of a loop that share a kernel, or one by kernels of its own.
type tunedIterations struct {
	*tunedLoop
	depth, after int64
	rounds       int64 // of the launch that is timed, if it repeats them; 1 if no family does
	plain        bool  // by kernels of its own
}

// checked is how many iterations a check carries out.
func (n *tunedIterations) checked() int64 { return (n.rounds+1)*n.depth + n.after }

// version is the iterations in a kernel, which takes so many seconds.
func (n *tunedIterations) version(seconds float64) deep.Version {
	return deep.Version{Depth: n.depth, After: n.after, Seconds: seconds, Fused: n.depth == 1}
}

// repeat says that a family may repeat rounds of the iterations.
func (n *tunedIterations) repeat() {
	n.rounds = max(1, min((n.count-n.after)/n.depth, mostTogether/n.depth, kernel.MostRounds))
}

// loopsOf returns the innermost loops of a program that run.
func (s *subject) loopsOf(most float64) []*tunedLoop {
	var list []*tunedLoop
	p := s.bound.Program
	executions := executionsOf(s.bound)
	for _, l := range graph.Loops(p) {
		loop := s.newLoop(l, int64(iterations(s.bound, l.Iterate)), executions[l.Iterate]/most)
		if len(loop.calls) > 0 && loop.count > 0 {
			list = append(list, loop)
		}
	}
	return list
}

func (s *subject) newLoop(l graph.Loop, count int64, executions float64) *tunedLoop {
	p := s.bound.Program
	loop := &tunedLoop{Loop: l, program: p, count: count, executions: executions}
	for _, o := range l.Body() {
		run, ok := o.(*ir.Run)
		if !ok {
			continue
		}
		if i := slices.IndexFunc(s.calls, func(c *tunedCall) bool { return c.ir == run.Call }); i >= 0 {
			loop.calls = append(loop.calls, s.calls[i])
			loop.points += s.calls[i].points
		}
	}
	own := l.Iterate
	if l.Set != nil {
		some := *l.Iterate
		some.Body, some.Temporary = l.Body(), l.Temporary()
		own = &some
	}
	only := *p
	only.Calls, only.Initial, only.Body = callsOf(l), nil, withLoop(p.Body, l, own)
	loop.only = &only
	for _, here := range graph.Loops(&only) {
		if here.Iterate == own {
			loop.here = here
		}
	}
	loop.use = loop.uses(p)
	return loop
}

// setOf returns a set of the loop's calls as a loop, of which there may be one already.
func (l *tunedLoop) setOf(s *subject, set []int) *tunedLoop {
	for _, x := range l.sets {
		if slices.Equal(x.Set, set) {
			return x
		}
	}
	some := l.Loop
	some.Set = set
	x := s.newLoop(some, l.count, l.executions)
	l.sets = append(l.sets, x)
	return x
}

// loopOf returns the loop, or the set of calls of one, that a kernel of a plan is of; nil if that never runs, or is
// none.
func (s *subject) loopOf(k schedule.Kernel) *tunedLoop {
	i := slices.IndexFunc(s.loops, func(l *tunedLoop) bool { return l.Name == k.Call })
	switch {
	case i < 0:
		return nil
	case s.loops[i].place() == k.Name():
		return s.loops[i]
	}
	members := k.Members()
	if members[len(members)-1] >= s.loops[i].Leaves() {
		return nil
	}
	return s.loops[i].setOf(s, members)
}

// once reports whether a kernel has one iteration of it at most: of calls outside of loops, and of sets.
func (l *tunedLoop) once() bool { return l.Iterate.Sequence || l.Set != nil }

// callsOf returns the calls of a loop, each once.
func callsOf(l graph.Loop) []*ir.Call {
	var list []*ir.Call
	for _, o := range l.Body() {
		if run, ok := o.(*ir.Run); ok && !slices.Contains(list, run.Call) {
			list = append(list, run.Call)
		}
	}
	return list
}

// withLoop returns the ops of a body that are of one loop, swap or rotate. Own takes the place of the loop, of which it
// may have a part.
func withLoop(body []ir.Op, only graph.Loop, own *ir.Iterate) []ir.Op {
	var out []ir.Op
	for _, o := range body {
		switch o := o.(type) {
		case *ir.Run:
		case *ir.Iterate:
			if o != only.Iterate {
				inner := *o
				inner.Body = withLoop(o.Body, only, own)
				out = append(out, &inner)
				continue
			}
			out = append(out, own)
			for n, x := range o.Body {
				if _, isRotation := x.(*ir.Rotate); isRotation && !slices.Contains(only.Members(), n) {
					out = append(out, x)
				}
			}
		default:
			out = append(out, o)
		}
	}
	return out
}

// uses returns how iterations use the memory of the program: what they write holds something before, since
// parts of it may stay as they were.
func (l *tunedLoop) uses(p *ir.Program) measure.Use {
	u := measure.Use{Reads: make([]bool, len(p.Grids)), Writes: make([]bool, len(p.Grids))}
	for _, o := range l.here.Iterate.Body {
		switch o := o.(type) {
		case *ir.Run:
			call := measure.UseOf(p, o.Call)
			for i := range p.Grids {
				u.Reads[i] = u.Reads[i] || call.Reads[i] || call.Writes[i]
				u.Writes[i] = u.Writes[i] || call.Writes[i]
			}
		case *ir.Rotate:
			for _, g := range o.Grids {
				i := slices.Index(p.Grids, g)
				u.Reads[i], u.Writes[i] = true, true
			}
		}
	}
	for _, g := range l.here.Iterate.Temporary {
		if u.Drops == nil {
			u.Drops = make([]bool, len(p.Grids))
		}
		i := slices.Index(p.Grids, g)
		u.Drops[i], u.Writes[i] = true, false
	}
	return u
}

// executionsOf returns how often a program executes each loop.
func executionsOf(b *ir.Binding) map[*ir.Iterate]float64 {
	n := map[*ir.Iterate]float64{}
	var visit func(body []ir.Op, times float64)
	visit = func(body []ir.Op, times float64) {
		for _, o := range body {
			if it, ok := o.(*ir.Iterate); ok {
				n[it] += times
				visit(it.Body, times*iterations(b, it))
			}
		}
	}
	visit(b.Program.Body, 1)
	return n
}

// span returns so many iterations of a loop as what is compiled and measured by itself.
func (l *tunedLoop) span(s *subject, depth, after int64) *tunedCall {
	bound := *s.bound
	bound.Program = l.only
	return &tunedCall{
		subject: s, name: l.id(depth), only: l.only, bound: &bound, use: l.use, points: depth * l.points,
		iterations: &tunedIterations{l, depth, after, 1, false},
	}
}

// alone returns an iteration by kernels of its own, likewise. Its name is not that of a kernel.
func (l *tunedLoop) alone(s *subject) *tunedCall {
	call := l.span(s, 1, 0)
	call.name, call.iterations.plain = "an iteration of "+l.Name, true
	if l.Set != nil {
		call.name = "an iteration of " + l.place()
	}
	return call
}

// depths returns those of a list that the loop may have; before them 1, where an iteration has several statements.
func (l *tunedLoop) depths(list []int64, most int) []int64 {
	switch {
	case l.once():
		list = []int64{1}
	case l.Assignments() > 1:
		list = slices.Concat([]int64{1}, list)
	}
	return slices.DeleteFunc(slices.Clone(list), func(d int64) bool { return most > 0 && d > int64(most) })
}

// after returns how many iterations have to follow so many that share a kernel; an error if so many do not fit.
func (l *tunedLoop) after(depth int64) (int64, error) {
	span, err := graph.NewSpan(l.program, l.Loop, depth)
	if err != nil {
		return 0, err
	}
	if depth+span.After <= l.count {
		return span.After, nil
	}
	return 0, l.tooFew(depth, span.After)
}

// tooFew says that so many iterations in a kernel never fit in the loop.
func (l *tunedLoop) tooFew(depth, after int64) error {
	text := fmt.Sprintf("a kernel of %d iterations", depth)
	if after > 0 {
		text += fmt.Sprintf(" and %d after it", after)
	}
	return fmt.Errorf("%s: the loop has %s", text, quantity.Count(l.count, "iteration"))
}

// id is that of a kernel of so many iterations.
func (l *tunedLoop) id(depth int64) string { return l.kernel(depth, schedule.Config{}).ID() }

// kernel returns the kernel of so many iterations with a configuration.
func (l *tunedLoop) kernel(depth int64, c schedule.Config) schedule.Kernel {
	return lower.KernelOf(l.Loop, int(depth), c)
}

// place names the loop, or the set of its calls, as plans do: body[0:2].
func (l *tunedLoop) place() string { return l.kernel(1, schedule.Config{}).Name() }

// part returns what a plan says of the iterations.
func (n *tunedIterations) part(p schedule.Plan) schedule.Plan {
	var kernels []schedule.Kernel
	for _, k := range p.Kernels {
		switch {
		case n.only.CallNamed(k.Call) != nil:
			kernels = append(kernels, k)
		case !n.plain && k.ID() == n.id(n.depth):
			kernels = append(kernels, lower.KernelOf(n.here, k.Depth, k.Config))
		}
	}
	p.Kernels = kernels
	return p
}

// launches sets what code launches for the iterations: by spans if the module that the script is of has some.
func (n *tunedIterations) launches(script *exec.Script, code *measure.Code, spans bool) error {
	loop := script.Iterate(n.only, n.here.Iterate)
	q := script.NewSequence()
	if !spans {
		q.Iterations(loop, 1)
		code.To = len(q.Launches)
		q.Iterations(loop, n.checked()-1)
		code.Launches, code.Holds = q.Launches, q.Holds
		return nil
	}
	if len(loop.Spans) != 1 {
		return verdict.For(verdict.Constraint, n.tooFew(n.depth, n.after))
	}
	s := &loop.Spans[0]
	for left := n.rounds + 1; left > 0; {
		rounds := int64(1)
		if s.Repeats && code.To == 0 {
			rounds = n.rounds
		}
		q.Span(loop, s, rounds)
		if code.To == 0 {
			code.To, code.Rounds = len(q.Launches), int(rounds)
			code.From = code.To - len(script.Calls[s.Call].Launches)
		}
		left -= rounds
	}
	q.Iterations(loop, n.after) // those that families need which leave out what the next iteration computes
	code.Launches, code.Holds = q.Launches, q.Holds
	for i := len(n.only.Grids); i < len(script.Grids); i++ {
		x := slices.IndexFunc(s.Exchanges, func(x [2]int) bool { return x[1] == i })
		if x < 0 {
			return fmt.Errorf("no grid of %s is exchanged for %s", n.Name, script.Grids[i].Name)
		}
		code.Spares = append(code.Spares, s.Exchanges[x][0])
	}
	return nil
}

// prepareIterations compiles the plain kernels that a span is compared with, and finds out how far it may
// differ from them.
func (t *tuning) prepareIterations(ctx context.Context, call *tunedCall) error {
	plain := t.plainPlan()
	n := call.iterations
	task := t.queue.add(plainKernels, plainKernels+" of "+call.name,
		func() (*variant, error) { return call.plainly(call.bound, plain) })
	if err := t.await(ctx, task); err != nil {
		return fmt.Errorf("the plain kernels: %w", err)
	}
	call.plain = &task.code
	var err error
	call.margins, err = t.marginsOfIterations(ctx, call, n.checked())
	call.naiveMargins = call.margins
	return err
}

// marginsOfIterations are zero if arithmetic is exact. Otherwise the reference executor tells them at a small
// size.
func (t *tuning) marginsOfIterations(ctx context.Context, call *tunedCall, times int64) (measure.Margins, error) {
	fused := !t.about.Unfused
	m := measure.Margins{
		Grids: make([]measure.Margin, len(call.only.Grids)), Cells: make([]measure.Margin, len(reduced(call.only))),
	}
	if interp.ModeOf(call.only, fused) == interp.NoBounds {
		return m, nil
	}
	small := t.small(t.opts.Set)
	if small == nil {
		return m, fmt.Errorf("%s cannot be made small enough for the reference executor", call.name)
	}
	o, err := newOracle(ctx, call, small, fused)
	if err != nil {
		return m, err
	}
	return o.margins(t.subject.bound), nil
}

// once returns the ops that carry out what is measured once.
func (call *tunedCall) once() []ir.Op {
	n := call.iterations
	if n == nil {
		return []ir.Op{&ir.Run{Call: call.ir}}
	}
	count := ir.Const{Value: op.Int(types.I32, n.checked())}
	return []ir.Op{&ir.Iterate{Count: count, Body: n.here.Iterate.Body}}
}
