package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// blockReduction takes the values of a group's reductions from the threads of a GPU. A
// family that makes blocks of threads
//
//	t := n.newTally(blocks, threads, cells)  before it names bounds
//	list = append(t.allocs(top), ...)        between the block and the thread loops
//	t.begin(s)                               where a thread starts
//	c.statements(t.sink(c))                  at every cell, under any condition
//	t.end(s, thread, block)                  where all threads of the block come again
//	return stmts, t.after()
//
// Where ir.Reduce's tree has to be kept and warps come to whole segments together,
// a family gives the values of these reductions to fold instead, and one value a
// segment is left; where warps do not, each cell leaves its value in memory. Else
// each thread accumulates the values that it meets, in a variable, a block combines
// its threads' in shared memory, and one value a block is left. No result depends on
// the order in which threads or blocks run.
type blockReduction struct {
	nest    *nest
	threads int64
	cells   int64 // of a block; 0 if they are many
	// shuffles lets the lanes of a warp combine without shared memory. It takes
	// whole warps, and a dialect that has shuffles.
	shuffles    bool
	stmts       []*statement
	parts       map[*statement]*partials
	accs        map[*statement]*kernel.Var
	sharedTrees map[*statement]*sharedTree
	cellwise    map[*statement]*cellwise // of reductions in order, where warps do not come to whole segments
	folding     *segmentLanes            // nil there
	places      map[*statement]segments
	exchanges   map[types.Type]*kernel.Buffer
}

// newBlockReduction prepares the group's reductions for a launch of so many blocks, a
// number over the nest's sizes, each of so many threads and cells. With
// lanes, its warps come to whole segments together.
func (n *nest) newBlockReduction(blocks kernel.Expr, threads, cells int64, lanes *segmentLanes) *blockReduction {
	t := &blockReduction{
		folding: lanes,
		nest:    n, threads: threads, cells: cells, stmts: n.reductions(),
		parts:       map[*statement]*partials{},
		accs:        map[*statement]*kernel.Var{},
		sharedTrees: map[*statement]*sharedTree{},
		cellwise:    map[*statement]*cellwise{},
		places:      map[*statement]segments{},
		exchanges:   map[types.Type]*kernel.Buffer{},
	}
	for _, s := range t.stmts {
		count := blocks
		if n.inOrder(s) {
			count = n.segmentCount(s)
			if lanes == nil {
				t.cellwise[s] = n.newCellwise(s)
			}
		}
		t.parts[s] = n.newPartials(s, count)
		t.parts[s].few = !n.inOrder(s) && (cells == 0 || cells >= manyCells)
	}
	return t
}

// manyCells are so many in a block that the blocks of any grid which fits a
// device are few enough for one block to combine what they leave.
const manyCells = 1 << 13

// allocs makes the shared memory that blocks combine in, and takes its names
// in the kernel's outermost scope. Reductions of one type take turns if there
// are many of them, or many threads.
func (t *blockReduction) allocs(top *scope) []kernel.Stmt {
	list := t.makeExchanges(top)
	made := map[types.Type][]*kernel.Buffer{}
	count := map[types.Type]int{}
	for _, s := range t.stmts {
		if t.folds(s) {
			t.places[s] = t.nest.segmentsOf(t.nest.env, s).named(top, t.nest.env, s)
		}
		if t.nest.inOrder(s) {
			continue
		}
		r := s.src.Reduce
		of := r.Scalar.Type
		values := t.threads / t.lanes()
		if room := max(1, blockReductionBytes/(sharedTreeCells(values)*int64(of.Size()))); int64(len(made[of])) < room {
			t.sharedTrees[s] = newSharedTree(top, t.nest.env, r.Scalar.Name+"_shared", r, values)
			made[of] = append(made[of], t.sharedTrees[s].buf)
			list = append(list, &kernel.Alloc{Buffer: t.sharedTrees[s].buf})
		} else {
			t.sharedTrees[s] = sharedTreeIn(made[of][count[of]%len(made[of])], r)
		}
		count[of]++
	}
	return list
}

// blockReductionBytes is the shared memory that the reductions of one type share, if it
// is enough for one.
const blockReductionBytes = 1 << 13

// begin makes a thread's variables.
func (t *blockReduction) begin(s *scope) {
	for _, st := range t.stmts {
		if t.nest.inOrder(st) {
			continue
		}
		r := st.src.Reduce
		v := s.declare(t.nest.env, r.Scalar.Name+"_thread", r.Scalar.Type)
		t.accs[st] = v
		s.emit(&kernel.Declare{Var: v, Init: neutral(r.Kind, r.Scalar.Type)})
	}
}

