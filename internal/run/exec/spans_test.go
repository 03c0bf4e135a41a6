package exec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// prompt is a device whose kernels are functions of this test, which run at once. It has launch
// graphs, and memory of its own.
type prompt struct {
	*distant
	recording *promptGraph
	launched  func(name string) // before every kernel
}

type promptLaunch struct {
	*distantLaunch
	device *prompt
}

type promptGraph struct {
	launches []*promptLaunch
	args     [][][]byte
}

func (d *prompt) Load(string) (device.Library, error) { return d, nil }
func (d *prompt) PrepareGrid(name string, _ kernel.Geometry, args []device.Arg) (device.PreparedLaunch, error) {
	return &promptLaunch{&distantLaunch{d.distant, name, args}, d}, nil
}
func (d *prompt) Record(f func() error) (device.Graph, error) {
	d.recording = &promptGraph{}
	defer func() { d.recording = nil }()
	return d.recording, f()
}

func (c *promptLaunch) run(args [][]byte) {
	if c.device.launched != nil {
		c.device.launched(c.name)
	}
	c.device.kernels[c.name](args)
}

func (c *promptLaunch) Launch() error {
	var args [][]byte
	for _, a := range c.args {
		switch a := a.(type) {
		case *device.Slot:
			args = append(args, a.Buffer.(*distantBuffer).own)
		case *device.Value:
			args = append(args, bytes.Clone(a.Bytes[:]))
		}
	}
	if g := c.device.recording; g != nil {
		g.launches, g.args = append(g.launches, c), append(g.args, args)
		return nil
	}
	c.run(args)
	return nil
}

func (g *promptGraph) Launch() error {
	for i, c := range g.launches {
		c.run(g.args[i])
	}
	return nil
}

func (g *promptGraph) Update(i int) error {
	for j, a := range g.launches[i].args {
		if v, ok := a.(*device.Value); ok {
			g.args[i][j] = bytes.Clone(v.Bytes[:])
		}
	}
	return nil
}

func (g *promptGraph) Close() error { return nil }

const spanCells = 7

func intAt(b []byte, i int) int32        { return int32(binary.NativeEndian.Uint32(b[4*i:])) }
func setInt(b []byte, i int, v int32)    { binary.NativeEndian.PutUint32(b[4*i:], uint32(v)) }
func stepOf(arg []byte, ahead int) int32 { return intAt(arg, 0) + int32(ahead) }

// spanKernels are the stencils of the programs below: "s" of the inner cells, "p" of a periodic grid and "w" of two
// grids, for steps that are so many ahead; a copy, and one that spoils the inner cells.
func spanKernels() map[string]func(args [][]byte) {
	list := map[string]func(args [][]byte){
		"copy": func(args [][]byte) { copy(args[0], args[1]) },
		"bump": func(args [][]byte) {
			for i := range spanCells {
				setInt(args[0], i, intAt(args[0], i)+stepOf(args[1], 1))
			}
		},
		"junk": func(args [][]byte) {
			for i := 1; i < spanCells-1; i++ {
				setInt(args[0], i, -1)
			}
		},
	}
	for ahead := range 6 {
		list[fmt.Sprint("s", ahead)] = func(args [][]byte) {
			out, in := args[0], args[1]
			for i := 1; i < spanCells-1; i++ {
				setInt(out, i, intAt(in, i-1)+2*intAt(in, i)+3*intAt(in, i+1)+stepOf(args[2], ahead))
			}
		}
		list[fmt.Sprint("p", ahead)] = func(args [][]byte) {
			out, in := args[0], args[1]
			for i := range spanCells {
				setInt(out, i, intAt(in, (i+spanCells-1)%spanCells)+2*intAt(in, i)+3*intAt(in, (i+1)%spanCells)+
					stepOf(args[2], ahead))
			}
		}
		list[fmt.Sprint("w", ahead)] = func(args [][]byte) {
			out, b, a := args[0], args[1], args[2]
			for i := 1; i < spanCells-1; i++ {
				setInt(out, i, intAt(b, i-1)+2*intAt(b, i)+3*intAt(b, i+1)-intAt(a, i)+stepOf(args[3], ahead))
			}
		}
	}
	return list
}

// spanBuilder builds modules whose kernels are spanKernels.
type spanBuilder struct {
	*kernel.Module
	kernels map[string]*kernel.Kernel
	spares  map[string]*kernel.Spare
}

