package sim_test

import (
	"math"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// oracle runs a kernel the obvious way: it walks the tree, with a goroutine for
// each thread, and the iterations of other loops one after the other.
type oracle struct {
	buffers map[*kernel.Buffer][]op.Value
	mu      sync.Mutex // held except while a thread waits
	meet    *sync.Cond
	round   int
	waiting int
	threads int
	held    map[[5]int64]op.Value // what a thread of a block puts into a shuffle

	loads, stores map[*kernel.Buffer]int64
	ops           map[opKey]int64
	funcs         map[funcKey]int64
}

type opKey struct {
	o op.Op
	t types.Type
}

type funcKey struct {
	f op.Func
	t types.Type
}

// thread is one thread with its variables.
type thread struct {
	*oracle
	vars      map[*kernel.Var]op.Value
	peers     []map[*kernel.Buffer][]op.Value // shared memory of the blocks of its cluster
	rank      int64                           // of its own
	mine      map[*kernel.Buffer][]op.Value
	block     [3]int64
	inCluster [3]int64
	index     [3]int64
	extent    [3]int64 // threads of a block
}

// runOracle runs a kernel; the buffers' values change in place.
func runOracle(k *kernel.Kernel, buffers [][]op.Value, scalars []op.Value) *oracle {
	o := &oracle{
		buffers: map[*kernel.Buffer][]op.Value{}, loads: map[*kernel.Buffer]int64{}, stores: map[*kernel.Buffer]int64{},
		ops: map[opKey]int64{}, funcs: map[funcKey]int64{}, held: map[[5]int64]op.Value{},
	}
	o.meet = sync.NewCond(&o.mu)
	for i, b := range k.Buffers {
		o.buffers[b] = buffers[i]
	}
	args := map[*kernel.Var]op.Value{}
	for i, v := range k.Scalars {
		args[v] = scalars[i]
	}
	blocks, cluster, threads := [3]int64{1, 1, 1}, [3]int64{1, 1, 1}, [3]int64{1, 1, 1}
	sizer := &thread{oracle: o, vars: args}
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		if l, ok := s.(*kernel.Loop); ok && (l.Tag.IsBlock() || l.Tag.IsCluster() || l.Tag.IsThread()) {
			n := (sizer.eval(l.Hi).I - sizer.eval(l.Lo).I + sizer.eval(l.Step).I - 1) / sizer.eval(l.Step).I
			switch {
			case l.Tag.IsBlock():
				blocks[l.Tag-kernel.BlockX] = n
			case l.Tag.IsCluster():
				cluster[l.Tag-kernel.ClusterX] = n
			default:
				threads[l.Tag-kernel.ThreadX] = n
			}
		}
	}, nil)
	o.loads, o.stores, o.ops, o.funcs = map[*kernel.Buffer]int64{}, map[*kernel.Buffer]int64{},
		map[opKey]int64{}, map[funcKey]int64{}
	var all sync.WaitGroup
	o.mu.Lock() // until all threads are counted
	each(blocks, func(b [3]int64) {
		var peers []map[*kernel.Buffer][]op.Value
		each(cluster, func(c [3]int64) {
			peers = append(peers, map[*kernel.Buffer][]op.Value{})
		})
		each(cluster, func(c [3]int64) {
			rank := c[0] + cluster[0]*(c[1]+cluster[1]*c[2])
			each(threads, func(t [3]int64) {
				o.threads++
				th := &thread{
					oracle: o, vars: map[*kernel.Var]op.Value{}, peers: peers, rank: rank,
					mine: map[*kernel.Buffer][]op.Value{}, block: b, inCluster: c, index: t, extent: threads,
				}
				for v, x := range args {
					th.vars[v] = x
				}
				all.Go(func() {
					o.mu.Lock()
					th.list(k.Body)
					o.mu.Unlock()
				})
			})
		})
	})
	o.mu.Unlock()
	all.Wait()
	return o
}

func each(size [3]int64, f func([3]int64)) {
	for z := range size[2] {
		for y := range size[1] {
			for x := range size[0] {
				f([3]int64{x, y, z})
			}
		}
	}
}

// barrier waits for all threads of the launch, which is enough for any scope.
func (t *thread) barrier() {
	t.waiting++
	if t.waiting == t.threads {
		t.waiting = 0
		t.round++
		t.meet.Broadcast()
		return
	}
	for round := t.round; round == t.round; {
		t.meet.Wait()
	}
}

func (t *thread) list(list []kernel.Stmt) {
	for _, s := range list {
		t.stmt(s)
	}
}

