package lower

import (
	"slices"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// anyIntegers adds to a family the values between powers of two, as far as its
// declaration lists them: blocks of threads whose rows are multiples of 8 and whose
// sides are any number, any number of planes of a chunk, any few rows, planes and
// repetitions of a thread, and registers in the steps in which they are given out; for
// processors, blocks of any few rows, and of more in finer steps. Defaults stay, and so
// do parameters whose values are widths of the machine.
func anyIntegers(f *schedule.Family) {
	f.Params = slices.Clone(f.Params)
	for i := range f.Params {
		if p := &f.Params[i]; p.Finer != nil {
			p.Values = add(p.Values, p.Finer())
		}
	}
}

// add appends the values that are not there yet.
func add(values, more []schedule.Value) []schedule.Value {
	seen := map[string]bool{}
	values = slices.Clone(values)
	for _, v := range values {
		seen[v.String()] = true
	}
	for _, v := range more {
		if !seen[v.String()] {
			values = append(values, v)
		}
	}
	return values
}

func integers(from, to, step int64) []int64 {
	var list []int64
	for n := from; n <= to; n += step {
		list = append(list, n)
	}
	return list
}

// The lists are long, and every lowering of a named plan asks for them.
var (
	allThreadBlocks = memoized(threadBlocks)
	allLoopBlocks   = memoized(loopBlocks)
)

// memoized makes each list once.
func memoized(list func(axes int) []schedule.Value) func(axes int) []schedule.Value {
	var lists sync.Map
	return func(axes int) []schedule.Value {
		if have, ok := lists.Load(axes); ok {
			return have.([]schedule.Value)
		}
		have, _ := lists.LoadOrStore(axes, list(axes))
		return have.([]schedule.Value)
	}
}

// threadBlocks lists blocks of 32 to 1024 threads.
func threadBlocks(axes int) []schedule.Value {
	sides := [][]int64{integers(16, 1024, 8), integers(1, 32, 1), integers(1, 8, 1)}
	lists := [][]int64{{}}
	for a := range axes {
		lists = sidesBefore(lists, sides[min(a, 2)])
	}
	return values(lists, func(n int64) bool { return n >= 32 && n <= 1024 })
}

// loopBlocks lists blocks of cells for processors.
func loopBlocks(rank int) []schedule.Value {
	outer := append(integers(0, 12, 1), 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96, 128)
	inner := append([]int64{0}, integers(32, 256, 32)...)
	inner = append(inner, 320, 384, 512, 768, 1024, 2048, 4096)
	lists := [][]int64{{}}
	for a := range rank {
		switch {
		case a == 0:
			lists = sidesBefore(lists, inner)
		case a < 3:
			lists = sidesBefore(lists, outer)
		default:
			lists = sidesBefore(lists, []int64{0})
		}
	}
	return values(lists, func(int64) bool { return true })
}

// sidesBefore puts each side before each list.
func sidesBefore(lists [][]int64, sides []int64) [][]int64 {
	var more [][]int64
	for _, side := range sides {
		for _, l := range lists {
			more = append(more, append([]int64{side}, l...))
		}
	}
	return more
}

// values are the lists whose product passes.
func values(lists [][]int64, pass func(product int64) bool) []schedule.Value {
	var out []schedule.Value
	for _, l := range lists {
		if pass(product(l)) {
			out = append(out, schedule.Int(l[0], l[1:]...))
		}
	}
	return out
}
