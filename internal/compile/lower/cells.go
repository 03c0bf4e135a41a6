package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// The family "cells": one GPU thread for each cell, the plainest mapping. The
// two innermost axes share a block and the next has a block for every position.
// A launch has no more dimensions: threads go along any further axes.
func (n *nest) cells(cfg schedule.Config) ([]kernel.Stmt, []func()) {
	block := slices.Clone(cfg.Ints("block"))
	parts := map[*statement]*partials{}
	var after []func()
	for _, s := range n.reductions() {
		count := kernel.I(1)
		for _, axis := range n.axes {
			r := s.src.Domain[axis]
			count = kernel.Mul(count, kernel.Add(kernel.Sub(n.high(r.Hi, nil), n.low(r.Lo, nil)), kernel.I(1)))
		}
		p := n.newPartials(s, count)
		parts[s] = p
		after = append(after, func() { n.tree(p) })
	}
	top := newScope(nil)
	pos := map[int]kernel.Expr{}
	edge := map[int]bool{}
	var body *scope = newScope(top)
	var within, inside kernel.Expr
	type loop struct {
		v     *kernel.Var
		count kernel.Expr
		tag   kernel.Tag
	}
	var blocks, threads []loop
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
		size := int64(1)
		if level < len(block) {
			size = block[len(block)-1-level]
		}
		b := top.declare(n.env, name+"_block", types.I64)
		at := kernel.Add(sp.lo, kernel.Mul(kernel.V(b), kernel.I(size)))
		blocks = append(blocks, loop{b, kernel.CeilDiv(kernel.Max(kernel.Sub(sp.hi, sp.lo), kernel.I(0)), kernel.I(size)), kernel.BlockX + kernel.Tag(level)})
		if size > 1 {
			t := top.declare(n.env, name+"_thread", types.I64)
			threads = append(threads, loop{t, kernel.I(size), kernel.ThreadX + kernel.Tag(level)})
			at = kernel.Add(at, kernel.V(t))
		}
		body.emit(&kernel.Let{Var: v, Value: at})
		if size > 1 {
			within = conj(within, kernel.Lt(kernel.V(v), sp.hi))
		}
	}
	sink := func(c *cell) sink {
		return func(s *statement, value kernel.Expr) kernel.Stmt {
			b := n.partialBuffer(parts[s])
			return &kernel.Store{Buffer: b.buffer, Index: c.cellNumber(s), Value: value}
		}
	}
	n.strided = nil // every thread has a cell: colours are guards
	work := newScope(body)
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
	for _, l := range along {
		l.Body = list
		list = []kernel.Stmt{l}
	}
	if within != nil {
		list = []kernel.Stmt{&kernel.If{Cond: within, Then: list}}
	}
	list = append(body.stmts, list...)
	for _, l := range append(threads, blocks...) {
		list = []kernel.Stmt{&kernel.Loop{Var: l.v, Lo: kernel.I(0), Hi: l.count, Step: kernel.I(1), Tag: l.tag, Body: list}}
	}
	return append(top.stmts, list...), after
}
