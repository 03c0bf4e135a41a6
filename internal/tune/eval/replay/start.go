package replay

import (
	"math"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// experience says which configurations somebody would begin with who knows GPUs and
// not the kernel: blocks of some hundred threads, some cells a thread. It goes by the
// roles of parameters.
type experience struct {
	params        []search.Param
	threads, work []int // coordinates whose products are the threads of a block, the cells of a thread
}

// What is usual.
const (
	fewThreads, manyThreads = 128, 512
	fewCells, manyCells     = 2, 8
)

// doubtWeight is the distance that one doubling beyond what is usual is worth, in
// parameters from the first value to the last.
const doubtWeight = 0.5

func newExperience(params []search.Param) *experience {
	x := &experience{params: params}
	for i := range params {
		p := &params[i]
		switch {
		case p.Axis == "" || !p.Values[0].IsNumber():
		case p.Role == schedule.Threads:
			x.threads = append(x.threads, i)
		default:
			x.work = append(x.work, i)
		}
	}
	return x
}

// doubt is how many doublings a point lies outside of what is usual.
func (x *experience) doubt(p search.Point) float64 {
	return x.outside(p, x.threads, fewThreads, manyThreads) + x.outside(p, x.work, fewCells, manyCells)
}

func (x *experience) outside(p search.Point, coords []int, few, many float64) float64 {
	if len(coords) == 0 {
		return 0
	}
	product := 1.0
	for _, i := range coords {
		if p[i] >= 0 {
			product *= float64(max(1, x.params[i].Values[p[i]].Ints()[0]))
		}
	}
	return max(math.Log2(few/product), math.Log2(product/many), 0)
}