// at returns a grid's memory, or that of a spare: "u'" is one like u.
func (b *spanBuilder) at(name string) kernel.Arg {
	if name[len(name)-1] == '\'' {
		if b.spares[name] == nil {
			b.spares[name] = &kernel.Spare{Name: name, Like: b.Program.Grid(name[:1])}
		}
		return kernel.SpareArg{Spare: b.spares[name]}
	}
	return kernel.GridArg{Grid: b.Program.Grid(name)}
}

// launch launches a kernel on memory by its names; all but copies and junk know the step.
func (b *spanBuilder) launch(name string, memory ...string) *kernel.Launch {
	k := b.kernels[name]
	if k == nil {
		k = &kernel.Kernel{Name: name, Body: []kernel.Stmt{&kernel.Loop{Var: kernel.NewVar("block", types.I64),
			Lo: kernel.I(0), Hi: kernel.I(1), Step: kernel.I(1), Tag: kernel.BlockX}}}
		for i := range memory {
			buffer := &kernel.Buffer{Name: fmt.Sprint("b", i), Elem: types.I32}
			if i == 0 {
				buffer.Mode = kernel.InOut
			}
			k.Buffers = append(k.Buffers, buffer)
		}
		if name != "copy" && name != "junk" {
			k.Scalars = []*kernel.Var{kernel.NewVar("step", types.I32)}
		}
		b.kernels[name] = k
		b.Kernels = append(b.Kernels, k)
	}
	l := &kernel.Launch{Kernel: k}
	for _, m := range memory {
		l.Args = append(l.Args, b.at(m))
	}
	if len(k.Scalars) > 0 {
		l.Args = append(l.Args, kernel.StepArg{})
	}
	return l
}

// exchange returns the exchanges of grids, each with the spare like it.
func (b *spanBuilder) exchange(grids ...string) []kernel.Exchange {
	var list []kernel.Exchange
	for _, g := range grids {
		list = append(list, kernel.Exchange{Grid: b.Program.Grid(g), Spare: b.at(g + "'").(kernel.SpareArg).Spare})
	}
	return list
}

// innermost returns the innermost iterate of a body, the first of several.
func innermost(body []ir.Op) *ir.Iterate {
	for _, o := range body {
		if it, ok := o.(*ir.Iterate); ok {
			if inner := innermost(it.Body); inner != nil {
				return inner
			}
			return it
		}
	}
	return nil
}

const spanHead = `
parameter N = 7, T = 1;
iterator i;
int u[N], v[N], w[N];
copyin u, v, w;
copyout u, v, w;
initial { u[i] = i*i + 1; v[i] = 7*i + 3; w[i] = 100 - i; }
stencil s (out, in, t) { out[i] = in[i-1] + 2*in[i] + 3*in[i+1] + t; }
stencil w (out, b, a, t) { out[i] = b[i-1] + 2*b[i] + 3*b[i+1] - a[i] + t; }
stencil bump (u, t) { u[i] += t + 1; }
`

type spanCase struct {
	name, text string
	calls      map[string][]string // by stencil: the kernel, and its memory
	spans      func(b *spanBuilder) []*kernel.Span
}

var inner = map[string][]string{"s": {"s0", "v", "u"}, "bump": {"bump", "u"}}

// two are spans of two iterations that keep the rims of u and v apart.
func two(b *spanBuilder) *kernel.Span {
	return &kernel.Span{Depth: 2, Launches: []*kernel.Launch{b.launch("s0", "v", "u"), b.launch("s1", "u'", "v")},
		Exchanges: b.exchange("u"), Prepare: []*kernel.Launch{b.launch("copy", "u'", "u")}}
}

// unseen is like two, but spoils v.
func unseen(b *spanBuilder) *kernel.Span {
	return &kernel.Span{
		Depth: 2, After: 1, Exchanges: b.exchange("u"), Launches: []*kernel.Launch{b.launch("s0", "v'", "u"),
			b.launch("s1", "u'", "v'"), b.launch("junk", "v")},
		Prepare: []*kernel.Launch{b.launch("copy", "u'", "u"), b.launch("copy", "v'", "v")},
	}
}

