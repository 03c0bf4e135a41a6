package exec

import (
	"iter"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/run/device"
)

// graphLauncher executes iterations by launch graphs, where launches are so short that starting them one by one takes
// longer than they do.
//
// A graph is a number of iterations of one iterate whose launches are known beforehand, or of spans of it, from one
// state of the rotations on. It is recorded when it is wanted for the second time, or at once if it has the loop's
// usual length: a multiple of the period of the rotations, so that a graph can follow itself.
type graphLauncher struct {
	executor *executor
	device   device.Recorder
	loops    map[unit]*loop
	graphs   map[graphKey]*replay
	wanted   map[graphKey]bool
	resume   int64 // graphs are tried again when so many leaves have been executed
	longest  time.Duration
	place    uint64 // of the first launch of the graph recorded last
	eager    int64  // for tests: this usual length, whatever the launches take
}

// unit is what a graph repeats: an iteration of an iterate, or a span of it.
type unit struct {
	op     *Op
	span   *Span // nil for an iteration
	rounds int64 // of the span
}

// depth returns how many iterations a unit is.
func (u unit) depth() int64 {
	if u.span != nil {
		return u.rounds * u.span.Depth
	}
	return 1
}

// loop describes a unit.
type loop struct {
	static   bool // it makes the same launches every time
	launches int64
	leaves   int64
	points   int64
	period   int64 // repetitions after which all grids are back in their places
	syncs    int   // that the pacer had made when the loop was last looked at
	usual    int64 // units of a graph; 0 while launches are not known to be short
}

// graphKey says what a graph does: so many times a unit, from a state of the rotations on.
type graphKey struct {
	unit
	holds string
	times int64
}

// replay is a graph, recorded.
type replay struct {
	device.Graph
	after []int  // what the grids hold after it
	place uint64 // of its first launch
	first int64  // the step that its launches have the values of
	steps []stepLaunch
}

// stepLaunch is a launch that depends on the step.
type stepLaunch struct {
	number int   // in the graph
	ahead  int64 // iterations after the graph's first
}

const (
	mostGraphs   = 16
	mostLaunches = 1024 // of a graph, and of an iteration that is worth one
	// Launches that take longer than this gain nothing from graphs.
	longLaunch = 100 * time.Microsecond
	// A loop's launches are measured by so many waits of the pacer.
	enoughSyncs = 4
)

// newGraphLauncher returns nil if the device has no launch graphs.
func newGraphLauncher(m *executor, eager int64) *graphLauncher {
	d, ok := m.device.(device.Recorder)
	if !ok {
		return nil
	}
	return &graphLauncher{
		executor: m, device: d, longest: m.pace.long / 2, eager: eager,
		loops: map[unit]*loop{}, graphs: map[graphKey]*replay{}, wanted: map[graphKey]bool{},
	}
}

// replay carries out iterations from where the walker stands, if there is a
// graph for them, and returns how many leaves they had.
func (r *graphLauncher) replay(w *walker, limit Limit) (leaves int64, err error) {
	if r == nil {
		return 0, nil
	}
	done := r.executor.status.leaves.Load()
	if done < r.resume {
		return 0, nil
	}
	for depth := 1; depth < len(w.frames); depth++ {
		u := unit{op: w.loops[depth]}
		l := r.loop(u)
		if !l.static || !w.begins(depth) {
			continue
		}
		room := w.within(depth, l.leaves, limit)
		if s, rounds := u.op.span(room); s != nil {
			if s.Repeats {
				return 0, nil // a launch has all rounds, and needs no graph
			}
			u.span, u.rounds, room = s, rounds, (room-s.After)/s.Depth
			l = r.loop(u)
		}
		times := r.times(l, room)
		if times == 0 {
			continue // a loop inside may still have room for some
		}
		key := graphKey{u, placesText(r.executor.holds), times}
		g := r.graphs[key]
		if g == nil {
			if !r.wanted[key] && times != l.usual {
				r.want(key)
				r.resume = done + times*l.leaves
				return 0, nil
			}
			if g, err = r.record(key, w.frames[depth].Done); err != nil {
				// Whatever it is, plain launches can do without graphs, or fail
				// with what is wrong.
				r.executor.graphs = nil
				return 0, nil
			}
		}
		return times * l.leaves, r.carryOut(w, depth, u, g, times)
	}
	return 0, nil
}