func (t *thread) stmt(s kernel.Stmt) {
	switch s := s.(type) {
	case *kernel.Let:
		t.vars[s.Var] = t.eval(s.Value)
	case *kernel.Declare:
		t.vars[s.Var] = t.eval(s.Init)
	case *kernel.Assign:
		t.vars[s.Var] = t.eval(s.Value)
	case *kernel.Store:
		i := t.eval(s.Index).I
		t.of(s.Buffer, s.Rank)[i] = t.eval(s.Value)
		t.stores[s.Buffer]++
	case *kernel.LoadVector:
		i := t.eval(s.Index).I
		t.loads[s.Buffer]++
		for e, v := range s.Vars {
			t.vars[v] = t.cells(s.Buffer)[i+int64(e)]
		}
	case *kernel.StoreVector:
		i := t.eval(s.Index).I
		t.stores[s.Buffer]++
		for e, x := range s.Values {
			t.of(s.Buffer, s.Rank)[i+int64(e)] = t.eval(x)
		}
	case *kernel.Shuffle:
		t.shuffle(s)
	case *kernel.Alloc:
		n := t.eval(s.Buffer.Cells).I
		if s.Buffer.Space == kernel.Private {
			t.mine[s.Buffer] = make([]op.Value, n)
		} else if own := t.peers[t.rank]; own[s.Buffer] == nil {
			own[s.Buffer] = make([]op.Value, n)
		}
	case *kernel.Loop:
		t.loop(s)
	case *kernel.If:
		if t.eval(s.Cond).True() {
			t.list(s.Then)
		} else {
			t.list(s.Else)
		}
	case *kernel.AsyncCopy:
		t.copies(s.To, s.At, s.From, s.Index, int64(s.Cells))
	case *kernel.BulkCopy:
		t.copies(s.To, s.At, s.From, s.Index, t.eval(s.Cells).I)
	case *kernel.Barrier, *kernel.MbarrierWait: // to which all threads come
		t.barrier()
	}
}

// shuffle hands values round; all threads of the launch come to it.
func (t *thread) shuffle(s *kernel.Shuffle) {
	warp := func(n int64) [5]int64 { return [5]int64{t.block[0], t.block[1], t.block[2], t.rank, n} }
	own := t.index[0] + t.extent[0]*(t.index[1]+t.extent[1]*t.index[2])
	t.held[warp(own)] = t.eval(s.Value)
	by := t.eval(s.By).I
	t.barrier()
	lane, first := own%32, own/32*32
	from := by
	switch s.Kind {
	case kernel.ShuffleUp:
		if from = lane - by; from < 0 {
			from = lane
		}
	case kernel.ShuffleDown:
		if from = lane + by; from > 31 {
			from = lane
		}
	case kernel.ShuffleXor:
		from = lane ^ by
	}
	v, ok := t.held[warp(first+from)]
	if !ok { // no such thread
		v = op.Value{T: s.Var.Type, F: math.NaN()}
		if !v.T.IsFloat() {
			v = op.Int(v.T, -1<<31+0x5EED)
		}
	}
	t.vars[s.Var] = v
	t.barrier()
}

func (t *thread) loop(l *kernel.Loop) {
	lo, hi, step := t.eval(l.Lo).I, t.eval(l.Hi).I, t.eval(l.Step).I
	at := int64(-1)
	switch {
	case l.Tag.IsBlock():
		at = t.block[l.Tag-kernel.BlockX]
	case l.Tag.IsCluster():
		at = t.inCluster[l.Tag-kernel.ClusterX]
	case l.Tag.IsThread():
		at = t.index[l.Tag-kernel.ThreadX]
	}
	for i, n := lo, int64(0); i < hi; i, n = i+step, n+1 {
		if at < 0 || at == n {
			t.vars[l.Var] = op.Int(l.Var.Type, i)
			t.list(l.Body)
		}
	}
}

func (t *thread) cells(b *kernel.Buffer) []op.Value {
	switch b.Space {
	case kernel.Shared:
		return t.peers[t.rank][b]
	case kernel.Private:
		return t.mine[b]
	}
	return t.buffers[b]
}

// of returns the cells of the block that a rank means, or of the own one.
func (t *thread) of(b *kernel.Buffer, rank kernel.Expr) []op.Value {
	if rank == nil {
		return t.cells(b)
	}
	return t.peers[t.eval(rank).I][b]
}

// copies moves cells at once, which is early enough for those who wait.
func (t *thread) copies(to *kernel.Buffer, at kernel.Expr, from *kernel.Buffer, index kernel.Expr, n int64) {
	i, k := t.eval(at).I, t.eval(index).I
	copy(t.cells(to)[i:i+n], t.cells(from)[k:k+n])
	t.stores[to]++
	t.loads[from]++
}

func (t *thread) eval(e kernel.Expr) op.Value {
	switch e := e.(type) {
	case *kernel.Lit:
		return e.Value
	case *kernel.Ref:
		return t.vars[e.Var]
	case *kernel.Load:
		i := t.eval(e.Index).I
		t.loads[e.Buffer]++
		return t.of(e.Buffer, e.Rank)[i]
	case *kernel.Unary:
		t.ops[opKey{e.Op, e.X.Type()}]++
		return op.Unary(e.Op, t.eval(e.X))
	case *kernel.Binary:
		t.ops[opKey{e.Op, e.X.Type()}]++
		x := t.eval(e.X)
		return op.Binary(e.Op, x, t.eval(e.Y))
	case *kernel.Fma:
		t.ops[opKey{op.Mul, e.Type()}]++
		t.ops[opKey{op.Add, e.Type()}]++
		x, y := t.eval(e.X), t.eval(e.Y)
		return op.Fma(x, y, t.eval(e.Z))
	case *kernel.Select:
		if t.eval(e.Cond).True() {
			return t.eval(e.X)
		}
		return t.eval(e.Y)
	case *kernel.Cast:
		return op.Convert(e.To, t.eval(e.X))
	case *kernel.FuncCall:
		t.funcs[funcKey{e.Func, e.Type()}]++
		var args []op.Value
		for _, a := range e.Args {
			args = append(args, t.eval(a))
		}
		return op.Call(e.Func, args...)
	case *kernel.Random:
		seed := t.eval(e.Seed).I
		return op.Random(e.T, seed, t.eval(e.Number).I)
	}
	panic("unknown expression")
}
