package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// The family "wavefront": several iterations on a CPU. Blocks of cells are shared out among
// the threads. A thread goes through its block plane by plane along the outermost axis, and
// each stage follows a few planes behind those that it reads. So a plane passes through all
// iterations while it is in the cache. Planes between stages are in circular buffers of the
// block. Blocks overlap: each computes its halos, so that no thread waits for another
// (Wellein et al. 2009; 3.5D blocking: Nguyen et al. 2010). Where there is one axis alone,
// the stages of a block are computed one after the other.

func init() {
	register(&family{
		name: "wavefront", doc: "several iterations of a block in the cache, plane by plane", place: 70,
		target: CPU, rank: func(rank int) bool { return rank > 0 },
		declare: declareWavefront,
		span:    (*spanKernel).wavefront,
	})
}

func declareWavefront(axes []string) ([]schedule.Param, []schedule.Constraint) {
	blocks := wavefrontBlocks(len(axes))
	return []schedule.Param{
		{
			Name: "block", Role: schedule.CacheBlock, Axis: schedule.InnerAxis,
			Doc:    "cells that a block computes to the end on each axis, outermost first; 0 does not cut that axis",
			Source: "Nguyen et al. 2010, section IV-C", Values: blocks, Default: blocks[0],
			Finer: func() []schedule.Value { return allLoopBlocks(len(axes)) },
		},
		{
			Name: "threads", Role: schedule.Workers,
			Doc:     "threads that share the blocks; 0 takes what the OpenMP runtime offers",
			Values:  schedule.Numbers(0, 1),
			Default: schedule.Int(0),
			Finer:   func() []schedule.Value { return schedule.Numbers(integers(1, 128, 1)...) },
		},
	}, nil
}

// wavefrontBlocks lists blocks whose planes, those of a few stages, fit in a second-level
// cache.
func wavefrontBlocks(rank int) []schedule.Value {
	if rank == 1 {
		return schedule.Numbers(4096, 1024, 2048, 8192, 16384, 32768, 0)
	}
	var lists [][]int64
	if rank == 2 {
		lists = [][]int64{
			{0, 1024}, {0, 256}, {0, 512}, {0, 2048}, {0, 4096}, {0, 0},
			{64, 0}, {256, 0}, {256, 512}, {256, 1024}, {256, 2048}, {1024, 1024},
		}
	} else {
		lists = [][]int64{
			{0, 16, 0}, {0, 8, 0}, {0, 12, 0}, {0, 24, 0}, {0, 32, 0}, {0, 48, 0}, {0, 64, 0}, {0, 96, 0}, {0, 0, 0},
			{0, 16, 128}, {0, 32, 128}, {0, 64, 128}, {0, 16, 256}, {0, 32, 256}, {0, 64, 256},
			{64, 16, 0}, {64, 32, 0}, {64, 64, 0}, {64, 32, 128}, {64, 64, 128},
		}
	}
	var values []schedule.Value
	for _, l := range lists {
		sizes := append(make([]int64, max(0, rank-3)), l...)
		values = append(values, schedule.Int(sizes[0], sizes[1:]...))
	}
	return values
}

// wavefront is a kernel of the family being built.
type wavefront struct {
	*spanKernel
	front    *pipeline.Wavefront
	block    []int64       // cells of a block by axis; 0 does not cut the axis
	lo, hi   []kernel.Expr // of what is stored; hi is exclusive, as all upper ends here
	from, to []kernel.Expr // what the block stores of it
	planes   map[*pipeline.Stage]*circularPlanes
}

// wavefront builds the kernel.
func (s *spanKernel) wavefront() ([]kernel.Stmt, error) {
	w := &wavefront{
		spanKernel: s, front: pipeline.NewWavefront(s.pipeline), block: s.set.Ints(schedule.CacheBlock),
		planes: map[*pipeline.Stage]*circularPlanes{},
	}
	top := newScope(nil)
	for k, axis := range w.axes {
		lo, hi := w.extent(k)
		name := w.Program.Axes[axis]
		w.lo = append(w.lo, top.let(w.env, "lo"+name, name+"_lo", lo))
		w.hi = append(w.hi, top.let(w.env, "hi"+name, name+"_end", kernel.Add(hi, kernel.I(1))))
		top.names[name] = true
	}
	body := newScope(top)
	loops := w.tiles(top, body)
	w.allocate(body)
	if w.streams() {
		w.steps(body)
	} else {
		for _, st := range w.pipeline.Stages {
			w.stage(body, st, nil)
		}
	}
	list := body.stmts
	for i := len(loops) - 1; i >= 0; i-- {
		loops[i].Body = list
		list = []kernel.Stmt{loops[i]}
	}
	return append(top.stmts, list...), nil
}

// streams reports whether blocks are computed plane by plane.
func (w *wavefront) streams() bool { return len(w.axes) > 1 }

