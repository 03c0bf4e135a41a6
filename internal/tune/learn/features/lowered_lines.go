package features

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

const (
	warp      = 32
	lineBytes = 128
)

// lanes is an integer as the threads of a warp have it.
type lanes struct {
	known   bool // else memory tells it, or another thread
	uniform bool // all have the first
	at      [warp]op.Value
}

// warpWalk walks through a kernel as one warp, and counts the lines of its accesses.
type warpWalk struct {
	n        int // threads of the warp
	position [3][warp]int64
	values   map[*kernel.Var]*lanes
	times    int64   // how often the present list is carried out
	accesses float64 // all accesses
	lines    float64 // that they touch
}

// linesOf returns the mean number of cache lines of an access and warp; 0 if there is no access. The warp is the first
// of a block in the middle. It goes through both sides of every condition, and once through every loop.
func (c *counted) linesOf(threads [3]int64, args map[*kernel.Var]op.Value) float64 {
	w := &warpWalk{n: int(min(warp, threads[0]*threads[1]*threads[2])), values: map[*kernel.Var]*lanes{}}
	for l := range int64(w.n) {
		w.position[0][l] = l % threads[0]
		w.position[1][l] = l / threads[0] % threads[1]
		w.position[2][l] = l / threads[0] / threads[1]
	}
	for v, x := range args {
		w.values[v] = same(x)
	}
	w.list(c, c.body)
	if w.accesses == 0 {
		return 0
	}
	return w.lines / w.accesses
}

func same(v op.Value) *lanes {
	l := &lanes{known: true, uniform: true}
	l.at[0] = v
	return l
}

var unknown = &lanes{}

func (w *warpWalk) list(c *counted, stmts []kernel.Stmt) {
	before := w.times
	w.times = c.of.Times[stmts[0]]
	for _, s := range stmts {
		w.stmt(c, s)
	}
	w.times = before
}

func (w *warpWalk) stmt(c *counted, s kernel.Stmt) {
	if _, loop := s.(*kernel.Loop); !loop {
		kernel.WalkStmts(one(s), nil, w.loads)
	}
	switch s := s.(type) {
	case *kernel.Let:
		w.set(s.Var, s.Value)
	case *kernel.Declare:
		w.set(s.Var, s.Init)
	case *kernel.Assign:
		w.set(s.Var, s.Value)
	case *kernel.Shuffle:
		w.shuffle(s)
	case *kernel.Store:
		w.access(s.Buffer, s.Index)
	case *kernel.LoadVector:
		w.access(s.Buffer, s.Index)
	case *kernel.StoreVector:
		w.access(s.Buffer, s.Index)
	case *kernel.AsyncCopy:
		w.access(s.From, s.Index)
	case *kernel.Loop:
		for _, e := range []kernel.Expr{s.Lo, s.Hi, s.Step} {
			w.loads(e)
		}
		w.enter(s)
		w.list(c, s.Body)
	case *kernel.If:
		w.list(c, s.Then)
		if s.Else != nil {
			w.list(c, s.Else)
		}
	}
}

// one returns a statement without those inside.
func one(s kernel.Stmt) []kernel.Stmt {
	if x, ok := s.(*kernel.If); ok {
		return []kernel.Stmt{&kernel.If{Cond: x.Cond}}
	}
	return []kernel.Stmt{s}
}

// loads counts the loads of an expression.
func (w *warpWalk) loads(e kernel.Expr) {
	kernel.Walk(e, func(e kernel.Expr) {
		if l, ok := e.(*kernel.Load); ok {
			w.access(l.Buffer, l.Index)
		}
	})
}

// set gives a variable its value, if an index could need it.
func (w *warpWalk) set(v *kernel.Var, value kernel.Expr) {
	if !v.Type.IsFloat() {
		w.values[v] = w.eval(value)
	}
}

func (w *warpWalk) shuffle(s *kernel.Shuffle) {
	w.values[s.Var] = unknown
	from, literal := kernel.IntLit(s.By)
	if s.Kind != kernel.ShuffleFrom || !literal || s.Var.Type.IsFloat() {
		return
	}
	if x := w.eval(s.Value); x.known && from < int64(w.n) {
		w.values[s.Var] = same(x.lane(int(from)))
	}
}