// sink takes the values of a cell.
func (t *blockReduction) sink(c *cell) sink {
	return func(s *statement, value kernel.Expr) kernel.Stmt {
		if acc, ok := t.accs[s]; ok {
			return &kernel.Assign{Var: acc, Value: kernel.Bin(reduceOp(s.src.Reduce.Kind), kernel.V(acc), value)}
		}
		return t.cellwise[s].put(c, value)
	}
}

// lanes are the threads whose values are combined before shared memory.
func (t *blockReduction) lanes() int64 {
	if t.shuffles && t.threads%warp == 0 {
		return warp
	}
	return 1
}

const warp = 32

// end combines what the threads of a block have accumulated. Thread numbers
// the threads of a block, block those of the launch, from 0; both are I64.
func (t *blockReduction) end(s *scope, thread, block kernel.Expr) {
	if len(t.sharedTrees) == 0 {
		return
	}
	thread = s.let(t.nest.env, "thread", "thread", thread)
	for i, turn := range t.turns() {
		if i > 0 {
			s.emit(&kernel.Barrier{Scope: kernel.BlockScope})
		}
		t.combine(s, turn, thread, block)
	}
}

// turns groups the reductions that blocks combine, so that those of a group
// have memory of their own.
func (t *blockReduction) turns() [][]*statement {
	var out [][]*statement
	var turn []*statement
	for _, s := range t.stmts {
		r := t.sharedTrees[s]
		if r == nil {
			continue
		}
		if slices.ContainsFunc(turn, func(u *statement) bool { return t.sharedTrees[u].buf == r.buf }) {
			out, turn = append(out, turn), nil
		}
		turn = append(turn, s)
	}
	return append(out, turn)
}

// combine combines the values of some reductions, which have memory of their
// own.
func (t *blockReduction) combine(s *scope, stmts []*statement, thread, block kernel.Expr) {
	var sharedTrees []*sharedTree
	var puts []kernel.Stmt
	for _, st := range stmts {
		r, acc := t.sharedTrees[st], t.accs[st]
		if t.lanes() > 1 {
			t.shuffle(s, acc, r.join)
		}
		sharedTrees = append(sharedTrees, r)
		puts = append(puts, r.put(kernel.Bin(op.Div, thread, kernel.I(t.lanes())), kernel.V(acc)))
	}
	if t.lanes() > 1 {
		first := kernel.Bin(op.Eq, kernel.Bin(op.Rem, thread, kernel.I(warp)), kernel.I(0))
		puts = []kernel.Stmt{&kernel.If{Cond: first, Then: puts}}
	}
	s.stmts = append(s.stmts, puts...)
	var stores []kernel.Stmt
	for i, value := range combine(s, sharedTrees, t.threads/t.lanes(), thread) {
		b := t.nest.partialBuffer(t.parts[stmts[i]])
		stores = append(stores, &kernel.Store{Buffer: b.buffer, Index: block, Value: value})
	}
	s.emit(&kernel.If{Cond: kernel.Bin(op.Eq, thread, kernel.I(0)), Then: stores})
}

// shuffle combines the values of a warp's lanes in the first one's variable.
func (t *blockReduction) shuffle(s *scope, acc *kernel.Var, join op.Op) {
	for by := int64(warp / 2); by > 0; by /= 2 {
		other := s.declare(t.nest.env, acc.Name+"_lane", acc.Type)
		s.emit(&kernel.Shuffle{
			Var: other, Kind: kernel.ShuffleDown, Value: kernel.V(acc), By: kernel.L(op.Int(types.I32, by)),
		})
		s.emit(&kernel.Assign{Var: acc, Value: kernel.Bin(join, kernel.V(acc), kernel.V(other))})
	}
}

// after returns what adds the launches that combine the partial results.
func (t *blockReduction) after() []func() {
	var list []func()
	for _, s := range t.stmts {
		p := t.parts[s]
		if w := t.cellwise[s]; w != nil {
			list = append(list, func() { t.nest.combineCells(w, p) })
		}
		list = append(list, func() { t.nest.tree(p) })
	}
	return list
}

// chunkThreads are the threads of a block that combines partial results, and
// treeChunk of them is what it combines.
const chunkThreads = 256

