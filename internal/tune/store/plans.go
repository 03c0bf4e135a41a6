package store

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// Plans returns what is known of plans of a whole program, by its sizes and in
// the order of their texts: those that were right, the fastest of each sizes
// first. Program (its hash), device (API, name, units), type and arithmetic are
// compared as in Known; sizes, drivers and compilers may be any.
func Plans(ctx context.Context, s Store, c session.Scenario) ([]Record, error) {
	return plans(ctx, s, Filter{Like: anywhere(c), Versions: CurrentVersions})
}

// OlderPlans returns, as Plans does, what other versions have found. The latest
// versions come first, each with its sizes. A plan that was refused or wrong at some
// sizes under the current versions is not among those of these sizes.
func OlderPlans(ctx context.Context, s Store, c session.Scenario) ([]Record, error) {
	now, err := wholes(ctx, s, Filter{Like: anywhere(c), Versions: CurrentVersions})
	if err != nil {
		return nil, err
	}
	list, err := plans(ctx, s, Filter{Like: anywhere(c), Versions: OtherVersions})
	return slices.DeleteFunc(list, func(r Record) bool {
		k := now[about{session.Current(), r.Session.Sizes.String()}]
		if k == nil {
			return false
		}
		found, ok := k.Get(r.Kernel, r.Config)
		return ok && found.Verdict != verdict.OK
	}), err
}

// Older returns what the latest of other versions knew of a program at its sizes, on
// its device, under whatever driver and compiler; nothing if they had nothing right.
func Older(ctx context.Context, s Store, c session.Scenario) (*Knowledge, error) {
	like := anywhere(c)
	like.Sizes = c.Sizes
	known := map[versions.Set]*Knowledge{}
	latest, found := versions.Set{}, &Knowledge{}
	for r, err := range s.Records(ctx, Filter{Like: like, Versions: OtherVersions}) {
		if err != nil {
			return nil, err
		}
		v := r.Session.Set
		if known[v] == nil {
			known[v] = &Knowledge{}
		}
		known[v].Learn(r)
		if r.Verdict == verdict.OK && v.Compare(latest) <= 0 {
			latest, found = v, known[v]
		}
	}
	return found, nil
}

// anywhere returns a scenario without what plans may differ by.
func anywhere(c session.Scenario) *session.Scenario {
	c.Sizes, c.Device.Driver, c.Compiler = nil, "", session.Compiler{}
	return &c
}

// about is what the times of plans may be compared within.
type about struct {
	versions.Set
	sizes string
}

// wholes returns what is known of plans of whole programs.
func wholes(ctx context.Context, s Store, f Filter) (map[about]*Knowledge, error) {
	f.Whole = true
	known := map[about]*Knowledge{}
	for r, err := range s.Records(ctx, f) {
		if err != nil {
			return nil, err
		}
		a := about{r.Session.Set, r.Session.Sizes.String()}
		if known[a] == nil {
			known[a] = &Knowledge{}
		}
		known[a].Learn(r)
	}
	return known, nil
}

// plans returns the plans that were right, the fastest of each versions and sizes first.
func plans(ctx context.Context, s Store, f Filter) ([]Record, error) {
	known, err := wholes(ctx, s, f)
	if err != nil {
		return nil, err
	}
	var list []Record
	for _, a := range slices.SortedFunc(maps.Keys(known), func(a, b about) int {
		return cmp.Or(a.Compare(b.Set), cmp.Compare(a.sizes, b.sizes))
	}) {
		some := slices.Collect(known[a].All())
		some = slices.DeleteFunc(some, func(r Record) bool { return r.Verdict != verdict.OK || r.Median <= 0 })
		slices.SortStableFunc(some, func(a, b Record) int { return cmp.Compare(a.Median, b.Median) })
		list = append(list, some...)
	}
	return list, nil
}
