package deep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Route is the order in which depths are tried that a model has predicted: first those that it predicts to be the
// fastest, and then those around the one that was fastest.
type Route struct {
	depths []int64 // ascending
	first  []int64 // those that are tried whatever is measured, in order
	slow   []int64 // those that are predicted to be too slow for a try
}

// around is how many depths on either side of the fastest are tried: registers and tiles make the times of single
// depths uneven, above all of deeper ones.
const (
	aroundBelow = 1
	aroundAbove = 2
)

// What is predicted decides which depths are tried first: at most mostFirst, which are predicted to take no more than
// near times as long as the best. Nine of ten predictions are off by less than that.
const (
	mostFirst = 3
	near      = 1.2
)

// Along returns the route over some depths, in ascending order, of which some are predicted.
func Along(depths []int64, predicted []Version) *Route {
	best := Peak(predicted)
	r := &Route{depths: depths, first: []int64{best.Depth}}
	fastest := slices.Clone(predicted)
	slices.SortStableFunc(fastest, func(a, b Version) int { return cmp.Compare(a.PerIteration(), b.PerIteration()) })
	for _, v := range fastest {
		switch {
		case v.PerIteration() > near*best.PerIteration():
			r.slow = append(r.slow, v.Depth)
		case v.Depth != best.Depth && len(r.first) < mostFirst:
			r.first = append(r.first, v.Depth)
		}
	}
	return r
}

// Peak returns the version that is predicted to be the fastest per iteration; versions are in ascending order. A
// deeper one has to be faster to be it.
func Peak(predicted []Version) Version {
	best := predicted[0]
	for _, v := range predicted[1:] {
		if v.PerIteration() < best.PerIteration()*(1-gained) {
			best = v
		}
	}
	return best
}

// Next returns the depth to try after some, those of which nothing works with infinite times. If there is none it
// returns 0, and says why.
func (r *Route) Next(tried []Version) (depth int64, why string) {
	known := func(d int64) bool {
		return slices.ContainsFunc(tried, func(v Version) bool { return v.Depth == d && !v.Plain() })
	}
	if i := slices.IndexFunc(r.first, func(d int64) bool { return !known(d) }); i >= 0 {
		return r.first[i], ""
	}
	best := Version{Seconds: math.Inf(1)}
	shallowest := r.first[0]
	for _, v := range tried {
		if v.Plain() {
			continue
		}
		shallowest = min(shallowest, v.Depth)
		if best.Depth == 0 || v.PerIteration() < best.PerIteration() {
			best = v
		}
	}
	if math.IsInf(best.Seconds, 1) { // registers and shared memory do not suffice: less deep ones need less
		i := slices.Index(r.depths, shallowest)
		if i <= 0 {
			return 0, fmt.Sprintf("nothing works from depth %d on", shallowest)
		}
		return r.depths[i-1], ""
	}
	at := slices.Index(r.depths, best.Depth)
	worth := func(d int64) bool { return !known(d) && !slices.Contains(r.slow, d) }
	if d := r.nextTo(at, worth); d > 0 {
		return d, ""
	}
	if len(tried)-1 < mostFirst { // one prediction may be far off
		if d := r.nextTo(at, func(d int64) bool { return !known(d) }); d > 0 {
			return d, ""
		}
	}
	return 0, fmt.Sprintf("the depths around %d were not faster", best.Depth)
}

// nextTo returns the depth next to one that is to be tried; 0 if there is none.
func (r *Route) nextTo(at int, worth func(int64) bool) int64 {
	for n := 1; n <= max(aroundBelow, aroundAbove); n++ {
		if i := at - n; n <= aroundBelow && i >= 0 && worth(r.depths[i]) {
			return r.depths[i]
		}
		if i := at + n; n <= aroundAbove && i < len(r.depths) && worth(r.depths[i]) {
			return r.depths[i]
		}
	}
	return 0
}
