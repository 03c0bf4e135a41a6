package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Space returns the configurations of a kernel that loops over some axes, named
// from the outermost on. There is nothing to choose for a kernel that works on
// a single cell. What the device lacks restricts the parameters that need it.
func Space(t Target, axes []string, lacks ...machine.Capability) schedule.Space {
	rank := len(axes)
	if rank == 0 {
		return schedule.Space{Families: []schedule.Family{{Name: "single", Doc: "one cell, by one thread"}}}
	}
	if t == CPU {
		return schedule.Space{Families: []schedule.Family{loopsFamily(rank)}}
	}
	families := []schedule.Family{cellsFamily(rank), tileFamily(rank)}
	if rank > 1 {
		families = append(families, streamFamily(axes))
	}
	for i := range families {
		restrict(&families[i], lacks)
	}
	return schedule.Space{Families: families}
}

// restrict leaves a family the values that a device without some capabilities
// can do.
func restrict(f *schedule.Family, lacks []machine.Capability) {
	for _, c := range lacks {
		switch {
		case c == machine.Shuffle && f.Param("x") != nil:
			f.Param("x").Values = schedule.Words("load")
		case (c == machine.Shared || c == machine.AsyncCopy) && f.Param("shared") != nil:
			f.Param("shared").Values = schedule.Numbers(0)
		case (c == machine.BulkCopy || c == machine.Mbarrier) && f.Param("fetch") != nil:
			f.Param("fetch").Values = schedule.Words("async")
		}
	}
}

// space returns the configurations of the group's kernel.
func (n *nest) space() schedule.Space {
	var names []string
	for _, a := range n.axes {
		names = append(names, n.Program.Axes[a])
	}
	s := Space(n.opts.Target, names, n.opts.Lacks...)
	if n.opts.Target == GPU && n.sweepable() {
		n.offerRetiming(&s)
		n.offerPerspectives(&s)
		n.offerLoading(&s)
	}
	n.offerFolding(&s)
	if n.opts.AnyIntegers {
		anyIntegers(&s)
	}
	switch {
	case n.opts.Target == GPU && !n.sweepable():
		s.Families = s.Families[:1]
	case n.opts.Target == GPU && len(n.axes) > 0 && n.opts.Sized:
		n.tileByDefault(&s)
	}
	return s
}

// tileByDefault makes small tiles of 16-byte vectors the default for kernels of known
// sizes: what comes within a tenth of the best on most programs (figures in
// bench/results/spatial-h200.json). Kernels for all sizes keep to a cell a
// thread by default, which puts no condition on the grids' rows.
func (n *nest) tileByDefault(s *schedule.Space) {
	widest := types.Invalid
	for _, a := range n.stage.Arrays {
		if n.touches(a) && n.vectors(a) {
			if widest == types.Invalid || a.Type.Size() > widest.Size() {
				widest = a.Type
			}
		}
	}
	reads := n.distinctReads()
	if widest == types.Invalid || reads > manyReads {
		return // a cell a thread: more would not fit its registers
	}
	rows := int64(2)
	if reads > manyReads/2 {
		rows = 1
	}
	for i := range s.Families {
		f := &s.Families[i]
		if f.Name != "tile" {
			continue
		}
		f.Param("vec").Default = schedule.Int(chunk(8, widest))
		f.Param("sizes").Default = baked
		if p := f.Param("rows"); p != nil {
			p.Default = schedule.Int(rows)
			if len(n.axes) > 2 {
				p.Default = schedule.Int(rows, rows)
			}
		}
		s.Families[0], s.Families[i] = s.Families[i], s.Families[0]
	}
}

// manyReads are so many values that a cell needs that the tile of a thread has
// to stay small.
const manyReads = 64

// distinctReads counts the values of arrays that the group's statements read at
// a cell.
func (n *nest) distinctReads() int {
	seen := map[string]bool{}
	for _, s := range n.stmts {
		for _, a := range accesses(s.src.Value) {
			seen[fmt.Sprintf("%p%v", a.Array, a.Index)] = true
		}
	}
	return len(seen)
}

func loopsFamily(rank int) schedule.Family {
	return schedule.Family{
		Name: "loops",
		Doc:  "nested loops for CPU threads and vectors, cut into cache blocks",
		Params: []schedule.Param{
			{
				Name:    "block",
				Doc:     "cells of a cache block on each axis, outermost first; 0 does not cut that axis",
				Source:  "Datta et al. 2008, section 4.2; Garvey 2018, section 4",
				Values:  blocks(rank),
				Default: zeros(rank),
			},
			{
				Name:    "threads",
				Doc:     "threads that share the loop; 0 takes what the OpenMP runtime offers",
				Values:  schedule.Numbers(0, 1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128),
				Default: schedule.Int(0),
			},
		},
	}
}

// blocks lists the block sizes of a loop nest: powers of two on the three
// innermost axes, or no block.
func blocks(rank int) []schedule.Value {
	inner := []int64{0, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
	outer := []int64{0, 1, 2, 4, 8, 16, 32, 64, 128, 256}
	lists := [][]int64{{}}
	for axis := range rank {
		sizes := outer
		switch {
		case axis == rank-1:
			sizes = inner
		case axis < rank-3:
			sizes = []int64{0}
		}
		var longer [][]int64
		for _, l := range lists {
			for _, s := range sizes {
				longer = append(longer, append(append([]int64{}, l...), s))
			}
		}
		lists = longer
	}
	var values []schedule.Value
	for _, l := range lists {
		values = append(values, schedule.Int(l[0], l[1:]...))
	}
	return values
}

func zeros(rank int) schedule.Value {
	return schedule.Int(0, make([]int64, rank-1)...)
}

func cellsFamily(rank int) schedule.Family {
	shapes := map[int][]schedule.Value{
		1: {schedule.Int(256), schedule.Int(128), schedule.Int(64), schedule.Int(512), schedule.Int(1024)},
		2: {schedule.Int(8, 32), schedule.Int(4, 32), schedule.Int(4, 64), schedule.Int(8, 64), schedule.Int(2, 128), schedule.Int(16, 16)},
	}
	values, ok := shapes[rank]
	if !ok {
		for _, b := range [][2]int64{{8, 32}, {4, 32}, {4, 64}, {8, 64}, {2, 128}, {16, 16}, {1, 256}, {4, 128}} {
			values = append(values, schedule.Int(b[0], b[1]))
		}
	}
	return schedule.Family{
		Name: "cells",
		Doc:  "one GPU thread for each cell",
		Params: []schedule.Param{{
			Name:    "block",
			Doc:     "threads of a block on the innermost axes, outermost of them first",
			Source:  "Zhang and Mueller 2013, section 3.1; Garvey 2018, section 4",
			Values:  values,
			Default: values[0],
		}},
	}
}
