package tuner

import (
	"runtime"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// pruneForCPU removes what ForCPU does, on a processor.
func (t *tuning) pruneForCPU(call *tunedCall, s schedule.Space) schedule.Space {
	if t.about.Target.Kind() != lower.CPU {
		return s
	}
	return ForCPU(t.subject.bound, call.ir, runtime.GOMAXPROCS(0), s)
}

// ForCPU removes useless configurations from the space of a call's kernel on a processor: more threads than run at
// once, and blocks that are not smaller than the grid, which mean the same as no block.
func ForCPU(b *ir.Binding, call *ir.Call, threads int, s schedule.Space) schedule.Space {
	some := func(v schedule.Value) bool { return v.Ints()[0] <= int64(threads) }
	if less, err := s.On(schedule.Workers).Limit("no more than there are processors", some); err == nil {
		s = less
	}
	extents := extentsOf(b, call)
	less, err := s.Each(func(f *schedule.Family) *schedule.Constraint {
		p := f.For(schedule.CacheBlock)
		if p == nil {
			return nil
		}
		return &schedule.Constraint{
			Name: "blocks within the grid", Doc: "a block that is as large as the grid cuts nothing",
			Params: []string{p.Name},
			Holds: func(c schedule.Config) bool {
				block := c.Ints(p.Name)
				for d, n := range block {
					if axis := len(extents) - len(block) + d; axis >= 0 && n >= extents[axis] {
						return false
					}
				}
				return true
			},
		}
	})
	if err != nil {
		return s // nothing would be left
	}
	return less
}

// extentsOf returns how many cells the largest statement of a call runs over on
// each of its axes, outermost first.
func extentsOf(b *ir.Binding, call *ir.Call) []int64 {
	var list []int64
	most := int64(0)
	for _, s := range call.Body {
		if s.Temp != nil {
			continue
		}
		var these []int64
		n := int64(1)
		for _, axis := range s.Axes {
			these = append(these, b.Range(s.Domain[axis]).Len())
			n *= these[len(these)-1]
		}
		if n > most {
			list, most = these, n
		}
	}
	return list
}