func list(spans ...func(b *spanBuilder) *kernel.Span) func(b *spanBuilder) []*kernel.Span {
	return func(b *spanBuilder) (all []*kernel.Span) {
		for _, f := range spans {
			all = append(all, f(b))
		}
		return all
	}
}

var spanCases = []spanCase{
	{"even", "iterate T { s (v, u, step); swap (v, u); }", inner, list(two)},
	{"odd", "boundary u, v : periodic;\niterate T { s (v, u, step); swap (v, u); }",
		map[string][]string{"s": {"p0", "v", "u"}}, list(func(b *spanBuilder) *kernel.Span {
			x := b.exchange("u")
			x[0].Grid = b.Program.Grid("v") // which has the memory of u then
			return &kernel.Span{Depth: 3, Exchanges: x, Launches: []*kernel.Launch{
				b.launch("p0", "v", "u"), b.launch("p1", "u'", "v"), b.launch("p2", "v", "u'")}}
		})},
	{"several", "iterate T { s (v, u, step); swap (v, u); }", inner, list(func(b *spanBuilder) *kernel.Span {
		s := two(b)
		s.Depth = 4
		s.Launches = append(s.Launches, b.launch("s2", "v", "u'"), b.launch("s3", "u'", "v"))
		return s
	}, unseen, two)},
	{"three grids", "iterate T { w (w, v, u, step); rotate (u, v, w); }",
		map[string][]string{"w": {"w0", "w", "v", "u"}}, list(func(b *spanBuilder) *kernel.Span {
			return &kernel.Span{Depth: 3, Exchanges: b.exchange("u", "v"), Launches: []*kernel.Launch{
				b.launch("w0", "w", "v", "u"), b.launch("w1", "u'", "w", "v"), b.launch("w2", "v'", "u'", "w")},
				Prepare: []*kernel.Launch{b.launch("copy", "u'", "u"), b.launch("copy", "v'", "v")}}
		})},
	{"unseen", "iterate T { s (v, u, step); swap (v, u); }", inner, list(unseen)},
	{"more after", "iterate T { s (v, u, step); swap (v, u); }", inner, list(func(b *spanBuilder) *kernel.Span {
		s := unseen(b)
		s.Depth, s.After = 4, 3
		s.Launches = []*kernel.Launch{b.launch("s0", "v'", "u"), b.launch("s1", "u'", "v'"),
			b.launch("s2", "v'", "u'"), b.launch("s3", "u'", "v'"), b.launch("junk", "v")}
		return s
	}, unseen)},
	{"nested", "iterate 3 { iterate T { s (v, u, step); swap (v, u); } bump (u, step); }", inner, list(unseen)},
	{"nested alone", "iterate 3 { iterate T { s (v, u, step); swap (v, u); } }", inner, list(two)},
	{"growing", "iterate 3 { iterate T + step { s (v, u, step); swap (v, u); } }", inner, list(unseen, two)},
	{"until", "iterate until (step >= T) check 5 max 23 { s (v, u, step); swap (v, u); }", inner, list(unseen)},
}

// module builds the module for a program of T iterations.
func (c spanCase) module(t *testing.T, iterations int) (*kernel.Module, *ir.Binding) {
	b := program(t, spanHead+c.text, fmt.Sprint("T=", iterations))
	build := &spanBuilder{&kernel.Module{Program: b.Program, Calls: map[*ir.Call][]*kernel.Launch{}},
		map[string]*kernel.Kernel{}, map[string]*kernel.Spare{}}
	for _, call := range b.Program.Calls {
		l := c.calls[call.Stencil]
		build.Calls[call] = []*kernel.Launch{build.launch(l[0], l[1:]...)}
	}
	for _, s := range c.spans(build) {
		s.Iterate = innermost(b.Program.Body)
		build.Spans = append(build.Spans, s)
	}
	return build.Module, b
}

// openPrompt opens a module on a device of this test, with graphs of so many units.
func openPrompt(t *testing.T, m *kernel.Module, b *ir.Binding, eager int64) (*Local, *prompt) {
	t.Helper()
	s, err := NewScript(m, b)
	if err != nil {
		t.Fatal(err)
	}
	region, err := memory.Anonymous(s.SharedBytes)
	if err != nil {
		t.Fatal(err)
	}
	d := &prompt{distant: &distant{kernels: spanKernels()}}
	l := &Local{hosted: newHosted(b, s, region, nil), opts: Options{}.complete(), thread: newThread(), device: d}
	if l.executor, err = newExecutor(s, d, "", region, nil, false); err != nil {
		t.Fatal(err)
	}
	if eager > 0 {
		l.executor.graphs = newGraphLauncher(l.executor, eager)
	}
	return l, d
}

