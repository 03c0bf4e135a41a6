package deep

import (
	"fmt"
	"math"
	"slices"
)

// Route is the order in which depths are tried that a model has predicted: first the one that it predicts to be
// the fastest, and then those around the one that was fastest.
type Route struct {
	depths []int64 // ascending
	start  int64
}

// around is how many depths on either side of the fastest are tried: registers and tiles make the times of single
// depths uneven, above all of deeper ones.
const (
	aroundBelow = 1
	aroundAbove = 2
)

// Around returns the route over some depths, in ascending order, from one of them on.
func Around(depths []int64, start int64) *Route { return &Route{depths, start} }

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
	known := func(d int64) bool { return slices.ContainsFunc(tried, func(v Version) bool { return v.Depth == d }) }
	if !known(r.start) {
		return r.start, ""
	}
	best := Version{Seconds: math.Inf(1)}
	shallowest := r.start
	for _, v := range tried {
		if v.Depth < 2 {
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
	for n := 1; n <= max(aroundBelow, aroundAbove); n++ {
		if i := at - n; n <= aroundBelow && i >= 0 && !known(r.depths[i]) {
			return r.depths[i], ""
		}
		if i := at + n; n <= aroundAbove && i < len(r.depths) && !known(r.depths[i]) {
			return r.depths[i], ""
		}
	}
	return 0, fmt.Sprintf("the depths around %d were not faster", best.Depth)
}