// enter gives a loop's variable its value: in the middle for blocks, at the beginning for other loops.
func (w *warpWalk) enter(s *kernel.Loop) {
	lo, hi, step := w.eval(s.Lo), w.eval(s.Hi), w.eval(s.Step)
	if !lo.known || !hi.known || !step.known {
		w.values[s.Var] = unknown
		return
	}
	by := max(1, step.lane(0).I)
	out := &lanes{known: true, uniform: lo.uniform && !s.Tag.IsThread()}
	for l := range w.n {
		i := int64(0)
		switch {
		case s.Tag.IsThread():
			i = w.position[s.Tag-kernel.ThreadX][l]
		case s.Tag.IsBlock(), s.Tag.IsCluster():
			i = max(0, (hi.lane(0).I-lo.lane(0).I-1)/by+1) / 2
		}
		out.at[l] = op.Int(s.Var.Type, lo.lane(l).I+i*by)
	}
	w.values[s.Var] = out
}

// access counts an access to a buffer in global memory.
func (w *warpWalk) access(b *kernel.Buffer, index kernel.Expr) {
	switch b.Space {
	case kernel.Global, kernel.Constant, kernel.Image:
	default:
		return
	}
	if w.times == 0 {
		return
	}
	w.accesses += float64(w.times)
	w.lines += float64(w.times) * float64(w.touched(w.eval(index), lineBytes/int64(b.Elem.Size())))
}

// touched returns how many lines, each of so many elements, a warp touches: one for each thread where indices are not
// known.
func (w *warpWalk) touched(index *lanes, line int64) int {
	switch {
	case !index.known:
		return w.n
	case index.uniform:
		return 1
	}
	var seen [warp]int64
	n := 0
next:
	for l := range w.n {
		d := index.at[l].I - index.at[0].I
		at := d / line
		if d%line < 0 {
			at--
		}
		for _, x := range seen[:n] {
			if x == at {
				continue next
			}
		}
		seen[n] = at
		n++
	}
	return n
}

// lane returns the value that one thread has.
func (x *lanes) lane(i int) op.Value {
	if x.uniform {
		return x.at[0]
	}
	return x.at[i]
}

// eval computes an expression for all threads of the warp.
func (w *warpWalk) eval(e kernel.Expr) *lanes {
	switch e := e.(type) {
	case *kernel.Lit:
		return same(e.Value)
	case *kernel.Ref:
		if x := w.values[e.Var]; x != nil {
			return x
		}
		return unknown
	case *kernel.Phase:
		return same(op.Int(types.I64, 0))
	case *kernel.Unary:
		return w.each(func(v [2]op.Value) op.Value { return op.Unary(e.Op, v[0]) }, e.X)
	case *kernel.Binary:
		return w.each(func(v [2]op.Value) op.Value { return op.Binary(e.Op, v[0], v[1]) }, e.X, e.Y)
	case *kernel.Cast:
		return w.each(func(v [2]op.Value) op.Value { return op.Convert(e.To, v[0]) }, e.X)
	case *kernel.Select:
		return w.choose(e)
	}
	return unknown
}

// each applies an operation to one or two operands, thread by thread.
func (w *warpWalk) each(f func([2]op.Value) op.Value, operands ...kernel.Expr) *lanes {
	var x [2]*lanes
	out := &lanes{known: true, uniform: true}
	for i, e := range operands {
		x[i] = w.eval(e)
		if !x[i].known {
			return unknown
		}
		out.uniform = out.uniform && x[i].uniform
	}
	n := w.n
	if out.uniform {
		n = 1
	}
	for l := range n {
		var v [2]op.Value
		for i := range operands {
			v[i] = x[i].lane(l)
		}
		out.at[l] = f(v)
	}
	return out
}

// choose takes, for all threads, the side of a select that most of them take: that leaves boundaries out.
func (w *warpWalk) choose(e *kernel.Select) *lanes {
	cond := w.eval(e.Cond)
	if !cond.known {
		return unknown
	}
	yes := 0
	for l := range w.n {
		if cond.lane(l).True() {
			yes++
		}
	}
	if 2*yes >= w.n {
		return w.eval(e.X)
	}
	return w.eval(e.Y)
}
