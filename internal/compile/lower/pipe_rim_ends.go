package lower

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// The ends of rows that no stage assigns are the same in all launches of a span. In the grid each is a sector of memory
// of its own, in a page of memory that nothing else of the launch may touch: the grids of levels between the first and
// the last are read for their rims alone. So a kernel copies them once, before the first launch, to columns in scratch,
// where those of a plane lie together.

// endsOf is the key of the columns of a grid in scratch.
type endsOf struct {
	grid  *ir.Grid
	width pipeline.Halo // columns at the first and at the last cells of rows
}

// keepsEnds reports whether the ends of a grid's rows come from columns in scratch. So they do where the grid has the
// same rim before and after the iterations, and columns do not overlap.
func (p *pipe) keepsEnds(grid *ir.Grid) bool {
	last := len(p.axes) - 1
	return p.middle() && p.hasRims(last) && !p.shortRows() && homes(p.pipeline)[grid] == grid
}

// endsStore is where the ends of a grid's rows are: in scratch by plane, column and row, or in the grid.
func (p *pipe) endsStore(grid *ir.Grid) *store {
	home := p.gridStore(grid)
	if !p.keepsEnds(grid) {
		return home
	}
	w := p.width[len(p.axes)-1]
	constant := func(n int64) func(func(int) kernel.Expr) kernel.Expr {
		return func(func(int) kernel.Expr) kernel.Expr { return kernel.I(n) }
	}
	columns := storeDim{axis: -1, lo: constant(0), hi: constant(w.Low + w.High - 1), key: fmt.Sprint(w.Low + w.High)}
	dims := []storeDim{home.dims[0], columns, home.dims[1]}
	st := p.scratchStore(endsOf{grid, w}, grid.Name+"_ends", grid.Name+"_ends", grid.Type, dims)
	if !slices.ContainsFunc(p.prepares, func(l *kernel.Launch) bool { return slices.Contains(l.Args, st.arg) }) {
		p.prepareEnds(grid, home, st)
	}
	return st
}

// prepareEnds adds the launch that copies the ends of a grid's rows to columns.
func (p *pipe) prepareEnds(grid *ir.Grid, home, to *store) {
	last := len(p.axes) - 1
	w := p.width[last]
	e := newEnv(p.Program, p.opts.Bound)
	e.baked = p.baked
	src := e.buffer(home.arg, home.order, home.name, home.elem, func() kernel.Expr { return home.cells(e.size) })
	dst := e.buffer(to.arg, to.order, to.name, to.elem, func() kernel.Expr { return to.cells(e.size) })
	src.reads, dst.writes = true, true
	top := newScope(nil)
	top.names[src.buffer.Name], top.names[dst.buffer.Name] = true, true
	let := func(in *scope, name string, x kernel.Expr) kernel.Expr { return in.let(e, name, name, x) }
	count := let(top, "count", to.cells(e.size))
	block, thread := top.declare(e, "block", types.I64), top.declare(e, "thread", types.I64)
	body := newScope(top)
	cell := let(body, "cell", kernel.Add(kernel.Mul(kernel.V(block), kernel.I(copyThreads)), kernel.V(thread)))
	rows, columns := to.pitch(2, e.size), to.pitch(1, e.size)
	row, of := let(body, "row", kernel.Bin(op.Rem, cell, rows)), let(body, "column_of", kernel.Bin(op.Div, cell, rows))
	column := let(body, "column", kernel.Bin(op.Rem, of, columns))
	plane := let(body, "plane", kernel.Bin(op.Div, of, columns))
	end := kernel.Sub(home.dims[last].hi(e.size), kernel.I(w.Low+w.High-1)) // added to columns at the last cells
	x := kernel.Add(column, kernel.Sel(kernel.Lt(column, kernel.I(w.Low)), home.dims[last].lo(e.size), end))
	at := []index{
		{at: kernel.Add(plane, home.dims[0].lo(e.size))}, {at: kernel.Add(row, home.dims[1].lo(e.size))}, {at: x},
	}
	body.emit(&kernel.If{Cond: kernel.Lt(cell, count), Then: []kernel.Stmt{&kernel.Store{
		Buffer: dst.buffer, Index: cell, Value: &kernel.Load{Buffer: src.buffer, Index: e.flat(home, at)},
	}}})
	top.emit(wrapped([]launchLoop{
		{thread, kernel.I(copyThreads), kernel.ThreadX},
		{block, kernel.CeilDiv(count, kernel.I(copyThreads)), kernel.BlockX},
	}, body.stmts)...)
	k := &kernel.Kernel{
		Name: p.name + "_" + grid.Name + "_ends",
		Doc: []string{
			fmt.Sprintf("%s = the ends of the rows of %s, which iterations leave as they are", to.name, grid.Name),
		},
		Body: top.stmts,
	}
	args := e.finish(k)
	done, err := p.passed(k, kernel.Asked{})
	if err != nil {
		p.broken = errors.Join(p.broken, err)
		return
	}
	p.prepares = append(p.prepares, p.launchOf(done, args))
}
