package store

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// Knowledge is what is known of the variants of one scenario. The zero value is
// nothing.
type Knowledge struct {
	trials map[variant]Record
	order  []variant // as they were first tried
}

type variant struct{ kernel, config string }

// Len returns the number of variants that are known.
func (k *Knowledge) Len() int { return len(k.order) }

// Get returns what is known of a variant.
func (k *Knowledge) Get(kernel, config string) (Record, bool) {
	r, ok := k.trials[variant{kernel, config}]
	return r, ok
}

// All returns all that is known, in the order in which variants were first tried.
func (k *Knowledge) All() iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for _, v := range k.order {
			if !yield(k.trials[v]) {
				return
			}
		}
	}
}

// Best returns the fastest variant of a kernel, "" being the whole program.
func (k *Knowledge) Best(kernel string) (Record, bool) {
	var best Record
	found := false
	for r := range k.All() {
		if r.Kernel == kernel && r.Verdict == verdict.OK && (!found || r.Median < best.Median) {
			best, found = r, true
		}
	}
	return best, found
}

// Learn takes in a trial that is later than those before. One that tells of the
// machine and not of the variant is nothing to learn from.
func (k *Knowledge) Learn(r Record) {
	if r.Reused || r.Transient() {
		return
	}
	if k.trials == nil {
		k.trials = map[variant]Record{}
	}
	v := variant{r.Kernel, r.Config}
	old, ok := k.trials[v]
	if !ok {
		k.order = append(k.order, v)
	}
	if !ok || weightOf(&old.Trial).yields(weightOf(&r.Trial)) {
		k.trials[v] = r
	}
}

// weight is what decides which of several measurements of a variant counts.
type weight struct {
	verdict verdict.Verdict
	samples int
}

func weightOf(t *session.Trial) weight { return weight{t.Verdict, len(t.Samples)} }

// yields reports whether a later measurement counts more: that with the most
// samples does, and the last of equals. A variant that was once wrong stays wrong;
// otherwise one that ran can run.
func (w weight) yields(later weight) bool {
	switch {
	case later.verdict == verdict.Wrong:
		return true
	case w.verdict == verdict.Wrong:
		return false
	case later.verdict == verdict.OK:
		return w.verdict != verdict.OK || later.samples >= w.samples
	}
	return w.verdict != verdict.OK
}

// Known returns what is known of a scenario, so that nothing is measured twice:
// trials of the current versions in sessions that match it (Filter.Like). Hosts, clocks
// and serial numbers may differ.
func Known(ctx context.Context, s Store, c session.Scenario) (*Knowledge, error) {
	k := &Knowledge{}
	for r, err := range s.Records(ctx, Filter{Like: &c, Versions: CurrentVersions}) {
		if err != nil {
			return nil, err
		}
		k.Learn(r)
	}
	return k, nil
}

// Best returns the fastest known variant of a kernel, "" being the whole
// program, in the scenarios that match c as in Known.
func Best(ctx context.Context, s Store, c session.Scenario, kernel string) (best Record, found bool, err error) {
	k, err := Known(ctx, s, c)
	if err != nil {
		return Record{}, false, err
	}
	best, found = k.Best(kernel)
	return best, found, nil
}

// BestOfSizes returns the fastest known variant of a kernel for each of the
// sizes for which there is one, in the order of their texts. c is matched as in Known, but
// for its sizes. They are to begin a search from: where none of the current versions is
// known, it is one of the latest others.
func BestOfSizes(ctx context.Context, s Store, c session.Scenario, kernel string) ([]Record, error) {
	c.Sizes = nil
	f := Filter{Like: &c, Kernel: kernel, Whole: kernel == ""}
	return bestBy(s.Records(ctx, f), kernel, func(r Record) string { return r.Session.Sizes.String() })
}

// bestBy returns the fastest variant of each group of trials, of the latest versions
// that the group has one of. Times of different versions are not compared.
func bestBy(records iter.Seq2[Record, error], kernel string, name func(Record) string) ([]Record, error) {
	type group struct {
		name string
		versions.Set
	}
	known := map[group]*Knowledge{}
	var groups []group
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		g := group{name(r), r.Session.Set}
		if known[g] == nil {
			known[g] = &Knowledge{}
			groups = append(groups, g)
		}
		known[g].Learn(r)
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Or(cmp.Compare(a.name, b.name), a.Compare(b.Set)) })
	var list []Record
	for i, last := 0, ""; i < len(groups); i++ {
		g := groups[i]
		best, ok := known[g].Best(kernel)
		if ok && (len(list) == 0 || g.name != last) {
			list, last = append(list, best), g.name
		}
	}
	return list, nil
}

// Neighbour is the best variant of a similar program.
type Neighbour struct {
	Record
	Distance float64 // of the programs' features; 0 is the same
}

// Similar returns the best variants of at most n other programs of the same
// rank and type of cells on the same device (API, name, units), the most similar program first. They are
// those of whole programs; each is for the sizes that were tuned last, of the latest
// versions that the program has been tuned under.
func Similar(ctx context.Context, s Store, c session.Scenario, n int) ([]Neighbour, error) {
	like := session.Scenario{DType: c.DType, Cluster: c.Cluster}
	like.Device = session.Device{API: c.Device.API, Name: c.Device.Name, Units: c.Device.Units}
	others := func(yield func(Record, error) bool) {
		for r, err := range s.Records(ctx, Filter{Like: &like, Whole: true}) {
			if p := r.Session; err == nil && (p.Program.Hash == c.Program.Hash || p.Program.Rank != c.Program.Rank) {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
	best, err := bestBy(others, "", func(r Record) string {
		return r.Session.Program.Hash + " " +
			r.Session.Sizes.String()
	})
	if err != nil {
		return nil, err
	}
	last := map[string]Record{}
	for _, r := range best {
		hash := r.Session.Program.Hash
		if old, ok := last[hash]; !ok || cmp.Or(r.Session.Compare(old.Session.Set), old.At.Compare(r.At)) < 0 {
			last[hash] = r
		}
	}
	var list []Neighbour
	for _, r := range best {
		if last[r.Session.Program.Hash].Session == r.Session {
			list = append(list, Neighbour{r, distance(c.Program.Features, r.Session.Program.Features)})
		}
	}
	slices.SortStableFunc(list, func(a, b Neighbour) int { return cmp.Compare(a.Distance, b.Distance) })
	return list[:min(n, len(list))], nil
}

// distance compares programs by the ratios of their features.
func distance(f, g session.Features) float64 {
	d := 0.0
	for _, pair := range [][2]int{{f.Radius, g.Radius}, {f.Points, g.Points}, {f.Arrays, g.Arrays},
		{f.Flops, g.Flops}} {
		d += math.Abs(math.Log(float64(1+pair[0]) / float64(1+pair[1])))
	}
	return d
}
