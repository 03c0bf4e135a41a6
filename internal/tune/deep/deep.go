// Package deep decides how many iterations of a time loop share a kernel, from measured times alone: when
// deeper kernels are not worth a try, and which depths carry out a number of iterations best (deep tuning:
// Rawat et al. 2019, section VI).
package deep

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
)

// Version is kernels that carry out Depth iterations of a loop together, in so many seconds. At least After
// iterations have to follow. Depth 1 is an iteration by kernels of its own, or if it is Fused by one for all its
// statements.
type Version struct {
	Depth, After int64
	Seconds      float64
	Fused        bool
}

// Plain reports whether a version is an iteration by kernels of its own.
func (v Version) Plain() bool { return v.Depth == 1 && !v.Fused }

// DepthText words a depth, of which 1 may be fused: "8", "1", "1, fused".
func DepthText(depth int64, fused bool) string {
	if depth == 1 && fused {
		return "1, fused"
	}
	return strconv.FormatInt(depth, 10)
}

// PerIteration returns the seconds of an iteration.
func (v Version) PerIteration() float64 { return v.Seconds / float64(v.Depth) }

// gained is the part of an iteration's time by which a deeper version has to be faster to count as faster.
const gained = 0.005

// Tipped reports whether the last so many versions are not faster per iteration than one before: deeper ones
// are not either, since redundant work and registers grow with the depth. A fused iteration that is not faster says
// nothing of them: it saves less.
func Tipped(versions []Version, last int) bool {
	best, since := 0.0, 0
	for i, v := range versions {
		if i == 0 || v.PerIteration() < best*(1-gained) {
			best, since = v.PerIteration(), 0
			continue
		}
		if !v.Fused {
			since++
		}
	}
	return since >= last
}

// Part is a version that is carried out a number of times.
type Part struct {
	Depth int64 `json:"depth"`
	Times int64 `json:"times"`
	Fused bool  `json:"fused,omitempty"`
}

// Greedy returns how a time loop carries out a number of iterations, and the seconds that this takes: by the
// deepest version that fits, then by the next. One of the versions is plain.
func Greedy(total int64, versions []Version) ([]Part, float64) {
	var parts []Part
	seconds, left := 0.0, total
	for _, v := range deepestFirst(versions) {
		times := (left - v.After) / v.Depth
		if times <= 0 {
			continue
		}
		parts = append(parts, Part{v.Depth, times, v.Fused})
		seconds += float64(times) * v.Seconds
		left -= times * v.Depth
	}
	return parts, seconds
}

// Optimal returns the fastest way to carry out a number of iterations, the deepest versions first, and its
// seconds: opt(T) is the least f(x) + opt(T-x). One of the versions is plain.
func Optimal(total int64, versions []Version) ([]Part, float64) {
	versions = deepestFirst(versions)
	main := versions[0]
	fastest := 0
	for i, v := range versions {
		if v.PerIteration() < main.PerIteration() {
			main, fastest = v, i
		}
	}
	// Of main.Depth other versions, some take a multiple of main.Depth iterations, for which main is as fast. So
	// some fastest way has fewer others, besides those that have to follow, and the rest is main's.
	after := int64(0)
	for _, v := range versions {
		after = max(after, v.After)
	}
	others := (main.Depth+after)*versions[0].Depth + after
	bulk := max(0, total-others) / main.Depth
	rest := total - bulk*main.Depth

	best := make([]float64, rest+1)
	first := make([]int, rest+1) // the version that comes first in the fastest way of so many iterations
	for n := int64(1); n <= rest; n++ {
		first[n] = -1
		for i, v := range versions {
			if v.Depth+v.After > n {
				continue
			}
			if s := v.Seconds + best[n-v.Depth]; first[n] < 0 || s < best[n] {
				best[n], first[n] = s, i
			}
		}
	}
	times := make([]int64, len(versions))
	times[fastest] = bulk
	for n := rest; n > 0; n -= versions[first[n]].Depth {
		times[first[n]]++
	}
	var parts []Part
	for i, v := range versions {
		if times[i] > 0 {
			parts = append(parts, Part{v.Depth, times[i], v.Fused})
		}
	}
	return parts, float64(bulk)*main.Seconds + best[rest]
}

const (
	mostChosen = 12    // versions that are chosen from
	worth      = 0.002 // of the time: what one more version has to save
)

// Choose returns the versions that carry out a number of iterations fastest by Greedy, the deepest first and
// the plain one last. A version that saves next to nothing is left out: it takes compilers time, and its
// code memory.
func Choose(total int64, versions []Version) []Version {
	list := deepestFirst(versions)
	single := list[len(list)-1]
	list = list[:len(list)-1]
	slices.SortStableFunc(list, func(a, b Version) int { return cmp.Compare(a.PerIteration(), b.PerIteration()) })
	list = deepestFirst(list[:min(len(list), mostChosen)])
	least := make([]float64, len(list)+1) // seconds, by the number of versions
	chosen := make([][]Version, len(list)+1)
	for set := range uint(1) << len(list) {
		var some []Version
		for i, v := range list {
			if set>>i&1 == 1 {
				some = append(some, v)
			}
		}
		some = append(some, single)
		_, seconds := Greedy(total, some)
		if n := bits.OnesCount(set); chosen[n] == nil || seconds < least[n] {
			least[n], chosen[n] = seconds, some
		}
	}
	n := 0
	for more := 1; more < len(chosen); more++ {
		if least[more] < least[n]*(1-worth*float64(more-n)) {
			n = more
		}
	}
	return chosen[n]
}

// deepestFirst puts the deepest version first and the plain one last.
func deepestFirst(versions []Version) []Version {
	list := slices.Clone(versions)
	slices.SortStableFunc(list, func(a, b Version) int {
		switch n := cmp.Compare(b.Depth, a.Depth); {
		case n != 0 || a.Fused == b.Fused:
			return n
		case a.Fused:
			return -1
		}
		return 1
	})
	return list
}
