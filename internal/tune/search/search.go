// Package search finds the fastest point of a space by asking for few of them.
// A strategy is asked for points and told what became of them; it runs, times
// and stores nothing. The same strategies work on the spaces of programs and on
// recorded ones.
//
// A strategy is a deterministic function of its problem, its seed and what it
// was told, so that an interrupted search goes on exactly where it was when its
// log is told again.
package search

import (
	"context"
	"iter"
	"math/big"
	"math/rand/v2"

	"github.com/gridloom/gridloom/internal/compile/schedule"
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
	// Complete returns a legal point that has the values of p wherever p has one,
	// as near to the defaults as can be cheaply told; false if there is none.
	// What is Absent or Free in p may become anything.
	Complete(p Point) (Point, bool)
	// Starts returns the points that a user would get without a search, the
	// most sensible first. There is at least one unless the space is empty.
	Starts() []Point
	// Text returns the point as its user would write it.
	Text(p Point) string
}

// Param is one coordinate of a space: a number or a word. A parameter with
// several numbers, such as the shape of a block, is several coordinates.
type Param struct {
	Name string // "block.x"
	Of   string // the parameter of the configuration that it is part of, "block"
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

// Verdict says what became of a trial.
type Verdict int

const (
	// Good is a point that ran and gave the right numbers.
	Good Verdict = iota
	// Refused is a point that could not be run: by a constraint, the resource
	// model, the compiler, the launch, or since it crashed or took too long.
	Refused
	// Wrong is a point that gave wrong numbers.
	Wrong
)

// Trial is a point and what became of it.
type Trial struct {
	Point   Point
	Verdict Verdict
	// Seconds is the time of one run, if the verdict is Good. A point that was
	// given up early, being a clear loser, has the time of its first runs.
	Seconds float64
	// Cost is how long the trial took: compiling, running, checking.
	Cost      float64
	Registers int // of a thread; 0 if not known
	Spills    int // bytes of a thread
}

// Strategy searches a space. It is used from one goroutine.
type Strategy interface {
	// Ask returns up to n points to try next, none of them asked for before.
	// Fewer than n, even none, mean that it wants to be told of those that are
	// under way; none while nothing is under way, that the search is over.
	Ask(n int) []Point
	// Tell says what became of points, in the order in which they were asked for.
	Tell(Trial)
	// Likely returns up to n points that may be asked for soon, so that they
	// can be compiled ahead. It changes nothing.
	Likely(n int) []Point
}

// Problem is what a strategy is to search.
type Problem struct {
	// Context ends the search: once it is done, Ask returns nothing, soon, and
	// what was asked for before is all that counts. Nil for a search without end.
	Context context.Context
	Space   Space
	Seed    uint64
	// Estimate predicts the relative time of a point without running it, smaller
	// is faster; false if the point will hardly run, or hardly be fast: it is put off
	// until nothing better is left. Nil if nothing is known.
	Estimate func(Point) (float64, bool)
	// Good lists points that were good for similar problems, the best first.
	Good []Point
	// Budget is how many trials are likely to be made; 0 if nobody knows. It is
	// a hint by which strategies share trials out among their phases.
	Budget int
	// Sizes are the extents of the grid by axis name (x the inner one), for
	// strategies that are written as formulas of them.
	Sizes map[string]int64
}
