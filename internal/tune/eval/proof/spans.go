package proof

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// SpanResult is what was proven of kernels that carry out several iterations of a time loop.
type SpanResult struct {
	Pairs      int    `json:"pairs"`         // with a run in which every span of the plan was carried out
	Runs       int    `json:"runs"`          // such runs
	Idle       int    `json:"idle_runs"`     // in which a span of the plan was not carried out: they prove nothing of spans
	Carried    int    `json:"carried_out"`   // spans, in the runs that count
	After      int    `json:"runs_of_after"` // runs with a span that needs iterations after it
	Depths     Counts `json:"depths"`        // of kernels, in pairs that count
	Families   Counts `json:"families"`
	Statements Counts `json:"statements"` // of an iteration
	Refused    Counts `json:"refused"`    // loops, by rule
	// Met is what the runs that count were like: boundaries of grids, exchanges, lengths of axes, iterations.
	Met []Counts `json:"met,omitempty"`
}

// spanCounts is what a pair's runs did with the spans of its plan.
type spanCounts struct {
	runs, idle, carried, after int
	statements                 []int // of an iteration, by span
	met                        Coverage
}

// add counts a run of a module.
func (c *spanCounts) add(m *kernel.Module, s *sim.State, r spanRun) {
	if len(m.Spans) == 0 {
		return
	}
	if slices.ContainsFunc(m.Spans, func(x *kernel.Span) bool { return s.Carried(x) == 0 }) {
		c.idle++
		return
	}
	c.runs++
	c.carried += int(s.Spans())
	c.met.cover(m, r)
	if slices.ContainsFunc(m.Spans, func(x *kernel.Span) bool { return x.After > 0 }) {
		c.after++
	}
	c.statements = nil
	for _, x := range m.Spans {
		n := 0
		for _, o := range x.Iterate.Body {
			if run, ok := o.(*ir.Run); ok {
				n += len(run.Call.Body)
			}
		}
		c.statements = append(c.statements, n)
	}
}

// countSpans adds what a pair proves of spans.
func (r *GPUResult) countSpans(v *pairResult) {
	s, c := r.Spans, &v.spans
	for _, x := range v.pair.refusals {
		s.Refused.add(x.Rule)
	}
	s.Idle += c.idle
	if c.runs == 0 {
		return
	}
	s.Pairs++
	s.Runs += c.runs
	s.Carried += c.carried
	s.After += c.after
	all := Coverage{Values: s.Met}
	all.after(&c.met)
	s.Met = all.Values
	for _, k := range v.pair.plan.Kernels {
		if graph.IsLoopName(k.Call) {
			s.Depths.add(strconv.Itoa(k.Depth))
			s.Families.add(k.Config.Family)
		}
	}
	for _, n := range c.statements {
		s.Statements.add(strconv.Itoa(n))
	}
}

// after adds what an earlier proof has found.
func (s *SpanResult) after(e *SpanResult) {
	increase([]sum{{&s.Pairs, e.Pairs}, {&s.Runs, e.Runs}, {&s.Idle, e.Idle}, {&s.Carried, e.Carried},
		{&s.After, e.After}})
	s.Depths.after(&e.Depths)
	s.Families.after(&e.Families)
	s.Statements.after(&e.Statements)
	s.Refused.after(&e.Refused)
	all := Coverage{Values: s.Met}
	all.after(&Coverage{Values: e.Met})
	s.Met = all.Values
}

// allowsSpans reports whether iterations of a loop of the program can share a kernel, of a family if one is given,
// and notes why those of others cannot.
func (p *pair) allowsSpans(program *ir.Program, family string) bool {
	allowed := false
	for _, l := range graph.Loops(program) {
		o := lower.Options{Target: lower.GPU, Bound: &ir.Binding{Program: program}}
		c, err := lower.SpanChoice(program, o, l, usualDepth(l))
		if r, ok := errors.AsType[*graph.Refusal](err); ok {
			p.refusals = append(p.refusals, r)
		}
		allowed = allowed || err == nil && (family == "" || c.Space.Family(family) != nil)
	}
	return allowed
}

// usualDepth is a depth at which a loop is asked whether its iterations can share a kernel.
func usualDepth(l graph.Loop) int {
	if l.Iterate.Sequence {
		return 1
	}
	return 3
}