// tiles makes the loops over blocks, and names a block's ends in its body.
func (w *wavefront) tiles(top, body *scope) []*kernel.Loop {
	var loops []*kernel.Loop
	threads := int(w.set.Int(schedule.Workers, 0))
	for k, axis := range w.axes {
		from, to := w.lo[k], w.hi[k]
		if w.block[k] > 0 {
			name := w.Program.Axes[axis]
			tile := top.declare(w.env, name+"_tile", types.I64)
			loops = append(loops, &kernel.Loop{
				Var: tile, Lo: w.lo[k], Hi: w.hi[k], Step: kernel.I(w.block[k]), Tag: kernel.Parallel,
				Threads: threads,
			})
			from = kernel.V(tile)
			end := kernel.Min(kernel.Add(from, kernel.I(w.block[k])), w.hi[k])
			to = body.let(w.env, "end"+name, name+"_tile_end", end)
		}
		w.from, w.to = append(w.from, from), append(w.to, to)
	}
	for i, l := range loops {
		l.Collapse = len(loops) - i
	}
	if len(loops) > 0 && threads == 0 { // the outermost speaks for all
		loops[0].Team = w.team()
	}
	return loops
}

// team returns the condition under which threads share the blocks.
func (w *wavefront) team() kernel.Expr {
	cells := kernel.Expr(kernel.I(1))
	for k := range w.axes {
		cells = kernel.Mul(cells, kernel.Sub(w.hi[k], w.lo[k]))
	}
	each := int64(0)
	for _, st := range w.pipeline.Stages {
		each += operations(st.Stmt.Value)
	}
	return team(cells, max(1, each))
}

// tileNumber numbers the block among all.
func (w *wavefront) tileNumber() kernel.Expr {
	var number kernel.Expr = kernel.I(0)
	for k, size := range w.block {
		if size > 0 {
			at := kernel.Bin(op.Div, kernel.Sub(w.from[k], w.lo[k]), kernel.I(size))
			number = kernel.Add(kernel.Mul(number, tilesOn(w.lo[k], w.hi[k], size)), at)
		}
	}
	return number
}

// tilesOn is the number of blocks on an axis.
func tilesOn(lo, hi kernel.Expr, size int64) kernel.Expr {
	return kernel.CeilDiv(kernel.Sub(hi, lo), kernel.I(size))
}

// steps makes the loop over the steps of a block.
func (w *wavefront) steps(body *scope) {
	var first, last int64 // relative to the planes that the block stores
	for n, st := range w.pipeline.Stages {
		low, high := w.front.Lags[n]-st.Halo[0].Low, w.front.Lags[n]+st.Halo[0].High
		if n == 0 {
			first, last = low, high
		}
		first, last = min(first, low), max(last, high)
	}
	axis := w.Program.Axes[w.axes[0]]
	step := body.declare(w.env, axis+"_step", types.I64)
	steps := newScope(body)
	for n, st := range w.pipeline.Stages {
		from, to := w.places(st, 0)
		from = body.let(w.env, fmt.Sprint("from", n), axis+"_from", from)
		to = body.let(w.env, fmt.Sprint("to", n), axis+"_to", to)
		lag := w.front.Lags[n]
		plane := steps.let(w.env, fmt.Sprint("plane", lag), axis+"_plane", kernel.Sub(kernel.V(step), kernel.I(lag)))
		planes := newScope(steps)
		w.stage(planes, st, plane)
		steps.emit(&kernel.If{Cond: kernel.And(kernel.Ge(plane, from), kernel.Lt(plane, to)), Then: planes.stmts})
	}
	body.emit(&kernel.Loop{
		Var: step, Lo: kernel.Add(w.from[0], kernel.I(first)), Hi: kernel.Add(w.to[0], kernel.I(last)),
		Step: kernel.I(1), Body: steps.stmts,
	})
}

// places returns the places on an axis that a stage is computed at: the block and the halo.
// Where the axis wraps they go on beyond the ends of the array, else not.
func (w *wavefront) places(st *pipeline.Stage, k int) (from, to kernel.Expr) {
	from = kernel.Sub(w.from[k], kernel.I(st.Halo[k].Low))
	to = kernel.Add(w.to[k], kernel.I(st.Halo[k].High))
	if w.wraps(st, k) {
		return from, to
	}
	dim := st.Dim(w.axes[k])
	return most(from, w.affine(dim.Lo)), least(to, kernel.Add(w.affine(dim.Hi), kernel.I(1)))
}

// wraps reports whether places on an axis may be beyond the ends of a stage's array. What
// nothing reads is computed where it is stored alone.
func (w *wavefront) wraps(st *pipeline.Stage, k int) bool { return st.Kept && w.pipeline.Wraps[k] }

// most returns the larger of two numbers, without an operation where it is known which one that is.
func most(x, y kernel.Expr) kernel.Expr {
	if d, ok := kernel.Difference(x, y); ok {
		if d >= 0 {
			return x
		}
		return y
	}
	return kernel.Max(x, y)
}

// least returns the smaller of two numbers likewise.
func least(x, y kernel.Expr) kernel.Expr {
	if d, ok := kernel.Difference(x, y); ok {
		if d <= 0 {
			return x
		}
		return y
	}
	return kernel.Min(x, y)
}
