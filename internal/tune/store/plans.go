package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// Plans returns what is known of plans of a whole program, by its sizes and in
// the order of their texts: those that were right, the fastest of each sizes
// first. Program (its hash), device (API, name), type and arithmetic are
// compared as in Known; sizes, drivers and compilers may be any.
func (s *Store) Plans(ctx context.Context, c Scenario) ([]Record, error) {
	return s.plans(ctx, c.anywhere().current())
}

// OlderPlans returns, as Plans does, what other versions have found. The latest
// versions come first, each with its sizes. A plan that was refused or wrong at some
// sizes under the current versions is not among those of these sizes.
func (s *Store) OlderPlans(ctx context.Context, c Scenario) ([]Record, error) {
	now, err := s.wholes(ctx, c.anywhere().current())
	if err != nil {
		return nil, err
	}
	list, err := s.plans(ctx, c.anywhere().older())
	return slices.DeleteFunc(list, func(r Record) bool {
		k := now[about{Current(), r.Session.Sizes}]
		if k == nil {
			return false
		}
		found, ok := k.Get(r.Kernel, r.Config)
		return ok && found.Verdict != OK
	}), err
}

// Older returns what the latest of other versions knew of a program at its sizes, on
// its device, under whatever driver and compiler; nothing if they had nothing right.
func (s *Store) Older(ctx context.Context, c Scenario) (*Knowledge, error) {
	w := c.anywhere().older()
	w.add("c.sizes = ?", c.Sizes)
	known := map[Versions]*Knowledge{}
	latest, found := Versions{}, &Knowledge{}
	for r, err := range s.matching(ctx, w, &Filter{}) {
		if err != nil {
			return nil, err
		}
		v := r.Session.Versions
		if known[v] == nil {
			known[v] = &Knowledge{}
		}
		known[v].Learn(r)
		if r.Verdict == OK && v.Compare(latest) <= 0 {
			latest, found = v, known[v]
		}
	}
	return found, nil
}

// anywhere returns the scenario without what plans may differ by.
func (c Scenario) anywhere() *Scenario {
	c.Sizes, c.Device.Driver, c.Device.Units, c.Compiler = "", "", 0, Compiler{}
	return &c
}

// about is what the times of plans may be compared within.
type about struct {
	Versions
	sizes string
}

// wholes returns what is known of plans of whole programs.
func (s *Store) wholes(ctx context.Context, c condition) (map[about]*Knowledge, error) {
	known := map[about]*Knowledge{}
	for r, err := range s.matching(ctx, c, &Filter{whole: true}) {
		if err != nil {
			return nil, err
		}
		a := about{r.Session.Versions, r.Session.Sizes}
		if known[a] == nil {
			known[a] = &Knowledge{}
		}
		known[a].Learn(r)
	}
	return known, nil
}

// plans returns the plans that were right, the fastest of each versions and sizes first.
func (s *Store) plans(ctx context.Context, c condition) ([]Record, error) {
	known, err := s.wholes(ctx, c)
	if err != nil {
		return nil, err
	}
	var list []Record
	for _, a := range slices.SortedFunc(maps.Keys(known), func(a, b about) int {
		return cmp.Or(a.Compare(b.Versions), cmp.Compare(a.sizes, b.sizes))
	}) {
		some := slices.Collect(known[a].All())
		some = slices.DeleteFunc(some, func(r Record) bool { return r.Verdict != OK || r.Median <= 0 })
		slices.SortStableFunc(some, func(a, b Record) int { return cmp.Compare(a.Median, b.Median) })
		list = append(list, some...)
	}
	return list, nil
}
