package profile

import (
	"cmp"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// A peak kernel does nothing but fused multiply-adds: as many chains a thread as hide how long each takes.
const (
	peakChains  = 8
	peakDepth   = 24 // multiply-adds of a chain in one iteration
	peakThreads = 256
	peakBlocks  = 16  // a multiprocessor
	peakUnits   = 132 // of a GPU that does not tell
	peakRounds  = 64
	// On processors a row of cells takes the place of a block of threads.
	peakCells = 1024
	peakRows  = 256
)

// peakKernel returns a kernel of multiply-adds of a type, and the operations that it does.
func peakKernel(elem types.Type, ofBlocks bool, units int) (k *kernel.Kernel, flops float64) {
	rows, width, rounds := int64(cmp.Or(units, peakUnits)*peakBlocks), int64(peakThreads), int64(peakRounds)
	if !ofBlocks {
		rows, width, rounds = peakRows, peakCells, 1
	}
	elements := rows * width
	buffer := &kernel.Buffer{Name: "cells", Elem: elem, Space: kernel.Global, Mode: kernel.InOut,
		Cells: kernel.I(elements)}
	row, cell := kernel.NewVar("row", types.I64), kernel.NewVar("cell", types.I64)
	index := kernel.Add(kernel.Mul(kernel.V(row), kernel.I(width)), kernel.V(cell))
	start := kernel.NewVar("start", elem)
	lit := func(v float64) kernel.Expr { return kernel.L(op.Float(elem, v)) }
	body := []kernel.Stmt{&kernel.Let{Var: start, Value: &kernel.Load{Buffer: buffer, Index: index}}}
	var chains []*kernel.Var
	var steps []kernel.Stmt
	sum := kernel.V(start)
	for c := range peakChains {
		x := kernel.NewVar("chain_"+string(rune('a'+c)), elem)
		chains = append(chains, x)
		body = append(body, &kernel.Declare{Var: x,
			Init: &kernel.Binary{Op: op.Add, X: kernel.V(start), Y: lit(float64(c))}})
	}
	for range peakDepth {
		for _, x := range chains {
			// Values go to a fixed point and neither overflow nor become denormal.
			steps = append(steps, &kernel.Assign{Var: x, Value: &kernel.Fma{X: kernel.V(x), Y: lit(0.5),
				Z: kernel.V(start)}})
		}
	}
	if ofBlocks {
		steps = loopTo(kernel.NewVar("round", types.I64), rounds, kernel.Serial, steps)
	}
	body = append(body, steps...)
	for _, x := range chains {
		sum = &kernel.Binary{Op: op.Add, X: sum, Y: kernel.V(x)}
	}
	body = append(body, &kernel.Store{Buffer: buffer, Index: index, Value: sum})
	outer, inner := kernel.BlockX, kernel.ThreadX
	if !ofBlocks {
		outer, inner = kernel.Parallel, kernel.Vector
	}
	k = &kernel.Kernel{Name: "peak_" + elem.String(), Buffers: []*kernel.Buffer{buffer},
		Body: loopTo(row, rows, outer, loopTo(cell, width, inner, body))}
	return kernel.TidyNames(k), float64(elements*rounds) * 2 * peakChains * peakDepth
}

// loopTo returns a loop from 0 to below n.
func loopTo(v *kernel.Var, n int64, tag kernel.Tag, body []kernel.Stmt) []kernel.Stmt {
	return []kernel.Stmt{&kernel.Loop{Var: v, Lo: kernel.I(0), Hi: kernel.I(n), Step: kernel.I(1), Tag: tag,
		Body: body}}
}
