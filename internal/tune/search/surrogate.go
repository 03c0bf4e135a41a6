package search

import (
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

// surrogate turns times into values for a Gaussian process, and holds the parameters of the process. Both are
// fitted to trials.
//
// A level is the logarithm of a time, relative to the slowest of the faster half of the trials, in units of the
// spread of that half. Levels are cut off at levelMost, so that the model does not learn how slow slow points
// are.
type surrogate struct {
	params       []Param
	active       []int // parameters that have a choice
	defaultScale float64

	ran            float64 // share of the trials that ran, with one more that ran
	median, spread float64
	slope, centre  float64 // of the regression of levels on estimates; mean of the estimates
	scale          []float64
	noise          float64
	deviation      float64 // of the process: of levels far apart
}

const (
	levelMost = 2.5
	// defaultLength times the root of the number of parameters is the length of a parameter before it is fitted:
	// the more parameters, the less each one matters (Hvarfner, Hellsten, Nardi 2024).
	defaultLength  = 0.3
	defaultNoise   = 1e-2
	leastNoise     = 1e-4
	leastDeviation = 0.5
	lengthStep     = 1.7 // factor between the lengths that are tried
	noiseStep      = 3
	fitTrials      = 120 // most trials that lengths are fitted to
)

func newSurrogate(params []Param) *surrogate {
	s := &surrogate{params: params, noise: defaultNoise, spread: 1, deviation: 1, scale: make([]float64, len(params))}
	for i := range params {
		if len(params[i].Values) > 1 {
			s.active = append(s.active, i)
		}
	}
	s.defaultScale = 1 / (defaultLength * math.Sqrt(float64(max(1, len(s.active)))))
	for _, i := range s.active {
		s.scale[i] = s.defaultScale
	}
	return s
}

func (s *surrogate) features(p Point) features { return featuresOf(s.params, p) }

// level returns the level of a time.
func (s *surrogate) level(seconds float64) float64 {
	return min((math.Log(seconds)-s.median)/s.spread, levelMost)
}

// expectation returns the level that the estimate alone predicts.
func (s *surrogate) expectation(p *gpCandidate) float64 {
	if s.slope == 0 || math.IsNaN(p.estimate) {
		return 0
	}
	return max(-levelMost, min(s.slope*(p.estimate-s.centre), levelMost))
}

// fit fits all parameters to the trials.
func (s *surrogate) fit(points []gpCandidate, trials []Trial) {
	var ran []gpCandidate
	var logs []float64
	for i, t := range trials {
		if t.Verdict == verdict.OK {
			ran = append(ran, points[i])
			logs = append(logs, math.Log(t.Seconds))
		}
	}
	s.ran = float64(len(logs)+1) / float64(len(trials)+1)
	if len(logs) == 0 {
		return
	}
	s.setUnits(logs)
	levels := make([]float64, len(logs))
	for i, x := range logs {
		levels[i] = s.level(math.Exp(x))
	}
	s.regress(ran, levels)
	for i := range levels {
		levels[i] -= s.expectation(&ran[i])
	}
	if n := len(levels) - fitTrials; n > 0 {
		ran, levels = ran[n:], levels[n:]
	}
	s.fitLengths(ran, levels)
}

// setUnits sets the origin and the unit of levels.
func (s *surrogate) setUnits(logs []float64) {
	sorted := slices.Sorted(slices.Values(logs))
	half := sorted[:len(sorted)/2+1]
	s.median = half[len(half)-1]
	sum := 0.0
	for _, x := range half {
		sum += (x - s.median) * (x - s.median)
	}
	s.spread = max(math.Sqrt(sum/float64(len(half))), 1e-3)
}

// slopeWeight is what 1/spread counts as the slope of levels over estimates, which is that of times: as a trial whose
// estimate is 1.4 times the mean (docs/performance-log.md, "A model's predictions").
const slopeWeight = 0.1

// regress fits a line of levels over estimates. Its slope is 0 if there are no estimates, or if they mislead. With
// few trials, or with estimates that are alike, it is near 1/spread: a time is as many times longer as its estimate.
func (s *surrogate) regress(points []gpCandidate, levels []float64) {
	s.slope, s.centre = 0, 0
	n := 0.0
	mean := 0.0
	for i := range points {
		if !math.IsNaN(points[i].estimate) {
			n++
			s.centre += points[i].estimate
			mean += levels[i]
		}
	}
	if n == 0 {
		return
	}
	s.centre /= n
	mean /= n
	squares, products := 0.0, 0.0
	for i := range points {
		if e := points[i].estimate; !math.IsNaN(e) {
			squares += (e - s.centre) * (e - s.centre)
			products += (e - s.centre) * (levels[i] - mean)
		}
	}
	s.slope = max(0, (products+slopeWeight/s.spread)/(squares+slopeWeight))
}

// fitLengths improves lengths and noise, a step at a time, by the likelihood of the levels and a prior around the
// defaults.
func (s *surrogate) fitLengths(points []gpCandidate, levels []float64) {
	n := len(points)
	squares := make([][]float32, len(s.active))
	for k, at := range s.active {
		for i := range n {
			for j := range i {
				squares[k] = append(squares[k], float32(square(points[i].features[at], points[j].features[at])))
			}
		}
	}
	scale := make([]float64, len(s.active))
	for k, at := range s.active {
		scale[k] = s.scale[at]
	}
	work := make([]float64, n*n)
	judge := func() float64 {
		l, _ := likelihood(levels, squares, scale, s.noise, work)
		for _, x := range scale {
			d := math.Log(x / s.defaultScale)
			l -= d * d / 2
		}
		d := math.Log(s.noise / defaultNoise)
		return l - d*d/8
	}
	best := judge()
	improve := func(x *float64, to float64) bool {
		from := *x
		*x = to
		if l := judge(); l > best {
			best = l
			return true
		}
		*x = from
		return false
	}
	for range 2 {
		for k, x := range scale {
			_ = improve(&scale[k], x*lengthStep) || improve(&scale[k], x/lengthStep)
		}
		x := s.noise
		_ = improve(&s.noise, x*noiseStep) || x/noiseStep > leastNoise && improve(&s.noise, x/noiseStep)
	}
	for k, at := range s.active {
		s.scale[at] = scale[k]
	}
	_, height := likelihood(levels, squares, scale, s.noise, work)
	s.deviation = max(leastDeviation, min(height, 1/leastDeviation))
}