// state is where a program stands after some leaves.
type state struct {
	place    Place
	contents map[string][]byte
	done     Progress
}

// course returns the states of the reference executor, before every leaf and at the end.
func course(t *testing.T, b *ir.Binding) (states []state) {
	r := initialised(t, openReference(t, b))
	for p := (Progress{}); ; p = advanced(t, r, Limit{Leaves: 1}) {
		states = append(states, state{r.Place(), contents(t, r, b.Program), p})
		if p.Finished {
			return states
		}
	}
}

// follow runs to the end by pieces from a place of a course on, and compares every pause.
func follow(t *testing.T, what string, l *Local, b *ir.Binding, states []state, from int64, limit Limit) (p Progress) {
	t.Helper()
	first := l.counts().Leaves - from
	for !p.Finished {
		p = advanced(t, l, limit)
		at := states[p.Leaves-first]
		same(t, fmt.Sprintf("%s, limit %+v, after %d leaves", what, limit, p.Leaves), contents(t, l, b.Program),
			at.contents)
		if p.Iterations != at.done.Iterations || first == 0 && from == 0 && p.Points != at.done.Points ||
			fmt.Sprint(l.Place()) != fmt.Sprint(at.place) && !p.Finished {
			t.Errorf("%s, limit %+v: stands at %+v %v, want %+v %v", what, limit, p, l.Place(), at.done, at.place)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	return p
}

// Spans change nothing that can be seen: however many iterations there are, wherever the program pauses, is stopped
// or restored, with and without graphs.
func TestSpans(t *testing.T) {
	for _, c := range spanCases {
		t.Run(c.name, func(t *testing.T) {
			some := false
			for _, iterations := range []int{1, 2, 3, 4, 5, 6, 7, 8, 11, 13} {
				m, b := c.module(t, iterations)
				states := course(t, b)
				for _, eager := range []int64{0, 1, 2, 3} {
					what := fmt.Sprintf("%d iterations, graphs of %d", iterations, eager)
					for n := eager % 3; n < int64(len(states)); n += 1 + n/12 {
						limit := []Limit{{Leaves: n}, {Iterations: n}, {Leaves: 2*n + 1, Iterations: n}}[n%3]
						l, d := openPrompt(t, m, b, eager)
						launches := int64(0)
						d.launched = func(name string) {
							launches++
							some = some || name[1:] == "1" // there is no such kernel but in spans
						}
						p := follow(t, what, initialised(t, l).(*Local), b, states, 0, limit)
						if p.Launches != launches {
							t.Fatalf("%s: %d launches are counted as %d", what, launches, p.Launches)
						}
						l.Close()
					}
					if iterations == 5+int(eager) {
						restored(t, what, m, b, states, eager)
						stoppedAnywhere(t, what, m, b, states, eager)
					}
				}
			}
			if !some {
				t.Error("no span was ever carried out")
			}
		})
	}
}

// restored goes on from every place of a course, after it has been elsewhere.
func restored(t *testing.T, what string, m *kernel.Module, b *ir.Binding, states []state, eager int64) {
	t.Helper()
	for from := int64(0); from < int64(len(states)); from += 1 + from/12 {
		l, _ := openPrompt(t, m, b, eager)
		advanced(t, initialised(t, l), Limit{Leaves: 2*(from%5) + 4})
		if from%2 == 1 {
			if err := l.Settle(); err != nil {
				t.Fatal(err)
			}
		}
		for name, cells := range states[from].contents {
			to, err := l.Grid(name)
			if err != nil {
				t.Fatal(err)
			}
			copy(to, cells)
		}
		if err := l.Restore(states[from].place); err != nil {
			t.Fatal(err)
		}
		follow(t, fmt.Sprintf("%s, from leaf %d", what, from), l, b, states, from, Limit{Leaves: from % 4 * 6})
		l.Close()
	}
}

// stoppedAnywhere has a run stop while each of its launches is under way.
func stoppedAnywhere(t *testing.T, what string, m *kernel.Module, b *ir.Binding, states []state, eager int64) {
	t.Helper()
	for at, more := 1, true; more; at += 1 + at/12 {
		l, d := openPrompt(t, m, b, eager)
		launches := 0
		d.launched = func(string) {
			if launches++; launches == at {
				l.stop.Store(1)
			}
		}
		p := advanced(t, initialised(t, l), Limit{})
		more = p.Stopped
		what := fmt.Sprintf("%s, stopped at launch %d after %d leaves", what, at, p.Leaves)
		same(t, what, contents(t, l, b.Program), states[p.Leaves].contents)
		if !p.Finished {
			follow(t, what, l, b, states, p.Leaves, Limit{})
		}
		l.Close()
	}
}

// A module whose spans are wrong is refused.
func TestSpansRefused(t *testing.T) {
	for _, test := range []struct {
		change func(m *kernel.Module, b *ir.Binding)
		want   string
	}{
		{func(m *kernel.Module, _ *ir.Binding) { m.Spans[0].Iterate = &ir.Iterate{} },
			"a span is of an iterate that the program does not have"},
		{func(m *kernel.Module, _ *ir.Binding) { m.Spans[0].Depth = 0 },
			"a span has depth 0, 0 iterations after it and 2 launches"},
		{func(m *kernel.Module, b *ir.Binding) { m.Spans[0].Exchanges[0].Grid = &ir.Grid{Name: "x"} },
			"a span exchanges x, which the program does not have"},
		{func(m *kernel.Module, b *ir.Binding) {
			like := *b.Program.Grid("u")
			like.Type = types.F32
			m.Spans[0].Exchanges[0].Spare = &kernel.Spare{Name: "y", Like: &like}
		}, "a span exchanges u with y, which is not as large"},
		{func(m *kernel.Module, b *ir.Binding) {
			m.Spans[0].Exchanges[0].Spare.Like = b.Program.Grid("w")
			m.Layouts = map[*ir.Grid]kernel.Layout{b.Program.Grid("w"): {Lead: 1, Align: 1}}
		}, "u and u' change places, but do not lie alike in the device's memory: "},
	} {
		m, b := spanCases[0].module(t, 9)
		test.change(m, b)
		if _, err := NewScript(m, b); err == nil || len(err.Error()) < len(test.want) ||
			err.Error()[:len(test.want)] != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// Spares take memory like the grids that they are like, and only where a span fits.
func TestSpares(t *testing.T) {
	for iterations, want := range map[int]int{1: 3, 2: 4, 9: 4} {
		m, b := spanCases[0].module(t, iterations)
		s, err := NewScript(m, b)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Grids) != want || s.DeviceBytes() != int64(want)*4*spanCells || len(s.Needs("cpu", false)) != want {
			t.Errorf("%d iterations: %d grids, %d bytes, want %d", iterations, len(s.Grids), s.DeviceBytes(), want)
		}
		i := slices.IndexFunc(s.Grids, func(a Array) bool { return a.Spare })
		if i >= 0 && (i != 3 || s.Grids[i].ReadOnly) {
			t.Errorf("%d iterations: %+v", iterations, s.Grids)
		}
	}
	m, b := spanCases[0].module(t, 9)
	l, d := openPrompt(t, m, b, 0)
	d.events = nil
	if err := l.executor.push(); err != nil {
		t.Fatal(err)
	}
	if n := len(d.events); n != 3 {
		t.Errorf("%d grids are pushed: %v", n, d.events)
	}
	if _, err := l.Grid("u'"); err == nil {
		t.Error("a spare can be seen")
	}
}

// Spans do not allocate while they run.
func TestSpansAllocateNothing(t *testing.T) {
	m, b := spanCases[4].module(t, 2000)
	l, _ := openPrompt(t, m, b, 0)
	w := newWalker(l.script.Body, ir.Cursor{}, func(f Formula, step int64) int64 {
		return l.executor.eval.eval(f, step).I
	})
	w.settle()
	if n := testing.AllocsPerRun(500, func() {
		s, rounds := w.span(Limit{})
		s.apply(w.loops[1], rounds, l.executor.holds)
		w.pass(s, rounds)
		w.settle()
	}); n != 0 {
		t.Errorf("a span allocates %v times", n)
	}
}
