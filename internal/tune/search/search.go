// Package search finds the fastest point of a space with few trials. A strategy is asked for points and told
// their results; it runs, times and stores nothing. The same strategies search the spaces of programs and
// recorded spaces.
//
// A strategy is a deterministic function of its problem, its seed and the results that it was told. So an
// interrupted search is resumed by telling the results of its log again.
package search

import (
	"context"
	"iter"
	"math/big"
	"math/rand/v2"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// Space is a finite set of points, each a choice of one value for every
// parameter that exists there. Implementations are safe for concurrent use.
type Space interface {
	// Params returns the parameters, the same ones at each call.
	Params() []Param
	// Count returns the number of points.
	Count() *big.Int
	// Legal reports whether p is a point of the space.
	Legal(p Point) bool
	// Draw returns a point, each with equal chance.
	Draw(rng *rand.Rand) Point
	// All returns every point, in a fixed order.
	All() iter.Seq[Point]
	// Complete returns a legal point with the values of p, near to the defaults elsewhere; false if there is
	// none. Coordinates that are Absent or Free in p may get any value.
	Complete(p Point) (Point, bool)
	// Starts returns the points that a user gets without a search, the best first. There is at least one unless
	// the space is empty.
	Starts() []Point
	// Text returns the point as a user writes it.
	Text(p Point) string
}

// Param is one coordinate of a space: a number or a word. A parameter with
// several numbers, such as the shape of a block, is several coordinates.
type Param struct {
	Name string // "block.x"
	Of   string // the parameter of the configuration that it is part of, "block"
	Role schedule.Role
	// Axis is the dimension that the coordinate acts on, "x" the inner one, then
	// "y", "z", "w"; empty if it acts on none or all.
	Axis   string
	Values []schedule.Value // scalars: numbers ascending, or words
}

// Point chooses a value for each parameter by its number in Values.
type Point []int

const (
	// Absent stands for a parameter that does not exist at a point.
	Absent = -1
	// Free stands for a value that is left open, in what Complete is given.
	Free = -2
)

// Key returns the point as a string to index maps by.
func (p Point) Key() string {
	b := make([]byte, 0, 2*len(p))
	for _, v := range p {
		b = append(b, byte(v), byte(v>>8))
	}
	return string(b)
}

// Trial is a point with its result.
type Trial struct {
	Point   Point
	Verdict verdict.Verdict
	// Seconds is the time of one run, if the verdict is verdict.OK. A clear loser has the time of its first runs.
	Seconds float64
	// Cost is the time of the trial: compiling, running, checking.
	Cost      float64
	Registers int // of a thread; 0 if not known
	Spills    int // bytes of a thread
}

// Strategy searches a space. It is used from one goroutine.
type Strategy interface {
	// Ask returns up to n points to try next, none of them asked for before. Fewer than n mean that the strategy
	// needs the results of points in flight. None while no point is in flight means that the search is over.
	Ask(n int) []Point
	// Tell gives the strategy results, in the order in which the points were asked for.
	Tell(Trial)
	// Likely returns up to n points that may be asked for soon, so that they can be compiled ahead of time. It
	// changes nothing.
	Likely(n int) []Point
}

// Problem is a space to search, with what is known of it.
type Problem struct {
	// Context ends the search: once it is done, Ask soon returns nothing. Nil for a search without end.
	Context context.Context
	Space   Space
	Seed    uint64
	// Estimate predicts the relative time of a point without running it; smaller is faster. False means that the
	// point will hardly run or be fast: it is deferred until nothing better is left. Nil if nothing is known.
	Estimate func(Point) (float64, bool)
	// First are points of Space that are asked for before any that a strategy chooses, unless they are Known.
	First []Point
	// Expected are points of Space of which some are asked for after First, one at a time; nil if there are none.
	Expected *Expected
	// Candidates are points of Space that are expected to be fast. Strategies choose from few points of a large space:
	// these are among them.
	Candidates []Point
	// Good lists points that were good for similar problems, the best first.
	Good []Point
	// Known are trials of this space that were made before: the strategy goes on from them as if it had asked for them.
	Known []Trial
	// Budget is the likely number of trials; 0 if not known. Strategies divide it among their phases.
	Budget int
	// Sizes are the extents of the grid by axis name (x the inner one), for
	// strategies that are written as formulas of them.
	Sizes map[string]int64
}
