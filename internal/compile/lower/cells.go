package lower

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// The family "cells": one GPU thread for each cell, the plainest mapping. The
// two innermost axes share a block and the next has a block for every position.
// A launch has no more dimensions: threads go along any further axes.

func init() {
	register(&family{
		name: "cells", doc: "one GPU thread for each cell", place: 10,
		target: GPU, rank: func(rank int) bool { return rank > 0 }, plain: true,
		declare: declareCells,
		expert:  []string{"family=cells"},
		build:   (*nest).cells,
	})
}

func declareCells(axes []string) ([]schedule.Param, []schedule.Constraint) {
	rank := len(axes)
	shapes := map[int][]schedule.Value{
		1: {schedule.Int(256), schedule.Int(128), schedule.Int(64), schedule.Int(512), schedule.Int(1024)},
		2: {schedule.Int(8, 32), schedule.Int(4, 32), schedule.Int(4, 64), schedule.Int(8, 64), schedule.Int(2, 128),
			schedule.Int(16, 16)},
	}
	values, ok := shapes[rank]
	if !ok {
		for _, b := range [][2]int64{{8, 32}, {4, 32}, {4, 64}, {8, 64}, {2, 128}, {16, 16}, {1, 256}, {4, 128}} {
			values = append(values, schedule.Int(b[0], b[1]))
		}
	}
	return []schedule.Param{{
		Name: "block", Role: schedule.Threads, Axis: schedule.InnerAxis,
		Doc:    "threads of a block on the innermost axes, outermost of them first",
		Source: "Zhang and Mueller 2013, section 3.1; Garvey 2018, section 4",
		Values: values, Default: values[0],
		Finer: func() []schedule.Value { return allThreadBlocks(len(values[0].Ints())) },
	}}, nil
}

// cells builds the kernel.
func (n *nest) cells() ([]kernel.Stmt, []func()) {
	block := n.config.Ints("block")
	lanes := n.segmentLanes(product(block), blockSize(0, block), 1)
	n.aligned = lanes != nil
	blockReduction := n.newBlockReduction(n.cellBlocks(block), product(block), product(block), lanes)
	top := newScope(nil)
	pos := map[int]kernel.Expr{}
	edge := map[int]bool{}
	var body *scope = newScope(top)
	var within, inside kernel.Expr
	var blocks, threads []launchLoop
	var along []*kernel.Loop
	for i := len(n.axes) - 1; i >= 0; i-- {
		axis := n.axes[i]
		n.nameBounds(top, axis)
		sp := n.span[axis]
		name := n.Program.Axes[axis]
		level := len(n.axes) - 1 - i
		edge[axis] = sp.low || sp.high
		v := kernel.NewVar(name, types.I64)
		body.names[name] = true
		pos[axis] = kernel.V(v)
		if sp.low {
			inside = conj(inside, kernel.Ge(kernel.V(v), sp.inLo))
		}
		if sp.high {
			inside = conj(inside, kernel.Lt(kernel.V(v), sp.inHi))
		}
		if level > 2 {
			along = append(along, &kernel.Loop{Var: v, Lo: sp.lo, Hi: sp.hi, Step: kernel.I(1)})
			continue
		}
		size := blockSize(level, block)
		b := top.declare(n.env, name+"_block", types.I64)
		at := kernel.Add(n.cellStart(level), kernel.Mul(kernel.V(b), kernel.I(size)))
		blocks = append(blocks, launchLoop{b, n.cellBlocksOn(level, block), kernel.BlockX + kernel.Tag(level)})
		if size > 1 {
			t := top.declare(n.env, name+"_thread", types.I64)
			threads = append(threads, launchLoop{t, kernel.I(size), kernel.ThreadX + kernel.Tag(level)})
			at = kernel.Add(at, kernel.V(t))
		}
		body.emit(&kernel.Let{Var: v, Value: at})
		if !kernel.Same(n.cellStart(level), sp.lo) {
			within = conj(within, kernel.Ge(kernel.V(v), sp.lo))
		}
		if size > 1 {
			within = conj(within, kernel.Lt(kernel.V(v), sp.hi))
		}
	}
	allocs := blockReduction.allocs(top)
	blockReduction.begin(body)
	n.strided = nil // every thread has a cell: colours are guards
	whole := newScope(body)
	kept := map[*statement]*kernel.Var{}
	for _, s := range n.reductions() {
		if blockReduction.folds(s) {
			kept[s] = blockReduction.keep(whole, s)
		}
	}
	sink := func(c *cell) sink {
		return func(s *statement, value kernel.Expr) kernel.Stmt {
			if v, ok := kept[s]; ok {
				return &kernel.Assign{Var: v, Value: value}
			}
			return blockReduction.sink(c)(s, value)
		}
	}
	work := newScope(whole)
	if inside == nil {
		row := newScope(work)
		c := n.newCell(nil, pos, row)
		stmts := c.statements(sink(c))
		work.stmts = append(row.stmts, stmts...)
	} else {
		var paths [2][]kernel.Stmt
		for i, e := range []map[int]bool{nil, edge} {
			row := newScope(work)
			c := n.newCell(e, pos, row)
			stmts := c.statements(sink(c))
			paths[i] = append(row.stmts, stmts...)
		}
		work.emit(&kernel.If{Cond: inside, Then: paths[0], Else: paths[1]})
	}
	list := work.stmts
	guarded := func() {
		if within != nil {
			list = []kernel.Stmt{&kernel.If{Cond: within, Then: list}}
		}
	}
	if len(kept) > 0 { // all threads come to where lanes combine
		guarded()
		whole.stmts = append(whole.stmts, list...)
		for _, s := range n.reductions() {
			if v, ok := kept[s]; ok {
				blockReduction.fold(whole, s, []kernel.Expr{kernel.V(v)}, n.cellPlace(s, pos, threads, block))
			}
		}
		list = whole.stmts
	}
	for _, l := range along {
		l.Body = list
		list = []kernel.Stmt{l}
	}
	if len(kept) == 0 {
		guarded()
	}
	body.stmts = append(body.stmts, list...)
	blockReduction.end(body, number(threads), number(blocks))
	list = append(allocs, wrapped(threads, body.stmts)...)
	return append(top.stmts, wrapped(blocks, list)...), blockReduction.after()
}

