package contest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

const (
	// beyondCache is how many times the last cache the grids of a loop take at large sizes, so that next to nothing
	// of a grid stays there from one iteration to the next.
	beyondCache = 8
	// usualCache is the bytes of the last cache where the device does not tell.
	usualCache = 64 << 20
	// round is what large sizes are multiples of: a warp.
	round = 32
)

// extents returns the parameters that are sizes of grids, by index.
func extents(p *ir.Program) []int {
	var list []int
	for _, g := range p.Grids {
		for _, d := range g.Dims {
			for _, t := range slices.Concat(d.Lo.Terms, d.Hi.Terms) {
				if !slices.Contains(list, t.Param) {
					list = append(list, t.Param)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// enlarged makes the sizes of grids larger, all by about the same factor, until those of a loop take so many bytes.
// Sizes that are set stay.
func enlarged(b *ir.Binding, set map[string]string, bytes int64) (*ir.Binding, map[string]string, error) {
	p := b.Program
	var free []int
	for _, i := range extents(p) {
		if _, given := set[p.Params[i].Name]; !given {
			free = append(free, i)
		}
	}
	most := b
	for factor := 1.0; workingSet(most) < bytes; {
		if len(free) == 0 {
			return nil, nil, errors.New("no size is left to make larger: all are set")
		}
		// Fewer cells come with a factor that is rounded down: the next step makes up for that.
		factor *= max(1.05, math.Pow(float64(bytes)/float64(workingSet(most)), 1/float64(len(free))))
		for _, i := range free {
			n := int64(math.Round(float64(b.Params[i])*factor/round)) * round
			set[p.Params[i].Name] = strconv.FormatInt(max(b.Params[i], n), 10)
		}
		var err error
		if most, err = rebound(p, set); err != nil {
			return nil, nil, fmt.Errorf("it cannot be made larger: %w", err)
		}
	}
	return most, set, nil
}

func rebound(p *ir.Program, set map[string]string) (*ir.Binding, error) {
	b, list := p.Bind(set)
	if list.HasErrors() {
		return nil, errors.New(list[0].Message)
	}
	return b, nil
}

// workingSet is the bytes of the grids of the loop that touches most.
func workingSet(b *ir.Binding) int64 {
	most := int64(0)
	for _, l := range analysis.Analyze(b.Program, b).Loops {
		most = max(most, l.WorkingSet)
	}
	return most
}
