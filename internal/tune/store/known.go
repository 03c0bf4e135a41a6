package store

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
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
		if r.Kernel == kernel && r.Verdict == OK && (!found || r.Median < best.Median) {
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
	if !ok || old.weight().yields(r.weight()) {
		k.trials[v] = r
	}
}

// weight is what decides which of several measurements of a variant counts.
type weight struct {
	verdict Verdict
	samples int
}

func (t *Trial) weight() weight { return weight{t.Verdict, len(t.Samples)} }

// yields reports whether a later measurement counts more: that with the most
// samples does, and the last of equals. A variant that was once wrong stays wrong;
// otherwise one that ran can run.
func (w weight) yields(later weight) bool {
	switch {
	case later.verdict == Wrong:
		return true
	case w.verdict == Wrong:
		return false
	case later.verdict == OK:
		return w.verdict != OK || later.samples >= w.samples
	}
	return w.verdict != OK
}

// Known returns what is known of a scenario, so that nothing is measured
// twice. Program (its hash), device (API, name, driver, units), compiler, sizes, type and arithmetic
// are compared; what is zero in c is not. Hosts, clocks and serial numbers may differ.
// Versions are the current ones, whatever c has.
func (s *Store) Known(ctx context.Context, c Scenario) (*Knowledge, error) {
	k := &Knowledge{}
	for r, err := range s.matching(ctx, c.current(), &Filter{}) {
		if err != nil {
			return nil, err
		}
		k.Learn(r)
	}
	return k, nil
}

// current returns the condition for sessions of a scenario whose trials count.
func (c *Scenario) current() condition {
	w := c.condition()
	now := Current()
	w.add("c.arithmetic = ? AND c.ir = ?", now.Arithmetic, now.IR)
	return w
}

// older returns the condition for sessions of a scenario that other versions have made.
func (c *Scenario) older() condition {
	w := c.condition()
	now := Current()
	w.add("NOT (c.arithmetic = ? AND c.ir = ?)", now.Arithmetic, now.IR)
	return w
}

// condition returns the condition for sessions of a scenario, of all versions.
func (c *Scenario) condition() condition {
	var w condition
	for _, e := range []struct{ column, value string }{
		{"p.hash", c.Program.Hash}, {"d.api", c.Device.API}, {"d.name", c.Device.Name}, {"d.driver", c.Device.Driver},
		{"k.name", c.Compiler.Name}, {"k.version", c.Compiler.Version}, {"k.options", c.Compiler.Options},
		{"c.sizes", c.Sizes}, {"c.dtype", c.DType}, {"c.fp", c.FP},
	} {
		if e.value != "" {
			w.add(e.column+" = ?", e.value)
		}
	}
	if c.Device.Units != 0 {
		w.add("d.units = ?", c.Device.Units)
	}
	return w
}

// matching returns the trials of some sessions that pass a filter, sessions
// from the oldest.
func (s *Store) matching(ctx context.Context, c condition, f *Filter) iter.Seq2[Record, error] {
	return reading(ctx, s, func(q querier, yield func(Record, error) bool) error {
		list, err := s.sessions(ctx, q, c)
		if err != nil {
			return err
		}
		for i := range list {
			more, err := s.trials(ctx, q, &list[i], f, func(t Trial) bool { return yield(Record{&list[i], t}, nil) })
			if err != nil || !more {
				return err
			}
		}
		return nil
	})
}

// Best returns the fastest known variant of a kernel, "" being the whole
// program, in the scenarios that match c as in Known.
func (s *Store) Best(ctx context.Context, c Scenario, kernel string) (best Record, found bool, err error) {
	k, err := s.Known(ctx, c)
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
func (s *Store) BestOfSizes(ctx context.Context, c Scenario, kernel string) ([]Record, error) {
	c.Sizes = ""
	return s.bestBy(ctx, c.condition(), kernel, func(r Record) string { return r.Session.Sizes })
}

// bestBy returns the fastest variant of each group of trials, of the latest versions
// that the group has one of. Times of different versions are not compared.
func (s *Store) bestBy(ctx context.Context, c condition, kernel string, name func(Record) string) ([]Record, error) {
	type group struct {
		name string
		Versions
	}
	known := map[group]*Knowledge{}
	var groups []group
	for r, err := range s.matching(ctx, c, &Filter{}) {
		if err != nil {
			return nil, err
		}
		if r.Kernel != kernel {
			continue
		}
		g := group{name(r), r.Session.Versions}
		if known[g] == nil {
			known[g] = &Knowledge{}
			groups = append(groups, g)
		}
		known[g].Learn(r)
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Or(cmp.Compare(a.name, b.name), a.Compare(b.Versions)) })
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
// rank and type of cells on the same device (API, name), the most similar program first. They are
// those of whole programs; each is for the sizes that were tuned last, of the latest
// versions that the program has been tuned under.
func (s *Store) Similar(ctx context.Context, c Scenario, n int) ([]Neighbour, error) {
	var w condition
	w.add("p.hash != ? AND p.rank = ? AND d.api = ? AND d.name = ? AND c.dtype = ?", c.Program.Hash, c.Program.Rank, c.Device.API, c.Device.Name, c.DType)
	best, err := s.bestBy(ctx, w, "", func(r Record) string { return r.Session.Program.Hash + " " + r.Session.Sizes })
	if err != nil {
		return nil, err
	}
	last := map[string]Record{}
	for _, r := range best {
		hash := r.Session.Program.Hash
		if old, ok := last[hash]; !ok || cmp.Or(r.Session.Compare(old.Session.Versions), old.At.Compare(r.At)) < 0 {
			last[hash] = r
		}
	}
	var list []Neighbour
	for _, r := range best {
		if last[r.Session.Program.Hash].Session == r.Session {
			list = append(list, Neighbour{r, c.Program.distance(r.Session.Program.Features)})
		}
	}
	slices.SortStableFunc(list, func(a, b Neighbour) int { return cmp.Compare(a.Distance, b.Distance) })
	return list[:min(n, len(list))], nil
}

// distance compares programs by the ratios of their features.
func (f Features) distance(g Features) float64 {
	d := 0.0
	for _, pair := range [][2]int{{f.Radius, g.Radius}, {f.Points, g.Points}, {f.Arrays, g.Arrays}, {f.Flops, g.Flops}} {
		d += math.Abs(math.Log(float64(1+pair[0]) / float64(1+pair[1])))
	}
	return d
}
