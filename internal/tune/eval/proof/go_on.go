package proof

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/versions"
)

var errOtherPlans = errors.New("one of the proofs has plans with spans, and the other has none")

// After adds what an earlier proof has found, which this one went on from.
func (r *GPUResult) After(e *GPUResult) error {
	if err := follows(r.FirstSeed, e.NextSeed, r.Set, e.Set); err != nil {
		return err
	}
	if (r.Spans == nil) != (e.Spans == nil) {
		return errOtherPlans
	}
	if r.Spans != nil {
		r.Spans.after(e.Spans)
	}
	r.FirstSeed = e.FirstSeed
	increase([]sum{
		{&r.Pairs, e.Pairs}, {&r.Runs, e.Runs}, {&r.Kernels, e.Kernels}, {&r.Strict, e.Strict}, {&r.Bounded, e.Bounded},
		{&r.Tiled, e.Tiled},
		{&r.PoCL, e.PoCL}, {&r.Slow, e.Slow}, {&r.Oclgrind, e.Oclgrind}, {&r.Clang, e.Clang},
	})
	r.Cells += e.Cells
	r.Seconds += e.Seconds
	r.Coverage.after(&e.Coverage)
	r.Failures = append(slices.Clone(e.Failures), r.Failures...)
	r.PoCLFaults = eachOnce(slices.Clone(e.PoCLFaults), r.PoCLFaults...)
	r.OclgrindCrashes = eachOnce(slices.Clone(e.OclgrindCrashes), r.OclgrindCrashes...)
	r.Host, r.Commit = e.Host.with(r.Host), e.Commit.with(r.Commit)
	r.Missing = union(e.Missing, r.Missing)
	return nil
}

// After adds what an earlier proof has found, which this one went on from.
func (r *Result) After(e *Result) error {
	if err := follows(r.FirstSeed, e.NextSeed, r.Set, e.Set); err != nil {
		return err
	}
	if (r.Spans == nil) != (e.Spans == nil) {
		return errOtherPlans
	}
	if r.Spans != nil {
		r.Spans.after(e.Spans)
	}
	r.FirstSeed = e.FirstSeed
	increase([]sum{{&r.Programs, e.Programs}, {&r.Runs, e.Runs}, {&r.Kernels, e.Kernels}, {&r.Strict, e.Strict},
		{&r.Bounded, e.Bounded}})
	r.Cells += e.Cells
	r.Undecided += e.Undecided
	r.LargestOf = max(r.LargestOf, e.LargestOf)
	r.Seconds += e.Seconds
	r.Failures = append(slices.Clone(e.Failures), r.Failures...)
	r.Host, r.Compiler, r.Commit = e.Host.with(r.Host), e.Compiler.with(r.Compiler), e.Commit.with(r.Commit)
	return nil
}

// After adds what an earlier proof has found, which this one went on from.
func (r *DeviceResult) After(e *DeviceResult) error {
	if err := follows(r.FirstSeed, e.NextSeed, r.Set, e.Set); err != nil {
		return err
	}
	switch {
	case r.Device != e.Device || r.Name != e.Name:
		return fmt.Errorf("the earlier proof ran on %s (%s), and this one on %s (%s)", e.Device, e.Name,
			r.Device, r.Name)
	case r.Programs != e.Programs:
		return fmt.Errorf("the earlier proof had %d programs, and this one %d", e.Programs, r.Programs)
	}
	r.FirstSeed = e.FirstSeed
	increase([]sum{
		{&r.Plans, e.Plans}, {&r.Runs, e.Runs}, {&r.Kernels, e.Kernels}, {&r.Strict, e.Strict}, {&r.Bounded, e.Bounded},
		{&r.Tiled, e.Tiled},
		{&r.Refused, e.Refused}, {&r.Sanitized, e.Sanitized},
	})
	r.Cells += e.Cells
	r.Seconds += e.Seconds
	r.Coverage.after(&e.Coverage)
	r.Failures = append(slices.Clone(e.Failures), r.Failures...)
	r.Commit = e.Commit.with(r.Commit)
	r.Missing = union(e.Missing, r.Missing)
	return nil
}

// follows reports why a proof does not go on where an earlier one ended: what was proven under
// other definitions is not proven under these.
func follows(first, next uint64, now, then versions.Set) error {
	if then = then.Complete(); then != now {
		return fmt.Errorf("the earlier proof was made under %s, and this one under %s: prove anew", then.Definitions(),
			now.Definitions())
	}
	if first != next {
		return fmt.Errorf("the earlier proof ended before seed %d, and this one began with %d", next, first)
	}
	return nil
}

// sum is a count and what is added to it.
type sum struct {
	of   *int
	more int
}

func increase(list []sum) {
	for _, s := range list {
		*s.of += s.more
	}
}

// after adds the counts of an earlier proof.
func (c *Coverage) after(e *Coverage) {
	c.Families.after(&e.Families)
	for i := range e.Values {
		at := slices.IndexFunc(c.Values, func(x Counts) bool { return x.Name == e.Values[i].Name })
		if at < 0 {
			at = len(c.Values)
			c.Values = append(c.Values, Counts{Name: e.Values[i].Name})
		}
		c.Values[at].after(&e.Values[i])
	}
	c.sort()
}

func (c *Counts) after(e *Counts) {
	for _, v := range e.Values {
		i, found := c.find(v.Value)
		if !found {
			c.Values = slices.Insert(c.Values, i, Count{Value: v.Value})
		}
		c.Values[i].Times += v.Times
	}
}

// find returns where a value is, or would be: values are in the order of their
// texts, short ones first.
func (c *Counts) find(value string) (int, bool) {
	return slices.BinarySearchFunc(c.Values, value, func(a Count, v string) int {
		return cmp.Or(cmp.Compare(len(a.Value), len(v)), cmp.Compare(a.Value, v))
	})
}

func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}
