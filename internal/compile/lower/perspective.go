package lower

import (
	"fmt"
	"slices"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// A block's threads can be as many as the cells that it computes (output
// perspective), which copy the halos around them together, or as many as those
// that it reads (input perspective), of which each copies its own and those at
// the rim compute nothing; or the latter on the inner axis alone, so that no row of
// threads idles (inner; Rawat et al. 2019, section III-B3, call it mixed), or on all
// axes but that one, so that rows of threads stay whole (outer). Threads at the rim
// do as their neighbours inside do, but store nothing: so there is no branch around what a block computes.

// computing is the number of threads that compute cells of their own.
func (s share) computing() int64 { return s.threads - 2*s.margin }

// addMargins makes the outermost of a block's threads on some axes those of its halo.
func (n *nest) addMargins(t *tiling) {
	for _, axis := range n.axes {
		if !schedule.HaloThreads(t.perspective, axis == n.inner()) {
			continue
		}
		s := t.along[axis]
		if s.threads == 1 {
			continue // the thread has the whole axis
		}
		s.margin = marginOf(n.reach(axis), s.blocked)
		t.along[axis] = s
	}
}

// marginOf is how many threads it takes to load a halo.
func marginOf(reach, blocked int64) int64 { return (reach + blocked - 1) / blocked }

// reach is how far from a cell the group reads along an axis.
func (n *nest) reach(axis int) int64 {
	most := int64(0)
	for _, s := range n.stmts {
		for _, a := range accesses(s.src.Value) {
			for _, ix := range a.Index {
				if ix.Axis == axis {
					most = max(most, ix.Offset, -ix.Offset)
				}
			}
		}
	}
	return most
}

// threadAt is the number of the thread on an axis among those that compute.
func (w *tiledKernel) threadAt(axis int) (at kernel.Expr, several bool) {
	v, ok := w.thread[axis]
	if !ok {
		return nil, false
	}
	s := w.along[axis]
	if s.margin == 0 {
		return kernel.V(v), true
	}
	inside := kernel.Max(kernel.Min(kernel.Sub(kernel.V(v), kernel.I(s.margin)), kernel.I(s.computing()-1)),
		kernel.I(0))
	return w.pre.let(w.env, fmt.Sprintf("computing:%d", axis), w.Program.Axes[axis]+"_own", inside), true
}

// hasCells returns the condition under which a thread has cells of its own; nil
// if all have.
func (w *tiledKernel) hasCells() kernel.Expr {
	var cond kernel.Expr
	for _, axis := range w.axes {
		if s := w.along[axis]; s.margin > 0 {
			v := kernel.V(w.thread[axis])
			cond = conj(cond, conj(kernel.Ge(v, kernel.I(s.margin)), kernel.Lt(v, kernel.I(s.threads-s.margin))))
		}
	}
	if cond == nil {
		return nil
	}
	return w.pre.let(w.env, "computes", "computes", cond)
}

// cover gives a tile the cells of all threads on the axes where some of them
// only load.
func (w *tiledKernel) cover(t *sharedTile, last map[int]int64) {
	for _, axis := range axesOf(t.array) {
		if s := w.along[axis]; s.margin > 0 {
			t.from[axis] = -s.margin * s.blocked
			last[axis] = t.from[axis] + s.threads*s.blocked - 1
		}
	}
}

// ownCopies has every thread copy the runs of a tile that are its own; on axes
// that have no threads for the halo, the threads there share a row.
func (w *tiledKernel) ownCopies(t *sharedTile) {
	axes := axesOf(t.array)
	type run struct {
		from  map[int]kernel.Expr
		at    kernel.Expr
		valid kernel.Expr
	}
	list := []run{{map[int]kernel.Expr{}, kernel.I(0), w.firstOn(axes)}}
	for _, axis := range axes {
		s := w.along[axis]
		thread := kernel.I(0)
		if v, ok := w.thread[axis]; ok {
			thread = kernel.V(v)
		}
		length, n := t.len[axis], int64(1)
		if axis == w.inner() {
			n = t.n
		}
		var more []run
		for _, q := range list {
			for i := int64(0); ; i++ {
				place, first := kernel.Add(kernel.Mul(thread, kernel.I(s.blocked)), kernel.I(i*n)), i*n
				done, valid := first >= s.blocked, q.valid
				if s.margin == 0 {
					place, first = kernel.Mul(kernel.Add(thread, kernel.I(i*s.threads)), kernel.I(n)), i*s.threads*n
					done = first >= length
					if first+s.threads*n > length {
						valid = conj(valid, kernel.Lt(place, kernel.I(length)))
					}
				}
				if done {
					break
				}
				next := run{map[int]kernel.Expr{axis: kernel.Add(place, kernel.I(t.from[axis]))},
					kernel.Add(kernel.Mul(q.at, kernel.I(length)), place), valid}
				for a, x := range q.from {
					next.from[a] = x
				}
				more = append(more, next)
			}
		}
		list = more
	}
	for i, q := range list {
		c := &tileCopy{name: fmt.Sprintf("copy%d", i)}
		c.at = w.pre.let(w.env, fmt.Sprintf("place:%p:%d", t, i), c.name+"_at", q.at)
		if q.valid != nil {
			c.valid = w.pre.let(w.env, fmt.Sprintf("valid:%p:%d", t, i), c.name+"_valid", q.valid)
		}
		w.addCopy(t, c, q.from)
	}
}

// firstOn returns the condition that a thread is the first on the axes that an
// array does not have; nil if it has all.
func (w *tiledKernel) firstOn(axes []int) kernel.Expr {
	var cond kernel.Expr
	for _, axis := range w.axes {
		if v, ok := w.thread[axis]; ok && !slices.Contains(axes, axis) {
			cond = conj(cond, kernel.Bin(op.Eq, kernel.V(v), kernel.I(0)))
		}
	}
	return cond
}

// offerPerspectives lets blocks of a family that copy all that they read to shared memory
// have threads for the halo.
func (n *nest) offerPerspectives(f *schedule.Family) {
	reads := func(axis int) bool { return n.reach(axis) > 0 }
	outer, inner := slices.ContainsFunc(n.outer(), reads), len(n.axes) > 0 && reads(n.inner())
	words := []string{schedule.OutputThreads}
	if inner {
		words = append(words, schedule.InputThreads)
	}
	rows := f.For(schedule.BlockedUnroll) != nil
	if inner && rows {
		words = append(words, schedule.InnerThreads)
	}
	if outer && rows {
		words = append(words, schedule.OuterThreads)
	}
	if len(words) == 1 {
		return
	}
	at := f.Index(schedule.StagedPart)
	p := perspectiveParam
	p.Values, p.Default = schedule.Words(words...), schedule.Word(schedule.OutputThreads)
	p.When = []schedule.Condition{schedule.When(f.Params[at].Name, schedule.Word(schedule.AllCells))}
	f.Params = slices.Insert(f.Params, at+1, p)
	f.Constraints = append(f.Constraints, n.perspectiveConstraints(f)...)
}

// perspectiveParam is a parameter of families that stage cells.
var perspectiveParam = schedule.Param{
	Name: "perspective", Role: schedule.Perspective,
	Doc: "threads of a block for what it computes (output), for what it reads (input), " +
		"or for the latter on the inner axis alone (inner; the paper's mixed), or on all others (outer)",
	Source: "Rawat et al. 2019, section III-B3",
}

// perspectiveConstraints say when blocks have threads for the halo and others.
func (n *nest) perspectiveConstraints(f *schedule.Family) []schedule.Constraint {
	inner := n.inner()
	name := func(r schedule.Role) string { return f.For(r).Name }
	perspective, block, vec := perspectiveParam.Name, name(schedule.Threads), name(schedule.Vector)
	repeat, lanes := name(schedule.CyclicUnroll), name(schedule.LaneExchange)
	// Constraints are asked a million times where a space is counted.
	reaches := sync.OnceValue(func() []int64 {
		list := make([]int64, len(n.Program.Axes))
		for axis := range list {
			list[axis] = n.reach(axis)
		}
		return list
	})
	outer := sync.OnceValue(n.outer)
	// fits reports whether some threads are left that compute.
	fits := func(axis int, threads, blocked int64) bool { return 2*marginOf(reaches()[axis], blocked) < threads }
	list := []schedule.Constraint{
		{
			Name: "threads inside the halo", Doc: "all threads of a row would load what others compute with",
			Params: []string{perspective, block, vec},
			Holds: func(c schedule.Config) bool {
				b := c.Ints(block)
				return !schedule.HaloThreads(c.Word(perspective), true) || fits(inner, b[len(b)-1], c.Int(vec))
			},
		},
		{
			Name: "one tile a thread", Doc: "the halo lies around one tile",
			Params: []string{perspective, repeat},
			Holds: func(c schedule.Config) bool {
				k := c.Ints(repeat)
				word, last := c.Word(perspective), len(k)-1
				return (!schedule.HaloThreads(word, true) || k[last] == 1) &&
					(!schedule.HaloThreads(word, false) || product(k[:last]) == 1)
			},
		},
		{
			Name: "lanes of the halo", Doc: "they have cells of other lanes",
			Params: []string{perspective, lanes},
			Holds: func(c schedule.Config) bool {
				return !schedule.HaloThreads(c.Word(perspective), true) || !c.Is(lanes)
			},
		},
	}
	if f.For(schedule.BlockedUnroll) == nil {
		return list
	}
	params := append([]string{perspective}, f.Names(schedule.Threads, schedule.BlockedUnroll)...)
	roles := f.Roles()
	return append(list, schedule.Constraint{
		Name: "rows inside the halo", Doc: "all rows of threads would load what others compute with",
		Params: params,
		Holds: func(c schedule.Config) bool {
			if !schedule.HaloThreads(c.Word(perspective), false) {
				return true
			}
			rest, set := outer(), roles.Of(c)
			b, rows := set.Ints(schedule.Threads), set.Ints(schedule.BlockedUnroll)
			for i, axis := range rest {
				threads, blocked, back := int64(1), int64(1), len(rest)-i
				if back < len(b) {
					threads = b[len(b)-1-back]
				}
				if back <= len(rows) {
					blocked = rows[len(rows)-back]
				}
				if threads > 1 && !fits(axis, threads, blocked) {
					return false
				}
			}
			return true
		},
	})
}
