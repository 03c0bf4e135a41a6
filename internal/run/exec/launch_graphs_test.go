package exec

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// diary is a device that writes down what is launched, with which buffers and
// values.
type diary struct {
	entries   []string
	recording *diaryGraph
	graphs    int
}

type diaryBuffer struct{ name string }

func (b *diaryBuffer) Push() error { return nil }
func (b *diaryBuffer) Pull() error { return nil }

type diaryGraph struct {
	diary    *diary
	launches []*diaryLaunch
	args     [][]string
}

type diaryLaunch struct {
	diary *diary
	name  string
	args  []device.Arg
}

func (d *diary) Load(string) (device.Library, error)      { return d, nil }
func (d *diary) Share(host []byte) (device.Buffer, error) { return d.Alloc(int64(len(host))) }
func (d *diary) Copy(host []byte) (device.Buffer, error)  { return d.Alloc(int64(len(host))) }
func (d *diary) Alloc(bytes int64) (device.Buffer, error) {
	return &diaryBuffer{fmt.Sprint("b", bytes)}, nil
}
func (d *diary) Sync() error  { return nil }
func (d *diary) Close() error { return nil }
func (d *diary) Prepare(string, []device.Arg) (device.PreparedLaunch, error) {
	panic("without geometry")
}
func (d *diary) PrepareGrid(name string, _ kernel.Geometry, args []device.Arg) (device.PreparedLaunch, error) {
	return &diaryLaunch{d, name, args}, nil
}

func (d *diary) Record(f func() error) (device.Graph, error) {
	g := &diaryGraph{diary: d}
	d.recording = g
	err := f()
	d.recording = nil
	return g, err
}

// arguments are what the arguments hold: buffers, then values.
func (c *diaryLaunch) arguments() []string {
	var list []string
	for _, a := range c.args {
		switch a := a.(type) {
		case *device.Slot:
			list = append(list, a.Buffer.(*diaryBuffer).name)
		case *device.Value:
			list = append(list, fmt.Sprint(device.Decode(types.I32, a.Bytes[:]).I))
		}
	}
	return list
}

func (c *diaryLaunch) Launch() error {
	if g := c.diary.recording; g != nil {
		g.launches, g.args = append(g.launches, c), append(g.args, c.arguments())
		return nil
	}
	c.diary.entries = append(c.diary.entries, fmt.Sprint(c.name, c.arguments()))
	return nil
}

func (g *diaryGraph) Launch() error {
	for i, c := range g.launches {
		g.diary.entries = append(g.diary.entries, fmt.Sprint(c.name, g.args[i]))
	}
	g.diary.graphs++
	return nil
}

func (g *diaryGraph) Update(i int) error {
	for j, now := range g.launches[i].arguments() {
		if _, ok := g.launches[i].args[j].(*device.Value); ok {
			g.args[i][j] = now
		}
	}
	return nil
}

func (g *diaryGraph) Close() error { return nil }

// loops draws a body of calls, rotations and iterates whose ends depend on
// nothing, on the step outside, or on what a condition finds.
func loops(t *rapid.T, depth int) []Op {
	constant := func(v int64) Formula {
		term := Term{Kind: PushValue, Type: types.I32}
		device.Encode(term.Bits[:], op.Int(types.I32, v))
		return Formula{term}
	}
	var body []Op
	for range rapid.IntRange(1, 3).Draw(t, "ops") {
		switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
		case kind < 2 || depth == 0:
			body = append(body, Op{Kind: RunOp, Call: rapid.IntRange(0, 2).Draw(t, "call")})
		case kind == 2:
			grids := rapid.Permutation([]int{0, 1, 2, 3}).Draw(t, "grids")
			body = append(body, Op{Kind: RotateOp, Grids: grids[:rapid.IntRange(2, 4).Draw(t, "rotated")]})
		default:
			o := Op{Kind: IterateOp, Body: loops(t, depth-1)}
			o.Leafless = leafless(o.Body)
			switch rapid.IntRange(0, 3).Draw(t, "end") {
			case 0:
				o.Count = Formula{{Kind: PushStep}}
			case 1: // ends at a step that is both divisible by check and at least this
				o.Until = append(Formula{{Kind: PushStep}}, constant(rapid.Int64Range(1, 9).Draw(t, "least"))...)
				o.Until = append(o.Until, Term{Kind: ApplyOp, Op: op.Ge})
				o.Check, o.Max = rapid.Int64Range(1, 4).Draw(t, "check"), rapid.Int64Range(1, 12).Draw(t, "max")
			default:
				o.Count = constant(rapid.Int64Range(0, 9).Draw(t, "count"))
			}
			body = append(body, o)
		}
	}
	return body
}

