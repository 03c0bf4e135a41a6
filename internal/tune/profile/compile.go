package profile

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// team is how many threads share a parallel loop.
func team(a measure.About) int64 {
	if a.Target.Kind() == lower.GPU {
		return 1
	}
	return int64(runtime.GOMAXPROCS(0))
}

// compile compiles a launch with each of some kernels in its place, side by side. What fails of the variants is noted
// with them. It returns what the compiler tells of the first.
func (r *runner) compile(ctx context.Context, s subject, kernels []*kernel.Kernel, list []*contender) (measure.Compiled,
	error) {
	var first measure.Compiled
	var wait sync.WaitGroup
	slots := make(chan struct{}, max(1, r.about.Workers))
	for i, c := range list {
		source, err := r.code(s, kernels[i], &c.code)
		if err != nil {
			return first, err
		}
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			made, err := r.Lab.Compile(ctx, measure.Text{Name: c.code.Name, Source: source})
			if c.err = err; err == nil {
				c.code.Image = made.Image
			}
			if i == 0 {
				first = made
			}
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return first, context.Cause(ctx)
	}
	return first, list[0].err
}

// code sets what runs a subject with a kernel in its place, and returns its source.
func (r *runner) code(s subject, k *kernel.Kernel, c *measure.Code) (string, error) {
	m := s.in(r.module, k)
	script, err := exec.NewScript(m, r.Bound)
	if err != nil {
		return "", err
	}
	*c = measure.Code{Name: k.Name, Scratch: script.Scratch, Kernels: script.Kernels}
	for _, g := range script.Grids {
		c.Rows = append(c.Rows, g.Rows)
		c.Phases = append(c.Phases, g.Phase)
	}
	if s.span == nil {
		err = s.ofCall(script, c, r.Bound.Program)
	} else {
		err = s.ofSpan(script, c, r.Bound.Program)
	}
	if err != nil {
		return "", err
	}
	only := *m
	only.Kernels = slices.DeleteFunc(slices.Clone(m.Kernels), func(k *kernel.Kernel) bool {
		return !slices.ContainsFunc(c.Launches, func(l exec.Launch) bool { return script.Kernels[l.Kernel] == k.Name })
	})
	return emit.Source(r.about.Target.Dialect, &only), nil
}

// in returns a module in which the subject launches a kernel in the place of its own.
func (s subject) in(m *kernel.Module, k *kernel.Kernel) *kernel.Module {
	if k == s.launch.Kernel {
		return m
	}
	next := *m
	next.Kernels = append(slices.Clone(m.Kernels), k)
	other := *s.launch
	other.Kernel = k
	replaced := func(list []*kernel.Launch) []*kernel.Launch {
		list = slices.Clone(list)
		list[s.number] = &other
		return list
	}
	if s.span == nil {
		next.Calls = map[*ir.Call][]*kernel.Launch{}
		for call, list := range m.Calls {
			next.Calls[call] = list
		}
		next.Calls[s.call] = replaced(m.Calls[s.call])
		return &next
	}
	next.Spans = slices.Clone(m.Spans)
	span := *s.span
	span.Launches = replaced(span.Launches)
	next.Spans[slices.Index(m.Spans, s.span)] = &span
	return &next
}

// ofCall has the launches of a call carried out, and the subject's timed.
func (s subject) ofCall(script *exec.Script, c *measure.Code, p *ir.Program) error {
	i := slices.IndexFunc(script.Calls, func(x exec.Call) bool { return x.Name == s.call.Name })
	if i < 0 {
		return fmt.Errorf("the call %s is not carried out", s.call.Name)
	}
	c.Use = measure.UseOf(p, s.call)
	c.Launches, c.From, c.To = script.Calls[i].Launches, s.number, s.number+1
	return nil
}

// ofSpan has a span carried out once, and the subject's launch timed.
func (s subject) ofSpan(script *exec.Script, c *measure.Code, p *ir.Program) error {
	loop := script.Iterate(p, s.span.Iterate)
	i := slices.IndexFunc(loop.Spans, func(x exec.Span) bool { return x.Depth == s.span.Depth })
	if i < 0 {
		return fmt.Errorf("no kernel of %d iterations is carried out", s.span.Depth)
	}
	span := &loop.Spans[i]
	q := script.NewSequence()
	q.Span(loop, span, s.rounds())
	c.Launches, c.Rounds = q.Launches, int(s.rounds())
	c.From = len(q.Launches) - len(script.Calls[span.Call].Launches) + s.number
	c.To = c.From + 1
	c.Use = measure.Use{Reads: make([]bool, len(p.Grids)), Writes: make([]bool, len(p.Grids))}
	for g := range p.Grids { // all hold numbers, whatever the span does with them
		c.Use.Reads[g], c.Use.Writes[g] = true, true
	}
	for g := len(p.Grids); g < len(script.Grids); g++ {
		like := 0
		for _, l := range loop.Spans {
			for _, x := range l.Exchanges {
				if x[1] == g {
					like = x[0]
				}
			}
		}
		c.Spares = append(c.Spares, like)
	}
	return nil
}

// resources sets what a kernel takes of a GPU.
func (r *runner) resources(k *Kernel, s subject, made measure.Compiled) {
	gpu := r.about.Target.Machine
	if r.about.Target.Kind() != lower.GPU {
		return
	}
	e := lower.Resources(s.launch.Kernel)
	k.Resources = Resources{Threads: e.Threads, Shared: e.Shared, Registers: made.Resources.Registers,
		Spills: made.Resources.Spills}
	if gpu == nil || gpu.GPU == nil || gpu.GPU.ThreadsPerUnit == 0 || k.Resources.Registers == 0 {
		return
	}
	e.Registers, e.Most = int64(k.Resources.Registers), 0
	k.Resources.Occupancy = float64(e.BlocksPerMultiprocessor(gpu.GPU)*e.Threads) / float64(gpu.GPU.ThreadsPerUnit)
}
