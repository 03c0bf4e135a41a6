package lower

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// The parameters of the family "tile". Lists are in the order of the axes, the inner one last.

const (
	garvey   = "Garvey 2018, section 4"
	zhang    = "Zhang and Mueller 2013, section 3.1"
	artemis  = "Rawat et al. 2019, section III-A"
	zhang25d = "Zhang and Mueller 2013, section 2.2"
)

// sharedParams are the parameters of what a block holds in shared memory.
func sharedParams() []schedule.Param {
	some := schedule.Numbers(1)
	return []schedule.Param{
		{
			Name: "stages", Role: schedule.Staging,
			Doc:    "whether the cells that a block reads are copied to shared memory first",
			Source: "Rawat et al. 2019, section III-A; Garvey 2018, section 6.1",
			Values: schedule.Numbers(0, 1), Default: schedule.Int(0),
			Needs: []schedule.Need{
				{Capability: machine.Shared, Values: some}, {Capability: machine.AsyncCopy, Values: some},
			},
		},
		{
			Name: "staging", Role: schedule.StagedPart,
			Doc: "what is copied there: all that a block reads, or its halos, and threads store their own " +
				"cells from registers",
			Source: "Zhang and Mueller 2013, section 2.2; Rawat et al. 2019, section III",
			Values: schedule.Words(schedule.AllCells, schedule.HaloCells), Default: schedule.Word(schedule.AllCells),
			When: []schedule.Condition{schedule.When("stages", some...)},
		},
	}
}

// tiledParams are the parameters of threads that are spread over so many axes.
func tiledParams(rank int) []schedule.Param {
	outer := min(rank-1, 2)
	shapes := blockShapes(min(rank, 3))
	params := []schedule.Param{
		{
			Name: "block", Role: schedule.Threads, Axis: schedule.InnerAxis,
			Doc:    "threads of a block on the innermost axes that threads are spread over",
			Source: zhang, Values: shapes, Default: shapes[0],
			Finer: func() []schedule.Value { return allThreadBlocks(min(rank, 3)) },
		},
		{
			Name: "vec", Role: schedule.Vector, Axis: schedule.InnerAxis,
			Doc:    "neighbours on the inner axis that a thread loads and stores together",
			Source: artemis, Values: schedule.Numbers(1, 2, 4, 8), Default: schedule.Int(2),
		},
	}
	if outer > 0 {
		params = append(params, schedule.Param{
			Name: "rows", Role: schedule.BlockedUnroll, Axis: schedule.OuterAxis,
			Doc:    "neighbouring rows of a thread on each of the outer axes (block merging)",
			Source: garvey, Values: products([]int64{1, 2, 4, 8}, outer, 16), Default: ones(outer),
			Finer: func() []schedule.Value { return products(integers(1, 8, 1), outer, 16) },
		})
	}
	return append(params,
		schedule.Param{
			Name: "repeat", Role: schedule.CyclicUnroll, Axis: schedule.InnerAxis,
			Doc:    "how often a thread's tile repeats at the distance of a block on each axis (cyclic merging)",
			Source: garvey, Values: products([]int64{1, 2, 4}, outer+1, 8), Default: ones(outer + 1),
			Finer: func() []schedule.Value { return products(integers(1, 8, 1), outer+1, 8) },
		},
		schedule.Param{
			Name: "shuffle", Role: schedule.LaneExchange,
			Doc:    "whether neighbours on the inner axis come from other lanes, and not from memory's caches",
			Source: "Rawat et al. 2019, section III-A",
			Values: []schedule.Value{schedule.No, schedule.Yes}, Default: schedule.No,
			Needs: []schedule.Need{{Capability: machine.Shuffle, Values: []schedule.Value{schedule.Yes}}},
		},
		schedule.Param{
			Name: "load", Role: schedule.LoadPath,
			Doc:    "path of loads that nothing overwrites",
			Source: loadSource, Values: schedule.Words(plain, readonly), Default: schedule.Word(readonly),
			Needs: loadNeeds,
		},
		storeParam(),
		sizesParam(),
		cseParam(),
		schedule.Param{
			Name: "registers", Role: schedule.RegisterLimit,
			Doc:    "the most registers of a thread; 0 leaves it to the compiler",
			Source: "Rawat et al. 2019, section V", Values: schedule.Numbers(0, 32, 48, 64, 80, 96, 128, 168, 255),
			Default: schedule.Int(0),
			Finer:   func() []schedule.Value { return schedule.Numbers(integers(32, 248, 8)...) },
		},
	)
}

