package exec

import (
	"fmt"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// rebound returns a launch with other arguments in place of some.
func rebound(l *kernel.Launch, args map[kernel.Arg]kernel.Arg) *kernel.Launch {
	own := *l
	own.Args = nil
	for _, a := range l.Args {
		if other, ok := args[a]; ok {
			a = other
		}
		own.Args = append(own.Args, a)
	}
	return &own
}

// addSpan gives the iterate of heat a span of two iterations, which uses the kernel of one and spoils next.
func addSpan(m *kernel.Module, b *ir.Binding) {
	u, next := b.Program.Grid("u"), b.Program.Grid("next")
	first, second := &kernel.Spare{Name: "first", Like: next}, &kernel.Spare{Name: "second", Like: u}
	var in, out, x, y kernel.Arg = kernel.GridArg{Grid: u}, kernel.GridArg{Grid: next},
		kernel.SpareArg{Spare: first}, kernel.SpareArg{Spare: second}
	one := m.Calls[b.Program.Calls[0]][0]
	m.Spans = append(m.Spans, &kernel.Span{
		Iterate: innermost(b.Program.Body), Depth: 2, After: 1,
		Launches: []*kernel.Launch{rebound(one, map[kernel.Arg]kernel.Arg{out: x}),
			rebound(one, map[kernel.Arg]kernel.Arg{in: x, out: y}), rebound(one, map[kernel.Arg]kernel.Arg{in: y})},
		Exchanges: []kernel.Exchange{{Grid: u, Spare: second}},
	})
}

// Kernels that compilers have made, in a worker, give the reference's bits by spans.
func TestSpansOnDevices(t *testing.T) {
	for _, device := range []string{"cpu", "private", "cuda:0"} {
		t.Run(device, func(t *testing.T) {
			for _, iterations := range []int{2, 3, 10} {
				b := program(t, heat, fmt.Sprint("T=", iterations))
				states := course(t, b)
				m, image := module(t, b), ""
				if device == "cuda:0" {
					m, image = forGPU(t, b)
				} else {
					image = build(t, emit.Source(emit.C, m))
				}
				addSpan(m, b)
				for _, limit := range []Limit{{}, {Iterations: 1}, {Iterations: 4}, {Leaves: 7}} {
					o := Options{Image: image, Device: device, eager: 2}
					if device == "private" {
						o.Device, o.Private = "cpu", true
					}
					r, err := Open(t.Context(), m, b, o)
					if err != nil {
						t.Fatal(err)
					}
					initialised(t, r)
					for p := (Progress{}); !p.Finished; {
						p = advanced(t, r, limit)
						at := states[p.Leaves]
						same(t, fmt.Sprintf("%+v, %d leaves", limit, p.Leaves), contents(t, r, b.Program), at.contents)
						if p.Iterations != at.done.Iterations || p.Points != at.done.Points {
							t.Errorf("%+v: %+v, want %+v", limit, p, at.done)
						}
						if p.Finished && limit == (Limit{}) && iterations == 10 &&
							(p.Launches != 4*3+2 || (p.Graphs > 0) != (device == "cuda:0")) {
							t.Errorf("%d launches by %d graphs", p.Launches, p.Graphs)
						}
					}
					r.Close()
				}
			}
		})
	}
}

// The spans that a plan asks for give the reference's bits, with launch graphs and without.
func TestSpansOfPlans(t *testing.T) {
	for _, iterations := range []int{2, 3, 4, 11} {
		b := program(t, heat, fmt.Sprint("T=", iterations))
		states := course(t, b)
		m, image := forGPU(t, b, "body[0:2]@3{family=overlap,block=32,tile=4x16}")
		if len(m.Spans) != 1 {
			t.Fatalf("%d spans", len(m.Spans))
		}
		for _, eager := range []int64{0, 2} {
			for _, limit := range []Limit{{}, {Iterations: 4}, {Leaves: 9}} {
				r := openModule(t, m, b, Options{Image: image, eager: eager})
				initialised(t, r)
				for p := (Progress{}); !p.Finished; {
					p = advanced(t, r, limit)
					at := states[p.Leaves]
					same(t, fmt.Sprintf("%+v, %d leaves", limit, p.Leaves), contents(t, r, b.Program), at.contents)
					if p.Iterations != at.done.Iterations || p.Points != at.done.Points {
						t.Errorf("%+v: %+v, want %+v", limit, p, at.done)
					}
					if iterations == 11 && p.Finished && p.Launches > 10 {
						t.Errorf("%+v: %d launches", limit, p.Launches)
					}
				}
			}
		}
	}
}

// So do those of plans for the processor: a span is cut where the program pauses, and goes on.
func TestSpansOfPlansOnCPU(t *testing.T) {
	for _, depth := range []int{2, 3, 5} {
		for _, iterations := range []int{2, 3, 11} {
			b := program(t, heat, fmt.Sprint("T=", iterations))
			states := course(t, b)
			plan, err := schedule.ParsePlan(fmt.Sprintf("body[0:2]@%d{family=wavefront,block=8x0,threads=2}", depth))
			if err != nil {
				t.Fatal(err)
			}
			m, err := lower.Program(b.Program, lower.Options{Bound: b, Plan: plan, AnyIntegers: true})
			if err != nil {
				t.Fatal(err)
			}
			image := build(t, emit.Source(emit.C, m))
			for _, limit := range []Limit{{}, {Iterations: 4}, {Leaves: 9}} {
				r, err := Open(t.Context(), m, b, Options{Image: image, Device: "cpu"})
				if err != nil {
					t.Fatal(err)
				}
				initialised(t, r)
				for p := (Progress{}); !p.Finished; {
					p = advanced(t, r, limit)
					at := states[p.Leaves]
					same(t, fmt.Sprintf("%+v, %d leaves", limit, p.Leaves), contents(t, r, b.Program), at.contents)
					if p.Iterations != at.done.Iterations || p.Points != at.done.Points {
						t.Errorf("%+v: %+v, want %+v", limit, p, at.done)
					}
					spans := max(0, int64(iterations)-m.Spans[0].After) / int64(depth)
					want := int64(iterations) - spans*int64(depth-1)
					if limit == (Limit{}) && p.Finished && p.Launches != want {
						t.Errorf("depth %d, %d iterations: %d launches, want %d", depth, iterations, p.Launches, want)
					}
				}
				r.Close()
			}
		}
	}
}
