package replay

import (
	"math"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// convention says which configurations are usual on GPUs, whatever the kernel: blocks of some hundred threads, some
// cells for each thread. It goes by the roles of parameters.
type convention struct {
	params        []search.Param
	threads, work []int // coordinates whose products are the threads of a block, the cells of a thread
}

// What is usual.
const (
	fewThreads, manyThreads = 128, 512
	fewCells, manyCells     = 2, 8
)

// deviationWeight is the distance of one doubling beyond the usual, in units of a parameter's whole range.
const deviationWeight = 0.5

func newConvention(params []search.Param) *convention {
	x := &convention{params: params}
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

// deviation returns how many doublings a point lies outside of the usual.
func (x *convention) deviation(p search.Point) float64 {
	return x.outside(p, x.threads, fewThreads, manyThreads) + x.outside(p, x.work, fewCells, manyCells)
}

func (x *convention) outside(p search.Point, coords []int, few, many float64) float64 {
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