// spanned is a loop of a program for which a plan has a kernel.
type spanned struct {
	loop         graph.Loop
	depth, after int64
	repeats      bool    // a launch has a number of rounds
	extra        float64 // how often a cell of a tile is computed, because tiles overlap
}

// mostRounds is how many rounds of a span that repeats a run has at the most.
const mostRounds = 8

// most is how many depths a run has at the most.
func (x *spanned) most() int64 {
	if x.repeats {
		return mostRounds
	}
	return 2
}

// draw returns how many depths a run has: about one or two, or of a span that repeats one, two, three or many.
func (x *spanned) draw(rng *rand.Rand) int64 {
	if !x.repeats {
		return 1 + rng.Int64N(2)
	}
	return []int64{1, 2, 3, 4 + rng.Int64N(mostRounds-3)}[rng.IntN(4)]
}

// forSpans returns sizes with which loops have the most iterations that they get, and gives
// them to the case's sets.
func (s *sizing) forSpans(c *gen.Case, loops []spanned) (*sizing, error) {
	most := func(set map[string]string) (map[string]string, error) {
		for _, x := range loops {
			if x.loop.Iterate.Sequence {
				continue
			}
			var err error
			if set, _, err = s.withCount(set, x.loop.Iterate, x.most()*x.depth+x.after+1); err != nil {
				return nil, err
			}
		}
		return set, nil
	}
	for i := range c.Sets {
		set, err := most(c.Sets[i])
		if err != nil {
			return nil, err
		}
		c.Sets[i] = set
	}
	longer := newSizing(c.Program, c.Sets[len(c.Sets)-1])
	if longer == nil {
		return nil, errors.New("the program does not bind with other numbers of iterations")
	}
	for _, x := range loops {
		longer.extra = max(longer.extra, int64(x.extra/2))
	}
	return longer, nil
}

// withCount returns values with which a loop has a number of iterations.
func (s *sizing) withCount(set map[string]string, it *ir.Iterate, want int64) (map[string]string, *ir.Binding, error) {
	b, list := s.program.Bind(set)
	if list.HasErrors() {
		return nil, nil, errors.New(list[0].Message)
	}
	less := want - b.Eval(it.Count, 0).I
	if less == 0 {
		return set, b, nil
	}
	for i, q := range s.program.Params {
		if len(s.on[i]) > 0 || q.Default != nil && !constant(q.Default) || b.Params[i]+less < 1 {
			continue
		}
		other := with(set, q.Name, b.Params[i]+less)
		if b, list := s.program.Bind(other); !list.HasErrors() && b.Eval(it.Count, 0).I == want {
			return other, b, nil
		}
	}
	return nil, nil, fmt.Errorf("no parameter gives a loop %d iterations", want)
}

// iterate gives loops numbers of iterations about multiples of the depth of their
// spans. With carried, a span is carried out at least.
func (s *sizing) iterate(at *sizes, loops []spanned, carried bool, rng *rand.Rand) error {
	for _, x := range loops {
		if x.loop.Iterate.Sequence {
			continue
		}
		least, n := x.depth+x.after, x.draw(rng)*x.depth+x.after
		n += []int64{-1, 0, 1, rng.Int64N(x.depth)}[rng.IntN(4)]
		if carried {
			n = max(n, least)
		}
		set, b, err := s.withCount(at.set, x.loop.Iterate, max(2, n)) // T+1 is at least 2
		if err != nil {
			return err
		}
		at.set, at.bound = set, b
	}
	return nil
}

// spansFor gives loops of another program the kernels of the pair's plan: those of the same
// name, else any.
func (p *pair) spansFor(o lower.Options) []schedule.Kernel {
	var list []schedule.Kernel
	loops := graph.Loops(o.Bound.Program)
	for _, k := range p.plan.Kernels {
		if !graph.IsLoopName(k.Call) || len(loops) == 0 {
			continue
		}
		at := max(0, slices.IndexFunc(loops, func(l graph.Loop) bool { return l.Name == k.Call }))
		c, err := lower.SpanChoice(o.Bound.Program, o, loops[at], k.Depth)
		if err != nil {
			continue
		}
		config, err := c.Space.Complete(k.Config)
		if err != nil {
			config = c.Config
		}
		c.Config = config
		list = append(list, c.Kernel)
		loops = slices.Delete(loops, at, at+1)
	}
	return list
}
