package store

import (
	"context"
	"slices"
)

// Plans returns what is known of plans of a whole program, by its sizes and in
// the order of their texts: those that were right, the fastest of each sizes
// first. Program (its hash), device (API, name), type and arithmetic are
// compared as in Known; sizes, drivers and compilers may be any.
func (s *Store) Plans(ctx context.Context, c Scenario) ([]Record, error) {
	c.Sizes, c.Device.Driver, c.Device.Units, c.Compiler = "", "", 0, Compiler{}
	known := map[string]*Knowledge{}
	var sizes []string
	for r, err := range s.matching(ctx, c.condition(), &Filter{whole: true}) {
		if err != nil {
			return nil, err
		}
		z := r.Session.Sizes
		if known[z] == nil {
			known[z] = &Knowledge{}
			sizes = append(sizes, z)
		}
		known[z].Learn(r)
	}
	slices.Sort(sizes)
	var list []Record
	for _, z := range sizes {
		some := slices.DeleteFunc(slices.Collect(known[z].All()), func(r Record) bool { return r.Verdict != OK || r.Median <= 0 })
		slices.SortStableFunc(some, func(a, b Record) int {
			switch {
			case a.Median < b.Median:
				return -1
			case a.Median > b.Median:
				return 1
			}
			return 0
		})
		list = append(list, some...)
	}
	return list, nil
}
