package omnitune

import (
	"cmp"
	"math"
	"slices"
)

// hybrid is algorithm 4 of Cummins et al. It runs the size with the least predicted time. If that is what it takes, it
// stays. Else it runs the baseline, and then one size after the other by predicted speed-up, until one is as much
// faster as was predicted: it takes that one. If none is, it takes the fastest that it ran. It always does if keep is
// set.
type hybrid struct {
	keep            bool
	Ranker          // where nothing can be run
	times, speedUps Ranker
	base            Size             // the baseline; that of Cummins et al. if it is the zero value
	submit          func(submission) // may be nil
}

// submission is a measurement that a hybrid hands on.
type submission struct {
	size    Size
	time    float64 // in milliseconds
	speedUp float64 // over the baseline; 0 where it was not told
}

// agreement is by how much a measurement may be off what was predicted, of the prediction.
const agreement = 0.1

func agree(predicted, measured float64) bool {
	return math.Abs(measured-predicted) <= agreement*math.Abs(predicted)
}

func (h *hybrid) pick(x *Scenario) choice {
	ran, refused := map[int]bool{}, map[Size]bool{}
	note := func(r Ranker, picked Size) {
		for _, size := range refusedBefore(r, x, picked) {
			refused[size] = true
		}
	}
	run := func(size int) float64 {
		ran[size] = true
		return x.time(size)
	}
	submit := func(s submission) {
		if h.submit != nil {
			h.submit(s)
		}
	}
	first := pick(least{h.times}, x)
	note(least{h.times}, x.Sizes[first])
	time := run(first)
	submit(submission{size: x.Sizes[first], time: time})
	baseSize := cmp.Or(h.base, baseline)
	base := slices.Index(x.Sizes, baseSize)
	if agree(h.times.Score(x, x.Sizes[first]), time) || base < 0 {
		return choice{size: first, runs: len(ran), refused: len(refused)}
	}
	baseTime := run(base)
	submit(submission{size: baseSize, time: baseTime})

	left := make([]int, len(x.Sizes))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		place := pick(h.speedUps, &Scenario{Features: x.Features, Sizes: sizesAt(x, left)})
		size := left[place]
		note(h.speedUps, x.Sizes[size])
		speedUp := baseTime / run(size)
		submit(submission{x.Sizes[size], x.time(size), speedUp})
		if agree(h.speedUps.Score(x, x.Sizes[size]), speedUp) {
			if h.keep {
				size = fastestOfRun(x, ran)
			}
			return choice{size: size, runs: len(ran), refused: len(refused)}
		}
		left = slices.Delete(left, place, place+1)
	}
	return choice{size: fastestOfRun(x, ran), runs: len(ran), refused: len(refused)}
}

// fastestOfRun returns the fastest of the sizes that were run.
func fastestOfRun(x *Scenario, ran map[int]bool) int {
	best := -1
	for i, speed := range x.Speeds {
		if ran[i] && (best < 0 || speed > x.Speeds[best]) {
			best = i
		}
	}
	return best
}

// sizesAt are some of a scenario's sizes.
func sizesAt(x *Scenario, places []int) []Size {
	list := make([]Size, len(places))
	for i, k := range places {
		list[i] = x.Sizes[k]
	}
	return list
}
