package lower

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// Processors load a vector that lies in two cache lines as two. So vector loops should begin at
// a cell that begins a line. Two things see to that, and no result depends on either:
//   - Whoever has grids of its own places them so that the first cell of the interior begins a
//     line (Module.FirstCells). That costs nothing, and serves all rows whose length is a
//     multiple of a line's.
//   - In memory of others, or where rows are longer, the family "wavefront" computes the few
//     cells before in a loop of their own, as far as it reads memory (alignedFrom). The family
//     "loops" does not: that loses in the cache what it gains beyond.

// lineBytes is what vector loops are aligned to: a cache line, and the widest vectors.
const lineBytes = 64

// alignedVectors is how many vectors a loop takes at least for it to be worth a loop for the few
// cells before.
const alignedVectors = 8

// alignedFrom returns where the vectors of a loop over lo to hi-1 begin: at the first cell whose
// element begins a line, or at lo where the loop is short. The element of lo is given, and those
// of the cells that follow lie behind it.
func alignedFrom(b *kernel.Buffer, element, lo, hi kernel.Expr) kernel.Expr {
	phase := &kernel.Phase{Buffer: b, Bytes: lineBytes}
	n := phase.Elements()
	past := kernel.Bin(op.Rem, kernel.Add(kernel.Add(phase, element), kernel.I(n-1)), kernel.I(n))
	long := kernel.Ge(kernel.Sub(hi, lo), kernel.I(alignedVectors*n))
	return kernel.Sel(long, kernel.Sub(kernel.Add(lo, kernel.I(n-1)), past), lo)
}

// firstCells counts for each grid that the group touches how many of its accesses begin with
// which cell of a row, counted from the row's first modulo a line's cells.
func (l *loopNest) firstCells() {
	sp := l.span[l.inner()]
	first := sp.lo
	switch {
	case l.call == l.Program.Initial:
		return // it runs once
	case l.strips != nil:
		first = kernel.I(0) // as segments do
	case sp.low && l.block[l.inner()] == 0:
		first = sp.inLo
	}
	count := func(a *ir.Array) {
		if a == nil || a.Grid == nil || len(a.Dims) == 0 || a.Dims[len(a.Dims)-1].Axis != l.inner() {
			return
		}
		if d, ok := kernel.Difference(first, l.affine(a.Dims[len(a.Dims)-1].Lo)); ok {
			if l.firsts[a.Grid] == nil {
				l.firsts[a.Grid] = map[int64]int{}
			}
			l.firsts[a.Grid][mod(d, int64(lineBytes/a.Type.Size()))]++
		}
	}
	for _, s := range l.stmts {
		count(s.src.Array)
		for _, a := range accesses(s.src.Value) {
			count(a.Array)
		}
	}
}

// settleFirstCells chooses the cell that most accesses begin with. Grids that change places have
// the same.
func (m *module) settleFirstCells() {
	together := rotations(m.Program.Body)
	for range together { // a grid may be in several of them
		for _, grids := range together {
			all := map[int64]int{}
			for _, g := range grids {
				for first, n := range m.firsts[g] {
					all[first] = max(all[first], n)
				}
			}
			for _, g := range grids {
				m.firsts[g] = all
			}
		}
	}
	for g, counts := range m.firsts {
		if len(counts) == 0 {
			continue
		}
		most := slices.MaxFunc(slices.Sorted(maps.Keys(counts)), func(x, y int64) int {
			return cmp.Compare(counts[x], counts[y])
		})
		if most != 0 {
			m.FirstCells[g] = most
		}
	}
}
