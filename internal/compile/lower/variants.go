package lower

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Variants lowers a program by several plans, of which whoever runs it picks
// one once sizes are known. Grids lie the same in all of them: rows are padded
// as the widest vectors of any plan ask for, and shifted if all plans want that. Options.Plan is not looked at.
func Variants(p *ir.Program, o Options, plans []schedule.Plan) ([]*kernel.Module, error) {
	var list []*kernel.Module
	var origins []int64
	all := func() error {
		list, origins = nil, nil
		for _, plan := range plans {
			o.Plan = plan
			m, err := build(p, o)
			if err != nil {
				return err
			}
			list, origins = append(list, m.Module), append(origins, m.origin)
		}
		return nil
	}
	if err := all(); err != nil {
		return nil, err
	}
	o.aligned = map[*ir.Grid]int64{}
	for _, m := range list {
		for g, l := range m.Layouts {
			o.aligned[g] = max(o.aligned[g], l.Align)
		}
	}
	o.origin = &origins[0]
	if slices.ContainsFunc(origins, func(x int64) bool { return x != origins[0] }) {
		o.origin = new(int64)
	}
	if err := all(); err != nil {
		return nil, err
	}
	constants := &module{Module: &kernel.Module{}}
	for i, m := range list {
		if !maps.Equal(m.Layouts, list[0].Layouts) {
			return nil, fmt.Errorf("the plans %s and %s want grids to lie in memory in different ways",
				plans[0], plans[i])
		}
		constants.Kernels = append(constants.Kernels, m.Kernels...)
	}
	return list, constants.constantFits()
}