// addSpans draws spans for those iterates of a body that have no loops inside. Grids 4 and 5 are spares.
func addSpans(t *rapid.T, s *Script, body []Op) {
	for i := range body {
		o := &body[i]
		if o.Kind != IterateOp {
			continue
		}
		if slices.ContainsFunc(o.Body, func(o Op) bool { return o.Kind == IterateOp }) {
			addSpans(t, s, o.Body)
			continue
		}
		points := int64(0)
		for _, leaf := range o.Body {
			if leaf.Kind == RunOp {
				points += s.Calls[leaf.Call].Points
			}
		}
		for depth := range int64(3) {
			if depth = 4 - depth; !rapid.Bool().Draw(t, "span") {
				continue
			}
			span := Span{Depth: depth, Repeats: rapid.Bool().Draw(t, "repeats"),
				After: rapid.Int64Range(0, 2).Draw(t, "after"), Prepare: -1}
			for spare := 4; spare < 6; spare++ {
				if rapid.Bool().Draw(t, "spare") {
					span.Spares = append(span.Spares, spare)
					span.Exchanges = append(span.Exchanges, [2]int{spare - 4, spare})
				}
			}
			if len(span.Spares) > 0 && rapid.Bool().Draw(t, "prepare") {
				span.Prepare = len(s.Calls)
				s.Calls = append(s.Calls, Call{Name: "prepare", Launches: []Launch{{Kernel: 1,
					Args: []Arg{{Kind: GridArg, Index: span.Spares[0]}, {Kind: GridArg}, {Kind: StepArg}}}}})
			}
			span.Call = len(s.Calls)
			s.Calls = append(s.Calls, Call{Name: "span", Points: depth * points, Launches: []Launch{{Kernel: 0,
				Args: []Arg{
					{Kind: GridArg, Index: 5}, {Kind: GridArg, Index: 1}, {Kind: StepArg}, {Kind: RoundsArg},
				}}}})
			o.Spans = append(o.Spans, span)
		}
	}
}

// withoutSpans returns a copy of a body.
func withoutSpans(body []Op) []Op {
	body = slices.Clone(body)
	for i := range body {
		body[i].Spans, body[i].Body = nil, withoutSpans(body[i].Body)
	}
	return body
}

// Whatever the loops, their spans, the lengths of graphs and the limits, the same launches
// are made with the same buffers and steps, and all stop at the same places. They are those
// of loops without spans.
func TestGraphsAreFaithful(t *testing.T) {
	some := 0
	rapid.Check(t, func(t *rapid.T) {
		s := &Script{Kernels: []string{"a", "b"}, Body: loops(t, 3), StatusStart: 0, CellsStart: statusBytes,
			SharedBytes: 4096}
		for i := range 6 {
			s.Grids = append(s.Grids, Array{Name: fmt.Sprint(i), Start: 1024, Bytes: int64(i + 1), Spare: i > 3})
		}
		grid := func(i int) Arg { return Arg{Kind: GridArg, Index: i} }
		s.Calls = []Call{
			{Name: "a", Points: 1, Launches: []Launch{{Kernel: 0, Args: []Arg{grid(0), grid(1)}}}},
			{Name: "b", Points: 10, Launches: []Launch{{Kernel: 1, Args: []Arg{grid(2), {Kind: StepArg}}},
				{Kernel: 0, Args: []Arg{grid(3), grid(0)}}}},
			{Name: "none", Points: 100},
		}
		if rapid.Bool().Draw(t, "spans") {
			addSpans(t, s, s.Body)
		}
		limits := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Limit {
			return Limit{Iterations: rapid.Int64Range(0, 4).Draw(t, "iterations"),
				Leaves: rapid.Int64Range(0, 9).Draw(t, "leaves")}
		}), 1, 5).Draw(t, "limits")
		eager := rapid.Int64Range(1, 6).Draw(t, "eager")
		run := func(s *Script, graphs bool) (d *diary, stops, places []string) {
			region, err := memory.New("test", s.SharedBytes)
			if err != nil {
				t.Fatal(err)
			}
			defer region.Close()
			d = &diary{}
			m, err := newExecutor(s, d, "", region, nil, false)
			if err != nil {
				t.Fatal(err)
			}
			if graphs {
				m.graphs = newGraphLauncher(m, eager)
			}
			var none atomic.Int64
			at := ir.Cursor{}
			for i := range 3000 {
				var end ending
				if at, end, err = m.run(at, limits[i%len(limits)], &none, 1); err != nil {
					t.Fatal(err)
				}
				places = append(places, fmt.Sprint(at, m.status.leaves.Load(), m.status.points.Load()))
				stops = append(stops, fmt.Sprint(places[i], m.holds, m.status.launches.Load()))
				if end == finished {
					break
				}
			}
			return d, stops, places
		}
		plain, want, places := run(s, false)
		graphed, got, _ := run(s, true)
		single := *s
		single.Body = withoutSpans(s.Body)
		if _, _, one := run(&single, false); !slices.Equal(places, one) {
			t.Fatalf("with spans it stops at\n%v\nwithout at\n%v", places, one)
		}
		some += graphed.graphs
		if !slices.Equal(graphed.entries, plain.entries) {
			t.Fatalf("with graphs of %d:\n%v\nwithout:\n%v", eager, graphed.entries, plain.entries)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("with graphs of %d it stops at\n%v\nwithout at\n%v", eager, got, want)
		}
	})
	if some == 0 {
		t.Error("no graph was ever launched")
	}
}

