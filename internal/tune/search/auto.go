package search

import (
	"math"
	"slices"
)

// auto is the strategy to use when nothing is known of the space: it begins
// with a few points that are promising or far apart, and then tries the point
// from which a model, learnt from all trials so far, expects the most. The model
// is a Gaussian process; what it may choose from is a pool of points drawn from
// the whole space and of all neighbours of the best, so that the search is wide
// and climbs at once, in spaces of any size.
type auto struct {
	queue
	*moves
	model  *process
	points []Point // of the pool
	open   []bool  // those of the pool that may be asked for
	pooled map[string]int
	row    map[string]int // of the model, by point
	refit  int            // trials at which the model is made anew
	shift  float64        // of the log of seconds
	spread float64
	scale  []float64
	noise  float64
	local  map[string]bool // points whose neighbours are in the pool
}
