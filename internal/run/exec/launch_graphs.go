package exec

import (
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/run/device"
)

// graphLauncher executes iterations by launch graphs, where launches are so short that starting them one by one takes
// longer than they do.
//
// A graph is a number of iterations of one iterate whose launches are known beforehand, from one state of the
// rotations on. It is recorded when it is wanted for the second time, or at once if it has the loop's usual length: a
// multiple of the period of the rotations, so that a graph can follow itself.
type graphLauncher struct {
	executor      *executor
	device        device.Recorder
	loops         map[*Op]*loop
	graphs        map[graphKey]*replay
	wanted        map[graphKey]bool
	withoutGraphs int64 // leaves that are executed one by one before graphs are tried again
	longest       time.Duration
	place         uint64 // of the first launch of the graph recorded last
	eager         int64  // for tests: this usual length, whatever the launches take
}

// loop describes an iterate.
type loop struct {
	static   bool // an iteration makes the same launches every time
	launches int64
	leaves   int64
	points   int64
	period   int64 // iterations after which all grids are back in their places
	syncs    int   // that the pacer had made when the loop was first met
	usual    int64 // iterations of a graph; 0 before it is known, -1 for none
}

// graphKey says what a graph does: so many iterations of an iterate, from a
// state of the rotations on.
type graphKey struct {
	op    *Op
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
		loops: map[*Op]*loop{}, graphs: map[graphKey]*replay{}, wanted: map[graphKey]bool{},
	}
}

// replay carries out iterations from where the walker stands, if there is a
// graph for them, and returns how many leaves they had.
func (r *graphLauncher) replay(w *walker, limit Limit) (leaves int64, err error) {
	if r == nil {
		return 0, nil
	}
	if r.withoutGraphs > 0 {
		r.withoutGraphs--
		return 0, nil
	}
	for depth := 1; depth < len(w.frames); depth++ {
		o := w.loops[depth]
		l := r.loop(o)
		if !l.static || !w.begins(depth) {
			continue
		}
		times := r.times(l, w.room(depth), depth == 1, limit)
		if times == 0 {
			continue // a loop inside may still have room for some
		}
		key := graphKey{o, placesText(r.executor.holds), times}
		g := r.graphs[key]
		if g == nil {
			if !r.wanted[key] && times != l.usual {
				r.want(key)
				r.withoutGraphs = times*l.leaves - 1
				return 0, nil
			}
			if g, err = r.record(key, w.frames[depth].Done); err != nil {
				// Whatever it is, plain launches can do without graphs, or fail
				// with what is wrong.
				r.executor.graphs = nil
				return 0, nil
			}
		}
		if err := r.launch(g, w.frames[depth].Done); err != nil {
			return 0, err
		}
		w.skip(depth, times)
		return times * l.leaves, r.count(l, times)
	}
	return 0, nil
}

// times returns how many iterations a graph should have; 0 for none.
func (r *graphLauncher) times(l *loop, room int64, outermost bool, limit Limit) int64 {
	pace := &r.executor.pace
	if l.usual == 0 && r.eager > 0 {
		l.usual = r.eager
	}
	if l.usual == 0 && pace.syncs-l.syncs >= enoughSyncs {
		l.usual = -1
		if pace.each < longLaunch {
			l.usual = l.length(int64(r.longest / max(pace.each, 1)))
		}
	}
	if l.usual <= 0 {
		return 0
	}
	if outermost && limit.Iterations > 0 {
		room = min(room, limit.Iterations)
	}
	if limit.Leaves > 0 {
		room = min(room, limit.Leaves/l.leaves)
	}
	times := min(room, l.usual)
	if times*l.launches < 2 {
		return 0
	}
	return times
}

// length returns the iterations of about so many launches: whole periods, if
// one fits.
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

// record makes the graph of iterations that begin at a step.
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
		for ahead := range key.times {
			if err := r.unroll(key.op.Body, step, ahead, g, &number); err != nil {
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

// unroll makes the launches of one iteration of a body. Those of inner loops
// have the same steps every time; g is nil there.
func (r *graphLauncher) unroll(body []Op, first, ahead int64, g *replay, number *int) error {
	m := r.executor
	for i := range body {
		switch o := &body[i]; o.Kind {
		case RotateOp:
			m.rotate(o.Grids)
		case IterateOp:
			for step := range r.count0(o) {
				if err := r.unroll(o.Body, step, 0, nil, number); err != nil {
					return err
				}
			}
		case RunOp:
			setStep(m.step, first+ahead)
			for j, launch := range m.launches[o.Call] {
				if err := launch.Launch(); err != nil {
					return err
				}
				if *number == 0 {
					r.place = place(o.Call, j)
				}
				if g != nil && m.script.Calls[o.Call].Launches[j].stepped() {
					g.steps = append(g.steps, stepLaunch{*number, ahead})
				}
				*number++
			}
		}
	}
	return nil
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

// count tells the status and the pacer of iterations.
func (r *graphLauncher) count(l *loop, times int64) error {
	s := r.executor.status
	s.graphs.Add(1)
	s.launches.Add(times * l.launches)
	s.leaves.Add(times * l.leaves)
	s.points.Add(times * l.points)
	return r.executor.queued(int(times * l.launches))
}

// loop returns what is known of an iterate.
func (r *graphLauncher) loop(o *Op) *loop {
	l := r.loops[o]
	if l == nil {
		l = r.look(o)
		l.syncs = r.executor.pace.syncs
		r.loops[o] = l
	}
	return l
}

// look finds out what an iteration does.
func (r *graphLauncher) look(o *Op) *loop {
	l := &loop{static: true}
	holds := make([]int, len(r.executor.holds))
	for i := range holds {
		holds[i] = i
	}
	r.walk(o.Body, l, holds)
	l.static = l.static && l.launches > 0 && l.launches <= mostLaunches
	l.period = period(holds)
	return l
}

// walk adds what a body does to l, and to what the grids hold.
func (r *graphLauncher) walk(body []Op, l *loop, holds []int) {
	for i := range body {
		switch o := &body[i]; o.Kind {
		case RunOp:
			l.launches += int64(len(r.executor.launches[o.Call]))
			l.points += r.executor.script.Calls[o.Call].Points
			l.leaves++
		case RotateOp:
			first := holds[o.Grids[0]]
			for k, g := range o.Grids[:len(o.Grids)-1] {
				holds[g] = holds[o.Grids[k+1]]
			}
			holds[o.Grids[len(o.Grids)-1]] = first
			l.leaves++
		case IterateOp:
			if o.Leafless {
				continue
			}
			if len(o.Count) == 0 || !o.Count.fixed() {
				l.static = false
			}
			for n := int64(0); l.static && n < r.count0(o); n++ {
				r.walk(o.Body, l, holds)
				l.static = l.static && l.leaves <= 4*mostLaunches
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