// carryOut carries out a graph of so many units, and moves past it.
func (r *graphLauncher) carryOut(w *walker, depth int, u unit, g *replay, times int64) error {
	if u.span != nil {
		if err := r.executor.prepareSpares(w, u.span); err != nil {
			return err
		}
	}
	if err := r.launch(g, w.frames[depth].Done); err != nil {
		return err
	}
	if u.span != nil {
		w.pass(u.span, times)
	} else {
		w.skip(depth, times)
	}
	return r.count(r.loop(u), times)
}

// times returns how many units a graph should have, if there is room for so many; 0 for none.
func (r *graphLauncher) times(l *loop, room int64) int64 {
	pace := &r.executor.pace
	if l.usual == 0 && r.eager > 0 {
		l.usual = r.eager
	}
	if l.usual == 0 && pace.syncs-l.syncs >= enoughSyncs {
		l.syncs = pace.syncs // long launches are looked at again: the machine may have been busy
		if pace.each < longLaunch {
			l.usual = l.length(int64(r.longest / max(pace.each, 1)))
		}
	}
	if l.usual == 0 {
		return 0
	}
	times := min(room, l.usual)
	if times*l.launches < 2 {
		return 0
	}
	return times
}

// length returns the units of about so many launches: whole periods, if one fits.
func (l *loop) length(launches int64) int64 {
	n := max(1, min(launches, mostLaunches)/l.launches)
	if n > l.period {
		n -= n % l.period
	}
	return n
}

// want remembers what was not recorded.
func (r *graphLauncher) want(key graphKey) {
	if len(r.wanted) > 8*mostGraphs {
		clear(r.wanted)
	}
	r.wanted[key] = true
}

