package tuner

import (
	"fmt"
	"runtime"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// pruneForCPU removes useless configurations from a processor's space: more threads than processors, and
// blocks that are not smaller than the grid, which mean the same as no block.
func (t *tuning) pruneForCPU(st *stage, s schedule.Space) schedule.Space {
	if t.about.Target != lower.CPU {
		return s
	}
	if less, err := s.Limit(fmt.Sprintf("threads<=%d", runtime.GOMAXPROCS(0))); err == nil {
		s = less
	}
	extents := t.extents(st)
	less, err := s.Constrain(schedule.Constraint{
		Name: "blocks within the grid", Doc: "a block that is as large as the grid cuts nothing",
		Params: []string{"block"},
		Holds: func(c schedule.Config) bool {
			block := c.Ints("block")
			for d, n := range block {
				if axis := len(extents) - len(block) + d; axis >= 0 && n >= extents[axis] {
					return false
				}
			}
			return true
		},
	})
	if err != nil {
		return s // nothing would be left
	}
	return less
}

// extents returns how many cells the largest statement of a stage runs over on
// each of its axes, outermost first.
func (t *tuning) extents(st *stage) []int64 {
	var list []int64
	most := int64(0)
	for _, s := range st.stage.Body {
		if s.Temp != nil {
			continue
		}
		var these []int64
		n := int64(1)
		for _, axis := range s.Axes {
			these = append(these, t.subject.bound.Range(s.Domain[axis]).Len())
			n *= these[len(these)-1]
		}
		if n > most {
			list, most = these, n
		}
	}
	return list
}