// chunks adds the kernels that combine partial results on a GPU, over the same
// tree as the loops of a CPU: each block a chunk of them, then one block what
// has come of the chunks, in as many rounds as that takes.
func (n *nest) chunks(p *partials) {
	if count, ok := kernel.IntLit(p.count); p.few || ok && count <= treeChunk {
		n.lastChunks(p)
		return
	}
	n.lastChunks(n.firstChunks(p))
}

// firstChunks adds the kernel whose blocks each combine a chunk, and returns
// what they leave.
func (n *nest) firstChunks(p *partials) *partials {
	fewer := kernel.CeilDiv(p.count, kernel.I(treeChunk))
	out := &partials{stmt: p.stmt, count: fewer, store: n.partialStore(&p.count, p.stmt, "_chunks", fewer)}
	k := n.newChunkKernel(p, "_chunks")
	to := k.env.buffer(out.store.arg, out.store.order, out.store.name, out.store.elem, func() kernel.Expr {
		return out.store.cells(k.env.size)
	})
	to.writes = true
	count := k.top.let(k.env, "count", "count", n.rebind(p.count, k.env.size))
	block := k.top.declare(k.env, "block", types.I64)
	thread := k.thread()
	at := k.body.let(k.env, "from", "chunk", kernel.Mul(kernel.V(block), kernel.I(treeChunk)))
	value := k.chunk(k.body, at, count, kernel.V(thread))
	k.body.emit(&kernel.If{
		Cond: kernel.Bin(op.Eq, kernel.V(thread), kernel.I(0)),
		Then: []kernel.Stmt{&kernel.Store{Buffer: to.buffer, Index: kernel.V(block), Value: value}},
	})
	k.top.emit(&kernel.Loop{
		Var: block, Lo: kernel.I(0), Hi: kernel.CeilDiv(count, kernel.I(treeChunk)),
		Step: kernel.I(1), Tag: kernel.BlockX,
		Body: []kernel.Stmt{&kernel.Alloc{Buffer: k.sharedTree.buf}, k.threads(thread)},
	})
	k.add()
	return out
}

// lastChunks adds the kernel of one block that combines all that is left into
// the scalar. A chunk's result takes the place of the first values, which have
// been read by then.
func (n *nest) lastChunks(p *partials) {
	k := n.newChunkKernel(p, "")
	cell := k.env.cell(p.stmt.src.Reduce.Scalar)
	cell.writes = true
	if one, ok := kernel.IntLit(p.count); ok && one == 1 {
		k.top.emit(&kernel.Store{Buffer: cell.buffer, Index: kernel.I(0), Value: k.first()})
		k.add()
		return
	}
	k.from.writes = true
	count := k.top.let(k.env, "count", "count", n.rebind(p.count, k.env.size))
	thread := k.thread()
	left := k.body.declare(k.env, "left", types.I64)
	k.body.emit(&kernel.Declare{Var: left, Init: count})

	each := newScope(k.body)
	chunk := k.body.declare(k.env, "chunk", types.I64)
	at := each.let(k.env, "from", "from", kernel.Mul(kernel.V(chunk), kernel.I(treeChunk)))
	value := k.chunk(each, at, kernel.V(left), kernel.V(thread))
	isFirst := kernel.Bin(op.Eq, kernel.V(thread), kernel.I(0))
	each.emit(&kernel.If{
		Cond: isFirst, Then: []kernel.Stmt{&kernel.Store{Buffer: k.from.buffer, Index: kernel.V(chunk), Value: value}},
	})
	each.emit(&kernel.Barrier{Scope: kernel.BlockScope})

	fewer := kernel.CeilDiv(kernel.V(left), kernel.I(treeChunk))
	round := k.body.declare(k.env, "round", types.I64)
	k.body.emit(&kernel.Loop{Var: round, Lo: kernel.I(0), Hi: kernel.I(rounds), Step: kernel.I(1), Body: []kernel.Stmt{
		&kernel.If{Cond: kernel.Bin(op.Gt, kernel.V(left), kernel.I(1)), Then: []kernel.Stmt{
			&kernel.Loop{Var: chunk, Lo: kernel.I(0), Hi: fewer, Step: kernel.I(1), Body: each.stmts},
			&kernel.Assign{Var: left, Value: fewer},
		}},
	}})
	k.body.emit(&kernel.If{
		Cond: isFirst, Then: []kernel.Stmt{&kernel.Store{Buffer: cell.buffer, Index: kernel.I(0), Value: k.first()}},
	})
	k.top.emit(&kernel.Alloc{Buffer: k.sharedTree.buf})
	k.top.emit(k.threads(thread))
	k.add()
}