// A loop's graphs are as long as is worth it.
func TestGraphLength(t *testing.T) {
	for _, test := range []struct {
		loop     loop
		launches int64 // that take as long as a graph may
		want     int64
	}{
		{loop{launches: 1, period: 2}, 5000, 1024},
		{loop{launches: 3, period: 2}, 5000, 340},
		{loop{launches: 3, period: 3}, 5000, 339},
		{loop{launches: 1, period: 2}, 200, 200},
		{loop{launches: 5, period: 2}, 3, 1},
		{loop{launches: 600, period: 3}, 5000, 1},
		{loop{launches: 1, period: 5000}, 5000, 1024},
	} {
		if got := test.loop.length(test.launches); got != test.want {
			t.Errorf("%+v: %d iterations, want %d", test.loop, got, test.want)
		}
	}
	for _, test := range []struct {
		to   []int
		want int64
	}{{[]int{0, 1}, 1}, {[]int{1, 0, 2}, 2}, {[]int{1, 2, 0, 4, 3}, 6}} {
		if got := period(test.to); got != test.want {
			t.Errorf("%v: %d, want %d", test.to, got, test.want)
		}
	}
}

// Launches that take long are not worth a graph, and it takes some waits to
// know.
func TestLongLaunches(t *testing.T) {
	m := &executor{pace: newPacer(0)}
	r := &graphLauncher{executor: m, longest: 20 * time.Millisecond}
	for _, test := range []struct {
		each  time.Duration
		syncs int
		want  int64
	}{{time.Microsecond, 3, 0}, {time.Microsecond, 4, 1024}, {50 * time.Microsecond, 4, 400},
		{time.Millisecond, 4, 0}} {
		m.pace.each, m.pace.syncs = test.each, test.syncs
		if got := r.times(&loop{launches: 1, leaves: 2, period: 2}, 5000); got != test.want {
			t.Errorf("%v after %d waits: %d iterations, want %d", test.each, test.syncs, got, test.want)
		}
	}
}

// Launches that took long while the machine was busy are looked at again, so that a loop gets its graphs later.
func TestGraphsAfterSlowBegin(t *testing.T) {
	m := &executor{pace: pacer{each: 10 * longLaunch}}
	r := &graphLauncher{executor: m, longest: longBatch / 2}
	l := &loop{launches: 1, period: 2}
	for _, c := range []struct {
		syncs int
		each  time.Duration
		want  int64
	}{
		{enoughSyncs - 1, longLaunch / 2, 0},
		{enoughSyncs, 10 * longLaunch, 0},
		{2*enoughSyncs - 1, longLaunch / 2, 0},
		{2 * enoughSyncs, longLaunch / 2, int64(longBatch / longLaunch)},
		{3 * enoughSyncs, 10 * longLaunch, int64(longBatch / longLaunch)},
	} {
		m.pace.syncs, m.pace.each = c.syncs, c.each
		if got := r.times(l, 1<<20); got != c.want {
			t.Errorf("after %d waits, %v a launch: graphs of %d iterations, not %d", c.syncs, c.each, got, c.want)
		}
	}
}