// record makes a graph that begins at a step.
func (r *graphLauncher) record(key graphKey, step int64) (*replay, error) {
	if len(r.graphs) >= mostGraphs {
		for _, g := range r.graphs {
			if err := g.Close(); err != nil {
				return nil, err
			}
		}
		clear(r.graphs)
	}
	m := r.executor
	before := slices.Clone(m.holds)
	defer func() { m.assignBuffers(before) }()
	g := &replay{first: step}
	number := 0
	var err error
	g.Graph, err = r.device.Record(func() error {
		for n := range key.times {
			if err := r.unroll(key.unit, step, n*key.depth(), g, &number); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	g.place, g.after = r.place, slices.Clone(m.holds)
	r.graphs[key] = g
	return g, nil
}

// unroll makes the launches of a unit that begins at a step, so many iterations after the graph does. Those of inner
// loops have the same steps every time; g is nil there.
func (r *graphLauncher) unroll(u unit, first, ahead int64, g *replay, number *int) error {
	m := r.executor
	if u.span != nil {
		setStep(m.rounds, u.rounds)
		if err := r.launchesOf(u.span.Call, first, ahead, g, number); err != nil {
			return err
		}
		u.span.apply(u.op, u.rounds, m.holds)
		m.assignBuffers(m.holds)
		return nil
	}
	for i := range u.op.Body {
		switch o := &u.op.Body[i]; o.Kind {
		case RotateOp:
			m.rotate(o.Grids)
		case IterateOp:
			for v := range r.inner(o) {
				if v.prepare >= 0 {
					if err := r.launchesOf(v.prepare, v.done, 0, nil, number); err != nil {
						return err
					}
				}
				if err := r.unroll(v.unit, v.done, 0, nil, number); err != nil {
					return err
				}
			}
		case RunOp:
			if err := r.launchesOf(o.Call, first, ahead, g, number); err != nil {
				return err
			}
		}
	}
	return nil
}

// launchesOf makes the launches of a call.
func (r *graphLauncher) launchesOf(call int, first, ahead int64, g *replay, number *int) error {
	m := r.executor
	setStep(m.step, first+ahead)
	for j, launch := range m.launches[call] {
		if err := launch.Launch(); err != nil {
			return err
		}
		if *number == 0 {
			r.place = place(call, j)
		}
		if g != nil && m.script.Calls[call].Launches[j].stepped() {
			g.steps = append(g.steps, stepLaunch{*number, ahead})
		}
		*number++
	}
	return nil
}

// innerUnit is a unit of a loop inside.
type innerUnit struct {
	unit
	done    int64 // iterations before it
	prepare int   // the call that prepares its spares, or -1
}

// inner yields the units of an iterate with a fixed count in their order.
func (r *graphLauncher) inner(o *Op) iter.Seq[innerUnit] {
	return func(yield func(innerUnit) bool) {
		w := &walker{} // that has just entered it
		count := r.count0(o)
		for done := int64(0); done < count; {
			u := innerUnit{unit{op: o}, done, -1}
			u.span, u.rounds = o.span(count - done)
			if u.span != nil && w.unprepared(u.span) {
				u.prepare = u.span.Prepare
			}
			if !yield(u) {
				return
			}
			w.spanned = u.span
			done += u.depth()
		}
	}
}

// stepped reports whether a launch depends on the step.
func (l *Launch) stepped() bool {
	return slices.ContainsFunc(l.Args, func(a Arg) bool { return a.Kind == StepArg })
}

// launch carries out a graph whose first iteration has that step.
func (r *graphLauncher) launch(g *replay, step int64) error {
	m := r.executor
	if g.first != step {
		for _, s := range g.steps {
			setStep(m.step, step+s.ahead)
			if err := g.Update(s.number); err != nil {
				return err
			}
		}
		g.first = step
	}
	m.status.running.Store(g.place | together)
	if err := g.Graph.Launch(); err != nil {
		return err
	}
	m.assignBuffers(g.after)
	return nil
}

// count tells the status and the pacer of units.
func (r *graphLauncher) count(l *loop, times int64) error {
	s := r.executor.status
	s.graphs.Add(1)
	s.launches.Add(times * l.launches)
	s.leaves.Add(times * l.leaves)
	s.points.Add(times * l.points)
	return r.executor.queued(int(times * l.launches))
}

// loop returns what is known of a unit.
func (r *graphLauncher) loop(u unit) *loop {
	l := r.loops[u]
	if l == nil {
		l = r.look(u)
		l.syncs = r.executor.pace.syncs
		r.loops[u] = l
	}
	return l
}

// look finds out what a unit does.
func (r *graphLauncher) look(u unit) *loop {
	l := &loop{static: true}
	holds := make([]int, len(r.executor.holds))
	for i := range holds {
		holds[i] = i
	}
	r.walk(u, l, holds)
	l.static = l.static && l.launches > 0 && l.launches <= mostLaunches
	l.period = period(holds)
	return l
}

// walk adds what a unit does to l, and to what the grids hold.
func (r *graphLauncher) walk(u unit, l *loop, holds []int) {
	run := func(call int, rounds int64) {
		l.launches += int64(len(r.executor.launches[call]))
		l.points += rounds * r.executor.script.Calls[call].Points
	}
	if u.span != nil {
		run(u.span.Call, u.rounds)
		l.leaves += u.rounds * u.span.leaves(u.op)
		u.span.apply(u.op, u.rounds, holds)
		return
	}
	for i := range u.op.Body {
		switch o := &u.op.Body[i]; o.Kind {
		case RunOp:
			run(o.Call, 1)
			l.leaves++
		case RotateOp:
			rotate(holds, o.Grids)
			l.leaves++
		case IterateOp:
			if o.Leafless {
				continue
			}
			if !o.Count.fixed() || len(o.Count) == 0 {
				l.static = false
				return
			}
			for v := range r.inner(o) {
				if v.prepare >= 0 {
					run(v.prepare, 1)
				}
				r.walk(v.unit, l, holds)
				l.static = l.static && l.leaves <= 4*mostLaunches
				if !l.static {
					return
				}
			}
		}
	}
}

// count0 returns how often an iterate with a fixed count repeats.
func (r *graphLauncher) count0(o *Op) int64 {
	if o.Leafless {
		return 0
	}
	return max(0, r.executor.eval.eval(o.Count, 0).I)
}

// fixed reports whether a formula's value never changes.
func (f Formula) fixed() bool {
	return !slices.ContainsFunc(f, func(t Term) bool { return t.Kind == PushCell || t.Kind == PushStep })
}

// period returns after how many applications a permutation brings everything
// back: the least common multiple of the lengths of its cycles.
func period(to []int) int64 {
	n := int64(1)
	for i := range to {
		length := int64(1)
		for j := to[i]; j != i; j = to[j] {
			length++
		}
		n = n / gcd(n, length) * length
	}
	return n
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// placesText makes a key of what the grids hold.
func placesText(holds []int) string {
	b := make([]byte, 0, 64)
	for _, h := range holds {
		b = append(b, byte(h), byte(h>>8))
	}
	return string(b)
}