// rounds of a chunk each are enough for any number of values.
const rounds = 6

// chunkKernel is a kernel that combines partial results, being built: top is
// what comes before its threads, body what each of them does.
type chunkKernel struct {
	nest       *nest
	kernel     *kernel.Kernel
	env        *env
	top, body  *scope
	from       *binding
	sharedTree *sharedTree
}

func (n *nest) newChunkKernel(p *partials, suffix string) *chunkKernel {
	e := newEnv(n.Program, n.opts.Bound)
	from := e.buffer(p.store.arg, p.store.order, p.store.name, p.store.elem, func() kernel.Expr {
		return p.store.cells(e.size)
	})
	from.reads = true
	r := p.stmt.src.Reduce
	top := newScope(nil)
	top.names[from.buffer.Name] = true
	top.names[r.Scalar.Name] = true
	k := &chunkKernel{
		nest:   n,
		kernel: treeKernel(n.call, r, suffix),
		env:    e, top: top, body: newScope(top), from: from,
	}
	k.sharedTree = newSharedTree(top, e, "values", r, treeChunk/k.width())
	return k
}

// width is the number of values that a thread loads with one access.
func (k *chunkKernel) width() int64 { return 16 / int64(k.from.buffer.Elem.Size()) }

func (k *chunkKernel) thread() *kernel.Var { return k.top.declare(k.env, "thread", types.I64) }

func (k *chunkKernel) threads(v *kernel.Var) kernel.Stmt {
	return &kernel.Loop{
		Var: v, Lo: kernel.I(0), Hi: kernel.I(chunkThreads), Step: kernel.I(1), Tag: kernel.ThreadX, Body: k.body.stmts,
	}
}

func (k *chunkKernel) load(at kernel.Expr) kernel.Expr {
	return &kernel.Load{Buffer: k.from.buffer, Index: at}
}

func (k *chunkKernel) first() kernel.Expr { return k.load(kernel.I(0)) }

// chunk combines the values from..from+treeChunk-1 that are below count into
// one, which the first thread may evaluate. Threads take neighbours by turns,
// with wide loads that do not wait for each other; the values past count
// change nothing.
func (k *chunkKernel) chunk(s *scope, from, count, thread kernel.Expr) kernel.Expr {
	width := k.width()
	stride := chunkThreads * width
	turns := treeChunk / stride
	full := newScope(s)
	var sums []kernel.Expr
	for turn := range turns {
		var vars []*kernel.Var
		var values []kernel.Expr
		for range width {
			v := full.declare(k.env, "x", k.from.buffer.Elem)
			vars, values = append(vars, v), append(values, kernel.V(v))
		}
		at := kernel.Add(kernel.Add(from, kernel.Mul(thread, kernel.I(width))), kernel.I(turn*stride))
		full.emit(&kernel.LoadVector{Vars: vars, Buffer: k.from.buffer, Index: at})
		sums = append(sums, pairwise(k.sharedTree.join, values))
	}
	for turn, sum := range sums {
		full.emit(k.sharedTree.put(kernel.Add(thread, kernel.I(int64(turn)*chunkThreads)), sum))
	}

	part := newScope(s)
	turn := part.declare(k.env, "turn", types.I64)
	at := kernel.NewVar("at", types.I64)
	var values []kernel.Expr
	for i := range width {
		x := kernel.Add(kernel.V(at), kernel.I(i))
		values = append(values, kernel.Sel(kernel.Lt(x, count), k.load(x), k.sharedTree.none))
	}
	slot := kernel.Add(kernel.Mul(kernel.V(turn), kernel.I(chunkThreads)), thread)
	part.emit(&kernel.Loop{
		Var: turn, Lo: kernel.I(0), Hi: kernel.I(turns), Step: kernel.I(1), Tag: kernel.Unroll,
		Body: []kernel.Stmt{
			&kernel.Let{Var: at, Value: kernel.Add(from, kernel.Mul(slot, kernel.I(width)))},
			k.sharedTree.put(slot, pairwise(k.sharedTree.join, values)),
		},
	})
	s.emit(&kernel.If{
		Cond: kernel.Le(kernel.Add(from, kernel.I(treeChunk)), count), Then: full.stmts, Else: part.stmts,
	})
	return combine(s, []*sharedTree{k.sharedTree}, treeChunk/width, thread)[0]
}

func (k *chunkKernel) add() {
	k.kernel.Body = k.top.stmts
	args := k.env.finish(k.kernel)
	k.nest.add(k.kernel, args)
}