func tiledConstraints(rank int) []schedule.Constraint {
	cells := []string{"vec", "repeat"}
	if rank > 1 {
		cells = append(cells, "rows")
	}
	return []schedule.Constraint{
		{
			Name: "whole warps", Doc: "neighbours in other lanes are in the same row only if a row of threads is a " +
				"whole number of warps of 32",
			Params: []string{"block", "shuffle"},
			Holds: func(c schedule.Config) bool {
				b := c.Ints("block")
				return !c.Is("shuffle") || b[len(b)-1]%32 == 0
			},
		},
		{
			Name: "cells of a thread", Doc: "more than 32 cells do not fit a thread's registers",
			Params: cells,
			Holds: func(c schedule.Config) bool {
				n := c.Int("vec")
				for _, name := range cells[1:] {
					for _, k := range c.Ints(name) {
						n *= k
					}
				}
				return n <= 32
			},
		},
		{
			Name: "registers of a block", Doc: "a multiprocessor has 65536 registers",
			Params: []string{"block", "registers"},
			Holds: func(c schedule.Config) bool {
				n := max(c.Int("registers"), 1)
				for _, k := range c.Ints("block") {
					n *= k
				}
				return n <= 65536
			},
		},
	}
}

// blockShapes lists the threads of a block on so many axes: 32 to 1024 in all.
// The first is the default.
func blockShapes(axes int) []schedule.Value {
	sides := [][]int64{{32, 64, 128, 256, 512, 1024, 16}, {4, 1, 2, 8, 16, 32}, {1, 2, 4, 8}}
	lists := [][]int64{{}}
	for a := range axes {
		var more [][]int64
		for _, side := range sides[a] {
			for _, l := range lists {
				more = append(more, append([]int64{side}, l...))
			}
		}
		lists = more
	}
	first := [][]int64{{256}, {4, 64}, {1, 4, 64}}[axes-1]
	values := []schedule.Value{schedule.Int(first[0], first[1:]...)}
	for _, l := range lists {
		v := schedule.Int(l[0], l[1:]...)
		n := int64(1)
		for _, k := range l {
			n *= k
		}
		if n >= 32 && n <= 1024 && !v.Equal(values[0]) {
			values = append(values, v)
		}
	}
	return values
}

// products lists the ways to give each of n axes one of the factors, with a
// product of at most most.
func products(factors []int64, n int, most int64) []schedule.Value {
	lists := [][]int64{{}}
	for range n {
		var more [][]int64
		for _, l := range lists {
			for _, f := range factors {
				more = append(more, append(append([]int64{}, l...), f))
			}
		}
		lists = more
	}
	var values []schedule.Value
	for _, l := range lists {
		p := int64(1)
		for _, f := range l {
			p *= f
		}
		if p <= most {
			values = append(values, schedule.Int(l[0], l[1:]...))
		}
	}
	return values
}

func ones(n int) schedule.Value {
	list := make([]int64, n)
	for i := range list {
		list[i] = 1
	}
	return schedule.Int(list[0], list[1:]...)
}

// sizesParam says whether a kernel is for one size.
func sizesParam() schedule.Param {
	return schedule.Param{
		Name: "sizes", Role: schedule.Sizes,
		Doc:    "whether the kernel takes sizes as arguments or holds them as literals",
		Source: garvey, Values: schedule.Words(schedule.SizeArguments, schedule.SizeLiterals),
		Default: schedule.Word(schedule.SizeArguments),
	}
}

// streaming is the word for stores whose lines leave the caches first.
const streaming = "streaming"

func storeParam() schedule.Param {
	return schedule.Param{
		Name: "store", Role: schedule.StorePath,
		Doc:    "whether stored lines leave the caches first",
		Source: "CUDA C++ Programming Guide, cache hints",
		Values: schedule.Words(plain, streaming), Default: schedule.Word(plain),
	}
}

// storePath returns the path of a configuration's stores.
func storePath(set schedule.ByRole) kernel.Via {
	if set.Word(schedule.StorePath) == streaming {
		return kernel.Streaming
	}
	return kernel.Plain
}

// cseParam says whether the passes on index arithmetic run.
func cseParam() schedule.Param {
	return schedule.Param{
		Name: "cse", Role: schedule.Indexing,
		Doc: "whether indices are computed from each other and common subexpressions named, " +
			"or all that is left to the compiler",
		Source: garvey, Values: []schedule.Value{schedule.No, schedule.Yes}, Default: schedule.No,
	}
}