// cellPlace is where a thread's cell is.
func (n *nest) cellPlace(s *statement, pos map[int]kernel.Expr, threads []launchLoop, block []int64) vectorPlace {
	place := vectorPlace{
		thread: kernel.V(threads[0].v), number: number(threads), at: func(axis int) kernel.Expr { return pos[axis] },
	}
	for i, axis := range n.axes {
		r, sp := s.src.Domain[axis], n.span[axis]
		low := !sameBounds(r.Lo, sp.loBounds)
		high := blockSize(len(n.axes)-1-i, block) > 1 || !sameBounds(r.Hi, sp.hiBounds)
		if axis == n.inner() {
			place.guard = conj(place.guard, n.segmentsOf(n.env, s).touches(pos[axis], low, high))
			continue
		}
		if low {
			place.guard = conj(place.guard, kernel.Ge(pos[axis], n.low(r.Lo, nil)))
		}
		if high {
			place.guard = conj(place.guard, kernel.Le(pos[axis], n.high(r.Hi, nil)))
		}
	}
	return place
}

// launchLoop is a loop over blocks or threads, from 0.
type launchLoop struct {
	v     *kernel.Var
	count kernel.Expr
	tag   kernel.Tag
}

// wrapped puts a list of statements into loops, of which the first varies
// fastest.
func wrapped(loops []launchLoop, list []kernel.Stmt) []kernel.Stmt {
	for _, l := range loops {
		list = []kernel.Stmt{&kernel.Loop{
			Var: l.v, Lo: kernel.I(0), Hi: l.count, Step: kernel.I(1), Tag: l.tag, Body: list,
		}}
	}
	return list
}

// number numbers the iterations of loops, of which the first varies fastest.
func number(loops []launchLoop) kernel.Expr {
	num := kernel.I(0)
	for i := len(loops) - 1; i >= 0; i-- {
		num = kernel.Add(kernel.Mul(num, loops[i].count), kernel.V(loops[i].v))
	}
	return num
}

// cellBlocks is the number of blocks of a launch with one thread for each cell.
func (n *nest) cellBlocks(block []int64) kernel.Expr {
	count := kernel.I(1)
	for level := range min(3, len(n.axes)) {
		count = kernel.Mul(count, n.cellBlocksOn(level, block))
	}
	return count
}

// cellStart is where the first block starts along an axis, 0 being the innermost:
// there with a segment, if lanes hold whole ones.
func (n *nest) cellStart(level int) kernel.Expr {
	lo := n.span[n.axes[len(n.axes)-1-level]].lo
	if level == 0 && n.aligned {
		return segmentStart(lo)
	}
	return lo
}

// cellBlocksOn is the number of blocks along an axis, 0 being the innermost.
func (n *nest) cellBlocksOn(level int, block []int64) kernel.Expr {
	sp := n.span[n.axes[len(n.axes)-1-level]]
	return kernel.CeilDiv(kernel.Max(kernel.Sub(sp.hi, n.cellStart(level)), kernel.I(0)),
		kernel.I(blockSize(level, block)))
}

// blockSize is the number of threads along an axis, 0 being the innermost.
func blockSize(level int, block []int64) int64 {
	if level < len(block) {
		return block[len(block)-1-level]
	}
	return 1
}

func product(of []int64) int64 {
	n := int64(1)
	for _, x := range of {
		n *= x
	}
	return n
}
