package kerneltest

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// clusterSize is the number of blocks of a cluster.
const clusterSize = 2

// team is a block's threads and what they share.
type team struct {
	rows  int64
	tile  *kernel.Buffer // of a cell for every thread
	first kernel.Expr    // holds in one thread
	rank  *kernel.Var    // in a cluster; nil without
}

func isZero(v *kernel.Var) kernel.Expr { return kernel.Bin(op.Eq, kernel.V(v), kernel.I(0)) }

func int32Of(i int64) kernel.Expr { return kernel.L(op.Int(types.I32, i)) }

// fill draws how the tile is filled, so that all threads may read it
// afterwards: allocations, and statements.
func (g *gen) fill(b *team, own kernel.Expr) (allocs, list []kernel.Stmt) {
	allocs = []kernel.Stmt{&kernel.Alloc{Buffer: b.tile}}
	meet := &kernel.Barrier{Scope: pick(g, kernel.BlockScope, kernel.GridScope)}
	if b.rank != nil {
		meet.Scope = kernel.ClusterScope
	}
	store := &kernel.Store{Buffer: b.tile, Index: own, Value: g.expr(b.tile.Elem, 2)}
	switch g.upTo(4) {
	case 0:
		return allocs, append(list, store, meet)
	case 1:
		return allocs, append(list, store, &kernel.Barrier{Number: 1 + g.upTo(14), Threads: 32}, meet)
	case 2:
		return allocs, append(append(list, g.async(b, own)...), meet)
	}
	m := &kernel.Buffer{
		Name: g.name("ready"), Elem: types.I64, Space: kernel.Mbarrier, Mode: kernel.InOut, Cells: kernel.I(2),
	}
	slot := kernel.I(int64(g.upTo(1)))
	init := func(count int64) kernel.Stmt {
		return &kernel.If{
			Cond: b.first, Then: []kernel.Stmt{&kernel.MbarrierInit{Mbarrier: m, Slot: slot, Count: int32Of(count)}},
		}
	}
	wait := &kernel.MbarrierWait{Mbarrier: m, Slot: slot, Parity: int32Of(0)}
	allocs = append(allocs, &kernel.Alloc{Buffer: m})
	if b.tile.Elem == types.F64 && g.bool() {
		list = append(list, init(1), meet, &kernel.If{Cond: b.first, Then: g.bulk(b, m, slot)}, wait)
	} else {
		list = append(list, init(b.rows*Size), meet, store, &kernel.MbarrierArrive{Mbarrier: m, Slot: slot}, wait)
	}
	if b.rank != nil {
		list = append(list, meet)
	}
	return allocs, list
}

// async draws copies of one cell for every thread, in one or two groups.
func (g *gen) async(b *team, own kernel.Expr) []kernel.Stmt {
	from := g.a
	if b.tile.Elem == types.F32 {
		from = g.k.Buffers[2]
	}
	from = g.global(from)
	list := []kernel.Stmt{
		&kernel.Prefetch{Buffer: from, Index: kernel.I(0)},
		&kernel.AsyncCopy{To: b.tile, At: own, From: from, Index: within(g.expr(types.I64, 2), from.Cells), Cells: 1},
		&kernel.AsyncCommit{},
	}
	wait := &kernel.AsyncWait{}
	if g.bool() {
		list = append(list, &kernel.AsyncCommit{})
		wait.Pending = g.upTo(1)
	}
	return append(list, wait)
}

// bulk draws a copy of the whole tile, by one thread.
func (g *gen) bulk(b *team, m *kernel.Buffer, slot kernel.Expr) []kernel.Stmt {
	cells := b.rows * Size
	from := g.global(g.a)
	announce := &kernel.MbarrierArrive{Mbarrier: m, Slot: slot, Bytes: int32Of(8 * cells)}
	move := &kernel.BulkCopy{
		To: b.tile, At: kernel.I(0), From: from, Index: kernel.I(2 * int64(g.upTo(Cells/2-int(cells)/2))),
		Cells: kernel.I(cells), Mbarrier: m, Slot: slot,
	}
	if g.bool() {
		return []kernel.Stmt{move, announce}
	}
	return []kernel.Stmt{announce, move}
}

// global makes a buffer one that copies can be from.
func (g *gen) global(b *kernel.Buffer) *kernel.Buffer {
	b.Space = kernel.Global
	return b
}

// neighbour draws how blocks of a cluster look into each other's tiles, and
// change a cell of another's.
func (g *gen) neighbour(b *team, own kernel.Expr) []kernel.Stmt {
	other := kernel.Sub(int32Of(clusterSize-1), kernel.V(b.rank))
	x := kernel.NewVar(g.name("theirs"), b.tile.Elem)
	list := []kernel.Stmt{&kernel.Let{
		Var: x, Value: &kernel.Load{Buffer: b.tile, Index: within(g.expr(types.I64, 2), b.tile.Cells), Rank: other},
	}}
	g.vars = append(g.vars, x)
	meet := &kernel.Barrier{Scope: kernel.ClusterScope}
	list = append(list, meet)
	if g.bool() {
		list = append(list, &kernel.Store{Buffer: b.tile, Index: own, Value: g.leaf(b.tile.Elem), Rank: other}, meet)
	}
	return list
}
