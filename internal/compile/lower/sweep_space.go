package lower

import (
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// The parameters that the families "tile" and "stream" share. Lists are in the
// order of the axes, the inner one last.

const (
	garvey   = "Garvey 2018, section 4"
	zhang    = "Zhang and Mueller 2013, section 3.1"
	artemis  = "Rawat et al. 2019, section III-A"
	zhang25d = "Zhang and Mueller 2013, section 2.2"
)

var baked = schedule.Word("baked")

func tileFamily(rank int) schedule.Family {
	return schedule.Family{
		Name:        "tile",
		Doc:         "every GPU thread computes a small tile of cells",
		Params:      append(sweepParams(rank, rank-1), sharedParams("whether the cells that a block reads are copied to shared memory first", 0, 1)...),
		Constraints: sweepConstraints(rank - 1),
	}
}

func streamFamily(axes []string) schedule.Family {
	rank := len(axes)
	params := []schedule.Param{
		{
			Name: "stream", Doc: "the axis that a block of threads goes along, plane by plane",
			Source: zhang25d, Values: schedule.Words(axes[:rank-1]...), Default: schedule.Word(axes[0]),
		},
		{
			Name: "chunk", Doc: "planes of a block; 0 goes along the whole axis",
			Source: "Rawat et al. 2019, section II", Values: schedule.Numbers(0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 72, 84, 96, 108, 128, 144, 160, 192, 256), Default: schedule.Int(32),
		},
		{
			Name: "planes", Doc: "planes that a thread computes before it goes on: the loop over planes is unrolled so often",
			Source: artemis, Values: schedule.Numbers(1, 2, 4), Default: schedule.Int(1),
		},
		{
			Name: "rotate", Doc: "steps that the loop over planes makes at a time, so that queues of registers move less often; yes for so many that they never do",
			Source: "Rawat et al. 2019, section III-A", Values: []schedule.Value{schedule.No, schedule.Yes, schedule.Int(2), schedule.Int(4)}, Default: schedule.No,
		},
	}
	params = append(params, sharedParams("steps that planes are copied to shared memory ahead of their use, asynchronously; 0 keeps nothing there", 0, 1, 2, 3)...)
	params = append(params,
		schedule.Param{
			Name: "fetch", Doc: "who copies planes to shared memory: all threads, or, where vectors have 16 bytes, the block's copy engine whole rows, told so by a warp of the block or by one that does nothing else",
			Source: "Rawat et al. 2019, section III-A3; CUDA C++ Programming Guide, asynchronous data copies",
			Values: schedule.Words("async", "bulk", "warp"), Default: schedule.Word("async"),
			When: []schedule.Condition{schedule.When("stage", schedule.Word("all"))},
		},
		schedule.Param{
			Name: "ahead", Doc: "planes that are loaded before they are needed",
			Source: "Rawat et al. 2019, section III-A", Values: schedule.Numbers(0, 1, 2), Default: schedule.Int(0),
		},
	)
	return schedule.Family{
		Name:   "stream",
		Doc:    "blocks of GPU threads go along an axis and keep planes in registers (2.5D)",
		Params: append(params, sweepParams(rank-1, rank-2)...),
		Constraints: append(sweepConstraints(rank-2), schedule.Constraint{
			Name: "whole steps", Doc: "blocks would compute planes of the next block",
			Params: []string{"chunk", "planes"},
			Holds:  func(c schedule.Config) bool { return c.Int("chunk")%c.Int("planes") == 0 },
		}, schedule.Constraint{
			Name: "whole copies", Doc: "bulk copies are aligned to 16 bytes, and so have to be the vectors of threads",
			Params: []string{"fetch", "vec"},
			Holds:  func(c schedule.Config) bool { return c.Word("fetch") == "async" || c.Int("vec") > 1 },
		}),
	}
}

// sharedParams are the parameters of what a block holds in shared memory.
func sharedParams(doc string, values ...int64) []schedule.Param {
	return []schedule.Param{
		{
			Name: "shared", Doc: doc,
			Source: "Rawat et al. 2019, section III-A; Garvey 2018, section 6.1", Values: schedule.Numbers(values...), Default: schedule.Int(0),
		},
		{
			Name: "stage", Doc: "what is copied there: all that a block reads, or its halos, and threads store their own cells from registers",
			Source: "Zhang and Mueller 2013, section 2.2; Rawat et al. 2019, section III", Values: schedule.Words("all", "halos"), Default: schedule.Word("all"),
			When: []schedule.Condition{schedule.When("shared", schedule.Numbers(values[1:]...)...)},
		},
	}
}

// sweepParams are the parameters of threads that are spread over so many axes,
// outer of which are not the inner one.
func sweepParams(spread, outer int) []schedule.Param {
	outer = min(outer, 2)
	params := []schedule.Param{
		{
			Name: "block", Doc: "threads of a block on the innermost axes that threads are spread over",
			Source: zhang, Values: blockShapes(min(spread, 3)), Default: blockShapes(min(spread, 3))[0],
		},
		{
			Name: "vec", Doc: "neighbours on the inner axis that a thread loads and stores together",
			Source: artemis, Values: schedule.Numbers(1, 2, 4, 8), Default: schedule.Int(2),
		},
	}
	if outer > 0 {
		params = append(params, schedule.Param{
			Name: "rows", Doc: "neighbouring rows of a thread on each of the outer axes (block merging)",
			Source: garvey, Values: products([]int64{1, 2, 4, 8}, outer, 16), Default: ones(outer),
		})
	}
	return append(params,
		schedule.Param{
			Name: "repeat", Doc: "how often a thread's tile repeats at the distance of a block on each axis (cyclic merging)",
			Source: garvey, Values: products([]int64{1, 2, 4}, outer+1, 8), Default: ones(outer + 1),
		},
		schedule.Param{
			Name: "x", Doc: "where neighbours on the inner axis come from: memory's caches or other lanes",
			Source: "Rawat et al. 2019, section III-A", Values: schedule.Words("load", "shuffle"), Default: schedule.Word("load"),
		},
		schedule.Param{
			Name: "load", Doc: "path of loads that nothing overwrites",
			Source: "Garvey 2018, section 6.1; Zhang and Mueller 2013, section 3.1", Values: schedule.Words("plain", "readonly"), Default: schedule.Word("readonly"),
		},
		schedule.Param{
			Name: "store", Doc: "whether stored lines leave the caches first",
			Source: "CUDA C++ Programming Guide, cache hints", Values: schedule.Words("plain", "streaming"), Default: schedule.Word("plain"),
		},
		schedule.Param{
			Name: "sizes", Doc: "whether the kernel takes sizes as arguments or holds them as literals",
			Source: garvey, Values: schedule.Words("args", "baked"), Default: schedule.Word("args"),
		},
		schedule.Param{
			Name: "share", Doc: "whether indices are computed from each other and common subexpressions named, or all that is left to the compiler",
			Source: garvey, Values: []schedule.Value{schedule.No, schedule.Yes}, Default: schedule.No,
		},
		schedule.Param{
			Name: "registers", Doc: "the most registers of a thread; 0 leaves it to the compiler",
			Source: "Rawat et al. 2019, section V", Values: schedule.Numbers(0, 32, 48, 64, 80, 96, 128, 168, 255), Default: schedule.Int(0),
		},
	)
}

func sweepConstraints(outer int) []schedule.Constraint {
	cells := []string{"vec", "repeat"}
	if outer > 0 {
		cells = append(cells, "rows")
	}
	return []schedule.Constraint{
		{
			Name: "whole warps", Doc: "neighbours in other lanes are in the same row only if a row of threads is a whole number of warps of 32",
			Params: []string{"block", "x"},
			Holds: func(c schedule.Config) bool {
				b := c.Ints("block")
				return c.Word("x") != "shuffle" || b[len(b)-1]%32 == 0
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
